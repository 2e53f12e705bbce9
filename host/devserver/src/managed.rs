//! `metadata.managedFields`: who wrote what.

use serde_json::Value;

use crate::{kinds::Resource, query::WriteOptions, time};

/// The member of `metadata` with the entries.
pub(crate) const FIELD: &str = "managedFields";

/// On whose behalf a write is done.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    /// The field manager: named in the request or the first part of the User-Agent.
    pub(crate) manager: String,
    /// Empty for the object itself.
    pub(crate) subresource: String,
    /// The time entries get.
    pub(crate) time: String,
}

impl Writer {
    /// The writer of a request.
    pub(crate) fn new(options: &WriteOptions, user_agent: &str, subresource: &str) -> Self {
        let prefix = user_agent.split('/').next().filter(|p| !p.is_empty()).unwrap_or("unknown");
        let prefix: String = prefix.chars().filter(|c| !c.is_control()).take(128).collect();
        let manager = options.field_manager.clone().unwrap_or(prefix);
        Self { manager, subresource: subresource.to_owned(), time: time::now() }
    }
}

/// Books a write that is no apply.
pub(crate) fn track(_resource: &Resource, old: Option<&Value>, new: &mut Value, _writer: &Writer) {
    let entries = old.and_then(|o| o.pointer("/metadata")?.get(FIELD)).cloned();
    if let Some(meta) = new.get_mut("metadata").and_then(Value::as_object_mut) {
        match entries {
            Some(entries) => meta.insert(FIELD.to_owned(), entries),
            None => meta.remove(FIELD),
        };
    }
}
