//! What changes under a reconcile while it is under way.

use super::deployments::{add_plugin, network_of};
use super::*;

/// Waits until Neutron has nothing of that name, whoever it was made for.
async fn nothing_named(world: &World, name: &str) -> Result<()> {
    let name = format!("{}/{name}", world.namespace);
    eventually(SOON, &format!("nothing named {name} to be left in Neutron"), || async {
        let all = world.neutron.call(Method::GET, "/v2.0/networks", &Value::Null).await?;
        let all = all.get("networks").and_then(Value::as_array).context("no list")?;
        ensure!(!all.iter().any(|one| text(one, "/name") == name), "{all:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn x6_a_conflict_at_the_removal_of_the_finalizer_is_looked_at_again() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let uid = world.create_network("edited", "10.9.0.0/24", "10.9.0.1").await?;
        world.ready("edited").await?;
        let (delete, go) = world.neutron_gate.hold(Method::DELETE, "/v2.0/networks/");
        world.delete_network("edited").await?;
        delete.hit().await?;
        let label = json!({"metadata": {"labels": {"edited": "meanwhile"}}});
        world.cluster.merge_patch(&world.network_path("edited"), &label).await?;
        // What comes later in the same watch has been seen, and so has the label.
        world.create_network("later", "10.8.0.0/24", "10.8.0.1").await?;
        world.ready("later").await?;
        go.cancel();
        world.gone("edited").await?;
        world.nothing_left(&uid).await?;
        let removal = |one: &&Exchange| String::from_utf8_lossy(&one.body).contains(r#""finalizers":[]"#);
        // The object may be gone before the gate has noted the last answer.
        eventually(SOON, "the answers to the removals of the finalizer", || async {
            let writes = world.kubernetes_gate.writes_since(0);
            let answers: Vec<_> = writes.iter().filter(removal).map(|one| one.status.map(|s| s.as_u16())).collect();
            ensure!(answers == [Some(409), Some(200)], "{answers:?}");
            Ok(())
        })
        .await?;
        let deleted = world.neutron_gate.writes_since(0);
        let deleted = deleted.iter().filter(|one| one.method == Method::DELETE && one.path.contains("/networks/"));
        ensure!(deleted.count() == 1, "the network was deleted again");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn x8_a_network_deleted_between_get_desired_and_patch_leaves_nothing() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let (look, go) = world.neutron_gate.hold(Method::GET, "/v2.0/networks");
        let uid = world.create_network("short", "10.9.0.0/24", "10.9.0.1").await?;
        look.hit().await?;
        world.delete_network("short").await?;
        go.cancel();
        world.gone("short").await?;
        // Whoever let it go too early still makes what was planned.
        quiet(&world).await?;
        world.nothing_left(&uid).await
    })
    .await
}

/// The Network is made for an owner that is gone by then: the garbage collector takes it, and the new owner gets its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn x8_a_deployment_replaced_between_get_desired_and_patch_gets_a_network_of_its_own() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        collected(&world).await?;
        add_plugin(&world)?;
        let (look, go) = world.kubernetes_gate.hold(Method::GET, "/networks/shop");
        let first = world.create_deployment("shop", "10.20.0.1").await?;
        look.hit().await?;
        world.cluster.delete(&world.deployment_path("shop")).await?;
        let second = world.create_deployment("shop", "10.20.0.9").await?;
        let mark = world.kubernetes_gate.mark();
        go.cancel();
        network_of(&world, "shop", &second).await?;
        let uid = text(&world.ready("shop").await?, "/metadata/uid");
        let writes = world.kubernetes_gate.writes_since(mark);
        let old = writes.iter().any(|one| String::from_utf8_lossy(&one.body).contains(&first));
        ensure!(old, "nothing was written for the first: {writes:#?}");
        world.cluster.delete(&world.deployment_path("shop")).await?;
        world.gone("shop").await?;
        world.nothing_left(&uid).await?;
        nothing_named(&world, "shop").await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn x9_a_spec_changed_between_get_actual_and_patch_is_not_said_to_be_done() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let uid = world.create_network("moving", "10.9.0.0/24", "10.9.0.1").await?;
        world.ready("moving").await?;
        let (update, go) = world.neutron_gate.hold(Method::PUT, "/v2.0/subnets/");
        world.set_gateway("moving", "10.9.0.7").await?;
        update.hit().await?;
        world.set_gateway("moving", "10.9.0.9").await?;
        go.cancel();
        phase(&world, "moving", &uid, "10.9.0.9").await?;
        for status in statuses(&world, &uid) {
            let ready = text(&status, "/conditions/0/status") == "True";
            let gateway = match status["observedGeneration"].as_i64() {
                Some(1) => "10.9.0.1",
                Some(2) => "10.9.0.7",
                _ => "10.9.0.9",
            };
            ensure!(!ready || text(&status, "/gateway") == gateway, "an old plan under a new generation: {status}");
        }
        nothing_double(&world, 0, &uid)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn x9_a_deployment_changed_while_its_old_plan_is_written_ends_with_the_new_one() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        add_plugin(&world)?;
        let (apply, go) = world.kubernetes_gate.hold(Method::PATCH, "/networks/shop");
        let owner = world.create_deployment("shop", "10.20.0.1").await?;
        apply.hit().await?;
        world.annotate_deployment("shop", "gateway", "10.20.0.9").await?;
        go.cancel();
        let network = network_of(&world, "shop", &owner).await?;
        let uid = text(&network, "/metadata/uid");
        phase(&world, "shop", &uid, "10.20.0.9").await?;
        nothing_double(&world, 0, &uid)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn x10_a_namespace_that_ends_takes_all_along_and_nothing_is_made_in_it_again() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        add_plugin(&world)?;
        let owner = world.create_deployment("shop", "10.20.0.1").await?;
        let owned = text(&network_of(&world, "shop", &owner).await?, "/metadata/uid");
        world.ready("shop").await?;
        let alone = world.create_network("alone", "10.9.0.0/24", "10.9.0.1").await?;
        world.ready("alone").await?;
        let namespace = format!("/api/v1/namespaces/{}", world.namespace);
        world.cluster.delete(&namespace).await?;
        eventually(SOON, "the namespace to be gone", || async {
            let left = world.cluster.get(&namespace).await?;
            ensure!(left.is_none(), "{left:?}");
            Ok(())
        })
        .await?;
        quiet(&world).await?;
        world.nothing_left(&owned).await?;
        world.nothing_left(&alone).await?;
        nothing_named(&world, "shop").await
    })
    .await
}

