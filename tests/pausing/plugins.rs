//! `oarlock pause`, `oarlock resume` and `oarlock reconcile` with a plugin: on one host, and one plugin of an object.

use super::{calls, live, misfit, no_reconcile, often, paused, set, stays};
use crate::hot_swap::{grant, object, options, path, plugin, seen};
use anyhow::{Result, ensure};
use oarlock_tests::harness::{SOON, World, eventually, misfit_version, oarlock, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;

/// Runs a command about plugins of the world's host. Returns whether it succeeded, and its output.
async fn run(world: &World, args: &[&str]) -> Result<(bool, String)> {
    let host = world.host(async |host| Ok(host.admin().base().to_owned())).await?;
    let kubeconfig = world.cluster.kubeconfig().display().to_string();
    let output = oarlock(&[args, &["--admin-addr", &host, "--kubeconfig", &kubeconfig]].concat()).await?;
    let said = [output.stdout, output.stderr].concat();
    Ok((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
}

/// Runs a command that succeeds, or fails, with these parts in its output.
async fn says(world: &World, args: &[&str], succeeds: bool, parts: &[&str]) -> Result<()> {
    let (succeeded, said) = run(world, args).await?;
    ensure!(succeeded == succeeds && parts.iter().all(|part| said.contains(part)), "{args:?}: {succeeded}: {said}");
    Ok(())
}

async fn is(world: &World, state: &str, reason: &str) -> Result<Value> {
    eventually(SOON, &format!("the state {state}"), || async {
        let entry = plugin(world, "misfit").await?;
        ensure!(text(&entry, "/state") == state && text(&entry, "/reason").contains(reason), "{entry}");
        Ok(entry)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_is_paused_on_one_host_until_it_is_resumed_or_the_host_ends() -> Result<()> {
    with_world(often(), async |world: Arc<World>| {
        misfit(&world, "misfit", "1")?;
        world.start_host().await?;
        object(&world, "a", "", &json!({})).await?;
        seen(&world, "a", "first").await?;
        for (value, ends) in [("second", "resume"), ("third", "restart")] {
            says(&world, &["pause", "misfit"], true, &["plugin misfit is paused on this host"]).await?;
            says(&world, &["pause", "misfit"], true, &["paused"]).await?;
            is(&world, "paused", "oarlock pause on this host").await?;
            let before = text(&live(&world, &path(&world, "a")).await?, "/data/value");
            set(&world, "a", value).await?;
            stays(&world, "a", Some(&before)).await?;
            let name = format!("{}/a", world.namespace);
            says(&world, &["explain", "ConfigMap", &name], true, &["the plugin is paused: oarlock pause"]).await?;
            if ends == "resume" {
                says(&world, &["resume", "misfit"], true, &["resumed on this host"]).await?;
                says(&world, &["resume", "misfit"], true, &["is not paused"]).await?;
            } else {
                world.kill_host().await?;
                world.start_host().await?;
            }
            seen(&world, "a", value).await?;
            is(&world, "active", "").await?;
        }
        for command in ["pause", "resume", "reconcile"] {
            says(&world, &[command, "nobody"], false, &["no plugin nobody", "oarlock plugins"]).await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_plugin_of_an_object_is_paused_and_the_other_one_goes_on() -> Result<()> {
    with_world(often(), async |world: Arc<World>| {
        misfit(&world, "misfit", "1")?;
        misfit(&world, "other", "1")?;
        world.start_host().await?;
        object(&world, "a", "", &json!({})).await?;
        for plugin in ["misfit", "other"] {
            eventually(SOON, &format!("a reconcile of {plugin}"), || async {
                ensure!(calls(&world, plugin).await? > 0.5, "none");
                Ok(())
            })
            .await?;
        }
        let name = format!("{}/a", world.namespace);
        says(&world, &["pause", "misfit", "ConfigMap", &name], true, &["paused for plugin misfit"]).await?;
        paused(&world, "misfit", 1).await?;
        no_reconcile(&world, "misfit").await?;
        let (quiet, busy) = (calls(&world, "misfit").await?, calls(&world, "other").await?);
        for name in ["misfit", "other"] {
            says(&world, &["reconcile", name], true, &["reconciles 1 objects now"]).await?;
        }
        eventually(SOON, "another reconcile of the other plugin", || async {
            ensure!(calls(&world, "other").await? > busy + 1.5, "none");
            Ok(())
        })
        .await?;
        ensure!((calls(&world, "misfit").await? - quiet).abs() < 0.5, "the paused plugin was called");
        let entry = plugin(&world, "other").await?;
        ensure!(entry.pointer("/pausedObjects/objects") == Some(&json!(0)), "{entry}");
        says(&world, &["resume", "misfit", "ConfigMap", &name], true, &["resumed for plugin misfit"]).await?;
        paused(&world, "misfit", 0).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_objects_of_a_plugin_or_one_are_reconciled_when_a_person_asks() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        // Without a resync nothing runs by itself.
        world.plugins.grant("misfit", &grant(&world))?;
        world.plugins.place("misfit.wasm", &misfit_version("1", "")?)?;
        world.start_host().await?;
        for name in ["a", "b", "c"] {
            object(&world, name, "", &json!({})).await?;
            seen(&world, name, "first").await?;
        }
        let asks = async |args: &[&str], said: &str, least: f64| {
            let before = calls(&world, "misfit").await?;
            says(&world, args, true, &[said]).await?;
            eventually(SOON, said, || async {
                let now = calls(&world, "misfit").await?;
                ensure!(now > before + least - 0.5, "{} calls", now - before);
                Ok(())
            })
            .await
        };
        // Two calls for an object that is in sync.
        asks(&["reconcile", "misfit"], "plugin misfit reconciles 3 objects now", 6.0).await?;
        let name = format!("{}/b", world.namespace);
        asks(&["reconcile", "misfit", "configmaps", &name], "reconciles", 2.0).await?;
        let missing = format!("{}/missing", world.namespace);
        says(&world, &["reconcile", "misfit", "ConfigMap", &missing], false, &["does not see", &missing]).await?;
        says(&world, &["reconcile", "misfit", "Secret", &name], false, &["Secret is no primary kind"]).await?;
        says(&world, &["reconcile", "misfit", "--wait", "--plugin", "misfit"], false, &["KIND NAMESPACE/NAME"]).await?;
        says(&world, &["pause", "misfit"], true, &[]).await?;
        says(&world, &["reconcile", "misfit"], true, &["once its pause ends"]).await
    })
    .await
}
