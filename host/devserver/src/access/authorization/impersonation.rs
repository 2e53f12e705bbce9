//! Impersonation: `Impersonate-User` and its companion headers.
//!
//! # Source
//!
//! Kubernetes `apiserver/pkg/endpoints/filters/impersonation`.

use std::collections::BTreeMap;

use http::HeaderMap;

use super::{Action, Authorizer};
use crate::model::{
    names, path,
    status::{ApiError, Result},
    user::{ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User, service_account_groups, split_service_account},
};

const EXTRA: &str = "impersonate-extra-";
/// The API group for uids and extra fields of users, and for all parts with the newer verbs.
const OTHERS: &str = "authentication.k8s.io";
/// The group of all nodes.
const NODES: &str = "system:nodes";

/// The impersonated user of a request, if the requester may impersonate every part of its headers.
///
/// Either a permission for this type of user and this action suffices, or the older general permissions. The first denial is reported.
///
/// * `wants` - the action of the request.
pub(crate) fn user(authorizer: &Authorizer, requester: User, headers: &HeaderMap, wants: &Action) -> Result<User> {
    let Some(wanted) = asked(headers)? else { return Ok(requester) };
    let Some(mode) = mode(&wanted) else { return legacy(authorizer, &requester, wanted) };
    match constrained(authorizer, &requester, &wanted, mode, wants) {
        Ok(()) => {
            let node = mode == "arbitrary-node";
            let groups = if node { vec![NODES.to_owned()] } else { wanted.groups.clone() };
            Ok(settled(User { groups, ..wanted }))
        }
        Err(first) => legacy(authorizer, &requester, wanted).map_err(|_second| first),
    }
}

/// The type of user for impersonation by action: nodes and service accounts only by name.
fn mode(wanted: &User) -> Option<&'static str> {
    let only_named = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
    if node_name(&wanted.name).is_some() {
        return only_named.then_some("arbitrary-node");
    }
    if split_service_account(&wanted.name).is_some() {
        return only_named.then_some("serviceaccount");
    }
    Some("user-info")
}

fn node_name(user: &str) -> Option<&str> {
    user.strip_prefix("system:node:").filter(|name| names::subdomain(name).is_empty())
}

fn constrained(authorizer: &Authorizer, requester: &User, wanted: &User, mode: &str, wants: &Action) -> Result<()> {
    let on = |verb: &str| format!("impersonate-on:{mode}:{verb}");
    let action = match wants.clone() {
        Action::Object { verb, group, resource, subresource, namespace, name } => {
            Action::Object { verb: on(&verb), group, resource, subresource, namespace, name }
        }
        Action::Url { verb, path } => Action::Url { verb: on(&verb), path },
    };
    authorizer.require(requester, &action)?;
    let never = |group: &String| group.is_empty() || group == MASTERS;
    if let Some(group) = wanted.groups.iter().find(|g| never(g)) {
        let which = if group.is_empty() { "empty string" } else { MASTERS };
        return Err(ApiError::forbidden(
            OTHERS,
            "groups",
            group,
            &format!("impersonating the {which} group is not allowed"),
        ));
    }
    actions(wanted, &format!("impersonate:{mode}"), OTHERS)
        .iter()
        .try_for_each(|action| authorizer.require(requester, action))
}

fn legacy(authorizer: &Authorizer, requester: &User, wanted: User) -> Result<User> {
    for action in actions(&wanted, "impersonate", "") {
        authorizer.require(requester, &action)?;
    }
    Ok(settled(wanted))
}

/// The user with the implied groups of its type.
fn settled(mut wanted: User) -> User {
    if wanted.groups.is_empty()
        && let Some((namespace, _)) = split_service_account(&wanted.name)
    {
        wanted.groups = service_account_groups(namespace);
    }
    let known = wanted.is_in(UNAUTHENTICATED) || wanted.name != ANONYMOUS && wanted.is_in(AUTHENTICATED);
    if !known {
        let group = if wanted.name == ANONYMOUS { UNAUTHENTICATED } else { AUTHENTICATED };
        wanted.groups.push(group.to_owned());
    }
    wanted
}

