//! From a record of the host to the case that replays it.

use super::answers::Answers;
use super::format::part_at;
use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::Change;
use crate::controller::{Record, Results};
use crate::plugin::tape::{Found, Listed, Phase, Read, ReadFailure, Recorded, Seen, SendFailure, Sent, Tape, Ticks};
use crate::plugin::{CallError, Request};
use crate::secrets::json::Json;
use crate::secrets::{KnownSecrets, Secrets, is_credential};
use crate::workqueue::Trigger;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

/// The version of recorded cases that this program writes and reads.
pub const VERSION: u32 = 1;

/// A recorded case.
#[derive(Clone, Debug)]
pub struct RecordedCase {
    /// A file name without its ending.
    pub name: String,
    /// The content of the file, in YAML.
    pub text: String,
}

/// Why a record cannot become a case.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The case could contain a secret.
    #[error(
        "plugin {0} saw more secrets than the host can recognize, so its recordings could contain some: they are not shown until the host starts again"
    )]
    TooManySecrets(String),
}

/// The case of a record, without secrets. None: the record has no request, or the host was too busy to run the plugin to its end. How far
/// the plugin came then depends on the machine, and a replay would differ.
///
/// # Errors
///
/// [`ExportError`]
pub fn recorded_case(record: &Record) -> Result<Option<RecordedCase>, ExportError> {
    if let Some(CallError::Starved { .. }) = record.results.failed {
        return Ok(None);
    }
    let case = hidden_case(record)?;
    Ok(case.map(|(name, case)| RecordedCase { name, text: text(&case) }))
}

/// What a recorded reconcile was about, without secrets: `desired`, `actual`, and `after` (the observation after the patch), each absent if
/// the plugin did not answer; `changes`, `events`, and `differed`, the first path that differed. None: the record has no request, or the
/// plugin saw too many secrets.
#[must_use]
pub fn recorded_states(record: &Record) -> Option<Value> {
    let (_, case) = hidden_case(record).ok()??;
    let mut shown = serde_json::Map::new();
    for (part, fields) in
        [("expect", &["desired", "actual", "after", "changes", "events"][..]), ("recorded", &["differed", "writes"])]
    {
        for field in fields {
            if let Some(value) = case.get(part).and_then(|part| part.get(field)) {
                shown.insert((*field).to_owned(), serde_json::to_value(value).unwrap_or_default());
            }
        }
    }
    Some(Value::Object(shown))
}

