//! Objects with the finalizer of a plugin that does not clean up: their number, and a warning for each object that is being deleted.
//!
//! The API server does not delete an object before its finalizers are removed. Therefore the host looks for such objects of plugins that
//! were removed, of kinds that a version dropped, and of plugins in quarantine.

use super::host_events::HostEvents;
use super::registry::{Registry, RemovedPlugin, State, Task};
use super::saved_versions::{LeftBehind, SavedVersions};
use super::{Message, lock};
use crate::api::GroupVersionKind;
use crate::apply::events::{Event, Recorder, Regarding};
use crate::apply::{Finalizers, HeldObjects, WriteIdentity};
use crate::grants::Grants;
use crate::informer::Object;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Least time between two checks.
const INTERVAL: Duration = Duration::from_secs(5);

/// A check of many objects takes long. The time between two checks is at least this multiple of it.
const PAUSE: u32 = 100;

/// Objects of one plugin and kind for which one check warns.
const MOST_AT_ONCE: usize = 20;

/// Objects with a warning that are remembered; further objects get none.
const MOST_WARNED: usize = 1000;

/// A plugin and a kind whose objects it does not clean up.
pub(super) type Leftover = (String, GroupVersionKind);

/// Checks for such objects, one check at a time.
#[derive(Debug)]
pub(super) struct Leftovers {
    registry: Arc<Mutex<Registry>>,
    finalizers: Finalizers,
    recorder: Recorder,
    messages: mpsc::UnboundedSender<Message>,
    next: Instant,
    task: Option<Task>,
    warned: Warned,
    events: HostEvents,
    /// None: after a restart nobody knows of removed plugins.
    saved: Option<SavedVersions>,
    /// What is on disk.
    on_disk: BTreeMap<String, LeftBehind>,
    /// Whether the last save failed.
    unsaved: bool,
}

/// The objects with a warning, by plugin and uid, so that each gets one.
#[derive(Debug, Default)]
struct Warned {
    objects: HashSet<(String, String)>,
}

impl Warned {
    /// Whether this is the first warning of the object.
    fn insert(&mut self, plugin: &str, uid: &str) -> bool {
        self.objects.len() < MOST_WARNED && self.objects.insert((plugin.to_owned(), uid.to_owned()))
    }

    /// Forgets the objects of other plugins.
    fn retain(&mut self, plugins: &HashSet<&str>) {
        self.objects.retain(|(plugin, _)| plugins.contains(plugin.as_str()));
    }
}

impl Registry {
    /// Plugins that run again own their objects again; kinds that their version does not clean up are left behind.
    fn forget_returned(&mut self) {
        for (name, plugin) in &mut self.plugins {
            let Some(version) = plugin.controller.current() else { continue };
            if self.removed_plugins.get(name).is_some_and(|removed| removed.state == State::Retired)
                && let Some(removed) = self.removed_plugins.remove(name)
            {
                plugin.left_behind.extend(removed.held.into_keys().filter(|kind| !version.cleans_up(kind)));
            }
        }
    }

    /// The kinds with objects that no plugin cleans up.
    fn leftovers(&self) -> Vec<Leftover> {
        let removed = self
            .removed_plugins
            .iter()
            .filter(|(name, removed)| removed.state == State::Retired && !self.plugins.contains_key(*name));
        let removed = removed.flat_map(|(name, removed)| removed.held.keys().map(move |kind| (name, kind)));
        let dropped = self.plugins.iter().flat_map(|(name, plugin)| {
            let version = plugin.controller.current();
            let cleaned = move |kind: &GroupVersionKind| version.as_ref().is_none_or(|version| version.cleans_up(kind));
            plugin.left_behind.iter().filter(move |kind| !cleaned(kind)).map(move |kind| (name, kind))
        });
        removed.chain(dropped).map(|(name, kind)| (name.clone(), kind.clone())).collect()
    }

    /// Stores the result of a check. Returns the reason why the objects cannot be deleted, and what to do; `None`: the plugin is back.
    fn set_held(&mut self, name: &str, kind: &GroupVersionKind, held: &HeldObjects) -> Option<String> {
        let release = format!("oarlock plugins --release-finalizers {name}");
        if let Some(plugin) = self.plugins.get_mut(name) {
            if !plugin.left_behind.contains(kind) {
                return None;
            }
            if held.objects == 0 {
                plugin.left_behind.remove(kind);
            }
            return Some(format!("plugin {name} does not clean up this kind any more; run {release}"));
        }
        let removed = self.removed_plugins.get_mut(name).filter(|removed| removed.state == State::Retired)?;
        if !removed.held.contains_key(kind) {
            return None;
        }
        if held.objects == 0 {
            removed.held.remove(kind);
            removed.deleting.remove(kind);
        } else {
            removed.held.insert(kind.clone(), held.objects);
            removed.deleting.insert(kind.clone(), held.deleting);
        }
        if removed.held.is_empty() {
            self.removed_plugins.remove(name);
        }
        Some(format!("plugin {name} does not run; put its file or its grant back, or run {release}"))
    }
}

