//! The status of a Plugin object, from the state of the plugin as `/plugins` shows it.

use super::entries::needs_plan;
use super::revisions::revisions;
use super::undo::is_undone;
use serde_json::{Map, Value, json};

/// Longest message of a condition and longest error, in bytes.
const TEXT_BYTES: usize = 1024;

/// Fields that change with every reconcile: they alone are written at a slow pace.
const COUNTS: [&str; 3] = ["objects", "outOfSync", "lastError"];

/// The fields of a rollout that the status has.
const ROLLOUT: [&str; 7] = ["phase", "percent", "version", "digest", "plan", "compared", "reason"];

/// The field of an entry with the fault of the object itself.
pub(super) const FAULT: &str = "objectFault";

/// The field of an entry with the reference of its object, while it is pulled and the version of before runs.
pub(super) const PULLS: &str = "objectPulls";

/// The field of an entry, and of the status, with the kinds whose objects may have the finalizer of the plugin.
pub(super) const FINALIZERS: &str = "finalizerKinds";

/// The field of an entry, and of the status, with the value of the annotation `reconcile-at` that a host obeyed last.
pub(super) const RECONCILED: &str = "lastHandledReconcileAt";

/// What the status says about one aspect.
#[derive(Clone)]
struct Condition {
    kind: &'static str,
    status: bool,
    reason: String,
    message: String,
}

/// The wanted status.
///
/// * `entry` - of `/plugins`.
/// * `host` - the name of this host.
/// * `live` - the status in the cluster: it has the earlier revisions, and the times of the conditions.
/// * `generation` - of the object when it said what the entry is about.
/// * `now` - RFC 3339.
pub(super) fn wanted(entry: &Value, host: &str, live: &Value, generation: Option<i64>, now: &str) -> Value {
    let text = |pointer: &str| entry.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let runs =
        !text("/digest").unwrap_or_default().is_empty() && !CANDIDATE.contains(&text("/state").unwrap_or_default());
    let mut status = Map::new();
    let mut set = |field: &str, value: Value| {
        if !value.is_null() {
            status.insert(field.to_owned(), value);
        }
    };
    set("observedGeneration", json!(generation));
    set("state", json!(text("/state")));
    if runs {
        set("version", json!(text("/version")));
        set("digest", json!(text("/digest")));
    }
    let candidate = if runs { entry.get("next") } else { Some(entry) };
    if let Some(candidate) = candidate.filter(|candidate| candidate.get("digest").is_some()) {
        let field = |name: &str| candidate.get(name).and_then(Value::as_str).map(short);
        let fields =
            ["version", "digest", "config", "state", "reason"].map(|name| (name.to_owned(), json!(field(name))));
        set("candidate", fields.into_iter().filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>().into());
    }
    if let Some(rollout) =
        entry.get("rollout").filter(|rollout| rollout.get("phase").is_some_and(|phase| phase != "standby"))
    {
        let fields = ROLLOUT.iter().filter_map(|field| Some(((*field).to_owned(), rollout.get(*field)?.clone())));
        set("rollout", fields.collect::<Map<_, _>>().into());
    }
    set("host", json!(text("/lease/holder").unwrap_or(host)));
    let objects = entry.get("objects").and_then(Value::as_object);
    set("objects", json!(objects.map(|kinds| kinds.values().filter_map(Value::as_u64).sum::<u64>())));
    set("outOfSync", json!(entry.pointer("/outOfSync/objects").and_then(Value::as_u64)));
    set("lastError", json!(text("/lastError").map(short)));
    set(RECONCILED, json!(text(&format!("/{RECONCILED}"))));
    set(FINALIZERS, entry.get(FINALIZERS).cloned().unwrap_or_default());
    set("revisions", revisions(runs.then_some(entry), live, now));
    let conditions: Vec<Value> =
        conditions(entry).into_iter().map(|condition| dated(&condition, live, generation, now)).collect();
    set("conditions", conditions.into());
    Value::Object(status)
}

/// Whether a status differs from another in more than counts.
pub(super) fn differs(wanted: &Value, live: &Value) -> bool {
    let without = |status: &Value| {
        let mut status = status.clone();
        if let Some(fields) = status.as_object_mut() {
            COUNTS.iter().for_each(|field| drop(fields.remove(*field)));
            if let Some(rollout) = fields.get_mut("rollout").and_then(Value::as_object_mut) {
                rollout.remove("compared");
            }
        }
        status
    };
    without(wanted) != without(live)
}

/// States of a version that does not run.
const CANDIDATE: [&str; 6] =
    ["compiling", "syncing", "rolling-out", "awaiting-grant", "awaiting-confirmation", "failed"];

