//! Conversion of custom resources between the versions of their definition.
//!
//! With the strategy `None` only the apiVersion changes. With the strategy `Webhook` the webhook of the definition converts. In both cases
//! an object is read with the schema of the version that it is stored in, and fields that the requested version lacks are dropped.
//!
//! # Source
//!
//! apiextensions-apiserver `pkg/apiserver/conversion/webhook_converter.go` and `pkg/apiserver/customresource_handler.go`.

use std::{borrow::Cow, sync::Arc, time::Duration};

use oarlock_schema::Crd;
use serde_json::{Map, Value, json};

use crate::{
    model::{
        custom::CustomVersion,
        kinds::Resource,
        status::{ApiError, Result},
    },
    store::{Content, Object, Store},
    webhook_client::{Client, users::Users},
};

/// Time limit of one call, the one of Kubernetes.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Most objects in one call. The API server sends one object at a time.
const BATCH: usize = 100;
/// A call has no further object when its objects are this large together, in bytes of JSON: answers have a limit.
const BATCH_BYTES: usize = 1 << 20;

/// The conversion webhook of a definition.
#[derive(Debug)]
struct Webhook {
    client: Client,
    /// `v1` or `v1beta1`, the first one that the definition lists.
    review_version: &'static str,
}

impl Webhook {
    /// The webhook of a definition; `None` with the strategy `None`.
    ///
    /// As in Kubernetes, the call carries no client certificate: those of the AdmissionConfiguration are for admission alone.
    fn of(crd: &Crd) -> Option<Self> {
        let webhook = crd.conversion.as_ref()?;
        let versions = webhook.get("conversionReviewVersions").and_then(Value::as_array);
        let known = |v: &Value| match v.as_str() {
            Some("v1") => Some("v1"),
            Some("v1beta1") => Some("v1beta1"),
            _ => None,
        };
        Some(Self {
            client: Client::new(webhook.get("clientConfig").unwrap_or(&Value::Null), &Users::default()),
            review_version: versions.into_iter().flatten().find_map(known).unwrap_or("v1"),
        })
    }

    /// Converts objects, which have kind and apiVersion. The error says why it failed.
    async fn convert(
        &self,
        store: &Store,
        objects: &[Value],
        desired: &str,
    ) -> std::result::Result<Vec<Value>, String> {
        let uid = uuid::Uuid::new_v4().to_string();
        let api_version = format!("apiextensions.k8s.io/{}", self.review_version);
        let review = json!({"kind": "ConversionReview", "apiVersion": api_version,
            "request": {"uid": uid, "desiredAPIVersion": desired, "objects": objects}});
        let body = self.client.call(store, &review, TIMEOUT).await?;
        let mut answer: Value = serde_json::from_slice(&body).map_err(|e| format!("the answer is not JSON: {e}"))?;
        let text = |path: &str| answer.pointer(path).and_then(Value::as_str).unwrap_or_default();
        if self.review_version == "v1" && (text("/apiVersion"), text("/kind")) != (&api_version, "ConversionReview") {
            let found = answered_kind(text("/apiVersion"), text("/kind"));
            return Err(format!("expected webhook response of {api_version}, Kind=ConversionReview, got {found}"));
        }
        if !answer.get("response").is_some_and(Value::is_object) {
            return Err("no response provided".to_owned());
        }
        if self.review_version == "v1" && text("/response/uid") != uid {
            return Err(format!("expected response.uid={uid:?}, got {:?}", text("/response/uid")));
        }
        match (text("/response/result/status"), text("/response/result/message")) {
            ("Success", _) => {}
            (status, "") => return Err(format!("response.result.status was '{status}', not 'Success'")),
            (_, message) => return Err(message.to_owned()),
        }
        match answer.pointer_mut("/response/convertedObjects").map(Value::take) {
            Some(Value::Array(converted)) => Ok(converted),
            _ => Ok(Vec::new()),
        }
    }
}

/// A group, version and kind as Go prints it.
fn answered_kind(api_version: &str, kind: &str) -> String {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    format!("{group}/{version}, Kind={kind}")
}

/// An object in one version, on its way to another one.
struct Foreign {
    version: Arc<str>,
    value: Value,
}

