//! The modes.

use crate::reading::everything;
use crate::reconcile::Reconcile;
use crate::{manifest, misbehave};
use oarlock_guest::raw::{
    ApplyChange, Change, DeleteChange, Denial, Error, Event, GroupVersionKind, Guest, ObjectKey, ObjectRef,
    Observation, Outcome, PatchChange, PatchType, Precondition, Propagation, Request, Retry, Severity, cache, cluster,
    config, http, log, log_panics, merge,
};
use serde_json::{Value, json};

struct Misfit;

oarlock_guest::export_raw!(Misfit);

const HUGE: usize = 100_000_000;

impl Guest for Misfit {
    fn describe() -> String {
        let text = manifest::text();
        match text.strip_prefix('!') {
            Some("loop") => misbehave::spin(),
            Some("trap") => misbehave::trap(),
            Some("panic") => misbehave::panic(),
            Some("grow") => misbehave::grow(),
            Some("huge") => misbehave::string(HUGE),
            Some("read") => config::get("mode").unwrap_or_default(),
            _ => text,
        }
    }

    fn get_desired(request: Request) -> Result<Option<String>, Error> {
        let misfit = Reconcile::of(&request)?;
        match misfit.mode.as_str() {
            "loop" => misbehave::spin(),
            "grow" => misbehave::grow(),
            "deep-recursion" => return Ok(Some(misbehave::recurse(0).to_string())),
            "deep-stack" => return Ok(Some(misbehave::pile_up(0).to_string())),
            "trap" => misbehave::trap(),
            "panic" => {
                log_panics();
                misbehave::panic()
            }
            "invalid-json" => return Ok(Some("{\"state\": ".to_owned())),
            "huge" => return Ok(Some(misbehave::string(HUGE))),
            "large" => return Ok(Some(misbehave::string(misfit.count(5_000_000)))),
            "deep-json" => {
                let depth = misfit.count(100_000);
                return Ok(Some("[".repeat(depth) + &"]".repeat(depth)));
            }
            "log-flood" => (0..misfit.count(1_000_000)).for_each(|line| say(&format!("line {line}"))),
            "log-huge" => say(&"x".repeat(misfit.count(12_000_000))),
            "log-long" => say(&"long ".repeat(1024 * 1024 / 5)),
            "cache-flood" => {
                let value = vec![b'x'; 64 * 1024];
                (0..misfit.count(1000)).for_each(|entry| cache::set(&format!("flood {entry}"), &value, 0));
            }
            "cache-huge" => {
                let key = "x".repeat(misfit.count(2_000_000));
                cache::set(&key, b"value", 0);
                if cache::get(&key).is_some() {
                    return Err(Error::Terminal("the cache has kept it".to_owned()));
                }
            }
            "selector-huge" => {
                let requirements: Vec<_> = (0..misfit.count(100)).map(|number| format!("!label-{number}")).collect();
                return misfit.list(&requirements.join(",")).map(|found| Some(json!(found.len()).to_string()));
            }
            "asks" => drop(send("GET", &url(), &[], b"")),
            "list-all" | "indexed" | "program" | "gadget" => return misfit.reading().map(Some),
            "writes" => return Ok(Some(misfit.writes().to_string())),
            "merge-huge" => return merge_huge(misfit.count(1_000_000)),
            "merge-custom" => {
                let merged = merge_custom(misfit.value.as_str().unwrap_or_default())?;
                return Ok(Some(misfit.object("ConfigMap", "child", &json!({"seen": merged})).to_string()));
            }
            "url-huge" => {
                return refused(send("GET", &format!("{}/{}", url(), "x".repeat(misfit.count(1_000_000))), &[], b""));
            }
            "method-huge" => return refused(send(&"X".repeat(misfit.count(1_000_000)), &url(), &[], b"")),
            "headers-huge" => {
                let header = |number| http::Header { name: format!("x-{number}"), value: "x".repeat(1000) };
                let headers: Vec<_> = (0..misfit.count(1000)).map(header).collect();
                return refused(send("GET", &url(), &headers, b""));
            }
            "body-huge" => return refused(send("POST", &url(), &[], &vec![b'x'; misfit.count(2_000_000)])),
            "ungranted-kind" => return cluster::get_object(&core("Secret"), &misfit.key("secret")),
            "ungranted-live" => return cluster::get_live(&core("Secret"), &misfit.key("secret")),
            "ungranted-list" => {
                let found = cluster::list_objects(&core("Secret"), &everything(String::new(), ""));
                return found.map(|found| Some(json!(found).to_string()));
            }
            "ungranted-origin" => return refused(send("GET", "http://ungranted.invalid/", &[], b"")),
            "flood" => {
                (0..1000).for_each(|line| say(&format!("line {line} of the flood")));
                (0..1000).for_each(|_| drop(send("GET", &url(), &[], b"")));
            }
            "reordered" => return Ok(Some(misfit.reordered())),
            "verbatim" => return Ok(Some(backwards(&misfit.child()))),
            "nothing" | "deletes" => return Ok(None),
            "blind" => return Ok(Some(json!({"seen": misfit.value}).to_string())),
            "staged" => return Ok(Some(json!(2 + misfit.count(1)).to_string())),
            "meddles" => return Ok(Some(json!({"seen": misfit.value, "labels": 2}).to_string())),
            "slow" => misbehave::compute(misfit.count(100_000_000)),
            "remembers" => {
                let first = misfit.once("first", &misfit.value);
                return Ok(Some(
                    misfit.object("ConfigMap", "child", &json!({"seen": misfit.value, "first": first})).to_string(),
                ));
            }
            "grudge" => {
                if misfit.value == "two" {
                    misfit.once("offence", &misfit.value);
                } else if misfit.has("offence") {
                    return Err(Error::Terminal("misfit has not forgotten".to_owned()));
                }
            }
            "defaulted" => return Ok(Some(misfit.service().to_string())),
            "ports" => return Ok(Some(misfit.ports().to_string())),
            "never-equal" => return Ok(Some(json!({"counter": misfit.next_count()}).to_string())),
            _ => {}
        }
        Ok(Some(misfit.child().to_string()))
    }

