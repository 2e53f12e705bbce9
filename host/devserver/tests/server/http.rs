//! Malformed requests, and the format of watches.

use http_body_util::BodyExt as _;
use oarlock_devserver::Options;
use serde_json::{Value, json};

use crate::Server;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

#[tokio::test]
async fn no_body_breaks_the_server() {
    let server = Server::start().await;
    let deep = "[".repeat(200_000);
    let bodies: [&[u8]; 12] = [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\"x\"",
        b"{\"metadata\":[]}",
        b"{\"metadata\":{\"name\":{}}}",
        b"\xff\xfe\x00",
        b"k8s\0",
        b"k8s\0\x0a\xff\xff\xff\xff\x7f",
        deep.as_bytes(),
        b"{\"metadata\":{\"labels\":1,\"finalizers\":{}}}",
    ];
    let types = [
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
        "text/plain",
        "",
    ];
    for kind in ["pods", "configmaps", "secrets", "services", "events", "serviceaccounts"] {
        let path = format!("/api/v1/namespaces/default/{kind}");
        for body in bodies {
            for content_type in types {
                for (method, path) in [
                    ("POST", path.clone()),
                    ("PUT", format!("{path}/default")),
                    ("PATCH", format!("{path}/default?fieldManager=m")),
                ] {
                    let answer = server.send(method, &path, content_type, body.to_vec()).await;
                    assert!(
                        answer.status >= 400 || method == "PATCH",
                        "{method} {path} {content_type}: {}",
                        answer.text
                    );
                    assert_ne!(answer.status, 0);
                }
            }
        }
    }
    assert_eq!(server.get("/readyz").await.text, "ok");
}

#[tokio::test]
async fn strange_paths_and_queries_are_refused() {
    let server = Server::start().await;
    let cases = [
        ("/api/v1/namespaces/default/pods?limit=x", 400),
        ("/api/v1/namespaces/default/pods?continue=%%%", 400),
        ("/api/v1/namespaces/default/pods?labelSelector=a%20in%20(", 400),
        ("/api/v1/namespaces/default/pods?fieldSelector=x", 400),
        ("/api/v1/namespaces/default/pods?resourceVersion=-1", 400),
        ("/api/v1/namespaces/default/pods/a/b/c/d", 404),
        ("/api/v1/namespaces/%2e%2e/pods/%00", 404),
        ("/apis//v1/x", 404),
        ("//api", 404),
        ("/api/v2", 404),
    ];
    for (path, status) in cases {
        assert_eq!(server.get(path).await.status, status, "{path}");
    }
    assert_eq!(server.json("HEAD", MAPS, Value::Null).await.status, 405);
}

#[tokio::test]
async fn a_body_over_three_mebibytes_is_refused() {
    let server = Server::start().await;
    let answer = server.send("POST", MAPS, "application/json", vec![b' '; 3 * 1024 * 1024 + 1]).await;
    assert_eq!((answer.status, answer.json()["reason"].as_str()), (413, Some("RequestEntityTooLarge")));
}

#[tokio::test]
async fn events_name_their_type_first_and_an_expired_version_is_an_event() {
    let server = Server::with(Options::default().watch_history(3)).await;
    let first = server.json("POST", MAPS, map("m0")).await.version();
    for i in 1..8 {
        server.json("POST", MAPS, map(&format!("m{i}"))).await;
    }
    let late = server.get(&format!("{MAPS}?watch=1&resourceVersion={first}&timeoutSeconds=1")).await;
    assert_eq!(late.status, 200);
    let lines: Vec<&str> = late.text.lines().collect();
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with(r#"{"type":"ERROR","object":"#), "{}", lines[0]);
    let event: Value = serde_json::from_str(lines[0]).unwrap();
    assert_eq!((event["object"]["code"].as_u64(), event["object"]["reason"].as_str()), (Some(410), Some("Expired")));

    let list = server.get(MAPS).await;
    let page = server.get(&format!("{MAPS}?limit=1")).await.json();
    for i in 8..16 {
        server.json("POST", MAPS, map(&format!("m{i}"))).await;
    }
    let token = page["metadata"]["continue"].as_str().unwrap();
    assert_eq!(server.get(&format!("{MAPS}?limit=1&continue={token}")).await.status, 410);
    assert!(server.get(MAPS).await.version() > list.version());
}

#[tokio::test]
async fn a_streaming_list_ends_with_an_annotated_bookmark() {
    let server = Server::start().await;
    for name in ["a", "b"] {
        server.json("POST", MAPS, map(name)).await;
    }
    let query =
        "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1";
    let text = server.get(&format!("{MAPS}?{query}")).await.text;
    let events: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(events[0]["type"], "ADDED");
    assert_eq!(events[1]["type"], "ADDED");
    assert_eq!(events[2]["type"], "BOOKMARK");
    assert_eq!(events[2]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    assert_eq!(events[2]["object"]["kind"], "ConfigMap");
}

#[tokio::test]
async fn several_writers_merge_and_a_stale_replace_is_refused() {
    let server = Server::start().await;
    let apply = async |manager: &str, key: &str| {
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {key: "x"}});
        let path = format!("{MAPS}/m?fieldManager={manager}");
        server.send("PATCH", &path, "application/apply-patch+yaml", body.to_string()).await
    };
    let first = apply("a", "a").await;
    let (one, two, three) = tokio::join!(apply("b", "b"), apply("c", "c"), apply("d", "d"));
    assert_eq!([one.status, two.status, three.status], [200; 3]);
    let merged = server.get(&format!("{MAPS}/m")).await.json();
    assert_eq!(merged["data"], json!({"a": "x", "b": "x", "c": "x", "d": "x"}));
    assert_eq!(merged["metadata"]["managedFields"].as_array().unwrap().len(), 4);
    let stale = server.json("PUT", &format!("{MAPS}/m"), first.json()).await;
    assert_eq!((stale.status, stale.json()["reason"].as_str()), (409, Some("Conflict")));
}

