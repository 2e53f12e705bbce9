//! A new Pod, before it is stored.

use crate::initializer::{Initializer, config_map_kind};
use crate::inject::inject;
use crate::namespace::CONFIG;
use crate::scope::{self, INJECTED};
use crate::settings::Settings;
use oarlock_guest::{Context, Observation, Outcome, PatchType, Result, cluster, merge};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The fields of an AdmissionRequest this plugin reads.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Review {
    operation: String,
    sub_resource: String,
}

impl Default for Review {
    fn default() -> Self {
        Self { operation: "CREATE".to_owned(), sub_resource: String::new() }
    }
}

/// Whether a Pod under review is to be injected. Only a new one can be: the API server refuses containers for one that exists.
fn in_scope(cx: &Context<Value>, settings: &Settings) -> Result<bool> {
    let Some(review) = &cx.raw().review else { return Ok(false) };
    // Not all of it: it holds the Pod once more.
    let Review { operation, sub_resource } = serde_json::from_str(review)?;
    if operation != "CREATE" || !sub_resource.is_empty() {
        return Ok(false);
    }
    scope::pod(cx.object()?, cx.namespace(), settings)
}

/// What is compared: the Pod's lists and our label. None: the Pod is none of ours.
pub(crate) fn desired(cx: &Context<Value>) -> Result<Option<Value>> {
    let settings = Settings::read()?;
    if !in_scope(cx, &settings)? {
        return Ok(None);
    }
    let spec = cx.object()?.get("spec").unwrap_or(&Value::Null);
    let spec = inject(spec, &Initializer::read(&settings)?, &settings).spec;
    Ok(Some(json!({"metadata": {"labels": {INJECTED: "true"}}, "spec": spec})))
}

pub(crate) fn actual(cx: &Context<Value>) -> Result<Observation<Value>> {
    if !in_scope(cx, &Settings::read()?)? {
        return Ok(Observation::absent());
    }
    let pod = cx.object()?;
    let filled = |value: &&Value| value.as_array().is_some_and(|items| !items.is_empty());
    let spec: Map<String, Value> = ["containers", "initContainers", "volumes"]
        .into_iter()
        .filter_map(|list| Some((list.to_owned(), pod.get("spec")?.get(list).filter(filled)?.clone())))
        .collect();
    let mut state = json!({"spec": spec});
    if let Some(injected) = scope::label(pod, INJECTED) {
        overlay(&mut state, json!({"metadata": {"labels": {INJECTED: injected}}}));
    }
    Ok(Observation::present(state))
}

pub(crate) fn patch(cx: &Context<Value>, desired: Option<Value>, actual: Option<Value>) -> Result<Outcome> {
    let (Some(desired), Some(actual)) = (desired, actual) else { return Ok(Outcome::new()) };
    let outcome = warnings(cx)?.into_iter().fold(Outcome::new(), Outcome::warning);
    let pod = |mut state: Value| {
        overlay(&mut state, json!({"apiVersion": "v1", "kind": "Pod"}));
        state
    };
    let (original, modified) = (pod(actual), pod(desired));
    let patch = merge::create_two_way(cx.kind(), &original, &modified)?;
    if merge::apply_patch(cx.kind(), &original, &patch).is_ok_and(|merged| merged == modified) {
        return Ok(outcome.patch(None, PatchType::StrategicMergePatch, patch));
    }
    // Strategic merge knows a port by its number alone: where TCP and UDP share one, the lists are replaced.
    Ok(outcome.patch(None, PatchType::MergePatch, modified))
}

/// What whoever made the Pod should know.
fn warnings(cx: &Context<Value>) -> Result<Vec<String>> {
    let settings = Settings::read()?;
    let initializer = Initializer::read(&settings)?;
    let spec = cx.object()?.get("spec").unwrap_or(&Value::Null);
    let mut warnings: Vec<String> = inject(spec, &initializer, &settings)
        .skipped
        .iter()
        .map(|name| {
            format!("container {name} is not injected: the Pod has one of that name among its other containers")
        })
        .collect();
    let namespace = cx.namespace();
    let mounted = initializer.volumes.iter().any(|volume| {
        volume.get("configMap").and_then(|source| source.get("name")).is_some_and(|name| *name == CONFIG)
    });
    // Where injection is on the ConfigMap comes by itself, if it is not there yet.
    if mounted
        && !scope::namespace_named(namespace, &settings)?
        && cluster::get::<Value>(&config_map_kind(), namespace, CONFIG)?.is_none()
    {
        warnings.push(format!(
            "namespace {namespace} has no ConfigMap {CONFIG}, which the Pod will wait for: label it {}=true",
            scope::SWITCH
        ));
    }
    Ok(warnings)
}

fn overlay(state: &mut Value, fields: Value) {
    if let (Value::Object(state), Value::Object(fields)) = (state, fields) {
        state.extend(fields);
    }
}
