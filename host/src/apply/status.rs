//! Status of primaries: the plugin's fields, observedGeneration, and the host's Ready condition.

use super::request::Outgoing;
use super::write_memory::WriteMemory;
use super::{Identity, RequestSender, WriteError, WriteIdentity, applied};
use crate::api::GroupVersionKind;
use crate::informer::Object;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Longest message of a condition, in bytes. The API's own limit is 32768.
const MESSAGE_LIMIT_BYTES: usize = 1024;

/// Attempts to write a status on newer states of the object; then the key has to come back.
const ATTEMPTS: u32 = 4;

/// Status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// The plugin did not look at the object, so that its last observed generation stays.
    Unknown,
}

impl ConditionStatus {
    fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// The Ready condition of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// Whether the object is ready.
    pub status: ConditionStatus,
    /// UpperCamelCase.
    pub reason: String,
    /// Message for people.
    pub message: String,
}

/// Writes the status of primaries, as the host.
#[derive(Clone, Debug)]
pub struct StatusWriter {
    requests: Arc<RequestSender>,
    memory: Arc<WriteMemory>,
}

impl StatusWriter {
    pub(super) fn new(requests: Arc<RequestSender>, memory: Arc<WriteMemory>) -> Self {
        Self { requests, memory }
    }

    /// Writes the status if it differs from the stored one. Returns the object with it; none: nothing was written.
    ///
    /// The write carries the resourceVersion of the compared state, because the API server does not check the uid in a status. After a
    /// concurrent write, the host compares with the new state, unless that is another object of the same name, or its status has a later
    /// generation.
    ///
    /// * `observed` - the plugin's fields; `None` when it could not observe: its last fields stay.
    /// * `ready` - `None` for plugins without `manageStatus`.
    ///
    /// # Errors
    ///
    /// The API server's error. A deleted object is no error.
    pub async fn write(
        &self,
        write_identity: &WriteIdentity,
        kind: &GroupVersionKind,
        object: &Object,
        observed: Option<&Map<String, Value>>,
        ready: Option<&Ready>,
    ) -> Result<Option<Arc<Object>>, WriteError> {
        let mut newest = None;
        for _ in 1..ATTEMPTS {
            let now = newest.as_deref().unwrap_or(object);
            match self.write_on(write_identity, kind, now, object.generation(), observed, ready).await {
                Err(WriteError::Conflict(_)) => {}
                done => return done,
            }
            let read = self.requests.read(write_identity, Identity::Host, kind, object.key()).await?;
            let Some(same) = read.filter(|found| found.uid() == object.uid()) else { return Ok(None) };
            newest = Some(same);
        }
        let now = newest.as_deref().unwrap_or(object);
        self.write_on(write_identity, kind, now, object.generation(), observed, ready).await
    }

    /// One attempt, on exactly this state of the object.
    ///
    /// * `generation` - the generation that the status describes; the object may have a later one by now.
    async fn write_on(
        &self,
        write_identity: &WriteIdentity,
        kind: &GroupVersionKind,
        object: &Object,
        generation: Option<i64>,
        observed: Option<&Map<String, Value>>,
        ready: Option<&Ready>,
    ) -> Result<Option<Arc<Object>>, WriteError> {
        let live: Value = serde_json::from_str(object.json()).unwrap_or_default();
        let mut stored = applied::owned_of(object, &live, &write_identity.host_manager(), "status")
            .and_then(|mut owned| owned.get_mut("status").map(Value::take))
            .and_then(|status| match status {
                Value::Object(fields) => Some(fields),
                _ => None,
            });
        let live_status = live.get("status").and_then(Value::as_object);
        let now = oarlock_simulation::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let Some(wanted) = wanted(generation, observed, ready, stored.as_ref(), live_status, &now) else {
            return Ok(None);
        };
        if let (Some(stored), Some(live)) = (&mut stored, live_status) {
            add_empty_lists(stored, &wanted, live);
        }
        if stored.as_ref() == Some(&wanted) || (stored.is_none() && wanted.is_empty()) {
            return Ok(None);
        }
        let resource = self.requests.resolve(kind).await?;
        let (name, uid, version) = (&object.key().name, object.uid(), object.resource_version());
        let mut metadata = json!({"name": name, "uid": uid, "resourceVersion": version});
        if let (Some(fields), false) = (metadata.as_object_mut(), object.key().namespace.is_empty()) {
            fields.insert("namespace".to_owned(), json!(object.key().namespace));
        }
        let mut document = json!({"apiVersion": kind.api_version(), "kind": kind.kind, "metadata": metadata});
        // An empty status would stay as one, although the object may have had none before.
        if let Some(fields) = document.as_object_mut().filter(|_| !wanted.is_empty()) {
            fields.insert("status".to_owned(), Value::Object(wanted));
        }
        let outgoing = Outgoing::new("PATCH", &resource, object.key(), "status")
            .body("application/apply-patch+yaml", &document)
            .identity(Identity::Host)
            .query("fieldManager", &write_identity.host_manager())
            .query("force", "true");
        let under_way = self.memory.echoes().begin(&write_identity.plugin, object.uid());
        match self.requests.send_for_object(write_identity, outgoing).await {
            Ok(written) => {
                self.memory.wrote(write_identity, &resource.gvk, &written);
                under_way.wrote(object.resource_version(), written.resource_version());
                Ok(Some(Arc::new(written)))
            }
            Err(WriteError::NotFound(_)) => Ok(None),
            Err(e) => Err(e),
        }
    }
}

