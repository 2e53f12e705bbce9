//! OpenTelemetry: what a collector gets from a host, what servers and the log get of the trace, and what nobody gets.

mod broken;
mod collector;
mod secrets;

use crate::admission::{allowed, door, gatekeeper, review};
use anyhow::{Context as _, Result, ensure};
use collector::{Collector, Mood, Span, Trace};
use http::Method;
use oarlock_tests::harness::with_world;
use oarlock_tests::harness::{Exchange, Grant, LogLine, SOON, World, WorldOptions, eventually, oarlock_binary};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Kinds of spans.
const INTERNAL: i32 = 1;
const SERVER: i32 = 2;
const CLIENT: i32 = 3;

fn no_host() -> WorldOptions {
    WorldOptions { host: false, ..WorldOptions::default() }
}

/// Batches leave soon.
fn hurry(world: &World) {
    world.set_environment("OTEL_BSP_SCHEDULE_DELAY", "50");
}

async fn start(world: &World, collector: &Collector) -> Result<()> {
    hurry(world);
    world.start_host_with(&["--otlp-endpoint", collector.url()]).await
}

/// The trace of the reconcile that created what a Network asks for.
async fn created(world: &World, collector: &Collector, name: &str) -> Result<Trace> {
    world.create_network(name, "10.0.0.0/24", "10.0.0.1").await?;
    world.ready(name).await?;
    let is_root = |span: &Span| {
        span.name == "reconcile"
            && span.attribute("k8s.object.name") == name
            && span.attribute("oarlock.outcome") == "synced"
    };
    let posted = |trace: &Trace| !trace.all("POST").is_empty();
    eventually(SOON, "the trace that created the network", || async {
        let roots: Vec<Span> = collector.spans().into_iter().filter(is_root).collect();
        for root in roots {
            let trace = collector.trace("a trace", |span| span.id == root.id).await?;
            if posted(&trace) {
                return Ok(trace);
            }
        }
        anyhow::bail!("{:#?}", collector.spans())
    })
    .await
}

