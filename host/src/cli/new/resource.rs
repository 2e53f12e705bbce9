//! What a project reconciles: a built-in kind, or a custom resource with its definition.

use anyhow::{Context as _, bail};
use oarlock::grants::guess_plural;
use oarlock_manifest::Kind;
use oarlock_merge::schema::Schema;
use oarlock_types::{Language, Model, example};
use serde_json::{Map, Value};
use std::path::Path;

/// The kind of a project.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    pub(super) kind: Kind,
    pub(super) plural: String,
    pub(super) namespaced: bool,
    /// None: the kind is built into Kubernetes.
    pub(super) custom: Option<Custom>,
}

/// A definition in a project.
#[derive(Clone, Debug)]
pub(super) struct Custom {
    /// The content of `crd.yaml`; none: that of the template.
    pub(super) text: Option<String>,
    /// The structural schema of the version.
    schema: Value,
}

impl Resource {
    /// A kind by its name. A kind that Kubernetes does not have gets a definition that takes every spec.
    pub(super) fn named(kind: Kind) -> Self {
        let custom = Schema::builtin(&kind.group, &kind.version, &kind.kind).is_none();
        let schema = serde_json::json!({"type": "object", "properties": {
            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }});
        let custom = custom.then_some(Custom { text: None, schema });
        Self { plural: guess_plural(&kind.kind), namespaced: true, kind, custom }
    }

    /// The kind that a file defines.
    ///
    /// * `wanted` - which one, in which version. None: the only one, in the version that is stored.
    ///
    /// # Errors
    ///
    /// The file cannot be read, has no such definition, or one that no types can be made of.
    pub(super) fn defined(file: &Path, wanted: Option<&Kind>) -> anyhow::Result<Self> {
        let text = super::super::types::read(file)?;
        let definition = super::super::types::definition(&text, wanted.map(|kind| kind.kind.as_str()))?;
        let model = Model::of_definition(&definition, wanted.map(|kind| kind.version.as_str()))?;
        let Model { group, version, kind, .. } = model;
        if let Some(wanted) = wanted.filter(|wanted| wanted.group != group) {
            bail!("{kind} is of the group {group}, not of {:?}", wanted.group);
        }
        let kind = super::project::kind(&format!("{group}/{version}/{kind}")).map_err(anyhow::Error::msg)?;
        let said = |path: &str| definition.pointer(path).and_then(Value::as_str);
        let plural = said("/spec/names/plural").context("the definition has no spec.names.plural")?;
        if !super::project::is_label(plural) {
            bail!("spec.names.plural is {plural:?}, which is no name in lower case");
        }
        let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
        let schema = versions
            .and_then(|all| all.iter().find(|one| one.get("name").and_then(Value::as_str) == Some(&kind.version)))
            .and_then(|one| one.pointer("/schema/openAPIV3Schema"))
            .cloned()
            .unwrap_or_default();
        // Other documents of the file are not of the project.
        let documents: Vec<Value> = serde_saphyr::from_multiple(&text)?;
        let text = if documents.len() == 1 { text.clone() } else { serde_saphyr::to_string(&definition)? };
        let namespaced = said("/spec/scope") != Some("Cluster");
        Ok(Self { plural: plural.to_owned(), namespaced, kind, custom: Some(Custom { text: Some(text), schema }) })
    }

    /// Whether an object without fields of its own is valid, beyond what the schema says: there may be patterns, rules and defaults.
    pub(super) fn needs_no_fields(&self) -> bool {
        match &self.custom {
            Some(custom) => custom.text.is_none(),
            None => &*self.kind.kind == "ConfigMap",
        }
    }

    /// The fields beside the metadata that the schema requires.
    pub(super) fn example(&self) -> Map<String, Value> {
        self.custom.as_ref().map(|custom| example(&custom.schema)).unwrap_or_default()
    }
}

/// The types of a project: their language, and the file.
pub(super) fn types(language: &str) -> Option<(Language, &'static str)> {
    match language {
        "rust" => Some((Language::Rust, "src/api.rs")),
        "ts" => Some((Language::TypeScript, "src/api.ts")),
        // For editors.
        "js" => Some((Language::TypeScript, "src/api.d.ts")),
        "python" => Some((Language::Python, "api.py")),
        // A package of its own.
        "go" => Some((Language::Go, "api/types.go")),
        "c" => Some((Language::C, "src/api.h")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
kind: Namespace
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: parks.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Park, plural: parks}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, required: [spec], properties: {
      spec: {type: object, required: [trees], properties: {trees: {type: integer, minimum: 2}}}}}}}
";

    #[test]
    fn a_kind_is_that_of_the_definition() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), FILE).unwrap();
        let park = Resource::defined(file.path(), None).unwrap();
        assert_eq!((park.plural.as_str(), park.namespaced), ("parks", false));
        assert_eq!(Value::Object(park.example()), serde_json::json!({"spec": {"trees": 2}}));
        let text = park.custom.unwrap().text.unwrap();
        assert!(!text.contains("Namespace\n") && text.contains("parks.example.com"), "{text}");
        for (wanted, reason) in [
            ("example.com/v2/Park", "has no version"),
            ("example.org/v1/Park", "is of the group example.com, not of \"example.org\""),
            ("example.com/v1/Garden", "no CustomResourceDefinition of Garden, but of Park"),
        ] {
            let wanted = super::super::project::kind(wanted).unwrap();
            let error = format!("{:#}", Resource::defined(file.path(), Some(&wanted)).unwrap_err());
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn a_kind_of_kubernetes_has_no_definition() {
        let named = |text: &str| Resource::named(super::super::project::kind(text).unwrap());
        assert!(named("apps/v1/Deployment").custom.is_none());
        assert!(named("example.com/v1/Park").custom.is_some());
    }
}
