//! Collectors that are down, slow, wrong or silent: the host goes on, counts what it drops, and says so once.

use super::collector::{Collector, Mood};
use super::{hurry, no_host, start};
use anyhow::{Result, ensure};
use http::StatusCode;
use oarlock_tests::harness::{SOON, World, eventually, with_world};
use std::sync::Arc;

async fn dropped(world: &World) -> Result<f64> {
    world.host(async |host| host.metric("oarlock_otlp_spans_dropped_total", &[]).await).await
}

/// Makes a Network, and waits until spans of it were dropped.
async fn drops(world: &World, name: &str) -> Result<()> {
    let before = dropped(world).await?;
    world.create_network(name, "10.0.0.0/24", "10.0.0.1").await?;
    world.ready(name).await?;
    eventually(SOON, "dropped spans", || async {
        let now = dropped(world).await?;
        ensure!(now > before, "{now}");
        Ok(())
    })
    .await
}

async fn lines(world: &World, part: &str) -> Result<usize> {
    Ok(world.log(|line| line.text.contains(part)).await?.len())
}

const DROPPED: &str = "spans are dropped";
const AGAIN: &str = "spans are sent again";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_is_down_costs_a_log_line_and_its_spans() -> Result<()> {
    with_world(no_host(), async |world: Arc<World>| {
        // Nobody listens there; a port that was free before may be another test's by now.
        let closed = "http://127.0.0.1:1";
        hurry(&world);
        world.start_host_with(&["--otlp-endpoint", closed]).await?;
        for number in 0..3 {
            drops(&world, &format!("unseen-{number}")).await?;
        }
        let said = world.log(|line| line.text.contains(DROPPED)).await?;
        ensure!(said.len() == 1 && said.iter().all(|line| line.text.contains(closed)), "{said:?}");
        ensure!(said.iter().all(|line| line.text.contains("refused")), "{said:?}");
        let (status, _) = world.stop_host(SOON).await?;
        ensure!(status.success(), "{status}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_fails_is_told_once_and_its_return_too() -> Result<()> {
    with_world(no_host(), async |world: Arc<World>| {
        let collector = Collector::start(Mood::Refuses(StatusCode::INTERNAL_SERVER_ERROR)).await?;
        start(&world, &collector).await?;
        drops(&world, "refused").await?;
        drops(&world, "refused-again").await?;
        ensure!(lines(&world, DROPPED).await? == 1 && lines(&world, "500").await? >= 1);
        ensure!(lines(&world, AGAIN).await? == 0);
        // An answer that is no protobuf is a success: its status says so.
        collector.change(Mood::Babbles);
        world.create_network("babbled", "10.0.0.0/24", "10.0.0.1").await?;
        world.logged("spans are sent again", |line| line.text.contains(AGAIN)).await?;
        let before = dropped(&world).await?;
        collector.change(Mood::Takes);
        world.ready("babbled").await?;
        let taken = collector.clone();
        world.create_network("taken", "10.0.0.0/24", "10.0.0.1").await?;
        taken.trace("a reconcile", |span| span.attribute("k8s.object.name") == "taken").await?;
        ensure!(dropped(&world).await? <= before, "spans are dropped although the collector takes them");
        Ok(())
    })
    .await
}

/// A success with rejected spans, as backends answer that have limits: HTTP 200.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_that_a_collector_rejects_in_a_success_count_as_dropped() -> Result<()> {
    with_world(no_host(), async |world: Arc<World>| {
        let collector = Collector::start(Mood::Rejects).await?;
        start(&world, &collector).await?;
        drops(&world, "rejected").await?;
        drops(&world, "rejected-again").await?;
        let said = world.log(|line| line.text.contains(DROPPED)).await?;
        ensure!(said.len() == 1 && said.iter().all(|line| line.text.contains("scripted limit")), "{said:?}");
        ensure!(lines(&world, AGAIN).await? == 0, "a success with rejected spans is not the end of the trouble");
        eventually(SOON, "one rejected span of each request, and all others exported", || async {
            let count = async |name| world.host(async |host| host.metric(name, &[]).await).await;
            let (dropped, exported) = (dropped(&world).await?, count("oarlock_otlp_spans_exported_total").await?);
            let (requests, spans) = (collector.requests(), collector.spans().len());
            ensure!(dropped == f64::from(u32::try_from(requests)?), "{dropped} of {requests} requests");
            ensure!(dropped + exported == f64::from(u32::try_from(spans)?), "{dropped} and {exported} of {spans}");
            Ok(())
        })
        .await?;
        collector.change(Mood::Warns);
        world.create_network("warned", "10.0.0.0/24", "10.0.0.1").await?;
        world.logged("spans are sent again", |line| line.text.contains(AGAIN)).await?;
        world.logged("the collector's warning", |line| line.text.contains("scripted advice")).await?;
        world.ready("warned").await?;
        ensure!(lines(&world, "scripted advice").await? == 1);
        Ok(())
    })
    .await
}

/// The queue is full of spans that wait for the collector. Reconciles do not wait, and neither does the end of the host.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_never_answers_holds_nothing_up() -> Result<()> {
    with_world(no_host(), async |world: Arc<World>| {
        let collector = Collector::start(Mood::Hangs).await?;
        world.set_environment("OTEL_BSP_MAX_QUEUE_SIZE", "8");
        start(&world, &collector).await?;
        for number in 0..5 {
            drops(&world, &format!("held-{number}")).await?;
        }
        ensure!(lines(&world, DROPPED).await? == 1);
        ensure!(lines(&world, "OTEL_BSP_MAX_QUEUE_SIZE").await? == 1);
        // The bound on the flush, and not the collector's ten seconds for each batch.
        let (status, process) = world.stop_host(SOON).await?;
        ensure!(status.success(), "{status}");
        let ends = process.lines().iter().any(|line| line.text.contains("the last spans were not sent"));
        ensure!(ends, "{}", process.tail());
        Ok(())
    })
    .await
}

/// The bound is of one trace: the guest's requests are sent, and the root counts those without a span.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_cannot_flood_the_collector_with_one_trace() -> Result<()> {
    let options = oarlock_tests::harness::WorldOptions { network: false, crd: false, ..no_host() };
    with_world(options, async |world: Arc<World>| {
        let collector = Collector::start(Mood::Takes).await?;
        let url = world.neutron_gate.url();
        let grant = super::secrets::attackers_grant(&world).origin(&url).limits(|limits| {
            limits.http_requests = 700;
            limits.deadline_seconds = 300;
        });
        world.plugins.grant("attacker", &grant)?;
        world.plugins.place("attacker.wasm", &crate::attacks::attacker(|_| {})?)?;
        start(&world, &collector).await?;
        let asked = serde_json::json!({"actions": [{"op": "http", "url": format!("{url}/flood"), "n": 600}]});
        crate::attacks::ask(&world, "flood", &asked).await?;
        let trace = collector.trace("the reconcile", |span| span.attribute("k8s.object.name") == "flood").await?;
        ensure!(trace.spans.len() <= 512, "{} spans", trace.spans.len());
        let left_out: usize = trace.root.attribute("oarlock.spans_left_out").parse()?;
        ensure!(left_out >= 90 && trace.spans.len() + left_out >= 604, "{left_out} of {}", trace.spans.len());
        let asked = world.neutron_gate.journal().iter().filter(|one| one.path == "/flood").count();
        ensure!(asked == 600, "{asked} requests");
        Ok(())
    })
    .await
}
