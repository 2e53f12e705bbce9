//! A person asks a plugin to reconcile its objects now.

use super::explain::not_cached;
use super::flight_recorder::names;
use super::{Controller, ReconcileKey, handler};
use crate::api::ObjectKey;
use crate::workqueue::Trigger;
use serde_json::Value;
use std::sync::Arc;

impl Controller {
    /// Enqueues all objects of the plugin, or one of them, and ends their backoff. Returns a line for people.
    ///
    /// All objects run as in a resync, after live changes. One object runs as for `oarlock.dev/reconcile-at`.
    ///
    /// * `object` - its kind as for kubectl, and its name. None: all objects.
    ///
    /// # Errors
    ///
    /// Why the plugin does not reconcile them here, for people.
    pub fn reconcile_now(&self, object: Option<(&str, &ObjectKey)>) -> Result<String, String> {
        let name = &self.name;
        let version = self.current().ok_or_else(|| format!("no version of plugin {name} runs yet"))?;
        self.leads_or_why()?;
        let waits = self.paused_by().map(|why| format!(", once its pause ends ({why})")).unwrap_or_default();
        let Some((kind, key)) = object else {
            let mut objects = 0;
            for key in version.keys() {
                objects += 1;
                self.queue.forget(&key);
                self.queue.add(key, Trigger::Resync);
            }
            return Ok(format!("plugin {name} reconciles {objects} objects now{waits}"));
        };
        let known = version.kinds().into_iter().find(|of| names(kind, of));
        let gvk = known.ok_or_else(|| format!("{kind} is no primary kind of plugin {name}"))?;
        let key = ReconcileKey { kind: Arc::new(gvk), key: key.clone() };
        if version.cached(&key).is_none() {
            return Err(format!("plugin {name} does not see {key}: {}", not_cached(&version, &key)));
        }
        let said = format!("plugin {name} reconciles {key} now{waits}");
        handler::ask(&self.queue, key);
        Ok(said)
    }

    /// Checks that this host reconciles for the plugin.
    ///
    /// # Errors
    ///
    /// Which host does, for people.
    pub fn leads_or_why(&self) -> Result<(), String> {
        if self.leads() {
            return Ok(());
        }
        let lease = self.lead.election.describe().unwrap_or_default();
        let holder = lease.get("holder").and_then(Value::as_str).unwrap_or("no host at the moment");
        Err(format!("this host is a standby: ask the host that reconciles for plugin {}, {holder}", self.name))
    }

    /// Why the plugin is paused, so that its keys wait. None: it is not.
    #[must_use]
    pub fn paused_by(&self) -> Option<&'static str> {
        self.shared.pauses.why(&self.name)
    }
}
