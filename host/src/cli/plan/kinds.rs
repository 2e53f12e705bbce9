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
    for (group, Served { preferred, versions }) in &served {
        let of_group = |rule: &&PolicyRule| rule.api_groups.iter().any(|granted| granted == "*" || granted == group);
        let rules: Vec<&PolicyRule> = rules.iter().copied().filter(of_group).collect();
        let drops_some = dropped.iter().any(|(kind, _)| kind.group == *group);
        if !drops_some && rules.is_empty() {
            continue;
        }
        let of_plugins = named.iter().filter(|((of, _), _)| of == group).map(|(_, version)| version);
        let first: BTreeSet<&String> = of_plugins.chain([preferred]).collect();
        // The cluster may serve a dropped kind in none of them.
        let further = versions.iter().filter(|version| drops_some && !first.contains(version));
        for version in first.iter().copied().chain(further) {
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
                let of_kind: Vec<_> = dropped.iter().filter(|(dropped, _)| is_this(dropped)).collect();
                if of_kind.is_empty() && !first.contains(version) {
                    continue;
                }
                let of_old = of_kind.iter().flat_map(|(_, old)| old.grants.permissions()).filter(of_group);
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

/// The versions of a group.
struct Served {
    preferred: String,
    versions: Vec<String>,
}

/// The groups with their versions.
async fn served(client: &kube::Client) -> anyhow::Result<BTreeMap<String, Served>> {
    let groups: Value = client.request(http::Request::get("/apis").body(Vec::new())?).await?;
    let groups = groups.pointer("/groups").and_then(Value::as_array).into_iter().flatten();
    let text = |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let group = |group: &Value| {
        let preferred = text(group, "/preferredVersion/version")?;
        let versions = group.pointer("/versions").and_then(Value::as_array).into_iter().flatten();
        let versions = versions.filter_map(|version| text(version, "/version")).collect();
        Some((text(group, "/name")?, Served { preferred, versions }))
    };
    let mut served: BTreeMap<String, Served> = groups.filter_map(group).collect();
    served.insert(String::new(), Served { preferred: "v1".to_owned(), versions: vec!["v1".to_owned()] });
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
    use kube::client::Body;
    use oarlock::grants::Grants;
    use serde_json::json;
    use std::convert::Infallible;

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

    /// Serves gadgets in v1, and widgets and trinkets in v1alpha1 only.
    async fn api_server(request: http::Request<Body>) -> Result<http::Response<Body>, Infallible> {
        let resource =
            |name: &str, kind: &str| json!({"name": name, "kind": kind, "namespaced": true, "verbs": ["list"]});
        let (status, answer) = match request.uri().path() {
            "/apis" => (
                200,
                json!({"groups": [{"name": "g.example", "preferredVersion": {"version": "v1"},
                    "versions": [{"version": "v1"}, {"version": "v1alpha1"}]}]}),
            ),
            "/apis/g.example/v1" => (200, json!({"resources": [resource("gadgets", "Gadget")]})),
            "/apis/g.example/v1alpha1" => (
                200,
                json!({"resources": [resource("gadgets", "Gadget"), resource("trinkets", "Trinket"),
                    resource("widgets", "Widget")]}),
            ),
            path => (
                404,
                json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": path}),
            ),
        };
        let body = Body::from(answer.to_string().into_bytes());
        Ok(http::Response::builder().status(status).body(body).unwrap())
    }

    fn plugin(version: &str, kind: &str, resource: &str) -> Plugin {
        let manifest = json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginManifest", "name": "p", "version": "1",
            "primaries": [{"group": "g.example", "version": version, "kind": kind}]});
        let grant = json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginGrant",
            "permissions": [{"apiGroups": ["g.example"], "resources": [resource], "verbs": ["get", "list", "watch"]}]});
        let grant = serde_json::from_value(grant).unwrap();
        Plugin {
            digest: String::new(),
            manifest: serde_json::from_value(manifest).unwrap(),
            grants: Grants::without_secrets(&grant).unwrap(),
            grant,
            definitions: Vec::new(),
        }
    }

    #[tokio::test]
    async fn a_dropped_kind_is_found_although_the_cluster_does_not_serve_it_in_the_preferred_version() {
        let client = kube::Client::new(tower::service_fn(api_server), "default");
        let new = [plugin("v1", "Gadget", "*")];
        for (old, expected) in [
            (plugin("v1alpha1", "Widget", "widgets"), &[("gadgets", "v1"), ("widgets", "v1alpha1")][..]),
            (plugin("v1alpha1", "Gadget", "gadgets"), &[("gadgets", "v1")][..]),
        ] {
            let mut problems = Vec::new();
            let found = find(&client, &new, &[old], &mut problems).await.unwrap();
            let found: Vec<_> =
                found.iter().map(|kind| (kind.resource.plural.as_str(), kind.resource.gvk.version.as_str())).collect();
            assert_eq!((&*found, problems), (expected, Vec::new()));
        }
    }
}
