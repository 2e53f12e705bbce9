//! The objects of an API server, for the steps of a scenario.

use super::format::ObjectRef;
use super::words::named;
use http::Method;
use oarlock::api::{Discovery, GroupVersionKind, Resource};
use oarlock::plugin::Collection;
use oarlock_devserver::faults::Requests;
use serde_json::Value;
use std::collections::BTreeSet;

/// Resources that are no part of what a plugin makes.
const UNSEEN: [&str; 3] = ["events", "leases", "customresourcedefinitions"];

/// Why a step fails, lines for people.
pub(in crate::cli) type Fault = Vec<String>;

/// Everything in a world.
#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct Seen {
    /// All objects except for events, with their types.
    pub(in crate::cli) objects: Vec<Value>,
    /// All events, in their order.
    pub(in crate::cli) events: Vec<Value>,
    /// What the services keep.
    pub(in crate::cli) collections: Vec<Collection>,
    /// The different log lines of the plugin so far. Empty: they are seen elsewhere.
    pub(in crate::cli) lines: Vec<String>,
}

/// A client that writes and reads as a person does.
#[derive(Clone)]
pub(in crate::cli) struct Cluster {
    client: kube::Client,
}

impl Cluster {
    pub(in crate::cli) fn new(client: kube::Client) -> Self {
        Self { client }
    }

    /// Creates an object that exists before a controller starts.
    pub(in crate::cli) async fn place(&self, object: &Value) -> Result<(), Fault> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let resource = self.resource(&GroupVersionKind::from_api_version(text("/apiVersion"), text("/kind"))).await?;
        let path = resource.path(namespace(&resource, text("/metadata/namespace")), None, None);
        let rejected = |error| vec![format!("{} {}: {}", text("/kind"), text("/metadata/name"), said(&error))];
        let created = self.send(Method::POST, &path, "application/json", object).await.map_err(rejected)?;
        // A create leaves the status out.
        if let Some(status) = object.get("status")
            && resource.has_subresource("status")
        {
            let path = resource.path(
                namespace(&resource, text("/metadata/namespace")),
                Some(text("/metadata/name")),
                Some("status"),
            );
            let mut created = created;
            if let Some(fields) = created.as_object_mut() {
                fields.insert("status".to_owned(), status.clone());
            }
            self.send(Method::PUT, &path, "application/json", &created).await.map_err(rejected)?;
        }
        Ok(())
    }

    /// The resource of a kind.
    pub(super) async fn resource(&self, kind: &GroupVersionKind) -> Result<Resource, Fault> {
        match self.resolve(kind).await {
            Ok(Some(resource)) => Ok(resource),
            Ok(None) => Err(vec![format!(
                "the API server does not serve {} {}: check its name, or add its CustomResourceDefinition to cluster",
                kind.api_version(),
                kind.kind
            )]),
            Err(error) => Err(vec![format!("cannot ask the API server for {}: {error}", kind.kind)]),
        }
    }

    pub(super) async fn resolve(&self, kind: &GroupVersionKind) -> anyhow::Result<Option<Resource>> {
        // Discovery remembers what it was told, and steps create definitions.
        Ok(Discovery::new(self.client.clone()).resolve(kind).await?)
    }

    /// Sends a request of a step.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<Value, kube::Error> {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = http::Request::builder().method(method).uri(path).header("content-type", content_type);
        self.client.request(request.body(body).map_err(kube::Error::HttpError)?).await
    }

    /// An object. None: it does not exist.
    pub(super) async fn get(&self, named: &ObjectRef) -> Result<Option<Value>, Fault> {
        let kind = GroupVersionKind::from_api_version(&named.api_version, &*named.kind);
        let resource = self.resource(&kind).await?;
        let path = resource.path(namespace(&resource, &named.namespace), Some(&named.name), None);
        match self.send(Method::GET, &path, "application/json", &Value::Null).await {
            Ok(object) => Ok(Some(object)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(vec![format!("cannot read the object: {}", said(&error))]),
        }
    }

    /// The objects of a collection; none if it cannot be read.
    pub(in crate::cli) async fn list_at(&self, path: &str) -> Vec<Value> {
        let list = self.send(Method::GET, path, "application/json", &Value::Null).await.unwrap_or_default();
        list.get("items").and_then(Value::as_array).cloned().unwrap_or_default()
    }

    /// All objects, with their types. Those of events, Leases and definitions are left out.
    pub(in crate::cli) async fn objects(&self) -> Vec<Value> {
        let (mut objects, mut known) = (Vec::new(), BTreeSet::new());
        for (base, list) in self.served().await {
            let group = text(&list, "/groupVersion").rsplit_once('/').map_or("", |(group, _)| group);
            for resource in list.pointer("/resources").and_then(Value::as_array).into_iter().flatten() {
                let name = text(resource, "/name");
                let verbs = resource.get("verbs").and_then(Value::as_array).into_iter().flatten();
                let lists = verbs.filter_map(Value::as_str).any(|verb| verb == "list");
                let mut once = || known.insert((group.to_owned(), name.to_owned()));
                if name.contains('/') || !lists || UNSEEN.contains(&name) || !once() {
                    continue;
                }
                for mut object in self.list_at(&format!("{base}/{name}")).await {
                    if let Some(fields) = object.as_object_mut() {
                        fields.insert("apiVersion".to_owned(), text(&list, "/groupVersion").into());
                        fields.insert("kind".to_owned(), text(resource, "/kind").into());
                    }
                    objects.push(object);
                }
            }
        }
        objects
    }

    /// The path of each served version of each group, the preferred one first, with its resources.
    async fn served(&self) -> Vec<(String, Value)> {
        let read = async |path: &str| self.send(Method::GET, path, "application/json", &Value::Null).await;
        let groups = read("/apis").await.unwrap_or_default();
        let mut served = Vec::new();
        for path in std::iter::once("/api/v1".to_owned()).chain(versions_of(&groups).map(|(_, path)| path)) {
            if let Ok(list) = read(&path).await {
                served.push((path, list));
            }
        }
        served
    }

    /// Refuses requests for a resource that the API server does not serve in any version.
    pub(super) async fn check_resource(&self, requests: &Requests) -> Result<(), Fault> {
        if requests.resource.is_none() && requests.group.is_none() {
            return Ok(());
        }
        // An API server whose discovery a fault strikes does not say.
        let Some(served) = self.resources().await else { return Ok(()) };
        if served.iter().any(|one| requests.fit_resource(&one.group, &one.plural)) {
            return Ok(());
        }
        Err(vec![unserved(requests, &served)])
    }

    /// Every resource that the API server serves. None: a part cannot be read.
    async fn resources(&self) -> Option<Vec<Served>> {
        let read = async |path: &str| self.send(Method::GET, path, "application/json", &Value::Null).await.ok();
        let groups = read("/apis").await?;
        let list = |value: &Value, field: &str| value.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
        let mut served = Vec::new();
        for (group, path) in std::iter::once((String::new(), "/api/v1".to_owned())).chain(versions_of(&groups)) {
            for resource in list(&read(&path).await?, "resources") {
                let plural = text(&resource, "/name").to_owned();
                if !plural.contains('/') {
                    let (singular, kind) =
                        (text(&resource, "/singularName").to_owned(), text(&resource, "/kind").to_owned());
                    served.push(Served { group: group.clone(), plural, singular, kind });
                }
            }
        }
        Some(served)
    }

    /// Applies an object as the steps do: the fields that it no longer has go.
    pub(in crate::cli) async fn apply(&self, document: &Value) -> Result<Result<Value, kube::Error>, Fault> {
        let named = named(document);
        let resource = self.resource(&named.gvk()).await?;
        let path = resource.path(namespace(&resource, &named.namespace), Some(&named.name), None);
        let path = format!("{path}?fieldManager=oarlock-test&force=true");
        Ok(self.send(Method::PATCH, &path, "application/apply-patch+yaml", document).await)
    }

    /// Deletes an object.
    pub(in crate::cli) async fn delete(&self, named: &ObjectRef) -> Result<Result<Value, kube::Error>, Fault> {
        let resource = self.resource(&named.gvk()).await?;
        let path = resource.path(namespace(&resource, &named.namespace), Some(&named.name), None);
        Ok(self.send(Method::DELETE, &path, "application/json", &Value::Null).await)
    }
}

