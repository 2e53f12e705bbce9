//! The single writer to the API server: grants, preconditions, writes, and memory of own writes.
//!
//! Every write to the API server goes through the parts of [`Writer`]: the changes of plugins, the host's writes on their behalf
//! (finalizers, status, acknowledgements, events), and the host's own objects. Only Leases have a writer of their own.

pub mod access;
mod annotations;
pub mod applied;
mod change;
pub mod events;
mod finalizers;
pub(crate) mod fuzzing;
mod handover;
mod host_objects;
mod request;
mod request_sender;
pub mod reviewed;
pub mod status;
mod write_memory;

pub use annotations::{AnnotationWriter, acknowledgement};
pub use applied::{AppliedMemory, owned, owned_parts};
pub(crate) use change::target_of;
pub use change::{Change, ObjectRef, PatchKind, Precondition, Propagation};
pub use finalizers::{Finalizers, HeldObjects};
pub use host_objects::HostObjects;
pub use request::{Identity, WriteError};
pub use request_sender::RequestSender;

use crate::api::{Discovery, ObjectKey, Resource};
use crate::grants::Grants;
use crate::informer::{EchoSuppressor, Informers, Object};
use crate::lease::LeadershipGuard;
use crate::metrics::Metrics;
use crate::secrets::KnownSecrets;
use request::Outgoing;
use serde_json::Value;
use status::StatusWriter;
use std::sync::Arc;
use write_memory::WriteMemory;

/// The host's own name in the place of a plugin name.
pub const HOST: &str = "oarlock";

/// The identity of a write: plugin, grants and leadership.
#[derive(Clone, Debug)]
pub struct WriteIdentity {
    /// Plugin name.
    pub plugin: String,
    /// The plugin's grants.
    pub grants: Arc<Grants>,
    /// The secrets that the plugin knows, which it may put into names of objects.
    pub secrets: Arc<KnownSecrets>,
    /// Guards the writes: none is sent after the end of the leadership.
    pub guard: LeadershipGuard,
}

impl WriteIdentity {
    /// The identity of a plugin without leader election: for reads, and for writes that do not depend on its Lease.
    #[must_use]
    pub fn new(plugin: &str, grants: Arc<Grants>) -> Self {
        Self { plugin: plugin.to_owned(), grants, secrets: Arc::default(), guard: LeadershipGuard::for_ever() }
    }

    /// The same identity of a plugin that knows some secrets.
    #[must_use]
    pub fn knowing(self, secrets: Arc<KnownSecrets>) -> Self {
        Self { secrets, ..self }
    }

    /// The same identity within a leadership: its writes are refused and cancelled after its end.
    #[must_use]
    pub fn within(&self, guard: &LeadershipGuard) -> Self {
        Self { guard: guard.clone(), ..self.clone() }
    }

    /// The identity of the host for its own objects. No plugin can have this name.
    #[must_use]
    pub fn host() -> Self {
        Self::new(HOST, Arc::new(Grants::none()))
    }

    /// The field manager of the plugin's applies.
    #[must_use]
    pub fn field_manager(&self) -> String {
        if self.plugin == HOST { HOST.to_owned() } else { format!("oarlock.{}", self.plugin) }
    }

    /// The field manager of the host's writes on the plugin's behalf.
    #[must_use]
    pub fn host_manager(&self) -> String {
        format!("oarlock.{}.host", self.plugin)
    }

    /// The finalizer of objects that this plugin cleans up.
    #[must_use]
    pub fn finalizer(&self) -> String {
        format!("oarlock.dev/{}", self.plugin)
    }
}

/// The writer to the API server. Cheap to clone.
///
/// It carries out the changes of plugins; its parts write what the host writes.
#[derive(Clone, Debug)]
pub struct Writer {
    requests: Arc<RequestSender>,
    memory: Arc<WriteMemory>,
    status: StatusWriter,
    finalizers: Finalizers,
    annotations: AnnotationWriter,
    host_objects: HostObjects,
}

impl Writer {
    /// A writer that records its writes in `informers`, so that no reconcile acts on an older cache.
    #[must_use]
    pub fn new(client: kube::Client, discovery: Discovery, informers: Informers, metrics: Metrics) -> Self {
        Self::of(RequestSender::new(client, discovery, metrics), Arc::new(WriteMemory::new(informers)))
    }

