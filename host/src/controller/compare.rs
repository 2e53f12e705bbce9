//! Comparison of desired and actual state as JSON values.

use json_patch::jsonptr::Token;
use serde_json::Value;

/// Whether two states are equal: the order of keys and the spelling of numbers (`1`, `1.0`, `1e0`) do not count.
pub fn same(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => std::ptr::eq(a, b) || equal(a, b),
        _ => false,
    }
}

fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Number(a), Value::Number(b)) => {
            // Integers are compared exactly: as f64, large ones would be equal.
            let as_floats = a.is_f64() || b.is_f64();
            a == b || (as_floats && a.as_f64() == b.as_f64())
        }
        _ => a == b,
    }
}

/// The path of the first difference between two states, or words for the whole state.
#[must_use]
pub fn place(a: Option<&Value>, b: Option<&Value>) -> String {
    let place = match (a, b) {
        (Some(a), Some(b)) => first_difference(a, b).unwrap_or_default(),
        _ => String::new(),
    };
    if place.is_empty() { "the whole state".to_owned() } else { place }
}

/// The JSON pointers of up to `most` differences between two values, down to scalars; lists of different length differ as a whole.
pub(super) fn differences(a: &Value, b: &Value, most: usize) -> Vec<String> {
    let mut found = Vec::new();
    all_differences(a, b, &mut String::new(), most, &mut found);
    found
}

fn all_differences(a: &Value, b: &Value, path: &mut String, most: usize, found: &mut Vec<String>) {
    if found.len() >= most {
        return;
    }
    let before = path.len();
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|k| !a.contains_key(*k))) {
                // A path may be as long as the document: one for each missing key would have quadratic size.
                if found.len() >= most {
                    return;
                }
                path.push('/');
                path.push_str(Token::new(key).encoded());
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => all_differences(a, b, path, most, found),
                    _ => found.push(path.clone()),
                }
                path.truncate(before);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (i, (a, b)) in a.iter().zip(b).enumerate() {
                path.push_str(&format!("/{i}"));
                all_differences(a, b, path, most, found);
                path.truncate(before);
            }
        }
        (a, b) if same(Some(a), Some(b)) => {}
        _ => found.push(path.clone()),
    }
}

/// The JSON pointer of the first difference between two values.
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
                path.push_str(Token::new(key).encoded());
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
        (a, b) => !equal(a, b),
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
    fn every_difference_is_named_up_to_a_number() {
        let (a, b) = (json!({"a": 1, "b": [1, {"c": 2}], "d/e": null}), json!({"a": 2, "b": [1, {"c": 3}], "f": [1]}));
        assert_eq!(differences(&a, &b, 10), ["/a", "/b/1/c", "/d~1e", "/f"]);
        assert_eq!(differences(&a, &b, 2), ["/a", "/b/1/c"]);
        assert_eq!(differences(&json!([1]), &json!([1, 2]), 10), [""]);
        assert_eq!(differences(&json!(1), &json!(1.0), 10), Vec::<String>::new());
    }

    #[test]
    fn none_is_not_null() {
        assert!(same(None, None));
        assert!(!same(None, Some(&Value::Null)));
    }

    #[test]
    fn bounded_work_of_differences_that_are_not_named() {
        let many: serde_json::Map<String, Value> = (0..2_000).map(|i| (i.to_string(), json!(0))).collect();
        let (a, b) = (json!({"k".repeat(20_000): {}}), json!({"k".repeat(20_000): many}));
        let mut found = Vec::new();
        all_differences(&a, &b, &mut String::new(), 3, &mut found);
        assert_eq!(found.len(), 3);
        assert!(found.capacity() < 100, "{} paths were put together", found.capacity());
    }
}
