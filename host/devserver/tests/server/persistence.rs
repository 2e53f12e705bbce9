//! Persistence across restarts.

use std::{collections::BTreeMap, path::Path, time::Duration};

use oarlock_devserver::{DevServer, Error, Options};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{Next, Server};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const THINGS: &str = "/apis/example.com/v1/namespaces/default/things";

/// A server on a directory; waits until its predecessor has released it.
async fn open(options: &Options) -> Server {
    let limit = Duration::from_secs(20);
    let wait = async {
        loop {
            match DevServer::start(options.clone()).await {
                Ok(running) => return Server::of(running),
                Err(Error::DataDirInUse { .. }) => tokio::task::yield_now().await,
                Err(other) => panic!("{other}"),
            }
        }
    };
    tokio::time::timeout(limit, wait).await.expect("the directory is free in time")
}

/// Ends a server without a shutdown.
fn kill(server: Server) {
    drop(server);
}

/// The directory as a process leaves it when it is killed now.
fn as_killed_now(dir: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    copy
}

fn crd() -> Value {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties":
        {"size": {"type": "integer", "default": 3}}}}});
    json!({"metadata": {"name": "things.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}})
}

fn map(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

/// The visible objects of a kind, by name.
async fn state(server: &Server, path: &str) -> BTreeMap<String, Value> {
    let list = server.get(path).await.json();
    let items = list["items"].as_array().unwrap_or_else(|| panic!("{list}")).clone();
    items.into_iter().map(|i| (i["metadata"]["name"].as_str().unwrap().to_owned(), i)).collect()
}

#[tokio::test]
async fn objects_kinds_uids_and_versions_are_there_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::default().data_dir(dir.path());
    let server = open(&options).await;
    assert_eq!(server.json("POST", CRDS, crd()).await.status, 201);
    let thing = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {}});
    assert_eq!(server.json("POST", THINGS, thing).await.status, 201);
    server.json("POST", MAPS, map("gone")).await;
    server.json("DELETE", &format!("{MAPS}/gone"), Value::Null).await;
    let last = server.json("POST", MAPS, map("kept")).await.version();
    let paths = [MAPS, THINGS, CRDS, "/api/v1/namespaces", "/apis/rbac.authorization.k8s.io/v1/clusterroles"];
    let mut before = Vec::new();
    for path in paths {
        before.push(state(&server, path).await);
    }
    server.running.shutdown().await;

    let idle = open(&options).await.get(MAPS).await.version();
    let server = open(&options).await;
    assert!(server.get(MAPS).await.version() > idle, "a server that wrote nothing may have told its version");
    for (path, before) in paths.into_iter().zip(before) {
        assert_eq!(state(&server, path).await, before, "{path}");
    }
    assert_eq!(server.get(&format!("{THINGS}/t")).await.json()["spec"]["size"], 3);
    assert!(server.get(MAPS).await.version() > last);
    assert!(server.json("POST", MAPS, map("new")).await.version() > last + 1);
    let twice = server.json("POST", MAPS, map("kept")).await;
    assert_eq!((twice.status, &twice.json()["reason"]), (409, &json!("AlreadyExists")));
}

#[tokio::test]
async fn a_watch_goes_on_across_a_restart_as_far_as_the_log_reaches() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::default().data_dir(dir.path()).watch_history(3);
    let server = open(&options).await;
    let old = server.json("POST", MAPS, map("a")).await.version();
    for name in ["b", "c", "d"] {
        server.json("POST", MAPS, map(name)).await;
    }
    let seen = server.json("POST", MAPS, map("e")).await.version();
    server.json("DELETE", &format!("{MAPS}/e"), Value::Null).await;
    kill(server);

    let server = open(&options).await;
    server.json("POST", MAPS, map("f")).await;
    let mut watch = server.watch(&format!("{MAPS}?watch=1&resourceVersion={seen}")).await;
    assert_eq!(watch.event().await, ("DELETED".into(), "e".into()));
    assert_eq!(watch.event().await, ("ADDED".into(), "f".into()));
    let mut late = server.watch(&format!("{MAPS}?watch=1&resourceVersion={old}")).await;
    let Next::Event(kind, status) = late.next().await else { panic!("no event") };
    assert_eq!((kind.as_str(), &status["code"]), ("ERROR", &json!(410)));
    let secrets = format!("/api/v1/namespaces/default/secrets?watch=1&resourceVersion={old}");
    let mut quiet = server.watch(&secrets).await;
    server.json("POST", "/api/v1/namespaces/default/secrets", map("s")).await;
    assert_eq!(quiet.event().await, ("ADDED".into(), "s".into()), "a kind nobody changed has nothing to forget");
}

