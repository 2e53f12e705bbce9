//! What a call answered, held against the limit before it is read.

use super::State;
use super::bad;
use crate::plugin::call::CallError;
use serde_json::Value;

/// Answers larger than this are read on the threads for what takes long.
const LARGE_BYTES: usize = 64 << 10;

/// An answer of a size that may be read.
#[derive(Clone, Copy)]
pub(super) struct Answer {
    call: &'static str,
}

impl Answer {
    /// Refuses an answer that is too large as a whole.
    ///
    /// * `bytes` - of all its documents together.
    ///
    /// # Errors
    ///
    /// [`CallError::BadAnswer`], naming the limit.
    pub(super) async fn check(call: &'static str, state: &State, bytes: usize) -> Result<Self, CallError> {
        let limit = state.limits().answer_kib;
        if bytes > (limit as usize) << 10 {
            let kib = bytes.div_ceil(1 << 10);
            return Err(bad(call, format!("{kib} KiB of documents; at most {limit} KiB are taken (limits.answerKib)")));
        }
        if bytes > LARGE_BYTES {
            state.meter.step_aside().await;
        }
        Ok(Self { call })
    }

    /// Reads one document.
    ///
    /// * `what` - what it is, for the error.
    pub(super) fn json(self, what: &str, text: &str) -> Result<Value, CallError> {
        serde_json::from_str(text).map_err(|e| bad(self.call, format!("{what} that is not JSON: {e}")))
    }
}
