//! The result of `actual`.

use crate::error::whole_milliseconds;
use crate::{Error, Result, raw};
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;

/// The actual state, status fields, and the requeue delay.
#[derive(Clone, Debug)]
pub struct Observation<S> {
    state: Option<S>,
    status: Option<Value>,
    requeue_after: Option<Duration>,
    /// The first value that could not be written as JSON, returned as the call's error, so that builders need no `?`.
    problem: Option<Error>,
}

impl<S> Observation<S> {
    /// Nothing exists.
    #[must_use]
    pub fn absent() -> Self {
        Self::of(None)
    }

    /// This state exists.
    #[must_use]
    pub fn present(state: S) -> Self {
        Self::of(Some(state))
    }

    /// This state exists, or nothing does.
    #[must_use]
    pub fn of(state: Option<S>) -> Self {
        Self { state, status: None, requeue_after: None, problem: None }
    }

    /// Fields of the primary's status. Written only where they differ from the stored ones; earlier fields that are missing here are
    /// removed. Must be a JSON object.
    #[must_use]
    pub fn status(mut self, status: impl Serialize) -> Self {
        match serde_json::to_value(status) {
            Ok(status) => self.status = Some(status),
            Err(error) => self.problem = Some(Error::from(error).context("status")),
        }
        self
    }

    /// Requeue delay, because something is still being created. At most a day.
    #[must_use]
    pub fn requeue_after(mut self, delay: Duration) -> Self {
        self.requeue_after = Some(delay);
        self
    }
}

impl<S: Serialize> Observation<S> {
    pub(crate) fn into_raw(self) -> Result<raw::Observation> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        Ok(raw::Observation {
            state: self.state.map(|state| serde_json::to_string(&state)).transpose()?,
            status: self.status.map(|status| status.to_string()),
            requeue_after_ms: self.requeue_after.map(whole_milliseconds),
        })
    }
}
