//! Kubernetes Events in the API: created once, then counted; rate limited for each object.

use super::{Event, Regarding};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::request::Outgoing;
use crate::apply::{Identity, RequestSender, WriteError, WriteIdentity};
use crate::buckets::Buckets;
use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Longest reason and message, in bytes; the API refuses longer ones.
const REASON_LIMIT_BYTES: usize = 128;
const MESSAGE_LIMIT_BYTES: usize = 1024;

/// Events of one object: this many at once, then one per refill. client-go's spam filter has 25 and 300 s.
const BURST: f64 = 25.0;
const REFILL: Duration = Duration::from_secs(60);

/// Most events whose count is remembered.
const TRACKED: usize = 10_000;

/// Repetitions of an event within this time are only counted; the next one after it writes the sum.
const QUIET: Duration = Duration::from_secs(10);

struct EventCount {
    /// The written count.
    count: u32,
    /// Repetitions since then.
    unwritten: u32,
    written: Instant,
}

/// The name in the API. It is the same for the same event of the same object, so that a restarted host continues the count instead of
/// repeating the event. An object that is gone has no uid, and others of its name may be gone too.
fn event_name(plugin: &str, about: &Regarding, texts: [&str; 3]) -> String {
    let [severity, reason, message] = texts;
    let of = format!("{}\0{}\0{severity}\0{reason}\0{message}\0{plugin}", about.kind.kind, about.uid);
    let digest = HEXLOWER.encode(&Sha256::digest(of));
    format!("{}.{}", crate::shorten(&about.key.name, 200), crate::shorten(&digest, 16))
}

/// Writes events, one after the other.
pub(super) struct EventWriter {
    requests: Arc<RequestSender>,
    /// The rates of the objects.
    rates: Buckets<String>,
    /// How often each event happened in this process, by its name in the API.
    counts: HashMap<String, EventCount>,
}

impl EventWriter {
    pub(super) fn new(requests: Arc<RequestSender>) -> Self {
        Self { requests, rates: Buckets::new(BURST, REFILL), counts: HashMap::new() }
    }

    /// The number of remembered rates and counts.
    pub(super) fn remembered(&mut self) -> usize {
        self.rates.remembered() + self.counts.len()
    }

    /// Writes an event, unless its object has too many.
    pub(super) async fn write_within_rate(&mut self, write_identity: &WriteIdentity, about: &Regarding, event: &Event) {
        let plugin = &write_identity.plugin;
        if self.rates.take(format!("{plugin} {} {} {} {}", about.kind.kind, about.key, about.uid, about.part)) {
            self.write(write_identity, about, event).await;
        } else {
            tracing::debug!(plugin = write_identity.plugin, key = %about.key, reason = event.reason, "event dropped: too many");
        }
    }

