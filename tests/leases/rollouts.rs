//! Rollouts with several hosts: one rolls out, and the others take over or follow.

use super::replica::Replica;
use super::{object, options, path, seen};
use crate::rollouts::{extras, journals, marked};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{
    Grant, SOON, World, eventually, misfit_version, oarlock, repository_root, text, with_world,
};
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) const OBJECTS: usize = 20;

/// The grant of all hosts.
fn grant(steps: &Value) -> Result<Grant> {
    let verbs = ["get", "list", "watch", "create", "patch", "delete"];
    Grant::nothing().rule("", &["configmaps"], &verbs).rollout(steps)
}

/// Two hosts with version 1 of the misfit, and with the steps of a rollout in its grant. Returns them, the one that leads first.
pub(super) async fn two_hosts(world: &World, steps: &Value) -> Result<(Replica, Replica)> {
    two_hosts_with(world, "blind", &|_| grant(steps)).await
}

/// As [`two_hosts`], with another mode and grant.
async fn two_hosts_with(
    world: &World,
    mode: &str,
    grant: &dyn Fn(&Replica) -> Result<Grant>,
) -> Result<(Replica, Replica)> {
    world.cluster.apply_crd(&repository_root().join("deploy/crds/plugins.yaml")).await?;
    let mut hosts = Vec::new();
    for name in ["a", "b"] {
        let mut replica = Replica::new(world, name).await?;
        replica.plugins.grant("misfit", &grant(&replica)?)?;
        replica.plugins.place("misfit.wasm", &misfit_version("1", mode)?)?;
        replica.start(&["--plugin-objects", &world.namespace]).await?;
        hosts.push(replica);
    }
    for number in 0..OBJECTS {
        object(world, &format!("o{number}")).await?;
    }
    for number in 0..OBJECTS {
        seen(world, &format!("o{number}"), "first").await?;
    }
    let leader = eventually(SOON, "a leader", || async {
        for (number, host) in hosts.iter().enumerate() {
            if host.holds("misfit").await? {
                return Ok(number);
            }
        }
        anyhow::bail!("none")
    })
    .await?;
    // The standby may still compile. It would have nothing to roll out from if the next version came before this one runs.
    for host in &hosts {
        shows(host, "version 1", &|entry| {
            (text(entry, "/version"), text(entry, "/state")) == ("1".into(), "active".into())
        })
        .await?;
    }
    let first = hosts.remove(leader);
    Ok((first, hosts.remove(0)))
}

/// Runs a command about the misfit at one host.
pub(super) async fn command(replica: &Replica, words: &[&str]) -> Result<()> {
    let address = replica.host()?.admin().base().to_owned();
    let ran = oarlock(&[words, &["misfit", "--admin-addr", &address]].concat()).await?;
    ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Ok(())
}

pub(super) fn phase(phase: &'static str) -> impl Fn(&Value) -> bool {
    move |entry| text(entry, "/rollout/phase") == phase
}

/// A person aborted the rollout, on any host.
pub(super) fn aborted_by_hand(entry: &Value) -> bool {
    entry["rollout"].is_null() && text(entry, "/next/reason").contains("aborted by hand")
}

async fn entry(replica: &Replica) -> Result<Value> {
    replica.host.as_ref().context("no host")?.plugin("misfit").await
}

/// Waits until one host shows its canary and the other one the rollout of a standby. Returns them in this order: on a busy machine the Lease
/// may have gone to the other host.
pub(super) async fn by_role(
    one: Replica,
    other: Replica,
    canary: &dyn Fn(&Value) -> bool,
) -> Result<(Replica, Replica)> {
    let other_leads = eventually(3 * SOON, "a canary, and a rollout of the standby", || async {
        let entries = [entry(&one).await?, entry(&other).await?];
        let standby = |entry: &Value| text(entry, "/rollout/phase") == "standby";
        match &entries {
            [first, second] if canary(first) && standby(second) => Ok(false),
            [first, second] if standby(first) && canary(second) => Ok(true),
            _ => anyhow::bail!("{entries:#?}"),
        }
    })
    .await?;
    Ok(if other_leads { (other, one) } else { (one, other) })
}

