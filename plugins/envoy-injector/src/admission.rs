//! Admission of new Pods.

use crate::initializer::{Initializer, config_map_kind};
use crate::inject::inject;
use crate::namespace::CONFIG;
use crate::scope::{self, INJECTED};
use crate::settings::Settings;
use oarlock_guest::{Context, Observation, Outcome, PatchType, Result, cluster, merge};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// In a state: the names of pending initializers.
const PENDING: &str = "pending";

/// The fields of an AdmissionRequest that this plugin reads.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Review {
    operation: String,
    sub_resource: String,
    /// For an initializer: the names of the remaining initializers, the plugin's own first.
    pending: Vec<String>,
}

impl Default for Review {
    fn default() -> Self {
        Self { operation: "CREATE".to_owned(), sub_resource: String::new(), pending: Vec::new() }
    }
}

impl Review {
    fn of(cx: &Context<Value>) -> Result<Option<Self>> {
        Ok(cx.review()?.map(Self::deserialize).transpose()?)
    }
}

/// The settings; injection is on by default for a Pod that names the plugin as an initializer.
fn settings(cx: &Context<Value>) -> Result<Settings> {
    let settings = Settings::read()?;
    let initializes = Review::of(cx)?.is_some_and(|review| !review.pending.is_empty());
    Ok(Settings { by_default: settings.by_default || initializes, ..settings })
}

/// Names of the Pod's pending initializers.
fn pending(cx: &Context<Value>) -> Result<Vec<String>> {
    let pending = cx.object()?.pointer("/metadata/initializers/pending").and_then(Value::as_array);
    let names = pending.into_iter().flatten().filter_map(|one| one.get("name")?.as_str());
    Ok(names.map(str::to_owned).collect())
}

/// The plugin's own name among the initializers. None: the request comes from the plugin's own webhook.
fn own_name(cx: &Context<Value>) -> Result<Option<String>> {
    Ok(Review::of(cx)?.and_then(|review| review.pending.into_iter().next()))
}

/// A state with the pending names, if the plugin is an initializer.
fn with_pending(state: Option<Value>, names: Option<Vec<String>>) -> Option<Value> {
    let Some(names) = names else { return state };
    let mut state = state.unwrap_or_else(|| json!({}));
    overlay(&mut state, json!({PENDING: names}));
    Some(state)
}

/// Whether to inject into a Pod under review. Only new Pods qualify: the API server accepts no new containers for an existing one.
fn in_scope(cx: &Context<Value>, settings: &Settings) -> Result<bool> {
    let Some(Review { operation, sub_resource, .. }) = Review::of(cx)? else { return Ok(false) };
    if operation != "CREATE" || !sub_resource.is_empty() {
        return Ok(false);
    }
    scope::pod(cx.object()?, cx.namespace(), settings)
}

/// The compared state: the Pod's lists, the plugin's label, and the pending initializers. None: the Pod is out of scope.
pub(crate) fn desired(cx: &Context<Value>) -> Result<Option<Value>> {
    let rest = match own_name(cx)? {
        Some(own) => Some(pending(cx)?.into_iter().filter(|name| *name != own).collect()),
        None => None,
    };
    Ok(with_pending(injected(cx)?, rest))
}

/// The desired lists and label of the Pod.
fn injected(cx: &Context<Value>) -> Result<Option<Value>> {
    let settings = settings(cx)?;
    if !in_scope(cx, &settings)? {
        return Ok(None);
    }
    let spec = cx.object()?.get("spec").unwrap_or(&Value::Null);
    let initializer = Initializer::read(&settings)?;
    let spec = inject(spec, &initializer, &settings).spec;
    Ok(Some(json!({"metadata": {"labels": {INJECTED: "true"}}, "spec": spec})))
}

pub(crate) fn actual(cx: &Context<Value>) -> Result<Observation<Value>> {
    let names = own_name(cx)?.map(|_| pending(cx)).transpose()?;
    Ok(Observation::of(with_pending(found(cx)?, names)))
}

/// The actual lists and label of the Pod.
fn found(cx: &Context<Value>) -> Result<Option<Value>> {
    if !in_scope(cx, &settings(cx)?)? {
        return Ok(None);
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
    Ok(Some(state))
}

pub(crate) fn patch(cx: &Context<Value>, desired: Option<Value>, actual: Option<Value>) -> Result<Outcome> {
    let (Some(mut desired), Some(mut actual)) = (desired, actual) else { return Ok(Outcome::new()) };
    let mut outcome = Outcome::new();
    let rest = desired.as_object_mut().and_then(|state| state.remove(PENDING));
    if let (Some(Value::Array(rest)), Some(before)) =
        (rest, actual.as_object_mut().and_then(|state| state.remove(PENDING)))
    {
        if before != Value::Array(rest.clone()) {
            let names: Vec<Value> = rest.into_iter().map(|name| json!({"name": name})).collect();
            let left = if names.is_empty() { Value::Null } else { json!({"pending": names}) };
            outcome = outcome.patch(None, PatchType::MergePatch, json!({"metadata": {"initializers": left}}));
        }
        if desired == actual {
            return Ok(outcome);
        }
    }
    let outcome = warnings(cx)?.into_iter().fold(outcome, Outcome::warning);
    let pod = |mut state: Value| {
        overlay(&mut state, json!({"apiVersion": "v1", "kind": "Pod"}));
        state
    };
    let (original, modified) = (pod(actual), pod(desired));
    let patch = merge::create_two_way(cx.kind(), &original, &modified)?;
    if merge::apply_patch(cx.kind(), &original, &patch).is_ok_and(|merged| merged == modified) {
        return Ok(outcome.patch(None, PatchType::StrategicMergePatch, patch));
    }
    // Strategic merge identifies a port by its number alone: where TCP and UDP share one, the lists are replaced.
    Ok(outcome.patch(None, PatchType::MergePatch, modified))
}

/// Warnings for the user who creates the Pod.
fn warnings(cx: &Context<Value>) -> Result<Vec<String>> {
    let settings = settings(cx)?;
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
    // In a namespace with injection, the plugin creates a missing ConfigMap by itself.
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
