//! Kinds of a cluster by the names that kubectl knows: `Network`, `networks`, `networks.samplecrd.k8s.io`.

use anyhow::{Context as _, bail};
use futures::{StreamExt as _, TryStreamExt as _};
use oarlock::api::{GroupVersionKind, ObjectKey, Resource};
use serde_json::Value;
use std::collections::BTreeSet;

/// Most lists of resources requested at once.
const AT_ONCE: usize = 8;

/// A kind that the cluster serves, in the version that it prefers.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    /// Such as `Network`.
    pub(super) name: String,
    pub(super) namespaced: bool,
    group: String,
    version: String,
    plural: String,
    /// The singular, and the short names.
    others: Vec<String>,
}

/// The name that means no other kind.
impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.group.as_str() {
            // As kubectl writes the core group.
            "" => write!(f, "{}.{}.", self.plural, self.version),
            group => write!(f, "{}.{group}", self.plural),
        }
    }
}

impl Kind {
    /// The URL path of an object.
    pub(super) fn path(&self, key: &ObjectKey) -> String {
        let gvk = GroupVersionKind::new(self.group.clone(), self.version.clone(), self.name.clone());
        let (plural, namespaced) = (self.plural.clone(), self.namespaced);
        let resource = Resource { gvk, plural, namespaced, verbs: Vec::new(), subresources: Vec::new() };
        resource.path(key.namespace().unwrap_or_default(), Some(&key.name), None)
    }

    /// The name that means this kind in every version of its group. Hosts take it: `Network.samplecrd.k8s.io`, and `ConfigMap.`.
    pub(super) fn in_its_group(&self) -> String {
        format!("{}.{}", self.name, self.group)
    }

    /// Whether the objects are Plugin objects of Oarlock.
    pub(super) fn is_plugin(&self) -> bool {
        self.group == "oarlock.dev" && self.name == "Plugin"
    }

    /// Whether a name means this kind.
    fn is_called(&self, name: &str) -> bool {
        let named = |name: &str| {
            let same = |other: &str| other.eq_ignore_ascii_case(name);
            same(&self.name) || same(&self.plural) || self.others.iter().any(|other| same(other))
        };
        let of_group = |(name, group): (&str, &str)| named(name) && group.eq_ignore_ascii_case(&self.group);
        let of_version = |(name, rest): (&str, &str)| {
            let (version, group) = rest.split_once('.').unwrap_or((rest, ""));
            named(name) && version == self.version && group.eq_ignore_ascii_case(&self.group)
        };
        named(name) || name.split_once('.').is_some_and(|parts| of_group(parts) || of_version(parts))
    }
}

/// The one kind with this name.
///
/// # Errors
///
/// No kind, or several, have the name.
pub(super) fn resolve<'a>(kinds: &'a [Kind], name: &str) -> anyhow::Result<&'a Kind> {
    let found: Vec<&Kind> = kinds.iter().filter(|kind| kind.is_called(name)).collect();
    match found.as_slice() {
        [kind] => Ok(kind),
        [] => bail!("the cluster serves no kind {name:?}; kubectl api-resources lists its kinds"),
        several => {
            let names: BTreeSet<String> = several.iter().map(ToString::to_string).collect();
            bail!("{name:?} means several kinds; name one of: {}", names.into_iter().collect::<Vec<_>>().join(", "))
        }
    }
}

/// The kinds that a cluster serves and whose objects can be patched.
///
/// # Errors
///
/// The API server does not answer. A group whose server does not answer is left out, with a log line.
pub(super) async fn served(client: &kube::Client) -> anyhow::Result<Vec<Kind>> {
    let groups: Value = get(client, "/apis").await?;
    let mut versions = vec![(String::new(), "v1".to_owned())];
    for group in groups.pointer("/groups").and_then(Value::as_array).into_iter().flatten() {
        let (Some(name), Some(preferred)) = (text(group, "/name"), text(group, "/preferredVersion/version")) else {
            continue;
        };
        let all = group.pointer("/versions").and_then(Value::as_array).into_iter().flatten();
        let others = all.filter_map(|version| text(version, "/version")).filter(|version| *version != preferred);
        versions.extend(std::iter::once(preferred.clone()).chain(others).map(|version| (name.clone(), version)));
    }
    let lists = versions.into_iter().map(|(group, version)| async move {
        match resources(client, &group, &version).await {
            Ok(kinds) => anyhow::Ok(kinds),
            Err(error) if group.is_empty() => Err(error).context("cannot list the resources of v1"),
            Err(error) => {
                tracing::warn!(group, version, error = %format!("{error:#}"), "group left out: its resources cannot be listed");
                Ok(Vec::new())
            }
        }
    });
    let lists: Vec<Vec<Kind>> = futures::stream::iter(lists).buffered(AT_ONCE).try_collect().await?;
    let mut known = BTreeSet::new();
    // Of several versions the first counts, which is the preferred one.
    let kinds = lists.into_iter().flatten().filter(|kind| known.insert((kind.group.clone(), kind.plural.clone())));
    Ok(kinds.collect())
}

