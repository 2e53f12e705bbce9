//! Changes of a watch's scope: its selector, its kind, its permission (I12, I13, I14, I16; tests/README.md).

use super::*;
use serde_json::json;

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

    // The host removes the label: its next reads wait for the deletion.
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
    // Reads do not wait for an object that is not selected.
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
    // The connection loses the events of the deletions.
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

/// A 404 that discovery does not confirm, from a proxy or a starting API server, deletes nothing.
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
