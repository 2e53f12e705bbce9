//! Validation of pod spec parts.

use serde_json::{Value, json};

use super::{has, invalid, list, no_operator, quotas, text, values_fit};
use crate::{
    model::{names, quantity, status::Cause},
    resources::validation::rules,
};

pub(super) fn toleration(value: &Value, path: &str) -> Vec<Cause> {
    let (key, operator, effect) = (text(value, "key"), text(value, "operator"), text(value, "effect"));
    let (at, wanted) = (format!("{path}.operator"), text(value, "value"));
    let mut out = Vec::new();
    if key.is_empty() {
        if operator != "Exists" {
            let why = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            out.push(Cause::invalid(at.clone(), &json!(operator), why));
        }
    } else {
        out.extend(invalid(&format!("{path}.key"), &json!(key), &names::qualified_name(key)));
    }
    if has(value, "tolerationSeconds") && effect != "NoExecute" {
        let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        out.push(Cause::invalid(format!("{path}.effect"), &json!(effect), why));
    }
    match operator {
        "" | "Equal" => {
            let problems = names::label_value(wanted);
            if !problems.is_empty() {
                out.push(Cause::invalid(at, &json!(wanted), &problems.join(";")));
            }
        }
        "Exists" if wanted.is_empty() => {}
        "Exists" => {
            out.push(Cause::invalid(at, &json!(wanted), "value must be empty when `operator` is 'Exists'"));
        }
        "Lt" | "Gt" => out.push(Cause::unsupported(at, &json!(operator), &["Equal", "Exists", "Lt", "Gt"])),
        _ => out.push(Cause::unsupported(at, &json!(operator), &["Equal", "Exists"])),
    }
    let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    if !effect.is_empty() && !known.contains(&effect) {
        out.push(Cause::unsupported(format!("{path}.effect"), &json!(effect), &known));
    }
    out
}

/// A requirement on the labels of nodes.
pub(super) fn node_requirement(value: &Value, path: &str) -> Vec<Cause> {
    let count = list(value, "values").len();
    let mut out = match (values_fit(value, path), text(value, "operator")) {
        (Some(causes), _) => causes,
        (None, "Gt" | "Lt") if count == 1 => Vec::new(),
        (None, "Gt" | "Lt") => {
            let why = "must be specified single value when `operator` is 'Lt' or 'Gt'";
            vec![Cause::required(format!("{path}.values"), why)]
        }
        (None, _) => vec![no_operator(value, path)],
    };
    let key = text(value, "key");
    out.extend(invalid(&format!("{path}.key"), &json!(key), &names::qualified_name(key)));
    out
}

/// A requirement on the fields of nodes: only their name is allowed.
pub(super) fn node_field(value: &Value, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    if !matches!(text(value, "operator"), "In" | "NotIn") {
        out.push(no_operator(value, path));
    } else if list(value, "values").len() != 1 {
        let why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
        out.push(Cause::required(format!("{path}.values"), why));
    }
    let key = text(value, "key");
    if key == "metadata.name" {
        for (i, value) in list(value, "values").iter().enumerate() {
            let problems = names::subdomain(value.as_str().unwrap_or_default());
            out.extend(invalid(&format!("{path}.values[{i}]"), value, &problems));
        }
    } else {
        out.push(Cause::invalid(format!("{path}.key"), &json!(key), "not a valid field selector key"));
    }
    out
}

pub(super) fn weight(value: &Value, path: &str) -> Vec<Cause> {
    let fits = value.as_i64().is_some_and(|n| (1..=100).contains(&n));
    if fits { Vec::new() } else { vec![Cause::invalid(path, value, "must be in the range 1-100")] }
}

pub(super) fn env_name(value: &Value, path: &str) -> Vec<Cause> {
    let name = value.as_str().unwrap_or_default();
    if name.bytes().all(|b| (b' '..=b'~').contains(&b) && b != b'=') {
        return Vec::new();
    }
    let why = "a valid environment variable name must consist only of printable ASCII characters other than '='";
    vec![Cause::invalid(path, value, why)]
}

