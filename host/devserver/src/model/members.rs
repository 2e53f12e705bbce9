//! Members of JSON objects.

use serde_json::{Map, Value, json};

/// The member `key` as an object; created when absent.
pub(crate) fn object<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Map<String, Value>> {
    let member = value.as_object_mut()?.entry(key).or_insert_with(|| json!({}));
    if member.is_null() {
        *member = json!({});
    }
    member.as_object_mut()
}

/// Sets a member that is absent or null.
pub(crate) fn fill(map: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    if map.get(key).is_none_or(Value::is_null) {
        map.insert(key.to_owned(), value.into());
    }
}
