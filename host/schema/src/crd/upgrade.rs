//! Upgrades of a definition that objects do not survive.

mod fields;

use super::{Crd, Version, list, text, texts};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;

/// A change of a definition by which stored objects lose data, become invalid, or cannot be reached any more.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BreakingChange {
    /// The version whose schema changes. None: the change is outside of the schemas.
    pub version: Option<String>,
    /// Path of the field in an object (`spec.ports[*].name`; empty: the object itself), or in the definition if there is no version.
    pub field: String,
    /// What changes, and what happens to stored objects.
    pub reason: String,
}

impl fmt::Display for BreakingChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(version) = &self.version {
            write!(f, "{version}: ")?;
        }
        let field = if self.field.is_empty() { "the object" } else { &self.field };
        write!(f, "{field}: {}", self.reason)
    }
}

/// The changes between two definitions of a resource that stored objects may not survive, in order; empty when every object that is valid by
/// the old definition is valid by the new one and keeps its data.
///
/// Without looking at objects: a maximum that falls is a breaking change even if all objects are below it. Where one schema cannot be compared
/// with the other (`anyOf`, patterns, CEL rules), any change but a removal counts.
///
/// * `old`, `new` - whole CustomResourceDefinitions of `apiextensions.k8s.io/v1` that [`Crd::parse`] accepts. Versions in which objects are
///   stored are those of the status of `old`, or else its storage version.
#[must_use]
pub fn breaking_changes(old: &Value, new: &Value) -> Vec<BreakingChange> {
    let (stored, storage, storage_before) = (stored_versions(old), storage_version(new), storage_version(old));
    let preserves = |crd: &Value| crd.pointer("/spec/preserveUnknownFields") == Some(&Value::Bool(true));
    let prunes = preserves(old) && !preserves(new);
    let (old, new) = (Crd::read(old), Crd::read(new));
    let mut found = BTreeSet::new();
    identity(&old, &new, &mut found);
    if prunes {
        let reason = "fields outside of the schema are not kept any more: stored ones are lost";
        add(&mut found, "spec.preserveUnknownFields", reason.to_owned());
    }
    for version in &stored {
        if new.version(version).is_none() {
            add(&mut found, "spec.versions", format!("version {version} is removed, and objects are stored in it"));
        }
    }
    for before in &old.versions {
        let after = new.version(&before.name);
        if before.served && !after.is_some_and(|after| after.served) {
            add(&mut found, "spec.versions", format!("version {} is not served any more", before.name));
        }
        if let Some(after) = after {
            subresources(before, after, &mut found);
            schemas(before, after, &mut found);
        }
    }
    if new.conversion.is_some() {
        return found.into_iter().collect();
    }
    if old.conversion.is_some() && old.versions.len() > 1 && new.versions.len() > 1 {
        let reason = "no webhook converts between the versions any more: fields that only one of them has are lost";
        add(&mut found, "spec.conversion", reason.to_owned());
    }
    // Without a conversion, an object that is stored in one version is read as it is in another, and written so in the storage version.
    let read_anew = |version: &&Version| {
        let stores_now = Some(&version.name) == storage.as_ref() && storage != storage_before;
        old.version(&version.name).is_none() || stores_now
    };
    for after in new.versions.iter().filter(read_anew) {
        for before in stored.iter().filter(|name| **name != after.name).filter_map(|name| old.version(name)) {
            schemas(before, after, &mut found);
        }
    }
    found.into_iter().collect()
}

fn stored_versions(crd: &Value) -> Vec<String> {
    let stored = crd.get("status").map(|status| texts(status, "storedVersions")).unwrap_or_default();
    if !stored.is_empty() {
        return stored;
    }
    storage_version(crd).into_iter().collect()
}

fn storage_version(crd: &Value) -> Option<String> {
    let versions = crd.get("spec").map(|spec| list(spec, "versions")).unwrap_or_default();
    let storage = |version: &&Value| version.get("storage") == Some(&Value::Bool(true));
    versions.iter().find(storage).map(|version| text(version, "name"))
}

fn add(found: &mut BTreeSet<BreakingChange>, field: &str, reason: String) {
    found.insert(BreakingChange { version: None, field: field.to_owned(), reason });
}

fn identity(old: &Crd, new: &Crd, found: &mut BTreeSet<BreakingChange>) {
    let scope = |crd: &Crd| if crd.namespaced { "Namespaced" } else { "Cluster" }.to_owned();
    let fields = [
        ("spec.group", old.group.clone(), new.group.clone()),
        ("spec.names.plural", old.names.plural.clone(), new.names.plural.clone()),
        ("spec.names.kind", old.names.kind.clone(), new.names.kind.clone()),
        ("spec.scope", scope(old), scope(new)),
    ];
    for (field, before, after) in fields {
        if before != after {
            add(found, field, format!("{before} becomes {after}: stored objects do not follow"));
        }
    }
}

fn subresources(before: &Version, after: &Version, found: &mut BTreeSet<BreakingChange>) {
    for (name, lost) in
        [("status", before.status && !after.status), ("scale", before.scale.is_some() && after.scale.is_none())]
    {
        if lost {
            found.insert(BreakingChange {
                version: Some(before.name.clone()),
                field: name.to_owned(),
                reason: "the subresource is removed: clients that use it fail".to_owned(),
            });
        }
    }
}

