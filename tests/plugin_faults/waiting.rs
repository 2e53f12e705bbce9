//! P8: a plugin that waits in an import for something that never comes is told before its deadline, and holds up nobody.

use super::{cured, misfit, the_others_go_on, told, with_misfit};
use anyhow::{Result, ensure};
use http::Method;
use oarlock_tests::harness::{Action, Rule, World};
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p8_a_server_that_is_silent_is_told_to_the_plugin_before_its_deadline() -> Result<()> {
    with_misfit(async |world: Arc<World>| {
        let rule = world.neutron_gate.rule(Rule::every(Action::Silence).path("/misfit"));
        let uid = misfit(&world, "bad", "http").await?;
        told(&world, "http", &uid, &["timedout"]).await?;
        ensure!(rule.hits() > 0, "nothing was asked");
        the_others_go_on(&world).await?;
        drop(rule);
        cured(&world, "bad").await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p8_an_api_server_that_is_silent_is_told_to_the_plugin_before_its_deadline() -> Result<()> {
    with_misfit(async |world: Arc<World>| {
        let silence = Rule::every(Action::Silence).methods(&[Method::GET]).path("configmaps/bad-child");
        let rule = world.kubernetes_gate.rule(silence);
        let uid = misfit(&world, "bad", "live").await?;
        told(&world, "live", &uid, &["has not answered within the deadline"]).await?;
        ensure!(rule.hits() > 0, "nothing was asked");
        the_others_go_on(&world).await?;
        drop(rule);
        cured(&world, "bad").await
    })
    .await
}

/// Requests beyond `limits.httpConcurrent` wait for their turn, and go out when it has come.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p8_requests_at_once_are_bounded_and_the_others_wait_their_turn() -> Result<()> {
    let grant = |world: &World| super::grant(world).limits(|limits| limits.http_concurrent = 1);
    super::with_misfit_granted(grant, async |world: Arc<World>| {
        let rule = world.neutron_gate.rule(Rule::every(Action::HoldAnswer).path("/misfit"));
        let mut uids = Vec::new();
        for name in ["one", "two"] {
            uids.push(misfit(&world, name, "http").await?);
        }
        for uid in &uids {
            told(&world, "http", uid, &["timedout"]).await?;
        }
        let under_way = world.neutron_gate.journal().into_iter().filter(|one| one.path.contains("/misfit"));
        ensure!(under_way.count() >= 1 && rule.hits() >= 1, "nothing was asked");
        drop(rule);
        for uid in &uids {
            told(&world, "http", uid, &["answered"]).await?;
        }
        Ok(())
    })
    .await
}
