//! API servers that lag, are slow, overloaded or restored, and clocks that jump.

use super::*;
use serde_json::json;

fn gone() -> serde_json::Value {
    json!({"kind": "Status", "code": 410, "reason": "Expired"})
}

/// After the watch expired, another API server answers that has not seen the newest changes yet. The cache does not go back, restores no
/// deleted object, and deletes no object that this server has not seen.
#[tokio::test(start_paused = true)]
async fn i9_a_list_that_is_older_than_the_cache_changes_nothing() {
    for lag in [100, 102, 104] {
        let server = Server::new();
        server.apply("default/a", &json!({}));
        server.apply("default/b", &json!({}));
        let follower = Follower::all(&informers(&server));
        follower.until_told("synced").await;
        server.apply("default/a", &json!({}));
        server.delete("default/b");
        server.apply("default/c", &json!({}));
        follower.until_equal(&server).await;
        let before = follower.log();
        server.world().lag = Some(lag);
        server.send("ERROR", &gone());
        follower.until_status("behind", |status| status.to_string().contains("older state")).await;
        tokio::time::sleep(Duration::from_secs(120)).await;
        follower.check();
        assert!(follower.store().synced());
        assert_eq!(follower.log(), before, "lag {lag}");
        let lists = server.requests("LIST").len();
        assert!((5..=40).contains(&lists), "asked {lists} times in two minutes");

        server.world().lag = None;
        server.apply("default/d", &json!({}));
        follower.until_equal(&server).await;
        follower.until_status("synced", |status| *status == WatchStatus::Synced).await;
        assert_eq!(follower.log(), [before, vec!["+default/d@106".to_owned()]].concat());
    }
}

/// A list is interrupted, and a server that lags behind answers its second attempt: the objects of the first attempt stay.
#[tokio::test(start_paused = true)]
async fn i9_what_a_list_brought_before_it_broke_off_does_not_go_back() {
    let server = Server::new();
    for i in 0..600 {
        server.apply(&format!("default/o{i:03}"), &json!({}));
    }
    let before = server.version();
    server.apply("default/o001", &json!({}));
    server.delete("default/o599");
    server.apply("default/a-new", &json!({}));
    server.world().expire_pages = 1;
    server.world().lag_after_expiry = Some(before);
    let follower = Follower::all(&informers(&server));
    follower.until_told("synced").await;
    assert_eq!(follower.store().get(&key("default/o001")).unwrap().resource_version(), "701");
    assert!(follower.store().get(&key("default/a-new")).is_some());
    server.world().lag = None;
    server.close_watches();
    follower.until_equal(&server).await;
}

/// The cached objects, as `namespace/name@resourceVersion`.
fn shows(subscription: &Subscription) -> Vec<String> {
    let objects = subscription.store().list(&ListOptions::default());
    objects.iter().map(|o| format!("{}@{}", o.key(), o.resource_version())).collect()
}

/// A cluster restored from a backup has a true history that is older than the cache. A wait until it catches up would never end.
#[tokio::test(start_paused = true)]
async fn i9_a_restored_cluster_is_believed_after_five_minutes() {
    let server = Server::new();
    server.apply("default/a", &json!({}));
    server.apply("default/b", &json!({}));
    let backup = server.version();
    server.apply("default/a", &json!({}));
    server.delete("default/b");
    server.apply("default/c", &json!({}));
    let informers = informers(&server);
    let subscription = informers.subscribe(WatchSpec::all(gvk()), Arc::new(|_| {}));
    subscription.synced(soon()).await.unwrap();
    informers.record_write(&gvk(), &key("default/a"), "uid-1", Some("200"));
    let shows = || shows(&subscription);
    let before = shows();
    // The server accepts watches from a future version, and stays silent.
    server.rewind(backup);
    let restored = Instant::now();
    eventually("believed", || shows() != before).await;
    assert!(restored.elapsed() >= Duration::from_secs(300), "{:?}", restored.elapsed());
    assert!(restored.elapsed() <= Duration::from_secs(330), "{:?}", restored.elapsed());
    assert_eq!(shows(), ["default/a@101", "default/b@102"]);
    // No history contains the write any more.
    assert_eq!(subscription.store().fresh(&key("default/a"), Instant::now()).await, Ok(()));
    server.apply("default/d", &json!({}));
    eventually("goes on", || shows() == ["default/a@101", "default/b@102", "default/d@103"]).await;
}

