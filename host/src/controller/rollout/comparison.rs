//! What a version would do about a key, and how that differs from what another version would do.

use super::entry::object_of;
use crate::api::GroupVersionKind;
use crate::apply::{Change, ObjectRef};
use crate::controller::{ReconcileKey, Version, compare};
use crate::informer::Object;
use crate::lease::LeadershipGuard;
use crate::plugin::{CallError, Outcome, ReadObserver, Reads, Request, Run, Trigger, WithheldRequests};
use crate::secrets::KnownSecrets;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Most reconciles of one object in a plan that follows its own changes.
const RECONCILES: usize = 10;

/// Most differing fields of one write.
const FIELDS: usize = 16;

/// The writes of one reconcile that were not carried out.
#[derive(Debug, Default)]
pub(in crate::controller) struct Decision {
    changes: Vec<Change>,
    /// Method and URL of a request with effects, and the digest of its body.
    requests: Vec<(String, String)>,
    /// The plugin's status fields.
    status: Option<Value>,
    /// Why a call failed. None also after a request that was not sent, which makes calls fail.
    failure: Option<String>,
    /// Whether the failure is a strike.
    pub(super) strike: bool,
    /// Whether a request was not sent, so that nobody knows what the version would do after its response.
    pub(super) undecidable: bool,
    /// The time of the calls.
    pub(super) took: Duration,
    /// By write: what the plugin applied before, where the version would apply nothing now.
    applied: BTreeMap<String, Value>,
}

/// A write that one of two versions would make, and the other one not, or differently.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::controller) struct Difference {
    /// The write without the name of the object, and the differing field: `apply ConfigMap /data/color`.
    pub(super) field: String,
    /// The write: `apply ConfigMap team-a/settings`.
    pub(super) write: String,
    /// Identifies the object and the write.
    pub(super) id: u64,
    /// Whether the candidate would delete an object that the other version would not delete.
    pub(super) deletes: bool,
    /// Whether only the other version would make the write.
    pub(super) missing: bool,
}

/// How a version decides about an object.
pub(in crate::controller) struct Terms<'a> {
    pub(in crate::controller) guard: &'a LeadershipGuard,
    /// Decide again after the writes, which only the next decision sees, until nothing is left to do. Else: one reconcile.
    pub(in crate::controller) follows: bool,
    /// Learns of what is read.
    pub(in crate::controller) observer: Option<Arc<dyn ReadObserver>>,
}

/// Decides what a version would do about an object. Nothing is written, no request with effects is sent, and no value is kept.
pub(in crate::controller) async fn decide(
    version: &Version,
    key: &ReconcileKey,
    object: &Arc<Object>,
    terms: &Terms<'_>,
) -> Decision {
    let Some(reads) = version.reads.planned().filter(|_| terms.follows).map(Arc::new) else {
        return decide_once(version, key, object, &version.reads, terms).await;
    };
    let (mut all, mut object) = (Decision::default(), Arc::clone(object));
    for _ in 0..RECONCILES {
        let mut next = decide_once(version, key, &object, &reads, terms).await;
        let open = next.failure.is_none() && next.requests.is_empty() && !next.changes.is_empty();
        let seen = open && next.carry_out(version, key, &reads).await;
        all.add(next);
        if !seen {
            return all;
        }
        match reads.get_unchecked(&key.kind, &key.key).await {
            Ok(Some(now)) => object = now,
            _ => return all,
        }
    }
    all.failure = Some(format!("each of {RECONCILES} reconciles changes something again"));
    all
}

