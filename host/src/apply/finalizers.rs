//! Finalizers of plugins: added before the first side effect, removed after cleanup.

use super::request::Outgoing;
use super::write_memory::WriteMemory;
use super::{Identity, RequestSender, WriteError, WriteIdentity};
use crate::api::GroupVersionKind;
use crate::informer::Object;
use serde_json::json;
use std::sync::Arc;

/// Attempts for objects that change meanwhile.
const RELEASE_ATTEMPTS: usize = 5;

/// Objects of one kind with a finalizer.
#[derive(Debug, Default)]
pub struct HeldObjects {
    /// Their number.
    pub objects: usize,
    /// The number of those that are being deleted.
    pub deleting: usize,
    /// Some of those that are being deleted.
    pub some_deleting: Vec<Object>,
}

#[derive(serde::Deserialize)]
struct FinalizerList<'a> {
    #[serde(default)]
    metadata: FinalizerListMeta,
    #[serde(borrow)]
    items: Vec<&'a serde_json::value::RawValue>,
}

#[derive(Default, serde::Deserialize)]
struct FinalizerListMeta {
    #[serde(rename = "continue")]
    next: Option<String>,
}

/// Writes the finalizers of plugins, as the host.
#[derive(Clone, Debug)]
pub struct Finalizers {
    requests: Arc<RequestSender>,
    memory: Arc<WriteMemory>,
}

impl Finalizers {
    pub(super) fn new(requests: Arc<RequestSender>, memory: Arc<WriteMemory>) -> Self {
        Self { requests, memory }
    }

    /// Adds the plugin's finalizer and returns the object with it.
    ///
    /// # Errors
    ///
    /// [`WriteError::Conflict`] when `object` is not the newest state: reconcile again.
    pub async fn add(
        &self,
        write_identity: &WriteIdentity,
        kind: &GroupVersionKind,
        object: &Object,
    ) -> Result<Arc<Object>, WriteError> {
        let mut finalizers: Vec<String> = object.finalizers().map(str::to_owned).collect();
        finalizers.push(write_identity.finalizer());
        self.set(write_identity, kind, object, &finalizers).await
    }

