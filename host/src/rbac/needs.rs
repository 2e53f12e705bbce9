//! Permissions with their reasons, combined into the fewest equivalent rules.

use crate::grants::{Permission, VERBS};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Permissions, with the reasons for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs(BTreeMap<Permission, BTreeSet<Reason>>);

/// The plugin that needs a permission, and the purpose.
type Reason = (String, String);

/// An RBAC rule about one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Empty: everywhere.
    pub namespace: String,
    /// API group.
    pub group: String,
    /// Plural, with `/subresource` for a subresource.
    pub resource: String,
    /// Empty: any name.
    pub names: Vec<String>,
    /// In the order of [`VERBS`], others after them.
    pub verbs: Vec<String>,
    /// Plugin, purpose, and its verbs.
    pub reasons: Vec<(String, String, Vec<String>)>,
}

impl Needs {
    /// Adds some verbs on a resource, for objects of any name.
    ///
    /// * `namespace` - empty: everywhere.
    pub(super) fn add(
        &mut self,
        plugin: &str,
        why: &str,
        namespace: &str,
        group: &str,
        resource: &str,
        verbs: &[&str],
    ) {
        for verb in verbs {
            let permission = Permission {
                namespace: namespace.to_owned(),
                group: group.to_owned(),
                resource: resource.to_owned(),
                name: String::new(),
                verb: (*verb).to_owned(),
            };
            self.insert(permission, plugin, why);
        }
    }

    pub(super) fn insert(&mut self, permission: Permission, plugin: &str, why: &str) {
        self.0.entry(permission).or_default().insert((plugin.to_owned(), why.to_owned()));
    }

    /// Adds other permissions.
    pub fn extend(&mut self, others: Self) {
        for (permission, reasons) in others.0 {
            self.0.entry(permission).or_default().extend(reasons);
        }
    }

    /// The single permissions, in order.
    pub fn permissions(&self) -> impl ExactSizeIterator<Item = &Permission> {
        self.0.keys()
    }

    /// Only the permissions that `wanted` accepts.
    #[must_use]
    pub fn only(&self, wanted: impl Fn(&Permission) -> bool) -> Self {
        let wanted = self.0.iter().filter(|(permission, _)| wanted(permission));
        Self(wanted.map(|(permission, reasons)| (permission.clone(), reasons.clone())).collect())
    }

    /// The same without permissions that a wider one includes; the wider one takes over their reasons.
    #[must_use]
    pub fn minimal(&self) -> Self {
        let mut least = Self::default();
        for (permission, reasons) in &self.0 {
            // Two permissions never include each other, so that following the widest ends.
            let mut widest = permission;
            while let Some(wider) = self.0.keys().find(|other| includes(other, widest)) {
                widest = wider;
            }
            least.0.entry(widest.clone()).or_default().extend(reasons.iter().cloned());
        }
        least
    }

    /// The permissions that `other` neither has nor includes in a wider one.
    #[must_use]
    pub fn beyond(&self, other: &Self) -> Self {
        let has = |permission: &Permission| {
            other.0.contains_key(permission) || other.0.keys().any(|wide| includes(wide, permission))
        };
        self.only(|permission| !has(permission))
    }

    /// One rule for all verbs on a resource, and for all names with the same verbs; in the order of namespaces, groups, resources.
    #[must_use]
    pub fn rules(&self) -> Vec<Rule> {
        let mut verbs: BTreeMap<_, Verbs<'_>> = BTreeMap::new();
        for (permission, reasons) in &self.0 {
            let Permission { namespace, group, resource, name, verb } = permission;
            verbs.entry((namespace, group, resource, name)).or_default().insert(rank(verb), (verb, reasons));
        }
        let mut names: BTreeMap<_, Vec<&String>> = BTreeMap::new();
        for ((namespace, group, resource, name), verbs) in verbs {
            names.entry((namespace, group, resource, verbs)).or_default().push(name);
        }
        let rule =
            |((namespace, group, resource, verbs), names): ((&String, &String, &String, Verbs<'_>), Vec<&String>)| {
                Rule {
                    namespace: namespace.clone(),
                    group: group.clone(),
                    resource: resource.clone(),
                    names: names.into_iter().filter(|name| !name.is_empty()).cloned().collect(),
                    verbs: verbs.values().map(|(verb, _)| (*verb).to_owned()).collect(),
                    reasons: reasons(&verbs),
                }
            };
        names.into_iter().map(rule).collect()
    }
}

impl fmt::Display for Rule {
    /// `get, list configmaps (core) in team-a named x, y`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = if self.group.is_empty() { "core" } else { &self.group };
        write!(f, "{} {} ({group})", self.verbs.join(", "), self.resource)?;
        if !self.namespace.is_empty() {
            write!(f, " in {}", self.namespace)?;
        }
        if !self.names.is_empty() {
            write!(f, " named {}", self.names.join(", "))?;
        }
        Ok(())
    }
}

