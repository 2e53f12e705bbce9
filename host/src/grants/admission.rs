//! Granted admission rules of a plugin, with the terms of the grant.

use oarlock_manifest::{AdmissionRule, GrantedAdmission, PluginManifest};
use serde_json::{Map, Value, json};

/// The operations of admission rules.
const OPERATIONS: [&str; 5] = ["CREATE", "UPDATE", "DELETE", "CONNECT", "*"];

/// Longest webhook timeout that the API server accepts, in seconds.
const LONGEST_TIMEOUT: u32 = 30;

/// A granted rule of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Admission {
    /// Its index in the manifest.
    pub index: usize,
    /// The rule, with the changes of the grant.
    pub rule: AdmissionRule,
    /// The rule applies only where an InitializerConfiguration names the plugin.
    pub only_as_initializer: bool,
}

/// The granted rules, each with the terms of the first entry that covers it.
pub(super) fn granted(grants: &[GrantedAdmission], manifest: &PluginManifest) -> Vec<Admission> {
    let rules = manifest.admission.iter().enumerate();
    rules
        .filter_map(|(index, rule)| {
            let grant = grants.iter().find(|grant| covers(grant, rule))?;
            let only_as_initializer = grant.only_as_initializer;
            Some(Admission { index, rule: on_the_terms_of(grant, rule), only_as_initializer })
        })
        .collect()
}

/// One line for each rule that is not granted.
pub(super) fn missing(grants: &[GrantedAdmission], manifest: &PluginManifest) -> Vec<String> {
    let rules = manifest.admission.iter().filter(|rule| !grants.iter().any(|grant| covers(grant, rule)));
    rules
        .map(|rule| {
            let groups: Vec<&str> =
                rule.api_groups.iter().map(|group| if group.is_empty() { "core" } else { group.as_str() }).collect();
            let what = (rule.operations.join(", "), rule.resources.join(", "), groups.join(", "));
            format!("admission: {} of {} ({})", what.0, what.1, what.2)
        })
        .collect()
}

/// Whether a grant covers all requests of a rule.
fn covers(grant: &GrantedAdmission, rule: &AdmissionRule) -> bool {
    let within = |some: &[String], wanted: &[String]| wanted.iter().all(|w| some.iter().any(|s| s == "*" || s == w));
    within(&grant.operations, &rule.operations)
        && within(&grant.api_groups, &rule.api_groups)
        && rule.resources.iter().all(|wanted| grant.resources.iter().any(|some| resource_covers(some, wanted)))
}

/// Whether the resource `some` of a webhook rule covers `wanted`: `*` all resources, `*/*` subresources as well, `pods/*` the
/// subresources of pods, `*/scale` the scale subresource of all.
#[must_use]
pub fn resource_covers(some: &str, wanted: &str) -> bool {
    let (resource, subresource) = some.split_once('/').unwrap_or((some, ""));
    let (of, sub) = wanted.split_once('/').unwrap_or((wanted, ""));
    (some == "*/*")
        || ((resource == "*" || resource == of) && (subresource == sub || (subresource == "*" && !sub.is_empty())))
}

fn on_the_terms_of(grant: &GrantedAdmission, rule: &AdmissionRule) -> AdmissionRule {
    let mut rule = rule.clone();
    rule.namespace_selector = both(rule.namespace_selector.as_ref(), grant.namespace_selector.as_ref());
    rule.object_selector = both(rule.object_selector.as_ref(), grant.object_selector.as_ref());
    rule.match_conditions = conditions(rule.match_conditions.as_ref(), grant.match_conditions.as_ref());
    rule.failure_policy = grant.failure_policy.clone().or(rule.failure_policy);
    rule.match_policy = grant.match_policy.clone().or(rule.match_policy);
    rule.reinvocation_policy = grant.reinvocation_policy.clone().or(rule.reinvocation_policy);
    rule.timeout_seconds = grant.timeout_seconds.or(rule.timeout_seconds);
    rule
}

/// A label selector for objects that both select.
#[must_use]
pub fn both(one: Option<&Value>, other: Option<&Value>) -> Option<Value> {
    let (Some(one), Some(other)) = (one, other) else { return one.or(other).cloned() };
    let mut expressions: Vec<Value> = Vec::new();
    for selector in [one, other] {
        let labels = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
        expressions.extend(labels.map(|(key, value)| json!({"key": key, "operator": "In", "values": [value]})));
        expressions.extend(selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten().cloned());
    }
    expressions.dedup();
    Some(json!({"matchExpressions": expressions}))
}