/// The name and the content of a case.
fn hidden_case(record: &Record) -> Result<Option<(String, Json)>, ExportError> {
    let known = &*record.secrets;
    if known.is_full() {
        return Err(ExportError::TooManySecrets(record.plugin.clone()));
    }
    let recorded = record.tape.recorded();
    let Some(request) = &recorded.request else { return Ok(None) };
    let mut export = Export { secrets: Secrets::default(), known, hides_random: writes_secrets(record) };
    let before = before(&recorded);
    let missing = recorded.served > before.len();
    let earlier: Vec<Json> = before.iter().filter_map(|tape| export.earlier(tape)).collect();
    let mut fields = vec![
        ("recorded", header(record, &recorded, missing)),
        ("config", export.config(record)),
        ("limits", serde_json::to_value(record.grants.limits()).unwrap_or_default().into()),
        ("request", request_of(request)),
    ];
    if !earlier.is_empty() {
        fields.push(("before", Json::List(earlier)));
    }
    fields.extend(export.seen(&recorded));
    fields.push(("expect", expect(&record.results)));
    fields.push(("complete", Json::Bool(true)));
    let mut case = Json::Map(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
    let name = format!("{}-{}", record.key.to_string().replace('/', "-"), request.correlation_id);
    // The next reconcile of the instance needs the tape for a moment.
    drop(recorded);
    export.secrets.hide(&mut case, &part_at, known);
    Ok(Some((name, case)))
}

/// The case in YAML; in JSON, which is YAML, too, where the former says something else.
fn text(case: &Json) -> String {
    let yaml = serde_saphyr::to_string(case).unwrap_or_default();
    match serde_saphyr::from_str::<Json>(&yaml) {
        Ok(back) if back == *case => yaml,
        _ => case.to_string(),
    }
}

/// The tapes before this one in the same instance, the first one first.
fn before(recorded: &Recorded) -> Vec<Arc<Tape>> {
    let mut tapes: Vec<Arc<Tape>> = Vec::new();
    let mut next = recorded.before.clone();
    while let Some(tape) = next {
        next = tape.recorded().before.clone();
        tapes.push(tape);
    }
    tapes.reverse();
    tapes
}

/// Whether a random number of the record, or of those before it, may be in a Secret. In the memory of a reused instance it may come into a
/// Secret that another reconcile writes.
fn writes_secrets(record: &Record) -> bool {
    let writes_one = |change: &Change| match change {
        Change::Patch { target, .. } => target.kind.is_secret(),
        _ => change.document().and_then(|document| document.get("kind")).and_then(Value::as_str) == Some("Secret"),
    };
    let may_write_one = || ["create", "patch"].iter().any(|verb| record.grants.allows_some(verb, "", "secrets", None));
    match &record.results.outcome {
        Some(outcome) if outcome.changes.iter().any(writes_one) => true,
        // A service may have the secret that a patch without an end was to write.
        outcome => (outcome.is_none() || record.grants.limits().instance_reuses > 0) && may_write_one(),
    }
}

/// Bytes that have nothing to do with the secret ones that they replace.
fn other_bytes(number: usize, length: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length);
    let mut block = 0_u64;
    while bytes.len() < length {
        let hashed =
            Sha256::new().chain_update(b"random").chain_update(number.to_le_bytes()).chain_update(block.to_le_bytes());
        bytes.extend(hashed.finalize().iter().take(length - bytes.len()));
        block += 1;
    }
    bytes
}

fn number(value: impl Into<u64>) -> Json {
    Json::from(value.into())
}

fn some(text: &str) -> Option<Json> {
    (!text.is_empty()).then(|| text.into())
}

fn header(record: &Record, recorded: &Recorded, missing: bool) -> Json {
    let Results { writes, durations, .. } = &record.results;
    let ms = |took: std::time::Duration| Json::from(Value::from((took.as_secs_f64() * 1e6).round() / 1e3));
    let writes = writes.iter().map(|write| {
        let answer = write.error.as_ref().map_or_else(|| "written".to_owned(), |error| format!("failed: {error}"));
        Json::map([("write", some(&write.what)), ("answer", some(&answer)), ("ms", Some(ms(write.took)))])
    });
    let durations = durations.iter().map(|(call, took)| Json::map([("call", some(call)), ("ms", Some(ms(*took)))]));
    let log = recorded.seen.iter().filter_map(|seen| match seen {
        Seen::Log(level, line) => Some(Json::from(format!("{level}: {line}"))),
        _ => None,
    });
    let desired = record.results.desired.as_ref().and_then(|desired| desired.as_deref());
    let actual = record.results.observed.as_ref().and_then(|observed| observed.state.as_deref());
    let differed = record.results.outcome.as_ref().map(|_| crate::controller::difference(desired, actual));
    Json::map([
        ("version", Some(number(VERSION))),
        ("plugin", some(&record.plugin)),
        ("pluginVersion", some(&record.version)),
        ("digest", some(&format!("sha256:{}", record.digest))),
        ("host", some(env!("CARGO_PKG_VERSION"))),
        ("at", some(&record.at.to_string())),
        ("outcome", some(record.outcome)),
        ("error", record.error.as_deref().map(Json::from)),
        ("differed", differed.map(Json::from)),
        ("ms", Some(ms(record.took))),
        ("calls", Some(Json::List(durations.collect()))),
        ("writes", Some(Json::List(writes.collect()))),
        ("written", record.written.as_deref().map(Json::from)),
        ("log", Some(Json::List(log.collect()))),
        ("earlierReconcilesUnknown", missing.then_some(Json::Bool(true))),
    ])
}

