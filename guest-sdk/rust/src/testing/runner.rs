//! Runner: reconciles one object as the host does.

use super::world::{Id, Installed, LogLine, World, id_of, kind_of, terminal, with};
use crate::http::{Failure, Request, Response};
use crate::raw::{self, Guest};
use crate::{Adapter, Change, Error, Event, Kind, Reconciler, Severity, Trigger};
use serde::Serialize;
use serde_json::{Value, json};
use std::marker::PhantomData;
use std::time::Duration;

/// Runs a reconciler for one object. The world (objects, cache, clock) persists between reconciles.
///
/// ```
/// # use oarlock_guest::{Context, Manifest, Observation, Outcome, Reconciler, Result, kind, testing::Runner};
/// # use serde_json::{Value, json};
/// # #[derive(Default)] struct Nothing;
/// # impl Reconciler for Nothing {
/// #     type Object = Value; type State = Value;
/// #     fn manifest() -> Manifest { Manifest::new("nothing", "1").primary(kind("v1", "ConfigMap")) }
/// #     fn desired(&self, _: &Context<Value>) -> Result<Option<Value>> { Ok(None) }
/// #     fn actual(&self, _: &Context<Value>) -> Result<Observation<Value>> { Ok(Observation::absent()) }
/// #     fn patch(&self, _: &Context<Value>, _: Option<Value>, _: Option<Value>) -> Result<Outcome> { Ok(Outcome::new()) }
/// # }
/// let report = Runner::<Nothing>::new()
///     .object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}))
///     .reconcile();
/// assert!(report.in_sync());
/// ```
#[derive(Debug)]
pub struct Runner<R> {
    world: World,
    id: Option<Id>,
    uid: String,
    last_seen: Option<Value>,
    attempt: u32,
    reconciler: PhantomData<R>,
}

/// The report of one reconcile.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The desired state.
    pub desired: Option<Value>,
    /// The actual state before the patch.
    pub before: Option<Value>,
    /// The actual state afterwards; equal to `before` without a patch.
    pub after: Option<Value>,
    /// The status fields of the last observation.
    pub status: Option<Value>,
    /// Whether `patch` was called.
    pub patched: bool,
    /// The changes that it returned.
    pub changes: Vec<Change>,
    /// Events to write: only those of a patch whose changes were applied.
    pub events: Vec<Event>,
    /// Warnings for the user (admission).
    pub warnings: Vec<String>,
    /// The error that ended the reconcile.
    pub error: Option<Error>,
    /// The shortest requeue delay.
    pub requeue_after: Option<Duration>,
    /// HTTP requests, in order.
    pub requests: Vec<Request>,
    /// Log lines, in order.
    pub log: Vec<LogLine>,
    /// Whether the object no longer exists, because its finalizer was removed.
    pub gone: bool,
}

impl Report {
    /// Whether there was no error, and nothing is left to do.
    #[must_use]
    pub fn in_sync(&self) -> bool {
        self.error.is_none() && same(self.desired.as_ref(), self.after.as_ref())
    }

    /// The documents of its applies.
    #[must_use]
    pub fn applied(&self) -> Vec<Value> {
        let of = |change: &Change| match change {
            Change::Apply(apply) => serde_json::from_str(&apply.object).ok(),
            Change::Create(_) | Change::Patch(_) | Change::Delete(_) => None,
        };
        self.changes.iter().filter_map(of).collect()
    }

    /// Method and path of its requests, `GET /v2.0/networks` for instance.
    #[must_use]
    pub fn request_lines(&self) -> Vec<String> {
        self.requests.iter().map(|request| format!("{} {}", request.method, request.path())).collect()
    }

    /// `Normal Synced: message` for each event.
    #[must_use]
    pub fn event_lines(&self) -> Vec<String> {
        let line = |event: &Event| {
            let severity = if event.severity == Severity::Normal { "Normal" } else { "Warning" };
            format!("{severity} {}: {}", event.reason, event.message)
        };
        self.events.iter().map(line).collect()
    }
}