async fn resources(client: &kube::Client, group: &str, version: &str) -> anyhow::Result<Vec<Kind>> {
    let segments = if group.is_empty() { vec!["api", version] } else { vec!["apis", group, version] };
    let listed = get(client, &oarlock::api::path::join(segments)).await?;
    let resources = listed.pointer("/resources").and_then(Value::as_array).into_iter().flatten();
    let kinds = resources.filter_map(|resource| {
        let verbs = resource.get("verbs").and_then(Value::as_array)?;
        let plural = text(resource, "/name").filter(|name| !name.contains('/'))?;
        let short = resource.get("shortNames").and_then(Value::as_array).into_iter().flatten();
        let others = short.filter_map(Value::as_str).map(str::to_owned).chain(text(resource, "/singularName"));
        verbs.iter().any(|verb| verb == "patch").then_some(())?;
        Some(Kind {
            name: text(resource, "/kind")?,
            namespaced: resource.get("namespaced").and_then(Value::as_bool)?,
            group: group.to_owned(),
            version: version.to_owned(),
            plural,
            others: others.filter(|name| !name.is_empty()).collect(),
        })
    });
    Ok(kinds.collect())
}

async fn get(client: &kube::Client, path: &str) -> anyhow::Result<Value> {
    Ok(client.request(http::Request::get(path).body(Vec::new())?).await?)
}

fn text(value: &Value, pointer: &str) -> Option<String> {
    value.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str, group: &str, plural: &str, short: &str) -> Kind {
        let others = vec![name.to_lowercase(), short.to_owned()];
        let (name, group, plural) = (name.to_owned(), group.to_owned(), plural.to_owned());
        Kind { name, namespaced: true, group, version: "v1".to_owned(), plural, others }
    }

    fn kinds() -> Vec<Kind> {
        vec![
            kind("Event", "", "events", "ev"),
            kind("Event", "events.k8s.io", "events", "ev"),
            kind("Network", "samplecrd.k8s.io", "networks", "net"),
            kind("ConfigMap", "", "configmaps", "cm"),
        ]
    }

    #[test]
    fn a_kind_has_the_names_that_kubectl_knows() {
        let all = kinds();
        for name in [
            "Network",
            "network",
            "NETWORKS",
            "net",
            "networks.samplecrd.k8s.io",
            "Network.samplecrd.k8s.io",
            "networks.v1.samplecrd.k8s.io",
        ] {
            assert_eq!(resolve(&all, name).unwrap().to_string(), "networks.samplecrd.k8s.io", "{name}");
        }
        for name in ["configmaps", "cm", "configmaps.v1."] {
            assert_eq!(resolve(&all, name).unwrap().path(&"n/a".parse().unwrap()), "/api/v1/namespaces/n/configmaps/a");
        }
        for name in ["", "nothing", "networks.example.org", "networks.v2.samplecrd.k8s.io", "configmaps.v2."] {
            assert!(resolve(&all, name).unwrap_err().to_string().contains("serves no kind"), "{name}");
        }
    }

    #[test]
    fn an_ambiguous_name_lists_the_choices_and_each_of_them_is_clear() {
        let all = kinds();
        let error = resolve(&all, "Event").unwrap_err().to_string();
        assert_eq!(error, "\"Event\" means several kinds; name one of: events.events.k8s.io, events.v1.");
        for choice in ["events.events.k8s.io", "events.v1."] {
            assert_eq!(resolve(&all, choice).unwrap().to_string(), choice);
        }
    }
}