/// Stored objects in the version of a resource, in the same order.
pub(crate) async fn served(
    store: &Store,
    resource: &Resource,
    mut objects: Vec<Arc<Object>>,
) -> Result<Vec<Arc<Object>>> {
    let Some(custom) = &resource.custom else { return Ok(objects) };
    let (mut places, mut foreign) = (Vec::new(), Vec::new());
    for (place, object) in objects.iter_mut().enumerate() {
        let version = version_of(custom, object);
        match custom.decoded(&version, object.revision, &object.value) {
            Cow::Borrowed(_) => {}
            Cow::Owned(value) if version == custom.name => {
                *object = Arc::new(in_version(custom, value, object.revision))
            }
            Cow::Owned(value) => {
                places.push(place);
                foreign.push(Foreign { version, value });
            }
        }
    }
    let converted = convert(store, resource, custom, &custom.name, foreign).await?;
    for (place, value) in places.into_iter().zip(converted) {
        if let Some(object) = objects.get_mut(place) {
            *object = Arc::new(in_version(custom, value, object.revision));
        }
    }
    Ok(objects)
}

/// The version that an object is in.
pub(crate) fn version_of(custom: &CustomVersion, object: &Object) -> Arc<str> {
    object.version.clone().unwrap_or_else(|| Arc::clone(&custom.storage))
}

fn in_version(custom: &CustomVersion, value: Value, revision: u64) -> Object {
    Object::new(Content { value, version: Some(Arc::clone(&custom.name)) }, revision)
}

/// A stored object in the version of a resource.
pub(crate) async fn served_one(store: &Store, resource: &Resource, object: Arc<Object>) -> Result<Arc<Object>> {
    if resource.custom.is_none() {
        return Ok(object);
    }
    let mut one = served(store, resource, vec![Arc::clone(&object)]).await?;
    Ok(one.pop().unwrap_or(object))
}

/// A stored object in the present storage version, for a write that changes its metadata alone.
///
/// * `served` - the same object in the version of the resource.
pub(crate) async fn migrated(
    store: &Store,
    resource: &Resource,
    old: &Arc<Object>,
    served: &Object,
) -> Result<Arc<Object>> {
    match &resource.custom {
        Some(custom) if version_of(custom, old) != custom.storage => {
            let content = stored(store, resource, served.value.clone()).await?;
            Ok(Arc::new(Object::new(content, old.revision)))
        }
        _ => Ok(Arc::clone(old)),
    }
}

/// An object in the version of a resource, in the storage version.
pub(crate) async fn stored(store: &Store, resource: &Resource, value: Value) -> Result<Content> {
    let Some(custom) = &resource.custom else { return Ok(value.into()) };
    let mut value = to_version(store, resource, custom, &custom.storage, value).await?;
    if custom.storage != custom.name {
        custom.default_as_stored(&mut value);
    }
    Ok(Content { value, version: Some(Arc::clone(&custom.storage)) })
}

/// An object as it would be read after it was stored: the result of a dry run.
pub(crate) async fn stored_and_read(store: &Store, resource: &Resource, value: Value) -> Result<Value> {
    let Some(custom) = resource.custom.as_ref().filter(|custom| custom.storage != custom.name) else {
        return Ok(value);
    };
    let Content { value, .. } = stored(store, resource, value).await?;
    let foreign = Foreign { version: Arc::clone(&custom.storage), value };
    let mut read = convert(store, resource, custom, &custom.name, vec![foreign]).await?;
    read.pop().ok_or_else(lost)
}

/// An object in the version of a resource, in that of another resource of the same kind.
pub(crate) async fn between(store: &Store, from: &Resource, to: &Resource, value: Value) -> Result<Value> {
    let (Some(custom), Some(target)) = (&from.custom, &to.custom) else { return Ok(value) };
    to_version(store, from, custom, &target.name, value).await
}

async fn to_version(
    store: &Store,
    resource: &Resource,
    custom: &CustomVersion,
    version: &str,
    value: Value,
) -> Result<Value> {
    if *version == *custom.name {
        return Ok(value);
    }
    let foreign = Foreign { version: Arc::clone(&custom.name), value };
    let mut converted = convert(store, resource, custom, version, vec![foreign]).await?;
    converted.pop().ok_or_else(lost)
}

fn lost() -> ApiError {
    ApiError::internal("an object was lost in its conversion")
}