/// The span that a request says it belongs to.
fn named<'a>(trace: &'a Trace, exchange: &Exchange) -> Option<&'a Span> {
    let header = exchange.trace.first()?.as_deref()?;
    let mut parts = header.split('-').skip(1);
    let (of, id) = (parts.next()?, parts.next()?);
    trace.spans.iter().find(|span| span.trace == of && span.id == id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reconcile_is_one_trace_with_its_calls_requests_and_writes() -> Result<()> {
    with_world(no_host(), async |world: Arc<World>| {
        let collector = Collector::start(Mood::Takes).await?;
        start(&world, &collector).await?;
        let trace = created(&world, &collector, "traced").await?;
        trace.is_a_tree()?;
        let root = &trace.root;
        ensure!(root.parent.is_empty() && root.kind == INTERNAL && !root.failed, "{root:#?}");
        for (key, value) in [
            ("oarlock.plugin.name", "network"),
            ("k8s.object.kind", "Network"),
            ("k8s.object.api_version", "samplecrd.k8s.io/v1"),
            ("k8s.namespace.name", world.namespace.as_str()),
            ("oarlock.attempt", "1"),
        ] {
            ensure!(root.attribute(key) == value, "{key}: {root:#?}");
        }
        ensure!(["event", "initial-list"].contains(&root.attribute("oarlock.trigger")), "{root:#?}");
        let plugin = world.host(async |host| host.plugin("network").await).await?;
        for key in ["version", "digest"] {
            let told = plugin.get(key).and_then(serde_json::Value::as_str).unwrap_or_default();
            let traced = root.attribute(&format!("oarlock.plugin.{key}"));
            ensure!(!told.is_empty() && traced == told, "{key}: {traced} is not {told}");
        }
        for name in ["queue wait", "instantiate", "get-desired", "patch", "apply networks/status"] {
            ensure!(trace.parent(trace.one(name)?)?.id == root.id, "{name}");
        }
        ensure!(trace.all("get-actual").len() == 2, "{:#?}", trace.spans);
        ensure!(trace.spans.iter().filter(|span| span.parent.is_empty()).count() == 1, "{:#?}", trace.spans);
        let written = trace.one("apply networks/status")?;
        ensure!(written.attribute("http.response.status_code") == "200" && written.kind == CLIENT, "{written:#?}");
        ensure!(written.attribute("url.path").ends_with("/networks/traced/status"), "{written:#?}");
        // Requests of the guest belong to its calls, and say to the server which span they are.
        let mut methods = BTreeSet::new();
        let (origin, calls) = (world.neutron_gate.url(), ["get-actual", "patch"]);
        for exchange in world.neutron_gate.journal() {
            let Some(span) = named(&trace, &exchange) else { continue };
            methods.insert(exchange.method.clone());
            let path = exchange.path.split('?').next().unwrap_or_default();
            ensure!(span.attribute("url.full") == format!("{origin}{path}"), "{exchange}: {span:#?}");
            ensure!(span.attribute("http.request.method") == exchange.method.as_str(), "{exchange}: {span:#?}");
            let status = exchange.status.map(|status| status.as_u16().to_string()).unwrap_or_default();
            ensure!(span.attribute("http.response.status_code") == status, "{exchange}: {span:#?}");
            ensure!(calls.contains(&trace.parent(span)?.name.as_str()) && span.kind == CLIENT, "{span:#?}");
        }
        ensure!(methods.is_superset(&[Method::GET, Method::POST].into()), "{methods:?}");
        let writes: Vec<_> =
            world.kubernetes_gate.journal().into_iter().filter(|one| named(&trace, one).is_some()).collect();
        ensure!(writes.iter().any(|one| one.path.contains("/networks/traced/status")), "{writes:?}");
        let resource = collector.resources().pop().context("no resource")?;
        ensure!(resource.get("service.name").is_some_and(|name| name == "oarlock"), "{resource:?}");
        ensure!(resource.contains_key("service.version"), "{resource:?}");
        log_and_metrics_name(&world, &collector, &trace).await
    })
    .await
}

/// The log lines of a reconcile have the id of its trace, and so has a bucket of the metrics.
async fn log_and_metrics_name(world: &World, collector: &Collector, trace: &Trace) -> Result<()> {
    let correlation = trace.root.attribute("oarlock.correlation_id");
    let of_reconcile = |field: &str| Some(field) == Some(correlation);
    let of_this = |line: &LogLine| line.field("correlation_id").is_some_and(|id| of_reconcile(&id));
    let lines = world.logged(correlation, of_this).await?;
    for line in &lines {
        ensure!(line.field("trace_id").as_deref() == Some(&trace.root.trace), "{line:?}");
    }
    let accept = [("accept", "application/openmetrics-text")];
    let get = async |headers: &[(&'static str, &'static str)]| {
        world.host(async |host| host.admin().send(Method::GET, "/metrics", headers, bytes::Bytes::new()).await).await
    };
    eventually(SOON, "exemplars", || async {
        let text = get(&accept).await?.text();
        let ids: BTreeSet<&str> = text
            .lines()
            .filter(|line| line.starts_with("controller_runtime_reconcile_time_seconds_bucket"))
            .filter_map(|line| line.split_once("# {trace_id=\"")?.1.split('"').next())
            .collect();
        let known: BTreeSet<String> = collector.spans().into_iter().map(|span| span.trace).collect();
        ensure!(!ids.is_empty() && ids.iter().all(|id| known.contains(*id)), "{ids:?} {known:?}");
        Ok(())
    })
    .await?;
    ensure!(!get(&[]).await?.text().contains("trace_id"), "an exemplar in the older format");
    eventually(SOON, "the spans are counted", || async {
        let counted = world.host(async |host| host.metric("oarlock_otlp_spans_exported_total", &[]).await).await?;
        #[expect(clippy::cast_precision_loss, reason = "few spans")]
        let received = collector.spans().len() as f64;
        ensure!(counted > 0.0 && (counted - received).abs() < 0.5, "{counted} counted, {received} received");
        Ok(())
    })
    .await
}

/// An API server that traces sends the context of the request which it admits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_continues_the_trace_of_its_api_server() -> Result<()> {
    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const PARENT: &str = "00f067aa0ba902b7";
    let options = WorldOptions { network: false, crd: false, ..no_host() };
    with_world(options, async |world: Arc<World>| {
        let collector = Collector::start(Mood::Takes).await?;
        let grant = Grant::nothing().rule("", &["configmaps"], &["get", "list", "watch"]).all_admission();
        world.plugins.grant("gatekeeper", &grant)?;
        world.plugins.place("gatekeeper.wasm", &gatekeeper("yes")?)?;
        hurry(&world);
        world.start_host_with(&["--admission-addr", "127.0.0.1:0", "--otlp-endpoint", collector.url()]).await?;
        let door = door(&world).await?;
        let asked = |name: &str| {
            review(&json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": name, "namespace": "n", "annotations": {"gate": "label"}}}))
        };
        let ask = async |name: &str, headers: &[(&str, &str)]| {
            let answer = door.client.json(Method::POST, "/mutate/gatekeeper/0", headers, &asked(name)).await?;
            ensure!(allowed(&answer.json()?["response"]), "{}", answer.text());
            Ok(())
        };
        ask("silent", &[("traceparent", &format!("00-{}-{PARENT}-00", TRACE.replace('4', "5")))]).await?;
        ask("garbage", &[("traceparent", "00-not-a-trace-01")]).await?;
        ask("continued", &[("traceparent", &format!("00-{TRACE}-{PARENT}-01"))]).await?;
        let root =
            |name: &'static str| move |span: &Span| span.name == "review" && span.attribute("k8s.object.name") == name;
        let trace = collector.trace("the review", root("continued")).await?;
        trace.is_a_tree()?;
        let root_span = &trace.root;
        ensure!(root_span.trace == TRACE && root_span.parent == PARENT && root_span.kind == SERVER, "{root_span:#?}");
        for (key, value) in [
            ("oarlock.plugin.name", "gatekeeper"),
            ("oarlock.plugin.version", "yes"),
            ("oarlock.webhook", "/mutate/gatekeeper"),
            ("oarlock.operation", "CREATE"),
            ("oarlock.outcome", "changed"),
            ("k8s.object.kind", "ConfigMap"),
        ] {
            ensure!(root_span.attribute(key) == value, "{key}: {root_span:#?}");
        }
        for name in ["queue wait", "instantiate", "get-desired", "patch"] {
            ensure!(trace.parent(trace.one(name)?)?.id == root_span.id, "{name}");
        }
        let own = collector.trace("a review of its own", root("garbage")).await?;
        ensure!(own.root.parent.is_empty() && own.root.trace != TRACE, "{:#?}", own.root);
        // Its API server does not sample it. It came first.
        ensure!(!collector.spans().iter().any(root("silent")), "{:#?}", collector.spans());
        let metrics = world
            .host(async |host| {
                let accept = [("accept", "application/openmetrics-text")];
                host.admin().send(Method::GET, "/metrics", &accept, bytes::Bytes::new()).await
            })
            .await?;
        let exemplar = format!("# {{trace_id=\"{TRACE}\"}}");
        let own = format!("# {{trace_id=\"{}\"}}", own.root.trace);
        let latency = |line: &&str| line.starts_with("controller_runtime_webhook_latency_seconds_bucket");
        let text = metrics.text();
        ensure!(text.lines().filter(latency).any(|line| line.contains(&exemplar) || line.contains(&own)), "{text}");
        Ok(())
    })
    .await
}

/// A guest's own headers stay when nothing is traced, and a trace that is not sampled is passed on as such.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_samples_nothing_is_sent_and_servers_learn_it() -> Result<()> {
    with_world(no_host(), async |world: Arc<World>| {
        let collector = Collector::start(Mood::Takes).await?;
        world.set_environment("OTEL_TRACES_SAMPLER", "always_off");
        start(&world, &collector).await?;
        world.create_network("unsampled", "10.0.0.0/24", "10.0.0.1").await?;
        world.ready("unsampled").await?;
        let journal = world.neutron_gate.journal();
        let headers: Vec<&str> = journal.iter().filter_map(|one| one.trace[0].as_deref()).collect();
        ensure!(headers.len() == journal.len() && headers.iter().all(|header| header.ends_with("-00")), "{journal:?}");
        let (status, process) = world.stop_host(SOON).await?;
        ensure!(status.success(), "{status}");
        ensure!(collector.requests() == 0, "{:?}", collector.spans());
        ensure!(process.lines().iter().all(|line| line.field("trace_id").is_none()), "{}", process.tail());
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_an_endpoint_there_are_no_traces() -> Result<()> {
    with_world(no_host(), async |world: Arc<World>| {
        // The kill switch of the specification counts beside the option.
        let collector = Collector::start(Mood::Takes).await?;
        world.set_environment("OTEL_SDK_DISABLED", "true");
        start(&world, &collector).await?;
        world.create_network("quiet", "10.0.0.0/24", "10.0.0.1").await?;
        world.ready("quiet").await?;
        let journals = [world.neutron_gate.journal(), world.kubernetes_gate.journal()].concat();
        ensure!(journals.iter().all(|one| one.trace == [None, None]), "{journals:?}");
        let threads = world.host(async |host| threads(host.process().pid())).await?;
        ensure!(threads.iter().all(|name| !name.starts_with("OpenTelemetry")), "{threads:?}");
        world.stop_host(SOON).await?;
        ensure!(collector.requests() == 0, "{:?}", collector.spans());
        Ok(())
    })
    .await
}

/// The names of a process's threads.
fn threads(pid: u32) -> Result<Vec<String>> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"))?;
    Ok(tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok()).collect())
}

/// The variables of OpenTelemetry name the collector, its login and the host.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_usual_variables_count() -> Result<()> {
    with_world(no_host(), async |world: Arc<World>| {
        let collector = Collector::start(Mood::Takes).await?;
        let variables = BTreeMap::from([
            ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url()),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20collectors-token"),
            ("OTEL_SERVICE_NAME", "my-host"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test,service.version=mine"),
            ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "1"),
            // Nothing leaves before the end.
            ("OTEL_BSP_SCHEDULE_DELAY", "3600000"),
            ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "100000"),
            ("OTEL_BSP_MAX_QUEUE_SIZE", "100000"),
            ("OARLOCK_LOG", "trace"),
        ]);
        for (name, value) in variables {
            world.set_environment(name, value);
        }
        world.start_host().await?;
        world.create_network("by-variables", "10.0.0.0/24", "10.0.0.1").await?;
        world.ready("by-variables").await?;
        ensure!(collector.requests() == 0, "{:?}", collector.spans());
        let (status, process) = world.stop_host(SOON).await?;
        ensure!(status.success(), "{status}");
        // The last spans leave when the host stops.
        ensure!(collector.spans().iter().any(|span| span.name == "reconcile"), "{:?}", collector.spans());
        let resource = collector.resources().pop().context("no resource")?;
        for (key, value) in
            [("service.name", "my-host"), ("deployment.environment.name", "test"), ("service.version", "mine")]
        {
            ensure!(resource.get(key).is_some_and(|is| is == value), "{key}: {resource:?}");
        }
        ensure!(collector.raw().contains("Bearer collectors-token"), "no login");
        ensure!(!process.lines().iter().any(|line| line.text.contains("collectors-token")), "the log has the login");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_setting_that_is_not_supported_ends_the_host_with_a_hint() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let run = async |name: &str, value: &str, args: &[&str]| -> Result<String> {
        let output = tokio::process::Command::new(oarlock_binary()?)
            .args(["run", "--plugins", &folder.path().display().to_string()])
            .args(args)
            .env(name, value)
            .output()
            .await?;
        ensure!(!output.status.success(), "{name}={value} is accepted");
        Ok(String::from_utf8(output.stderr)?)
    };
    let endpoint = ["--otlp-endpoint", "http://127.0.0.1:4318"];
    let error = run("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", &endpoint).await?;
    ensure!(error.contains("OTEL_EXPORTER_OTLP_PROTOCOL") && error.contains("http/protobuf"), "{error}");
    let error = run("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip", &endpoint).await?;
    ensure!(error.contains("gzip"), "{error}");
    let error = run("OTEL_BSP_MAX_QUEUE_SIZE", "many", &endpoint).await?;
    ensure!(error.contains("OTEL_BSP_MAX_QUEUE_SIZE"), "{error}");
    let error = run("NOTHING", "", &["--otlp-endpoint", "http://user:hunter2@127.0.0.1:4318"]).await?;
    ensure!(error.contains("OTEL_EXPORTER_OTLP_HEADERS") && !error.contains("hunter2"), "{error}");
    Ok(())
}
