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
        let finalizers = without(object, &author.finalizer());
        match self.set_finalizers(author, kind, object, &finalizers).await {
            Ok(_) | Err(WriteError::NotFound) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Takes the plugin's finalizer off every object of a kind that carries it. Answers off how many.
    ///
    /// What is changed meanwhile is looked at again, a few times. The writes are no writes of the plugin: one that comes back at that
    /// moment is woken by them, and adds its finalizer again.
    ///
    /// * `is_back` - asked before every write: whether the plugin cleans up after its objects itself again.
    ///
    /// # Errors
    ///
    /// What the API server answered to a list or, in the end, to a write; [`WriteError::Denied`] when the plugin is back. A kind that is
    /// not served any more has no objects.
    pub async fn release_finalizers(
        &self,
        author: &Author,
        kind: &GroupVersionKind,
        is_back: &(dyn Fn() -> bool + Send + Sync),
    ) -> Result<usize, WriteError> {
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
                    if is_back() {
                        return Err(WriteError::Denied(format!(
                            "plugin {} runs again and cleans up after its objects itself; {released} were released before",
                            author.plugin
                        )));
                    }
                    match self.write_finalizers(author, kind, object, &without(object, &ours)).await {
                        Ok(_) | Err(WriteError::NotFound) => released += 1,
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

    /// Writes them for the plugin, which is not woken by the echo.
    async fn set_finalizers(
        &self,
        author: &Author,
        kind: &GroupVersionKind,
        object: &Object,
        finalizers: &[String],
    ) -> Result<Arc<Object>, WriteError> {
        let under_way = self.own.begin(&author.plugin, object.uid());
        let written = self.write_finalizers(author, kind, object, finalizers).await?;
        under_way.wrote(object.resource_version(), written.resource_version());
        Ok(written)
    }

    /// The list is written whole, so the write must fail when somebody else changed it: the resourceVersion goes along.
    async fn write_finalizers(
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
        let answer = self.request(author, outgoing).await?;
        let written = super::request::parse_object(&answer)?;
        if written.deleting() && written.finalizers().len() == 0 {
            // Gone with that, if nothing else holds it. The answer may still carry the version before.
            self.ended(author, &resource.gvk, written.key(), written.uid());
        } else {
            self.wrote(author, &resource.gvk, &written);
        }
        Ok(Arc::new(written))
    }
}

/// Its finalizers but this one.
fn without(object: &Object, finalizer: &str) -> Vec<String> {
    object.finalizers().filter(|f| *f != finalizer).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{Discovery, ObjectKey};
    use crate::grants::Grants;
    use crate::informer::Informers;
    use crate::metrics::Metrics;
    use oarlock_devserver::{DevServer, Options};
    use serde_json::Value;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const PATH: &str = "/api/v1/namespaces/default/configmaps";

    /// A writer to a server with some ConfigMaps that carry the finalizer of plugin p.
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

    fn author() -> Author {
        Author::new("p", Arc::new(Grants::none()))
    }

    #[tokio::test]
    async fn b10_finalizers_of_a_plugin_that_comes_back_meanwhile_stay() {
        let (writer, client) = writer(&["a", "b", "c"]).await;
        let kind = GroupVersionKind::new("", "v1", "ConfigMap");
        let asked = AtomicUsize::new(0);
        // It is back before the second write.
        let is_back = || asked.fetch_add(1, Ordering::Relaxed) > 0;
        let released = writer.release_finalizers(&author(), &kind, &is_back).await;
        assert!(matches!(&released, Err(WriteError::Denied(why)) if why.contains("1 were released")), "{released:?}");
        let mut held = 0;
        for name in ["a", "b", "c"] {
            held += usize::from(read(&client, name).await.has_finalizer("oarlock.dev/p"));
        }
        assert_eq!(held, 2);
    }

    #[tokio::test]
    async fn b10_a_plugin_that_comes_back_is_woken_by_the_release() {
        let (writer, client) = writer(&["a"]).await;
        let kind = GroupVersionKind::new("", "v1", "ConfigMap");
        let before = read(&client, "a").await;
        assert_eq!(writer.release_finalizers(&author(), &kind, &|| false).await.unwrap(), 1);
        let after = read(&client, "a").await;
        assert_eq!(after.key(), &ObjectKey::new("default", "a"));
        assert_eq!(after.finalizers().collect::<Vec<_>>(), ["example.org/other"]);
        let woken = Arc::new(AtomicUsize::new(0));
        let wakes = Arc::clone(&woken);
        let wake = move || {
            wakes.fetch_add(1, Ordering::Relaxed);
        };
        writer.own().unless_echo("p", after.uid(), before.resource_version(), after.resource_version(), wake);
        assert_eq!(woken.load(Ordering::Relaxed), 1);
    }
}