fn request_of(request: &Request) -> Json {
    let GroupVersionKind { group, version, kind } = &request.kind;
    let trigger = match request.trigger {
        Trigger::Event => "event",
        Trigger::InitialList => "initial-list",
        Trigger::Resync => "resync",
        Trigger::Requeue => "requeue",
        Trigger::Retry => "retry",
        Trigger::Swap => "swap",
    };
    Json::map([
        ("object", request.object.as_deref().map(Json::document)),
        (
            "kind",
            Some(Json::map([("group", Some(group.as_str().into())), ("version", some(version)), ("kind", some(kind))])),
        ),
        ("key", Some(Json::map([("namespace", some(&request.key.namespace)), ("name", some(&request.key.name))]))),
        ("uid", Some(request.uid.as_str().into())),
        ("lastSeen", request.last_seen.as_deref().map(Json::document)),
        ("trigger", some(trigger)),
        ("attempt", Some(number(request.attempt))),
        ("correlationId", Some(request.correlation_id.as_str().into())),
    ])
}

fn expect(results: &Results) -> Json {
    let mut answers = Answers::default();
    if let Some(desired) = &results.desired {
        answers.desired(desired.as_ref());
    }
    if let Some(observed) = &results.observed {
        answers.observed(observed);
    }
    if let Some(outcome) = &results.outcome {
        answers.outcome(outcome);
    }
    if let Some(after) = &results.after {
        answers.after(after);
    }
    if let Some(error) = &results.failed {
        answers.error(error);
    }
    Value::from(answers.fields).into()
}

/// An export under way: it learns the secrets of what it writes.
struct Export<'r> {
    secrets: Secrets,
    /// Secrets that the plugin saw in any reconcile.
    known: &'r KnownSecrets,
    /// Whether other random numbers replace the recorded ones.
    hides_random: bool,
}

