//! What is known of every file and every plugin.

use crate::api::GroupVersionKind;
use crate::controller::{Controller, Version};
use crate::grants::{Grants, guess_plural};
use crate::plugin::Component;
use crate::plugin::cache::Cache;
use crate::plugin::directory::Found;
use oarlock_manifest::{Kind, PluginGrant, PluginManifest};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// How far a plugin, or a version of one, has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Being read, compiled and asked for its manifest.
    Compiling,
    /// It asks for more than it is granted, or nothing is granted at all.
    AwaitingGrant,
    /// It drops something that objects depend on; a person has to confirm that.
    AwaitingConfirmation,
    /// Its watches are being filled.
    Syncing,
    /// It reconciles.
    Active,
    /// It mostly strikes: its keys wait.
    Quarantined,
    /// Its file is gone; reconciles under way are finished.
    Draining,
    /// It ended, and objects still carry its finalizer.
    Retired,
    /// It cannot run.
    Failed,
}

impl State {
    /// As shown and as in the metric.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Compiling => "compiling",
            Self::AwaitingGrant => "awaiting-grant",
            Self::AwaitingConfirmation => "awaiting-confirmation",
            Self::Syncing => "syncing",
            Self::Active => "active",
            Self::Quarantined => "quarantined",
            Self::Draining => "draining",
            Self::Retired => "retired",
            Self::Failed => "failed",
        }
    }
}

/// A task that ends when nobody wants its result any more.
#[derive(Debug)]
pub(super) struct Task(pub(super) AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What was compiled of a file.
#[derive(Clone, Debug)]
pub(super) struct Compiled {
    pub(super) component: Component,
    /// With the plugin's name, which is never what the guest said: [`identity::name`](crate::plugin::identity::name).
    pub(super) manifest: PluginManifest,
    /// The name that the guest said.
    pub(super) says: String,
}

/// A version that could run: its code, and what lies beside it as its grant.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub(super) compiled: Compiled,
    /// The resources of its kinds, as far as the API server serves them.
    pub(super) plurals: Arc<HashMap<Kind, String>>,
    pub(super) granting: Granting,
}

/// What lies beside a plugin.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Granting {
    /// Nothing.
    Nothing,
    /// A grant.
    Grant {
        /// As written, for telling differences.
        grant: Box<PluginGrant>,
        /// Checked.
        grants: Box<Grants>,
        /// What the manifest asks for beyond it, a line each.
        missing: Vec<String>,
    },
}

impl Offer {
    pub(super) fn name(&self) -> &str {
        &self.compiled.manifest.name
    }

    pub(super) fn digest(&self) -> &str {
        &self.compiled.component.digest
    }

    /// What the manifest's grant lacks.
    pub(super) fn missing(&self, grants: &Grants) -> Vec<String> {
        grants.missing(&self.compiled.manifest, &|kind| self.plurals.get(kind).cloned())
    }

    /// The manifest as far as it is granted: primaries and watches only where they may be listed and watched, and none that may be
    /// nowhere.
    pub(super) fn manifest(&self) -> PluginManifest {
        let mut manifest = self.compiled.manifest.clone();
        let Granting::Grant { grants, .. } = &self.granting else { return manifest };
        let places = |kind: &Kind, asked: &[String], names: &[String]| {
            let plural = self.plurals.get(kind).cloned().unwrap_or_else(|| guess_plural(&kind.kind));
            grants.namespaces(&kind.group, &plural, asked, names)
        };
        manifest.primaries.retain_mut(|primary| match places(&primary.gvk(), &primary.namespaces, &[]) {
            None => true,
            Some(namespaces) => {
                primary.namespaces = namespaces;
                !primary.namespaces.is_empty()
            }
        });
        manifest.watches.retain_mut(|watch| match places(&watch.gvk(), &watch.namespaces, &watch.names) {
            None => true,
            Some(namespaces) => {
                watch.namespaces = namespaces;
                !watch.namespaces.is_empty()
            }
        });
        manifest
    }

    /// Whether it is the same code with the same grant.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.digest() == other.digest() && self.granting == other.granting
    }
}

/// Why a version does not run although it could.
#[derive(Clone, Debug)]
pub(super) enum Hold {
    /// There is no grant.
    NoGrant,
    /// The grant lacks these lines.
    Missing(Vec<String>),
    /// It drops what objects depend on.
    Confirmation { drops: String, objects: usize },
    /// Another file or plugin has what it claims: a sentence.
    Taken(String),
    /// The plugin of its name has not come to its end yet.
    Draining,
    /// It ran, and was taken back: why.
    RolledBack(String),
}

/// The newest content of a file.
#[derive(Debug)]
pub(super) enum Newest {
    /// It is being read, compiled and described.
    Compiling,
    /// It is no plugin that could run.
    Failed { name: Option<String>, reason: String },
    /// It waits for something.
    Held { offer: Offer, why: Hold },
    /// Its watches are being filled.
    Syncing { offer: Offer, version: Arc<Version> },
    /// It runs.
    Runs(Offer),
}