    fn of(requests: RequestSender, memory: Arc<WriteMemory>) -> Self {
        let requests = Arc::new(requests);
        Self {
            status: StatusWriter::new(Arc::clone(&requests), Arc::clone(&memory)),
            finalizers: Finalizers::new(Arc::clone(&requests), Arc::clone(&memory)),
            annotations: AnnotationWriter::new(Arc::clone(&requests), Arc::clone(&memory)),
            host_objects: HostObjects::new(Arc::clone(&requests), Arc::clone(&memory)),
            requests,
            memory,
        }
    }

    /// Sends the changes of each plugin as a ServiceAccount of its own, so that the API server enforces their permissions. The host's
    /// writes on their behalf (finalizers, status, events) still use the host's identity.
    ///
    /// * `namespace` - namespace of the ServiceAccounts; see [`service_account`](crate::rbac::service_account).
    #[must_use]
    pub fn impersonating(self, namespace: &str) -> Self {
        Self::of(self.requests.impersonating(namespace), self.memory)
    }

    /// The requests to the API server, for reads and for the writer of events.
    #[must_use]
    pub fn requests(&self) -> &Arc<RequestSender> {
        &self.requests
    }

    /// The status of primaries.
    #[must_use]
    pub fn status(&self) -> &StatusWriter {
        &self.status
    }

    /// The finalizers of plugins.
    #[must_use]
    pub fn finalizers(&self) -> &Finalizers {
        &self.finalizers
    }

    /// The annotations of primaries.
    #[must_use]
    pub fn annotations(&self) -> &AnnotationWriter {
        &self.annotations
    }

    /// The host's own objects.
    #[must_use]
    pub fn host_objects(&self) -> &HostObjects {
        &self.host_objects
    }

    /// The memory of applied documents.
    #[must_use]
    pub fn applied(&self) -> &AppliedMemory {
        self.memory.applied()
    }

    /// The host's own writes of primaries, for echo suppression.
    #[must_use]
    pub fn echoes(&self) -> &EchoSuppressor {
        self.memory.echoes()
    }

    /// Records the handover hints of the previous leader: the caches are not read until they show these versions.
    ///
    /// * `hints` - see [`LeadershipGuard::received_hints`](crate::lease::LeadershipGuard::received_hints).
    pub fn note_handover_hints(&self, hints: &[Value]) {
        self.memory.note_handover_hints(hints);
    }

    /// Whether the grant allows a verb on an object.
    ///
    /// # Errors
    ///
    /// See [`RequestSender::resource_of`].
    pub async fn allows(
        &self,
        write_identity: &WriteIdentity,
        verb: &str,
        target: &ObjectRef,
    ) -> Result<bool, WriteError> {
        let resource = self.requests.resource_of(write_identity, &target.kind).await?;
        Ok(allowed(write_identity, verb, &resource, "", &target.key).is_ok())
    }

    /// Carries out one change of a plugin.
    ///
    /// # Errors
    ///
    /// [`WriteError::Denied`] before any request when the grant does not allow the change, [`WriteError::Malformed`] when the change is
    /// invalid, otherwise the API server's error. Deleting an absent object is no error.
    pub async fn carry_out(&self, write_identity: &WriteIdentity, change: &Change) -> Result<(), WriteError> {
        match change {
            Change::Apply { object, subresource, force, precondition } => {
                self.apply(write_identity, object, subresource, *force, precondition).await
            }
            Change::Create(object) => self.create(write_identity, object).await,
            Change::Patch { target, kind, patch, subresource, precondition } => {
                self.patch(write_identity, target, *kind, patch, subresource, precondition).await
            }
            Change::Delete { target, propagation, precondition } => {
                self.delete(write_identity, target, *propagation, precondition).await
            }
        }
    }

