//! What the next holder knows, of what the one before did and of the versions it never ran itself.

use super::replica::{Replica, holder};
use super::{object, options, path, seen, started};
use anyhow::{Context, Result, ensure};
use http::Method;
use oarlock_tests::harness::{SOON, World, eventually, misfit_version, steady, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Its watches tell of the object, and not yet of what was made for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s1_a_host_that_takes_over_while_its_watches_lag_does_not_make_again_what_the_one_before_made() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let mut replicas = started(&world, &["a", "b"]).await?;
        let all: Vec<&Replica> = replicas.iter().collect();
        let first = holder(&all, "misfit").await?;
        let leaving = replicas.remove(first);
        let next = &replicas[0];
        let (write, go) = leaving.kubernetes.hold(Method::PATCH, "-child");
        object(&world, "made").await?;
        write.hit().await?;
        eventually(SOON, "the standby to know the object", || async {
            let entry = next.host()?.plugin("misfit").await?;
            let kinds = entry["objects"].as_object().context("no objects")?;
            ensure!(kinds.values().filter_map(Value::as_u64).sum::<u64>() == 1, "{entry}");
            Ok(())
        })
        .await?;
        next.kubernetes.stall(&["/configmaps"]);
        go.cancel();
        seen(&world, "made", "first").await?;
        let (status, process) = leaving.host.context("it does not run")?.stop(SOON).await?;
        ensure!(status.code() == Some(0), "{status}:\n{}", process.tail());
        eventually(SOON, "the standby to reconcile", || async {
            ensure!(!next.acts().is_empty(), "it does nothing");
            Ok(())
        })
        .await?;
        steady(Duration::from_secs(4), "no write", || async {
            let writes: Vec<_> =
                next.acts().into_iter().filter(|act| act.is_write() && act.path.contains("-child")).collect();
            ensure!(writes.is_empty(), "{writes:?}");
            Ok(())
        })
        .await?;
        next.kubernetes.stall(&[]);
        world.cluster.merge_patch(&path(&world, "made"), &json!({"data": {"value": "second"}})).await?;
        seen(&world, "made", "second").await
    })
    .await
}

/// A standby never proves a version. What it goes back to is the one just before, not one of long ago.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_takes_over_with_a_bad_version_goes_back_to_the_one_just_before() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let mut replicas = started(&world, &["a", "b"]).await?;
        let all: Vec<&Replica> = replicas.iter().collect();
        let first = holder(&all, "misfit").await?;
        object(&world, "steady").await?;
        seen(&world, "steady", "first").await?;
        let leaving = replicas.remove(first);
        let next = &replicas[0];
        let runs = async |version: &str| {
            eventually(SOON, &format!("the standby to have version {version}"), || async {
                let entry = next.host()?.plugin("misfit").await?;
                ensure!(text(&entry, "/version") == version && text(&entry, "/state") == "active", "{entry}");
                Ok(())
            })
            .await
        };
        for (version, mode) in [("2", "fetch"), ("3", "fetch"), ("4", "trap")] {
            next.place("misfit", &misfit_version(version, mode)?)?;
            runs(version).await?;
        }
        let (status, process) = leaving.host.context("it does not run")?.stop(SOON).await?;
        ensure!(status.code() == Some(0), "{status}:\n{}", process.tail());
        runs("3").await?;
        world.cluster.merge_patch(&path(&world, "steady"), &json!({"data": {"value": "second"}})).await?;
        seen(&world, "steady", "second").await
    })
    .await
}