impl<R: Reconciler> Default for Runner<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: Reconciler> Runner<R> {
    /// An empty cluster, no configuration, and no HTTP handler.
    #[must_use]
    pub fn new() -> Self {
        let world = World { manifest: Some(R::manifest().document().clone()), ..World::default() };
        Self { world, id: None, uid: String::new(), last_seen: None, attempt: 1, reconciler: PhantomData }
    }

    /// Sets a value of the configuration.
    #[must_use]
    pub fn config(mut self, key: &str, value: impl Into<String>) -> Self {
        self.world.config.insert(key.to_owned(), value.into());
        self
    }

    /// Sets the handler of HTTP requests.
    #[must_use]
    pub fn http(mut self, handler: impl FnMut(&Request) -> Result<Response, Failure> + 'static) -> Self {
        self.world.handler = Some(Box::new(handler));
        self
    }

    /// Returns these responses to the next requests, in order, before the handler is called again.
    pub fn script(&mut self, answers: impl IntoIterator<Item = Result<Response, Failure>>) {
        self.world.scripted.extend(answers);
    }

    /// Creates or replaces the primary object in the cluster. It gets a uid if it has none.
    #[must_use]
    pub fn object(mut self, object: impl Serialize) -> Self {
        self.set_object(object);
        self
    }

    /// The same on a runner in use.
    pub fn set_object(&mut self, object: impl Serialize) {
        if let Some(id) = self.put(object) {
            self.id = Some(id);
        }
    }

    /// Adds another object to the cluster that this plugin did not create.
    #[must_use]
    pub fn seed(mut self, object: impl Serialize) -> Self {
        self.put(object);
        self
    }

    /// Creates or replaces an object, as another client would.
    pub fn put(&mut self, object: impl Serialize) -> Option<Id> {
        let object = serde_json::to_value(object).unwrap_or_default();
        match id_of(&object) {
            Ok(id) => {
                self.world.store(id.clone(), object);
                Some(id)
            }
            Err(error) => {
                self.problem(&error);
                None
            }
        }
    }

    /// Changes the primary object, as its user would.
    pub fn edit(&mut self, change: impl FnOnce(&mut Value)) {
        if let Some((id, mut object)) = self.id.clone().zip(self.current().cloned()) {
            change(&mut object);
            self.world.store(id, object);
        }
    }

    /// Deletes the primary object, as its user would: with a finalizer it stays until that is removed.
    pub fn delete(&mut self) {
        let cleanup = self.world.manifest.as_ref().is_some_and(|manifest| manifest.cleanup);
        let Some(id) = self.id.clone() else { return };
        if cleanup {
            let going = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
            self.edit(|object| json_patch::merge(object, &going));
        } else {
            self.last_seen = self.world.objects.remove(&id);
            self.uid = self.last_seen.as_ref().map(|last| text(last, "/metadata/uid")).unwrap_or_default();
        }
    }

