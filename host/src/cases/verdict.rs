//! Comparison of a case's expectation with the results.

use super::answers::Answers;
use super::format::Expect;
use crate::secrets::same_text;
use serde_json::{Map, Value};

/// The differences, one line each, as `path: expected …, found …`. Empty: the case passes.
///
/// * `recorded` - the expectation is complete: a precondition that it does not have is a difference.
pub(super) fn differences(expect: &Expect, answers: &Answers, recorded: bool) -> Vec<String> {
    if *expect == Expect::default() {
        return vec!["expect is missing: the case compares nothing".to_owned()];
    }
    let found = |field: &str| answers.fields.get(field).unwrap_or(&Value::Null);
    let mut lines = Vec::new();
    match (&expect.error, answers.fields.get("error")) {
        (None, Some(error)) => lines.push(format!("it failed: {error}")),
        (Some(expected), error) => error_differences(expected, error, &mut lines),
        (None, None) => {}
    }
    let whole = [
        ("desired", &expect.desired),
        ("actual", &expect.actual),
        ("status", &expect.status),
        ("requeueAfterMs", &expect.requeue_after_ms),
    ];
    for (field, expected) in whole {
        if let Some(expected) = expected {
            walk(field, expected, found(field), &mut lines);
        }
    }
    if let Some(expected) = &expect.after {
        walk("after", &Value::from(expected.clone()), found("after"), &mut lines);
    }
    if let Some(expected) = &expect.changes {
        changes_differences(expected, &list(found("changes")), recorded, &mut lines);
    }
    if let Some(expected) = &expect.events {
        walk("events", &Value::from(expected.clone()), &Value::from(list(found("events"))), &mut lines);
    }
    if let Some(expected) = &expect.warnings {
        walk("warnings", &Value::from(expected.clone()), &Value::from(list(found("warnings"))), &mut lines);
    }
    lines
}

/// The expected failure message may be a part of the actual one, because traces differ; other values must match as a whole.
fn error_differences(expected: &Map<String, Value>, found: Option<&Value>, lines: &mut Vec<String>) {
    let Some(found) = found else {
        lines.push(format!("error: expected {}, found none", Value::from(expected.clone())));
        return;
    };
    for (field, value) in expected {
        let text = found.get(field).unwrap_or(&Value::Null);
        let holds = match (field.as_str(), value.as_str(), text.as_str()) {
            ("failed", Some(part), Some(text)) => text.contains(part),
            (_, Some(expected), Some(text)) => same_text(expected, text),
            _ => value == text,
        };
        if !holds {
            lines.push(format!("error.{field}: expected {value}, found {found}"));
        }
    }
}

