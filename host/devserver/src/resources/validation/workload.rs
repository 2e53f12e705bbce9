//! Validation of Deployments and related kinds.

use serde_json::{Value, json};

use super::{pod, shapes};
use crate::model::{kinds::Resource, status::Cause};

const NEGATIVE: &str = "must be greater than or equal to 0";

/// The spec of a new or changed object.
pub(super) fn check(resource: &Resource, object: &Value) -> Vec<Cause> {
    let mut out = Vec::new();
    if let Some(n) = object.pointer("/spec/replicas").and_then(Value::as_i64).filter(|n| *n < 0) {
        out.push(Cause::invalid("spec.replicas", &json!(n), NEGATIVE));
    }
    match resource.plural.as_str() {
        "deployments" | "replicasets" | "statefulsets" | "daemonsets" => {
            out.extend(selector(object, &resource.plural));
            out.extend(pod::template(with_claims(object).as_ref(), "spec.template"));
            let policy = object.pointer("/spec/template/spec/restartPolicy").and_then(Value::as_str);
            if let Some(policy) = policy.filter(|p| *p != "Always") {
                let field = "spec.template.spec.restartPolicy";
                out.push(Cause::unsupported(field, &json!(policy), &["Always"]));
            }
        }
        "replicationcontrollers" => {
            let labels = object.pointer("/spec/template/metadata/labels").cloned().unwrap_or_default();
            let wanted = object.pointer("/spec/selector").and_then(Value::as_object);
            if wanted.into_iter().flatten().any(|(key, value)| labels.get(key) != Some(value)) {
                let why = "`selector` does not match template `labels`";
                out.push(Cause::invalid("spec.template.metadata.labels", &labels, why));
            }
        }
        "jobs" => {
            out.extend(pod::template(object.pointer("/spec/template"), "spec.template"));
            out.extend(selected(object));
        }
        "cronjobs" => {
            let schedule = object.pointer("/spec/schedule").and_then(Value::as_str).unwrap_or_default();
            let fields: Vec<&str> = schedule.split_whitespace().collect();
            if schedule.is_empty() {
                out.push(Cause::required("spec.schedule", ""));
            } else if !schedule.starts_with('@') && fields.len() != 5 {
                let detail = format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" "));
                out.push(Cause::invalid("spec.schedule", &json!(schedule), &detail));
            }
            let template = object.pointer("/spec/jobTemplate/spec/template");
            out.extend(pod::template(template, "spec.jobTemplate.spec.template"));
            let job = object.pointer("/spec/jobTemplate/spec").unwrap_or(&Value::Null);
            if let Some(selector) = job.get("selector") {
                let why = "`selector` will be auto-generated";
                out.push(Cause::invalid("spec.jobTemplate.spec.selector", selector, why));
            }
            if job.get("manualSelector") == Some(&Value::Bool(true)) {
                let field = "spec.jobTemplate.spec.manualSelector";
                out.push(Cause::unsupported(field, &json!(true), &["nil", "false"]));
            }
        }
        _ => {}
    }
    out
}

/// The pod template of a StatefulSet, with the volumes of its claims.
fn with_claims(object: &Value) -> Option<Value> {
    let mut template = object.pointer("/spec/template").cloned()?;
    let mut claims: Vec<Value> = object
        .pointer("/spec/volumeClaimTemplates")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|claim| claim.pointer("/metadata/name").cloned())
        .collect();
    let mut seen = Vec::new();
    claims.retain(|name| {
        let new = !seen.contains(name);
        seen.push(name.clone());
        new
    });
    if !claims.is_empty()
        && let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut)
        && let Some(volumes) = spec.entry("volumes").or_insert_with(|| json!([])).as_array_mut()
    {
        volumes.retain(|volume| !volume.get("name").is_some_and(|name| claims.contains(name)));
        let made = claims.iter().map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}));
        volumes.extend(made);
    }
    Some(template)
}

/// Whether a selector matches pods with these labels; no selector matches none.
fn takes(selector: Option<&Value>, labels: &Value) -> bool {
    let Some(selector) = selector.filter(|s| s.is_object()) else { return false };
    // An invalid selector has its own error.
    if !shapes::selector(selector, "").is_empty() {
        return true;
    }
    let exact = selector.get("matchLabels").and_then(Value::as_object);
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    exact.into_iter().flatten().all(|(key, value)| labels.get(key) == Some(value))
        && expressions.into_iter().flatten().all(|requirement| {
            let found = requirement.get("key").and_then(Value::as_str).and_then(|key| labels.get(key));
            let listed = requirement.get("values").and_then(Value::as_array);
            let among = found.is_some_and(|found| listed.is_some_and(|values| values.contains(found)));
            match requirement.get("operator").and_then(Value::as_str).unwrap_or_default() {
                "In" => among,
                "NotIn" => !among,
                "Exists" => found.is_some(),
                _ => found.is_none(),
            }
        })
}

/// A Job's selector must match its pods.
fn selected(object: &Value) -> Option<Cause> {
    let labels = object.pointer("/spec/template/metadata/labels").cloned().unwrap_or_default();
    let why = "`selector` does not match template `labels`";
    (!takes(object.pointer("/spec/selector"), &labels))
        .then(|| Cause::invalid("spec.template.metadata.labels", &labels, why))
}