pub(super) async fn shows(replica: &Replica, what: &str, holds: &dyn Fn(&Value) -> bool) -> Result<()> {
    eventually(3 * SOON, what, || async {
        let entry = entry(replica).await?;
        ensure!(holds(&entry), "{entry:#}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_takes_over_in_a_canary_rolls_out_again_and_undoes_what_the_other_one_wrote() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let (leader, heir) = two_hosts(&world, &json!({"canary": {"percent": 50, "for": "1h"}})).await?;
        for replica in [&leader, &heir] {
            replica.plugins.place("misfit.wasm", &misfit_version("2", "marked")?)?;
        }
        let canary = |entry: &Value| entry["rollout"]["compared"]["objects"].as_u64() > Some(3);
        let (mut leader, heir) = by_role(leader, heir, &canary).await?;
        let file = heir.plugins.path().join("misfit.wasm").display().to_string();
        let standby = heir.host.as_ref().context("no host")?.admin().base().to_owned();
        let planned = oarlock(&["plan", &file, "--host", &standby]).await?;
        let said = String::from_utf8_lossy(&planned.stderr);
        ensure!(planned.status.code() == Some(2), "{said}");
        ensure!(said.contains("this host does not reconcile plugin misfit: ask the host that does, "), "{said}");
        ensure!(marked(&world).await? > 0 && journals(&world).await? > 0);
        drop(leader.host.take());
        shows(&heir, "a canary of the other host", &canary).await?;
        let before = marked(&world).await?;
        ensure!(before < OBJECTS, "{before}");
        // The version of before comes back everywhere.
        heir.plugins.place("misfit.wasm", &misfit_version("3", "blind")?)?;
        eventually(3 * SOON, "nothing of the candidate", || async {
            let left = (marked(&world).await?, extras(&world).await?.len(), journals(&world).await?);
            ensure!(left == (0, 0, 0), "{left:?}");
            Ok(())
        })
        .await
    })
    .await
}

/// The Plugin object tells the others.
/// It would decide about its own copy of the rollout only.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_refuses_to_promote_or_abort() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let (one, other) = two_hosts(&world, &json!({"canary": {"percent": 50, "for": "1h"}})).await?;
        for replica in [&one, &other] {
            replica.plugins.place("misfit.wasm", &misfit_version("2", "marked")?)?;
        }
        let canary = |entry: &Value| text(entry, "/rollout/phase") == "canary";
        let (leader, standby) = by_role(one, other, &canary).await?;
        for verb in ["abort", "promote"] {
            let refused = command(&standby, &["rollout", verb]).await.err().context("a standby obeyed")?.to_string();
            ensure!(
                refused.contains("this host is a standby: ask the host that reconciles for plugin misfit"),
                "{refused}"
            );
            shows(&standby, "still the rollout", &phase("standby")).await?;
        }
        command(&leader, &["rollout", "abort"]).await?;
        for host in [&leader, &standby] {
            shows(host, "the abort", &aborted_by_hand).await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_does_not_try_again_what_the_leader_aborted() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let steps = json!({"canary": {"percent": 100, "for": "1h", "maxDifferentWrites": 1}});
        let (mut leader, heir) = two_hosts(&world, &steps).await?;
        for replica in [&leader, &heir] {
            replica.plugins.place("misfit.wasm", &misfit_version("2", "marked")?)?;
        }
        let aborted =
            |entry: &Value| entry["rollout"].is_null() && text(entry, "/next/reason").contains("more than 1 writes");
        shows(&leader, "the abort", &aborted).await?;
        shows(&heir, "the abort on the standby", &aborted).await?;
        // What the candidate wrote is undone before the next one leads.
        eventually(3 * SOON, "nothing of the candidate", || async {
            let left = (marked(&world).await?, extras(&world).await?.len(), journals(&world).await?);
            ensure!(left == (0, 0, 0), "{left:?}");
            Ok(())
        })
        .await?;
        drop(leader.host.take());
        super::object(&world, "late").await?;
        seen(&world, "late", "first").await?;
        let left = (marked(&world).await?, extras(&world).await?.len(), journals(&world).await?);
        ensure!(left == (0, 0, 0), "{left:?}");
        shows(&heir, "the abort", &aborted).await
    })
    .await
}

