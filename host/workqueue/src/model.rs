//! Model test of the queue: two sets and a list, searched from end to end, and a map of times.
//!
//! Random calls go to both. After each call, the visible state of the queue must equal the model's.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;

use futures::FutureExt;
use proptest::prelude::*;
use tokio::time::advance;

use super::*;

const BASE: Duration = Duration::from_millis(5);
const MAX: Duration = Duration::from_millis(70);
const BOUND: u32 = 3;
/// The token bucket of retries: this many at once, then one per refill.
const BURST: u32 = 3;
const REFILL: Duration = Duration::from_millis(20);

#[derive(Debug, Clone)]
enum Op {
    Add(u8, Trigger),
    AddAfter(u8, u64, Trigger),
    AddRateLimited(u8),
    Get,
    /// Ends the processing of the n-th held key.
    Done(usize),
    Forget(u8),
    Remove(u8),
    Purge,
    Advance(u64),
    ShutDown,
    /// Ends the queue, and waits from then on until it is empty.
    Drain,
}

/// The specification, written for reading: it finds everything by searching.
#[derive(Debug, Default)]
struct Model {
    /// Keys that must run, and why. client-go's set of the same name.
    dirty: BTreeMap<u8, Trigger>,
    processing: BTreeSet<u8>,
    /// Dirty keys that no worker holds, in order of arrival.
    list: Vec<u8>,
    /// Due time since the start, order of setting, trigger.
    timers: BTreeMap<u8, (Duration, u64, Trigger)>,
    failures: BTreeMap<u8, u32>,
    /// Times at which retries took their tokens, present and future.
    tokens: Vec<Duration>,
    now: Duration,
    set: u64,
    passed_over: u32,
    shut_down: bool,
    draining: bool,
}

impl Model {
    fn add(&mut self, key: u8, trigger: Trigger) {
        if self.shut_down {
            return;
        }
        let new = !self.dirty.contains_key(&key);
        let stays = self.dirty.entry(key).or_insert(trigger);
        if rank(trigger) < rank(*stays) {
            *stays = trigger;
        }
        if new && !self.processing.contains(&key) {
            self.list.push(key);
        }
    }

    fn add_after(&mut self, key: u8, delay: Duration, trigger: Trigger) {
        if self.shut_down {
            return;
        }
        if delay.is_zero() {
            return self.add(key, trigger);
        }
        let due = self.now + delay;
        let timer = self.timers.entry(key).or_insert((due, self.set, trigger));
        if due < timer.0 {
            (timer.0, timer.1) = (due, self.set);
        }
        if rank(trigger) < rank(timer.2) {
            timer.2 = trigger;
        }
        self.set += 1;
    }

    /// The delay of a retry: the key's backoff, or the time until its token is available. Any run of more than `BURST` retries takes one
    /// token per `REFILL`.
    fn delay_of_retry(&mut self, key: u8) -> Duration {
        let failures = self.failures.entry(key).or_default();
        let backoff = (BASE * 2u32.pow((*failures).min(10))).min(MAX);
        *failures += 1;
        let mut token = self.now;
        for (before, taken) in (1..).zip(self.tokens.iter().rev()) {
            if before >= BURST {
                token = token.max(*taken + REFILL * (before - BURST + 1));
            }
        }
        self.tokens.push(token);
        backoff.max(token - self.now)
    }

    fn get(&mut self) -> Option<(u8, Trigger, u32)> {
        let best = self.list.iter().map(|key| rank(self.dirty[key])).min()?;
        let passes_over = self.list.iter().any(|key| rank(self.dirty[key]) > best);
        let turn = if passes_over && self.passed_over + 1 == BOUND {
            self.passed_over = 0;
            self.list.iter().position(|key| rank(self.dirty[key]) > 0).unwrap()
        } else {
            self.passed_over = if passes_over { self.passed_over + 1 } else { 0 };
            self.list.iter().position(|key| rank(self.dirty[key]) == best).unwrap()
        };
        let key = self.list.remove(turn);
        let trigger = self.dirty.remove(&key).unwrap();
        assert!(self.processing.insert(key), "the model hands out a key twice");
        Some((key, trigger, self.failures.get(&key).map_or(1, |failures| failures + 1)))
    }

