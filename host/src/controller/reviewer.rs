//! Admission reviews on a plugin: its three calls for an object that is not stored yet, within a deadline.

use super::health_monitor::HealthMonitor;
use super::{PinnedVersion, ReconcileKey, Version, compare, traced};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::PatchKind;
use crate::apply::events::{Event, Recorder, Regarding};
use crate::apply::reviewed::{self, Refused};
use crate::lease::LeadershipGuard;
use crate::metrics::{Call, PluginMetrics};
use crate::plugin::{CallError, Instance, Outcome, Request, Run, Trigger};
use futures::FutureExt as _;
use oarlock_merge::schema::Schema;
use oarlock_merge::steps::{Budget, Stopped};
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Most differences in the message of a validating rule.
const NAMED: usize = 10;

/// Most steps of the patches of a review on the thread that serves it, some hundred microseconds: another thread costs as much. Larger ones
/// run on the plugin's own.
const STEPS_HERE: u64 = 1 << 14;

/// Poll interval while the caches of a version are not in sync.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// An object under review.
#[derive(Clone, Debug)]
pub struct Review {
    /// The kind of the object in the review.
    pub kind: GroupVersionKind,
    /// The namespace of the request; the name may be empty when the API server will generate it.
    pub key: ObjectKey,
    /// Empty at creation.
    pub uid: String,
    /// The object; for a deletion, the stored object.
    pub object: Value,
    /// The AdmissionRequest without its objects, as JSON.
    pub request: Arc<str>,
    /// Whether the request is a dry run, which must have no effects.
    pub dry_run: bool,
    /// Empty for the object itself.
    pub subresource: String,
    /// Deny a difference instead of changing the object.
    pub validate: bool,
    /// When the review arrived.
    pub arrived: Instant,
    /// When the response is due.
    pub deadline: Instant,
    /// Connects the log lines of the review.
    pub correlation_id: String,
    /// Whether the client is an authenticated API server. Any other client can invent a review on which the plugin fails. Such a failure
    /// must not count against its version, nor leave a trace in the cluster.
    pub authenticated: bool,
}

impl Review {
    /// Whether a plugin that begins at this moment gets less time than its grant allows, because most of the API server's timeout is
    /// over.
    fn starves(&self, at: Instant, granted: Duration) -> bool {
        let (left, whole) = (self.deadline.saturating_duration_since(at), self.deadline - self.arrived);
        left < granted && left < whole / 2
    }
}

/// A plugin's decision about an object under review.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Allowed without changes.
    Allowed,
    /// Allowed with changes.
    Changed(Value),
    /// Denied.
    Denied {
        /// HTTP status of the response.
        code: u16,
        /// UpperCamelCase; may be empty.
        reason: String,
        /// Message for the user.
        message: String,
    },
}

/// A verdict with its warnings.
#[derive(Clone, Debug, PartialEq)]
pub struct Admitted {
    /// The decision.
    pub verdict: Verdict,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// Reviews objects on the versions of one plugin.
#[derive(Debug)]
pub struct Reviewer {
    plugin: String,
    recorder: Recorder,
    metrics: PluginMetrics,
    health: Arc<HealthMonitor>,
}

impl Reviewer {
    pub(super) fn new(plugin: &str, recorder: Recorder, metrics: PluginMetrics, health: Arc<HealthMonitor>) -> Self {
        Self { plugin: plugin.to_owned(), recorder, metrics, health }
    }

