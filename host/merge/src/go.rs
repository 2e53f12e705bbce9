//! Go's printing and comparison of JSON values, which appear in the API server's error messages.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// `fmt.Sprintf("%v", value)` of a decoded JSON document: `map[a:1 b:[x y]]`, keys sorted.
pub(crate) fn print(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => n.to_string(),
        Value::String(s) => s.clone(),
        Value::Array(items) => print_list(items),
        Value::Object(map) => {
            let entries: Vec<String> = map.iter().map(|(k, v)| format!("{k}:{}", print(v))).collect();
            format!("map[{}]", entries.join(" "))
        }
    }
}

/// The same for a list.
pub(crate) fn print_list(items: &[Value]) -> String {
    let items: Vec<String> = items.iter().map(print).collect();
    format!("[{}]", items.join(" "))
}

/// `fmt.Sprintf("%#v", value)` of a scalar: strings are quoted.
pub(crate) fn print_syntax(value: &Value) -> String {
    match value {
        Value::String(s) => format!("{s:?}"),
        Value::Object(map) => {
            let entries: Vec<String> = map.iter().map(|(k, v)| format!("{k:?}:{}", print_syntax(v))).collect();
            format!("map[string]interface {{}}{{{}}}", entries.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(print_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(_) | Value::Number(_) => print(value),
    }
}

/// Whether two documents are equal; `1` and `1.0` are. The same as [`compare`] says, in less time.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Number(a), Value::Number(b)) => a == b || compare_numbers(a, b).is_eq(),
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Array(a), Value::Array(b)) => equal_lists(a, b),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((ak, av), (bk, bv))| ak == bk && equal(av, bv))
        }
        _ => false,
    }
}

/// Whether two lists are equal.
pub(crate) fn equal_lists(a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
}

/// A total order over JSON values, by kind first; numbers by value, however they are spelled.
pub(crate) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let mut pairs = a.iter().zip(b).map(|(a, b)| compare(a, b));
            pairs.find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let mut pairs = a.iter().zip(b).map(|((ak, av), (bk, bv))| ak.cmp(bk).then_with(|| compare(av, bv)));
            pairs.find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

/// By floating point value, then by exact integer value, so that the order stays total beyond 2^53.
fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    let key = |n: &Number| {
        let float = n.as_f64().unwrap_or_default() + 0.0;
        #[expect(clippy::cast_possible_truncation, reason = "saturates, which keeps the order")]
        let exact = n.as_i64().map(i128::from).or(n.as_u64().map(i128::from)).unwrap_or(float as i128);
        (float, exact)
    };
    let (a, b) = (key(a), key(b));
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn values_print_as_go_prints_them() {
        assert_eq!(print(&json!({"b": [1, "x", null], "a": true})), "map[a:true b:[1 x <nil>]]");
    }

    #[test]
    fn one_and_one_point_zero_are_the_same_number() {
        assert!(equal(&json!({"a": [1]}), &json!({"a": [1.0]})));
        assert!(!equal(&json!(9_007_199_254_740_993_i64), &json!(9_007_199_254_740_992_i64)));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn documents_are_equal_when_their_order_says_so(a in document(), b in document()) {
            prop_assert_eq!(equal(&a, &b), compare(&a, &b).is_eq());
            prop_assert_eq!(compare(&a, &b), compare(&b, &a).reverse());
            prop_assert!(equal(&a, &a.clone()));
        }
    }

    /// Small documents, of which many are equal.
    fn document() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-1_i64..2).prop_map(Value::from),
            (-1_i8..2).prop_map(|n| Value::from(f64::from(n))),
            "[ab]?".prop_map(Value::from),
        ];
        scalar.prop_recursive(3, 6, 2, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                proptest::collection::btree_map("[ab]", inner, 0..3).prop_map(|map| map.into_iter().collect()),
            ]
        })
    }
}
