//! Deployments and their kin.

use serde_json::{Value, json};

use super::{pod, shapes};
use crate::{kinds::Resource, status::Cause};

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
            out.extend(pod::spec(with_claims(object).as_ref(), "spec.template.spec"));
            let policy = object.pointer("/spec/template/spec/restartPolicy").and_then(Value::as_str);
            if let Some(policy) = policy.filter(|p| *p != "Always") {
                let field = "spec.template.spec.restartPolicy";
                out.push(Cause::unsupported(field, &json!(policy), &["Always"]));
            }
        }
        "jobs" => {
            out.extend(pod::spec(object.pointer("/spec/template/spec"), "spec.template.spec"));
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
            let template = object.pointer("/spec/jobTemplate/spec/template/spec");
            out.extend(pod::spec(template, "spec.jobTemplate.spec.template.spec"));
        }
        _ => {}
    }
    out
}

/// The spec of the pods of a StatefulSet, with the volumes that its claims become.
fn with_claims(object: &Value) -> Option<Value> {
    let mut spec = object.pointer("/spec/template/spec").cloned()?;
    let claims: Vec<Value> = object
        .pointer("/spec/volumeClaimTemplates")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|claim| claim.pointer("/metadata/name").cloned())
        .collect();
    if !claims.is_empty()
        && let Some(volumes) = spec.as_object_mut()?.entry("volumes").or_insert_with(|| json!([])).as_array_mut()
    {
        volumes.retain(|volume| !volume.get("name").is_some_and(|name| claims.contains(name)));
        let made = claims.iter().map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}));
        volumes.extend(made);
    }
    Some(spec)
}

fn selector(object: &Value, kind: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    let selector = object.pointer("/spec/selector").filter(|s| s.is_object());
    let labels = object.pointer("/spec/template/metadata/labels").cloned().unwrap_or(Value::Null);
    let wanted = selector.and_then(|s| s.get("matchLabels")).and_then(Value::as_object);
    let expressions = selector.and_then(|s| s.get("matchExpressions")).and_then(Value::as_array);
    if selector.is_none() {
        out.push(Cause::required("spec.selector", ""));
    } else if wanted.is_none_or(serde_json::Map::is_empty) && expressions.is_none_or(Vec::is_empty) {
        let shown = selector.cloned().unwrap_or_default();
        out.push(Cause::invalid("spec.selector", &shown, "empty selector is invalid for deployment"));
    } else if matches!(kind, "deployments" | "replicasets")
        && selector.is_some_and(|s| !shapes::selector(s, "").is_empty())
    {
        out.push(Cause::invalid("spec.selector", selector.unwrap_or(&Value::Null), "invalid label selector"));
    }
    let matches = wanted.into_iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    if selector.is_none() || !matches {
        let detail = "`selector` does not match template `labels`";
        out.push(Cause::invalid("spec.template.metadata.labels", &labels, detail));
    }
    out
}

/// What may not change.
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
    if resource.plural == "jobs" && at(object, "/spec/template/spec") != at(old, "/spec/template/spec") {
        let shown = at(object, "/spec/template");
        out.push(Cause::invalid("spec.template", &shown, "field is immutable"));
    }
    out
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