impl Export<'_> {
    fn config(&mut self, record: &Record) -> Json {
        let grants = &record.grants;
        let values = grants.config().iter().map(|(key, value)| {
            let secret = grants.secrets().any(|secret| secret == key);
            (key.clone(), if secret { self.secrets.value(value, 1).into() } else { value.as_str().into() })
        });
        Json::Map(values.collect())
    }

    /// An earlier reconcile of the instance.
    fn earlier(&mut self, tape: &Tape) -> Option<Json> {
        let recorded = tape.recorded();
        let mut fields = vec![("request", request_of(recorded.request.as_ref()?))];
        fields.extend(self.seen(&recorded));
        if recorded.phase == Phase::GetActualAgain {
            fields.push(("again", Json::Bool(true)));
        }
        Some(Json::Map(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()))
    }

    /// What a guest saw.
    fn seen(&mut self, recorded: &Recorded) -> [(&'static str, Json); 5] {
        let (mut reads, mut http, mut cache, mut random) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for seen in &recorded.seen {
            match seen {
                Seen::Read(phase, read, answer) => reads.push(read_of(*phase, read, answer)),
                Seen::Http(_, sent, answer) => http.push(self.exchange(sent, answer)),
                Seen::CacheGet(key, value) => cache.push(self.cached(("get", key), value.as_deref(), 0)),
                Seen::CacheSet(key, value, ttl_ms) => cache.push(self.cached(("set", key), Some(value), *ttl_ms)),
                Seen::Random(bytes) => {
                    let shown = if self.hides_random { other_bytes(random.len(), bytes.len()) } else { bytes.clone() };
                    random.push(data_encoding::HEXLOWER.encode(&shown).into());
                }
                Seen::Log(..) => {}
            }
        }
        let clock = Json::map([("wall", Some(ticks(&recorded.wall))), ("monotonic", Some(ticks(&recorded.monotonic)))]);
        [
            ("reads", Json::List(reads)),
            ("http", Json::List(http)),
            ("cache", Json::List(cache)),
            ("clock", clock),
            ("random", Json::List(random)),
        ]
    }

    fn cached(&mut self, (call, key): (&str, &str), value: Option<&[u8]>, ttl_ms: u64) -> Json {
        let (mut text, mut base64) = (None, None);
        match value.map(|value| (std::str::from_utf8(value), value)) {
            None => {}
            Some((Ok(value), _)) => {
                let named = self.secrets.body(value);
                let shown = if is_credential(key) { self.secrets.value(value, 1) } else { value.to_owned() };
                text = Some(named.unwrap_or(shown).into());
            }
            Some((Err(_), bytes)) => base64 = Some(STANDARD.encode(self.secrets.hide_bytes(bytes, self.known)).into()),
        }
        let ttl_ms = (ttl_ms > 0).then(|| number(ttl_ms));
        Json::map([(call, Some(key.into())), ("value", text), ("base64", base64), ("ttlMs", ttl_ms)])
    }

    fn exchange(&mut self, sent: &Sent, answer: &Result<http::Response<Bytes>, SendFailure>) -> Json {
        if let Some((_, query)) = sent.url.split_once('?') {
            self.secrets.query(query.split('#').next().unwrap_or_default());
        }
        let headers = sent.headers.iter().map(|(name, value)| (name.as_str(), value.clone()));
        let headers = self.headers(headers);
        let mut request = vec![("method", sent.method.as_str().into()), ("url", sent.url.as_str().into()), headers];
        request.extend(self.body(&sent.body));
        let map = |fields: Vec<(&str, Json)>| {
            Json::Map(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
        };
        let failed = |name: &str, message: Option<&str>| {
            vec![("failure", name.into())]
                .into_iter()
                .chain(message.map(|message| ("message", message.into())))
                .collect()
        };
        let mut exchange = vec![("request", map(request))];
        exchange.extend::<Vec<(&str, Json)>>(match answer {
            Ok(response) => {
                let headers = response.headers().iter();
                let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
                let headers = self.headers(headers.map(|(name, value)| (name.as_str(), text(value))));
                let mut fields = vec![("status", number(response.status().as_u16())), headers];
                fields.extend(self.body(response.body()));
                vec![("response", map(fields))]
            }
            Err(SendFailure::Denied(reason)) => failed("denied", Some(reason)),
            Err(SendFailure::Unreachable(reason)) => failed("unreachable", Some(reason)),
            Err(SendFailure::TimedOut) => failed("timed-out", None),
            Err(SendFailure::TooLarge(limit)) => vec![("failure", "too-large".into()), ("limit", number(*limit))],
            Err(SendFailure::Invalid(reason)) => failed("invalid", Some(reason)),
        });
        map(exchange)
    }

    /// Headers in their order; a name with several values has a list.
    fn headers<'a>(&mut self, headers: impl Iterator<Item = (&'a str, String)>) -> (&'static str, Json) {
        let mut shown: Vec<(String, Json)> = Vec::new();
        for (name, value) in headers {
            let value = Json::from(if is_credential(name) { self.secrets.header(&value) } else { value });
            match shown.iter_mut().find(|(of, _)| of == name) {
                None => shown.push((name.to_owned(), value)),
                Some((_, Json::List(values))) => values.push(value),
                Some((_, one)) => *one = Json::List(vec![one.clone(), value]),
            }
        }
        ("headers", Json::Map(shown))
    }

    /// A body, as JSON where that says the same letter by letter.
    fn body(&mut self, body: &Bytes) -> Option<(&'static str, Json)> {
        if body.is_empty() {
            return None;
        }
        let Ok(text) = std::str::from_utf8(body) else {
            return Some(("base64", STANDARD.encode(self.secrets.hide_bytes(body, self.known)).into()));
        };
        let hidden = self.secrets.body(text);
        let text = hidden.as_deref().unwrap_or(text);
        Some(match Json::document(text) {
            Json::Text(text) => ("body", text.into()),
            json @ (Json::Map(_) | Json::List(_)) => ("json", json),
            _ => ("body", text.into()),
        })
    }
}

