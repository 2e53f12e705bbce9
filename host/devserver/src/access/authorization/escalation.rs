//! Escalation checks: writing a role needs its rules, or the verb `escalate` on it; binding a role needs its rules, or the verb `bind` on
//! it.
//!
//! # Source
//!
//! Kubernetes `pkg/registry/rbac/*/policybased/storage.go` and `pkg/registry/rbac/validation`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Action, Authorizer, bindings, rules::Rule};
use crate::{
    model::{
        kinds::{RBAC_GROUP, Resource},
        status::{ApiError, Result},
        user::User,
    },
    store::Key,
};

/// Answers 403 when the new role or binding gives more than the writer has. Other kinds pass.
pub(crate) fn check(
    authorizer: &Authorizer,
    user: &User,
    resource: &Resource,
    key: &Key,
    object: &Value,
) -> Result<()> {
    if resource.group != RBAC_GROUP {
        return Ok(());
    }
    let forbidden = |why: &str| Err(ApiError::forbidden(RBAC_GROUP, &resource.plural, &key.name, why));
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let permitted = |verb: &str, plural: &str, name: &str| {
        let action = Action::Object {
            verb: verb.to_owned(),
            group: RBAC_GROUP.to_owned(),
            resource: plural.to_owned(),
            subresource: String::new(),
            namespace: key.namespace.clone(),
            name: name.to_owned(),
        };
        authorizer.decide(user, &action).allowed
    };
    let rules = match resource.plural.as_str() {
        "roles" | "clusterroles" if permitted("escalate", &resource.plural, &key.name) => return Ok(()),
        "roles" | "clusterroles" => {
            if object.get("aggregationRule").is_some() && !lacking(authorizer, user, "", &Rule::everything()).is_empty()
            {
                return forbidden("must have cluster-admin privileges to use the aggregationRule");
            }
            Rule::of_role(object)
        }
        _ => {
            let (kind, name) = (text("/roleRef/kind"), text("/roleRef/name"));
            let plural = if kind == "Role" { "roles" } else { "clusterroles" };
            if permitted("bind", plural, name) {
                return Ok(());
            }
            match bindings::role_rules(authorizer, kind, &key.namespace, name) {
                Ok(rules) => rules,
                Err(_) => return Err(ApiError::not_found(RBAC_GROUP, &resource.plural, name)),
            }
        }
    };
    let lacking = lacking(authorizer, user, &key.namespace, &rules);
    if lacking.is_empty() {
        return Ok(());
    }
    let groups: Vec<String> = user.groups.iter().map(|g| format!("{g:?}")).collect();
    forbidden(&format!(
        "user {:?} (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{}",
        user.name,
        groups.join(" "),
        lacking.join("\n")
    ))
}

/// The parts of rules that a user lacks, as text.
fn lacking(authorizer: &Authorizer, user: &User, namespace: &str, rules: &[Rule]) -> Vec<String> {
    let held = bindings::held(authorizer, user, namespace);
    let missing = rules.iter().flat_map(Rule::actions).filter(|a| !held.rules().any(|r| r.allows(a)));
    let mut verbs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for action in missing {
        let (verb, what) = match action {
            Action::Url { verb, path } => (verb, format!("NonResourceURLs:[{path:?}]")),
            Action::Object { verb, group, resource, subresource, name, .. } => {
                let slash = if subresource.is_empty() { "" } else { "/" };
                let named = if name.is_empty() { String::new() } else { format!(", ResourceNames:[{name:?}]") };
                (verb, format!("APIGroups:[{group:?}], Resources:[\"{resource}{slash}{subresource}\"]{named}"))
            }
        };
        verbs.entry(what).or_default().push(format!("{verb:?}"));
    }
    verbs.into_iter().map(|(what, verbs)| format!("{{{what}, Verbs:[{}]}}", verbs.join(" "))).collect()
}
