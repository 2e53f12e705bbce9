//! Validation of volumes and claims.

use serde_json::{Value, json};

use super::{has, invalid, list, text};
use crate::model::{names, quantity, status::Cause};

pub(super) fn access_modes(value: &Value, path: &str) -> Vec<Cause> {
    let known = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
    let modes: Vec<&str> = value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut out: Vec<Cause> =
        modes.iter().filter(|m| !known.contains(m)).map(|m| Cause::unsupported(path, &json!(m), &known)).collect();
    let others = modes.iter().any(|m| known.contains(m) && *m != "ReadWriteOncePod");
    if others && modes.contains(&"ReadWriteOncePod") {
        out.push(Cause::forbidden(path, "may not use ReadWriteOncePod with other access modes"));
    }
    out
}

fn positive(value: &Value, path: &str) -> Option<Cause> {
    let amount = quantity::value(value.as_str()?)?;
    (amount <= 0).then(|| Cause::invalid(path, value, "must be greater than zero"))
}

/// The requested size of a claim; `value` is its spec.
pub(super) fn request(value: &Value, path: &str) -> Vec<Cause> {
    let at = format!("{path}.resources[storage]");
    match value.pointer("/resources/requests/storage") {
        None => vec![Cause::required(at, "")],
        Some(asked) => positive(asked, &at).into_iter().collect(),
    }
}

/// The capacity of a volume; `value` is its spec.
pub(super) fn capacity(value: &Value, path: &str) -> Vec<Cause> {
    let path = format!("{path}.capacity");
    let there = value.get("capacity").and_then(Value::as_object);
    let mut out = Vec::new();
    if there.is_none_or(serde_json::Map::is_empty) {
        out.push(Cause::required(path.clone(), ""));
    }
    if !there.is_some_and(|c| c.len() == 1 && c.contains_key("storage")) {
        let shown = value.get("capacity").cloned().unwrap_or_default();
        out.push(Cause::unsupported(path.clone(), &shown, &["storage"]));
    }
    for (name, amount) in there.into_iter().flatten() {
        let at = format!("{path}[{name}]");
        out.extend(invalid(&at, &json!(name), &names::qualified_name(name)));
        out.extend(positive(amount, &at));
    }
    out
}

pub(super) fn attachment(value: &Value, path: &str) -> Vec<Cause> {
    let why = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (has(value, "inlineVolumeSpec"), has(value, "persistentVolumeName")) {
        (true, true) => vec![Cause::forbidden(path, why)],
        (false, false) => vec![Cause::required(path, why)],
        _ => Vec::new(),
    }
}

/// The data source of a claim.
pub(super) fn source(value: &Value, path: &str) -> Vec<Cause> {
    let kind = text(value, "kind");
    if !text(value, "apiGroup").is_empty() || kind == "PersistentVolumeClaim" {
        return Vec::new();
    }
    let why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
    vec![Cause::invalid(path, &json!(kind), why)]
}

/// Relations between the parts of a volume's spec.
pub(super) fn volume(value: &Value, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    if value.get("volumeAttributesClassName").is_some_and(|name| name == "") {
        out.push(Cause::required(format!("{path}.volumeAttributesClassName"), "an empty string is disallowed"));
    }
    if has(value, "volumeAttributesClassName") && !has(value, "csi") {
        let why = "has to be specified when using volumeAttributesClassName";
        out.push(Cause::required(format!("{path}.csi"), why));
    }
    let policy = "persistentVolumeReclaimPolicy";
    let whole = value.pointer("/hostPath/path").and_then(Value::as_str).is_some_and(|p| p == "/");
    if whole && text(value, policy) == "Recycle" {
        let why = "may not be 'recycle' for a hostPath mount of '/'";
        out.push(Cause::forbidden(format!("{path}.{policy}"), why));
    }
    if has(value, "local") && !has(value, "nodeAffinity") {
        let why = "Local volume requires node affinity";
        out.push(Cause::required(format!("{path}.nodeAffinity"), why));
    }
    out
}

/// Parameters of a class need names.
pub(super) fn parameters(value: &Value, path: &str) -> Vec<Cause> {
    let nameless = value.as_object().is_some_and(|map| map.contains_key(""));
    if nameless { vec![Cause::invalid(path, &json!(""), "field can not be empty.")] } else { Vec::new() }
}

/// The topology of a class.
pub(super) fn topology(value: &Value, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    let requirements = list(value, "matchLabelExpressions");
    let path = format!("{path}.matchLabelExpressions");
    // A term without requirements counts as a duplicate.
    if requirements.is_empty() {
        out.push(Cause::duplicate(path.clone(), &json!("")));
    }
    for (i, requirement) in requirements.iter().enumerate() {
        let (key, at) = (text(requirement, "key"), format!("{path}[{i}]"));
        let values = list(requirement, "values");
        if values.is_empty() {
            out.push(Cause::required(format!("{at}.values"), ""));
        }
        for (j, value) in values.iter().enumerate().filter(|(j, value)| values.iter().take(*j).any(|v| v == *value)) {
            out.push(Cause::duplicate(format!("{at}.values[{j}]"), value));
        }
        out.extend(invalid(&format!("{at}.key"), &json!(key), &names::qualified_name(key)));
        if requirements.iter().take(i).any(|earlier| text(earlier, "key") == key) {
            out.push(Cause::duplicate(format!("{at}.key"), &json!(key)));
        }
    }
    out
}

/// The lifecycle modes of a driver's volumes; the error names the list, not the element.
pub(super) fn lifecycle_mode(value: &Value, path: &str) -> Vec<Cause> {
    let list = path.rsplit_once('[').map_or(path, |(list, _)| list);
    let known = ["Persistent", "Ephemeral"];
    if known.iter().any(|k| value == k) { Vec::new() } else { vec![Cause::unsupported(list, value, &known)] }
}

pub(super) fn refresh_period(value: &Value, path: &str) -> Vec<Cause> {
    let why = "must be greater than or equal to 10 seconds";
    if value.as_i64().is_some_and(|n| n < 10) { vec![Cause::invalid(path, value, why)] } else { Vec::new() }
}
