//! Plugin objects with several hosts: one writes, all obey.

use super::replica::Replica;
use super::{object, options, path, seen};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SOON, World, eventually, misfit_version, repository_root, steady, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_holds_every_host_and_the_one_that_leads_writes_the_object() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.cluster.apply_crd(&repository_root().join("deploy/crds/plugins.yaml")).await?;
        let plugin = format!("/apis/oarlock.dev/v1alpha1/namespaces/{}/plugins/misfit", world.namespace);
        let mut hosts = Vec::new();
        for name in ["a", "b"] {
            let mut replica = Replica::new(&world, name).await?;
            replica.place("misfit", &misfit_version("1", "")?)?;
            replica.start(&["--plugin-objects", &world.namespace]).await?;
            hosts.push(replica);
        }
        object(&world, "one").await?;
        seen(&world, "one", "first").await?;
        let shows = async |what: &str, holds: &dyn Fn(&Value) -> bool| {
            eventually(2 * SOON, what, || async {
                let object = world.cluster.get(&plugin).await?.context("no Plugin object")?;
                ensure!(holds(&object), "{object:#}");
                Ok(object)
            })
            .await
        };
        let shown = shows("the object", &|object| text(object, "/status/state") == "active").await?;
        let leader = hosts.iter().position(|host| text(&shown, "/status/host").starts_with(host.name));
        let leader = leader.with_context(|| format!("{shown}"))?;
        ensure!(hosts[leader].holds("misfit").await?, "the host in the status does not lead");

        world.cluster.merge_patch(&plugin, &json!({"spec": {"paused": true}})).await?;
        shows("the pause", &|object| text(object, "/status/state") == "paused").await?;
        object(&world, "two").await?;
        let nothing = async || {
            steady(Duration::from_millis(700), "the pause", || async {
                ensure!(world.cluster.get(&path(&world, "two-child")).await?.is_none(), "a paused plugin wrote");
                Ok(())
            })
            .await
        };
        nothing().await?;
        // The other host takes over, and is paused as well.
        drop(hosts[leader].host.take());
        let heir = hosts[1 - leader].name;
        shows("the object of the other host", &|object| {
            text(object, "/status/host").starts_with(heir) && text(object, "/status/state") == "paused"
        })
        .await?;
        nothing().await?;
        world.cluster.merge_patch(&plugin, &json!({"spec": {"paused": false}})).await?;
        seen(&world, "two", "first").await
    })
    .await
}
