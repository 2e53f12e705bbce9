//! `fieldPath` of a rule: `.a.b` or `['c']`, relative to the level of the rule.
//!
//! # Source
//!
//! apiextensions-apiserver `pkg/apiserver/schema/cel/validation.go`, `ValidFieldPath`.

use crate::node::{Additional, Node};

/// The level at the end of a path; `None` if the path does not exist.
pub(super) fn resolve<'n>(path: &str, node: &'n Node) -> Option<&'n Node> {
    let mut here = node;
    let mut rest = path;
    while !rest.is_empty() {
        let name;
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[', ']']).unwrap_or(after.len());
            let (field, left) = after.split_at(end);
            if field.is_empty() || field.starts_with('\'') {
                return None;
            }
            (name, rest) = (field.to_owned(), left);
        } else {
            let quoted = rest.strip_prefix("['")?;
            let end = closing_quote(quoted)?;
            let (key, left) = quoted.split_at(end);
            (name, rest) = (unescape(key)?, left.strip_prefix("']")?);
        }
        here = if here.properties.is_empty() {
            match &here.additional {
                Some(Additional::Schema(values)) => values,
                _ => return None,
            }
        } else {
            here.properties.get(&name)?
        };
    }
    Some(here)
}

/// The end of the text: at a quote without a backslash before it.
fn closing_quote(text: &str) -> Option<usize> {
    text.match_indices('\'').map(|(at, _)| at).find(|at| !text.get(..*at).is_some_and(|before| before.ends_with('\\')))
}

/// Removes the backslashes before quotes and backslashes; no other character has one.
fn unescape(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(if c == '\\' { chars.next().filter(|c| matches!(c, '\\' | '\''))? } else { c });
    }
    Some(out)
}
