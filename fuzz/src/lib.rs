//! Coverage-guided fuzz targets for whatever the host reads from outside: docs/fuzzing.md.
//!
//! A target takes any bytes. It calls the parser that the host itself uses, panics where a promise is broken, and is deterministic. An
//! input with several parts has them on lines, so that a corpus can be read and written by hand.

#![expect(clippy::expect_used, reason = "a broken promise ends the fuzzing")]

mod documents;
mod expressions;
mod files;
mod merges;
mod protocols;
mod types;

/// A target: its name, which is also that of its folder in `corpus`, and what it does with an input.
pub type Target = (&'static str, fn(&[u8]));

/// All targets, by name.
pub const TARGETS: &[Target] = &[
    ("admission_review", protocols::admission_review),
    ("apply", merges::apply),
    ("case", documents::case),
    ("cel", expressions::cel),
    ("code_cache", files::code_cache),
    ("crd", types::crd),
    ("field_sets", merges::field_sets),
    ("grant", documents::grant),
    ("jsonpath", expressions::jsonpath),
    ("list_watch", protocols::list_watch),
    ("manifest", documents::manifest),
    ("oci", protocols::oci),
    ("patch", merges::patch),
    ("requests", protocols::requests),
    ("selectors", expressions::selectors),
    ("types", types::types),
    ("wasm", files::wasm),
];

/// The first line of an input, and what follows it. Without a line break the rest is empty.
fn head(data: &[u8]) -> (&[u8], &[u8]) {
    match data.iter().position(|byte| *byte == b'\n') {
        Some(end) => (data.get(..end).unwrap_or_default(), data.get(end + 1..).unwrap_or_default()),
        None => (data, &[]),
    }
}

/// The first lines of an input as texts. None: one of them is not UTF-8, or missing.
fn lines<const N: usize>(data: &[u8]) -> Option<[&str; N]> {
    let mut lines = std::str::from_utf8(data).ok()?.split('\n');
    let mut found = [""; N];
    for line in &mut found {
        *line = lines.next()?;
    }
    Some(found)
}

/// The first lines of an input as JSON. None: one of them is none, or missing.
fn values<const N: usize>(data: &[u8]) -> Option<[serde_json::Value; N]> {
    let mut found = [const { serde_json::Value::Null }; N];
    for (value, line) in found.iter_mut().zip(lines::<N>(data)?) {
        *value = serde_json::from_str(line).ok()?;
    }
    Some(found)
}
