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
mod candidate;
mod conversions;
pub mod definitions;
mod handle;
mod host_events;
mod leftovers;
mod loading;
mod object_versions;
mod preview;
mod registry;
mod retirement;
mod rollout;
mod saved_versions;
mod state_reporter;
mod swapper;
mod undo;
mod view;

pub use actions::{Action, WaitingVersion};
pub use handle::Handle;
pub use host_events::ObjectEvents;
pub use object_versions::{ObjectVersion, ObjectVersions};
pub use preview::PreviewRequest;
pub use registry::State;
pub use saved_versions::LeftBehind;
pub use undo::GoBack;
pub(crate) use undo::{UNDONE, undone_on_the_leader};

use crate::api::GroupVersionKind;
use crate::apply::HeldObjects;
use crate::apply::access::RequiredPermissions;
use crate::apply::events::Regarding;
use crate::controller::{Happened, Notice, Shared, Version};
use crate::oci::{PullStatuses, Puller};
use crate::plugin::directory::{self, Declarations, Snapshot, Sources};
use crate::plugin::{Engine, HttpGate};
use access::AccessChecker;
use definitions::DefinitionInstaller;
use host_events::HostEvents;
use leftovers::Leftovers;
use loading::{Loader, Read};
use registry::Registry;
use retirement::Retirement;
use saved_versions::SavedVersions;
use state_reporter::StateReporter;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use swapper::Swapper;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Drain time of reconciles in flight when a version is replaced, a plugin is removed or the host stops.
const DRAIN: Duration = Duration::from_secs(20);

/// Poll interval for changes without a notification: the end of a quarantine, objects that cannot be deleted.
pub const POLL: Duration = Duration::from_millis(500);

/// Longest delay of readiness by a file that is still being written at the start.
const SETTLED_WITHIN: Duration = Duration::from_secs(2);

/// Longest delay of readiness by a registry's first response.
const PULLED_WITHIN: Duration = Duration::from_secs(60);

/// Configuration of the lifecycle.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory of `.wasm` files, each with its grant file beside it.
    pub plugins: PathBuf,
    /// The number of the state of a directory that nobody watches: when it changes, the host reads the directory again. None: the host
    /// watches the directory.
    pub fixed: Option<watch::Receiver<u64>>,
    /// Poll interval for changes without a notification; see [`POLL`].
    pub poll: Duration,
    /// Plugins pulled from registries, in addition to the directory.
    pub pulled: Option<PullStatuses>,
    /// Pulls versions of before, if a person goes back to one. None: there is no registry.
    pub puller: Option<Arc<Puller>>,
    /// Plugins that objects declare, in addition.
    pub declared: Option<Declarations>,
    /// The good versions that Plugin objects remember. None: there are no Plugin objects.
    pub object_versions: Option<ObjectVersions>,
    /// Folder of caches, where good versions are saved. None: they are not.
    pub caches: Option<PathBuf>,
    /// Replaces the resync period of every plugin.
    pub resync_seconds: Option<u32>,
    /// For development: grants a plugin without a grant file everything in its manifest, and upgrades definitions although stored objects may
    /// not survive it.
    pub grant_what_is_asked: bool,
    /// `limits.deadlineSeconds` where a grant does not state it, instead of the usual one.
    pub unstated_deadline_seconds: Option<u32>,
    /// What the events about plugins are events of: the host's own object.
    pub host_object: Regarding,
    /// The same events for the Plugin objects. None: there are none.
    pub object_events: Option<ObjectEvents>,
    /// Whether the host runs an admission server.
    pub answers_admission: bool,
}

impl Options {
    fn sources(&self) -> Sources {
        let folder = self.plugins.clone();
        if let Some(looks) = self.fixed.clone() {
            return Sources::fixed(folder, looks);
        }
        Sources::start(folder, self.pulled.clone(), self.declared.clone())
    }
}

