//! InitializerConfigurations: which plugins initialize what is created, in which order.
//!
//! # Source
//!
//! The shape is that of `admissionregistration.k8s.io/v1alpha1` InitializerConfiguration, which Kubernetes had until 1.13, with the
//! plugin that answers to each name.

use super::review::Asked;
use crate::api::GroupVersionKind;
use crate::grants::resource_covers;
use crate::informer::{ListOptions, Store};
use serde::Deserialize;
use serde_json::{Value, json};

/// The definition of the kind, for an API server that does not have it.
pub const DEFINITION: &str = include_str!("../../../deploy/initializerconfigurations.yaml");

/// The kind.
#[must_use]
pub(super) fn kind() -> GroupVersionKind {
    GroupVersionKind::new("oarlock.dev", "v1alpha1", "InitializerConfiguration")
}

/// One initializer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Initializer {
    /// With at least two dots.
    pub(super) name: String,
    /// Which plugin answers to it.
    pub(super) plugin: String,
    #[serde(default)]
    pub(super) rules: Vec<Rule>,
}

/// What is to be initialized.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rule {
    #[serde(default)]
    pub(super) api_groups: Vec<String>,
    #[serde(default)]
    pub(super) api_versions: Vec<String>,
    #[serde(default)]
    pub(super) resources: Vec<String>,
}

impl Initializer {
    fn is_for(&self, asked: &Asked) -> bool {
        let holds = |list: &[String], wanted: &str| list.iter().any(|one| one == "*" || one == wanted);
        let resource = asked.resource.path();
        self.rules.iter().any(|rule| {
            holds(&rule.api_groups, &asked.resource.group)
                && holds(&rule.api_versions, &asked.resource.version)
                && rule.resources.iter().any(|one| resource_covers(one, &resource))
        })
    }
}

/// All initializers there are: by the name of their configuration, then in its order. One that cannot be read is left out, with a
/// line in the log; the API server's schema keeps those out.
pub(super) fn all(store: &Store) -> Vec<Initializer> {
    #[derive(Deserialize)]
    struct Configuration {
        #[serde(default)]
        initializers: Vec<Initializer>,
    }
    let configurations = store.list(&ListOptions::default());
    configurations
        .iter()
        .flat_map(|object| match serde_json::from_str::<Configuration>(object.json()) {
            Ok(configuration) => configuration.initializers,
            Err(error) => {
                tracing::warn!(configuration = %object.key().name, %error, "an InitializerConfiguration cannot be read");
                Vec::new()
            }
        })
        .collect()
}

/// Those that are about a request, in order; each name once.
pub(super) fn of<'a>(all: &'a [Initializer], asked: &Asked) -> Vec<&'a Initializer> {
    let mut found: Vec<&Initializer> = Vec::new();
    for initializer in all.iter().filter(|initializer| initializer.is_for(asked)) {
        if !found.iter().any(|there| there.name == initializer.name) {
            found.push(initializer);
        }
    }
    found
}

/// The object with these initializers pending; with none, without a trace of them.
pub(super) fn with_pending(mut object: Value, pending: &[String]) -> Value {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return object };
    if pending.is_empty() {
        metadata.remove("initializers");
    } else {
        let names: Vec<Value> = pending.iter().map(|name| json!({"name": name})).collect();
        metadata.insert("initializers".to_owned(), json!({"pending": names}));
    }
    object
}

/// The names that are pending on an object. None: what stands there is no list of names.
pub(super) fn pending(object: &Value) -> Option<Vec<String>> {
    let Some(initializers) = object.pointer("/metadata/initializers") else { return Some(Vec::new()) };
    let Some(pending) = initializers.get("pending") else { return Some(Vec::new()) };
    if pending.is_null() {
        return Some(Vec::new());
    }
    pending.as_array()?.iter().map(|one| Some(one.get("name")?.as_str()?.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pending_names_are_written_and_read_and_leave_no_trace() {
        let names = ["a.b.c".to_owned(), "d.e.f".to_owned()];
        let object = with_pending(json!({"metadata": {"name": "p"}}), &names);
        assert_eq!(pending(&object).unwrap(), names);
        assert_eq!(with_pending(object, &[]), json!({"metadata": {"name": "p"}}));
        for (initializers, expected) in [
            (json!({}), Some(vec![])),
            (json!({"pending": null}), Some(vec![])),
            (json!({"pending": "x"}), None),
            (json!({"pending": [{"name": 7}]}), None),
        ] {
            assert_eq!(pending(&json!({"metadata": {"initializers": initializers}})), expected);
        }
    }
}
