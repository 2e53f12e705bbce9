//! What is kept of a reconcile at its end: a few words for explanations, and its recording.

use super::{Progress, Reconcile};
use crate::controller::flight_recorder::{Record, Results};
use crate::controller::outcome::{End, Failure};
use crate::controller::recent::{Ended, EndedOn};
use crate::plugin::Observation;
use crate::plugin::tape::Tape;
use std::sync::Arc;

/// The calls of one instance.
pub(super) struct Flight {
    tape: Arc<Tape>,
    results: Results,
}

impl Progress {
    /// Begins the recording of an instance, with the writes before its calls.
    ///
    /// * `tape` - None: the host records nothing.
    pub(super) fn begin_flight(&mut self, tape: Option<&Arc<Tape>>) {
        if let Some(tape) = tape {
            let results = Results { writes: std::mem::take(&mut self.before), ..Results::default() };
            self.flights.push(Flight { tape: Arc::clone(tape), results });
        }
    }

    /// Notes results of the current instance, if they are recorded.
    pub(super) fn record(&mut self, note: impl FnOnce(&mut Results)) {
        if let Some(flight) = self.flights.last_mut() {
            note(&mut flight.results);
        }
    }

    /// Notes the answer of the second get-actual, which replaces the first.
    pub(super) fn observe_again(&mut self, again: &Observation) {
        if let Some(flight) = self.flights.last_mut() {
            flight.results.observed = self.observed.take();
            flight.results.after = Some(again.clone());
        }
    }

    /// Hands the first answer of get-actual over, if there was no second.
    pub(super) fn land(&mut self) {
        if let Some(flight) = self.flights.last_mut()
            && flight.results.observed.is_none()
        {
            flight.results.observed = self.observed.take();
        }
    }
}

/// How a reconcile ended, and why it failed.
fn outcome(end: &Result<End, Failure>) -> (&'static str, Option<String>) {
    match end {
        Ok(end) => (end.as_str(), None),
        Err(failure) => (failure.reason(), Some(failure.to_string())),
    }
}

impl Reconcile<'_> {
    /// Adds the reconcile to the last ones of the plugin.
    pub(super) fn remember_end(&self, end: &Result<End, Failure>, progress: &Progress) {
        if matches!(end, Err(Failure::HandedBack(_))) {
            return;
        }
        let loaded = &self.version.loaded;
        let (outcome, error) = outcome(end);
        self.controller.recent.add(Ended {
            key: self.item.key.clone(),
            version: Arc::new(EndedOn {
                version: loaded.manifest.version.clone(),
                digest: loaded.component.digest.clone(),
            }),
            at: jiff::Timestamp::now(),
            took: self.began.elapsed(),
            outcome,
            error,
            cause: self.cause(),
            written: progress.written.list(),
            trigger: self.item.trigger.as_str(),
            attempt: self.item.attempt,
            correlation_id: self.correlation_id.clone(),
        });
    }

    /// Hands the recordings to the flight recorder.
    pub(super) fn keep_flights(&self, end: &Result<End, Failure>, progress: &mut Progress) {
        let Some(records) = &self.controller.records else { return };
        if matches!(end, Err(Failure::HandedBack(_))) {
            return;
        }
        progress.land();
        if let (Err(Failure::Call(error)), Some(last)) = (end, progress.flights.last_mut()) {
            last.results.failed = Some(error.clone());
        }
        let loaded = &self.version.loaded;
        let took = self.began.elapsed();
        if end.is_ok() && !progress.patched && progress.written.is_empty() {
            progress.flights.retain(|_| !records.passes_over(took));
        }
        for Flight { tape, results } in progress.flights.drain(..) {
            let (outcome, error) = outcome(end);
            records.keep(Record {
                plugin: self.controller.name.clone(),
                version: loaded.manifest.version.clone(),
                digest: loaded.component.digest.clone(),
                grants: Arc::clone(&loaded.guest.grants),
                secrets: Arc::clone(&loaded.guest.secrets),
                kind: (*self.item.key.kind).clone(),
                key: self.item.key.key.clone(),
                at: jiff::Timestamp::now(),
                took,
                outcome,
                error,
                cause: self.cause(),
                written: progress.written.list(),
                tape,
                results,
            });
        }
    }
}
