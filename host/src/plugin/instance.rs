//! Plugin instance: the component in a live store for one reconcile, with limits, deadline and validated results.

mod answer;
mod convert;
mod footprint;
mod guest_output;
mod state;
mod store;

pub(super) use convert::{key_from, kind_from};
pub use state::{Guest, Run};
pub(super) use state::{Shared, State};

use super::bindings;
use super::call::{CallError, Observation, Outcome, Request, State as PluginState};
use super::engine::Engine;
use super::load::Component;
use super::offload::CpuMeter;
use crate::secrets::KnownSecrets;
use crate::telemetry::{Span, carry};
use answer::CallResult;
use convert::{event, guest_error, requeue, said, to_wit};
use futures::future::BoxFuture;
use oarlock_merge::steps::Budget;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use store::{enter, failure, store};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use wasmtime::Store;

/// Time after the deadline in which a guest that waits in an import can return; then its store is dropped.
const GRACE: Duration = Duration::from_secs(1);

/// Longest message of a guest in bytes; the rest is cut off.
const MESSAGE_LIMIT_BYTES: usize = 1024;

/// Most changes and events in one result of patch.
const MOST_CHANGES: usize = 1000;

/// A store that can be entered. The current call owns it, or else its [`Instance`].
struct Live {
    store: Store<State>,
    plugin: bindings::Plugin,
    converter: Option<bindings::Converter>,
    /// Dropped last: the permit is released after the store is gone.
    _room: OwnedSemaphorePermit,
}

impl Live {
    /// The secrets that the guest knows.
    fn secrets(&self) -> &KnownSecrets {
        &self.store.data().guest.secrets
    }

    /// The error that a call returned.
    fn guest_error(&self, error: bindings::types::Error) -> CallError {
        guest_error(error, self.secrets())
    }

    /// The guest gets to know the Secret of a request.
    fn learn(&self, about: Option<&Request>) {
        let documents = about.map(|request| [&request.object, &request.last_seen]);
        let documents = documents.into_iter().flatten().flatten();
        documents.for_each(|document| self.secrets().learn_secret(document));
    }
}

/// A request about a Secret. None: it is about another object.
fn secret_of(request: &Request) -> Option<Request> {
    request.kind.is_secret().then(|| request.clone())
}

/// A live instance. Its store is dropped, and never entered again, after a call that trapped, was interrupted, returned an invalid result
/// or was abandoned.
pub struct Instance {
    engine: Engine,
    shared: Arc<Shared>,
    meter: Arc<CpuMeter>,
    live: Option<Box<Live>>,
    /// Time limit of all calls of one reconcile together, in seconds.
    deadline_seconds: u32,
    /// The remaining time.
    left: Duration,
    /// The whole time at the beginning.
    granted: Duration,
    /// Time lost to others: the call could compute but had no thread, while its own plugin did not compute either.
    starved: Duration,
    /// The desired state of this reconcile.
    desired: Option<PluginState>,
    /// The number of reconciles served.
    served: u32,
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance").field("live", &self.live.is_some()).finish_non_exhaustive()
    }
}

