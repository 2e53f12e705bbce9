//! Watches that end, stall, expire or repeat events (I1 to I8), and malformed objects (I18): one test per fault, in the order of their
//! numbers (tests/README.md).

use super::*;
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn i1_a_watch_closed_by_the_server_resumes_without_a_list() {
    let server = Server::new();
    server.apply("default/a", &json!({}));
    let follower = Follower::all(&informers(&server));
    follower.until_told("synced").await;
    eventually("watching", || server.open_watches() == 1).await;
    server.close_watches();
    server.apply("default/b", &json!({}));
    server.delete("default/a");
    follower.until_equal(&server).await;
    assert_eq!(follower.log(), ["=default/a@101", "synced", "+default/b@102", "-default/a"]);
    assert_eq!((server.requests("LIST").len(), server.requests("WATCH 101").len()), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn i2_a_connection_on_which_nothing_comes_any_more_is_replaced() {
    let server = Server::new();
    let follower = Follower::all(&informers(&server));
    follower.until_told("synced").await;
    eventually("watching", || server.open_watches() == 1).await;
    server.world().black_hole = true;
    server.apply("default/a", &json!({}));
    let lost = Instant::now();
    follower.until_equal(&server).await;
    assert!(lost.elapsed() <= Duration::from_secs(300), "{:?}", lost.elapsed());
    assert_eq!(server.requests("LIST").len(), 1);
}

/// A half-open connection reports no end, and the status would continue to claim that the watch is in sync.
#[tokio::test(start_paused = true)]
async fn b14_a_half_open_watch_is_noticed_in_about_a_minute() {
    let server = Server::new();
    let follower = Follower::all(&informers(&server));
    follower.until_told("synced").await;
    eventually("watching", || server.open_watches() == 1).await;
    server.world().black_hole = true;
    server.apply("default/a", &json!({}));
    let lost = Instant::now();
    follower.until_equal(&server).await;
    assert!(lost.elapsed() <= Duration::from_secs(80), "{:?}", lost.elapsed());
    assert_eq!(server.requests("LIST").len(), 1);
}

/// An object created and deleted in the gap never appears; an object deleted in the gap is delivered as deleted.
#[tokio::test(start_paused = true)]
async fn i3_i7_an_expired_version_relists_and_tells_the_differences() {
    for plain_gone in [false, true] {
        let server = Server::new();
        server.world().plain_gone = plain_gone;
        server.apply("default/a", &json!({}));
        server.apply("default/b", &json!({}));
        let follower = Follower::all(&informers(&server));
        follower.until_told("synced").await;
        eventually("watching", || server.open_watches() == 1).await;
        server.world().black_hole = true;
        server.delete("default/a");
        server.apply("default/gap", &json!({}));
        server.delete("default/gap");
        server.apply("default/c", &json!({}));
        server.compact();
        server.world().black_hole = false;
        server.close_watches();
        follower.until_equal(&server).await;
        let log = ["=default/a@101", "=default/b@102", "synced", "+default/c@106", "-default/a"];
        assert_eq!(follower.log(), log, "plain_gone {plain_gone}");
        assert_eq!(server.requests("LIST").len(), 2);
        follower.until_status("synced", |status| *status == WatchStatus::Synced).await;
    }
}

#[tokio::test(start_paused = true)]
async fn i3_an_expiry_told_in_the_stream_relists() {
    let server = Server::new();
    server.apply("default/a", &json!({}));
    let follower = Follower::all(&informers(&server));
    follower.until_told("synced").await;
    eventually("watching", || server.open_watches() == 1).await;
    server.world().black_hole = true;
    server.apply("default/a", &json!({}));
    server.world().black_hole = false;
    server.send("ERROR", &json!({"kind": "Status", "code": 410, "reason": "Expired"}));
    follower.until_equal(&server).await;
    assert_eq!(follower.log(), ["=default/a@101", "synced", "+default/a@102"]);
}

#[tokio::test(start_paused = true)]
async fn i4_a_list_whose_pages_expire_begins_again() {
    let server = Server::new();
    for i in 0..1200 {
        server.apply(&format!("default/o{i}"), &json!({}));
    }
    server.world().expire_pages = 1;
    let follower = Follower::all(&informers(&server));
    follower.until_equal(&server).await;
    follower.until_told("synced").await;
    assert_eq!(follower.log().len(), 1201);
    assert_eq!(server.requests("LIST").len(), 2 + 3);
}

/// The version of a bookmark is the position from which a watch resumes.
#[tokio::test(start_paused = true)]
async fn i5_bookmarks_move_the_point_to_resume_from() {
    let server = Server::new();
    let follower = Follower::all(&informers(&server));
    follower.until_told("synced").await;
    eventually("watching", || server.open_watches() == 1).await;
    // Writes to other kinds.
    while server.version() < 250 {
        server.world().version_up();
    }
    server.send(
        "BOOKMARK",
        &json!({"kind": "Network", "apiVersion": server::GROUP_VERSION,
        "metadata": {"resourceVersion": "250"}}),
    );
    server.close_watches();
    eventually("resumed", || server.requests("WATCH 250").len() == 1).await;
    assert_eq!(server.requests("LIST").len(), 1);
}

/// The server repeats all events after a reconnect; only a new object is reported.
async fn repeated_events_change_nothing(server: &Server, follower: &Follower) {
    follower.until_equal(server).await;
    let before = follower.log();
    server.world().repeats = true;
    server.close_watches();
    eventually("resumed", || server.open_watches() == 1).await;
    server.apply("default/b", &json!({}));
    follower.until_equal(server).await;
    assert_eq!(follower.log(), [before, vec!["+default/b@105".to_owned()]].concat());
}

#[tokio::test(start_paused = true)]
async fn i6_events_told_again_after_a_reconnect_change_nothing() {
    let server = Server::new();
    let follower = Follower::all(&informers(&server));
    follower.until_told("synced").await;
    server.apply("default/a", &json!({}));
    server.apply("default/a", &json!({}));
    server.delete("default/a");
    server.apply("default/a", &json!({}));
    repeated_events_change_nothing(&server, &follower).await;
}

/// No event reported the end of the first object.
#[tokio::test(start_paused = true)]
async fn i6_an_object_that_was_replaced_is_not_brought_back_by_events_told_again() {
    let server = Server::new();
    server.apply("default/a", &json!({}));
    let follower = Follower::all(&informers(&server));
    follower.until_told("synced").await;
    eventually("watching", || server.open_watches() == 1).await;
    server.apply("default/a", &json!({}));
    server.replace("default/a");
    server.delete("default/a");
    repeated_events_change_nothing(&server, &follower).await;
}

#[tokio::test(start_paused = true)]
async fn i8_another_uid_under_the_same_name_is_told_as_an_end_and_a_start() {
    let server = Server::new();
    server.apply("default/a", &json!({}));
    let follower = Follower::all(&informers(&server));
    follower.until_told("synced").await;
    eventually("watching", || server.open_watches() == 1).await;
    // Once as one update in the stream, once over a relist.
    server.replace("default/a");
    follower.until_told("+default/a@102").await;
    server.world().black_hole = true;
    server.delete("default/a");
    server.apply("default/a", &json!({}));
    server.world().black_hole = false;
    server.send("ERROR", &json!({"kind": "Status", "code": 410, "reason": "Expired"}));
    follower.until_equal(&server).await;
    let log = ["=default/a@101", "synced", "-default/a", "+default/a@102", "-default/a", "+default/a@104"];
    assert_eq!(follower.log(), log);
}

#[tokio::test(start_paused = true)]
async fn i18_an_object_nobody_can_read_is_skipped_and_the_others_go_on() {
    keep_log();
    let server = Server::new();
    server.apply("default/a", &json!({}));
    let bad = |version: &str| {
        json!({"metadata": {"name": "bad", "namespace": "default", "uid": "b", "labels": {"a": [1]},
        "resourceVersion": version}})
    };
    server.world().extra_items = vec![bad("90"), json!({"metadata": 7}), json!("no object at all")];
    let informers = informers(&server);
    let follower = Follower::all(&informers);
    follower.until_told("synced").await;
    eventually("watching", || server.open_watches() == 1).await;
    assert_eq!(informers.stats()[0].malformed, 3);
    assert_eq!(logged("default/bad"), 1);

    // In the stream. An object without a version, and a line that is not JSON, cost a list, but nothing else.
    server.send("MODIFIED", &bad("102"));
    server.apply("default/b", &json!({}));
    follower.until_equal(&server).await;
    assert_eq!(server.requests("LIST").len(), 1);
    for line in [
        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"worse\"}}}",
        "{\"object\":{},\"type\":\"MODIFIED\"}",
        "no JSON",
    ] {
        // The line stands for an event, whose change is known all the same.
        eventually("watching", || server.open_watches() == 1).await;
        server.world().black_hole = true;
        server.apply("default/b", &json!({}));
        server.world().black_hole = false;
        server.send_text(line);
        server.apply("default/c", &json!({}));
        follower.until_equal(&server).await;
    }
    // A large object with unknown fields.
    let large = server.put("default/large", |object| {
        object["metadata"]["unknown"] = json!({"deep": [1, 2]});
        object["spec"] = json!("x".repeat(1_572_864));
    });
    follower.until_equal(&server).await;
    let stored = follower.store().get(&key("default/large")).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(stored.json()).unwrap(), large);
}

/// Over a relist: an object that is listed but malformed does not count as deleted.
#[tokio::test(start_paused = true)]
async fn i18_an_object_that_becomes_unreadable_stays_as_it_was() {
    let server = Server::new();
    server.apply("default/a", &json!({}));
    let follower = Follower::all(&informers(&server));
    follower.until_told("synced").await;
    eventually("watching", || server.open_watches() == 1).await;
    server.world().objects.get_mut("default/a").unwrap()["metadata"]["finalizers"] = json!("oops");
    server.apply("default/b", &json!({}));
    follower.until_told("+default/b@102").await;
    server.send("ERROR", &json!({"kind": "Status", "code": 410, "reason": "Expired"}));
    eventually("listed again", || server.requests("LIST").len() == 2 && server.open_watches() == 1).await;
    server.apply("default/c", &json!({}));
    follower.until_told("+default/c@103").await;
    assert!(follower.store().get(&key("default/a")).is_some());
    // Its deletion is delivered even if only its name is readable.
    server.delete("default/a");
    follower.until_told("-default/a").await;
}
