//! What `actual` answers.

use crate::error::whole_milliseconds;
use crate::{Error, Result, raw};
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;

/// The world as it is, and what to say about it.
#[derive(Clone, Debug)]
pub struct Observation<S> {
    state: Option<S>,
    status: Option<Value>,
    requeue_after: Option<Duration>,
    /// The first thing that could not be written as JSON: said when the answer is handed over, so that builders need no `?`.
    problem: Option<Error>,
}

impl<S> Observation<S> {
    /// Nothing exists.
    #[must_use]
    pub fn absent() -> Self {
        Self::of(None)
    }

    /// This exists.
    #[must_use]
    pub fn present(state: S) -> Self {
        Self::of(Some(state))
    }

    /// This exists, or nothing does.
    #[must_use]
    pub fn of(state: Option<S>) -> Self {
        Self { state, status: None, requeue_after: None, problem: None }
    }

    /// Fields of the primary's status. Written only where they differ from what is stored; fields written before that are not among
    /// them are taken away. Must be a JSON object.
    #[must_use]
    pub fn status(mut self, status: impl Serialize) -> Self {
        match serde_json::to_value(status) {
            Ok(status) => self.status = Some(status),
            Err(error) => self.problem = Some(Error::from(error).context("status")),
        }
        self
    }

    /// Look again although nothing changed, because something is still building. At most a day.
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
