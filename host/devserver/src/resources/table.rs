//! Tables for `kubectl get`.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    model::{
        kinds::Resource,
        status::{ApiError, Result},
    },
    resources::partial::partial,
};

mod printers;

/// The part of an object in its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Include {
    Metadata,
    Object,
    None,
}

/// The options of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableOptions {
    include: Include,
}

impl TableOptions {
    /// From the parameter `includeObject` of a request for a table, if it has one.
    pub(crate) fn parse(include_object: Option<&str>) -> Result<Self> {
        let include = match include_object {
            Some("Object") => Include::Object,
            Some("None") => Include::None,
            None | Some("Metadata") => Include::Metadata,
            Some(other) => {
                return Err(ApiError::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be 'Metadata', \
                     'Object', 'None', or empty"
                )));
            }
        };
        Ok(Self { include })
    }
}

/// The table of some objects; only the first event of a watch has columns.
pub(crate) fn table(
    resource: &Resource,
    objects: &[Value],
    version: &str,
    options: TableOptions,
    metadata: &Value,
    columns: bool,
) -> Value {
    let now = Timestamp::now();
    let (definitions, cells): (Vec<Value>, Vec<Vec<Value>>) = match &resource.custom {
        Some(custom) => (
            oarlock_schema::column_definitions(&custom.columns),
            objects.iter().map(|o| oarlock_schema::cells(&custom.columns, o, now)).collect(),
        ),
        None => match printers::printer(&resource.group, &resource.plural) {
            Some((columns, cells)) => (printers::definitions(columns), objects.iter().map(cells).collect()),
            None => (default_columns(), objects.iter().map(printers::default_cells).collect()),
        },
    };
    let pods = resource.is("", "pods");
    let rows: Vec<Value> = objects
        .iter()
        .zip(cells)
        .map(|(object, cells)| {
            let mut row = row(resource, object, &cells, version, options);
            if let (true, Some(map), Some(conditions)) = (pods, row.as_object_mut(), printers::row_conditions(object)) {
                map.insert("conditions".to_owned(), conditions);
            }
            row
        })
        .collect();
    let definitions = if columns { Value::Array(definitions) } else { Value::Null };
    json!({"kind": "Table", "apiVersion": format!("meta.k8s.io/{version}"), "metadata": metadata,
        "columnDefinitions": definitions, "rows": rows})
}

fn row(resource: &Resource, object: &Value, cells: &[Value], version: &str, options: TableOptions) -> Value {
    match options.include {
        Include::None => json!({"cells": cells, "object": null}),
        Include::Object => json!({"cells": cells, "object": object}),
        Include::Metadata => {
            let mut metadata = partial(object, version);
            if resource.is("apps", "daemonsets") {
                hide_annotation(&mut metadata, "deprecated.daemonset.template.generation");
            }
            if resource.is("apiextensions.k8s.io", "customresourcedefinitions")
                && let Some(map) = metadata.as_object_mut()
            {
                map.entry("metadata").or_insert(Value::Null);
            }
            json!({"cells": cells, "object": metadata})
        }
    }
}

/// Rows are made of the server's internal form, which lacks data that is only for clients.
fn hide_annotation(partial: &mut Value, name: &str) {
    let Some(meta) = partial.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    if let Some(annotations) = meta.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove(name);
        if annotations.is_empty() {
            meta.remove("annotations");
        }
    }
}

/// The columns of kinds without a printer.
fn default_columns() -> Vec<Value> {
    // The texts are those of ObjectMeta, shared with custom resources.
    let name = oarlock_schema::column_definitions(&[]);
    let created = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not \
                   guaranteed to be set in happens-before order across separate operations. Clients may not set this \
                   value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for \
                   lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
    let date = json!({"name": "Created At", "type": "date", "format": "", "priority": 0, "description": created});
    name.into_iter().chain([date]).collect()
}
