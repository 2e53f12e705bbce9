//! The kinds of a plan: what the grants of the plugins name, as the cluster serves it.

use super::inputs::{Plugin, versions};
use super::primaries;
use oarlock::api::{GroupVersionKind, Resource};
use oarlock_manifest::PolicyRule;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A kind of the cluster.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    pub(super) resource: Resource,
    /// The lists that cover what the grants allow.
    pub(super) lists: BTreeSet<List>,
}

/// One list of a kind. None: all namespaces, all names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct List {
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
}

impl List {
    /// Everything.
    pub(super) const ALL: Self = Self { namespace: None, name: None };

    /// Whether this list contains the other.
    fn contains(&self, other: &Self) -> bool {
        let within = |mine: &Option<String>, its: &Option<String>| mine.is_none() || mine == its;
        self != other && within(&self.namespace, &other.namespace) && within(&self.name, &other.name)
    }
}

impl Kind {
    pub(super) fn new(gvk: GroupVersionKind, plural: &str, namespaced: bool) -> Self {
        let plural = plural.to_owned();
        let resource = Resource { gvk, plural, namespaced, verbs: Vec::new(), subresources: Vec::new() };
        Self { resource, lists: BTreeSet::new() }
    }

    /// Adds what a rule allows.
    fn extend(&mut self, rule: &PolicyRule) {
        let each = |names: &[String]| match names {
            [] => vec![None],
            names => names.iter().cloned().map(Some).collect(),
        };
        let namespaces = if self.resource.namespaced { each(&rule.namespaces) } else { vec![None] };
        for namespace in namespaces {
            for name in each(&rule.resource_names) {
                self.lists.insert(List { namespace: namespace.clone(), name });
            }
        }
    }
}

/// The kinds that the grants name, and the primaries that the plugins drop, as the cluster serves them.
///
/// * `old` - the plugins that run now.
/// * `problems` - gets a sentence about each group that cannot be asked for.
///
/// # Errors
///
/// The cluster does not answer.
pub(super) async fn find(
    client: &kube::Client,
    plugins: &[Plugin],
    old: &[Plugin],
    problems: &mut Vec<String>,
) -> anyhow::Result<Vec<Kind>> {
    let rules: Vec<&PolicyRule> = plugins.iter().flat_map(|plugin| plugin.grants.permissions()).collect();
    // A new grant need not name them any more, and their objects still have what the plugin left there.
    let dropped = primaries::dropped(plugins, old);
    let named = versions(plugins);
    let served = served(client).await?;
    let mut found: BTreeMap<(String, String), Kind> = BTreeMap::new();
    for (group, preferred) in &served {
        let of_group = |rule: &&PolicyRule| rule.api_groups.iter().any(|granted| granted == "*" || granted == group);
        let rules: Vec<&PolicyRule> = rules.iter().copied().filter(of_group).collect();
        let drops_some = dropped.iter().any(|(kind, _)| kind.group == *group);
        let of_plugins = named.iter().filter(|((of, _), _)| of == group).map(|(_, version)| version);
        let versions: BTreeSet<&String> = of_plugins.chain([preferred]).collect();
        for version in versions.into_iter().filter(|_| drops_some || !rules.is_empty()) {
            let resources = match resources(client, group, version).await {
                Ok(resources) => resources,
                Err(error) => {
                    problems.push(format!("cannot list the resources of {group}/{version}: {error}"));
                    continue;
                }
            };
            for kind in resources {
                let is_this =
                    |dropped: &GroupVersionKind| (&dropped.group, &dropped.kind) == (group, &kind.resource.gvk.kind);
                let of_kind = dropped.iter().filter(|(dropped, _)| is_this(dropped));
                let of_old = of_kind.flat_map(|(_, old)| old.grants.permissions()).filter(of_group);
                let rules: Vec<&PolicyRule> = rules.iter().copied().chain(of_old).collect();
                let Some(kind) = granted(kind, &rules) else { continue };
                let plugins_version = named.get(&(group.clone(), kind.resource.gvk.kind.clone()));
                if plugins_version.is_none_or(|named| named == version) {
                    found.entry((group.clone(), kind.resource.plural.clone())).or_insert(kind);
                }
            }
        }
    }
    Ok(found.into_values().collect())
}