/// Users of a restored cluster continue to write, so that it soon has newer versions than the known ones of restored objects.
#[tokio::test(start_paused = true)]
async fn i9_a_restored_cluster_that_overtakes_what_is_known_is_believed_at_once() {
    let server = Server::new();
    for key in ["default/a", "default/b", "default/e"] {
        server.apply(key, &json!({}));
    }
    let backup = server.version();
    server.apply("default/a", &json!({}));
    server.delete("default/b");
    server.apply("default/c", &json!({}));
    let informers = informers(&server);
    let subscription = informers.subscribe(WatchSpec::all(gvk()), Arc::new(|_| {}));
    subscription.synced(soon()).await.unwrap();
    server.delete("default/e");
    let shows = || shows(&subscription);
    eventually("known", || shows() == ["default/a@104", "default/c@106"]).await;
    server.rewind(backup);
    eventually("older", || subscription.status().to_string().contains("older state")).await;
    (0..9).for_each(|_| drop(server.apply("default/d", &json!({}))));
    eventually("believed", || shows() == ["default/a@101", "default/b@102", "default/d@112", "default/e@103"]).await;
}

/// Each page takes a minute, and the server keeps its history for less time than all pages take.
#[tokio::test(start_paused = true)]
async fn i10_a_list_that_takes_longer_than_a_watch_lasts_misses_nothing() {
    let server = Server::new();
    for i in 0..2600 {
        server.apply(&format!("default/o{i:04}"), &json!({}));
    }
    let informers = informers(&server);
    let _asks_for_the_kind =
        Follower::new(&informers, WatchSpec { namespace: Some("none".into()), ..WatchSpec::all(gvk()) });
    eventually("found", || server.requests("LIST").len() == 1).await;
    server.world().requests.clear();
    server.world().delay = Duration::from_secs(60);
    let follower = Follower::all(&informers);
    // Every page but the last was requested.
    eventually("almost listed", || server.requests("LIST").len() == 6).await;
    assert!(!follower.store().synced());
    follower.check();
    server.apply("default/o0000", &json!({}));
    server.delete("default/o0001");
    server.apply("default/new", &json!({}));
    server.compact();
    eventually("listed", || follower.store().synced()).await;
    follower.check();
    server.world().delay = Duration::ZERO;
    follower.until_equal(&server).await;
    assert!(follower.log().len() >= 2600 && server.requests("LIST").len() >= 12);
}

/// A page that never arrives is requested again; the objects of the pages before it are neither lost nor delivered twice.
#[tokio::test(start_paused = true)]
async fn i10_a_page_that_never_comes_is_asked_for_again() {
    let server = Server::new();
    for i in 0..600 {
        server.apply(&format!("default/o{i:03}"), &json!({}));
    }
    let follower = Follower::all(&informers(&server));
    eventually("one page", || server.requests("LIST").len() == 2).await;
    server.world().delay = Duration::from_secs(3600);
    server.close_watches();
    server.compact();
    follower.until_told("synced").await;
    server.apply("default/new", &json!({}));
    follower.until_status("failing", |status| matches!(status, WatchStatus::Failing { .. })).await;
    server.world().delay = Duration::ZERO;
    follower.until_equal(&server).await;
    assert_eq!(follower.log().len(), 602);
}

/// Lists are in pages, whatever the server supports: a streaming list needs a feature that may be off, and its end may never arrive. A
/// bookmark that claims to be that end is only a bookmark.
#[tokio::test(start_paused = true)]
async fn i11_no_streaming_list_is_asked_for_and_its_bookmark_means_nothing_more() {
    let server = Server::new();
    server.apply("default/a", &json!({}));
    let follower = Follower::all(&informers(&server));
    follower.until_told("synced").await;
    eventually("watching", || server.open_watches() == 1).await;
    let annotations = json!({"k8s.io/initial-events-end": "true"});
    server.send(
        "BOOKMARK",
        &json!({"kind": "Network", "metadata": {"resourceVersion": "101", "annotations": annotations}}),
    );
    // A bookmark without a version does not move the position.
    server.send("BOOKMARK", &json!({"kind": "Network", "metadata": {"annotations": annotations}}));
    server.apply("default/b", &json!({}));
    follower.until_equal(&server).await;
    server.close_watches();
    server.apply("default/c", &json!({}));
    follower.until_equal(&server).await;
    assert_eq!(follower.log(), ["=default/a@101", "synced", "+default/b@102", "+default/c@103"]);
    for request in &server.world().requests {
        assert!(!request.contains("sendInitialEvents") && !request.ends_with("resourceVersion="), "{request}");
    }
}

/// The API server stops serving one version of a kind and serves another. The watch of the first version waits, and reports that its
/// objects are unavailable; watches of the other version get them. The way back is the same.
#[tokio::test(start_paused = true)]
async fn i15_a_version_that_is_no_longer_served_parks_its_watch_until_it_is_back() {
    let server = Server::new();
    server.apply("default/a", &json!({}));
    let informers = informers(&server);
    let old = Follower::all(&informers);
    let beta = GroupVersionKind::new(server::GROUP, "v1beta1", "Network");
    let new = Follower::new(&informers, WatchSpec::all(beta));
    old.until_told("synced").await;
    new.until_status("waiting", |status| *status == WatchStatus::WaitingForKind).await;
    for (version, parked, served) in [("v1beta1", &old, &new), ("v1", &new, &old), ("v1beta1", &old, &new)] {
        server.world().served_version = version;
        server.close_watches();
        parked.until_status("waiting", |status| *status == WatchStatus::WaitingForKind).await;
        served.until_equal(&server).await;
        parked
            .until("told", |told| told.log.last().is_some_and(|entry| entry == "-default/a") || told.log.is_empty())
            .await;
        assert!(!parked.store().synced() && parked.store().is_empty());
        assert!(served.store().synced());
    }
}

