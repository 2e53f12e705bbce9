//! The plugin directory is the running set of controllers: a file that comes starts one, a file that changes swaps its logic,
//! a file that goes ends it, and a bad file never hurts a good one.
//!
//! Everything that decides is one task, [`Lifecycle::run`], which never waits: what takes time (compiling, syncing, draining,
//! asking the API server) are tasks of their own that send a message when they are done. Each task is told which
//! generation of its file it works for, so that what comes late changes nothing.

mod accept;
mod access;
mod actions;
mod loading;
mod registry;
mod retire;
mod swap;
mod view;

pub use actions::Action;
pub use registry::State;

use crate::api::GroupVersionKind;
use crate::apply::access::Asked;
use crate::apply::events::Regarding;
use crate::controller::{Controller, Happened, Notice, Shared, Version};
use crate::oci::Standings;
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

/// Reconciles under way get this long when their version is replaced, their plugin removed or the host stopped.
const DRAIN: Duration = Duration::from_secs(20);

/// How often is looked whether something changed that nobody tells of: watches in sync, the end of a quarantine.
const TICK: Duration = Duration::from_millis(500);

/// A version that is being loaded gets this long although its file was replaced meanwhile: else a file that is replaced faster
/// than it compiles would never be swapped.
const LOAD_ANYWAY: Duration = Duration::from_secs(2);

/// How long the removal of a file waits for files that came with it: one of them may be it, under another name.
const RENAMED_WITHIN: Duration = Duration::from_secs(1);

/// How long a file that is still being written at the start keeps the host from being ready.
const SETTLED_WITHIN: Duration = Duration::from_secs(2);

/// How long a registry that is slow to answer for the first time keeps it.
const PULLED_WITHIN: Duration = Duration::from_secs(60);

/// What a lifecycle is told.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directory of `.wasm` files, each with its grant beside it.
    pub plugins: PathBuf,
    /// What is pulled from registries beside them.
    pub pulled: Option<Standings>,
    /// Instead of every plugin's own resync period.
    pub resync_seconds: Option<u32>,
    /// Grant every plugin without a grant file what its manifest asks for.
    pub grant_what_is_asked: bool,
    /// What the events about plugins are events of: the host's own object.
    pub host_object: Regarding,
    /// Whether somebody asks plugins about admission.
    pub answers_admission: bool,
}

/// Something that was waited for, or that somebody wants.
enum Message {
    /// A file was read, compiled and described.
    Loaded { file: String, generation: u64, read: Result<Box<Read>, loading::Failed> },
    /// The watches of a version that is to be switched to are in sync.
    Synced { plugin: String, version: Arc<Version> },
    /// The API server was asked what it allows a plugin.
    Access { plugin: String, asked: Arc<Asked>, missing: Vec<String> },
    /// A plugin that was removed has come to its end.
    Drained { plugin: String, held: Vec<(GroupVersionKind, usize)> },
    /// A person wants something.
    Action { action: Action, answer: oneshot::Sender<Result<String, String>> },
}

/// See the module.
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
    told: view::Told,
    /// Plugins and versions that come to their end. The host ends after them, so that their reconciles finish and their Leases are
    /// released.
    draining: TaskTracker,
}

impl std::fmt::Debug for Lifecycle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lifecycle").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Looks at a lifecycle, and asks it for something. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    registry: Arc<Mutex<Registry>>,
    pulled: Option<Standings>,
    messages: mpsc::UnboundedSender<Message>,
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Handle")
    }
}

impl Handle {
    /// The answer to `/plugins`: every file, and what became of it.
    #[must_use]
    pub fn describe(&self) -> Value {
        view::describe(&lock(&self.registry), self.pulled.as_ref())
    }

    /// The plugin of this name, if one runs or is about to.
    #[must_use]
    pub fn controller(&self, plugin: &str) -> Option<Arc<Controller>> {
        lock(&self.registry).plugins.get(plugin).map(|plugin| Arc::clone(&plugin.controller))
    }

    /// All plugins that run or are about to.
    #[must_use]
    pub fn controllers(&self) -> Vec<Arc<Controller>> {
        lock(&self.registry).plugins.values().map(|plugin| Arc::clone(&plugin.controller)).collect()
    }

