//! Registry of plugin files and plugins, with their states.

use super::candidate::{CandidateVersion, Compiled};
use super::definitions::Installation;
use super::rollout::RollingOut;
use super::saved_versions::LeftBehind;
use crate::api::GroupVersionKind;
use crate::controller::{Controller, Converter, Version};
use crate::plugin::cache::Cache;
use crate::plugin::directory::Found;
use crate::secrets::KnownSecrets;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// State of a plugin or of one of its versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The host reads and compiles the file and calls describe.
    Compiling,
    /// The manifest asks for more than the grant allows, or there is no grant.
    AwaitingGrant,
    /// The version drops a feature that objects depend on; a person has to confirm it.
    AwaitingConfirmation,
    /// The watches are not in sync yet.
    Syncing,
    /// The version is rolled out beside the one that runs.
    RollingOut,
    /// The plugin reconciles.
    Active,
    /// A person paused the plugin, so its keys wait.
    Paused,
    /// Most reconciles were strikes, so the plugin's keys wait.
    Quarantined,
    /// The file is gone; reconciles in flight finish.
    Draining,
    /// The plugin ended, but objects still have its finalizer.
    Retired,
    /// The version cannot run.
    Failed,
}

impl State {
    /// The name in `/plugins` and in the metric.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Compiling => "compiling",
            Self::AwaitingGrant => "awaiting-grant",
            Self::AwaitingConfirmation => "awaiting-confirmation",
            Self::Syncing => "syncing",
            Self::RollingOut => "rolling-out",
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Quarantined => "quarantined",
            Self::Draining => "draining",
            Self::Retired => "retired",
            Self::Failed => "failed",
        }
    }
}

/// A task that is aborted when its handle is dropped.
#[derive(Debug)]
pub(super) struct Task(pub(super) AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Why a version that could run does not run.
#[derive(Clone, Debug)]
pub(super) enum BlockedReason {
    /// There is no grant.
    NoGrant,
    /// The grant lacks these lines.
    Missing(Vec<String>),
    /// The version drops features that objects depend on.
    Confirmation { drops: String, objects: usize },
    /// Another file or plugin has the claimed name or status: a sentence.
    Taken(String),
    /// The removed plugin of this name is still draining.
    Draining,
    /// The version ran and was rolled back, for this reason.
    RolledBack(String),
}

/// The newest content of a file.
#[derive(Debug)]
pub(super) enum FileState {
    /// The host reads and compiles the file and calls describe.
    Compiling,
    /// The file contains no plugin that can run.
    Failed { name: Option<String>, reason: String },
    /// The version waits.
    Blocked { candidate: CandidateVersion, why: BlockedReason },
    /// The definitions are not installed, or the watches not in sync yet.
    Syncing { candidate: CandidateVersion, version: Arc<Version>, installation: Installation },
    /// The version is rolled out beside the one that runs.
    RollingOut(CandidateVersion),
    /// The version runs.
    Runs(CandidateVersion),
}

impl FileState {
    pub(super) fn candidate(&self) -> Option<&CandidateVersion> {
        match self {
            Self::Compiling | Self::Failed { .. } => None,
            Self::Blocked { candidate, .. }
            | Self::Syncing { candidate, .. }
            | Self::RollingOut(candidate)
            | Self::Runs(candidate) => Some(candidate),
        }
    }
}

/// One `.wasm` file.
#[derive(Debug)]
pub(super) struct PluginFile {
    pub(super) found: Found,
    /// Newer content, to be loaded after the current load.
    pub(super) next: Option<Found>,
    /// When the load of `found` began.
    pub(super) began: Instant,
    /// For how long the load goes on although the file was replaced meanwhile. Otherwise a file that is replaced faster than it compiles would
    /// never be swapped.
    patience: Duration,
    /// Counts the changes of the file; results of earlier generations are discarded.
    pub(super) generation: u64,
    pub(super) file_state: FileState,
    /// Loads the file, or waits for its watches.
    pub(super) task: Option<Task>,
    /// The candidate that a person confirmed.
    pub(super) confirmed: Option<CandidateVersion>,
    /// The good version of before the start of this host, if the file had another one at the start.
    pub(super) earlier: Option<Earlier>,
    /// The version in the file, if the good version of before runs instead, and why.
    pub(super) refused: Option<(CandidateVersion, String)>,
    /// The version in the file, if the good version of before runs first and this one is rolled out then.
    pub(super) later: Option<CandidateVersion>,
}

/// The good version that an earlier host saved.
#[derive(Clone, Debug)]
pub(super) struct Earlier {
    pub(super) candidate: CandidateVersion,
    /// Why the version in the file was rolled back. None: it was not.
    pub(super) rejected: Option<String>,
}

impl PluginFile {
    /// The newest content that the host saw.
    pub(super) fn latest(&self) -> &Found {
        self.next.as_ref().unwrap_or(&self.found)
    }

    /// Whether the file is loading, or filling its watches, and newer content waits for that.
    pub(super) fn is_under_way(&self) -> bool {
        self.is_loading() && self.began.elapsed() < self.patience
    }

    fn is_loading(&self) -> bool {
        matches!(self.file_state, FileState::Compiling | FileState::Syncing { .. })
    }
}

/// A plugin that runs or is about to.
#[derive(Debug)]
pub(super) struct Plugin {
    /// The plugin's file.
    pub(super) file: String,
    pub(super) controller: Arc<Controller>,
    pub(super) cache: Arc<Cache>,
    /// The secrets that its versions knew.
    pub(super) secrets: Arc<KnownSecrets>,
    /// The running version. None: the first version is not in sync yet.
    pub(super) running: Option<Running>,
    /// The version beside the one that runs.
    pub(super) rolling_out: Option<RollingOut>,
    /// The version for a rollback.
    pub(super) last_good: Option<CandidateVersion>,
    /// The version that was rolled back last, and why; the host does not try it again.
    pub(super) rejected: Option<(CandidateVersion, String)>,
    /// Kinds whose objects may have the plugin's finalizer although no version cleans them up any more.
    pub(super) left_behind: BTreeSet<GroupVersionKind>,
    /// Permissions that the grant has but the API server denies.
    pub(super) access: super::access::Access,
    /// Set when the file is gone: until then the host waits for files that appeared at the same time.
    pub(super) orphaned: Option<Instant>,
}

/// The running version of a plugin.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) candidate: CandidateVersion,
    pub(super) proven: bool,
    /// Whether it was the candidate of a rollout: after a restart it runs, also before it has proven itself.
    pub(super) promoted: bool,
    /// The version failed its probation.
    pub(super) failed: bool,
    /// When the version became current.
    pub(super) switched: Instant,
}

