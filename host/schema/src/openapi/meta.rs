//! Types of `metadata`, for documents that have no other kinds.

use serde_json::{Value, json};

pub(super) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
pub(super) const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
const OWNER_REFERENCE: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference";
const MANAGED_FIELDS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry";
const FIELDS_V1: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1";
const TIME: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Time";

/// Schemas of ObjectMeta, ListMeta and their references, by model name.
///
/// A reference to another of them is written `{"$type": "<name>"}`, since its form depends on the document.
pub(super) fn meta_schemas() -> Vec<(String, Value)> {
    let text = |description: &str| json!({"type": "string", "description": description});
    let number = |description: &str| json!({"type": "integer", "format": "int64", "description": description});
    let flag = |description: &str| json!({"type": "boolean", "description": description});
    let of = |name: &str, description: &str| json!({"$type": name, "description": description});
    let texts = |description: &str| json!({"type": "object", "description": description, "additionalProperties": {"type": "string"}});
    let object_meta = json!({
        "type": "object",
        "description": "ObjectMeta is metadata that all persisted resources must have.",
        "properties": {
            "annotations": texts("Values for tools and people. Selectors cannot use them."),
            "creationTimestamp": of(TIME, "When the object was created. Set by the server."),
            "deletionGracePeriodSeconds": number("Seconds the object has to end gracefully. Set by the server."),
            "deletionTimestamp": of(TIME, "When the object will be deleted. Set by the server."),
            "finalizers": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set",
                "x-kubernetes-patch-strategy": "merge",
                "description": "Names of components that must act before the server deletes the object."},
            "generateName": text("Prefix of a name that the server makes unique, if there is no name."),
            "generation": number("Counts changes of the desired state. Set by the server."),
            "labels": texts("Keys and values by which objects are selected."),
            "managedFields": {"type": "array", "items": {"$type": MANAGED_FIELDS},
                "x-kubernetes-list-type": "atomic",
                "description": "The fields that each manager owns. Set by the server."},
            "name": text("Unique within a namespace. Cannot be updated."),
            "namespace": text("The space within which the name is unique. Cannot be updated."),
            "ownerReferences": {"type": "array", "items": {"$type": OWNER_REFERENCE},
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
                "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "uid",
                "description": "Objects this one depends on; it is deleted once all of them are gone."},
            "resourceVersion": text("The version of the object as the server knows it; opaque."),
            "selfLink": text("No longer set."),
            "uid": text("Unique in time and space. Set by the server."),
        },
    });
    let list_meta = json!({
        "type": "object",
        "description": "ListMeta is metadata that lists have.",
        "properties": {
            "continue": text("The token for the next part of the list. Empty for the last part."),
            "remainingItemCount": number("How many items are not in this part of the list."),
            "resourceVersion": text("The version of the list; opaque."),
            "selfLink": text("No longer set."),
        },
    });
    let owner = json!({
        "type": "object",
        "description": "OwnerReference names an object in the same namespace, or a cluster-scoped one.",
        "required": ["apiVersion", "kind", "name", "uid"],
        "properties": {
            "apiVersion": text("API version of the owner."),
            "blockOwnerDeletion": flag("Whether the owner waits for this object in foreground deletion."),
            "controller": flag("Whether the owner is the one that manages the object."),
            "kind": text("Kind of the owner."),
            "name": text("Name of the owner."),
            "uid": text("UID of the owner."),
        },
        "x-kubernetes-map-type": "atomic",
    });
    let managed = json!({
        "type": "object",
        "description": "ManagedFieldsEntry is what one manager set in one way.",
        "properties": {
            "apiVersion": text("The version the fields are of."),
            "fieldsType": text("Always FieldsV1."),
            "fieldsV1": of(FIELDS_V1, "The set of fields."),
            "manager": text("Who."),
            "operation": text("Apply or Update."),
            "subresource": text("Through which subresource, if any."),
            "time": of(TIME, "When the entry last changed."),
        },
    });
    [
        (OBJECT_META, object_meta),
        (LIST_META, list_meta),
        (OWNER_REFERENCE, owner),
        (MANAGED_FIELDS, managed),
        (FIELDS_V1, json!({"type": "object", "description": "FieldsV1 is a set of fields as a trie."})),
        (TIME, json!({"type": "string", "format": "date-time", "description": "Time in RFC 3339."})),
    ]
    .map(|(name, schema)| (name.to_owned(), schema))
    .into()
}
