//! What the host does while its view is old: no write twice, none on another object than was meant, and it gets on.

use anyhow::{Context, Result, ensure};
use http::Method;
use oarlock_tests::harness::{Action, Exchange, Rule, SOON, World, WorldOptions, eventually, steady, text, with_world};
use serde_json::json;
use std::{sync::Arc, time::Duration};

const NETWORKS: &str = "/networks";

/// A world with the plugin for Deployments alone, which looks every second.
async fn with_deployments(body: impl AsyncFnOnce(Arc<World>) -> Result<()>) -> Result<()> {
    let options = WorldOptions { resync_seconds: 1, network: false, host: false, ..WorldOptions::default() };
    with_world(options, async move |world: Arc<World>| {
        world.plugins.add("deployment-network", "deployment-network", &world.deployment_network_grant())?;
        world.start_host().await?;
        body(world).await
    })
    .await
}

/// What the host wrote to Networks.
fn writes(world: &World, method: &Method) -> Vec<Exchange> {
    let all = world.kubernetes_gate.writes_since(0).into_iter();
    all.filter(|one| one.path.contains(NETWORKS) && one.method == *method).collect()
}

/// Waits until a write to the Network was refused: it is another, or not as it was.
async fn refused(world: &World, method: &Method, part: &str) -> Result<()> {
    eventually(SOON, &format!("a {method} of {part} to be refused"), || async {
        let all = writes(world, method);
        let refused = all.iter().any(|one| one.path.contains(part) && one.status.is_some_and(|s| s == 409 || s == 422));
        ensure!(refused, "{all:?}");
        Ok(())
    })
    .await
}