fn ticks(ticks: &Ticks) -> Json {
    let tick = |(ms, times): &(u64, u32)| {
        Json::map([("ms", Some(number(*ms))), ("times", (*times > 1).then(|| number(*times)))])
    };
    Json::List(ticks.iter().map(tick).collect())
}

fn object_name(kind: &GroupVersionKind, key: &ObjectKey) -> Option<Json> {
    Some(Json::map([
        ("apiVersion", Some(kind.api_version().into())),
        ("kind", Some(kind.kind.as_str().into())),
        ("namespace", some(&key.namespace)),
        ("name", some(&key.name)),
    ]))
}

fn read_of(phase: Phase, read: &Read, answer: &Result<Found, ReadFailure>) -> Json {
    let texts = answer.iter().flat_map(Found::texts);
    let (mut object, mut objects, mut text) = (None, None, None);
    let (call, arguments) = match read {
        Read::Get(kind, key) => ("get", object_name(kind, key)),
        Read::Applied(kind, key) => ("applied", object_name(kind, key)),
        Read::Live(kind, key) => ("live", object_name(kind, key)),
        Read::List(kind, listed) => ("list", Some(list_of(kind, listed))),
        Read::Merge(kind, function, documents) => {
            let documents = documents.iter().map(|document| document.as_str().into()).collect();
            let arguments = Json::map([
                ("apiVersion", Some(kind.api_version().into())),
                ("kind", Some(kind.kind.as_str().into())),
                ("function", Some(function.as_str().into())),
                ("documents", Some(Json::List(documents))),
            ]);
            ("merge", Some(arguments))
        }
    };
    let error = match answer {
        Ok(_) => {
            let mut documents = texts.map(Json::document);
            match read {
                Read::List(..) => objects = Some(Json::List(documents.collect())),
                Read::Merge(..) => text = documents.next().map(|document| document.document_text().into()),
                _ => object = Some(documents.next().unwrap_or(Json::Null)),
            }
            None
        }
        Err(ReadFailure::Terminal(message)) => Some(Json::map([("terminal", Some(message.as_str().into()))])),
        Err(ReadFailure::Transient { delay_ms, message }) => {
            Some(Json::map([("transient", Some(message.as_str().into())), ("delayMs", delay_ms.map(number))]))
        }
    };
    let answers = [("object", object), ("objects", objects), ("text", text), ("error", error)];
    let [object, objects, text, error] = answers;
    Json::map([("during", some(phase.as_str())), (call, arguments), object, objects, text, error])
}

