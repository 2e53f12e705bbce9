//! Access to the API server: names of kinds and objects, discovery, selectors, client configuration.

pub mod client;
pub mod discovery;
pub mod path;
pub mod resource_version;

pub use discovery::Discovery;
pub use oarlock_selector::Selector;

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr, sync::Arc};

/// The type of a document: API group, version and kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GroupVersionKind {
    /// The API group, such as `apps`; empty for the core group.
    #[serde(default)]
    pub group: String,
    /// The version within the group, such as `v1`.
    pub version: String,
    /// The kind as documents spell it, such as `Deployment`.
    pub kind: String,
}

impl GroupVersionKind {
    /// Creates a kind; an empty `group` is the core group.
    pub fn new(group: impl Into<String>, version: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// Parses the kind of a document: `api_version` is `v1` or `apps/v1`.
    pub fn from_api_version(api_version: &str, kind: impl Into<String>) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self::new(group, version, kind)
    }

    /// Whether it is the kind of Secrets.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.group.is_empty() && self.kind == "Secret"
    }

    /// The `apiVersion` of a document of this kind: `v1` or `apps/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

impl fmt::Display for GroupVersionKind {
    /// `samplecrd.k8s.io/v1, Kind=Network`, as apimachinery prints it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, Kind={}", self.api_version(), self.kind)
    }
}

/// Namespace and name of an object of one kind: the key of workqueues and stores.
///
/// A clone shares the strings.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectKey {
    /// Empty for objects of cluster-scoped kinds.
    #[serde(default)]
    pub namespace: Arc<str>,
    /// Unique within the namespace.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// Creates a key; an empty `namespace` means cluster-scoped.
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// The namespace, or `None` for an object of a cluster-scoped kind.
    pub fn namespace(&self) -> Option<&str> {
        Some(&*self.namespace).filter(|ns| !ns.is_empty())
    }
}

impl fmt::Display for ObjectKey {
    /// `namespace/name`, or `name` alone when cluster-scoped, as client-go's `MetaNamespaceKeyFunc` writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace() {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// A text that is neither `name` nor `namespace/name`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is neither `name` nor `namespace/name`")]
pub struct ParseKeyError(String);

impl FromStr for ObjectKey {
    type Err = ParseKeyError;

    /// Parses the output of [`Display`](fmt::Display).
    fn from_str(text: &str) -> Result<Self, ParseKeyError> {
        let (namespace, name) = text.split_once('/').map_or(("", text), |(ns, name)| (ns, name));
        let slash = text.contains('/');
        if name.is_empty() || name.contains('/') || (slash && namespace.is_empty()) {
            return Err(ParseKeyError(text.to_owned()));
        }
        Ok(Self::new(namespace, name))
    }
}

/// The URL path segments of a group and version.
fn version_segments<'a>(group: &'a str, version: &'a str) -> Vec<&'a str> {
    if group.is_empty() { vec!["api", version] } else { vec!["apis", group, version] }
}

/// A resource that serves a kind, as discovery describes it, with enough information for its URLs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The kind this serves.
    pub gvk: GroupVersionKind,
    /// The path segment, such as `deployments`.
    pub plural: String,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// The verbs of the resource itself: `list`, `watch`, `patch` …
    pub verbs: Vec<String>,
    /// Subresources by their own names, such as `status` and `scale`, sorted.
    pub subresources: Vec<String>,
}

impl Resource {
    /// Whether the resource has the subresource `name`, such as `status`.
    pub fn has_subresource(&self, name: &str) -> bool {
        self.subresources.iter().any(|s| s == name)
    }

    /// Whether the API server can list and watch the resource.
    pub fn watchable(&self) -> bool {
        ["list", "watch"].iter().all(|verb| self.verbs.iter().any(|v| v == verb))
    }

    /// The URL path of one object, or of the collection when `name` is `None`, without host and query.
    ///
    /// * `namespace` - ignored for a cluster-scoped kind; empty means all namespaces.
    pub fn path(&self, namespace: &str, name: Option<&str>, subresource: Option<&str>) -> String {
        let GroupVersionKind { group, version, .. } = &self.gvk;
        let mut segments = version_segments(group, version);
        if self.namespaced && !namespace.is_empty() {
            segments.extend(["namespaces", namespace]);
        }
        segments.push(&self.plural);
        segments.extend([name, subresource].into_iter().flatten());
        path::join(segments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_print_and_parse_the_same() {
        for text in ["default/web", "node-1"] {
            assert_eq!(text.parse::<ObjectKey>().unwrap().to_string(), text);
        }
        for text in ["", "/", "a/", "/b", "a/b/c"] {
            assert!(text.parse::<ObjectKey>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn keys_sort_by_namespace_then_name() {
        let mut keys: Vec<ObjectKey> = ["b/a", "a-b/a", "a/z", "n"].iter().map(|k| k.parse().unwrap()).collect();
        keys.sort();
        let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
        assert_eq!(keys, ["n", "a/z", "a-b/a", "b/a"]);
    }

    #[test]
    fn kinds_print_as_go_prints_them() {
        assert_eq!(GroupVersionKind::new("apps", "v1", "Deployment").to_string(), "apps/v1, Kind=Deployment");
        assert_eq!(GroupVersionKind::from_api_version("v1", "Pod").to_string(), "v1, Kind=Pod");
        assert_eq!(GroupVersionKind::from_api_version("apps/v1", "Deployment").group, "apps");
    }

    #[test]
    fn paths_of_core_and_group_resources() {
        let mut resource = Resource {
            gvk: GroupVersionKind::new("apps", "v1", "Deployment"),
            plural: "deployments".into(),
            namespaced: true,
            verbs: vec!["list".into(), "watch".into()],
            subresources: vec!["status".into()],
        };
        let path = resource.path("shop", Some("web"), Some("status"));
        assert_eq!(path, "/apis/apps/v1/namespaces/shop/deployments/web/status");
        assert_eq!(resource.path("", None, None), "/apis/apps/v1/deployments");
        assert!(resource.watchable() && resource.has_subresource("status"));
        resource.gvk = GroupVersionKind::new("", "v1", "Node");
        resource.plural = "nodes".into();
        resource.namespaced = false;
        assert_eq!(resource.path("ignored", Some("n1"), None), "/api/v1/nodes/n1");
        // Any name addresses an object of this resource.
        assert_eq!(resource.path("", Some("n1/proxy?x=y"), Some("a/b")), "/api/v1/nodes/n1%2Fproxy%3Fx%3Dy/a%2Fb");
    }
}
