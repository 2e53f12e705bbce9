//! Versions of the misfit guest: the manifest is patched into the built component, so that a version needs no build.

use super::plugins::{built_plugin, repository_root};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::fs;

const MARKER: &[u8] = b"oarlock-misfit-manifest:";
const ROOM: usize = 8192;

/// The misfit with another result of `describe`.
///
/// # Errors
///
/// The misfit has not been built, or the result is too long.
pub fn misfit_describing(answer: &str) -> Result<Vec<u8>> {
    let mut bytes = fs::read(built_plugin("misfit")?)?;
    let at = bytes.windows(MARKER.len()).position(|window| window == MARKER).context("no buffer")? + MARKER.len();
    let room = bytes.get_mut(at..at + ROOM).context("no room")?;
    room.fill(b' ');
    room.get_mut(..answer.len()).context("too long")?.copy_from_slice(answer.as_bytes());
    Ok(bytes)
}

/// The misfit's manifest from its build.
///
/// # Errors
///
/// The manifest cannot be read.
pub fn misfit_manifest() -> Result<Value> {
    Ok(serde_json::from_slice(&fs::read(repository_root().join("tests/guests/misfit/src/manifest.json"))?)?)
}

/// A version of the misfit.
///
/// * `mode` - misbehavior for every object without its own mode; empty: none.
///
/// # Errors
///
/// The misfit has not been built.
pub fn misfit_version(version: &str, mode: &str) -> Result<Vec<u8>> {
    misfit_with(version, mode, |_| {})
}

/// As [`misfit_version`], with a changed manifest.
///
/// # Errors
///
/// The misfit has not been built.
pub fn misfit_with(version: &str, mode: &str, change: impl FnOnce(&mut Value)) -> Result<Vec<u8>> {
    let mut manifest = misfit_manifest()?;
    if let Some(fields) = manifest.as_object_mut() {
        fields.insert("version".to_owned(), json!(version));
        if !mode.is_empty() {
            fields.insert("description".to_owned(), json!(format!("mode={mode}")));
        }
    }
    change(&mut manifest);
    misfit_describing(&manifest.to_string())
}
