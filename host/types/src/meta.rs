//! The schema of `metadata`, which definitions leave to the API server.

use serde_json::{Value, json};

/// The metadata of every object. Fields that controllers seldom read are kept without a type.
pub(crate) fn object_meta() -> Value {
    let string = || json!({"type": "string"});
    let strings = || json!({"type": "object", "additionalProperties": {"type": "string"}});
    let time = || json!({"type": "string", "format": "date-time"});
    json!({
        "type": "object", "required": ["name"], "x-kubernetes-preserve-unknown-fields": true,
        "description": "The metadata of an object.",
        "properties": {
            "name": string(), "namespace": string(), "generateName": string(), "uid": string(), "resourceVersion": string(),
            "generation": {"type": "integer", "format": "int64"},
            "creationTimestamp": time(), "deletionTimestamp": time(),
            "labels": strings(), "annotations": strings(),
            "finalizers": {"type": "array", "items": string()},
            "ownerReferences": {"type": "array", "items": {
                "type": "object", "required": ["apiVersion", "kind", "name", "uid"],
                "description": "An owner of the object.",
                "properties": {
                    "apiVersion": string(), "kind": string(), "name": string(), "uid": string(),
                    "controller": {"type": "boolean"}, "blockOwnerDeletion": {"type": "boolean"},
                },
            }},
        },
    })
}
