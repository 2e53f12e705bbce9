//! Results of calls, checked against the size limit before they are parsed.

use super::State;
use super::bad;
use crate::plugin::call::{CallError, State as PluginState};
use serde_json::Value;

/// Larger results are parsed on the threads for long computations.
const LARGE_BYTES: usize = 64 << 10;

/// A result within the size limit.
#[derive(Clone, Copy)]
pub(super) struct CallResult {
    call: &'static str,
}

impl CallResult {
    /// Rejects a result that is too large in total.
    ///
    /// * `bytes` - the size of all its documents together.
    ///
    /// # Errors
    ///
    /// [`CallError::BadAnswer`] with the limit.
    pub(super) async fn check(call: &'static str, state: &State, bytes: usize) -> Result<Self, CallError> {
        let limit = state.limits().answer_kib;
        if bytes > (limit as usize) << 10 {
            let kib = bytes.div_ceil(1 << 10);
            return Err(bad(call, format!("{kib} KiB of documents; at most {limit} KiB are taken (limits.answerKib)")));
        }
        if bytes > LARGE_BYTES {
            state.meter.offload_now().await;
        }
        Ok(Self { call })
    }

    /// Parses one document.
    ///
    /// * `what` - name of the document, for the error.
    pub(super) fn json(self, what: &str, text: &str) -> Result<Value, CallError> {
        serde_json::from_str(text).map_err(|e| self.not_json(what, &e))
    }

    /// Parses a state.
    ///
    /// * `what` - name of the state, for the error.
    /// * `known` - a parsed state. An object in sync usually has the same text in both states, which is parsed once.
    pub(super) fn state(self, what: &str, text: String, known: Option<PluginState>) -> Result<PluginState, CallError> {
        if let Some(same) = known.filter(|known| known.text() == text) {
            return Ok(same);
        }
        PluginState::parse(text).map_err(|e| self.not_json(what, &e))
    }

    fn not_json(self, what: &str, error: &serde_json::Error) -> CallError {
        bad(self.call, format!("{what} that is not JSON: {error}"))
    }
}
