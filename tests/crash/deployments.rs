//! The same with two plugins that build on each other: a Deployment's Network, and what Neutron has for it.

use super::*;

/// Create, edit the gateway in the annotation, delete; the garbage collector takes the Network along.
fn deployment<'a>(world: &'a World, name: &'a str) -> BoxFuture<'a, Result<Seen>> {
    Box::pin(async move {
        let from = world.neutron_gate.mark();
        let owner = world.create_deployment(name, "10.20.0.1").await?;
        let (created, uid) = owned(world, name, &owner, "10.20.0.1").await.context("create")?;
        world.annotate_deployment(name, "gateway", "10.20.0.7").await?;
        let (edited, same) = owned(world, name, &owner, "10.20.0.7").await.context("edit")?;
        ensure!(same == uid, "the Network was deleted and made again on the way");
        world.cluster.delete(&world.deployment_path(name)).await?;
        world.gone(name).await.context("delete")?;
        world.nothing_left(&uid).await.context("delete")?;
        nothing_double(world, from, &uid)?;
        Ok(Seen { created, edited })
    })
}

/// Waits until the Deployment's Network is as it should be; returns what is seen of it, and its uid.
async fn owned(world: &World, name: &str, owner: &str, gateway: &str) -> Result<(Value, String)> {
    let network = network_of(world, name, owner).await?;
    let uid = text(&network, "/metadata/uid");
    let seen = phase(world, name, &uid, gateway).await?;
    let owners = network.pointer("/metadata/ownerReferences").and_then(Value::as_array).cloned().unwrap_or_default();
    let owners: Vec<_> = owners.iter().map(|one| json!([one["kind"], one["controller"]])).collect();
    Ok((json!({"owners": owners, "network": seen}), uid))
}

/// Waits for the Network of a Deployment.
pub(super) async fn network_of(world: &World, name: &str, owner: &str) -> Result<Value> {
    eventually(SOON, &format!("a Network {name} of {owner}"), || async {
        let network = world.network(name).await?;
        ensure!(text(&network, "/metadata/ownerReferences/0/uid") == owner, "{network}");
        Ok(network)
    })
    .await
}

/// Puts the plugin in, beside that for Networks.
pub(super) fn add_plugin(world: &World) -> Result<()> {
    world.tripwire.spare_events();
    world.plugins.add("deployment-network", "deployment-network", &world.deployment_network_grant())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn x2_to_x5_killed_after_every_write_a_deployment_converges() -> Result<()> {
    let writes = &[
        ("PATCH", "ownerReferences"),
        ("PATCH", "oarlock.dev/network"),
        ("POST", "/v2.0/networks"),
        ("POST", "/v2.0/subnets"),
        ("PATCH", "networkId"),
        ("PATCH", r#""gateway":"10.20.0.7""#),
        ("PUT", "/v2.0/subnets/"),
        ("DELETE", "/v2.0/subnets/"),
        ("DELETE", "/v2.0/networks/"),
        ("PATCH", r#""finalizers":[]"#),
    ];
    Campaign { scenario: deployment, prepare: add_plugin, writes }.run().await
}