    /// Reviews an object on a version.
    ///
    /// # Errors
    ///
    /// Why the plugin gave no verdict, in a sentence with the plugin's name; the rule's failure policy decides.
    pub async fn admit(&self, pinned: &PinnedVersion, review: &Review) -> Result<Admitted, String> {
        let version = pinned.held();
        traced::name_version(&self.plugin, version);
        let began = Instant::now();
        let fault = |why: &str| format!("plugin {} (version {}): {why}", self.plugin, version.loaded.manifest.version);
        let asked = AssertUnwindSafe(self.ask(version, review)).catch_unwind();
        let answered = tokio::select! {
            answered = tokio::time::timeout_at(review.deadline, asked) => answered,
            () = version.cancel.cancelled() => return Err(fault("cancelled, because the version was replaced")),
        };
        let granted = Duration::from_secs(version.write_identity.grants.limits().deadline_seconds.into());
        let starved = review.starves(began, granted);
        let late = |what: &str| {
            let waited = began.saturating_duration_since(review.arrived).as_millis();
            let busy = if starved {
                format!("; the host is busy: the review had waited for {waited} ms")
            } else {
                String::new()
            };
            fault(&format!("too slow: {what} within {} ms{busy}", began.elapsed().as_millis()))
        };
        let answered = match answered {
            Ok(Ok(answered)) => answered,
            Ok(Err(_panic)) => {
                tracing::error!(plugin = self.plugin, key = %review.key, "the host panicked in a review; please report this");
                return Err(fault("the host panicked; please report this"));
            }
            // The review still waits for an instance or for caches, so the plugin has not begun.
            Err(_elapsed) => return Err(late("no answer")),
        };
        // A missed deadline is the plugin's fault only when it had its full time.
        let cause = match &answered {
            Err(CallError::Deadline { .. }) if starved => None,
            Err(error) => error.cause().map(|cause| (cause, error.to_string())),
            Ok(_) => None,
        };
        if let Some((cause, _)) = &cause {
            self.metrics.trapped(*cause);
        }
        let key = ReconcileKey { kind: Arc::new(review.kind.clone()), key: review.key.clone() };
        if review.authenticated {
            self.health.judge(version, &key, began.elapsed(), cause.as_ref().map(|(_, error)| error.as_str()));
        }
        match answered {
            Ok(admitted) => Ok(admitted),
            Err(CallError::Denied { code, reason, message }) => {
                Ok(Admitted { verdict: Verdict::Denied { code, reason, message }, warnings: Vec::new() })
            }
            Err(CallError::Terminal(message)) => {
                let verdict = Verdict::Denied { code: 400, reason: "BadRequest".to_owned(), message };
                Ok(Admitted { verdict, warnings: Vec::new() })
            }
            Err(CallError::Deadline { call, .. }) => Err(late(&format!("{call} gave no answer"))),
            Err(error) => Err(fault(&error.to_string())),
        }
    }

    async fn ask(&self, version: &Version, review: &Review) -> Result<Admitted, CallError> {
        while !version.synced() {
            tokio::time::sleep(ASK_AGAIN).await;
        }
        let request = Request {
            kind: review.kind.clone(),
            key: review.key.clone(),
            uid: review.uid.clone(),
            object: Some(without_managed_fields(&review.object).to_string().into()),
            last_seen: None,
            deleting: false,
            trigger: Trigger::Event,
            attempt: 1,
            correlation_id: review.correlation_id.clone(),
            review: Some(Arc::clone(&review.request)),
            dry_run: review.dry_run,
        };
        let run = Run {
            reads: Some(Arc::clone(&version.reads)),
            observer: None,
            key: review.key.to_string(),
            correlation_id: review.correlation_id.clone(),
            dry_run: review.dry_run,
            withheld: None,
            forgets: false,
            at_most: Some(review.deadline.saturating_duration_since(Instant::now())),
            // Every host answers admission reviews, also standbys.
            guard: LeadershipGuard::for_ever(),
            tape: None,
            replay: None,
        };
        let mut instance = version.pool.take(run).await?;
        let answered = self.converse(&mut instance, request, version, review).await;
        version.pool.give_back(instance);
        answered.map_err(|error| error.hidden(&version.loaded.guest.secrets))
    }

