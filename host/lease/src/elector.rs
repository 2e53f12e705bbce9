//! The elector's observation of all Leases, and the distribution of controllers over the hosts.

mod candidate;

use super::client::{Client, LeaseError};
use super::election::{ElectionIntent, ElectionState, LeaderElection};
use super::rebalance::{self, HeldLease, Transfer};
use super::record::{ObservedLease, Record};
use super::{JITTER, Options, Timing};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// The elector. [`LeaderElector::run`] does its work; all other methods may be called from any thread.
pub(super) struct LeaderElector {
    client: Client,
    namespace: String,
    identity: String,
    timing: Timing,
    stopping: AtomicBool,
    observed: Mutex<ObservedLeases>,
    /// Number of refreshes of the Leases.
    refreshed: watch::Sender<u64>,
    elections: mpsc::UnboundedSender<Arc<ElectionState>>,
    new_elections: Mutex<Option<mpsc::UnboundedReceiver<Arc<ElectionState>>>>,
}

#[derive(Default)]
struct ObservedLeases {
    leases: BTreeMap<String, ObservedLease>,
    elections: BTreeMap<String, Arc<ElectionState>>,
    /// When this host last released a Lease to a host without any.
    last_rebalance: Option<Instant>,
    /// Whether the last list request failed.
    list_failed: bool,
}