fn selector(object: &Value, kind: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    let selector = object.pointer("/spec/selector").filter(|s| s.is_object());
    let labels = object.pointer("/spec/template/metadata/labels").cloned().unwrap_or(Value::Null);
    let wanted = selector.and_then(|s| s.get("matchLabels")).and_then(Value::as_object);
    let expressions = selector.and_then(|s| s.get("matchExpressions")).and_then(Value::as_array);
    if selector.is_none() {
        if kind != "daemonsets" {
            out.push(Cause::required("spec.selector", ""));
        }
    } else if wanted.is_none_or(serde_json::Map::is_empty) && expressions.is_none_or(Vec::is_empty) {
        let shown = selector.cloned().unwrap_or_default();
        out.push(Cause::invalid("spec.selector", &shown, "empty selector is invalid for deployment"));
    } else if matches!(kind, "deployments" | "replicasets")
        && selector.is_some_and(|s| !shapes::selector(s, "").is_empty())
    {
        out.push(Cause::invalid("spec.selector", selector.unwrap_or(&Value::Null), "invalid label selector"));
    }
    if !takes(selector, &labels) {
        let detail = "`selector` does not match template `labels`";
        out.push(Cause::invalid("spec.template.metadata.labels", &labels, detail));
    }
    out
}

/// Immutable fields.
pub(super) fn update(resource: &Resource, object: &Value, old: &Value) -> Vec<Cause> {
    let mut out = Vec::new();
    let at = |v: &Value, p: &str| v.pointer(p).cloned().unwrap_or_default();
    match resource.plural.as_str() {
        "deployments" | "replicasets" | "daemonsets" | "jobs" => {
            let (new, was) = (at(object, "/spec/selector"), at(old, "/spec/selector"));
            if new != was {
                out.push(Cause::invalid("spec.selector", &new, "field is immutable"));
            }
        }
        "statefulsets" => {
            let fixed = ["selector", "serviceName", "podManagementPolicy", "volumeClaimTemplates"];
            if fixed.iter().any(|f| at(object, &format!("/spec/{f}")) != at(old, &format!("/spec/{f}"))) {
                let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
                              'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and \
                              'minReadySeconds' are forbidden";
                out.push(Cause::forbidden("spec", detail));
            }
        }
        _ => {}
    }
    if resource.plural == "jobs" {
        out.extend(job_template(object, old));
    }
    out
}

/// A Job's template is immutable. While the Job is suspended and nothing has started, scheduling and resources may change.
fn job_template(object: &Value, old: &Value) -> Option<Cause> {
    let of = |v: &Value| v.pointer("/spec/template").cloned().unwrap_or_default();
    let (mut new, mut was) = (of(object), of(old));
    if old.pointer("/spec/suspend") != Some(&Value::Bool(true)) {
        return (new != was).then(|| Cause::invalid("spec.template", &new, "field is immutable"));
    }
    let conditions = old.pointer("/status/conditions").and_then(Value::as_array);
    let suspended = conditions.into_iter().flatten().any(|c| {
        c.get("type").and_then(Value::as_str) == Some("Suspended")
            && c.get("status").and_then(Value::as_str) == Some("True")
    });
    let started = old.pointer("/status/startTime").is_some_and(|t| !t.is_null()) && !suspended;
    let active = old.pointer("/status/active").and_then(Value::as_i64).unwrap_or(0) != 0;
    let free = !started && !active;
    for template in [&mut new, &mut was] {
        if free {
            template.as_object_mut()?.remove("metadata");
        }
        let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut).filter(|_| free) else { continue };
        for key in ["nodeSelector", "tolerations", "schedulingGates"] {
            spec.remove(key);
        }
        if let Some(affinity) = spec.get_mut("affinity").and_then(Value::as_object_mut) {
            affinity.remove("nodeAffinity");
            if affinity.is_empty() {
                spec.remove("affinity");
            }
        }
        for list in ["containers", "initContainers"] {
            for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                container.as_object_mut()?.remove("resources");
            }
        }
    }
    let field = if free { "spec.template.spec" } else { "spec.template" };
    (new != was).then(|| Cause::invalid(field, &of(object), "field is immutable"))
}

/// The numbers of a deployment's status.
pub(super) fn status(resource: &Resource, object: &Value) -> Vec<Cause> {
    let mut out = Vec::new();
    if !matches!(resource.plural.as_str(), "deployments" | "replicasets" | "statefulsets") || resource.group != "apps" {
        return out;
    }
    let number = |key: &str| object.get("status").and_then(|s| s.get(key)?.as_i64()).unwrap_or(0);
    let (replicas, ready) = (number("replicas"), number("readyReplicas"));
    for key in ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"] {
        let n = number(key);
        if n < 0 {
            out.push(Cause::invalid(format!("status.{key}"), &json!(n), NEGATIVE));
        }
    }
    let exceeds = "cannot be greater than status.replicas";
    for key in ["updatedReplicas", "readyReplicas", "availableReplicas"] {
        let n = number(key);
        if n > replicas {
            out.push(Cause::invalid(format!("status.{key}"), &json!(n), exceeds));
        }
    }
    let available = number("availableReplicas");
    if available > ready {
        let detail = "cannot be greater than readyReplicas";
        out.push(Cause::invalid("status.availableReplicas", &json!(available), detail));
    }
    out
}
