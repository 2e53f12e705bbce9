//! One live store: a component instantiated for one reconcile, with its memory limit, its deadline and its answers checked.

mod convert;

pub(super) use convert::{key_from, kind_from};

use super::bindings;
use super::cache::Cache;
use super::call::{CallError, Observation, Outcome, Request};
use super::load::Component;
use super::{HttpGate, Reads};
use crate::grants::Grants;
use convert::{event, guest_error, requeue, to_wit};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use wasmtime::{ResourceLimiter, Store, UpdateDeadline};

/// After the deadline a guest that waits in an import gets this long to be noticed; then its store is dropped.
const GRACE: Duration = Duration::from_secs(1);

/// Messages of guests are cut to this many bytes.
const MESSAGE_LIMIT_BYTES: usize = 1024;

/// Most changes and events in one outcome.
const MOST_CHANGES: usize = 1000;

/// What an instance may use and whom it speaks for. The same for all instances of a plugin's version.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Plugin name.
    pub plugin: String,
    /// What it may do.
    pub grants: Arc<Grants>,
    /// The values it keeps.
    pub cache: Arc<Cache>,
    /// Its way out.
    pub http: HttpGate,
    /// Counters.
    pub metrics: crate::metrics::PluginMetrics,
}

/// One reconcile: what its imports need beyond the [`Guest`].
#[derive(Clone, Debug)]
pub struct Run {
    /// What the plugin reads of the cluster. None: only `describe` is asked, with no import but log.
    pub reads: Option<Arc<Reads>>,
    /// For the log.
    pub key: String,
    /// For the log.
    pub correlation_id: String,
    /// Refuse requests that could change something.
    pub dry_run: bool,
}

/// What lives in a store beside the guest.
pub(super) struct State {
    pub(super) guest: Guest,
    pub(super) run: Run,
    pub(super) memory: MemoryLimit,
    pub(super) deadline: Instant,
    pub(super) log_lines: u32,
    pub(super) http_requests: u32,
    /// Ends with the store, and so with the instance's memory.
    _counted: crate::metrics::Counted,
}

/// Counts all linear memories of a store together.
pub(super) struct MemoryLimit {
    limit: usize,
    used: usize,
    refused: bool,
}

impl ResourceLimiter for MemoryLimit {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        // Called for each memory of the component: the sum is ours to keep.
        let total = self.used.saturating_sub(current).saturating_add(desired);
        if total > self.limit {
            self.refused = true;
            return Ok(false);
        }
        self.used = total;
        Ok(true)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= 20_000)
    }
}

/// A live instance. Thrown away after its reconcile, and never used again once a call was interrupted.
pub struct Instance {
    store: Store<State>,
    plugin: bindings::Plugin,
    broken: bool,
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance").field("broken", &self.broken).finish_non_exhaustive()
    }
}

