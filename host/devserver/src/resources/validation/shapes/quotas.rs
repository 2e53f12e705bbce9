//! Validation of LimitRanges and ResourceQuotas: resource names, and relations between amounts.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{has, invalid, list, text};
use crate::model::{names, quantity, status::Cause};

const LIMITS: &[&str] = &["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];
/// Resources that a quota can limit, in addition to prefixed ones.
const QUOTAS: &[&str] = &[
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
];
const COUNTED: &[&str] = &[
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];
const OF_PODS: &[&str] = &["pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn is_extended(name: &str) -> bool {
    !is_native(name) && !name.starts_with("requests.") && names::qualified_name(&format!("requests.{name}")).is_empty()
}

fn is_quota(name: &str) -> bool {
    QUOTAS.contains(&name) || name.starts_with("hugepages-") || name.starts_with("requests.hugepages-")
}

/// The name of a resource: qualified, or a known one without a prefix.
fn resource_name(name: &str, path: &str) -> Vec<Cause> {
    let mut out = invalid(path, &json!(name), &names::qualified_name(name));
    if out.is_empty() && !name.contains('/') && !is_quota(name) && name != "storage" {
        let why = "must be a standard resource type or fully qualified";
        out.push(Cause::invalid(path, &json!(name), why));
    }
    out
}

/// The name of a resource that a container can request.
pub(super) fn container_resource(name: &str, path: &str) -> Vec<Cause> {
    let mut out = resource_name(name, path);
    let standard = matches!(name, "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
    if !name.contains('/') && !standard {
        out.push(Cause::invalid(path, &json!(name), "must be a standard resource for containers"));
    } else if !is_native(name) && !is_extended(name) {
        out.push(Cause::invalid(path, &json!(name), "doesn't follow extended resource name standard"));
    }
    out
}

/// An amount: not negative, and an integer for countable resources.
pub(in crate::resources::validation) fn amount(name: &str, value: &Value, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    let Some(nanos) = value.as_str().and_then(quantity::value) else { return out };
    if nanos < 0 {
        out.push(Cause::invalid(path, value, "must be greater than or equal to 0"));
    }
    if (COUNTED.contains(&name) || is_extended(name)) && nanos % 1_000_000_000 != 0 {
        out.push(Cause::invalid(path, value, "must be an integer"));
    }
    out
}

/// Amounts of a quota.
pub(super) fn quota_amounts(value: &Value, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    for (name, value) in value.as_object().into_iter().flatten() {
        let at = format!("{path}[{name}]");
        out.extend(resource_name(name, &at));
        if !name.contains('/') && !is_quota(name) {
            out.push(Cause::invalid(at.clone(), &json!(name), "must be a standard resource for quota"));
        }
        out.extend(amount(name, value, &at));
    }
    out
}

/// Whether a quota of this scope can limit this resource; `None` for an unknown scope.
fn scope_fits(scope: &str, resource: &str) -> Option<bool> {
    Some(match scope {
        "Terminating" | "NotTerminating" | "NotBestEffort" | "PriorityClass" | "CrossNamespacePodAffinity" => {
            OF_PODS.contains(&resource)
        }
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
        _ => return None,
    })
}

fn conflicts(scopes: &[&str]) -> usize {
    let pairs = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];
    pairs.iter().filter(|pair| pair.iter().all(|scope| scopes.contains(scope))).count()
}

/// The scopes of a quota; `value` is its spec.
pub(super) fn quota_scopes(value: &Value, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    let hard: Vec<&str> =
        value.get("hard").and_then(Value::as_object).into_iter().flatten().map(|(k, _)| k.as_str()).collect();
    let misfits = |scope: &str| hard.iter().filter(|r| is_quota(r) && scope_fits(scope, r) == Some(false)).count();
    let at = format!("{path}.scopes");
    let shown = value.get("scopes").cloned().unwrap_or_default();
    let add = |out: &mut Vec<Cause>, at: &str, shown: &Value, why: &str, times: usize| {
        out.extend(std::iter::repeat_with(|| Cause::invalid(at, shown, why)).take(times));
    };
    let scopes: Vec<&str> = list(value, "scopes").iter().filter_map(Value::as_str).collect();
    for scope in &scopes {
        add(&mut out, &at, &shown, "unsupported scope", usize::from(scope_fits(scope, "").is_none()));
        add(&mut out, &at, &shown, "unsupported scope applied to resource", misfits(scope));
    }
    add(&mut out, &at, &shown, "conflicting scopes", conflicts(&scopes));
    let Some(selector) = value.get("scopeSelector").filter(|s| !s.is_null()) else { return out };
    let at = format!("{path}.scopeSelector.matchExpressions");
    let requirements = list(selector, "matchExpressions");
    for requirement in requirements {
        let scope = text(requirement, "scopeName");
        if scope_fits(scope, "").is_none() {
            out.push(Cause::invalid(format!("{at}.scopeName"), &json!(scope), "unsupported scope"));
        }
        add(&mut out, &at, selector, "unsupported scope applied to resource", misfits(scope));
        out.extend(scope_operator(requirement, scope, &at));
    }
    let selected: Vec<&str> = requirements.iter().map(|r| text(r, "scopeName")).collect();
    add(&mut out, &at, &shown, "conflicting scopes", conflicts(&selected));
    out
}

fn scope_operator(requirement: &Value, scope: &str, at: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    let operator = text(requirement, "operator");
    let single = !matches!(scope, "PriorityClass" | "VolumeAttributesClass") && scope_fits(scope, "").is_some();
    if single && operator != "Exists" {
        let why = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
                   ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
                   ResourceQuotaScopeCrossNamespacePodAffinity";
        out.push(Cause::invalid(format!("{at}.operator"), &json!(operator), why));
    }
    let values = list(requirement, "values");
    match operator {
        "In" | "NotIn" if values.is_empty() => {
            let why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
            out.push(Cause::required(format!("{at}.values"), why));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
            out.push(Cause::invalid(format!("{at}.values"), &json!(values), why));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ => out.push(Cause::invalid(format!("{at}.operator"), &json!(operator), "not a valid selector operator")),
    }
    out
}

/// One limit of a LimitRange.
pub(super) fn limit(value: &Value, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    let kind = text(value, "type");
    let of_pods = matches!(kind, "Pod" | "Container");
    let mut resources = BTreeSet::new();
    for key in LIMITS {
        let amounts = value.get(key).and_then(Value::as_object);
        if kind == "Pod" && key.starts_with("default") {
            if amounts.is_some_and(|a| !a.is_empty()) {
                out.push(Cause::forbidden(format!("{path}.{key}"), "may not be specified when `type` is 'Pod'"));
            }
            continue;
        }
        for (name, _) in amounts.into_iter().flatten() {
            let at = format!("{path}.{key}[{name}]");
            out.extend(if of_pods { container_resource(name, &at) } else { resource_name(name, &at) });
            resources.insert(name.as_str());
        }
    }
    let stored = |key: &str| value.get(key).is_some_and(|a| has(a, "storage"));
    if kind == "PersistentVolumeClaim" && !stored("min") && !stored("max") {
        let why = "either minimum or maximum storage value is required, but neither was provided";
        out.push(Cause::required(format!("{path}.limits"), why));
    }
    for resource in resources {
        out.extend(limits_of(value, kind, resource, path));
    }
    out
}

/// Relations between the limits of one resource.
fn limits_of(value: &Value, kind: &str, resource: &str, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    let of = |key: &str| {
        let amount = value.get(key)?.get(resource).filter(|_| kind != "Pod" || !key.starts_with("default"))?;
        Some((amount, quantity::value(amount.as_str()?)?))
    };
    // The lower and the higher one, their names in the message, the field of the cause, and the value in the cause.
    let orders = [
        ("min", "max", "min", "max", "min", "min"),
        ("min", "defaultRequest", "min", "default request", "defaultRequest", "defaultRequest"),
        ("defaultRequest", "max", "default request", "max", "defaultRequest", "defaultRequest"),
        ("defaultRequest", "default", "default request", "default limit", "defaultRequest", "defaultRequest"),
        ("min", "default", "min", "default", "default", "min"),
        ("default", "max", "default", "max", "default", "max"),
    ];
    for (low, high, low_name, high_name, field, shown) in orders {
        if let (Some((first, a)), Some((second, b))) = (of(low), of(high))
            && a > b
        {
            let (first_text, second_text) = (first.as_str().unwrap_or_default(), second.as_str().unwrap_or_default());
            let why = format!("{low_name} value {first_text} is greater than {high_name} value {second_text}");
            let shown = if shown == low { first } else { second };
            out.push(Cause::invalid(format!("{path}.{field}[{resource}]"), shown, &why));
        }
    }
    let at = format!("{path}.maxLimitRequestRatio[{resource}]");
    if let Some((shown, ratio)) = of("maxLimitRequestRatio") {
        let words = shown.as_str().unwrap_or_default();
        if ratio < 1_000_000_000 {
            out.push(Cause::invalid(at.clone(), shown, &format!("ratio {words} is less than 1")));
        }
        if let (Some((_, min)), Some((_, max))) = (of("min"), of("max"))
            && ratio.saturating_mul(min) > max.saturating_mul(1_000_000_000)
        {
            #[expect(clippy::cast_precision_loss, reason = "for people")]
            let most = max as f64 / min as f64;
            out.push(Cause::invalid(at, shown, &format!("ratio {words} is greater than max/min = {most:.6}")));
        }
    }
    let overcommit = is_native(resource) && !resource.starts_with("hugepages-");
    if let (false, Some((most, a)), Some((asked, b))) = (overcommit, of("default"), of("defaultRequest"))
        && a != b
    {
        let (most, shown) = (most.as_str().unwrap_or_default(), asked.as_str().unwrap_or_default());
        let why = format!("default value {most} must equal to defaultRequest value {shown} in {resource}");
        out.push(Cause::invalid(format!("{path}.defaultRequest[{resource}]"), asked, &why));
    }
    out
}