    /// Removes the plugin's finalizer. A deleted object is no error.
    ///
    /// # Errors
    ///
    /// [`WriteError::Conflict`] when `object` is not the newest state: reconcile again.
    pub async fn remove(
        &self,
        write_identity: &WriteIdentity,
        kind: &GroupVersionKind,
        object: &Object,
    ) -> Result<(), WriteError> {
        let finalizers = without(object, &write_identity.finalizer());
        match self.set(write_identity, kind, object, &finalizers).await {
            Ok(_) | Err(WriteError::NotFound(_)) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Removes the plugin's finalizer from every object of a kind, and returns the number of objects.
    ///
    /// Objects that change meanwhile are tried again a few times. The writes do not count as the plugin's own. If the plugin is restored
    /// at that moment, their echo enqueues the key, and the plugin adds its finalizer again.
    ///
    /// * `is_back` - checked before every write: whether the plugin runs again and cleans up its own objects.
    ///
    /// # Errors
    ///
    /// The API server's error for a list or, in the end, for a write; [`WriteError::Denied`] when the plugin is back. A kind that is no
    /// longer served has no objects.
    pub async fn release(
        &self,
        write_identity: &WriteIdentity,
        kind: &GroupVersionKind,
        is_back: &(dyn Fn() -> bool + Send + Sync),
    ) -> Result<usize, WriteError> {
        let ours = write_identity.finalizer();
        let mut released = 0;
        let mut failed = None;
        for _ in 0..RELEASE_ATTEMPTS {
            failed = None;
            let mut page = String::new();
            loop {
                let (objects, next) = match self.list_page(write_identity, kind, &page).await {
                    Err(WriteError::UnknownKind(_)) => return Ok(released),
                    page => page?,
                };
                for object in objects.iter().filter(|object| object.has_finalizer(&ours)) {
                    if is_back() {
                        return Err(WriteError::Denied(format!(
                            "plugin {} runs again and cleans up after its objects itself; {released} were released before",
                            write_identity.plugin
                        )));
                    }
                    match self.write(write_identity, kind, object, &without(object, &ours)).await {
                        Ok(_) | Err(WriteError::NotFound(_)) => released += 1,
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

    /// Counts the objects of a kind with a finalizer, at the API server. A kind that is not served has none.
    ///
    /// * `most` - the number of returned objects that are being deleted.
    ///
    /// # Errors
    ///
    /// The API server's error for a list.
    pub async fn held_objects(
        &self,
        finalizer: &str,
        kind: &GroupVersionKind,
        most: usize,
    ) -> Result<HeldObjects, WriteError> {
        let (mut held, mut page) = (HeldObjects::default(), String::new());
        loop {
            let (objects, next) = match self.list_page(&WriteIdentity::host(), kind, &page).await {
                Err(WriteError::UnknownKind(_)) => return Ok(HeldObjects::default()),
                page => page?,
            };
            for object in objects.into_iter().filter(|object| object.has_finalizer(finalizer)) {
                held.objects += 1;
                if object.deleting() {
                    held.deleting += 1;
                    if held.some_deleting.len() < most {
                        held.some_deleting.push(object);
                    }
                }
            }
            if next.is_empty() {
                return Ok(held);
            }
            page = next;
        }
    }

    /// One page of a kind's objects from the API server, and the token of the next page; empty: the last page.
    async fn list_page(
        &self,
        write_identity: &WriteIdentity,
        kind: &GroupVersionKind,
        page: &str,
    ) -> Result<(Vec<Object>, String), WriteError> {
        let resource = self.requests.resolve(kind).await?;
        let mut outgoing = Outgoing::list(&resource).identity(Identity::Host).query("limit", "250");
        if !page.is_empty() {
            outgoing = outgoing.query("continue", page);
        }
        let answer = self.requests.send(write_identity, outgoing).await?;
        let list: FinalizerList<'_> = serde_json::from_str(&answer)
            .map_err(|e| WriteError::Server(format!("with a document that is not a list: {e}")))?;
        let objects = list.items.iter().map(|item| Object::parse_item(item.get(), kind));
        let objects = objects.collect::<Result<Vec<_>, _>>().map_err(|e| WriteError::Server(e.to_string()))?;
        Ok((objects, list.metadata.next.unwrap_or_default()))
    }

    /// Writes the finalizers for the plugin; the echo does not enqueue the key.
    async fn set(
        &self,
        write_identity: &WriteIdentity,
        kind: &GroupVersionKind,
        object: &Object,
        finalizers: &[String],
    ) -> Result<Arc<Object>, WriteError> {
        let under_way = self.memory.echoes().begin(&write_identity.plugin, object.uid());
        let written = self.write(write_identity, kind, object, finalizers).await?;
        // Removing the last finalizer ends the object: its event is a deletion, and no echo follows.
        if !(written.deleting() && written.finalizers().len() == 0) {
            under_way.wrote(object.resource_version(), written.resource_version());
        }
        Ok(written)
    }

    /// The whole list is written with the resourceVersion, so that the write fails after a concurrent change.
    async fn write(
        &self,
        write_identity: &WriteIdentity,
        kind: &GroupVersionKind,
        object: &Object,
        finalizers: &[String],
    ) -> Result<Arc<Object>, WriteError> {
        let resource = self.requests.resolve(kind).await?;
        let patch = json!({"metadata": {
            "uid": object.uid(), "resourceVersion": object.resource_version(), "finalizers": finalizers,
        }});
        let outgoing = Outgoing::new("PATCH", &resource, object.key(), "")
            .body("application/merge-patch+json", &patch)
            .identity(Identity::Host)
            .query("fieldManager", &write_identity.host_manager());
        let written = self.requests.send_for_object(write_identity, outgoing).await?;
        if written.deleting() && written.finalizers().len() == 0 {
            // The object is gone unless it has other finalizers. The response may still have the version before the write.
            self.memory.ended(write_identity, &resource.gvk, written.key(), written.uid());
        } else {
            self.memory.wrote(write_identity, &resource.gvk, &written);
        }
        Ok(Arc::new(written))
    }
}

/// The object's finalizers without this one.
fn without(object: &Object, finalizer: &str) -> Vec<String> {
    object.finalizers().filter(|f| *f != finalizer).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{Discovery, ObjectKey};
    use crate::apply::Writer;
    use crate::grants::Grants;
    use crate::informer::Informers;
    use crate::metrics::Metrics;
    use oarlock_devserver::{DevServer, Options};
    use serde_json::Value;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const PATH: &str = "/api/v1/namespaces/default/configmaps";

    /// A writer to a server with some ConfigMaps that have the finalizer of plugin p.
    async fn writer(names: &[&str]) -> (Writer, kube::Client) {
        let client = kube::Client::new(DevServer::router(Options::default()), "default");
        for name in names {
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
                "name": name, "finalizers": ["oarlock.dev/p", "example.org/other"]}});
            let request = http::Request::post(PATH).header(http::header::CONTENT_TYPE, "application/json");
            client.request::<Value>(request.body(object.to_string().into_bytes()).unwrap()).await.unwrap();
        }
        let discovery = Discovery::new(client.clone());
        let informers = Informers::new(client.clone(), discovery.clone());
        (Writer::new(client.clone(), discovery, informers, Metrics::new()), client)
    }

    async fn read(client: &kube::Client, name: &str) -> Object {
        let request = http::Request::get(format!("{PATH}/{name}")).body(Vec::new()).unwrap();
        Object::parse(&client.request_text(request).await.unwrap()).unwrap()
    }

    fn write_identity() -> WriteIdentity {
        WriteIdentity::new("p", Arc::new(Grants::none()))
    }

    #[tokio::test]
    async fn b10_finalizers_of_a_plugin_that_comes_back_meanwhile_stay() {
        let (writer, client) = writer(&["a", "b", "c"]).await;
        let kind = GroupVersionKind::new("", "v1", "ConfigMap");
        let asked = AtomicUsize::new(0);
        // The plugin is back before the second write.
        let is_back = || asked.fetch_add(1, Ordering::Relaxed) > 0;
        let released = writer.finalizers().release(&write_identity(), &kind, &is_back).await;
        assert!(matches!(&released, Err(WriteError::Denied(why)) if why.contains("1 were released")), "{released:?}");
        let mut held = 0;
        for name in ["a", "b", "c"] {
            held += usize::from(read(&client, name).await.has_finalizer("oarlock.dev/p"));
        }
        assert_eq!(held, 2);
    }

    #[tokio::test]
    async fn n17_objects_with_a_finalizer_are_counted_and_those_that_are_being_deleted_returned() {
        let names: Vec<String> = (0..300).map(|number| format!("n{number}")).collect();
        let (writer, client) = writer(&names.iter().map(String::as_str).collect::<Vec<_>>()).await;
        for name in ["n7", "n299", "n42"] {
            let request = http::Request::delete(format!("{PATH}/{name}")).body(Vec::new()).unwrap();
            client.request_text(request).await.unwrap();
        }
        let kind = GroupVersionKind::new("", "v1", "ConfigMap");
        let held = writer.finalizers().held_objects("oarlock.dev/p", &kind, 2).await.unwrap();
        assert_eq!((held.objects, held.deleting, held.some_deleting.len()), (300, 3, 2));
        assert_eq!(writer.finalizers().held_objects("oarlock.dev/q", &kind, 2).await.unwrap().objects, 0);
        let unknown = GroupVersionKind::new("s.io", "v1", "Nothing");
        assert_eq!(writer.finalizers().held_objects("oarlock.dev/p", &unknown, 2).await.unwrap().objects, 0);
    }

    #[tokio::test]
    async fn b10_a_plugin_that_comes_back_is_woken_by_the_release() {
        let (writer, client) = writer(&["a"]).await;
        let kind = GroupVersionKind::new("", "v1", "ConfigMap");
        let before = read(&client, "a").await;
        assert_eq!(writer.finalizers().release(&write_identity(), &kind, &|| false).await.unwrap(), 1);
        let after = read(&client, "a").await;
        assert_eq!(after.key(), &ObjectKey::new("default", "a"));
        assert_eq!(after.finalizers().collect::<Vec<_>>(), ["example.org/other"]);
        let woken = Arc::new(AtomicUsize::new(0));
        let wakes = Arc::clone(&woken);
        let wake = move || {
            wakes.fetch_add(1, Ordering::Relaxed);
        };
        writer.echoes().unless_echo("p", after.uid(), before.resource_version(), after.resource_version(), wake);
        assert_eq!(woken.load(Ordering::Relaxed), 1);
    }
}
