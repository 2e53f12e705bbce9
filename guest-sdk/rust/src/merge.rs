//! Strategic merge patch as client-go has it, carried out by the host.

use crate::{Kind, Result, imports};
use serde_json::Value;

/// The patch that makes `modified` of `original`.
///
/// # Errors
///
/// Terminal, when a document does not fit the kind.
pub fn create_two_way(kind: &Kind, original: &Value, modified: &Value) -> Result<Value> {
    let patch = imports::merge::create_two_way(&kind.into(), &original.to_string(), &modified.to_string())?;
    Ok(serde_json::from_str(&patch)?)
}

/// The patch that brings `current` what changed from `original` to `modified`, and leaves alone what others wrote.
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