impl Registry {
    /// Takes over what a host before this one knew.
    pub(super) fn remember_removed(&mut self, plugins: BTreeMap<String, LeftBehind>) {
        let (ran, removed) = plugins.into_iter().partition(|(_, left)| left.runs);
        self.ran_before = ran;
        self.add_removed(removed);
    }

    /// Takes over what a Plugin object knows of a plugin of a host before this one.
    pub(super) fn remember_also(&mut self, name: &str, left: LeftBehind) {
        match self.removed_plugins.get_mut(name) {
            // They are counted soon.
            Some(removed) if removed.state == State::Retired => {
                for kind in left.kinds {
                    removed.held.entry(kind).or_default();
                }
            }
            // One that drains knows it itself.
            Some(_) => {}
            None => {
                let kinds = left.kinds.clone();
                self.ran_before.entry(name.to_owned()).or_insert(left).kinds.extend(kinds);
            }
        }
    }

    /// The plugins at the start are known: those of the host before that are missing were removed while no host ran.
    fn settle_ran_before(&mut self) {
        let (mut removed, mut later) = (BTreeMap::new(), BTreeMap::new());
        for (name, left) in std::mem::take(&mut self.ran_before) {
            let Some(plugin) = self.plugins.get_mut(&name) else {
                removed.insert(name, left);
                continue;
            };
            match plugin.controller.current() {
                Some(version) => {
                    plugin.left_behind.extend(left.kinds.into_iter().filter(|kind| !version.cleans_up(kind)));
                }
                None => drop(later.insert(name, left)),
            }
        }
        self.ran_before = later;
        self.add_removed(removed);
    }

    fn add_removed(&mut self, plugins: BTreeMap<String, LeftBehind>) {
        for (name, left) in plugins {
            let LeftBehind { file, version, digest, kinds, runs: _ } = left;
            let removed = RemovedPlugin {
                state: State::Retired,
                version,
                digest,
                file,
                // They are counted soon.
                held: kinds.into_iter().map(|kind| (kind, 0)).collect(),
                deleting: BTreeMap::new(),
                since: Instant::now(),
                cleaned: BTreeSet::new(),
                untold: true,
            };
            self.removed(&name, removed);
        }
    }

    /// The plugins whose finalizers objects may carry.
    pub(super) fn may_leave_finalizers(&self) -> BTreeMap<String, LeftBehind> {
        let removed = self.removed_plugins.iter().map(|(name, removed)| {
            let kinds = removed.held.keys().chain(&removed.cleaned).cloned().collect();
            let (file, version, digest) = (removed.file.clone(), removed.version.clone(), removed.digest.clone());
            (name.clone(), LeftBehind { file, version, digest, kinds, runs: false })
        });
        let running = self.plugins.iter().filter_map(|(name, plugin)| {
            let candidate = &plugin.running.as_ref()?.candidate;
            let manifest = &candidate.compiled.manifest;
            let cleaned = manifest.primaries.iter().filter(|_| manifest.cleanup).map(|primary| primary.gvk());
            let cleaned = cleaned.map(|kind| GroupVersionKind::new(kind.group, kind.version, kind.kind));
            // What an earlier host knew is not settled at once.
            let before = self.ran_before.get(name).into_iter().flat_map(|left| left.kinds.iter().cloned());
            let kinds = cleaned.chain(plugin.left_behind.iter().cloned()).chain(before).collect();
            let (version, digest) = (manifest.version.clone(), candidate.digest().to_owned());
            Some((name.clone(), LeftBehind { file: plugin.file.clone(), version, digest, kinds, runs: true }))
        });
        let unknown = self.ran_before.iter().map(|(name, left)| (name.clone(), left.clone()));
        // A plugin that runs is no removed one.
        unknown.chain(removed).chain(running).filter(|(_, left)| !left.kinds.is_empty()).collect()
    }
}

impl Leftovers {
    pub(super) fn new(
        registry: Arc<Mutex<Registry>>,
        finalizers: Finalizers,
        recorder: Recorder,
        events: HostEvents,
        saved: Option<SavedVersions>,
        messages: mpsc::UnboundedSender<Message>,
    ) -> Self {
        let (next, warned) = (Instant::now(), Warned::default());
        let on_disk = saved.as_ref().map(SavedVersions::left_behind).unwrap_or_default();
        Self {
            registry,
            finalizers,
            recorder,
            messages,
            next,
            task: None,
            warned,
            events,
            saved,
            on_disk,
            unsaved: false,
        }
    }

