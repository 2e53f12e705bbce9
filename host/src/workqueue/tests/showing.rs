//! The visible state of a queue, and its isolation from other queues.

use tokio::time::advance;

use super::*;

#[tokio::test(start_paused = true)]
async fn q10_the_number_of_series_does_not_grow_with_keys() {
    let metrics = Metrics::new();
    let queue = WorkQueue::new("test", Config::default(), metrics.queue("test"));
    let series = |metrics: &Metrics| {
        metrics.encode(crate::metrics::Format::Text).unwrap().lines().filter(|line| !line.starts_with('#')).count()
    };
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
        let text = metrics.encode(crate::metrics::Format::Text).unwrap();
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
