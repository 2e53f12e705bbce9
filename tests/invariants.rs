//! Invariants of the host that no other test holds; `tests/README.md` has the whole table.

use anyhow::{Context, Result, ensure};
use http::Method;
use oarlock_tests::harness::{Action, Grant, Rule, SOON, World, WorldOptions, eventually, steady, text, with_world};
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

/// Invariant 2: one worker per key; edits meanwhile become one more run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_held_by_one_worker_and_edits_meanwhile_are_one_more_run() -> Result<()> {
    with_world(WorldOptions { host: false, ..WorldOptions::default() }, async |world: Arc<World>| {
        // The held call outlives the edits on a busy machine.
        world.plugins.grant("network", &world.network_grant()?.limits(|limits| limits.deadline_seconds = 300))?;
        world.start_host().await?;
        let (post, go) = world.neutron_gate.hold(Method::POST, "/v2.0/networks");
        let uid = world.create_network("held", "10.6.0.0/24", "10.6.0.1").await?;
        post.hit().await?;
        for last in 2..=9 {
            world.set_gateway("held", &format!("10.6.0.{last}")).await?;
        }
        // What comes later in the same watch has been seen, and so have the edits.
        world.create_network("later", "10.7.0.0/24", "10.7.0.1").await?;
        world.ready("later").await?;
        go.cancel();
        eventually(SOON, "the last edit to reach Neutron", || async {
            let (_, subnet) = world.only_network(&uid).await?;
            ensure!(text(&subnet, "/gateway_ip") == "10.6.0.9", "{subnet}");
            Ok(())
        })
        .await?;
        world.ready("held").await?;
        let writes = world.neutron_gate.writes_since(0);
        let updates =
            writes.iter().filter(|one| one.method == Method::PUT && one.path.starts_with("/v2.0/subnets")).count();
        ensure!(updates <= 1, "8 edits became {updates} updates: {writes:?}");
        // A network and a subnet of each.
        let made = writes.iter().filter(|one| one.method == Method::POST).count();
        ensure!(made == 4, "{writes:?}");
        Ok(())
    })
    .await
}

/// Invariant 3, from outside: every write is somebody's, and a user's fields stay a user's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_write_names_its_field_manager() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        world.create_network("owned", "10.6.0.0/24", "10.6.0.1").await?;
        let object = world.ready("owned").await?;
        let managers: BTreeSet<String> = object
            .pointer("/metadata/managedFields")
            .and_then(Value::as_array)
            .context("no managedFields")?
            .iter()
            .map(|entry| text(entry, "/manager"))
            .filter(|manager| manager.contains("oarlock"))
            .collect();
        ensure!(managers == BTreeSet::from(["oarlock.network.host".to_owned()]), "{managers:?}");
        for write in world.kubernetes_gate.writes_since(0) {
            let named = write.path.contains("fieldManager=oarlock.")
                || String::from_utf8_lossy(&write.body).contains("oarlock");
            ensure!(named, "nobody's: {write}");
        }
        Ok(())
    })
    .await
}

/// Invariant 4.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_origin_that_is_not_granted_is_not_asked() -> Result<()> {
    let options = WorldOptions { host: false, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        let grant = Grant::nothing()
            .partial()
            .rule("samplecrd.k8s.io", &["networks"], &["get", "list", "watch"])
            .origin("http://127.0.0.1:1")
            .config("neutronUrl", &world.neutron_gate.url());
        world.plugins.grant("network", &grant)?;
        world.start_host().await?;
        world.create_network("denied", "10.6.0.0/24", "10.6.0.1").await?;
        eventually(SOON, "the refusal to be told", || async {
            let object = world.network("denied").await?.to_string();
            let plugin = world.host(async |host| host.plugins().await).await?.to_string();
            ensure!((object + &plugin).to_lowercase().contains("grant"), "not told: {plugin}");
            Ok(())
        })
        .await?;
        ensure!(world.neutron_gate.journal().is_empty(), "Neutron was asked: {:?}", world.neutron_gate.journal());
        Ok(())
    })
    .await
}

