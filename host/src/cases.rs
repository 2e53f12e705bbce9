//! Recorded cases: tests of one reconcile of a plugin file in any language, without a cluster.
//!
//! A case is a YAML file with the request, the readable objects, the HTTP exchanges, and the expected results. The plugin runs in the
//! sandbox with the grant that its manifest asks for.

mod answers;
mod format;
mod verdict;

use crate::api::{GroupVersionKind, ObjectKey};
use crate::controller::same_state;
use crate::grants::Grants;
use crate::informer::Object;
use crate::lease::LeadershipGuard;
use crate::metrics::Metrics;
use crate::plugin::cache::Cache;
use crate::plugin::recorded::{Exchange, RecordedHttp, RecordedObjects};
use crate::plugin::{
    CallError, Component, Engine, Guest, HttpFailure, HttpGate, Instance, LoadError, Pool, Reads, Request, Run,
    Trigger, inspect, load,
};
use answers::Answers;
use bytes::Bytes;
use format::{Case, ExchangeText, FailureName, HttpRequest, TriggerName};
use oarlock_manifest::PluginManifest;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Why a case cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The text is no case.
    #[error("not a case: {0}")]
    Format(String),
    /// An object in the case is invalid.
    #[error("{place}: {reason}")]
    Object {
        /// Its path in the case.
        place: String,
        /// The fault.
        reason: String,
    },
}

/// A plugin to run cases with.
#[derive(Debug)]
pub struct Player {
    component: Component,
    manifest: PluginManifest,
    metrics: Metrics,
}

/// The result of a case.
#[derive(Clone, Debug)]
pub struct Played {
    /// The differences from the expectation, one line each. Empty: the case passes.
    pub differences: Vec<String>,
    /// The plugin's results, in the format of a case's `expect`.
    pub answered: Value,
}

/// A plugin with the objects of a case.
#[derive(Debug)]
pub struct Stage {
    /// The pool of its instances.
    pub pool: Pool,
    /// The request of the case.
    pub request: Request,
    run: Run,
}

impl Stage {
    /// An instance for one reconcile.
    ///
    /// # Errors
    ///
    /// See [`Pool::take`].
    pub async fn instance(&self) -> Result<Instance, CallError> {
        self.pool.take(self.run.clone()).await
    }
}

impl Player {
    /// Loads the plugin.
    ///
    /// # Errors
    ///
    /// See [`LoadError`].
    pub async fn new(engine: &Engine, file: &str, bytes: Vec<u8>) -> Result<Self, LoadError> {
        let metrics = Metrics::new();
        let guest = inspect::describe_guest(&metrics, &HttpGate::new(), file);
        let (component, manifest) = load(engine, bytes, &guest).await?;
        Ok(Self { component, manifest, metrics })
    }

    /// Runs one case.
    ///
    /// * `text` - YAML.
    ///
    /// # Errors
    ///
    /// See [`CaseError`]: the text is no case. Faults of the plugin are in [`Played::differences`].
    pub async fn play(&self, text: &str) -> Result<Played, CaseError> {
        let case = parse(text)?;
        let exchanges = RecordedHttp::new(case.http.iter().map(exchange));
        let stage = self.set(&case, HttpGate::recorded(exchanges.clone()), 0)?;
        let mut answers = Answers::default();
        let ended = match stage.instance().await {
            Ok(mut instance) => converse(&mut instance, &stage.request, &mut answers).await,
            Err(error) => Err(error),
        };
        if let Err(error) = &ended {
            answers.error(error);
        }
        let mut differences = verdict::differences(&case.expect, &answers);
        differences.extend(exchanges.faults().into_iter().map(|fault| format!("http: {fault}")));
        Ok(Played { differences, answered: answers.fields.into() })
    }

    /// Prepares a case for repeated calls of the plugin. Its expectation and its HTTP exchanges do not count.
    ///
    /// * `text` - YAML.
    /// * `instance_reuses` - `limits.instanceReuses`.
    ///
    /// # Errors
    ///
    /// See [`CaseError`].
    pub fn stage(&self, text: &str, instance_reuses: u32) -> Result<Stage, CaseError> {
        self.set(&parse(text)?, HttpGate::recorded(RecordedHttp::default()), instance_reuses)
    }