fn schemas(before: &Version, after: &Version, found: &mut BTreeSet<BreakingChange>) {
    let version =
        if before.name == after.name { before.name.clone() } else { format!("{} read as {}", before.name, after.name) };
    for (field, reason) in fields::compare(before.schema.node(), after.schema.node()) {
        found.insert(BreakingChange { version: Some(version.clone()), field, reason });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn definition(versions: &Value, stored: &[&str]) -> Value {
        let mut made = json!({"spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"plural": "webs", "kind": "Web"}, "versions": versions}});
        if !stored.is_empty() {
            made["status"] = json!({"storedVersions": stored});
        }
        made
    }

    fn version(name: &str, storage: bool, spec: &Value) -> Value {
        json!({"name": name, "served": true, "storage": storage, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}})
    }

    fn told(old: &Value, new: &Value) -> Vec<String> {
        breaking_changes(old, new).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn versions_with_objects_stay() {
        let spec = json!({"type": "object"});
        let (one, two) = (version("v1", false, &spec), version("v2", true, &spec));
        let both = definition(&json!([one, two]), &["v1", "v2"]);
        let only = definition(&json!([two]), &[]);
        assert_eq!(
            told(&both, &only),
            [
                "spec.versions: version v1 is not served any more",
                "spec.versions: version v1 is removed, and objects are stored in it"
            ]
        );
        let migrated = definition(&json!([one, two]), &["v2"]);
        assert_eq!(told(&migrated, &only), ["spec.versions: version v1 is not served any more"]);
        assert!(told(&only, &both).is_empty(), "the same schema under another name");
    }

    #[test]
    fn a_new_version_without_conversion_keeps_the_fields_of_the_stored_one() {
        let old = definition(
            &json!([version("v1", true, &json!({"type": "object", "properties": {"a": {"type": "string"}}}))]),
            &[],
        );
        let mut new = old.clone();
        new["spec"]["versions"][0]["storage"] = json!(false);
        let v2 = version("v2", true, &json!({"type": "object", "properties": {"b": {"type": "string"}}}));
        new["spec"]["versions"].as_array_mut().unwrap().push(v2);
        assert_eq!(told(&old, &new), ["v1 read as v2: spec.a: the field is removed: stored values are lost"]);
        new["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}});
        assert!(told(&old, &new).is_empty());
        let mut without = new.clone();
        without["spec"]["conversion"] = json!({"strategy": "None"});
        assert!(told(&new, &without)[0].starts_with("spec.conversion: no webhook converts"));
    }

    #[test]
    fn the_storage_version_moves_to_one_that_keeps_the_fields() {
        let fields = |names: &[&str]| {
            let fields: serde_json::Map<_, _> =
                names.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
            json!({"type": "object", "properties": fields})
        };
        let of = |of_second: &[&str], second: bool| {
            let versions = [version("v1", !second, &fields(&["a", "b"])), version("v2", second, &fields(of_second))];
            definition(&json!(versions), &["v1"])
        };
        let lost = "v1 read as v2: spec.b: the field is removed: stored values are lost";
        assert_eq!(told(&of(&["a"], false), &of(&["a"], true)), [lost]);
        assert!(told(&of(&["a", "b"], false), &of(&["a", "b"], true)).is_empty());
        // It is lost already.
        assert!(told(&of(&["a"], true), &of(&["a"], true)).is_empty());
    }

    #[test]
    fn a_required_field_keeps_its_default() {
        let of = |field: &Value| {
            let spec = json!({"type": "object", "properties": {"b": field}, "required": ["b"]});
            definition(&json!([version("v1", true, &spec)]), &[])
        };
        let (with, without) = (json!({"type": "string", "default": "z"}), json!({"type": "string"}));
        let lost = "v1: spec.b: the required field loses its default: objects without it are invalid";
        assert_eq!(told(&of(&with), &of(&without)), [lost]);
        assert!(told(&of(&without), &of(&with)).is_empty());
    }

    #[test]
    fn fields_that_a_legacy_definition_preserves_stay() {
        let new = definition(&json!([version("v1", true, &json!({"type": "object"}))]), &[]);
        let mut old = new.clone();
        old["spec"]["preserveUnknownFields"] = json!(true);
        assert!(told(&old, &new)[0].starts_with("spec.preserveUnknownFields: fields outside of the schema"));
        assert!(told(&old, &old).is_empty());
    }

    #[test]
    fn identity_and_subresources_stay() {
        let old = definition(&json!([version("v1", true, &json!({"type": "object"}))]), &[]);
        let mut new = old.clone();
        new["spec"]["scope"] = json!("Cluster");
        new["spec"]["versions"][0]["subresources"] = json!({});
        assert_eq!(
            told(&old, &new),
            [
                "spec.scope: Namespaced becomes Cluster: stored objects do not follow",
                "v1: status: the subresource is removed: clients that use it fail"
            ]
        );
    }
}
