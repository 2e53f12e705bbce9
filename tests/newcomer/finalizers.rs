//! Objects that cannot be deleted, because their plugin does not clean up: the warning names the command that helps.

use super::{grant, object, options, path, plugin, runs};
use crate::hot_swap::host_event;
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SOON, World, WorldOptions, eventually, misfit_with, oarlock, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;

const RELEASE: &str = "oarlock plugins --release-finalizers";

/// The output of `oarlock plugins`, and whether it succeeds.
async fn plugins(world: &World, args: &[&str]) -> Result<(bool, String)> {
    let address = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
    let output = oarlock(&[&["plugins"][..], args, &["--admin-addr", &address]].concat()).await?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Ok((output.status.success(), said))
}

/// Waits for the event `DeletionBlocked` of an object, and returns its message.
async fn blocked(world: &World, uid: &str) -> Result<String> {
    eventually(SOON, "an event about the deletion", || async {
        let events = world.events(uid).await?;
        let found = events.iter().find(|event| text(event, "/reason") == "DeletionBlocked");
        found.map(|event| text(event, "/message")).with_context(|| format!("{events:?}"))
    })
    .await
}

/// Waits until a plugin was removed and leaves finalizers on so many objects, so many of which are being deleted.
async fn retired(world: &World, left: u64, deleting: u64) -> Result<()> {
    eventually(SOON, &format!("{left} objects to be left, {deleting} of them deleted"), || async {
        let entry = plugin(world, "network").await?;
        let number = |field: &str| entry.get(field).and_then(Value::as_u64);
        ensure!(text(&entry, "/state") == "retired", "{entry}");
        ensure!(number("finalizersLeft") == Some(left) && number("deletionsBlocked") == Some(deleting), "{entry}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n17_an_object_that_a_removed_plugin_holds_says_so_and_names_the_command() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        world.create_network("kept", "10.1.0.0/24", "10.1.0.1").await?;
        let uid = world.create_network("going", "10.2.0.0/24", "10.2.0.1").await?;
        for name in ["kept", "going"] {
            world.ready(name).await?;
        }
        world.plugins.remove("network.wasm")?;
        retired(&world, 2, 0).await?;
        host_event(&world, "FinalizersLeft", &format!("{RELEASE} network")).await?;
        let (_, said) = plugins(&world, &[]).await?;
        ensure!(
            said.contains(&format!(
                "2 objects keep its finalizer: put its file or its grant back, or run {RELEASE} network"
            )),
            "{said}"
        );

        world.delete_network("going").await?;
        let message = blocked(&world, &uid).await?;
        ensure!(message.contains("finalizer oarlock.dev/network") && message.contains("does not run"), "{message}");
        ensure!(message.ends_with(&format!("{RELEASE} network")), "{message}");
        retired(&world, 2, 1).await?;
        // As does the explanation of the object.
        let of = (world.namespace.as_str(), "going");
        let explained =
            world.host(async |host| crate::explain::of_plugin(host, "network", "Network", of).await).await?;
        ensure!(explained["heldUp"].to_string().contains(&format!("{RELEASE} network")), "{explained:#}");
        let (_, said) = plugins(&world, &[]).await?;
        ensure!(said.contains("2 objects keep its finalizer, 1 of them are being deleted"), "{said}");
        let cannot = "object cannot be deleted";
        let lines = world.logged(cannot, |line| line.text.contains(cannot)).await?;
        ensure!(lines.len() == 1 && lines[0].text.contains("going"), "{lines:?}");

        let (done, said) = plugins(&world, &["--release-finalizers", "network"]).await?;
        ensure!(done && said.contains("released from 2 objects"), "{said}");
        world.gone("going").await?;
        let (_, said) = plugins(&world, &[]).await?;
        ensure!(!said.contains("finalizer"), "the warning stays: {said}");
        world.delete_network("kept").await?;
        world.gone("kept").await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n17_the_warning_about_finalizers_ends_with_the_finalizers_and_with_the_return_of_the_plugin() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        for (name, number) in [("first", 1), ("second", 2)] {
            world.create_network(name, &format!("10.{number}.0.0/24"), &format!("10.{number}.0.1")).await?;
            world.ready(name).await?;
        }
        world.plugins.remove("network.wasm")?;
        retired(&world, 2, 0).await?;
        // By hand, as kubectl would.
        let nothing = json!({"metadata": {"finalizers": []}});
        world.cluster.merge_patch(&world.network_path("first"), &nothing).await?;
        retired(&world, 1, 0).await?;

        world.plugins.add("network", "network", &world.network_grant()?)?;
        eventually(SOON, "the plugin to be back, and the warning gone", || async {
            let all = world.host(async |host| host.plugins().await).await?;
            let list = all.get("plugins").and_then(Value::as_array).context("no list")?;
            let of: Vec<_> = list.iter().filter(|entry| text(entry, "/name") == "network").collect();
            ensure!(of.len() == 1 && text(of[0], "/state") == "active", "{of:?}");
            Ok(())
        })
        .await?;
        for name in ["first", "second"] {
            world.delete_network(name).await?;
            world.gone(name).await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n17_an_object_that_a_quarantined_plugin_holds_says_so() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let version =
            |version: &str, mode: &str| misfit_with(version, mode, |manifest| manifest["cleanup"] = json!(true));
        world.plugins.grant("misfit", &grant(&world).cleanup())?;
        world.plugins.place("misfit.wasm", &version("1", "invalid-json-actual")?)?;
        world.start_host().await?;
        let mut uids = Vec::new();
        for i in 0..10 {
            uids.push(object(&world, &format!("o{i}"), "").await?);
        }
        eventually(SOON, "quarantine", || async {
            let entry = plugin(&world, "misfit").await?;
            ensure!(text(&entry, "/state") == "quarantined", "{entry}");
            Ok(())
        })
        .await?;
        eventually(SOON, "a finalizer", || async {
            let object = world.cluster.get(&path(&world, "o3")).await?.context("gone")?;
            ensure!(object.pointer("/metadata/finalizers").is_some(), "{object}");
            Ok(())
        })
        .await?;
        world.cluster.delete(&path(&world, "o3")).await?;
        let message = blocked(&world, &uids[3]).await?;
        ensure!(
            message.contains("plugin misfit is quarantined") && message.ends_with(&format!("{RELEASE} misfit")),
            "{message}"
        );
        // A better version cleans up.
        world.plugins.place("misfit.wasm", &version("2", "")?)?;
        runs(&world, "misfit", "2").await?;
        for i in 0..10 {
            let path = path(&world, &format!("o{i}"));
            if i != 3 {
                world.cluster.delete(&path).await?;
            }
            eventually(SOON, "the object to be gone", || async {
                ensure!(world.cluster.get(&path).await?.is_none(), "{path}");
                Ok(())
            })
            .await?;
        }
        Ok(())
    })
    .await
}