    async fn apply(
        &self,
        write_identity: &WriteIdentity,
        object: &Value,
        subresource: &str,
        force: bool,
        precondition: &Precondition,
    ) -> Result<(), WriteError> {
        let (resource, key) = self.may_apply(write_identity, object, subresource).await?;
        let precondition = &self.memory.guarded(write_identity, &resource, &key, precondition);
        let body = change::with_precondition(object, precondition)?;
        let manager = write_identity.field_manager();
        let mut outgoing = Outgoing::new("PATCH", &resource, &key, subresource)
            .body("application/apply-patch+yaml", &body)
            .query("fieldManager", &manager);
        if force {
            outgoing = outgoing.query("force", "true");
        }
        let written = self.send(write_identity, &resource, outgoing).await?;
        if subresource.is_empty() {
            self.memory.applied().remember(&manager, &resource.gvk, &written, object);
        }
        Ok(())
    }

    /// The resource and key of a document, if the grant allows to apply it.
    async fn may_apply(
        &self,
        write_identity: &WriteIdentity,
        object: &Value,
        subresource: &str,
    ) -> Result<(Resource, ObjectKey), WriteError> {
        let target = change::target_of(object)?;
        let resource = self.requests.resource_of(write_identity, &target.kind).await?;
        let key = change::checked_key(&resource, &target.key)?;
        for verb in ["patch", "create"] {
            allowed(write_identity, verb, &resource, subresource, &key)?;
        }
        Ok((resource, key))
    }

    /// The API server's message about the fields of other field managers that an apply would change. Empty: there are none, or the API server
    /// refuses the document anyway. Nothing is written.
    ///
    /// # Errors
    ///
    /// As [`Self::carry_out`].
    pub async fn conflicts(&self, write_identity: &WriteIdentity, object: &Value) -> Result<String, WriteError> {
        let (resource, key) = self.may_apply(write_identity, object, "").await?;
        let outgoing = Outgoing::new("PATCH", &resource, &key, "")
            .body("application/apply-patch+yaml", object)
            .query("fieldManager", &write_identity.field_manager())
            .query("dryRun", "All");
        match self.requests.send(write_identity, outgoing).await {
            Err(WriteError::Conflict(message)) => Ok(message),
            Ok(_) | Err(WriteError::Invalid(_) | WriteError::Forbidden(_)) => Ok(String::new()),
            Err(error) => Err(error),
        }
    }

    async fn create(&self, write_identity: &WriteIdentity, object: &Value) -> Result<(), WriteError> {
        let target = change::target_of(object)?;
        let resource = self.requests.resource_of(write_identity, &target.kind).await?;
        let key = change::checked_key(&resource, &target.key)?;
        allowed(write_identity, "create", &resource, "", &key)?;
        let outgoing = Outgoing::create(&resource, &key.namespace)
            .body("application/json", object)
            .query("fieldManager", &write_identity.field_manager());
        self.send(write_identity, &resource, outgoing).await?;
        Ok(())
    }

    async fn patch(
        &self,
        write_identity: &WriteIdentity,
        target: &ObjectRef,
        kind: PatchKind,
        patch: &Value,
        subresource: &str,
        precondition: &Precondition,
    ) -> Result<(), WriteError> {
        let resource = self.requests.resource_of(write_identity, &target.kind).await?;
        let key = change::checked_key(&resource, &target.key)?;
        allowed(write_identity, "patch", &resource, subresource, &key)?;
        let precondition = &self.memory.guarded(write_identity, &resource, &key, precondition);
        let body = match kind {
            PatchKind::Json => change::json_patch_with_precondition(patch, precondition)?,
            PatchKind::Merge | PatchKind::Strategic => change::with_precondition(patch, precondition)?,
        };
        let outgoing = Outgoing::new("PATCH", &resource, &key, subresource)
            .body(kind.content_type(), &body)
            .query("fieldManager", &write_identity.field_manager());
        self.send(write_identity, &resource, outgoing).await?;
        Ok(())
    }

