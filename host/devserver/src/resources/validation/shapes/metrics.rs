//! Validation of HorizontalPodAutoscaler metrics.

use serde_json::{Value, json};

use super::{has, invalid, quotas, scale_target, text};
use crate::{
    model::{names, quantity, status::Cause},
    resources::validation::rules,
};

/// Types of metrics and the field of each, in the order of the checks.
const SOURCES: &[(&str, &str)] = &[
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];
const KNOWN: &[&str] = &["ContainerResource", "External", "Object", "Pods", "Resource"];

pub(super) fn metric(value: &Value, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    let (kind, at) = (text(value, "type"), format!("{path}.type"));
    if kind.is_empty() {
        out.push(Cause::required(at.clone(), "must specify a metric source type"));
    }
    if !KNOWN.contains(&kind) {
        // The API server checks twice.
        let cause = Cause::unsupported(at, &json!(kind), KNOWN);
        out.extend([cause.clone(), cause]);
    }
    let present: Vec<&str> = SOURCES.iter().map(|(_, field)| *field).filter(|field| has(value, field)).collect();
    if let Some(first) = present.first() {
        out.extend(source(first, &value[*first], &format!("{path}.{first}")));
    }
    let expected = SOURCES.iter().find(|(name, _)| *name == kind).map_or("", |(_, field)| *field);
    if !expected.is_empty() && !present.contains(&expected) {
        let why = "must populate information for the given metric source";
        out.push(Cause::required(format!("{path}.{expected}"), why));
    }
    if present.len() != 1 {
        let others = present.iter().filter(|field| **field != expected);
        let why = "must populate the given metric source only";
        out.extend(others.map(|field| Cause::forbidden(format!("{path}.{field}"), why)));
    }
    out
}

fn source(field: &str, value: &Value, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    let target = value.get("target").unwrap_or(&Value::Null);
    let at = |key: &str| format!("{path}.target.{key}");
    out.extend(wanted(target, &format!("{path}.target")));
    if matches!(field, "object" | "external" | "pods") {
        let (name, at) =
            (value.pointer("/metric/name").and_then(Value::as_str).unwrap_or_default(), format!("{path}.metric.name"));
        if name.is_empty() {
            out.push(Cause::required(at, "must specify a metric name"));
        } else {
            out.extend(invalid(&at, &json!(name), &names::path_segment(name)));
        }
    }
    match field {
        "object" => {
            let (object, path) =
                (value.get("describedObject").cloned().unwrap_or_else(|| json!({})), format!("{path}.describedObject"));
            out.extend(rules::check("crossreference", &object, &path));
            out.extend(scale_target(&object, &path));
            if !has(target, "value") && !has(target, "averageValue") {
                out.push(Cause::required(at("averageValue"), "must set either a target value or averageValue"));
            }
        }
        "external" => match (has(target, "value"), has(target, "averageValue")) {
            (false, false) => {
                let why = "must set either a target value for metric or a per-pod target";
                out.push(Cause::required(at("averageValue"), why));
            }
            (true, true) => {
                let why = "may not set both a target value for metric and a per-pod target";
                out.push(Cause::forbidden(at("value"), why));
            }
            _ => {}
        },
        "pods" if !has(target, "averageValue") => {
            out.push(Cause::required(at("averageValue"), "must specify a positive target averageValue"));
        }
        "pods" => {}
        _ => out.extend(resource(field, value, target, path)),
    }
    out
}

fn resource(field: &str, value: &Value, target: &Value, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    let (name, at) = (text(value, "name"), format!("{path}.name"));
    if name.is_empty() {
        out.push(Cause::required(at, "must specify a resource name"));
    } else if field == "containerResource" {
        out.extend(quotas::container_resource(name, &at));
    }
    if field == "containerResource" {
        let (container, at) = (text(value, "container"), format!("{path}.container"));
        if container.is_empty() {
            out.push(Cause::required(at, "must specify a container"));
        } else {
            out.extend(invalid(&at, &json!(container), &names::label(container)));
        }
    }
    match (has(target, "averageUtilization"), has(target, "averageValue")) {
        (false, false) => {
            let why = "must set either a target raw value or a target utilization";
            out.push(Cause::required(format!("{path}.target.averageUtilization"), why));
        }
        (true, true) => {
            let why = "may not set both a target raw value and a target utilization";
            out.push(Cause::forbidden(format!("{path}.target.averageValue"), why));
        }
        _ => {}
    }
    out
}

/// The target of a metric.
fn wanted(target: &Value, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    let (kind, at) = (text(target, "type"), format!("{path}.type"));
    if kind.is_empty() {
        out.push(Cause::required(at.clone(), "must specify a metric target type"));
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        out.push(Cause::invalid(at, &json!(kind), "must be either Utilization, Value, or AverageValue"));
    }
    for key in ["value", "averageValue"] {
        let amount = target.get(key).filter(|v| v.as_str().and_then(quantity::value).is_some_and(|n| n <= 0));
        out.extend(amount.map(|amount| Cause::invalid(format!("{path}.{key}"), amount, "must be positive")));
    }
    let percent = target.get("averageUtilization").filter(|n| n.as_i64().is_some_and(|n| n < 1));
    let why = "must be greater than 0";
    out.extend(percent.map(|percent| Cause::invalid(format!("{path}.averageUtilization"), percent, why)));
    out
}