/// Converts objects that are in other versions.
async fn convert(
    store: &Store,
    resource: &Resource,
    custom: &CustomVersion,
    version: &str,
    objects: Vec<Foreign>,
) -> Result<Vec<Value>> {
    let webhook = if objects.is_empty() { None } else { Webhook::of(&custom.definition) };
    let Some(webhook) = webhook else {
        let renamed = objects.into_iter().map(|mut o| {
            custom.prune_to(version, &mut o.value);
            o.value
        });
        return Ok(renamed.collect());
    };
    let (group, kind) = (&resource.group, &resource.kind);
    let desired = format!("{group}/{version}");
    let mut all = Vec::with_capacity(objects.len());
    let mut rest = objects.into_iter().peekable();
    while rest.peek().is_some() {
        let (mut versions, mut originals, mut bytes) = (Vec::new(), Vec::new(), 0);
        while originals.len() < BATCH
            && bytes < BATCH_BYTES
            && let Some(Foreign { version, mut value }) = rest.next()
        {
            if let Some(map) = value.as_object_mut() {
                map.insert("kind".to_owned(), kind.clone().into());
                map.insert("apiVersion".to_owned(), format!("{group}/{version}").into());
            }
            bytes += value.to_string().len();
            versions.push(version);
            originals.push(value);
        }
        let of =
            |n: usize| format!("conversion webhook for {group}/{}, Kind={kind}", versions.get(n).map_or("", |v| v));
        let converted = webhook.convert(store, &originals, &desired).await;
        let converted = converted.map_err(|why| ApiError::internal(format!("{} failed: {why}", of(0))))?;
        if converted.len() != originals.len() {
            let (got, expected) = (converted.len(), originals.len());
            return Err(ApiError::internal(format!("{} returned {got} objects, expected {expected}", of(0))));
        }
        for (n, (original, mut object)) in originals.iter().zip(converted).enumerate() {
            check(original, &object, &desired)
                .and_then(|()| restore_metadata(original, &mut object))
                .map_err(|why| ApiError::internal(format!("{} returned {why}", of(n))))?;
            custom.prune_to(version, &mut object);
            all.push(object);
        }
    }
    Ok(all)
}

/// Checks that a converted object is the same object, in the desired version.
fn check(original: &Value, converted: &Value, desired: &str) -> std::result::Result<(), String> {
    fn text<'a>(value: &'a Value, path: &str) -> &'a str {
        value.pointer(path).and_then(Value::as_str).unwrap_or_default()
    }
    let version = text(converted, "/apiVersion");
    if version != desired {
        let why = format!("invalid groupVersion (expected {desired}, received {version})");
        return Err(format!("invalid object at index 0: {why}"));
    }
    if text(converted, "/kind") != text(original, "/kind") {
        let (expected, received) = (text(original, "/kind"), text(converted, "/kind"));
        return Err(format!("invalid object at index 0: invalid kind (expected {expected}, received {received})"));
    }
    for (name, path) in [("name", "/metadata/name"), ("namespace", "/metadata/namespace"), ("UID", "/metadata/uid")] {
        let (before, after) = (text(original, path), text(converted, path));
        if before != after {
            return Err(format!("invalid object: must have the same {name}: {before} != {after}"));
        }
    }
    Ok(())
}

/// Gives a converted object its metadata back; it keeps only its labels and annotations.
fn restore_metadata(original: &Value, converted: &mut Value) -> std::result::Result<(), String> {
    let Some(metadata) = converted.get_mut("metadata") else {
        return Err("invalid metadata: missing metadata in converted object".to_owned());
    };
    let Value::Object(answered) = metadata.take() else {
        return Err("invalid metadata: it is not an object in the converted object".to_owned());
    };
    let mut restored = original.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    for field in ["labels", "annotations"] {
        match answered.get(field) {
            None | Some(Value::Null) => {
                restored.remove(field);
            }
            Some(Value::Object(pairs)) => put_pairs(&mut restored, field, pairs)?,
            Some(_) => return Err(format!("invalid metadata: invalid metadata.{field} in converted object")),
        }
    }
    *metadata = Value::Object(restored);
    Ok(())
}

fn put_pairs(
    metadata: &mut Map<String, Value>,
    field: &str,
    pairs: &Map<String, Value>,
) -> std::result::Result<(), String> {
    if let Some((key, _)) = pairs.iter().find(|(_, v)| !v.is_string()) {
        return Err(format!("invalid metadata: metadata.{field}[{key}] must be a string in converted object"));
    }
    metadata.insert(field.to_owned(), Value::Object(pairs.clone()));
    Ok(())
}