/// The kind with the lists of the rules. None: no rule is about it.
fn granted(mut kind: Kind, rules: &[&PolicyRule]) -> Option<Kind> {
    let rules: Vec<&&PolicyRule> = rules.iter().filter(|rule| covers(rule, &kind)).collect();
    rules.into_iter().for_each(|rule| kind.extend(rule));
    let all = kind.lists.clone();
    kind.lists.retain(|list| !all.iter().any(|other| other.contains(list)));
    (!kind.lists.is_empty()).then_some(kind)
}

/// Whether a rule is about objects of a kind. Of a rule about everything, events are left out: they are many, and no plugin decides by them.
fn covers(rule: &PolicyRule, kind: &Kind) -> bool {
    rule.resources.iter().any(|resource| match resource.split('/').next() {
        Some("*") => kind.resource.plural != "events",
        Some(plural) => plural == kind.resource.plural,
        None => false,
    })
}

/// The groups with their preferred versions.
async fn served(client: &kube::Client) -> anyhow::Result<BTreeMap<String, String>> {
    let groups: Value = client.request(http::Request::get("/apis").body(Vec::new())?).await?;
    let groups = groups.pointer("/groups").and_then(Value::as_array).into_iter().flatten();
    let text = |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let mut served: BTreeMap<String, String> =
        groups.filter_map(|group| Some((text(group, "/name")?, text(group, "/preferredVersion/version")?))).collect();
    served.insert(String::new(), "v1".to_owned());
    Ok(served)
}

/// The kinds of a version that can be listed.
async fn resources(client: &kube::Client, group: &str, version: &str) -> Result<Vec<Kind>, kube::Error> {
    let path = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
    let request = http::Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
    let listed: Value = client.request(request).await?;
    let resources = listed.pointer("/resources").and_then(Value::as_array).into_iter().flatten();
    let kinds = resources.filter_map(|resource| {
        let text = |name: &str| resource.get(name).and_then(Value::as_str);
        let verbs = resource.get("verbs").and_then(Value::as_array)?;
        let plural = text("name").filter(|name| !name.contains('/') && verbs.iter().any(|verb| verb == "list"))?;
        let namespaced = resource.get("namespaced").and_then(Value::as_bool)?;
        Some(Kind::new(GroupVersionKind::new(group, version, text("kind")?), plural, namespaced))
    });
    Ok(kinds.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(resources: &[&str], namespaces: &[&str], names: &[&str]) -> PolicyRule {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        PolicyRule {
            api_groups: owned(&[""]),
            resources: owned(resources),
            verbs: owned(&["get"]),
            resource_names: owned(names),
            namespaces: owned(namespaces),
        }
    }

    #[test]
    fn lists_are_as_narrow_as_the_grant() {
        let gvk = GroupVersionKind::new("", "v1", "Secret");
        let mut kind = Kind::new(gvk, "secrets", true);
        kind.extend(&rule(&["secrets"], &["a", "b"], &["login"]));
        let lists: Vec<_> = kind.lists.iter().map(|list| (list.namespace.as_deref(), list.name.as_deref())).collect();
        assert_eq!(lists, [(Some("a"), Some("login")), (Some("b"), Some("login"))]);
        let all = List { namespace: Some("a".to_owned()), name: None };
        assert!(all.contains(kind.lists.first().unwrap()) && !all.contains(&all));
        assert!(!all.contains(kind.lists.last().unwrap()) && List::ALL.contains(&all));
    }

    #[test]
    fn a_rule_about_a_subresource_is_about_its_objects_and_one_about_everything_leaves_events_out() {
        let kind = |plural: &str| Kind::new(GroupVersionKind::new("", "v1", "K"), plural, true);
        assert!(covers(&rule(&["pods/status"], &[], &[]), &kind("pods")));
        assert!(covers(&rule(&["*"], &[], &[]), &kind("pods")) && !covers(&rule(&["*"], &[], &[]), &kind("events")));
        assert!(covers(&rule(&["events"], &[], &[]), &kind("events")));
    }
}
