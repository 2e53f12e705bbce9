//! A host in simulated time: it begins, ends or crashes beside an API server that stays.

use super::in_process::{Parts, states};
use crate::admission::InProcessAdmission;
use crate::controller::Controller;
use crate::lease::{self, Leases, Timing};
use crate::lifecycle::Handle;
use crate::plugin::{Engine, HttpGate};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Interval of looks at the state of the host.
const LOOK: Duration = Duration::from_millis(1);

/// Each poll of the lifecycle costs real time, and a scenario may last for days.
const POLL: Duration = Duration::from_secs(20);

/// A version that waits for its watches waits for this long.
const SYNCED_WITHIN: Duration = Duration::from_secs(20);

/// A version that replaces another one runs after this long.
const SWAPPED_WITHIN: Duration = Duration::from_secs(120);

/// A running reconcile may wait for this long, for an answer or a turn, before the host counts as at rest.
const RESTS_WITHIN: Duration = Duration::from_secs(60);

/// A standby leads within this time when no other host renews its Lease.
const LEADS_WITHIN: Duration = Duration::from_secs(60);

/// The defaults, but for the time between two attempts, which is twice as long: each one costs computing time, and a scenario may last for
/// days.
const TIMING: Timing = Timing {
    lease_duration: Duration::from_secs(15),
    renew_deadline: Duration::from_secs(10),
    retry_period: Duration::from_secs(4),
};

/// Interval of looks whether the host leads.
const LEADS_LOOK: Duration = Duration::from_millis(100);

/// The namespace of the Leases, which every API server has.
const LEASE_NAMESPACE: &str = "default";

/// Configuration of a simulated host.
#[derive(Debug)]
pub struct SimulatedHostOptions {
    /// Directory of `.wasm` files, each with its grant beside it. The host reads it when it starts, and in [`SimulatedHost::swap`].
    pub plugins: PathBuf,
    /// The engine.
    pub engine: Engine,
    /// The plugins' way to HTTP services.
    pub http: HttpGate,
    /// Where the API server finds [`SimulatedHost::webhooks`], if the plugins answer admission or convert.
    pub webhooks: Option<String>,
}

/// A host whose clock is the paused clock of its current-thread runtime.
#[derive(Debug)]
pub struct SimulatedHost {
    handle: Handle,
    looks: watch::Sender<u64>,
    leases: Leases,
    electing: Option<JoinHandle<()>>,
    stop: CancellationToken,
    loaded: Arc<AtomicBool>,
    running: JoinHandle<()>,
    recording: JoinHandle<()>,
    admission: Option<InProcessAdmission>,
}

impl SimulatedHost {
    /// Starts a host.
    ///
    /// * `client` - of the API server, with the User-Agent of this host.
    /// * `leases` - the client for Leases, which is a connection of its own. None: this is the only host.
    #[must_use]
    pub fn start(client: kube::Client, leases: Option<kube::Client>, options: SimulatedHostOptions) -> Self {
        let SimulatedHostOptions { plugins, engine, http, webhooks } = options;
        let (looks, looked) = watch::channel(0);
        let (leases, electing) = match leases {
            Some(client) => {
                let namespace = LEASE_NAMESPACE.to_owned();
                let options = lease::Options { namespace, identity: "host".to_owned(), timing: TIMING };
                let (leases, electing) = Leases::on_this_runtime(options, client);
                (leases, Some(tokio::spawn(electing)))
            }
            None => (Leases::none(), None),
        };
        let (rehearsal, resync_seconds, of_host) = (None, None, leases.clone());
        let parts = Parts {
            client,
            plugins,
            looks: looked,
            engine,
            http,
            rehearsal,
            resync_seconds,
            poll: POLL,
            webhooks,
            leases: of_host,
        };
        let (lifecycle, recording, admission) = parts.lifecycle();
        let (handle, stop) = (lifecycle.handle(), CancellationToken::new());
        let loaded = Arc::<AtomicBool>::default();
        let met = Arc::clone(&loaded);
        let running = tokio::spawn(lifecycle.run(stop.clone(), move || met.store(true, Relaxed), || {}));
        Self { handle, looks, leases, electing, stop, loaded, running, recording, admission }
    }

    /// What answers the reviews and conversions of the API server. None: nothing does.
    #[must_use]
    pub fn webhooks(&self) -> Option<axum::Router> {
        self.admission.as_ref().map(InProcessAdmission::service)
    }