    /// Whether a plugin that does not run may be about to: a file is being compiled, or its first version waits for its watches.
    #[must_use]
    pub fn may_come(&self, plugin: &str) -> bool {
        let registry = lock(&self.registry);
        let waits = |plugin: &registry::Plugin| plugin.controller.current().is_none();
        registry.starting || !registry.nothing_is_compiling() || registry.plugins.get(plugin).is_some_and(waits)
    }

    /// Begins no further reconcile, finishes those under way, and leaves the plugins to other hosts. They go on to answer admission.
    pub async fn hand_over(&self) {
        let controllers = self.controllers();
        futures::future::join_all(controllers.iter().map(|controller| controller.step_down(DRAIN))).await;
    }

    /// Asks for something; answers with a line for people.
    ///
    /// # Errors
    ///
    /// Why it was not done, for people.
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
    /// A lifecycle that has not looked into its directory yet.
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
            told: view::Told::default(),
            draining: TaskTracker::new(),
        }
    }

    /// For those who look and ask.
    #[must_use]
    pub fn handle(&self) -> Handle {
        let pulled = self.options.pulled.clone();
        Handle { registry: Arc::clone(&self.registry), pulled, messages: self.messages.clone() }
    }

    /// Keeps to the directory until `stop` is cancelled, then lets every plugin come to its end.
    ///
    /// * `settled` - called once, when everything that was there at the start has been compiled or refused.
    /// * `came_round` - called at every turn, at least every half second unless this is stuck.
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
                        tracing::error!(error, "the plugin directory cannot be read: what runs goes on");
                    }
                },
                Some(message) = self.inbox.recv() => {
                    self.receive(message);
                    // What has come meanwhile is told of at once.
                    while let Ok(message) = self.inbox.try_recv() {
                        self.receive(message);
                    }
                }
                Some(notice) = self.noticed.recv() => self.notice(notice),
                _ = tick.tick() => {
                    self.end_orphans();
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

    /// Whether nothing in the directory is still being written.
    fn is_complete(&self, snapshot: &Snapshot) -> bool {
        let there = directory::scan(&self.options.plugins).unwrap_or_default();
        there.iter().all(|candidate| snapshot.files.contains_key(&candidate.file_name))
    }

    /// Compares the directory with what is known of it.
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

    /// Begins to load what a file holds now, or puts that off until what it held before is loaded.
    fn load_now_or_next(&mut self, name: String, found: crate::plugin::directory::Found) {
        if let Some(file) = lock(&self.registry).files.get_mut(&name)
            && file.is_under_way(LOAD_ANYWAY)
            // Another grant counts at once.
            && file.found.grant == found.grant
        {
            file.next = Some(found);
            return;
        }
        self.load(name, found);
    }

    /// Begins to load what was put off.
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

    /// Begins to load what a file holds now; what was under way for it before is given up.
    fn load(&mut self, name: String, found: crate::plugin::directory::Found) {
        let candidate = found.candidate.clone();
        let mut registry = lock(&self.registry);
        let running = registry.plugin_of(&name).and_then(|(_, plugin)| plugin.running.as_ref());
        let running = running.map(|running| running.offer.clone());
        let file = registry.file_mut(&name, found);
        let generation = file.generation;
        let load = Load {
            candidate,
            registry: Arc::clone(&self.registry),
            running,
            resync_seconds: self.options.resync_seconds,
            grant_what_is_asked: self.options.grant_what_is_asked,
            engine: self.engine.clone(),
            http: self.http.clone(),
            shared: self.shared.clone(),
        };
        let messages = self.messages.clone();
        let task = tokio::spawn(async move {
            let read = load.run().await.map(Box::new);
            // Nobody waits for it any more when the host stops.
            let _ = messages.send(Message::Loaded { file: name, generation, read });
        });
        file.task = Some(registry::Task(task.abort_handle()));
    }

    fn receive(&mut self, message: Message) {
        match message {
            Message::Loaded { file, generation, read } => self.loaded(&file, generation, read),
            Message::Synced { plugin, version } => self.synced(&plugin, &version),
            Message::Access { plugin, asked, missing } => self.access(&plugin, asked, missing),
            Message::Drained { plugin, held } => self.drained(&plugin, held),
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
        // Each of them has a deadline of its own.
        tokio::join!(stopped, self.draining.wait());
    }
}
