//! Sizes of JSON values: bytes and depth, measured before costly work.

use serde_json::Value;

use crate::steps::{Budget, Stopped};

/// Most nested arrays and objects: the limit of `serde_json`.
pub const MOST_DEPTH: usize = 128;

/// The size of a value.
#[derive(Debug, Clone, Copy, Default)]
pub struct Size {
    /// About the length of its JSON text.
    pub bytes: usize,
    /// Depth of nested arrays and objects.
    pub depth: usize,
}

/// Measures a value, and charges every value inside it. A value that was parsed from JSON text is never deeper than [`MOST_DEPTH`].
///
/// # Errors
///
/// [`Stopped`].
pub fn measure(value: &Value, budget: &Budget<'_>) -> Result<Size, Stopped> {
    budget.charge(1)?;
    let mut size = Size::default();
    let mut add = |key: usize, child: Size| {
        size.bytes = size.bytes.saturating_add(key).saturating_add(child.bytes);
        size.depth = size.depth.max(child.depth);
    };
    match value {
        Value::Array(items) => {
            for item in items {
                add(1, measure(item, budget)?);
            }
            size.depth += 1;
        }
        Value::Object(map) => {
            for (key, child) in map {
                add(key.len() + 4, measure(child, budget)?);
            }
            size.depth += 1;
        }
        Value::String(text) => size.bytes = text.len() + 2,
        Value::Number(_) => size.bytes = 8,
        Value::Null | Value::Bool(_) => size.bytes = 4,
    }
    size.bytes = size.bytes.saturating_add(1);
    Ok(size)
}

/// Charges a value and every value inside it, as [`measure`] does, without measuring them.
///
/// # Errors
///
/// [`Stopped`].
pub(crate) fn charge(value: &Value, budget: &Budget<'_>) -> Result<(), Stopped> {
    budget.charge(1)?;
    charge_inside(value, budget)
}

/// Charges the values inside a value: all members of one map or list at once.
fn charge_inside(value: &Value, budget: &Budget<'_>) -> Result<(), Stopped> {
    match value {
        Value::Array(items) => {
            budget.charge(items.len())?;
            items.iter().try_for_each(|item| charge_inside(item, budget))
        }
        Value::Object(map) => {
            budget.charge(map.len())?;
            map.values().try_for_each(|child| charge_inside(child, budget))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn measuring_and_charging_count_the_same_steps() {
        for value in [json!(null), json!([]), json!({"a": [1, {"b": "c", "d": []}], "e": {}, "f": [[true]]})] {
            let (measured, charged) = (Budget::unlimited(), Budget::unlimited());
            measure(&value, &measured).unwrap();
            charge(&value, &charged).unwrap();
            assert_eq!(measured.spent(), charged.spent(), "{value}");
        }
        assert_eq!(charge(&json!([1, 2, 3]), &Budget::of(3)), Err(Stopped::Steps(3)));
    }
}
