//! YAML format of a case.

use crate::secrets::Part;
use crate::secrets::json::Json;
use oarlock_manifest::Limits;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The fields of a recording with documents, in which names of fields are the words of a plugin or of a user.
const DOCUMENTS: [&str; 16] = [
    "request.object",
    "request.lastSeen",
    "reads.object",
    "reads.objects",
    "http.request.headers",
    "http.request.json",
    "http.response.headers",
    "http.response.json",
    "expect.desired",
    "expect.actual",
    "expect.status",
    "expect.after.actual",
    "expect.after.status",
    "expect.changes.apply",
    "expect.changes.create",
    "expect.changes.patch.patch",
];

/// The fields whose values are words of this format, and digits.
const WORDS: [&str; 8] = [
    "request.trigger",
    "reads.during",
    "reads.merge.function",
    "http.failure",
    "random",
    "expect.changes.patch.type",
    "expect.changes.propagation",
    "expect.events.severity",
];

/// What may be replaced in a field of a recording.
pub(super) fn part_at(path: &str) -> Part {
    let path = path.strip_prefix("before.").unwrap_or(path);
    match path {
        _ if DOCUMENTS.contains(&path) => Part::Document,
        _ if WORDS.contains(&path) => Part::Words,
        _ => Part::Texts,
    }
}

/// One reconcile: the request, the readable objects, and the expected results.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Case {
    /// In a recording of a host: where it comes from. A person can read it; a replay needs only the version.
    pub(super) recorded: Option<Header>,
    /// Values of the plugin's configuration.
    #[serde(default)]
    pub(super) config: BTreeMap<String, String>,
    /// The limits of the grant, of which a replay takes those that a guest can notice.
    pub(super) limits: Option<Limits>,
    pub(super) request: CaseRequest,
    /// Objects in the caches, in addition to the object of the request.
    #[serde(default)]
    pub(super) cluster: Vec<Json>,
    /// Documents that this plugin applied before: in the caches, and returned by get-applied.
    #[serde(default)]
    pub(super) applied: Vec<Json>,
    /// Reconciles before this one in the same instance.
    #[serde(default)]
    pub(super) before: Vec<Before>,
    /// Reads in their order. Absent: reads are answered from `cluster` and `applied`.
    pub(super) reads: Option<Vec<ReadText>>,
    /// In the order of the requests.
    #[serde(default)]
    pub(super) http: Vec<ExchangeText>,
    /// Uses of the cache. Absent: the cache is empty at first, and works.
    pub(super) cache: Option<Vec<CacheText>>,
    /// What the clocks show. Absent: the present time.
    pub(super) clock: Option<ClockText>,
    /// Random bytes in hexadecimal digits. Absent: new ones.
    pub(super) random: Option<Vec<String>>,
    #[serde(default)]
    pub(super) expect: Expect,
    /// The last line of a recording, so that a part of one is noticed.
    #[serde(default)]
    pub(super) complete: bool,
}

/// The origin of a recorded case.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Header {
    /// Whether reconciles before it in the same instance are missing.
    #[serde(default)]
    pub(super) earlier_reconciles_unknown: bool,
}

/// The part of a case that shows whether this program can read the rest.
#[derive(Debug, Deserialize)]
pub(super) struct Peek {
    pub(super) recorded: Option<PeekHeader>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PeekHeader {
    pub(super) version: Option<Value>,
}

/// An earlier reconcile of the instance: it leaves its traces in the guest's memory.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Before {
    pub(super) request: CaseRequest,
    #[serde(default)]
    pub(super) reads: Vec<ReadText>,
    #[serde(default)]
    pub(super) http: Vec<ExchangeText>,
    #[serde(default)]
    pub(super) cache: Vec<CacheText>,
    #[serde(default)]
    pub(super) clock: ClockText,
    #[serde(default)]
    pub(super) random: Vec<String>,
    /// Whether get-actual was called after patch.
    #[serde(default)]
    pub(super) again: bool,
}

