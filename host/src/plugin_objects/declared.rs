//! What people ask for in Plugin objects: the code of a plugin and its grant.

use super::is_ours;
use crate::oci::{Reference, SCHEME, Wanted};
use crate::plugin::directory::{Declared, DeclaredSource, InlineGrant, key_of};
use crate::plugin::is_plugin_name;
use oarlock_manifest::PluginGrant;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The declared plugins of all objects.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) plugins: BTreeMap<String, Declared>,
    /// Why objects cannot be used, by their names; one line each, with what to do.
    pub(super) faults: BTreeMap<String, String>,
}

impl Asked {
    /// Reads the objects. An object with a fault keeps what it said before.
    ///
    /// * `before` - what the objects said before.
    /// * `fixed` - plugins from registries that the command line of the host names.
    pub(super) fn of(
        objects: &BTreeMap<String, Value>,
        before: &BTreeMap<String, Declared>,
        fixed: &BTreeSet<String>,
    ) -> Self {
        let mut asked = Self::default();
        // Of two objects with one file, the older one counts, on every host.
        let mut by_age: Vec<_> = objects.iter().filter(|(_, object)| declares(object)).collect();
        let created = |object: &Value| text(object, "/metadata/creationTimestamp").to_owned();
        by_age.sort_by_key(|(name, object)| (created(object), (*name).clone()));
        let mut files: BTreeMap<String, String> = BTreeMap::new();
        for (name, object) in by_age {
            let read = declared(name, object, fixed).and_then(|declared| {
                if let DeclaredSource::File(file) = &declared.source
                    && let Some(other) = files.get(file)
                {
                    return Err(format!(
                        "spec.source.file is {file}, which is that of Plugin {other} already: name another file, or remove one of them"
                    ));
                }
                Ok(declared)
            });
            let plugin = match read {
                Ok(declared) => declared,
                Err(fault) => {
                    asked.faults.insert(name.clone(), fault);
                    let Some(earlier) = before.get(name) else { continue };
                    earlier.clone()
                }
            };
            if let DeclaredSource::File(file) = &plugin.source
                && *files.entry(file.clone()).or_insert_with(|| name.clone()) != *name
            {
                continue;
            }
            asked.plugins.insert(name.clone(), plugin);
        }
        asked
    }

    /// The plugins to pull, by their keys.
    pub(super) fn wanted(&self) -> BTreeMap<String, Wanted> {
        let references = self.plugins.iter().filter_map(|(name, declared)| match &declared.source {
            DeclaredSource::Reference(reference) => Some((name, reference.parse().ok()?)),
            DeclaredSource::File(_) => None,
        });
        references.map(|(name, reference)| (key_of(name), Wanted { plugin: name.clone(), reference })).collect()
    }
}

