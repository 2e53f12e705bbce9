//! A CustomResourceDefinition of a JSON Schema, as the generators of the languages print it: schemars, ts-json-schema-generator, pydantic.

mod convert;
mod error;
mod flat;
mod scalars;
mod union;

pub use self::error::Error as DefinitionError;

use self::{convert::Converter, error::Error};
use crate::names::is_identifier;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What a schema does not say of its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definition {
    /// API group, such as `example.com`.
    pub group: String,
    /// Such as `v1`.
    pub version: String,
    /// Such as `WebApp`.
    pub kind: String,
    /// Name in URLs, such as `webapps`.
    pub plural: String,
    /// Abbreviations for kubectl.
    pub short_names: Vec<String>,
    /// Such as `all`.
    pub categories: Vec<String>,
    /// Whether objects are in no namespace.
    pub cluster_scoped: bool,
    /// What `kubectl get` shows beside the name.
    pub columns: Vec<Column>,
}

/// A column of `kubectl get`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// Such as `.spec.image`.
    pub path: String,
}

impl Definition {
    /// The CustomResourceDefinition with one version. It has the subresource `status` where the schema has the field.
    ///
    /// * `schema` - a JSON Schema of the whole object. Its `apiVersion`, `kind` and `metadata` are replaced by Kubernetes' own.
    ///
    /// # Errors
    ///
    /// The schema says what no structural schema can say, is beyond the limits, or a name is not one of Kubernetes.
    ///
    /// # Source
    ///
    /// The rules for structural schemas: apiextensions-apiserver `pkg/apiserver/schema/validation.go`.
    pub fn of_schema(&self, schema: &Value) -> Result<Value, DefinitionError> {
        self.check()?;
        let mut root = Converter::new(schema).root()?;
        for name in ["apiVersion", "kind"] {
            root.properties().insert(name.to_owned(), json!({"type": "string"}));
        }
        root.properties().insert("metadata".to_owned(), json!({"type": "object"}));
        let root = Value::Object(root.finish());
        let has_status = root.pointer("/properties/status").is_some();
        let mut version = json!({
            "name": self.version, "served": true, "storage": true,
            "schema": {"openAPIV3Schema": root},
        });
        let mut columns = Vec::new();
        for column in &self.columns {
            let ty = column.type_in(&root)?;
            columns.push(json!({"name": column.name, "type": ty, "jsonPath": column.path}));
        }
        let mut set =
            |name: &str, value: Value| version.as_object_mut().and_then(|map| map.insert(name.to_owned(), value));
        if !columns.is_empty() {
            set("additionalPrinterColumns", columns.into());
        }
        if has_status {
            set("subresources", json!({"status": {}}));
        }
        Ok(sorted(&json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": self.metadata(),
            "spec": {
                "group": self.group, "names": self.names(),
                "scope": if self.cluster_scoped { "Cluster" } else { "Namespaced" },
                "versions": [version],
            },
        })))
    }

    fn check(&self) -> Result<(), Error> {
        let is_label = |text: &str| {
            let inner = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
            !text.is_empty()
                && text.len() <= 63
                && text.chars().all(inner)
                && !text.starts_with('-')
                && !text.ends_with('-')
        };
        let check = |field, value: &str, expected, holds: bool| {
            if holds { Ok(()) } else { Err(Error::Name { field, value: crate::build::short(value), expected }) }
        };
        check("group", &self.group, "group of your own, such as example.com", self.group.split('.').all(is_label))?;
        check("version", &self.version, "version, such as v1", is_label(&self.version))?;
        let is_kind = is_identifier(&self.kind) && !self.kind.contains('_') && self.kind.len() <= 63;
        check("kind", &self.kind, "kind: letters and digits, such as WebApp", is_kind)?;
        check("plural", &self.plural, "plural in lower case, such as webapps", is_label(&self.plural))?;
        for short in &self.short_names {
            check("short name", short, "name in lower case, such as wa", is_label(short))?;
        }
        for category in &self.categories {
            check("category", category, "name in lower case, such as all", is_label(category))?;
        }
        Ok(())
    }

    fn metadata(&self) -> Value {
        let mut metadata = json!({"name": format!("{}.{}", self.plural, self.group)});
        // The API server wants to know who approved groups of Kubernetes' own.
        if [".k8s.io", ".kubernetes.io"].iter().any(|end| self.group.ends_with(end))
            && let Some(fields) = metadata.as_object_mut()
        {
            let approval = json!({"api-approved.kubernetes.io": "unapproved, for development"});
            fields.insert("annotations".to_owned(), approval);
        }
        metadata
    }

    fn names(&self) -> Map<String, Value> {
        let mut names = Map::new();
        let mut set = |name: &str, value: Value| names.insert(name.to_owned(), value);
        set("kind", self.kind.as_str().into());
        set("listKind", format!("{}List", self.kind).into());
        set("plural", self.plural.as_str().into());
        set("singular", self.kind.to_ascii_lowercase().into());
        if !self.short_names.is_empty() {
            set("shortNames", self.short_names.clone().into());
        }
        if !self.categories.is_empty() {
            set("categories", self.categories.clone().into());
        }
        names
    }
}

impl Column {
    /// The type of its values: that of the field; `string` where the path has a filter or leads into an open object.
    fn type_in(&self, root: &Value) -> Result<&'static str, Error> {
        let error = |reason| Error::Column { name: self.name.clone(), path: self.path.clone(), reason };
        let fields =
            self.path.strip_prefix('.').ok_or_else(|| error("a path begins with a dot, such as .spec.image"))?;
        if fields == "metadata.creationTimestamp" {
            return Ok("date");
        }
        if fields.contains(['[', '*', '(', '\\']) || fields.starts_with("metadata.") {
            return Ok("string");
        }
        let mut at = root;
        for field in fields.split('.') {
            if let Some(value) = at.get("properties").and_then(|all| all.get(field)).or(at.get("additionalProperties"))
            {
                at = value;
            } else if at.get("x-kubernetes-preserve-unknown-fields").is_some() {
                return Ok("string");
            } else {
                return Err(error("the schema has no such field"));
            }
        }
        let text = |key: &str| at.get(key).and_then(Value::as_str).unwrap_or_default();
        Ok(match (text("type"), text("format")) {
            ("integer", _) => "integer",
            ("number", _) => "number",
            ("boolean", _) => "boolean",
            ("string", "date-time") => "date",
            _ => "string",
        })
    }
}

/// The document with its keys in order, whichever order the map keeps.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<_, _> = fields.iter().collect();
            Value::Object(fields.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect())
        }
        Value::Array(values) => values.iter().map(sorted).collect(),
        other => other.clone(),
    }
}
