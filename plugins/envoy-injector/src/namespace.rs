//! Copies of the ConfigMap `envoy`, which injected Pods mount, in every namespace with injection.

use crate::initializer::config_map_kind;
use crate::scope::{self, SYSTEM};
use crate::settings::Settings;
use oarlock_guest::{Context, Observation, Outcome, Result, cluster, object_ref};
use serde_json::{Map, Value, json};

/// Name of the ConfigMap and of its copies.
pub(crate) const CONFIG: &str = "envoy";
/// Label of copies.
pub(crate) const COPY: &str = "initializer.kubernetes.io/envoy-copy";

pub(crate) fn desired(cx: &Context<Value>) -> Result<Option<Value>> {
    let settings = Settings::read()?;
    let home = &settings.config_namespace;
    if cx.name() == home || cx.name() == SYSTEM || !scope::namespace(cx.object()?, &settings) {
        return Ok(None);
    }
    // A namespace may have a ConfigMap of its own.
    if live(cx)?.is_some_and(|existing| !is_ours(&existing, cx)) {
        return Ok(None);
    }
    let template: Option<Value> = cluster::get(&config_map_kind(), home, CONFIG)?;
    // Starting Pods need the copies, even if the copied ConfigMap is gone.
    let Some(template) = template else { return applied(cx) };
    let mut copy = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": CONFIG, "namespace": cx.name(), "labels": {COPY: "true"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Namespace", "name": cx.name(), "uid": cx.uid()}],
        },
    });
    let data = ["data", "binaryData"].into_iter().filter_map(|field| {
        let value = template.get(field).filter(|value| value.as_object().is_some_and(|fields| !fields.is_empty()))?;
        Some((field.to_owned(), value.clone()))
    });
    if let Value::Object(copy) = &mut copy {
        copy.extend(data.collect::<Map<_, _>>());
    }
    Ok(Some(copy))
}

pub(crate) fn actual(cx: &Context<Value>) -> Result<Observation<Value>> {
    // The copy is deleted with its namespace, in which nothing new may be created.
    if cx.deleting() || !live(cx)?.is_some_and(|existing| is_ours(&existing, cx)) {
        return Ok(Observation::absent());
    }
    // The copy belongs to the plugin, though other managers took over all its fields: it exists, and differs from any desired state.
    Ok(Observation::present(applied(cx)?.unwrap_or_else(|| json!({}))))
}

/// * `seen` - whether a copy exists.
pub(crate) fn patch(cx: &Context<Value>, desired: Option<Value>, seen: bool) -> Result<Outcome> {
    // Read from the API server if the cache has none: a ConfigMap that another client has just created must not be taken over.
    let existing = if seen { live(cx)? } else { cluster::get_live(&config_map_kind(), cx.name(), CONFIG)? };
    if existing.as_ref().is_some_and(|existing| !is_ours(existing, cx)) {
        return Ok(Outcome::new());
    }
    let uid = existing.as_ref().and_then(|existing| Some(existing.pointer("/metadata/uid")?.as_str()?.to_owned()));
    let outcome = Outcome::new();
    Ok(match desired {
        Some(copy) => outcome
            .apply_with(&copy, |change| {
                // The copy belongs to the plugin: changes of other managers are overwritten.
                change.force = true;
                change.precondition.uid = uid;
            })
            .event_normal("EnvoyConfigCopied", format!("ConfigMap {CONFIG} is what injected Pods need")),
        None if uid.is_none() => outcome,
        None => outcome
            .delete_with(object_ref(&config_map_kind(), cx.name(), CONFIG), |change| change.precondition.uid = uid)
            .event_normal("EnvoyConfigRemoved", format!("ConfigMap {CONFIG} is removed: injection is off")),
    })
}

fn live(cx: &Context<Value>) -> Result<Option<Value>> {
    cluster::get(&config_map_kind(), cx.name(), CONFIG)
}

fn applied(cx: &Context<Value>) -> Result<Option<Value>> {
    cluster::get_applied(&config_map_kind(), cx.name(), CONFIG)
}

/// Whether a ConfigMap of this name is the plugin's copy for this namespace.
fn is_ours(config_map: &Value, cx: &Context<Value>) -> bool {
    let owners = config_map.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let owned = owners
        .is_some_and(|owners| owners.iter().any(|owner| owner.get("uid").and_then(Value::as_str) == Some(cx.uid())));
    owned && scope::label(config_map, COPY) == Some("true")
}
