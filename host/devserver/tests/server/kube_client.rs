//! Compatibility with kube 5.

use std::{pin::pin, time::Duration};

use futures::{Stream, TryStreamExt as _};
use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{ConfigMap, Event as CoreEvent, ObjectReference, Pod},
};
use kube::{
    Api, Discovery,
    api::{DeleteParams, ListParams, PartialObjectMeta, Patch, PatchParams, PostParams},
    runtime::{
        events::{self, EventType, Recorder, Reporter},
        watcher::{self, Event},
    },
};
use oarlock_devserver::Options;
use serde_json::json;

use crate::Server;

fn map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"k": "v"}})).unwrap()
}

async fn next<T, E: std::fmt::Debug>(stream: &mut (impl Stream<Item = Result<T, E>> + Unpin)) -> T {
    let next = tokio::time::timeout(Duration::from_secs(20), stream.try_next()).await;
    next.expect("an event in time").expect("no error").expect("no end")
}

#[tokio::test]
async fn objects_are_created_patched_listed_and_deleted() {
    let server = Server::start().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(server.kube());
    let made = maps.create(&PostParams::default(), &map("a")).await.unwrap();
    let patch = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"l": "w"}});
    let patched = maps.patch("a", &PatchParams::apply("m"), &Patch::Apply(&patch)).await.unwrap();
    assert_eq!(patched.data.unwrap().len(), 2);
    let stale = maps.replace("a", &PostParams::default(), &made).await.unwrap_err();
    assert!(matches!(stale, kube::Error::Api(status) if status.is_conflict()));
    let list = maps.list(&ListParams::default().limit(1)).await.unwrap();
    assert_eq!(list.items.len(), 1);
    assert!(maps.delete("a", &DeleteParams::default()).await.unwrap().is_right());
    assert!(maps.get_opt("a").await.unwrap().is_none());
}

#[tokio::test]
async fn both_kinds_of_discovery_know_the_built_in_kinds() {
    let server = Server::start().await;
    for discovery in [Discovery::new(server.kube()).run().await, Discovery::new(server.kube()).run_aggregated().await] {
        let discovery = discovery.unwrap();
        let apps = discovery.get("apps").unwrap();
        let (deployment, capabilities) = apps.recommended_kind("Deployment").unwrap();
        assert_eq!(deployment.plural, "deployments");
        assert!(capabilities.supports_operation("deletecollection"));
        assert!(capabilities.subresources.iter().any(|(s, _)| s.plural == "scale" || s.plural.ends_with("scale")));
    }
}

async fn watch(config: watcher::Config) {
    let server = Server::start().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(server.kube());
    for i in 0..3 {
        maps.create(&PostParams::default(), &map(&format!("m{i}"))).await.unwrap();
    }
    let mut events = pin!(watcher::watcher(maps.clone(), config));
    assert!(matches!(next(&mut events).await, Event::Init));
    for i in 0..3 {
        let event = next(&mut events).await;
        assert!(matches!(event, Event::InitApply(m) if m.metadata.name == Some(format!("m{i}"))));
    }
    assert!(matches!(next(&mut events).await, Event::InitDone));
    maps.delete("m1", &DeleteParams::default()).await.unwrap();
    assert!(matches!(next(&mut events).await, Event::Delete(m) if m.metadata.name.as_deref() == Some("m1")));
    maps.create(&PostParams::default(), &map("late")).await.unwrap();
    assert!(matches!(next(&mut events).await, Event::Apply(m) if m.metadata.name.as_deref() == Some("late")));
}

#[tokio::test]
async fn a_watcher_lists_in_pages_and_follows() {
    watch(watcher::Config::default().page_size(2)).await;
}

#[tokio::test]
async fn a_watcher_streams_its_list() {
    watch(watcher::Config::default().streaming_lists()).await;
}

#[tokio::test]
async fn a_watcher_that_fell_behind_lists_again() {
    let server = Server::with(Options::default().watch_history(2)).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(server.kube());
    // The shortest watch that the client allows: when it resumes, its version is gone.
    let mut events = pin!(watcher::watcher(maps.clone(), watcher::Config::default().labels("x=y").timeout(1)));
    assert!(matches!(next(&mut events).await, Event::Init));
    assert!(matches!(next(&mut events).await, Event::InitDone));
    let write = async {
        for i in 0.. {
            maps.create(&PostParams::default(), &map(&format!("m{i}"))).await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let relisted = async {
        loop {
            match events.try_next().await {
                Ok(Some(Event::Init)) => return,
                Ok(_) | Err(watcher::Error::WatchError(_)) => {}
                Err(other) => panic!("{other}"),
            }
        }
    };
    tokio::select! {
        () = write => {}
        done = tokio::time::timeout(Duration::from_secs(30), relisted) => done.expect("a new list"),
    }
}

#[tokio::test]
async fn metadata_can_be_watched_alone() {
    let server = Server::start().await;
    let pods: Api<Pod> = Api::default_namespaced(server.kube());
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}});
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let metadata: Api<PartialObjectMeta<Pod>> = Api::default_namespaced(server.kube());
    let mut events = pin!(watcher::watcher(metadata, watcher::Config::default()));
    assert!(matches!(next(&mut events).await, Event::Init));
    assert!(matches!(next(&mut events).await, Event::InitApply(m) if m.metadata.name.as_deref() == Some("p")));
}

#[tokio::test]
async fn recorded_events_are_seen_in_the_core_group_and_count_up() {
    let server = Server::start().await;
    let reporter = Reporter { controller: "example.com/c".into(), instance: Some("c-1".into()) };
    let recorder = Recorder::new(server.kube(), reporter);
    let about = ObjectReference {
        api_version: Some("v1".into()),
        kind: Some("ConfigMap".into()),
        name: Some("m".into()),
        namespace: Some("default".into()),
        ..ObjectReference::default()
    };
    for _ in 0..2 {
        let event = events::Event {
            type_: EventType::Normal,
            reason: "Synced".into(),
            note: Some("it happened".into()),
            action: "Sync".into(),
            secondary: None,
        };
        recorder.publish(&event, &about).await.unwrap();
    }
    let seen: Api<CoreEvent> = Api::default_namespaced(server.kube());
    let list = seen.list(&ListParams::default().fields("involvedObject.name=m")).await.unwrap();
    assert_eq!(list.items.len(), 1);
    assert_eq!(list.items[0].message.as_deref(), Some("it happened"));
    assert_eq!(list.items[0].series.as_ref().and_then(|s| s.count), Some(2));
}

#[tokio::test]
async fn a_lease_has_one_holder() {
    let server = Server::start().await;
    let leases: Api<Lease> = Api::default_namespaced(server.kube());
    let lease = |holder: &str| -> Lease {
        let spec = json!({"holderIdentity": holder, "renewTime": "2020-01-01T00:00:00.000000Z"});
        serde_json::from_value(json!({"metadata": {"name": "l"}, "spec": spec})).unwrap()
    };
    let mut first = leases.create(&PostParams::default(), &lease("a")).await.unwrap();
    let mut second = first.clone();
    first.spec.as_mut().unwrap().holder_identity = Some("b".into());
    second.spec.as_mut().unwrap().holder_identity = Some("c".into());
    let params = PostParams::default();
    let outcomes = tokio::join!(leases.replace("l", &params, &first), leases.replace("l", &params, &second));
    assert_ne!(outcomes.0.is_ok(), outcomes.1.is_ok());
}
