//! Lifecycle of plugins: load, grant, swap, roll back, retire, driven by the plugin directory.
//!
//! A new file starts a controller, a changed file swaps its version, and a removed file ends it. A bad file never affects a good version.
//!
//! One task, [`Lifecycle::run`], takes all decisions and never waits. Slow work (compiling, syncing, draining, requests to the API
//! server) runs in tasks that send a message when they finish. Each message carries the generation of its file, so a late result changes
//! nothing.

mod accept;
mod access;
mod actions;
mod leftovers;
mod loading;
mod registry;
mod retire;
mod swap;
mod view;

pub use actions::Action;
pub use registry::State;

use crate::api::GroupVersionKind;
use crate::apply::HeldObjects;
use crate::apply::access::RequiredPermissions;
use crate::apply::events::Regarding;
use crate::controller::{Controller, Happened, Notice, Shared, Version};
use crate::oci::PullStatuses;
use crate::plugin::directory::{self, Snapshot, Sources};
use crate::plugin::{Engine, HttpGate};
use loading::{Load, Read};
use registry::Registry;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Drain time of reconciles in flight when a version is replaced, a plugin is removed or the host stops.
const DRAIN: Duration = Duration::from_secs(20);

/// Poll interval for changes without a notification: synced watches, the end of a quarantine, objects that cannot be deleted.
const TICK: Duration = Duration::from_millis(500);

/// A load continues for this long although its file was replaced meanwhile. Otherwise a file that is replaced faster than it compiles
/// would never be swapped.
const LOAD_ANYWAY: Duration = Duration::from_secs(2);

/// Time that the removal of a file waits for files that appeared with it: one of them may be the renamed file.
const RENAMED_WITHIN: Duration = Duration::from_secs(1);

/// Longest delay of readiness by a file that is still being written at the start.
const SETTLED_WITHIN: Duration = Duration::from_secs(2);

/// Longest delay of readiness by a registry's first response.
const PULLED_WITHIN: Duration = Duration::from_secs(60);

/// Configuration of the lifecycle.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory of `.wasm` files, each with its grant file beside it.
    pub plugins: PathBuf,
    /// Plugins pulled from registries, in addition to the directory.
    pub pulled: Option<PullStatuses>,
    /// Replaces the resync period of every plugin.
    pub resync_seconds: Option<u32>,
    /// Grants a plugin without a grant file everything in its manifest.
    pub grant_what_is_asked: bool,
    /// `limits.deadlineSeconds` where a grant does not state it, instead of the usual one.
    pub unstated_deadline_seconds: Option<u32>,
    /// What the events about plugins are events of: the host's own object.
    pub host_object: Regarding,
    /// Whether the host runs an admission server.
    pub answers_admission: bool,
}

/// The result of a task, or a request of a person.
enum Message {
    /// A file was read, compiled and described, or failed.
    Loaded { file: String, generation: u64, read: Result<Box<Read>, loading::Failed> },
    /// The watches of a version are in sync, so that the plugin can switch to it.
    Synced { plugin: String, version: Arc<Version> },
    /// The access review of a plugin ended.
    Access { plugin: String, required: Arc<RequiredPermissions>, missing: Vec<String> },
    /// A removed plugin has drained.
    Drained { plugin: String, held: Vec<(GroupVersionKind, usize)> },
    /// A check of the objects that no plugin cleans up ended.
    Leftovers { found: Vec<(leftovers::Leftover, HeldObjects)>, took: Duration },
    /// A person requests an action.
    Action { action: Action, answer: oneshot::Sender<Result<String, String>> },
}

/// The lifecycle of all plugins of a host; see the module.
pub struct Lifecycle {
    options: Options,
    shared: Shared,
    engine: Engine,
    http: HttpGate,
    registry: Arc<Mutex<Registry>>,
    messages: mpsc::UnboundedSender<Message>,
    inbox: mpsc::UnboundedReceiver<Message>,
    notices: mpsc::UnboundedSender<Notice>,
    noticed: mpsc::UnboundedReceiver<Notice>,
    last_reported: view::LastReported,
    leftovers: leftovers::Leftovers,
    /// Draining plugins and versions. The host waits for them before it ends, so that their reconciles finish and their Leases are
    /// released.
    draining: TaskTracker,
}

