//! The one writer: changes → grants → preconditions → writes → remember what was written.
//!
//! Every write to the API server goes through [`Writer`]: what plugins ask for, and what the host does on their behalf
//! (finalizers, status, events). Leases alone have their own.

pub mod applied;
mod change;
pub mod events;
mod finalizer;
mod own;
mod request;
pub mod status;

pub use applied::AppliedMemory;
pub use change::{Change, ObjectRef, PatchKind, Precondition, Propagation};
pub use own::OwnWrites;
pub use request::WriteError;

use crate::api::{Discovery, GroupVersionKind, ObjectKey, Resource};
use crate::grants::Grants;
use crate::informer::{Informers, Object};
use crate::metrics::Metrics;
use request::Outgoing;
use serde_json::Value;
use std::sync::Arc;

/// Who writes, for the field manager, the grant and the metrics.
#[derive(Clone, Debug)]
pub struct Author {
    /// Plugin name.
    pub plugin: String,
    /// What it may do.
    pub grants: Arc<Grants>,
}

impl Author {
    /// The field manager of what the plugin applies.
    #[must_use]
    pub fn field_manager(&self) -> String {
        format!("oarlock.{}", self.plugin)
    }

    /// The field manager of what the host writes on the plugin's behalf.
    #[must_use]
    pub fn host_manager(&self) -> String {
        format!("oarlock.{}.host", self.plugin)
    }

    /// The finalizer of objects this plugin cleans up after.
    #[must_use]
    pub fn finalizer(&self) -> String {
        format!("oarlock.dev/{}", self.plugin)
    }
}

/// Writes to the API server. Cheap to clone.
#[derive(Clone)]
pub struct Writer {
    client: kube::Client,
    discovery: Discovery,
    informers: Informers,
    applied: Arc<AppliedMemory>,
    own: Arc<OwnWrites>,
    metrics: Metrics,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

impl Writer {
    /// A writer that records its writes in `informers`, so that no reconcile acts on a cache older than they are.
    #[must_use]
    pub fn new(client: kube::Client, discovery: Discovery, informers: Informers, metrics: Metrics) -> Self {
        Self { client, discovery, informers, applied: Arc::default(), own: Arc::default(), metrics }
    }

    /// What the host remembers of its applies.
    #[must_use]
    pub fn applied(&self) -> &AppliedMemory {
        &self.applied
    }

    /// The host's own writes of primaries.
    #[must_use]
    pub fn own(&self) -> &OwnWrites {
        &self.own
    }

    /// Carries out one change a plugin asked for.
    ///
    /// # Errors
    ///
    /// [`WriteError::Denied`] before anything is sent when the grant does not allow it, [`WriteError::Malformed`] when the change
    /// makes no sense, otherwise what the API server answered. A delete of what is gone is no error.
    pub async fn carry_out(&self, author: &Author, change: &Change) -> Result<(), WriteError> {
        match change {
            Change::Apply { object, subresource, force, precondition } => {
                self.apply(author, object, subresource, *force, precondition).await
            }
            Change::Create(object) => self.create(author, object).await,
            Change::Patch { target, kind, patch, subresource, precondition } => {
                self.patch(author, target, *kind, patch, subresource, precondition).await
            }
            Change::Delete { target, propagation, precondition } => {
                self.delete(author, target, *propagation, precondition).await
            }
        }
    }

    async fn apply(
        &self,
        author: &Author,
        object: &Value,
        subresource: &str,
        force: bool,
        precondition: &Precondition,
    ) -> Result<(), WriteError> {
        let target = change::target_of(object)?;
        let resource = self.resolve(&target.kind).await?;
        let key = change::checked_key(&resource, &target.key)?;
        for verb in ["patch", "create"] {
            allowed(author, verb, &resource, subresource, &key)?;
        }
        let body = change::with_precondition(object, precondition)?;
        let manager = author.field_manager();
        let mut outgoing = Outgoing::new("PATCH", &resource, &key, subresource)
            .body("application/apply-patch+yaml", &body)
            .query("fieldManager", &manager);
        if force {
            outgoing = outgoing.query("force", "true");
        }
        let written = self.send(author, &resource, outgoing).await?;
        if subresource.is_empty() {
            self.applied.remember(&manager, &resource.gvk, &written, object);
        }
        Ok(())
    }

    async fn create(&self, author: &Author, object: &Value) -> Result<(), WriteError> {
        let target = change::target_of(object)?;
        let resource = self.resolve(&target.kind).await?;
        let key = change::checked_key(&resource, &target.key)?;
        allowed(author, "create", &resource, "", &key)?;
        let outgoing = Outgoing::create(&resource, &key.namespace)
            .body("application/json", object)
            .query("fieldManager", &author.field_manager());
        self.send(author, &resource, outgoing).await?;
        Ok(())
    }

