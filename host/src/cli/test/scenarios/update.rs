//! `--update`: found values take the place of expected ones in the text of a scenario. Comments, order and the rest stay.

use serde_json::Value;
use std::ops::Range;

/// A change of the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Edit {
    /// Another value in place of a scalar.
    Scalar {
        /// Bytes of the text.
        place: Range<usize>,
        /// The value to replace.
        old: Value,
        value: Value,
    },
    /// Other items of a list.
    List {
        /// The line of the step, from 1.
        line: u64,
        /// The name of the list in the step.
        field: &'static str,
        items: Vec<Value>,
    },
}

/// The text with the edits.
///
/// # Errors
///
/// A sentence: the form of the text does not allow an edit.
pub(super) fn updated(text: &str, edits: &[Edit]) -> Result<String, String> {
    let mut changes: Vec<(Range<usize>, String)> = Vec::new();
    for edit in edits {
        changes.push(match edit {
            Edit::Scalar { place, old, value } => {
                let written = text.get(place.clone()).unwrap_or_default();
                // The place of a block scalar is not all of it.
                if serde_saphyr::from_str::<Value>(written).ok().as_ref() != Some(old) {
                    let line = text.get(..place.start).unwrap_or_default().matches('\n').count() + 1;
                    return Err(format!("line {line}: --update replaces only values that stand on one line"));
                }
                (place.clone(), scalar(written, value))
            }
            Edit::List { line, field, items } => list(text, *line, field, items)?,
        });
    }
    changes.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
    // A step behind an alias is edited once.
    changes.dedup_by(|a, b| a.0 == b.0);
    let mut text = text.to_owned();
    for (place, new) in changes {
        text.replace_range(place, &new);
    }
    Ok(text)
}