    fn done(&mut self, key: u8) {
        self.processing.remove(&key);
        if self.dirty.contains_key(&key) {
            self.list.push(key);
        }
    }

    fn remove(&mut self, key: u8) {
        self.dirty.remove(&key);
        self.list.retain(|listed| *listed != key);
        self.timers.remove(&key);
        self.failures.remove(&key);
    }

    fn is_drained(&self) -> bool {
        !self.draining || (self.list.is_empty() && self.processing.is_empty())
    }

    fn advance(&mut self, by: Duration) {
        self.now += by;
        let mut due: Vec<_> = self.timers.iter().map(|(key, timer)| (*timer, *key)).collect();
        due.retain(|((due, ..), _)| *due <= self.now);
        due.sort_by_key(|((due, set, _), _)| (*due, *set));
        for ((.., trigger), key) in due {
            self.timers.remove(&key);
            self.add(key, trigger);
        }
    }
}

fn rank(trigger: Trigger) -> u8 {
    match trigger {
        Trigger::Event => 0,
        Trigger::Requeue | Trigger::Retry => 1,
        Trigger::InitialList | Trigger::Resync | Trigger::Swap => 2,
    }
}

fn triggers() -> impl Strategy<Value = Trigger> {
    prop::sample::select(vec![
        Trigger::Event,
        Trigger::InitialList,
        Trigger::Resync,
        Trigger::Requeue,
        Trigger::Retry,
        Trigger::Swap,
    ])
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let key = 0..8u8;
    let op = prop_oneof![
        20 => (key.clone(), triggers()).prop_map(|(key, trigger)| Op::Add(key, trigger)),
        10 => (key.clone(), 0..60u64, triggers()).prop_map(|(key, delay, trigger)| Op::AddAfter(key, delay, trigger)),
        10 => key.clone().prop_map(Op::AddRateLimited),
        25 => Just(Op::Get),
        20 => (0..8usize).prop_map(Op::Done),
        3 => key.clone().prop_map(Op::Forget),
        3 => key.prop_map(Op::Remove),
        1 => Just(Op::Purge),
        15 => (0..40u64).prop_map(Op::Advance),
        1 => Just(Op::ShutDown),
        1 => Just(Op::Drain),
    ];
    prop::collection::vec(op, 1..120)
}

fn paused<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap().block_on(test)
}

/// The queue, the pending drains, and the model.
struct Both {
    queue: WorkQueue<u8>,
    drains: Vec<Pin<Box<dyn Future<Output = ()>>>>,
    model: Model,
}

impl Both {
    fn new(config: Config) -> Self {
        let queue = WorkQueue::new("model", config);
        Self { queue, drains: Vec::new(), model: Model::default() }
    }

    /// Asserts that drains complete exactly when the queue is drained.
    fn poll_drains(&mut self) {
        let waited = self.drains.len();
        self.drains.retain_mut(|drain| drain.now_or_never().is_none());
        let ended = waited - self.drains.len();
        assert_eq!(ended, if self.model.is_drained() { waited } else { 0 }, "of {waited} drains");
    }
}