    fn get_actual(request: Request) -> Result<Observation, Error> {
        let misfit = Reconcile::of(&request)?;
        let mut observation = Observation { state: None, status: None, requeue_after_ms: None };
        if misfit.mode == "farewell" && request.object.is_none() {
            let said = cluster::get_applied(&core("ConfigMap"), &misfit.key("farewell"))?;
            let said: Value = said.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
            if said.pointer("/data/uid").and_then(Value::as_str) != Some(&*request.uid) {
                observation.state = Some(json!("no farewell yet").to_string());
            }
            return Ok(observation);
        }
        if misfit.mode == "writes" {
            return misfit.written(&request);
        }
        if misfit.mode == "nothing" {
            return Ok(observation);
        }
        if misfit.mode != "never-equal" && !request.deleting {
            let kind = if ["defaulted", "ports"].contains(&misfit.mode.as_str()) { "Service" } else { "ConfigMap" };
            observation.state = cluster::get_applied(&core(kind), &misfit.key("child"))?;
        }
        match misfit.mode.as_str() {
            "loop-actual" => misbehave::spin(),
            "verbatim" => observation.state = observation.state.map(|text| backwards(&parsed(&text))),
            "blind" => {
                let seen =
                    observation.state.map(|text| parsed(&text).pointer("/data/seen").cloned().unwrap_or_default());
                observation.state = seen.map(|seen| json!({"seen": seen}).to_string());
            }
            "staged" => observation.state = Some(json!(misfit.stage()?).to_string()),
            "meddles" => {
                let child = observation.state.map(|text| parsed(&text)).unwrap_or_default();
                let seen = child.pointer("/data/seen");
                observation.state = Some(json!({"seen": seen, "labels": misfit.meddled()?}).to_string());
            }
            "live" => drop(cluster::get_live(&core("ConfigMap"), &misfit.key("child"))?),
            "invalid-json-actual" => observation.state = Some("nonsense".to_owned()),
            "garbage-status" => observation.status = Some("{\"value\": NaN}".to_owned()),
            "status-not-object" => observation.status = Some("[1, 2]".to_owned()),
            "requeue" => observation.requeue_after_ms = Some(misfit.count(100) as u64),
            "fails-again" if observation.state.is_some() => return Err(transient(None, "misfit fails as told")),
            "traps-again" if observation.state.is_some() => misbehave::trap(),
            "transient" => return Err(transient(None, "misfit fails as told")),
            "transient-after" => return Err(transient(Some(misfit.count(100) as u64), "misfit fails as told")),
            "fails-first" if u64::from(request.attempt) <= misfit.count(1) as u64 => {
                return Err(transient(None, "misfit fails at first"));
            }
            "terminal" => return Err(Error::Terminal("misfit gives up as told".to_owned())),
            "denied" => {
                let (reason, message) = ("Misfit".to_owned(), "misfit denies as told".to_owned());
                return Err(Error::Denied(Denial { code: 403, reason, message }));
            }
            "http" => {
                let told = match send("GET", &format!("{}/misfit", url()), &[], b"") {
                    Ok(answer) => format!("answered {}", answer.status),
                    Err(failure) => format!("{failure:?}"),
                };
                return Err(transient(None, &told));
            }
            "fetch" => {
                observation.status = send("GET", &url(), &[], b"").ok().map(|a| json!({"http": a.status}).to_string());
            }
            "http-flood" => (0..misfit.count(10_000)).for_each(|_| drop(send("GET", &url(), &[], b""))),
            _ => {}
        }
        Ok(observation)
    }

