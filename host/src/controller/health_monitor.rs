//! Judgement of the current version by its reconciles and reviews, and the notices to the lifecycle about it.

use super::current_version::CurrentVersion;
use super::health::{Health, HealthVerdict};
use super::rollout::RolloutEvent;
use super::{ReconcileKey, Version};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// A message from a controller to the lifecycle.
#[derive(Debug)]
pub struct Notice {
    /// Plugin name.
    pub plugin: String,
    /// SHA-256 of the version in question.
    pub digest: String,
    /// The kind of event.
    pub what: Happened,
}

/// See [`Notice`].
#[derive(Debug, PartialEq, Eq)]
pub enum Happened {
    /// The first reconcile on this version ended.
    FirstReconcile {
        /// Whether it was a strike.
        struck: bool,
    },
    /// The version passed its probation.
    Proven,
    /// The version strikes on too many objects, for this reason.
    Failing(String),
    /// The plugin's keys wait for this long.
    Quarantined(Duration),
    /// A rollout went on.
    Rollout(RolloutEvent),
}

/// Counts what happens on the current version, and reports what follows from it.
#[derive(Debug)]
pub(super) struct HealthMonitor {
    plugin: String,
    version: Arc<CurrentVersion>,
    health: Health,
    notices: mpsc::UnboundedSender<Notice>,
}

impl HealthMonitor {
    /// * `notices` - receives events of the versions.
    pub(super) fn new(plugin: &str, version: Arc<CurrentVersion>, notices: mpsc::UnboundedSender<Notice>) -> Self {
        Self { plugin: plugin.to_owned(), version, health: Health::default(), notices }
    }

    /// Begins the probation of a version; see [`Health::begin`].
    pub(super) fn begin(&self, objects: usize, back: bool) {
        self.health.begin(objects, back);
    }

    /// Where to send events of the plugin's versions.
    pub(super) fn notices(&self) -> mpsc::UnboundedSender<Notice> {
        self.notices.clone()
    }

    /// The end of the quarantine.
    pub(super) fn quarantined_until(&self) -> Option<Instant> {
        self.health.quarantined_until()
    }

    /// The number of keys remembered because of strikes.
    pub(super) fn remembered(&self) -> usize {
        self.health.remembered()
    }

    /// The plugin left this object alone: its strikes do not count any more, and it proves nothing.
    pub(super) fn left_alone(&self, key: &ReconcileKey) {
        self.health.left_alone(key);
    }

    /// Counts a reconcile for the version it ran on.
    ///
    /// * `strike` - the error, if it is a strike.
    pub(super) fn reconciled(&self, version: &Arc<Version>, key: &ReconcileKey, took: Duration, strike: Option<&str>) {
        if !self.version.is(version) {
            if strike.is_none() {
                self.health.went_well_before(key);
            }
            return;
        }
        if !version.worked.swap(true, Ordering::Relaxed) {
            self.tell(version, Happened::FirstReconcile { struck: strike.is_some() });
        }
        self.judge(version, key, took, strike);
    }

    /// Counts a reconcile or a review for the version it ran on, if that is the current one.
    ///
    /// * `strike` - the error, if it is a strike.
    pub(super) fn judge(&self, version: &Arc<Version>, key: &ReconcileKey, took: Duration, strike: Option<&str>) {
        if !self.version.is(version) {
            return;
        }
        match self.health.reconciled(key, took, strike) {
            HealthVerdict::Fine => {}
            HealthVerdict::Proven => self.tell(version, Happened::Proven),
            HealthVerdict::Failing(why) => self.tell(version, Happened::Failing(why)),
            HealthVerdict::Quarantined(pause) => self.tell(version, Happened::Quarantined(pause)),
        }
    }

    fn tell(&self, version: &Version, what: Happened) {
        let digest = version.loaded.component.digest.clone();
        // The send fails while the host stops.
        let _ = self.notices.send(Notice { plugin: self.plugin.clone(), digest, what });
    }
}
