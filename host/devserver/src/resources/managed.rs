//! `metadata.managedFields`: ownership of fields after each write.

use oarlock_merge::{
    apply::{self, Reset, Write},
    fields::FieldSet,
};
use serde_json::Value;

use crate::model::{kinds::Resource, time};

/// The member of `metadata` with the entries.
pub(crate) const FIELD: &str = "managedFields";

/// The writer of a write.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    /// The field manager: from the request or the first part of the User-Agent.
    pub(crate) manager: String,
    /// Empty for the object itself.
    pub(crate) subresource: String,
    /// The recorded time; empty for none.
    pub(crate) time: String,
}

impl Writer {
    /// The writer of a request; without a field manager, the first part of its User-Agent.
    pub(crate) fn new(manager: Option<&str>, user_agent: &str, subresource: &str) -> Self {
        let prefix = user_agent.split('/').next().filter(|p| !p.is_empty()).unwrap_or("unknown");
        let prefix: String = prefix.chars().filter(|c| !c.is_control()).take(128).collect();
        let manager = manager.map_or(prefix, str::to_owned);
        // A Scale has no time of its own to record.
        let time = if subresource == "scale" { String::new() } else { time::now() };
        Self { manager, subresource: subresource.to_owned(), time }
    }
}

/// The merge rules of a write to a resource: its subresource and its reset fields.
pub(crate) fn rules<'a>(resource: &'a Resource, writer: &'a Writer) -> Write<'a> {
    let write = Write::new(resource.merge(), &writer.manager, &writer.time).subresource(&writer.subresource);
    match writer.subresource.as_str() {
        "status" if resource.custom.is_some() || resource.group == "apiextensions.k8s.io" => {
            write.reset(Reset::AllBut(vec!["status".to_owned()]))
        }
        "status" if resource.is("apps", "deployments") => {
            write.reset(Reset::Fields(FieldSet::of_fields(&[&["spec"], &["metadata", "labels"]])))
        }
        "status" => write.reset(Reset::Fields(FieldSet::of_fields(&[&["spec"]]))),
        "" if resource.has_status() => write.reset(Reset::Fields(FieldSet::of_fields(&[&["status"]]))),
        _ => write,
    }
}

/// Records the ownership after a write other than apply.
pub(crate) fn track(resource: &Resource, old: Option<&Value>, new: &mut Value, writer: &Writer) {
    let old = old.map(|old| {
        let mut old = old.clone();
        resource.stamp(&mut old);
        old
    });
    resource.stamp(new);
    apply::update(old.as_ref(), new, &rules(resource, writer));
}

/// Whether two versions differ only in the times of managedFields.
pub(crate) fn same_but_for_times(new: &Value, old: &Value) -> bool {
    let bare = |value: &Value| {
        let mut value = value.clone();
        if let Some(map) = value.as_object_mut() {
            map.remove("kind");
            map.remove("apiVersion");
            if let Some(meta) = map.get_mut("metadata").and_then(Value::as_object_mut) {
                meta.remove("resourceVersion");
            }
        }
        value
    };
    apply::equal_but_for_times(&bare(old), &bare(new))
}
