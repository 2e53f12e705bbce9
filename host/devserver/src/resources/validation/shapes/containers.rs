//! Validation of container parts, and of pod parts about containers.

use serde_json::{Value, json};

use super::{has, list, text};
use crate::model::status::Cause;

/// Restart rules of a container.
pub(super) fn restarts(value: &Value, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    let rules = list(value, "restartPolicyRules");
    let at = format!("{path}.restartPolicy");
    let policies = ["Always", "Never", "OnFailure"];
    match value.get("restartPolicy").filter(|p| !p.is_null()) {
        None if !rules.is_empty() => {
            out.push(Cause::required(at, "must specify restartPolicy when restart rules are used"));
        }
        Some(policy) if !policies.iter().any(|known| policy == known) => {
            out.push(Cause::unsupported(at, policy, &policies));
        }
        _ => {}
    }
    for (i, rule) in rules.iter().enumerate() {
        let path = format!("{path}.restartPolicyRules[{i}]");
        let action = text(rule, "action");
        let actions = ["Restart", "RestartAllContainers"];
        if !actions.contains(&action) {
            out.push(Cause::unsupported(format!("{path}.action"), &json!(action), &actions));
        }
        let Some(codes) = rule.get("exitCodes").filter(|c| !c.is_null()) else {
            out.push(Cause::required(format!("{path}.exitCodes"), "must be specified"));
            continue;
        };
        let operator = text(codes, "operator");
        if !matches!(operator, "In" | "NotIn") {
            out.push(Cause::unsupported(format!("{path}.exitCodes.operator"), &json!(operator), &["In", "NotIn"]));
        }
    }
    out
}

/// Resize policies of a container.
pub(super) fn resizes(value: &Value, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    let policies = list(value, "resizePolicy");
    let path = format!("{path}.resizePolicy");
    for (i, policy) in policies.iter().enumerate() {
        let resource = text(policy, "resourceName");
        if policies.iter().take(i).any(|earlier| text(earlier, "resourceName") == resource) {
            out.push(Cause::duplicate(format!("{path}[{i}]"), &json!(resource)));
        }
        let words =
            [(resource, ["cpu", "memory"]), (text(policy, "restartPolicy"), ["NotRequired", "RestartContainer"])];
        for (word, known) in words {
            if word.is_empty() {
                out.push(Cause::required(path.clone(), ""));
            } else if !known.contains(&word) {
                out.push(Cause::unsupported(path.clone(), &json!(word), &known));
            }
        }
    }
    out
}

/// One source of a projected volume.
pub(super) fn projection(value: &Value, path: &str) -> Vec<Cause> {
    // Bundles and certificates are behind disabled feature gates: a real server drops them before it counts.
    let kinds = ["secret", "configMap", "downwardAPI", "serviceAccountToken"];
    match kinds.iter().filter(|kind| has(value, kind)).count() {
        0 | 1 => Vec::new(),
        more => vec![Cause::forbidden(path, "may not specify more than 1 volume type per source"); more - 1],
    }
}

/// A resource claim of a pod.
pub(super) fn claim(value: &Value, path: &str) -> Vec<Cause> {
    match (has(value, "resourceClaimName"), has(value, "resourceClaimTemplateName")) {
        (true, true) => {
            let why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
            vec![Cause::invalid(path, value, why)]
        }
        (false, false) => {
            let why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
            vec![Cause::invalid(path, value, why)]
        }
        _ => Vec::new(),
    }
}

/// The operating system of a pod.
pub(super) fn system(value: &Value, path: &str) -> Vec<Cause> {
    match text(value, "name") {
        "" | "linux" | "windows" => Vec::new(),
        name => vec![Cause::unsupported(path, &json!(name), &["linux", "windows"])],
    }
}

pub(super) fn dns_option(value: &Value, path: &str) -> Vec<Cause> {
    if text(value, "name").is_empty() { vec![Cause::required(path, "must not be empty")] } else { Vec::new() }
}
