//! Faults on the way in: tokens that end, and an API server that is short of room for the host.

use super::{RECOVERY, Real, SYSTEM, gateway, name, wanted, with_real};
use anyhow::{Context, Result, ensure};
use http::{Method, Request};
use oarlock_tests::harness::{ControlPlaneOptions, Program, SOON, eventually};
use serde_json::json;
use std::time::Duration;
use tokio::{net::TcpListener, task::JoinSet, time::sleep};

/// What the API server answered the plugin's writes with this code.
async fn answered(real: &Real, code: &str) -> Result<f64> {
    real.host()?.metric("oarlock_api_requests_total", &["plugin=\"network\"", &format!("code=\"{code}\"")]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r6_a_token_that_ends_is_replaced_without_a_restart_and_nothing_is_lost() -> Result<()> {
    with_real(ControlPlaneOptions::default(), async |real: &mut Real| {
        let user = real.user();
        user.create_all(0..5).await?;
        real.settled(RECOVERY, &wanted(0..5, 1), 0).await?;
        // The token ends with its Secret; the API server may believe it for ten seconds more. Watches that are open go on.
        real.cluster.delete(&format!("/api/v1/namespaces/{SYSTEM}/secrets/first")).await?;
        eventually(SOON, "a write that is refused", || async {
            user.edit(0, 3).await?;
            user.edit(0, 2).await?;
            let refused = answered(real, "401").await?;
            ensure!(refused > 0.0, "none");
            Ok(())
        })
        .await?;
        user.create_all(5..10).await?;
        real.new_token("second").await?;
        let mut left = wanted(0..10, 1);
        left.insert(name(0), gateway(0, 2));
        real.settled(RECOVERY, &left, 0).await?;
        // The next one ends while the API server is away: now watches are refused too.
        real.cluster.delete(&format!("/api/v1/namespaces/{SYSTEM}/secrets/second")).await?;
        real.kill(&[Program::ApiServer]).await?;
        real.run(&[Program::ApiServer]).await?;
        user.create_all(10..15).await?;
        let refused = |line: &oarlock_tests::harness::LogLine| {
            line.text.contains("watch failing") && line.text.contains("Unauthorized")
        };
        real.host()?.process().line(RECOVERY, "a watch that is refused", refused).await?;
        real.new_token("third").await?;
        left.extend(wanted(10..15, 1));
        real.settled(RECOVERY, &left, 0).await
    })
    .await
}

/// The API server has few seats for the host and for `loader`, and refuses whom it has none for.
async fn few_seats(real: &Real) -> Result<()> {
    let level = json!({"metadata": {"name": "narrow"}, "spec": {"type": "Limited", "limited": {
        "nominalConcurrencyShares": 1, "lendablePercent": 0, "borrowingLimitPercent": 0, "limitResponse": {"type": "Reject"}}}});
    let group = "/apis/flowcontrol.apiserver.k8s.io/v1";
    real.cluster.create(&format!("{group}/prioritylevelconfigurations"), &level).await?;
    let every =
        json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": true});
    let flow = json!({"metadata": {"name": "narrow"}, "spec": {"priorityLevelConfiguration": {"name": "narrow"}, "matchingPrecedence": 2,
        "rules": [{"resourceRules": [every], "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}], "subjects": [
            {"kind": "ServiceAccount", "serviceAccount": {"namespace": SYSTEM, "name": "oarlock"}},
            {"kind": "User", "user": {"name": "loader"}}]}]}});
    real.cluster.create(&format!("{group}/flowschemas"), &flow).await?;
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({"metadata": {"name": "loader"}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}]});
    real.cluster.create(&format!("{rbac}/clusterroles"), &role).await?;
    let binding = json!({"metadata": {"name": "loader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "loader"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "loader"}]});
    real.cluster.create(&format!("{rbac}/clusterrolebindings"), &binding).await?;
    Ok(())
}

/// A webhook for what the loader creates, that takes connections and says nothing: each request holds its seat meanwhile.
async fn silence(real: &Real) -> Result<TcpListener> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("https://{}/", listener.local_addr()?);
    let webhook = json!({"metadata": {"name": "silent"}, "webhooks": [{"name": "silent.example.com", "admissionReviewVersions": ["v1"],
        "sideEffects": "None", "failurePolicy": "Ignore", "timeoutSeconds": 10, "clientConfig": {"url": url},
        "matchConditions": [{"name": "loader", "expression": "request.userInfo.username == 'loader'"}],
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]}]});
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    real.cluster.create(path, &webhook).await?;
    Ok(listener)
}

/// Requests that take every seat as soon as it is free.
fn occupy(client: &kube::Client) -> JoinSet<()> {
    let mut loaders = JoinSet::new();
    for _ in 0..12 {
        let client = client.clone();
        loaders.spawn(async move {
            loop {
                let object = json!({"metadata": {"generateName": "load-"}}).to_string().into_bytes();
                let request = Request::builder()
                    .method(Method::POST)
                    .uri("/api/v1/namespaces/default/configmaps")
                    .header("content-type", "application/json")
                    .header("impersonate-user", "loader");
                if let Ok(request) = request.body(object) {
                    // Refused, it asks again.
                    let _ = client.request_text(request).await;
                }
                sleep(Duration::from_millis(100)).await;
            }
        });
    }
    loaders
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_a_host_that_priority_and_fairness_refuses_waits_as_it_is_told_and_loses_nothing() -> Result<()> {
    with_real(ControlPlaneOptions::default(), async |real: &mut Real| {
        let user = real.user();
        user.create_all(0..5).await?;
        real.settled(RECOVERY, &wanted(0..5, 1), 0).await?;
        few_seats(real).await?;
        let _listener = silence(real).await?;
        let loaders = occupy(&real.cluster.client());
        let mut next = 5;
        // A new object each time, as the host waits with those that were refused.
        while answered(real, "429").await? == 0.0 {
            ensure!(next < 200, "nothing was refused");
            user.create(next).await?;
            next += 1;
            sleep(Duration::from_millis(200)).await;
        }
        user.create_all(next..next + 20).await?;
        next += 20;
        let before = answered(real, "429").await?;
        sleep(Duration::from_secs(5)).await;
        let refused = answered(real, "429").await? - before;
        // One second each, as Retry-After says; four workers.
        #[expect(clippy::cast_precision_loss, reason = "hundreds")]
        let most = next as f64 * 10.0;
        ensure!(refused < most, "{refused} refused writes of {next} objects in five seconds");
        let strikes = real.host()?.metric("oarlock_plugin_traps_total", &[]).await?;
        ensure!(strikes == 0.0, "{strikes}");
        // A host that starts then waits as well, and begins when there is room.
        real.kill_host().await?;
        real.start_host().await?;
        let waits = real.host()?.admin().get("/readyz").await?;
        drop(loaders);
        real.settled(RECOVERY, &wanted(0..next, 1), 0).await.with_context(|| format!("{waits:?}"))
    })
    .await
}
