//! Consistency of list and watch.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::Server;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[derive(Debug, Clone)]
enum Op {
    Create(u8),
    Update(u8, u8),
    Label(u8, bool),
    Delete(u8),
}

fn op() -> impl Strategy<Value = Op> {
    let key = 0..5_u8;
    prop_oneof![
        key.clone().prop_map(Op::Create),
        (key.clone(), any::<u8>()).prop_map(|(k, v)| Op::Update(k, v)),
        (key.clone(), any::<bool>()).prop_map(|(k, l)| Op::Label(k, l)),
        key.prop_map(Op::Delete),
    ]
}

async fn run(server: &Server, op: &Op) {
    let merge = async |name: String, patch: Value| {
        server.send("PATCH", &format!("{MAPS}/{name}"), "application/merge-patch+json", patch.to_string()).await
    };
    // Some of these are rejected in any state; only the later results count.
    match op {
        Op::Create(k) => server.json("POST", MAPS, json!({"metadata": {"name": format!("m{k}")}})).await,
        Op::Update(k, v) => merge(format!("m{k}"), json!({"data": {"v": v.to_string()}})).await,
        Op::Label(k, on) => {
            let value = if *on { json!("1") } else { Value::Null };
            merge(format!("m{k}"), json!({"metadata": {"labels": {"s": value}}})).await
        }
        Op::Delete(k) => server.json("DELETE", &format!("{MAPS}/m{k}"), Value::Null).await,
    };
}

type State = BTreeMap<String, Value>;

fn add(state: &mut State, mut object: Value) {
    // Items of lists have neither.
    object.as_object_mut().unwrap().remove("kind");
    object.as_object_mut().unwrap().remove("apiVersion");
    state.insert(object["metadata"]["name"].as_str().unwrap().to_owned(), object);
}

fn state(list: &Value) -> State {
    let mut out = State::new();
    list["items"].as_array().unwrap().iter().for_each(|item| add(&mut out, item.clone()));
    out
}

/// Applies the events between two versions.
fn replay(mut state: State, events: &str, selected: bool) -> State {
    for line in events.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let object = event["object"].clone();
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        match event["type"].as_str().unwrap() {
            "ADDED" => assert!(!state.contains_key(&name), "{name} was added twice"),
            "MODIFIED" => assert!(state.contains_key(&name), "{name} was modified before it was added"),
            "DELETED" => {
                assert!(state.remove(&name).is_some(), "{name} was deleted before it was added");
                continue;
            }
            other => panic!("{other} {selected}"),
        }
        add(&mut state, object);
    }
    state
}

async fn check(ops: Vec<Op>) {
    let server = Server::start().await;
    let mut lists = vec![server.get(MAPS).await];
    for op in &ops {
        run(&server, op).await;
        lists.push(server.get(MAPS).await);
    }
    for selector in ["", "&labelSelector=s%3D1"] {
        let last = state(&server.get(&format!("{MAPS}?x=1{selector}")).await.json());
        // From any version that a client may have seen.
        let checks = lists.iter().map(async |list| {
            let version = list.version();
            let exact = format!("{MAPS}?resourceVersion={version}&resourceVersionMatch=Exact{selector}");
            let then = state(&server.get(&exact).await.json());
            if selector.is_empty() {
                assert_eq!(then, state(&list.json()));
            }
            let watch = format!("{MAPS}?watch=1&resourceVersion={version}&timeoutSeconds=1{selector}");
            let events = server.get(&watch).await.text;
            assert_eq!(replay(then, &events, !selector.is_empty()), last);
        });
        futures::future::join_all(checks).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn a_watch_from_any_version_leads_to_the_present(ops in proptest::collection::vec(op(), 1..40)) {
        tokio::runtime::Runtime::new().unwrap().block_on(check(ops));
    }
}

#[tokio::test]
async fn pages_show_one_version() {
    let server = Server::start().await;
    for i in 0..7 {
        server.json("POST", MAPS, json!({"metadata": {"name": format!("m{i}")}})).await;
    }
    let expected = state(&server.get(MAPS).await.json());
    let mut page = server.get(&format!("{MAPS}?limit=3")).await.json();
    let mut seen = state(&page);
    for i in 0..2 {
        server.json("DELETE", &format!("{MAPS}/m{}", i * 5), Value::Null).await;
        let token = page["metadata"]["continue"].as_str().unwrap();
        page = server.get(&format!("{MAPS}?limit=3&continue={token}")).await.json();
        seen.extend(state(&page));
    }
    assert!(page["metadata"]["continue"].is_null());
    assert_eq!(seen, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn watchers_see_every_concurrent_write_in_order() {
    let server = Server::start().await;
    let start = server.get(MAPS).await.version();
    let writer = async |writer: usize| {
        for i in 0..40 {
            let name = format!("w{writer}-{}", i % 7);
            let patch = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"i": i.to_string()}, "metadata": {"name": name}});
            let path = format!("{MAPS}/{name}?fieldManager=w&force=true");
            let answer = server.send("PATCH", &path, "application/apply-patch+yaml", patch.to_string()).await;
            assert!(answer.status < 300, "{}", answer.text);
            if i % 5 == 0 {
                server.json("DELETE", &format!("{MAPS}/{name}"), Value::Null).await;
            }
        }
    };
    let path = format!("{MAPS}?watch=1&resourceVersion={start}&timeoutSeconds=3");
    let watch = server.get(&path);
    let writers = futures::future::join_all((0..6).map(writer));
    let (events, _) = tokio::join!(watch, writers);
    let end = state(&server.get(MAPS).await.json());
    assert_eq!(replay(State::new(), &events.text, false), end);
    let versions: Vec<u64> = events
        .text
        .lines()
        .map(|l| {
            serde_json::from_str::<Value>(l).unwrap()["object"]["metadata"]["resourceVersion"]
                .as_str()
                .unwrap()
                .parse()
                .unwrap()
        })
        .collect();
    assert_eq!(versions.len(), 6 * 40 + 6 * 8);
    assert!(versions.is_sorted_by(|a, b| a < b));
}
