//! Subscribers that are slow, broken or late, and the last unsubscription (I20 to I22; tests/README.md).

use super::*;
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn i20_a_subscriber_that_never_takes_its_keys_holds_up_nobody() {
    let server = Server::new();
    let informers = informers(&server);
    let (sender, never_read) = tokio::sync::mpsc::unbounded_channel();
    let handler: Handler = Arc::new(move |delta| {
        if let Delta::Applied { new, .. } = delta {
            sender.send(new.key().clone()).unwrap();
        }
    });
    let _slow = informers.subscribe(WatchSpec::all(gvk()), handler);
    let follower = Follower::all(&informers);
    for i in 0..1000 {
        server.apply(&format!("default/o{}", i % 10), &json!({}));
    }
    follower.until_equal(&server).await;
    assert!(never_read.len() >= 10);
}

/// A handler is host code; if it panics all the same, only its own subscriber misses a change.
#[tokio::test(start_paused = true)]
async fn i20_a_handler_that_panics_takes_nothing_from_the_others() {
    let server = Server::new();
    let informers = informers(&server);
    let _broken = informers.subscribe(WatchSpec::all(gvk()), Arc::new(|_| panic!("scripted")));
    let follower = Follower::all(&informers);
    follower.until_told("synced").await;
    server.apply("default/a", &json!({}));
    server.apply("default/b", &json!({}));
    follower.until_equal(&server).await;
    assert_eq!(follower.log(), ["synced", "+default/a@101", "+default/b@102"]);
}

/// The watch is in full flow when the late subscriber comes.
#[tokio::test(start_paused = true)]
async fn i21_a_late_subscriber_gets_what_is_stored_then_the_stream() {
    let server = Server::new();
    server.apply("default/a", &json!({}));
    server.apply("default/b", &json!({}));
    let informers = informers(&server);
    let early = Follower::all(&informers);
    early.until_told("synced").await;
    server.apply("default/a", &json!({}));
    early.until_told("+default/a@103").await;
    let late = Follower::all(&informers);
    assert_eq!(late.log(), ["=default/a@103", "=default/b@102", "synced"]);
    server.delete("default/b");
    late.until_equal(&server).await;
    assert_eq!(late.log().last().unwrap(), "-default/b");
    assert_eq!(server.requests("LIST").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn i22_the_last_one_out_closes_the_watch() {
    let server = Server::new();
    server.apply("default/a", &json!({}));
    let informers = informers(&server);
    let (first, second) = (Follower::all(&informers), Follower::all(&informers));
    second.until_told("synced").await;
    eventually("watching", || server.open_watches() == 1).await;
    assert_eq!(informers.stats()[0].subscribers, 2);
    let left = Arc::clone(&first.told);
    drop(first);
    server.apply("default/b", &json!({}));
    second.until_equal(&server).await;
    assert!(!left.borrow().log.contains(&"+default/b@102".to_owned()), "told after it left");
    let store = second.store().clone();
    drop(second);
    eventually("closed", || server.open_watches() == 0).await;
    assert!(informers.stats().is_empty());
    assert_eq!(store.status(), WatchStatus::Stopped);
    let again = Follower::all(&informers);
    again.until_equal(&server).await;
    assert_eq!(server.requests("LIST").len(), 2);
}
