//! Which plugins other hosts lead, as their Leases say.

use super::PluginObjects;
use crate::api::{GroupVersionKind, ObjectKey};
use crate::lease;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// Age of a Lease that no host renews any more.
const ABANDONED_SECONDS: i64 = 60;

/// How long a leader is believed to lead.
const BELIEVED: Duration = Duration::from_secs(5);

/// When another host was last seen to lead a plugin that this host does not run.
#[derive(Debug, Default)]
pub(super) struct Leaders(BTreeMap<String, Instant>);

impl Leaders {
    /// Whether another host leads the plugin, as far as this host has just seen.
    pub(super) fn another_leads(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|seen| seen.elapsed() < BELIEVED)
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&String) -> bool) {
        self.0.retain(|name, _| keep(name));
    }
}

impl PluginObjects {
    /// Whether a host that does not run the plugin leaves its object to one that does. Otherwise the two would write their states in turn.
    pub(super) async fn leave_to_leader(&mut self, name: &str) -> bool {
        let another = self.is_led_elsewhere(name).await;
        if another {
            self.leaders.0.insert(name.to_owned(), Instant::now());
        }
        another
    }

    /// Whether another host runs the plugin. True as well if that is unknown.
    pub(super) async fn is_led_elsewhere(&self, name: &str) -> bool {
        let Some(namespace) = self.shared.leases.namespace() else { return false };
        let lease = GroupVersionKind::new("coordination.k8s.io", "v1", "Lease");
        let key = ObjectKey::new(namespace, lease::name_of(name));
        match self.shared.writer.host_objects().read(&lease, &key).await {
            Ok(None) => false,
            Ok(Some(lease)) => is_held_by_another(&lease, &self.host, jiff::Timestamp::now()),
            Err(_) => true,
        }
    }
}

fn is_held_by_another(lease: &Value, host: &str, now: jiff::Timestamp) -> bool {
    let text = |pointer: &str| lease.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let renewed = text("/spec/renewTime").parse::<jiff::Timestamp>();
    let age = renewed.map(|renewed| now.as_second() - renewed.as_second());
    let holder = text("/spec/holderIdentity");
    !holder.is_empty() && holder != host && age.is_ok_and(|age| age < ABANDONED_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_lease_of_another_host_counts_while_it_is_renewed() {
        let lease = |holder: &str| json!({"spec": {"holderIdentity": holder, "renewTime": "2026-01-01T00:00:00Z"}});
        let at = |second: i64| jiff::Timestamp::new(1_767_225_600 + second, 0).unwrap();
        assert!(is_held_by_another(&lease("b"), "a", at(10)));
        assert!(!is_held_by_another(&lease("b"), "a", at(60)), "abandoned");
        assert!(!is_held_by_another(&lease("a"), "a", at(10)), "it is this host");
        assert!(!is_held_by_another(&lease(""), "a", at(10)), "released");
        assert!(!is_held_by_another(&json!({}), "a", at(10)));
    }
}
