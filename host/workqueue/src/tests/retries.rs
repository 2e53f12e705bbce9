//! Lengths of retry delays and timers.

use std::collections::HashSet;

use tokio::time::advance;

use super::*;

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
async fn q8_a_key_that_is_forgotten_is_not_retried_and_its_other_timers_stay() {
    let queue = queue();
    queue.add_rate_limited("a");
    queue.add_after("b", 5 * MS, Trigger::Requeue);
    queue.forget(&"a");
    queue.forget(&"b");
    advance(Duration::from_secs(3600)).await;
    assert_eq!(take(&queue).map(|item| item.key), Some("b"));
    assert_eq!(take(&queue).map(|item| item.key), None);
    // One that is due runs.
    queue.add_rate_limited("a");
    advance(5 * MS).await;
    queue.forget(&"a");
    assert_eq!(take(&queue).map(|item| item.key), Some("a"));
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