/// Waits until there is a Network of this name with another uid, and returns its uid.
async fn network_but(world: &World, name: &str, uid: &str) -> Result<String> {
    eventually(SOON, &format!("a Network {name}"), || async {
        let found = text(&world.network(name).await?, "/metadata/uid");
        ensure!(found != uid, "still {uid}");
        Ok(found)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s1_a_lagging_watch_does_not_make_the_host_write_again() -> Result<()> {
    with_deployments(async |world: Arc<World>| {
        let (apply, go) = world.kubernetes_gate.hold(Method::PATCH, NETWORKS);
        world.create_deployment("shop", "10.20.0.1").await?;
        apply.hit().await?;
        world.kubernetes_gate.stall(&["/"]);
        go.cancel();
        network_but(&world, "shop", "").await?;
        steady(Duration::from_secs(4), "one write", || async {
            let writes = writes(&world, &Method::PATCH);
            ensure!(writes.len() == 1, "{writes:?}");
            Ok(())
        })
        .await
    })
    .await
}

/// Neither the answer nor the watch tells that the write had its effect.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s2_a_write_that_was_carried_out_and_never_answered_is_not_made_double() -> Result<()> {
    with_deployments(async |world: Arc<World>| {
        let lost = Rule::every(Action::DropAnswer).methods(&[Method::PATCH]).path(NETWORKS).times(1);
        let lost = world.kubernetes_gate.rule(lost);
        world.kubernetes_gate.stall(&[NETWORKS]);
        world.create_deployment("shop", "10.20.0.1").await?;
        lost.hit().await?;
        let uid = network_but(&world, "shop", "").await?;
        eventually(SOON, "another attempt", || async {
            ensure!(writes(&world, &Method::PATCH).len() >= 2, "it was not tried again");
            Ok(())
        })
        .await?;
        steady(Duration::from_secs(3), "one Network, as it was made", || async {
            let network = world.network("shop").await?;
            let (found, generation) = (text(&network, "/metadata/uid"), network.pointer("/metadata/generation"));
            ensure!(found == uid && generation == Some(&json!(1)), "{network}");
            ensure!(writes(&world, &Method::PATCH).len() == 2 && writes(&world, &Method::DELETE).is_empty());
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s3_after_its_own_deletion_that_the_watch_does_not_show_the_host_makes_one_anew() -> Result<()> {
    with_deployments(async |world: Arc<World>| {
        world.create_deployment("shop", "10.20.0.1").await?;
        let first = network_but(&world, "shop", "").await?;
        let (delete, go) = world.kubernetes_gate.hold(Method::DELETE, NETWORKS);
        world.annotate_deployment("shop", "network", "false").await?;
        delete.hit().await?;
        world.kubernetes_gate.stall(&[NETWORKS]);
        go.cancel();
        world.gone("shop").await?;
        world.annotate_deployment("shop", "network", "true").await?;
        let second = network_but(&world, "shop", &first).await?;
        steady(Duration::from_secs(3), "the second Network", || async {
            ensure!(text(&world.network("shop").await?, "/metadata/uid") == second);
            let (deleted, applied) = (writes(&world, &Method::DELETE), writes(&world, &Method::PATCH));
            ensure!(deleted.len() == 1 && applied.len() == 2, "{deleted:?} {applied:?}");
            Ok(())
        })
        .await
    })
    .await
}

/// The Deployment is new, the Network in the cache is one that is gone: the one in its place is somebody else's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s5_of_two_kinds_the_one_that_lags_does_not_lead_to_a_write_on_what_came_in_its_place() -> Result<()> {
    with_deployments(async |world: Arc<World>| {
        let owner = world.create_deployment("shop", "10.20.0.1").await?;
        let first = network_but(&world, "shop", "").await?;
        // The cache has it, or there would be nothing to be wrong about. The event of the apply comes earlier.
        eventually(SOON, "a reconcile with nothing left to do", || async {
            let labels = ["\"deployment-network\"", "\"success\""];
            let done =
                world.host(async |host| host.metric("controller_runtime_reconcile_total", &labels).await).await?;
            ensure!(done >= 1.0, "{done} reconciles");
            Ok(())
        })
        .await?;
        world.kubernetes_gate.stall(&[NETWORKS]);
        world.delete_network("shop").await?;
        world.gone("shop").await?;
        // With what the Deployment is going to want: no field is anybody else's, only the object is another.
        let other = world.create_network("shop", "10.20.0.0/24", "10.20.0.9").await?;
        ensure!(other != first);
        world.annotate_deployment("shop", "gateway", "10.20.0.9").await?;
        refused(&world, &Method::PATCH, "/networks/shop").await?;
        world.annotate_deployment("shop", "network", "false").await?;
        refused(&world, &Method::DELETE, "/networks/shop").await?;
        world.kubernetes_gate.stall(&[]);
        world.annotate_deployment("shop", "network", "true").await?;
        world.event(&owner, "Warning", "does not belong").await?;
        let network = world.network("shop").await?;
        let owned = network.pointer("/metadata/ownerReferences").is_some();
        ensure!(text(&network, "/metadata/uid") == other && !owned, "{network}");
        Ok(())
    })
    .await
}

/// What the host writes about an object it has an old view of must not meet the one that has its name now.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s6_the_status_of_an_object_that_is_gone_is_not_written_to_the_next_of_its_name() -> Result<()> {
    let options = WorldOptions { resync_seconds: 1, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        let first = world.create_network("twin", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("twin").await?;
        let (_, subnet) = world.only_network(&first).await?;
        // What is younger was seen, so the host's write of the first was: else it would not trust its view.
        world.create_network("younger", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("younger").await?;
        world.kubernetes_gate.stall(&[NETWORKS]);
        let second = replaced(&world, "twin").await?;
        // Made good for the first, as far as the host knows; that gives it another status.
        world.neutron.delete("subnet", &text(&subnet, "/id")).await?;
        refused(&world, &Method::PATCH, "/networks/twin/status").await?;
        let network = world.network("twin").await?;
        ensure!(text(&network, "/metadata/uid") == second);
        let untouched = network.get("status").is_none() && network.pointer("/metadata/finalizers").is_none();
        ensure!(untouched, "{network}");
        world.kubernetes_gate.stall(&[]);
        world.ready("twin").await?;
        world.only_network(&second).await.map(|_| ())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s6_a_finalizer_meant_for_an_object_that_is_gone_is_not_stored_on_the_next_of_its_name() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let (finalizer, go) = world.kubernetes_gate.hold(Method::PATCH, "/networks/twin");
        let first = world.create_network("twin", "10.6.0.0/24", "10.6.0.1").await?;
        finalizer.hit().await?;
        let second = replaced(&world, "twin").await?;
        go.cancel();
        refused(&world, &Method::PATCH, "/networks/twin").await?;
        world.ready("twin").await?;
        world.only_network(&second).await?;
        let left = world.neutron.left_of(&first).await?;
        ensure!(left.is_empty(), "made for an object that was gone: {left:?}");
        Ok(())
    })
    .await
}

/// Deletes a Network whatever holds it, and makes another of its name. Returns its uid.
async fn replaced(world: &World, name: &str) -> Result<String> {
    world.delete_network(name).await?;
    if world.cluster.get(&world.network_path(name)).await?.is_some() {
        let free = json!({"metadata": {"finalizers": null}});
        world.cluster.merge_patch(&world.network_path(name), &free).await?;
    }
    world.gone(name).await?;
    world.create_network(name, "10.6.0.0/24", "10.6.0.1").await
}

/// A list from an API server's cache may be older than what the host saw before it ended; the newest must be asked for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s8_after_a_restart_the_host_does_not_begin_with_an_older_list() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let uid = world.create_network("kept", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("kept").await?;
        world.set_gateway("kept", "10.6.0.7").await?;
        world.ready("kept").await?;
        world.kill_host().await?;
        let (mark, neutron) = (world.kubernetes_gate.mark(), world.neutron_gate.mark());
        world.start_host().await?;
        eventually(SOON, "the object to be looked at", || async {
            ensure!(!world.neutron_gate.since(neutron).is_empty(), "not yet");
            Ok(())
        })
        .await?;
        let asked = world.kubernetes_gate.since(mark);
        let mut lists = asked
            .iter()
            .filter(|one| one.method == Method::GET && one.path.contains("/networks?") && !one.path.contains("watch="));
        ensure!(lists.clone().count() > 0, "no list: {asked:?}");
        let any_will_do = |one: &&Exchange| one.path.contains("resourceVersion=");
        ensure!(!lists.any(|one| any_will_do(&one)), "an old list would do: {asked:?}");
        let watches = asked.iter().filter(|one| one.path.contains("/networks?") && one.path.contains("watch="));
        for watch in watches {
            ensure!(
                !watch.path.contains("resourceVersion=0&") && !watch.path.ends_with("resourceVersion=0"),
                "{watch}"
            );
        }
        ensure!(world.neutron_gate.writes_since(neutron).is_empty(), "something was written after the restart");
        world.only_network(&uid).await.map(|_| ())
    })
    .await
}

/// What an API server answers from its cache is as old as that: the edit made while the host was down must not be missed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s8_beside_an_api_server_whose_cache_lags_behind_a_host_that_starts_sees_the_newest_state() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let uid = world.create_network("kept", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("kept").await?;
        world.kill_host().await?;
        let rule = json!({"id": "old", "requests": {"resource": "networks"}, "fault": {"stale": {"cachedOnly": true}}});
        faults(&world, Method::POST, "", rule.to_string()).await?;
        world.set_gateway("kept", "10.6.0.7").await?;
        let cached = world.cluster.list("/apis/samplecrd.k8s.io/v1/networks?resourceVersion=0").await?;
        ensure!(cached.iter().all(|one| text(one, "/spec/gateway") == "10.6.0.1"), "the cache is not old: {cached:?}");
        world.start_host().await?;
        eventually(SOON, "the edit in Neutron", || async {
            let (_, subnet) = world.only_network(&uid).await?;
            ensure!(text(&subnet, "/gateway_ip") == "10.6.0.7", "{subnet}");
            Ok(())
        })
        .await?;
        faults(&world, Method::DELETE, "/old", String::new()).await?;
        world.ready("kept").await.map(|_| ())
    })
    .await
}

