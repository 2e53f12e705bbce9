//! Webhooks that deny, cannot be called or trusted, or return invalid responses.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};

use super::hook::{Hook, Identity, Reply, patch};
use super::{MAPS, configure, map, message, path, rule};
use crate::Server;

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

/// As kube-apiserver, which controller-runtime's envtest relies on: it registers webhooks with two slashes, and its server redirects these.
#[tokio::test]
async fn redirects_to_the_same_server_are_followed() {
    let server = Server::start().await;
    let hook = Hook::start(|path, review| match path {
        "a" => Reply::Moved(307, "/b?x=1".to_owned()),
        "b" => Reply::Moved(308, "c".to_owned()),
        "c" => Reply::Response(json!({"allowed": false, "status": {"message": review["request"]["name"]}})),
        "round" => Reply::Moved(307, "round".to_owned()),
        "get" => Reply::Moved(302, "c".to_owned()),
        _ => Reply::Moved(307, "https://127.0.0.1:9/c".to_owned()),
    })
    .await;
    for (path_of_hook, paths, text) in [
        ("a", vec!["a", "b", "c"], "denied the request: of-a-map"),
        ("round", vec!["round"; 10], "stopped after 10 redirects"),
        ("get", vec!["get"], "the server responded with the status code 302"),
        ("away", vec!["away"], "the server responded with the status code 307"),
    ] {
        configure(&server, "Validating", path_of_hook, &[hook.entry(path_of_hook, json!({}))]).await;
        let answer = server.json("POST", MAPS, map("of-a-map", &json!({}))).await;
        assert!(message(&answer).contains(text), "{path_of_hook}: {}", answer.text);
        assert_eq!(hook.paths(), paths);
        server.json("DELETE", &format!("{}/{path_of_hook}", path("Validating")), Value::Null).await;
    }
}

/// The effect of every failed webhook call under both policies.
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
    // A patch in a deletion cannot be kept.
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
    let pinned = Hook::with(Identity::pinned(&["127.0.0.1"]), deny()).await;
    let old = Hook::with(Identity::expired(&["127.0.0.1"]), deny()).await;
    let misnamed = Hook::with(Identity::pinned(&["elsewhere.example.com"]), deny()).await;
    let other = Identity::signed(&["127.0.0.1"]);
    let unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    let refused = "dial tcp 127.0.0.1:9: connect: connection refused";
    let asked = "denied the request: asked";
    let cases = [
        ("signed", signed.url("x"), json!(signed.bundle), asked),
        ("own", own.url("x"), json!(own.bundle), asked),
        ("named", named.url("x"), json!(named.bundle), "x509: certificate is not valid for the name"),
        ("pinned", pinned.url("x"), json!(pinned.bundle), asked),
        ("pinned-old", old.url("x"), json!(old.bundle), "x509: certificate has expired or is not yet valid"),
        ("pinned-misnamed", misnamed.url("x"), json!(misnamed.bundle), "x509: certificate is not valid for the name"),
        ("pinned-foreign", pinned.url("x"), json!(old.bundle), unknown),
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
