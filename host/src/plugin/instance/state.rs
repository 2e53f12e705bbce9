//! The host's state in a guest's store, and the used part of its limits.

use super::footprint::Footprint;
use super::guest_output::GuestOutput;
use crate::grants::Grants;
use crate::lease::LeadershipGuard;
use crate::logging::flood::Flood;
use crate::plugin::bindings::log::Level;
use crate::plugin::cache::Cache;
use crate::plugin::engine::Engine;
use crate::plugin::offload::{CpuMeter, PluginSlot};
use crate::plugin::replay::Replay;
use crate::plugin::tape::{Phase, Tape};
use crate::plugin::{HttpGate, ReadObserver, Reads, WithheldRequests};
use crate::secrets::KnownSecrets;
use oarlock_manifest::Limits;
use oarlock_merge::steps::Budget;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// Longest part of a call's time that its imports leave to the guest.
const MOST_RESERVE: Duration = Duration::from_secs(1);

/// The identity, permissions and resources of a guest, the same for all instances of a plugin's version.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Plugin name.
    pub plugin: String,
    /// The plugin's grants.
    pub grants: Arc<Grants>,
    /// The plugin's cached values.
    pub cache: Arc<Cache>,
    /// The secrets that the plugin knows, of all its versions.
    pub secrets: Arc<KnownSecrets>,
    /// The HTTP client.
    pub http: HttpGate,
    /// Counters.
    pub metrics: crate::metrics::PluginMetrics,
}

/// The parameters of one reconcile, beyond the [`Guest`].
#[derive(Clone, Debug)]
pub struct Run {
    /// The plugin's cluster reads. None: the instance only serves `describe`, with no import but log.
    pub reads: Option<Arc<Reads>>,
    /// Learns of the reads.
    pub observer: Option<Arc<dyn ReadObserver>>,
    /// The object's key, for the log.
    pub key: String,
    /// The correlation id, for the log.
    pub correlation_id: String,
    /// Refuses requests that could change something.
    pub dry_run: bool,
    /// Records requests that could change something, which are then not sent. None: they are sent.
    pub withheld: Option<Arc<WithheldRequests>>,
    /// Keeps no value of the `cache` import.
    pub forgets: bool,
    /// A shorter time limit than the grant's, because a client waits for the result.
    pub at_most: Option<Duration>,
    /// The leadership in which HTTP requests may be sent.
    pub guard: LeadershipGuard,
    /// Records what the guest sees.
    pub tape: Option<Arc<Tape>>,
    /// Answers the imports from a recording.
    pub replay: Option<Arc<Replay>>,
}

/// The shared state of the instances of one version.
#[derive(Debug)]
pub(in crate::plugin) struct Shared {
    /// Turns at long computations.
    pub(in crate::plugin) slot: PluginSlot,
    /// A permit for each HTTP request in flight.
    pub(in crate::plugin) http: Semaphore,
    /// Rate limit of log lines.
    pub(in crate::plugin) flood: Flood,
    /// The engine with the threads for long computations.
    pub(in crate::plugin) engine: Engine,
}

impl Shared {
    pub(in crate::plugin) fn new(limits: &Limits, engine: Engine) -> Self {
        let http = Semaphore::new(limits.http_concurrent as usize);
        Self { slot: PluginSlot::default(), http, flood: Flood::default(), engine }
    }
}

/// The host's state in a store.
pub(in crate::plugin) struct State {
    pub(in crate::plugin) guest: Guest,
    pub(in crate::plugin) run: Run,
    pub(in crate::plugin) shared: Arc<Shared>,
    pub(in crate::plugin) meter: Arc<CpuMeter>,
    pub(in crate::plugin) spent: Spent,
    pub(super) footprint: Footprint,
    output: GuestOutput,
    /// Deadline of the current call.
    pub(in crate::plugin) deadline: Instant,
    /// Whether the guest has seen anything that changes without an event.
    pub(in crate::plugin) saw_outside: bool,
    /// The call of this reconcile that runs.
    pub(in crate::plugin) phase: Phase,
    /// Dropped with the store, and so with the instance's memory.
    _counted: crate::metrics::Counted,
}

