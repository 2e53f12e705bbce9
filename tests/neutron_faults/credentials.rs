//! N8, N14: credentials expire, are refused, do not suffice, or are deleted.

use super::{ready_after_backoff, resyncing};
use anyhow::{Result, ensure};
use http::{Method, StatusCode};
use oarlock_tests::harness::{Action, Neutron, Rule, SOON, World, WorldOptions, eventually, steady, text, with_world};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

async fn create(world: &World, name: &str) -> Result<String> {
    super::create(world, name).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n8_an_expired_token_is_renewed_without_anybody_noticing() -> Result<()> {
    let options = WorldOptions { keystone: true, ..resyncing(1) };
    with_world(options, async |world: Arc<World>| {
        let uid = create(&world, "token").await?;
        world.ready("token").await?;
        let tokens = |neutron: Value| {
            let list = neutron.as_array().cloned().unwrap_or_default();
            list.iter()
                .filter(|one| text(one, "/method") == "POST" && text(one, "/path").ends_with("/auth/tokens"))
                .count()
        };
        if !world.neutron.is_external() {
            let before = tokens(world.neutron.call(Method::GET, "/_journal", &Value::Null).await?);
            world.neutron.faults(&json!([{"path": "/v2.0/*", "count": 1, "action": "expireTokens"}])).await?;
            let renewed = |world: Arc<World>| async move {
                let asked = tokens(world.neutron.call(Method::GET, "/_journal", &Value::Null).await?);
                ensure!(asked > before, "no new token yet");
                Ok(())
            };
            eventually(SOON, "a new token", || renewed(world.clone())).await?;
        }
        world.set_gateway("token", "10.8.0.9").await?;
        eventually(SOON, "the new gateway", || async {
            let (_, subnet) = world.only_network(&uid).await?;
            ensure!(text(&subnet, "/gateway_ip") == "10.8.0.9", "{subnet}");
            Ok(())
        })
        .await?;
        world.ready("token").await?;
        world.delete_whole_network("token", &uid).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n8_credentials_that_are_refused_are_told_and_do_not_storm() -> Result<()> {
    refused(StatusCode::UNAUTHORIZED, "Unauthorized", &["401", "unauthorized", "token", "credential"]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n8_a_policy_that_forbids_is_told_and_does_not_storm() -> Result<()> {
    refused(StatusCode::FORBIDDEN, "PolicyNotAuthorized", &["403", "forbidden", "policy", "not authorized"]).await
}

async fn refused(status: StatusCode, kind: &'static str, texts: &'static [&'static str]) -> Result<()> {
    with_world(resyncing(2), async move |world: Arc<World>| {
        let refusal = Action::neutron(status, kind, "refused by the test");
        let rule = world.neutron_gate.rule(Rule::every(refusal).path("/v2.0/"));
        let uid = create(&world, "refused").await?;
        world.not_ready("refused", texts).await?;
        world.event(&uid, "Warning", "").await?;
        let before = rule.hits();
        steady(Duration::from_secs(3), "a slow retry", || async {
            ensure!(rule.hits() <= before + 25, "{} requests", rule.hits());
            Ok(())
        })
        .await?;
        drop(rule);
        ready_after_backoff(&world, "refused").await?;
        world.only_network(&uid).await?;
        Ok(())
    })
    .await
}

/// The account works, with Keystone, from creation to deletion.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keystone_tokens_are_shared_and_kept() -> Result<()> {
    let options = WorldOptions { keystone: true, ..resyncing(1) };
    with_world(options, async |world: Arc<World>| {
        let mut uids = Vec::new();
        for number in 0..5 {
            let cidr = format!("10.{number}.0.0/24");
            uids.push(world.create_network(&format!("kept-{number}"), &cidr, &format!("10.{number}.0.1")).await?);
        }
        for number in 0..5 {
            world.ready(&format!("kept-{number}")).await?;
        }
        for uid in &uids {
            world.only_network(uid).await?;
        }
        if !world.neutron.is_external() {
            // One for the test's own looking; the plugin's four workers may all ask at the first moment.
            let asked = token_requests(&world.neutron).await?;
            ensure!(asked <= 5, "{asked} token requests");
            let from = world.neutron_gate.mark();
            eventually(SOON, "two resyncs of everything", || async {
                let requests = world.neutron_gate.mark() - from;
                ensure!(requests >= 20, "{requests} requests");
                Ok(())
            })
            .await?;
            let again = token_requests(&world.neutron).await?;
            ensure!(again == asked, "{} more tokens were asked for", again - asked);
        }
        Ok(())
    })
    .await
}

async fn token_requests(neutron: &Neutron) -> Result<usize> {
    let journal = neutron.call(Method::GET, "/_journal", &Value::Null).await?;
    let requests = journal.as_array().cloned().unwrap_or_default();
    let token = |one: &&Value| text(one, "/method") == "POST" && text(one, "/path").ends_with("/auth/tokens");
    Ok(requests.iter().filter(token).count())
}

/// N14: the secret is deleted while objects exist. Nothing is let go meanwhile, and all goes on when it is back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n14_objects_keep_until_deleted_credentials_are_back() -> Result<()> {
    with_world(WorldOptions { host: false, ..WorldOptions::default() }, async |world: Arc<World>| {
        let secret = world.folder().join("neutron-token");
        let give = || std::fs::write(&secret, "a token\n");
        give()?;
        let grant = world.network_grant()?.secret_file("token", &secret);
        world.plugins.grant("network", &grant)?;
        world.start_host().await?;
        let uid = create(&world, "kept").await?;
        world.ready("kept").await?;

        world.stop_host(SOON).await?;
        std::fs::remove_file(&secret)?;
        world.start_host().await?;
        eventually(SOON, "the missing secret to be told", || async {
            let entry = world.host(async |host| host.plugin("network.wasm").await).await?;
            ensure!(text(&entry, "/state") == "failed" && entry.to_string().contains("neutron-token"), "{entry}");
            Ok(())
        })
        .await?;
        world.delete_network("kept").await?;
        steady(Duration::from_secs(2), "the object and its network", || async {
            world.only_network(&uid).await.map(drop)
        })
        .await?;
        let path = world.network_path("kept");
        let held = world.cluster.get(&path).await?.unwrap_or_default();
        ensure!(text(&held, "/metadata/finalizers/0") == "oarlock.dev/network", "{held}");

        world.stop_host(SOON).await?;
        give()?;
        world.start_host().await?;
        world.gone("kept").await?;
        world.nothing_left(&uid).await
    })
    .await
}