    fn patch(request: Request, desired: Option<String>, actual: Option<String>) -> Result<Outcome, Error> {
        let misfit = Reconcile::of(&request)?;
        let mut outcome = Outcome { changes: vec![], events: vec![], warnings: vec![], requeue_after_ms: None };
        match misfit.mode.as_str() {
            "loop-patch" => misbehave::spin(),
            "never-equal" => return Ok(outcome),
            "writes" => return Ok(misfit.write(&request, desired.as_deref(), actual.as_deref())),
            "verbatim" => {
                let applied = cluster::get_applied(&core("ConfigMap"), &misfit.key("child"))?;
                let answered = (Some(backwards(&misfit.child())), applied.map(|text| backwards(&parsed(&text))));
                if (&desired, &actual) != (&answered.0, &answered.1) {
                    return Err(Error::Terminal(format!("the states came back as {desired:?} and {actual:?}")));
                }
            }
            "apply-nowhere" => {
                outcome.changes.push(apply(&misfit.object("ConfigMap", "first", &json!({}))));
                let mut nowhere = misfit.object("ConfigMap", "nowhere", &json!({}));
                if let Some(namespace) = nowhere.pointer_mut("/metadata/namespace") {
                    *namespace = json!("nowhere");
                }
                outcome.changes.push(apply(&nowhere));
            }
            "farewell" if request.object.is_none() => {
                let mut farewell = misfit.object("ConfigMap", "farewell", &json!({"uid": request.uid}));
                if let Some(metadata) = farewell.pointer_mut("/metadata").and_then(Value::as_object_mut) {
                    metadata.remove("ownerReferences");
                }
                outcome.changes.push(apply(&farewell));
                return Ok(outcome);
            }
            "apply-ungranted" => {
                outcome.changes.push(apply(&misfit.object("Secret", "secret", &json!({"key": "dg=="}))))
            }
            "apply-elsewhere" => {
                let mut elsewhere = misfit.object("ConfigMap", "elsewhere", &json!({}));
                if let Some(namespace) = elsewhere.pointer_mut("/metadata/namespace") {
                    *namespace = json!("kube-system");
                }
                outcome.changes.push(apply(&elsewhere));
            }
            "apply-garbage" => outcome.changes.push(apply_text("{\"apiVersion\"".to_owned(), false)),
            "apply-nameless" => outcome.changes.push(apply(&json!({"apiVersion": "v1", "kind": "ConfigMap"}))),
            "delete-ungranted" => {
                let key = ObjectKey { namespace: String::new(), name: "default".to_owned() };
                let target = ObjectRef { kind: core("Namespace"), key };
                let (propagation, precondition) = (Propagation::Background, anything());
                outcome.changes.push(Change::Delete(DeleteChange { target, propagation, precondition }));
            }
            "changes" => {
                let child = |number| apply(&misfit.object("ConfigMap", &format!("child-{number}"), &json!({})));
                outcome.changes.extend((0..misfit.count(100_000)).map(child));
            }
            "blind" => {
                outcome.changes.push(apply(&misfit.child()));
                return Ok(outcome);
            }
            "marked" => outcome.changes.push(apply(&misfit.object("ConfigMap", "extra", &json!({})))),
            "posts" => {
                if let Err(failure) = send("POST", &url(), &[], b"") {
                    return Err(transient(None, &format!("{failure:?}")));
                }
                outcome.changes.push(apply(&misfit.object("ConfigMap", "extra", &json!({}))));
            }
            "staged" => {
                let target = ObjectRef { kind: core("ConfigMap"), key: misfit.key("extra") };
                outcome.changes.push(match misfit.stage()? {
                    0 => apply(&misfit.child()),
                    1 => apply(&misfit.object("ConfigMap", "extra", &json!({}))),
                    stage => Change::Patch(PatchChange {
                        target: Some(target),
                        patch_type: PatchType::MergePatch,
                        patch: json!({"metadata": {"labels": {"stage": (stage - 1).to_string()}}}).to_string(),
                        subresource: String::new(),
                        precondition: anything(),
                    }),
                });
                return Ok(outcome);
            }
            "meddles" => {
                outcome.changes = misfit.meddling()?;
                outcome.changes.push(apply(&misfit.child()));
                return Ok(outcome);
            }
            "deletes" => {
                let target = ObjectRef { kind: core("ConfigMap"), key: misfit.key("child") };
                let (propagation, precondition) = (Propagation::Background, anything());
                outcome.changes.push(Change::Delete(DeleteChange { target, propagation, precondition }));
            }
            "event-flood" => {
                outcome.events.extend((0..misfit.count(10_000)).map(|n| event("Misfit", format!("event {n}"))));
            }
            "event-garbage" => outcome.events.push(event("not a reason\n", "long ".repeat(1024 * 1024 / 5))),
            _ => {}
        }
        let force = ["force", "ports"].contains(&misfit.mode.as_str());
        outcome.changes.extend(desired.map(|child| apply_text(child, force)));
        Ok(outcome)
    }
}

