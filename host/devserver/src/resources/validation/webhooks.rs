//! Validation of webhook configurations.
//!
//! # Source
//!
//! Kubernetes `pkg/apis/admissionregistration/validation/validation.go`.

use std::collections::BTreeSet;

use oarlock_schema::Condition;
use serde_json::Value;

use super::shapes;
use crate::model::{names, status::Cause};

const VERSIONS: [&str; 2] = ["v1", "v1beta1"];

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Validates a configuration with its defaults.
pub(super) fn check(configuration: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut seen = BTreeSet::new();
    for (number, hook) in list(configuration, "webhooks").iter().enumerate() {
        let at = format!("webhooks[{number}]");
        self::hook(&at, hook, &mut causes);
        if !seen.insert(text(hook, "name")) {
            causes.push(Cause::duplicate(format!("{at}.name"), &text(hook, "name").into()));
        }
    }
    causes
}

fn hook(at: &str, hook: &Value, causes: &mut Vec<Cause>) {
    let name = text(hook, "name");
    let place = format!("{at}.name");
    if name.is_empty() {
        causes.push(Cause::required(place, ""));
    } else if let Some(why) = names::subdomain(name).first() {
        causes.push(Cause::invalid(place, &name.into(), why));
    } else if name.split('.').count() < 3 {
        causes.push(Cause::invalid(
            place,
            &name.into(),
            "should be a domain with at least three segments separated by dots",
        ));
    }
    for (index, rule) in list(hook, "rules").iter().enumerate() {
        self::rule(&format!("{at}.rules[{index}]"), rule, causes);
    }
    one_of(at, hook, "failurePolicy", &["Fail", "Ignore"], causes);
    one_of(at, hook, "matchPolicy", &["Equivalent", "Exact"], causes);
    one_of(at, hook, "reinvocationPolicy", &["IfNeeded", "Never"], causes);
    match text(hook, "sideEffects") {
        "" => causes.push(Cause::required(format!("{at}.sideEffects"), "must specify one of None, NoneOnDryRun")),
        _ => one_of(at, hook, "sideEffects", &["None", "NoneOnDryRun"], causes),
    }
    let seconds = hook.get("timeoutSeconds").and_then(Value::as_i64).unwrap_or(10);
    if !(1..=30).contains(&seconds) {
        let detail = "the timeout value must be between 1 and 30 seconds";
        causes.push(Cause::invalid(format!("{at}.timeoutSeconds"), &seconds.into(), detail));
    }
    for key in ["namespaceSelector", "objectSelector"] {
        if let Some(selector) = hook.get(key) {
            causes.extend(shapes::selector(selector, &format!("{at}.{key}")));
        }
    }
    review_versions(at, hook, causes);
    client(&format!("{at}.clientConfig"), hook.get("clientConfig").unwrap_or(&Value::Null), causes);
    conditions(&format!("{at}.matchConditions"), list(hook, "matchConditions"), causes);
}

fn one_of(at: &str, hook: &Value, key: &str, known: &[&str], causes: &mut Vec<Cause>) {
    if let Some(given) = hook.get(key).filter(|g| !known.iter().any(|k| *g == k)) {
        causes.push(Cause::unsupported(format!("{at}.{key}"), given, known));
    }
}

fn review_versions(at: &str, hook: &Value, causes: &mut Vec<Cause>) {
    let place = format!("{at}.admissionReviewVersions");
    let versions = list(hook, "admissionReviewVersions");
    if versions.is_empty() {
        causes.push(Cause::required(place, "must specify one of v1, v1beta1"));
    } else if !versions.iter().any(|v| VERSIONS.iter().any(|known| v == known)) {
        causes.push(Cause::invalid(place, &versions.into(), "must include at least one of v1, v1beta1"));
    }
}

fn rule(at: &str, rule: &Value, causes: &mut Vec<Cause>) {
    const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
    for key in ["operations", "apiGroups", "apiVersions", "resources"] {
        let values = list(rule, key);
        let place = format!("{at}.{key}");
        if values.is_empty() {
            causes.push(Cause::required(place, ""));
        } else if values.len() > 1 && values.iter().any(|v| v == "*") {
            let detail = if key == "operations" || key == "apiGroups" || key == "apiVersions" {
                "if '*' is present, must not specify other ".to_owned()
                    + match key {
                        "operations" => "operations",
                        "apiGroups" => "API groups",
                        _ => "API versions",
                    }
            } else {
                "if '*' is present, must not specify other resources without subresources".to_owned()
            };
            // Beside the wildcard for all resources, subresources are allowed.
            let subresources = values.iter().all(|v| v == "*" || v.as_str().is_some_and(|t| t.contains('/')));
            if key != "resources" || !subresources {
                causes.push(Cause::invalid(place, &values.into(), &detail));
            }
        }
    }
    for (index, operation) in list(rule, "operations").iter().enumerate() {
        if !OPERATIONS.iter().any(|known| operation == known) {
            causes.push(Cause::unsupported(format!("{at}.operations[{index}]"), operation, &OPERATIONS));
        }
    }
    one_of(at, rule, "scope", &["*", "Cluster", "Namespaced"], causes);
}

fn client(at: &str, config: &Value, causes: &mut Vec<Cause>) {
    let (url, service) = (config.get("url").and_then(Value::as_str), config.get("service").filter(|s| s.is_object()));
    match (url, service) {
        (None, None) | (Some(_), Some(_)) => {
            causes.push(Cause::required(at, "exactly one of url or service is required"));
        }
        (Some(given), None) => address(&format!("{at}.url"), given, causes),
        (None, Some(service)) => {
            for key in ["name", "namespace"] {
                if text(service, key).is_empty() {
                    causes.push(Cause::required(format!("{at}.service.{key}"), &format!("service {key} is required")));
                }
            }
            let port = service.get("port").and_then(Value::as_i64).unwrap_or(443);
            if !(1..=65535).contains(&port) {
                let detail = "port is not valid: must be between 1 and 65535, inclusive";
                causes.push(Cause::invalid(format!("{at}.service.port"), &port.into(), detail));
            }
            let path = text(service, "path");
            if !path.is_empty() && !path.starts_with('/') {
                let detail = "must start with a '/'";
                causes.push(Cause::invalid(format!("{at}.service.path"), &path.into(), detail));
            }
        }
    }
}

