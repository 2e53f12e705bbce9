//! Workload mode: injection into the Pod template of workloads, for clusters without a webhook, or for existing Pods.
//!
//! A patch of the template starts a rollout, so one workload is patched at a time. The next one waits until the last has rolled out, or
//! has taken too long.

mod rollout;

use crate::initializer::Initializer;
use crate::scope::INJECTED;
use crate::settings::Settings;
use oarlock_guest::{Context, Kind, Observation, Outcome, Result, cache, cluster, kind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Annotation of a workload: `"true"`.
pub(crate) const ANNOTATION: &str = "initializer.kubernetes.io/envoy-workload";

/// The kinds with a rollout of their Pod template.
const KINDS: [&str; 3] = ["Deployment", "StatefulSet", "DaemonSet"];

/// The cache key of the workload that is rolling out.
const SLOT: &str = "rollout";
/// Poll interval of a waiting workload.
const POLL: Duration = Duration::from_secs(15);

/// The last patched workload.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
struct Rolling {
    kind: String,
    namespace: String,
    name: String,
}

/// The kinds, for the manifest.
pub(crate) fn kinds() -> impl Iterator<Item = Kind> {
    KINDS.into_iter().map(workload_kind)
}

fn workload_kind(name: &str) -> Kind {
    kind("apps/v1", name)
}

pub(crate) fn desired(cx: &Context<Value>) -> Result<Option<Value>> {
    let settings = Settings::read()?;
    let annotations = cx.object()?.pointer("/metadata/annotations");
    let asked = annotations.and_then(|annotations| annotations.get(ANNOTATION)?.as_str()) == Some("true");
    if !settings.workload_mode || !asked {
        return Ok(None);
    }
    let initializer = Initializer::read(&settings)?;
    let Initializer { containers, init_containers, volumes } = initializer.as_ref();
    let lists = [("containers", containers), ("initContainers", init_containers), ("volumes", volumes)];
    let spec: Map<String, Value> = lists
        .into_iter()
        .filter(|(_, items)| !items.is_empty())
        .map(|(list, items)| (list.to_owned(), json!(items)))
        .collect();
    let mut document = bare(cx);
    if let Value::Object(fields) = &mut document {
        fields
            .insert("spec".to_owned(), json!({"template": {"metadata": {"labels": {INJECTED: "true"}}, "spec": spec}}));
    }
    Ok(Some(document))
}

pub(crate) fn actual(cx: &Context<Value>) -> Result<Observation<Value>> {
    if cx.deleting() {
        return Ok(Observation::absent());
    }
    Ok(Observation::of(cluster::get_applied(cx.kind(), cx.namespace(), cx.name())?))
}

pub(crate) fn patch(cx: &Context<Value>, desired: Option<Value>) -> Result<Outcome> {
    let settings = Settings::read()?;
    let this =
        Rolling { kind: cx.kind().kind.clone(), namespace: cx.namespace().to_owned(), name: cx.name().to_owned() };
    if let Some(other) = cache::get::<Rolling>(SLOT).filter(|other| *other != this)
        && other.is_rolling()?
    {
        return Ok(Outcome::new()
            .event_normal("WaitingForRollout", format!("Waits for the rollout of {other}"))
            .requeue_after(POLL));
    }
    cache::set(SLOT, &this, Some(settings.rollout));
    let (reason, message) = match desired {
        Some(_) => ("EnvoyInjected", "Envoy is added to the Pod template: the workload rolls out"),
        None => ("EnvoyRemoved", "Envoy is taken out of the Pod template: the workload rolls out"),
    };
    // An apply without fields removes those of the last one.
    let document = desired.unwrap_or_else(|| bare(cx));
    Ok(Outcome::new()
        .apply_with(&document, |change| change.precondition.uid = Some(cx.uid().to_owned()))
        .event_normal(reason, message))
}

/// A document for an apply without fields.
fn bare(cx: &Context<Value>) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": cx.kind().kind,
        "metadata": {"name": cx.name(), "namespace": cx.namespace()},
    })
}

impl Rolling {
    /// Whether the workload exists and has not rolled out yet.
    fn is_rolling(&self) -> Result<bool> {
        let workload: Option<Value> = cluster::get(&workload_kind(&self.kind), &self.namespace, &self.name)?;
        Ok(workload.is_some_and(|workload| !rollout::done(&self.kind, &workload)))
    }
}

impl std::fmt::Display for Rolling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}