    async fn write(&mut self, write_identity: &WriteIdentity, about: &Regarding, event: &Event) {
        let reason = crate::shorten(&event.reason, REASON_LIMIT_BYTES);
        let message = crate::shorten(&event.message, MESSAGE_LIMIT_BYTES);
        let severity = if event.warning { "Warning" } else { "Normal" };
        let name = event_name(&write_identity.plugin, about, [severity, reason, message]);
        let key = ObjectKey::new(about.key.namespace().unwrap_or("default"), name);
        let now = oarlock_simulation::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let body = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"name": key.name, "namespace": key.namespace},
            "involvedObject": {
                "apiVersion": about.kind.api_version(), "kind": about.kind.kind, "name": about.key.name,
                "namespace": about.key.namespace, "uid": about.uid, "resourceVersion": about.resource_version,
            },
            "type": severity, "reason": reason, "message": message,
            "source": {"component": write_identity.field_manager()},
            "reportingComponent": write_identity.field_manager(),
            "reportingInstance": "oarlock",
            "firstTimestamp": now, "lastTimestamp": now, "count": 1,
        });
        if self.counts.len() > TRACKED {
            self.counts.clear();
        }
        let known = match self.counts.get_mut(&*key.name) {
            None => None,
            Some(counted) => {
                counted.unwritten = counted.unwritten.saturating_add(1);
                if counted.written.elapsed() < QUIET {
                    return;
                }
                Some(counted.count.saturating_add(counted.unwritten))
            }
        };
        let result = match known {
            None => self.create(write_identity, &key, &body).await,
            Some(count) => self.count(write_identity, &key, count, &now).await,
        };
        let result = match result {
            // The event was written before this process began (or has expired since): continue the count, or begin anew.
            Err(WriteError::Conflict(_)) => self.continue_count(write_identity, &key, &now).await,
            Err(WriteError::NotFound(_)) if known.is_some() => self.create(write_identity, &key, &body).await,
            other => other,
        };
        match result {
            Ok(count) => {
                self.counts.insert(key.name.to_string(), EventCount { count, unwritten: 0, written: Instant::now() });
            }
            // The namespace or the object's namespace is going: nobody is left to read it.
            Err(WriteError::NotFound(_) | WriteError::Forbidden(_)) => {}
            Err(e) => {
                tracing::warn!(plugin = write_identity.plugin, key = %about.key, error = %e, "event not written")
            }
        }
    }

    async fn create(&self, write_identity: &WriteIdentity, key: &ObjectKey, body: &Value) -> Result<u32, WriteError> {
        let resource = self.requests.resolve(&event_kind()).await?;
        let outgoing = Outgoing::create(&resource, &key.namespace)
            .body("application/json", body)
            .identity(Identity::Host)
            .query("fieldManager", &write_identity.host_manager());
        self.requests.send(write_identity, outgoing).await.map(|_| 1)
    }

    async fn count(
        &self,
        write_identity: &WriteIdentity,
        key: &ObjectKey,
        count: u32,
        now: &str,
    ) -> Result<u32, WriteError> {
        let resource = self.requests.resolve(&event_kind()).await?;
        let outgoing = Outgoing::new("PATCH", &resource, key, "")
            .body("application/merge-patch+json", &json!({"count": count, "lastTimestamp": now}))
            .identity(Identity::Host)
            .query("fieldManager", &write_identity.host_manager());
        self.requests.send(write_identity, outgoing).await.map(|_| count)
    }

    async fn continue_count(
        &self,
        write_identity: &WriteIdentity,
        key: &ObjectKey,
        now: &str,
    ) -> Result<u32, WriteError> {
        let resource = self.requests.resolve(&event_kind()).await?;
        let answer = self
            .requests
            .send(write_identity, Outgoing::new("GET", &resource, key, "").identity(Identity::Host))
            .await?;
        let stored: Value = serde_json::from_str(&answer).unwrap_or_default();
        let count = stored.get("count").and_then(Value::as_u64).unwrap_or(1);
        let count = u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1);
        self.count(write_identity, key, count, now).await
    }
}

fn event_kind() -> GroupVersionKind {
    GroupVersionKind::new("", "v1", "Event")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn events_of_one_object_are_limited_and_of_another_are_not() {
        let mut rates = Buckets::new(BURST, REFILL);
        let taken = (0..100).filter(|_| rates.take("a")).count();
        assert_eq!(taken, 25);
        assert!(rates.take("b"));
        tokio::time::advance(REFILL).await;
        assert!(rates.take("a"));
        assert!(!rates.take("a"));
    }

    #[test]
    fn objects_of_two_kinds_that_have_one_name_and_are_gone_have_events_of_their_own() {
        let about = |kind| {
            let gvk = GroupVersionKind::new("admissionregistration.k8s.io", "v1", kind);
            Regarding::named(gvk, ObjectKey::new("", "oarlock"), "")
        };
        let name = |kind| event_name("oarlock", &about(kind), ["Warning", "Contested", "a client that deletes it"]);
        assert_eq!(name("MutatingWebhookConfiguration"), name("MutatingWebhookConfiguration"));
        assert_ne!(name("MutatingWebhookConfiguration"), name("ValidatingWebhookConfiguration"));
    }
}