    async fn delete(
        &self,
        write_identity: &WriteIdentity,
        target: &ObjectRef,
        propagation: Propagation,
        precondition: &Precondition,
    ) -> Result<(), WriteError> {
        let resource = self.requests.resource_of(write_identity, &target.kind).await?;
        let key = change::checked_key(&resource, &target.key)?;
        allowed(write_identity, "delete", &resource, "", &key)?;
        let precondition = &self.memory.guarded(write_identity, &resource, &key, precondition);
        let options = change::delete_options(propagation, precondition);
        let outgoing = Outgoing::new("DELETE", &resource, &key, "").body("application/json", &options);
        match self.requests.send(write_identity, outgoing).await {
            Ok(answer) => {
                // For an object with finalizers the API server returns its present state. For an object that is gone at once it returns a
                // Status or the last state.
                match Object::parse(&answer).ok().filter(Object::deleting) {
                    Some(object) => self.memory.wrote(write_identity, &resource.gvk, &object),
                    None => self.memory.deleted(write_identity, &resource, &key, precondition),
                }
                Ok(())
            }
            Err(WriteError::NotFound(_)) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Sends a write whose response is the present object, and records it.
    async fn send(
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

fn allowed(
    write_identity: &WriteIdentity,
    verb: &str,
    resource: &Resource,
    subresource: &str,
    key: &ObjectKey,
) -> Result<(), WriteError> {
    let plural = match subresource {
        "" => resource.plural.clone(),
        sub => format!("{}/{sub}", resource.plural),
    };
    if write_identity.grants.allows(verb, &resource.gvk.group, &plural, &key.namespace, &key.name) {
        return Ok(());
    }
    let group = if resource.gvk.group.is_empty() { "core" } else { &resource.gvk.group };
    Err(WriteError::Denied(format!(
        "the grant of plugin {} does not allow {verb} {plural} (group {group}) on {key}",
        write_identity.plugin
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::GroupVersionKind;
    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::json;
    use std::sync::Mutex;

    /// The impersonated user and `method path` of each request; no user for the host's own identity.
    type Journal = Arc<Mutex<Vec<(Option<String>, String)>>>;

    /// A writer to a server that serves ConfigMaps and Events and returns one ConfigMap for every request.
    fn writer(impersonate: Option<&str>) -> (Writer, Journal) {
        let journal = Journal::default();
        let seen = Arc::clone(&journal);
        let service = tower::service_fn(move |request: Request<Body>| {
            let user = request.headers().get("impersonate-user").map(|v| v.to_str().unwrap().to_owned());
            let groups = request.headers().contains_key("impersonate-group");
            assert!(!groups, "to name groups takes a permission of its own");
            let path = request.uri().path().to_owned();
            let resource = |name: &str, kind: &str| json!({"name": name, "singularName": "", "namespaced": true, "kind": kind, "verbs": ["list", "watch"]});
            let answer = if path == "/api/v1" {
                json!({"kind": "APIResourceList", "groupVersion": "v1",
                    "resources": [resource("configmaps", "ConfigMap"), resource("events", "Event")]})
            } else {
                seen.lock().unwrap().push((user, format!("{} {path}", request.method())));
                object()
            };
            async move { Ok::<_, std::convert::Infallible>(Response::new(Body::from(answer.to_string().into_bytes()))) }
        });
        let client = kube::Client::new(service, "default");
        let discovery = Discovery::new(client.clone());
        let informers = Informers::new(client.clone(), discovery.clone());
        let writer = Writer::new(client, discovery, informers, Metrics::new());
        let writer = match impersonate {
            Some(namespace) => writer.impersonating(namespace),
            None => writer,
        };
        (writer, journal)
    }

    fn object() -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "a", "uid": "u",
            "resourceVersion": "7"}})
    }

    fn write_identity() -> WriteIdentity {
        let grant = json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginGrant",
            "permissions": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]});
        let grants = Grants::new(&serde_json::from_value(grant).unwrap(), std::path::Path::new(".")).unwrap();
        WriteIdentity::new("p", Arc::new(grants))
    }

