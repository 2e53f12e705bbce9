//! Writes of the host's own objects: webhook configurations, certificates.

use super::change::{self, Precondition, Propagation};
use super::request::Outgoing;
use super::request_sender::parse_object;
use super::write_memory::WriteMemory;
use super::{HOST, Identity, RequestSender, WriteError, WriteIdentity};
use crate::api::{GroupVersionKind, ObjectKey, Resource};
use crate::informer::Object;
use crate::lease::LeadershipGuard;
use serde_json::Value;
use std::sync::Arc;

/// Objects of one page of a list.
const PAGE: &str = "200";

/// Writes and reads the host's own objects, as the host.
#[derive(Clone, Debug)]
pub struct HostObjects {
    requests: Arc<RequestSender>,
    memory: Arc<WriteMemory>,
}

impl HostObjects {
    pub(super) fn new(requests: Arc<RequestSender>, memory: Arc<WriteMemory>) -> Self {
        Self { requests, memory }
    }

    /// Applies a document of the host, taking over its fields from other managers, and returns the present object.
    ///
    /// * `guard` - the write is refused after its end.
    /// * `document` - with `metadata.resourceVersion`, the write is refused when the object has another.
    ///
    /// # Errors
    ///
    /// [`WriteError::Conflict`] when the object has another resourceVersion; otherwise the API server's error.
    pub async fn apply(&self, guard: &LeadershipGuard, document: &Value) -> Result<Object, WriteError> {
        self.apply_to(guard, document, "").await
    }

    /// As [`Self::apply`], for the status of an object.
    ///
    /// # Errors
    ///
    /// As [`Self::apply`].
    pub async fn apply_status(&self, guard: &LeadershipGuard, document: &Value) -> Result<Object, WriteError> {
        self.apply_to(guard, document, "status").await
    }

    /// As [`Self::apply`], as another field manager, also by a host that does not lead.
    ///
    /// # Errors
    ///
    /// As [`Self::apply`].
    pub async fn apply_as(&self, manager: &str, document: &Value) -> Result<Object, WriteError> {
        self.apply_by(&WriteIdentity::host(), manager, document, "").await
    }

    async fn apply_to(
        &self,
        guard: &LeadershipGuard,
        document: &Value,
        subresource: &str,
    ) -> Result<Object, WriteError> {
        self.apply_by(&WriteIdentity::host().within(guard), HOST, document, subresource).await
    }

    async fn apply_by(
        &self,
        write_identity: &WriteIdentity,
        manager: &str,
        document: &Value,
        subresource: &str,
    ) -> Result<Object, WriteError> {
        let target = change::target_of(document)?;
        let resource = self.requests.resolve(&target.kind).await?;
        let key = change::checked_key(&resource, &target.key)?;
        let outgoing = Outgoing::new("PATCH", &resource, &key, subresource)
            .identity(Identity::Host)
            .body("application/apply-patch+yaml", document)
            .query("fieldManager", manager)
            .query("force", "true");
        self.write(write_identity, &resource, outgoing).await
    }

    /// Creates an object of the host.
    ///
    /// # Errors
    ///
    /// [`WriteError::Conflict`] when it exists; otherwise the API server's error.
    pub async fn create(&self, document: &Value) -> Result<Object, WriteError> {
        let target = change::target_of(document)?;
        let resource = self.requests.resolve(&target.kind).await?;
        let key = change::checked_key(&resource, &target.key)?;
        let outgoing = Outgoing::create(&resource, &key.namespace)
            .identity(Identity::Host)
            .body("application/json", document)
            .query("fieldManager", HOST);
        self.write(&WriteIdentity::host(), &resource, outgoing).await
    }

    /// Deletes an object of the host, if it still has this uid.
    ///
    /// # Errors
    ///
    /// The API server's error; an absent object is none.
    pub async fn delete(
        &self,
        guard: &LeadershipGuard,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        uid: &str,
    ) -> Result<(), WriteError> {
        let precondition = Precondition { uid: Some(uid.to_owned()), resource_version: None };
        self.delete_if(guard, kind, key, &precondition).await
    }

    /// As [`Self::delete`], whatever its uid.
    ///
    /// # Errors
    ///
    /// As [`Self::delete`].
    pub async fn delete_any(
        &self,
        guard: &LeadershipGuard,
        kind: &GroupVersionKind,
        key: &ObjectKey,
    ) -> Result<(), WriteError> {
        self.delete_if(guard, kind, key, &Precondition::default()).await
    }