/// Whether a person says in the object what runs. Others only contain wishes about a plugin that comes from elsewhere.
pub(super) fn declares(object: &Value) -> bool {
    !is_ours(object) && ["/spec/source", "/spec/grant"].iter().any(|field| object.pointer(field).is_some())
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn declared(name: &str, object: &Value, fixed: &BTreeSet<String>) -> Result<Declared, String> {
    if !is_plugin_name(name) || name == crate::apply::HOST {
        return Err(format!(
            "{name:?} cannot be the name of a plugin (a-z, 0-9, -; begins with a letter, at most 40 characters, not \"{}\"): make an \
             object with another name",
            crate::apply::HOST
        ));
    }
    if fixed.contains(name) {
        return Err(format!(
            "--plugins of the host has plugin {name} already: remove it there, or remove spec.source here"
        ));
    }
    let field = |field: &str| object.pointer(&format!("/spec/source/{field}")).and_then(Value::as_str);
    let source = match (field("file"), field("reference")) {
        (Some(file), None) => DeclaredSource::File(file_name(file)?.to_owned()),
        (None, Some(reference)) => DeclaredSource::Reference(checked(reference)?),
        (Some(_), Some(_)) => return Err("spec.source has both file and reference: remove one of them".to_owned()),
        (None, None) => return Err("spec.source has neither file nor reference: set one of them".to_owned()),
    };
    let grant = object.pointer("/spec/grant").map(|grant| inline(name, grant)).transpose()?;
    Ok(Declared { source, grant: grant.map(Arc::new) })
}

/// A name in the plugin directory; never a path that leads elsewhere.
fn file_name(file: &str) -> Result<&str, String> {
    if file.contains('/') || file.contains("..") || file.starts_with('.') || !file.ends_with(".wasm") {
        return Err(format!("spec.source.file is {file:?}, not the name of a file NAME.wasm in the plugin directory"));
    }
    Ok(file)
}

fn checked(reference: &str) -> Result<String, String> {
    if !reference.starts_with(SCHEME) {
        return Err(format!(
            "spec.source.reference is {reference:?}: write {SCHEME}REGISTRY/REPOSITORY:TAG or …@sha256:…"
        ));
    }
    match reference.parse::<Reference>() {
        Ok(reference) => Ok(reference.to_string()),
        Err(fault) => Err(format!("spec.source.reference: {fault}")),
    }
}

/// The grant of an object: the fields of a grant file without apiVersion, kind and name.
fn inline(name: &str, grant: &Value) -> Result<InlineGrant, String> {
    let Value::Object(fields) = grant else { return Err("spec.grant is not an object".to_owned()) };
    if fields.contains_key("secretFiles") {
        return Err(
            "spec.grant.secretFiles is refused, because it would let a writer of this object read files of the host: \
                    put the grant into a file of the plugin directory"
                .to_owned(),
        );
    }
    let mut fields = fields.clone();
    for (field, value) in [("apiVersion", "oarlock.dev/v1alpha1"), ("kind", "PluginGrant"), ("name", name)] {
        if fields.insert(field.to_owned(), json!(value)).is_some_and(|before| before != value) {
            return Err(format!("spec.grant.{field} is not {value}: remove it, because the object says it already"));
        }
    }
    let limits = fields.get("limits").and_then(Value::as_object);
    let stated_limits = limits.into_iter().flat_map(|limits| limits.keys().cloned()).collect();
    let grant = serde_json::from_value::<PluginGrant>(Value::Object(fields));
    let grant = grant.map_err(|error| format!("spec.grant is not a grant: {error}"))?;
    Ok(InlineGrant { grant, stated_limits })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(spec: &Value) -> Value {
        json!({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": spec})
    }

    fn read(objects: &[(&str, Value)]) -> Asked {
        let objects = objects.iter().map(|(name, object)| ((*name).to_owned(), object.clone())).collect();
        Asked::of(&objects, &BTreeMap::new(), &BTreeSet::from(["fixed".to_owned()]))
    }

    #[test]
    fn an_object_names_a_file_or_a_reference_and_its_grant() {
        let asked = read(&[
            ("a", object(&json!({"source": {"file": "x.wasm"}, "grant": {"cleanup": true, "limits": {"logKib": 1}}}))),
            ("b", object(&json!({"source": {"reference": "oci://r.example/team/b:1"}}))),
            ("c", object(&json!({"paused": true}))),
        ]);
        assert!(asked.faults.is_empty(), "{:?}", asked.faults);
        assert_eq!(asked.plugins.keys().collect::<Vec<_>>(), ["a", "b"]);
        let grant = asked.plugins["a"].grant.as_ref().unwrap();
        assert_eq!((grant.grant.name.as_deref(), grant.grant.cleanup), (Some("a"), true));
        assert!(grant.stated_limits.contains("logKib"));
        assert_eq!(asked.wanted().keys().collect::<Vec<_>>(), ["Plugin/b"]);
    }

    #[test]
    fn an_object_of_the_host_declares_nothing() {
        let mut ours = object(&json!({"source": {"file": "x.wasm"}}));
        ours["metadata"]["labels"] = json!({super::super::MADE.0: super::super::MADE.1});
        assert!(read(&[("a", ours)]).plugins.is_empty());
    }

    #[test]
    fn a_fault_is_one_line_that_says_what_to_do() {
        let file = |file: &str| json!({"source": {"file": file}});
        for (name, spec, says) in [
            ("a", json!({"source": {}}), "neither file nor reference"),
            ("a", json!({"grant": {}}), "neither file nor reference"),
            ("a", json!({"source": {"file": "x.wasm", "reference": "oci://r/x:1"}}), "both file and reference"),
            ("a.b", file("x.wasm"), "cannot be the name of a plugin"),
            ("oarlock", file("x.wasm"), "cannot be the name of a plugin"),
            ("fixed", file("x.wasm"), "--plugins of the host has plugin fixed"),
            ("a", file("../x.wasm"), "not the name of a file"),
            ("a", file("/x.wasm"), "not the name of a file"),
            ("a", file("..wasm"), "not the name of a file"),
            ("a", file("x.yaml"), "not the name of a file"),
            ("a", json!({"source": {"reference": "r.example/x:1"}}), "write oci://"),
            ("a", json!({"source": {"reference": "oci://r.example"}}), "spec.source.reference"),
            (
                "a",
                json!({"source": {"file": "x.wasm"}, "grant": {"secretFiles": {"k": "/etc/shadow"}}}),
                "secretFiles is refused",
            ),
            ("a", json!({"source": {"file": "x.wasm"}, "grant": {"permisions": []}}), "unknown field `permisions`"),
            ("a", json!({"source": {"file": "x.wasm"}, "grant": {"name": "b"}}), "spec.grant.name is not a"),
        ] {
            let asked = read(&[(name, object(&spec))]);
            let fault = asked.faults.get(name).unwrap_or_else(|| panic!("{spec}"));
            assert!(fault.contains(says) && !fault.contains('\n'), "{fault}");
            assert!(asked.plugins.is_empty(), "{spec}");
        }
    }

    #[test]
    fn of_two_objects_with_one_file_the_older_counts() {
        let mut older = object(&json!({"source": {"file": "x.wasm"}}));
        older["metadata"]["creationTimestamp"] = json!("2025-01-01T00:00:00Z");
        let asked = read(&[("a", object(&json!({"source": {"file": "x.wasm"}}))), ("b", older)]);
        assert_eq!(asked.plugins.keys().collect::<Vec<_>>(), ["b"]);
        assert!(asked.faults["a"].contains("that of Plugin b already"));
    }

    #[test]
    fn a_fault_leaves_what_the_object_said_before() {
        let first = read(&[("a", object(&json!({"source": {"file": "x.wasm"}, "grant": {}})))]);
        let faulty = BTreeMap::from([("a".to_owned(), object(&json!({"source": {"file": "x.wasm"}, "grant": 1})))]);
        let second = Asked::of(&faulty, &first.plugins, &BTreeSet::new());
        assert_eq!((second.plugins, second.faults.len()), (first.plugins, 1));
    }
}
