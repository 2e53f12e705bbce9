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
mod conversions;
mod host_events;
mod leftovers;
mod loading;
mod registry;
mod retirement;
mod saved_versions;
mod state_reporter;
mod swapper;
mod view;

pub use actions::Action;
pub use registry::State;

use crate::api::GroupVersionKind;
use crate::apply::HeldObjects;
use crate::apply::access::RequiredPermissions;
use crate::apply::events::Regarding;
use crate::controller::{Controller, Converter, Happened, Notice, Shared, Version};
use crate::oci::PullStatuses;
use crate::plugin::directory::{self, Snapshot, Sources};
use crate::plugin::{Engine, HttpGate};
use access::AccessChecker;
use host_events::HostEvents;
use leftovers::Leftovers;
use loading::{Loader, Read};
use registry::Registry;
use retirement::Retirement;
use saved_versions::SavedVersions;
use serde_json::Value;
use state_reporter::StateReporter;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use swapper::Swapper;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Drain time of reconciles in flight when a version is replaced, a plugin is removed or the host stops.
const DRAIN: Duration = Duration::from_secs(20);

/// Poll interval for changes without a notification: synced watches, the end of a quarantine, objects that cannot be deleted.
const TICK: Duration = Duration::from_millis(500);

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
    /// Folder of caches, where good versions are saved. None: they are not.
    pub caches: Option<PathBuf>,
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

/// The lifecycle of all plugins of a host; see the module. It decides, and its parts load, swap, end and report plugins.
pub struct Lifecycle {
    options: Options,
    shared: Shared,
    registry: Arc<Mutex<Registry>>,
    loader: Loader,
    swapper: Swapper,
    retirement: Retirement,
    reporter: StateReporter,
    events: HostEvents,
    messages: mpsc::UnboundedSender<Message>,
    inbox: mpsc::UnboundedReceiver<Message>,
    notices: mpsc::UnboundedSender<Notice>,
    noticed: mpsc::UnboundedReceiver<Notice>,
    leftovers: Leftovers,
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
        let registry: Arc<Mutex<Registry>> = Arc::default();
        let events = HostEvents::new(shared.recorder.clone(), options.host_object.clone());
        let saved = options.caches.as_deref().and_then(|caches| SavedVersions::open_or_warn(caches, &options.plugins));
        let loader = Loader {
            saved: saved.clone(),
            registry: Arc::clone(&registry),
            resync_seconds: options.resync_seconds,
            grant_what_is_asked: options.grant_what_is_asked,
            unstated_deadline_seconds: options.unstated_deadline_seconds,
            engine,
            http: http.clone(),
            shared: shared.clone(),
            messages: messages.clone(),
        };
        let swapper = Swapper {
            saved,
            registry: Arc::clone(&registry),
            http,
            metrics: shared.metrics.clone(),
            access: AccessChecker::new(&shared, messages.clone()),
            events: events.clone(),
            messages: messages.clone(),
        };
        let leftovers = Leftovers::new(
            Arc::clone(&registry),
            shared.writer.finalizers().clone(),
            shared.recorder.clone(),
            messages.clone(),
        );
        let metrics = shared.metrics.clone();
        let retirement = Retirement::new(Arc::clone(&registry), metrics.clone(), events.clone(), messages.clone());
        let reporter = StateReporter::new(Arc::clone(&registry), metrics, events.clone());
        Self {
            options,
            shared,
            registry,
            loader,
            swapper,
            retirement,
            reporter,
            events,
            messages,
            inbox,
            notices,
            noticed,
            leftovers,
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
                    lock(&self.registry).forget_unused_converters();
                    self.retirement.end_orphans();
                    self.leftovers.check();
                    let patience = if watch.all_asked() { SETTLED_WITHIN } else { PULLED_WITHIN };
                    looked |= began.elapsed() > patience;
                }
            }
            came_round();
            self.loader.load_next();
            self.reporter.report();
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
                self.loader.load_now_or_next(name, found);
            }
        }
        for name in gone {
            for file in self.retirement.file_gone(&name, came) {
                self.evaluate(&file);
            }
            self.retirement.end_orphans();
        }
    }

    fn receive(&mut self, message: Message) {
        match message {
            Message::Loaded { file, generation, read } => self.loaded(&file, generation, read),
            Message::Synced { plugin, version } => {
                if let Some(file) = self.swapper.synced(&plugin, &version) {
                    // The file may have contained another plugin before.
                    self.retirement.end_others_of(&file, &plugin);
                }
            }
            Message::Access { plugin: name, required, missing } => {
                if let Some(plugin) = lock(&self.registry).plugins.get_mut(&name) {
                    plugin.access.answered(&name, required, missing);
                }
            }
            Message::Drained { plugin, held } => {
                if self.retirement.drained(&plugin, held) {
                    self.swapper.forget_saved(&plugin);
                    self.evaluate_waiting();
                }
            }
            Message::Leftovers { found, took } => self.leftovers.found(found, took),
            Message::Action { action, answer } => self.act(action, answer),
        }
    }

    fn act(&mut self, action: Action, answer: oneshot::Sender<Result<String, String>>) {
        match action {
            Action::Confirm(name) if lock(&self.registry).ended_converters.contains_key(&name) => {
                let _ = answer.send(conversions::confirm_end(&mut lock(&self.registry), &name));
            }
            Action::Confirm(name) => {
                let confirmed = actions::confirm(&mut lock(&self.registry), &name);
                let done = confirmed.map(|(file, said)| {
                    self.swapper.forgive(&name);
                    self.evaluate(&file);
                    said
                });
                // The requesting client may have closed its connection.
                let _ = answer.send(done);
            }
            Action::ReleaseFinalizers(name) => {
                let finalizers = self.shared.writer.finalizers().clone();
                actions::release_finalizers(Arc::clone(&self.registry), finalizers, name, answer);
            }
        }
    }

    fn notice(&mut self, notice: Notice) {
        let Notice { plugin, digest, what } = notice;
        match what {
            Happened::FirstReconcile { struck } => self.swapper.first_reconcile(&plugin, &digest, struck),
            Happened::Proven => self.swapper.proven(&plugin, &digest),
            Happened::Failing(why) => self.swapper.failing(&plugin, &digest, &why),
            Happened::Quarantined(pause) => {
                let seconds = pause.as_secs();
                self.events.record(
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
            registry.ended_converters.clear();
            std::mem::take(&mut registry.plugins)
        };
        let stopped = futures::future::join_all(controllers.values().map(|plugin| plugin.controller.stop(DRAIN)));
        tokio::join!(stopped, self.retirement.wait());
    }
}
