//! What the host owns itself: webhook configurations, certificates.

use super::change::{self, Precondition, Propagation};
use super::request::{self, Outgoing};
use super::{Author, HOST, Identity, WriteError, Writer};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::informer::Object;
use crate::lease::Term;
use serde_json::Value;

impl Writer {
    /// Applies a document of the host's own, taking its fields over from whoever has them, and answers the object as it is now.
    ///
    /// * `term` - refused after its end.
    /// * `document` - with `metadata.resourceVersion` it is refused when the object is no longer that.
    ///
    /// # Errors
    ///
    /// [`WriteError::Conflict`] when the object has another resourceVersion; otherwise what the API server answered.
    pub async fn apply_own(&self, term: &Term, document: &Value) -> Result<Object, WriteError> {
        let target = change::target_of(document)?;
        let resource = self.resolve(&target.kind).await?;
        let key = change::checked_key(&resource, &target.key)?;
        let outgoing = Outgoing::new("PATCH", &resource, &key, "")
            .identity(Identity::Host)
            .body("application/apply-patch+yaml", document)
            .query("fieldManager", HOST)
            .query("force", "true");
        self.send(&Author::host().within(term), &resource, outgoing).await
    }

    /// Creates an object of the host's own.
    ///
    /// # Errors
    ///
    /// [`WriteError::Conflict`] when it is there already; otherwise what the API server answered.
    pub async fn create_own(&self, document: &Value) -> Result<Object, WriteError> {
        let target = change::target_of(document)?;
        let resource = self.resolve(&target.kind).await?;
        let key = change::checked_key(&resource, &target.key)?;
        let outgoing = Outgoing::create(&resource, &key.namespace)
            .identity(Identity::Host)
            .body("application/json", document)
            .query("fieldManager", HOST);
        self.send(&Author::host(), &resource, outgoing).await
    }

    /// Deletes an object of the host's own, if it is still that one.
    ///
    /// # Errors
    ///
    /// What the API server answered; that it is gone already is none.
    pub async fn delete_own(
        &self,
        term: &Term,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        uid: &str,
    ) -> Result<(), WriteError> {
        let resource = self.resolve(kind).await?;
        let key = change::checked_key(&resource, key)?;
        let precondition = Precondition { uid: Some(uid.to_owned()), resource_version: None };
        let outgoing = Outgoing::new("DELETE", &resource, &key, "")
            .identity(Identity::Host)
            .body("application/json", &change::delete_options(Propagation::Background, &precondition));
        match self.request(&Author::host().within(term), outgoing).await {
            Ok(_) | Err(WriteError::NotFound) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Reads an object of the host's own past the cache, as JSON text. None: it does not exist.
    ///
    /// # Errors
    ///
    /// What the API server answered.
    pub async fn read_own(&self, kind: &GroupVersionKind, key: &ObjectKey) -> Result<Option<Value>, WriteError> {
        let resource = self.resolve(kind).await?;
        let key = change::checked_key(&resource, key)?;
        let outgoing = Outgoing::new("GET", &resource, &key, "").identity(Identity::Host);
        match self.request(&Author::host(), outgoing).await {
            Ok(answer) => request::parse_object(&answer)
                .and_then(|_| serde_json::from_str(&answer).map_err(|e| WriteError::Server(e.to_string())))
                .map(Some),
            Err(WriteError::NotFound) => Ok(None),
            Err(e) => Err(e),
        }
    }
}