#[tokio::test]
async fn unknown_fields_are_warned_of_or_refused() {
    let server = Server::start().await;
    let mut body = map("m");
    body["extra"] = 1.into();
    let warned = server.json("POST", &format!("{MAPS}?dryRun=All"), body.clone()).await;
    assert_eq!(
        (warned.status, warned.warnings.as_slice()),
        (201, &[r#"299 - "unknown field \"extra\"""#.to_owned()][..])
    );
    assert_eq!(server.json("POST", &format!("{MAPS}?fieldValidation=Strict"), body).await.status, 400);
    assert_eq!(server.get(&format!("{MAPS}/m")).await.status, 404);
}

#[tokio::test]
async fn requests_are_recorded_with_verb_and_agent() {
    let server = Server::with(Options::default().request_history(2)).await;
    server.get(MAPS).await;
    server.json("POST", MAPS, map("a")).await;
    server.get(&format!("{MAPS}/a")).await;
    let records = server.running.requests();
    assert_eq!(records.len(), 2);
    assert_eq!(
        (records[0].verb.as_str(), records[0].status, records[0].user_agent.as_str()),
        ("create", 201, "test/1.0")
    );
    assert_eq!((records[1].verb.as_str(), records[1].path.as_str()), ("get", &*format!("{MAPS}/a")));
    assert_eq!(server.running.request_counts()["list"], 1);
}

#[tokio::test]
async fn shutdown_ends_watches() {
    let Server { running, http } = Server::start().await;
    let uri = format!("{}{MAPS}?watch=1", running.url()).parse().unwrap();
    let response = http.get(uri).await.unwrap();
    assert_eq!(response.status(), 200);
    let (_, body) = tokio::join!(running.shutdown(), response.into_body().collect());
    assert!(body.unwrap().to_bytes().is_empty());
}

#[tokio::test]
async fn protobuf_is_read_for_built_in_kinds_and_never_answered() {
    let server = Server::start().await;
    let protobuf = "application/vnd.kubernetes.protobuf";
    let body: &[u8] = b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x05\x0a\x03\x0a\x01c";
    let only = server.send_with(&[("content-type", protobuf), ("accept", protobuf)], "POST", MAPS, body).await;
    assert_eq!(only.status, 406, "{}", only.text);
    let either = format!("{protobuf}, */*");
    let made = server.send_with(&[("content-type", protobuf), ("accept", &either)], "POST", MAPS, body).await;
    assert_eq!((made.status, &made.json()["metadata"]["name"]), (201, &json!("c")));
    assert_eq!(server.send("PATCH", &format!("{MAPS}/c"), protobuf, body).await.status, 415);
    let cut = server.send("POST", MAPS, protobuf, &body[..body.len() - 1]).await;
    assert_eq!(
        cut.json()["message"],
        "the object provided is unrecognized (must be of type ConfigMap): proto: unexpected EOF"
    );
    let options: &[u8] = b"k8s\0\x0a\x13\x0a\x02v1\x12\x0dDeleteOptions\x12\x08\x2a\x06Banana";
    let refused = server.send("DELETE", &format!("{MAPS}/c"), protobuf, options).await;
    assert_eq!((refused.status, refused.text.contains("Banana")), (422, true), "{}", refused.text);
}