impl Instance {
    /// Instantiates `component`. The instantiation counts against the time of its calls.
    ///
    /// # Errors
    ///
    /// The start function trapped, the component exceeds a limit at once, or the pool has no room.
    pub(super) async fn new(
        component: &Component,
        guest: Guest,
        shared: Arc<Shared>,
        run: Run,
    ) -> Result<Self, CallError> {
        const CALL: &str = "its start";
        let engine = component.engine().clone();
        let deadline_seconds = guest.grants.limits().deadline_seconds;
        let left = time_for(deadline_seconds, &run);
        let waited = tokio::time::timeout(left, Arc::clone(engine.instances()).acquire_owned()).await;
        let Ok(Ok(room)) = waited else {
            let message = "the host has no room for another instance".to_owned();
            return Err(CallError::Transient { delay: None, message });
        };
        let meter = Arc::new(CpuMeter::new());
        let state = State::new(guest, run, Arc::clone(&shared), Arc::clone(&meter), Instant::now() + left);
        let (raw, component, ticking) = (engine.raw().clone(), component.clone(), engine.clock().ticking());
        let mut instance = Self {
            engine,
            shared,
            meter,
            live: None,
            deadline_seconds,
            left,
            granted: left,
            starved: Duration::ZERO,
            desired: None,
            served: 1,
        };
        let started: BoxFuture<'static, _> = Box::pin(async move {
            let _ticking = ticking;
            let mut store = store(&raw, state);
            match enter(&component, &mut store).await {
                Ok((plugin, converter)) => Ok(Box::new(Live { store, plugin, converter, _room: room })),
                Err(e) => Err(failure(&store, CALL, &e)),
            }
        });
        instance.live = Some(instance.timed(CALL, started).await??);
        Ok(instance)
    }

    /// Begins another reconcile with the rest of the last one. False: no store is left to enter.
    pub(super) fn begin(&mut self, run: Run) -> bool {
        self.left = time_for(self.deadline_seconds, &run);
        (self.granted, self.starved, self.desired) = (self.left, Duration::ZERO, None);
        let Some(live) = &mut self.live else { return false };
        live.store.data_mut().begin(run, self.served as usize);
        self.served += 1;
        true
    }

    /// Whether the guest answered every call, so that the instance can serve another reconcile.
    pub(super) fn is_sound(&self) -> bool {
        self.live.is_some()
    }

    /// Whether the calls depend on nothing but their arguments, the observed reads, the configuration and the code: on no response over
    /// HTTP, time, random number, read from the API server, kept value, or earlier reconcile.
    #[must_use]
    pub fn depends_on_reads_only(&self) -> bool {
        self.live.as_ref().is_some_and(|live| !live.store.data().saw_outside)
    }

    /// The number of reconciles served, including this one.
    pub(super) fn served(&self) -> u32 {
        self.served
    }

    /// Bytes of all its memories.
    pub(super) fn memory_bytes(&self) -> usize {
        self.live.as_ref().map_or(0, |live| live.store.data().memory_bytes())
    }

    /// Calls `describe` for the manifest.
    ///
    /// # Errors
    ///
    /// See [`CallError`].
    pub(super) async fn describe(&mut self) -> Result<String, CallError> {
        const CALL: &str = "describe";
        self.call(CALL, |live| {
            Box::pin(async move {
                let answered = live.plugin.oarlock_reconciler_reconcile().call_describe(&mut live.store).await;
                let text = answered.map_err(|e| failure(&live.store, CALL, &e))?;
                CallResult::check(CALL, live.store.data(), text.len()).await?;
                Ok(text)
            })
        })
        .await
    }

    /// Calls `get-desired` for the desired state.
    ///
    /// # Errors
    ///
    /// See [`CallError`].
    pub async fn get_desired(&mut self, request: &Request) -> Result<Option<PluginState>, CallError> {
        const CALL: &str = "get-desired";
        let (about, request) = (secret_of(request), to_wit(request));
        let desired = self.call(CALL, move |live| {
            Box::pin(async move {
                live.learn(about.as_ref());
                let guest = live.plugin.oarlock_reconciler_reconcile();
                let answered = guest.call_get_desired(&mut live.store, &request).await;
                let desired = answered.map_err(|e| failure(&live.store, CALL, &e))?.map_err(|e| live.guest_error(e))?;
                let bytes = desired.as_ref().map_or(0, String::len);
                let answer = CallResult::check(CALL, live.store.data(), bytes).await?;
                desired.map(|text| answer.state("the desired state", text, None)).transpose()
            })
        });
        self.desired = desired.await?;
        Ok(self.desired.clone())
    }

    /// Calls `get-actual` for the actual state.
    ///
    /// # Errors
    ///
    /// See [`CallError`].
    pub async fn get_actual(&mut self, request: &Request) -> Result<Observation, CallError> {
        const CALL: &str = "get-actual";
        let (about, request, desired) = (secret_of(request), to_wit(request), self.desired.clone());
        self.call(CALL, move |live| {
            Box::pin(async move {
                live.learn(about.as_ref());
                let guest = live.plugin.oarlock_reconciler_reconcile();
                let answered = guest.call_get_actual(&mut live.store, &request).await;
                let observed =
                    answered.map_err(|e| failure(&live.store, CALL, &e))?.map_err(|e| live.guest_error(e))?;
                let bytes = observed.state.iter().chain(&observed.status).map(String::len).sum();
                let answer = CallResult::check(CALL, live.store.data(), bytes).await?;
                let state = observed.state.map(|text| answer.state("the actual state", text, desired)).transpose()?;
                let status = match observed.status.map(|text| answer.json("the status", &text)).transpose()? {
                    None => None,
                    Some(Value::Object(fields)) => Some(fields),
                    Some(_) => return Err(bad(CALL, "a status that is not a JSON object".to_owned())),
                };
                Ok(Observation { state, status, requeue_after: requeue(observed.requeue_after_ms) })
            })
        })
        .await
    }

    /// Asks for the changes from `actual` to `desired`, each in the plugin's own words.
    ///
    /// # Errors
    ///
    /// See [`CallError`].
    pub async fn patch(
        &mut self,
        request: &Request,
        desired: Option<&PluginState>,
        actual: Option<&PluginState>,
    ) -> Result<Outcome, CallError> {
        const CALL: &str = "patch";
        let (about, request) = (request.clone(), to_wit(request));
        let (desired, actual) = (desired.map(|s| s.text().to_owned()), actual.map(|s| s.text().to_owned()));
        self.call(CALL, move |live| {
            Box::pin(async move {
                let guest = live.plugin.oarlock_reconciler_reconcile();
                let answered = guest.call_patch(&mut live.store, &request, desired.as_ref(), actual.as_ref()).await;
                let outcome = answered.map_err(|e| failure(&live.store, CALL, &e))?.map_err(|e| live.guest_error(e))?;
                let lists = [outcome.changes.len(), outcome.events.len(), outcome.warnings.len()];
                if lists.iter().any(|length| *length > MOST_CHANGES) {
                    return Err(bad(CALL, format!("more than {MOST_CHANGES} changes, events or warnings")));
                }
                let documents = outcome.changes.iter().map(convert::document_bytes);
                let texts = outcome.events.iter().map(|e| e.reason.len() + e.message.len());
                let bytes = documents.chain(texts).chain(outcome.warnings.iter().map(String::len)).sum();
                let answer = CallResult::check(CALL, live.store.data(), bytes).await?;
                let json = |what: &str, text: &str| answer.json(what, text);
                let (ours, others): (Vec<_>, Vec<_>) =
                    outcome.changes.into_iter().partition(|change| convert::of_reviewed(change, &about));
                let patches = ours.into_iter().filter_map(|c| convert::reviewed(c, json).transpose());
                let patches = patches.collect::<Result<_, _>>()?;
                let changes = others.into_iter().map(|c| convert::change(c, json)).collect::<Result<_, _>>()?;
                let secrets = live.secrets();
                let events = outcome.events.iter().map(|e| event(e, secrets)).collect();
                let warnings = outcome.warnings.iter().map(|text| said(secrets, text)).collect();
                Ok(Outcome { changes, patches, warnings, events, requeue_after: requeue(outcome.requeue_after_ms) })
            })
        })
        .await
    }

    /// Converts an object. Returns it with its size in bytes of JSON.
    ///
    /// # Errors
    ///
    /// [`CallError::Terminal`] with the guest's own words when it cannot convert the object; see [`CallError`] for others.
    pub async fn convert(&mut self, object: String, desired: String) -> Result<(Value, usize), CallError> {
        const CALL: &str = "convert";
        self.call(CALL, move |live| {
            Box::pin(async move {
                let Some(guest) = &live.converter else {
                    return Err(bad(CALL, "no such export".to_owned()));
                };
                let guest = guest.oarlock_reconciler_conversion();
                let answered = guest.call_convert(&mut live.store, &object, &desired).await;
                let converted = answered.map_err(|e| failure(&live.store, CALL, &e))?;
                let bytes = converted.as_ref().map_or_else(String::len, String::len);
                let answer = CallResult::check(CALL, live.store.data(), bytes).await?;
                match converted {
                    Ok(text) => answer.json("the converted object", &text).map(|value| (value, bytes)),
                    Err(why) => Err(CallError::Terminal(said(live.secrets(), &why))),
                }
            })
        })
        .await
    }

    /// Enters the store. Unless the guest returns a result or an error, the store is gone afterwards.
    async fn call<T: Send + 'static>(
        &mut self,
        call: &'static str,
        work: impl for<'a> FnOnce(&'a mut Live) -> BoxFuture<'a, Result<T, CallError>> + Send + 'static,
    ) -> Result<T, CallError> {
        let Some(mut live) = self.live.take() else {
            return Err(CallError::Trap { call, reason: "the instance is gone".to_owned() });
        };
        if self.left.is_zero() {
            return Err(self.late(call));
        }
        live.store.data_mut().enter(call);
        live.store.data_mut().deadline = Instant::now() + self.left;
        live.store.set_epoch_deadline(1);
        let ticking = self.engine.clock().ticking();
        let entered: BoxFuture<'static, _> = Box::pin(async move {
            let _ticking = ticking;
            let answer = work(&mut live).await.map_err(|error| error.hidden(live.secrets()));
            live.store.data_mut().end_of_call();
            let sound = answer.as_ref().err().is_none_or(|e| e.cause().is_none());
            // An unsound store is dropped here, where it ran.
            (sound.then_some(live), answer)
        });
        let span = Span::internal(call);
        let answered = match span.within(self.timed(call, entered)).await {
            Ok((live, answer)) => {
                self.live = live;
                answer
            }
            Err(late) => Err(late),
        };
        answered.map_err(|error| {
            let error = if let CallError::Deadline { call, .. } = error { self.late(call) } else { error };
            span.fail(error.kind());
            error
        })
    }

    /// Computes for a guest's call in the host: away from the threads that serve, in the guest's remaining time.
    ///
    /// # Errors
    ///
    /// [`CallError::Deadline`] or [`CallError::Starved`]: the time did not suffice.
    pub async fn run_blocking<T: Send + 'static>(
        &mut self,
        call: &'static str,
        work: impl FnOnce(&Budget<'_>) -> T + Send + 'static,
    ) -> Result<T, CallError> {
        let (began, before) = (Instant::now(), self.shared.slot.computed());
        self.meter.start(self.meter.is_offloaded());
        let offload_pool = self.engine.offload_pool();
        let answer = offload_pool.run_blocking(&self.shared.slot, &self.meter, began + self.left, work).await;
        self.spend(began, before);
        if answer.is_none() {
            self.left = Duration::ZERO;
        }
        answer.ok_or_else(|| self.late(call))
    }

    /// Subtracts the time since `began` from the remaining time.
    ///
    /// * `before` - the plugin's computing time at that moment.
    fn spend(&mut self, began: Instant, before: Duration) {
        self.left = self.left.saturating_sub(began.elapsed());
        let own = self.shared.slot.computed().saturating_sub(before).saturating_sub(self.meter.computed());
        self.starved += self.meter.waited().saturating_sub(own);
    }

    /// The error of a missed deadline. The plugin's computing time decides whether it is the plugin's own fault.
    pub fn late(&self, call: &'static str) -> CallError {
        let seconds = self.deadline_seconds;
        if self.starved > self.granted / 2 {
            return CallError::Starved { call, seconds };
        }
        CallError::Deadline { call, seconds }
    }

    /// Runs work that enters the store, and subtracts its time from the remaining time.
    async fn timed<T: Send + 'static>(
        &mut self,
        call: &'static str,
        work: BoxFuture<'static, T>,
    ) -> Result<T, CallError> {
        let (began, before) = (Instant::now(), self.shared.slot.computed());
        let driven = self.engine.offload_pool().run(&self.shared.slot, &self.meter, carry(work));
        let answered = tokio::time::timeout(self.left + GRACE, driven).await;
        self.spend(began, before);
        answered.map_err(|_elapsed| self.late(call))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Releasing much memory takes long.
        if let Some(live) = self.live.take()
            && self.meter.is_offloaded()
        {
            self.engine.offload_pool().drop_offloaded(live);
        }
    }
}

/// The time limit of all calls of a run.
fn time_for(deadline_seconds: u32, run: &Run) -> Duration {
    let granted = Duration::from_secs(u64::from(deadline_seconds));
    run.at_most.map_or(granted, |at_most| granted.min(at_most))
}

fn bad(call: &'static str, reason: String) -> CallError {
    CallError::BadAnswer { call, reason }
}