    fn set(&self, case: &Case, http: HttpGate, instance_reuses: u32) -> Result<Stage, CaseError> {
        let mut grant = Grants::asked(&self.manifest, case.config.clone(), &|_| None);
        grant.limits.instance_reuses = instance_reuses;
        let grants = Grants::new(&grant, Path::new("")).map_err(|e| CaseError::Format(crate::chain(&e)))?;
        let grants = Arc::new(grants);
        let (request, primary) = request(case)?;
        let objects = self.objects(case, &grants, primary)?;
        let guest = Guest {
            plugin: self.manifest.name.clone(),
            grants,
            cache: Arc::new(Cache::default()),
            http,
            metrics: self.metrics.plugin(&self.manifest.name),
        };
        let run = Run {
            reads: Some(Arc::new(Reads::recorded(&self.manifest, objects))),
            observer: None,
            key: request.key.to_string(),
            correlation_id: request.correlation_id.clone(),
            dry_run: request.dry_run,
            at_most: None,
            guard: LeadershipGuard::for_ever(),
        };
        let pool = Pool::new(self.component.clone(), guest, u32::from(instance_reuses > 0));
        Ok(Stage { pool, request, run })
    }

    fn objects(&self, case: &Case, grants: &Arc<Grants>, primary: Option<Value>) -> Result<RecordedObjects, CaseError> {
        let mut objects = RecordedObjects::new(&self.manifest, Arc::clone(grants));
        let places = [("applied", &case.applied), ("cluster", &case.cluster)];
        let listed = places.into_iter().flat_map(|(place, list)| {
            list.iter().enumerate().map(move |(i, document)| (format!("{place}[{i}]"), place, document))
        });
        for (place, list, document) in listed {
            let (kind, object) = object(&place, document)?;
            if list == "applied" {
                objects.applied(kind.clone(), object.key().clone(), document);
            }
            objects.insert(kind, object);
        }
        if let Some(document) = primary {
            let (kind, object) = object("request.object", &document)?;
            objects.insert(kind, object);
        }
        Ok(objects)
    }
}

/// Calls get-desired, get-actual and, where they differ, patch, as the host does.
async fn converse(instance: &mut Instance, request: &Request, answers: &mut Answers) -> Result<(), CallError> {
    let gone = request.deleting || request.object.is_none();
    let desired = if gone { None } else { instance.get_desired(request).await? };
    answers.set("desired", desired.as_deref().cloned());
    let observed = instance.get_actual(request).await?;
    answers.set("actual", observed.state.as_deref().cloned());
    answers.set("status", observed.status.map(Value::from));
    answers.set("requeueAfterMs", observed.requeue_after.map(crate::milliseconds));
    answers.set("changes", Vec::<Value>::new());
    if same_state(desired.as_deref(), observed.state.as_deref()) {
        return Ok(());
    }
    let outcome = instance.patch(request, desired.as_ref(), observed.state.as_ref()).await?;
    answers.outcome(&outcome);
    Ok(())
}

fn parse(text: &str) -> Result<Case, CaseError> {
    serde_saphyr::from_str(text).map_err(|e| CaseError::Format(e.to_string()))
}

