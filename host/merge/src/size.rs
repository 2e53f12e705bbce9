//! Sizes of JSON values: bytes and depth, before something is done with them.

use serde_json::Value;

use crate::steps::{Budget, Stopped};

/// Most arrays and objects in each other: as many as `serde_json` reads.
pub const MOST_DEPTH: usize = 128;

/// What a value takes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Size {
    /// About as many as its JSON text has.
    pub bytes: usize,
    /// Arrays and objects in each other.
    pub depth: usize,
}

/// Measures a value, and charges every value inside of it. What is read from JSON text is never deeper than [`MOST_DEPTH`].
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
