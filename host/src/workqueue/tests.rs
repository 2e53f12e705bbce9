//! What the queue promises, one sentence per test. `q1` to `q14` number the ways in which queues of controllers failed.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use futures::FutureExt;
use tokio::time::{Instant, advance};

use super::*;
use crate::metrics::Metrics;

const MS: Duration = Duration::from_millis(1);

fn queue() -> WorkQueue<&'static str> {
    with(Config::default())
}

fn with<K: Clone + Eq + Hash + Debug + Send + 'static>(config: Config) -> WorkQueue<K> {
    WorkQueue::new("test", config, Metrics::new().queue("test"))
}

/// What `get` hands out without waiting. Dropping the future that waits is part of the test: nothing may be lost by it.
fn take<K: Clone + Eq + Hash + Debug + Send + 'static>(queue: &WorkQueue<K>) -> Option<Item<K>> {
    queue.get().now_or_never().flatten()
}

fn take_key<K: Clone + Eq + Hash + Debug + Send + 'static>(queue: &WorkQueue<K>) -> Option<K> {
    take(queue).map(|item| item.key)
}

/// Whether `get` answers that the queue has ended.
fn is_finished(queue: &WorkQueue<&'static str>) -> bool {
    queue.get().now_or_never() == Some(None)
}

#[tokio::test(start_paused = true)]
async fn keys_of_one_priority_come_out_in_the_order_they_went_in() {
    let queue = queue();
    for key in ["a", "b", "c"] {
        queue.add(key, Trigger::Event);
    }
    assert_eq!([take_key(&queue), take_key(&queue), take_key(&queue)], [Some("a"), Some("b"), Some("c")]);
    assert_eq!(take(&queue), None);
}

#[tokio::test(start_paused = true)]
async fn q1_add_while_processing_runs_once_more_after_done() {
    let queue = queue();
    queue.add("a", Trigger::Event);
    assert_eq!(take_key(&queue), Some("a"));
    queue.add("a", Trigger::Event);
    queue.add("a", Trigger::Resync);
    assert_eq!(take(&queue), None, "handed out twice at once");
    queue.done(&"a");
    assert_eq!(take_key(&queue), Some("a"));
    queue.done(&"a");
    assert_eq!(take(&queue), None, "handed out more than once more");
    assert!(!queue.is_processing(&"a"));
}

#[tokio::test(start_paused = true)]
async fn q1_timer_that_fires_while_processing_runs_once_more_after_done() {
    let queue = queue();
    queue.add("a", Trigger::Event);
    assert_eq!(take_key(&queue), Some("a"));
    queue.add_after("a", 10 * MS, Trigger::Requeue);
    advance(20 * MS).await;
    assert_eq!(take(&queue), None);
    queue.done(&"a");
    let item = take(&queue).unwrap();
    assert_eq!((item.trigger, item.waited), (Trigger::Requeue, 10 * MS));
}

