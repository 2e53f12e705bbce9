//! Checks of the table that need code.

use serde_json::{Value, json};

use crate::model::{names, status::Cause};

mod containers;
mod jobs;
mod metrics;
mod network;
mod nodes;
mod pods;
pub(super) mod quotas;
mod storage;
mod workloads;

pub(super) type Shape = fn(&Value, &str) -> Vec<Cause>;

/// The check of this name.
pub(super) fn find(name: &str) -> Option<Shape> {
    Some(match name {
        "selector" => selector,
        "labels" => labels,
        "porttext" => port_or_name,
        "intpercent" => number_or_percent,
        "limittype" => limit_type,
        "notnegative" => |value, path| quotas::amount("", value, path),
        "limit" => quotas::limit,
        "quotaamounts" => quotas::quota_amounts,
        "quotascopes" => quotas::quota_scopes,
        "toleration" => pods::toleration,
        "noderequirement" => pods::node_requirement,
        "nodefield" => pods::node_field,
        "weight" => pods::weight,
        "envname" => pods::env_name,
        "envsource" => pods::env_source,
        "envfrom" => pods::env_from,
        "onlyonce" => pods::only_once,
        "resources" => pods::resources,
        "template" => |value, path| super::pod::template(Some(value), path),
        "deploymentstrategy" => workloads::deployment_strategy,
        "job" => workloads::job,
        "restarts" => containers::restarts,
        "resizes" => containers::resizes,
        "projection" => containers::projection,
        "podclaim" => containers::claim,
        "osname" => containers::system,
        "dnsoption" => containers::dns_option,
        "source" => storage::source,
        "volume" => storage::volume,
        "parameters" => storage::parameters,
        "topology" => storage::topology,
        "lifecyclemode" => storage::lifecycle_mode,
        "refreshperiod" => storage::refresh_period,
        "overhead" => nodes::overhead,
        "taints" => nodes::taints,
        "disruption" => workloads::disruption,
        "autoscaler" => workloads::autoscaler,
        "scaletarget" => workloads::scale_target,
        "metric" => metrics::metric,
        "policy" => workloads::policy,
        "policyport" => network::policy_port,
        "peer" => network::peer,
        "ingress" => network::ingress,
        "host" => network::host,
        "backend" => network::backend,
        "ingresspath" => network::ingress_path,
        "classparameters" => network::class_parameters,
        "accessmodes" => storage::access_modes,
        "request" => storage::request,
        "capacity" => storage::capacity,
        "attachment" => storage::attachment,
        _ => return None,
    })
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn has(value: &Value, key: &str) -> bool {
    value.get(key).is_some_and(|v| !v.is_null())
}

fn invalid(path: &str, value: &Value, problems: &[String]) -> Vec<Cause> {
    problems.iter().map(|why| Cause::invalid(path, value, why)).collect()
}

use workloads::scale_target;

/// A map of labels.
pub(super) fn labels(value: &Value, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        out.extend(invalid(path, &json!(key), &names::qualified_name(key)));
        out.extend(invalid(path, value, &names::label_value(value.as_str().unwrap_or_default())));
    }
    out
}

/// The rules of operators that label selectors and node selectors share.
fn values_fit(requirement: &Value, path: &str) -> Option<Vec<Cause>> {
    let at = format!("{path}.values");
    let count = list(requirement, "values").len();
    match text(requirement, "operator") {
        "In" | "NotIn" if count == 0 => {
            Some(vec![Cause::required(at, "must be specified when `operator` is 'In' or 'NotIn'")])
        }
        "Exists" | "DoesNotExist" if count > 0 => {
            Some(vec![Cause::forbidden(at, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")])
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => Some(Vec::new()),
        _ => None,
    }
}

fn no_operator(requirement: &Value, path: &str) -> Cause {
    Cause::invalid(format!("{path}.operator"), &json!(text(requirement, "operator")), "not a valid selector operator")
}

/// A label selector.
pub(super) fn selector(value: &Value, path: &str) -> Vec<Cause> {
    let mut out = labels(value.get("matchLabels").unwrap_or(&Value::Null), &format!("{path}.matchLabels"));
    for (i, requirement) in list(value, "matchExpressions").iter().enumerate() {
        let path = format!("{path}.matchExpressions[{i}]");
        out.extend(values_fit(requirement, &path).unwrap_or_else(|| vec![no_operator(requirement, &path)]));
        let key = text(requirement, "key");
        out.extend(invalid(&format!("{path}.key"), &json!(key), &names::qualified_name(key)));
        for (j, value) in list(requirement, "values").iter().enumerate() {
            let problems = names::label_value(value.as_str().unwrap_or_default());
            out.extend(invalid(&format!("{path}.values[{j}]"), value, &problems));
        }
    }
    out
}

/// A port by number or by name.
fn port_or_name(value: &Value, path: &str) -> Vec<Cause> {
    match value {
        Value::String(name) => invalid(path, value, &names::port_name(name)),
        Value::Number(n) if !n.as_i64().is_some_and(|n| (1..=65_535).contains(&n)) => {
            vec![Cause::invalid(path, value, "must be between 1 and 65535, inclusive")]
        }
        _ => Vec::new(),
    }
}

/// The percentage of a string such as `25%`.
fn percent(value: &Value) -> Option<i64> {
    let digits = value.as_str()?.strip_suffix('%')?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) { None } else { digits.parse().ok() }
}

/// A number of objects, not negative, or a percentage of at most 100.
fn number_or_percent(value: &Value, path: &str) -> Vec<Cause> {
    const FORM: &str = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or \
                        '93%', regex used for validation is '[0-9]+%')";
    match (value, percent(value)) {
        (Value::String(_), None) => vec![Cause::invalid(path, value, FORM)],
        (Value::String(_), Some(n)) if n > 100 => {
            vec![Cause::invalid(path, value, "must not be greater than 100%")]
        }
        (Value::Number(n), _) if n.as_i64().is_some_and(|n| n < 0) => {
            vec![Cause::invalid(path, value, "must be greater than or equal to 0")]
        }
        _ => Vec::new(),
    }
}

fn limit_type(value: &Value, path: &str) -> Vec<Cause> {
    let name = value.as_str().unwrap_or_default();
    let mut out = invalid(path, value, &names::qualified_name(name));
    if out.is_empty() && !name.contains('/') && !matches!(name, "Pod" | "Container" | "PersistentVolumeClaim") {
        out.push(Cause::invalid(path, value, "must be a standard limit type or fully qualified"));
    }
    out
}