/// Invariant 4.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_without_a_grant_waits_for_one_and_does_nothing() -> Result<()> {
    let options = WorldOptions { host: false, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        std::fs::remove_file(world.plugins.path().join("network.yaml"))?;
        world.start_host().await?;
        world.create_network("ungranted", "10.6.0.0/24", "10.6.0.1").await?;
        eventually(SOON, "the plugin to wait for its grant", || async {
            let plugin = world.host(async |host| host.plugin("network").await).await?;
            ensure!(plugin.to_string().contains("grant"), "{plugin}");
            Ok(())
        })
        .await?;
        world.logged("the missing file", |line| line.text.contains("network.yaml")).await?;
        steady(Duration::from_secs(2), "silence", || async {
            ensure!(world.neutron_gate.journal().is_empty(), "Neutron was asked");
            let mut writes = world.kubernetes_gate.writes_since(0);
            // That it waits is told by an event of the host's own object.
            writes.retain(|write| !write.path.starts_with("/api/v1/namespaces/default/events"));
            ensure!(writes.is_empty(), "{writes:?}");
            Ok(())
        })
        .await
    })
    .await
}

/// Invariant 4: what the host carries out for a plugin is checked too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_is_not_granted_is_not_made() -> Result<()> {
    with_world(WorldOptions { host: false, ..WorldOptions::default() }, async |world: Arc<World>| {
        let grant = Grant::nothing().partial().rule("apps", &["deployments"], &["get", "list", "watch"]).rule(
            "samplecrd.k8s.io",
            &["networks"],
            &["get", "list", "watch"],
        );
        world.plugins.add("deployment-network", "deployment-network", &grant)?;
        world.start_host().await?;
        let uid = world.create_deployment("shop", "10.20.0.1").await?;
        eventually(SOON, "the refusal to be told", || async {
            let plugin = world.host(async |host| host.plugin("deployment-network").await).await?;
            let events = format!("{:?} {plugin}", world.events(&uid).await?).to_lowercase();
            ensure!(events.contains("grant"), "{events}");
            Ok(())
        })
        .await?;
        let networks = world.cluster.list(world.network_path("").trim_end_matches('/')).await?;
        ensure!(networks.is_empty(), "{networks:?}");
        Ok(())
    })
    .await
}

/// Invariant 9, first half. The second one, that it goes last, is in the story.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_finalizer_is_stored_before_the_first_side_effect() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        // Were the two sent at once, the slower one would be overtaken.
        let slow = Rule::every(Action::Delay(Duration::from_millis(500))).methods(&[Method::PATCH, Method::PUT]);
        let _slow = world.kubernetes_gate.rule(slow.times(1));
        world.create_network("first", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("first").await?;
        let mut writes = world.kubernetes_gate.writes_since(0).into_iter();
        // Beside it the host may say that the plugin runs.
        let finalizer = writes.find(|write| write.path.contains("/networks/")).context("no write")?;
        ensure!(String::from_utf8_lossy(&finalizer.body).contains("oarlock.dev/network"), "{finalizer}");
        let made = world.neutron_gate.writes_since(0).into_iter().next().context("no network")?;
        ensure!(
            made.at >= finalizer.at + Duration::from_millis(500),
            "the network came before the finalizer was stored"
        );
        Ok(())
    })
    .await
}

/// Deleting and making again under the same name is another object: what was made for the first is not the second's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_name_again_is_another_object() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let first = world.create_network("again", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("again").await?;
        let (old, _) = world.only_network(&first).await?;
        world.delete_network("again").await?;
        world.gone("again").await?;
        let second = world.create_network("again", "10.6.0.0/24", "10.6.0.1").await?;
        let object = world.ready("again").await?;
        let (new, _) = world.only_network(&second).await?;
        ensure!(text(&new, "/id") != text(&old, "/id"));
        ensure!(object.pointer("/status/networkId") == Some(&json!(text(&new, "/id"))), "{object}");
        world.nothing_left(&first).await
    })
    .await
}
