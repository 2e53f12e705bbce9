//! A host that gets the Lease of a plugin back: what it knew of the rollout before is out of date.

use super::rollouts::{OBJECTS, aborted_by_hand, by_role, command, phase, shows, two_hosts};
use super::{object, options, path, seen};
use crate::rollouts::{extras, journals, marked};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Action, Rule, SOON, World, eventually, misfit_version, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;

/// Waits until the candidate has written about this many objects, each with a journal.
async fn written(world: &World, count: usize) -> Result<()> {
    eventually(3 * SOON, "the candidate's writes", || async {
        let found = (marked(world).await?, extras(world).await?.len(), journals(world).await?);
        ensure!(found == (count, count, count), "{found:?}");
        Ok(())
    })
    .await
}

/// Another host has undone the writes of these journals, and the objects have changed since.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_leads_again_undoes_nothing_by_its_journals_of_before() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let (one, other) = two_hosts(&world, &json!({"canary": {"percent": 100, "for": "1h"}})).await?;
        for replica in [&one, &other] {
            replica.plugins.place("misfit.wasm", &misfit_version("2", "marked")?)?;
        }
        let (first, mut second) = by_role(one, other, &phase("canary")).await?;
        written(&world, OBJECTS).await?;
        let cut = first.kubernetes.rule(Rule::every(Action::Silence).path("/leases"));
        shows(&second, "a canary of the other host", &phase("canary")).await?;
        written(&world, OBJECTS).await?;
        command(&second, &["rollout", "abort"]).await?;
        written(&world, 0).await?;
        shows(&first, "the abort on the host of before", &aborted_by_hand).await?;
        for number in 0..OBJECTS {
            let name = format!("o{number}");
            world.cluster.merge_patch(&path(&world, &name), &json!({"data": {"value": "second"}})).await?;
            seen(&world, &name, "second").await?;
        }
        drop(second.host.take());
        let mark = first.kubernetes.mark();
        drop(cut);
        eventually(3 * SOON, "the Lease to come back", || async {
            ensure!(first.holds("misfit").await?, "not yet");
            Ok(())
        })
        .await?;
        object(&world, "late").await?;
        seen(&world, "late", "first").await?;
        // Every key has run again by now, or does so when its object changes.
        for number in 0..OBJECTS {
            let name = format!("o{number}");
            world.cluster.merge_patch(&path(&world, &name), &json!({"data": {"value": "third"}})).await?;
            seen(&world, &name, "third").await?;
        }
        let writes = first.kubernetes.writes_since(mark).into_iter().filter(|write| {
            let body: Value = serde_json::from_slice(&write.body).unwrap_or_default();
            !write.path.contains("/late-") && text(&body, "/data/seen") == "first"
        });
        let wrong: Vec<_> = writes.collect();
        ensure!(wrong.is_empty(), "{wrong:?}");
        written(&world, 0).await
    })
    .await
}

/// Every host obeys the Plugin object, so the rollout does not begin again on the other one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_undo_in_the_plugin_object_aborts_the_rollout_on_every_host() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let (one, other) = two_hosts(&world, &json!({"canary": {"percent": 100, "for": "1h"}})).await?;
        for replica in [&one, &other] {
            replica.plugins.place("misfit.wasm", &misfit_version("2", "marked")?)?;
        }
        let (mut leader, standby) = by_role(one, other, &phase("canary")).await?;
        written(&world, OBJECTS).await?;
        let plugin = format!("/apis/oarlock.dev/v1alpha1/namespaces/{}/plugins/misfit", world.namespace);
        let object = eventually(3 * SOON, "the canary in the Plugin object", || async {
            let object = world.cluster.get(&plugin).await?.context("no Plugin object")?;
            ensure!(text(&object, "/status/rollout/phase") == "canary", "{object:#}");
            Ok(object)
        })
        .await?;
        let (from, to) = (text(&object, "/status/candidate/digest"), text(&object, "/status/digest"));
        world.cluster.merge_patch(&plugin, &json!({"spec": {"undo": {"from": from, "to": to}}})).await?;
        let undone = |entry: &Value| {
            let went_back = text(entry, "/next/reason").contains("a person went back with spec.undo");
            went_back && entry["rollout"].is_null() && text(entry, "/version") == "1"
        };
        for (replica, what) in [(&leader, "the leader"), (&standby, "the standby")] {
            shows(replica, &format!("the undo on {what}"), &undone).await?;
        }
        written(&world, 0).await?;
        drop(leader.host.take());
        super::object(&world, "late").await?;
        seen(&world, "late", "first").await?;
        shows(&standby, "the undo after the other host has gone", &undone).await?;
        written(&world, 0).await
    })
    .await
}
