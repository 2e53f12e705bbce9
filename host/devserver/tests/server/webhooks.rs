//! Admission webhooks, asked over HTTPS.

mod hook;

use std::sync::{Arc, Mutex};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::{Answer, Server};
use hook::{Hook, Identity, Reply, allow, patch};

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

    // The next write changes what the webhook adds to something else, and the webhook puts it back: that is nobody's.
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
    // An apply of the same is no change, with and without the webhook.
    let apply = map("b", &json!({})).to_string();
    let first =
        server.send("PATCH", &format!("{MAPS}/b?fieldManager=a"), "application/apply-patch+yaml", apply.clone()).await;
    let again = server.send("PATCH", &format!("{MAPS}/b?fieldManager=a"), "application/apply-patch+yaml", apply).await;
    assert_eq!((first.status, again.status, first.version()), (201, 200, again.version()));
}

#[tokio::test]
async fn a_refusal_carries_the_status_and_the_warnings_of_the_webhook() {
    let server = Server::start().await;
    let hook = Hook::start(|path, _| {
        let status = match path {
            "plain" => json!({"message": "not today"}),
            "full" => json!({"code": 422, "reason": "Invalid", "message": "bad", "details": {"causes": [{"field": "a"}]}}),
            "low" => json!({"code": 200, "status": "Success", "reason": "Odd"}),
            _ => Value::Null,
        };
        let mut response = json!({"allowed": false, "warnings": ["careful", "careful", "two\nlines", "\u{fc}ber \"all\""],
            "auditAnnotations": {"a": "b"}});
        if !status.is_null() {
            response["status"] = status;
        }
        Reply::Response(response)
    })
    .await;
    let chosen = |path: &str| {
        let selector = json!({"matchLabels": {"ask": path}});
        hook.entry(path, json!({"objectSelector": selector, "failurePolicy": "Ignore"}))
    };
    configure(&server, "Validating", "v", &["plain", "full", "low", "silent"].map(chosen)).await;
    for (ask, code, reason, text) in [
        ("plain", 400, Value::Null, " denied the request: not today"),
        ("full", 422, json!("Invalid"), " denied the request: bad"),
        ("low", 400, json!("Odd"), " denied the request: Odd"),
        ("silent", 400, Value::Null, " denied the request without explanation"),
    ] {
        let answer = server.json("POST", MAPS, map("a", &json!({"ask": ask}))).await;
        let status = answer.json();
        assert_eq!((answer.status, &status["code"], &status["reason"]), (code, &json!(code), &reason));
        assert_eq!(status["message"], format!("admission webhook \"{ask}.example.com\"{text}"));
        assert_eq!(status["status"], "Failure");
        assert_eq!(answer.warnings, ["299 - \"careful\"", "299 - \"\u{fc}ber \\\"all\\\"\""], "{ask}");
    }
    assert_eq!(server.get(&format!("{MAPS}/a")).await.status, 404);
}