/// A read: one of `get`, `applied`, `live`, `list` and `merge`, with its answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ReadText {
    pub(super) during: PhaseName,
    pub(super) get: Option<ObjectName>,
    pub(super) applied: Option<ObjectName>,
    pub(super) live: Option<ObjectName>,
    pub(super) list: Option<ListText>,
    pub(super) merge: Option<MergeText>,
    /// The answer of `get`, `applied` and `live`. None: there is no such object.
    pub(super) object: Option<Json>,
    /// The answer of `list`.
    pub(super) objects: Option<Vec<Json>>,
    /// The answer of `merge`.
    pub(super) text: Option<String>,
    pub(super) error: Option<ReadError>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PhaseName {
    Start,
    #[default]
    GetDesired,
    GetActual,
    Patch,
    GetActualAgain,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ObjectName {
    pub(super) api_version: String,
    pub(super) kind: String,
    #[serde(default)]
    pub(super) namespace: String,
    #[serde(default)]
    pub(super) name: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ListText {
    pub(super) api_version: String,
    pub(super) kind: String,
    #[serde(default)]
    pub(super) namespace: String,
    #[serde(default)]
    pub(super) label_selector: String,
    #[serde(default)]
    pub(super) owner_uid: String,
    #[serde(default)]
    pub(super) limit: u32,
    /// The name of an index, and the value in it.
    pub(super) index: Option<String>,
    pub(super) value: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct MergeText {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) function: MergeName,
    pub(super) documents: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum MergeName {
    CreateTwoWay,
    CreateThreeWay,
    ApplyPatch,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ReadError {
    pub(super) transient: Option<String>,
    pub(super) delay_ms: Option<u64>,
    pub(super) terminal: Option<String>,
}

/// A use of the cache: `get` or `set` of a key.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CacheText {
    pub(super) get: Option<String>,
    pub(super) set: Option<String>,
    pub(super) value: Option<String>,
    /// Instead of `value`, where that is no text.
    pub(super) base64: Option<String>,
    #[serde(default)]
    pub(super) ttl_ms: u64,
}

/// The values of the clocks in milliseconds, in order.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ClockText {
    /// Since 1970.
    pub(super) wall: Option<Vec<Tick>>,
    /// Since some time before.
    pub(super) monotonic: Option<Vec<Tick>>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tick {
    pub(super) ms: u64,
    #[serde(default = "once")]
    pub(super) times: u32,
}

fn once() -> u32 {
    1
}

/// The request: `object`, or `kind` and `key` of a deleted object.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CaseRequest {
    pub(super) object: Option<Json>,
    pub(super) kind: Option<Kind>,
    pub(super) key: Option<Key>,
    pub(super) uid: Option<String>,
    pub(super) last_seen: Option<Json>,
    pub(super) trigger: Option<TriggerName>,
    pub(super) attempt: Option<u32>,
    /// The correlation id, which a guest sees.
    pub(super) correlation_id: Option<String>,
    #[serde(default)]
    pub(super) dry_run: bool,
    /// The AdmissionRequest without its objects; it makes the request an admission review.
    pub(super) review: Option<Json>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kind {
    #[serde(default)]
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Key {
    #[serde(default)]
    pub(super) namespace: String,
    pub(super) name: String,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum TriggerName {
    Event,
    InitialList,
    Resync,
    Requeue,
    Retry,
    Swap,
    /// Implied by `review`.
    Admission,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExchangeText {
    pub(super) request: HttpRequest,
    pub(super) response: Option<HttpResponse>,
    pub(super) failure: Option<FailureName>,
    /// The reason of a failure, as the guest gets it.
    pub(super) message: Option<String>,
    /// The limit that the body of the response exceeded, in bytes.
    #[serde(default)]
    pub(super) limit: u64,
}

/// Only the given fields are compared.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HttpRequest {
    pub(super) method: Option<String>,
    pub(super) url: Option<String>,
    #[serde(default)]
    pub(super) headers: Headers,
    pub(super) json: Option<Value>,
    pub(super) body: Option<String>,
    /// Instead of `body`, where that is no text.
    pub(super) base64: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HttpResponse {
    pub(super) status: Option<u16>,
    #[serde(default)]
    pub(super) headers: Headers,
    pub(super) json: Option<Json>,
    pub(super) body: Option<String>,
    /// Instead of `body`, where that is no text.
    pub(super) base64: Option<String>,
}

/// Names and values of headers, in order: a map whose values are texts or lists of texts.
#[derive(Clone, Debug, Default)]
pub(super) struct Headers(pub(super) Vec<(String, String)>);

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let not_text = || serde::de::Error::custom("the value of a header is a text, or a list of texts");
        let Json::Map(fields) = Json::deserialize(from)? else {
            return Err(serde::de::Error::custom("headers are a map"));
        };
        let mut headers = Vec::new();
        for (name, value) in fields {
            let values = match value {
                Json::List(values) => values,
                value => vec![value],
            };
            for value in values {
                let value = match value {
                    Json::Text(text) => text,
                    Json::Number(number) => number.to_string(),
                    _ => return Err(not_text()),
                };
                headers.push((name.clone(), value));
            }
        }
        Ok(Self(headers))
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FailureName {
    TimedOut,
    Unreachable,
    Denied,
    TooLarge,
    Invalid,
}

/// Only the given fields are compared; `null` means that the result is none.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Expect {
    #[serde(default, deserialize_with = "named")]
    pub(super) desired: Option<Value>,
    #[serde(default, deserialize_with = "named")]
    pub(super) actual: Option<Value>,
    #[serde(default, deserialize_with = "named")]
    pub(super) status: Option<Value>,
    #[serde(default, deserialize_with = "named")]
    pub(super) requeue_after_ms: Option<Value>,
    pub(super) changes: Option<Vec<Map<String, Value>>>,
    pub(super) events: Option<Vec<Value>>,
    pub(super) warnings: Option<Vec<String>>,
    pub(super) error: Option<Map<String, Value>>,
    /// The second observation, after the changes of patch: `actual`, `status` and `requeueAfterMs`.
    pub(super) after: Option<Map<String, Value>>,
}

/// Distinguishes `null` from an absent field.
fn named<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(d).map(Some)
}
