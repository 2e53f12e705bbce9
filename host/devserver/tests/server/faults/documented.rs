//! The examples of docs/api-server.md have the documented effect.

use std::collections::BTreeMap;

use oarlock_devserver::faults::{Rule, Rules};
use serde_json::{Value, json};

use super::MAPS;
use crate::{Next, Server};

const PAGE: &str = include_str!("../../../../../docs/api-server.md");
const AGENT: &str = "my-controller/1.0";

/// The rules of that page, by id.
fn examples() -> BTreeMap<String, Rule> {
    let blocks = PAGE.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut rules = BTreeMap::new();
    for block in blocks {
        for rule in &Rules::parse(block).unwrap_or_else(|e| panic!("{e} in {block}")) {
            assert!(!rule.id.is_empty(), "{block}");
            assert!(rules.insert(rule.id.clone(), rule.clone()).is_none(), "{} is there twice", rule.id);
        }
    }
    rules
}

async fn asked(server: &Server, method: &str, path: &str, body: Value) -> Option<u16> {
    server.ask(AGENT, method, path, body).await.map(|a| a.status)
}

fn map(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

/// Checks a client's view under the example with this id; the server has the ConfigMap `before`.
async fn see(server: &Server, id: &str, rule: Rule) {
    let name = format!("{MAPS}/web-1");
    let version = server.get(MAPS).await.version();
    let watch = format!("{MAPS}?watch=1&resourceVersion={version}");
    let add = || server.running.faults().add(Rules::new(vec![rule.clone()]).unwrap()).unwrap();
    match id {
        "busy" => {
            add();
            let answer = server.json("POST", MAPS, map("web-1")).await;
            assert_eq!((answer.status, answer.retry_after.as_deref()), (429, Some("2")));
        }
        "late" => {
            add();
            let begin = tokio::time::Instant::now();
            assert_eq!(asked(server, "GET", MAPS, Value::Null).await, Some(200));
            assert!(begin.elapsed().as_millis() >= 250);
        }
        "silent" => {
            add();
            let path = format!("{MAPS}/before");
            let held = asked(server, "PUT", &path, map("before"));
            let free = async {
                while server.running.faults().rules()[0].struck == 0 {
                    tokio::task::yield_now().await;
                }
                assert!(server.running.faults().remove("silent"));
            };
            assert_eq!(tokio::join!(held, free).0, None);
        }
        "lost-answers" => {
            add();
            let statuses = [201, 0, 409].map(|s| (s > 0).then_some(s));
            for (name, status) in [("web-0", statuses[0]), ("web-1", statuses[1]), ("web-1", statuses[2])] {
                assert_eq!(asked(server, "POST", MAPS, map(name)).await, status);
            }
        }
        "crash" => {
            add();
            for (name, status) in [("web-0", Some(201)), ("web-1", Some(201)), ("web-2", None), ("web-3", None)] {
                assert_eq!(asked(server, "POST", MAPS, map(name)).await, status);
            }
            assert_eq!(server.names("").await, ["before", "web-0", "web-1", "web-2"]);
        }
        "slow" => {
            add();
            assert_eq!(server.names("").await, ["before"]);
        }
        "behind" | "frozen" => {
            let versions: Vec<u64> = vec![server.make("web-0").await, server.make("web-1").await];
            add();
            server.make("web-2").await;
            let seen = server.names("?resourceVersion=0").await.len();
            // Five versions behind, but not before the floor.
            assert_eq!(seen, if id == "behind" { 0 } else { 3 }, "{versions:?}");
        }
        "compacted" => {
            server.make("web-1").await;
            add();
            let answer = server.get(&format!("{watch}&timeoutSeconds=1")).await;
            assert!(answer.text.contains("\"code\":410"), "{}", answer.text);
        }
        "one-in-ten" => {
            add();
            let mut failed = 0;
            for _ in 0..100 {
                failed += u32::from(asked(server, "GET", MAPS, Value::Null).await == Some(500));
            }
            assert!((1..40).contains(&failed), "{failed}");
        }
        _ => watched(server, id, &watch, &name, add).await,
    }
}

/// [`see`] for watches.
async fn watched(server: &Server, id: &str, path: &str, name: &str, add: impl Fn() -> Vec<String>) {
    let mut watch = server.watch(path).await;
    add();
    let begin = tokio::time::Instant::now();
    server.make("web-1").await;
    let added = ("ADDED".to_owned(), "web-1".to_owned());
    match id {
        "late-events" => {
            assert_eq!(watch.event().await, added);
            assert!(begin.elapsed().as_millis() >= 500);
        }
        "unseen-deletes" => {
            server.json("DELETE", name, Value::Null).await;
            server.make("web-1").await;
            assert_eq!([watch.event().await, watch.event().await], [added.clone(), added]);
        }
        "told-twice" => assert_eq!([watch.event().await, watch.event().await], [added.clone(), added]),
        "no-bookmarks" => {
            let end = format!("{path}&allowWatchBookmarks=true&timeoutSeconds=1");
            assert!(!server.get(&end).await.text.contains("BOOKMARK"));
        }
        "broken-watches" => {
            server.make("web-2").await;
            server.make("web-3").await;
            for _ in 0..3 {
                watch.event().await;
            }
            assert_eq!(watch.next().await, Next::Cut);
        }
        "too-old" => loop {
            let Next::Event(kind, object) = watch.next().await else { panic!("no event") };
            if kind == "ERROR" {
                assert_eq!(object["code"], 410);
                return;
            }
        },
        "stalled" => {
            assert!(watch.is_silent(300).await);
            assert!(server.running.faults().remove("stalled"));
            assert_eq!(watch.event().await, added);
        }
        other => panic!("no test knows the example {other}"),
    }
}

#[tokio::test]
async fn every_example_of_the_page_does_what_it_says() {
    let examples = examples();
    assert!(examples.len() >= 16, "{examples:?}");
    for (id, rule) in examples {
        let server = Server::start().await;
        server.make("before").await;
        see(&server, &id, rule).await;
    }
}