/// Changes what the embedded API server does wrong.
async fn faults(world: &World, method: Method, path: &str, rules: String) -> Result<()> {
    let request = http::Request::builder().method(method).uri(format!("/_oarlock/faults{path}"));
    let request = request.header("x-oarlock-faults", "1").body(rules.into_bytes())?;
    world.cluster.client().request_text(request).await.context("the embedded API server's faults")?;
    Ok(())
}

/// The wait for an own write has an end: after it the object is read past the cache, and its key goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s9_while_the_watch_shows_nothing_at_all_objects_are_read_past_it() -> Result<()> {
    let options = WorldOptions { resync_seconds: 1, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        let (finalizer, go) = world.kubernetes_gate.hold(Method::PATCH, "/networks/unseen");
        let uid = world.create_network("unseen", "10.6.0.0/24", "10.6.0.1").await?;
        finalizer.hit().await?;
        world.kubernetes_gate.stall(&[NETWORKS]);
        go.cancel();
        world.ready("unseen").await?;
        world.set_gateway("unseen", "10.6.0.7").await?;
        eventually(SOON, "the edit in Neutron", || async {
            let (_, subnet) = world.only_network(&uid).await?;
            ensure!(text(&subnet, "/gateway_ip") == "10.6.0.7", "{subnet}");
            Ok(())
        })
        .await?;
        let live = world.kubernetes_gate.journal();
        let live = live.iter().find(|one| one.method == Method::GET && one.path.ends_with("/networks/unseen"));
        live.context("nothing was read past the cache")?;
        world.ready("unseen").await.map(drop)
    })
    .await
}
