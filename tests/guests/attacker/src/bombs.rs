//! JSON Patches that are small and make much of it.

use serde_json::{Value, json};

/// Levels that one step of the deep bomb adds.
const LEVELS: usize = 100;

/// The patch that `bomb` asks for, as text.
pub(crate) fn patch(bomb: &Value) -> String {
    let number = |name: &str| bomb.get(name).and_then(Value::as_u64).unwrap_or(20);
    match bomb.get("kind").and_then(Value::as_str) {
        Some("copy") => copy(number("doublings")),
        Some("deep") => deep(number("levels")),
        Some("insert") => insert(number("doublings"), number("n")),
        _ => "[]".to_owned(),
    }
}

fn copy(doublings: u64) -> String {
    let mut operations = vec![json!({"op": "add", "path": "/data", "value": {"a": "x".repeat(1000)}})];
    operations.extend((0..doublings).map(|i| json!({"op": "copy", "from": "/data", "path": format!("/data/k{i}")})));
    Value::Array(operations).to_string()
}

fn deep(steps: u64) -> String {
    let inner = "[".repeat(LEVELS) + &"]".repeat(LEVELS);
    let path = "/0".repeat(LEVELS - 1);
    let mut text = "[{\"op\":\"add\",\"path\":\"/data\",\"value\":[]}".to_owned();
    for _ in 0..steps {
        text.push_str(&format!(
            ",{{\"op\":\"add\",\"path\":\"/b\",\"value\":{inner}}},{{\"op\":\"move\",\"from\":\"/data\",\"path\":\"/b{path}/0\"}},\
             {{\"op\":\"move\",\"from\":\"/b\",\"path\":\"/data\"}}"
        ));
    }
    text + "]"
}

fn insert(doublings: u64, times: u64) -> String {
    let mut operations = vec![json!({"op": "add", "path": "/data", "value": [0]})];
    operations.extend((0..doublings).map(|_| json!({"op": "copy", "from": "/data", "path": "/data/0"})));
    operations.extend((0..times).map(|_| json!({"op": "add", "path": "/data/0", "value": 0})));
    Value::Array(operations).to_string()
}
