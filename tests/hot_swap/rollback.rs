//! A version that goes wrong is taken back, and one that mostly goes wrong is quarantined.

use super::{host_event, next_is, object, options, plugin, runs, seen, set, started};
use anyhow::{Result, ensure};
use oarlock_tests::harness::{
    SOON, World, WorldOptions, eventually, misfit_version, misfit_with, oarlock, steady, text, with_world,
};
use serde_json::json;
use std::{sync::Arc, time::Duration};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h10_a_version_that_traps_on_one_object_in_thirty_is_rolled_back_and_not_tried_again() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        for i in 0..29 {
            object(&world, &format!("o{i}"), "", &json!({})).await?;
        }
        object(&world, "fragile", "", &json!({"fragile": "true"})).await?;
        seen(&world, "fragile", "first").await?;
        let bad = misfit_version("2", "fragile:trap")?;
        world.plugins.place("misfit.wasm", &bad)?;
        next_is(&world, "misfit", "failed", "rolled back").await?;
        runs(&world, "misfit", "1").await?;
        host_event(&world, "RolledBack", "rolled back to 1").await?;
        set(&world, "fragile", "second").await?;
        seen(&world, "fragile", "second").await?;

        // The same file once more is not another file.
        let rollbacks =
            async || world.log(|line| line.text.contains("version rolled back")).await.map(|lines| lines.len());
        world.plugins.place("misfit.wasm", &bad)?;
        steady(Duration::from_secs(2), "the version that was gone back to", || async {
            let entry = plugin(&world, "misfit").await?;
            ensure!(text(&entry, "/version") == "1" && rollbacks().await? == 1, "{entry}");
            Ok(())
        })
        .await?;
        world.plugins.place("misfit.wasm", &misfit_version("3", "")?)?;
        runs(&world, "misfit", "3").await?;
        set(&world, "fragile", "third").await?;
        seen(&world, "fragile", "third").await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h10_versions_that_answer_nonsense_or_miss_deadlines_are_rolled_back_and_failures_outside_are_not() -> Result<()>
{
    with_world(options(), async |world: Arc<World>| {
        let grant = super::grant(&world).limits(|limits| limits.deadline_seconds = 1);
        world.plugins.grant("misfit", &grant)?;
        world.plugins.place("misfit.wasm", &misfit_version("1", "")?)?;
        world.start_host().await?;
        runs(&world, "misfit", "1").await?;
        object(&world, "steady", "", &json!({})).await?;
        seen(&world, "steady", "first").await?;
        for (version, mode) in [("2", "invalid-json"), ("3", "loop"), ("4", "grow"), ("5", "apply-nameless")] {
            world.plugins.place("misfit.wasm", &misfit_version(version, mode)?)?;
            set(&world, "steady", mode).await?;
            if mode == "apply-nameless" {
                // Its `patch` is asked when there is something to change for it. The change above may be that already, if its event comes
                // after the swap.
                eventually(SOON, &format!("version {version} to run"), || async {
                    let entry = plugin(&world, "misfit").await?;
                    let (state, running, next) = (text(&entry, "/state"), text(&entry, "/version"), &entry["next"]);
                    let runs = state == "active" && running == version;
                    let ran = text(next, "/version") == version && text(next, "/state") == "failed";
                    ensure!(runs || ran, "{entry}");
                    Ok(())
                })
                .await?;
                set(&world, "steady", "other").await?;
            }
            let value = if mode == "apply-nameless" { "other" } else { mode };
            eventually(SOON, &format!("version {version} to be rolled back"), || async {
                let entry = plugin(&world, "misfit").await?;
                ensure!(text(&entry, "/next/version") == version && text(&entry, "/next/state") == "failed", "{entry}");
                Ok(())
            })
            .await?;
            runs(&world, "misfit", "1").await?;
            seen(&world, "steady", value).await?;
        }
        // The world outside fails, or the plugin says that something is wrong: no reason to go back.
        for (version, mode) in [("6", "transient"), ("7", "terminal"), ("8", "fetch")] {
            world.plugins.place("misfit.wasm", &misfit_version(version, mode)?)?;
            runs(&world, "misfit", version).await?;
        }
        steady(Duration::from_secs(2), "the version", || async {
            let entry = plugin(&world, "misfit").await?;
            ensure!(text(&entry, "/version") == "8", "{entry}");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h10_without_a_version_to_go_back_to_it_is_quarantined_and_the_others_do_not_notice() -> Result<()> {
    with_world(WorldOptions { host: false, ..WorldOptions::default() }, async |world: Arc<World>| {
        world.plugins.grant("misfit", &super::grant(&world))?;
        world.plugins.place("misfit.wasm", &misfit_version("1", "trap")?)?;
        world.start_host().await?;
        for i in 0..10 {
            object(&world, &format!("o{i}"), "", &json!({})).await?;
        }
        eventually(SOON, "quarantine", || async {
            let entry = plugin(&world, "misfit").await?;
            ensure!(text(&entry, "/state") == "quarantined", "{entry}");
            Ok(())
        })
        .await?;
        host_event(&world, "Quarantined", "misfit").await?;
        crate::explain::held_up(&world, "misfit", "o0", "the plugin is quarantined for ").await?;
        world.create_network("neighbour", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("neighbour").await?;
        // A better version ends it at once, and the keys that waited run.
        world.plugins.place("misfit.wasm", &misfit_with("2", "", |_| {})?)?;
        runs(&world, "misfit", "2").await?;
        for i in 0..10 {
            seen(&world, &format!("o{i}"), "first").await?;
        }
        Ok(())
    })
    .await
}

/// What was good, and what was rolled back, is known to the next host.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h10_a_host_that_is_killed_after_a_rollback_comes_back_with_the_good_version() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        for i in 0..30 {
            object(&world, &format!("o{i}"), "", &json!({})).await?;
        }
        object(&world, "fragile", "", &json!({"fragile": "true"})).await?;
        seen(&world, "fragile", "first").await?;
        world.plugins.place("misfit.wasm", &misfit_version("2", "fragile:trap")?)?;
        next_is(&world, "misfit", "failed", "rolled back").await?;
        world.logged("the rollback", |line| line.text.contains("version rolled back")).await?;
        for value in ["second", "third"] {
            world.kill_host().await?;
            world.start_host().await?;
            next_is(&world, "misfit", "failed", "rolled back").await?;
            runs(&world, "misfit", "1").await?;
            set(&world, "fragile", value).await?;
            seen(&world, "fragile", value).await?;
            let traps = world.log(|line| line.text.contains("reconcile failed")).await?;
            ensure!(traps.is_empty(), "the version that was rolled back ran: {traps:?}");
        }
        // A person wants it all the same.
        let admin = world.host(async |host| Ok(host.admin().base().replace("http://", ""))).await?;
        let confirmed = oarlock(&["confirm", "misfit", "--admin-addr", &admin]).await?;
        ensure!(confirmed.status.success(), "{}", String::from_utf8_lossy(&confirmed.stderr));
        // It fails as before, and the rollback works once more.
        eventually(SOON, "another rollback", || async {
            let lines = world.log(|line| line.text.contains("version rolled back")).await?;
            ensure!(!lines.is_empty(), "none");
            Ok(())
        })
        .await?;
        runs(&world, "misfit", "1").await?;
        // Another version is tried at once.
        world.plugins.place("misfit.wasm", &misfit_version("3", "")?)?;
        runs(&world, "misfit", "3").await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn h10_a_version_that_came_while_no_host_ran_can_be_rolled_back() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        started(&world).await?;
        for i in 0..30 {
            object(&world, &format!("o{i}"), "", &json!({})).await?;
        }
        object(&world, "fragile", "", &json!({"fragile": "true"})).await?;
        seen(&world, "fragile", "first").await?;
        for i in 0..30 {
            seen(&world, &format!("o{i}"), "first").await?;
        }
        world.kill_host().await?;
        world.plugins.place("misfit.wasm", &misfit_version("2", "fragile:trap")?)?;
        world.start_host().await?;
        next_is(&world, "misfit", "failed", "rolled back").await?;
        runs(&world, "misfit", "1").await?;
        set(&world, "fragile", "second").await?;
        seen(&world, "fragile", "second").await
    })
    .await
}
