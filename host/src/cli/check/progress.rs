//! What a person sees while a check runs, on standard error.

use super::oracles::Oracle;
use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Write as _};
use std::sync::{Mutex, PoisonError};

/// See the module.
pub(super) struct Progress {
    /// Where the number of cases is shown while it grows.
    terminal: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    cases: u64,
    /// Oracles and shapes.
    found: BTreeSet<(Oracle, String)>,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self { terminal: std::io::stderr().is_terminal(), state: Mutex::default() }
    }

    /// A case ended.
    ///
    /// * `found` - what it shows: the oracle and the shape.
    pub(super) fn ended(&self, number: u64, found: Option<(Oracle, &str)>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.cases += 1;
        if let Some((oracle, shape)) = found
            && state.found.insert((oracle, shape.to_owned()))
        {
            self.line(&format!("case {number}: {}: {}", oracle.name(), oracle.sentence()));
        }
        if self.terminal {
            let mut stderr = std::io::stderr();
            let _ = write!(stderr, "\r\x1b[Kcases: {}, findings: {}", state.cases, state.found.len());
            let _ = stderr.flush();
        }
    }

    /// Writes a line.
    pub(super) fn line(&self, text: &str) {
        let clear = if self.terminal { "\r\x1b[K" } else { "" };
        let _ = writeln!(std::io::stderr(), "{clear}oarlock: {text}");
    }

    /// Takes the line of numbers away.
    pub(super) fn end(&self) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
