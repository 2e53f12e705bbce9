//! A thousand plugins, a hundred thousand objects, and the cost of an open page.

use super::{Browser, with_story};
use crate::plan::ALONE;
use anyhow::{Context, Result, ensure};
use http::{Method, StatusCode};
use oarlock_devserver::{ClusterCopy, DevServer, Options};
use oarlock_tests::harness::{
    Action, Gate, Grant, Rule, RuleHandle, SOON, Tripwire, Upstream, World, WorldOptions, eventually, misfit_with,
    text_guest, text_manifest, with_world,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs};

/// Processor time of the host's process so far, in milliseconds.
async fn processor_ms(world: &World) -> Result<u64> {
    let pid = world.host(async |host| Ok(host.process().pid())).await?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields: Vec<&str> = stat.rsplit_once(')').context("no name")?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|ticks| ticks.parse::<u64>().ok()).context("no ticks");
    // The system counts in hundredths of a second.
    Ok((ticks(11)? + ticks(12)?) * 10)
}

async fn resident_kib(world: &World) -> Result<u64> {
    world.host(async |host| host.memory_kib("VmRSS")).await
}

/// The median first view in milliseconds.
fn median(seen: &Value) -> Result<f64> {
    let first = seen["first"].as_array().context("no times")?;
    first.get(first.len() / 2).and_then(Value::as_f64).context("no time")
}

/// Plugins of which only the first has objects: ConfigMaps. The others look for Services, because an API server searches all objects of a kind
/// for each selector.
async fn with_many_plugins(world: &World, plugins: usize) -> Result<()> {
    let grant = Grant::nothing().rule("", &["configmaps", "services"], &["get", "list", "watch"]);
    for number in 0..plugins {
        let name = format!("tiny-{number:04}");
        let mut manifest = text_manifest(&name);
        let (field, value) = match number {
            0 => ("workers", json!(2)),
            _ => ("primaries", json!([{"version": "v1", "kind": "Service", "labelSelector": format!("of={name}")}])),
        };
        manifest.as_object_mut().context("no manifest")?.insert(field.to_owned(), value);
        world.plugins.file(&format!("{name}.wasm"), &text_guest("tiny", &manifest)?)?;
        world.plugins.grant(&name, &grant)?;
    }
    world.start_host().await?;
    eventually(SOON * 20, "all plugins to be active", || async {
        let all = world.host(async |host| host.plugins().await).await?;
        let active = all.to_string().matches("\"active\"").count();
        ensure!(active >= plugins, "{active} are");
        Ok(())
    })
    .await
}

/// An API server in this process that begins with many ConfigMaps, and the gate through which the world's next host reads it: to create them
/// one by one takes longer than everything else.
async fn with_many_objects(world: &World, objects: usize) -> Result<(ClusterCopy, Gate)> {
    let created = "2026-01-01T00:00:00Z";
    let object = |number: usize| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"value": "x"}, "metadata": {"name": format!("m{number:06}"),
            "namespace": "default", "labels": {"text": "true"}, "uid": format!("u{number:06}"), "creationTimestamp": created,
            "resourceVersion": (number + 1).to_string()}})
    };
    let server = DevServer::copy_of((0..objects).map(object).collect(), Options::default().controllers(false));
    let client = kube::Client::new(server.router(), "default");
    let gate = Gate::open(Upstream::Kubernetes(client), Tripwire::default()).await?;
    world.cluster.kubeconfig_for(&gate.url(), None).await?;
    Ok((server, gate))
}