    /// Saves which plugins may leave finalizers, so that a host that restarts knows of them.
    pub(super) fn save(&mut self) {
        let Some(saved) = &self.saved else { return };
        let now = lock(&self.registry).may_leave_finalizers();
        if now == self.on_disk {
            return;
        }
        match saved.set_left_behind(&now) {
            Ok(()) => (self.on_disk, self.unsaved) = (now, false),
            // The next tick tries again.
            Err(error) => {
                if !std::mem::replace(&mut self.unsaved, true) {
                    tracing::warn!(%error, "plugins with finalizers could not be saved: after a restart the host does not know of those that are removed");
                }
            }
        }
    }

    /// Starts a check when one is due.
    pub(super) fn check(&mut self) {
        let (leftovers, quarantined) = {
            let mut registry = lock(&self.registry);
            registry.forget_returned();
            // At the start, a plugin that an earlier host removed may be back, and only not loaded yet.
            if self.task.is_some() || registry.starting || Instant::now() < self.next {
                return;
            }
            registry.settle_ran_before();
            let quarantined =
                registry.plugins.iter().filter(|(_, plugin)| plugin.controller.quarantined_until().is_some());
            let deleting = quarantined
                .filter_map(|(name, plugin)| Some((name.clone(), plugin.controller.current()?.deleting(MOST_AT_ONCE))));
            (registry.leftovers(), deleting.collect::<Vec<_>>())
        };
        self.next = Instant::now() + INTERVAL;
        let plugins = leftovers.iter().map(|(name, _)| name.as_str());
        self.warned.retain(&plugins.chain(quarantined.iter().map(|(name, _)| name.as_str())).collect());
        for (name, objects) in quarantined {
            let why = format!(
                "plugin {name} is quarantined; install a version that works, or remove its file and run \
                 oarlock plugins --release-finalizers {name}"
            );
            objects.iter().for_each(|(kind, object)| self.warn_of_deletion(&name, kind, object, &why));
        }
        if leftovers.is_empty() {
            return;
        }
        let (finalizers, messages) = (self.finalizers.clone(), self.messages.clone());
        let task = tokio::spawn(async move {
            let began = Instant::now();
            let mut found = Vec::new();
            for (name, kind) in leftovers {
                match finalizers.held_objects(&finalizer(&name), &kind, MOST_AT_ONCE).await {
                    Ok(held) => found.push(((name, kind), held)),
                    // The last numbers stay: the API server may be away, or the RBAC of the plugin was removed with it.
                    Err(error) => {
                        tracing::debug!(plugin = name, %kind, %error, "cannot count the objects with the plugin's finalizer");
                    }
                }
            }
            // The send fails while the host stops.
            let _ = messages.send(Message::Leftovers { found, took: began.elapsed() });
        });
        self.task = Some(Task(task.abort_handle()));
    }

    /// A check ended.
    pub(super) fn found(&mut self, found: Vec<(Leftover, HeldObjects)>, took: Duration) {
        self.task = None;
        self.next = Instant::now() + INTERVAL.max(took.saturating_mul(PAUSE));
        for ((name, kind), held) in found {
            let (why, untold) = {
                let mut registry = lock(&self.registry);
                let removed = registry.removed_plugins.get_mut(&name).filter(|_| held.objects > 0);
                let untold = removed.is_some_and(|removed| std::mem::take(&mut removed.untold));
                (registry.set_held(&name, &kind, &held), untold)
            };
            if untold {
                super::retirement::tell_of_left(&self.events, &name, held.objects);
            }
            if let Some(why) = why {
                held.some_deleting.iter().for_each(|object| self.warn_of_deletion(&name, &kind, object, &why));
            }
        }
    }

    /// Writes a log line, and an event on the object, once.
    fn warn_of_deletion(&mut self, plugin: &str, kind: &GroupVersionKind, object: &Object, why: &str) {
        if !self.warned.insert(plugin, object.uid()) {
            return;
        }
        let finalizer = finalizer(plugin);
        tracing::warn!(plugin, %kind, key = %object.key(), finalizer, "object cannot be deleted: {why}");
        let message = format!("finalizer {finalizer} keeps this object: {why}");
        let event = Event { warning: true, reason: "DeletionBlocked".to_owned(), message };
        self.recorder.record(&WriteIdentity::host(), &Regarding::new(kind, object), event);
    }
}

fn finalizer(plugin: &str) -> String {
    WriteIdentity::new(plugin, Arc::new(Grants::none())).finalizer()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warned_objects_are_bounded_and_forgotten_with_their_plugin() {
        let mut warned = Warned::default();
        assert!(warned.insert("p", "a") && !warned.insert("p", "a") && warned.insert("q", "a"));
        warned.retain(&HashSet::from(["q"]));
        assert!(warned.insert("p", "a") && !warned.insert("q", "a"));
        for number in 0..2 * MOST_WARNED {
            warned.insert("p", &number.to_string());
        }
        assert_eq!(warned.objects.len(), MOST_WARNED);
    }
}
