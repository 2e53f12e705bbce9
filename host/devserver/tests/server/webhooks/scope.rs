//! Scope of webhooks: which writes they match.

use serde_json::{Value, json};

use super::hook::{Hook, Reply, allow, patch};
use super::{MAPS, PODS, configure, map, message, path, rule};
use crate::Server;

#[tokio::test]
async fn every_way_to_write_is_asked_about() {
    let server = Server::start().await;
    let hook = Hook::start(|_, _| allow()).await;
    configure(&server, "Validating", "v", &[hook.entry("all", json!({}))]).await;
    let asked = || -> Vec<String> {
        let told = |(_, _, review): (String, String, Value)| {
            let r = &review["request"];
            let text = |v: &Value| v.as_str().unwrap_or("-").to_owned();
            format!(
                "{} {} {} {}",
                text(&r["operation"]),
                text(&r["kind"]["kind"]),
                text(&r["subResource"]),
                text(&r["name"])
            )
        };
        hook.calls().into_iter().map(told).collect()
    };
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let deployment =
        json!({"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}});
    server.json("POST", deployments, deployment.clone()).await;
    server.json("PUT", &format!("{deployments}/d"), deployment).await;
    let merge = "application/merge-patch+json";
    server.send("PATCH", &format!("{deployments}/d/scale"), merge, r#"{"spec":{"replicas":3}}"#).await;
    server.send("PATCH", &format!("{deployments}/d/status"), merge, r#"{"status":{"replicas":1}}"#).await;
    server
        .json("POST", PODS, json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}))
        .await;
    server.json("POST", &format!("{PODS}/p/binding"), json!({"target": {"name": "n"}})).await;
    server.json("POST", &format!("{PODS}/p/eviction"), json!({"metadata": {"name": "p"}})).await;
    server.json("POST", "/api/v1/namespaces/default/serviceaccounts/default/token", json!({"spec": {}})).await;
    server.json("DELETE", &format!("{deployments}/d?propagationPolicy=Background"), Value::Null).await;
    server.json("POST", MAPS, map("one", &json!({"many": "1"}))).await;
    server.json("DELETE", &format!("{MAPS}?labelSelector=many%3D1"), Value::Null).await;
    server.json("DELETE", &format!("{MAPS}/none"), Value::Null).await;
    server
        .json("PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/l", json!({"metadata": {"name": "l"}}))
        .await;
    assert_eq!(
        asked(),
        [
            "CREATE Deployment - d",
            "UPDATE Deployment - d",
            "UPDATE Scale scale d",
            "UPDATE Deployment status d",
            "CREATE Pod - p",
            "CREATE Binding binding p",
            "CREATE Eviction eviction p",
            "CREATE TokenRequest token default",
            "DELETE Deployment - d",
            "CREATE ConfigMap - one",
            "DELETE ConfigMap - -",
            "CREATE Lease - l",
        ]
    );
    // A dry run calls webhooks and changes nothing.
    let dry = server.json("DELETE", &format!("{MAPS}/kube-root-ca.crt?dryRun=All"), Value::Null).await;
    assert!(dry.status == 404 || dry.status == 200);
    let made = server.json("POST", &format!("{MAPS}?dryRun=All"), map("dry", &json!({}))).await;
    assert_eq!(made.status, 201);
    assert!(hook.calls().iter().all(|(_, _, review)| review["request"]["dryRun"] == true));
    assert_eq!(server.get(&format!("{MAPS}/dry")).await.status, 404);
}

#[tokio::test]
async fn a_webhook_cannot_lock_its_own_configuration() {
    let server = Server::start().await;
    let hook = Hook::start(|_, _| Reply::Response(json!({"allowed": false}))).await;
    for kind in ["Mutating", "Validating"] {
        configure(&server, kind, "all", &[hook.entry("no", json!({}))]).await;
    }
    assert_eq!(server.json("POST", MAPS, map("a", &json!({}))).await.status, 400);
    for kind in ["Mutating", "Validating"] {
        let of_one = format!("{}/all", path(kind));
        let label = r#"{"metadata":{"labels":{"a":"b"}}}"#;
        assert_eq!(server.send("PATCH", &of_one, "application/merge-patch+json", label).await.status, 200);
        assert_eq!(server.json("DELETE", &of_one, Value::Null).await.status, 200);
    }
    assert_eq!(server.json("POST", MAPS, map("a", &json!({}))).await.status, 201);
}

#[tokio::test]
async fn selectors_conditions_and_scopes_say_which_writes_are_asked_about() {
    let server = Server::start().await;
    let hook = Hook::start(|_, _| allow()).await;
    let create = |more: Value| {
        let mut all = json!({"rules": rule(&["CREATE", "UPDATE"], &["configmaps", "namespaces"])});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        all
    };
    let scope = |scope: &str| {
        let mut rules = rule(&["CREATE"], &["configmaps", "namespaces"]);
        rules[0]["scope"] = scope.into();
        json!({"rules": rules})
    };
    let condition = |text: &str| json!([{"name": "c", "expression": text}]);
    let hooks = [
        hook.entry("ns", create(json!({"namespaceSelector": {"matchLabels": {"hooked": "yes"}}}))),
        hook.entry("object", create(json!({"objectSelector": {"matchExpressions": [{"key": "x", "operator": "In", "values": ["1", "2"]}]}}))),
        hook.entry("condition", create(json!({"matchConditions": condition("request.operation == 'CREATE' && object.metadata.name.startsWith('c')")}))),
        hook.entry("broken", create(json!({"failurePolicy": "Ignore", "matchConditions": condition("object.nothing.here == 1")}))),
        hook.entry("cluster", scope("Cluster")),
        hook.entry("namespaced", scope("Namespaced")),
    ];
    configure(&server, "Mutating", "m", &hooks).await;
    let namespace = |name: &str, labels: Value| json!({"metadata": {"name": name, "labels": labels}});
    server.json("POST", "/api/v1/namespaces", namespace("hooked", json!({"hooked": "yes"}))).await;
    assert_eq!(hook.paths(), ["ns", "cluster"], "the labels of a namespace that is being made are its own");
    server.json("POST", "/api/v1/namespaces/hooked/configmaps", map("a", &json!({}))).await;
    assert_eq!(hook.paths(), ["ns", "namespaced"]);
    server.json("POST", MAPS, map("c", &json!({"x": "1"}))).await;
    assert_eq!(hook.paths(), ["object", "condition", "namespaced"]);
    // The old object is selected, the new one is not.
    server.json("PUT", &format!("{MAPS}/c"), map("c", &json!({}))).await;
    assert_eq!(hook.paths(), ["object"]);
    server.json("PUT", &format!("{MAPS}/c"), map("c", &json!({"x": "3"}))).await;
    assert_eq!(hook.paths(), Vec::<String>::new());

    let strict =
        json!({"matchConditions": condition("object.nothing.here == 1"), "rules": rule(&["CREATE"], &["secrets"])});
    configure(&server, "Validating", "v", &[hook.entry("strict", strict)]).await;
    let answer = server.json("POST", "/api/v1/namespaces/default/secrets", json!({"metadata": {"name": "s"}})).await;
    let text =
        "secrets \"s\" is forbidden: expression 'object.nothing.here == 1' resulted in error: no such key: nothing";
    assert_eq!((answer.status, message(&answer).as_str()), (403, text));
}

#[tokio::test]
async fn other_versions_of_an_object_are_matched_unless_exactly_is_asked_for() {
    let server = Server::start().await;
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "a": {"type": "integer"}, "b": {"type": "integer", "default": 7}}}}}});
    let version =
        |name: &str, storage: bool| json!({"name": name, "served": true, "storage": storage, "schema": schema});
    let names = json!({"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"});
    let spec = json!({"group": "example.com", "scope": "Namespaced", "names": names,
        "versions": [version("v1", true), version("v2", false)]});
    let definition = json!({"metadata": {"name": "things.example.com"}, "spec": spec});
    server.json("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
    server.until("/apis/example.com/v2/namespaces/default/things", 200).await;
    let hook = Hook::start(|_, _| {
        patch(&json!([{"op": "add", "path": "/spec/a", "value": 1}, {"op": "add", "path": "/spec/junk", "value": 1},
            {"op": "remove", "path": "/spec/b"}]))
    })
    .await;
    let rules = json!([{"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}]);
    let hooks = [
        hook.entry("same", json!({"rules": rules})),
        hook.entry("exact", json!({"rules": rules, "matchPolicy": "Exact"})),
    ];
    configure(&server, "Mutating", "m", &hooks).await;
    let thing = json!({"kind": "Thing", "apiVersion": "example.com/v2", "metadata": {"name": "t"}, "spec": {}});
    let made = server.json("POST", "/apis/example.com/v2/namespaces/default/things", thing).await;
    // Unknown fields are dropped and defaults filled in, as always.
    assert_eq!((made.status, &made.json()["spec"]), (201, &json!({"a": 1, "b": 7})), "{}", made.text);
    let mut calls = hook.calls();
    assert_eq!(calls.len(), 1, "the exact one is for v1 alone");
    let (path, _, review) = calls.remove(0);
    let request = &review["request"];
    assert_eq!((path.as_str(), &request["object"]["spec"]), ("same", &json!({"b": 7})));
    assert_eq!((&request["kind"]["version"], &request["requestKind"]["version"]), (&json!("v1"), &json!("v2")));
    assert_eq!(request["object"]["apiVersion"], "example.com/v1");
    // An invalid result of a webhook is rejected like any other.
    let broken = Hook::start(|_, _| patch(&json!([{"op": "add", "path": "/spec/a", "value": "text"}]))).await;
    configure(&server, "Mutating", "n", &[broken.entry("broken", json!({}))]).await;
    let thing = json!({"kind": "Thing", "apiVersion": "example.com/v2", "metadata": {"name": "u"}, "spec": {}});
    let refused = server.json("POST", "/apis/example.com/v2/namespaces/default/things", thing).await;
    assert_eq!(refused.status, 422, "{}", refused.text);
}

/// Selectors use that label: without it, a namespace would match a webhook that excludes it by name.
#[tokio::test]
async fn a_namespace_whose_name_is_generated_has_it_as_its_label() {
    let server = Server::start().await;
    let made = server.json("POST", "/api/v1/namespaces", json!({"metadata": {"generateName": "n-"}})).await.json();
    let name = made["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("n-"));
    assert_eq!(made["metadata"]["labels"], json!({"kubernetes.io/metadata.name": name}));
}
