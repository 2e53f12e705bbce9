//! A host that is killed in a rollout: the next one continues it, or undoes it.

use super::{aborted, children, command, extras, journals, marked, objects, rollout, settled, start, started};
use crate::plan::ALONE;
use anyhow::{Result, ensure};
use oarlock_tests::harness::{SOON, World, eventually, misfit_version, misfit_with, text, with_world};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

const OBJECTS: usize = 30;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_crash_in_a_canary_the_running_version_comes_first_and_the_rollout_begins_again() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, OBJECTS, 0).await?;
        started(&world, "blind", OBJECTS, &json!({"canary": {"percent": 50, "for": "1h"}})).await?;
        let before = children(&world).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
        rollout(&world, "writes of the candidate", |shown| shown["compared"]["objects"].as_u64() > Some(5)).await?;
        world.kill_host().await?;
        ensure!(journals(&world).await? > 0, "no journal");
        start(&world).await?;
        let shown = rollout(&world, "the canary again", |shown| shown["percent"] == 50).await?;
        ensure!(shown["version"] == "two", "{shown}");
        command(&world, "abort").await?;
        super::restored(&world, &before).await?;
        // The abort is known to the next host.
        world.kill_host().await?;
        start(&world).await?;
        aborted(&world, "two", "aborted by hand").await?;
        ensure!(marked(&world).await? == 0);
        Ok(())
    })
    .await
}

/// A version that had nothing to reconcile is not proven, but it ran: the next one is rolled out beside it after a restart, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_had_no_object_yet_comes_first_after_a_crash() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        started(&world, "blind", 0, &json!({"canary": {"percent": 50, "for": "1h"}})).await?;
        world.kill_host().await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
        start(&world).await?;
        let shown = rollout(&world, "the canary", |shown| shown["percent"] == 50).await?;
        ensure!(shown["version"] == "two", "{shown}");
        ensure!(text(&super::plugin(&world).await?, "/version") == "one");
        Ok(())
    })
    .await
}

/// The next host learns of the canary from its journals only.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_is_undone_after_a_crash_also_if_the_grant_has_no_rollout_any_more() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 5, 0).await?;
        started(&world, "blind", 5, &json!({"canary": {"percent": 100, "for": "1h"}})).await?;
        let before = children(&world).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
        rollout(&world, "writes of the candidate", |shown| shown["compared"]["objects"] == 5).await?;
        world.kill_host().await?;
        ensure!(journals(&world).await? > 0, "no journal");
        world.plugins.grant("misfit", &super::grant_without_rollout(&world))?;
        world.plugins.file("misfit.wasm", &misfit_version("one", "blind")?)?;
        start(&world).await?;
        super::restored(&world, &before).await
    })
    .await
}

/// The version that comes next reconciles only some of the objects of a canary.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_is_undone_also_about_objects_that_the_next_version_does_not_reconcile() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 5, 0).await?;
        started(&world, "blind", 5, &json!({"canary": {"percent": 100, "for": "1h"}})).await?;
        let before = children(&world).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
        rollout(&world, "writes of the candidate", |shown| shown["compared"]["objects"] == 5).await?;
        world.kill_host().await?;
        ensure!(journals(&world).await? > 0, "no journal");
        let secrets = misfit_with("three", "blind", |manifest| {
            manifest["primaries"] = json!([{"version": "v1", "kind": "Secret", "labelSelector": "misfit=true"}]);
            manifest["permissions"][0]["resources"] = json!(["configmaps", "secrets"]);
        })?;
        let verbs = ["get", "list", "watch", "create", "patch", "delete"];
        let grant = super::grant_without_rollout(&world).rule_in(&world.namespace, "", &["secrets"], &verbs);
        world.plugins.grant("misfit", &grant)?;
        world.plugins.file("misfit.wasm", &secrets)?;
        start(&world).await?;
        super::restored(&world, &before).await
    })
    .await
}

/// Promotes a version by hand, as soon as it is rolled out: no share ends by itself before a kill.
pub(super) async fn promoted(world: &World, version: &str) -> Result<()> {
    eventually(2 * SOON, &format!("version {version}"), || async {
        let entry = super::plugin(world).await?;
        if text(&entry, "/next/version") == version {
            let _ = command(world, "promote").await;
        }
        // Before its first version runs, a plugin shows the version in its file.
        let active = text(&entry, "/state") == "active" && text(&entry, "/version") == version;
        ensure!(active && entry.get("rollout").is_none(), "{entry:#}");
        Ok(())
    })
    .await
}

/// The host is killed at arbitrary moments of the rollout, while another file may have taken the place of the candidate.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wherever_it_is_killed_nothing_of_an_aborted_candidate_is_left() -> Result<()> {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, OBJECTS, 0).await?;
        let steps = json!({"canary": {"percent": 60, "for": "1h"}});
        started(&world, "blind", OBJECTS, &steps).await?;
        let before = children(&world).await?;
        for round in 0..6 {
            world.plugins.file("misfit.wasm", &misfit_version(&format!("two-{round}"), "marked")?)?;
            tokio::time::sleep(Duration::from_millis(random.u64(100..1500))).await;
            world.kill_host().await?;
            let again = random.bool();
            if !again {
                world.plugins.file("misfit.wasm", &misfit_version(&format!("one-{round}"), "blind")?)?;
            }
            start(&world).await?;
            if again {
                promoted(&world, &format!("two-{round}")).await?;
                eventually(SOON, "everything by the candidate", || async {
                    ensure!(marked(&world).await? == OBJECTS && extras(&world).await?.len() == OBJECTS);
                    ensure!(journals(&world).await? == 0);
                    Ok(())
                })
                .await?;
                // Promoted: its writes stay, and the next round begins without them.
                for extra in extras(&world).await?.into_keys() {
                    world.cluster.delete(&format!("{}/{extra}-extra", super::config_maps(&world))).await?;
                }
                world.plugins.file("misfit.wasm", &misfit_version(&format!("three-{round}"), "")?)?;
                promoted(&world, &format!("three-{round}")).await?;
                eventually(SOON, "no mark", || async {
                    ensure!(marked(&world).await? == 0);
                    Ok(())
                })
                .await?;
                world.plugins.file("misfit.wasm", &misfit_version(&format!("blind-{round}"), "blind")?)?;
                promoted(&world, &format!("blind-{round}")).await?;
            }
            settled(&world).await?;
            let now = children(&world).await?;
            ensure!(now.len() == before.len() && extras(&world).await?.is_empty(), "round {round}: {now:?}");
            for (name, child) in &now {
                ensure!(child["data"] == before[name]["data"], "round {round}: {child}");
            }
        }
        Ok(())
    })
    .await
}