impl std::fmt::Debug for Lifecycle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lifecycle").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Read access to the lifecycle, and requests to it. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    registry: Arc<Mutex<Registry>>,
    pulled: Option<PullStatuses>,
    messages: mpsc::UnboundedSender<Message>,
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

    /// Whether a plugin that does not run may be about to: a file is compiling, or its first version waits for its watches.
    #[must_use]
    pub fn may_come(&self, plugin: &str) -> bool {
        let registry = lock(&self.registry);
        let waits = |plugin: &registry::Plugin| plugin.controller.current().is_none();
        registry.starting || !registry.nothing_is_compiling() || registry.plugins.get(plugin).is_some_and(waits)
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

fn lock(registry: &Mutex<Registry>) -> MutexGuard<'_, Registry> {
    registry.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lifecycle {
    /// A lifecycle that has not scanned its directory yet.
    #[must_use]
    pub fn new(options: Options, shared: Shared, engine: Engine, http: HttpGate) -> Self {
        let (messages, inbox) = mpsc::unbounded_channel();
        let (notices, noticed) = mpsc::unbounded_channel();
        Self {
            options,
            shared,
            engine,
            http,
            registry: Arc::default(),
            messages,
            inbox,
            notices,
            noticed,
            last_reported: view::LastReported::default(),
            leftovers: leftovers::Leftovers::default(),
            draining: TaskTracker::new(),
        }
    }

    /// A handle for readers and requests.
    #[must_use]
    pub fn handle(&self) -> Handle {
        let pulled = self.options.pulled.clone();
        Handle { registry: Arc::clone(&self.registry), pulled, messages: self.messages.clone() }
    }

    /// Follows the directory until `stop` is cancelled, then stops every plugin.
    ///
    /// * `settled` - called once, when every file that existed at the start has been compiled or refused.
    /// * `came_round` - called in each iteration of the loop, at least every half second unless the loop is stuck.
    pub async fn run(mut self, stop: CancellationToken, settled: impl FnOnce(), came_round: impl Fn()) {
        let mut watch = Sources::start(self.options.plugins.clone(), self.options.pulled.clone());
        let mut settled = Some(settled);
        let mut looked = false;
        let began = Instant::now();
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                snapshot = watch.next() => match snapshot {
                    Ok(snapshot) => {
                        let complete = looked || (watch.all_asked() && self.is_complete(&snapshot));
                        if complete && !looked && snapshot.files.is_empty() {
                            tracing::warn!(plugins = %self.options.plugins.display(), "the plugin directory has no .wasm file");
                        }
                        self.look(snapshot, looked);
                        looked = complete;
                    }
                    Err(e) => {
                        let error = crate::chain(&e);
                        tracing::error!(error, "cannot read the plugin directory: the running plugins stay");
                    }
                },
                Some(message) = self.inbox.recv() => {
                    self.receive(message);
                    // Messages that arrived meanwhile are handled before the next report.
                    while let Ok(message) = self.inbox.try_recv() {
                        self.receive(message);
                    }
                }
                Some(notice) = self.noticed.recv() => self.notice(notice),
                _ = tick.tick() => {
                    self.end_orphans();
                    self.check_leftovers();
                    let patience = if watch.all_asked() { SETTLED_WITHIN } else { PULLED_WITHIN };
                    looked |= began.elapsed() > patience;
                }
            }
            came_round();
            self.load_next();
            self.tell();
            if looked
                && lock(&self.registry).nothing_is_compiling()
                && let Some(settled) = settled.take()
            {
                lock(&self.registry).starting = false;
                settled();
            }
        }
        self.stop_all().await;
    }

    /// Whether no file in the directory is still being written.
    fn is_complete(&self, snapshot: &Snapshot) -> bool {
        let there = directory::scan(&self.options.plugins).unwrap_or_default();
        there.iter().all(|candidate| snapshot.files.contains_key(&candidate.file_name))
    }

    /// Compares the directory with the registry.
    fn look(&mut self, snapshot: Snapshot, looked: bool) {
        let gone: Vec<String> = {
            let registry = lock(&self.registry);
            registry.files.keys().filter(|name| !snapshot.files.contains_key(*name)).cloned().collect()
        };
        let mut came = false;
        for (name, found) in snapshot.files {
            let known = lock(&self.registry).files.get(&name).map(|file| file.latest().clone());
            if known.as_ref() != Some(&found) {
                came |= known.is_none() && looked;
                self.load_now_or_next(name, found);
            }
        }
        for name in gone {
            self.file_gone(&name, came);
        }
    }

    /// Loads the file's current content, or postpones that until the load of its earlier content ends.
    fn load_now_or_next(&mut self, name: String, found: crate::plugin::directory::Found) {
        if let Some(file) = lock(&self.registry).files.get_mut(&name)
            && file.is_under_way(LOAD_ANYWAY)
            // A changed grant takes effect at once.
            && file.found.grant == found.grant
        {
            file.next = Some(found);
            return;
        }
        self.load(name, found);
    }

    /// Starts the postponed loads.
    fn load_next(&mut self) {
        let next: Vec<_> = {
            let mut registry = lock(&self.registry);
            let files = registry.files.iter_mut().filter(|(_, file)| !file.is_under_way(LOAD_ANYWAY));
            files.filter_map(|(name, file)| Some((name.clone(), file.next.take()?))).collect()
        };
        for (name, found) in next {
            self.load(name, found);
        }
    }

    /// Loads the file's current content; an earlier load of the file is aborted.
    fn load(&mut self, name: String, found: crate::plugin::directory::Found) {
        let (candidate, has_grant) = (found.candidate.clone(), found.grant.is_some());
        let mut registry = lock(&self.registry);
        let running = registry.plugin_of(&name).and_then(|(_, plugin)| plugin.running.as_ref());
        let running = running.map(|running| running.candidate.clone());
        let file = registry.file_mut(&name, found);
        let generation = file.generation;
        let load = Load {
            candidate,
            has_grant,
            registry: Arc::clone(&self.registry),
            running,
            resync_seconds: self.options.resync_seconds,
            grant_what_is_asked: self.options.grant_what_is_asked,
            unstated_deadline_seconds: self.options.unstated_deadline_seconds,
            engine: self.engine.clone(),
            http: self.http.clone(),
            shared: self.shared.clone(),
        };
        let messages = self.messages.clone();
        let task = tokio::spawn(async move {
            let read = load.run().await.map(Box::new);
            // The send fails while the host stops.
            let _ = messages.send(Message::Loaded { file: name, generation, read });
        });
        file.task = Some(registry::Task(task.abort_handle()));
    }

    fn receive(&mut self, message: Message) {
        match message {
            Message::Loaded { file, generation, read } => self.loaded(&file, generation, read),
            Message::Synced { plugin, version } => self.synced(&plugin, &version),
            Message::Access { plugin, required, missing } => self.access(&plugin, required, missing),
            Message::Drained { plugin, held } => self.drained(&plugin, held),
            Message::Leftovers { found, took } => self.leftovers_found(found, took),
            Message::Action { action, answer } => self.act(action, answer),
        }
    }

    fn notice(&mut self, notice: Notice) {
        let Notice { plugin, digest, what } = notice;
        match what {
            Happened::FirstReconcile => self.first_reconcile(&plugin, &digest),
            Happened::Proven => self.proven(&plugin, &digest),
            Happened::Failing(why) => self.failing(&plugin, &digest, &why),
            Happened::Quarantined(pause) => {
                let seconds = pause.as_secs();
                self.event(
                    &plugin,
                    true,
                    "Quarantined",
                    format!("plugin {plugin} mostly fails: its keys wait for {seconds} s"),
                );
            }
        }
    }

    async fn stop_all(&mut self) {
        let controllers = {
            let mut registry = lock(&self.registry);
            registry.files.clear();
            std::mem::take(&mut registry.plugins)
        };
        let stopped = futures::future::join_all(controllers.values().map(|plugin| plugin.controller.stop(DRAIN)));
        self.draining.close();
        // Each of these tasks has its own deadline.
        tokio::join!(stopped, self.draining.wait());
    }
}