    /// Waits until every plugin reconciles on this host, and the API server calls those that answer admission or convert.
    ///
    /// # Errors
    ///
    /// A sentence for each plugin that cannot run, whose watches do not come into sync, or that another host leads.
    pub async fn ready(&mut self) -> Result<(), Vec<String>> {
        self.stands_by().await?;
        self.leads().await?;
        let Some(admission) = &mut self.admission else { return Ok(()) };
        let current = |controller: &Arc<Controller>| controller.current();
        let mut versions = self.handle.controllers().iter().filter_map(current).collect::<Vec<_>>().into_iter();
        let reviews = versions.any(|version| version.admission().iter().any(|rule| !rule.only_as_initializer));
        let converts = !self.handle.converters().is_empty();
        let configured = admission.configured(reviews, converts);
        tokio::time::timeout(SYNCED_WITHIN, configured)
            .await
            .map_err(|_elapsed| vec!["the webhooks of the plugin are not configured".to_owned()])
    }

    /// Reads the directory again, without waiting for what comes of it.
    pub fn read_again(&self) {
        self.looks.send_modify(|number| *number += 1);
    }

    /// Reads the directory again, and waits until a version of a plugin runs.
    ///
    /// * `digest` - of the version: SHA-256 in hex.
    ///
    /// # Errors
    ///
    /// Why it does not run, a sentence.
    pub async fn swap(&self, digest: &str) -> Result<(), Vec<String>> {
        self.read_again();
        let (began, digest) = (Instant::now(), format!("sha256:{digest}"));
        loop {
            tokio::time::sleep(LOOK).await;
            let described = self.handle.describe();
            let plugins = described.get("plugins").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let is_it = |of: &Value| of.get("digest").and_then(Value::as_str) == Some(digest.as_str());
            let active = |of: &&Value| is_it(of) && of.get("state").and_then(Value::as_str) == Some("active");
            if plugins.iter().any(|plugin| active(&plugin)) {
                return Ok(());
            }
            if began.elapsed() > SWAPPED_WITHIN {
                let next = plugins.iter().filter_map(|plugin| plugin.get("next")).find(|next| is_it(next));
                let text = |field: &str| next.and_then(|next| next.get(field)).and_then(Value::as_str);
                let state = text("state").unwrap_or("not read");
                let why = text("reason").map(|reason| format!(": {reason}")).unwrap_or_default();
                return Err(vec![format!("the version does not run ({state}){why}")]);
            }
        }
    }

    /// Waits until every plugin runs. Without a Lease it reconciles, otherwise it is a standby until it gets its Lease.
    ///
    /// # Errors
    ///
    /// A sentence for each plugin that cannot run, or whose watches do not come into sync.
    pub async fn stands_by(&self) -> Result<(), Vec<String>> {
        let began = Instant::now();
        loop {
            tokio::time::sleep(LOOK).await;
            if !self.loaded.load(Relaxed) {
                continue;
            }
            let (faults, pending) = states(&self.handle.describe());
            match (faults.is_empty(), pending.is_empty()) {
                (false, _) => return Err(faults),
                (true, true) => return Ok(()),
                (true, false) if began.elapsed() > SYNCED_WITHIN => return Err(pending),
                (true, false) => {}
            }
        }
    }

    async fn leads(&self) -> Result<(), Vec<String>> {
        let began = Instant::now();
        loop {
            let controllers = self.handle.controllers();
            let others: Vec<_> = controllers.iter().filter(|controller| !controller.leads()).collect();
            if others.is_empty() {
                return Ok(());
            }
            if began.elapsed() > LEADS_WITHIN {
                let sentence = |controller: &Arc<Controller>| format!("plugin {} does not lead", controller.name());
                return Err(others.into_iter().map(sentence).collect());
            }
            tokio::time::sleep(LEADS_LOOK).await;
        }
    }

    /// Waits until no reconcile runs, and no object waits for one except for its timer.
    pub async fn rest(&self) {
        let began = Instant::now();
        loop {
            // The clock moves only when nothing else is left to do.
            tokio::time::sleep(LOOK).await;
            let rests = self.handle.controllers().iter().all(|controller| controller.is_at_rest());
            if rests || began.elapsed() > RESTS_WITHIN {
                return;
            }
        }
    }

    /// How many reconciles ended since the start.
    #[must_use]
    pub fn reconciles(&self) -> u64 {
        self.handle.controllers().iter().map(|controller| controller.reconciles()).sum()
    }

    /// Ends the host as a signal does: running reconciles finish, and waiting events are written.
    pub async fn stop(self) {
        if self.electing.is_some() {
            // Reconciling moves to other hosts first.
            self.leases.stop_acquiring();
            self.handle.hand_over().await;
        }
        self.stop.cancel();
        if let Some(admission) = &self.admission {
            admission.close();
        }
        // A panic of the host is in its log.
        let _ = self.running.await;
        let _ = tokio::time::timeout(RESTS_WITHIN, self.recording).await;
        if let Some(electing) = self.electing {
            electing.abort();
        }
    }

    /// Leaves the host to itself: the caller has cut its connections, so that nothing that it still does has an effect.
    pub fn abandon(self) {
        self.recording.abort();
        if let Some(electing) = &self.electing {
            electing.abort();
        }
        if let Some(admission) = &self.admission {
            admission.close();
        }
        self.stop.cancel();
    }
}
