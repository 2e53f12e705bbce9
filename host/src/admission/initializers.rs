//! InitializerConfigurations: the plugins that initialize new objects, and their order.
//!
//! # Source
//!
//! The shape is that of InitializerConfiguration in `admissionregistration.k8s.io/v1alpha1`, which Kubernetes had until 1.13. Oarlock
//! adds the plugin of each initializer.

use super::review::AdmissionRequest;
use crate::api::GroupVersionKind;
use crate::apply::events::Regarding;
use crate::grants::{Admission, resource_covers};
use crate::informer::{ListOptions, Object, Store};
use serde::Deserialize;
use serde_json::{Value, json};

/// The CRD of InitializerConfiguration, for an API server that lacks it.
pub const DEFINITION: &str = include_str!("../../../deploy/crds/initializerconfigurations.yaml");

/// The GroupVersionKind of InitializerConfiguration.
#[must_use]
pub(super) fn kind() -> GroupVersionKind {
    GroupVersionKind::new("oarlock.dev", "v1alpha1", "InitializerConfiguration")
}

/// One initializer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Initializer {
    /// Contains at least two dots.
    pub(super) name: String,
    /// The plugin that answers for the initializer.
    pub(super) plugin: String,
    #[serde(default)]
    pub(super) rules: Vec<InitializerRule>,
}

/// The objects to initialize.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InitializerRule {
    #[serde(default)]
    pub(super) api_groups: Vec<String>,
    #[serde(default)]
    pub(super) api_versions: Vec<String>,
    #[serde(default)]
    pub(super) resources: Vec<String>,
}

impl Initializer {
    /// A resource of the initializer for which the plugin has no rule, as `pods` or `deployments.apps`. None: the rules cover all of its
    /// resources.
    pub(super) fn unanswered_by(&self, rules: &[Admission]) -> Option<String> {
        let holds = |list: &[String], wanted: &str| list.iter().any(|one| one == "*" || one == wanted);
        let answered = |group: &str, version: &str, resource: &str| {
            rules.iter().map(|admission| &admission.rule).any(|rule| {
                !rule.validate
                    && holds(&rule.operations, "CREATE")
                    && holds(&rule.api_groups, group)
                    && holds(&rule.api_versions, version)
                    && rule.resources.iter().any(|one| resource_covers(one, resource))
            })
        };
        let triples = self.rules.iter().flat_map(|rule| {
            let pairs =
                rule.api_groups.iter().flat_map(|group| rule.api_versions.iter().map(move |version| (group, version)));
            pairs.flat_map(|(group, version)| rule.resources.iter().map(move |resource| (group, version, resource)))
        });
        let mut left = triples.filter(|(group, version, resource)| !answered(group, version, resource));
        left.next().map(|(group, _, resource)| match group.as_str() {
            "" => resource.clone(),
            group => format!("{resource}.{group}"),
        })
    }

    fn is_for(&self, admission_request: &AdmissionRequest) -> bool {
        let holds = |list: &[String], wanted: &str| list.iter().any(|one| one == "*" || one == wanted);
        let resource = admission_request.resource.path();
        self.rules.iter().any(|rule| {
            holds(&rule.api_groups, &admission_request.resource.group)
                && holds(&rule.api_versions, &admission_request.resource.version)
                && rule.resources.iter().any(|one| resource_covers(one, &resource))
        })
    }
}

/// One InitializerConfiguration.
#[derive(Clone, Debug)]
pub(super) struct InitializerConfiguration {
    pub(super) name: String,
    /// Target of events about the configuration.
    pub(super) about: Regarding,
    pub(super) initializers: Vec<Initializer>,
}

/// All configurations, by name. Initializers of an unreadable configuration are left out, with a log line; the API server's schema
/// rejects such configurations.
pub(super) fn all(store: &Store) -> Vec<InitializerConfiguration> {
    #[derive(Deserialize)]
    struct InitializerDocument {
        #[serde(default)]
        initializers: Vec<Initializer>,
    }
    let read = |object: &Object| match serde_json::from_str::<InitializerDocument>(object.json()) {
        Ok(document) => document.initializers,
        Err(error) => {
            tracing::warn!(configuration = %object.key().name, %error, "an InitializerConfiguration cannot be read");
            Vec::new()
        }
    };
    let configurations = store.list(&ListOptions::default());
    configurations
        .iter()
        .map(|object| InitializerConfiguration {
            name: object.key().name.to_string(),
            about: Regarding::new(&kind(), object),
            initializers: read(object),
        })
        .collect()
}

/// The initializers that match a request, in order; each name once.
pub(super) fn of<'a>(all: &'a [Initializer], admission_request: &AdmissionRequest) -> Vec<&'a Initializer> {
    let mut found: Vec<&Initializer> = Vec::new();
    for initializer in all.iter().filter(|initializer| initializer.is_for(admission_request)) {
        if !found.iter().any(|there| there.name == initializer.name) {
            found.push(initializer);
        }
    }
    found
}

/// The object with these initializers pending; without any, the object has no trace of them.
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

/// The pending initializers of an object. None: the field is no list of names.
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
    fn what_the_rules_of_a_plugin_leave_out_is_named() {
        let granted = |groups: &[&str], resources: &[&str], operation: &str, validate: bool| Admission {
            index: 0,
            rule: serde_json::from_value(json!({"operations": [operation], "apiGroups": groups, "apiVersions": ["v1"],
                "resources": resources, "validate": validate}))
            .unwrap(),
            only_as_initializer: true,
        };
        let initializer = |groups: &[&str], resources: &[&str]| Initializer {
            name: "a.b.c".to_owned(),
            plugin: "p".to_owned(),
            rules: vec![
                serde_json::from_value(json!({"apiGroups": groups, "apiVersions": ["v1"], "resources": resources}))
                    .unwrap(),
            ],
        };
        let pods = granted(&[""], &["pods"], "CREATE", false);
        assert_eq!(initializer(&[""], &["pods"]).unanswered_by(std::slice::from_ref(&pods)), None);
        assert_eq!(initializer(&[""], &["pods"]).unanswered_by(&[]).unwrap(), "pods");
        assert_eq!(
            initializer(&[""], &["pods", "secrets"]).unanswered_by(std::slice::from_ref(&pods)).unwrap(),
            "secrets"
        );
        assert_eq!(initializer(&["", "apps"], &["pods"]).unanswered_by(&[pods]).unwrap(), "pods.apps");
        assert_eq!(initializer(&["*"], &["*"]).unanswered_by(&[granted(&["*"], &["*/*"], "*", false)]), None);
        for rule in [granted(&[""], &["pods"], "UPDATE", false), granted(&[""], &["pods"], "CREATE", true)] {
            assert!(initializer(&[""], &["pods"]).unanswered_by(&[rule]).is_some());
        }
    }

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
