//! Single permissions: split from rules, and combined again for people.

use super::asked::Place;
use super::{OBJECT_VERBS, VERBS};
use oarlock_manifest::PolicyRule;
use std::collections::{BTreeMap, BTreeSet};

/// Most single permissions of a set of rules. Rules are products of lists: a small document may mean millions.
pub const PERMISSIONS: usize = 4096;

/// One verb on one resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permission {
    /// Empty: everywhere.
    pub namespace: String,
    /// API group; empty for the core group, `*` for all.
    pub group: String,
    /// Plural, with `/subresource` for a subresource, or `*`.
    pub resource: String,
    /// Empty: any name.
    pub name: String,
    /// One of [`VERBS`], or `*`.
    pub verb: String,
}

/// The number of single permissions in rules.
pub(super) fn count<'a>(rules: impl IntoIterator<Item = &'a PolicyRule>) -> usize {
    let of = |list: &[String]| list.len().max(1);
    let each = rules.into_iter().map(|rule| {
        [&rule.api_groups, &rule.resources, &rule.verbs, &rule.resource_names, &rule.namespaces]
            .iter()
            .map(|list| of(list))
            .fold(1_usize, usize::saturating_mul)
    });
    each.fold(0, usize::saturating_add)
}

/// The single permissions of a rule, at most [`PERMISSIONS`], with each of [`OBJECT_VERBS`] for `*`.
pub(super) fn each_verb(rule: &PolicyRule) -> Vec<Permission> {
    if !rule.verbs.iter().any(|v| v == "*") {
        return each(rule);
    }
    each(&PolicyRule { verbs: OBJECT_VERBS.map(str::to_owned).to_vec(), ..rule.clone() })
}

/// The single permissions of a rule, at most [`PERMISSIONS`].
#[must_use]
pub fn each(rule: &PolicyRule) -> Vec<Permission> {
    let any = [String::new()];
    let or_any = |list: &'_ [String]| if list.is_empty() { any.to_vec() } else { list.to_vec() };
    let (namespaces, names) = (or_any(&rule.namespaces), or_any(&rule.resource_names));
    let all = rule.api_groups.iter().flat_map(|group| {
        let (verbs, namespaces, names) = (&rule.verbs, &namespaces, &names);
        rule.resources.iter().flat_map(move |resource| {
            namespaces.iter().flat_map(move |namespace| {
                names.iter().flat_map(move |name| {
                    verbs.iter().map(move |verb| Permission {
                        group: group.clone(),
                        resource: resource.clone(),
                        namespace: namespace.clone(),
                        name: name.clone(),
                        verb: verb.clone(),
                    })
                })
            })
        })
    });
    all.take(PERMISSIONS).collect()
}

/// Whether the rules allow a permission as a whole. A permission for all namespaces (or names) counts as allowed if some are, because the
/// operator may narrow it.
pub(super) fn allowed(rules: &[PolicyRule], asked: &Permission) -> bool {
    let narrowed =
        |list: &[String], wanted: &str| list.is_empty() || wanted.is_empty() || list.iter().any(|l| l == wanted);
    rules.iter().any(|rule| {
        super::covers(&rule.verbs, &asked.verb)
            && super::covers(&rule.api_groups, &asked.group)
            && super::covers(&rule.resources, &asked.resource)
            && narrowed(&rule.namespaces, &asked.namespace)
            && narrowed(&rule.resource_names, &asked.name)
    })
}

/// One line for all verbs, namespaces and names that belong together, in the order of groups and resources: `permissions: get, list
/// networks (samplecrd.k8s.io) named x in a, b [primary]`.
pub(super) fn lines(permissions: impl IntoIterator<Item = (Place, Permission)>) -> Vec<String> {
    // Grouped by verbs of one resource, namespace and name; then by namespaces with the same verbs; then by names with the same of both.
    let mut verbs: BTreeMap<_, BTreeSet<usize>> = BTreeMap::new();
    for (place, p) in permissions {
        let rank = VERBS.iter().position(|v| *v == p.verb).unwrap_or(VERBS.len());
        verbs.entry((place, p.group, p.resource, p.name, p.namespace)).or_default().insert(rank);
    }
    let mut namespaces: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for ((place, group, resource, name, namespace), verbs) in verbs {
        namespaces.entry((place, group, resource, verbs, name)).or_default().push(namespace);
    }
    let mut names: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for ((place, group, resource, verbs, name), namespaces) in namespaces {
        names.entry((place, group, resource, verbs, namespaces)).or_default().push(name);
    }
    let line =
        |((place, group, resource, verbs, namespaces), names): ((_, String, _, BTreeSet<usize>, Vec<_>), Vec<_>)| {
            let verbs: Vec<&str> = verbs.iter().map(|rank| VERBS.get(*rank).copied().unwrap_or("*")).collect();
            let group = if group.is_empty() { "core".to_owned() } else { group };
            let mut line = format!("permissions: {} {resource} ({group})", verbs.join(", "));
            for (word, list) in [("named", names), ("in", namespaces)] {
                if list.iter().any(|one: &String| !one.is_empty()) {
                    line.push_str(&format!(" {word} {}", list.join(", ")));
                }
            }
            line.push_str(match place {
                Place::Primary => " [primary]",
                Place::Watch => " [watch]",
                Place::Permissions => "",
            });
            line
        };
    names.into_iter().map(line).collect()
}