/// What every webhook that cannot be asked, or answers nonsense, does under both policies.
#[tokio::test]
async fn failures_are_told_or_ignored_as_the_policy_says() {
    let server = Server::start().await;
    let hook = Hook::start(|path, review| match path {
        "text" => Reply::Raw(200, b"not json".to_vec()),
        "list" => Reply::Raw(200, b"[]".to_vec()),
        "empty" => Reply::Raw(200, b"{}".to_vec()),
        "other" => Reply::Raw(200, json!({"kind": "Other", "apiVersion": "x/v1"}).to_string().into_bytes()),
        "untyped" => {
            let response = json!({"uid": review["request"]["uid"], "allowed": true});
            Reply::Raw(200, json!({"response": response}).to_string().into_bytes())
        }
        "uid" => Reply::Response(json!({"allowed": true, "uid": "wrong"})),
        "type" => Reply::Response(json!({"allowed": "yes"})),
        "nopatch" => Reply::Response(json!({"allowed": true, "patchType": "JSONPatch"})),
        "notype" => Reply::Response(json!({"allowed": true, "patch": "W10="})),
        "base64" => Reply::Response(json!({"allowed": true, "patchType": "JSONPatch", "patch": "!"})),
        "strange" => Reply::Response(json!({"allowed": true, "patchType": "Strange", "patch": BASE64.encode("[{}]")})),
        "moved" => Reply::Raw(302, Vec::new()),
        "500" => Reply::Raw(500, b"oh".to_vec()),
        "404" => Reply::Raw(404, b"gone".to_vec()),
        "large" => Reply::Raw(200, vec![b' '; 4 << 20]),
        "cut" => Reply::Cut,
        "hang" => Reply::Silence,
        other => panic!("{other}"),
    })
    .await;
    let called = "failed to call webhook: ";
    let invalid = "received invalid webhook response: ";
    let cases = [
        ("text", called, "couldn't get version/kind; json parse error: json: cannot unmarshal string"),
        ("list", called, "couldn't get version/kind"),
        ("empty", invalid, "webhook response was absent"),
        ("other", called, "no kind \"Other\" is registered for version \"x/v1\""),
        ("untyped", invalid, "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind="),
        ("uid", invalid, "expected response.uid="),
        ("type", called, "invalid type: string \"yes\", expected a boolean"),
        ("nopatch", invalid, "webhook returned response.patchType but not response.patch"),
        ("notype", invalid, "webhook returned response.patch but not response.patchType"),
        ("base64", called, "illegal base64 data"),
        ("strange", "", "unsupported patch type \"Strange\""),
        ("moved", called, "the server responded with the status code 302"),
        ("500", called, "an error on the server (\"unknown\") has prevented the request from succeeding"),
        ("404", called, "the server could not find the requested resource"),
        ("large", called, "the answer is larger than 3145728 bytes"),
        ("cut", called, "EOF"),
        ("hang", called, "context deadline exceeded"),
    ];
    for (path, ..) in cases {
        for policy in ["Fail", "Ignore"] {
            let selector = json!({"matchLabels": {"ask": path, "policy": policy}});
            let more = json!({"objectSelector": selector, "failurePolicy": policy, "timeoutSeconds": 1});
            configure(&server, "Mutating", &format!("{path}-{}", policy.to_lowercase()), &[hook.entry(path, more)])
                .await;
        }
    }
    for (path, kind, text) in cases {
        let refused = server.json("POST", MAPS, map(path, &json!({"ask": path, "policy": "Fail"}))).await;
        let why = message(&refused);
        let start = format!("Internal error occurred: failed calling webhook \"{path}.example.com\": {kind}");
        assert!(refused.status == 500 && why.starts_with(&start) && why.contains(text), "{path}: {why}");
        assert_eq!(refused.json()["reason"], "InternalError");
        let passed = server.json("POST", MAPS, map(path, &json!({"ask": path, "policy": "Ignore"}))).await;
        assert_eq!(passed.status, 201, "{path}: {}", passed.text);
        assert_eq!(passed.json()["data"], json!({"k": "v"}));
    }
}

#[tokio::test]
async fn a_patch_that_cannot_be_carried_out_is_an_error_under_any_policy() {
    let server = Server::start().await;
    let hook = Hook::start(|path, _| match path {
        "missing" => patch(&json!([{"op": "replace", "path": "/no/where", "value": 1}])),
        "test" => patch(&json!([{"op": "test", "path": "/data/k", "value": "other"}])),
        "number" => patch(&json!([{"op": "add", "path": "/data/n", "value": 1}])),
        _ => patch(&json!({"op": "add"})),
    })
    .await;
    let paths = ["missing", "test", "number", "object"];
    let chosen = |path: &str| {
        hook.entry(path, json!({"objectSelector": {"matchLabels": {"ask": path}}, "failurePolicy": "Ignore"}))
    };
    configure(&server, "Mutating", "m", &paths.map(chosen)).await;
    for (path, text) in [
        ("missing", "replace operation does not apply: doc is missing path: /no/where: missing value"),
        ("test", "testing value /data/k failed"),
        ("number", "data"),
        ("object", "json: cannot unmarshal object"),
    ] {
        let answer = server.json("POST", MAPS, map("a", &json!({"ask": path}))).await;
        assert!(answer.status == 500 && message(&answer).contains(text), "{path}: {}", answer.text);
    }
    // Nothing that is patched in a deletion can be kept.
    let selector = json!({"rules": rule(&["DELETE"], &["secrets"]), "failurePolicy": "Ignore"});
    configure(&server, "Mutating", "d", &[hook.entry("test", selector)]).await;
    let secret = json!({"metadata": {"name": "s"}});
    assert_eq!(server.json("POST", "/api/v1/namespaces/default/secrets", secret).await.status, 201);
    let answer = server.json("DELETE", "/api/v1/namespaces/default/secrets/s", Value::Null).await;
    assert!(answer.status == 500 && message(&answer).contains("attempted to modify the object"), "{}", answer.text);
}

