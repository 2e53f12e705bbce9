//! Volumes and claims.

use serde_json::{Value, json};

use super::{has, invalid};
use crate::{quantity, status::Cause, validation::names};

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

/// How much a claim asks for; `value` is its spec.
pub(super) fn request(value: &Value, path: &str) -> Vec<Cause> {
    let at = format!("{path}.resources[storage]");
    match value.pointer("/resources/requests/storage") {
        None => vec![Cause::required(at, "")],
        Some(asked) => positive(asked, &at).into_iter().collect(),
    }
}

/// How much a volume holds; `value` is its spec.
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