#[tokio::test(start_paused = true)]
async fn q2_many_adds_of_a_waiting_key_are_one_run() {
    let queue = queue();
    for _ in 0..1000 {
        queue.add("a", Trigger::Event);
    }
    assert_eq!(queue.len(), 1);
    assert_eq!(take_key(&queue), Some("a"));
    queue.done(&"a");
    assert_eq!(take(&queue), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn q3_a_key_is_never_held_twice_and_no_add_is_lost_among_many_workers() {
    const KEYS: usize = 16;
    const ADDS: usize = 20_000;
    let queue: WorkQueue<usize> = with(Config::default());
    let held: Arc<Vec<AtomicUsize>> = Arc::new((0..KEYS).map(|_| AtomicUsize::new(0)).collect());
    let added: Arc<Vec<AtomicU32>> = Arc::new((0..KEYS).map(|_| AtomicU32::new(0)).collect());
    let seen: Arc<Vec<AtomicU32>> = Arc::new((0..KEYS).map(|_| AtomicU32::new(0)).collect());
    let workers: Vec<_> = (0..4)
        .map(|_| {
            // A handle of its own, as every version of a plugin has.
            let (queue, held, added, seen) = (queue.clone(), held.clone(), added.clone(), seen.clone());
            tokio::spawn(async move {
                while let Some(Item { key, .. }) = queue.get().await {
                    assert_eq!(held[key].fetch_add(1, Ordering::SeqCst), 0, "key {key} is held twice");
                    seen[key].store(added[key].load(Ordering::SeqCst), Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    held[key].fetch_sub(1, Ordering::SeqCst);
                    queue.done(&key);
                }
            })
        })
        .collect();
    let producers: Vec<_> = (0..2)
        .map(|producer| {
            let (queue, added) = (queue.clone(), added.clone());
            tokio::spawn(async move {
                for n in 0..ADDS / 2 {
                    let key = (n * 7 + producer) % KEYS;
                    added[key].fetch_add(1, Ordering::SeqCst);
                    queue.add(key, if n % 3 == 0 { Trigger::Resync } else { Trigger::Event });
                    if n % 64 == 0 {
                        tokio::task::yield_now().await;
                    }
                }
            })
        })
        .collect();
    for producer in producers {
        producer.await.unwrap();
    }
    queue.shut_down_with_drain().await;
    for worker in workers {
        worker.await.unwrap();
    }
    for key in 0..KEYS {
        // The last add of each key was followed by a run that began after it.
        assert_eq!(seen[key].load(Ordering::SeqCst), added[key].load(Ordering::SeqCst), "key {key}");
    }
}

#[tokio::test(start_paused = true)]
async fn q3_a_second_handle_does_not_get_a_key_that_the_first_holds() {
    let old = queue();
    let new = old.clone();
    old.add("a", Trigger::Event);
    assert_eq!(take_key(&old), Some("a"));
    new.add("a", Trigger::Swap);
    assert_eq!(take(&new), None);
    old.done(&"a");
    assert_eq!(take_key(&new), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn q4_of_two_delays_the_earlier_counts() {
    let queue = queue();
    queue.add_after("a", 100 * MS, Trigger::Requeue);
    queue.add_after("a", 10 * MS, Trigger::Requeue);
    queue.add_after("a", 50 * MS, Trigger::Requeue);
    advance(9 * MS).await;
    assert_eq!(take(&queue), None, "early");
    advance(MS).await;
    assert_eq!(take_key(&queue), Some("a"));
    queue.done(&"a");
    advance(200 * MS).await;
    assert_eq!(take(&queue), None, "the later ones are one with the first");
}

#[tokio::test(start_paused = true)]
async fn q4_an_add_runs_now_and_the_timer_runs_the_key_again() {
    let queue = queue();
    queue.add_after("a", 100 * MS, Trigger::Requeue);
    queue.add("a", Trigger::Event);
    assert_eq!(take(&queue).unwrap().trigger, Trigger::Event);
    queue.done(&"a");
    assert_eq!(take(&queue), None);
    advance(100 * MS).await;
    assert_eq!(take(&queue).unwrap().trigger, Trigger::Requeue);
}

#[tokio::test(start_paused = true)]
async fn q5_coalesced_adds_keep_the_highest_priority() {
    let queue = queue();
    queue.add("a", Trigger::Resync);
    queue.add("b", Trigger::Event);
    queue.add("a", Trigger::Event);
    queue.add("b", Trigger::Resync);
    let (first, second) = (take(&queue).unwrap(), take(&queue).unwrap());
    // "a" is older than "b", also in the line it was raised to.
    assert_eq!((first.key, first.trigger), ("a", Trigger::Event));
    assert_eq!((second.key, second.trigger), ("b", Trigger::Event));
}

#[tokio::test(start_paused = true)]
async fn q5_the_priority_of_an_add_while_processing_is_kept_when_it_is_requeued() {
    let queue = queue();
    queue.add("a", Trigger::Resync);
    assert_eq!(take_key(&queue), Some("a"));
    queue.add("a", Trigger::Swap);
    queue.add("a", Trigger::Event);
    queue.add("a", Trigger::Requeue);
    queue.add("b", Trigger::Requeue);
    queue.done(&"a");
    assert_eq!(take(&queue).unwrap().trigger, Trigger::Event);
    assert_eq!(take_key(&queue), Some("b"));
}

#[tokio::test(start_paused = true)]
async fn q5_coalesced_delays_keep_the_highest_priority() {
    let queue = queue();
    queue.add_after("a", 10 * MS, Trigger::Resync);
    queue.add_after("a", 20 * MS, Trigger::Requeue);
    advance(10 * MS).await;
    assert_eq!(take(&queue).unwrap().trigger, Trigger::Requeue);
}

#[tokio::test(start_paused = true)]
async fn q5_events_go_before_retries_and_these_before_the_initial_list() {
    let queue = queue();
    queue.add("listed", Trigger::InitialList);
    queue.add("failed", Trigger::Retry);
    queue.add("changed", Trigger::Event);
    assert_eq!(
        [take_key(&queue), take_key(&queue), take_key(&queue)],
        [Some("changed"), Some("failed"), Some("listed")]
    );
}

#[tokio::test(start_paused = true)]
async fn q6_every_listed_key_is_handed_out_within_its_bound_under_a_flood_of_events() {
    let bound = 4;
    let queue: WorkQueue<(Trigger, u32)> = with(Config { starvation_bound: bound, ..Config::default() });
    for n in 0..50 {
        let trigger = if n % 2 == 0 { Trigger::InitialList } else { Trigger::Retry };
        queue.add((trigger, n), trigger);
    }
    let mut gets = 0;
    let mut left: HashSet<u32> = (0..50).collect();
    for n in 0.. {
        // More events arrive than are handed out.
        queue.add((Trigger::Event, 2 * n), Trigger::Event);
        queue.add((Trigger::Event, 2 * n + 1), Trigger::Event);
        gets += 1;
        let (trigger, number) = take_key(&queue).unwrap();
        if trigger != Trigger::Event {
            assert!(gets <= bound * (number + 1), "key {number} had to wait for {gets} gets");
            left.remove(&number);
        }
        if left.is_empty() {
            break;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn q6_events_lose_no_more_than_the_share_of_the_bound_to_a_flood_of_listed_keys() {
    let queue: WorkQueue<(Trigger, u32)> = with(Config { starvation_bound: 4, ..Config::default() });
    for n in 0..1000 {
        queue.add((Trigger::InitialList, n), Trigger::InitialList);
    }
    for n in 0..30 {
        queue.add((Trigger::Event, n), Trigger::Event);
    }
    let first: Vec<_> = (0..40).map(|_| take_key(&queue).unwrap().0).collect();
    assert_eq!(first.iter().filter(|trigger| **trigger == Trigger::Event).count(), 30);
}

#[tokio::test(start_paused = true)]
async fn q7_a_delayed_key_does_not_hold_up_a_ready_one_of_lower_priority() {
    let queue = queue();
    queue.add_after("later", 50 * MS, Trigger::Event);
    queue.add("now", Trigger::Resync);
    assert_eq!(take_key(&queue), Some("now"));
    assert_eq!(take(&queue), None);
}

#[tokio::test(start_paused = true)]
async fn q7_delayed_keys_become_ready_in_the_order_of_their_times_though_nobody_looked() {
    let queue = queue();
    queue.add_after("c", 30 * MS, Trigger::Event);
    queue.add_after("a", 10 * MS, Trigger::Event);
    queue.add_after("b", 20 * MS, Trigger::Event);
    advance(15 * MS).await;
    queue.add("x", Trigger::Event);
    advance(15 * MS).await;
    let order: Vec<_> = std::iter::from_fn(|| take_key(&queue)).collect();
    assert_eq!(order, ["a", "x", "b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn q7_once_ready_a_delayed_key_of_higher_priority_goes_first() {
    let queue = queue();
    queue.add("low", Trigger::Resync);
    queue.add_after("high", 10 * MS, Trigger::Event);
    advance(10 * MS).await;
    assert_eq!([take_key(&queue), take_key(&queue)], [Some("high"), Some("low")]);
}

#[tokio::test(start_paused = true)]
async fn q8_backoff_doubles_per_key_to_its_end_and_starts_over_when_forgotten() {
    let queue = with(Config { max_delay: 60 * MS, retry_rate: 0.0, ..Config::default() });
    let delays: Vec<_> = (0..6).map(|_| queue.add_rate_limited("a")).collect();
    assert_eq!(delays, [5 * MS, 10 * MS, 20 * MS, 40 * MS, 60 * MS, 60 * MS]);
    assert_eq!(queue.add_rate_limited("b"), 5 * MS, "another key has its own backoff");
    assert_eq!((queue.num_requeues(&"a"), queue.num_requeues(&"b"), queue.num_requeues(&"c")), (6, 1, 0));
    queue.forget(&"a");
    assert_eq!(queue.num_requeues(&"a"), 0);
    assert_eq!(queue.add_rate_limited("a"), 5 * MS);
}

#[tokio::test(start_paused = true)]
async fn q8_an_add_does_not_reset_the_backoff() {
    let queue = queue();
    queue.add_rate_limited("a");
    queue.add_rate_limited("a");
    queue.add("a", Trigger::Event);
    let item = take(&queue).unwrap();
    assert_eq!((item.attempt, queue.num_requeues(&"a")), (3, 2));
    queue.done(&"a");
    assert_eq!(queue.add_rate_limited("a"), 20 * MS);
}

#[tokio::test(start_paused = true)]
async fn q8_backoff_reaches_its_end_of_1000_s_and_stays_there() {
    let queue = with(Config { retry_rate: 0.0, ..Config::default() });
    let mut last = Duration::ZERO;
    for _ in 0..200 {
        let delay = queue.add_rate_limited("a");
        assert!(delay >= last);
        last = delay;
    }
    assert_eq!(last, Duration::from_secs(1000));
}

#[tokio::test(start_paused = true)]
async fn q8_jitter_lengthens_a_backoff_by_no_more_than_its_fraction() {
    let queue: WorkQueue<u32> = with(Config { jitter: 0.5, retry_rate: 0.0, ..Config::default() });
    let delays: HashSet<_> = (0..100).map(|n| queue.add_rate_limited(n)).collect();
    assert!(delays.iter().all(|delay| (5 * MS..=Duration::from_micros(7500)).contains(delay)), "{delays:?}");
    assert!(delays.len() > 50, "keys that fail together come back together: {delays:?}");
}

#[tokio::test(start_paused = true)]
async fn retries_of_all_keys_share_a_bucket_that_refills() {
    let queue: WorkQueue<u32> = with(Config { retry_rate: 10.0, retry_burst: 3, ..Config::default() });
    let delays: Vec<_> = (0..5).map(|n| queue.add_rate_limited(n)).collect();
    assert_eq!(delays, [5 * MS, 5 * MS, 5 * MS, 100 * MS, 200 * MS]);
    advance(Duration::from_secs(10)).await;
    let delays: Vec<_> = (10..15).map(|n| queue.add_rate_limited(n)).collect();
    assert_eq!(delays, [5 * MS, 5 * MS, 5 * MS, 100 * MS, 200 * MS]);
}

#[tokio::test(start_paused = true)]
async fn events_and_requeues_do_not_take_from_the_bucket_of_retries() {
    let queue: WorkQueue<u32> = with(Config { retry_burst: 1, ..Config::default() });
    for n in 0..100 {
        queue.add(n, Trigger::Event);
        queue.add_after(n, MS, Trigger::Requeue);
    }
    assert_eq!(queue.add_rate_limited(0), 5 * MS);
}

#[tokio::test(start_paused = true)]
async fn q9_shut_down_hands_out_what_is_ready_and_then_ends() {
    let queue = queue();
    queue.add("a", Trigger::Event);
    queue.add_after("later", MS, Trigger::Event);
    queue.shut_down();
    queue.add("b", Trigger::Event);
    queue.add_after("c", MS, Trigger::Event);
    queue.add_rate_limited("d");
    advance(10 * MS).await;
    assert_eq!(take_key(&queue), Some("a"));
    assert!(is_finished(&queue));
    queue.shut_down();
    assert!(is_finished(&queue));
}

#[tokio::test(start_paused = true)]
async fn q9_shut_down_wakes_every_worker_that_waits() {
    let queue = queue();
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.get().await })
        })
        .collect();
    tokio::task::yield_now().await;
    queue.shut_down();
    for worker in workers {
        assert_eq!(worker.await.unwrap(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn q9_drain_waits_for_ready_and_for_processing_keys() {
    let queue = queue();
    queue.add("a", Trigger::Event);
    queue.add("b", Trigger::Event);
    assert_eq!(take_key(&queue), Some("a"));
    let mut drain = Box::pin(queue.shut_down_with_drain());
    assert_eq!(drain.as_mut().now_or_never(), None);
    queue.done(&"a");
    assert_eq!(drain.as_mut().now_or_never(), None, "b was never handed out");
    assert_eq!(take_key(&queue), Some("b"));
    assert_eq!(drain.as_mut().now_or_never(), None, "b is not done");
    queue.done(&"b");
    drain.await;
    assert!(is_finished(&queue));
}

#[tokio::test(start_paused = true)]
async fn q9_drain_runs_a_dirty_key_again_though_its_worker_was_the_only_one_left() {
    let queue = queue();
    queue.add("a", Trigger::Event);
    // One task hands keys to others: it must not be told that this is the end while a key may still come back.
    let item = queue.get().await.unwrap();
    queue.add("a", Trigger::Event);
    let dispatcher = tokio::spawn({
        let queue = queue.clone();
        async move {
            let again = queue.get().await.unwrap();
            queue.done(&again.key);
            queue.get().await
        }
    });
    let drain = tokio::spawn({
        let queue = queue.clone();
        async move { queue.shut_down_with_drain().await }
    });
    tokio::task::yield_now().await;
    queue.done(&item.key);
    assert_eq!(dispatcher.await.unwrap(), None);
    drain.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn q9_shut_down_ends_a_drain_that_nobody_serves() {
    let queue = queue();
    queue.add("a", Trigger::Event);
    let drain = tokio::spawn({
        let queue = queue.clone();
        async move { queue.shut_down_with_drain().await }
    });
    tokio::task::yield_now().await;
    assert!(!drain.is_finished());
    queue.shut_down();
    drain.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn q9_purge_lets_a_drain_end() {
    let queue = queue();
    queue.add("a", Trigger::Event);
    let mut drain = Box::pin(queue.shut_down_with_drain());
    assert_eq!(drain.as_mut().now_or_never(), None);
    queue.purge();
    drain.await;
}

#[tokio::test(start_paused = true)]
async fn q10_the_number_of_series_does_not_grow_with_keys() {
    let metrics = Metrics::new();
    let queue = WorkQueue::new("test", Config::default(), metrics.queue("test"));
    let series = |metrics: &Metrics| metrics.encode().unwrap().lines().filter(|line| !line.starts_with('#')).count();
    queue.add(0, Trigger::Event);
    let before = series(&metrics);
    for key in 0..1000 {
        queue.add(key, Trigger::Event);
        queue.add_rate_limited(key);
    }
    assert_eq!(series(&metrics), before);
}

#[tokio::test(start_paused = true)]
async fn q11_a_queue_flooded_by_its_plugin_delays_no_key_of_another() {
    let metrics = Metrics::new();
    let flooded = WorkQueue::new("a", Config::default(), metrics.queue("a"));
    let other = WorkQueue::new("b", Config::default(), metrics.queue("b"));
    const KEYS: usize = 1_000_000;
    for key in 0..KEYS {
        flooded.add(key, Trigger::Event);
        if key % 100 == 0 {
            flooded.add_rate_limited(key);
        }
    }
    other.add(1, Trigger::Resync);
    assert_eq!(take(&other).map(|item| item.waited), Some(Duration::ZERO));
    assert_eq!(other.add_rate_limited(1), 5 * MS, "the buckets are not shared");
    assert_eq!((flooded.len(), other.len()), (KEYS, 0));
    assert_eq!(flooded.purge(), KEYS, "what is flooded can be removed");
}

#[tokio::test(start_paused = true)]
async fn q12_purge_drops_keys_timers_dirty_marks_and_failures() {
    let queue = queue();
    for key in ["held", "ready"] {
        queue.add(key, Trigger::Event);
    }
    assert_eq!(take_key(&queue), Some("held"));
    queue.add("held", Trigger::Event);
    queue.add_after("ready", 5 * MS, Trigger::Event);
    queue.add_rate_limited("timer");
    assert_eq!(queue.purge(), 3);
    assert!(queue.is_processing(&"held"), "a worker goes on with what it holds");
    queue.done(&"held");
    advance(Duration::from_secs(3600)).await;
    assert_eq!(take(&queue), None);
    assert_eq!(queue.num_requeues(&"timer"), 0);
    assert_eq!(queue.snapshot(10), Snapshot { ready: 0, processing: 0, delayed: 0, failing: 0, keys: vec![] });
    queue.add("ready", Trigger::Event);
    assert_eq!(take_key(&queue), Some("ready"), "a purged queue goes on");
}

#[tokio::test(start_paused = true)]
async fn q13_remove_cancels_the_run_and_the_timer_of_one_key() {
    let queue = queue();
    for key in ["a", "b"] {
        queue.add(key, Trigger::Event);
        queue.add_after(key, 10 * MS, Trigger::Requeue);
    }
    queue.add_rate_limited("a");
    queue.remove(&"a");
    assert_eq!((take_key(&queue), take_key(&queue)), (Some("b"), None));
    queue.done(&"b");
    advance(20 * MS).await;
    assert_eq!((take_key(&queue), take_key(&queue)), (Some("b"), None));
    assert_eq!(queue.num_requeues(&"a"), 0);
}

#[tokio::test(start_paused = true)]
async fn q13_remove_of_a_held_key_clears_its_dirty_mark_and_leaves_it_to_its_worker() {
    let queue = queue();
    queue.add("a", Trigger::Event);
    assert_eq!(take_key(&queue), Some("a"));
    queue.add("a", Trigger::Event);
    queue.remove(&"a");
    assert!(queue.is_processing(&"a"));
    queue.done(&"a");
    assert_eq!(take(&queue), None);
}

#[tokio::test(start_paused = true)]
async fn q14_delays_are_lowered_to_180_days() {
    let queue = queue();
    queue.add_after("a", Duration::MAX, Trigger::Requeue);
    advance(MAX_DELAY - MS).await;
    assert_eq!(take(&queue), None);
    advance(MS).await;
    assert_eq!(take_key(&queue), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn q14_extreme_configurations_choose_delays_in_range() {
    for config in [
        Config { base_delay: Duration::MAX, max_delay: Duration::MAX, ..Config::default() },
        Config { jitter: f64::NAN, retry_rate: f64::MIN_POSITIVE, retry_burst: 0, ..Config::default() },
        Config { jitter: f64::INFINITY, retry_rate: f64::NAN, ..Config::default() },
        Config { base_delay: Duration::ZERO, max_delay: Duration::ZERO, starvation_bound: 0, ..Config::default() },
    ] {
        let queue = with(config);
        for _ in 0..100 {
            assert!(queue.add_rate_limited("a") <= MAX_DELAY);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn q14_a_process_that_slept_for_an_hour_runs_each_due_key_once() {
    let queue = queue();
    for key in ["a", "b"] {
        queue.add_after(key, 10 * MS, Trigger::Requeue);
    }
    advance(Duration::from_secs(3600)).await;
    let due: Vec<_> = std::iter::from_fn(|| take_key(&queue)).collect();
    assert_eq!(due, ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_worker_gets_a_delayed_key_when_its_time_has_come() {
    let queue = queue();
    let start = Instant::now();
    queue.add_after("a", 30 * MS, Trigger::Requeue);
    let item = queue.get().await.unwrap();
    assert_eq!((item.key, start.elapsed()), ("a", 30 * MS));
}

#[tokio::test(start_paused = true)]
async fn a_waiting_worker_learns_of_an_earlier_timer_though_another_that_learned_of_it_is_gone() {
    let queue = queue();
    let start = Instant::now();
    queue.add_after("late", Duration::from_secs(60), Trigger::Requeue);
    let mut gone = Box::pin(queue.get());
    assert_eq!(gone.as_mut().now_or_never(), None);
    let stays = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await }
    });
    tokio::task::yield_now().await;
    queue.add_after("early", 5 * MS, Trigger::Requeue);
    assert_eq!(gone.as_mut().now_or_never(), None);
    drop(gone);
    let item = stays.await.unwrap().unwrap();
    assert_eq!((item.key, start.elapsed()), ("early", 5 * MS));
}

#[tokio::test(start_paused = true)]
async fn a_wake_up_given_to_a_worker_that_is_gone_wakes_another() {
    let queue = queue();
    let mut gone = Box::pin(queue.get());
    assert_eq!(gone.as_mut().now_or_never(), None);
    let stays = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await }
    });
    tokio::task::yield_now().await;
    queue.add("a", Trigger::Event);
    drop(gone);
    assert_eq!(stays.await.unwrap().unwrap().key, "a");
}

#[tokio::test(start_paused = true)]
async fn every_key_of_a_burst_finds_a_waiting_worker() {
    let queue = queue();
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.get().await.unwrap().key })
        })
        .collect();
    tokio::task::yield_now().await;
    for key in ["a", "b", "c"] {
        queue.add(key, Trigger::Event);
    }
    let mut taken = HashSet::new();
    for worker in workers {
        taken.insert(worker.await.unwrap());
    }
    assert_eq!(taken, HashSet::from(["a", "b", "c"]));
}

#[tokio::test(start_paused = true)]
async fn done_with_a_key_that_is_not_held_changes_nothing() {
    let queue = queue();
    queue.add("a", Trigger::Event);
    queue.done(&"a");
    queue.done(&"b");
    assert_eq!(take_key(&queue), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn the_wait_of_a_delayed_key_is_counted_from_the_time_it_was_due() {
    let queue = queue();
    queue.add_after("a", 10 * MS, Trigger::Requeue);
    advance(15 * MS).await;
    assert_eq!(take(&queue).unwrap().waited, 5 * MS);
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_tells_where_each_key_is_and_is_bounded() {
    let queue = queue();
    queue.add("held", Trigger::Event);
    assert_eq!(take_key(&queue), Some("held"));
    queue.add("held", Trigger::Resync);
    queue.add("ready", Trigger::Swap);
    queue.add_rate_limited("delayed");
    advance(2 * MS).await;
    let all = queue.snapshot(10);
    let expected = [
        ("held", Phase::Processing { elapsed: 2 * MS, again: Some(Trigger::Resync) }, 0),
        ("ready", Phase::Ready { trigger: Trigger::Swap, waited: 2 * MS }, 0),
        ("delayed", Phase::Delayed { trigger: Trigger::Retry, remaining: 3 * MS }, 1),
    ];
    let expected = expected.map(|(key, phase, failures)| KeyStatus { key, phase, failures });
    assert_eq!((all.ready, all.processing, all.delayed, all.failing), (1, 1, 1, 1));
    assert_eq!(all.keys, expected);
    assert_eq!(queue.snapshot(1).keys, expected[..1]);
}

#[tokio::test(start_paused = true)]
async fn the_metrics_of_a_queue_tell_what_happened_in_it() {
    let metrics = Metrics::new();
    let queue = WorkQueue::new("network", Config::default(), metrics.queue("network"));
    queue.add("a", Trigger::Event);
    queue.add("a", Trigger::Event);
    queue.add("b", Trigger::Event);
    advance(Duration::from_secs(2)).await;
    assert_eq!(take_key(&queue), Some("a"));
    queue.add("a", Trigger::Event);
    queue.add_after("c", MS, Trigger::Resync);
    queue.add_rate_limited("d");
    let expect = |lines: &[&str]| {
        let text = metrics.encode().unwrap();
        for line in lines {
            assert!(text.lines().any(|have| have == *line), "no {line} in\n{text}");
        }
    };
    advance(Duration::from_secs(3)).await;
    expect(&[
        r#"workqueue_depth{name="network"} 2"#,
        r#"workqueue_adds_total{name="network"} 3"#,
        r#"workqueue_retries_total{name="network"} 1"#,
        r#"workqueue_queue_duration_seconds_sum{name="network"} 2.0"#,
        r#"workqueue_unfinished_work_seconds{name="network"} 3.0"#,
        r#"workqueue_longest_running_processor_seconds{name="network"} 3.0"#,
    ]);
    queue.done(&"a");
    expect(&[
        r#"workqueue_depth{name="network"} 4"#,
        r#"workqueue_adds_total{name="network"} 5"#,
        r#"workqueue_work_duration_seconds_sum{name="network"} 3.0"#,
        r#"workqueue_work_duration_seconds_count{name="network"} 1"#,
        r#"workqueue_unfinished_work_seconds{name="network"} 0.0"#,
        r#"workqueue_longest_running_processor_seconds{name="network"} 0.0"#,
    ]);
}

#[tokio::test(start_paused = true)]
async fn fifty_thousand_keys_pass_through_ready_and_delayed_lines() {
    let queue: WorkQueue<u32> = with(Config { retry_rate: 0.0, ..Config::default() });
    const KEYS: u32 = 50_000;
    for key in 0..KEYS {
        queue.add_after(key, Duration::from_millis(u64::from(key % 1000) + 1), Trigger::Resync);
    }
    advance(Duration::from_secs(1)).await;
    assert_eq!(queue.len(), KEYS as usize);
    let mut order = Vec::new();
    while let Some(key) = take_key(&queue) {
        queue.done(&key);
        order.push(key);
    }
    assert_eq!(order.len(), KEYS as usize);
    assert!(order.is_sorted_by_key(|key| (key % 1000, *key)), "by time, then in the order they were delayed");
}