/// Makes one call on both, and asserts equal results.
async fn step(Both { queue, drains, model }: &mut Both, op: Op) {
    match op {
        Op::Add(key, trigger) => {
            queue.add(key, trigger);
            model.add(key, trigger);
        }
        Op::AddAfter(key, delay, trigger) => {
            let delay = Duration::from_millis(delay);
            queue.add_after(key, delay, trigger);
            model.add_after(key, delay, trigger);
        }
        Op::AddRateLimited(key) => {
            let (delay, expected) = (queue.add_rate_limited(key), model.delay_of_retry(key));
            // The bucket counts in fractions of a second.
            assert!(delay.abs_diff(expected) < Duration::from_micros(1), "{delay:?} is not {expected:?}");
            model.add_after(key, delay, Trigger::Retry);
        }
        Op::Get => {
            let answer = queue.get().now_or_never();
            let finished = model.shut_down && model.dirty.is_empty();
            match model.get() {
                Some(expected) => {
                    let item = answer.flatten().expect("a key is ready");
                    assert_eq!((item.key, item.trigger, item.attempt), expected);
                }
                None => assert_eq!(answer, finished.then_some(None)),
            }
        }
        Op::Done(n) => {
            let Some(key) = model.processing.iter().nth(n).copied() else { return };
            queue.done(&key);
            model.done(key);
        }
        Op::Forget(key) => {
            queue.forget(&key);
            model.failures.remove(&key);
            if model.timers.get(&key).is_some_and(|(_, _, trigger)| *trigger == Trigger::Retry) {
                model.timers.remove(&key);
            }
        }
        Op::Remove(key) => {
            queue.remove(&key);
            model.remove(key);
        }
        Op::Purge => {
            let keys: BTreeSet<u8> = model.dirty.keys().chain(model.timers.keys()).copied().collect();
            assert_eq!(queue.purge(), keys.len());
            (0..8).for_each(|key| model.remove(key));
        }
        Op::Advance(millis) => {
            advance(Duration::from_millis(millis)).await;
            model.advance(Duration::from_millis(millis));
        }
        Op::ShutDown | Op::Drain => {
            model.shut_down = true;
            model.draining = matches!(op, Op::Drain);
            model.timers.clear();
            if model.draining {
                let queue = queue.clone();
                // Polled after every call; the first poll ends the queue.
                drains.push(Box::pin(async move { queue.shut_down_with_drain().await }));
            } else {
                queue.shut_down();
            }
        }
    }
}