async fn decide_once(
    version: &Version,
    key: &ReconcileKey,
    object: &Arc<Object>,
    reads: &Arc<Reads>,
    terms: &Terms<'_>,
) -> Decision {
    let withheld: Arc<WithheldRequests> = Arc::default();
    let correlation_id = uuid::Uuid::new_v4().simple().to_string();
    let correlation_id = crate::shorten(&correlation_id, 12).to_owned();
    let request = Arc::new(Request {
        kind: GroupVersionKind::clone(&key.kind),
        key: key.key.clone(),
        uid: object.uid().to_owned(),
        object: Some(object.json().into()),
        last_seen: None,
        deleting: object.deleting(),
        trigger: Trigger::Event,
        attempt: 1,
        correlation_id: correlation_id.clone(),
        review: None,
        dry_run: false,
    });
    let run = Run {
        reads: Some(Arc::clone(reads)),
        observer: terms.observer.clone(),
        key: key.key.to_string(),
        correlation_id,
        dry_run: false,
        withheld: Some(Arc::clone(&withheld)),
        forgets: true,
        at_most: None,
        guard: terms.guard.clone(),
        tape: None,
        replay: None,
    };
    let began = Instant::now();
    let mut decision = Decision::default();
    match calls(version, &request, run).await {
        Ok((outcome, status)) => (decision.changes, decision.status) = (outcome.changes, status),
        Err(error) => {
            decision.strike = error.cause().is_some();
            decision.failure = Some(version.write_identity.secrets.hidden(error.to_string()));
        }
    }
    decision.took = began.elapsed();
    let requests = withheld.requests().into_iter();
    decision.requests =
        requests.map(|request| (format!("{} {}", request.method, request.url), request.body_sha256)).collect();
    if !decision.requests.is_empty() && !decision.strike {
        decision.failure = None;
        decision.undecidable = true;
    }
    decision
}

async fn calls(version: &Version, request: &Request, run: Run) -> Result<(Outcome, Option<Value>), CallError> {
    let mut instance = version.pool.take(run).await?;
    let desired = if request.deleting { None } else { instance.get_desired(request).await? };
    let observed = instance.get_actual(request).await?;
    let status = observed.status.map(Value::Object);
    let actual = observed.state;
    let outcome = if compare::same(desired.as_deref(), actual.as_deref()) {
        Outcome::default()
    } else {
        instance.patch(request, desired.as_ref(), actual.as_ref()).await?
    };
    // The instance is not given back: its plugin may remember changes that nobody made.
    Ok((outcome, status))
}

impl Decision {
    /// Makes the changes in the reads of a plan. Returns whether the next reconcile can see one of them.
    async fn carry_out(&mut self, version: &Version, key: &ReconcileKey, reads: &Reads) -> bool {
        let manager = version.write_identity.field_manager();
        let mut seen = false;
        for change in &self.changes {
            match reads.carry_out(change, &manager).await {
                Ok(now) => seen |= now,
                Err(why) => {
                    self.failure = Some(why);
                    return false;
                }
            }
        }
        if let Some(status) = &self.status {
            seen |= reads.show_status(&key.kind, &key.key, status).await;
        }
        seen
    }

    /// Adds what a later reconcile would do. A second apply replaces the first.
    fn add(&mut self, next: Self) {
        for change in next.changes {
            let summary = change.summary();
            let alike = |of: &Change| match (of, &change) {
                (Change::Apply { .. }, Change::Apply { .. }) | (Change::Delete { .. }, Change::Delete { .. }) => {
                    of.summary() == summary
                }
                _ => false,
            };
            self.changes.retain(|of| !alike(of));
            self.changes.push(change);
        }
        self.requests.extend(next.requests);
        self.status = next.status.or(self.status.take());
        (self.failure, self.strike, self.undecidable) = (next.failure, next.strike, next.undecidable);
        self.took += next.took;
    }

    /// The objects of the changes.
    pub(super) fn targets(&self) -> impl Iterator<Item = ObjectRef> {
        self.changes.iter().filter_map(object_of)
    }