/// A plugin that ended.
#[derive(Debug)]
pub(super) struct RemovedPlugin {
    pub(super) state: State,
    pub(super) version: String,
    pub(super) digest: String,
    pub(super) file: String,
    /// The number of objects, by kind, with the plugin's finalizer.
    pub(super) held: BTreeMap<GroupVersionKind, usize>,
    /// The number of those that are being deleted.
    pub(super) deleting: BTreeMap<GroupVersionKind, usize>,
    /// When it was removed.
    pub(super) since: Instant,
    /// The kinds that it cleaned up, while it drains.
    pub(super) cleaned: BTreeSet<GroupVersionKind>,
    /// It was removed before this host started, and nobody was told of its finalizers since.
    pub(super) untold: bool,
}

/// Removed plugins that are remembered because objects carry their finalizers.
const MOST_REMOVED: usize = 256;

/// For how long a load goes on although its file was replaced: the first one, and one after many that were aborted.
const PATIENCE: Duration = Duration::from_secs(2);
const LONGEST_PATIENCE: Duration = Duration::from_secs(600);

/// All of it.
#[derive(Debug)]
pub(super) struct Registry {
    pub(super) files: BTreeMap<String, PluginFile>,
    pub(super) plugins: BTreeMap<String, Plugin>,
    /// Plugins that are draining, or retired with finalizers left.
    pub(super) removed_plugins: BTreeMap<String, RemovedPlugin>,
    /// The plugins that ran when the host before this one ended, until the plugins at the start are known.
    pub(super) ran_before: BTreeMap<String, LeftBehind>,
    /// The files from the start are not all loaded yet.
    pub(super) starting: bool,
    /// The definitions that this host converts for, with the number of their objects.
    pub(super) converted: BTreeMap<String, usize>,
    /// The conversions of plugins that ended although definitions depend on them, until a person confirms their end.
    pub(super) ended_converters: BTreeMap<String, Arc<Converter>>,
}

impl Default for Registry {
    fn default() -> Self {
        Self {
            files: BTreeMap::new(),
            plugins: BTreeMap::new(),
            removed_plugins: BTreeMap::new(),
            ran_before: BTreeMap::new(),
            starting: true,
            converted: BTreeMap::new(),
            ended_converters: BTreeMap::new(),
        }
    }
}