impl Newest {
    pub(super) fn offer(&self) -> Option<&Offer> {
        match self {
            Self::Compiling | Self::Failed { .. } => None,
            Self::Held { offer, .. } | Self::Syncing { offer, .. } | Self::Runs(offer) => Some(offer),
        }
    }
}

/// One `.wasm` file.
#[derive(Debug)]
pub(super) struct File {
    pub(super) found: Found,
    /// What it holds now, when that is to be loaded after what is being loaded.
    pub(super) next: Option<Found>,
    /// When `found` began to be loaded.
    pub(super) began: Instant,
    /// Counts what was found; tasks for an older one are too late.
    pub(super) generation: u64,
    pub(super) newest: Newest,
    /// Loading, or waiting for watches.
    pub(super) task: Option<Task>,
    /// What a person has confirmed.
    pub(super) confirmed: Option<Offer>,
}

impl File {
    /// What it was last seen to hold.
    pub(super) fn latest(&self) -> &Found {
        self.next.as_ref().unwrap_or(&self.found)
    }

    /// Whether it is being loaded, or its watches are being filled, and not for longer than this.
    pub(super) fn is_under_way(&self, at_most: Duration) -> bool {
        matches!(self.newest, Newest::Compiling | Newest::Syncing { .. }) && self.began.elapsed() < at_most
    }
}

/// One plugin that runs, or is about to.
#[derive(Debug)]
pub(super) struct Plugin {
    /// The file it comes from.
    pub(super) file: String,
    pub(super) controller: Arc<Controller>,
    pub(super) cache: Arc<Cache>,
    /// What runs. None: its first version is not in sync yet.
    pub(super) running: Option<Running>,
    /// What can be gone back to.
    pub(super) last_good: Option<Offer>,
    /// What was taken back last, and why; it is not tried again.
    pub(super) rejected: Option<(Offer, String)>,
    /// Kinds whose objects may carry its finalizer although no version of it cleans up after them any more.
    pub(super) left_behind: BTreeSet<GroupVersionKind>,
    /// What the API server does not allow although the grant does.
    pub(super) access: super::access::Access,
    /// Its file is gone; files that came with it are waited for until then.
    pub(super) orphaned: Option<Instant>,
}

/// The version a plugin runs.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) offer: Offer,
    pub(super) proven: bool,
    /// It failed its probation.
    pub(super) failed: bool,
    /// When it became the current one.
    pub(super) switched: Instant,
}

/// A plugin that ended.
#[derive(Debug)]
pub(super) struct Former {
    pub(super) state: State,
    pub(super) version: String,
    pub(super) digest: String,
    pub(super) file: String,
    /// Objects that carry its finalizer, by kind, when it ended.
    pub(super) held: BTreeMap<GroupVersionKind, usize>,
}

/// All of it.
#[derive(Debug)]
pub(super) struct Registry {
    pub(super) files: BTreeMap<String, File>,
    pub(super) plugins: BTreeMap<String, Plugin>,
    /// Draining, or retired with finalizers left.
    pub(super) former: BTreeMap<String, Former>,
    /// What was there at the start has not been gone through yet.
    pub(super) starting: bool,
}

impl Default for Registry {
    fn default() -> Self {
        Self { files: BTreeMap::new(), plugins: BTreeMap::new(), former: BTreeMap::new(), starting: true }
    }
}

impl Registry {
    /// What is compiled already: a file that was renamed, or whose grant alone changed, need not be compiled again.
    pub(super) fn compiled(&self, digest: &str) -> Option<Compiled> {
        let of_files = self.files.values().filter_map(|file| file.newest.offer());
        let running = self.plugins.values().filter_map(|plugin| plugin.running.as_ref()).map(|running| &running.offer);
        let good = self.plugins.values().filter_map(|plugin| plugin.last_good.as_ref());
        let found = running.chain(of_files).chain(good).find(|offer| offer.digest() == digest);
        found.map(|offer| offer.compiled.clone())
    }

    /// The entry of a file whose content has changed.
    pub(super) fn file_mut(&mut self, name: &str, found: Found) -> &mut File {
        let before = self.files.remove(name);
        let generation = before.as_ref().map_or(1, |file| file.generation + 1);
        let confirmed = before.and_then(|file| file.confirmed);
        let (next, began) = (None, Instant::now());
        let fresh = File { found, next, began, generation, newest: Newest::Compiling, task: None, confirmed };
        self.files.entry(name.to_owned()).or_insert(fresh)
    }

    pub(super) fn nothing_is_compiling(&self) -> bool {
        !self.files.values().any(|file| matches!(file.newest, Newest::Compiling) || file.next.is_some())
    }

    /// The plugin that runs from a file.
    pub(super) fn plugin_of(&self, file: &str) -> Option<(&String, &Plugin)> {
        self.plugins.iter().find(|(_, plugin)| plugin.file == file)
    }
}