#[tokio::test]
async fn what_was_being_deleted_is_deleted_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    // Without controllers nothing continues before the restart.
    let options = Options::default().data_dir(dir.path());
    let server = open(&options.clone().controllers(false)).await;
    server.json("POST", CRDS, crd()).await;
    server.json("POST", "/api/v1/namespaces", map("going")).await;
    server.json("POST", "/api/v1/namespaces/going/configmaps", map("inside")).await;
    let owner = server.json("POST", MAPS, map("owner")).await.json();
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]});
    let owned = json!({"metadata": {"name": "owned", "ownerReferences": [reference]}});
    server.json("POST", MAPS, owned).await;
    server.json("DELETE", &format!("{MAPS}/owner"), Value::Null).await;
    server.json("DELETE", "/api/v1/namespaces/going", Value::Null).await;
    assert_eq!(server.get(&format!("{MAPS}/owned")).await.status, 200);
    assert_eq!(server.get("/api/v1/namespaces/going").await.json()["status"]["phase"], "Terminating");
    kill(server);

    let server = open(&options).await;
    server.until(&format!("{MAPS}/owned"), 404).await;
    server.until("/api/v1/namespaces/going", 404).await;
    server.json("DELETE", &format!("{CRDS}/things.example.com"), Value::Null).await;
    assert_eq!(server.get(THINGS).await.status, 404);
    kill(server);
    let server = open(&options).await;
    assert_eq!(server.get(THINGS).await.status, 404);
}

#[tokio::test]
async fn a_second_server_on_the_directory_is_refused_and_so_is_a_damaged_file() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::default().data_dir(dir.path());
    let server = open(&options).await;
    server.json("POST", MAPS, map("a")).await;
    let second = DevServer::start(options.clone()).await.unwrap_err().to_string();
    assert!(second.contains("in use") && second.contains(dir.path().to_str().unwrap()), "{second}");
    kill(server);
    open(&options).await.running.shutdown().await;

    let log = dir.path().join("log-000001");
    let mut bytes = std::fs::read(&log).unwrap();
    let lines: Vec<usize> = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i).collect();
    let begin = lines[lines.len() / 2] + 1;
    bytes[begin + 30] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    let damaged = DevServer::start(options).await.unwrap_err().to_string();
    assert!(damaged.contains("log-000001") && damaged.contains(&format!("byte {begin}")), "{damaged}");
}

/// Other tests of this process start programs: until such a program runs, it holds every lock of the process.
#[tokio::test]
async fn the_directory_of_a_server_that_was_shut_down_is_free_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::default().data_dir(dir.path());
    let ended = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let starting = std::thread::spawn({
        let ended = std::sync::Arc::clone(&ended);
        move || {
            while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                std::process::Command::new("true").status().unwrap();
            }
        }
    });
    let mut refused = None;
    for _ in 0..200 {
        match DevServer::start(options.clone()).await {
            Ok(running) => running.shutdown().await,
            Err(error) => refused = Some(error.to_string()),
        }
    }
    ended.store(true, std::sync::atomic::Ordering::Relaxed);
    starting.join().unwrap();
    assert_eq!(refused, None);
}

#[tokio::test]
async fn the_log_is_replaced_by_a_snapshot_and_nothing_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::default().data_dir(dir.path()).data_log_bytes(20_000);
    let server = open(&options).await;
    let files = || -> Vec<String> {
        let mut files: Vec<String> =
            std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        files.sort();
        files
    };
    let writer = async |writer: usize| {
        for i in 0..60 {
            let name = format!("{MAPS}/w{writer}-{}", i % 5);
            let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"i": "x".repeat(200 + i)}});
            server
                .send(
                    "PATCH",
                    &format!("{name}?fieldManager=w&force=true"),
                    "application/apply-patch+yaml",
                    body.to_string(),
                )
                .await;
            if i % 7 == 0 {
                server.json("DELETE", &name, Value::Null).await;
            }
        }
    };
    futures::future::join_all((0..4).map(writer)).await;
    let before = state(&server, MAPS).await;
    let version = server.get(MAPS).await.version();
    kill(server);
    let server = open(&options).await;
    assert_eq!(state(&server, MAPS).await, before);
    assert!(server.get(MAPS).await.version() > version);
    let files = files();
    assert!(files.iter().any(|f| f.starts_with("snapshot-")), "{files:?}");
    assert!(!files.contains(&"log-000001".to_owned()), "{files:?}");
}

