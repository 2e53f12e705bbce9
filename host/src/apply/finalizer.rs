//! Our finalizer, put on before the first side effect and taken off after the last.

use super::request::Outgoing;
use super::{Author, Identity, WriteError, Writer};
use crate::api::GroupVersionKind;
use crate::informer::Object;
use serde_json::json;
use std::sync::Arc;

impl Writer {
    /// Adds the plugin's finalizer and answers the object with it.
    ///
    /// # Errors
    ///
    /// [`WriteError::Conflict`] when `object` is not the newest state: look again.
    pub async fn add_finalizer(
        &self,
        author: &Author,
        kind: &GroupVersionKind,
        object: &Object,
    ) -> Result<Arc<Object>, WriteError> {
        let mut finalizers: Vec<String> = object.finalizers().map(str::to_owned).collect();
        finalizers.push(author.finalizer());
        self.set_finalizers(author, kind, object, &finalizers).await
    }

    /// Removes the plugin's finalizer. An object that is gone already is no error.
    ///
    /// # Errors
    ///
    /// [`WriteError::Conflict`] when `object` is not the newest state: look again.
    pub async fn remove_finalizer(
        &self,
        author: &Author,
        kind: &GroupVersionKind,
        object: &Object,
    ) -> Result<(), WriteError> {
        let ours = author.finalizer();
        let finalizers: Vec<String> = object.finalizers().filter(|f| *f != ours).map(str::to_owned).collect();
        match self.set_finalizers(author, kind, object, &finalizers).await {
            Ok(_) | Err(WriteError::NotFound) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// The list is written whole, so the write must fail when somebody else changed it: the resourceVersion goes along.
    async fn set_finalizers(
        &self,
        author: &Author,
        kind: &GroupVersionKind,
        object: &Object,
        finalizers: &[String],
    ) -> Result<Arc<Object>, WriteError> {
        let resource = self.resolve(kind).await?;
        let patch = json!({"metadata": {
            "uid": object.uid(), "resourceVersion": object.resource_version(), "finalizers": finalizers,
        }});
        let outgoing = Outgoing::new("PATCH", &resource, object.key(), "")
            .body("application/merge-patch+json", &patch)
            .identity(Identity::Host)
            .query("fieldManager", &author.host_manager());
        let under_way = self.own.begin(&author.plugin, object.uid());
        let written = self.send(author, &resource, outgoing).await?;
        under_way.wrote(object.resource_version(), written.resource_version());
        Ok(Arc::new(written))
    }
}