/// Asserts that the visible state of the queue equals the model's.
fn compare(queue: &WorkQueue<u8>, model: &Model) {
    let seen = queue.snapshot(usize::MAX);
    assert_eq!(seen.ready, model.list.len());
    assert_eq!(seen.delayed, model.timers.len());
    assert_eq!(seen.failing, model.failures.len());
    let known: BTreeSet<u8> = model
        .dirty
        .keys()
        .chain(&model.processing)
        .chain(model.timers.keys())
        .chain(model.failures.keys())
        .copied()
        .collect();
    assert_eq!(queue.shared.lock().table.len(), known.len(), "room is taken for these only");
    assert_eq!(queue.shared.lock().waiting, 0, "callers that are gone do not count");
    let mut line = model.list.clone();
    line.sort_by_key(|key| rank(model.dirty[key]));
    let ready = seen.keys.iter().filter(|status| matches!(status.phase, Phase::Ready { .. }));
    assert_eq!(ready.map(|status| status.key).collect::<Vec<_>>(), line, "by priority and age");
    for key in 0..8 {
        assert_eq!(queue.is_processing(&key), model.processing.contains(&key), "processing {key}");
        assert_eq!(queue.num_requeues(&key), model.failures.get(&key).copied().unwrap_or(0), "failures of {key}");
    }
    for status in seen.keys {
        let key = status.key;
        match status.phase {
            Phase::Processing { again, .. } => assert_eq!(again, model.dirty.get(&key).copied()),
            Phase::Ready { trigger, .. } => {
                assert!(model.list.contains(&key));
                assert_eq!(trigger, model.dirty[&key]);
            }
            Phase::Delayed { trigger, remaining } => {
                let (due, _, expected) = model.timers[&key];
                assert_eq!((trigger, remaining), (expected, due - model.now));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_queue_does_what_two_sets_and_a_list_do(ops in ops()) {
        paused(async {
            let config = Config {
                base_delay: BASE,
                max_delay: MAX,
                retry_rate: 1.0 / REFILL.as_secs_f64(),
                retry_burst: BURST,
                starvation_bound: BOUND,
                ..Config::default()
            };
            let mut both = Both::new(config);
            for op in ops {
                step(&mut both, op).await;
                both.poll_drains();
                compare(&both.queue, &both.model);
            }
        });
    }

    #[test]
    fn whatever_happened_before_a_drain_ends_and_no_key_that_was_due_is_lost(ops in ops()) {
        paused(async {
            let config = Config { base_delay: BASE, max_delay: MAX, retry_rate: 0.0, ..Config::default() };
            let queue = WorkQueue::new("model", config);
            let mut held = Vec::new();
            // Keys whose last add was not yet followed by a hand-out.
            let mut owed = BTreeSet::new();
            for op in ops {
                match op {
                    Op::Add(key, trigger) => {
                        queue.add(key, trigger);
                        owed.insert(key);
                    }
                    Op::Get => {
                        if let Some(item) = queue.get().now_or_never().flatten() {
                            assert!(!held.contains(&item.key), "held twice");
                            owed.remove(&item.key);
                            held.push(item.key);
                        }
                    }
                    Op::Done(n) if n < held.len() => queue.done(&held.swap_remove(n)),
                    // These calls add or drop a key; earlier adds are still owed.
                    Op::AddAfter(key, delay, trigger) => queue.add_after(key, Duration::from_millis(delay), trigger),
                    Op::AddRateLimited(key) => drop(queue.add_rate_limited(key)),
                    Op::Advance(millis) => advance(Duration::from_millis(millis)).await,
                    Op::Forget(key) => queue.forget(&key),
                    Op::Remove(key) => {
                        queue.remove(&key);
                        owed.remove(&key);
                    }
                    Op::Purge => {
                        queue.purge();
                        owed.clear();
                    }
                    Op::Done(_) | Op::ShutDown | Op::Drain => {}
                }
            }
            let workers: Vec<_> = (0..2)
                .map(|_| {
                    let queue = queue.clone();
                    tokio::spawn(async move {
                        let mut ran = Vec::new();
                        while let Some(item) = queue.get().await {
                            tokio::task::yield_now().await;
                            queue.done(&item.key);
                            ran.push(item.key);
                        }
                        ran
                    })
                })
                .collect();
            let drain = tokio::spawn({
                let queue = queue.clone();
                async move { queue.shut_down_with_drain().await }
            });
            tokio::task::yield_now().await;
            for key in held {
                queue.done(&key);
            }
            // The clock is paused: if this cannot end, the timeout passes at once.
            tokio::time::timeout(Duration::from_secs(60), drain).await.expect("the drain ends").unwrap();
            for worker in workers {
                let ran = tokio::time::timeout(Duration::from_secs(60), worker).await.expect("workers end").unwrap();
                for key in ran {
                    owed.remove(&key);
                }
            }
            assert_eq!(owed, BTreeSet::new());
        });
    }

    #[test]
    fn every_key_is_handed_out_within_its_bound(
        adds in prop::collection::vec((0..40u8, triggers(), 0..3u8), 1..200), bound in 2..6u32
    ) {
        paused(async {
            let config = Config { starvation_bound: bound, ..Config::default() };
            let queue = WorkQueue::new("model", config);
            // For all keys but events: the hand-outs since the add, and the permitted number.
            let mut waiting: BTreeMap<u8, (u32, u32)> = BTreeMap::new();
            let mut events = BTreeSet::new();
            for (key, trigger, gets) in adds {
                if trigger == Trigger::Event {
                    events.insert(key);
                    waiting.remove(&key);
                } else if !events.contains(&key) {
                    let older = u32::try_from(waiting.len()).unwrap();
                    waiting.entry(key).or_insert((0, bound * (older + 1)));
                }
                queue.add(key, trigger);
                for _ in 0..gets {
                    let Some(item) = queue.get().now_or_never().flatten() else { break };
                    queue.done(&item.key);
                    for (key, (taken, most)) in &mut waiting {
                        *taken += 1;
                        assert!(taken <= most, "key {key} was not handed out within {most} gets");
                    }
                    events.remove(&item.key);
                    waiting.remove(&item.key);
                }
            }
        });
    }
}
