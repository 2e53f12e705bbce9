//! Admission webhooks over HTTPS: their requests, their order, and the effects of their responses.

mod failures;
mod hook;
mod scope;

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::{Answer, Server};
use hook::{Hook, Identity, allow, patch};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";

fn path(kind: &str) -> String {
    format!("/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations", kind.to_lowercase())
}

/// Stores a configuration; `kind` is `Mutating` or `Validating`.
async fn configure(server: &Server, kind: &str, name: &str, hooks: &[Value]) {
    let configuration = json!({"kind": format!("{kind}WebhookConfiguration"), "metadata": {"name": name}, "webhooks": hooks,
        "apiVersion": "admissionregistration.k8s.io/v1"});
    let answer = server.json("POST", &path(kind), configuration).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
}

fn map(name: &str, labels: &Value) -> Value {
    json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, "labels": labels}, "data": {"k": "v"}})
}

fn rule(operations: &[&str], resources: &[&str]) -> Value {
    json!([{"apiGroups": ["*"], "apiVersions": ["*"], "operations": operations, "resources": resources}])
}

fn message(answer: &Answer) -> String {
    answer.json()["message"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_mutating_webhook_is_told_of_the_write_and_changes_it() {
    let server = Server::start().await;
    let hook = Hook::start(|_, _| patch(&json!([{"op": "add", "path": "/data/added", "value": "1"}]))).await;
    let only = json!({"rules": rule(&["CREATE", "UPDATE"], &["configmaps"]), "timeoutSeconds": 7});
    configure(&server, "Mutating", "m", &[hook.entry("add", only)]).await;

    let made = server.json("POST", &format!("{MAPS}?fieldManager=me"), map("a", &json!({}))).await;
    assert_eq!((made.status, made.json()["data"].clone()), (201, json!({"added": "1", "k": "v"})));
    let (path, query, review) = hook.calls().remove(0);
    assert_eq!((path.as_str(), query.as_str()), ("add", "timeout=7s"));
    let request = &review["request"];
    assert_eq!(request["operation"], "CREATE");
    assert_eq!(request["kind"], json!({"group": "", "version": "v1", "kind": "ConfigMap"}));
    assert_eq!(request["requestResource"], json!({"group": "", "version": "v1", "resource": "configmaps"}));
    assert_eq!(
        (&request["name"], &request["namespace"], &request["dryRun"]),
        (&json!("a"), &json!("default"), &json!(false))
    );
    assert_eq!(request["userInfo"]["username"], "system:admin");
    assert_eq!(
        request["options"],
        json!({"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "me"})
    );
    assert!(request["oldObject"].is_null() && request["object"]["metadata"]["uid"].is_null(), "{request}");

    // The next write changes the webhook's addition, and the webhook restores it: no manager owns it.
    let body = json!({"data": {"added": "2", "k": "w"}}).to_string();
    let changed = server.send("PATCH", &format!("{MAPS}/a"), "application/merge-patch+json", body).await;
    assert_eq!(changed.json()["data"], json!({"added": "1", "k": "w"}));
    let (_, _, review) = hook.calls().remove(0);
    assert_eq!(review["request"]["oldObject"]["data"], json!({"added": "1", "k": "v"}));
    assert_eq!(review["request"]["object"]["data"], json!({"added": "2", "k": "w"}));
    let stored = server.get(&format!("{MAPS}/a")).await.json();
    assert_eq!(stored["data"], json!({"added": "1", "k": "w"}));
}

#[tokio::test]
async fn what_a_webhook_adds_belongs_to_nobody() {
    let server = Server::start().await;
    let hook = Hook::start(|_, _| patch(&json!([{"op": "add", "path": "/data/added", "value": "1"}]))).await;
    configure(&server, "Mutating", "m", &[hook.entry("add", json!({"rules": rule(&["*"], &["configmaps"])}))]).await;
    server.json("POST", &format!("{MAPS}?fieldManager=one"), map("a", &json!({}))).await;
    let two = json!({"data": {"new": "2"}}).to_string();
    server.send("PATCH", &format!("{MAPS}/a?fieldManager=two"), "application/merge-patch+json", two).await;
    let stored = server.get(&format!("{MAPS}/a")).await.json();
    let owned: Vec<(Value, Value)> = stored["metadata"]["managedFields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| (e["manager"].clone(), e["fieldsV1"]["f:data"].clone()))
        .collect();
    assert_eq!(owned, [(json!("one"), json!({".": {}, "f:k": {}})), (json!("two"), json!({"f:new": {}}))]);
    // Applying the same is no change, with and without the webhook.
    let apply = map("b", &json!({})).to_string();
    let first =
        server.send("PATCH", &format!("{MAPS}/b?fieldManager=a"), "application/apply-patch+yaml", apply.clone()).await;
    let again = server.send("PATCH", &format!("{MAPS}/b?fieldManager=a"), "application/apply-patch+yaml", apply).await;
    assert_eq!((first.status, again.status, first.version()), (201, 200, again.version()));
}

#[tokio::test]
async fn webhooks_are_asked_in_order_and_once_more_if_needed() {
    let server = Server::start().await;
    let hook = Hook::start(|path, review| {
        let seen = review["request"]["object"]["data"].as_object().map_or(0, serde_json::Map::len);
        patch(&json!([{"op": "add", "path": format!("/data/{path}"), "value": "1"},
            {"op": "add", "path": format!("/data/seen-{path}"), "value": seen.to_string()}]))
    })
    .await;
    let only = |path: &str, again: &str| {
        hook.entry(path, json!({"rules": rule(&["CREATE"], &["configmaps"]), "reinvocationPolicy": again}))
    };
    // By the names of the configurations, not in the order of creation.
    configure(&server, "Mutating", "b", &[only("third", "IfNeeded"), only("fourth", "Never")]).await;
    configure(&server, "Mutating", "a", &[only("first", "IfNeeded"), only("second", "Never")]).await;
    let made = server.json("POST", MAPS, map("a", &json!({}))).await;
    assert_eq!(hook.paths(), ["first", "second", "third", "fourth", "first", "third"]);
    assert_eq!(made.json()["data"]["seen-second"], "3");
    assert_eq!(made.json()["data"]["seen-first"], "9");
}

#[tokio::test]
async fn validating_webhooks_are_asked_at_once_about_the_object_as_it_is_stored() {
    let server = Server::start().await;
    let both = Arc::new(Barrier::new(2));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (wait, log) = (Arc::clone(&both), Arc::clone(&seen));
    let hook = Hook::with(Identity::signed(&["127.0.0.1"]), move |path, review| {
        let (wait, mutating) = (Arc::clone(&wait), path == "m");
        if !mutating {
            log.lock().unwrap().push(review["request"]["object"].clone());
        }
        Box::pin(async move {
            if mutating {
                return patch(
                    &json!([{"op": "add", "path": "/spec/containers/-", "value": {"name": "b", "image": "b"}}]),
                );
            }
            // Neither gets a response before both were called.
            wait.wait().await;
            allow()
        })
    })
    .await;
    let pods = || json!({"rules": rule(&["CREATE"], &["pods"])});
    configure(&server, "Mutating", "m", &[hook.entry("m", pods())]).await;
    configure(&server, "Validating", "v", &[hook.entry("one", pods()), hook.entry("two", pods())]).await;
    let pod = json!({"metadata": {"generateName": "p-"}, "spec": {"containers": [{"name": "a", "image": "a"}]}});
    let made = server.json("POST", PODS, pod).await;
    assert_eq!(made.status, 201, "{}", made.text);
    for object in seen.lock().unwrap().iter() {
        assert_eq!(object["metadata"]["uid"], made.json()["metadata"]["uid"]);
        assert_eq!(object["spec"], made.json()["spec"]);
        // With defaults and with the server's own additions to every container.
        assert_eq!(object["spec"]["containers"][1]["imagePullPolicy"], "Always");
        assert_eq!(
            object["spec"]["containers"][1]["volumeMounts"][0]["mountPath"],
            "/var/run/secrets/kubernetes.io/serviceaccount"
        );
    }
    assert_eq!(seen.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn services_are_found_by_their_endpoints() {
    let server = Server::start().await;
    let hook = Hook::with(Identity::signed(&["hook.default.svc"]), |_, _| Box::pin(async { allow() })).await;
    let service = json!({"name": "hook", "namespace": "default", "path": "/ask", "port": 8443});
    let config =
        json!({"clientConfig": {"service": service, "caBundle": hook.bundle}, "rules": rule(&["*"], &["configmaps"])});
    configure(&server, "Validating", "v", &[hook.entry("svc", config)]).await;
    let refused = server.json("POST", MAPS, map("a", &json!({}))).await;
    let start = "Internal error occurred: failed calling webhook \"svc.example.com\": failed to call webhook: \
                 Post \"https://hook.default.svc:8443/ask?timeout=10s\": ";
    assert_eq!(message(&refused), format!("{start}service \"hook\" not found"));
    let ports = json!([{"name": "web", "port": 8443, "targetPort": 1}]);
    let service = json!({"metadata": {"name": "hook"}, "spec": {"ports": ports}});
    assert_eq!(server.json("POST", "/api/v1/namespaces/default/services", service).await.status, 201);
    let refused = server.json("POST", MAPS, map("a", &json!({}))).await;
    assert_eq!(message(&refused), format!("{start}no endpoints available for service \"hook\""));
    let slice = json!({"metadata": {"name": "hook-1", "labels": {"kubernetes.io/service-name": "hook"}}, "addressType": "IPv4",
        "endpoints": [{"addresses": ["127.0.0.9"], "conditions": {"ready": false}}, {"addresses": ["127.0.0.1"]}],
        "ports": [{"name": "other", "port": 9}, {"name": "web", "port": hook.address.port()}]});
    let slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    assert_eq!(server.json("POST", slices, slice).await.status, 201);
    assert_eq!(server.json("POST", MAPS, map("a", &json!({}))).await.status, 201);
    assert_eq!(hook.paths(), ["ask"]);
}
