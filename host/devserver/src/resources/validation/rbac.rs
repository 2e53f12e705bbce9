//! Validation of roles and bindings.

use serde_json::{Map, Value, json};

use crate::model::{
    kinds::{RBAC_GROUP, Resource},
    names,
    status::Cause,
};

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A new or changed object.
pub(super) fn check(resource: &Resource, object: &Value) -> Vec<Cause> {
    match resource.plural.as_str() {
        "roles" | "clusterroles" => {
            let rules = list(object, "rules").iter().enumerate();
            let rules = rules.flat_map(|(i, rule)| check_rule(rule, resource.namespaced, &format!("rules[{i}]")));
            let empty = |rule: &Value| list(rule, "clusterRoleSelectors").is_empty();
            let lacking = object.get("aggregationRule").is_some_and(empty).then(|| {
                let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
                Cause::required("aggregationRule.clusterRoleSelectors", detail)
            });
            rules.chain(lacking).collect()
        }
        _ => {
            let mut out = role_ref(object.get("roleRef").unwrap_or(&Value::Null), resource.namespaced);
            for (i, subject) in list(object, "subjects").iter().enumerate() {
                out.extend(check_subject(subject, resource.namespaced, &format!("subjects[{i}]")));
            }
            out
        }
    }
}

/// Immutable fields.
pub(super) fn update(object: &Value, old: &Value) -> Vec<Cause> {
    let (new, was) = (object.get("roleRef"), old.get("roleRef"));
    match new {
        Some(role) if new != was => {
            // The API server prints the fields with their Go names.
            let names = [("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name")];
            let shown: Map<String, Value> =
                names.iter().map(|(go, key)| ((*go).to_owned(), text(role, key).into())).collect();
            vec![Cause::invalid("roleRef", &Value::Object(shown), "cannot change roleRef")]
        }
        _ => Vec::new(),
    }
}

fn check_rule(rule: &Value, namespaced: bool, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    let empty = |key: &str| list(rule, key).is_empty();
    if empty("verbs") {
        out.push(Cause::required(format!("{path}.verbs"), "verbs must contain at least one value"));
    }
    if !empty("nonResourceURLs") {
        let mut refuse = |detail: &str| {
            let urls = json!(list(rule, "nonResourceURLs"));
            out.push(Cause::invalid(format!("{path}.nonResourceURLs"), &urls, detail));
        };
        if namespaced {
            refuse("namespaced rules cannot apply to non-resource URLs");
        }
        if !(empty("apiGroups") && empty("resources") && empty("resourceNames")) {
            refuse("rules cannot apply to both regular resources and non-resource URLs");
        }
        return out;
    }
    if empty("apiGroups") {
        let detail = "resource rules must supply at least one api group";
        out.push(Cause::required(format!("{path}.apiGroups"), detail));
    }
    if empty("resources") {
        out.push(Cause::required(format!("{path}.resources"), "resource rules must supply at least one resource"));
    }
    out
}

fn role_ref(role: &Value, namespaced: bool) -> Vec<Cause> {
    let mut out = Vec::new();
    if text(role, "apiGroup") != RBAC_GROUP {
        out.push(Cause::unsupported("roleRef.apiGroup", &json!(text(role, "apiGroup")), &[RBAC_GROUP]));
    }
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&text(role, "kind")) {
        out.push(Cause::unsupported("roleRef.kind", &json!(text(role, "kind")), kinds));
    }
    match text(role, "name") {
        "" => out.push(Cause::required("roleRef.name", "")),
        name => {
            let wrong = names::path_segment(name);
            out.extend(wrong.iter().map(|e| Cause::invalid("roleRef.name", &json!(name), e)));
        }
    }
    out
}

fn check_subject(subject: &Value, namespaced: bool, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    let (name, group) = (text(subject, "name"), text(subject, "apiGroup"));
    if name.is_empty() {
        out.push(Cause::required(format!("{path}.name"), ""));
    }
    let wrong_group = |wanted: &'static str| Cause::unsupported(format!("{path}.apiGroup"), &json!(group), &[wanted]);
    match text(subject, "kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                let wrong = names::subdomain(name);
                out.extend(wrong.iter().map(|e| Cause::invalid(format!("{path}.name"), &json!(name), e)));
            }
            if !group.is_empty() {
                out.push(wrong_group(""));
            }
            if !namespaced && text(subject, "namespace").is_empty() {
                out.push(Cause::required(format!("{path}.namespace"), ""));
            }
        }
        "User" | "Group" if group != RBAC_GROUP => out.push(wrong_group(RBAC_GROUP)),
        "User" | "Group" => {}
        kind => {
            let known = ["ServiceAccount", "User", "Group"];
            out.push(Cause::unsupported(format!("{path}.kind"), &json!(kind), &known));
        }
    }
    out
}
