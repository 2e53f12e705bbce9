//! Definitions that change under load, and webhooks of others that are down.

use super::{NETWORKS, RECOVERY, Real, SYSTEM, gateway, name, slowly, wanted, with_real};
use anyhow::{Context, Result, ensure};
use http::Method;
use oarlock_tests::harness::{ControlPlaneOptions, SOON, eventually};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::sleep;

const CRD: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/networks.samplecrd.k8s.io";

/// The definition with a version v2 beside v1, one of which is stored.
async fn store(real: &Real, version: &str, served: &[&str]) -> Result<()> {
    // The API server writes into its status meanwhile.
    slowly(SOON, "the definition to be taken", || try_store(real, version, served)).await
}

async fn try_store(real: &Real, version: &str, served: &[&str]) -> Result<()> {
    let mut crd = real.cluster.get(CRD).await?.context("no definition")?;
    let versions = crd.pointer_mut("/spec/versions").and_then(Value::as_array_mut).context("no versions")?;
    let first = versions.first().cloned().context("no version")?;
    *versions = ["v1", "v2"]
        .map(|name| {
            let mut one = first.clone();
            if let Some(fields) = one.as_object_mut() {
                fields.insert("name".to_owned(), json!(name));
                fields.insert("served".to_owned(), json!(served.contains(&name)));
                fields.insert("storage".to_owned(), json!(name == version));
            }
            one
        })
        .to_vec();
    real.cluster.request(Method::PUT, CRD, "application/json", &crd).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_a_definition_whose_storage_version_changes_under_load_loses_nothing() -> Result<()> {
    with_real(ControlPlaneOptions::default(), async |real: &mut Real| {
        let user = real.user();
        let load = tokio::spawn(async move { user.create_and_edit(0..80, 2).await });
        for (round, version) in ["v2", "v1", "v2"].into_iter().enumerate() {
            real.some_ready(10 + 20 * round).await?;
            store(real, version, &["v1", "v2"]).await?;
        }
        load.await??;
        real.settled(RECOVERY, &wanted(0..80, 3), 0).await?;
        // Not served any more, the version that the plugin wants is waited for; nothing of it is given up meanwhile.
        store(real, "v2", &["v2"]).await?;
        eventually(SOON, "the plugin to wait", || async {
            let plugin = real.host()?.plugin("network").await?;
            ensure!(plugin.to_string().contains("syncing") || plugin.to_string().contains("not served"), "{plugin}");
            Ok(())
        })
        .await?;
        let v2 = NETWORKS.replace("/v1/", "/v2/");
        let edit = json!({"spec": {"gateway": gateway(7, 9)}});
        real.cluster.merge_patch(&format!("{v2}/{}", name(7)), &edit).await?;
        real.cluster.delete(&format!("{v2}/{}", name(8))).await?;
        store(real, "v1", &["v1", "v2"]).await?;
        let mut left = wanted(0..80, 3);
        left.insert(name(7), gateway(7, 9));
        left.remove(&name(8));
        real.settled(RECOVERY, &left, 0).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r8_a_webhook_of_somebody_else_that_is_down_is_waited_out() -> Result<()> {
    with_real(ControlPlaneOptions::default(), async |real: &mut Real| {
        real.user().create_all(0..5).await?;
        real.settled(RECOVERY, &wanted(0..5, 1), 0).await?;
        let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
        // Nobody listens there. Users may write, the host may not: neither its finalizer nor its status.
        let webhook = json!({"metadata": {"name": "down"}, "webhooks": [{"name": "down.example.com", "admissionReviewVersions": ["v1"],
            "sideEffects": "None", "failurePolicy": "Fail", "timeoutSeconds": 2, "clientConfig": {"url": "https://127.0.0.1:1/"},
            "matchConditions": [{"name": "host", "expression": format!("request.userInfo.username == 'system:serviceaccount:{SYSTEM}:oarlock'")}],
            "rules": [{"apiGroups": ["samplecrd.k8s.io"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["networks", "networks/status"]}]}]});
        real.cluster.create(path, &webhook).await?;
        let user = real.user();
        user.create_all(5..10).await?;
        user.edit(0, 5).await?;
        user.delete(1).await?;
        let refused = async || real.host()?.metric("oarlock_api_requests_total", &["plugin=\"network\"", "code=\"500\""]).await;
        eventually(SOON, "the host to be refused", || async {
            let refused = refused().await?;
            ensure!(refused >= 30.0, "{refused}");
            Ok(())
        })
        .await?;
        // Without its finalizer nothing was made outside.
        let made = real.neutron.call(Method::GET, "/v2.0/networks", &Value::Null).await?;
        let made = made.get("networks").and_then(Value::as_array).context("no list")?;
        ensure!(made.len() <= 5, "{made:?}");
        let strikes = real.host()?.metric("oarlock_plugin_traps_total", &[]).await?;
        ensure!(strikes == 0.0, "{strikes}");
        let before = refused().await?;
        sleep(Duration::from_secs(5)).await;
        let more = refused().await? - before;
        ensure!(more < 7.0 * 20.0, "{more} refused writes of seven objects in five seconds");
        real.cluster.delete(&format!("{path}/down")).await?;
        let mut left = wanted(0..10, 1);
        left.insert(name(0), gateway(0, 5));
        left.remove(&name(1));
        real.settled(RECOVERY, &left, 0).await
    })
    .await
}