/// Adds the empty lists that are stored as they are wanted: a list with keys has an owner for each of its items, and without items none.
fn add_empty_lists(stored: &mut Map<String, Value>, wanted: &Map<String, Value>, live: &Map<String, Value>) {
    for (name, wanted) in wanted {
        match (wanted, live.get(name), stored.get_mut(name)) {
            (Value::Array(wanted), Some(Value::Array(live)), None) if wanted.is_empty() && live.is_empty() => {
                stored.insert(name.clone(), json!([]));
            }
            (Value::Object(wanted), Some(Value::Object(live)), Some(Value::Object(stored))) => {
                add_empty_lists(stored, wanted, live);
            }
            _ => {}
        }
    }
}

/// The status that should be stored. `None`: a newer generation was observed already, so this one is outdated.
fn wanted(
    generation: Option<i64>,
    observed: Option<&Map<String, Value>>,
    ready: Option<&Ready>,
    stored: Option<&Map<String, Value>>,
    live: Option<&Map<String, Value>>,
    now: &str,
) -> Option<Map<String, Value>> {
    let generation = generation.unwrap_or(0);
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
        if ready.status != ConditionStatus::Unknown {
            status.insert("observedGeneration".to_owned(), json!(generation));
        }
        conditions.retain(|c| c.get("type").and_then(Value::as_str) != Some("Ready"));
        conditions.push(json!({
            "type": "Ready",
            "status": ready.status.as_str(),
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

/// Sets lastTransitionTime of a condition: the stored time while its status is the same, otherwise now.
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
    use crate::apply::Writer;
    use std::sync::Mutex;

    /// A state of an object, as a server returns it.
    fn state(uid: &str, version: &str, generation: i64, status: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n", "uid": uid,
            "resourceVersion": version, "generation": generation}, "status": status})
    }

    /// Writes the status of the first state to a server with these responses. Returns the requests, and the result.
    async fn write(answers: &[(u16, Value)]) -> (Vec<Value>, Result<Option<Arc<Object>>, WriteError>) {
        let answers = Arc::new(Mutex::new(answers.iter().rev().cloned().collect::<Vec<_>>()));
        let sent = Arc::new(Mutex::new(Vec::new()));
        let journal = Arc::clone(&sent);
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let (answers, journal) = (Arc::clone(&answers), Arc::clone(&journal));
            async move {
                let (head, body) = request.into_parts();
                let (status, answer) = if head.uri.path() == "/api/v1" {
                    let resource = json!({"name": "configmaps", "singularName": "", "namespaced": true, "kind": "ConfigMap", "verbs": ["get"]});
                    (200, json!({"kind": "APIResourceList", "groupVersion": "v1", "resources": [resource]}))
                } else {
                    if head.method == "PATCH" {
                        let body = body.collect_bytes().await.unwrap();
                        journal.lock().unwrap().push(serde_json::from_slice::<Value>(&body).unwrap());
                    }
                    answers.lock().unwrap().pop().unwrap()
                };
                let body = kube::client::Body::from(answer.to_string().into_bytes());
                Ok::<_, std::convert::Infallible>(http::Response::builder().status(status).body(body).unwrap())
            }
        });
        let client = kube::Client::new(service, "default");
        let discovery = crate::api::Discovery::new(client.clone());
        let informers = crate::informer::Informers::new(client.clone(), discovery.clone());
        let writer = Writer::new(client, discovery, informers, crate::metrics::Metrics::new());
        let write_identity = WriteIdentity::new("p", Arc::new(crate::grants::Grants::none()));
        let first = Object::parse(&state("u", "1", 1, &json!({})).to_string()).unwrap();
        let kind = GroupVersionKind::new("", "v1", "ConfigMap");
        let outcome = writer.status().write(&write_identity, &kind, &first, None, Some(&ready(true))).await;
        let sent = sent.lock().unwrap().clone();
        (sent, outcome)
    }

    #[test]
    fn an_empty_list_that_is_stored_needs_no_write() {
        let map = |value: Value| value.as_object().unwrap().clone();
        let wanted = map(json!({"pods": 0, "listed": [], "of": {"more": []}, "new": []}));
        let live = map(json!({"pods": 0, "listed": [], "of": {"more": []}, "new": ["x"]}));
        let mut stored = map(json!({"pods": 0, "of": {}}));
        add_empty_lists(&mut stored, &wanted, &live);
        assert_eq!(stored, map(json!({"pods": 0, "listed": [], "of": {"more": []}})));
    }

    fn modified() -> (u16, Value) {
        (409, json!({"message": "Operation cannot be fulfilled: the object has been modified"}))
    }

    #[tokio::test]
    async fn s6_a_status_is_not_written_to_another_object_of_the_name() {
        let (sent, outcome) = write(&[modified(), (200, state("v", "9", 1, &json!({})))]).await;
        assert!(outcome.unwrap().is_none());
        let versions: Vec<_> = sent.iter().map(|body| body["metadata"]["resourceVersion"].clone()).collect();
        assert_eq!(versions, ["1"], "bound to the state it was made for");
        let (_, outcome) = write(&[modified(), (404, json!({}))]).await;
        assert!(outcome.unwrap().is_none(), "an object that is gone is no error");
    }

    #[tokio::test]
    async fn s7_a_status_that_was_overtaken_is_written_on_the_newest_state_for_its_own_generation() {
        let newer = state("u", "9", 2, &json!({"observedGeneration": 1}));
        let (sent, outcome) = write(&[modified(), (200, newer.clone()), (200, newer)]).await;
        assert!(outcome.unwrap().is_some());
        assert_eq!(
            (&sent[1]["metadata"]["resourceVersion"], &sent[1]["status"]["observedGeneration"]),
            (&json!("9"), &json!(1))
        );
        let (sent, outcome) = write(&[modified(), (200, state("u", "9", 2, &json!({"observedGeneration": 2})))]).await;
        assert!(outcome.unwrap().is_none());
        assert_eq!(sent.len(), 1, "the status is of a later generation by now");
    }

    #[tokio::test]
    async fn a_status_that_is_overtaken_again_and_again_is_a_conflict() {
        let newer = (200, state("u", "9", 1, &json!({})));
        let answers = [modified(), newer].into_iter().cycle().take(7).collect::<Vec<_>>();
        let (sent, outcome) = write(&answers).await;
        assert!(matches!(outcome, Err(WriteError::Conflict(_))), "{outcome:?}");
        assert_eq!(sent.len(), 4);
    }

    fn ready(ready: bool) -> Ready {
        let status = if ready { ConditionStatus::True } else { ConditionStatus::False };
        Ready { status, reason: "Synced".into(), message: "m".into() }
    }

    fn run(generation: i64, status: &Value, observed: Option<&Value>, ready: Option<&Ready>) -> Option<Value> {
        let observed = observed.and_then(Value::as_object);
        wanted(Some(generation), observed, ready, None, status.as_object(), "NOW").map(Value::Object)
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
    fn a_condition_that_nobody_looked_for_leaves_the_observed_generation() {
        let unknown = Ready { status: ConditionStatus::Unknown, reason: "Paused".into(), message: "m".into() };
        let stored = json!({"observedGeneration": 1, "networkId": "x", "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": "THEN"}]});
        let status = wanted(Some(3), None, Some(&unknown), stored.as_object(), stored.as_object(), "NOW").unwrap();
        assert_eq!((&status["observedGeneration"], &status["networkId"]), (&json!(1), &json!("x")));
        let condition = json!([{"type": "Ready", "status": "Unknown", "reason": "Paused", "message": "m",
            "observedGeneration": 3, "lastTransitionTime": "NOW"}]);
        assert_eq!(status["conditions"], condition);
        let never = run(3, &json!({}), None, Some(&unknown)).unwrap();
        assert!(never.get("observedGeneration").is_none(), "{never}");
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
