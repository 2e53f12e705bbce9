//! What another version would write, compared with the version that runs; without a rollout.

use super::Rollout;
use crate::controller::{Controller, ReconcileKey, Version};
use crate::grants::RolloutSteps;
use crate::informer::Object;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::time::Instant;

/// A version that is compared with the one that runs. Its watches end with it.
#[derive(Debug)]
pub struct Preview {
    controller: Arc<Controller>,
    rollout: Rollout,
}

impl Preview {
    /// * `version` - from [`Controller::prepare`].
    #[must_use]
    pub fn new(controller: &Arc<Controller>, version: Arc<Version>) -> Self {
        let notices = controller.health.notices();
        let steps = RolloutSteps { plan: None, shadow: None, canary: None };
        let rollout = Rollout { follows: true, ..Rollout::new(&controller.name, version, steps, notices) };
        Self { controller: Arc::clone(controller), rollout }
    }

    /// Waits for the watches, compares what both versions would do about each object, and returns what differs, without values.
    ///
    /// * `selects` - which objects.
    ///
    /// # Errors
    ///
    /// The watches are not in sync in time, or another host leads the plugin.
    pub async fn compare(
        &self,
        selects: impl Fn(&ReconcileKey, &Object) -> bool + Send,
        until: Instant,
    ) -> Result<Value, String> {
        let (controller, rollout) = (&self.controller, &self.rollout);
        let name = &controller.name;
        let Some(guard) = controller.lead.guard() else {
            let holder = controller.lead.election.describe().unwrap_or_default();
            let holder = holder.get("holder").and_then(Value::as_str).unwrap_or("nobody at the moment");
            return Err(format!("this host does not reconcile plugin {name}: ask the host that does, {holder}"));
        };
        if tokio::time::timeout_at(until, rollout.version.wait_until_synced()).await.is_err() {
            let waiting = rollout.version.waiting_for().join("; ");
            return Err(format!("the watches of the version are not in sync in time: {waiting}"));
        }
        let selected = |key: &ReconcileKey| rollout.version.cached(key).is_some_and(|object| selects(key, &object));
        let keys: BTreeSet<ReconcileKey> = rollout.version.keys().filter(selected).collect();
        let of = keys.len();
        let left = controller.version.get().map_or(0, |current| rollout.left(&current, selects));
        let (mut paused, mut done) = (0, 0);
        for key in keys {
            tokio::select! {
                compared = controller.compare_next(rollout, &key, &guard, false) => {
                    // An object that has gone meanwhile is none.
                    paused += usize::from(compared.is_none() && rollout.version.cached(&key).is_some());
                }
                () = tokio::time::sleep_until(until) => break,
                () = guard.over() => return Err(format!("another host reconciles plugin {name} now")),
            }
            done += 1;
        }
        let tally = rollout.tally();
        Ok(json!({
            "compared": tally.summary(), "differences": tally.fields(), "examples": tally.examples(),
            "lastFailure": tally.last_failure(), "undecidable": tally.undecidable(), "paused": paused,
            "notCompared": of - done, "left": left,
        }))
    }
}

impl Drop for Preview {
    fn drop(&mut self) {
        self.controller.retire(Arc::clone(&self.rollout.version), super::DRAIN);
    }
}
