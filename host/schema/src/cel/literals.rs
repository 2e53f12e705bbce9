//! Validation of literals after the type check: durations, timestamps, regular expressions, lists of one type, format strings.
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
            if let Some(Expr { at, kind: Kind::Literal(literal), .. }) = args.first()
                && !is_valid(name, literal)
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

fn is_valid(function: &str, literal: &LiteralValue) -> bool {
    match (function, literal) {
        ("duration", LiteralValue::String(text)) => formats::go_duration(text.inner()),
        ("timestamp", LiteralValue::String(text)) => text.inner().parse::<jiff::Timestamp>().is_ok(),
        // From year 1 to 9999.
        ("timestamp", LiteralValue::Int(i)) => (-62_135_596_800..=253_402_300_799).contains(i.inner()),
        ("matches", LiteralValue::String(text)) => Regex::new(text.inner()).is_ok(),
        _ => true,
    }
}

/// The fault of a constant that a server converts once, when it makes a program of an expression.
pub(super) fn conversion_fault(expr: &Expr) -> Option<String> {
    if let Some(fault) = expr.children().into_iter().find_map(conversion_fault) {
        return Some(fault);
    }
    let Kind::Call { name, target: None, args } = &expr.kind else { return None };
    let [Expr { kind: Kind::Literal(literal), .. }] = args.as_slice() else { return None };
    let unreadable = || format!("type conversion error from 'string' to '{name}'");
    match (name.as_str(), literal) {
        ("int", LiteralValue::String(text)) => text.inner().parse::<i64>().is_err().then(unreadable),
        ("uint", LiteralValue::String(text)) => {
            (text.inner().starts_with('+') || text.inner().parse::<u64>().is_err()).then(unreadable)
        }
        ("double", LiteralValue::String(text)) => (!is_float(text.inner())).then(unreadable),
        ("bool", LiteralValue::String(text)) => {
            let known = ["1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False"];
            (!known.contains(&text.inner())).then(unreadable)
        }
        ("int", LiteralValue::UInt(u)) => i64::try_from(*u.inner()).is_err().then(|| "integer overflow".to_owned()),
        ("int", LiteralValue::Double(d)) => (d.inner().abs() >= 2f64.powi(63)).then(|| "integer overflow".to_owned()),
        ("uint", LiteralValue::Int(i)) => (*i.inner() < 0).then(|| "unsigned integer overflow".to_owned()),
        ("uint", LiteralValue::Double(d)) => {
            (!(0.0..2f64.powi(64)).contains(d.inner())).then(|| "unsigned integer overflow".to_owned())
        }
        ("string", LiteralValue::Bytes(bytes)) => {
            let fault = || "invalid UTF-8 in bytes, cannot convert to string".to_owned();
            std::str::from_utf8(bytes.inner()).is_err().then(fault)
        }
        _ => None,
    }
}

/// Whether Go parses a text as a float.
fn is_float(text: &str) -> bool {
    let text = text.replace('_', "").to_ascii_lowercase();
    let plain = text.trim_start_matches(['+', '-']);
    plain.starts_with("0x")
        || ["inf", "infinity", "nan"].contains(&plain)
        || text.parse::<f64>().is_ok_and(f64::is_finite)
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