/// Match conditions that hold where both hold. Names must be unique, so equal names of the second are marked.
fn conditions(one: Option<&Value>, other: Option<&Value>) -> Option<Value> {
    let (Some(Value::Array(one)), Some(Value::Array(other))) = (one, other) else { return one.or(other).cloned() };
    let name_of = |condition: &Value| condition.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut all = one.clone();
    for condition in other {
        let mut condition = condition.clone();
        while all.iter().any(|there| name_of(there) == name_of(&condition)) {
            let name = format!("{}-of-the-grant", name_of(&condition));
            if let Some(condition) = condition.as_object_mut() {
                condition.insert("name".to_owned(), name.into());
            } else {
                break;
            }
        }
        all.push(condition);
    }
    Some(Value::Array(all))
}

/// The faults of a manifest's rule, one sentence each.
#[must_use]
pub fn fault(index: usize, rule: &AdmissionRule) -> Vec<String> {
    let place = format!("admission[{index}]");
    let mut faults = Vec::new();
    let lists = [
        ("operations", &rule.operations),
        ("apiGroups", &rule.api_groups),
        ("apiVersions", &rule.api_versions),
        ("resources", &rule.resources),
    ];
    faults.extend(empty(&place, &lists));
    faults.extend(unknown(&format!("{place}.operations"), &rule.operations, &OPERATIONS));
    let words: [(&str, &Option<String>, &[&str]); 5] = [
        ("scope", &rule.scope, &["Cluster", "Namespaced", "*"]),
        ("sideEffects", &rule.side_effects, &["None", "NoneOnDryRun"]),
        ("matchPolicy", &rule.match_policy, &["Exact", "Equivalent"]),
        ("reinvocationPolicy", &rule.reinvocation_policy, &["Never", "IfNeeded"]),
        ("failurePolicy", &rule.failure_policy, &["Fail", "Ignore"]),
    ];
    for (name, word, known) in words {
        faults.extend(unknown(&format!("{place}.{name}"), word.as_slice(), known));
    }
    if rule.validate && rule.reinvocation_policy.is_some() {
        faults.push(format!("{place}.reinvocationPolicy is for rules that change objects; this one validates"));
    }
    faults.extend(rule.timeout_seconds.and_then(|seconds| timeout_fault(&place, seconds)));
    let documents = [
        ("namespaceSelector", &rule.namespace_selector),
        ("objectSelector", &rule.object_selector),
        ("matchConditions", &rule.match_conditions),
    ];
    faults.extend(documents.iter().filter_map(|(name, value)| document_fault(&place, name, value.as_ref()?)));
    faults
}

/// The first fault of an entry of a grant.
pub(super) fn granted_fault(index: usize, grant: &GrantedAdmission) -> Option<String> {
    let rule = AdmissionRule {
        operations: grant.operations.clone(),
        api_groups: grant.api_groups.clone(),
        api_versions: vec!["*".to_owned()],
        resources: grant.resources.clone(),
        validate: false,
        scope: None,
        namespace_selector: grant.namespace_selector.clone(),
        object_selector: grant.object_selector.clone(),
        match_conditions: grant.match_conditions.clone(),
        side_effects: None,
        match_policy: grant.match_policy.clone(),
        reinvocation_policy: grant.reinvocation_policy.clone(),
        failure_policy: grant.failure_policy.clone(),
        timeout_seconds: grant.timeout_seconds,
    };
    fault(index, &rule).into_iter().next()
}

fn empty(place: &str, lists: &[(&str, &Vec<String>)]) -> Vec<String> {
    let empty = lists.iter().filter(|(_, list)| list.is_empty());
    empty.map(|(name, _)| format!("{place}.{name} is empty: the rule would match nothing")).collect()
}

fn unknown(place: &str, words: &[String], known: &[&str]) -> Vec<String> {
    let unknown = words.iter().filter(|word| !known.contains(&word.as_str()));
    unknown.map(|word| format!("{place} holds {word:?}; there are {}", known.join(", "))).collect()
}

fn timeout_fault(place: &str, seconds: u32) -> Option<String> {
    let known = 1..=LONGEST_TIMEOUT;
    (!known.contains(&seconds)).then(|| format!("{place}.timeoutSeconds is {seconds}, must be 1 to {LONGEST_TIMEOUT}"))
}