/// The user in the headers; `None` without any.
fn asked(headers: &HeaderMap) -> Result<Option<User>> {
    let all = |name: &str| -> Vec<String> {
        headers.get_all(name).iter().map(|v| String::from_utf8_lossy(v.as_bytes()).into_owned()).collect()
    };
    let first = |name: &str| all(name).into_iter().next().unwrap_or_default();
    let mut extra = BTreeMap::new();
    for name in headers.keys() {
        if let Some(key) = name.as_str().strip_prefix(EXTRA) {
            extra.insert(path::decode(key), all(name.as_str()));
        }
    }
    let user = User {
        name: first("impersonate-user"),
        uid: first("impersonate-uid"),
        groups: all("impersonate-group"),
        extra,
    };
    if user == User::default() {
        return Ok(None);
    }
    if user.name.is_empty() {
        let message = format!("requested {} without impersonating a user name", go_syntax(&user));
        return Err(ApiError::bad_request(message));
    }
    Ok(Some(user))
}

/// The permissions that the requester needs, one for each part.
///
/// * `named` - the API group of users, groups, service accounts and nodes.
fn actions(wanted: &User, verb: &str, named: &str) -> Vec<Action> {
    let impersonate = |group: &str, resource: &str, subresource: &str, namespace: &str, name: &str| Action::Object {
        verb: verb.to_owned(),
        group: group.to_owned(),
        resource: resource.to_owned(),
        subresource: subresource.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let mut out = vec![match split_service_account(&wanted.name) {
        Some((namespace, name)) => impersonate(named, "serviceaccounts", "", namespace, name),
        None => match node_name(&wanted.name).filter(|_| !named.is_empty()) {
            Some(node) => impersonate(named, "nodes", "", "", node),
            None => impersonate(named, "users", "", "", &wanted.name),
        },
    }];
    out.extend(wanted.groups.iter().map(|group| impersonate(named, "groups", "", "", group)));
    for (key, values) in &wanted.extra {
        out.extend(values.iter().map(|value| impersonate(OTHERS, "userextras", key, "", value)));
    }
    if !wanted.uid.is_empty() {
        out.push(impersonate(OTHERS, "uids", "", "", &wanted.uid));
    }
    out
}

/// The user as printed in this one message of the API server.
fn go_syntax(user: &User) -> String {
    let list = |values: &[String]| {
        let quoted: Vec<String> = values.iter().map(|v| format!("{v:?}")).collect();
        if values.is_empty() { "[]string(nil)".to_owned() } else { format!("[]string{{{}}}", quoted.join(", ")) }
    };
    let entries: Vec<String> = user.extra.iter().map(|(k, v)| format!("{k:?}:{}", list(v))).collect();
    let extra = if entries.is_empty() { "(nil)".to_owned() } else { format!("{{{}}}", entries.join(", ")) };
    format!(
        "&user.DefaultInfo{{Name:{:?}, UID:{:?}, Groups:{}, Extra:map[string][]string{extra}}}",
        user.name,
        user.uid,
        list(&user.groups)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_named_needs_a_permission() {
        let extra = BTreeMap::from([("scope".to_owned(), vec!["read".to_owned()])]);
        let user = User { name: "kim".to_owned(), uid: "u".to_owned(), groups: vec!["devs".to_owned()], extra };
        let needed: Vec<String> = actions(&user, "impersonate", "").iter().map(ToString::to_string).collect();
        assert_eq!(
            needed,
            [
                "impersonate resource \"users\" in API group \"\" at the cluster scope",
                "impersonate resource \"groups\" in API group \"\" at the cluster scope",
                "impersonate resource \"userextras/scope\" in API group \"authentication.k8s.io\" at the cluster scope",
                "impersonate resource \"uids\" in API group \"authentication.k8s.io\" at the cluster scope",
            ]
        );
        let account = User::service_account("ns", "robot", "");
        assert!(
            actions(&account, "impersonate", "")[0]
                .to_string()
                .ends_with("\"serviceaccounts\" in API group \"\" in the namespace \"ns\"")
        );
    }
}