#[tokio::test]
async fn only_certificates_of_the_bundle_are_trusted() {
    let server = Server::start().await;
    let deny = || {
        |_: &str, _: &Value| -> futures::future::BoxFuture<'static, Reply> {
            Box::pin(async { Reply::Response(json!({"allowed": false, "status": {"message": "asked"}})) })
        }
    };
    let signed = Hook::with(Identity::signed(&["127.0.0.1"]), deny()).await;
    let own = Hook::with(Identity::self_signed(&["127.0.0.1"]), deny()).await;
    let named = Hook::with(Identity::self_signed(&["elsewhere.example.com"]), deny()).await;
    let other = Identity::signed(&["127.0.0.1"]);
    let unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    let refused = "dial tcp 127.0.0.1:9: connect: connection refused";
    let asked = "denied the request: asked";
    let cases = [
        ("signed", signed.url("x"), json!(signed.bundle), asked),
        ("own", own.url("x"), json!(own.bundle), asked),
        ("named", named.url("x"), json!(named.bundle), "x509: certificate is not valid for the name"),
        ("foreign", signed.url("x"), json!(other.bundle), unknown),
        ("foreign-own", own.url("x"), json!(other.bundle), unknown),
        ("nothing", signed.url("x"), Value::Null, unknown),
        (
            "rubbish",
            signed.url("x"),
            json!(BASE64.encode("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n")),
            "unable to load root certificates",
        ),
        ("gone", "https://127.0.0.1:9/x".to_owned(), Value::Null, refused),
    ];
    for (name, url, bundle, text) in cases {
        let entry = signed.entry(name, json!({"clientConfig": {"url": url, "caBundle": bundle}}));
        configure(&server, "Validating", name, &[entry]).await;
        let answer = server.json("POST", MAPS, map("a", &json!({}))).await;
        assert!(message(&answer).contains(text), "{name}: {}", answer.text);
        server.json("DELETE", &format!("{}/{name}", path("Validating")), Value::Null).await;
    }
    assert_eq!(server.json("POST", MAPS, map("a", &json!({}))).await.status, 201);
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
    // By the names of the configurations, not in the order they were made.
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
            // Neither is answered before the other was asked.
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
        // With defaults and with what the server itself adds to every container.
        assert_eq!(object["spec"]["containers"][1]["imagePullPolicy"], "Always");
        assert_eq!(
            object["spec"]["containers"][1]["volumeMounts"][0]["mountPath"],
            "/var/run/secrets/kubernetes.io/serviceaccount"
        );
    }
    assert_eq!(seen.lock().unwrap().len(), 2);
}

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
    // A dry run is asked about and changes nothing.
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
    // Selected as it was, though not as it is.
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
    // Unknown fields are dropped and defaults filled in, as ever.
    assert_eq!((made.status, &made.json()["spec"]), (201, &json!({"a": 1, "b": 7})), "{}", made.text);
    let mut calls = hook.calls();
    assert_eq!(calls.len(), 1, "the exact one is for v1 alone");
    let (path, _, review) = calls.remove(0);
    let request = &review["request"];
    assert_eq!((path.as_str(), &request["object"]["spec"]), ("same", &json!({"b": 7})));
    assert_eq!((&request["kind"]["version"], &request["requestKind"]["version"]), (&json!("v1"), &json!("v2")));
    assert_eq!(request["object"]["apiVersion"], "example.com/v1");
    // What a webhook breaks is refused like anything else.
    let broken = Hook::start(|_, _| patch(&json!([{"op": "add", "path": "/spec/a", "value": "text"}]))).await;
    configure(&server, "Mutating", "n", &[broken.entry("broken", json!({}))]).await;
    let thing = json!({"kind": "Thing", "apiVersion": "example.com/v2", "metadata": {"name": "u"}, "spec": {}});
    let refused = server.json("POST", "/apis/example.com/v2/namespaces/default/things", thing).await;
    assert_eq!(refused.status, 422, "{}", refused.text);
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

/// Selectors go by that label: a namespace without it would be in scope of what leaves it out by name.
#[tokio::test]
async fn a_namespace_whose_name_is_generated_has_it_as_its_label() {
    let server = Server::start().await;
    let made = server.json("POST", "/api/v1/namespaces", json!({"metadata": {"generateName": "n-"}})).await.json();
    let name = made["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("n-"));
    assert_eq!(made["metadata"]["labels"], json!({"kubernetes.io/metadata.name": name}));
}
