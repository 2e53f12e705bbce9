//! YAML files of scenarios: every mistake is one line with its place in the file, in words of the format.

use anyhow::anyhow;
use serde::de::DeserializeOwned;
use serde_saphyr::Error;

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// From 1.
    pub(super) line: u64,
    /// From 1.
    pub(super) column: u64,
}

impl Place {
    pub(super) fn of(at: serde_saphyr::Location) -> Self {
        Self { line: at.line(), column: at.column() }
    }

    /// `FILE:LINE:COLUMN: what is wrong`
    pub(super) fn error(self, file: &str, why: &str) -> anyhow::Error {
        anyhow!("{file}:{}:{}: {why}", self.line, self.column)
    }
}

/// A document.
///
/// # Errors
///
/// `FILE:LINE:COLUMN: what is wrong`, in one line.
pub(super) fn parsed<T: DeserializeOwned>(shown: &str, text: &str) -> anyhow::Result<T> {
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| placed(shown, &error))
}

/// The documents of a file. Errors as in [`parsed`].
pub(super) fn all_parsed<T: DeserializeOwned>(shown: &str, text: &str) -> anyhow::Result<Vec<T>> {
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_multiple_with_options(text, options).map_err(|error| placed(shown, &error))
}

fn placed(shown: &str, error: &Error) -> anyhow::Error {
    let error = error.without_snippet();
    match error.location() {
        Some(place) => Place::of(place).error(shown, &said(error)),
        None => anyhow!("{shown}: {}", said(error)),
    }
}

/// What an error says to the author of a file. Some errors of the parser are for its callers.
fn said(error: &Error) -> String {
    match error {
        Error::MultipleDocuments { .. } => "a second document begins: one document in each file".to_owned(),
        Error::DuplicateMappingKey { key: Some(key), .. } => format!("the key {key} is there twice"),
        Error::DuplicateMappingKey { key: None, .. } => "a key is there twice".to_owned(),
        Error::InvalidScalar { ty, .. } => match ty.chars().next() {
            Some('u') => "needs a whole number from 0 on".to_owned(),
            Some('i') => "needs a whole number".to_owned(),
            Some('f') => "needs a number".to_owned(),
            Some('b') => "needs true or false".to_owned(),
            _ => one_line(&error.to_string()),
        },
        Error::Unexpected { expected: "sequence start", .. } => "needs a list".to_owned(),
        Error::Unexpected { expected: "mapping start", .. } => "needs fields".to_owned(),
        Error::Unexpected { expected: "string scalar", .. } => "needs a text".to_owned(),
        other => one_line(&other.to_string()),
    }
}

/// An error of the parser in one line, without its own place.
pub(super) fn one_line(error: &str) -> String {
    let line = error.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.strip_prefix("error: ").map(str::to_owned).unwrap_or(line);
    match line.find(" at line ") {
        Some(end) if line.get(end + 9..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) => {
            line.get(..end).unwrap_or_default().to_owned()
        }
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn no_mistake_is_told_in_the_words_of_the_parser() {
        let read = |text: &str| parsed::<BTreeMap<String, u32>>("x.yaml", text).unwrap_err().to_string();
        assert_eq!(read("a: 1\n---\nb: 1\n"), "x.yaml:3:1: a second document begins: one document in each file");
        assert_eq!(read("a: 1\na: 2\n"), "x.yaml:2:1: the key a is there twice");
        assert_eq!(read("a: -1\n"), "x.yaml:1:4: needs a whole number from 0 on");
        assert_eq!(read("- a\n"), "x.yaml:1:1: needs fields");
        let of_texts = parsed::<BTreeMap<String, Vec<String>>>("x.yaml", "a: 1\n").unwrap_err().to_string();
        assert_eq!(of_texts, "x.yaml:1:4: needs a list");
        let of_booleans = parsed::<Vec<bool>>("x.yaml", "- maybe\n").unwrap_err().to_string();
        assert_eq!(of_booleans, "x.yaml:1:3: needs true or false");
        let several = all_parsed::<Vec<f64>>("x.yaml", "- 1\n---\n- b\n").unwrap_err().to_string();
        assert_eq!(several, "x.yaml:3:3: needs a number");
        assert_eq!(parsed::<Vec<i8>>("x.yaml", "- b\n").unwrap_err().to_string(), "x.yaml:1:3: needs a whole number");
    }
}
