//! Neutron fails in every way of the catalogue (N1 to N15): the object says so, the host retries without a storm, and nothing
//! is lost or made twice.

mod credentials;

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::{Method, StatusCode};
use oarlock_tests::harness::{
    Action, Rule, SOON, World, WorldOptions, api_code, eventually, ready, steady, text, with_world,
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

const NETWORKS: &str = "/v2.0/networks";
const SUBNETS: &str = "/v2.0/subnets";
/// Backoff may have grown by the time a fault ends.
const AFTER_BACKOFF: Duration = Duration::from_secs(90);

fn resyncing(seconds: u32) -> WorldOptions {
    WorldOptions { resync_seconds: seconds, ..WorldOptions::default() }
}

/// POSTs of exactly this path that reached Neutron.
fn made_at(world: &World, path: &str) -> usize {
    let journal = world.neutron_gate.journal();
    journal.iter().filter(|one| one.method == Method::POST && one.path == path && one.forwarded).count()
}

/// What Neutron itself says it made of exactly this path: a request that was cut off on its way is repeated for good reason.
async fn created_at(world: &World, path: &str) -> Result<usize> {
    if world.neutron.is_external() {
        return Ok(made_at(world, path));
    }
    let journal = world.neutron.journal().await?;
    Ok(journal.iter().filter(|one| one["method"] == "POST" && one["path"] == path && one["status"] == 201).count())
}

/// Waits longer than [`World::ready`] does.
async fn ready_after_backoff(world: &World, name: &str) -> Result<Value> {
    eventually(AFTER_BACKOFF, &format!("{name} to be Ready"), || async {
        let object = world.network(name).await?;
        ensure!(ready(&object)?.status == "True", "{object}");
        Ok(object)
    })
    .await
}

async fn create(world: &World, name: &str) -> Result<String> {
    world.create_network(name, "10.8.0.0/24", "10.8.0.1").await
}

/// N1: the answer to a creation is lost after it had its effect.
async fn a_lost_answer(path: &'static str, action: Action) -> Result<()> {
    with_world(WorldOptions::default(), async move |world: Arc<World>| {
        let grant = world.network_grant()?.limits(|limits| limits.deadline_seconds = 3);
        world.kill_host().await?;
        world.plugins.grant("network", &grant)?;
        world.start_host().await?;
        let rule = world.neutron_gate.rule(Rule::every(action).methods(&[Method::POST]).path(path).times(1));
        let uid = create(&world, "lost").await?;
        ready_after_backoff(&world, "lost").await?;
        ensure!(rule.hits() == 1, "the fault did not happen");
        world.only_network(&uid).await?;
        let made = (created_at(&world, NETWORKS).await?, created_at(&world, SUBNETS).await?);
        ensure!(made == (1, 1), "made twice: {made:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n1_a_lost_answer_to_a_network_creation_makes_no_second_network() -> Result<()> {
    a_lost_answer(NETWORKS, Action::DropAnswer).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n1_a_lost_answer_to_a_subnet_creation_makes_no_second_subnet() -> Result<()> {
    a_lost_answer(SUBNETS, Action::DropAnswer).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n1_a_creation_that_is_never_answered_meets_the_deadline_and_is_found() -> Result<()> {
    a_lost_answer(NETWORKS, Action::HoldAnswer).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n2_server_errors_and_cut_connections_are_told_and_retried() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let html =
            |status| Action::Answer { status, headers: Vec::new(), body: Bytes::from_static(b"<html>oops</html>") };
        let mut rules = Vec::new();
        for action in [
            html(StatusCode::INTERNAL_SERVER_ERROR),
            html(StatusCode::BAD_GATEWAY),
            Action::neutron(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", "database is down"),
            Action::Cut,
        ] {
            rules.push(world.neutron_gate.rule(Rule::every(action).path("/v2.0/").times(1)));
        }
        let uid = create(&world, "flaky").await?;
        let warning = world.event(&uid, "Warning", "").await?;
        ensure!(!text(&warning, "/message").is_empty(), "{warning}");
        ready_after_backoff(&world, "flaky").await?;
        ensure!(rules.iter().all(|rule| rule.hits() == 1), "{rules:?}");
        world.only_network(&uid).await?;
        ensure!(made_at(&world, NETWORKS) == 1 && made_at(&world, SUBNETS) == 1, "made twice");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n3_a_network_in_use_is_held_until_its_port_is_gone() -> Result<()> {
    with_world(resyncing(2), async |world: Arc<World>| {
        let uid = create(&world, "used").await?;
        world.ready("used").await?;
        let (network, _) = world.only_network(&uid).await?;
        let port = world.neutron.make("port", &json!({"network_id": network.get("id"), "name": "somebody"})).await?;
        world.delete_network("used").await?;
        world.not_ready("used", &["use", "port"]).await?;
        steady(Duration::from_secs(1), "the object", || async { world.network("used").await.map(|_| ()) }).await?;
        world.neutron.delete("port", &text(&port, "/id")).await?;
        eventually(AFTER_BACKOFF, "the object to go", || async {
            ensure!(world.cluster.get(&world.network_path("used")).await?.is_none(), "it stands");
            Ok(())
        })
        .await?;
        world.nothing_left(&uid).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n4_a_network_deleted_behind_our_back_is_made_again() -> Result<()> {
    with_world(resyncing(2), async |world: Arc<World>| {
        let uid = create(&world, "vanishing").await?;
        world.ready("vanishing").await?;
        let (before, _) = world.only_network(&uid).await?;
        world.neutron.delete("network", &text(&before, "/id")).await?;
        eventually(SOON, "another network, and its id in status", || async {
            let (network, subnet) = world.only_network(&uid).await?;
            ensure!(text(&network, "/id") != text(&before, "/id"), "still the old one");
            let object = world.network("vanishing").await?;
            ensure!(text(&object, "/status/networkId") == text(&network, "/id"), "{object}");
            ensure!(text(&object, "/status/subnetId") == text(&subnet, "/id"), "{object}");
            ensure!(ready(&object)?.status == "True", "{object}");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n5_lists_that_lag_behind_do_not_make_a_second_network() -> Result<()> {
    with_world(resyncing(1), async |world: Arc<World>| {
        if world.neutron.is_external() {
            return skipped("a real Neutron does not lag on demand");
        }
        world.neutron.faults(&json!([{"method": "GET", "action": {"hideNew": {"milliseconds": 4000}}}])).await?;
        let uid = create(&world, "lagging").await?;
        ready_after_backoff(&world, "lagging").await?;
        world.neutron.faults(&json!([])).await?;
        steady(Duration::from_secs(3), "one network", || async {
            let networks = world.neutron.networks_of(&uid).await?;
            ensure!(networks.len() == 1, "{networks:?}");
            Ok(())
        })
        .await?;
        world.only_network(&uid).await?;
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n6_a_network_of_the_same_name_is_somebody_elses() -> Result<()> {
    with_world(resyncing(2), async |world: Arc<World>| {
        // Learn the name, then let somebody else have it first.
        let first = create(&world, "twin").await?;
        world.ready("twin").await?;
        let (ours, _) = world.only_network(&first).await?;
        world.delete_network("twin").await?;
        world.gone("twin").await?;
        let foreign = world.neutron.make("network", &json!({"name": text(&ours, "/name")})).await?;
        let uid = create(&world, "twin").await?;
        world.ready("twin").await?;
        let (network, _) = world.only_network(&uid).await?;
        ensure!(text(&network, "/id") != text(&foreign, "/id"), "adopted by name");
        world.delete_network("twin").await?;
        world.gone("twin").await?;
        let kept = world.neutron.by_id("network", &text(&foreign, "/id")).await?;
        world.neutron.delete("network", &text(&foreign, "/id")).await?;
        ensure!(kept.as_ref().map(|one| text(one, "/name")) == Some(text(&foreign, "/name")), "{kept:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n7_a_quota_is_told_and_retried_slowly() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let over = Action::neutron(StatusCode::CONFLICT, "OverQuota", "Quota exceeded for resources: ['network'].");
        let rule = world.neutron_gate.rule(Rule::every(over).methods(&[Method::POST]).path(NETWORKS));
        let uid = create(&world, "quota").await?;
        world.not_ready("quota", &["quota"]).await?;
        world.event(&uid, "Warning", "quota").await?;
        let before = rule.hits();
        steady(Duration::from_secs(3), "a slow retry", || async {
            ensure!(rule.hits() <= before + 12, "{} tries", rule.hits());
            Ok(())
        })
        .await?;
        drop(rule);
        ready_after_backoff(&world, "quota").await?;
        world.only_network(&uid).await?;
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n9_retry_after_is_respected() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let throttled = Action::Answer {
            status: StatusCode::TOO_MANY_REQUESTS,
            headers: vec![("retry-after".to_owned(), "3".to_owned())],
            body: Bytes::from_static(b"{}"),
        };
        let rule = world.neutron_gate.rule(Rule::every(throttled).path("/v2.0/").times(1));
        let uid = create(&world, "throttled").await?;
        ready_after_backoff(&world, "throttled").await?;
        ensure!(rule.hits() == 1, "the fault did not happen");
        let journal = world.neutron_gate.journal();
        let at = journal.iter().position(|one| one.status == Some(StatusCode::TOO_MANY_REQUESTS)).context("no 429")?;
        let (refused, next) = (journal.get(at).context("no 429")?, journal.get(at + 1).context("no retry")?);
        let waited = next.at.saturating_duration_since(refused.at);
        ensure!(waited >= Duration::from_millis(2900), "the retry came after {waited:?}");
        world.only_network(&uid).await?;
        Ok(())
    })
    .await
}

/// N10: answers that are too slow, too large or no answers at all.
async fn unusable_answers(action: Action) -> Result<()> {
    with_world(WorldOptions::default(), async move |world: Arc<World>| {
        world.kill_host().await?;
        world.plugins.grant("network", &world.network_grant()?.limits(|limits| limits.deadline_seconds = 2))?;
        world.start_host().await?;
        let rule = world.neutron_gate.rule(Rule::every(action).methods(&[Method::GET]).path("/v2.0/"));
        let uid = create(&world, "unusable").await?;
        let ready = world.not_ready("unusable", &[]).await?;
        ensure!(!ready.message.is_empty(), "{ready:?}");
        ensure!(rule.hits() > 0, "the fault did not happen");
        drop(rule);
        ready_after_backoff(&world, "unusable").await?;
        world.only_network(&uid).await?;
        ensure!(created_at(&world, NETWORKS).await? == 1, "made twice");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n10_a_dribbling_answer_meets_the_deadline() -> Result<()> {
    let body = Bytes::from(vec![b' '; 1 << 20]);
    unusable_answers(Action::Trickle { body, pause: Duration::from_millis(200) }).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n10_a_huge_answer_is_refused() -> Result<()> {
    let mut body = br#"{"networks": []"#.to_vec();
    body.resize(12 << 20, b' ');
    body.push(b'}');
    unusable_answers(Action::Answer { status: StatusCode::OK, headers: Vec::new(), body: body.into() }).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n10_garbage_is_told_and_survived() -> Result<()> {
    unusable_answers(Action::garbage()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n10_silence_meets_the_deadline() -> Result<()> {
    unusable_answers(Action::Silence).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n12_only_what_we_own_is_put_back() -> Result<()> {
    with_world(resyncing(1), async |world: Arc<World>| {
        let uid = create(&world, "drift").await?;
        world.ready("drift").await?;
        let (_, subnet) = world.only_network(&uid).await?;
        let id = text(&subnet, "/id");
        let theirs = json!({"gateway_ip": null, "dns_nameservers": ["9.9.9.9"]});
        world.neutron.update("subnet", &id, &theirs).await?;
        let after = eventually(SOON, "the gateway to be put back", || async {
            let (_, subnet) = world.only_network(&uid).await?;
            ensure!(text(&subnet, "/gateway_ip") == "10.8.0.1", "{subnet}");
            Ok(subnet)
        })
        .await?;
        ensure!(text(&after, "/id") == id, "a new subnet was made");
        ensure!(after.get("dns_nameservers") == Some(&json!(["9.9.9.9"])), "somebody's field was taken back: {after}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n13_an_immutable_cidr_is_refused_and_nothing_is_deleted() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let uid = create(&world, "fixed").await?;
        world.ready("fixed").await?;
        let (before, subnet) = world.only_network(&uid).await?;
        let patch = json!({"spec": {"cidr": "10.7.0.0/24", "gateway": "10.7.0.1"}});
        match world.cluster.merge_patch(&world.network_path("fixed"), &patch).await {
            // The schema may refuse it at the door; else the plugin says so.
            Err(error) => ensure!(api_code(&error) == Some(422), "{error:#}"),
            Ok(_) => {
                world.not_ready("fixed", &["cidr"]).await?;
            }
        }
        let (network, kept) = world.only_network(&uid).await?;
        ensure!(
            text(&network, "/id") == text(&before, "/id") && text(&kept, "/id") == text(&subnet, "/id"),
            "replaced"
        );
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n15_an_outage_is_waited_out_without_a_storm_or_a_stampede() -> Result<()> {
    const OBJECTS: usize = 20;
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let outage = world.neutron_gate.rule(Rule::every(Action::Cut));
        let mut uids = Vec::new();
        for number in 0..OBJECTS {
            let cidr = format!("10.{number}.0.0/24");
            uids.push(world.create_network(&format!("many-{number}"), &cidr, &format!("10.{number}.0.1")).await?);
        }
        eventually(SOON, "every object to say why it waits", || async {
            for number in 0..OBJECTS {
                let object = world.network(&format!("many-{number}")).await?;
                ensure!(ready(&object)?.status == "False", "{object}");
            }
            Ok(())
        })
        .await?;
        let before = outage.hits();
        steady(Duration::from_secs(4), "a bounded number of tries", || async {
            // Each object doubles its wait: far from one try per object and poll.
            ensure!(outage.hits() - before <= 10 * OBJECTS as u64, "{} tries in the outage", outage.hits() - before);
            Ok(())
        })
        .await?;
        drop(outage);
        for number in 0..OBJECTS {
            ready_after_backoff(&world, &format!("many-{number}")).await?;
        }
        for uid in &uids {
            world.only_network(uid).await?;
        }
        ensure!(made_at(&world, NETWORKS) == OBJECTS, "{} networks were made", made_at(&world, NETWORKS));
        Ok(())
    })
    .await
}

#[expect(clippy::unnecessary_wraps, clippy::print_stdout, reason = "ends a test's body, and says that it was skipped")]
fn skipped(reason: &str) -> Result<()> {
    println!("skipped: {reason}");
    Ok(())
}