/// `oarlock confirm` overrules an abort, and the leader's word counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_follows_the_promotion_of_a_version_whose_rollout_was_aborted_before() -> Result<()> {
    follows_the_promotion_after("abort").await
}

/// An undo on the leader blocks the version on the standby, too. A confirmation on the leader ends that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_follows_the_promotion_of_a_version_that_was_undone_before() -> Result<()> {
    follows_the_promotion_after("undo").await
}

/// A person went back from the code, whatever its grant is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_leader_does_not_roll_out_a_version_that_was_undone_because_its_grant_has_another_permission()
-> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let steps = json!({"canary": {"percent": 50, "for": "1h"}});
        let (leader, heir) = two_hosts(&world, &steps).await?;
        for replica in [&leader, &heir] {
            replica.plugins.place("misfit.wasm", &misfit_version("2", "marked")?)?;
        }
        let (mut leader, heir) = by_role(leader, heir, &phase("canary")).await?;
        command(&leader, &["rollout", "undo"]).await?;
        let undone = |entry: &Value| {
            let blocked = text(entry, "/next/reason").starts_with("rolled back: a person went back");
            blocked && entry["rollout"].is_null() && text(entry, "/version") == "1"
        };
        shows(&leader, "the undo", &undone).await?;
        shows(&heir, "the undo on the standby", &undone).await?;
        drop(leader.host.take());
        eventually(3 * SOON, "another leader", || async {
            ensure!(heir.holds("misfit").await?);
            Ok(())
        })
        .await?;
        heir.plugins.grant("misfit", &grant(&steps)?.rule("", &["secrets"], &["get"]))?;
        eventually(SOON, "the change of the grant", || async {
            let lines = heir.host()?.process().lines();
            ensure!(lines.iter().any(|line| line.text.contains("grant changed")));
            Ok(())
        })
        .await?;
        shows(&heir, "still the undo", &undone).await
    })
    .await
}

async fn follows_the_promotion_after(verb: &'static str) -> Result<()> {
    with_world(options(), async move |world: Arc<World>| {
        let (leader, heir) = two_hosts(&world, &json!({"canary": {"percent": 50, "for": "1h"}})).await?;
        for replica in [&leader, &heir] {
            replica.plugins.place("misfit.wasm", &misfit_version("2", "marked")?)?;
        }
        let (mut leader, heir) = by_role(leader, heir, &phase("canary")).await?;
        command(&leader, &["rollout", verb]).await?;
        let ended =
            |entry: &Value| entry["rollout"].is_null() && text(entry, "/next/reason").starts_with("rolled back: ");
        shows(&leader, "the end of the rollout", &ended).await?;
        shows(&heir, "its end on the standby", &ended).await?;
        command(&leader, &["confirm"]).await?;
        shows(&leader, "the canary again", &phase("canary")).await?;
        command(&leader, &["rollout", "promote"]).await?;
        let runs = |entry: &Value| text(entry, "/version") == "2" && entry["rollout"].is_null();
        shows(&leader, "version 2 of the leader", &runs).await?;
        shows(&heir, "version 2 of the standby", &|entry| runs(entry) && entry["next"].is_null()).await?;
        drop(leader.host.take());
        super::object(&world, "late").await?;
        eventually(3 * SOON, "the heir's write", || async {
            let child = world.cluster.get(&path(&world, "late-child")).await?.context("no child")?;
            ensure!(text(&child, "/data/marked") == "true", "{child}");
            Ok(())
        })
        .await?;
        shows(&heir, "version 2 of the heir", &|entry| runs(entry) && entry["next"].is_null()).await
    })
    .await
}

