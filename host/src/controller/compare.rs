//! Comparing two states as JSON values.

use serde_json::Value;

/// Whether two states are the same: the order of keys and the spelling of numbers (`1`, `1.0`, `1e0`) do not count.
pub(super) fn same(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => first_difference(a, b).is_none(),
        _ => false,
    }
}

/// The JSON pointer of the first place where two values differ.
pub(super) fn first_difference(a: &Value, b: &Value) -> Option<String> {
    let mut path = String::new();
    differs(a, b, &mut path).then_some(path)
}

fn differs(a: &Value, b: &Value, path: &mut String) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|k| !a.contains_key(*k)));
            for key in keys {
                let before = path.len();
                path.push('/');
                path.push_str(&key.replace('~', "~0").replace('/', "~1"));
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) if !differs(a, b, path) => path.truncate(before),
                    _ => return true,
                }
            }
            false
        }
        (Value::Array(a), Value::Array(b)) => {
            for (i, (a, b)) in a.iter().zip(b).enumerate() {
                let before = path.len();
                path.push_str(&format!("/{i}"));
                if differs(a, b, path) {
                    return true;
                }
                path.truncate(before);
            }
            a.len() != b.len()
        }
        (Value::Number(a), Value::Number(b)) => {
            // Integers are compared exactly: as f64 large ones would fall together.
            let as_floats = a.is_f64() || b.is_f64();
            a != b && !(as_floats && a.as_f64() == b.as_f64())
        }
        _ => a != b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_spelling_of_numbers_and_the_order_of_keys_do_not_count() {
        let a: Value = serde_json::from_str(r#"{"a":1,"b":[1.0,2e0]}"#).unwrap();
        let b: Value = serde_json::from_str(r#"{"b":[1,2],"a":1.0}"#).unwrap();
        assert!(same(Some(&a), Some(&b)));
    }

    #[test]
    fn large_integers_are_compared_exactly() {
        let (a, b) = (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_u64));
        assert!(!same(Some(&a), Some(&b)));
    }

    #[test]
    fn the_first_difference_is_named_by_its_place() {
        for (a, b, expected) in [
            (json!({"a": {"b/c": 1}}), json!({"a": {"b/c": 2}}), Some("/a/b~1c")),
            (json!({"a": 1}), json!({}), Some("/a")),
            (json!([1, 2]), json!([1]), Some("")),
            (json!([1, 2]), json!([1, 3]), Some("/1")),
            (json!(null), json!(false), Some("")),
            (json!(1.5), json!(1), Some("")),
            (json!({"a": [1]}), json!({"a": [1]}), None),
        ] {
            assert_eq!(first_difference(&a, &b).as_deref(), expected, "{a} {b}");
        }
    }

    #[test]
    fn none_is_not_null() {
        assert!(same(None, None));
        assert!(!same(None, Some(&Value::Null)));
    }
}
