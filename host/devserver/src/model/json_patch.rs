//! JSON patch with the behavior of the API server's library.
//!
//! A replace creates, and a copy of nothing is null. Negative indices count from the end, and the text before the first slash of a path
//! is ignored.

use serde_json::Value;

/// The operation failed; the API server gives no reason either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failed;

type Outcome<T> = Result<T, Failed>;

/// Applies all operations, or none.
pub(crate) fn apply(document: &mut Value, operations: &[Value]) -> Outcome<()> {
    let mut result = document.clone();
    for operation in operations {
        step(&mut result, operation)?;
    }
    *document = result;
    Ok(())
}

fn step(document: &mut Value, operation: &Value) -> Outcome<()> {
    let text = |key: &str| operation.get(key).and_then(Value::as_str);
    let path = text("path").ok_or(Failed)?;
    let value = operation.get("value").cloned().unwrap_or_default();
    match text("op").ok_or(Failed)? {
        "add" => add(document, path, value),
        "replace" => replace(document, path, value),
        "remove" => remove(document, path).map(|_| ()),
        "move" => {
            let moved = remove(document, text("from").ok_or(Failed)?)?;
            add(document, path, moved)
        }
        "copy" => {
            let from = text("from").filter(|from| !from.is_empty()).ok_or(Failed)?;
            let copied = get(document, from)?.unwrap_or_default();
            add(document, path, copied)
        }
        "test" => {
            let found = get(document, path)?.unwrap_or_default();
            if found == value { Ok(()) } else { Err(Failed) }
        }
        _ => Err(Failed),
    }
}

/// The container of a path, and the last key.
fn container<'a>(document: &'a mut Value, path: &str) -> Outcome<(&'a mut Value, String)> {
    let parts: Vec<String> = path.split('/').skip(1).map(|p| p.replace("~1", "/").replace("~0", "~")).collect();
    let (last, parents) = match parts.split_last() {
        Some((last, parents)) => (last.clone(), parents),
        None if path.is_empty() => return Err(Failed),
        None => (path.to_owned(), [].as_slice()),
    };
    let mut node = document;
    for part in parents {
        node = match node {
            Value::Object(map) => map.get_mut(part).ok_or(Failed)?,
            Value::Array(list) => {
                let at = index(part, list.len())?;
                list.get_mut(at).ok_or(Failed)?
            }
            _ => return Err(Failed),
        };
    }
    if node.is_object() || node.is_array() { Ok((node, last)) } else { Err(Failed) }
}

fn index(text: &str, length: usize) -> Outcome<usize> {
    let number: i64 = text.parse().ok().ok_or(Failed)?;
    let length = i64::try_from(length).ok().ok_or(Failed)?;
    let at = if number < 0 { number + length } else { number };
    usize::try_from(at).ok().ok_or(Failed)
}

fn get(document: &mut Value, path: &str) -> Outcome<Option<Value>> {
    if path.is_empty() {
        return Ok(Some(document.clone()));
    }
    let (node, key) = container(document, path)?;
    match node {
        Value::Object(map) => Ok(map.get(&key).cloned()),
        Value::Array(list) => Ok(Some(list.get(index(&key, list.len())?).ok_or(Failed)?.clone())),
        _ => Err(Failed),
    }
}

fn add(document: &mut Value, path: &str, value: Value) -> Outcome<()> {
    let (node, key) = container(document, path)?;
    match node {
        Value::Object(map) => {
            map.insert(key, value);
        }
        Value::Array(list) => {
            // Negative indices count from the end of the resulting list.
            let at = if key == "-" { list.len() } else { index(&key, list.len() + usize::from(key.starts_with('-')))? };
            if at > list.len() {
                return Err(Failed);
            }
            list.insert(at, value);
        }
        _ => return Err(Failed),
    }
    Ok(())
}

fn replace(document: &mut Value, path: &str, value: Value) -> Outcome<()> {
    if path.is_empty() && (value.is_object() || value.is_array()) {
        *document = value;
        return Ok(());
    }
    let (node, key) = container(document, path)?;
    match node {
        Value::Object(map) => {
            map.insert(key, value);
        }
        Value::Array(list) => {
            let at = index(&key, list.len())?;
            *list.get_mut(at).ok_or(Failed)? = value;
        }
        _ => return Err(Failed),
    }
    Ok(())
}

fn remove(document: &mut Value, path: &str) -> Outcome<Value> {
    let (node, key) = container(document, path)?;
    match node {
        Value::Object(map) => map.remove(&key).ok_or(Failed),
        Value::Array(list) => {
            let at = index(&key, list.len())?;
            if at < list.len() { Ok(list.remove(at)) } else { Err(Failed) }
        }
        _ => Err(Failed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(before: Value, operations: &Value, after: Option<Value>) {
        let mut document = before.clone();
        let outcome = apply(&mut document, operations.as_array().unwrap());
        assert_eq!(outcome.is_ok(), after.is_some());
        assert_eq!(document, after.unwrap_or(before));
    }

    #[test]
    fn operations_do_what_the_api_server_does() {
        let doc = || json!({"a": {"b": 1}, "l": [1, 2]});
        check(
            doc(),
            &json!([{"op": "replace", "path": "/a/new", "value": 1}]),
            Some(json!({"a": {"b": 1, "new": 1}, "l": [1, 2]})),
        );
        check(
            doc(),
            &json!([{"op": "copy", "from": "/nope", "path": "/a/c"}]),
            Some(json!({"a": {"b": 1, "c": null}, "l": [1, 2]})),
        );
        check(doc(), &json!([{"op": "move", "from": "/nope", "path": "/a/c"}]), None);
        check(doc(), &json!([{"op": "remove", "path": "/l/-1"}]), Some(json!({"a": {"b": 1}, "l": [1]})));
        check(doc(), &json!([{"op": "add", "path": "/l/1", "value": 9}]), Some(json!({"a": {"b": 1}, "l": [1, 9, 2]})));
        check(doc(), &json!([{"op": "add", "path": "/l/3", "value": 9}]), None);
        check(doc(), &json!([{"op": "add", "path": "", "value": 9}]), None);
        check(doc(), &json!([{"op": "test", "path": "/a/none", "value": null}]), Some(doc()));
        check(doc(), &json!([{"op": "remove", "path": "/a/b"}, {"op": "test", "path": "/a", "value": 1}]), None);
        check(doc(), &json!([{"path": "/a"}]), None);
    }
}
