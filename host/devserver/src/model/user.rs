//! Users: names, groups, service accounts.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The group with all permissions.
pub(crate) const MASTERS: &str = "system:masters";
/// The group of all authenticated users.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// The group of anonymous users.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of anonymous users.
pub(crate) const ANONYMOUS: &str = "system:anonymous";

/// The user of a request, or the user that it impersonates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) groups: Vec<String>,
    pub(crate) extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// The user of a request without credentials, and of the server itself.
    pub(crate) fn admin() -> Self {
        let groups = vec![MASTERS.to_owned(), AUTHENTICATED.to_owned()];
        Self { name: "system:admin".to_owned(), groups, ..Self::default() }
    }

    /// The user of a request without credentials, with anonymous authentication.
    pub(crate) fn anonymous() -> Self {
        Self { name: ANONYMOUS.to_owned(), groups: vec![UNAUTHENTICATED.to_owned()], ..Self::default() }
    }

    /// A service account.
    pub(crate) fn service_account(namespace: &str, name: &str, uid: &str) -> Self {
        let mut groups = service_account_groups(namespace);
        groups.push(AUTHENTICATED.to_owned());
        let name = format!("system:serviceaccount:{namespace}:{name}");
        Self { name, uid: uid.to_owned(), groups, extra: BTreeMap::new() }
    }

    /// Whether the user is in a group.
    pub(crate) fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|g| g == group)
    }

    /// The `UserInfo` of reviews, without empty fields.
    pub(crate) fn to_value(&self) -> Value {
        let mut value = json!({"username": self.name, "groups": self.groups});
        if let Some(map) = value.as_object_mut() {
            if !self.uid.is_empty() {
                map.insert("uid".to_owned(), self.uid.clone().into());
            }
            if !self.extra.is_empty() {
                map.insert("extra".to_owned(), json!(self.extra));
            }
        }
        value
    }
}

/// Namespace and name of `system:serviceaccount:NAMESPACE:NAME`.
pub(crate) fn split_service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    (!namespace.is_empty() && !name.is_empty() && !name.contains(':')).then_some((namespace, name))
}

/// The groups every service account of a namespace is in.
pub(crate) fn service_account_groups(namespace: &str) -> Vec<String> {
    vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_service_accounts_are_taken_apart() {
        assert_eq!(split_service_account("system:serviceaccount:ns:sa"), Some(("ns", "sa")));
        for other in ["jane", "system:serviceaccount:ns", "system:serviceaccount::sa", "system:serviceaccount:a:b:c"] {
            assert_eq!(split_service_account(other), None);
        }
    }
}
