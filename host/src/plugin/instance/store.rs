//! The store of an instance: made with every limit, entered, and read after a failure.

use super::convert::said;
use super::footprint::Refused;
use super::state::State;
use crate::plugin::bindings;
use crate::plugin::call::CallError;
use crate::plugin::clock::TICK;
use crate::plugin::load::Component;
use tokio::time::Instant;
use wasmtime::{Store, UpdateDeadline};

/// wasmtime's message when a guest passes more than its store's fuel for host calls; the error type is not public.
const HANDED_TOO_MUCH: &str = "fuel allocated for hostcalls has been exhausted";

/// Instantiates a component, and finds its exports.
pub(super) async fn enter(
    component: &Component,
    store: &mut Store<State>,
) -> wasmtime::Result<(bindings::Plugin, Option<bindings::Converter>)> {
    let instance = component.pre().instantiate_async(&mut *store).await?;
    let plugin = component.plugin().load(&mut *store, &instance)?;
    let converter = component.converter().map(|converter| converter.load(&mut *store, &instance)).transpose()?;
    Ok((plugin, converter))
}

/// An empty store with every limit set.
pub(super) fn store(engine: &wasmtime::Engine, state: State) -> Store<State> {
    let limits = state.limits();
    // The host copies all data that a guest passes to it.
    let handed_kib = limits.answer_kib.max(limits.http_request_kib) as usize;
    let mut store = Store::new(engine, state);
    store.limiter(|state| &mut state.footprint);
    store.set_hostcall_fuel(handed_kib.saturating_mul(2 << 10));
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|context| {
        let state = context.data();
        if oarlock_simulation::is_running() {
            // The simulated clock stands while a guest computes: its ticks count. One expiry ends every computation.
            let left = state.deadline.saturating_duration_since(Instant::now());
            let over = state.meter.simulated_tick() >= left || oarlock_simulation::is_expired();
            if !over {
                // After a yield other tasks would go on, and where a tick falls depends on the machine.
                return Ok(UpdateDeadline::Continue(1));
            }
            oarlock_simulation::interrupted(|| state.too_late());
            return Ok(UpdateDeadline::Interrupt);
        }
        if Instant::now() >= state.deadline {
            return Ok(UpdateDeadline::Interrupt);
        }
        // A guest that just returned from a wait has not computed for a tick, whatever the epoch says.
        if state.meter.since_entered() < TICK / 2 {
            return Ok(UpdateDeadline::Continue(1));
        }
        state.meter.offload();
        state.meter.yielded();
        Ok(UpdateDeadline::Yield(1))
    });
    store
}

/// Why a call failed, from the error and the state of its store.
pub(super) fn failure(store: &Store<State>, call: &'static str, error: &wasmtime::Error) -> CallError {
    let state = store.data();
    let (trap, limits) = (error.downcast_ref::<wasmtime::Trap>(), state.limits());
    if matches!(trap, Some(wasmtime::Trap::Interrupt)) {
        return CallError::Deadline { call, seconds: limits.deadline_seconds };
    }
    // A guest that is refused memory usually aborts; its author needs to know of the refusal.
    match state.footprint.refused() {
        Some(Refused::Memory) => return CallError::Memory { call, mib: limits.memory_mib },
        Some(Refused::Table) => return CallError::Table { call, elements: limits.table_elements },
        None => {}
    }
    // The error chain above the cause contains offsets in the guest's code, which do not help a reader.
    let reason = trap.map_or_else(|| error.root_cause().to_string(), ToString::to_string);
    if reason.contains(HANDED_TOO_MUCH) {
        return CallError::HandedTooMuch { call, kib: store.hostcall_fuel() >> 10 };
    }
    // The guest's own message is in its author's words; the trap's reason adds little.
    let reason = match (state.error_lines(), trap) {
        (Some(words), Some(_)) => format!("{words} ({reason})"),
        (Some(words), None) => format!("{reason}; it said: {words}"),
        (None, _) => reason,
    };
    CallError::Trap { call, reason: said(&state.guest.secrets, &reason) }
}
