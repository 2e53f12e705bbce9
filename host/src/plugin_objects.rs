//! Plugin objects (`plugins.oarlock.dev`): the plugins of a host for `kubectl`, and the wishes of people about them.
//!
//! The host makes an object for each plugin that has none, and writes the status of all. It obeys `spec.paused` and `spec.approve`, and runs
//! the plugins that people declare. Of several hosts each one obeys, and the one that leads a plugin writes.

mod changes;
mod declared;
mod entries;
mod finalizers;
mod leaders;
mod observed;
mod ownership;
mod revisions;
mod status;
mod undo;
mod wishes;

use crate::api::GroupVersionKind;
use crate::apply::events::{Event, Regarding};
use crate::apply::{WriteError, WriteIdentity};
use crate::controller::Shared;
use crate::informer::{Handler, ListOptions, Object, Subscription, WatchSpec};
use crate::lease::LeaderElection;
use crate::lifecycle::{Handle, ObjectEvents, ObjectVersions};
use crate::oci::Puller;
use crate::plugin::directory::{Declarations, Declared, Fate};
use declared::Asked;
use entries::entries;
use finalizers::Restored;
use ownership::is_ours;
use revisions::good_version;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The definition of the kind.
pub const DEFINITION: &str = include_str!("../../deploy/crds/plugins.yaml");

/// Poll interval of the plugins' states.
const LOOK: Duration = Duration::from_millis(300);

/// Least time between two writes of counts only.
const COUNTS: Duration = Duration::from_secs(5);

/// Pause after a failed write.
const TRY_AGAIN: Duration = Duration::from_secs(2);

/// Time without the plugin after which its object is removed.
const GONE: Duration = Duration::from_secs(10);

/// Marks objects that the host made, and therefore removes.
const MADE: (&str, &str) = ("app.kubernetes.io/managed-by", "oarlock");

/// Configuration of the Plugin objects.
#[derive(Clone, Debug)]
pub struct Options {
    /// Namespace of the objects.
    pub namespace: String,
    /// The name of this host, unless it has one in Leases.
    pub host: String,
}

/// The Plugin objects of a host.
pub struct PluginObjects {
    shared: Shared,
    lifecycle: Handle,
    namespace: String,
    /// The name of this host.
    host: String,
    subscription: Subscription,
    changed: Arc<Notify>,
    election: LeaderElection,
    objects: HashMap<String, Written>,
    /// Since when the plugins of objects are gone.
    gone: HashMap<String, Instant>,
    restored: Restored,
    /// Values of the annotation `reconcile-at` that this host obeyed, until the status shows them.
    reconciled: BTreeMap<String, String>,
    approved: BTreeMap<String, wishes::Answered>,
    sources: DeclaredSources,
    asked: Asked,
    /// What became of the declarations that the plugin directory saw last.
    fates: BTreeMap<String, (Declared, Fate)>,
    undoing: undo::Undoing,
    leaders: leaders::Leaders,
    /// The faults in the log.
    told: BTreeMap<String, String>,
}

/// Where the host takes declared plugins from.
#[derive(Clone, Debug, Default)]
pub struct DeclaredSources {
    /// What the lifecycle follows.
    pub declarations: Declarations,
    /// Pulls their references. None: the host cannot.
    pub puller: Option<Arc<Puller>>,
    /// Plugins from registries that the command line names.
    pub fixed: BTreeSet<String>,
    /// The good versions of the plugins, which the lifecycle goes back to.
    pub versions: ObjectVersions,
    /// Events about plugins.
    pub events: ObjectEvents,
}

/// An object, and its document.
struct Live {
    object: Arc<Object>,
    json: Value,
}

/// The last write of an object.
#[derive(Debug, Default)]
struct Written {
    at: Option<Instant>,
    /// The resourceVersion before the write: the cache may still show it.
    over: Option<String>,
    try_again: Option<Instant>,
    /// The resourceVersion of an object of which the owner is known: the host.
    ours: Option<String>,
}

impl std::fmt::Debug for PluginObjects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PluginObjects").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

