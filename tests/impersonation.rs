//! The API server as the second gate: a host and plugins that may do no more than what `oarlock rbac` prints.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Exchange, SOON, World, WorldOptions, eventually, repository_root, text, with_world};
use oarlock_tests::story;
use serde_json::Value;
use std::sync::Arc;

/// A world whose host begins later.
async fn limited(resync_seconds: u32, crd: bool, body: impl AsyncFnOnce(Arc<World>) -> Result<()>) -> Result<()> {
    with_world(
        WorldOptions { resync_seconds, crd, host: false, ..WorldOptions::default() },
        async |world: Arc<World>| {
            world.plugins.add("deployment-network", "deployment-network", &world.deployment_network_grant())?;
            body(world).await
        },
    )
    .await
}

/// Requests the API server forbade.
fn forbidden(world: &World) -> Vec<String> {
    let refused = |one: &Exchange| one.status.is_some_and(|status| [401, 403].contains(&status.as_u16()));
    world.kubernetes_gate.journal().iter().filter(|one| refused(one)).map(ToString::to_string).collect()
}

async fn story_with_the_least(impersonate: bool) -> Result<()> {
    limited(2, false, async |world: Arc<World>| {
        story::furnish(&world)?;
        world.limit_host(impersonate).await?;
        world.apply_rbac(impersonate).await?;
        story::play(&world).await?;
        let forbidden = forbidden(&world);
        ensure!(forbidden.is_empty(), "forbidden: {forbidden:#?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_story_needs_no_more_than_what_rbac_prints() -> Result<()> {
    story_with_the_least(false).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_story_needs_no_more_than_what_rbac_prints_for_impersonation() -> Result<()> {
    story_with_the_least(true).await
}

/// Of one plugin.
async fn missing(world: &World, name: &str) -> Result<Vec<String>> {
    let plugin = world.host(async |host| host.plugin(name).await).await?;
    let lines = plugin.get("missingPermissions").and_then(Value::as_array).cloned().unwrap_or_default();
    Ok(lines.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// The same, when something is.
async fn some_missing(world: &World, name: &str) -> Result<Vec<String>> {
    eventually(SOON, "what is missing to be named", || async {
        let lacks = missing(world, name).await?;
        ensure!(!lacks.is_empty(), "nothing is");
        Ok(lacks)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_plugins_account_lacks_is_refused_by_the_api_server_and_named_when_it_is_loaded() -> Result<()> {
    limited(3600, true, async |world: Arc<World>| {
        world.limit_host(true).await?;
        world.apply_rbac(true).await?;
        world.cluster.kubectl(&["delete", "clusterrolebinding", "oarlock-deployment-network"]).await?;
        world.start_host().await?;

        // The grant allows it, the API server does not.
        let lacks = some_missing(&world, "deployment-network").await?;
        let account = "system:serviceaccount:oarlock-system:oarlock-deployment-network";
        let expected = [
            format!("get, list, watch deployments (apps) to {account}: granted"),
            format!(
                "get, list, watch, create, update, patch, delete networks (samplecrd.k8s.io) to {account}: granted"
            ),
        ];
        ensure!(lacks == expected, "{lacks:#?}");
        ensure!(missing(&world, "network").await?.is_empty(), "the other plugin lacks nothing");
        let lacking = "does not allow everything in the grant";
        let told = world.logged(lacking, |line| line.text.contains(lacking)).await?;
        ensure!(told.len() == 1 && told[0].text.contains("networks"), "{told:?}");

        let file = std::fs::read_to_string(repository_root().join("tests/fixtures/deployment.yaml"))?;
        let deployment: Value = serde_saphyr::from_str(&file)?;
        let path = format!("/apis/apps/v1/namespaces/{}/deployments", world.namespace);
        let made = world.cluster.create(&path, &deployment).await?;
        let event = world.event(&text(&made, "/metadata/uid"), "Warning", "forbidden").await?;
        let message = text(&event, "/message");
        for part in [account, "cannot ", "networks", "samplecrd.k8s.io", &world.namespace] {
            ensure!(message.contains(part), "no {part} in: {message}");
        }
        let networks = world.network_path("");
        let networks = networks.trim_end_matches('/');
        ensure!(world.cluster.list(networks).await?.is_empty(), "a Network was made");

        // What the host does itself is not done as the plugin: the other one's objects have finalizer, status and events.
        let uid = world.create_network("own", "10.7.0.0/24", "10.7.0.1").await?;
        world.ready("own").await?;
        world.event(&uid, "Normal", "").await?;

        world.apply_rbac(true).await?;
        world
            .cluster
            .merge_patch(&format!("{path}/shop"), &serde_json::json!({"metadata": {"labels": {"again": "1"}}}))
            .await?;
        world.ready("shop").await?;
        eventually(SOON, "nothing to be missing any more", || async {
            let lacks = missing(&world, "deployment-network").await?;
            ensure!(lacks.is_empty(), "{lacks:?}");
            Ok(())
        })
        .await
        .context("after it was allowed")
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_host_itself_lacks_is_named_too() -> Result<()> {
    limited(3600, true, async |world: Arc<World>| {
        world.limit_host(true).await?;
        world.start_host().await?;
        eventually(SOON, "what is missing to be named", || async {
            let lacks = missing(&world, "network").await?;
            for part in [
                "get, list, watch, patch networks (samplecrd.k8s.io) to the host: its finalizer, its primary, the number of objects that depend on its conversion",
                "get, list, watch, patch customresourcedefinitions (apiextensions.k8s.io) named networks.samplecrd.k8s.io to the host: the conversion webhook of a definition",
                "patch networks/status (samplecrd.k8s.io) to the host: status of its primary",
                "get, create, patch events (core) to the host: events about its primary",
                "impersonate serviceaccounts (core) named oarlock-network in oarlock-system to the host: impersonated for its writes and live reads",
            ] {
                ensure!(lacks.iter().any(|line| line == part), "no {part:?} in {lacks:#?}");
            }
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_may_not_be_updated_is_named_and_taken_when_it_may() -> Result<()> {
    limited(3600, true, async |world: Arc<World>| {
        world.limit_host(true).await?;
        world.add_host_args(["--lease-namespace".to_owned(), "oarlock-system".to_owned()]);
        // For a host that is alone; then as if the plugin had come later than its RBAC.
        world.apply_rbac(true).await?;
        let rules = serde_json::json!([{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["list", "create"]}]);
        let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/oarlock-system";
        let role = serde_json::json!({"metadata": {"name": "leases"}, "rules": rules});
        world.cluster.create(&format!("{rbac}/roles"), &role).await?;
        let binding = serde_json::json!({"metadata": {"name": "leases"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "leases"},
            "subjects": [{"kind": "ServiceAccount", "namespace": "oarlock-system", "name": "oarlock"}]});
        world.cluster.create(&format!("{rbac}/rolebindings"), &binding).await?;
        let ghost = serde_json::json!({"metadata": {"name": "oarlock-network", "labels": {"app.kubernetes.io/managed-by": "oarlock"}},
            "spec": {"holderIdentity": "", "leaseDurationSeconds": 1}});
        world.cluster.create("/apis/coordination.k8s.io/v1/namespaces/oarlock-system/leases", &ghost).await?;
        world.start_host().await?;
        let lacks = some_missing(&world, "network").await?;
        let line = "get, update leases (coordination.k8s.io) named oarlock-network in oarlock-system to the host: leader election";
        ensure!(lacks == [line], "{lacks:#?}");
        eventually(SOON, "the log to say why nobody reconciles", || async {
            let told = world.log(|line| line.text.contains("cannot acquire the free lease")).await?;
            ensure!(told.iter().any(|line| line.text.contains("oarlock-network") && line.text.contains("403")), "{told:?}");
            Ok(())
        })
        .await?;
        world.apply_rbac_with(&["--impersonate", "--lease-namespace", "oarlock-system"]).await?;
        world.create_network("led", "10.7.0.0/24", "10.7.0.1").await?;
        world.ready("led").await.map(|_| ())
    })
    .await
}
