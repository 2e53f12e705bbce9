//! Small values the host keeps for this plugin between reconciles: in memory, shared by all its instances, bounded (those
//! used longest ago go first), lost on restart. A hint, never the only place something is known.

use crate::error::whole_milliseconds;
use crate::imports;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// A value. None: never set, expired, dropped for room, or not the shape of `T` (another version of the plugin wrote it).
#[must_use]
pub fn get<T: DeserializeOwned>(key: &str) -> Option<T> {
    serde_json::from_slice(&imports::cache::get(key)?).ok()
}

/// Keeps a value for `ttl`; `None`: as long as there is room. What cannot be written as JSON is not kept.
pub fn set<T: Serialize>(key: &str, value: &T, ttl: Option<Duration>) {
    if ttl == Some(Duration::ZERO) {
        return remove(key);
    }
    if let Ok(bytes) = serde_json::to_vec(value) {
        imports::cache::set(key, &bytes, ttl.map_or(0, whole_milliseconds));
    }
}

/// Forgets a value.
pub fn remove(key: &str) {
    imports::cache::set(key, &[], 0);
}
