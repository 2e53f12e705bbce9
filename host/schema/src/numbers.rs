//! Numbers: ranges, formats, and equality across integer and float.

use serde_json::{Number, Value};
use std::collections::HashMap;

use crate::{go, node::Node};

/// A fault of a number.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The number does not fit its type and format; a server reports this without a field.
    OutOfFormat(String),
    /// The number violates a bound; the text follows `<path> in body `.
    OutOfRange(String),
}

/// Checks type range, `multipleOf`, `minimum` and `maximum`.
pub(crate) fn check(node: &Node, number: &Number, path: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    let value = number.as_f64().unwrap_or(f64::NAN);
    let whole = number.is_i64() || number.is_u64();
    if !in_format(node, number, value) {
        let format = match node.format.as_str() {
            "" => " (default format)".to_owned(),
            format => format!(" with format {format}"),
        };
        let ty = node.types.first().map_or("", String::as_str);
        faults.push(Fault::OutOfFormat(format!("Checked value must be of type {ty}{format} in {path}")));
    }
    let mut refuse = |text: &str, bound: f64| {
        #[expect(clippy::cast_possible_truncation, reason = "a server shows the bound of an integer as an integer")]
        let shown = if whole { (bound as i64).to_string() } else { go::float(bound) };
        faults.push(Fault::OutOfRange(format!("{text} {shown}")));
    };
    if let Some(factor) = node.multiple_of
        && !is_multiple(number, factor)
    {
        refuse("should be a multiple of", factor);
    }
    if let Some(min) = node.minimum {
        if node.exclusive_minimum && value <= min {
            refuse("should be greater than", min);
        } else if value < min {
            refuse("should be greater than or equal to", min);
        }
    }
    if let Some(max) = node.maximum {
        if node.exclusive_maximum && value >= max {
            refuse("should be less than", max);
        } else if value > max {
            refuse("should be less than or equal to", max);
        }
    }
    faults
}

fn in_format(node: &Node, number: &Number, value: f64) -> bool {
    if node.types.len() != 1 {
        return true;
    }
    match (node.types.first().map(String::as_str), node.format.as_str()) {
        (Some("integer"), "int32") => {
            value.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&value)
        }
        (Some("integer"), "uint32") => value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value),
        (Some("integer"), "uint64") => {
            number.is_u64() || (value.fract() == 0.0 && (0.0..18_446_744_073_709_551_616.0).contains(&value))
        }
        (Some("integer"), _) => {
            number.is_i64()
                || (!number.is_u64()
                    && value.fract() == 0.0
                    && (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value))
        }
        (Some("number"), "float") => value.abs() <= f64::from(f32::MAX),
        _ => true,
    }
}

fn is_multiple(number: &Number, factor: f64) -> bool {
    if let (Some(n), 0.0) = (number.as_i64(), factor.fract())
        && factor.abs() >= 1.0
        && factor.abs() < 9.0e18
    {
        #[expect(clippy::cast_possible_truncation, reason = "whole and in range")]
        return n.checked_rem(factor as i64).is_none_or(|rest| rest == 0);
    }
    let quotient = number.as_f64().unwrap_or(f64::NAN) / factor;
    quotient.fract() == 0.0
}

/// Deep equality where `1` equals `1.0`.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || (x.is_f64() != y.is_f64() && x.as_f64() == y.as_f64()),
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(k, v)| y.get(k).is_some_and(|w| same(v, w)))
        }
        _ => a == b,
    }
}

/// Whether a member occurs twice.
pub(crate) fn repeats(items: &[Value]) -> bool {
    // By a text that is equal for equal values. A few thousand large integers may share one, not more.
    let mut seen: HashMap<String, Vec<&Value>> = HashMap::new();
    items.iter().any(|item| {
        let mut text = String::new();
        rounded(item, &mut text);
        let alike = seen.entry(text).or_default();
        let repeated = alike.iter().any(|earlier| same(earlier, item));
        alike.push(item);
        repeated
    })
}

/// The JSON text of a value, with all numbers as floating point.
fn rounded(value: &Value, text: &mut String) {
    match value {
        Value::Number(number) => text.push_str(&format!("{:e}", number.as_f64().unwrap_or_default() + 0.0)),
        Value::Array(items) => {
            for item in items {
                text.push('[');
                rounded(item, text);
            }
            text.push(']');
        }
        Value::Object(map) => {
            for (key, child) in map {
                text.push('{');
                text.push_str(&format!("{key:?}:"));
                rounded(child, text);
            }
            text.push('}');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}
