//! The current version of a plugin, and how a reconcile or review holds it.

use super::rollout::Rollout;
use super::version::EventModeCell;
use super::{ReconcileKey, Version};
use crate::grants::Admission;
use crate::informer::Object;
use arc_swap::ArcSwapOption;
use std::sync::Arc;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// The pointer to the version on which reconciles and reviews begin. None: there is none (yet).
///
/// During a rollout, some keys belong to the candidate instead.
#[derive(Debug, Default)]
pub(super) struct CurrentVersion {
    current: ArcSwapOption<Version>,
    rollout: ArcSwapOption<Rollout>,
}

impl CurrentVersion {
    pub(super) fn get(&self) -> Option<Arc<Version>> {
        self.current.load_full()
    }

    /// Moves the pointer, and returns the previous version.
    pub(super) fn replace(&self, version: Option<Arc<Version>>) -> Option<Arc<Version>> {
        self.current.swap(version)
    }

    /// Whether `version` is the current one.
    pub(super) fn is(&self, version: &Arc<Version>) -> bool {
        self.current.load().as_ref().is_some_and(|current| Arc::ptr_eq(current, version))
    }

    /// Whether there is a version, and its watches are in sync.
    pub(super) fn synced(&self) -> bool {
        self.current.load().as_ref().is_some_and(|version| version.synced())
    }

    /// Whether there is a version, and its watches cover this key, or the candidate's cover it.
    pub(super) fn reaches(&self, key: &ReconcileKey) -> bool {
        self.current.load().as_ref().is_some_and(|version| version.reaches(key))
            || self.rollout.load().as_ref().is_some_and(|rollout| rollout.version.reaches(key))
    }

    /// The rollout. None: there is none.
    pub(super) fn rollout(&self) -> Option<Arc<Rollout>> {
        self.rollout.load_full()
    }

    /// Begins or ends a rollout, and returns the previous one.
    pub(super) fn set_rollout(&self, rollout: Option<Arc<Rollout>>) -> Option<Arc<Rollout>> {
        self.rollout.swap(rollout)
    }

    /// Whether the events of a version concern a key: it is the version's.
    ///
    /// * `event_mode` - of the version.
    /// * `object` - the newest state that is known. None: the cached one.
    /// * `old` - its state before, if it was changed.
    pub(super) fn is_of(
        &self,
        event_mode: &Arc<EventModeCell>,
        key: &ReconcileKey,
        object: Option<&Object>,
        old: Option<&Object>,
    ) -> bool {
        let rollout = self.rollout.load();
        let Some(rollout) = rollout.as_ref() else { return true };
        let of_candidate = rollout.has(key, object);
        if Arc::ptr_eq(&rollout.version.event_mode, event_mode) {
            // An object that leaves the share may have run on the candidate, whose cache was behind, after the other version had its event.
            return of_candidate || old.is_some_and(|old| rollout.has(key, Some(old)));
        }
        // The candidate may not select the object at all, or not see it yet.
        !of_candidate || rollout.version.cached(key).is_none()
    }

    /// Whether the deletion of an object concerns a version. It always concerns the version that runs, which undoes the candidate's writes. The
    /// two caches may have it one after the other, and a key runs on the candidate while its cache has the object.
    pub(super) fn is_of_deleted(&self, event_mode: &Arc<EventModeCell>, key: &ReconcileKey, last: &Object) -> bool {
        let rollout = self.rollout.load();
        let of_candidate = |rollout: &Arc<Rollout>| Arc::ptr_eq(&rollout.version.event_mode, event_mode);
        rollout.as_ref().is_none_or(|rollout| !of_candidate(rollout) || rollout.has(key, Some(last)))
    }

    /// The current version, held for one reconcile or review.
    pub(super) fn pin(&self) -> Option<PinnedVersion> {
        loop {
            let version = self.get()?;
            let in_flight = version.track();
            // The version was replaced in between and may have drained already.
            if self.is(&version) {
                return Some(PinnedVersion { version, rollout: None, _in_flight: in_flight });
            }
        }
    }

    /// The version of a key, held for one reconcile.
    pub(super) fn pin_for(&self, key: &ReconcileKey) -> Option<PinnedVersion> {
        if let Some(rollout) = self.rollout()
            && rollout.version.synced()
            && rollout.has(key, None)
        {
            let version = Arc::clone(&rollout.version);
            let in_flight = version.track();
            // A version that was promoted or drained in between is not the candidate any more.
            if self.rollout.load().as_ref().is_some_and(|now| Arc::ptr_eq(now, &rollout)) {
                return Some(PinnedVersion { version, rollout: Some(rollout), _in_flight: in_flight });
            }
        }
        self.pin()
    }
}

/// A version with a reconcile or review in flight: the version does not drain before this value is dropped.
#[derive(Debug)]
pub struct PinnedVersion {
    version: Arc<Version>,
    /// The rollout, if the version is its candidate.
    rollout: Option<Arc<Rollout>>,
    _in_flight: TaskTrackerToken,
}

impl PinnedVersion {
    pub(super) fn held(&self) -> &Arc<Version> {
        &self.version
    }

    /// The rollout of which the version is the candidate.
    pub(super) fn rollout(&self) -> Option<&Arc<Rollout>> {
        self.rollout.as_ref()
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
