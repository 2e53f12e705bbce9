//! Cache of small values that the host keeps for this plugin between reconciles: in memory, shared by all its instances, bounded (the
//! least recently used go first), lost on restart. A hint, never the only record of a fact.

use crate::error::whole_milliseconds;
use crate::imports;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// A value. None: never set, expired, evicted, or not of type `T` (another version of the plugin wrote it).
#[must_use]
pub fn get<T: DeserializeOwned>(key: &str) -> Option<T> {
    serde_json::from_slice(&imports::cache::get(key)?).ok()
}

/// Stores a value for `ttl`; `None`: as long as there is room. A value that cannot be written as JSON is not stored.
pub fn set<T: Serialize>(key: &str, value: &T, ttl: Option<Duration>) {
    if ttl == Some(Duration::ZERO) {
        return remove(key);
    }
    if let Ok(bytes) = serde_json::to_vec(value) {
        imports::cache::set(key, &bytes, ttl.map_or(0, whole_milliseconds));
    }
}

/// Removes a value.
pub fn remove(key: &str) {
    imports::cache::set(key, &[], 0);
}
