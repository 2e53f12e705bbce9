//! Waiting workers, and their wake-ups.

use std::collections::HashSet;

use futures::FutureExt;
use tokio::time::Instant;

use super::*;

/// A worker that waits for a key.
async fn waiting(queue: &WorkQueue<&'static str>) -> tokio::task::JoinHandle<Option<Item<&'static str>>> {
    let queue = queue.clone();
    let worker = tokio::spawn(async move { queue.get().await });
    tokio::task::yield_now().await;
    worker
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
    let stays = waiting(&queue).await;
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
    let stays = waiting(&queue).await;
    queue.add("a", Trigger::Event);
    drop(gone);
    assert_eq!(stays.await.unwrap().unwrap().key, "a");
}

#[tokio::test(start_paused = true)]
async fn every_key_of_a_burst_finds_a_waiting_worker() {
    let queue = queue();
    let workers = [waiting(&queue).await, waiting(&queue).await, waiting(&queue).await];
    for key in ["a", "b", "c"] {
        queue.add(key, Trigger::Event);
    }
    let mut taken = HashSet::new();
    for worker in workers {
        taken.insert(worker.await.unwrap().unwrap().key);
    }
    assert_eq!(taken, HashSet::from(["a", "b", "c"]));
}
