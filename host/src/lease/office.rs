//! Looks at all Leases again and again, takes those that are free, renews those that are held.

use super::client::{Client, LeaseError};
use super::record::{Record, Seen};
use super::seat::{Seat, Shared, Wish};
use super::share::{self, Holding, Move};
use super::{JITTER, Options, Term, Timing};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// See the module. Its work is done by [`Office::run`]; everything else may be called from any thread.
pub(super) struct Office {
    client: Client,
    namespace: String,
    identity: String,
    timing: Timing,
    stopping: AtomicBool,
    known: Mutex<Known>,
    /// Counts the looks at the Leases.
    looked: watch::Sender<u64>,
    seats: mpsc::UnboundedSender<Arc<Shared>>,
    new_seats: Mutex<Option<mpsc::UnboundedReceiver<Arc<Shared>>>>,
}

#[derive(Default)]
struct Known {
    leases: BTreeMap<String, Seen>,
    seats: BTreeMap<String, Arc<Shared>>,
    /// When a Lease was last given to a host that had none.
    gave: Option<Instant>,
    /// Whether the last look failed.
    blind: bool,
}

impl std::fmt::Debug for Office {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Office").field("identity", &self.identity).finish_non_exhaustive()
    }
}

/// How a term ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// Given back.
    Released,
    /// Not renewed in time, or another's.
    Lost,
}

