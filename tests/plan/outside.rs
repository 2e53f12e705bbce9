//! HTTP requests of plugins in plans.

use super::plan;
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{PluginDir, SOON, World, WorldOptions, text, with_world};
use serde_json::json;
use std::sync::Arc;

/// Requests without effects are sent, others are recorded: Neutron keeps its state.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_with_effects_is_recorded_and_not_sent() -> Result<()> {
    with_world(WorldOptions { keystone: true, ..WorldOptions::default() }, async |world: Arc<World>| {
        world.create_network("known", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("known").await?;
        world.stop_host(SOON).await?;
        // What a host has reconciled is in sync, with Neutron as well.
        let planned = plan(&world, world.plugins.path(), &["-o", "json"]).await?;
        let document = planned.document()?;
        ensure!(planned.code == 0, "{document}\n{}", planned.stderr);
        ensure!(document["summary"]["inSync"] == 1 && document["requests"] == json!([]), "{document}");

        world.create_network("new", "10.7.0.0/24", "10.7.0.1").await?;
        let mark = world.neutron_gate.mark();
        let planned = plan(&world, world.plugins.path(), &["-o", "json"]).await?;
        let document = planned.document()?;
        ensure!(planned.code == 2, "{document}\n{}", planned.stderr);
        let asked = world.neutron_gate.since(mark);
        ensure!(!asked.is_empty(), "Neutron was not asked");
        let written: Vec<_> = asked.iter().filter(|one| one.is_write()).collect();
        ensure!(written.is_empty(), "{written:?}");
        let request = document.pointer("/requests/0").context("no request")?;
        ensure!(document["requests"].as_array().is_some_and(|all| all.len() == 1), "{document}");
        ensure!(text(request, "/method") == "POST", "{request}");
        ensure!(text(request, "/url") == format!("{}/v2.0/networks", world.neutron_gate.url()), "{request}");
        ensure!(text(request, "/bodySha256").len() == 64, "{request}");
        let undecidable = document["undecidable"].as_array().context("no list")?;
        ensure!(undecidable.len() == 1 && text(&undecidable[0], "/name") == "new", "{document}");
        // The finalizer comes before the request; the status tells only of the refusal.
        let changed = document["objects"].as_array().context("no list")?;
        ensure!(changed.len() == 1 && text(&changed[0], "/values/0/path") == "/metadata/finalizers", "{document}");
        ensure!(document.pointer("/plugins/0/finalizer/added") == Some(&json!(1)), "{document}");
        Ok(())
    })
    .await
}

/// A version that drops a primary or its cleanup leaves finalizers behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finalizer_that_nobody_removes_is_told() -> Result<()> {
    with_world(WorldOptions { host: false, ..WorldOptions::default() }, async |world: Arc<World>| {
        let object = json!({"apiVersion": "samplecrd.k8s.io/v1", "kind": "Network", "metadata": {"name": "held",
            "finalizers": ["oarlock.dev/deployment-network"]}, "spec": {"cidr": "10.6.0.0/24", "gateway": "10.6.0.1"}});
        world.cluster.create(world.network_path("").trim_end_matches('/'), &object).await?;
        let folder = PluginDir::create(world.folder().join("planned"))?;
        folder.add("deployment-network", "deployment-network", &world.deployment_network_grant())?;
        let planned = plan(&world, folder.path(), &["-o", "json"]).await?;
        let document = planned.document()?;
        let primaries = document.pointer("/plugins/0/primaries").context("no primaries")?;
        let dropped = primaries.as_array().into_iter().flatten().find(|one| one["state"] == "dropped");
        let dropped = dropped.with_context(|| document.to_string())?;
        ensure!(dropped["kind"] == "Network" && dropped["finalizersLeft"] == 1, "{document}");
        Ok(())
    })
    .await
}
