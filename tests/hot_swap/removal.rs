//! What goes leaves nothing behind, and what is left behind is told.

use super::{next_is, object, options, plugin, runs, seen, started, transitions};
use anyhow::{Context, Result, ensure};
use http::Method;
use oarlock_tests::harness::{
    Action, Rule, SOON, World, WorldOptions, eventually, misfit_with, oarlock, steady, text, with_world,
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

async fn admin(world: &World) -> Result<String> {
    world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await
}

/// Runs a command of `oarlock` against the host of the world; returns what it says.
async fn command(world: &World, args: &[&str]) -> Result<(bool, String)> {
    let address = admin(world).await?;
    let args: Vec<&str> = args.iter().copied().chain(["--admin-addr", &address]).collect();
    let output = oarlock(&args).await?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Ok((output.status.success(), said))
}

async fn is_listed(world: &World, name: &str) -> Result<bool> {
    let all = world.host(async |host| host.plugins().await).await?;
    let list = all.get("plugins").and_then(Value::as_array).context("no list")?;
    Ok(list.iter().any(|entry| text(entry, "/name") == name))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h7_a_removed_plugin_finishes_what_is_under_way_and_leaves_no_key_timer_or_watch() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        object(&world, "again", "requeue:200", &json!({})).await?;
        let rule = world.neutron_gate.rule(Rule::every(Action::Delay(Duration::from_secs(2))).methods(&[Method::GET]));
        object(&world, "slow", "fetch", &json!({})).await?;
        rule.hit().await?;
        world.plugins.remove("misfit.wasm")?;
        eventually(SOON, "it to drain", || async {
            ensure!(transitions(&world, "misfit", "draining").await? == 1, "not yet");
            Ok(())
        })
        .await?;
        eventually(SOON, "it to end", || async {
            ensure!(!is_listed(&world, "misfit").await?, "still there");
            Ok(())
        })
        .await?;
        // The one under way came to its end; nothing began after it.
        seen(&world, "slow", "first").await?;
        let metrics = world.host(async |host| Ok(host.admin().get("/metrics").await?.text())).await?;
        ensure!(!metrics.contains("\"misfit\""), "{metrics}");
        eventually(SOON, "its watches to be closed", || async {
            let metrics = world.host(async |host| Ok(host.admin().get("/metrics").await?.text())).await?;
            ensure!(!metrics.contains("kind=\"ConfigMap\""), "{metrics}");
            Ok(())
        })
        .await?;
        let mark = world.kubernetes_gate.mark();
        steady(Duration::from_secs(2), "silence", || async {
            let news = world.kubernetes_gate.since(mark);
            let news: Vec<_> = news.iter().filter(|exchange| exchange.path.contains("configmaps")).collect();
            ensure!(news.is_empty(), "{news:?}");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h7_finalizers_of_a_removed_plugin_are_counted_and_released_on_request() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        for i in 0..3 {
            world.create_network(&format!("n{i}"), &format!("10.{i}.0.0/24"), &format!("10.{i}.0.1")).await?;
        }
        for i in 0..3 {
            world.ready(&format!("n{i}")).await?;
        }
        let (done, said) = command(&world, &["plugins", "--release-finalizers", "network"]).await?;
        ensure!(!done && said.contains("cleans up after its objects itself"), "{said}");
        world.plugins.remove("network.wasm")?;
        eventually(SOON, "it to be retired with what it leaves", || async {
            let entry = plugin(&world, "network").await?;
            ensure!(text(&entry, "/state") == "retired" && entry["finalizersLeft"] == 3, "{entry}");
            Ok(())
        })
        .await?;
        let (done, said) = command(&world, &["plugins"]).await?;
        ensure!(done && said.contains("network") && said.contains("3 objects keep its finalizer"), "{said}");
        let (name, kubeconfig) = (format!("{}/n0", world.namespace), world.cluster.kubeconfig().display().to_string());
        let (done, said) = command(&world, &["explain", "Network", &name, "--kubeconfig", &kubeconfig]).await?;
        let told = "is removed and reconciles nothing any more:\n  3 objects of the kind have its finalizer: they are not deleted";
        ensure!(done && said.contains(told) && !said.contains("reconciles it"), "{said}");
        let (done, said) = command(&world, &["plugins", "--release-finalizers", "network"]).await?;
        ensure!(done && said.contains("released from 3 objects"), "{said}");
        for i in 0..3 {
            world.delete_network(&format!("n{i}")).await?;
            world.gone(&format!("n{i}")).await?;
        }
        ensure!(!is_listed(&world, "network").await?, "still there");
        let (done, said) = command(&world, &["plugins", "--release-finalizers", "nobody"]).await?;
        ensure!(!done && said.contains("no plugin nobody"), "{said}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h7_a_plugin_that_comes_back_serves_its_finalizers_again() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let uid = world.create_network("left", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("left").await?;
        world.plugins.remove("network.wasm")?;
        eventually(SOON, "it to be retired", || async {
            ensure!(text(&plugin(&world, "network").await?, "/state") == "retired", "not yet");
            Ok(())
        })
        .await?;
        world.delete_network("left").await?;
        world.plugins.add("network", "network", &world.network_grant()?)?;
        world.gone("left").await?;
        world.nothing_left(&uid).await
    })
    .await
}

/// The misfit under the name of the network plugin: the next version of a plugin that had `cleanup`.
fn without_cleanup(version: &str, cleanup: bool, primaries: &Value) -> Result<Vec<u8>> {
    misfit_with(version, "", |m| {
        m["name"] = json!("network");
        m["cleanup"] = json!(cleanup);
        m["primaries"] = primaries.clone();
        m["watches"] = json!([]);
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_drops_cleanup_or_a_primary_waits_for_a_person() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        world.create_network("held", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("held").await?;
        let before = plugin(&world, "network").await?;
        let networks = json!([{"group": "samplecrd.k8s.io", "version": "v1", "kind": "Network"}]);
        let configmaps = json!([{"version": "v1", "kind": "ConfigMap", "labelSelector": "misfit=true"}]);
        let verbs = ["get", "list", "watch", "create", "patch", "delete"];
        world.plugins.grant("network", &world.network_grant()?.rule("", &["configmaps"], &verbs))?;
        for (version, bytes, part) in [
            ("8", without_cleanup("8", false, &networks)?, "drops cleanup"),
            ("9", without_cleanup("9", true, &configmaps)?, "drops the primary samplecrd.k8s.io/v1"),
        ] {
            world.plugins.place("network.wasm", &bytes)?;
            let entry = next_is(&world, "network", "awaiting-confirmation", part).await?;
            ensure!(entry["next"]["objectsConcerned"] == 1, "{version}: {entry}");
            ensure!(text(&entry, "/version") == text(&before, "/version"), "{version}: {entry}");
        }
        let (done, said) = command(&world, &["confirm", "nobody"]).await?;
        ensure!(!done && said.contains("nobody"), "{said}");
        let (done, said) = command(&world, &["confirm", "network"]).await?;
        ensure!(done && said.contains("may drop the primary"), "{said}");
        runs(&world, "network", "9").await?;
        // Nobody serves them any more: they can be let go of while the plugin runs.
        let (done, said) = command(&world, &["plugins", "--release-finalizers", "network"]).await?;
        ensure!(done && said.contains("released from 1 objects"), "{said}");
        world.delete_network("held").await?;
        world.gone("held").await
    })
    .await
}
