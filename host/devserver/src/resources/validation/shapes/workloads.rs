//! Validation of parts of Deployments, Jobs and disruption budgets.

use serde_json::{Value, json};

use super::{has, jobs, number_or_percent, percent, text};
use crate::model::status::Cause;

pub(super) fn deployment_strategy(value: &Value, path: &str) -> Vec<Cause> {
    let rolling = value.get("rollingUpdate").filter(|r| !r.is_null());
    match text(value, "type") {
        "Recreate" if rolling.is_some() => {
            let why = "may not be specified when strategy `type` is 'Recreate'";
            vec![Cause::forbidden(format!("{path}.rollingUpdate"), why)]
        }
        "Recreate" => Vec::new(),
        "RollingUpdate" => rolling.map(|r| rolling_update(r, &format!("{path}.rollingUpdate"))).unwrap_or_default(),
        _ => vec![Cause::unsupported(path, value, &["Recreate", "RollingUpdate"])],
    }
}

fn rolling_update(value: &Value, path: &str) -> Vec<Cause> {
    let part = |key: &str| value.get(key).cloned().unwrap_or_else(|| 0.into());
    let (unavailable, surge) = (part("maxUnavailable"), part("maxSurge"));
    let mut out = number_or_percent(&unavailable, &format!("{path}.maxUnavailable"));
    // The surge may exceed 100 percent.
    if percent(&surge).is_none() {
        out.extend(number_or_percent(&surge, &format!("{path}.maxSurge")));
    }
    let zero = |v: &Value| v.as_i64() == Some(0) || percent(v) == Some(0);
    if zero(&unavailable) && zero(&surge) {
        let why = "may not be 0 when `maxSurge` is 0";
        out.push(Cause::invalid(format!("{path}.maxUnavailable"), &unavailable, why));
    }
    out
}

/// Relations between the parts of a Job's spec.
pub(super) fn job(value: &Value, path: &str) -> Vec<Cause> {
    let number = |key: &str| value.get(key).and_then(Value::as_i64);
    let mut out = Vec::new();
    if has(value, "maxFailedIndexes") && !has(value, "backoffLimitPerIndex") {
        let why = "when maxFailedIndexes is specified";
        out.push(Cause::required(format!("{path}.backoffLimitPerIndex"), why));
    }
    if text(value, "completionMode") == "Indexed" {
        if !has(value, "completions") {
            out.push(Cause::required(format!("{path}.completions"), "when completion mode is Indexed"));
        }
        if let (Some(failed), Some(all)) = (number("maxFailedIndexes"), number("completions"))
            && failed > all
        {
            let why = "must be less than or equal to completions";
            out.push(Cause::invalid(format!("{path}.maxFailedIndexes"), &json!(failed), why));
        }
    } else {
        let why = "requires indexed completion mode";
        for key in ["backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"] {
            if let Some(found) = value.get(key).filter(|v| !v.is_null()) {
                out.push(Cause::invalid(format!("{path}.{key}"), found, why));
            }
        }
    }
    out.extend(jobs::failure_policy(value, path));
    if text(value, "completionMode") == "Indexed" {
        out.extend(indexed(value, path));
        out.extend(jobs::success_policy(value, path));
    }
    let replacement = text(value, "podReplacementPolicy");
    if has(value, "podFailurePolicy") && !matches!(replacement, "" | "Failed") {
        out.push(Cause::unsupported(format!("{path}.podReplacementPolicy"), &json!(replacement), &["Failed"]));
    } else if !matches!(replacement, "" | "Failed" | "TerminatingOrFailed") {
        let known = ["Failed", "TerminatingOrFailed"];
        out.push(Cause::unsupported(format!("{path}.podReplacementPolicy"), &json!(replacement), &known));
    }
    let restart = value.pointer("/template/spec/restartPolicy").and_then(Value::as_str).unwrap_or_default();
    let at = format!("{path}.template.spec.restartPolicy");
    match restart {
        "" | "Always" => out.push(Cause::required(at, "valid values: \"OnFailure\", \"Never\"")),
        "OnFailure" if has(value, "podFailurePolicy") => {
            let why = "only \"Never\" is supported when podFailurePolicy is specified";
            out.push(Cause::invalid(at, &json!(restart), why));
        }
        "OnFailure" | "Never" => {}
        _ => out.push(Cause::unsupported(at, &json!(restart), &["OnFailure", "Never"])),
    }
    out
}

/// The size of an indexed Job.
fn indexed(value: &Value, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    let number = |key: &str| value.get(key).and_then(Value::as_i64);
    let mut at_most = |key: &str, most: i64, more: &str| {
        if let Some(found) = number(key).filter(|found| *found > most) {
            let why = format!("must be less than or equal to {most}{more}");
            out.push(Cause::invalid(format!("{path}.{key}"), &json!(found), &why));
        }
    };
    at_most("parallelism", 100_000, " when completion mode is Indexed");
    at_most("maxFailedIndexes", 100_000, "");
    if number("completions").is_some_and(|n| n > 100_000) && has(value, "backoffLimitPerIndex") {
        let more = " when completions are above 100000 and used with backoff limit per index";
        at_most("parallelism", 10_000, more);
        at_most("maxFailedIndexes", 10_000, more);
        if !has(value, "maxFailedIndexes") {
            let why = "must be specified when completions is above 100000";
            out.push(Cause::required(format!("{path}.maxFailedIndexes"), why));
        }
    }
    out
}

pub(super) fn disruption(value: &Value, path: &str) -> Vec<Cause> {
    if has(value, "minAvailable") && has(value, "maxUnavailable") {
        return vec![Cause::invalid(path, value, "minAvailable and maxUnavailable cannot be both set")];
    }
    Vec::new()
}

/// Relations between the numbers of an autoscaler.
pub(super) fn autoscaler(value: &Value, path: &str) -> Vec<Cause> {
    let number = |key: &str| value.get(key).and_then(Value::as_i64);
    match (number("maxReplicas"), number("minReplicas")) {
        (Some(most), Some(least)) if most < least => {
            let why = "must be greater than or equal to `minReplicas`";
            vec![Cause::invalid(format!("{path}.maxReplicas"), &json!(most), why)]
        }
        _ => Vec::new(),
    }
}

/// Only ReplicationControllers can be a scale target without a group.
pub(super) fn scale_target(value: &Value, path: &str) -> Vec<Cause> {
    let version = text(value, "apiVersion");
    if version.contains('/') || text(value, "kind") == "ReplicationController" {
        return Vec::new();
    }
    vec![Cause::invalid(format!("{path}.apiVersion"), &json!(version), "apiVersion must specify API group")]
}

/// An admission policy without a decision.
pub(super) fn policy(value: &Value, path: &str) -> Vec<Cause> {
    if has(value, "validations") || has(value, "auditAnnotations") {
        return Vec::new();
    }
    let why = "validations or auditAnnotations must contain at least one item";
    ["validations", "auditAnnotations"].map(|field| Cause::required(format!("{path}.{field}"), why)).to_vec()
}
