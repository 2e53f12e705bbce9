//! Ends of a queue, of its content, and of one key.

use futures::FutureExt;
use tokio::time::advance;

use super::*;

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
    // One task passes keys to others: it must not see the end of the queue while a key may still return.
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
async fn keys_that_nobody_wants_go_with_their_timers_and_failures() {
    let queue = queue();
    for key in ["ready", "held", "timed", "failed"] {
        queue.add(key, Trigger::Event);
    }
    for _ in 0..4 {
        assert!(take(&queue).is_some());
    }
    for key in ["ready", "timed", "failed"] {
        queue.done(&key);
    }
    queue.add("ready", Trigger::Event);
    queue.add("held", Trigger::Event);
    queue.add_after("timed", MS, Trigger::Requeue);
    queue.add_rate_limited("failed");
    queue.add("wanted", Trigger::Event);
    queue.retain(|key| *key == "wanted");
    advance(10 * MS).await;
    queue.done(&"held");
    let left = queue.snapshot(10);
    assert_eq!((left.ready, left.delayed, left.failing), (1, 0, 0));
    assert_eq!(take_key(&queue), Some("wanted"));
    assert_eq!(take_key(&queue), None);
}
