//! The current version of a plugin, and how a reconcile or review holds it.

use super::{ReconcileKey, Version};
use crate::grants::Admission;
use arc_swap::ArcSwapOption;
use std::sync::Arc;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// The pointer to the version on which reconciles and reviews begin. None: there is none (yet).
#[derive(Debug, Default)]
pub(super) struct CurrentVersion(ArcSwapOption<Version>);

impl CurrentVersion {
    pub(super) fn get(&self) -> Option<Arc<Version>> {
        self.0.load_full()
    }

    /// Moves the pointer, and returns the previous version.
    pub(super) fn replace(&self, version: Option<Arc<Version>>) -> Option<Arc<Version>> {
        self.0.swap(version)
    }

    /// Whether `version` is the current one.
    pub(super) fn is(&self, version: &Arc<Version>) -> bool {
        self.0.load().as_ref().is_some_and(|current| Arc::ptr_eq(current, version))
    }

    /// Whether there is a version, and its watches are in sync.
    pub(super) fn synced(&self) -> bool {
        self.0.load().as_ref().is_some_and(|version| version.synced())
    }

    /// Whether there is a version, and its watches cover this key.
    pub(super) fn reaches(&self, key: &ReconcileKey) -> bool {
        self.0.load().as_ref().is_some_and(|version| version.reaches(key))
    }

    /// The current version, held for one reconcile or review.
    pub(super) fn pin(&self) -> Option<PinnedVersion> {
        loop {
            let version = self.get()?;
            let in_flight = version.track();
            // The version was replaced in between and may have drained already.
            if self.is(&version) {
                return Some(PinnedVersion { version, _in_flight: in_flight });
            }
        }
    }
}

/// A version with a reconcile or review in flight: the version does not drain before this value is dropped.
#[derive(Debug)]
pub struct PinnedVersion {
    version: Arc<Version>,
    _in_flight: TaskTrackerToken,
}

impl PinnedVersion {
    pub(super) fn held(&self) -> &Arc<Version> {
        &self.version
    }

    /// The version's admission rules.
    #[must_use]
    pub fn rules(&self) -> &[Admission] {
        &self.version.admission
    }

    /// Whether the version's watches are in sync.
    #[must_use]
    pub fn synced(&self) -> bool {
        self.version.synced()
    }

    /// The version string of the manifest.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version.loaded.manifest.version
    }

    /// The SHA-256 of the version's file, in hexadecimal.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.version.loaded.component.digest
    }
}