    /// Calls get-desired and get-actual; where the states differ and the object may change, calls patch and get-actual again.
    async fn converse(
        &self,
        instance: &mut Instance,
        mut request: Request,
        version: &Version,
        review: &Review,
    ) -> Result<Admitted, CallError> {
        let timed = |call, began: Instant| self.metrics.called(call, began.elapsed());
        let began = Instant::now();
        let desired = instance.get_desired(&request).await;
        timed(Call::GetDesired, began);
        let desired = desired?;
        let began = Instant::now();
        let actual = instance.get_actual(&request).await;
        timed(Call::GetActual, began);
        let actual = actual?.state;
        if compare::same(desired.as_deref(), actual.as_deref()) {
            return Ok(Admitted { verdict: Verdict::Allowed, warnings: Vec::new() });
        }
        if review.validate {
            let message = differs(desired.as_deref(), actual.as_deref());
            let message = version.loaded.guest.secrets.hidden(message);
            let verdict = Verdict::Denied { code: 403, reason: "Forbidden".to_owned(), message };
            return Ok(Admitted { verdict, warnings: Vec::new() });
        }
        let began = Instant::now();
        let outcome = instance.patch(&request, desired.as_ref(), actual.as_ref()).await;
        timed(Call::Patch, began);
        let Outcome { changes, patches, events, warnings, .. } = outcome?;
        if let Some(change) = changes.first() {
            let summary = change.summary();
            let reason = format!("the change to {summary}: at admission only the object under review can be patched");
            return Err(CallError::BadAnswer { call: "patch", reason });
        }
        let verdict = if patches.is_empty() {
            Verdict::Allowed
        } else {
            let kind = &review.kind;
            let schema = match Schema::builtin(&kind.group, &kind.version, &kind.kind) {
                Some(schema) => Some(schema),
                None if patches.iter().any(|patch| patch.kind == PatchKind::Strategic) => {
                    let read = version.reads.merge_schema(kind).await;
                    Some(read.map_err(|e| CallError::Transient { delay: None, message: e.to_string() })?)
                }
                None => None,
            };
            let bad = |reason| CallError::BadAnswer { call: "patch", reason };
            let subresource = &review.subresource;
            let here =
                reviewed::patched(&review.object, &patches, schema.as_ref(), subresource, &Budget::of(STEPS_HERE));
            let patched = if let Err(Refused::Stopped(_)) = here {
                let (object, subresource) = (review.object.clone(), subresource.clone());
                let work = move |budget: &Budget<'_>| {
                    reviewed::patched(&object, &patches, schema.as_ref(), &subresource, budget)
                };
                instance.run_blocking("patch", work).await?
            } else {
                here
            };
            let after = match patched {
                Ok(after) => after,
                Err(Refused::Stopped(Stopped::Late)) => return Err(instance.late("patch")),
                Err(refused) => return Err(bad(refused.to_string())),
            };
            request.object = Some(without_managed_fields(&after).to_string().into());
            let again = instance.get_actual(&request).await?.state;
            if !compare::same(desired.as_deref(), again.as_deref()) {
                let place = compare::place(desired.as_deref(), again.as_deref());
                return Err(bad(format!("a patch that does not lead to what it desires: {place} differs after it")));
            }
            Verdict::Changed(after)
        };
        self.record(version, review, events);
        Ok(Admitted { verdict, warnings })
    }

    /// Records events about stored objects only, none in a dry run, and none from a review that may not come from an API server.
    fn record(&self, version: &Version, review: &Review, events: Vec<Event>) {
        for event in events {
            if !review.authenticated {
                tracing::debug!(plugin = self.plugin, key = %review.key, reason = event.reason, message = event.message, "at admission, unauthenticated");
                continue;
            }
            if review.dry_run || review.uid.is_empty() || review.key.name.is_empty() {
                tracing::info!(plugin = self.plugin, key = %review.key, reason = event.reason, message = event.message, "at admission");
                continue;
            }
            let about = Regarding::named(review.kind.clone(), review.key.clone(), &review.uid);
            self.recorder.record(&version.write_identity, &about, event);
        }
    }
}

fn without_managed_fields(object: &Value) -> std::borrow::Cow<'_, Value> {
    if object.pointer("/metadata/managedFields").is_none() {
        return std::borrow::Cow::Borrowed(object);
    }
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    std::borrow::Cow::Owned(object)
}

/// Why a validating rule denies.
fn differs(desired: Option<&Value>, actual: Option<&Value>) -> String {
    match (desired, actual) {
        (Some(desired), Some(actual)) => {
            let paths = compare::differences(desired, actual, NAMED + 1);
            let named: Vec<&str> = paths
                .iter()
                .take(NAMED)
                .map(|path| if path.is_empty() { "the whole object" } else { path.as_str() })
                .collect();
            let more = if paths.len() > NAMED { " and more" } else { "" };
            format!("it is not as it should be: {}{more}", named.join(", "))
        }
        (None, _) => "it should not exist".to_owned(),
        (Some(_), None) => "what should exist does not".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_that_gets_the_rest_of_the_time_is_not_to_blame_for_being_too_slow() {
        let arrived = Instant::now();
        let seconds = Duration::from_secs;
        let review = Review {
            kind: GroupVersionKind::new("", "v1", "Pod"),
            key: ObjectKey::new("n", "p"),
            uid: String::new(),
            object: Value::Null,
            request: Arc::from("{}"),
            dry_run: false,
            subresource: String::new(),
            validate: false,
            arrived,
            deadline: arrived + seconds(10),
            correlation_id: String::new(),
            authenticated: true,
        };
        for (waited, granted, expected) in
            [(0, 30, false), (4, 30, false), (6, 30, true), (6, 3, false), (8, 3, true), (11, 1, true)]
        {
            assert_eq!(
                review.starves(arrived + seconds(waited), seconds(granted)),
                expected,
                "{waited} of 10, {granted}"
            );
        }
    }
}