    /// All writes of a plugin, and all writes of the host on its behalf.
    async fn everything(writer: &Writer) {
        let (write_identity, kind) = (write_identity(), GroupVersionKind::new("", "v1", "ConfigMap"));
        let target = || change::target_of(&object()).unwrap();
        let key = target().key;
        let precondition = Precondition::default;
        let changes = [
            Change::Apply { object: object(), subresource: String::new(), force: false, precondition: precondition() },
            Change::Create(object()),
            Change::Patch {
                target: target(),
                kind: PatchKind::Merge,
                patch: json!({}),
                subresource: String::new(),
                precondition: precondition(),
            },
            Change::Delete { target: target(), propagation: Propagation::Background, precondition: precondition() },
        ];
        for change in &changes {
            writer.carry_out(&write_identity, change).await.unwrap();
        }
        writer.requests().read(&write_identity, Identity::Plugin, &kind, &key).await.unwrap();
        let live = writer.requests().read(&write_identity, Identity::Host, &kind, &key).await.unwrap().unwrap();
        writer.finalizers().add(&write_identity, &kind, &live).await.unwrap();
        writer.finalizers().remove(&write_identity, &kind, &live).await.unwrap();
        for cleans_up in [false, true] {
            writer.annotations().acknowledge(&write_identity, &kind, &live, "now", cleans_up).await.unwrap();
        }
        let status = serde_json::Map::from_iter([("ok".to_owned(), json!(true))]);
        assert!(writer.status().write(&write_identity, &kind, &live, Some(&status), None).await.unwrap().is_some());
        let (recorder, done) = events::Recorder::start(Arc::clone(writer.requests()));
        let event = events::Event { warning: false, reason: "R".to_owned(), message: "m".to_owned() };
        recorder.record(&write_identity, &events::Regarding::new(&kind, &live), event);
        drop(recorder);
        done.await.unwrap();
    }

    #[tokio::test]
    async fn a_plugin_is_impersonated_for_what_it_asked_and_not_for_what_the_host_does() {
        let (writer, journal) = writer(Some("oarlock-system"));
        everything(&writer).await;
        let journal = journal.lock().unwrap();
        let of = |user: Option<&str>| {
            let own = journal.iter().filter(|(u, _)| u.as_deref() == user).map(|(_, request)| request.as_str());
            own.collect::<Vec<_>>()
        };
        let one = "/api/v1/namespaces/a/configmaps/x";
        let all = |verbs: &[&str]| verbs.iter().map(|verb| format!("{verb} {one}")).collect::<Vec<_>>();
        let plugin = of(Some("system:serviceaccount:oarlock-system:oarlock-p"));
        let expected = [
            &all(&["PATCH"])[..],
            &["POST /api/v1/namespaces/a/configmaps".to_owned()],
            &all(&["PATCH", "DELETE", "GET", "PATCH"]),
        ];
        assert_eq!(plugin, expected.concat());
        let expected = [
            &all(&["GET", "PATCH", "PATCH", "PATCH"])[..],
            &[format!("PATCH {one}/status"), "POST /api/v1/namespaces/a/events".to_owned()],
        ];
        assert_eq!(of(None), expected.concat());
        assert_eq!(journal.len(), 12);
    }

    #[tokio::test]
    async fn s4_an_object_whose_name_the_server_would_choose_is_not_created() {
        let (writer, journal) = writer(None);
        let mut nameless = object();
        nameless["metadata"] = json!({"generateName": "x-", "namespace": "a"});
        // A retry could not find the object of the first attempt.
        let refused = writer.carry_out(&write_identity(), &Change::Create(nameless)).await;
        assert!(matches!(&refused, Err(WriteError::Malformed(_))), "{refused:?}");
        assert!(journal.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn without_impersonation_everything_goes_out_as_the_host() {
        let (writer, journal) = writer(None);
        everything(&writer).await;
        assert!(journal.lock().unwrap().iter().all(|(user, _)| user.is_none()));
    }

    #[tokio::test]
    async fn what_the_grant_says_nothing_about_is_not_even_looked_up() {
        let (writer, _journal) = writer(None);
        let of = |group: &str, version: &str| GroupVersionKind::new(group, version, "ConfigMap");
        let write_identity = write_identity();
        let other = writer.requests().resource_of(&write_identity, &of("apps", "v1")).await;
        assert!(matches!(other, Err(WriteError::Denied(why)) if why.contains("group apps")));
        let nonsense = writer.requests().resource_of(&write_identity, &of("", "v1/namespaces/a/secrets")).await;
        assert!(matches!(nonsense, Err(WriteError::Malformed(_))));
        assert!(writer.requests().resource_of(&write_identity, &of("", "v1")).await.is_ok());
    }
}
