//! Hosts are replaced one after the other while objects change and the API server asks about new ones.

use super::replica::{HOME, Replica, holder};
use super::{Load, options};
use crate::admission::gatekeeper;
use anyhow::{Context, Result, ensure};
use http::StatusCode;
use oarlock_tests::harness::{Grant, LogLine, SOON, World, eventually, misfit_version, text, with_world};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Host names of replicas, in the order they are started.
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// What an endpoint controller does: an EndpointSlice for each host, ready as its /readyz is.
struct Endpoints {
    hosts: Mutex<BTreeMap<&'static str, (u16, String)>>,
    stop: CancellationToken,
}

impl Endpoints {
    fn add(&self, name: &'static str, port: u16, admin: &str) {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner).insert(name, (port, admin.to_owned()));
    }

    async fn keep(self: Arc<Self>, world: Arc<World>) -> Result<()> {
        let slices = format!("/apis/discovery.k8s.io/v1/namespaces/{HOME}/endpointslices");
        let mut known: BTreeMap<&str, bool> = BTreeMap::new();
        while !self.stop.is_cancelled() {
            let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner).clone();
            for (name, (port, admin)) in hosts {
                let client = oarlock_tests::harness::HttpClient::new(&admin);
                let ready = client.get("/readyz").await.is_ok_and(|answer| answer.status == StatusCode::OK);
                if known.insert(name, ready) == Some(ready) {
                    continue;
                }
                let slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
                    "metadata": {"name": format!("oarlock-{name}"), "labels": {"kubernetes.io/service-name": "oarlock"}},
                    "endpoints": [{"addresses": ["127.0.0.1"], "conditions": {"ready": ready}}],
                    "ports": [{"port": port, "name": ""}]});
                world.cluster.apply(&format!("{slices}/oarlock-{name}"), "endpoints", &slice).await?;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }
}

/// Starts a host that answers admission behind the Service, and waits until it is ready.
async fn start(world: &World, endpoints: &Endpoints, name: &'static str) -> Result<Replica> {
    let mut replica = Replica::new(world, name).await?.patient();
    replica.place("misfit", &misfit_version("1", "")?)?;
    let verbs = ["get", "list", "watch", "create", "patch", "delete"];
    let grant = Grant::nothing().rule("", &["configmaps", "secrets"], &verbs).all_admission();
    replica.plugins.grant("gatekeeper", &grant)?;
    replica.plugins.place("gatekeeper.wasm", &gatekeeper("yes")?)?;
    let of = format!("{HOME}/oarlock");
    // On a busy machine it takes a while until the API server asks the others only.
    let args = ["--admission-addr", "127.0.0.1:0", "--admission-service", &of, "--shutdown-delay-seconds", "10"];
    replica.start(&args).await?;
    let listens = |line: &LogLine| line.text.contains("admission server listening");
    let line = replica.host()?.process().line(SOON, "its admission address", listens).await?;
    let at: SocketAddr = line.field("addr").context("no addr")?.parse()?;
    let admin = replica.host()?.admin();
    eventually(SOON, "the host to be ready", || async {
        let answer = admin.get("/readyz").await?;
        ensure!(answer.status == StatusCode::OK, "{}", answer.text());
        Ok(())
    })
    .await?;
    endpoints.add(name, at.port(), admin.base());
    Ok(replica)
}

