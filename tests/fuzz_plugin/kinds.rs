//! What the API server serves.

use crate::harness::{Cluster, text};
use anyhow::{Context, Result};
use http::Method;
use serde_json::Value;

/// A resource with its URL.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    /// `v1` or `GROUP/VERSION`.
    pub(super) api_version: String,
    pub(super) kind: String,
    plural: String,
    namespaced: bool,
}

impl Resource {
    /// The URL path of its objects in a namespace, or of all there are when it has none.
    pub(super) fn collection(&self, namespace: Option<&str>) -> String {
        let root = if self.api_version.contains('/') { "/apis" } else { "/api" };
        let within = namespace.filter(|_| self.namespaced).map(|name| format!("/namespaces/{name}"));
        format!("{root}/{}{}/{}", self.api_version, within.unwrap_or_default(), self.plural)
    }
}

/// Everything that can be listed, each in the version the server prefers, but for events: those are words, not state.
pub(super) async fn served(cluster: &Cluster) -> Result<Vec<Resource>> {
    let get = async |path: &str| cluster.request(Method::GET, path, "application/json", &Value::Null).await;
    let groups = get("/apis").await?;
    let groups = groups.get("groups").and_then(Value::as_array).cloned().unwrap_or_default();
    let versions = groups.iter().map(|group| text(group, "/preferredVersion/groupVersion"));
    let mut all = Vec::new();
    for api_version in std::iter::once("v1".to_owned()).chain(versions) {
        let root = if api_version.contains('/') { "/apis" } else { "/api" };
        let list = get(&format!("{root}/{api_version}")).await?;
        for resource in list.get("resources").and_then(Value::as_array).into_iter().flatten() {
            let plural = text(resource, "/name");
            let kind = text(resource, "/kind");
            let verbs = resource.get("verbs").and_then(Value::as_array);
            let listed = verbs.into_iter().flatten().any(|verb| verb.as_str() == Some("list"));
            if listed && !plural.contains('/') && kind != "Event" {
                let namespaced = resource.get("namespaced").and_then(Value::as_bool).unwrap_or(false);
                all.push(Resource { api_version: api_version.clone(), kind, plural, namespaced });
            }
        }
    }
    Ok(all)
}

/// The resource of a kind.
pub(super) async fn resource(cluster: &Cluster, api_version: &str, kind: &str) -> Result<Resource> {
    let all = served(cluster).await?;
    let found = all.into_iter().find(|one| one.api_version == api_version && one.kind == kind);
    found.with_context(|| format!("the API server does not serve {api_version} {kind}: name its definition (CRD)"))
}
