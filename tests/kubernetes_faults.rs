//! The API server refuses, stumbles, throttles, lies or says nothing: the host retries without a storm, and nothing is lost.

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::{Method, StatusCode};
use oarlock_tests::harness::{Action, Rule, SOON, World, WorldOptions, eventually, ready, steady, text, with_world};
use std::{sync::Arc, time::Duration};

const NETWORKS: &str = "/networks";
const WRITES: [Method; 4] = [Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
/// Backoff and the host's own deadlines may have to pass.
const PATIENCE: Duration = Duration::from_secs(120);

async fn becomes_ready(world: &World, name: &str) -> Result<()> {
    eventually(PATIENCE, &format!("{name} to be Ready"), || async {
        let object = world.network(name).await?;
        ensure!(ready(&object)?.status == "True", "{object}");
        Ok(())
    })
    .await
}

/// The first writes to Networks meet the action; then all is well. Everything must be as if nothing had been.
async fn writes_meet(action: Action, times: u64) -> Result<()> {
    with_world(WorldOptions::default(), async move |world: Arc<World>| {
        let rule = world.kubernetes_gate.rule(Rule::every(action).methods(&WRITES).path(NETWORKS).times(times));
        let uid = world.create_network("struck", "10.6.0.0/24", "10.6.0.1").await?;
        becomes_ready(&world, "struck").await?;
        ensure!(rule.hits() == times, "the fault happened {} times", rule.hits());
        let (network, _) = world.only_network(&uid).await?;
        let object = world.network("struck").await?;
        ensure!(text(&object, "/status/networkId") == text(&network, "/id"), "{object}");
        made_once(&world)?;
        world.delete_whole_network("struck", &uid).await
    })
    .await
}

fn made_once(world: &World) -> Result<()> {
    let journal = world.neutron_gate.journal();
    let made = journal.iter().filter(|one| one.method == Method::POST && one.path == "/v2.0/networks").count();
    ensure!(made == 1, "{made} networks were made");
    Ok(())
}

macro_rules! writes_answered {
    ($($name:ident: $status:ident, $reason:literal;)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() -> Result<()> {
            let action = Action::kubernetes(StatusCode::$status, $reason, "refused by the test", None);
            writes_meet(action, 3).await
        }
    )*};
}

