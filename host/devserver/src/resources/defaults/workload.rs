//! Defaults of Deployments and related kinds.

use serde_json::{Value, json};

use super::pod;
use crate::model::members::{fill, object};

/// The spec of a pod template.
pub(super) fn template(template: Option<&mut Value>) {
    let Some(template) = template else { return };
    let _ = object(template, "metadata");
    pod::spec(template.get_mut("spec"), false);
}

/// The status of a new object.
pub(super) fn status(plural: &str) -> Value {
    match plural {
        "replicasets" => json!({"replicas": 0}),
        "statefulsets" => json!({"availableReplicas": 0, "replicas": 0}),
        "daemonsets" => json!({"currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0,
            "numberReady": 0}),
        "ingresses" => json!({"loadBalancer": {}}),
        _ => json!({}),
    }
}

/// The defaults of the spec.
pub(super) fn defaults(plural: &str, value: &mut Value) {
    if plural == "controllerrevisions" {
        return;
    }
    if plural == "daemonsets"
        && value.pointer("/metadata/annotations/deprecated.daemonset.template.generation").is_none()
    {
        template_generation(value, Some("1".into()));
    }
    let template_labels = value.pointer("/spec/template/metadata/labels").cloned();
    if plural == "replicationcontrollers"
        && let (Some(labels), Some(meta)) = (&template_labels, object(value, "metadata"))
    {
        // These kinds inherit the labels of their pods.
        if meta.get("labels").and_then(Value::as_object).is_none_or(serde_json::Map::is_empty) {
            meta.insert("labels".to_owned(), labels.clone());
        }
    }
    let Some(spec) = object(value, "spec") else { return };
    match plural {
        "deployments" => {
            fill(spec, "replicas", 1);
            fill(spec, "revisionHistoryLimit", 10);
            fill(spec, "progressDeadlineSeconds", 600);
            rolling(
                spec.entry("strategy").or_insert_with(|| json!({})),
                &[("maxUnavailable", json!("25%")), ("maxSurge", json!("25%"))],
            );
        }
        "replicasets" => fill(spec, "replicas", 1),
        "replicationcontrollers" => {
            fill(spec, "replicas", 1);
            if let Some(labels) = template_labels {
                fill(spec, "selector", labels);
            }
        }
        "statefulsets" => {
            fill(spec, "replicas", 1);
            fill(spec, "revisionHistoryLimit", 10);
            fill(spec, "podManagementPolicy", "OrderedReady");
            fill(
                spec,
                "persistentVolumeClaimRetentionPolicy",
                json!({"whenDeleted": "Retain", "whenScaled": "Retain"}),
            );
            rolling(spec.entry("updateStrategy").or_insert_with(|| json!({})), &[("partition", json!(0))]);
        }
        "daemonsets" => {
            fill(spec, "revisionHistoryLimit", 10);
            let strategy = spec.entry("updateStrategy").or_insert_with(|| json!({}));
            rolling(strategy, &[("maxUnavailable", json!(1)), ("maxSurge", json!(0))]);
        }
        "jobs" => job(spec),
        "cronjobs" => {
            fill(spec, "concurrencyPolicy", "Allow");
            fill(spec, "suspend", false);
            fill(spec, "successfulJobsHistoryLimit", 3);
            fill(spec, "failedJobsHistoryLimit", 1);
            if let Some(job) = spec.get_mut("jobTemplate") {
                let _ = object(job, "metadata");
                template(job.pointer_mut("/spec/template"));
            }
        }
        _ => {}
    }
    template(spec.get_mut("template"));
}

/// A rolling update with its limits, unless another type is set.
fn rolling(strategy: &mut Value, limits: &[(&str, Value)]) {
    let Some(strategy) = strategy.as_object_mut() else { return };
    fill(strategy, "type", "RollingUpdate");
    if strategy.get("type").and_then(Value::as_str) != Some("RollingUpdate") {
        return;
    }
    let rolling = strategy.entry("rollingUpdate").or_insert_with(|| json!({}));
    if let Some(rolling) = rolling.as_object_mut() {
        for (key, value) in limits {
            fill(rolling, key, value.clone());
        }
    }
}

fn job(spec: &mut serde_json::Map<String, Value>) {
    let given = |spec: &serde_json::Map<String, Value>, key: &str| spec.get(key).is_some_and(|v| !v.is_null());
    if !given(spec, "completions") && !given(spec, "parallelism") {
        fill(spec, "completions", 1);
    }
    fill(spec, "parallelism", 1);
    let per_index = given(spec, "backoffLimitPerIndex");
    fill(spec, "backoffLimit", if per_index { i32::MAX } else { 6 });
    fill(spec, "completionMode", "NonIndexed");
    fill(spec, "suspend", false);
    fill(spec, "manualSelector", false);
    let policy = if given(spec, "podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    fill(spec, "podReplacementPolicy", policy);
    let rules = spec.get_mut("podFailurePolicy").and_then(|p| p.get_mut("rules")?.as_array_mut());
    for rule in rules.into_iter().flatten() {
        let patterns = rule.get_mut("onPodConditions").and_then(Value::as_array_mut);
        for pattern in patterns.into_iter().flatten().filter_map(Value::as_object_mut) {
            fill(pattern, "status", "True");
        }
    }
}

/// The selector and labels that connect pods with a job.
pub(super) fn job_selector(value: &mut Value) {
    if value.pointer("/spec/manualSelector") == Some(&Value::Bool(true)) {
        return;
    }
    let text = |p: &str| value.pointer(p).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (uid, name) = (text("/metadata/uid"), text("/metadata/name"));
    let labels = [
        ("batch.kubernetes.io/controller-uid", &uid),
        ("batch.kubernetes.io/job-name", &name),
        ("controller-uid", &uid),
        ("job-name", &name),
    ];
    let Some(spec) = object(value, "spec") else { return };
    spec.insert("selector".to_owned(), json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}));
    let template = spec.entry("template").or_insert_with(|| json!({}));
    // The API server gives the job the labels of its pods: labels of a job default to those of its template.
    let mut wanted = serde_json::Map::new();
    if let Some(meta) = object(template, "metadata")
        && let Some(map) = meta.entry("labels").or_insert_with(|| json!({})).as_object_mut()
    {
        for (key, text) in labels {
            map.insert(key.to_owned(), text.clone().into());
        }
        wanted.clone_from(map);
    }
    if let Some(meta) = object(value, "metadata") {
        fill(meta, "labels", Value::Object(wanted));
    }
}

/// The annotation that counts templates of a DaemonSet.
pub(super) fn template_generation(value: &mut Value, generation: Option<Value>) {
    let (Some(generation), Some(meta)) = (generation, object(value, "metadata")) else { return };
    if let Some(map) = meta.entry("annotations").or_insert_with(|| json!({})).as_object_mut() {
        map.insert("deprecated.daemonset.template.generation".to_owned(), generation);
    }
}

/// Counts the changes of a DaemonSet's template.
pub(super) fn count_templates(value: &mut Value, old: &Value) {
    let key = "/metadata/annotations/deprecated.daemonset.template.generation";
    let before = old.pointer(key).and_then(Value::as_str).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
    if value.pointer("/spec/template") != old.pointer("/spec/template") {
        template_generation(value, Some((before + 1).to_string().into()));
    }
}