/// Files of hosts change at different times: the standby may have the next configuration first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_does_not_abort_a_configuration_because_another_one_was_aborted() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let steps = json!({"canary": {"percent": 50, "for": "1h"}});
        let (leader, standby) = two_hosts_with(&world, "", &|_| grant(&steps)).await?;
        let configured =
            |number: &str| -> Result<Grant> { Ok(grant(&steps)?.config("mode", "marked").config("number", number)) };
        for replica in [&leader, &standby] {
            replica.plugins.grant("misfit", &configured("1")?)?;
        }
        let (leader, standby) = by_role(leader, standby, &phase("canary")).await?;
        command(&leader, &["rollout", "abort"]).await?;
        shows(&leader, "the abort", &aborted_by_hand).await?;
        shows(&standby, "the abort on the standby", &aborted_by_hand).await?;
        standby.plugins.grant("misfit", &configured("2")?)?;
        shows(&standby, "a rollout of the standby", &phase("standby")).await?;
        leader.plugins.grant("misfit", &configured("2")?)?;
        shows(&leader, "a canary of the leader", &phase("canary")).await?;
        command(&leader, &["rollout", "promote"]).await?;
        for (replica, what) in [(&leader, "the leader"), (&standby, "the standby")] {
            let promoted = |entry: &Value| entry["rollout"].is_null() && entry["next"].is_null();
            shows(replica, &format!("the configuration of {what}"), &promoted).await?;
        }
        Ok(())
    })
    .await
}

/// A rollout begins again when its host leads again, and the approval counts again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_counts_again_after_its_host_lost_the_lease_for_a_moment() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.cluster.apply_crd(&repository_root().join("deploy/crds/plugins.yaml")).await?;
        let mut host = Replica::new(&world, "a").await?;
        let steps = json!({"plan": {"approval": "Always"}, "canary": {"percent": 100, "for": "1h"}});
        host.plugins.grant("misfit", &grant(&steps)?)?;
        host.plugins.place("misfit.wasm", &misfit_version("1", "blind")?)?;
        host.start(&["--plugin-objects", &world.namespace]).await?;
        object(&world, "one").await?;
        seen(&world, "one", "first").await?;
        host.plugins.place("misfit.wasm", &misfit_version("2", "marked")?)?;
        shows(&host, "a plan that waits", &phase("awaiting-approval")).await?;
        let digest = text(&entry(&host).await?, "/next/digest");
        let plugin = format!("/apis/oarlock.dev/v1alpha1/namespaces/{}/plugins/misfit", world.namespace);
        eventually(3 * SOON, "the Plugin object", || async {
            world.cluster.merge_patch(&plugin, &json!({"spec": {"approve": digest}})).await
        })
        .await?;
        shows(&host, "the canary", &phase("canary")).await?;
        let lease = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases/oarlock-misfit", super::replica::HOME);
        let another = json!({"spec": {"holderIdentity": "somebody-else", "leaseDurationSeconds": 3}});
        world.cluster.merge_patch(&lease, &another).await?;
        eventually(3 * SOON, "another approval", || async {
            let lines = host.host()?.process().lines();
            let approved = lines.iter().filter(|line| line.text.contains("approved: the rollout of plugin")).count();
            ensure!(approved > 1, "{:#}", entry(&host).await?);
            Ok(())
        })
        .await?;
        shows(&host, "the canary again", &phase("canary")).await
    })
    .await
}