writes_answered! {
    writes_answered_401_are_tried_again: UNAUTHORIZED, "Unauthorized";
    writes_answered_403_are_tried_again: FORBIDDEN, "Forbidden";
    writes_answered_409_are_tried_again: CONFLICT, "Conflict";
    writes_answered_500_are_tried_again: INTERNAL_SERVER_ERROR, "InternalError";
    writes_answered_503_are_tried_again: SERVICE_UNAVAILABLE, "ServiceUnavailable";
    writes_answered_504_are_tried_again: GATEWAY_TIMEOUT, "Timeout";
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_answered_with_garbage_are_tried_again() -> Result<()> {
    writes_meet(Action::garbage(), 2).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_that_lose_their_answer_are_not_repeated_blindly() -> Result<()> {
    writes_meet(Action::DropAnswer, 3).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_is_never_answered_meets_a_deadline() -> Result<()> {
    writes_meet(Action::Silence, 1).await
}

/// A 404 for an object that exists means: it is gone, or the caller looked at an old one. The watch knows better.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_answered_404_is_looked_at_again_at_the_next_resync() -> Result<()> {
    let options = WorldOptions { resync_seconds: 2, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        let missing = Action::kubernetes(StatusCode::NOT_FOUND, "NotFound", "not found, says the test", None);
        let rule = world.kubernetes_gate.rule(Rule::every(missing).methods(&WRITES).path(NETWORKS).times(1));
        let uid = world.create_network("struck", "10.6.0.0/24", "10.6.0.1").await?;
        becomes_ready(&world, "struck").await?;
        ensure!(rule.hits() == 1, "the fault did not happen");
        world.only_network(&uid).await?;
        made_once(&world)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retry_after_of_the_api_server_is_respected() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let busy = Action::kubernetes(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", "too many", Some(3));
        let rule = world.kubernetes_gate.rule(Rule::every(busy).methods(&WRITES).path(NETWORKS).times(1));
        let uid = world.create_network("throttled", "10.6.0.0/24", "10.6.0.1").await?;
        becomes_ready(&world, "throttled").await?;
        ensure!(rule.hits() == 1, "the fault did not happen");
        let writes = world.kubernetes_gate.writes_since(0);
        let of_networks: Vec<_> = writes.iter().filter(|one| one.path.contains(NETWORKS)).collect();
        let at =
            of_networks.iter().position(|one| one.status == Some(StatusCode::TOO_MANY_REQUESTS)).context("no 429")?;
        let (refused, next) = (of_networks.get(at).context("no 429")?, of_networks.get(at + 1).context("no retry")?);
        let waited = next.at.saturating_duration_since(refused.at);
        ensure!(waited >= Duration::from_millis(2900), "the retry came after {waited:?}");
        // The worker does not wait with it: the key comes back to the queue, and the refusal is counted.
        let labels = ["plugin=\"network\"", "code=\"429\""];
        let refused = world.host(async |host| host.metric("oarlock_api_requests_total", &labels).await).await?;
        ensure!(refused == 1.0, "{refused} refusals are counted");
        world.only_network(&uid).await?;
        Ok(())
    })
    .await
}

/// Lists and watches meet the action for a while after the start; then the host catches up.
async fn watches_meet(action: Action) -> Result<()> {
    let options = WorldOptions { host: false, ..WorldOptions::default() };
    with_world(options, async move |world: Arc<World>| {
        let reads = Rule::every(action).methods(&[Method::GET]).path("/apis/samplecrd.k8s.io/v1/networks");
        let rule = world.kubernetes_gate.rule(reads);
        let uid = world.create_network("unseen", "10.6.0.0/24", "10.6.0.1").await?;
        world.start_host().await?;
        eventually(SOON, "the host to meet the fault twice", || async {
            ensure!(rule.hits() >= 2, "{} times", rule.hits());
            Ok(())
        })
        .await?;
        let before = rule.hits();
        steady(Duration::from_secs(3), "a slow retry", || async {
            ensure!(rule.hits() <= before + 12, "{} tries", rule.hits());
            world.host(async |host| host.plugins().await.map(|_| ())).await
        })
        .await?;
        drop(rule);
        becomes_ready(&world, "unseen").await?;
        world.only_network(&uid).await?;
        made_once(&world)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_answered_500_are_tried_again_slowly() -> Result<()> {
    watches_meet(Action::kubernetes(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", "etcd is away", None)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_answered_403_are_tried_again_slowly() -> Result<()> {
    watches_meet(Action::kubernetes(StatusCode::FORBIDDEN, "Forbidden", "no", None)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_answered_with_garbage_are_tried_again_slowly() -> Result<()> {
    watches_meet(Action::garbage()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_that_breaks_misses_nothing() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let first = world.create_network("kept", "10.6.0.0/24", "10.6.0.1").await?;
        let second = world.create_network("removed", "10.5.0.0/24", "10.5.0.1").await?;
        world.ready("kept").await?;
        world.ready("removed").await?;
        world.kubernetes_gate.set_down(true);
        // While the host is blind: one is edited, one goes, one comes.
        world.set_gateway("kept", "10.6.0.9").await?;
        world.delete_network("removed").await?;
        let third = world.create_network("added", "10.4.0.0/24", "10.4.0.1").await?;
        steady(Duration::from_secs(2), "a live host", || async {
            world.host(async |host| host.plugins().await.map(|_| ())).await
        })
        .await?;
        world.kubernetes_gate.set_down(false);
        becomes_ready(&world, "added").await?;
        world.gone("removed").await?;
        world.nothing_left(&second).await?;
        world.only_network(&third).await?;
        eventually(PATIENCE, "the edit to reach Neutron", || async {
            let (_, subnet) = world.only_network(&first).await?;
            ensure!(text(&subnet, "/gateway_ip") == "10.6.0.9", "{subnet}");
            Ok(())
        })
        .await
    })
    .await
}

/// I3 of the catalogue: the place in history that the watch wants to go on from is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_answered_410_lists_again() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let uid = world.create_network("early", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("early").await?;
        let expired = Action::kubernetes(StatusCode::GONE, "Expired", "too old resource version", None);
        let watches = Rule::every(expired).methods(&[Method::GET]).path("watch=").times(2);
        let rule = world.kubernetes_gate.rule(watches);
        world.kubernetes_gate.cut();
        rule.hit().await?;
        world.create_network("late", "10.5.0.0/24", "10.5.0.1").await?;
        becomes_ready(&world, "late").await?;
        world.only_network(&uid).await?;
        Ok(())
    })
    .await
}

/// The series is there before the first relist, so that an alert sees it rise.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b3_a_running_host_counts_relists_of_a_watch_that_cannot_be_resumed() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let relists = async || {
            let text = world.host(async |host| Ok(host.admin().get("/metrics").await?.text())).await?;
            let of_networks = text
                .lines()
                .find(|line| line.starts_with("oarlock_informer_relists_total{") && line.contains("\"Network\""));
            anyhow::Ok(
                of_networks.and_then(|line| line.rsplit_once(' ')).and_then(|(_, value)| value.parse::<u64>().ok()),
            )
        };
        eventually(SOON, "a series that begins at 0", || async {
            let relists = relists().await?;
            ensure!(relists == Some(0), "{relists:?}");
            Ok(())
        })
        .await?;
        let expired = Action::kubernetes(StatusCode::GONE, "Expired", "too old resource version", None);
        let rule =
            world.kubernetes_gate.rule(Rule::every(expired).methods(&[Method::GET]).path("networks?&watch=").times(1));
        world.kubernetes_gate.cut();
        rule.hit().await?;
        eventually(SOON, "the relist to be counted", || async {
            let relists = relists().await?;
            ensure!(relists.is_some_and(|count| count > 0), "{relists:?}");
            Ok(())
        })
        .await
    })
    .await
}

/// Objects that make no sense to the host must not stop the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_api_server_that_is_not_there_yet_is_waited_for() -> Result<()> {
    let options = WorldOptions { host: false, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        world.kubernetes_gate.set_down(true);
        world.start_host().await?;
        steady(Duration::from_secs(2), "a live host", || async {
            world.host(async |host| host.admin().get("/livez").await.map(|_| ())).await
        })
        .await?;
        let lines = world.log(|_| true).await?.len();
        ensure!(lines < 60, "{lines} log lines while waiting");
        world.kubernetes_gate.set_down(false);
        let uid = world.create_network("patient", "10.6.0.0/24", "10.6.0.1").await?;
        becomes_ready(&world, "patient").await?;
        world.only_network(&uid).await?;
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_huge_object_and_an_odd_one_do_not_stop_the_others() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        let path = world.network_path("");
        let annotations = serde_json::json!({"big": "x".repeat(200_000), "odd": "\u{0}\u{7f}\u{2028}\"\\"});
        let object = serde_json::json!({"apiVersion": "samplecrd.k8s.io/v1", "kind": "Network",
            "metadata": {"name": "huge", "annotations": annotations},
            "spec": {"cidr": "10.3.0.0/24", "gateway": "10.3.0.1"}});
        world.cluster.create(path.trim_end_matches('/'), &object).await?;
        world.create_network("plain", "10.6.0.0/24", "10.6.0.1").await?;
        becomes_ready(&world, "plain").await?;
        becomes_ready(&world, "huge").await?;
        let garbled = Bytes::from_static(br#"{"kind":"NetworkList","apiVersion":"samplecrd.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[7,null,{"metadata":5}]}"#);
        let lie = Action::Answer { status: StatusCode::OK, headers: Vec::new(), body: garbled };
        let networks = Rule::every(lie).methods(&[Method::GET]).path("/apis/samplecrd.k8s.io/v1/networks").times(2);
        let _rule = world.kubernetes_gate.rule(networks);
        world.kubernetes_gate.cut();
        world.set_gateway("plain", "10.6.0.8").await?;
        world.ready("plain").await?;
        Ok(())
    })
    .await
}