impl Instance {
    /// Instantiates `component`; its deadline begins now.
    ///
    /// # Errors
    ///
    /// Its start function trapped, or it needs more memory than it may have before it does anything.
    pub async fn new(component: &Component, guest: Guest, run: Run) -> Result<Self, CallError> {
        const CALL: &str = "its start";
        let limits = guest.grants.limits().clone();
        let limit = usize::try_from(limits.memory_mib).unwrap_or(usize::MAX).saturating_mul(1 << 20);
        let deadline = Instant::now() + Duration::from_secs(u64::from(limits.deadline_seconds));
        let state = State {
            _counted: guest.metrics.instance(),
            guest,
            run,
            memory: MemoryLimit { limit: limit.min(super::engine::MAX_MEMORY_BYTES), used: 0, refused: false },
            deadline,
            log_lines: 0,
            http_requests: 0,
        };
        let mut store = Store::new(component.engine(), state);
        store.limiter(|state| &mut state.memory);
        // What a guest hands over is copied into the host: no more than it could hold itself.
        store.set_hostcall_fuel(limit.saturating_mul(2));
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|context| {
            if Instant::now() >= context.data().deadline {
                return Ok(UpdateDeadline::Interrupt);
            }
            Ok(UpdateDeadline::Yield(1))
        });
        let started = tokio::time::timeout_at(deadline + GRACE, component.pre().instantiate_async(&mut store)).await;
        match started {
            Ok(Ok(plugin)) => Ok(Self { store, plugin, broken: false }),
            Ok(Err(e)) => Err(failure(&store, CALL, &e)),
            Err(_elapsed) => Err(late(&store, CALL)),
        }
    }

    /// Asks for the manifest.
    ///
    /// # Errors
    ///
    /// See [`CallError`].
    pub async fn describe(&mut self) -> Result<String, CallError> {
        let until = self.until()?;
        let call = self.plugin.oarlock_reconciler_reconcile().call_describe(&mut self.store);
        let answered = tokio::time::timeout_at(until, call).await;
        self.settle("describe", answered)
    }

    /// Asks for the desired state.
    ///
    /// # Errors
    ///
    /// See [`CallError`].
    pub async fn get_desired(&mut self, request: &Request) -> Result<Option<Value>, CallError> {
        const CALL: &str = "get-desired";
        let request = to_wit(request);
        let until = self.until()?;
        let call = self.plugin.oarlock_reconciler_reconcile().call_get_desired(&mut self.store, &request);
        let answered = tokio::time::timeout_at(until, call).await;
        let desired = self.settle(CALL, answered)?.map_err(guest_error)?;
        desired.map(|text| self.json(CALL, "the desired state", &text)).transpose()
    }

    /// Asks for the actual state.
    ///
    /// # Errors
    ///
    /// See [`CallError`].
    pub async fn get_actual(&mut self, request: &Request) -> Result<Observation, CallError> {
        const CALL: &str = "get-actual";
        let request = to_wit(request);
        let until = self.until()?;
        let call = self.plugin.oarlock_reconciler_reconcile().call_get_actual(&mut self.store, &request);
        let answered = tokio::time::timeout_at(until, call).await;
        let observed = self.settle(CALL, answered)?.map_err(guest_error)?;
        let state = observed.state.map(|text| self.json(CALL, "the actual state", &text)).transpose()?;
        let status = match observed.status.map(|text| self.json(CALL, "the status", &text)).transpose()? {
            None => None,
            Some(Value::Object(fields)) => Some(fields),
            Some(_) => return Err(bad(CALL, "a status that is not a JSON object".to_owned())),
        };
        Ok(Observation { state, status, requeue_after: requeue(observed.requeue_after_ms) })
    }

    /// Asks for the changes from `actual` to `desired`.
    ///
    /// # Errors
    ///
    /// See [`CallError`].
    pub async fn patch(
        &mut self,
        request: &Request,
        desired: Option<&Value>,
        actual: Option<&Value>,
    ) -> Result<Outcome, CallError> {
        const CALL: &str = "patch";
        let request = to_wit(request);
        let (desired, actual) = (desired.map(Value::to_string), actual.map(Value::to_string));
        let until = self.until()?;
        let call = self.plugin.oarlock_reconciler_reconcile().call_patch(
            &mut self.store,
            &request,
            desired.as_ref(),
            actual.as_ref(),
        );
        let answered = tokio::time::timeout_at(until, call).await;
        let outcome = self.settle(CALL, answered)?.map_err(guest_error)?;
        if outcome.changes.len() > MOST_CHANGES || outcome.events.len() > MOST_CHANGES {
            return Err(bad(CALL, format!("more than {MOST_CHANGES} changes or events")));
        }
        let changes = outcome
            .changes
            .into_iter()
            .map(|c| convert::change(c, |what, text| self.json(CALL, what, text)))
            .collect::<Result<_, _>>()?;
        let events = outcome.events.into_iter().map(event).collect();
        Ok(Outcome { changes, events, requeue_after: requeue(outcome.requeue_after_ms) })
    }

    /// When to give up on a call.
    fn until(&self) -> Result<Instant, CallError> {
        if self.broken {
            return Err(CallError::Trap { call: "a call after a trap", reason: "the instance is gone".to_owned() });
        }
        Ok(self.store.data().deadline + GRACE)
    }

    /// Tells an answer from a trap. After anything but an answer the store is not entered again.
    fn settle<T>(
        &mut self,
        call: &'static str,
        answered: Result<wasmtime::Result<T>, tokio::time::error::Elapsed>,
    ) -> Result<T, CallError> {
        match answered {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(e)) => {
                self.broken = true;
                Err(failure(&self.store, call, &e))
            }
            Err(_elapsed) => {
                self.broken = true;
                Err(late(&self.store, call))
            }
        }
    }

    fn json(&self, call: &'static str, what: &str, text: &str) -> Result<Value, CallError> {
        let limit = usize::try_from(self.store.data().guest.grants.limits().answer_kib).unwrap_or(usize::MAX) << 10;
        if text.len() > limit {
            return Err(bad(
                call,
                format!("{what} of {} KiB; at most {} KiB are taken (limits.answerKib)", text.len() >> 10, limit >> 10),
            ));
        }
        serde_json::from_str(text).map_err(|e| bad(call, format!("{what} that is not JSON: {e}")))
    }
}

fn failure(store: &Store<State>, call: &'static str, error: &wasmtime::Error) -> CallError {
    let state = store.data();
    // A guest that is refused memory mostly aborts; that it was refused is what its author needs to know.
    if state.memory.refused {
        return CallError::Memory { call, mib: state.guest.grants.limits().memory_mib };
    }
    if matches!(error.downcast_ref::<wasmtime::Trap>(), Some(wasmtime::Trap::Interrupt)) {
        return late(store, call);
    }
    let reason = match error.downcast_ref::<wasmtime::Trap>() {
        Some(trap) => trap.to_string(),
        None => format!("{error:#}"),
    };
    CallError::Trap { call, reason: crate::shorten(&reason, MESSAGE_LIMIT_BYTES).to_owned() }
}

fn late(store: &Store<State>, call: &'static str) -> CallError {
    CallError::Deadline { call, seconds: store.data().guest.grants.limits().deadline_seconds }
}

fn bad(call: &'static str, reason: String) -> CallError {
    CallError::BadAnswer { call, reason }
}
