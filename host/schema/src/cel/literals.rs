//! Checks of literals after the types: durations, timestamps, regular expressions, lists of one type, format strings.
//!
//! # Source
//!
//! cel-go `cel/validator.go`.

use kube_cel::cel::common::ast::LiteralValue;
use regex::Regex;

use super::{
    check::Checked,
    tree::{Expr, Fault, Kind},
    types::Type,
};
use crate::formats;

/// The faults of all literals.
pub(super) fn check(checked: &Checked) -> Vec<Fault> {
    let mut faults = Vec::new();
    visit(checked, &checked.root, false, &mut faults);
    faults
}

fn visit(checked: &Checked, expr: &Expr, in_format: bool, faults: &mut Vec<Fault>) {
    let mut in_format = in_format;
    match &expr.kind {
        Kind::Call { name, args, .. } => {
            in_format |= name == "format";
            if let Some(Expr { at, kind: Kind::Literal(LiteralValue::String(text)), .. }) = args.first()
                && !is_valid(name, text.inner())
            {
                faults.push((*at, format!("invalid {name} argument")));
            }
        }
        Kind::List { elements, optional } if !in_format => {
            let types = elements.iter().enumerate().map(|(i, e)| (e, type_of(checked, e, optional.contains(&i))));
            alike(types, faults);
        }
        Kind::Map(entries) if !in_format => {
            alike(entries.iter().map(|entry| (&entry.key, type_of(checked, &entry.key, false))), faults);
            alike(entries.iter().map(|entry| (&entry.value, type_of(checked, &entry.value, entry.optional))), faults);
        }
        _ => {}
    }
    for child in expr.children() {
        visit(checked, child, in_format, faults);
    }
}

fn is_valid(function: &str, text: &str) -> bool {
    match function {
        "duration" => formats::go_duration(text),
        "timestamp" => text.parse::<jiff::Timestamp>().is_ok(),
        "matches" => Regex::new(text).is_ok(),
        _ => true,
    }
}

fn type_of(checked: &Checked, expr: &Expr, optional: bool) -> Type {
    let ty = checked.type_of(expr).cloned().unwrap_or(Type::Error);
    if optional { ty.inside_optional().cloned().unwrap_or(ty) } else { ty }
}

fn alike<'e>(mut types: impl Iterator<Item = (&'e Expr, Type)>, faults: &mut Vec<Fault>) {
    let Some((_, first)) = types.next() else { return };
    if let Some((expr, other)) = types.find(|(_, ty)| *ty != first) {
        faults.push((expr.at, format!("expected type '{first}' but found '{other}'")));
    }
}
