//! The columns of what bounds and steers workloads.

use serde_json::{Map, Value};

use super::{AGE, NAME, age, labels, list, name, number, or_none, text, text_column};
use crate::table::Column;

pub(super) const BUDGETS: &[Column] =
    &[NAME, text_column("Min Available"), text_column("Max Unavailable"), text_column("Allowed Disruptions"), AGE];

pub(super) fn budget(o: &Value) -> Vec<Value> {
    let bound = |pointer: &str| o.pointer(pointer).map_or_else(|| "N/A".to_owned(), plain).into();
    vec![
        name(o),
        bound("/spec/minAvailable"),
        bound("/spec/maxUnavailable"),
        number(o, "/status/disruptionsAllowed").into(),
        age(o),
    ]
}

pub(super) const QUOTAS: &[Column] = &[NAME, text_column("Request"), text_column("Limit"), AGE];

pub(super) fn quota(o: &Value) -> Vec<Value> {
    let none = Map::new();
    let hard = o.pointer("/status/hard").and_then(Value::as_object).unwrap_or(&none);
    let used =
        |resource: &str| o.pointer("/status/used").and_then(|u| u.get(resource)).map_or_else(|| "0".to_owned(), plain);
    let shown = |limits: bool| {
        let some = hard.iter().filter(|(resource, _)| resource.starts_with("limits") == limits);
        some.map(|(r, most)| format!("{r}: {}/{}", used(r), plain(most))).collect::<Vec<_>>().join(", ").into()
    };
    vec![name(o), shown(false), shown(true), age(o)]
}

pub(super) const AUTOSCALERS: &[Column] = &[
    NAME,
    text_column("Reference"),
    text_column("Targets"),
    text_column("MinPods"),
    text_column("MaxPods"),
    text_column("Replicas"),
    AGE,
];

pub(super) fn autoscaler(o: &Value) -> Vec<Value> {
    let reference = format!("{}/{}", text(o, "/spec/scaleTargetRef/kind"), text(o, "/spec/scaleTargetRef/name"));
    let least = o.pointer("/spec/minReplicas").map_or_else(|| "<unset>".to_owned(), plain);
    vec![
        name(o),
        reference.into(),
        targets(o).into(),
        least.into(),
        number(o, "/spec/maxReplicas").into(),
        number(o, "/status/currentReplicas").into(),
        age(o),
    ]
}

/// `cpu: 10%/80%` for each metric of resources; of others only that there are some.
fn targets(o: &Value) -> String {
    let metrics = list(o, "/spec/metrics");
    let current = list(o, "/status/currentMetrics");
    let shown = metrics.iter().map(|metric| {
        let resource = text(metric, "/resource/name");
        if resource.is_empty() {
            return "<unknown>".to_owned();
        }
        let now = current.iter().find(|c| text(c, "/resource/name") == resource);
        let percent = |m: Option<&Value>, pointer: &str| m?.pointer(pointer)?.as_i64().map(|n| format!("{n}%"));
        let amount = |m: Option<&Value>, pointer: &str| Some(m?.pointer(pointer)?.as_str()?.to_owned());
        let of = |m: Option<&Value>, which: &str| {
            percent(m, &format!("/resource/{which}/averageUtilization"))
                .or_else(|| amount(m, &format!("/resource/{which}/averageValue")))
                .unwrap_or_else(|| "<unknown>".to_owned())
        };
        format!("{resource}: {}/{}", of(now, "current"), of(Some(metric), "target"))
    });
    let shown: Vec<String> = shown.collect();
    if shown.is_empty() { "<none>".to_owned() } else { shown.join(", ") }
}

pub(super) const PRIORITY_CLASSES: &[Column] =
    &[NAME, text_column("Value"), text_column("Global-Default"), AGE, text_column("PreemptionPolicy")];

pub(super) fn priority_class(o: &Value) -> Vec<Value> {
    let global = o.get("globalDefault").and_then(Value::as_bool).unwrap_or(false);
    vec![name(o), number(o, "/value").into(), global.into(), age(o), text(o, "/preemptionPolicy").into()]
}

pub(super) const STORAGE_CLASSES: &[Column] = &[
    NAME,
    text_column("Provisioner"),
    text_column("ReclaimPolicy"),
    text_column("VolumeBindingMode"),
    text_column("AllowVolumeExpansion"),
    AGE,
];

pub(super) fn storage_class(o: &Value) -> Vec<Value> {
    let expands = o.get("allowVolumeExpansion").and_then(Value::as_bool).unwrap_or(false);
    let parts = ["/provisioner", "/reclaimPolicy", "/volumeBindingMode"].map(|p| text(o, p).into());
    let [provisioner, reclaim, binding] = parts;
    vec![name(o), provisioner, reclaim, binding, expands.into(), age(o)]
}

pub(super) const NETWORK_POLICIES: &[Column] = &[NAME, text_column("Pod-Selector"), AGE];

pub(super) fn network_policy(o: &Value) -> Vec<Value> {
    vec![name(o), or_none(&labels(o.pointer("/spec/podSelector/matchLabels"))), age(o)]
}

/// A text without quotes, anything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