impl Office {
    pub(super) fn new(options: Options, client: kube::Client) -> Arc<Self> {
        let Options { namespace, identity, timing } = options;
        // Two processes with one name are still two.
        let random = uuid::Uuid::new_v4().simple().to_string();
        let identity = format!("{identity}_{}", crate::shorten(&random, 8));
        let (seats, new_seats) = mpsc::unbounded_channel();
        tracing::info!(identity, namespace, ?timing, "leases");
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

    pub(super) fn stop_taking(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A seat for a Lease; it is idle.
    pub(super) fn seat(self: &Arc<Self>, lease: &str) -> Seat {
        let (seat, shared) = Seat::new(Arc::clone(self), lease);
        self.known().seats.insert(lease.to_owned(), Arc::clone(&shared));
        // Nobody looks after it when the host stops.
        let _ = self.seats.send(shared);
        seat
    }

    /// A seat that was left.
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

    /// Looks at the Leases, and lets every seat look after its own. Never ends.
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

    /// One request tells of all Leases.
    async fn look(&self) {
        let listed = self.client.list(self.patience()).await;
        // Not before: the process may have been paused in between, and what it sees is of now.
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
        // Gone, or without its label.
        for name in missing {
            self.read(&name).await;
        }
    }

    /// Asks for one Lease.
    async fn read(&self, name: &str) {
        let answer = self.client.get(name, self.patience()).await;
        let at = Instant::now();
        let mut known = self.known();
        match (answer, known.leases.get_mut(name)) {
            (Ok(record), Some(seen)) => seen.again(record, at),
            (Ok(record), None) => {
                known.leases.insert(name.to_owned(), Seen::new(record, at));
            }
            // Whoever held it may not know yet: it counts as held until it would have run out.
            (Err(LeaseError::Gone), Some(seen)) => seen.gone = true,
            (Err(_), _) => {}
        }
    }

    /// Spreads the plugins: asks for one, or gives one.
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

    /// Most time for one request.
    fn patience(&self) -> Duration {
        self.timing.renew_deadline / 2
    }

    /// Looks after one Lease, until its seat is left.
    async fn sit(self: Arc<Self>, seat: Arc<Shared>) {
        let mut wishes = seat.wish.subscribe();
        let mut looks = self.looked.subscribe();
        let mut leave_alone_until = None;
        loop {
            // Not in the match: the value is borrowed for as long, and is about to be changed.
            let wish = *wishes.borrow_and_update();
            match wish {
                Wish::Leave => return,
                Wish::Release => {
                    leave_alone_until = Some(Instant::now() + self.timing.retry_period * 3);
                    seat.wish.send_replace(Wish::Compete);
                    continue;
                }
                Wish::Idle | Wish::Compete => {}
            }
            // `changed` answers at once for what came since it was looked at last.
            tokio::select! {
                _ = wishes.changed() => continue,
                _ = looks.changed() => {}
            }
            let rests = leave_alone_until.is_some_and(|until| Instant::now() < until);
            if seat.wish() != Wish::Compete || rests || self.stopping.load(Ordering::Acquire) {
                continue;
            }
            if !self.may_take(&seat) {
                continue;
            }
            // Several hosts that see it free at the same moment take some each.
            tokio::time::sleep(self.timing.retry_period.mul_f64(random() / 4.0)).await;
            // Asked again, because another look may have come between: what is taken is what was judged.
            if !self.may_take(&seat) {
                continue;
            }
            let Some((term, record)) = self.take(&seat).await else { continue };
            seat.term.send_replace(Some(term.clone()));
            let ended = self.hold(&seat, &term, record, &mut wishes).await;
            term.end();
            seat.term.send_replace(None);
            // What was known while it was held says nothing of who has it now.
            looks.mark_unchanged();
            if ended == Ended::Lost {
                tracing::warn!(lease = seat.lease, "lease lost: what was under way for it is cut off");
            }
        }
    }

    /// Whether its Lease is free, as far as is known.
    fn may_take(&self, seat: &Shared) -> bool {
        let known = self.known();
        if known.blind {
            return false;
        }
        let Some(seen) = known.leases.get(&seat.lease) else { return true };
        let (now, timing) = (Instant::now(), &self.timing);
        // Taken in this process with an answer that never came.
        let ours = seen.record.holder() == self.identity && !seen.gone;
        let others_first = seen.record.wanted_by().is_some_and(|who| who != self.identity)
            && seen.record.holder().is_empty()
            && seen.unchanged_for(now) < timing.retry_period * 3;
        ours || (!seen.is_held(now, timing.lease_duration) && !others_first)
    }

    /// Takes a Lease that is free. None: not this time.
    async fn take(&self, seat: &Shared) -> Option<(Term, Record)> {
        let (seen, gone) = {
            let known = self.known();
            let seen = known.leases.get(&seat.lease);
            (seen.map(|seen| seen.record.clone()), seen.is_some_and(|seen| seen.gone))
        };
        let facts = seat.facts();
        let renewed = |record: &Record| record.renewed(&self.identity, self.timing.lease_duration, &facts);
        let from = seen.as_ref().map(|record| record.holder().to_owned()).unwrap_or_default();
        // Counted from before it was sent: others count from when they see it.
        let began = Instant::now();
        let taken = match seen {
            Some(record) if !gone => self.client.update(&renewed(&record), self.patience()).await,
            _ => {
                let fresh = Record::new(&seat.lease, &self.namespace);
                self.client.create(&renewed(&fresh), self.patience()).await
            }
        };
        let term = Term::until(began + self.timing.renew_deadline);
        match taken {
            Ok(record) if term.held() => {
                tracing::info!(lease = seat.lease, from, "lease taken");
                self.note(&record);
                Some((term, record))
            }
            Ok(_) => None,
            Err(LeaseError::Conflict) => {
                // Somebody else was faster, or it has lost its label: the next look tells.
                self.read(&seat.lease).await;
                None
            }
            Err(error) => {
                tracing::debug!(%error, lease = seat.lease, "lease not taken");
                None
            }
        }
    }

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

    /// Renews a Lease until it is given back or lost.
    async fn hold(&self, seat: &Shared, term: &Term, mut record: Record, wishes: &mut watch::Receiver<Wish>) -> Ended {
        let mut due = Instant::now() + self.timing.retry_period;
        loop {
            let Some(deadline) = term.deadline() else { return Ended::Lost };
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(deadline) => return Ended::Lost,
                // Ended by whoever acts in it.
                () = term.over() => return self.give_back(seat, record).await,
                _ = wishes.changed() => {
                    if matches!(*wishes.borrow_and_update(), Wish::Release | Wish::Leave) {
                        term.end();
                        return self.give_back(seat, record).await;
                    }
                }
                () = tokio::time::sleep_until(due) => {}
            }
            match self.renew(seat, term, &record, deadline).await {
                Renewed::As(next) => record = next,
                Renewed::NotNow => {}
                Renewed::Lost => return Ended::Lost,
            }
            due = Instant::now() + self.timing.retry_period;
        }
    }

    async fn renew(&self, seat: &Shared, term: &Term, record: &Record, deadline: Instant) -> Renewed {
        let mut base = record.clone();
        loop {
            let began = Instant::now();
            let patience = self.patience().min(deadline.saturating_duration_since(began));
            let next = base.renewed(&self.identity, self.timing.lease_duration, &seat.facts());
            let error = match self.client.update(&next, patience).await {
                Ok(record) => {
                    term.extend(began + self.timing.renew_deadline);
                    self.note(&record);
                    return if term.held() { Renewed::As(record) } else { Renewed::Lost };
                }
                Err(LeaseError::Gone) => return Renewed::Lost,
                Err(error) => error,
            };
            if !matches!(error, LeaseError::Conflict) {
                tracing::warn!(%error, lease = seat.lease, "the lease could not be renewed; tried again until its deadline");
                return Renewed::NotNow;
            }
            // Somebody asks for it, or has taken it.
            let patience = self.patience().min(deadline.saturating_duration_since(Instant::now()));
            match self.client.get(&seat.lease, patience).await {
                Ok(live) if live.holder() == self.identity => base = live,
                Ok(_) | Err(LeaseError::Gone) => return Renewed::Lost,
                Err(error) => {
                    tracing::warn!(%error, lease = seat.lease, "the lease could not be read; tried again until its deadline");
                    return Renewed::NotNow;
                }
            }
            if Instant::now() >= deadline {
                return Renewed::NotNow;
            }
        }
    }

    /// Tells the others that it is free.
    async fn give_back(&self, seat: &Shared, mut record: Record) -> Ended {
        for _ in 0..3 {
            match self.client.update(&record.released(), self.patience()).await {
                Ok(record) => {
                    tracing::info!(lease = seat.lease, "lease released");
                    self.note(&record);
                    return Ended::Released;
                }
                Err(LeaseError::Conflict) => match self.client.get(&seat.lease, self.patience()).await {
                    Ok(live) if live.holder() == self.identity => record = live,
                    _ => return Ended::Released,
                },
                Err(error) => {
                    tracing::warn!(%error, lease = seat.lease, "the lease could not be released; it runs out by itself");
                    return Ended::Released;
                }
            }
        }
        Ended::Released
    }
}

/// What came of a renewal.
enum Renewed {
    As(Record),
    NotNow,
    Lost,
}

/// client-go's `wait.JitterUntil`.
fn jittered(period: Duration) -> Duration {
    period.mul_f64(1.0 + JITTER * random())
}

/// From 0 to 1.
fn random() -> f64 {
    let bits = uuid::Uuid::new_v4().as_u64_pair().0 >> 32;
    f64::from(u32::try_from(bits).unwrap_or(0)) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;
    use kube::client::Body;
    use std::convert::Infallible;
    use tokio::sync::Notify;

    /// A process that is paused between asking and the answer sees a Lease that others took meanwhile.
    #[tokio::test(start_paused = true)]
    async fn l4_a_lease_that_is_seen_after_a_pause_is_not_older_than_that() {
        let answered = Arc::new(Notify::new());
        let goes_on = Arc::clone(&answered);
        let server = tower::service_fn(move |_: http::Request<Body>| {
            let goes_on = Arc::clone(&goes_on);
            async move {
                goes_on.notified().await;
                let lease = json!({"metadata": {"name": "oarlock-p", "resourceVersion": "7"},
                    "spec": {"holderIdentity": "other", "leaseDurationSeconds": 15}});
                let answer = json!({"items": [lease]}).to_string().into_bytes();
                Ok::<_, Infallible>(http::Response::new(Body::from(answer)))
            }
        });
        let options = Options { namespace: "n".to_owned(), identity: "me".to_owned(), timing: Timing::default() };
        let office = Office::new(options, kube::Client::new(server, "n"));
        let (_, seat) = Seat::new(Arc::clone(&office), "oarlock-p");
        for round in 0..2 {
            let mut look = Box::pin(office.look());
            assert!(look.as_mut().now_or_never().is_none());
            tokio::time::advance(Duration::from_secs(60)).await;
            answered.notify_one();
            look.await;
            let known = office.known();
            assert!(!known.blind && known.leases.len() == 1, "the answer was taken");
            drop(known);
            // It is the same as in the first round, and so it has run out by then.
            assert_eq!(office.may_take(&seat), round == 1);
        }
    }
}
