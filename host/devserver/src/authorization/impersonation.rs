//! `Impersonate-User` and its companions: a request done as somebody else.
//!
//! # Source
//!
//! Kubernetes `apiserver/pkg/endpoints/filters/impersonation`.

use std::collections::BTreeMap;

use http::HeaderMap;

use super::{Action, require};
use crate::{
    api::Api,
    authentication::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User, service_account_groups, split_service_account},
    path,
    status::{ApiError, Result},
};

const EXTRA: &str = "impersonate-extra-";

/// The user a request is made as: the one of its headers, if the requester may impersonate all that they name.
pub(crate) fn user(api: &Api, requester: User, headers: &HeaderMap) -> Result<User> {
    let Some(mut wanted) = asked(headers)? else { return Ok(requester) };
    for action in actions(&wanted) {
        require(api, &requester, &action)?;
    }
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
    Ok(wanted)
}

/// What the headers say; `None` when there are none.
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

/// What the requester must be allowed to do, one for everything that is named.
fn actions(wanted: &User) -> Vec<Action> {
    const OTHERS: &str = "authentication.k8s.io";
    let impersonate = |group: &str, resource: &str, subresource: &str, namespace: &str, name: &str| Action::Object {
        verb: "impersonate".to_owned(),
        group: group.to_owned(),
        resource: resource.to_owned(),
        subresource: subresource.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let mut out = vec![match split_service_account(&wanted.name) {
        Some((namespace, name)) => impersonate("", "serviceaccounts", "", namespace, name),
        None => impersonate("", "users", "", "", &wanted.name),
    }];
    out.extend(wanted.groups.iter().map(|group| impersonate("", "groups", "", "", group)));
    for (key, values) in &wanted.extra {
        out.extend(values.iter().map(|value| impersonate(OTHERS, "userextras", key, "", value)));
    }
    if !wanted.uid.is_empty() {
        out.push(impersonate(OTHERS, "uids", "", "", &wanted.uid));
    }
    out
}

/// The user as the API server prints it in this one message.
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
        let needed: Vec<String> = actions(&user).iter().map(ToString::to_string).collect();
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
            actions(&account)[0].to_string().ends_with("\"serviceaccounts\" in API group \"\" in the namespace \"ns\"")
        );
    }
}