    /// Whether a call failed.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Reads what the plugin applied before to the objects to which the candidate would apply something, and this version would not, because
    /// they are in sync with it. So a difference names fields, not only the write.
    pub(super) async fn learn_applied(&mut self, candidate: &Self, reads: &Reads) {
        for change in &candidate.changes {
            let Change::Apply { subresource, .. } = change else { continue };
            let Some(target) = object_of(change).filter(|_| subresource.is_empty() && self.like(change).is_none())
            else {
                continue;
            };
            // Without an answer the whole write differs.
            let Ok(Some(applied)) = reads.get_applied(&target.kind, &target.key).await else { continue };
            if let Ok(applied) = serde_json::from_str(&applied) {
                self.applied.insert(change.summary(), applied);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn failing(why: &str) -> Self {
        Self { failure: Some(why.to_owned()), ..Self::default() }
    }

    /// The number of writes, without the status.
    pub(super) fn writes(&self) -> usize {
        self.changes.len() + self.requests.len()
    }

    /// The change of the same object by the same verb, if it is among the changes.
    pub(in crate::controller) fn like(&self, change: &Change) -> Option<&Change> {
        let summary = change.summary();
        self.changes.iter().find(|of| of.summary() == summary)
    }

    /// The changes of a candidate's reconcile that this version would not make.
    pub(super) fn unlike(&self, key: &ReconcileKey, changes: &[Change], secrets: &KnownSecrets) -> Vec<Difference> {
        let made = Self { changes: changes.to_vec(), ..Self::default() };
        let mut found = differences(key, self, &made, secrets);
        found.retain(|one| !one.missing);
        found
    }

    /// Each write with its content.
    fn contents(&self, kind: &GroupVersionKind) -> BTreeMap<String, Value> {
        let mut all = BTreeMap::new();
        let mut add = |write: String, content: Value| {
            let mut name = write.clone();
            let mut number = 1;
            while all.contains_key(&name) {
                number += 1;
                name = format!("{write} ({number})");
            }
            all.insert(name, content);
        };
        for change in &self.changes {
            add(change.summary(), content(change));
        }
        for (request, digest) in &self.requests {
            add(request.clone(), json!({"body": digest}));
        }
        if let Some(status) = &self.status {
            add(format!("status {}", kind.kind), status.clone());
        }
        if let Some(failure) = &self.failure {
            add("failure".to_owned(), json!(failure));
        }
        all
    }
}

/// How the writes of `candidate` differ from those of `current`, by field.
///
/// * `secrets` - of the candidate: a name may have one in it.
pub(in crate::controller) fn differences(
    key: &ReconcileKey,
    current: &Decision,
    candidate: &Decision,
    secrets: &KnownSecrets,
) -> Vec<Difference> {
    let (ours, theirs) = (candidate.contents(&key.kind), current.contents(&key.kind));
    let mut found = Vec::new();
    let mut differ = |write: &str, field: &str, deletes: bool| {
        let missing = !ours.contains_key(write);
        let id = hash(&[&key.kind.kind, &key.key.namespace, &key.key.name, write]);
        let shown = without_name(write);
        let field = if field.is_empty() { shown } else { format!("{shown} {field}") };
        let (field, write) = (secrets.hidden(field), secrets.hidden(write.to_owned()));
        found.push(Difference { field, write, id, deletes, missing });
    };
    for (write, content) in &ours {
        let other = theirs.get(write).or_else(|| current.applied.get(write));
        let fields = other.map(|other| compare::differences(other, content, FIELDS)).unwrap_or_default();
        // The words of a failure may name anything.
        if write != "failure" {
            fields.iter().for_each(|field| differ(write, field, false));
        }
        if !theirs.contains_key(write) && fields.is_empty() {
            differ(write, "", write.starts_with("delete "));
        }
    }
    for write in theirs.keys().filter(|write| !ours.contains_key(*write)) {
        differ(write, "(not written)", false);
    }
    found
}

/// Whether two changes write the same.
pub(in crate::controller) fn is_same_change(a: &Change, b: &Change) -> bool {
    a.summary() == b.summary() && compare::same(Some(&content(a)), Some(&content(b)))
}

/// The content of a change, without its condition.
fn content(change: &Change) -> Value {
    match change {
        Change::Apply { object, .. } | Change::Create(object) => object.clone(),
        Change::Patch { patch, .. } => patch.clone(),
        Change::Delete { .. } => Value::Null,
    }
}

/// `apply ConfigMap team-a/settings` without the last word; requests keep their URL.
fn without_name(write: &str) -> String {
    match write.split_once(' ') {
        Some((verb @ ("apply" | "create" | "patch" | "delete"), rest)) => {
            format!("{verb} {}", rest.rsplit_once(' ').map_or(rest, |(kind, _)| kind))
        }
        _ => write.to_owned(),
    }
}

/// A number that every host computes from the same texts.
pub(in crate::controller) fn hash(texts: &[&str]) -> u64 {
    let mut hasher = Sha256::new();
    for text in texts {
        hasher.update(text.as_bytes());
        hasher.update([0]);
    }
    let digest = hasher.finalize();
    digest.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ObjectKey;
    use crate::apply::{ObjectRef, Precondition, Propagation};

    fn key() -> ReconcileKey {
        let kind = Arc::new(GroupVersionKind::new("", "v1", "ConfigMap"));
        ReconcileKey { kind, key: ObjectKey::new("n", "a") }
    }

    fn apply(name: &str, color: &str) -> Change {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "n"},
            "data": {"color": color}});
        Change::Apply { object, subresource: String::new(), force: false, precondition: Precondition::default() }
    }

