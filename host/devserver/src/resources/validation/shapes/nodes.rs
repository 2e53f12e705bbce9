//! Validation of node parts and RuntimeClasses.

use serde_json::{Value, json};

use super::{invalid, list, quotas, text};
use crate::model::{names, status::Cause};

/// The overhead of a RuntimeClass: checked like the limits of a container.
pub(super) fn overhead(value: &Value, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    for (name, amount) in value.get("podFixed").and_then(Value::as_object).into_iter().flatten() {
        let at = format!("{path}.limits[{name}]");
        out.extend(quotas::container_resource(name, &at));
        out.extend(quotas::amount(name, amount, &at));
    }
    out
}

/// The taints of a node, which the API server reports as metadata.
pub(super) fn taints(value: &Value, _: &str) -> Vec<Cause> {
    const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];
    let mut out = Vec::new();
    let holder = json!({"taints": value});
    let taints = list(&holder, "taints");
    for (i, taint) in taints.iter().enumerate() {
        let path = format!("metadata.taints[{i}]");
        let (key, effect, shown) = (text(taint, "key"), text(taint, "effect"), text(taint, "value"));
        out.extend(invalid(&format!("{path}.key"), &json!(key), &names::qualified_name(key)));
        let problems = names::label_value(shown);
        if !problems.is_empty() {
            out.push(Cause::invalid(format!("{path}.value"), &json!(shown), &problems.join(";")));
        }
        let at = format!("{path}.effect");
        if effect.is_empty() {
            out.push(Cause::required(at, ""));
        } else if !EFFECTS.contains(&effect) {
            out.push(Cause::unsupported(at, &json!(effect), EFFECTS));
        }
        if taints.iter().take(i).any(|t| text(t, "key") == key && text(t, "effect") == effect) {
            let message = format!("Duplicate value: {taint}: taints must be unique by key and effect pair");
            out.push(Cause::raw("FieldValueDuplicate", path, message));
        }
    }
    out
}
