//! The status of a primary: what the plugin observed, and the host's Ready condition.

use super::request::Outgoing;
use super::{Author, Identity, WriteError, Writer, applied};
use crate::api::GroupVersionKind;
use crate::informer::Object;
use serde_json::{Map, Value, json};

/// Longest message of a condition, in bytes. The API's own limit is 32768.
const MESSAGE_LIMIT_BYTES: usize = 1024;

/// What the host says of an object in its Ready condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// `True` or `False`.
    pub ready: bool,
    /// UpperCamelCase.
    pub reason: String,
    /// For people.
    pub message: String,
}

impl Writer {
    /// Writes the status if it differs from what is stored. Answers whether it was written.
    ///
    /// * `observed` - the plugin's fields; `None` when it could not observe: its last ones stay.
    /// * `ready` - `None` for plugins without `manageStatus`.
    ///
    /// # Errors
    ///
    /// What the API server answered. An object that is gone is no error.
    pub async fn write_status(
        &self,
        author: &Author,
        kind: &GroupVersionKind,
        object: &Object,
        observed: Option<&Map<String, Value>>,
        ready: Option<&Ready>,
    ) -> Result<bool, WriteError> {
        let stored = applied::owned(object, &author.host_manager(), "status")
            .and_then(|owned| owned.get("status").and_then(Value::as_object).cloned());
        let live: Value = serde_json::from_str(object.json()).unwrap_or_default();
        let live_status = live.get("status").and_then(Value::as_object);
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let Some(wanted) = wanted(object, observed, ready, stored.as_ref(), live_status, &now) else {
            return Ok(false);
        };
        if stored.as_ref() == Some(&wanted) || (stored.is_none() && wanted.is_empty()) {
            return Ok(false);
        }
        let resource = self.resolve(kind).await?;
        let mut metadata = json!({"name": object.key().name, "uid": object.uid()});
        if let (Some(fields), false) = (metadata.as_object_mut(), object.key().namespace.is_empty()) {
            fields.insert("namespace".to_owned(), json!(object.key().namespace));
        }
        let document = json!({
            "apiVersion": kind.api_version(), "kind": kind.kind, "metadata": metadata, "status": wanted,
        });
        let outgoing = Outgoing::new("PATCH", &resource, object.key(), "status")
            .body("application/apply-patch+yaml", &document)
            .identity(Identity::Host)
            .query("fieldManager", &author.host_manager())
            .query("force", "true");
        let under_way = self.own.begin(&author.plugin, object.uid());
        match self.send(author, &resource, outgoing).await {
            Ok(written) => {
                under_way.wrote(object.resource_version(), written.resource_version());
                Ok(true)
            }
            Err(WriteError::NotFound) => Ok(false),
            Err(e) => Err(e),
        }
    }
}

/// The status as it should be stored. `None`: a newer generation was observed already, this view is old.
fn wanted(
    object: &Object,
    observed: Option<&Map<String, Value>>,
    ready: Option<&Ready>,
    stored: Option<&Map<String, Value>>,
    live: Option<&Map<String, Value>>,
    now: &str,
) -> Option<Map<String, Value>> {
    let generation = object.generation().unwrap_or(0);
    let stored_generation = live.and_then(|s| s.get("observedGeneration")).and_then(Value::as_i64).unwrap_or(0);
    if ready.is_some() && stored_generation > generation {
        return None;
    }
    let mut status = observed.or(stored).cloned().unwrap_or_default();
    let mut conditions: Vec<Value> = match status.remove("conditions") {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    };
    let before = |kind: &str| {
        let list = live?.get("conditions")?.as_array()?;
        list.iter().find(|c| c.get("type").and_then(Value::as_str) == Some(kind))
    };
    if let Some(ready) = ready {
        status.insert("observedGeneration".to_owned(), json!(generation));
        conditions.retain(|c| c.get("type").and_then(Value::as_str) != Some("Ready"));
        conditions.push(json!({
            "type": "Ready",
            "status": if ready.ready { "True" } else { "False" },
            "reason": ready.reason,
            "message": crate::shorten(&ready.message, MESSAGE_LIMIT_BYTES),
            "observedGeneration": generation,
        }));
    }
    for condition in &mut conditions {
        date(condition, &before, now);
    }
    if !conditions.is_empty() {
        status.insert("conditions".to_owned(), Value::Array(conditions));
    }
    Some(status)
}

/// Gives a condition the time of its last transition: the stored one while its status is the same, else now.
fn date<'a>(condition: &mut Value, before: &impl Fn(&str) -> Option<&'a Value>, now: &str) {
    let Some(fields) = condition.as_object_mut() else { return };
    if fields.get("lastTransitionTime").is_some_and(|t| t.as_str().is_some_and(|t| !t.is_empty()))
        && fields.get("type").and_then(Value::as_str) != Some("Ready")
    {
        return;
    }
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let time = before(&kind)
        .filter(|old| old.get("status") == fields.get("status"))
        .and_then(|old| old.get("lastTransitionTime"))
        .cloned()
        .unwrap_or_else(|| json!(now));
    fields.insert("lastTransitionTime".to_owned(), time);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(generation: i64, status: &Value) -> Object {
        let doc = json!({"apiVersion": "v1", "kind": "Network",
            "metadata": {"name": "a", "uid": "u", "resourceVersion": "1", "generation": generation}, "status": status});
        Object::parse(&doc.to_string()).unwrap()
    }

    fn ready(ready: bool) -> Ready {
        Ready { ready, reason: "Synced".into(), message: "m".into() }
    }

    fn run(generation: i64, status: &Value, observed: Option<&Value>, ready: Option<&Ready>) -> Option<Value> {
        let object = object(generation, status);
        wanted(&object, observed.and_then(Value::as_object), ready, None, status.as_object(), "NOW").map(Value::Object)
    }

    #[test]
    fn the_transition_time_changes_only_with_the_status() {
        let stored = json!({"observedGeneration": 1, "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": "THEN"}]});
        let same = run(1, &stored, None, Some(&ready(true))).unwrap();
        assert_eq!(same.pointer("/conditions/0/lastTransitionTime").unwrap(), "THEN");
        let changed = run(1, &stored, None, Some(&ready(false))).unwrap();
        assert_eq!(changed.pointer("/conditions/0/lastTransitionTime").unwrap(), "NOW");
    }

    #[test]
    fn s7_an_old_view_does_not_turn_observed_generation_back() {
        assert!(run(1, &json!({"observedGeneration": 2}), None, Some(&ready(true))).is_none());
    }

    #[test]
    fn the_plugin_cannot_speak_for_the_host() {
        let observed = json!({"networkId": "x", "conditions": [{"type": "Ready", "status": "True"}, {"type": "Mine", "status": "True"}]});
        let status = run(3, &json!({}), Some(&observed), Some(&ready(false))).unwrap();
        let kinds: Vec<_> =
            status["conditions"].as_array().unwrap().iter().map(|c| (c["type"].clone(), c["status"].clone())).collect();
        assert_eq!(kinds, [(json!("Mine"), json!("True")), (json!("Ready"), json!("False"))]);
        assert_eq!(status["observedGeneration"], 3);
        assert_eq!(status["networkId"], "x");
    }

    #[test]
    fn nonsense_in_conditions_is_carried_and_does_not_panic() {
        let observed = json!({"conditions": [1, "x", {"type": 7}]});
        assert!(run(1, &json!({"conditions": 3}), Some(&observed), Some(&ready(true))).is_some());
        assert!(run(1, &json!([]), Some(&json!({"conditions": {}})), None).is_some());
    }
}