/// Killed after each write of a canary, and after each write by which it is undone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_after_every_write_of_a_canary_and_of_its_end_nothing_is_lost_and_nothing_is_left() -> Result<()> {
    const FEW: usize = 6;
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, FEW, 0).await?;
        started(&world, "blind", FEW, &json!({"canary": {"percent": 100, "for": "1h"}})).await?;
        let before = children(&world).await?;
        let all_written = || async {
            eventually(SOON, "all writes of the candidate", || async {
                ensure!(marked(&world).await? == FEW && extras(&world).await?.len() == FEW);
                Ok(())
            })
            .await
        };
        let (mut kills, mut ends) = (0, 0);
        for write in 1..60 {
            world.tripwire.arm(write);
            world.plugins.file("misfit.wasm", &misfit_version(&format!("two-{write}"), "marked")?)?;
            let tripped = tokio::select! {
                () = world.tripwire.tripped() => true,
                written = all_written() => { written?; false }
            };
            if tripped {
                world.kill_host().await?;
                world.tripwire.disarm();
                start(&world).await?;
                all_written().await?;
                kills += 1;
            }
            world.tripwire.disarm();
            world.tripwire.arm(write);
            // The host may be killed before it answers, or have begun no rollout yet.
            let abort = || async {
                eventually(SOON, "the abort", || async {
                    let _ = command(&world, "abort").await;
                    super::is_aborted(&world, &format!("two-{write}")).await
                })
                .await
            };
            let ended = async {
                abort().await?;
                super::restored(&world, &before).await
            };
            let tripped_again = tokio::select! {
                () = world.tripwire.tripped() => true,
                ended = ended => { ended?; false }
            };
            if tripped_again {
                world.kill_host().await?;
                world.tripwire.disarm();
                start(&world).await?;
                ends += 1;
                abort().await?;
            }
            world.tripwire.disarm();
            super::restored(&world, &before).await?;
            if !tripped && !tripped_again {
                break;
            }
        }
        println!("killed after {kills} writes of a canary and {ends} of its end");
        ensure!(kills > 2 * FEW && ends > 2 * FEW, "killed {kills} and {ends} times");
        Ok(())
    })
    .await
}

/// Killed after each write of a plan that is approved, of two shares and of the promotion: the next host brings the rollout to its end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: make test-all"]
async fn killed_after_every_write_of_an_approved_rollout_and_of_its_promotion_the_candidate_ends_up_with_all_objects()
-> Result<()> {
    const FEW: usize = 4;
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, FEW, 0).await?;
        let canary = json!({"percent": 50, "steps": [100], "for": "300ms"});
        started(&world, "", FEW, &json!({"plan": {"approval": "Always"}, "canary": canary})).await?;
        let before = children(&world).await?;
        // Approves each plan: also that of a rollout that begins again.
        let promoted = async |version: &str, marks: usize| {
            eventually(2 * SOON, &format!("version {version} everywhere"), || async {
                let entry = super::plugin(&world).await?;
                if text(&entry, "/next/state") == "awaiting-confirmation" {
                    let _ = command(&world, "approve").await;
                }
                let active = text(&entry, "/state") == "active" && text(&entry, "/version") == version;
                ensure!(active && entry.get("rollout").is_none(), "{entry:#}");
                let found = (marked(&world).await?, journals(&world).await?);
                ensure!(found == (marks, 0), "{found:?}, not {marks} marks");
                Ok(())
            })
            .await
        };
        let mut kills = 0;
        for write in 1..100 {
            // Each candidate writes what the one before does not want.
            let (mode, marks) = if write % 2 == 1 { ("marked", FEW) } else { ("", 0) };
            let version = format!("two-{write}");
            world.tripwire.arm(write);
            world.plugins.file("misfit.wasm", &misfit_version(&version, mode)?)?;
            let tripped = tokio::select! {
                () = world.tripwire.tripped() => true,
                done = promoted(&version, marks) => { done?; false }
            };
            if tripped {
                world.kill_host().await?;
                world.tripwire.disarm();
                start(&world).await?;
                promoted(&version, marks).await?;
                kills += 1;
            }
            world.tripwire.disarm();
            let now = children(&world).await?;
            ensure!(now.len() == FEW, "write {write}: {now:?}");
            for (name, child) in &now {
                let same = |pointer: &str| child.pointer(pointer) == before[name].pointer(pointer);
                ensure!(same("/metadata/uid") && same("/data/seen"), "write {write}: {child:#}");
            }
            if !tripped {
                break;
            }
        }
        println!("killed after {kills} writes of a rollout and its promotion");
        ensure!(kills > 2 * FEW, "killed {kills} times");
        Ok(())
    })
    .await
}