impl Registry {
    /// Remembers a plugin that was removed. Of too many, the one that was removed first is forgotten.
    pub(super) fn removed(&mut self, name: &str, removed: RemovedPlugin) {
        let retired = self.removed_plugins.iter().filter(|(_, removed)| removed.state == State::Retired);
        if self.removed_plugins.len() >= MOST_REMOVED
            && let Some(oldest) = retired.min_by_key(|(_, removed)| removed.since).map(|(name, _)| name.clone())
        {
            self.removed_plugins.remove(&oldest);
            tracing::warn!(
                plugin = oldest,
                "removed plugin forgotten, because more plugins were removed since; objects may carry its finalizer"
            );
        }
        self.removed_plugins.insert(name.to_owned(), removed);
    }

    /// What is compiled already: a file that was renamed, or whose grant alone changed, need not be compiled again.
    pub(super) fn compiled(&self, digest: &str) -> Option<Compiled> {
        let of_files = self.files.values().filter_map(|file| file.file_state.candidate());
        let running =
            self.plugins.values().filter_map(|plugin| plugin.running.as_ref()).map(|running| &running.candidate);
        let good = self.plugins.values().filter_map(|plugin| plugin.last_good.as_ref());
        let found = running.chain(of_files).chain(good).find(|candidate| candidate.digest() == digest);
        found.map(|candidate| candidate.compiled.clone())
    }

    /// The entry of a file with new content.
    pub(super) fn file_mut(&mut self, name: &str, found: Found) -> &mut PluginFile {
        let before = self.files.remove(name);
        let generation = before.as_ref().map_or(1, |file| file.generation + 1);
        // A load that was aborted gives the next one twice the time.
        let aborted = before.as_ref().filter(|file| file.is_loading());
        let patience = aborted.map_or(PATIENCE, |file| (file.patience * 2).min(LONGEST_PATIENCE));
        let confirmed = before.and_then(|file| file.confirmed);
        let (next, began, file_state) = (None, Instant::now(), FileState::Compiling);
        let (task, earlier, refused, later) = (None, None, None, None);
        let fresh = PluginFile {
            found,
            next,
            began,
            patience,
            generation,
            file_state,
            task,
            confirmed,
            earlier,
            refused,
            later,
        };
        self.files.entry(name.to_owned()).or_insert(fresh)
    }

    /// Notes another source of the content that is there already.
    pub(super) fn set_latest(&mut self, name: &str, found: Found) {
        if let Some(file) = self.files.get_mut(name) {
            *file.next.as_mut().unwrap_or(&mut file.found) = found;
        }
    }

    pub(super) fn set_file_state(&mut self, name: &str, file_state: FileState) {
        if let Some(file) = self.files.get_mut(name) {
            file.file_state = file_state;
        }
    }

    pub(super) fn nothing_is_compiling(&self) -> bool {
        !self.files.values().any(|file| matches!(file.file_state, FileState::Compiling) || file.next.is_some())
    }

    /// The plugin that runs from a file.
    pub(super) fn plugin_of(&self, file: &str) -> Option<(&String, &Plugin)> {
        self.plugins.iter().find(|(_, plugin)| plugin.file == file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::directory::{Candidate, Stamp};

    #[tokio::test(start_paused = true)]
    async fn h6_a_load_that_is_aborted_gives_the_next_one_twice_the_time() {
        let candidate = Candidate::file("a.wasm".to_owned(), "a.wasm".into());
        let found = Found { candidate, wasm: Stamp::fixed(), grant: None };
        let mut registry = Registry::default();
        for seconds in [2, 4, 8, 16] {
            let file = registry.file_mut("a.wasm", found.clone());
            tokio::time::advance(Duration::from_secs(seconds) - Duration::from_millis(1)).await;
            assert!(file.is_under_way());
            tokio::time::advance(Duration::from_millis(1)).await;
            assert!(!file.is_under_way());
        }
        registry.file_mut("a.wasm", found.clone()).file_state = FileState::Failed { name: None, reason: String::new() };
        assert_eq!(registry.file_mut("a.wasm", found).patience, PATIENCE);
    }

    #[tokio::test(start_paused = true)]
    async fn of_too_many_removed_plugins_the_first_is_forgotten_and_none_that_drains() {
        let mut registry = Registry::default();
        for number in 0..MOST_REMOVED + 2 {
            let state = if number == 0 { State::Draining } else { State::Retired };
            let empty = String::new;
            let removed = RemovedPlugin {
                state,
                version: empty(),
                digest: empty(),
                file: empty(),
                held: BTreeMap::new(),
                deleting: BTreeMap::new(),
                since: Instant::now(),
                cleaned: BTreeSet::new(),
                untold: false,
            };
            registry.removed(&format!("p{number}"), removed);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(registry.removed_plugins.len(), MOST_REMOVED);
        let is_there = |number: usize| registry.removed_plugins.contains_key(&format!("p{number}"));
        assert!(is_there(0) && !is_there(1) && !is_there(2) && is_there(3));
    }
}