    async fn delete_if(
        &self,
        guard: &LeadershipGuard,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        precondition: &Precondition,
    ) -> Result<(), WriteError> {
        let resource = self.requests.resolve(kind).await?;
        let key = change::checked_key(&resource, key)?;
        let outgoing = Outgoing::new("DELETE", &resource, &key, "")
            .identity(Identity::Host)
            .body("application/json", &change::delete_options(Propagation::Background, precondition));
        match self.requests.send(&WriteIdentity::host().within(guard), outgoing).await {
            Ok(_) | Err(WriteError::NotFound(_)) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// The objects of a kind in a namespace with a label, as JSON.
    ///
    /// # Errors
    ///
    /// The API server's error.
    pub async fn list(
        &self,
        kind: &GroupVersionKind,
        namespace: &str,
        label_selector: &str,
    ) -> Result<Vec<Value>, WriteError> {
        let resource = self.requests.resolve(kind).await?;
        let mut found = Vec::new();
        let mut next = String::new();
        loop {
            let mut outgoing =
                Outgoing::list_in(&resource, namespace).query("labelSelector", label_selector).query("limit", PAGE);
            if !next.is_empty() {
                outgoing = outgoing.query("continue", &next);
            }
            let answer = self.requests.send(&WriteIdentity::host(), outgoing).await?;
            let mut list: Value = serde_json::from_str(&answer).map_err(|e| WriteError::Server(e.to_string()))?;
            next = list.pointer("/metadata/continue").and_then(Value::as_str).unwrap_or_default().to_owned();
            if let Some(Value::Array(items)) = list.get_mut("items").map(Value::take) {
                found.extend(items);
            }
            if next.is_empty() {
                return Ok(found);
            }
        }
    }

    /// The number of objects of a kind, at the API server. A kind that is not served has none.
    ///
    /// # Errors
    ///
    /// The API server's error.
    pub async fn count(&self, kind: &GroupVersionKind) -> Result<usize, WriteError> {
        let resource = match self.requests.resolve(kind).await {
            Err(WriteError::UnknownKind(_)) => return Ok(0),
            resource => resource?,
        };
        let outgoing = Outgoing::list(&resource).query("limit", "1");
        let answer = self.requests.send(&WriteIdentity::host(), outgoing).await?;
        let list: Value = serde_json::from_str(&answer).map_err(|e| WriteError::Server(e.to_string()))?;
        let items = list.get("items").and_then(Value::as_array).map_or(0, Vec::len);
        let rest = list.pointer("/metadata/remainingItemCount").and_then(Value::as_u64).unwrap_or(0);
        Ok(items.saturating_add(usize::try_from(rest).unwrap_or(usize::MAX)))
    }

    /// Reads an object of the host from the API server, as JSON. None: it does not exist.
    ///
    /// # Errors
    ///
    /// The API server's error.
    pub async fn read(&self, kind: &GroupVersionKind, key: &ObjectKey) -> Result<Option<Value>, WriteError> {
        let resource = self.requests.resolve(kind).await?;
        let key = change::checked_key(&resource, key)?;
        let outgoing = Outgoing::new("GET", &resource, &key, "").identity(Identity::Host);
        match self.requests.send(&WriteIdentity::host(), outgoing).await {
            Ok(answer) => parse_object(&answer)
                .and_then(|_| serde_json::from_str(&answer).map_err(|e| WriteError::Server(e.to_string())))
                .map(Some),
            Err(WriteError::NotFound(_)) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Sends a write whose response is the present object, and records it.
    async fn write(
        &self,
        write_identity: &WriteIdentity,
        resource: &Resource,
        outgoing: Outgoing,
    ) -> Result<Object, WriteError> {
        let object = self.requests.send_for_object(write_identity, outgoing).await?;
        self.memory.wrote(write_identity, &resource.gvk, &object);
        Ok(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Discovery;
    use crate::apply::Writer;
    use crate::informer::Informers;
    use crate::metrics::Metrics;
    use oarlock_devserver::{DevServer, Options};
    use serde_json::json;

    #[tokio::test]
    async fn only_the_object_that_was_meant_is_overwritten_or_deleted() {
        let client = kube::Client::new(DevServer::router(Options::default()), "default");
        let discovery = Discovery::new(client.clone());
        let informers = Informers::new(client.clone(), discovery.clone());
        let writer = Writer::new(client, discovery, informers, Metrics::new());
        let (objects, guard) = (writer.host_objects(), LeadershipGuard::for_ever());
        let document = |version: Option<&str>| {
            json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "x", "namespace": "default", "resourceVersion": version}})
        };
        let (kind, key) = (GroupVersionKind::new("", "v1", "ConfigMap"), ObjectKey::new("default", "x"));
        assert!(objects.read(&kind, &key).await.unwrap().is_none());
        let created = objects.create(&document(None)).await.unwrap();
        let again = objects.create(&document(None)).await;
        assert!(matches!(&again, Err(WriteError::Conflict(_))), "{again:?}");
        let applied = objects.apply(&guard, &document(Some("1"))).await;
        assert!(matches!(&applied, Err(WriteError::Conflict(_))), "{applied:?}");
        objects.apply(&guard, &document(Some(created.resource_version()))).await.unwrap();
        let deleted = objects.delete(&guard, &kind, &key, "another").await;
        assert!(matches!(&deleted, Err(WriteError::Conflict(_))), "{deleted:?}");
        objects.delete(&guard, &kind, &key, created.uid()).await.unwrap();
        assert!(objects.read(&kind, &key).await.unwrap().is_none());
        objects.delete(&guard, &kind, &key, created.uid()).await.unwrap();
    }
}
