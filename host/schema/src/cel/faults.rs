//! Faults of CEL expressions in a server's format.
//!
//! # Source
//!
//! cel-go `common/error.go` and `common/errors.go`.

use kube_cel::cel::ParseErrors;

use super::tree::{self, Fault};

/// A fault with line and column, from zero.
pub(super) type Placed = (usize, usize, String);

/// Adds line and column to faults.
pub(super) fn placed(source: &str, faults: Vec<Fault>) -> Vec<Placed> {
    let place = |(at, text): Fault| {
        let before = source.get(..at).unwrap_or_default();
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
        (before.matches('\n').count(), column, text)
    };
    faults.into_iter().map(place).collect()
}

/// Syntax faults. The parser lists other possible continuations; a server expects the end.
pub(super) fn syntax(errors: &ParseErrors, source: &str) -> Vec<Placed> {
    let one_less = |n: isize| usize::try_from(n - 1).unwrap_or(0);
    let text = |text: &str| match text.split_once("expecting {<EOF>") {
        Some((before, _)) => format!("{before}expecting <EOF>"),
        None => text.to_owned(),
    };
    let found = errors.errors.iter().map(|e| (one_less(e.pos.0), one_less(e.pos.1), text(&e.msg)));
    found.chain(placed(source, tree::reserved_names(source))).collect()
}

/// Faults in the order of the source, each with its line.
pub(super) fn print(source: &str, mut placed: Vec<Placed>) -> String {
    placed.sort_by_key(|(line, column, _)| (*line, *column));
    let shown = placed.iter().map(|(line, column, text)| {
        let written = source.split('\n').nth(*line).unwrap_or_default().replace('\t', " ");
        let wide =
            |c: Option<char>, narrow: char, wide: char| if c.is_some_and(|c| c.len_utf8() > 1) { wide } else { narrow };
        let dots: String = written.chars().take(*column).map(|c| wide(Some(c), '.', '\u{ff0e}')).collect();
        let mark = wide(written.chars().nth(*column), '^', '\u{ff3e}');
        format!("ERROR: <input>:{}:{}: {text}\n | {written}\n | {dots}{mark}", line + 1, column + 1)
    });
    shown.collect::<Vec<_>>().join("\n")
}