/// The counted resources that a reconcile has used so far.
#[derive(Debug, Default)]
pub(in crate::plugin) struct Spent {
    pub(in crate::plugin) log_lines: u32,
    pub(in crate::plugin) log_bytes: usize,
    pub(in crate::plugin) log_dropped: bool,
    pub(in crate::plugin) http_requests: u32,
}

impl State {
    pub(super) fn new(guest: Guest, run: Run, shared: Arc<Shared>, meter: Arc<CpuMeter>, deadline: Instant) -> Self {
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
            output: GuestOutput::default(),
            footprint,
            deadline,
            saw_outside: false,
            phase: Phase::Start,
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.footprint.memory_bytes()
    }

    pub(in crate::plugin) fn limits(&self) -> &Limits {
        self.guest.grants.limits()
    }

    /// What to say of a call that does not end, in a simulation.
    pub(in crate::plugin) fn too_late(&self) -> String {
        let (plugin, seconds) = (&self.guest.plugin, self.limits().deadline_seconds);
        let of = if self.run.key.is_empty() { String::new() } else { format!(" for {}", self.run.key) };
        format!("plugin {plugin} did not answer{of} within its deadline of {seconds} s (limits.deadlineSeconds)")
    }

    /// Deadline of waits in imports: a little before the call's deadline, so that the guest can still report the failure.
    pub(in crate::plugin) fn patience(&self) -> Instant {
        let reserve = (Duration::from_secs(u64::from(self.limits().deadline_seconds)) / 10).min(MOST_RESERVE);
        self.deadline.checked_sub(reserve).unwrap_or(self.deadline)
    }

    /// Computes for the guest outside of it. None: not finished by the deadline of imports.
    pub(in crate::plugin) async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Budget<'_>) -> T + Send + 'static,
    ) -> Option<T> {
        let offload_pool = self.shared.engine.offload_pool();
        offload_pool.run_blocking(&self.shared.slot, &self.meter, self.patience(), work).await
    }

    /// Logs the guest's printed output.
    pub(in crate::plugin) fn print(&mut self, error: bool, bytes: &[u8]) {
        // Before it is cut into lines: a secret may have several, and may come in several writes.
        let secrets = Arc::clone(&self.guest.secrets);
        for line in self.output.printed(error, bytes, &secrets) {
            self.print_line(error, &line);
        }
    }

    /// Begins a call.
    pub(super) fn enter(&mut self, call: &str) {
        self.phase = self.phase.then(call);
        if let Some(tape) = &self.run.tape {
            tape.enter(self.phase);
        }
    }

    /// Ends a call, and with it an incomplete printed line.
    pub(super) fn end_of_call(&mut self) {
        let [out, err] = self.output.rest(&self.guest.secrets);
        for (error, lines) in [(false, out), (true, err)] {
            lines.iter().for_each(|line| self.print_line(error, line));
        }
        self.output.forget();
    }

    fn print_line(&mut self, error: bool, line: &str) {
        let level = if error { Level::Warn } else { Level::Info };
        let secrets = Arc::clone(&self.guest.secrets);
        let line = secrets.hide(line, usize::MAX);
        if error {
            self.output.keep(&line);
        }
        self.log_line(level, &line);
    }

    /// Records an error message of the guest.
    pub(in crate::plugin) fn keep_error_line(&mut self, line: &str) {
        self.output.keep(line);
    }

    /// The guest's last error messages.
    pub(super) fn error_lines(&self) -> Option<String> {
        self.output.error_lines(&self.guest.secrets)
    }

    /// Begins another reconcile: of the last one only the guest's memory remains, with whatever the guest keeps there.
    ///
    /// * `served` - the number of earlier reconciles.
    pub(super) fn begin(&mut self, run: Run, served: usize) {
        self.saw_outside = true;
        let before = std::mem::replace(&mut self.run, run).tape;
        if let Some(tape) = &self.run.tape {
            tape.follow(before, served);
        }
        self.phase = Phase::Start;
        self.spent = Spent::default();
        self.footprint.forgive();
    }
}

impl Drop for State {
    /// A start that failed and an abandoned call have no end, and some of their output may wait for it.
    fn drop(&mut self) {
        if self.output.holds() {
            self.end_of_call();
        }
    }
}
