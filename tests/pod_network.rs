//! Pods get ports in the networks of Networks, and give them back.

use anyhow::{Context as _, Result, ensure};
use http::Method;
use oarlock_tests::harness::{Action, Rule, SOON, World, WorldOptions, eventually, steady, text, with_world};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// A world with both plugins.
async fn with_pods(body: impl AsyncFnOnce(Arc<World>) -> Result<()>) -> Result<()> {
    let options = WorldOptions { host: false, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        world.plugins.add("pod-network", "pod-network", &world.pod_network_grant()?)?;
        world.start_host().await?;
        body(world).await
    })
    .await
}

/// Network blue, Ready, in 10.9.0.0/24.
async fn blue(world: &World) -> Result<String> {
    let uid = world.create_network("blue", "10.9.0.0/24", "10.9.0.1").await?;
    world.ready("blue").await?;
    Ok(uid)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_gets_a_port_and_gives_it_back_when_it_is_gone_or_has_ended() -> Result<()> {
    with_pods(async |world: Arc<World>| {
        let network = blue(&world).await?;
        let (deleted, ended) = (world.create_pod("deleted", "blue").await?, world.create_pod("ended", "blue").await?);
        let port = world.port_of("deleted", &deleted).await?;
        world.port_of("ended", &ended).await?;
        ensure!(text(&port, "/network_id") == text(&world.only_network(&network).await?.0, "/id"), "{port}");
        ensure!(text(&port, "/name") == format!("{}/deleted", world.namespace), "{port}");
        ensure!(text(&port, "/fixed_ips/0/ip_address").starts_with("10.9.0."), "{port}");
        world.event(&deleted, "Normal", "10.9.0.").await?;

        world.delete_pod("deleted").await?;
        world.no_port_of(&deleted).await?;
        let over = json!({"status": {"phase": "Succeeded"}});
        world.cluster.merge_patch(&format!("{}/status", world.pod_path("ended")), &over).await?;
        world.no_port_of(&ended).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_whose_network_comes_later_gets_its_port_then() -> Result<()> {
    with_pods(async |world: Arc<World>| {
        let uid = world.create_pod("early", "blue").await?;
        world.event(&uid, "Warning", "Network \"blue\" does not exist").await?;
        blue(&world).await?;
        world.port_of("early", &uid).await.map(drop)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n1_a_lost_answer_makes_no_second_port() -> Result<()> {
    with_pods(async |world: Arc<World>| {
        blue(&world).await?;
        let lost = Rule::every(Action::DropAnswer).methods(&[Method::POST]).path("/v2.0/ports").times(1);
        let rule = world.neutron_gate.rule(lost);
        let uid = world.create_pod("web", "blue").await?;
        world.port_of("web", &uid).await?;
        ensure!(rule.hits() == 1, "the fault did not happen");
        let made = |one: &&oarlock_tests::harness::Exchange| one.method == Method::POST && one.path == "/v2.0/ports";
        ensure!(world.neutron_gate.journal().iter().filter(made).count() == 1, "made twice");
        Ok(())
    })
    .await
}

/// Nobody sees the Pod go: its port is found from the Network.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_port_of_a_pod_that_went_while_the_host_was_away_is_given_back() -> Result<()> {
    with_pods(async |world: Arc<World>| {
        blue(&world).await?;
        let (gone, stays) = (world.create_pod("gone", "blue").await?, world.create_pod("stays", "blue").await?);
        world.port_of("gone", &gone).await?;
        let before = world.port_of("stays", &stays).await?;
        world.kill_host().await?;
        world.delete_pod("gone").await?;
        world.start_host().await?;
        world.no_port_of(&gone).await?;
        let after = world.port_of("stays", &stays).await?;
        ensure!(text(&before, "/id") == text(&after, "/id"), "{before} {after}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n3_a_network_stays_while_a_pod_holds_it_and_says_which() -> Result<()> {
    with_pods(async |world: Arc<World>| {
        let network = blue(&world).await?;
        let uid = world.create_pod("holder", "blue").await?;
        world.port_of("holder", &uid).await?;
        world.delete_network("blue").await?;
        world.not_ready("blue", &["in use", "holder"]).await?;
        steady(Duration::from_secs(1), "the Network and the port", || async {
            world.network("blue").await?;
            world.port_of("holder", &uid).await.map(drop)
        })
        .await?;
        world.delete_pod("holder").await?;
        world.no_port_of(&uid).await?;
        world.gone("blue").await?;
        let left: Value = world.neutron.call(Method::GET, "/v2.0/ports", &Value::Null).await?;
        ensure!(world.neutron.is_external() || left == json!({"ports": []}), "{left}");
        world.nothing_left(&network).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_admission_a_pod_is_refused_or_warned_and_a_network_in_use_is_not_deleted() -> Result<()> {
    let options = WorldOptions { host: false, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        world.plugins.add("pod-network", "pod-network", &world.pod_network_grant()?)?;
        world.start_host_answering(&["pod-network"]).await?;
        let refused = world.create_pod("lost", "nowhere").await.err().context("it was taken")?;
        ensure!(
            format!("{refused:#}").contains("plugin pod-network") && format!("{refused:#}").contains("nowhere"),
            "{refused:#}"
        );
        blue(&world).await?;
        let uid = eventually(SOON, "the Network to be known", || world.create_pod("web", "blue")).await?;
        world.port_of("web", &uid).await?;
        let refused = world.delete_network("blue").await.err().context("it was deleted")?;
        ensure!(format!("{refused:#}").contains("web"), "{refused:#}");
        world.delete_pod("web").await?;
        world.no_port_of(&uid).await?;
        eventually(SOON, "the Network to go", || world.delete_network("blue")).await?;
        world.gone("blue").await
    })
    .await
}