fn list_of(kind: &GroupVersionKind, listed: &Listed) -> Json {
    let (index, value) = match &listed.indexed {
        Some((index, value)) => (Some(index.as_str().into()), Some(value.as_str().into())),
        None => (None, None),
    };
    Json::map([
        ("apiVersion", Some(kind.api_version().into())),
        ("kind", Some(kind.kind.as_str().into())),
        ("namespace", some(&listed.namespace)),
        ("labelSelector", some(&listed.label_selector)),
        ("ownerUid", some(&listed.owner_uid)),
        ("limit", (listed.limit > 0).then(|| number(listed.limit))),
        ("index", index),
        ("value", value),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apply::{ObjectRef, PatchKind, Precondition};
    use crate::grants::Grants;
    use crate::plugin::Outcome;
    use crate::plugin::tape::TapeRoom;
    use serde_json::json;

    fn record(grants: Grants, results: Results) -> Record {
        let (kind, key) = (GroupVersionKind::new("", "v1", "ConfigMap"), ObjectKey::new("n", "a"));
        Record {
            plugin: "p".to_owned(),
            version: "1".to_owned(),
            digest: "d".to_owned(),
            grants: Arc::new(grants),
            secrets: Arc::default(),
            kind: kind.clone(),
            key: key.clone(),
            at: jiff::Timestamp::now(),
            took: std::time::Duration::from_millis(1),
            outcome: "ApiError",
            error: Some("it said a-known-value".to_owned()),
            cause: None,
            written: None,
            tape: Tape::new(&TapeRoom::new(1 << 20), &Arc::new(Request::of(kind, key))),
            results,
        }
    }

    #[test]
    fn a_record_of_a_plugin_that_saw_too_many_secrets_becomes_no_case() {
        let record = record(Grants::none(), Results::default());
        let secrets = Arc::clone(&record.secrets);
        // Another reconcile read it, of which nothing is recorded.
        secrets.learn_secret(r#"{"apiVersion":"v1","kind":"Secret","stringData":{"a":"a-known-value"}}"#);
        let case = recorded_case(&record).unwrap().unwrap();
        assert!(case.text.contains("it said oarlock-secret-") && !case.text.contains("known-value"), "{}", case.text);
        let many: serde_json::Map<String, Value> =
            (0..50_000).map(|number| (number.to_string(), Value::from(format!("value-{number}-{number}")))).collect();
        secrets
            .learn_secret(&serde_json::json!({"apiVersion": "v1", "kind": "Secret", "stringData": many}).to_string());
        let refused = recorded_case(&record).unwrap_err().to_string();
        assert!(refused.starts_with("plugin p saw more secrets"), "{refused}");
        assert!(recorded_states(&record).is_none());
    }

    #[test]
    fn a_reconcile_that_the_host_was_too_busy_for_becomes_no_case() {
        let failed = |failed| record(Grants::none(), Results { failed: Some(failed), ..Results::default() });
        let missed = recorded_case(&failed(CallError::Deadline { call: "patch", seconds: 5 })).unwrap().unwrap();
        assert!(missed.text.contains("did not finish patch"), "{}", missed.text);
        let starved = failed(CallError::Starved { call: "patch", seconds: 5 });
        assert!(recorded_case(&starved).unwrap().is_none());
        assert!(recorded_states(&starved).is_some(), "explain and the page show it");
    }

    /// The recorded random numbers of a case, in hexadecimal digits.
    fn random(record: &Record) -> [Value; 2] {
        let case: Value = serde_saphyr::from_str(&recorded_case(record).unwrap().unwrap().text).unwrap();
        ["/random/0", "/before/0/random/0"].map(|path| case.pointer(path).cloned().unwrap_or_default())
    }

    #[test]
    fn a_random_number_that_may_be_in_a_secret_is_in_no_case() {
        let grant = |resource: &str, verbs: &[&str], reuses: u32| {
            let rule = json!({"apiGroups": [""], "resources": [resource], "verbs": verbs});
            let grant = json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginGrant", "permissions": [rule],
                "limits": {"instanceReuses": reuses}});
            Grants::new(&serde_json::from_value(grant).unwrap(), std::path::Path::new("")).unwrap()
        };
        let patch = |kind: &str, patch: Value| Change::Patch {
            target: ObjectRef { kind: GroupVersionKind::new("", "v1", kind), key: ObjectKey::new("n", "b") },
            kind: if patch.is_array() { PatchKind::Json } else { PatchKind::Merge },
            patch,
            subresource: String::new(),
            precondition: Precondition::default(),
        };
        let merge = || json!({"data": {"a": "Yg=="}});
        let operations = || json!([{"op": "add", "path": "/data/a", "value": "Yg=="}]);
        let secret = || json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b"}});
        let writes = || grant("secrets", &["create", "patch"], 0);
        for (grants, changes, hidden) in [
            (writes(), Some(vec![]), false),
            (writes(), Some(vec![patch("ConfigMap", merge())]), false),
            (writes(), Some(vec![patch("ConfigMap", merge()), patch("Secret", merge())]), true),
            (writes(), Some(vec![patch("Secret", operations())]), true),
            (writes(), Some(vec![Change::Create(secret())]), true),
            // Another reconcile in the same memory may write it.
            (grant("secrets", &["patch"], 1), Some(vec![]), true),
            (grant("secrets", &["get", "delete"], 1), Some(vec![]), false),
            (grant("configmaps", &["patch"], 1), Some(vec![]), false),
            // The patch did not end, and a service may have what it was to write.
            (writes(), None, true),
            (grant("configmaps", &["patch"], 0), None, false),
        ] {
            let shown = format!("{changes:?}");
            let outcome =
                |changes| Outcome { changes, patches: vec![], warnings: vec![], events: vec![], requeue_after: None };
            let record = record(grants, Results { outcome: changes.map(outcome), ..Results::default() });
            let before = super::tests::record(Grants::none(), Results::default()).tape;
            before.recorded().seen.push(Seen::Random(b"of the earlier".to_vec()));
            record.tape.recorded().seen.push(Seen::Random(b"of this one".to_vec()));
            record.tape.recorded().before = Some(before);
            let plain = [&b"of this one"[..], b"of the earlier"].map(|bytes| data_encoding::HEXLOWER.encode(bytes));
            for (found, plain) in random(&record).iter().zip(&plain) {
                let found = found.as_str().unwrap();
                assert_eq!((found.len(), found != plain), (plain.len(), hidden), "{shown}");
            }
        }
    }

    #[test]
    fn a_case_can_be_read_whatever_word_is_a_secret() {
        let words = ["password", "request", "reads", "during", "patch", "event", "name", "target", "version", "6f66"];
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        for word in words {
            std::fs::write(&file, word).unwrap();
            let grant = json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginGrant", "config": {"version": "2"},
                "secretFiles": {"password": file}});
            let grants = Grants::new(&serde_json::from_value(grant).unwrap(), std::path::Path::new("")).unwrap();
            let target =
                ObjectRef { kind: GroupVersionKind::new("", "v1", "ConfigMap"), key: ObjectKey::new("n", "b") };
            let changes = vec![Change::Patch {
                target,
                kind: PatchKind::Merge,
                patch: json!({"said": word}),
                subresource: String::new(),
                precondition: Precondition::default(),
            }];
            let record = record(
                grants,
                Results { outcome: Some(Outcome { changes, ..Outcome::default() }), ..Results::default() },
            );
            let body = json!({"auth": {"methods": ["password"], "password": {"user": {"password": word}}}});
            let sent = Sent {
                method: "POST".to_owned(),
                url: "http://x/".to_owned(),
                headers: Vec::new(),
                body: Bytes::from(body.to_string()),
            };
            let read = Read::Get(GroupVersionKind::new("", "v1", "ConfigMap"), ObjectKey::new("n", "b"));
            record.tape.recorded().seen.extend([
                Seen::Random(b"of this one".to_vec()),
                Seen::Read(Phase::Patch, read, Ok(Found::Text(None))),
                Seen::Http(Phase::Patch, sent, Err(SendFailure::TimedOut)),
            ]);
            let text = recorded_case(&record).unwrap().unwrap().text;
            let case = crate::cases::parse(&text).unwrap();
            crate::cases::replay::of_case(&case).unwrap();
            let names: Vec<&str> = case.config.keys().map(String::as_str).collect();
            assert_eq!(names, ["password", "version"], "{text}");
            assert!(case.config["password"].starts_with("oarlock-secret-"), "{text}");
            let user = case.http[0].request.json.as_ref().unwrap().pointer("/auth/password/user/password").unwrap();
            assert!(user.as_str().unwrap().starts_with("oarlock-secret-"), "{text}");
            let patch = &case.expect.changes.unwrap()[0]["patch"];
            assert!(patch["patch"]["said"].as_str().unwrap().starts_with("oarlock-secret-"), "{text}");
            assert_eq!(patch["type"], "merge", "{text}");
        }
    }
}