#[tokio::test]
async fn without_snapshots_the_logs_go_on() {
    let dir = tempfile::tempdir().unwrap();
    // The temporary snapshot cannot be created as a file.
    std::fs::create_dir(dir.path().join("snapshot.new")).unwrap();
    let options = Options::default().data_dir(dir.path()).data_log_bytes(1);
    let server = open(&options).await;
    for i in 0..20 {
        server.json("POST", MAPS, map(&format!("m{i}"))).await;
        while !dir.path().join("log-000002").exists() {
            tokio::task::yield_now().await;
        }
    }
    let before = state(&server, MAPS).await;
    kill(server);
    assert!(dir.path().join("log-000001").exists());
    assert_eq!(state(&open(&options).await, MAPS).await, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_is_there_when_the_server_is_killed_among_concurrent_writes() {
    let dir = tempfile::tempdir().unwrap();
    let server = open(&Options::default().data_dir(dir.path())).await;
    let acknowledged = std::sync::Mutex::new(Vec::new());
    let writer = async |writer: usize| {
        for i in 0..30 {
            let name = format!("w{writer}-{i}");
            let version = server.json("POST", MAPS, map(&name)).await.version();
            acknowledged.lock().unwrap().push((name, version));
        }
    };
    let mut copies = Vec::new();
    let killer = async {
        for moment in 0..6 {
            while acknowledged.lock().unwrap().len() < moment * 25 {
                tokio::task::yield_now().await;
            }
            let told = acknowledged.lock().unwrap().clone();
            copies.push((told, as_killed_now(dir.path())));
        }
    };
    tokio::join!(futures::future::join_all((0..6).map(writer)), killer);
    for (told, copy) in copies {
        let server = open(&Options::default().data_dir(copy.path())).await;
        let found = state(&server, MAPS).await;
        for (name, version) in &told {
            let object = found.get(name).unwrap_or_else(|| panic!("{name} was answered and is gone"));
            assert_eq!(object["metadata"]["resourceVersion"], version.to_string());
        }
        let newest = told.iter().map(|(_, version)| *version).max().unwrap_or(0);
        assert!(server.json("POST", MAPS, map("next")).await.version() > newest);
    }
}

#[derive(Debug, Clone)]
enum Op {
    Create(u8),
    Update(u8, u8),
    Delete(u8),
    Thing(u8),
    Kind(bool),
    Restart,
}

fn op() -> impl Strategy<Value = Op> {
    let key = 0..5_u8;
    prop_oneof![
        3 => key.clone().prop_map(Op::Create),
        3 => (key.clone(), any::<u8>()).prop_map(|(k, v)| Op::Update(k, v)),
        2 => key.clone().prop_map(Op::Delete),
        2 => key.prop_map(Op::Thing),
        1 => any::<bool>().prop_map(Op::Kind),
        1 => Just(Op::Restart),
    ]
}

/// All visible objects, and the newest returned version.
async fn all(server: &Server) -> (BTreeMap<String, Value>, u64) {
    let mut seen = state(server, MAPS).await;
    if server.get(THINGS).await.status == 200 {
        seen.extend(state(server, THINGS).await);
    }
    seen.extend(state(server, CRDS).await);
    seen.extend(state(server, "/api/v1/namespaces").await);
    (seen, server.get(MAPS).await.version())
}

async fn check(ops: Vec<Op>, log: u64) {
    let dir = tempfile::tempdir().unwrap();
    let options = Options::default().data_dir(dir.path()).data_log_bytes(log);
    let mut server = open(&options).await;
    for op in ops.iter().chain([&Op::Restart]) {
        match op {
            Op::Create(k) => drop(server.json("POST", MAPS, map(&format!("m{k}"))).await),
            Op::Update(k, v) => {
                let patch = json!({"data": {"v": v.to_string()}}).to_string();
                server.send("PATCH", &format!("{MAPS}/m{k}"), "application/merge-patch+json", patch).await;
            }
            Op::Delete(k) => drop(server.json("DELETE", &format!("{MAPS}/m{k}"), Value::Null).await),
            Op::Thing(k) => {
                let thing =
                    json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": format!("t{k}")}});
                server.json("POST", THINGS, thing).await;
            }
            Op::Kind(true) => drop(server.json("POST", CRDS, crd()).await),
            Op::Kind(false) => drop(server.json("DELETE", &format!("{CRDS}/things.example.com"), Value::Null).await),
            Op::Restart => {
                let (before, version) = all(&server).await;
                kill(server);
                server = open(&options).await;
                let (after, later) = all(&server).await;
                assert_eq!(after, before);
                assert!(later > version);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]

    #[test]
    fn a_server_that_is_killed_comes_back_as_it_was(
        ops in proptest::collection::vec(op(), 1..40),
        log in prop_oneof![Just(1_u64), Just(60_000), Just(10_000_000)],
    ) {
        tokio::runtime::Runtime::new().unwrap().block_on(check(ops, log));
    }
}