    fn delete(name: &str) -> Change {
        let target = ObjectRef { kind: GroupVersionKind::new("", "v1", "ConfigMap"), key: ObjectKey::new("n", name) };
        Change::Delete { target, propagation: Propagation::Background, precondition: Precondition::default() }
    }

    fn decision(changes: Vec<Change>) -> Decision {
        Decision { changes, ..Decision::default() }
    }

    fn fields(current: &Decision, candidate: &Decision) -> Vec<String> {
        differences(&key(), current, candidate, &KnownSecrets::off()).into_iter().map(|one| one.field).collect()
    }

    #[test]
    fn a_version_does_not_differ_from_itself() {
        let of = || decision(vec![apply("x", "blue"), delete("y")]);
        assert!(fields(&of(), &of()).is_empty());
    }

    #[test]
    fn differences_name_the_write_and_the_field_and_no_value() {
        let (blue, red) = (decision(vec![apply("x", "blue")]), decision(vec![apply("x", "red")]));
        assert_eq!(fields(&blue, &red), ["apply ConfigMap /data/color"]);
        let all = format!("{:?}", differences(&key(), &blue, &red, &KnownSecrets::off()));
        assert!(!all.contains("blue") && !all.contains("\"red"), "{all}");
        assert_eq!(fields(&Decision::default(), &red), ["apply ConfigMap"]);
        assert_eq!(fields(&red, &Decision::default()), ["apply ConfigMap (not written)"]);
        let with_status = |status: Value| Decision { status: Some(status), ..Decision::default() };
        assert_eq!(fields(&with_status(json!({"a": 1})), &with_status(json!({"a": 2}))), ["status ConfigMap /a"]);
        let sends = |digest: &str| Decision {
            requests: vec![("POST http://neutron/v2.0/networks".to_owned(), digest.to_owned())],
            ..Decision::default()
        };
        assert_eq!(fields(&sends("1"), &sends("2")), ["POST http://neutron/v2.0/networks /body"]);
        assert_eq!(fields(&sends("1"), &sends("1")), [""; 0]);
    }

    #[test]
    fn a_secret_in_a_name_is_not_shown() {
        let secrets = KnownSecrets::default();
        secrets.learn_values([&"hunter2hunter2".to_owned()].into_iter());
        let candidate = decision(vec![apply("of-hunter2hunter2", "blue")]);
        let found = differences(&key(), &Decision::default(), &candidate, &secrets);
        assert!(found.len() == 1 && !format!("{found:?}").contains("hunter2"), "{found:?}");
    }

    #[test]
    fn only_a_deletion_that_the_other_version_would_not_make_counts_as_one() {
        let found = differences(
            &key(),
            &decision(vec![delete("x")]),
            &decision(vec![delete("x"), delete("y")]),
            &KnownSecrets::off(),
        );
        assert_eq!(
            found.iter().map(|one| (one.write.as_str(), one.deletes)).collect::<Vec<_>>(),
            [("delete ConfigMap n/y", true)]
        );
    }

    #[test]
    fn of_a_reconcile_only_the_changes_that_the_other_version_would_not_make_are_unlike() {
        let current = Decision { status: Some(json!({"a": 1})), ..decision(vec![apply("x", "blue"), delete("y")]) };
        let unlike = |changes: &[Change]| -> Vec<String> {
            current.unlike(&key(), changes, &KnownSecrets::off()).into_iter().map(|one| one.field).collect()
        };
        assert_eq!(unlike(&[apply("x", "blue")]), [""; 0]);
        assert_eq!(unlike(&[apply("x", "red"), apply("z", "red")]), ["apply ConfigMap /data/color", "apply ConfigMap"]);
        // As in the comparison before the reconcile, so that no write counts twice.
        let ids = |found: Vec<Difference>| found.into_iter().map(|one| one.id).collect::<Vec<_>>();
        let before = differences(&key(), &decision(vec![]), &decision(vec![apply("z", "red")]), &KnownSecrets::off());
        assert_eq!(ids(current.unlike(&key(), &[apply("z", "blue")], &KnownSecrets::off())), ids(before));
    }

    #[test]
    fn a_failure_of_both_is_no_difference_whatever_its_words() {
        assert!(fields(&Decision::failing("a"), &Decision::failing("b")).is_empty());
        assert_eq!(fields(&Decision::default(), &Decision::failing("b")), ["failure"]);
    }
}