const FIELD_PATHS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// An environment variable with a source.
pub(super) fn env_source(value: &Value, path: &str) -> Vec<Cause> {
    let Some(from) = value.get("valueFrom").filter(|f| f.is_object()) else { return Vec::new() };
    let path = format!("{path}.valueFrom");
    let sources = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];
    let mut out = Vec::new();
    if let Some(field) = from.get("fieldRef") {
        out.extend(field_reference(field, &format!("{path}.fieldRef")));
    }
    if let Some(resource) = from.get("resourceFieldRef") {
        out.extend(resource_reference(resource, &format!("{path}.resourceFieldRef")));
    }
    for source in ["configMapKeyRef", "secretKeyRef"] {
        let Some(reference) = from.get(source) else { continue };
        let (name, key) = (text(reference, "name"), text(reference, "key"));
        out.extend(invalid(&format!("{path}.{source}.name"), &json!(name), &names::subdomain(name)));
        if key.is_empty() {
            out.push(Cause::required(format!("{path}.{source}.key"), ""));
        } else {
            out.extend(invalid(&format!("{path}.{source}.key"), &json!(key), &names::config_key(key)));
        }
    }
    if let Some(file) = from.get("fileKeyRef") {
        out.extend(rules::check("filekey", file, &format!("{path}.fileKeyRef")));
    }
    let why = match sources.iter().filter(|s| has(from, s)).count() {
        0 => "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        _ if !text(value, "value").is_empty() => "may not be specified when `value` is not empty",
        1 => return out,
        _ => "may not have more than one field specified at a time",
    };
    out.push(Cause::invalid(path, &json!(""), why));
    out
}

fn field_reference(value: &Value, path: &str) -> Vec<Cause> {
    let field = text(value, "fieldPath");
    let at = format!("{path}.fieldPath");
    if field.is_empty() {
        return vec![Cause::required(at, "")];
    }
    let subscript = field.strip_prefix("metadata.annotations['").or_else(|| field.strip_prefix("metadata.labels['"));
    if let Some(key) = subscript.and_then(|s| s.strip_suffix("']")) {
        return invalid(path, &json!(key), &names::qualified_name(key));
    }
    let others = ["metadata.annotations", "metadata.labels", "spec.restartPolicy", "status.phase"];
    if FIELD_PATHS.contains(&field) {
        Vec::new()
    } else if others.contains(&field) {
        vec![Cause::unsupported(at, &json!(field), &FIELD_PATHS)]
    } else {
        let why = format!("error converting fieldPath: field label not supported: {field}");
        vec![Cause::invalid(at, &json!(field), &why)]
    }
}

fn resource_reference(value: &Value, path: &str) -> Vec<Cause> {
    let known = [
        "limits.cpu",
        "limits.ephemeral-storage",
        "limits.memory",
        "requests.cpu",
        "requests.ephemeral-storage",
        "requests.memory",
    ];
    let (name, at) = (text(value, "resource"), format!("{path}.resource"));
    let huge = name.starts_with("limits.hugepages-") || name.starts_with("requests.hugepages-");
    match name {
        "" => vec![Cause::required(at, "")],
        name if known.contains(&name) || huge => Vec::new(),
        name => vec![Cause::unsupported(at, &json!(name), &known)],
    }
}

pub(super) fn env_from(value: &Value, path: &str) -> Vec<Cause> {
    let mut out = env_name(&json!(text(value, "prefix")), &format!("{path}.prefix"));
    for source in ["configMapRef", "secretRef"] {
        if value.get(source).is_some_and(|s| text(s, "name").is_empty()) {
            out.push(Cause::required(format!("{path}.{source}.name"), ""));
        }
    }
    // The error names the list, not the element.
    let list = path.rsplit_once('[').map_or(path, |(list, _)| list);
    match (has(value, "configMapRef"), has(value, "secretRef")) {
        (false, false) => {
            let why = "must specify one of: `configMapRef` or `secretRef`";
            out.push(Cause::invalid(list, &json!(""), why));
        }
        (true, true) => {
            let why = "may not have more than one field specified at a time";
            out.push(Cause::invalid(list, &json!(""), why));
        }
        _ => {}
    }
    out
}

/// Probes with a success threshold of one.
pub(super) fn only_once(value: &Value, path: &str) -> Vec<Cause> {
    match value.get("successThreshold").and_then(Value::as_i64) {
        Some(n) if n != 1 => vec![Cause::invalid(format!("{path}.successThreshold"), &json!(n), "must be 1")],
        _ => Vec::new(),
    }
}

/// Limits and requests of a container.
pub(super) fn resources(value: &Value, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    let amount = |v: &Value| v.as_str().and_then(quantity::value);
    for part in ["limits", "requests"] {
        for (name, wanted) in value.get(part).and_then(Value::as_object).into_iter().flatten() {
            let at = format!("{path}.{part}[{name}]");
            out.extend(quotas::container_resource(name, &at));
            out.extend(quotas::amount(name, wanted, &at));
            let limit = value.get("limits").and_then(|l| l.get(name)).filter(|_| part == "requests");
            if let Some(limit) = limit
                && let (Some(most), Some(asked)) = (amount(limit), amount(wanted))
                && asked > most
            {
                let why =
                    format!("must be less than or equal to {name} limit of {}", limit.as_str().unwrap_or_default());
                out.push(Cause::invalid(path_of(path), wanted, &why));
            }
        }
    }
    out
}

/// Errors about requests beyond their limit omit the name of the resource.
fn path_of(resources: &str) -> String {
    format!("{resources}.requests")
}