    /// Makes further reconciles dry runs.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.world.dry_run = true;
        self
    }

    /// Advances the clock: values in the cache expire.
    pub fn advance(&mut self, by: Duration) {
        self.world.now_ms = self.world.now_ms.saturating_add(u64::try_from(by.as_millis()).unwrap_or(u64::MAX));
    }

    /// Restarts the host: its in-memory state is lost.
    pub fn restart(&mut self) {
        self.world.cache.clear();
        self.attempt = 1;
    }

    /// The present primary object.
    #[must_use]
    pub fn current(&self) -> Option<&Value> {
        self.world.objects.get(self.id.as_ref()?)
    }

    /// An object of the cluster.
    #[must_use]
    pub fn get(&self, kind: &Kind, namespace: &str, name: &str) -> Option<&Value> {
        self.world.objects.get(&(kind.clone(), namespace.to_owned(), name.to_owned()))
    }

    /// Removes an object of the cluster, as another client would.
    pub fn remove(&mut self, kind: &Kind, namespace: &str, name: &str) -> Option<Value> {
        let id = (kind.clone(), namespace.to_owned(), name.to_owned());
        self.world.applied.remove(&id);
        self.world.objects.remove(&id)
    }

    /// Runs one reconcile.
    pub fn reconcile(&mut self) -> Report {
        let mut report = Report::default();
        let Some(id) = self.id.clone() else {
            report.error = Some(Error::terminal("the runner has no object: call object() first"));
            return report;
        };
        let request = self.request(&id);
        let (log, requests) = (self.world.log.len(), self.world.requests.len());
        let result = {
            let _installed = Installed::new(&mut self.world);
            run::<R>(&request, &mut report, None)
        };
        report.log = self.world.log.get(log..).unwrap_or_default().to_vec();
        report.requests = self.world.requests.get(requests..).unwrap_or_default().to_vec();
        self.attempt = if result.is_ok() { 1 } else { self.attempt.saturating_add(1) };
        report.error = result.err().map(Error::from);
        if report.error.is_none() {
            self.finish(&id, &request, &mut report);
        }
        report
    }

    /// Reconciles until nothing is left to do, at most `limit` times, and returns every report.
    pub fn settle(&mut self, limit: usize) -> Vec<Report> {
        let mut reports: Vec<Report> = Vec::new();
        while reports.len() < limit && !reports.last().is_some_and(|last| last.in_sync() && !last.patched) {
            reports.push(self.reconcile());
            if reports.last().is_some_and(|last| last.gone) {
                break;
            }
        }
        reports
    }

    /// Reviews `object`: `review` is the AdmissionRequest, whose `namespace` and `name` count where the object has none. Also returns the
    /// changed object.
    pub fn admit(&mut self, object: impl Serialize, review: impl Serialize) -> (Report, Value) {
        let mut object = serde_json::to_value(object).unwrap_or_default();
        let review = serde_json::to_value(review).unwrap_or_default();
        let mut report = Report::default();
        let result = under_review(&object, &review).and_then(|id| {
            let mut request = self.request(&id);
            request.uid = text(&object, "/metadata/uid");
            request.object = Some(object.to_string());
            request.last_seen = None;
            request.deleting = object.pointer("/metadata/deletionTimestamp").is_some();
            request.trigger = Trigger::Admission;
            request.review = Some(review.to_string());
            let _installed = Installed::new(&mut self.world);
            run::<R>(&request, &mut report, Some(&mut object))
        });
        report.error = result.err().map(Error::from);
        (report, object)
    }

    fn request(&mut self, id: &Id) -> raw::Request {
        let object = self.world.objects.get(id).cloned();
        if let Some(object) = &object {
            self.uid = text(object, "/metadata/uid");
            self.last_seen = Some(object.clone());
        }
        let going = object.as_ref().is_none_or(|object| object.pointer("/metadata/deletionTimestamp").is_some());
        raw::Request {
            kind: (&id.0).into(),
            key: raw::ObjectKey { namespace: id.1.clone(), name: id.2.clone() },
            uid: self.uid.clone(),
            last_seen: if object.is_none() { self.last_seen.as_ref().map(Value::to_string) } else { None },
            object: object.map(|object| object.to_string()),
            deleting: going,
            trigger: if self.attempt > 1 { Trigger::Retry } else { Trigger::Event },
            attempt: self.attempt,
            correlation_id: "native".to_owned(),
            review: None,
            dry_run: self.world.dry_run,
        }
    }

    /// The host's work afterwards: the status, and the finalizer of a deleting object.
    fn finish(&mut self, id: &Id, request: &raw::Request, report: &mut Report) {
        if self.world.dry_run {
            return;
        }
        if let (Some(status), Some(mut object)) = (&report.status, self.current().cloned()) {
            let before = object.get("status").cloned().unwrap_or_else(|| json!({}));
            let mut after = before.clone();
            json_patch::merge(&mut after, status);
            if after != before {
                json_patch::merge(&mut object, &json!({"status": status}));
                self.world.store(id.clone(), object);
            }
        }
        if request.deleting && request.object.is_some() && report.after.is_none() {
            self.last_seen = self.world.objects.remove(id);
            report.gone = true;
        }
    }

    fn problem(&mut self, error: &raw::Error) {
        let message = Error::from(error.clone()).to_string();
        self.world.log.push(LogLine { level: crate::log::Level::Error, message, fields: Vec::new() });
    }
}

