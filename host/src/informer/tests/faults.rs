//! One test per fault, in the order of their numbers (tests/README.md; I: informer, S: staleness).

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

/// What was created and deleted in the gap is never told; what went is told as deleted.
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

/// The version of a bookmark is the one a watch resumes from.
#[tokio::test(start_paused = true)]
async fn i5_bookmarks_move_the_point_to_resume_from() {
    let server = Server::new();
    let follower = Follower::all(&informers(&server));
    follower.until_told("synced").await;
    eventually("watching", || server.open_watches() == 1).await;
    server.send(
        "BOOKMARK",
        &json!({"kind": "Network", "apiVersion": server::GROUP_VERSION,
        "metadata": {"resourceVersion": "250"}}),
    );
    server.close_watches();
    eventually("resumed", || server.requests("WATCH 250").len() == 1).await;
    assert_eq!(server.requests("LIST").len(), 1);
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
    follower.until_equal(&server).await;
    let before = follower.log();
    server.world().repeats = true;
    server.close_watches();
    eventually("resumed", || server.open_watches() == 1).await;
    server.apply("default/b", &json!({}));
    follower.until_equal(&server).await;
    assert_eq!(follower.log(), [before, vec!["+default/b@105".to_owned()]].concat());
}

/// The end of the first was never told by an event of its own.
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
    follower.until_equal(&server).await;
    let before = follower.log();
    server.world().repeats = true;
    server.close_watches();
    eventually("resumed", || server.open_watches() == 1).await;
    server.apply("default/b", &json!({}));
    follower.until_equal(&server).await;
    assert_eq!(follower.log(), [before, vec!["+default/b@105".to_owned()]].concat());
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
async fn i12_an_object_that_leaves_the_selector_is_deleted() {
    let server = Server::new();
    server.apply("default/a", &json!({"app": "web"}));
    let informers = informers(&server);
    let spec = WatchSpec { label_selector: Some("app==web".into()), ..WatchSpec::all(gvk()) };
    let follower = Follower::new(&informers, spec.clone());
    let respelled = WatchSpec { label_selector: Some("app in (web)".into()), ..spec };
    let same_watch = Follower::new(&informers, respelled);
    follower.until_told("synced").await;
    eventually("watching", || server.open_watches() == 1).await;
    assert!(
        server.requests("LIST").iter().all(|r| r.contains("labelSelector=app%3Dweb")),
        "{:?}",
        server.requests("LIST")
    );

    // The host takes the label away: its next reads wait for the deletion.
    server.world().black_hole = true;
    let answer = server.apply("default/a", &json!({"app": "api"}));
    informers.record_object(&gvk(), &Object::parse(&answer.to_string()).unwrap());
    let key = key("default/a");
    let store = follower.store().clone();
    let wait = tokio::spawn(async move { (store.fresh(&key, soon()).await, store.get(&key).is_none()) });
    tokio::task::yield_now().await;
    server.send("DELETED", &answer);
    assert_eq!(wait.await.unwrap(), (Ok(()), true));
    assert_eq!(follower.log(), ["=default/a@101", "synced", "-default/a"]);
    same_watch.until_told("-default/a").await;
    // Nobody waits for an object that is not selected.
    let other = Object::parse(&server.apply("default/b", &json!({"app": "api"})).to_string()).unwrap();
    informers.record_object(&gvk(), &other);
    assert_eq!(follower.store().fresh(other.key(), Instant::now()).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn i14_a_kind_installed_later_is_watched_within_two_seconds_and_two_lines_of_log() {
    keep_log();
    let server = Server::new();
    server.serve(None);
    let informers = informers(&server);
    let follower = Follower::all(&informers);
    let second = Follower::new(&informers, WatchSpec { namespace: Some("other".into()), ..WatchSpec::all(gvk()) });
    follower.until_status("waiting", |status| *status == WatchStatus::WaitingForKind).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let asked = server.requests("DISCOVER").len();
    assert!((30..=70).contains(&asked), "two waiters asked {asked} times in a minute");
    assert!(!follower.store().synced());

    server.serve(Some(true));
    server.apply("default/a", &json!({}));
    let installed = Instant::now();
    follower.until_told("synced").await;
    assert!(installed.elapsed() <= Duration::from_secs(2), "{:?}", installed.elapsed());
    assert_eq!(follower.log(), ["=default/a@101", "synced"]);
    second.until_told("synced").await;
    assert_eq!(logged("waiting for the kind"), 2);
    assert_eq!(logged("the kind is served now"), 2);
}

#[tokio::test(start_paused = true)]
async fn i13_a_kind_that_vanishes_parks_the_watch_and_comes_back_in_another_shape() {
    let server = Server::new();
    server.apply("default/a", &json!({}));
    let informers = informers(&server);
    let follower = Follower::all(&informers);
    let narrow = Follower::new(&informers, WatchSpec { namespace: Some("default".into()), ..WatchSpec::all(gvk()) });
    follower.until_told("synced").await;
    narrow.until_told("synced").await;
    // The events of the deletions are lost with the connection.
    server.world().black_hole = true;
    server.serve(None);
    follower.until_told("-default/a").await;
    narrow.until_told("-default/a").await;
    follower.until_status("waiting", |status| *status == WatchStatus::WaitingForKind).await;
    assert!(!follower.store().synced() && follower.store().is_empty());

    server.world().black_hole = false;
    server.serve(Some(false));
    server.apply("/b", &json!({}));
    follower.until_equal(&server).await;
    follower.until("synced twice", |told| told.log.iter().filter(|l| *l == "synced").count() == 2).await;
    narrow.until_status("refused", |status| status.to_string().contains("cluster-scoped")).await;
}

/// A 404 that discovery does not confirm, as a proxy or a starting API server gives it, deletes nothing.
#[tokio::test(start_paused = true)]
async fn i13_a_kind_that_is_missing_for_a_moment_loses_no_object() {
    let server = Server::new();
    server.apply("default/a", &json!({}));
    let follower = Follower::all(&informers(&server));
    follower.until_told("synced").await;
    eventually("watching", || server.open_watches() == 1).await;
    let objects = server.world().objects.clone();
    server.world().black_hole = true;
    server.serve(None);
    follower.until_status("waiting", |status| *status == WatchStatus::WaitingForKind).await;
    server.world().objects = objects;
    server.world().black_hole = false;
    server.serve(Some(true));
    follower.until_status("synced", |status| *status == WatchStatus::Synced).await;
    assert_eq!(follower.log(), ["=default/a@101", "synced"]);
}

#[tokio::test(start_paused = true)]
async fn i16_a_lost_permission_shows_in_the_status_and_hurts_nobody_else() {
    let server = Server::new();
    server.apply("default/a", &json!({}));
    let informers = informers(&server);
    let all = Follower::all(&informers);
    let narrow = Follower::new(&informers, WatchSpec { namespace: Some("default".into()), ..WatchSpec::all(gvk()) });
    all.until_told("synced").await;
    narrow.until_told("synced").await;
    server.world().forbidden = Some("/apis/samplecrd.k8s.io/v1/namespaces/".into());
    server.close_watches();
    narrow.until_status("failing", |status| status.to_string().contains("scripted Forbidden")).await;
    server.apply("default/b", &json!({}));
    all.until_told("+default/b@102").await;
    assert_eq!(all.subscription.status(), WatchStatus::Synced);
    assert!(narrow.store().synced() && narrow.store().len() == 1);
    let forbidden = Instant::now();
    tokio::time::sleep(Duration::from_secs(300)).await;
    let failures = informers.stats().iter().map(|s| s.failures).max().unwrap();
    assert!((10..60).contains(&failures), "{failures} attempts in {:?}", forbidden.elapsed());
    assert!(matches!(narrow.subscription.status(), WatchStatus::Failing { .. }));

    server.world().forbidden = None;
    let granted = Instant::now();
    narrow.until_equal(&server).await;
    assert!(granted.elapsed() <= Duration::from_secs(16), "{:?}", granted.elapsed());
    narrow.until_status("synced", |status| *status == WatchStatus::Synced).await;
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

    // In the stream; one without a version, and a line that is no JSON, cost a list, but nothing else.
    server.send("MODIFIED", &bad("102"));
    server.apply("default/b", &json!({}));
    follower.until_equal(&server).await;
    assert_eq!(server.requests("LIST").len(), 1);
    for line in [
        "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"worse\"}}}",
        "{\"object\":{},\"type\":\"MODIFIED\"}",
        "no JSON",
    ] {
        // The line stands for an event, and what it said is known all the same.
        eventually("watching", || server.open_watches() == 1).await;
        server.world().black_hole = true;
        server.apply("default/b", &json!({}));
        server.world().black_hole = false;
        server.send_text(line);
        server.apply("default/c", &json!({}));
        follower.until_equal(&server).await;
    }
    // Large and with fields nobody knows.
    let large = server.put("default/large", |object| {
        object["metadata"]["unknown"] = json!({"deep": [1, 2]});
        object["spec"] = json!("x".repeat(1_572_864));
    });
    follower.until_equal(&server).await;
    let stored = follower.store().get(&key("default/large")).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(stored.json()).unwrap(), large);
}

/// Over a relist: an object that is listed, but not readable, is not taken for gone.
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
    // Its end is told even when only its name can be read.
    server.delete("default/a");
    follower.until_told("-default/a").await;
}

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