/// The API server evaluates selectors and conditions: only their shape is checked here.
fn document_fault(place: &str, name: &str, value: &Value) -> Option<String> {
    let sound = if name == "matchConditions" {
        let texts = |condition: &Map<String, Value>| {
            condition.len() == 2
                && ["name", "expression"].iter().all(|key| condition.get(*key).is_some_and(Value::is_string))
        };
        value.as_array().is_some_and(|list| list.iter().all(|one| one.as_object().is_some_and(texts)))
    } else {
        value.as_object().is_some_and(|selector| {
            selector.iter().all(|(key, value)| match key.as_str() {
                "matchLabels" => value.as_object().is_some_and(|labels| labels.values().all(Value::is_string)),
                "matchExpressions" => value.as_array().is_some_and(|list| list.iter().all(Value::is_object)),
                _ => false,
            })
        })
    };
    let shape = if name == "matchConditions" {
        "a list of name and expression"
    } else {
        "a label selector: matchLabels, matchExpressions"
    };
    (!sound).then(|| format!("{place}.{name} must be {shape}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(change: &Value) -> AdmissionRule {
        let mut rule =
            json!({"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]});
        json_patch::merge(&mut rule, change);
        serde_json::from_value(rule).unwrap()
    }

    fn grant(change: &Value) -> GrantedAdmission {
        let mut grant = json!({"operations": ["CREATE"], "apiGroups": [""], "resources": ["pods"]});
        json_patch::merge(&mut grant, change);
        serde_json::from_value(grant).unwrap()
    }

    #[test]
    fn a_rule_is_granted_as_a_whole_or_not_at_all() {
        for (granted, asked, expected) in [
            (json!({}), json!({}), true),
            (json!({"operations": ["*"]}), json!({"operations": ["CREATE", "DELETE"]}), true),
            (json!({}), json!({"operations": ["*"]}), false),
            (json!({}), json!({"operations": ["CREATE", "UPDATE"]}), false),
            (json!({}), json!({"apiGroups": ["apps"]}), false),
            (json!({"apiGroups": ["*"]}), json!({"apiGroups": ["", "apps"]}), true),
            (json!({"resources": ["*"]}), json!({"resources": ["pods", "services"]}), true),
            (json!({"resources": ["*"]}), json!({"resources": ["pods/status"]}), false),
            (json!({"resources": ["pods/*"]}), json!({"resources": ["pods/status"]}), true),
            (json!({"resources": ["pods/*"]}), json!({"resources": ["pods"]}), false),
            (json!({"resources": ["*/*"]}), json!({"resources": ["pods", "pods/status"]}), true),
            (json!({"resources": ["*/scale"]}), json!({"resources": ["deployments/scale"]}), true),
        ] {
            assert_eq!(covers(&grant(&granted), &rule(&asked)), expected, "{granted} {asked}");
        }
    }

    #[test]
    fn the_terms_of_the_grant_count_and_narrow() {
        let asked = rule(&json!({"failurePolicy": "Fail", "timeoutSeconds": 5,
            "namespaceSelector": {"matchLabels": {"a": "1"}}, "matchConditions": [{"name": "x", "expression": "true"}]}));
        let granting = grant(&json!({"failurePolicy": "Ignore",
            "namespaceSelector": {"matchExpressions": [{"key": "b", "operator": "Exists"}]},
            "matchConditions": [{"name": "x", "expression": "false"}]}));
        let rule = on_the_terms_of(&granting, &asked);
        assert_eq!((rule.failure_policy.as_deref(), rule.timeout_seconds), (Some("Ignore"), Some(5)));
        assert_eq!(
            rule.namespace_selector.unwrap(),
            json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}, {"key": "b", "operator": "Exists"}]})
        );
        let names: Vec<Value> =
            rule.match_conditions.unwrap().as_array().unwrap().iter().map(|c| c["name"].clone()).collect();
        assert_eq!(names, ["x", "x-of-the-grant"]);
        assert!(rule.object_selector.is_none());
    }

    #[test]
    fn what_makes_no_sense_is_named_by_its_place() {
        let faults = |change: &Value| fault(3, &rule(change));
        assert_eq!(faults(&json!({})), Vec::<String>::new());
        for (change, expected) in [
            (json!({"operations": []}), "admission[3].operations is empty: the rule would match nothing"),
            (
                json!({"operations": ["create"]}),
                "admission[3].operations holds \"create\"; there are CREATE, UPDATE, DELETE, CONNECT, *",
            ),
            (
                json!({"failurePolicy": "Perhaps"}),
                "admission[3].failurePolicy holds \"Perhaps\"; there are Fail, Ignore",
            ),
            (json!({"timeoutSeconds": 31}), "admission[3].timeoutSeconds is 31, must be 1 to 30"),
            (
                json!({"objectSelector": {"labels": {}}}),
                "admission[3].objectSelector must be a label selector: matchLabels, matchExpressions",
            ),
            (
                json!({"matchConditions": [{"name": "x"}]}),
                "admission[3].matchConditions must be a list of name and expression",
            ),
            (
                json!({"validate": true, "reinvocationPolicy": "Never"}),
                "admission[3].reinvocationPolicy is for rules that change objects; this one validates",
            ),
        ] {
            assert_eq!(faults(&change), [expected], "{change}");
        }
        assert_eq!(
            granted_fault(0, &grant(&json!({"timeoutSeconds": 0}))).unwrap(),
            "admission[0].timeoutSeconds is 0, must be 1 to 30"
        );
    }
}
