//! Reads wait for the host's own writes (S1, S3, S9, S10; tests/README.md).

use super::*;
use serde_json::json;
use tokio::time::timeout;

/// A reconcile whose deadline comes before that of the wait leaves it. No event ever shows the deletion of an object that was never stored.
#[tokio::test(start_paused = true)]
async fn the_next_read_does_not_wait_again_when_a_wait_was_left() {
    let server = Server::new();
    let informers = informers(&server);
    let follower = Follower::all(&informers);
    follower.until_told("synced").await;
    informers.record_delete(&gvk(), &key("default/a"), "uid-gone");
    let store = follower.store().clone();
    assert!(timeout(Duration::from_secs(2), store.fresh(&key("default/a"), soon())).await.is_err());
    let left = Instant::now();
    assert!(timeout(Duration::from_secs(2), store.fresh(&key("default/a"), soon())).await.unwrap().is_err());
    assert_eq!(Instant::now(), left);
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
    // The next read does not wait as long again; reads of objects without own writes do not wait.
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

#[tokio::test(start_paused = true)]
async fn s1_a_watch_of_one_name_waits_for_no_other() {
    let server = Server::new();
    server.apply("default/a", &json!({}));
    let informers = informers(&server);
    let spec = WatchSpec { field_selector: Some(WatchSpec::field_of_name("a")), ..WatchSpec::all(gvk()) };
    let follower = Follower::new(&informers, spec);
    follower.until_told("synced").await;
    eventually("watching", || server.open_watches() == 1).await;
    server.world().black_hole = true;
    for (name, waits) in [("default/b", false), ("default/a", true)] {
        let written = Object::parse(&server.apply(name, &json!({"app": "web"})).to_string()).unwrap();
        informers.record_object(&gvk(), &written);
        assert_eq!(follower.store().fresh(written.key(), Instant::now()).await.is_err(), waits, "{name}");
    }
}
