//! Rules of a user, through bindings and roles.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value;

use super::{Authorizer, rules::Rule};
use crate::{
    model::{
        kinds::RBAC_GROUP,
        selector::{self, LabelSelector},
        status::qualified,
        user::{MASTERS, User, split_service_account},
    },
    store::{Key, Object},
};

/// The rules of one binding.
#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) rules: Vec<Rule>,
    /// `RoleBinding "b/ns" of Role "r" to User "jane"`
    pub(crate) source: String,
}

/// The rules of a user.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) grants: Vec<Grant>,
    /// Bindings to roles that do not exist.
    errors: Vec<String>,
}

impl Held {
    /// All rules.
    pub(crate) fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.grants.iter().flat_map(|g| &g.rules)
    }

    /// Why permissions may be missing: `clusterrole.rbac.authorization.k8s.io "x" not found`, mostly empty.
    pub(crate) fn problems(&self) -> String {
        match self.errors.as_slice() {
            [] => String::new(),
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        }
    }

    fn add(&mut self, authorizer: &Authorizer, user: &User, binding: &Value, namespace: &str) {
        let mut subjects = binding.get("subjects").and_then(Value::as_array).into_iter().flatten();
        let Some(subject) = subjects.find(|s| applies(s, user, namespace)) else { return };
        let (kind, name) = (text(binding, "/roleRef/kind"), text(binding, "/roleRef/name"));
        match role_rules(authorizer, kind, namespace, name) {
            Ok(rules) => {
                let binding = text(binding, "/metadata/name");
                let title = if namespace.is_empty() {
                    format!("ClusterRoleBinding {binding:?}")
                } else {
                    format!("RoleBinding \"{binding}/{namespace}\"")
                };
                let source = format!("{title} of {kind} {name:?} to {}", describe(subject, namespace));
                self.grants.push(Grant { rules, source });
            }
            Err(error) if self.errors.contains(&error) => {}
            Err(error) => self.errors.push(error),
        }
    }
}

/// The rules of a user in a namespace, or with an empty namespace in the whole cluster.
pub(crate) fn held(authorizer: &Authorizer, user: &User, namespace: &str) -> Held {
    if user.is_in(MASTERS) {
        let everything = Grant { rules: Rule::everything(), source: String::new() };
        return Held { grants: vec![everything], ..Held::default() };
    }
    bound(authorizer, user, namespace)
}

/// The rules of a user from bindings.
pub(crate) fn bound(authorizer: &Authorizer, user: &User, namespace: &str) -> Held {
    let mut held = Held::default();
    for binding in list(authorizer, "clusterrolebindings", "") {
        held.add(authorizer, user, &binding.value, "");
    }
    if !namespace.is_empty() {
        for binding in list(authorizer, "rolebindings", namespace) {
            held.add(authorizer, user, &binding.value, namespace);
        }
    }
    held
}

/// The rules of a binding's role; `namespace` is that of the binding.
///
/// # Errors
///
/// The role does not exist, in the API server's words.
pub(crate) fn role_rules(
    authorizer: &Authorizer,
    kind: &str,
    namespace: &str,
    name: &str,
) -> Result<Vec<Rule>, String> {
    let (plural, namespace) = match kind {
        "Role" => ("roles", namespace),
        "ClusterRole" => ("clusterroles", ""),
        other => return Err(format!("unsupported role reference kind: {other:?}")),
    };
    let role = authorizer
        .store
        .existing(&qualified(plural, RBAC_GROUP))
        .and_then(|resource_store| resource_store.get(&Key::new(namespace, name)));
    match role {
        Some(role) => Ok(all_rules(authorizer, &role.value, &mut BTreeSet::new())),
        None => Err(format!("{}.{RBAC_GROUP} {name:?} not found", kind.to_lowercase())),
    }
}

/// The rules of a role. With an `aggregationRule`, the rules of the selected ClusterRoles instead, which a controller copies in a
/// cluster.
fn all_rules(authorizer: &Authorizer, role: &Value, seen: &mut BTreeSet<String>) -> Vec<Rule> {
    let selectors = role.pointer("/aggregationRule/clusterRoleSelectors").and_then(Value::as_array);
    let Some(selectors) = selectors.filter(|_| authorizer.aggregates) else { return Rule::of_role(role) };
    if !seen.insert(text(role, "/metadata/name").to_owned()) {
        return Vec::new();
    }
    let parsed: Vec<LabelSelector> =
        selectors.iter().filter_map(|s| LabelSelector::parse(&selector::to_text(Some(s))).ok()).collect();
    let mut rules = Vec::new();
    for other in list(authorizer, "clusterroles", "") {
        if parsed.iter().any(|s| s.matches(&other.value)) {
            rules.extend(all_rules(authorizer, &other.value, seen));
        }
    }
    rules
}

fn list(authorizer: &Authorizer, plural: &str, namespace: &str) -> Vec<Arc<Object>> {
    authorizer
        .store
        .existing(&qualified(plural, RBAC_GROUP))
        .map(|resource_store| resource_store.list(namespace).objects)
        .unwrap_or_default()
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The namespace of a ServiceAccount subject: its own, else that of the binding.
fn account_namespace<'a>(subject: &'a Value, binding: &'a str) -> &'a str {
    match text(subject, "/namespace") {
        "" => binding,
        own => own,
    }
}

/// Whether a subject of a binding is this user.
fn applies(subject: &Value, user: &User, namespace: &str) -> bool {
    let name = text(subject, "/name");
    match text(subject, "/kind") {
        "User" => user.name == name,
        "Group" => user.is_in(name),
        "ServiceAccount" => split_service_account(&user.name) == Some((account_namespace(subject, namespace), name)),
        _ => false,
    }
}

fn describe(subject: &Value, namespace: &str) -> String {
    let (kind, name) = (text(subject, "/kind"), text(subject, "/name"));
    if kind == "ServiceAccount" {
        return format!("{kind} \"{name}/{}\"", account_namespace(subject, namespace));
    }
    format!("{kind} {name:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_subject_is_a_user_a_group_or_a_service_account() {
        let account = User::service_account("ns", "robot", "");
        let check = |subject: Value, namespace: &str| applies(&subject, &account, namespace);
        assert!(check(json!({"kind": "ServiceAccount", "name": "robot", "namespace": "ns"}), "other"));
        assert!(check(json!({"kind": "ServiceAccount", "name": "robot"}), "ns"));
        assert!(check(json!({"kind": "User", "name": "system:serviceaccount:ns:robot"}), ""));
        for group in ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"] {
            assert!(check(json!({"kind": "Group", "name": group}), ""), "{group}");
        }
        assert!(!check(json!({"kind": "ServiceAccount", "name": "robot"}), ""));
        assert!(!check(json!({"kind": "ServiceAccount", "name": "robot", "namespace": "other"}), "ns"));
        assert!(!check(json!({"kind": "User", "name": "robot"}), "ns"));
        assert!(!check(json!({"kind": "Group", "name": "system:serviceaccounts:other"}), "ns"));
        assert!(!check(json!({"kind": "Robot", "name": "robot"}), "ns"));
    }
}