fn url() -> String {
    config::get("url").unwrap_or_default()
}

fn send(method: &str, url: &str, headers: &[http::Header], body: &[u8]) -> Result<http::Response, http::Failure> {
    let (method, url, headers, body) = (method.to_owned(), url.to_owned(), headers.to_vec(), body.to_vec());
    http::send(&http::Outgoing { method, url, headers, body, timeout_ms: 0 })
}

/// Tells why there is no answer.
fn refused(answer: Result<http::Response, http::Failure>) -> Result<Option<String>, Error> {
    match answer {
        Ok(answer) => Ok(Some(json!(answer.status).to_string())),
        Err(failure) => Err(Error::Terminal(format!("{failure:?}"))),
    }
}

pub(crate) fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// An object with its members in the reverse order of their names.
fn backwards(object: &Value) -> String {
    let mut members: Vec<_> = object.as_object().into_iter().flatten().collect();
    members.sort_by(|a, b| b.0.cmp(a.0));
    let members: Vec<_> = members.into_iter().map(|(name, value)| format!("{}: {value}", json!(name))).collect();
    format!("{{ {} }}", members.join(", "))
}

/// Merges Pods with as many containers as make documents of this size.
fn merge_huge(bytes: usize) -> Result<Option<String>, Error> {
    let pod = |image: &str| {
        let container = |number| json!({"name": format!("c{number}"), "image": image});
        json!({"spec": {"containers": (0..bytes / 40).map(container).collect::<Vec<_>>()}}).to_string()
    };
    let (old, new) = (pod("a"), pod("b"));
    let patch = merge::create_two_way(&core("Pod"), &old, &new)?;
    let merged = merge::apply_patch(&core("Pod"), &old, &patch)?;
    let same = serde_json::from_str::<Value>(&merged).ok() == serde_json::from_str::<Value>(&new).ok();
    Err(Error::Terminal(format!("merged as it should: {same}")))
}

/// Brings `current` what changed from `original` to `modified`, all of one `kind` that is no built-in one.
///
/// * `text` - JSON with these four members; the kind has `group`, `version` and `kind`.
fn merge_custom(text: &str) -> Result<String, Error> {
    let told: Value = serde_json::from_str(text).map_err(|error| Error::Terminal(error.to_string()))?;
    let text = |pointer: &str| told.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let document = |name: &str| told.get(name).cloned().unwrap_or_default().to_string();
    let kind =
        GroupVersionKind { group: text("/kind/group"), version: text("/kind/version"), kind: text("/kind/kind") };
    let current = document("current");
    let patch = merge::create_three_way(&kind, &document("original"), &document("modified"), &current)?;
    merge::apply_patch(&kind, &current, &patch)
}

pub(crate) fn apply(object: &Value) -> Change {
    apply_text(object.to_string(), false)
}

pub(crate) fn apply_text(object: String, force: bool) -> Change {
    let (subresource, precondition) = (String::new(), anything());
    Change::Apply(ApplyChange { object, subresource, force, precondition })
}

fn event(reason: &str, message: String) -> Event {
    Event { severity: Severity::Warning, reason: reason.to_owned(), message }
}

fn transient(delay_ms: Option<u64>, message: &str) -> Error {
    Error::Transient(Retry { delay_ms, message: message.to_owned() })
}

pub(crate) fn anything() -> Precondition {
    Precondition { uid: None, resource_version: None }
}

pub(crate) fn core(kind: &str) -> GroupVersionKind {
    GroupVersionKind { group: String::new(), version: "v1".to_owned(), kind: kind.to_owned() }
}

fn say(line: &str) {
    log::log(log::Level::Info, line, &[]);
}