/// The last two are there only while they are true: kstatus, with which GitOps tools judge health, knows no others but Ready.
fn conditions(entry: &Value) -> Vec<Condition> {
    let text = |pointer: &str| entry.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (state, next) = (text("/state"), text("/next/state"));
    // The object does what somebody asked for.
    let next = if is_undone(entry) { "" } else { next };
    let sentence = |state: &str, version: &str, reason: &str| sentence(state, needs_plan(entry), version, reason);
    // The newest version says more than the one that runs.
    let newest = |states: &[&str]| match () {
        () if states.contains(&next) => Some((next, text("/next/version"), text("/next/reason"))),
        () if states.contains(&state) => Some((state, text("/version"), text("/reason"))),
        () => None,
    };
    let of = |kind: &'static str, found: Option<(&str, &str, &str)>, otherwise: (&str, &str)| {
        let (reason, message) = match found {
            Some((state, version, reason)) => (camel(state), sentence(state, version, reason)),
            None => (otherwise.0.to_owned(), otherwise.1.to_owned()),
        };
        Condition { kind, status: found.is_some(), reason, message }
    };
    let version = text("/version");
    let ready = Condition {
        kind: "Ready",
        status: state == "active",
        reason: camel(state),
        message: sentence(state, version, text("/reason")),
    };
    let mut degraded =
        of("Degraded", newest(&["failed", "quarantined", "retired"]), ("AsExpected", "nothing has failed"));
    if !text("/objectFault").is_empty() {
        let (reason, message) = ("InvalidObject".to_owned(), short(text("/objectFault")));
        degraded = Condition { status: true, reason, message, ..degraded };
    } else if degraded.reason == "Retired" {
        degraded.reason = "FinalizersLeft".to_owned();
    }
    let newest_fails = newest(&["failed"]).is_some() || degraded.reason == "InvalidObject";
    let stalled = newest_fails.then(|| Condition { kind: "Stalled", ..degraded.clone() });
    // Not while it is rolled out or waits for a person: that may take days.
    let mut reconciling = of("Reconciling", newest(&["compiling", "syncing"]), ("", ""));
    let mut progressing = of(
        "Progressing",
        newest(&["compiling", "syncing", "rolling-out", "draining"]),
        ("Complete", "no version is on its way"),
    );
    let pulls = text(&format!("/{PULLS}"));
    for condition in [&mut reconciling, &mut progressing].into_iter().filter(|one| !pulls.is_empty() && !one.status) {
        let (reason, message) = ("Pulling".to_owned(), short(&format!("{pulls} is being pulled")));
        *condition = Condition { kind: condition.kind, status: true, reason, message };
    }
    let standard = [
        ready,
        progressing,
        degraded,
        of(
            "AwaitingApproval",
            newest(&["awaiting-confirmation", "awaiting-grant"]),
            ("NothingWaits", "no version waits for a person"),
        ),
    ];
    standard.into_iter().chain(stalled).chain(Some(reconciling).filter(|condition| condition.status)).collect()
}

/// `awaiting-grant` as `AwaitingGrant`.
fn camel(state: &str) -> String {
    let parts = state.split('-').map(|part| {
        let mut letters = part.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    });
    let camel: String = parts.collect();
    if camel.is_empty() { "Unknown".to_owned() } else { camel }
}

/// * `by_plan` - the digest alone does not name the version that waits.
fn sentence(state: &str, by_plan: bool, version: &str, reason: &str) -> String {
    let what = match state {
        "active" => "reconciles",
        "paused" => "is paused",
        "compiling" => "is being compiled",
        "syncing" => "waits for its watches",
        "rolling-out" => "is rolled out beside the version that runs",
        "awaiting-grant" => "asks for more than its grant allows",
        "awaiting-confirmation" if by_plan => "waits for spec.approve with its digest, and spec.approvePlan",
        "awaiting-confirmation" => "waits for spec.approve with its digest",
        "quarantined" => "mostly fails, so its keys wait",
        "draining" => "is removed, and finishes the reconciles that run",
        "retired" => "was removed, and objects still have its finalizer",
        "failed" => "cannot run",
        state => state,
    };
    let version = if version.is_empty() { String::new() } else { format!(" {version}") };
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    short(&format!("version{version} {what}{reason}"))
}

/// The condition as in the API: its time changes with its status only.
fn dated(condition: &Condition, live: &Value, generation: Option<i64>, now: &str) -> Value {
    let status = if condition.status { "True" } else { "False" };
    let live = live.get("conditions").and_then(Value::as_array).into_iter().flatten();
    let same = live.filter(|one| one["type"] == condition.kind && one["status"] == status);
    let since = same.filter_map(|one| one["lastTransitionTime"].as_str()).next().unwrap_or(now);
    let mut dated = json!({"type": condition.kind, "status": status, "lastTransitionTime": since,
        "reason": condition.reason, "message": condition.message});
    if let (Some(fields), Some(generation)) = (dated.as_object_mut(), generation) {
        fields.insert("observedGeneration".to_owned(), generation.into());
    }
    dated
}

