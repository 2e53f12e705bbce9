//! Partial match of objects, as chainsaw's `assert` has it: fields that are not named do not count.

use serde_json::Value;

/// Where an object is not as expected.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Difference {
    /// JSON pointer.
    pub(super) path: String,
    pub(super) expected: Value,
    /// None: there is no such field.
    pub(super) found: Option<Value>,
}

impl Difference {
    /// For people: `data.greeting: expected "Hi", found none`.
    pub(super) fn line(&self) -> String {
        let found = self.found.as_ref().map_or_else(|| "none".to_owned(), Value::to_string);
        let expected = if self.expected.is_null() { "none".to_owned() } else { self.expected.to_string() };
        format!("{}: expected {expected}, found {found}", shown(&self.path))
    }
}

/// A JSON pointer in the form of the other messages: `spec.ports[0].name`.
fn shown(pointer: &str) -> String {
    let mut text = String::new();
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        if !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit()) {
            text.push_str(&format!("[{step}]"));
            continue;
        }
        if !text.is_empty() {
            text.push('.');
        }
        text.push_str(&step);
    }
    if text.is_empty() { "object".to_owned() } else { text }
}

/// The differences, in the order of the fields. Empty: the object matches.
///
/// Lists need the same length, and match item by item. A field that is expected to be null may be missing. Numbers compare by value.
pub(super) fn differences(expected: &Value, found: &Value) -> Vec<Difference> {
    let mut all = Vec::new();
    walk(String::new(), expected, Some(found), &mut all);
    all
}

fn walk(path: String, expected: &Value, found: Option<&Value>, all: &mut Vec<Difference>) {
    match (expected, found) {
        (Value::Object(wanted), Some(Value::Object(fields))) => {
            for (name, expected) in wanted {
                let step = name.replace('~', "~0").replace('/', "~1");
                walk(format!("{path}/{step}"), expected, fields.get(name), all);
            }
        }
        (Value::Array(wanted), Some(Value::Array(items))) if wanted.len() == items.len() => {
            for (at, (expected, found)) in wanted.iter().zip(items).enumerate() {
                walk(format!("{path}/{at}"), expected, Some(found), all);
            }
        }
        (Value::Null, None) => {}
        (Value::Number(a), Some(Value::Number(b))) if a == b || a.as_f64() == b.as_f64() => {}
        (expected, Some(found)) if expected == found => {}
        _ => all.push(Difference { path, expected: expected.clone(), found: found.cloned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn lines(expected: &Value, found: &Value) -> Vec<String> {
        differences(expected, found).iter().map(Difference::line).collect()
    }

    #[test]
    fn only_named_fields_count() {
        let found = json!({"a": 1.0, "b": [{"x": 1, "y": 2}], "c": {"d/e": "f"}});
        let same = json!({"a": 1, "b": [{"x": 1}], "c": {}, "z": null});
        assert_eq!(lines(&same, &found), Vec::<String>::new());
        let other = json!({"a": 2, "b": [{"x": 2}], "c": {"d/e": "g", "h": 1}, "z": {}});
        let expected = [
            "a: expected 2, found 1.0",
            "b[0].x: expected 2, found 1",
            "c.d/e: expected \"g\", found \"f\"",
            "c.h: expected 1, found none",
            "z: expected {}, found none",
        ];
        assert_eq!(lines(&other, &found), expected);
        assert_eq!(lines(&json!({"b": []}), &found)[0], "b: expected [], found [{\"x\":1,\"y\":2}]");
    }
}
