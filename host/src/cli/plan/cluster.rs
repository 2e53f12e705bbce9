//! Objects of a cluster, read with GET requests only.

use super::kinds::{Kind, List};
use oarlock::api::GroupVersionKind;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Objects of one page of a list.
const PAGE: u32 = 500;

/// Identifies an object among those of a plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name {
    pub(super) kind: GroupVersionKind,
    pub(super) namespace: String,
    pub(super) name: String,
}

/// Objects by name.
pub(super) type Objects = BTreeMap<Name, Value>;

/// A list that was read, in the state of this resourceVersion.
#[derive(Clone, Debug)]
pub(super) struct ListRead {
    pub(super) kind: GroupVersionKind,
    pub(super) list: List,
    pub(super) resource_version: String,
}

/// The objects of the kinds, their definitions, and the namespaces.
///
/// * `problems` - gets a sentence about each list that failed; the other objects are read.
pub(super) async fn read(
    client: &kube::Client,
    kinds: &[Kind],
    problems: &mut Vec<String>,
) -> (Vec<Value>, Vec<ListRead>) {
    let (mut found, mut read) = (Objects::new(), Vec::new());
    for kind in kinds {
        for list in &kind.lists {
            match objects(client, kind, list).await {
                Ok((objects, resource_version)) => {
                    found.extend(objects);
                    read.push(ListRead { kind: kind.resource.gvk.clone(), list: list.clone(), resource_version });
                }
                Err(error) => {
                    let place = list.namespace.as_ref().map(|name| format!(" in namespace {name}"));
                    problems.push(format!(
                        "cannot list {}{}: {error}",
                        kind.resource.plural,
                        place.unwrap_or_default()
                    ));
                }
            }
        }
    }
    for kind in kinds.iter().filter(|kind| kind.resource.gvk.group.contains('.')) {
        match definition(client, kind).await {
            Ok(None) => {}
            Ok(Some(definition)) => {
                found.insert(definition_name(kind), definition);
            }
            Err(error) => problems.push(format!("cannot get the definition of {}: {error}", kind.resource.gvk)),
        }
    }
    let namespaces = Kind::new(GroupVersionKind::new("", "v1", "Namespace"), "namespaces", false);
    match objects(client, &namespaces, &List::ALL).await {
        Ok((objects, _)) => found.extend(objects),
        // Creating an object needs its namespace.
        Err(_) => {
            let names: BTreeSet<String> = found.keys().map(|name| name.namespace.clone()).collect();
            for name in names.into_iter().filter(|name| !name.is_empty()) {
                let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "status": {"phase": "Active"}});
                let key = Name { kind: namespaces.resource.gvk.clone(), namespace: String::new(), name };
                found.entry(key).or_insert(object);
            }
        }
    }
    (found.into_values().collect(), read)
}

/// All objects of the kinds in a copy.
///
/// # Errors
///
/// A list of the copy fails. A kind that the copy does not serve has no objects.
pub(super) async fn stored(client: &kube::Client, kinds: &[Kind]) -> anyhow::Result<Objects> {
    let mut found = Objects::new();
    for kind in kinds {
        match objects(client, kind, &List::ALL).await {
            Ok((objects, _)) => found.extend(objects),
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

/// A sentence about each kind that the embedded API server does not serve.
pub(super) fn not_served(objects: &[Value]) -> Vec<String> {
    let text = |object: &Value, field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let kinds: BTreeSet<(String, String)> =
        objects.iter().map(|object| (text(object, "apiVersion"), text(object, "kind"))).collect();
    let sentence = |(version, kind)| format!("{version} {kind} is left out: a plan does not know this kind");
    kinds.into_iter().map(sentence).collect()
}

/// The objects of a list, page by page, and its resourceVersion.
async fn objects(client: &kube::Client, kind: &Kind, list: &List) -> Result<(Vec<(Name, Value)>, String), kube::Error> {
    let mut found = Vec::new();
    let mut next = String::new();
    loop {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("limit", &PAGE.to_string());
        if let Some(name) = &list.name {
            query.append_pair("fieldSelector", &format!("metadata.name={name}"));
        }
        if !next.is_empty() {
            query.append_pair("continue", &next);
        }
        let path = kind.resource.path(list.namespace.as_deref().unwrap_or_default(), None, None);
        let path = format!("{path}?{}", query.finish());
        let request = http::Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
        let mut page: Value = client.request(request).await?;
        let text = |pointer: &str| page.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let resource_version = text("/metadata/resourceVersion");
        next = text("/metadata/continue");
        if let Some(Value::Array(items)) = page.get_mut("items").map(Value::take) {
            found.extend(items.into_iter().map(|item| named(&kind.resource.gvk, item)));
        }
        if next.is_empty() {
            return Ok((found, resource_version));
        }
    }
}

/// Items of a list do not state their kind.
fn named(kind: &GroupVersionKind, mut object: Value) -> (Name, Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert("apiVersion".to_owned(), kind.api_version().into());
        object.insert("kind".to_owned(), kind.kind.clone().into());
    }
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    (Name { kind: kind.clone(), namespace: text("/metadata/namespace"), name: text("/metadata/name") }, object)
}

fn definition_name(kind: &Kind) -> Name {
    name_of_definition(format!("{}.{}", kind.resource.plural, kind.resource.gvk.group))
}

pub(super) fn name_of_definition(name: String) -> Name {
    let gvk = GroupVersionKind::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    Name { kind: gvk, namespace: String::new(), name }
}

/// The definition of a kind, for the version of the plan only: a copy converts nothing, because that may call a webhook. None: the kind is
/// built in.
async fn definition(client: &kube::Client, kind: &Kind) -> Result<Option<Value>, kube::Error> {
    let Some(mut definition) = whole_definition(client, &definition_name(kind).name).await? else { return Ok(None) };
    if let Some(spec) = definition.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert("conversion".to_owned(), json!({"strategy": "None"}));
        for version in spec.get_mut("versions").and_then(Value::as_array_mut).into_iter().flatten() {
            let stored = version.get("name").is_some_and(|name| *name == *kind.resource.gvk.version);
            if let Some(version) = version.as_object_mut() {
                version.insert("storage".to_owned(), stored.into());
            }
        }
    }
    Ok(Some(definition))
}

/// None: there is none.
pub(super) async fn whole_definition(client: &kube::Client, name: &str) -> Result<Option<Value>, kube::Error> {
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
    let request = http::Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
    match client.request(request).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        answer => answer.map(Some),
    }
}
