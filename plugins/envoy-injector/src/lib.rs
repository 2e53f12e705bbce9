#![doc = include_str!("../README.md")]

mod admission;
mod initializer;
mod inject;
mod namespace;
mod overlay;
mod pod;
mod scope;
mod settings;
#[cfg(test)]
mod tests;
mod workload;

use crate::initializer::config_map_kind;
use crate::scope::{INJECTED, SWITCH, SYSTEM, namespace_kind};
use crate::settings::Settings;
use oarlock_guest::{
    AdmissionRule, Context, Kind, Manifest, Mapping, Observation, Outcome, PolicyRule, Reconciler, Result, export, kind,
};
use serde_json::{Value, json};

/// Injects into new Pods, and reconciles namespaces, missed Pods, and workloads.
#[derive(Debug, Default)]
pub struct EnvoyInjector;

/// The subject of a reconcile.
enum Subject {
    NewPod,
    Pod,
    Namespace,
    Workload,
}

impl Subject {
    fn of(cx: &Context<Value>) -> Self {
        match cx.kind().kind.as_str() {
            "Pod" if cx.raw().review.is_some() => Self::NewPod,
            "Pod" => Self::Pod,
            "Namespace" => Self::Namespace,
            _ => Self::Workload,
        }
    }
}

impl Reconciler for EnvoyInjector {
    type Object = Value;
    type State = Value;

    fn manifest() -> Manifest {
        let manifest = Manifest::new("envoy-injector", env!("CARGO_PKG_VERSION"))
            .description("Gives new Pods the Envoy sidecar of a ConfigMap")
            .admission(new_pods())
            .primary(namespace_kind())
            // Pods that are injected or finished are not even cached.
            .primary_with(pod_kind(), |primary| {
                primary.label_selector = format!("!{INJECTED}");
                "status.phase!=Succeeded,status.phase!=Failed".clone_into(&mut primary.field_selector);
            });
        let manifest = workload::kinds().fold(manifest, |manifest, workload| {
            let wakes = workload.clone();
            manifest.primary(workload).watch_with(config_map_kind(), Mapping::All, |watch| {
                watch.names.push(initializer::NAME.to_owned());
                watch.primary = Some(wakes);
            })
        });
        let manifest = workload::kinds().fold(manifest, |manifest, Kind { kind, .. }| {
            manifest.permission("apps", &plural(&kind), &["create", "patch"])
        });
        Settings::declare(manifest)
            // A change of the copied ConfigMap enqueues all namespaces, a change of a copy only its own.
            .watch_with(config_map_kind(), Mapping::All, |watch| {
                watch.names.push(namespace::CONFIG.to_owned());
                watch.label_selector = format!("!{}", namespace::COPY);
            })
            .watch_with(config_map_kind(), Mapping::OwnerReference, |watch| {
                watch.names.push(namespace::CONFIG.to_owned());
                watch.label_selector = format!("{}=true", namespace::COPY);
            })
            .permission_rule(PolicyRule {
                api_groups: vec![String::new()],
                resources: vec!["configmaps".to_owned()],
                verbs: ["get", "list", "watch", "create", "patch", "delete"].map(str::to_owned).to_vec(),
                resource_names: vec![namespace::CONFIG.to_owned()],
                namespaces: Vec::new(),
            })
            // One workload after the other: two workers could find the slot free at the same time.
            .workers(1)
            .resync_seconds(600)
    }

    fn desired(&self, cx: &Context<Value>) -> Result<Option<Value>> {
        match Subject::of(cx) {
            Subject::NewPod => admission::desired(cx),
            Subject::Pod => pod::desired(cx),
            Subject::Namespace => namespace::desired(cx),
            Subject::Workload => workload::desired(cx),
        }
    }

    fn actual(&self, cx: &Context<Value>) -> Result<Observation<Value>> {
        match Subject::of(cx) {
            Subject::NewPod => admission::actual(cx),
            Subject::Pod => pod::actual(cx),
            Subject::Namespace => namespace::actual(cx),
            Subject::Workload => workload::actual(cx),
        }
    }

    fn patch(&self, cx: &Context<Value>, desired: Option<Value>, actual: Option<Value>) -> Result<Outcome> {
        match Subject::of(cx) {
            Subject::NewPod => admission::patch(cx, desired, actual),
            Subject::Pod => Ok(pod::patch()),
            Subject::Namespace => namespace::patch(cx, desired, actual.is_some()),
            Subject::Workload => workload::patch(cx, desired),
        }
    }
}

fn pod_kind() -> Kind {
    kind("v1", "Pod")
}

fn plural(kind: &str) -> String {
    format!("{}s", kind.to_ascii_lowercase())
}

/// New Pods, without those of the system and those that opt out, which are not delayed by a review.
fn new_pods() -> AdmissionRule {
    let one = |text: &str| vec![text.to_owned()];
    AdmissionRule {
        operations: one("CREATE"),
        api_groups: one(""),
        api_versions: one("v1"),
        resources: one("pods"),
        validate: false,
        scope: Some("Namespaced".to_owned()),
        namespace_selector: Some(json!({
            "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [SYSTEM]}],
        })),
        object_selector: None,
        match_conditions: Some(json!([{
            "name": "no-opt-out",
            "expression": format!(
                "!has(object.metadata.annotations) || !({SWITCH:?} in object.metadata.annotations) || \
                 object.metadata.annotations[{SWITCH:?}] != \"false\""
            ),
        }])),
        side_effects: Some("None".to_owned()),
        match_policy: Some("Equivalent".to_owned()),
        reinvocation_policy: Some("IfNeeded".to_owned()),
        failure_policy: Some("Fail".to_owned()),
        timeout_seconds: Some(5),
    }
}

export!(EnvoyInjector);