/// The request, and its object for the caches.
fn request(case: &Case) -> Result<(Request, Option<Value>), CaseError> {
    let asked = &case.request;
    let of = asked.object.as_ref().or(asked.last_seen.as_ref());
    let (mut kind, mut key, mut uid, mut deleting) = Default::default();
    if let Some(document) = of {
        let (of_kind, of_object) = object("request.object", document)?;
        deleting = of_object.deleting();
        uid = of_object.uid().to_owned();
        (kind, key) = (Some(of_kind), Some(of_object.key().clone()));
    }
    if let Some(named) = &asked.kind {
        kind = Some(GroupVersionKind::new(named.group.as_str(), named.version.as_str(), named.kind.as_str()));
    }
    if let Some(named) = &asked.key {
        key = Some(ObjectKey::new(named.namespace.as_str(), named.name.as_str()));
    }
    let (Some(kind), Some(key)) = (kind, key) else {
        return Err(CaseError::Format("request names no object: it needs object, or kind and key".to_owned()));
    };
    let admission = asked.review.is_some();
    let text = |document: &Value| Arc::<str>::from(document.to_string());
    let request = Request {
        kind,
        key,
        uid: asked.uid.clone().unwrap_or(uid),
        object: asked.object.as_ref().map(text),
        last_seen: asked.last_seen.as_ref().map(text),
        deleting: deleting && !admission,
        trigger: match asked.trigger {
            None | Some(TriggerName::Event | TriggerName::Admission) => Trigger::Event,
            Some(TriggerName::InitialList) => Trigger::InitialList,
            Some(TriggerName::Resync) => Trigger::Resync,
            Some(TriggerName::Requeue) => Trigger::Requeue,
            Some(TriggerName::Retry) => Trigger::Retry,
            Some(TriggerName::Swap) => Trigger::Swap,
        },
        attempt: asked.attempt.unwrap_or(1),
        correlation_id: "case".to_owned(),
        review: asked.review.as_ref().map(text),
        dry_run: asked.dry_run,
    };
    // An object under review is not stored yet.
    let stored = asked.object.clone().filter(|_| !admission);
    Ok((request, stored))
}

fn object(place: &str, document: &Value) -> Result<(GroupVersionKind, Object), CaseError> {
    let fault = |reason: String| CaseError::Object { place: place.to_owned(), reason };
    let text = |field: &str| document.get(field).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if api_version.is_empty() || kind.is_empty() {
        return Err(fault("an object without apiVersion or kind".to_owned()));
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let object = Object::parse(&document.to_string()).map_err(|e| fault(e.reason))?;
    Ok((GroupVersionKind::new(group, version, kind), object))
}

fn exchange(text: &ExchangeText) -> Exchange {
    let wanted = text.request.clone();
    let answer = match text.failure {
        Some(FailureName::TimedOut) => Err(HttpFailure::TimedOut),
        Some(FailureName::Unreachable) => Err(HttpFailure::Unreachable("no connection".to_owned())),
        Some(FailureName::Denied) => Err(HttpFailure::Invalid("denied".to_owned())),
        Some(FailureName::TooLarge) => Err(HttpFailure::TooLarge(0)),
        None => answer(text),
    };
    Exchange { faults: Box::new(move |head, body| request_faults(&wanted, head, body)), answer }
}

fn answer(text: &ExchangeText) -> Result<http::Response<Bytes>, HttpFailure> {
    let response = text.response.clone().unwrap_or_default();
    let mut answer = http::Response::builder().status(response.status.unwrap_or(200));
    for (name, value) in &response.headers {
        answer = answer.header(name, value);
    }
    let body = match (response.json, response.body) {
        (Some(json), _) => {
            if !response.headers.keys().any(|name| name.eq_ignore_ascii_case("content-type")) {
                answer = answer.header("content-type", "application/json");
            }
            json.to_string()
        }
        (None, body) => body.unwrap_or_default(),
    };
    answer.body(Bytes::from(body)).map_err(|e| HttpFailure::Invalid(format!("the case's response makes no sense: {e}")))
}

/// The faults of a request compared with the case.
fn request_faults(wanted: &HttpRequest, head: &http::request::Parts, body: &Bytes) -> Vec<String> {
    let mut faults = Vec::new();
    let mut compare = |what: &str, wanted: Option<&str>, found: &str| {
        if let Some(wanted) = wanted
            && wanted != found
        {
            faults.push(format!("{what}: expected {wanted:?}, found {found:?}"));
        }
    };
    compare("method", wanted.method.as_deref(), head.method.as_str());
    compare("url", wanted.url.as_deref(), &head.uri.to_string());
    compare("body", wanted.body.as_deref(), &String::from_utf8_lossy(body));
    for (name, value) in &wanted.headers {
        let found = head.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
        compare(&format!("header {name}"), Some(value), found);
    }
    if let Some(json) = &wanted.json {
        let found = serde_json::from_slice::<Value>(body).unwrap_or(Value::Null);
        if !same_state(Some(json), Some(&found)) {
            faults.push(format!("json: expected {json}, found {found}"));
        }
    }
    faults
}
