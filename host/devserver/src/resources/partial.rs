//! The metadata of an object alone.

use serde_json::{Value, json};

/// `PartialObjectMetadata` of an object.
pub(crate) fn partial(value: &Value, version: &str) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": value.get("metadata").cloned().unwrap_or_default()})
}
