//! RBAC rules and actions: pure.
//!
//! # Source
//!
//! Kubernetes `pkg/apis/rbac/v1/evaluation_helpers.go` and KEP-1258 for the names of list and watch.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An action to authorize.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// An action on objects. Absent parts are empty; the namespace is that of the path.
    Object { verb: String, group: String, resource: String, subresource: String, namespace: String, name: String },
    /// Another path; the verb is the HTTP method in lower case.
    Url { verb: String, path: String },
}

/// A rule of a Role or ClusterRole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Rule {
    pub(crate) verbs: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) api_groups: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) resources: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) resource_names: Vec<String>,
    #[serde(rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub(crate) non_resource_urls: Vec<String>,
}

fn has(list: &[String], wanted: &str) -> bool {
    list.iter().any(|member| member == "*" || member == wanted)
}

impl Rule {
    /// The rules of a role; invalid entries are ignored.
    pub(crate) fn of_role(role: &Value) -> Vec<Self> {
        let rules = role.get("rules").and_then(Value::as_array).into_iter().flatten();
        rules.filter_map(|rule| Self::deserialize(rule).ok()).collect()
    }

    /// A rule that allows everything.
    pub(crate) fn everything() -> Vec<Self> {
        let any = || vec!["*".to_owned()];
        vec![
            Self { verbs: any(), api_groups: any(), resources: any(), ..Self::default() },
            Self { verbs: any(), non_resource_urls: any(), ..Self::default() },
        ]
    }

    /// Whether the rule allows an action.
    pub(crate) fn allows(&self, action: &Action) -> bool {
        match action {
            Action::Url { verb, path } => {
                has(&self.verbs, verb) && self.non_resource_urls.iter().any(|url| url_matches(url, path))
            }
            Action::Object { verb, group, resource, subresource, name, .. } => {
                has(&self.verbs, verb)
                    && has(&self.api_groups, group)
                    && self.resources.iter().any(|r| resource_matches(r, resource, subresource))
                    // Without a name (create, list), a rule with names allows nothing.
                    && (self.resource_names.is_empty() || self.resource_names.contains(name))
            }
        }
    }

    /// The single actions of a rule, with wildcards as they are: a user with all of them may grant the rule.
    pub(crate) fn actions(&self) -> Vec<Action> {
        let mut out = Vec::new();
        let unnamed = [String::new()];
        let names = if self.resource_names.is_empty() { &unnamed[..] } else { &self.resource_names };
        for verb in &self.verbs {
            for path in &self.non_resource_urls {
                out.push(Action::Url { verb: verb.clone(), path: path.clone() });
            }
            for (group, resource) in self.api_groups.iter().flat_map(|g| self.resources.iter().map(move |r| (g, r))) {
                let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
                out.extend(names.iter().map(|name| Action::Object {
                    verb: verb.clone(),
                    group: group.clone(),
                    resource: resource.to_owned(),
                    subresource: subresource.to_owned(),
                    namespace: String::new(),
                    name: name.clone(),
                }));
            }
        }
        out
    }
}

fn url_matches(url: &str, path: &str) -> bool {
    url == "*" || url == path || url.strip_suffix('*').is_some_and(|prefix| path.starts_with(prefix))
}

fn resource_matches(listed: &str, resource: &str, subresource: &str) -> bool {
    if subresource.is_empty() {
        return listed == "*" || listed == resource;
    }
    listed == "*"
        || listed
            .split_once('/')
            .is_some_and(|(parent, sub)| sub == subresource && (parent == "*" || parent == resource))
}

