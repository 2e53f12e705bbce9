//! Events: stored in the form of the core group, also served as `events.k8s.io/v1`.

use serde_json::{Map, Value};

/// Field names in the core group and in `events.k8s.io`.
const RENAMED: &[(&str, &str)] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("count", "deprecatedCount"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("source", "deprecatedSource"),
];

fn rename(value: &Value, name: impl Fn(&str) -> Option<&'static str>) -> Map<String, Value> {
    let members = value.as_object().into_iter().flatten();
    members.map(|(k, v)| (name(k).map_or_else(|| k.clone(), str::to_owned), v.clone())).collect()
}

/// The form of `events.k8s.io`.
pub(crate) fn to_new(core: &Value) -> Value {
    let mut out = rename(core, |k| RENAMED.iter().find(|(old, _)| *old == k).map(|(_, new)| *new));
    for key in ["reportingController", "reportingInstance", "note"] {
        if out.get(key).and_then(Value::as_str) == Some("") {
            out.remove(key);
        }
    }
    Value::Object(out)
}

/// The form of the core group.
pub(crate) fn to_core(new: &Value) -> Value {
    Value::Object(rename(new, |k| RENAMED.iter().find(|(_, n)| *n == k).map(|(old, _)| *old)))
}
