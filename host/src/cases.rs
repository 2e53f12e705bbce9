//! Recorded cases: tests of one reconcile of a plugin file in any language, without a cluster.
//!
//! A case is a YAML file with the request, the readable objects, the HTTP exchanges, and the expected results. The plugin runs in the
//! sandbox with the grant that its manifest asks for.

mod answers;
mod export;
mod format;
pub(crate) mod fuzzing;
mod replay;
mod service;
mod stubs;
mod verdict;

pub use export::{ExportError, RecordedCase, VERSION, recorded_case, recorded_states};
pub use stubs::{ExpectedRequest, HttpRequests, StubText, expected, stubs_of};

use crate::api::{GroupVersionKind, ObjectKey};
use crate::controller::same_state;
use crate::grants::Grants;
use crate::informer::Object;
use crate::lease::LeadershipGuard;
use crate::metrics::Metrics;
use crate::plugin::cache::Cache;
use crate::plugin::recorded::{Exchange, RecordedHttp, RecordedObjects};
use crate::plugin::replay::Replay;
use crate::plugin::tape::Sent;
use crate::plugin::{
    CallError, Component, Engine, Guest, HttpFailure, HttpGate, Instance, LoadError, Pool, Reads, Request, Run,
    Trigger, inspect, load,
};
use crate::secrets::json::Json;
use crate::secrets::{KnownSecrets, same_text};
use answers::Answers;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use format::{Case, CaseRequest, ExchangeText, FailureName, HttpRequest, HttpResponse, Peek, TriggerName};
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
    /// A field of the case is invalid.
    #[error("{place}: {reason}")]
    Object {
        /// Its path in the case.
        place: String,
        /// The fault.
        reason: String,
    },
    /// A recording of another version of this program.
    #[error(
        "recorded.version: {found}, but this oarlock reads version {VERSION}: replay the case with the oarlock that recorded it"
    )]
    Version {
        /// The version of the case.
        found: String,
    },
    /// A recording without its end.
    #[error("complete: missing, so the end of the recording is lost: copy the whole file")]
    Truncated,
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
    /// Earlier reconciles of the instance, and whether get-actual was called again.
    before: Vec<(Request, Arc<Replay>, bool)>,
    /// Whether get-actual is called again after patch.
    again: bool,
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

    /// The instance for the reconcile of the case, after the earlier ones. A failure of an earlier one does not count: it happened.
    async fn prepared(&self) -> Result<Instance, CallError> {
        for (request, replay, again) in &self.before {
            let run = Run {
                key: request.key.to_string(),
                correlation_id: request.correlation_id.clone(),
                replay: Some(Arc::clone(replay)),
                ..self.run.clone()
            };
            let mut instance = self.pool.take(run).await?;
            let _ended = converse(&mut instance, request, *again, &mut Answers::default()).await;
            self.pool.give_back(instance);
        }
        self.instance().await
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
        let reuses = u32::try_from(case.before.len()).unwrap_or(u32::MAX);
        let stage = self.set(&case, HttpGate::recorded(exchanges.clone()), reuses)?;
        let mut answers = Answers::default();
        let ended = match stage.prepared().await {
            Ok(mut instance) => converse(&mut instance, &stage.request, stage.again, &mut answers).await,
            Err(error) => Err(error),
        };
        if let Err(error) = &ended {
            answers.error(error);
        }
        let mut differences = verdict::differences(&case.expect, &answers, case.recorded.is_some());
        if case.recorded.is_none() {
            differences.extend(exchanges.faults().into_iter().map(|fault| format!("http: {fault}")));
        }
        differences.extend(stage.run.replay.iter().flat_map(|replay| replay.faults()));
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
        grant.limits = case.limits.clone().unwrap_or(grant.limits);
        grant.limits.instance_reuses = instance_reuses;
        let grants = Grants::new(&grant, Path::new("")).map_err(|e| CaseError::Format(crate::chain(&e)))?;
        let grants = Arc::new(grants);
        let admission = case.request.review.is_some();
        let (request, object) = request("request", &case.request)?;
        // An object under review is not stored yet.
        let primary = object.filter(|_| !admission);
        let before = case.before.iter().enumerate().map(|(i, before)| {
            let place = format!("before[{i}]");
            let (request, _) = self::request(&format!("{place}.request"), &before.request)?;
            Ok((request, replay::of_before(&place, before)?, before.again))
        });
        let before = before.collect::<Result<_, CaseError>>()?;
        let objects = self.objects(case, &grants, primary)?;
        let guest = Guest {
            plugin: self.manifest.name.clone(),
            grants,
            cache: Arc::new(Cache::default()),
            secrets: Arc::new(KnownSecrets::off()),
            http,
            metrics: self.metrics.plugin(&self.manifest.name),
        };
        let run = Run {
            reads: Some(Arc::new(Reads::recorded(&self.manifest, objects))),
            observer: None,
            key: request.key.to_string(),
            correlation_id: request.correlation_id.clone(),
            dry_run: request.dry_run,
            withheld: None,
            forgets: false,
            at_most: None,
            guard: LeadershipGuard::for_ever(),
            tape: None,
            replay: replay::of_case(case)?,
        };
        let pool = Pool::new(self.component.clone(), guest, u32::from(instance_reuses > 0));
        // Only patch has events, and after it only this call can fail.
        let failed_again = case.recorded.is_some() && case.expect.error.is_some() && case.expect.events.is_some();
        Ok(Stage { pool, request, run, before, again: case.expect.after.is_some() || failed_again })
    }

    fn objects(&self, case: &Case, grants: &Arc<Grants>, primary: Option<Json>) -> Result<RecordedObjects, CaseError> {
        let mut objects = RecordedObjects::new(&self.manifest, Arc::clone(grants));
        let places = [("applied", &case.applied), ("cluster", &case.cluster)];
        let listed = places.into_iter().flat_map(|(place, list)| {
            list.iter().enumerate().map(move |(i, document)| (format!("{place}[{i}]"), place, document))
        });
        for (place, list, document) in listed {
            let (kind, object) = object(&place, document)?;
            if list == "applied" {
                objects.applied(kind.clone(), object.key().clone(), document.document_text());
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
///
/// * `again` - whether get-actual is called again after patch.
async fn converse(
    instance: &mut Instance,
    request: &Request,
    again: bool,
    answers: &mut Answers,
) -> Result<(), CallError> {
    let gone = request.deleting || request.object.is_none();
    let desired = if gone { None } else { instance.get_desired(request).await? };
    answers.desired(desired.as_ref());
    let observed = instance.get_actual(request).await?;
    answers.observed(&observed);
    if same_state(desired.as_deref(), observed.state.as_deref()) {
        return Ok(());
    }
    let outcome = instance.patch(request, desired.as_ref(), observed.state.as_ref()).await?;
    answers.outcome(&outcome);
    if again {
        let after = instance.get_actual(request).await?;
        answers.after(&after);
    }
    Ok(())
}

fn parse(text: &str) -> Result<Case, CaseError> {
    let peek: Peek = serde_saphyr::from_str(text).map_err(|e| CaseError::Format(e.to_string()))?;
    if let Some(header) = &peek.recorded
        && header.version != Some(VERSION.into())
    {
        let found = header.version.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
        return Err(CaseError::Version { found });
    }
    let mut place = None;
    let case = serde_saphyr::with_deserializer_from_str(text, |from| {
        serde_path_to_error::deserialize(from).map_err(|error| {
            place = Some(error.path().to_string());
            error.into_inner()
        })
    });
    let case: Case = case.map_err(|e| match place {
        Some(place) if place != "." => CaseError::Object { place, reason: e.to_string() },
        _ => CaseError::Format(e.to_string()),
    })?;
    if case.recorded.is_some() && !case.complete {
        return Err(CaseError::Truncated);
    }
    Ok(case)
}

/// The request at `place` in the case, and its object.
fn request(place: &str, asked: &CaseRequest) -> Result<(Request, Option<Json>), CaseError> {
    let (mut kind, mut key, mut uid) = Default::default();
    // As for a host: an object that is gone is being deleted.
    let mut deleting = asked.object.is_none();
    for (field, document) in [("object", &asked.object), ("lastSeen", &asked.last_seen)] {
        let Some(document) = document else { continue };
        let (of_kind, of_object) = object(&format!("{place}.{field}"), document)?;
        deleting |= of_object.deleting();
        of_object.uid().clone_into(&mut uid);
        (kind, key) = (Some(of_kind), Some(of_object.key().clone()));
        break;
    }
    if let Some(named) = &asked.kind {
        kind = Some(GroupVersionKind::new(named.group.as_str(), named.version.as_str(), named.kind.as_str()));
    }
    if let Some(named) = &asked.key {
        key = Some(ObjectKey::new(named.namespace.as_str(), named.name.as_str()));
    }
    let (Some(kind), Some(key)) = (kind, key) else {
        let reason = "names no object: it needs object, or kind and key".to_owned();
        return Err(CaseError::Object { place: place.to_owned(), reason });
    };
    let admission = asked.review.is_some();
    let text = |document: &Json| Arc::<str>::from(document.document_text());
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
        correlation_id: asked.correlation_id.clone().unwrap_or_else(|| "case".to_owned()),
        review: asked.review.as_ref().map(text),
        dry_run: asked.dry_run,
    };
    Ok((request, asked.object.clone()))
}

fn object(place: &str, document: &Json) -> Result<(GroupVersionKind, Object), CaseError> {
    let fault = |reason: String| CaseError::Object { place: place.to_owned(), reason };
    let text = document.document_text();
    let parsed = match document {
        Json::Text(text) => Json::parse(text).ok_or_else(|| fault("a text that is not JSON".to_owned()))?,
        other => other.clone(),
    };
    let (api_version, kind) =
        (parsed.text_of("apiVersion").unwrap_or_default(), parsed.text_of("kind").unwrap_or_default());
    if api_version.is_empty() || kind.is_empty() {
        return Err(fault("an object without apiVersion or kind".to_owned()));
    }
    let object = Object::parse(&text).map_err(|e| fault(e.reason))?;
    Ok((GroupVersionKind::from_api_version(api_version, kind), object))
}

fn exchange(text: &ExchangeText) -> Exchange {
    let wanted = text.request.clone();
    let answer = match text.failure {
        Some(name) => Err(failure(name, None, 0)),
        None => response(text.response.clone().unwrap_or_default()).map_err(HttpFailure::Invalid),
    };
    Exchange { faults: Box::new(move |head, body| request_faults(&wanted, &Sent::of(head, body.clone()))), answer }
}

/// * `message` - the reason, where the failure has one.
fn failure(name: FailureName, message: Option<&str>, limit: u64) -> HttpFailure {
    match name {
        FailureName::TimedOut => HttpFailure::TimedOut,
        FailureName::Unreachable => HttpFailure::Unreachable(message.unwrap_or("no connection").to_owned()),
        FailureName::Denied | FailureName::Invalid => HttpFailure::Invalid(message.unwrap_or("denied").to_owned()),
        FailureName::TooLarge => HttpFailure::TooLarge(limit),
    }
}

/// A response that a person wrote: one in JSON has the type of JSON, unless it has another one.
fn response(mut response: HttpResponse) -> Result<http::Response<Bytes>, String> {
    let headers = &mut response.headers.0;
    if response.json.is_some() && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    recorded_response(response)
}

/// A response as it was recorded.
fn recorded_response(response: HttpResponse) -> Result<http::Response<Bytes>, String> {
    let mut answer = http::Response::builder().status(response.status.unwrap_or(200));
    for (name, value) in &response.headers.0 {
        answer = answer.header(name, value);
    }
    let body = match (response.json, response.base64, response.body) {
        (Some(json), None, None) => json.to_string().into_bytes(),
        (None, Some(encoded), None) => {
            STANDARD.decode(encoded).map_err(|e| format!("response.base64: no base64: {e}"))?
        }
        (None, None, body) => body.unwrap_or_default().into_bytes(),
        _ => return Err("response: has more than one of json, body and base64".to_owned()),
    };
    answer.body(Bytes::from(body)).map_err(|e| format!("the case's response makes no sense: {e}"))
}

/// The faults of a request compared with the case.
fn request_faults(wanted: &HttpRequest, sent: &Sent) -> Vec<String> {
    let mut faults = Vec::new();
    let mut compare = |what: &str, wanted: Option<&str>, found: &str| {
        if let Some(wanted) = wanted
            && !same_text(wanted, found)
        {
            faults.push(format!("{what}: expected {wanted:?}, found {found:?}"));
        }
    };
    compare("method", wanted.method.as_deref(), &sent.method);
    compare("url", wanted.url.as_deref(), &sent.url);
    compare("body", wanted.body.as_deref(), &String::from_utf8_lossy(&sent.body));
    compare("body (base64)", wanted.base64.as_deref(), &STANDARD.encode(&sent.body));
    let of = |headers: &[(String, String)], name: &str| {
        let values = headers.iter().filter(|(of, _)| of.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str());
        values.collect::<Vec<_>>().join(", ")
    };
    let mut names: Vec<&String> = wanted.headers.0.iter().map(|(name, _)| name).collect();
    names.dedup();
    for name in names {
        compare(&format!("header {name}"), Some(&of(&wanted.headers.0, name)), &of(&sent.headers, name));
    }
    if let Some(json) = &wanted.json {
        let found = serde_json::from_slice::<Value>(&sent.body).unwrap_or(Value::Null);
        faults.extend(verdict::compared("json", json, &found));
    }
    faults
}
