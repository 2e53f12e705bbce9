//! The elector's observation of all Leases, and the distribution of plugins over the hosts.

mod candidate;

use super::client::{Client, LeaseError};
use super::record::{Record, Seen};
use super::seat::{Seat, Shared, Wish};
use super::share::{self, Holding, Move};
use super::{JITTER, Options, Timing};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// The elector. [`Office::run`] does its work; all other methods may be called from any thread.
pub(super) struct Office {
    client: Client,
    namespace: String,
    identity: String,
    timing: Timing,
    stopping: AtomicBool,
    known: Mutex<Known>,
    /// Number of refreshes of the Leases.
    looked: watch::Sender<u64>,
    seats: mpsc::UnboundedSender<Arc<Shared>>,
    new_seats: Mutex<Option<mpsc::UnboundedReceiver<Arc<Shared>>>>,
}

#[derive(Default)]
struct Known {
    leases: BTreeMap<String, Seen>,
    seats: BTreeMap<String, Arc<Shared>>,
    /// When this host last released a Lease to a host without any.
    gave: Option<Instant>,
    /// Whether the last list request failed.
    blind: bool,
}

impl std::fmt::Debug for Office {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Office").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl Office {
    pub(super) fn new(options: Options, client: kube::Client) -> Arc<Self> {
        let Options { namespace, identity, timing } = options;
        // Two processes with the same name get different identities.
        let random = uuid::Uuid::new_v4().simple().to_string();
        let identity = format!("{identity}_{}", crate::shorten(&random, 8));
        let (seats, new_seats) = mpsc::unbounded_channel();
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
            known: Mutex::default(),
            looked: watch::Sender::new(0),
            seats,
            new_seats: Mutex::new(Some(new_seats)),
        })
    }

    pub(super) fn identity(&self) -> &str {
        &self.identity
    }

    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(super) fn stop_taking(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An idle seat for a Lease.
    pub(super) fn seat(self: &Arc<Self>, lease: &str) -> Seat {
        let (seat, shared) = Seat::new(Arc::clone(self), lease);
        self.known().seats.insert(lease.to_owned(), Arc::clone(&shared));
        // The send fails while the host stops; then no task serves the seat.
        let _ = self.seats.send(shared);
        seat
    }

    /// Forgets a seat after [`Seat::leave`].
    pub(super) fn forget(&self, seat: &Arc<Shared>) {
        let mut known = self.known();
        if known.seats.get(&seat.lease).is_some_and(|current| Arc::ptr_eq(current, seat)) {
            known.seats.remove(&seat.lease);
        }
    }

    pub(super) fn describe(&self, seat: &Shared) -> Value {
        let known = self.known();
        let seen = known.leases.get(&seat.lease);
        let held = seen.filter(|seen| seen.is_held(Instant::now(), self.timing.lease_duration));
        let record = held.map(|seen| &seen.record);
        json!({
            "name": seat.lease,
            "held": seat.current().is_some_and(|term| term.held()),
            "holder": record.map(Record::holder).filter(|holder| !holder.is_empty()),
            "holderVersion": record.and_then(Record::version),
            "holderDigest": record.and_then(Record::digest).map(|digest| format!("sha256:{digest}")),
        })
    }

    /// Refreshes the Leases periodically, and runs a task for each seat. Never returns.
    pub(super) async fn run(self: &Arc<Self>) {
        let new_seats = self.new_seats.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut new_seats) = new_seats else { return };
        let seats = async {
            while let Some(seat) = new_seats.recv().await {
                tokio::spawn(Arc::clone(self).sit(seat));
            }
        };
        let looks = async {
            loop {
                self.look().await;
                self.level().await;
                self.looked.send_modify(|looks| *looks = looks.wrapping_add(1));
                tokio::time::sleep(jittered(self.timing.retry_period)).await;
            }
        };
        tokio::join!(seats, looks);
    }

    /// Refreshes all Leases with one list request.
    async fn look(&self) {
        let listed = self.client.list(self.patience()).await;
        // Taken after the response, not before the request: the process may have been paused in between, and the response shows the
        // present state.
        let at = Instant::now();
        let mut missing = Vec::new();
        {
            let mut known = self.known();
            match listed {
                Ok(records) => {
                    if std::mem::take(&mut known.blind) {
                        tracing::info!("the Leases can be read again");
                    }
                    let mut there: BTreeMap<String, Record> =
                        records.into_iter().map(|record| (record.name().to_owned(), record)).collect();
                    // The elector reads a deleted Lease while its holder may still act, and for the same time again, so that the next
                    // holder knows its last content. Then it forgets the Lease; otherwise these requests would never end.
                    let patience = self.timing.lease_duration;
                    known.leases.retain(|_, seen| {
                        !seen.gone || seen.is_held(at, patience) || seen.unchanged_for(at) < patience * 2
                    });
                    for (name, seen) in &mut known.leases {
                        match there.remove(name) {
                            Some(record) => seen.again(record, at),
                            None => missing.push(name.clone()),
                        }
                    }
                    known.leases.extend(there.into_iter().map(|(name, record)| (name, Seen::new(record, at))));
                }
                Err(error) => {
                    if !std::mem::replace(&mut known.blind, true) {
                        tracing::warn!(%error, namespace = self.namespace, "the Leases cannot be read; tried again");
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
        let answer = self.client.get(name, self.patience()).await;
        let at = Instant::now();
        let mut known = self.known();
        match (answer, known.leases.get_mut(name)) {
            (Ok(record), Some(seen)) => seen.again(record, at),
            (Ok(record), None) => {
                known.leases.insert(name.to_owned(), Seen::new(record, at));
            }
            // The holder may not have noticed the deletion: the Lease counts as held until its duration is over.
            (Err(LeaseError::Gone), Some(seen)) => seen.gone = true,
            (Err(_), _) => {}
        }
    }

    /// Records the response to a write.
    fn note(&self, record: &Record) {
        let at = Instant::now();
        let mut known = self.known();
        match known.leases.get_mut(record.name()) {
            Some(seen) => seen.again(record.clone(), at),
            None => {
                known.leases.insert(record.name().to_owned(), Seen::new(record.clone(), at));
            }
        }
    }

    /// Distributes plugins over hosts: requests a Lease for this host, or releases one to a host that requested it.
    async fn level(&self) {
        let now = Instant::now();
        let mut ask = None;
        {
            let mut known = self.known();
            let known = &mut *known;
            let mut all = Vec::new();
            for (name, seen) in &known.leases {
                let held = seen.is_held(now, self.timing.lease_duration) && !seen.record.holder().is_empty();
                if name == super::HOST_LEASE || seen.gone || !held {
                    continue;
                }
                let eligible = known.seats.get(name).is_some_and(|seat| seat.wish() == Wish::Compete);
                let record = &seen.record;
                all.push(Holding { lease: name, holder: record.holder(), wanted_by: record.wanted_by(), eligible });
            }
            let stopping = self.stopping.load(Ordering::Acquire);
            match share::next(&self.identity, &all) {
                Some(Move::Ask(lease)) if !stopping => {
                    ask = known.leases.get(lease).map(|seen| seen.record.wanted(&self.identity))
                }
                Some(Move::Give(lease)) if known.gave.is_none_or(|at| at.elapsed() >= self.timing.lease_duration) => {
                    if let Some(term) = known.seats.get(lease).and_then(|seat| seat.current()) {
                        tracing::info!(lease, "given to a host that has none");
                        term.want_back();
                        known.gave = Some(now);
                    }
                }
                _ => {}
            }
        }
        if let Some(lease) = ask {
            tracing::info!(lease = lease.name(), holder = lease.holder(), "this host has no plugin, and asks for one");
            if let Err(error) = self.client.update(&lease, self.patience()).await {
                tracing::debug!(%error, lease = lease.name(), "not asked");
            }
        }
    }

    /// Longest time for one request.
    fn patience(&self) -> Duration {
        self.timing.renew_deadline / 2
    }
}

/// client-go's `wait.JitterUntil`.
fn jittered(period: Duration) -> Duration {
    period.mul_f64(1.0 + JITTER * fastrand::f64())
}