/// What an error says: of the API server's errors the message alone.
pub(in crate::cli) fn said(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}

/// Each served version of each group with its path, the preferred one of a group first.
///
/// * `groups` - the answer of `/apis`.
fn versions_of(groups: &Value) -> impl Iterator<Item = (String, String)> {
    let list = |value: &Value, field: &str| value.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
    list(groups, "groups").into_iter().flat_map(move |group| {
        let preferred = text(&group, "/preferredVersion/groupVersion").to_owned();
        let mut versions: Vec<String> =
            list(&group, "versions").iter().map(|version| text(version, "/groupVersion").to_owned()).collect();
        versions.sort_by_key(|version| *version != preferred);
        versions.into_iter().map(move |version| (text(&group, "/name").to_owned(), format!("/apis/{version}")))
    })
}

/// A resource of the API server.
struct Served {
    /// Empty: the core group.
    group: String,
    plural: String,
    singular: String,
    kind: String,
}

/// Why requests meet no resource, and what the author may have meant.
fn unserved(requests: &Requests, served: &[Served]) -> String {
    let listed = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join(", ");
    let Some(resource) = requests.resource.as_deref() else {
        let group = requests.group.as_deref().unwrap_or_default();
        let groups = served.iter().map(|one| if one.group.is_empty() { "\"\"" } else { &*one.group }).collect();
        return format!("requests.group: no group {group:?}; there are {}", listed(groups));
    };
    let any_group = Requests { group: None, ..requests.clone() };
    let fitting = served.iter().filter(|one| any_group.fit_resource(&one.group, &one.plural));
    let groups: BTreeSet<&str> = fitting.map(|one| if one.group.is_empty() { "\"\"" } else { &*one.group }).collect();
    if let (false, Some(group)) = (groups.is_empty(), &requests.group) {
        return format!("requests.group: no {resource} in the group {group:?}; it is in {}", listed(groups));
    }
    if let Some((plural, subresource)) = resource.split_once('/')
        && served.iter().any(|one| one.plural == plural)
    {
        return format!(
            "requests.resource: no resource {resource:?}; write resource: {plural}, subresource: {subresource}"
        );
    }
    let is = |name: &str| name.eq_ignore_ascii_case(resource);
    let meant = served.iter().filter(|one| is(&one.plural) || is(&one.singular) || is(&one.kind));
    let meant: BTreeSet<&str> = meant.map(|one| one.plural.as_str()).collect();
    if meant.is_empty() {
        let all = served.iter().map(|one| one.plural.as_str()).collect();
        return format!("requests.resource: no resource {resource:?}; there are {}", listed(all));
    }
    format!("requests.resource: no resource {resource:?}; it is {}", listed(meant))
}

/// The text at a JSON pointer; empty: there is none.
pub(super) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The namespace of a namespaced object without one.
pub(super) const DEFAULT: &str = "default";

/// The namespace of an object, as kubectl completes it.
pub(super) fn namespace<'a>(resource: &Resource, stated: &'a str) -> &'a str {
    if stated.is_empty() && resource.namespaced { DEFAULT } else { stated }
}
