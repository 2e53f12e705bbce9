//! The bytes of a `Status`, which are those of Go: clients print and compare them.

use serde::{Serialize, Serializer};
use serde_json::Value;

/// The fields of Go's structs in their order: of a `Status`, its details, and their causes.
const ORDER: [&[&str]; 3] = [
    &["kind", "apiVersion", "metadata", "status", "message", "reason", "details", "code"],
    &["name", "group", "kind", "uid", "causes", "retryAfterSeconds"],
    &["reason", "message", "field"],
];

/// A value whose fields are written in an order for each level; others follow.
struct InOrder<'a>(&'a Value, &'a [&'a [&'a str]]);

impl Serialize for InOrder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let (first, deeper) = self.1.split_first().map_or((&[][..], self.1), |(first, deeper)| (*first, deeper));
        match self.0 {
            Value::Object(map) => {
                let named = first.iter().filter_map(|key| map.get_key_value(*key));
                let others = map.iter().filter(|(key, _)| !first.contains(&key.as_str()));
                serializer.collect_map(named.chain(others).map(|(key, value)| (key, InOrder(value, deeper))))
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(|item| InOrder(item, self.1))),
            other => other.serialize(serializer),
        }
    }
}

/// A `Status` in JSON with the line break of Go.
pub(super) fn body(status: &Value) -> Vec<u8> {
    let mut body = serde_json::to_vec(&InOrder(status, &ORDER)).unwrap_or_default();
    body.push(b'\n');
    body
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_status_has_the_bytes_of_a_real_server() {
        let status = json!({"apiVersion": "v1", "code": 422, "details": {"causes": [{"field": "f", "message": "m", "reason": "r"}],
            "kind": "ConfigMap", "name": "a"}, "kind": "Status", "message": "m", "metadata": {}, "reason": "Invalid", "status": "Failure"});
        let expected = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"m","reason":"Invalid","details":{"name":"a","kind":"ConfigMap","causes":[{"reason":"r","message":"m","field":"f"}]},"code":422}"#;
        assert_eq!(String::from_utf8(body(&status)).unwrap(), format!("{expected}\n"));
    }
}
