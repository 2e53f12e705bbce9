//! Response encoding: kind and apiVersion before the stored bytes, lists, metadata-only forms.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::{
    http::negotiate::{Format, Shape},
    model::{
        kinds::Resource,
        status::{ApiError, Result},
        versions,
    },
    resources::{
        partial::partial,
        table::{self, TableOptions},
    },
    store::Object,
};

/// The head of an object before its other members.
fn head(kind: &str, api_version: &str) -> String {
    format!("{{\"kind\":{},\"apiVersion\":{},", Value::from(kind), Value::from(api_version))
}

/// A built-in object of the store in the version of `resource`. Custom resources are already in it: see [`crate::conversion`].
///
/// `None` when the stored form is the requested one, so that the stored bytes can be sent.
fn converted(resource: &Resource, object: &Object) -> Option<Value> {
    versions::to_served(resource, &object.value)
}

/// The object as a value with kind and apiVersion.
pub(crate) fn value(resource: &Resource, object: &Object) -> Value {
    let mut value = converted(resource, object).unwrap_or_else(|| object.value.clone());
    resource.stamp(&mut value);
    value
}

/// The JSON of an object with kind and apiVersion.
pub(crate) fn object(resource: &Resource, object: &Object, out: &mut Vec<u8>) {
    out.extend_from_slice(head(&resource.kind, &resource.group_version()).as_bytes());
    body(resource, object, out);
}

/// The members of an object after its head.
fn body(resource: &Resource, object: &Object, out: &mut Vec<u8>) {
    match converted(resource, object) {
        Some(value) => {
            let bytes = serde_json::to_vec(&value).unwrap_or_default();
            out.extend_from_slice(bytes.get(1..).unwrap_or_default());
        }
        None => out.extend_from_slice(object.body().get(1..).unwrap_or_default()),
    }
}

/// A value as JSON or YAML.
pub(crate) fn bytes(value: &Value, format: Format) -> Result<Bytes> {
    if format.yaml {
        let text = serde_saphyr::to_string(value).map_err(|e| ApiError::internal(e.to_string()))?;
        return Ok(text.into_bytes().into());
    }
    serde_json::to_vec(value).map(Bytes::from).map_err(|e| ApiError::internal(e.to_string()))
}

/// One object in the requested form.
pub(crate) fn single(resource: &Resource, stored: &Object, format: Format, table: TableOptions) -> Result<Bytes> {
    match format.shape {
        Shape::Object if !format.yaml => {
            let mut out = Vec::with_capacity(stored.body().len() + 64);
            object(resource, stored, &mut out);
            Ok(out.into())
        }
        Shape::Object => bytes(&value(resource, stored), format),
        Shape::Partial(version) => bytes(&partial(&stored.value, version), format),
        Shape::Table(version) => {
            let meta = json!({"resourceVersion": stored.revision.to_string()});
            let rows = [value(resource, stored)];
            bytes(&table::table(resource, &rows, version, table, &meta, true), format)
        }
    }
}

/// The metadata of a list.
#[derive(Debug, Default)]
pub(crate) struct ListMeta {
    pub(crate) revision: u64,
    pub(crate) continue_token: Option<String>,
    pub(crate) remaining: Option<usize>,
}

impl ListMeta {
    fn to_value(&self, custom: bool) -> Value {
        let mut map = Map::new();
        map.insert("resourceVersion".to_owned(), self.revision.to_string().into());
        if let Some(token) = &self.continue_token {
            map.insert("continue".to_owned(), token.clone().into());
        } else if custom {
            map.insert("continue".to_owned(), "".into());
        }
        if let Some(n) = self.remaining {
            map.insert("remainingItemCount".to_owned(), n.into());
        }
        Value::Object(map)
    }
}

/// A list in the requested form.
pub(crate) fn list(
    resource: &Resource,
    objects: &[Arc<Object>],
    meta: &ListMeta,
    format: Format,
    table: TableOptions,
) -> Result<Bytes> {
    let custom = resource.custom.is_some();
    match format.shape {
        Shape::Table(version) => {
            let rows: Vec<Value> = objects.iter().map(|o| value(resource, o)).collect();
            bytes(&table::table(resource, &rows, version, table, &meta.to_value(false), true), format)
        }
        Shape::Partial(version) => {
            let items: Vec<Value> = objects.iter().map(|o| partial(&o.value, version)).collect();
            let list = json!({"kind": "PartialObjectMetadataList", "apiVersion": format!("meta.k8s.io/{version}"),
                "metadata": meta.to_value(false),
                // An empty list of metadata is null, as Go prints a nil slice.
                "items": if items.is_empty() { Value::Null } else { Value::Array(items) }});
            bytes(&list, format)
        }
        Shape::Object => {
            let size: usize = objects.iter().map(|o| o.body().len() + 1).sum();
            let mut out = Vec::with_capacity(size + 256);
            out.extend_from_slice(head(&resource.list_kind, &resource.group_version()).as_bytes());
            out.extend_from_slice(format!("\"metadata\":{},\"items\":[", meta.to_value(custom)).as_bytes());
            for (i, item) in objects.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                if custom {
                    object(resource, item, &mut out);
                } else {
                    // Items of built-in lists have neither kind nor apiVersion.
                    out.push(b'{');
                    body(resource, item, &mut out);
                }
            }
            out.extend_from_slice(b"]}");
            if !format.yaml {
                return Ok(out.into());
            }
            let value: Value = serde_json::from_slice(&out).map_err(|e| ApiError::internal(e.to_string()))?;
            bytes(&value, format)
        }
    }
}
