//! The words of steps: names, times and expectations, for people and for requests.

use super::format::{ExpectedEvent, For, ObjectRef, Severity, Wait};
use oarlock::api::GroupVersionKind;
use serde_json::{Value, json};
use std::time::Duration;

/// A length of time as a scenario writes it: `1h30m`.
pub(super) fn shown(span: Duration) -> String {
    let (seconds, millis) = (span.as_secs(), span.subsec_millis());
    let parts = [(seconds / 3600, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s"), (millis.into(), "ms")];
    let text: String = parts.iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n}{unit}")).collect();
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// The name of an object; a nameless part of one has none.
pub(super) fn named(document: &Value) -> ObjectRef {
    let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    ObjectRef {
        api_version: text("/apiVersion"),
        kind: text("/kind"),
        namespace: text("/metadata/namespace"),
        name: text("/metadata/name"),
    }
}

/// An event in the words of a scenario.
pub(super) fn event(event: &Value) -> Value {
    let text = |field: &str| event.get(field).and_then(Value::as_str).unwrap_or_default();
    let severity = if text("type") == "Warning" { "warning" } else { "normal" };
    let mut found = json!({"severity": severity, "reason": text("reason"), "message": text("message")});
    let count = event.get("count").and_then(Value::as_u64).unwrap_or(1);
    if let Some(fields) = found.as_object_mut()
        && count > 1
    {
        fields.insert("count".to_owned(), count.into());
    }
    found
}

pub(super) fn none_or(list: &str) -> &str {
    if list.is_empty() { "none" } else { list }
}

impl ObjectRef {
    pub(super) fn gvk(&self) -> GroupVersionKind {
        GroupVersionKind::from_api_version(&self.api_version, &*self.kind)
    }
}

impl std::fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kind, namespace, name, .. } = self;
        match (namespace.is_empty(), name.is_empty()) {
            (_, true) => write!(f, "{kind}"),
            (true, false) => write!(f, "{kind} {name}"),
            (false, false) => write!(f, "{kind} {namespace}/{name}"),
        }
    }
}

impl ExpectedEvent {
    pub(super) fn fits(&self, found: &Value) -> bool {
        let text = |field: &str| found.get(field).and_then(Value::as_str).unwrap_or_default();
        let same = |expected: &Option<String>, field: &str| expected.as_deref().is_none_or(|own| own == text(field));
        let severity = self.severity.is_none_or(|severity| severity.as_str() == text("severity"));
        let count = self.count.is_none_or(|count| found.get("count").and_then(Value::as_u64).unwrap_or(1) == count);
        severity && count && same(&self.reason, "reason") && same(&self.message, "message")
    }
}

impl std::fmt::Display for ExpectedEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let severity = self.severity.map(|severity| json!(severity.as_str()));
        let fields = [
            ("severity", severity),
            ("reason", self.reason.as_ref().map(|reason| json!(reason))),
            ("message", self.message.as_ref().map(|message| json!(message))),
            ("count", self.count.map(|count| json!(count))),
        ];
        let fields = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        write!(f, "{}", Value::Object(fields.collect()))
    }
}

impl Severity {
    fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Warning => "warning",
        }
    }
}

impl Wait {
    pub(super) fn named(&self) -> ObjectRef {
        ObjectRef {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }
}

impl For {
    /// Why the object is not as expected. None: it is.
    pub(super) fn unmet(&self, object: Option<&Value>) -> Option<String> {
        let Some(object) = object else {
            return self.deletion.is_none().then(|| "no such object".to_owned());
        };
        if let Some(condition) = &self.condition {
            let wanted = condition.value.as_deref().unwrap_or("True");
            let conditions = object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
            let text = |of: &Value, field: &str| of.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
            let found = conditions.into_iter().find(|one| text(one, "type") == condition.name);
            let Some(found) = found else {
                return Some(format!("condition {}: expected {wanted}, found none", condition.name));
            };
            let (status, reason, message) = (text(found, "status"), text(found, "reason"), text(found, "message"));
            let line =
                || format!("condition {}: expected {wanted}, found {status} ({reason}: {message})", condition.name);
            return (!status.eq_ignore_ascii_case(wanted)).then(line);
        }
        if let Some(expected) = &self.json_path {
            let path = oarlock_jsonpath::JsonPath::parse(&expected.path).ok()?;
            let found = path.first(object);
            let text = found.map(|found| found.as_str().map_or_else(|| found.to_string(), str::to_owned));
            let met = match &expected.value {
                None => text.is_some(),
                Some(wanted) => text.as_ref() == Some(wanted),
            };
            let wanted = expected.value.as_deref().unwrap_or("any value");
            let line = || format!("{}: expected {wanted}, found {}", expected.path, text.as_deref().unwrap_or("none"));
            return (!met).then(line);
        }
        let finalizers = object.pointer("/metadata/finalizers").cloned().unwrap_or_else(|| json!([]));
        Some(format!("it exists, with the finalizers {finalizers}"))
    }
}

impl std::fmt::Display for For {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.condition, &self.json_path) {
            (Some(condition), _) => write!(f, "condition {}", condition.name),
            (_, Some(path)) => write!(f, "{}", path.path),
            _ => f.write_str("deletion"),
        }
    }
}
