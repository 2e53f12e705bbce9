//! The JSON form of a field set: `f:` field, `k:` key, `v:` value, `i:` index, `.` the path itself.

use serde_json::{Map, Value};

use super::{Error, FieldSet, Node, PathElement};

pub(super) fn parse(value: &Value) -> Result<FieldSet, Error> {
    Ok(parse_node(value)?.below)
}

/// An empty object stands for the path itself.
fn parse_node(value: &Value) -> Result<Node, Error> {
    let Value::Object(map) = value else { return Err(Error::NotAnObject(value.to_string())) };
    let mut node = Node { member: map.is_empty(), below: FieldSet::new() };
    for (key, child) in map {
        if key == "." {
            node.member = true;
        } else if let Some(element) = parse_element(key)? {
            let child = parse_node(child)?;
            node.below.graft(element, child.member, child.below);
        }
    }
    Ok(node)
}

fn parse_element(key: &str) -> Result<Option<PathElement>, Error> {
    let bad = |source| Error::Element { element: key.to_owned(), source };
    let Some((prefix, rest)) = key.split_once(':') else { return Err(bad(None)) };
    let json = || serde_json::from_str::<Value>(rest).map_err(|e| bad(Some(e)));
    Ok(match prefix {
        "f" => Some(PathElement::Field(rest.to_owned())),
        "k" => match json()? {
            Value::Object(keys) => Some(PathElement::Key(keys.into_iter().collect())),
            _ => return Err(bad(None)),
        },
        "v" => Some(PathElement::Value(json()?)),
        "i" => Some(PathElement::Index(rest.parse().map_err(|_not_a_number| bad(None))?)),
        _ => None,
    })
}

pub(super) fn print(set: &FieldSet) -> Value {
    let mut map = Map::new();
    for (element, node) in &set.nodes {
        let mut child = print(&node.below);
        if let Value::Object(child) = &mut child
            && node.member
            && !node.below.is_empty()
        {
            child.insert(".".to_owned(), Value::Object(Map::new()));
        }
        map.insert(print_element(element), child);
    }
    Value::Object(map)
}

fn print_element(element: &PathElement) -> String {
    match element {
        PathElement::Field(name) => format!("f:{name}"),
        PathElement::Key(keys) => {
            let keys: Map<String, Value> = keys.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
            format!("k:{}", Value::Object(keys))
        }
        PathElement::Value(value) => format!("v:{value}"),
        PathElement::Index(index) => format!("i:{index}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_set_prints_as_it_was_read() {
        let json = json!({
            "f:metadata": {"f:labels": {".": {}, "f:a": {}}, "f:finalizers": {"v:\"x.io/a\"": {}}},
            "f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}, "i:3": {}}},
        });
        let set = FieldSet::from_json(&json).unwrap();
        assert_eq!(set.to_json(), json);
        assert!(set.contains(&[PathElement::field("metadata"), PathElement::field("labels")]));
        assert!(!set.contains(&[PathElement::field("metadata")]));
    }

    #[test]
    fn paths_print_as_in_conflicts() {
        let json = json!({"f:a": {"k:{\"n\":\"x\",\"p\":1}": {"f:b": {}}, "v:\"s\"": {}, "i:2": {}}});
        let paths: Vec<String> = FieldSet::from_json(&json).unwrap().paths().iter().map(ToString::to_string).collect();
        assert_eq!(paths, [".a[=\"s\"]", ".a[2]", ".a[n=\"x\",p=1].b"]);
    }

    #[test]
    fn unknown_elements_are_skipped_and_broken_ones_refused() {
        assert!(FieldSet::from_json(&json!({"z:new": {}})).unwrap().is_empty());
        for bad in [
            json!({"k:[1]": {}}),
            json!({"v:{": {}}),
            json!({"i:x": {}}),
            json!({"plain": {}}),
            json!([]),
            json!({"f:a": 1}),
        ] {
            assert!(FieldSet::from_json(&bad).is_err(), "{bad}");
        }
    }
}