impl fmt::Display for Action {
    /// The caller adds `cannot` or `attempting to`: `list resource "pods" in API group "" in the namespace "x"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url { verb, path } => write!(f, "{verb} path {path:?}"),
            Self::Object { verb, group, resource, subresource, namespace, .. } => {
                let slash = if subresource.is_empty() { "" } else { "/" };
                write!(f, "{verb} resource \"{resource}{slash}{subresource}\" in API group {group:?} ")?;
                if namespace.is_empty() {
                    f.write_str("at the cluster scope")
                } else {
                    write!(f, "in the namespace {namespace:?}")
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rule(value: Value) -> Rule {
        serde_json::from_value(value).unwrap()
    }

    /// `list apps deployments/scale web`; `-` is empty.
    fn action(words: &str) -> Action {
        let words: Vec<String> = words.split(' ').map(|w| w.replace('-', "")).collect();
        let [verb, group, resource, name] = words.as_slice() else { panic!("four words") };
        let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
        Action::Object {
            verb: verb.clone(),
            group: group.clone(),
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            namespace: "ns".to_owned(),
            name: name.clone(),
        }
    }

    #[track_caller]
    fn check(rule: &Rule, allowed: &[&str], refused: &[&str]) {
        for words in allowed {
            assert!(rule.allows(&action(words)), "{words}");
        }
        for words in refused {
            assert!(!rule.allows(&action(words)), "{words}");
        }
    }

    #[test]
    fn verb_group_and_resource_must_all_match() {
        let rule =
            rule(json!({"apiGroups": ["", "apps"], "resources": ["pods", "deployments"], "verbs": ["get", "list"]}));
        check(
            &rule,
            &["get - pods a", "list apps deployments -"],
            &[
                "watch - pods -",
                "get x.io pods a",
                "get - secrets a",
                "get - pods/log a",
                "get apps deployments/scale a",
            ],
        );
    }

    #[test]
    fn stars_stand_for_all_verbs_groups_and_resources_with_their_subresources() {
        let all = rule(json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}));
        check(&all, &["get - pods a", "escalate x.io things/status -"], &[]);
        let scales = rule(json!({"apiGroups": ["apps"], "resources": ["*/scale"], "verbs": ["update"]}));
        check(
            &scales,
            &["update apps deployments/scale web"],
            &["update apps deployments web", "update apps deployments/status web", "update - things/scale web"],
        );
    }

    #[test]
    fn a_subresource_is_granted_by_its_own_name() {
        let status = rule(json!({"apiGroups": ["x.io"], "resources": ["nets/status"], "verbs": ["patch"]}));
        check(&status, &["patch x.io nets/status n"], &["patch x.io nets n", "patch x.io nets/scale n"]);
    }

    #[test]
    fn a_rule_with_names_allows_nothing_without_a_name() {
        let named =
            rule(json!({"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"], "resourceNames": ["a", "b"]}));
        check(
            &named,
            &["get - secrets a", "list - secrets b", "delete - secrets b"],
            &["get - secrets c", "list - secrets -", "create - secrets -", "deletecollection - secrets -"],
        );
    }

    #[test]
    fn urls_match_exactly_or_by_their_prefix() {
        let rule = rule(json!({"nonResourceURLs": ["/metrics", "/debug/*"], "verbs": ["get"]}));
        let may = |verb: &str, path: &str| rule.allows(&Action::Url { verb: verb.to_owned(), path: path.to_owned() });
        assert!(may("get", "/metrics") && may("get", "/debug/x/y") && may("get", "/debug/"));
        assert!(!may("post", "/metrics") && !may("get", "/metrics/x") && !may("get", "/debug"));
    }

    #[test]
    fn a_rule_for_objects_allows_no_url_and_the_other_way_round() {
        let all = Rule::everything();
        let url = Action::Url { verb: "get".to_owned(), path: "/x".to_owned() };
        assert!(!all[0].allows(&url) && all[1].allows(&url));
        assert!(all[0].allows(&action("get - pods a")) && !all[1].allows(&action("get - pods a")));
    }

    #[test]
    fn a_rule_is_handed_on_only_by_who_has_all_of_it() {
        let covered = |owner: Value, handed: Value| {
            let owner = rule(owner);
            rule(handed).actions().iter().all(|action| owner.allows(action))
        };
        let rule = |verbs: &[&str], resources: &[&str], names: &[&str]| json!({"apiGroups": [""], "verbs": verbs, "resources": resources, "resourceNames": names});
        assert!(covered(rule(&["*"], &["*"], &[]), rule(&["get", "*"], &["pods", "*", "*/scale"], &["x"])));
        assert!(covered(rule(&["get"], &["*/scale"], &[]), rule(&["get"], &["pods/scale", "*/scale"], &[])));
        assert!(!covered(rule(&["get"], &["pods"], &[]), rule(&["get", "list"], &["pods"], &[])));
        assert!(!covered(rule(&["get"], &["pods"], &[]), rule(&["*"], &["pods"], &[])));
        assert!(!covered(rule(&["get"], &["pods"], &[]), rule(&["get"], &["*"], &[])));
        assert!(!covered(rule(&["get"], &["pods"], &["a"]), rule(&["get"], &["pods"], &[])));
        assert!(!covered(rule(&["get"], &["pods"], &["a"]), rule(&["get"], &["pods"], &["a", "b"])));
    }
}
