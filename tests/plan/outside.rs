//! HTTP requests of plugins in plans.

use super::{ALONE, config_maps, misfit, misfit_folder, plan, plan_without_gate};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{PluginDir, Registry, SOON, World, WorldOptions, oarlock, text, with_world};
use serde_json::json;
use std::{path::Path, sync::Arc};

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

/// A version in a registry is planned before any host pulls it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_in_a_registry_can_be_planned_and_needs_a_grant() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        misfit(&world, "a", "", "x").await?;
        let registry = Registry::open(world.folder()).await?;
        let folder = misfit_folder(&world, "one", "", &config_maps(&world))?;
        let (file, grant) = (folder.path().join("misfit.wasm"), folder.path().join("misfit.yaml"));
        let (file, grant) = (file.display().to_string(), grant.display().to_string());
        let at = format!("{}/team/misfit:v1", registry.address());
        let pushed = oarlock(&["push", &file, &at]).await?;
        ensure!(pushed.status.success(), "{}", String::from_utf8_lossy(&pushed.stderr));
        let reference = format!("oci://{at}");
        let planned = plan(&world, Path::new(&reference), &["--grant", &grant, "-o", "json"]).await?;
        let document = planned.document()?;
        ensure!(planned.code == 1 && document["summary"]["created"] == 1, "{document}\n{}", planned.stderr);
        let missing = format!("oci://{}/team/misfit:v2", registry.address());
        for (reference, args, part) in
            [(&reference, &[][..], "name one with --grant"), (&missing, &["--grant", &grant][..], "team/misfit:v2")]
        {
            let refused = plan_without_gate(&world, Path::new(reference), args).await?;
            ensure!(refused.code == 2 && refused.stderr.contains(part), "{}", refused.stderr);
        }
        Ok(())
    })
    .await
}
