//! Garbage collection, namespaces and definitions: deletion of objects with their owner.

use serde_json::{Value, json};

use crate::Server;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn owner(server: &Server, name: &str) -> Value {
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    let made = server.json("POST", MAPS, body).await.json();
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": made["metadata"]["uid"], "blockOwnerDeletion": true})
}

async fn dependent(server: &Server, name: &str, owners: Vec<Value>, finalizers: Vec<&str>) {
    let meta = json!({"name": name, "ownerReferences": owners, "finalizers": finalizers});
    let answer = server.json("POST", MAPS, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
}

async fn delete(server: &Server, name: &str, policy: &str) {
    let answer = server.json("DELETE", &format!("{MAPS}/{name}?propagationPolicy={policy}"), Value::Null).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
}

#[tokio::test]
async fn dependents_follow_their_last_owner() {
    let server = Server::start().await;
    let (a, b) = (owner(&server, "a").await, owner(&server, "b").await);
    dependent(&server, "one", vec![a.clone()], vec![]).await;
    dependent(&server, "both", vec![a, b], vec![]).await;
    delete(&server, "a", "Background").await;
    server.until(&format!("{MAPS}/one"), 404).await;
    let mut left = server.get(&format!("{MAPS}/both")).await.json();
    while left["metadata"]["ownerReferences"].as_array().unwrap().len() == 2 {
        tokio::task::yield_now().await;
        left = server.get(&format!("{MAPS}/both")).await.json();
    }
    delete(&server, "b", "Background").await;
    server.until(&format!("{MAPS}/both"), 404).await;
}

#[tokio::test]
async fn an_owner_of_another_uid_is_no_owner() {
    let server = Server::start().await;
    let mut stranger = owner(&server, "a").await;
    stranger["uid"] = "00000000-0000-0000-0000-000000000001".into();
    dependent(&server, "d", vec![stranger], vec![]).await;
    server.until(&format!("{MAPS}/d"), 404).await;
    assert_eq!(server.get(&format!("{MAPS}/a")).await.status, 200);
}

#[tokio::test]
async fn a_foreground_deletion_waits_for_the_dependents() {
    let server = Server::start().await;
    let a = owner(&server, "a").await;
    dependent(&server, "d", vec![a], vec!["x.io/hold"]).await;
    delete(&server, "a", "Foreground").await;
    let mut held = server.get(&format!("{MAPS}/d")).await.json();
    while held["metadata"]["deletionTimestamp"].is_null() {
        tokio::task::yield_now().await;
        held = server.get(&format!("{MAPS}/d")).await.json();
    }
    assert_eq!(server.get(&format!("{MAPS}/a")).await.json()["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    let release = json!({"metadata": {"finalizers": null}}).to_string();
    server.send("PATCH", &format!("{MAPS}/d"), "application/merge-patch+json", release).await;
    server.until(&format!("{MAPS}/a"), 404).await;
}

#[tokio::test]
async fn orphans_lose_the_reference_and_stay() {
    let server = Server::start().await;
    let a = owner(&server, "a").await;
    dependent(&server, "d", vec![a], vec![]).await;
    delete(&server, "a", "Orphan").await;
    server.until(&format!("{MAPS}/a"), 404).await;
    let orphan = server.get(&format!("{MAPS}/d")).await;
    assert_eq!(orphan.status, 200);
    assert!(orphan.json()["metadata"]["ownerReferences"].is_null());
}

#[tokio::test]
async fn a_namespace_takes_its_objects_along_and_waits_for_finalizers() {
    let server = Server::start().await;
    server.json("POST", "/api/v1/namespaces", json!({"metadata": {"name": "n"}})).await;
    server.until("/api/v1/namespaces/n/serviceaccounts/default", 200).await;
    let held = json!({"metadata": {"name": "h", "finalizers": ["x.io/hold"]}});
    server.json("POST", "/api/v1/namespaces/n/configmaps", held).await;
    server.json("POST", "/api/v1/namespaces/n/secrets", json!({"metadata": {"name": "s"}})).await;
    let answer = server.json("DELETE", "/api/v1/namespaces/n", Value::Null).await;
    assert_eq!(answer.json()["status"]["phase"], "Terminating");
    server.until("/api/v1/namespaces/n/secrets/s", 404).await;
    assert_eq!(server.get("/api/v1/namespaces/n").await.status, 200);
    let release = json!({"metadata": {"finalizers": null}}).to_string();
    server.send("PATCH", "/api/v1/namespaces/n/configmaps/h", "application/merge-patch+json", release).await;
    server.until("/api/v1/namespaces/n", 404).await;
    server.until("/api/v1/namespaces/n/serviceaccounts/default", 404).await;
}

#[tokio::test]
async fn a_definition_is_served_at_once_and_takes_its_objects_along() {
    let server = Server::start().await;
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "integer", "default": 3}}}}});
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "nets.x.io"},
        "spec": {"group": "x.io", "scope": "Namespaced", "names": {"plural": "nets", "kind": "Net"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}});
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(server.json("POST", path, crd.clone()).await.status, 201);
    let nets = "/apis/x.io/v1/namespaces/default/nets";
    let net = json!({"apiVersion": "x.io/v1", "kind": "Net", "metadata": {"name": "n"}, "spec": {"junk": 1}});
    let made = server.json("POST", nets, net).await;
    assert_eq!(made.json()["spec"], json!({"a": 3}));
    assert_eq!(made.warnings.len(), 1);
    assert_eq!(server.get("/openapi/v3/apis/x.io/v1").await.status, 200);
    assert_eq!(server.json("DELETE", &format!("{path}/nets.x.io"), Value::Null).await.status, 200);
    assert_eq!(server.get(nets).await.status, 404);
    assert_eq!(server.json("POST", path, crd).await.status, 201);
    assert_eq!(server.get(nets).await.json()["items"], json!([]));
}