/// One approval is enough: the leader goes on, and the standby follows it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_in_the_plugin_object_counts_for_every_host() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let (leader, standby) = two_hosts(&world, &json!({"plan": {"approval": "Always"}})).await?;
        for replica in [&leader, &standby] {
            replica.plugins.place("misfit.wasm", &misfit_version("2", "marked")?)?;
        }
        let plugin = format!("/apis/oarlock.dev/v1alpha1/namespaces/{}/plugins/misfit", world.namespace);
        let waits = eventually(3 * SOON, "a plan that waits", || async {
            let object = world.cluster.get(&plugin).await?.context("no Plugin object")?;
            ensure!(text(&object, "/status/rollout/phase") == "awaiting-approval", "{object:#}");
            Ok(object)
        })
        .await?;
        let standby_waits = |entry: &Value| text(entry, "/next/version") == "2" && text(entry, "/version") == "1";
        shows(&leader, "version 1 of the leader", &standby_waits).await?;
        shows(&standby, "version 1 of the standby", &standby_waits).await?;
        ensure!(marked(&world).await? == 0, "it did not wait");
        let (digest, plan) = (text(&waits, "/status/rollout/digest"), text(&waits, "/status/rollout/plan/id"));
        let spec = json!({"spec": {"approve": digest, "approvePlan": plan}});
        world.cluster.merge_patch(&plugin, &spec).await?;
        let runs = |entry: &Value| text(entry, "/version") == "2" && entry["rollout"].is_null();
        shows(&leader, "version 2 of the leader", &runs).await?;
        shows(&standby, "version 2 of the standby", &runs).await?;
        eventually(3 * SOON, "all objects", || async {
            ensure!(marked(&world).await? == OBJECTS);
            Ok(())
        })
        .await
    })
    .await
}

/// The Lease names the configuration, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_promotes_the_configuration_that_the_leader_promoted() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let steps = json!({"canary": {"percent": 50, "for": "1h"}});
        let (leader, standby) = two_hosts_with(&world, "", &|_| grant(&steps)).await?;
        for replica in [&leader, &standby] {
            replica.plugins.grant("misfit", &grant(&steps)?.config("mode", "marked"))?;
        }
        shows(&leader, "a canary of the leader", &phase("canary")).await?;
        shows(&standby, "a rollout of the standby", &phase("standby")).await?;
        command(&leader, &["rollout", "promote"]).await?;
        for (replica, what) in [(&leader, "the leader"), (&standby, "the standby")] {
            let promoted = |entry: &Value| entry["rollout"].is_null() && text(entry, "/state") == "active";
            shows(replica, &format!("the configuration of {what}"), &promoted).await?;
        }
        eventually(3 * SOON, "the new version's writes", || async {
            ensure!(marked(&world).await? == OBJECTS);
            Ok(())
        })
        .await?;
        // It has the new configuration itself: nothing is rolled out when it takes over.
        drop(leader.host);
        super::object(&world, "late").await?;
        eventually(3 * SOON, "the heir's write", || async {
            let child = world.cluster.get(&path(&world, "late-child")).await?.context("no child")?;
            ensure!(text(&child, "/data/marked") == "true", "{child}");
            Ok(())
        })
        .await?;
        ensure!(entry(&standby).await?["rollout"].is_null());
        Ok(())
    })
    .await
}

/// With other code, each host may have a configuration of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_promotes_the_version_that_the_leader_promoted() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let steps = json!({"canary": {"percent": 50, "for": "1s"}});
        let (leader, standby) = two_hosts_with(&world, "blind", &|replica| replica.grant().rollout(&steps)).await?;
        for replica in [&leader, &standby] {
            replica.plugins.place("misfit.wasm", &misfit_version("2", "marked")?)?;
        }
        let promoted = |entry: &Value| text(entry, "/version") == "2" && entry["rollout"].is_null();
        shows(&leader, "version 2 of the leader", &promoted).await?;
        shows(&standby, "version 2 of the standby", &promoted).await?;
        eventually(SOON, "all objects", || async {
            let left = (marked(&world).await?, journals(&world).await?);
            ensure!(left == (OBJECTS, 0), "{left:?}");
            let child = world.cluster.get(&path(&world, "o0-child")).await?.context("no child")?;
            ensure!(text(&child, "/data/marked") == "true", "{child}");
            Ok(())
        })
        .await
    })
    .await
}
