//! Plain paths: time linear in the document.

use crate::{JsonPath, ParseError, Step};
use serde_json::Value;

/// A path of field names, `['name']`, `[0]` and `[*]`. Its search visits each value of a document at most once.
#[derive(Clone, Debug, PartialEq)]
pub struct PlainPath(JsonPath);

impl PlainPath {
    /// Parses a path.
    ///
    /// # Errors
    ///
    /// [`ParseError`] for an invalid path, and for one with other steps.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let path = JsonPath::parse(text)?;
        if path.steps.iter().all(|step| matches!(step, Step::Field(_) | Step::Index(_) | Step::All)) {
            return Ok(Self(path));
        }
        Err(ParseError(format!("only field names, ['name'], [0] and [*] can be used here, not all of {text:?}")))
    }

    /// Passes each scalar at the path to `found`: strings, integers and booleans, and those in lists at the path.
    pub fn scalars(&self, document: &Value, found: &mut dyn FnMut(&str)) {
        for value in self.0.find(document) {
            match value {
                Value::Array(items) => items.iter().for_each(|item| scalar(item, found)),
                value => scalar(value, found),
            }
        }
    }
}

fn scalar(value: &Value, found: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => found(text),
        Value::Bool(flag) => found(if *flag { "true" } else { "false" }),
        Value::Number(number) if number.is_i64() || number.is_u64() => found(&number.to_string()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_scalar_at_the_path_is_found() {
        let pod = json!({"metadata": {"annotations": {"x.y/z": "noted"}},
            "spec": {"nodeName": "n1", "priority": 7, "hostNetwork": true, "weight": 0.5, "args": ["one", 2, null],
                "volumes": [{"configMap": {"name": "one"}}, {"secret": {}}, {"configMap": {"name": "two"}}]}});
        for (path, expected) in [
            (".spec.nodeName", &["n1"][..]),
            ("{.spec.nodeName}", &["n1"]),
            (".spec.priority", &["7"]),
            (".spec.hostNetwork", &["true"]),
            (".spec.weight", &[]),
            (".spec.args", &["one", "2"]),
            (".spec.args[*]", &["one", "2"]),
            (".spec.args[1]", &["2"]),
            (".spec.volumes[*].configMap.name", &["one", "two"]),
            (".metadata.annotations['x.y/z']", &["noted"]),
            (".spec.absent.field", &[]),
        ] {
            let mut found = Vec::new();
            PlainPath::parse(path).unwrap().scalars(&pod, &mut |value| found.push(value.to_owned()));
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn a_path_that_may_visit_a_value_twice_is_refused() {
        for path in [".a[", "..name", ".a[?(@.b==\"c\")]", ".a['b','b']", ".a[0:5]"] {
            assert!(PlainPath::parse(path).is_err(), "{path}");
        }
    }
}