/// Makes ConfigMaps that the gatekeeper labels, until it is told to stop. Answers how many.
async fn ask(world: Arc<World>, stop: CancellationToken) -> Result<usize> {
    let path = format!("/api/v1/namespaces/{}/configmaps", world.namespace);
    let mut asked = 0;
    while !stop.is_cancelled() {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("asked-{asked}")}});
        let made = world.cluster.create(&path, &object).await.with_context(|| format!("review {asked}"))?;
        ensure!(text(&made, "/metadata/labels/gate") == "yes", "review {asked}: {made}");
        asked += 1;
    }
    Ok(asked)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn l9_a_rolling_update_loses_no_reconcile_and_fails_no_review() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let services = format!("/api/v1/namespaces/{HOME}/services");
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "oarlock"},
            "spec": {"ports": [{"port": 443, "targetPort": 9443}]}});
        world.cluster.create(&services, &service).await?;
        let endpoints = Arc::new(Endpoints { hosts: Mutex::default(), stop: CancellationToken::new() });
        let keeping = tokio::spawn(Arc::clone(&endpoints).keep(Arc::clone(&world)));
        let mut running = vec![start(&world, &endpoints, NAMES[0]).await?, start(&world, &endpoints, NAMES[1]).await?];
        eventually(SOON, "the webhooks to be asked", || async {
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "first-"}});
            let made =
                world.cluster.create(&format!("/api/v1/namespaces/{}/configmaps", world.namespace), &object).await?;
            ensure!(text(&made, "/metadata/labels/gate") == "yes", "{made}");
            Ok(())
        })
        .await?;
        let stop = CancellationToken::new();
        let asking = tokio::spawn(ask(Arc::clone(&world), stop.clone()));
        let load = Load::begin(&world).await?;
        let mut ended = Vec::new();
        for name in &NAMES[2..] {
            running.push(start(&world, &endpoints, name).await?);
            let mut leaving = running.remove(0);
            let host = leaving.host.take().context("it does not run")?;
            let (status, process) = host.stop(SOON).await?;
            ensure!(status.code() == Some(0), "{status}:\n{}", process.tail());
            ended.push(leaving);
        }
        let all: Vec<&Replica> = running.iter().collect();
        holder(&all, "misfit").await?;
        stop.cancel();
        let asked = asking.await??;
        let changes = load.end(&world).await?;
        ensure!(asked > 20 && changes > 20, "{asked} reviews, {changes} changes");
        endpoints.stop.cancel();
        keeping.await??;
        // Of the plugin's writes each host has a stretch of its own: nobody acts between two acts of another.
        let mut acts: Vec<_> =
            ended.iter().chain(&running).flat_map(|of| of.acts().into_iter().map(|act| (act.at, of.name))).collect();
        acts.sort();
        let mut stretches: Vec<&str> = acts.into_iter().map(|(_, name)| name).collect();
        stretches.dedup();
        let mut names: Vec<&str> = stretches.clone();
        names.sort_unstable();
        names.dedup();
        ensure!(stretches.len() == names.len(), "{stretches:?}");
        // One host at a time keeps the webhook configurations.
        let kept: usize = running.iter().chain(&ended).map(|of| configurations(of).len()).sum();
        ensure!((1..=16).contains(&kept), "{kept} writes");
        Ok(())
    })
    .await
}

fn configurations(of: &Replica) -> Vec<String> {
    let journal = of.kubernetes.journal();
    let writes = journal.iter().filter(|act| act.is_write() && act.path.contains("webhookconfigurations"));
    writes.map(ToString::to_string).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_with_different_plugins_do_not_fight_for_the_webhook_configurations() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "oarlock"},
            "spec": {"ports": [{"port": 443, "targetPort": 9443}]}});
        world.cluster.create(&format!("/api/v1/namespaces/{HOME}/services"), &service).await?;
        let endpoints = Endpoints { hosts: Mutex::default(), stop: CancellationToken::new() };
        let with = start(&world, &endpoints, "a").await?;
        let webhooks = || async {
            let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/oarlock";
            let there = world.cluster.get(path).await?.context("none")?;
            let asked = there.get("webhooks").and_then(Value::as_array).map_or(0, Vec::len);
            ensure!(asked == 1, "{there}");
            Ok(())
        };
        // The first has the host's Lease: what it has counts.
        eventually(SOON, "the webhooks", webhooks).await?;
        let without = start(&world, &endpoints, "b").await?;
        without.plugins.remove("gatekeeper.wasm")?;
        eventually(SOON, "the plugin to go from the second", || async {
            let plugins = without.host()?.plugins().await?.to_string();
            ensure!(!plugins.contains("gatekeeper"), "{plugins}");
            Ok(())
        })
        .await?;
        tokio::time::sleep(Duration::from_secs(2)).await;
        let before = configurations(&with).len() + configurations(&without).len();
        tokio::time::sleep(Duration::from_secs(3)).await;
        let after = configurations(&with).len() + configurations(&without).len();
        ensure!(before == after, "{:?}\n{:?}", configurations(&with), configurations(&without));
        webhooks().await
    })
    .await
}