/// Waits until the garbage collector knows Networks: kube-controller-manager looks for new kinds every 30 s, and until then it
/// neither orphans nor collects them.
async fn collected(world: &World) -> Result<()> {
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "absent", "uid": "00000000-0000-4000-8000-000000000000"});
    let object = json!({"apiVersion": "samplecrd.k8s.io/v1", "kind": "Network",
        "metadata": {"name": "collected", "ownerReferences": [owner]},
        "spec": {"cidr": "10.99.0.0/24", "gateway": "10.99.0.1"}});
    world.cluster.create(world.network_path("").trim_end_matches('/'), &object).await?;
    eventually(2 * SOON, "the garbage collector to know Networks", || async {
        let left = world.cluster.get(&world.network_path("collected")).await?;
        ensure!(left.is_none(), "{left:?}");
        Ok(())
    })
    .await
}

/// Deletes a Deployment that has a Network, and returns that Network's uid and the mark of the deletion.
async fn deleted_with(world: &World, policy: &str) -> Result<(String, usize)> {
    collected(world).await?;
    add_plugin(world)?;
    let owner = world.create_deployment("shop", "10.20.0.1").await?;
    let uid = text(&network_of(world, "shop", &owner).await?, "/metadata/uid");
    world.ready("shop").await?;
    let mark = world.kubernetes_gate.mark();
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": policy});
    let path = world.deployment_path("shop");
    world.cluster.request(Method::DELETE, &path, "application/json", &options).await?;
    eventually(SOON, "the Deployment to be gone", || async {
        let left = world.cluster.get(&path).await?;
        ensure!(left.is_none(), "{left:?}");
        Ok(())
    })
    .await?;
    Ok((uid, mark))
}