/// A handler is host code; if it fails all the same, only its own subscriber misses something.
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

/// The watch is in full flow when the late one comes.
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

#[tokio::test(start_paused = true)]
async fn s1_s9_s10_reads_wait_for_the_hosts_own_writes_and_never_for_ever() {
    let server = Server::new();
    let informers = informers(&server);
    let follower = Follower::all(&informers);
    follower.until_told("synced").await;
    eventually("watching", || server.open_watches() == 1).await;
    server.world().black_hole = true;
    let answer = server.apply("default/a", &json!({}));
    informers.record_write(&gvk(), &key("default/a"), "uid-1", Some("101"));
    let store = follower.store().clone();
    let deadline = Instant::now() + Duration::from_secs(3);
    assert!(matches!(store.fresh(&key("default/a"), deadline).await, Err(Stale::NotSeen(_))));
    assert_eq!(Instant::now(), deadline);
    // The next one does not wait as long again; nobody waits for what was not written.
    assert!(store.fresh(&key("default/a"), soon()).await.is_err());
    assert_eq!(store.fresh(&key("default/b"), soon()).await, Ok(()));
    assert_eq!(Instant::now(), deadline);

    informers.record_write(&gvk(), &key("default/c"), "uid-9", Some("102"));
    let waiting = {
        let store = store.clone();
        tokio::spawn(async move { store.fresh(&key("default/c"), soon()).await })
    };
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    server.send("ADDED", &answer);
    follower.until_told("+default/a@101").await;
    assert_eq!(store.fresh(&key("default/a"), soon()).await, Ok(()));
    assert!(store.fresh_all(Instant::now()).await.is_err());
    assert!(!waiting.is_finished());
    server.world().black_hole = false;
    server.apply("default/c", &json!({}));
    assert_eq!(waiting.await.unwrap(), Ok(()));

    informers.record_write(&gvk(), &key("default/a"), "uid-1", Some("unreadable"));
    let asked = Instant::now();
    assert!(matches!(store.fresh(&key("default/a"), soon()).await, Err(Stale::CannotTell(_))));
    assert!(matches!(store.fresh_all(soon()).await, Err(Stale::CannotTell(_))));
    assert_eq!(Instant::now(), asked);
    server.compact();
    server.world().version_up();
    server.compact();
    server.close_watches();
    eventually("listed again", || server.requests("LIST").len() == 2).await;
    follower.until_status("synced", |status| *status == WatchStatus::Synced).await;
    assert_eq!(store.fresh_all(soon()).await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn s3_reads_wait_for_the_hosts_own_deletions() {
    let server = Server::new();
    server.apply("default/a", &json!({}));
    let informers = informers(&server);
    let follower = Follower::all(&informers);
    follower.until_told("synced").await;
    eventually("watching", || server.open_watches() == 1).await;
    informers.record_delete(&gvk(), &key("default/a"), "uid-1");
    let store = follower.store().clone();
    let waiting = tokio::spawn(async move { store.fresh(&key("default/a"), soon()).await });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    server.delete("default/a");
    assert_eq!(waiting.await.unwrap(), Ok(()));
    assert!(follower.store().is_empty());
}
