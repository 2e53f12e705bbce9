//! Order of service: priorities, their starvation bound, and keys that become ready.

use std::collections::HashSet;

use tokio::time::advance;

use super::*;

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
async fn q5_coalesced_adds_keep_the_highest_priority() {
    let queue = queue();
    queue.add("a", Trigger::Resync);
    queue.add("b", Trigger::Event);
    queue.add("a", Trigger::Event);
    queue.add("b", Trigger::Resync);
    let (first, second) = (take(&queue).unwrap(), take(&queue).unwrap());
    // "a" is older than "b", also in the list to which it was raised.
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
