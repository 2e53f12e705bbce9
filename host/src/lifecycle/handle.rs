//! Access to the lifecycle for the other parts of the host.

use super::actions::Action;
use super::registry::{self, Registry};
use super::saved_versions::LeftBehind;
use super::{DRAIN, Message, lock, view};
use crate::api::GroupVersionKind;
use crate::controller::{Controller, Converter};
use crate::oci::PullStatuses;
use crate::plugin::directory::{Declared, key_of};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use tokio::sync::{mpsc, oneshot};

/// Read access to the lifecycle, and requests to it. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    pub(super) registry: Arc<Mutex<Registry>>,
    pub(super) pulled: Option<PullStatuses>,
    pub(super) messages: mpsc::UnboundedSender<Message>,
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Handle")
    }
}

impl Handle {
    /// The response to `/plugins`: every file, and the state of its plugin.
    #[must_use]
    pub fn describe(&self) -> Value {
        view::describe(&lock(&self.registry), self.pulled.as_ref())
    }

    /// The versions of a plugin that the host has in memory, the one that runs first. None: it knows none.
    #[must_use]
    pub fn versions(&self, plugin: &str) -> Option<Value> {
        view::versions(&lock(&self.registry), plugin)
    }

    /// The plugins that will reconcile objects of a kind and do not run yet, or hold some and do not run any more, for `/explain`.
    ///
    /// * `kind` - as for kubectl.
    #[must_use]
    pub fn waiting(&self, kind: &str) -> Vec<Value> {
        view::waiting(&lock(&self.registry), kind)
    }

    /// The controller of a plugin that runs or is about to.
    #[must_use]
    pub fn controller(&self, plugin: &str) -> Option<Arc<Controller>> {
        lock(&self.registry).plugins.get(plugin).map(|plugin| Arc::clone(&plugin.controller))
    }

    /// The controllers of all plugins that run or are about to.
    #[must_use]
    pub fn controllers(&self) -> Vec<Arc<Controller>> {
        lock(&self.registry).plugins.values().map(|plugin| Arc::clone(&plugin.controller)).collect()
    }

    /// The conversions of a plugin that runs, is about to, or ended while definitions depend on its conversions.
    #[must_use]
    pub fn converter(&self, plugin: &str) -> Option<Arc<Converter>> {
        lock(&self.registry).converter(plugin)
    }

    /// The conversions of all plugins, by definition. Of two plugins, the one that runs converts.
    #[must_use]
    pub fn converters(&self) -> BTreeMap<String, Arc<Converter>> {
        lock(&self.registry).converters()
    }

    /// Records the definitions that this host converts for, with the number of their objects.
    pub fn set_converted(&self, converted: BTreeMap<String, usize>) {
        lock(&self.registry).converted = converted;
    }

    /// Whether the newest content that the host began to load of a declared plugin is that of this declaration.
    ///
    /// * `declared` - None: no object declares the plugin.
    #[must_use]
    pub fn has_taken(&self, plugin: &str, declared: Option<&Declared>) -> bool {
        let registry = lock(&self.registry);
        let taken = registry.files.get(&key_of(plugin)).and_then(|file| file.found.candidate.declared.as_ref());
        match (taken, declared) {
            (Some(taken), Some(declared)) => taken.source == declared.source && taken.grant == declared.grant,
            (taken, declared) => taken.is_none() && declared.is_none(),
        }
    }

    /// Whether a plugin that does not run may be about to: a file is compiling, or its first version waits for its watches. Also while it is
    /// not known whether it left finalizers.
    #[must_use]
    pub fn may_come(&self, plugin: &str) -> bool {
        let registry = lock(&self.registry);
        let waits = |plugin: &registry::Plugin| plugin.controller.current().is_none();
        registry.starting
            || !registry.nothing_is_compiling()
            || registry.plugins.get(plugin).is_some_and(waits)
            || registry.ran_before.contains_key(plugin)
    }

    /// The kinds whose objects may have the finalizer of a plugin, by plugin: of those that run, and of those that were removed.
    #[must_use]
    pub fn finalizer_kinds(&self) -> BTreeMap<String, BTreeSet<GroupVersionKind>> {
        let all = lock(&self.registry).may_leave_finalizers();
        all.into_iter().map(|(name, left)| (name, left.kinds)).collect()
    }

    /// Takes over that a plugin of an earlier host may have left finalizers. The host looks for them, unless the plugin runs and cleans up.
    pub fn remember_finalizers(&self, plugin: &str, left: LeftBehind) {
        lock(&self.registry).remember_also(plugin, left);
    }

    /// Whether a version of a plugin runs. After [`may_come`](Self::may_come) was false: whether it began in the meantime.
    #[must_use]
    pub fn runs(&self, plugin: &str) -> bool {
        lock(&self.registry).plugins.get(plugin).is_some_and(|plugin| plugin.controller.current().is_some())
    }

    /// Starts no further reconcile, finishes those in flight, and releases the plugins' Leases. The plugins continue to answer admission
    /// reviews.
    pub async fn hand_over(&self) {
        let controllers = self.controllers();
        futures::future::join_all(controllers.iter().map(|controller| controller.step_down(DRAIN))).await;
    }

    /// Requests an action; returns a line for people.
    ///
    /// # Errors
    ///
    /// Why the action failed, for people.
    pub async fn act(&self, action: Action) -> Result<String, String> {
        let (answer, answered) = oneshot::channel();
        let stopping = || "the host is stopping".to_owned();
        self.messages.send(Message::Action { action, answer }).map_err(|_closed| stopping())?;
        answered.await.map_err(|_dropped| stopping())?
    }
}