impl PluginObjects {
    /// * `election` - of the host's own duties.
    #[must_use]
    pub fn new(
        options: Options,
        shared: Shared,
        lifecycle: Handle,
        election: LeaderElection,
        sources: DeclaredSources,
    ) -> Self {
        let Options { namespace, host } = options;
        let host = shared.leases.identity().map_or(host, str::to_owned);
        let changed = Arc::new(Notify::new());
        let tell = Arc::clone(&changed);
        let handler: Handler = Arc::new(move |_| tell.notify_one());
        let spec = WatchSpec { namespace: Some(namespace.clone()), ..WatchSpec::all(kind()) };
        let subscription = shared.informers.subscribe(spec, handler);
        Self {
            shared,
            lifecycle,
            namespace,
            host,
            subscription,
            changed,
            election,
            objects: HashMap::new(),
            gone: HashMap::new(),
            restored: Restored::default(),
            reconciled: BTreeMap::new(),
            approved: BTreeMap::new(),
            sources,
            asked: Asked::default(),
            fates: BTreeMap::new(),
            undoing: undo::Undoing::default(),
            leaders: leaders::Leaders::default(),
            told: BTreeMap::new(),
        }
    }

    /// Keeps the objects. Never returns.
    ///
    /// * `known` - called once, when the wishes are known for the first time.
    pub async fn run(mut self, known: impl FnOnce()) {
        let mut known = Some(known);
        loop {
            tokio::select! {
                () = self.changed.notified() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
            // Without the objects the last wishes count.
            if !self.subscription.store().synced() {
                continue;
            }
            let live = self.live();
            self.read(&live);
            let mut observed = self.observed(&live);
            let mut entries = entries(&self.lifecycle.describe());
            let versions = live.iter().filter_map(|(name, live)| Some((name.clone(), good_version(&live.json)?)));
            self.sources.versions.set_once(versions.collect());
            if self.pause(&live, &entries) {
                entries = entries::entries(&self.lifecycle.describe());
            }
            self.declare();
            self.record(&live);
            if let Some(known) = known.take() {
                known();
            }
            self.undoing.obey(&live, &entries, &self.lifecycle);
            observed.retain(|name| !self.undoing.is_under_way(name));
            self.add_pulls(&mut entries);
            self.add_faults(&mut entries, &live);
            self.restore_finalizers(&live).await;
            self.add_finalizers(&mut entries, &live);
            self.reconcile(&live, &mut entries).await;
            self.objects.retain(|name, _| entries.contains_key(name));
            self.leaders.retain(|name| entries.contains_key(name));
            self.gone.retain(|name, _| live.contains_key(name) && !entries.contains_key(name));
            self.approve(&live, &entries);
            self.follow_aborts(&live, &entries).await;
            for (name, entry) in &entries {
                self.keep(name, entry, live.get(name), observed.contains(name)).await;
            }
            for (name, live) in live.iter().filter(|(name, _)| !entries.contains_key(*name)) {
                self.remove(name, live).await;
            }
        }
    }

    /// The objects by name.
    fn live(&self) -> BTreeMap<String, Live> {
        let objects = self.subscription.store().list(&ListOptions::default());
        let read = |object: Arc<Object>| Live { json: json(&object), object };
        objects.into_iter().map(|object| (object.key().name.to_string(), read(object))).collect()
    }

    /// Records the events about plugins on their objects.
    fn record(&self, live: &BTreeMap<String, Live>) {
        let object = |name: &str| live.get(name).map(|live| Regarding::new(&kind(), &live.object));
        for (regarding, event) in self.sources.events.take(object) {
            self.shared.recorder.record(&WriteIdentity::host(), &regarding, event);
        }
    }

    /// Reads which plugins people declare, and what became of that.
    fn read(&mut self, live: &BTreeMap<String, Live>) {
        let objects = live.iter().filter(|(_, live)| declared::declares(&live.json));
        let objects = objects.map(|(name, live)| (name.clone(), live.json.clone())).collect();
        self.asked = Asked::of(&objects, &self.asked.plugins, &self.sources.fixed);
        self.fates = self.sources.declarations.fates();
    }

    /// Tells the lifecycle and the puller which plugins people declare.
    fn declare(&self) {
        if let Some(puller) = &self.sources.puller {
            puller.want(self.asked.wanted());
        }
        self.sources.declarations.set(self.asked.plugins.clone());
    }

    /// Adds the faults of objects to the entries of their plugins, or makes such entries, and logs each once.
    fn add_faults(&mut self, entries: &mut BTreeMap<String, Value>, live: &BTreeMap<String, Live>) {
        let mut faults = self.undoing.faults();
        faults.extend(self.fates.iter().filter_map(|(name, (_, fate))| match fate {
            Fate::Fault(fault) => Some((name.clone(), fault.clone())),
            _ => None,
        }));
        faults.extend(self.asked.faults.clone());
        faults.retain(|name, _| live.contains_key(name));
        for (name, fault) in faults.iter().filter(|(name, fault)| self.told.get(*name) != Some(fault)) {
            tracing::warn!(plugin = name, fault, "the Plugin object cannot be used");
            if let Some(live) = live.get(name) {
                let event = Event { warning: true, reason: "InvalidObject".to_owned(), message: fault.clone() };
                self.shared.recorder.record(&WriteIdentity::host(), &Regarding::new(&kind(), &live.object), event);
            }
        }
        for (name, fault) in &faults {
            let entry = entries.entry(name.clone()).or_insert_with(|| json!({"state": "failed"}));
            if let Some(entry) = entry.as_object_mut() {
                entry.insert(status::FAULT.to_owned(), json!(fault));
            }
        }
        self.told = faults;
    }

    /// Writes the object and its status where they differ from the plugin.
    ///
    /// * `observed` - whether the entry is about the object as it is now.
    async fn keep(&mut self, name: &str, entry: &Value, live: Option<&Live>, observed: bool) {
        let written = self.objects.entry(name.to_owned()).or_default();
        let now = Instant::now();
        let version = live.map(|live| live.object.resource_version().to_owned());
        let unseen = written.at.is_some_and(|at| at.elapsed() < TRY_AGAIN) && written.over == version;
        if unseen || written.try_again.is_some_and(|when| now < when) {
            return;
        }
        let controller = self.lifecycle.controller(name);
        let runs_here = controller.is_some();
        let Some(guard) = controller.map_or_else(|| self.election.guard(), |controller| controller.guard()) else {
            return;
        };
        if !runs_here && self.leaders.another_leads(name) {
            return;
        }
        if let Some(change) = self.change(name, entry, live).await {
            if !runs_here && self.leave_to_leader(name).await {
                return;
            }
            let done = self.write(name, &guard, change).await;
            self.note(name, done, version, now);
            return;
        }
        let Some(live) = live else { return };
        let written = self.objects.entry(name.to_owned()).or_default();
        let status = live.json.get("status").cloned().unwrap_or_default();
        let before = status.get("observedGeneration").and_then(Value::as_i64);
        let generation = if observed { live.object.generation() } else { before };
        let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let wanted = status::wanted(entry, &self.host, &status, generation, &time);
        let recent = written.at.is_some_and(|at| at.elapsed() < COUNTS);
        if wanted == status || (recent && !status::differs(&wanted, &status)) {
            return;
        }
        if !runs_here && self.leave_to_leader(name).await {
            return;
        }
        let document = json!({"apiVersion": kind().api_version(), "kind": "Plugin",
            "metadata": {"name": name, "namespace": self.namespace}, "status": wanted});
        let done = self.shared.writer.host_objects().apply_status(&guard, &document).await;
        self.note(name, done.map(drop), version, now);
    }

    /// * `over` - the resourceVersion before the write.
    fn note(&mut self, name: &str, done: Result<(), WriteError>, over: Option<String>, now: Instant) {
        self.objects.entry(name.to_owned()).or_default().note(name, done, over, now);
    }
}

impl Written {
    /// * `over` - the resourceVersion before the write.
    fn note(&mut self, name: &str, done: Result<(), WriteError>, over: Option<String>, now: Instant) {
        (self.at, self.over, self.try_again) = (Some(now), over, None);
        if let Err(error) = done {
            self.try_again = Some(now + TRY_AGAIN);
            tracing::warn!(plugin = name, %error, "the Plugin object could not be written");
        }
    }
}

fn kind() -> GroupVersionKind {
    GroupVersionKind::new("oarlock.dev", "v1alpha1", "Plugin")
}

fn json(object: &Object) -> Value {
    serde_json::from_str(object.json()).unwrap_or_default()
}