fn not_applied_since(world: &World, mark: usize) -> Result<()> {
    let writes = world.kubernetes_gate.writes_since(mark);
    let applied = writes.iter().find(|one| one.path.contains("fieldManager=oarlock.deployment-network&"));
    let applied =
        applied.or_else(|| writes.iter().find(|one| one.path.ends_with("fieldManager=oarlock.deployment-network")));
    ensure!(applied.is_none(), "a Network was applied for a Deployment that goes: {applied:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn x11_an_owner_deleted_in_the_foreground_takes_its_network_along() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let (uid, _) = deleted_with(&world, "Foreground").await?;
        world.nothing_left(&uid).await?;
        // While the watch of Deployments lags behind that of Networks it may be made once more, and goes again.
        quiet(&world).await?;
        world.gone("shop").await?;
        nothing_named(&world, "shop").await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn x11_an_owner_deleted_with_orphans_leaves_its_network_alone() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let (uid, mark) = deleted_with(&world, "Orphan").await?;
        quiet(&world).await?;
        let network = world.ready("shop").await?;
        ensure!(text(&network, "/metadata/uid") == uid && text(&network, "/metadata/deletionTimestamp").is_empty());
        ensure!(network.pointer("/metadata/ownerReferences/0").is_none(), "{network}");
        world.only_network(&uid).await?;
        not_applied_since(&world, mark)
    })
    .await
}

/// As after a backup was put back: a second object whose status names what was made for the first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn x12_an_object_that_claims_the_network_of_another_gets_its_own() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let first = world.create_network("first", "10.9.0.0/24", "10.9.0.1").await?;
        let status = world.ready("first").await?;
        let ids = json!({"networkId": status["status"]["networkId"], "subnetId": status["status"]["subnetId"]});
        let before = world.only_network(&first).await?;
        world.kill_host().await?;
        let second = world.create_network("second", "10.9.0.0/24", "10.9.0.7").await?;
        let path = format!("{}/status", world.network_path("second"));
        world.cluster.merge_patch(&path, &json!({"status": ids})).await?;
        world.start_host().await?;
        phase(&world, "second", &second, "10.9.0.7").await?;
        let own = world.only_network(&second).await?;
        ensure!(text(&own.0, "/id") != text(&before.0, "/id") && text(&own.1, "/id") != text(&before.1, "/id"));
        ensure!(world.only_network(&first).await? == before, "the first object's network was touched");
        world.delete_whole_network("second", &second).await?;
        ensure!(world.only_network(&first).await? == before, "the first object's network was touched");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn x12_a_network_that_is_somebody_elses_is_not_taken_over_by_a_deployment_of_its_name() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        add_plugin(&world)?;
        let uid = world.create_network("shop", "10.9.0.0/24", "10.9.0.1").await?;
        phase(&world, "shop", &uid, "10.9.0.1").await?;
        let owner = world.create_deployment("shop", "10.20.0.1").await?;
        world.event(&owner, "Warning", "does not belong").await?;
        world.cluster.delete(&world.deployment_path("shop")).await?;
        quiet(&world).await?;
        let network = world.ready("shop").await?;
        ensure!(text(&network, "/metadata/uid") == uid && text(&network, "/spec/cidr") == "10.9.0.0/24", "{network}");
        world.only_network(&uid).await.map(|_| ())
    })
    .await
}
