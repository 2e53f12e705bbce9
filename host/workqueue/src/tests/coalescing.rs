//! Coalescing: several adds or delays of a key become one run, and a held key runs on one worker only.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use tokio::time::advance;

use super::*;

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
            // A separate handle, as every version of a controller has.
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
async fn done_with_a_key_that_is_not_held_changes_nothing() {
    let queue = queue();
    queue.add("a", Trigger::Event);
    queue.done(&"a");
    queue.done(&"b");
    assert_eq!(take_key(&queue), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn n4_a_key_carries_its_last_event_and_only_that() {
    let queue = queue();
    let cause =
        |queue: &WorkQueue<&'static str>| take(queue).map(|item| (item.trigger, item.cause.map(|c| c.to_string())));
    queue.add("a", Trigger::Resync);
    queue.add_event("a", Cause::Own("added"));
    queue.add_event("a", Cause::Other(Arc::new("ConfigMap b modified")));
    queue.add("a", Trigger::Event);
    assert_eq!(cause(&queue), Some((Trigger::Event, Some("ConfigMap b modified".to_owned()))));
    // While a worker holds the key, the event belongs to the next run.
    queue.add_event("a", Cause::Own("deleted"));
    queue.done(&"a");
    assert_eq!(cause(&queue), Some((Trigger::Event, Some("deleted".to_owned()))));
    queue.done(&"a");
    let drops: [fn(&WorkQueue<&'static str>); 3] =
        [|queue| queue.remove(&"a"), |queue| assert_eq!(queue.purge(), 1), |queue| queue.retain(|_| false)];
    for drop_key in drops {
        queue.add_rate_limited("a");
        queue.add_event("a", Cause::Own("modified"));
        drop_key(&queue);
        queue.add("a", Trigger::Swap);
        assert_eq!(cause(&queue), Some((Trigger::Swap, None)));
        queue.done(&"a");
    }
}