/// How long the host is watched.
const WATCHED: Duration = Duration::from_secs(8);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_view_of_one_plugin_comes_at_once() -> Result<()> {
    let Some(browser) = Browser::find()? else { return Ok(()) };
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        with_story(&world).await?;
        let seen = browser.plays(&world, "many", json!({"plugins": 1})).await?;
        println!("first view of one plugin: {:.0} ms {}", median(&seen)?, seen["first"]);
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: make test-all"]
async fn a_thousand_plugins_are_shown_in_pages_and_an_open_page_costs_little() -> Result<()> {
    const PLUGINS: usize = 1000;
    let Some(browser) = Browser::find()? else { return Ok(()) };
    with_world(ALONE, async |world: Arc<World>| {
        with_many_plugins(&world, PLUGINS).await?;
        let closed = processor_ms(&world).await?;
        tokio::time::sleep(WATCHED).await;
        let closed = processor_ms(&world).await? - closed;
        let before = resident_kib(&world).await?;
        let seen = browser.plays(&world, "many", json!({"plugins": PLUGINS, "one": "tiny-0777"})).await?;
        println!("first view of {PLUGINS} plugins: {:.0} ms {}", median(&seen)?, seen["first"]);
        // Ten live views, as ten pages hold them.
        let admin = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
        let mut costs = Vec::new();
        for pages in [1, 10] {
            let mut open = Vec::new();
            for _ in 0..pages {
                open.push(tokio::spawn(read_for_ever(admin.clone())));
            }
            tokio::time::sleep(Duration::from_secs(2)).await;
            let begin = processor_ms(&world).await?;
            tokio::time::sleep(WATCHED).await;
            costs.push((processor_ms(&world).await?).saturating_sub(begin));
            open.iter().for_each(tokio::task::JoinHandle::abort);
            tokio::time::sleep(Duration::from_secs(3)).await;
        }
        let grown = resident_kib(&world).await?.saturating_sub(before);
        println!(
            "processor time of {} s, in ms: closed {closed}, one page {}, ten {}; {grown} KiB more",
            WATCHED.as_secs(),
            costs[0],
            costs[1]
        );
        ensure!(grown < 64 << 10, "{grown} KiB more after pages were open");
        Ok(())
    })
    .await
}

async fn read_for_ever(address: String) -> Result<()> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(&address).await?;
    stream.write_all(format!("GET /page/events HTTP/1.1\r\nhost: {address}\r\n\r\n").as_bytes()).await?;
    let mut part = vec![0; 64 << 10];
    while stream.read(&mut part).await? > 0 {}
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: make test-all"]
async fn a_crowd_of_objects_is_searched_and_the_host_does_not_grow() -> Result<()> {
    let Some(browser) = Browser::find()? else { return Ok(()) };
    let number = |name: &str, otherwise| env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let (objects, plugins): (usize, usize) = (number("OARLOCK_OBJECTS", 100_000), number("OARLOCK_PLUGINS_BESIDE", 1));
    with_world(ALONE, async |world: Arc<World>| {
        let _server = with_many_objects(&world, objects).await?;
        with_many_plugins(&world, plugins).await?;
        eventually(SOON * 20, "all objects to be reconciled", || async {
            let entry = world.host(async |host| host.plugin("tiny-0000").await).await?;
            let queue = entry["queueDepth"].as_u64();
            ensure!(entry["reconciles"].as_u64() >= Some(objects as u64) && queue == Some(0), "{entry}");
            Ok(())
        })
        .await?;
        let closed = resident_kib(&world).await?;
        let begin = processor_ms(&world).await?;
        let last = format!("m{:06}", objects - 1);
        let input = json!({"plugin": "tiny-0000", "objects": objects, "last": last, "openMs": 10_000});
        let seen = browser.plays(&world, "objects", input).await?;
        let cost = processor_ms(&world).await? - begin;
        let open = resident_kib(&world).await?;
        println!(
            "{objects} objects of {plugins} plugins: list {} ms, search {} ms; host {closed} KiB closed, {open} KiB open; {cost} ms of processor time",
            seen["list"], seen["search"]
        );
        ensure!(open < closed + (64 << 10), "{closed} KiB before, {open} KiB after");
        Ok(())
    })
    .await
}

/// A host with plugins as an operator has them: some work, one waits for its grant, one file is broken, and one Network fails.
async fn furnished(world: &World, broken: Action) -> Result<RuleHandle> {
    let named = |name: &'static str| {
        misfit_with("1.4.0", "", |manifest| {
            for (field, value) in
                [("/name", json!(name)), ("/primaries/0/labelSelector", json!(format!("plugin={name}")))]
            {
                if let Some(place) = manifest.pointer_mut(field) {
                    *place = value;
                }
            }
        })
    };
    for name in ["config-sync", "label-policy"] {
        world.plugins.grant(name, &super::misfit_grant(world))?;
        world.plugins.file(&format!("{name}.wasm"), &named(name)?)?;
    }
    world.plugins.file("quota-guard.wasm", &named("quota-guard")?)?;
    world.plugins.file("tls-rotation.wasm", b"\0asm cut off")?;
    for number in 0..30 {
        let plugin = if number % 3 == 0 { "label-policy" } else { "config-sync" };
        let mode = format!("requeue:{}", 200 + 90 * number);
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"value": "first"},
            "metadata": {"name": format!("settings-{number:02}"), "labels": {"plugin": plugin}, "annotations": {"misfit/mode": mode}}});
        world.cluster.create(&format!("/api/v1/namespaces/{}/configmaps", world.namespace), &object).await?;
    }
    world.start_host().await?;
    for (number, name) in ["backend", "billing", "frontend", "search"].iter().enumerate() {
        world.create_network(name, &format!("10.{number}.0.0/24"), &format!("10.{number}.0.1")).await?;
        world.ready(name).await?;
    }
    let rule = world.neutron_gate.rule(Rule::every(broken).methods(&[Method::POST, Method::PUT]));
    let path = format!("/apis/samplecrd.k8s.io/v1/namespaces/{}/networks/billing", world.namespace);
    world.cluster.merge_patch(&path, &json!({"spec": {"gateway": "10.1.0.254"}})).await?;
    world.not_ready("billing", &["out of order"]).await?;
    Ok(rule)
}

/// The pictures of the documents: `scripts/page-pictures.sh`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "pictures: scripts/page-pictures.sh"]
async fn the_pictures_of_the_documents() -> Result<()> {
    let Some(browser) = Browser::find()? else { return Ok(()) };
    if env::var_os("OARLOCK_PICTURES").is_none() {
        return Ok(());
    }
    with_world(WorldOptions { host: false, ..WorldOptions::default() }, async |world: Arc<World>| {
        let broken =
            Action::neutron(StatusCode::INTERNAL_SERVER_ERROR, "HTTPInternalServerError", "the network is out of order");
        let _rule = furnished(&world, broken).await?;
        let namespace = &world.namespace;
        let pictures = json!([
            ["page-plugins", "/", "config-sync", {"viewport": {"width": 1280, "height": 420}}],
            ["page-object", format!("/objects/network/Network.samplecrd.k8s.io/{namespace}/billing"), "Reconcile ", {"colorScheme": "dark", "viewport": {"width": 1100, "height": 860}}],
        ]);
        browser.plays(&world, "pictures", json!({"pictures": pictures, "openMs": 75_000})).await?;
        Ok(())
    })
    .await
}
