//! Watches that open and bring nothing: proxies that end or hold back streams, and servers that cannot go on from a position.

use super::*;
use serde_json::json;

/// A follower that had each of three changes within this time. What the server was asked for until then is forgotten.
async fn followed(server: &Server, most: Duration) -> Follower {
    let follower = Follower::all(&informers(server));
    follower.until_told("synced").await;
    for i in 0..3 {
        server.apply(&format!("default/o{i}"), &json!({}));
        let changed = Instant::now();
        follower.until_equal(server).await;
        assert!(changed.elapsed() <= most, "{:?}", changed.elapsed());
    }
    server.world().requests.clear();
    follower
}

/// A proxy ends each response at once. The cache follows over lists, as often as the pauses between failures permit.
#[tokio::test(start_paused = true)]
async fn i1_a_server_that_closes_every_watch_at_once_is_listed_again_and_not_flooded() {
    let server = Server::new();
    server.world().closing = true;
    let follower = followed(&server, Duration::from_secs(90)).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    let status = follower.subscription.status().to_string();
    assert!(status.contains("without an event"), "{status}");
    let (opened, lists) = (server.requests("WATCH").len(), server.requests("LIST").len());
    assert!((30..=200).contains(&opened), "{opened} watches in ten minutes");
    assert!((8..=20).contains(&lists), "{lists} lists in ten minutes");
    server.world().closing = false;
    server.apply("default/a", &json!({}));
    follower.until_equal(&server).await;
    follower.until_status("synced", |status| *status == WatchStatus::Synced).await;
}

/// A short end now and then, as when API servers restart one by one, costs no list.
#[tokio::test(start_paused = true)]
async fn i1_two_watches_that_end_at_once_are_no_failure() {
    let server = Server::new();
    let follower = Follower::all(&informers(&server));
    follower.until_told("synced").await;
    for _ in 0..5 {
        eventually("watching", || server.open_watches() == 1).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(follower.subscription.status(), WatchStatus::Synced);
        server.world().closing = true;
        server.close_watches();
        let before = server.requests("WATCH").len();
        eventually("two ended at once", || server.requests("WATCH").len() >= before + 2).await;
        server.world().closing = false;
    }
    assert_eq!(server.requests("LIST").len(), 1);
}

/// The server cannot go on from the position, says so with an error of no special meaning, and would say the same again.
#[tokio::test(start_paused = true)]
async fn i3_any_other_error_in_the_stream_relists_at_once() {
    let server = Server::new();
    server.apply("default/a", &json!({}));
    let follower = Follower::all(&informers(&server));
    follower.until_told("synced").await;
    eventually("watching", || server.open_watches() == 1).await;
    server.world().black_hole = true;
    server.apply("default/a", &json!({}));
    server.world().black_hole = false;
    server.world().error = Some(500);
    server.send("ERROR", &json!({"kind": "Status", "code": 500, "message": "etcd event received with PrevKv=nil"}));
    let failed = Instant::now();
    follower.until_equal(&server).await;
    assert!(failed.elapsed() <= Duration::from_secs(3), "{:?}", failed.elapsed());
    // While every watch ends so, lists keep their distance.
    server.world().requests.clear();
    tokio::time::sleep(Duration::from_secs(600)).await;
    let lists = server.requests("LIST").len();
    assert!((20..=60).contains(&lists), "{lists} lists in ten minutes");
    let status = follower.subscription.status().to_string();
    assert!(status.contains("scripted error"), "{status}");
    server.world().error = None;
    server.apply("default/b", &json!({}));
    follower.until_equal(&server).await;
    follower.until_status("synced", |status| *status == WatchStatus::Synced).await;
}

/// A proxy collects what the server sends, and the host ends the watch before the proxy hands it over.
#[tokio::test(start_paused = true)]
async fn i2_watches_that_bring_nothing_for_minutes_are_followed_by_a_list() {
    let server = Server::new();
    server.world().buffering = true;
    let follower = followed(&server, Duration::from_secs(330)).await;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let lists = server.requests("LIST").len();
    assert!((10..=12).contains(&lists), "{lists} lists in an hour");
    assert_eq!(follower.subscription.status(), WatchStatus::Synced);
}
