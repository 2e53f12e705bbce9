//! Which Plugin objects this host acts on as they are now: `status.observedGeneration` says no more than that.

use super::{Live, PluginObjects, status};
use crate::plugin::directory::{DeclaredSource, Fate};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

impl PluginObjects {
    /// The objects whose declarations the lifecycle has taken, or that have a fault. The state of their plugins counts when it is read after
    /// this.
    pub(super) fn observed(&self, live: &BTreeMap<String, Live>) -> BTreeSet<String> {
        live.keys().filter(|name| self.is_observed(name)).cloned().collect()
    }

    fn is_observed(&self, name: &str) -> bool {
        if self.asked.faults.contains_key(name) {
            return true;
        }
        match (self.asked.plugins.get(name), self.fates.get(name)) {
            (None, None) => self.lifecycle.has_taken(name, None),
            (Some(asked), Some((seen, fate))) if asked == seen => match fate {
                Fate::Taken => self.lifecycle.has_taken(name, Some(asked)),
                Fate::GoesOnByItself => self.lifecycle.has_taken(name, None),
                Fate::IsPulled => false,
                Fate::Fault(_) => true,
            },
            _ => false,
        }
    }

    /// Adds the references that have no result yet to the entries of plugins that run what was declared before.
    pub(super) fn add_pulls(&self, entries: &mut BTreeMap<String, Value>) {
        for (name, entry) in entries {
            if let Some((declared, Fate::IsPulled)) = self.fates.get(name)
                && self.asked.plugins.get(name) == Some(declared)
                && let DeclaredSource::Reference(reference) = &declared.source
                && let Some(entry) = entry.as_object_mut()
            {
                entry.insert(status::PULLS.to_owned(), json!(reference));
            }
        }
    }
}
