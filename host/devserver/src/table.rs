//! Tables: what `kubectl get` shows.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{kinds::Resource, query::Query};

mod printers;

/// How much of an object goes with its row.
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
    /// From `includeObject`.
    pub(crate) fn parse(query: &Query) -> Self {
        let include = match query.get("includeObject") {
            Some("Object") => Include::Object,
            Some("None") => Include::None,
            _ => Include::Metadata,
        };
        Self { include }
    }
}

/// A column: name, type, format, priority.
type Column = (&'static str, &'static str, &'static str, i64);

fn definition((name, kind, format, priority): &Column) -> Value {
    json!({"name": name, "type": kind, "format": format, "priority": priority, "description": ""})
}

/// The table of some objects; columns are left away in all but the first event of a watch.
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
            Some((columns, cells)) => (columns.iter().map(definition).collect(), objects.iter().map(cells).collect()),
            None => (default_columns(), objects.iter().map(printers::default_cells).collect()),
        },
    };
    let rows: Vec<Value> = objects
        .iter()
        .zip(cells)
        .map(|(object, cells)| match options.include {
            Include::None => json!({"cells": cells, "object": null}),
            Include::Object => json!({"cells": cells, "object": object}),
            Include::Metadata => {
                let mut partial = crate::encode::partial(object, version);
                if resource.is("apiextensions.k8s.io", "customresourcedefinitions")
                    && let Some(map) = partial.as_object_mut()
                {
                    map.entry("metadata").or_insert(Value::Null);
                }
                json!({"cells": cells, "object": partial})
            }
        })
        .collect();
    let definitions = if columns { Value::Array(definitions) } else { Value::Null };
    json!({"kind": "Table", "apiVersion": format!("meta.k8s.io/{version}"), "metadata": metadata,
        "columnDefinitions": definitions, "rows": rows})
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