    async fn patch(
        &self,
        author: &Author,
        target: &ObjectRef,
        kind: PatchKind,
        patch: &Value,
        subresource: &str,
        precondition: &Precondition,
    ) -> Result<(), WriteError> {
        let resource = self.resolve(&target.kind).await?;
        let key = change::checked_key(&resource, &target.key)?;
        allowed(author, "patch", &resource, subresource, &key)?;
        let body = match kind {
            PatchKind::Json => change::json_patch_with_precondition(patch, precondition)?,
            PatchKind::Merge | PatchKind::Strategic => change::with_precondition(patch, precondition)?,
        };
        let outgoing = Outgoing::new("PATCH", &resource, &key, subresource)
            .body(kind.content_type(), &body)
            .query("fieldManager", &author.field_manager());
        self.send(author, &resource, outgoing).await?;
        Ok(())
    }

    async fn delete(
        &self,
        author: &Author,
        target: &ObjectRef,
        propagation: Propagation,
        precondition: &Precondition,
    ) -> Result<(), WriteError> {
        let resource = self.resolve(&target.kind).await?;
        let key = change::checked_key(&resource, &target.key)?;
        allowed(author, "delete", &resource, "", &key)?;
        let options = change::delete_options(propagation, precondition);
        let outgoing = Outgoing::new("DELETE", &resource, &key, "").body("application/json", &options);
        match self.request(author, outgoing).await {
            Ok(answer) => {
                // An object with finalizers is answered as it stands now; what is gone at once, as a Status or as its last state.
                match Object::parse(&answer).ok().filter(Object::deleting) {
                    Some(object) => self.informers.record_object(&resource.gvk, &object),
                    None => self.deleted(&resource, &key, precondition),
                }
                Ok(())
            }
            Err(WriteError::NotFound) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Reads one object past the cache. None: it does not exist.
    ///
    /// # Errors
    ///
    /// What the API server answered.
    pub async fn read(
        &self,
        author: &Author,
        kind: &GroupVersionKind,
        key: &ObjectKey,
    ) -> Result<Option<Arc<Object>>, WriteError> {
        let resource = self.resolve(kind).await?;
        match self.request(author, Outgoing::new("GET", &resource, key, "")).await {
            Ok(answer) => request::parse_object(&answer).map(|o| Some(Arc::new(o))),
            Err(WriteError::NotFound) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The resource that serves a kind.
    ///
    /// # Errors
    ///
    /// [`WriteError::UnknownKind`] when the API server does not serve it (yet).
    pub async fn resource_of(&self, kind: &GroupVersionKind) -> Result<Resource, WriteError> {
        self.resolve(kind).await
    }

    async fn resolve(&self, kind: &GroupVersionKind) -> Result<Resource, WriteError> {
        match self.discovery.resolve(kind).await {
            Ok(Some(resource)) => Ok(resource),
            Ok(None) => Err(WriteError::UnknownKind(kind.to_string())),
            Err(e) => Err(WriteError::Transport(crate::chain(&e))),
        }
    }

    /// Sends a write whose answer is the object as it is now, and records it.
    async fn send(&self, author: &Author, resource: &Resource, outgoing: Outgoing) -> Result<Object, WriteError> {
        let answer = self.request(author, outgoing).await?;
        let object = request::parse_object(&answer)?;
        self.informers.record_object(&resource.gvk, &object);
        Ok(object)
    }

    /// Notes a deletion: of the incarnation that was meant, or of the one the caches know.
    fn deleted(&self, resource: &Resource, key: &ObjectKey, precondition: &Precondition) {
        let uid = precondition.uid.clone().or_else(|| {
            let stores = self.informers.find(&resource.gvk, key.namespace());
            stores.iter().find_map(|store| store.get(key)).map(|object| object.uid().to_owned())
        });
        if let Some(uid) = uid {
            self.informers.record_delete(&resource.gvk, key, &uid);
        }
    }
}

fn allowed(
    author: &Author,
    verb: &str,
    resource: &Resource,
    subresource: &str,
    key: &ObjectKey,
) -> Result<(), WriteError> {
    let plural = match subresource {
        "" => resource.plural.clone(),
        sub => format!("{}/{sub}", resource.plural),
    };
    if author.grants.allows(verb, &resource.gvk.group, &plural, &key.namespace, &key.name) {
        return Ok(());
    }
    let group = if resource.gvk.group.is_empty() { "core" } else { &resource.gvk.group };
    Err(WriteError::Denied(format!(
        "the grant of plugin {} does not allow {verb} {plural} (group {group}) on {key}",
        author.plugin
    )))
}