/// Ten minutes of 429: the reflector obeys Retry-After, the cache stays readable, and all is well soon afterwards.
#[tokio::test(start_paused = true)]
async fn i17_an_overloaded_server_is_asked_no_more_often_than_it_says() {
    for relist in [false, true] {
        let server = Server::new();
        server.apply("default/a", &json!({}));
        let follower = Follower::all(&informers(&server));
        follower.until_told("synced").await;
        eventually("watching", || server.open_watches() == 1).await;
        server.world().overloaded = Some(40);
        if relist {
            server.send("ERROR", &gone())
        } else {
            server.close_watches()
        }
        server.apply("default/a", &json!({}));
        follower.until_status("failing", |status| status.to_string().contains("scripted storm")).await;
        let before = server.world().requests.len();
        tokio::time::sleep(Duration::from_secs(600)).await;
        let asked = server.world().requests.len() - before;
        assert!((5..=15).contains(&asked), "asked {asked} times in ten minutes");
        follower.check();
        assert!(follower.store().synced() && follower.store().len() == 1);
        server.world().overloaded = None;
        let over = Instant::now();
        follower.until_equal(&server).await;
        assert!(over.elapsed() <= Duration::from_secs(41), "{:?}", over.elapsed());
        follower.until_status("synced", |status| *status == WatchStatus::Synced).await;
    }
}

/// A server or proxy that asks for an hour gets a request sooner.
#[tokio::test(start_paused = true)]
async fn i17_a_retry_after_of_hours_is_not_waited_for() {
    let server = Server::new();
    server.world().overloaded = Some(36_000);
    let follower = Follower::all(&informers(&server));
    follower.until_status("failing", |status| matches!(status, WatchStatus::Failing { .. })).await;
    server.world().overloaded = None;
    let over = Instant::now();
    follower.until_told("synced").await;
    assert!(over.elapsed() <= Duration::from_secs(60), "{:?}", over.elapsed());
}

/// A server answers lists but no watches: the reflector lists now and then, so the cache follows all the same.
#[tokio::test(start_paused = true)]
async fn i10_a_kind_that_can_be_listed_and_not_watched_is_listed_again() {
    let server = Server::new();
    server.world().unwatchable = true;
    let follower = Follower::all(&informers(&server));
    follower.until_told("synced").await;
    for i in 0..3 {
        server.apply(&format!("default/o{i}"), &json!({}));
        follower.until_equal(&server).await;
    }
    let lists = server.requests("LIST").len();
    assert!(lists <= 10, "{lists} lists");
}

/// All deadlines pass at once, as after the suspension of a machine. Clocks that are set back do not matter: the informer never reads the
/// time of day (`tests/layering.rs`).
#[tokio::test(start_paused = true)]
async fn i24_a_clock_that_jumps_loses_nothing() {
    let hour = Duration::from_secs(3600);
    let server = Server::new();
    server.apply("default/a", &json!({}));
    // During discovery and the list.
    server.world().delay = Duration::from_secs(5);
    let informers = informers(&server);
    let follower = Follower::all(&informers);
    for _ in 0..4 {
        tokio::task::yield_now().await;
        tokio::time::advance(hour).await;
    }
    server.world().delay = Duration::ZERO;
    follower.until_equal(&server).await;
    follower.until_told("synced").await;
    // During the watch, with and without an event on its way.
    eventually("watching", || server.open_watches() >= 1).await;
    tokio::time::advance(hour).await;
    server.apply("default/b", &json!({}));
    tokio::time::advance(hour).await;
    follower.until_equal(&server).await;
    // During the wait for an own write.
    eventually("watching", || server.open_watches() >= 1).await;
    server.stall_watches();
    let answer = Object::parse(&server.apply("default/a", &json!({})).to_string()).unwrap();
    informers.record_object(&gvk(), &answer);
    let store = follower.store().clone();
    let written = answer.key().clone();
    let waiting = tokio::spawn(async move { store.fresh(&written, soon()).await });
    tokio::task::yield_now().await;
    tokio::time::advance(hour).await;
    assert!(matches!(waiting.await.unwrap(), Err(Stale::NotSeen(_)) | Ok(())));
    follower.until_equal(&server).await;
    assert_eq!(follower.store().fresh(answer.key(), soon()).await, Ok(()));
}