fn address(at: &str, given: &str, causes: &mut Vec<Cause>) {
    const FORM: &str = "; desired format: https://host[/path]";
    let mut wrong = |value: &str, why: &str| causes.push(Cause::invalid(at, &value.into(), &format!("{why}{FORM}")));
    let Ok(url) = url::Url::parse(given) else {
        causes.push(Cause::required(at, &format!("url must be a valid URL{FORM}")));
        return;
    };
    if url.scheme() != "https" {
        wrong(url.scheme(), "'https' is the only allowed URL scheme");
    }
    if url.host_str().unwrap_or_default().is_empty() {
        wrong("", "host must be specified");
    }
    if !url.username().is_empty() {
        wrong(url.username(), "user information is not permitted in the URL");
    }
    if let Some(fragment) = url.fragment().filter(|f| !f.is_empty()) {
        wrong(fragment, "fragments are not permitted in the URL");
    }
    if let Some(query) = url.query().filter(|q| !q.is_empty()) {
        wrong(query, "query parameters are not permitted in the URL");
    }
}

fn conditions(at: &str, conditions: &[Value], causes: &mut Vec<Cause>) {
    let mut seen = BTreeSet::new();
    if conditions.len() > 64 {
        causes.push(Cause::raw(
            "FieldValueTooMany",
            at,
            format!("Too many: {}: must have at most 64 items", conditions.len()),
        ));
    }
    for (index, condition) in conditions.iter().enumerate() {
        let (name, expression) = (text(condition, "name"), text(condition, "expression").trim());
        if name.is_empty() {
            causes.push(Cause::required(format!("{at}[{index}].name"), ""));
        } else if !seen.insert(name) {
            causes.push(Cause::duplicate(format!("{at}[{index}].name"), &name.into()));
        }
        let place = format!("{at}[{index}].expression");
        if expression.is_empty() {
            causes.push(Cause::required(place, ""));
            continue;
        }
        match Condition::parse(expression) {
            Err(why) => {
                causes.push(Cause::invalid(place, &expression.into(), &format!("compilation failed: {why}")));
            }
            Ok(parsed) if parsed.uses("authorizer") => {
                let detail = "compilation failed: undeclared reference to 'authorizer'";
                causes.push(Cause::invalid(place, &expression.into(), detail));
            }
            Ok(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn refuse(change: &Value, field: &str, why: &str) {
        let mut hook = json!({"name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://127.0.0.1/x"}});
        hook.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let causes = format!("{:?}", check(&json!({"webhooks": [hook]})));
        assert_eq!(causes.matches("Cause {").count(), usize::from(!field.is_empty()), "{causes}");
        assert!(
            causes.contains(&format!("\"webhooks[0].{field}")) && causes.contains(why) || field.is_empty(),
            "{causes}"
        );
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        refuse(&json!({}), "", "");
        let url = |url: &str| json!({"clientConfig": {"url": url}});
        refuse(&url("https://a/b?c=d"), "clientConfig.url", "query parameters are not permitted");
        refuse(&url("https://me@a/b"), "clientConfig.url", "user information is not permitted");
        refuse(&url("https://a/b#c"), "clientConfig.url", "fragments are not permitted");
        refuse(&url("nothing"), "clientConfig.url", "url must be a valid URL");
        let service = |more: Value| json!({"clientConfig": {"service": more}});
        refuse(&service(json!({"name": "s"})), "clientConfig.service.namespace", "service namespace is required");
        refuse(
            &service(json!({"name": "s", "namespace": "n", "port": 0})),
            "clientConfig.service.port",
            "between 1 and 65535",
        );
        refuse(
            &service(json!({"name": "s", "namespace": "n", "path": "x"})),
            "clientConfig.service.path",
            "must start with",
        );
        let both = json!({"clientConfig": {"url": "https://a", "service": {"name": "s", "namespace": "n"}}});
        refuse(&both, "clientConfig", "exactly one of url or service is required");
        let rule = |key: &str, value: Value| {
            let mut rule =
                json!({"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["*", "*/status"]});
            rule[key] = value;
            json!({"rules": [rule]})
        };
        refuse(&rule("scope", json!("*")), "", "");
        refuse(&rule("scope", json!("Here")), "rules[0].scope", "supported values");
        refuse(&rule("operations", json!(["*", "CREATE"])), "rules[0].operations", "if '*' is present");
        refuse(&rule("apiGroups", json!([])), "rules[0].apiGroups", "Required value");
        refuse(&rule("resources", json!(["*", "pods"])), "rules[0].resources", "if '*' is present");
        let condition = |name: &str, text: &str| json!({"matchConditions": [{"name": name, "expression": text}]});
        refuse(&condition("c", "object.x == 1"), "", "");
        refuse(&condition("", "true"), "matchConditions[0].name", "Required value");
        refuse(&condition("c", "object."), "matchConditions[0].expression", "compilation failed");
        refuse(
            &condition("c", "authorizer.group('')"),
            "matchConditions[0].expression",
            "undeclared reference to 'authorizer'",
        );
        refuse(
            &json!({"objectSelector": {"matchLabels": {"a": "b c"}}}),
            "objectSelector.matchLabels",
            "a valid label must be",
        );
    }
}