fn short(text: &str) -> String {
    crate::shorten(&crate::one_line(text), TEXT_BYTES).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition<'a>(status: &'a Value, kind: &str) -> &'a Value {
        status["conditions"].as_array().unwrap().iter().find(|one| one["type"] == kind).unwrap()
    }

    #[test]
    fn a_running_plugin_with_a_version_that_waits() {
        let entry = json!({"name": "p", "state": "active", "version": "1", "digest": "sha256:a",
            "objects": {"ConfigMap": 3, "Secret": 2}, "outOfSync": {"objects": 1}, "lastError": null,
            "next": {"state": "awaiting-confirmation", "version": "2", "digest": "sha256:b", "reason": "it drops cleanup"}});
        let first = wanted(&entry, "host-a", &Value::Null, Some(4), "2026-01-01T00:00:00Z");
        assert_eq!((&first["objects"], &first["outOfSync"], &first["host"]), (&json!(5), &json!(1), &json!("host-a")));
        assert_eq!(first["candidate"]["digest"], "sha256:b");
        assert_eq!(condition(&first, "Ready")["status"], "True");
        assert_eq!(condition(&first, "AwaitingApproval")["reason"], "AwaitingConfirmation");
        assert_eq!(
            first["revisions"],
            json!([{"revision": 1, "version": "1", "digest": "sha256:a", "since": "2026-01-01T00:00:00Z"}])
        );
        let mut later = entry.clone();
        later["outOfSync"]["objects"] = json!(0);
        let second = wanted(&later, "host-a", &first, Some(4), "2026-01-01T00:00:09Z");
        assert!(!differs(&second, &first) && second != first, "times and revisions stay");
        later["digest"] = json!("sha256:b");
        let third = wanted(&later, "host-a", &second, Some(4), "2026-01-01T00:00:10Z");
        assert_eq!(third["revisions"][0]["revision"], 2);
        assert_eq!(third["revisions"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn a_version_that_never_ran_is_a_candidate_and_no_revision() {
        let entry = json!({"file": "p.wasm", "name": "p", "state": "awaiting-grant", "version": "1", "digest": "sha256:a",
            "reason": "get pods"});
        let status = wanted(&entry, "h", &Value::Null, None, "now");
        assert_eq!((&status["version"], &status["candidate"]["version"]), (&Value::Null, &json!("1")));
        assert_eq!(status["revisions"], json!([]));
        assert_eq!(condition(&status, "Ready")["reason"], "AwaitingGrant");
        assert_eq!(
            condition(&status, "AwaitingApproval")["message"],
            "version 1 asks for more than its grant allows: get pods"
        );
        assert_eq!(condition(&status, "Degraded")["status"], "False");
    }

    #[test]
    fn a_new_version_that_fails_is_stalled_although_the_old_one_is_ready() {
        let status = |next: &str, fault: &str| {
            let entry = json!({"state": "active", "version": "1", "digest": "sha256:a", "objectFault": fault,
                "next": {"state": next, "version": "2", "digest": "sha256:b", "reason": "no manifest"}});
            wanted(&entry, "h", &Value::Null, Some(2), "now")
        };
        let kinds = |status: &Value| -> Vec<_> {
            let all = status["conditions"].as_array().unwrap().iter();
            all.filter(|one| one["status"] == "True").map(|one| one["type"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(kinds(&status("", "")), ["Ready"]);
        assert_eq!(kinds(&status("failed", "")), ["Ready", "Degraded", "Stalled"]);
        assert_eq!(kinds(&status("", "no such file")), ["Ready", "Degraded", "Stalled"]);
        assert_eq!(kinds(&status("compiling", "")), ["Ready", "Progressing", "Reconciling"]);
        assert_eq!(kinds(&status("rolling-out", "")), ["Ready", "Progressing"]);
        let undone = |why: &str| {
            let next = json!({"state": "failed", "version": "2", "digest": "sha256:b", "reason": format!("rolled back: {why}")});
            let entry = json!({"state": "active", "version": "1", "digest": "sha256:a", "next": next});
            wanted(&entry, "h", &Value::Null, Some(2), "now")
        };
        let by_object = undone("a person went back with spec.undo of its Plugin object");
        assert_eq!(kinds(&by_object), ["Ready"], "it is as somebody wants it");
        assert_eq!(by_object["candidate"]["state"], "failed");
        assert_eq!(kinds(&undone("a person went back")), ["Ready", "Degraded", "Stalled"], "on one host only");
        assert_eq!(condition(&status("failed", ""), "Stalled")["message"], "version 2 cannot run: no manifest");
        let entry = json!({"state": "active", "version": "1", "digest": "sha256:a", PULLS: "oci://r.example/p:2"});
        let pulls = wanted(&entry, "h", &Value::Null, Some(2), "now");
        assert_eq!(kinds(&pulls), ["Ready", "Progressing", "Reconciling"]);
        assert_eq!(condition(&pulls, "Reconciling")["message"], "oci://r.example/p:2 is being pulled");
    }

    #[test]
    fn at_most_ten_revisions_are_kept() {
        let mut live = Value::Null;
        for number in 0..13 {
            let entry = json!({"state": "active", "version": "v", "digest": format!("sha256:{number}")});
            live = wanted(&entry, "h", &live, None, "now");
        }
        let revisions: Vec<_> =
            live["revisions"].as_array().unwrap().iter().map(|one| one["revision"].as_i64().unwrap()).collect();
        assert_eq!(revisions, (4..=13).rev().collect::<Vec<_>>());
    }
}