/// The steps of a reconcile: desired, actual, and when they differ patch, the changes, and actual again.
fn run<R: Reconciler>(
    request: &raw::Request,
    report: &mut Report,
    under_review: Option<&mut Value>,
) -> Result<(), raw::Error> {
    let desired = if request.deleting { None } else { Adapter::<R>::get_desired(request.clone())? };
    report.desired = parsed(desired.as_deref())?;
    let actual = observe::<R>(request, report)?;
    report.before.clone_from(&report.after);
    if same(report.desired.as_ref(), report.before.as_ref()) {
        return Ok(());
    }
    report.patched = true;
    let outcome = Adapter::<R>::patch(request.clone(), desired, actual)?;
    report.changes = outcome.changes;
    report.warnings = outcome.warnings;
    earlier(&mut report.requeue_after, outcome.requeue_after_ms);
    if request.dry_run {
        return Ok(());
    }
    let mut request = request.clone();
    let mut under_review = under_review;
    for change in &report.changes {
        with(|world| world.carry_out(change, under_review.as_deref_mut()))?;
    }
    report.events = outcome.events;
    if let Some(object) = under_review {
        request.object = Some(object.to_string());
    }
    observe::<R>(&request, report)?;
    Ok(())
}

fn observe<R: Reconciler>(request: &raw::Request, report: &mut Report) -> Result<Option<String>, raw::Error> {
    let observation = Adapter::<R>::get_actual(request.clone())?;
    report.after = parsed(observation.state.as_deref())?;
    report.status = parsed(observation.status.as_deref())?;
    if report.status.as_ref().is_some_and(|status| !status.is_object()) {
        return Err(terminal("the status is not a JSON object"));
    }
    earlier(&mut report.requeue_after, observation.requeue_after_ms);
    Ok(observation.state)
}

fn earlier(known: &mut Option<Duration>, also_ms: Option<u64>) {
    if let Some(also) = also_ms.map(Duration::from_millis) {
        *known = Some(known.map_or(also, |known| known.min(also)));
    }
}

fn parsed(text: Option<&str>) -> Result<Option<Value>, raw::Error> {
    text.map(serde_json::from_str).transpose().map_err(|error| terminal(format!("not JSON: {error}")))
}

/// Compares JSON values: `1` and `1.0` are equal, null and absent are different.
fn same(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(Value::Number(a)), Some(Value::Number(b))) => a == b || a.as_f64() == b.as_f64(),
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(Some(a), Some(b)))
        }
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            a.len() == b.len() && a.iter().all(|(key, value)| b.contains_key(key) && same(Some(value), b.get(key)))
        }
        (a, b) => a == b,
    }
}

/// The object under review. Its name is empty where the API server will generate it.
fn under_review(object: &Value, review: &Value) -> Result<Id, raw::Error> {
    let told = |field: &str| {
        let own = text(object, &format!("/metadata/{field}"));
        if own.is_empty() { text(review, &format!("/{field}")) } else { own }
    };
    let (namespace, name) = (told("namespace"), told("name"));
    if name.is_empty() && text(object, "/metadata/generateName").is_empty() {
        return id_of(object);
    }
    Ok((kind_of(object), namespace, name))
}

fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}
