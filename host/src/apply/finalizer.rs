//! Our finalizer, put on before the first side effect and taken off after the last.

use super::request::Outgoing;
use super::{Author, Identity, WriteError, Writer};
use crate::api::GroupVersionKind;
use crate::informer::Object;
use serde_json::json;
use std::sync::Arc;

/// How often objects that were changed meanwhile are looked at again.
const RELEASE_ATTEMPTS: usize = 5;

#[derive(serde::Deserialize)]
struct List<'a> {
    #[serde(default)]
    metadata: ListMeta,
    #[serde(borrow)]
    items: Vec<&'a serde_json::value::RawValue>,
}

#[derive(Default, serde::Deserialize)]
struct ListMeta {
    #[serde(rename = "continue")]
    next: Option<String>,
}

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

    /// Takes the plugin's finalizer off every object of a kind that carries it. Answers off how many.
    ///
    /// What is changed meanwhile is looked at again, a few times.
    ///
    /// # Errors
    ///
    /// What the API server answered to a list or, in the end, to a write. A kind that is not served any more has no objects.
    pub async fn release_finalizers(&self, author: &Author, kind: &GroupVersionKind) -> Result<usize, WriteError> {
        let ours = author.finalizer();
        let mut released = 0;
        let mut failed = None;
        for _ in 0..RELEASE_ATTEMPTS {
            failed = None;
            let mut page = String::new();
            loop {
                let (objects, next) = match self.list_page(author, kind, &page).await {
                    Err(WriteError::UnknownKind(_)) => return Ok(released),
                    page => page?,
                };
                for object in objects.iter().filter(|object| object.has_finalizer(&ours)) {
                    match self.remove_finalizer(author, kind, object).await {
                        Ok(()) => released += 1,
                        Err(e) => failed = Some(e),
                    }
                }
                if next.is_empty() {
                    break;
                }
                page = next;
            }
            if failed.is_none() {
                return Ok(released);
            }
        }
        failed.map_or(Ok(released), Err)
    }

    /// One page of a kind's objects, past the cache, and the token of the next; empty: that was the last.
    async fn list_page(
        &self,
        author: &Author,
        kind: &GroupVersionKind,
        page: &str,
    ) -> Result<(Vec<Object>, String), WriteError> {
        let resource = self.resolve(kind).await?;
        let mut outgoing = Outgoing::list(&resource).identity(Identity::Host).query("limit", "250");
        if !page.is_empty() {
            outgoing = outgoing.query("continue", page);
        }
        let answer = self.request(author, outgoing).await?;
        let list: List<'_> =
            serde_json::from_str(&answer).map_err(|e| WriteError::Server(format!("with what is no list: {e}")))?;
        let objects = list.items.iter().map(|item| Object::parse_item(item.get(), kind));
        let objects = objects.collect::<Result<Vec<_>, _>>().map_err(|e| WriteError::Server(e.to_string()))?;
        Ok((objects, list.metadata.next.unwrap_or_default()))
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
        let answer = self.request(author, outgoing).await?;
        let written = super::request::parse_object(&answer)?;
        if written.deleting() && written.finalizers().len() == 0 {
            // Gone with that, if nothing else holds it. The answer may still carry the version before.
            self.ended(author, &resource.gvk, written.key(), written.uid());
        } else {
            self.wrote(author, &resource.gvk, &written);
        }
        under_way.wrote(object.resource_version(), written.resource_version());
        Ok(Arc::new(written))
    }
}
