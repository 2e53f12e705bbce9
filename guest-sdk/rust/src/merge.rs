//! Strategic merge patch with client-go's semantics, computed by the host.

use crate::{Kind, Result, imports};
use serde_json::Value;

/// The patch from `original` to `modified`.
///
/// # Errors
///
/// Terminal, when a document does not fit the kind.
pub fn create_two_way(kind: &Kind, original: &Value, modified: &Value) -> Result<Value> {
    let patch = imports::merge::create_two_way(&kind.into(), &original.to_string(), &modified.to_string())?;
    Ok(serde_json::from_str(&patch)?)
}

/// The patch that applies the changes from `original` to `modified` to `current`, and keeps the changes of other writers.
///
/// # Errors
///
/// Terminal, when a document does not fit the kind.
pub fn create_three_way(kind: &Kind, original: &Value, modified: &Value, current: &Value) -> Result<Value> {
    let (original, modified, current) = (original.to_string(), modified.to_string(), current.to_string());
    let patch = imports::merge::create_three_way(&kind.into(), &original, &modified, &current)?;
    Ok(serde_json::from_str(&patch)?)
}

/// `original` with `patch` applied.
///
/// # Errors
///
/// Terminal, when a document does not fit the kind.
pub fn apply_patch(kind: &Kind, original: &Value, patch: &Value) -> Result<Value> {
    let merged = imports::merge::apply_patch(&kind.into(), &original.to_string(), &patch.to_string())?;
    Ok(serde_json::from_str(&merged)?)
}
