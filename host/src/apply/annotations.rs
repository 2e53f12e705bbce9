//! Annotations of primaries that the host writes: a plugin's acknowledgement of a requested reconcile.

use super::request::Outgoing;
use super::write_memory::WriteMemory;
use super::{Identity, RequestSender, WriteError, WriteIdentity, allowed};
use crate::api::GroupVersionKind;
use crate::informer::Object;
use serde_json::json;
use std::sync::Arc;

/// The annotation by which a plugin acknowledges `oarlock.dev/reconcile-at`.
#[must_use]
pub fn acknowledgement(plugin: &str) -> String {
    format!("{plugin}.oarlock.dev/reconciled-at")
}

/// Writes annotations of primaries on behalf of their plugins.
#[derive(Clone, Debug)]
pub struct AnnotationWriter {
    requests: Arc<RequestSender>,
    memory: Arc<WriteMemory>,
}

impl AnnotationWriter {
    pub(super) fn new(requests: Arc<RequestSender>, memory: Arc<WriteMemory>) -> Self {
        Self { requests, memory }
    }

    /// Writes the acknowledgement of a requested reconcile. An object that is gone meanwhile is no error.
    ///
    /// A merge patch changes this annotation only: an apply would remove the other fields of its field manager. It has no resourceVersion,
    /// so that a concurrent write of another field is no conflict.
    ///
    /// * `object` - the newest known state: the echo of a write on exactly this state enqueues no key.
    /// * `cleans_up` - the host may patch the object, because it writes the plugin's finalizer. Otherwise the write counts as the plugin's
    ///   own, and needs `patch` in its grant.
    ///
    /// # Errors
    ///
    /// [`WriteError::Denied`] before any request when the grant does not allow the write, otherwise the API server's error.
    pub async fn acknowledge(
        &self,
        write_identity: &WriteIdentity,
        kind: &GroupVersionKind,
        object: &Object,
        value: &str,
        cleans_up: bool,
    ) -> Result<(), WriteError> {
        let resource = self.requests.resolve(kind).await?;
        let identity = if cleans_up {
            Identity::Host
        } else {
            allowed(write_identity, "patch", &resource, "", object.key())?;
            Identity::Plugin
        };
        let patch = json!({"metadata": {
            "uid": object.uid(), "annotations": {acknowledgement(&write_identity.plugin): value},
        }});
        let outgoing = Outgoing::new("PATCH", &resource, object.key(), "")
            .body("application/merge-patch+json", &patch)
            .identity(identity)
            .query("fieldManager", &write_identity.host_manager());
        let under_way = self.memory.echoes().begin(&write_identity.plugin, object.uid());
        match self.requests.send_for_object(write_identity, outgoing).await {
            Ok(written) => {
                self.memory.wrote(write_identity, &resource.gvk, &written);
                under_way.wrote(object.resource_version(), written.resource_version());
                Ok(())
            }
            // Gone, or another object of the same name, which has an event of its own.
            Err(WriteError::NotFound(_) | WriteError::Conflict(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Discovery;
    use crate::apply::Writer;
    use crate::grants::Grants;
    use crate::informer::Informers;
    use crate::metrics::Metrics;
    use oarlock_devserver::{DevServer, Options};
    use serde_json::Value;

    const PATH: &str = "/api/v1/namespaces/default/configmaps";

    async fn request(client: &kube::Client, method: &str, path: &str, body: &Value) -> Object {
        let request = http::Request::builder().method(method).uri(path);
        let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = request.header(http::header::CONTENT_TYPE, kind).body(body.to_string().into_bytes()).unwrap();
        Object::parse(&client.request_text(request).await.unwrap()).unwrap()
    }

    fn identity(verbs: &[&str]) -> WriteIdentity {
        let grant = json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginGrant",
            "permissions": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}]});
        let grants = Grants::new(&serde_json::from_value(grant).unwrap(), std::path::Path::new(".")).unwrap();
        WriteIdentity::new("p", Arc::new(grants))
    }

    #[tokio::test]
    async fn an_acknowledgement_takes_no_field_away_needs_a_grant_and_its_echo_wakes_nobody() {
        let client = kube::Client::new(DevServer::router(Options::default()), "default");
        let discovery = Discovery::new(client.clone());
        let writer =
            Writer::new(client.clone(), discovery.clone(), Informers::new(client.clone(), discovery), Metrics::new());
        let kind = GroupVersionKind::new("", "v1", "ConfigMap");
        let first =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "annotations": {"theirs": "1"}}});
        let first = request(&client, "POST", PATH, &first).await;
        let reads = identity(&["get"]);
        let denied = writer.annotations().acknowledge(&reads, &kind, &first, "now", false).await;
        assert!(matches!(&denied, Err(WriteError::Denied(why)) if why.contains("patch configmaps")), "{denied:?}");

        let with_finalizer = writer.finalizers().add(&reads, &kind, &first).await.unwrap();
        writer.annotations().acknowledge(&reads, &kind, &with_finalizer, "now", true).await.unwrap();
        let stored = request(&client, "GET", &format!("{PATH}/a"), &Value::Null).await;
        assert!(stored.has_finalizer("oarlock.dev/p"));
        let document: Value = serde_json::from_str(stored.json()).unwrap();
        assert_eq!(document["metadata"]["annotations"], json!({"theirs": "1", "p.oarlock.dev/reconciled-at": "now"}));
        assert!(stored.managed().is_some_and(|managed| managed.contains("oarlock.p.host")));
        let (old, new) = (with_finalizer.resource_version(), stored.resource_version());
        writer.echoes().unless_echo("p", stored.uid(), old, new, || panic!("an echo wakes the key"));

        let patches = identity(&["patch"]);
        writer.annotations().acknowledge(&patches, &kind, &stored, "later", false).await.unwrap();
        let gone = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}});
        let gone = request(&client, "POST", PATH, &gone).await;
        let delete = http::Request::delete(format!("{PATH}/b")).body(Vec::new()).unwrap();
        client.request_text(delete).await.unwrap();
        writer.annotations().acknowledge(&patches, &kind, &gone, "now", false).await.unwrap();
    }
}
