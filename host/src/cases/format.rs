//! YAML format of a case.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// One reconcile: the request, the readable objects, and the expected results.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Case {
    /// Values of the plugin's configuration.
    #[serde(default)]
    pub(super) config: BTreeMap<String, String>,
    pub(super) request: CaseRequest,
    /// Objects in the caches, in addition to the object of the request.
    #[serde(default)]
    pub(super) cluster: Vec<Value>,
    /// Documents that this plugin applied before: in the caches, and returned by get-applied.
    #[serde(default)]
    pub(super) applied: Vec<Value>,
    /// In the order of the requests.
    #[serde(default)]
    pub(super) http: Vec<ExchangeText>,
    #[serde(default)]
    pub(super) expect: Expect,
}

/// The request: `object`, or `kind` and `key` of a deleted object.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CaseRequest {
    pub(super) object: Option<Value>,
    pub(super) kind: Option<Kind>,
    pub(super) key: Option<Key>,
    pub(super) uid: Option<String>,
    pub(super) last_seen: Option<Value>,
    pub(super) trigger: Option<TriggerName>,
    pub(super) attempt: Option<u32>,
    #[serde(default)]
    pub(super) dry_run: bool,
    /// The AdmissionRequest without its objects; it makes the request an admission review.
    pub(super) review: Option<Value>,
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
}

/// Only the given fields are compared.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HttpRequest {
    pub(super) method: Option<String>,
    pub(super) url: Option<String>,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    pub(super) json: Option<Value>,
    pub(super) body: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HttpResponse {
    pub(super) status: Option<u16>,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    pub(super) json: Option<Value>,
    pub(super) body: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum FailureName {
    TimedOut,
    Unreachable,
    Denied,
    TooLarge,
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
}

/// Distinguishes `null` from an absent field.
fn named<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(d).map(Some)
}