/// Verbs in their order, with the reasons for each.
type Verbs<'a> = BTreeMap<usize, (&'a str, &'a BTreeSet<Reason>)>;

/// The verbs of each reason.
fn reasons(verbs: &Verbs<'_>) -> Vec<(String, String, Vec<String>)> {
    let mut reasons: BTreeMap<&Reason, Vec<String>> = BTreeMap::new();
    for (verb, why) in verbs.values() {
        for reason in *why {
            reasons.entry(reason).or_default().push((*verb).to_owned());
        }
    }
    reasons.into_iter().map(|((plugin, why), verbs)| (plugin.clone(), why.clone(), verbs)).collect()
}

/// Unknown verbs come last, at one rank: at most `impersonate` and `*` are among them, never on one resource.
fn rank(verb: &str) -> usize {
    VERBS.iter().position(|v| *v == verb).unwrap_or(if verb == "*" { VERBS.len() } else { VERBS.len() + 1 })
}

/// Whether `wide` includes `narrow` and differs from it.
fn includes(wide: &Permission, narrow: &Permission) -> bool {
    let in_any = |wide: &str, narrow: &str, any: &str| wide == any || wide == narrow;
    wide != narrow
        && in_any(&wide.namespace, &narrow.namespace, "")
        && in_any(&wide.group, &narrow.group, "*")
        && in_any(&wide.resource, &narrow.resource, "*")
        && in_any(&wide.name, &narrow.name, "")
        && in_any(&wide.verb, &narrow.verb, "*")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(list: &[(&str, &str, &str, &str, &str)]) -> Needs {
        let mut needs = Needs::default();
        for (plugin, namespace, resource, name, verb) in list {
            let [namespace, resource, name, verb] = [namespace, resource, name, verb].map(|text| (*text).to_owned());
            let permission = Permission { namespace, group: "g".to_owned(), resource, name, verb };
            needs.insert(permission, plugin, "granted");
        }
        needs
    }

    #[test]
    fn verbs_and_names_that_go_together_are_one_rule() {
        let rules = needs(&[
            ("p", "", "a", "x", "get"),
            ("p", "", "a", "y", "get"),
            ("q", "", "b", "", "watch"),
            ("p", "", "b", "", "list"),
            ("p", "", "b", "", "watch"),
        ])
        .rules();
        assert_eq!(rules.len(), 2);
        assert_eq!(
            (&rules[0].names[..], &rules[0].verbs[..]),
            (&["x".to_owned(), "y".to_owned()][..], &["get".to_owned()][..])
        );
        assert_eq!(rules[1].verbs, ["list", "watch"]);
        let both = vec!["list".to_owned(), "watch".to_owned()];
        let granted = |plugin: &str, verbs| (plugin.to_owned(), "granted".to_owned(), verbs);
        assert_eq!(rules[1].reasons, [granted("p", both), granted("q", vec!["watch".to_owned()])]);
    }

    #[test]
    fn a_permission_that_others_include_is_not_beyond_them() {
        let before = needs(&[("p", "", "a", "", "get"), ("p", "n", "b", "x", "get")]);
        let after = needs(&[("q", "n", "a", "y", "get"), ("q", "n", "b", "", "get"), ("q", "n", "b", "", "list")]);
        let beyond: Vec<String> = after.beyond(&before).minimal().rules().iter().map(ToString::to_string).collect();
        assert_eq!(beyond, ["get, list b (g) in n"]);
        assert_eq!(before.beyond(&after).rules()[0].to_string(), "get a (g)");
        assert_eq!(needs(&[("p", "", "a", "x", "get")]).rules()[0].to_string(), "get a (g) named x");
    }

    #[test]
    fn what_a_wider_permission_includes_is_not_said_again() {
        let all = needs(&[
            ("p", "", "a", "", "get"),
            ("q", "n", "a", "", "get"),
            ("q", "n", "a", "x", "get"),
            ("q", "n", "a", "", "list"),
            ("r", "", "*", "", "list"),
        ]);
        let rules = all.minimal().rules();
        let shown: Vec<_> =
            rules.iter().map(|r| (r.namespace.as_str(), r.resource.as_str(), r.reasons.len())).collect();
        assert_eq!(shown, [("", "*", 2), ("", "a", 2)]);
    }
}