/// In a case that a person wrote, preconditions count only where it has them.
fn changes_differences(expected: &[Map<String, Value>], found: &[Value], recorded: bool, lines: &mut Vec<String>) {
    for (i, pair) in expected.iter().zip(found).enumerate() {
        let (expected, mut found) = (pair.0, pair.1.clone());
        if let Some(found) = found.as_object_mut() {
            found.retain(|field, _| {
                recorded || expected.contains_key(field) || !["uid", "resourceVersion"].contains(&field.as_str())
            });
        }
        walk(&format!("changes[{i}]"), &Value::from(expected.clone()), &found, lines);
    }
    for (i, missing) in expected.iter().enumerate().skip(found.len()) {
        lines.push(format!("changes[{i}]: expected {}, found none", Value::from(missing.clone())));
    }
    for (i, more) in found.iter().enumerate().skip(expected.len()) {
        lines.push(format!("changes[{i}]: expected none, found {more}"));
    }
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

/// The differences of two documents, one line each.
pub(super) fn compared(path: &str, expected: &Value, found: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    walk(path, expected, found, &mut lines);
    lines
}

/// Descends to the differences of two documents. Numbers are compared by value, as the host does.
fn walk(path: &str, expected: &Value, found: &Value, lines: &mut Vec<String>) {
    if crate::controller::same_state(Some(expected), Some(found)) {
        return;
    }
    match (expected, found) {
        (Value::Object(a), Value::Object(b)) => {
            for (field, expected) in a {
                walk(&format!("{path}.{field}"), expected, b.get(field).unwrap_or(&Value::Null), lines);
            }
            for (field, found) in b.iter().filter(|(field, _)| !a.contains_key(*field)) {
                lines.push(format!("{path}.{field}: expected nothing, found {found}"));
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (i, (expected, found)) in a.iter().zip(b).enumerate() {
                walk(&format!("{path}[{i}]"), expected, found, lines);
            }
        }
        (Value::String(a), Value::String(b)) if same_text(a, b) => {}
        _ => lines.push(format!("{path}: expected {}, found {}", said(expected), said(found))),
    }
}

fn said(value: &Value) -> String {
    if value.is_null() { "none".to_owned() } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(expect: Value, fields: Value) -> Vec<String> {
        told_of(expect, fields, false)
    }

    fn told_of(expect: Value, fields: Value, recorded: bool) -> Vec<String> {
        let expect: Expect = serde_json::from_value(expect).unwrap();
        let Value::Object(fields) = fields else { panic!("no object") };
        differences(&expect, &Answers { fields }, recorded)
    }

    #[test]
    fn only_what_is_named_is_compared() {
        let fields = json!({"desired": {"a": 1.0, "b": [1, 2]}, "actual": null, "events": [{"reason": "X"}]});
        assert_eq!(
            told(json!({"desired": {"a": 1, "b": [1, 2]}, "actual": null}), fields.clone()),
            Vec::<String>::new()
        );
        assert_eq!(
            told(json!({"desired": {"a": 2, "b": [1, 3], "c": 1}, "actual": {"x": 1}, "events": []}), fields),
            [
                "desired.a: expected 2, found 1.0",
                "desired.b[1]: expected 3, found 2",
                "desired.c: expected 1, found none",
                "actual: expected {\"x\":1}, found none",
                "events: expected [], found [{\"reason\":\"X\"}]",
            ]
        );
    }

    #[test]
    fn n20_a_case_that_expects_nothing_fails() {
        for fields in [json!({}), json!({"desired": 1}), json!({"error": {"failed": "trap"}})] {
            assert_eq!(told(json!({}), fields), ["expect is missing: the case compares nothing"]);
        }
    }

    #[test]
    fn an_error_that_nobody_expects_fails_the_case() {
        let failed = json!({"error": {"failed": "trap: 42 at line 7"}});
        assert_eq!(told(json!({"changes": []}), failed.clone()), ["it failed: {\"failed\":\"trap: 42 at line 7\"}"]);
        assert_eq!(told(json!({"error": {"failed": "42"}}), failed.clone()), Vec::<String>::new());
        assert_eq!(told(json!({"error": {"terminal": "42"}}), failed).len(), 1);
        assert_eq!(told(json!({"error": {"terminal": "42"}}), json!({})).len(), 1);
    }

    #[test]
    fn changes_are_compared_one_by_one_and_preconditions_only_where_they_are_named() {
        let found = json!({"changes": [{"create": {"a": 1}, "uid": "u"}, {"delete": {"name": "x"}}]});
        assert_eq!(
            told(json!({"changes": [{"create": {"a": 1}}, {"delete": {"name": "x"}}]}), found.clone()),
            Vec::<String>::new()
        );
        let lines = told(json!({"changes": [{"create": {"a": 1}, "uid": "v"}]}), found.clone());
        assert_eq!(
            lines,
            [
                "changes[0].uid: expected \"v\", found \"u\"",
                "changes[1]: expected none, found {\"delete\":{\"name\":\"x\"}}"
            ]
        );
        assert_eq!(told(json!({"changes": []}), found).len(), 2);
    }

    #[test]
    fn a_precondition_that_only_the_new_code_has_differs_from_a_recording() {
        let plain = json!({"changes": [{"apply": {"a": 1}}, {"delete": {"name": "x"}}]});
        let strict =
            json!({"changes": [{"apply": {"a": 1}, "resourceVersion": "7"}, {"delete": {"name": "x"}, "uid": "u"}]});
        assert_eq!(
            told_of(plain.clone(), strict.clone(), true),
            [
                "changes[0].resourceVersion: expected nothing, found \"7\"",
                "changes[1].uid: expected nothing, found \"u\""
            ]
        );
        assert_eq!(
            told_of(strict.clone(), plain.clone(), true),
            ["changes[0].resourceVersion: expected \"7\", found none", "changes[1].uid: expected \"u\", found none"]
        );
        assert_eq!((told_of(strict.clone(), strict, true), told_of(plain.clone(), plain, true)), (vec![], vec![]));
    }
}
