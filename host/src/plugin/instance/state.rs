//! What lives in a store beside the guest, and what it has used of its limits.

use super::footprint::Footprint;
use super::said::Said;
use crate::grants::Grants;
use crate::lease::Term;
use crate::logging::flood::Flood;
use crate::plugin::bindings::log::Level;
use crate::plugin::cache::Cache;
use crate::plugin::engine::Engine;
use crate::plugin::heavy::{Lane, Meter};
use crate::plugin::{HttpGate, Reads};
use oarlock_manifest::Limits;
use oarlock_merge::steps::Budget;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// Most time of a call that its imports leave it.
const MOST_RESERVE: Duration = Duration::from_secs(1);

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
    /// Less time than the grant allows: somebody waits for the answer.
    pub at_most: Option<Duration>,
    /// When HTTP requests may be sent.
    pub term: Term,
}

/// What the instances of one version share.
#[derive(Debug)]
pub(in crate::plugin) struct Shared {
    /// Their turns at long computations.
    pub(in crate::plugin) lane: Lane,
    /// A permit for each HTTP request under way.
    pub(in crate::plugin) http: Semaphore,
    /// Their lines in the log.
    pub(in crate::plugin) flood: Flood,
    /// Whose threads they compute on.
    pub(in crate::plugin) engine: Engine,
}

impl Shared {
    pub(in crate::plugin) fn new(limits: &Limits, engine: Engine) -> Self {
        let http = Semaphore::new(limits.http_concurrent as usize);
        Self { lane: Lane::default(), http, flood: Flood::default(), engine }
    }
}

/// What lives in a store beside the guest.
pub(in crate::plugin) struct State {
    pub(in crate::plugin) guest: Guest,
    pub(in crate::plugin) run: Run,
    pub(in crate::plugin) shared: Arc<Shared>,
    pub(in crate::plugin) meter: Arc<Meter>,
    pub(in crate::plugin) spent: Spent,
    pub(super) footprint: Footprint,
    said: Said,
    /// Of the call under way.
    pub(in crate::plugin) deadline: Instant,
    /// Ends with the store, and so with the instance's memory.
    _counted: crate::metrics::Counted,
}

/// What a reconcile has used so far of what is counted.
#[derive(Debug, Default)]
pub(in crate::plugin) struct Spent {
    pub(in crate::plugin) log_lines: u32,
    pub(in crate::plugin) log_bytes: usize,
    pub(in crate::plugin) log_dropped: bool,
    pub(in crate::plugin) http_requests: u32,
}

impl State {
    pub(super) fn new(guest: Guest, run: Run, shared: Arc<Shared>, meter: Arc<Meter>, deadline: Instant) -> Self {
        let limits = guest.grants.limits();
        let footprint = Footprint::new((limits.memory_mib as usize) << 20, limits.table_elements as usize);
        let counted = guest.metrics.instance();
        Self {
            _counted: counted,
            guest,
            run,
            shared,
            meter,
            spent: Spent::default(),
            said: Said::default(),
            footprint,
            deadline,
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.footprint.memory_bytes()
    }

    pub(in crate::plugin) fn limits(&self) -> &Limits {
        self.guest.grants.limits()
    }

    /// When an import gives up waiting: a little before the call's deadline, so that the guest can still say what happened.
    pub(in crate::plugin) fn patience(&self) -> Instant {
        let reserve = (Duration::from_secs(u64::from(self.limits().deadline_seconds)) / 10).min(MOST_RESERVE);
        self.deadline.checked_sub(reserve).unwrap_or(self.deadline)
    }

    /// Computes for the guest outside of it. None: not by the time when imports give up.
    pub(in crate::plugin) async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Budget<'_>) -> T + Send + 'static,
    ) -> Option<T> {
        let heavy = self.shared.engine.heavy();
        heavy.compute(&self.shared.lane, &self.meter, self.patience(), work).await
    }

    /// What the guest prints becomes lines of the log.
    pub(in crate::plugin) fn print(&mut self, error: bool, bytes: &[u8]) {
        for line in self.said.printed(error, bytes) {
            self.print_line(error, &line);
        }
    }

    /// A call has ended, and with it the line that was being printed.
    pub(super) fn end_of_call(&mut self) {
        let [out, err] = self.said.rest();
        for (error, line) in [(false, out), (true, err)] {
            if let Some(line) = line {
                self.print_line(error, &line);
            }
        }
        self.said.forget();
    }

    fn print_line(&mut self, error: bool, line: &str) {
        let level = if error { Level::Warn } else { Level::Info };
        if error {
            self.said.keep(line);
        }
        self.log_line(level, line);
    }

    /// The guest said what went wrong.
    pub(in crate::plugin) fn said(&mut self, line: &str) {
        self.said.keep(line);
    }

    /// What it said last of what went wrong.
    pub(super) fn last_words(&self) -> Option<String> {
        self.said.last_words()
    }

    /// Begins another reconcile: of what was before, only the guest's memory is left.
    pub(super) fn begin(&mut self, run: Run) {
        self.run = run;
        self.spent = Spent::default();
        self.footprint.forgive();
    }
}