/// A value in place of a scalar: plain where the old one was and the new one can be, otherwise JSON, which is YAML.
fn scalar(old: &str, new: &Value) -> String {
    let plain = |text: &str| {
        let first = text.starts_with(|c: char| c.is_ascii_alphabetic());
        let simple = text.chars().all(|c| c.is_ascii_alphanumeric() || "._/- ".contains(c));
        // Whatever reads as the same text in YAML.
        let same = serde_saphyr::from_str::<Value>(text).is_ok_and(|read| read.as_str() == Some(text));
        first && simple && same && !text.ends_with(' ')
    };
    match new {
        Value::String(text) if !old.starts_with(['"', '\'']) && plain(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The lines of a list, and its new text. The key stands at the beginning of a line or after `- `.
fn list(text: &str, line: u64, field: &str, items: &[Value]) -> Result<(Range<usize>, String), String> {
    let first = usize::try_from(line).unwrap_or_default().saturating_sub(1);
    let begins = text.lines().nth(first).unwrap_or_default();
    // The dash of the step may stand alone in the line before.
    let ends = |line: &str| match indent_of(begins) {
        indent if has_dash(begins) => indent_of(line) <= indent,
        indent => indent_of(line) < indent || has_dash(line) && indent_of(line) == indent,
    };
    let says_nothing = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    // Blank lines and comments after the list stay.
    let (mut begin, mut found, mut last) = (0, None, 0);
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let end = begin + line.len();
        if let Some((start, indent)) = &found {
            let within = says_nothing(line) || indent_of(line) > *indent || is_item(line, *indent);
            if !within {
                return Ok((*start..last, written(field, *indent, items)));
            }
            if !says_nothing(line) {
                last = end;
            }
        } else if at > first && !says_nothing(line) && ends(line) {
            // The next step.
            break;
        } else if at >= first
            && let Some(offset) = key_at(line, field)
        {
            if opens(line) {
                return Err(format!("line {}: --update replaces no list in brackets over several lines", at + 1));
            }
            (found, last) = (Some((begin + offset, offset)), end);
        }
        begin = end;
    }
    let (start, indent) =
        found.ok_or_else(|| format!("line {line}: --update finds no line that begins with {field}: in this step"))?;
    Ok((start..last, written(field, indent, items)))
}

/// Whether the list that begins in the line ends in a later one, by its brackets.
fn opens(line: &str) -> bool {
    let value = line.split_once(": ").map_or("", |(_, value)| value.trim());
    value.starts_with('[') && serde_saphyr::from_str::<Value>(value).is_err()
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// A list may stand as far left as its key.
fn is_item(line: &str, indent: usize) -> bool {
    indent_of(line) == indent && has_dash(line)
}

fn has_dash(line: &str) -> bool {
    line.trim_start().starts_with("- ") || line.trim() == "-"
}

/// Where the key begins in the line.
fn key_at(line: &str, field: &str) -> Option<usize> {
    let mut offset = indent_of(line);
    if line.get(offset..)?.starts_with("- ") {
        offset += 2;
    }
    line.get(offset..)?.strip_prefix(field)?.starts_with(':').then_some(offset)
}

fn written(field: &str, indent: usize, items: &[Value]) -> String {
    if items.is_empty() {
        return format!("{field}: []\n");
    }
    let mut text = format!("{field}:\n");
    for item in items {
        text.push_str(&format!("{}- {}\n", " ".repeat(indent), in_order(item)));
    }
    text
}

/// The fields of an item that come first.
const FIRST: [&str; 5] = ["method", "url", "severity", "reason", "message"];

/// An item as a person would write it: `{method: "GET", url: "…"}`.
fn in_order(item: &Value) -> String {
    let Value::Object(fields) = item else { return item.to_string() };
    let first = FIRST.iter().filter_map(|name| fields.get_key_value(*name));
    let rest = fields.iter().filter(|(name, _)| !FIRST.contains(&name.as_str()));
    let fields: Vec<String> = first.chain(rest).map(|(name, value)| format!("{name}: {value}")).collect();
    format!("{{{}}}", fields.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn comments_order_and_style_stay() {
        let text = "steps:\n# first\n- assert: {resource: {a: old, b: 'x'}} # why\n- name: n\n  requests: []\n- requests:\n  - {method: GET}\n\n# last\n- advance: 1s\n";
        let place = |of: &str| text.find(of).map(|at| at..at + of.len()).unwrap();
        let edits = [
            Edit::Scalar { place: place("old"), old: json!("old"), value: json!("new text") },
            Edit::Scalar { place: place("'x'"), old: json!("x"), value: json!("y") },
            Edit::List { line: 4, field: "requests", items: vec![json!({"json": {"a": 1}, "method": "PUT"})] },
            Edit::List { line: 6, field: "requests", items: vec![] },
        ];
        let expected = "steps:\n# first\n- assert: {resource: {a: new text, b: \"y\"}} # why\n- name: n\n  requests:\n  - {method: \"PUT\", json: {\"a\":1}}\n- requests: []\n\n# last\n- advance: 1s\n";
        assert_eq!(updated(text, &edits).unwrap(), expected);
        assert!(
            updated(text, &[Edit::List { line: 10, field: "requests", items: vec![] }])
                .unwrap_err()
                .contains("line 10")
        );
    }

    #[test]
    fn what_the_form_of_the_text_does_not_allow_is_refused() {
        let block = "steps:\n- assert:\n    resource:\n      data:\n        conf: |\n          a=1\n        other: x\n";
        let place = block.find("a=1").map(|at| at..at + "a=1\n        ".len()).unwrap();
        let edit = Edit::Scalar { place, old: json!("a=1\n"), value: json!("a=2\n") };
        assert!(updated(block, &[edit]).unwrap_err().contains("line 6"));
        for (text, line) in [
            (
                "steps:\n- events: {ref: {kind: A}, expect: []}\n- events:\n    ref: {kind: B}\n    expect: []\n",
                "line 2",
            ),
            ("steps:\n- requests: [\n    {method: GET}\n  ]\n", "line 2"),
        ] {
            let field = if text.contains("expect") { "expect" } else { "requests" };
            let edit = Edit::List { line: 2, field, items: vec![json!(1)] };
            assert!(updated(text, &[edit]).unwrap_err().contains(line), "{text}");
        }
    }

    #[test]
    fn a_dash_may_stand_alone() {
        let text = "steps:\n-\n  name: n\n  requests:\n  -\n    method: GET\n-\n  advance: 1s\n";
        let edit = Edit::List { line: 3, field: "requests", items: vec![] };
        let expected = "steps:\n-\n  name: n\n  requests: []\n-\n  advance: 1s\n";
        assert_eq!(updated(text, &[edit]).unwrap(), expected);
        let other = Edit::List { line: 8, field: "requests", items: vec![] };
        assert!(updated(text, &[other]).unwrap_err().contains("line 8"));
    }

    #[test]
    fn comments_in_and_after_a_list_do_not_end_it() {
        let text = "steps:\n- requests:\n    - {method: GET}\n# why\n    - {method: PUT}\n# after\n- advance: 1s\n";
        let edit = Edit::List { line: 2, field: "requests", items: vec![json!({"method": "POST"})] };
        let expected = "steps:\n- requests:\n  - {method: \"POST\"}\n# after\n- advance: 1s\n";
        assert_eq!(updated(text, &[edit]).unwrap(), expected);
    }

    #[test]
    fn a_text_that_yaml_would_read_as_something_else_is_quoted() {
        for (text, expected) in
            [("yes", "\"yes\""), ("true", "\"true\""), ("null", "\"null\""), ("1", "\"1\""), ("a: b", "\"a: b\"")]
        {
            let new = scalar("plain", &json!(text));
            assert_eq!(serde_saphyr::from_str::<Value>(&new).unwrap(), json!(text), "{new}");
            assert_eq!(new, expected);
        }
        assert_eq!(scalar("1", &json!({"a": [1]})), "{\"a\":[1]}");
    }
}
