//! The visible state of a queue, and its isolation from other queues.

use tokio::time::advance;

use super::*;

#[tokio::test(start_paused = true)]
async fn q11_a_queue_flooded_by_its_plugin_delays_no_key_of_another() {
    let flooded = WorkQueue::new("a", Config::default());
    let other = WorkQueue::new("b", Config::default());
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
    let queue = queue();
    let source = queue.metrics_source();
    queue.add("a", Trigger::Event);
    advance(Duration::from_secs(2)).await;
    assert_eq!(take_key(&queue), Some("a"));
    queue.add("a", Trigger::Event);
    queue.add_rate_limited("b");
    advance(3 * MS).await;
    let metrics = queue.metrics();
    assert_eq!((metrics.depth, metrics.totals.adds, metrics.totals.retries), (1, 2, 1));
    assert_eq!((metrics.unfinished, metrics.longest), (3 * MS, 3 * MS));
    assert_eq!(
        (metrics.totals.queue_duration.count(), metrics.totals.queue_duration.sum()),
        (1, Duration::from_secs(2))
    );
    queue.done(&"a");
    let metrics = source.upgrade().unwrap().read(tokio::time::Instant::now());
    assert_eq!((metrics.totals.work_duration.count(), metrics.totals.work_duration.sum()), (1, 3 * MS));
    let within_10_ms = metrics.totals.work_duration.buckets().find(|(_, count)| *count == 1).map(|(bound, _)| bound);
    assert_eq!(within_10_ms, Some(1e-2));
    drop(queue);
    assert!(source.upgrade().is_none(), "metrics keep no queue alive");
}