impl std::fmt::Debug for LeaderElector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LeaderElector").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl LeaderElector {
    pub(super) fn new(options: Options, client: kube::Client) -> Arc<Self> {
        let Options { namespace, identity, timing } = options;
        // Two processes with the same name get different identities.
        let random = oarlock_simulation::unique_id(&identity).simple().to_string();
        let identity = format!("{identity}_{}", oarlock_text::shorten(&random, 8));
        let (elections, new_elections) = mpsc::unbounded_channel();
        let Timing { lease_duration, renew_deadline, retry_period } = timing;
        let seconds = |duration: std::time::Duration| duration.as_secs_f64();
        tracing::info!(
            identity,
            namespace,
            lease_duration_seconds = seconds(lease_duration),
            renew_deadline_seconds = seconds(renew_deadline),
            retry_period_seconds = seconds(retry_period),
            "leader election by Leases"
        );
        Arc::new(Self {
            client: Client::new(client, namespace.clone()),
            namespace,
            identity,
            timing,
            stopping: AtomicBool::new(false),
            observed: Mutex::default(),
            refreshed: watch::Sender::new(0),
            elections,
            new_elections: Mutex::new(Some(new_elections)),
        })
    }

    pub(super) fn identity(&self) -> &str {
        &self.identity
    }

    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(super) fn stop_acquiring(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    fn observed(&self) -> MutexGuard<'_, ObservedLeases> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An idle election for a Lease.
    pub(super) fn election(self: &Arc<Self>, lease: &str) -> LeaderElection {
        let (election, state) = LeaderElection::new(Arc::clone(self), lease);
        self.observed().elections.insert(lease.to_owned(), Arc::clone(&state));
        // The send fails while the host stops; then no task runs the election.
        let _ = self.elections.send(state);
        election
    }

    /// Forgets an election after [`LeaderElection::leave`].
    pub(super) fn forget(&self, election: &Arc<ElectionState>) {
        let mut observed = self.observed();
        if observed.elections.get(&election.lease).is_some_and(|current| Arc::ptr_eq(current, election)) {
            observed.elections.remove(&election.lease);
        }
    }

    pub(super) fn describe(&self, election: &ElectionState) -> Value {
        let observed = self.observed();
        let seen = observed.leases.get(&election.lease);
        let held = seen.filter(|seen| seen.is_held(Instant::now(), self.timing.lease_duration));
        let record = held.map(|seen| &seen.record);
        json!({
            "name": election.lease,
            "held": election.current().is_some_and(|guard| guard.held()),
            "holder": record.map(Record::holder).filter(|holder| !holder.is_empty()),
            "holderVersion": record.and_then(Record::version),
            "holderDigest": record.and_then(Record::digest).map(|digest| format!("sha256:{digest}")),
            "holderConfig": record.and_then(Record::config),
        })
    }

    /// Refreshes the Leases periodically, and runs a task for each election. Never returns.
    pub(super) async fn run(self: &Arc<Self>) {
        let new_elections = self.new_elections.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut new_elections) = new_elections else { return };
        let elections = async {
            while let Some(election) = new_elections.recv().await {
                tokio::spawn(Arc::clone(self).run_election(election));
            }
        };
        let refreshes = async {
            loop {
                self.refresh().await;
                self.rebalance().await;
                self.refreshed.send_modify(|refreshes| *refreshes = refreshes.wrapping_add(1));
                tokio::time::sleep(jittered(self.timing.retry_period)).await;
            }
        };
        tokio::join!(elections, refreshes);
    }

    /// Refreshes all Leases with one list request.
    async fn refresh(&self) {
        let listed = self.client.list(self.request_timeout()).await;
        // Taken after the response, not before the request: the process may have been paused in between, and the response shows the
        // present state.
        let at = Instant::now();
        let mut missing = Vec::new();
        {
            let mut observed = self.observed();
            match listed {
                Ok(records) => {
                    if std::mem::take(&mut observed.list_failed) {
                        tracing::info!("the Leases can be read again");
                    }
                    let mut there: BTreeMap<String, Record> =
                        records.into_iter().map(|record| (record.name().to_owned(), record)).collect();
                    // The elector reads a deleted Lease while its holder may still act, and for the same time again, so that the next
                    // holder knows its last content. Then it forgets the Lease; otherwise these requests would never end.
                    let request_timeout = self.timing.lease_duration;
                    observed.leases.retain(|_, seen| {
                        !seen.deleted
                            || seen.is_held(at, request_timeout)
                            || seen.unchanged_for(at) < request_timeout * 2
                    });
                    for (name, seen) in &mut observed.leases {
                        match there.remove(name) {
                            Some(record) => seen.again(record, at),
                            None => missing.push(name.clone()),
                        }
                    }
                    observed
                        .leases
                        .extend(there.into_iter().map(|(name, record)| (name, ObservedLease::new(record, at))));
                }
                Err(error) => {
                    if !std::mem::replace(&mut observed.list_failed, true) {
                        tracing::warn!(%error, namespace = self.namespace, "cannot read the Leases: retrying");
                    }
                }
            }
        }
        // The Lease is deleted, or has lost its label.
        for name in missing {
            self.read(&name).await;
        }
    }

    /// Reads one Lease.
    async fn read(&self, name: &str) {
        let answer = self.client.get(name, self.request_timeout()).await;
        let at = Instant::now();
        let mut observed = self.observed();
        match (answer, observed.leases.get_mut(name)) {
            (Ok(record), Some(seen)) => seen.again(record, at),
            (Ok(record), None) => {
                observed.leases.insert(name.to_owned(), ObservedLease::new(record, at));
            }
            // The holder may not have noticed the deletion: the Lease counts as held until its duration is over.
            (Err(LeaseError::Gone), Some(seen)) => seen.deleted = true,
            (Err(_), _) => {}
        }
    }

    /// Records the response to a write.
    fn note(&self, record: &Record) {
        let at = Instant::now();
        let mut observed = self.observed();
        match observed.leases.get_mut(record.name()) {
            Some(seen) => seen.again(record.clone(), at),
            None => {
                observed.leases.insert(record.name().to_owned(), ObservedLease::new(record.clone(), at));
            }
        }
    }

    /// Distributes controllers over hosts: requests a Lease for this host, or releases one to a host that requested it.
    async fn rebalance(&self) {
        let now = Instant::now();
        let mut ask = None;
        {
            let mut observed = self.observed();
            let observed = &mut *observed;
            let mut all = Vec::new();
            for (name, seen) in &observed.leases {
                let held = seen.is_held(now, self.timing.lease_duration) && !seen.record.holder().is_empty();
                if name == super::HOST_LEASE || seen.deleted || !held {
                    continue;
                }
                let eligible =
                    observed.elections.get(name).is_some_and(|election| election.intent() == ElectionIntent::Compete);
                let record = &seen.record;
                all.push(HeldLease { lease: name, holder: record.holder(), wanted_by: record.wanted_by(), eligible });
            }
            let stopping = self.stopping.load(Ordering::Acquire);
            match rebalance::next(&self.identity, &all) {
                Some(Transfer::Request(lease)) if !stopping => {
                    ask = observed.leases.get(lease).map(|seen| seen.record.wanted(&self.identity))
                }
                Some(Transfer::Release(lease))
                    if observed.last_rebalance.is_none_or(|at| at.elapsed() >= self.timing.lease_duration) =>
                {
                    if let Some(guard) = observed.elections.get(lease).and_then(|election| election.current()) {
                        tracing::info!(lease, "releasing a lease to rebalance");
                        guard.request_release();
                        observed.last_rebalance = Some(now);
                    }
                }
                _ => {}
            }
        }
        if let Some(lease) = ask {
            tracing::info!(lease = lease.name(), holder = lease.holder(), "requesting a lease: this host holds none");
            if let Err(error) = self.client.update(&lease, self.request_timeout()).await {
                tracing::debug!(%error, lease = lease.name(), "lease not requested");
            }
        }
    }

    /// Longest time for one request.
    fn request_timeout(&self) -> Duration {
        self.timing.renew_deadline / 2
    }
}

/// client-go's `wait.JitterUntil`.
fn jittered(period: Duration) -> Duration {
    period.mul_f64(1.0 + JITTER * fastrand::f64())
}