/// The result of a task, or a request of a person.
enum Message {
    /// A file was read, compiled and described, or failed.
    Loaded { file: String, generation: u64, read: Result<Box<Read>, loading::Failed> },
    /// The watches of a version are in sync, so that the plugin can switch to it.
    Synced { plugin: String, version: Arc<Version> },
    /// The upgrade of a definition is refused, so that the version does not run.
    DefinitionRefused { plugin: String, version: Arc<Version>, why: String },
    /// The access review of a plugin ended.
    Access { plugin: String, required: Arc<RequiredPermissions>, missing: Vec<String> },
    /// A removed plugin has drained.
    Drained { plugin: String, held: Vec<(GroupVersionKind, usize)> },
    /// A check of the objects that no plugin cleans up ended.
    Leftovers { found: Vec<(leftovers::Leftover, HeldObjects)>, took: Duration },
    /// The version to which a person goes back was found.
    GoBack { found: Box<undo::Found>, answer: oneshot::Sender<Result<String, String>> },
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

fn lock<T>(locked: &Mutex<T>) -> MutexGuard<'_, T> {
    locked.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lifecycle {
    /// A lifecycle that has not scanned its directory yet.
    #[must_use]
    pub fn new(options: Options, shared: Shared, engine: Engine, http: HttpGate) -> Self {
        let (messages, inbox) = mpsc::unbounded_channel();
        let (notices, noticed) = mpsc::unbounded_channel();
        let registry: Arc<Mutex<Registry>> = Arc::default();
        let events =
            HostEvents::new(shared.recorder.clone(), options.host_object.clone(), options.object_events.clone());
        let saved = options.caches.as_deref().and_then(|caches| SavedVersions::open_or_warn(caches, &options.plugins));
        if let Some(saved) = &saved {
            lock(&registry).remember_removed(saved.left_behind());
        }
        let loader = Loader {
            saved: saved.clone(),
            puller: options.puller.clone(),
            object_versions: options.object_versions.clone(),
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
            saved: saved.clone(),
            registry: Arc::clone(&registry),
            http,
            metrics: shared.metrics.clone(),
            access: AccessChecker::new(&shared, messages.clone()),
            definitions: DefinitionInstaller {
                objects: shared.writer.host_objects().clone(),
                events: events.clone(),
                any_upgrade: options.grant_what_is_asked || shared.rehearsal.is_some(),
            },
            events: events.clone(),
            messages: messages.clone(),
        };
        let leftovers = Leftovers::new(
            Arc::clone(&registry),
            shared.writer.finalizers().clone(),
            shared.recorder.clone(),
            events.clone(),
            saved.clone(),
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
        let mut watch = self.options.sources();
        let mut settled = Some(settled);
        let mut looked = false;
        let began = Instant::now();
        let mut tick = tokio::time::interval(self.options.poll);
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
                    self.follow_the_leader();
                    self.publish_rollouts();
                    self.leftovers.check();
                    self.leftovers.save();
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
        // A declared plugin has another name than its file.
        let known: BTreeSet<&Path> = snapshot.files.values().map(|found| &*found.candidate.path).collect();
        there.iter().all(|candidate| known.contains(&*candidate.path))
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
            if known.as_ref().is_some_and(|known| known.differs_in_source_only(&found)) {
                lock(&self.registry).set_latest(&name, found);
            } else if known.as_ref() != Some(&found) {
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
                    // Until now another load of the file would need it.
                    if let Some(versions) = &self.options.object_versions {
                        versions.remove(&plugin);
                    }
                    // The file may have contained another plugin before.
                    self.retirement.end_others_of(&file, &plugin);
                    self.evaluate_waiting();
                }
            }
            Message::DefinitionRefused { plugin, version, why } => self.definition_refused(&plugin, &version, why),
            Message::Access { plugin: name, required, missing } => {
                if let Some(plugin) = lock(&self.registry).plugins.get_mut(&name) {
                    plugin.access.answered(&name, required, missing);
                }
            }
            Message::Drained { plugin, held } => {
                if self.retirement.drained(&plugin, held) {
                    self.swapper.forget_saved(&plugin);
                    self.shared.pauses.resume(&plugin);
                    self.evaluate_waiting();
                }
            }
            Message::Leftovers { found, took } => self.leftovers.found(found, took),
            Message::GoBack { found, answer } => self.go_back(*found, answer),
            Message::Action { action, answer } => self.act(action, answer),
        }
    }

    fn notice(&mut self, notice: Notice) {
        let Notice { plugin, digest, what } = notice;
        match what {
            Happened::FirstReconcile { struck } => self.swapper.first_reconcile(&plugin, &digest, struck),
            Happened::Proven => self.swapper.proven(&plugin, &digest),
            Happened::Failing(why) => self.swapper.failing(&plugin, &digest, &why),
            Happened::Rollout(event) => self.rollout_event(&plugin, &digest, event),
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
