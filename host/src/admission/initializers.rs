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
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The CRD of InitializerConfiguration, for an API server that lacks it.
pub const DEFINITION: &str = include_str!("../../../deploy/crds/initializerconfigurations.yaml");

/// The GroupVersionKind of InitializerConfiguration.
#[must_use]
pub(super) fn kind() -> GroupVersionKind {
    GroupVersionKind::new("oarlock.dev", "v1alpha1", "InitializerConfiguration")
}

/// The annotation of an object with the names of the initializers that it selects, and with `-NAME` for those that it declines, separated by
/// commas.
const SELECTION: &str = "oarlock.dev/initializers";

/// The annotation with the initializers that ran, as a JSON list of [`Record`]s.
const RECORD: &str = "oarlock.dev/initialized";

/// One initializer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Initializer {
    /// Contains at least two dots.
    pub(super) name: String,
    /// The plugin that answers for the initializer.
    pub(super) plugin: String,
    #[serde(default)]
    pub(super) rules: Vec<InitializerRule>,
    #[serde(default)]
    pub(super) selection: Selection,
    /// Whether the configuration asks for records.
    #[serde(skip)]
    pub(super) record: bool,
}

/// Which of the objects that the rules match are initialized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) enum Selection {
    /// All.
    #[default]
    Always,
    /// Those whose annotation has the name.
    OptIn,
    /// All but those whose annotation has `-NAME`.
    OptOut,
}

/// What the host writes about an initializer that ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Record {
    pub(super) name: String,
    pub(super) plugin: String,
    pub(super) version: String,
    /// The SHA-256 of the plugin's file.
    pub(super) digest: String,
    /// `Initialized`, or `Ignored`: the plugin failed, and its failure policy is Ignore.
    pub(super) result: &'static str,
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
        #[serde(default)]
        record: bool,
    }
    let read = |object: &Object| match serde_json::from_str::<InitializerDocument>(object.json()) {
        Ok(InitializerDocument { mut initializers, record }) => {
            initializers.iter_mut().for_each(|initializer| initializer.record = record);
            initializers
        }
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

/// The entries of the annotation by which an object selects initializers.
fn selected(object: &Value) -> Vec<&str> {
    let text = object.pointer("/metadata/annotations").and_then(|annotations| annotations.get(SELECTION)?.as_str());
    text.unwrap_or_default().split(',').map(str::trim).filter(|entry| !entry.is_empty()).collect()
}

/// A warning about names in the annotation that no configuration has. None: there is no such name.
pub(super) fn unknown(all: &[Initializer], object: &Value) -> Option<String> {
    let known = |entry: &&str| {
        let name = entry.strip_prefix('-').unwrap_or(entry);
        all.iter().any(|initializer| initializer.name == name)
    };
    let unknown: Vec<&str> = selected(object).into_iter().filter(|entry| !known(entry)).collect();
    let names = crate::shorten(&unknown.join(", "), 200).to_owned();
    (!unknown.is_empty())
        .then(|| format!("annotation {SELECTION}: no InitializerConfiguration has an initializer {names}"))
}

/// The initializers that match a request and that its object selects, in order; each name once.
pub(super) fn of<'a>(all: &'a [Initializer], admission_request: &AdmissionRequest) -> Vec<&'a Initializer> {
    let mut found: Vec<&Initializer> = Vec::new();
    let selected = selected(&admission_request.object);
    let wanted = |initializer: &&Initializer| match initializer.selection {
        Selection::Always => true,
        Selection::OptIn => selected.contains(&initializer.name.as_str()),
        Selection::OptOut => !selected.iter().any(|entry| entry.strip_prefix('-') == Some(&initializer.name)),
    };
    for initializer in all.iter().filter(|initializer| initializer.is_for(admission_request)).filter(wanted) {
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

/// The object with the records of this review, and without any that it came with.
pub(super) fn with_records(mut object: Value, records: &[Record]) -> Value {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return object };
    if records.is_empty() {
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(RECORD);
        }
        return object;
    }
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if annotations.is_null() {
        *annotations = json!({});
    }
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(RECORD.to_owned(), json!(records).to_string().into());
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
            selection: Selection::Always,
            record: false,
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

    fn request(annotations: &Value) -> AdmissionRequest {
        let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n", "annotations": annotations}});
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u",
            "kind": {"group": "", "version": "v1", "kind": "Pod"}, "operation": "CREATE", "object": object, "name": "p", "namespace": "n",
            "resource": {"group": "", "version": "v1", "resource": "pods"}, "userInfo": {"username": "me"}}});
        AdmissionRequest::read(review.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn an_object_selects_and_declines_initializers_by_annotation() {
        let initializer = |name: &str, selection: &str| -> Initializer {
            let rules = json!([{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]);
            serde_json::from_value(json!({"name": name, "plugin": "p", "rules": rules, "selection": selection}))
                .unwrap()
        };
        let all = [initializer("a.b.c", "Always"), initializer("in.b.c", "OptIn"), initializer("out.b.c", "OptOut")];
        for (annotation, names) in [
            (json!({}), vec!["a.b.c", "out.b.c"]),
            (json!({SELECTION: "in.b.c"}), vec!["a.b.c", "in.b.c", "out.b.c"]),
            (json!({SELECTION: " in.b.c , -out.b.c,-a.b.c,,"}), vec!["a.b.c", "in.b.c"]),
            (json!({SELECTION: "-in.b.c,out.b.c"}), vec!["a.b.c", "out.b.c"]),
            (json!({SELECTION: "in.b"}), vec!["a.b.c", "out.b.c"]),
        ] {
            let found: Vec<String> = of(&all, &request(&annotation)).iter().map(|one| one.name.clone()).collect();
            assert_eq!(found, names, "{annotation}");
        }
        assert_eq!(unknown(&all, &json!({"metadata": {"annotations": {SELECTION: "in.b.c,-out.b.c"}}})), None);
        let warning = unknown(&all, &json!({"metadata": {"annotations": {SELECTION: "in.b.c,-x.b.c"}}})).unwrap();
        assert_eq!(
            warning,
            "annotation oarlock.dev/initializers: no InitializerConfiguration has an initializer -x.b.c"
        );
    }

    #[test]
    fn a_record_takes_the_place_of_one_that_the_object_came_with() {
        let forged = json!({"metadata": {"annotations": {RECORD: "[]", "other": "1"}}});
        assert_eq!(with_records(forged.clone(), &[]), json!({"metadata": {"annotations": {"other": "1"}}}));
        let record = Record {
            name: "a.b.c".to_owned(),
            plugin: "p".to_owned(),
            version: "1".to_owned(),
            digest: "d".to_owned(),
            result: "Initialized",
        };
        for object in [forged, json!({"metadata": {}}), json!({"metadata": {"annotations": null}})] {
            let object = with_records(object, std::slice::from_ref(&record));
            let text = object["metadata"]["annotations"][RECORD].as_str().unwrap();
            let expected =
                json!([{"name": "a.b.c", "plugin": "p", "version": "1", "digest": "d", "result": "Initialized"}]);
            assert_eq!(serde_json::from_str::<Value>(text).unwrap(), expected);
        }
    }
}
