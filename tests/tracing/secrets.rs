//! No secret leaves the host in a trace.

use super::collector::{Collector, Mood, Trace};
use super::{no_host, start};
use crate::attacks::{ask, attacker};
use anyhow::{Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oarlock_tests::harness::{Exchange, Grant, World, WorldOptions, with_world};
use serde_json::{Value, json};
use std::fs;
use std::sync::Arc;

/// In a Secret, and in a secret file. The file's is short enough for a method.
const STORED: &str = "canary-of-a-stored-secret";
const OF_FILE: &str = "canary-of-a-file";

pub(super) fn attackers_grant(world: &World) -> Grant {
    Grant::nothing().rule_in(&world.namespace, "", &["configmaps"], &["get", "list", "watch"])
}

/// What the collector gets when the attacker puts both secrets everywhere, and what the server gets.
async fn leaked(
    world: &World,
    grant: Grant,
    change: impl FnOnce(&mut Value),
) -> Result<(Collector, Trace, Vec<Exchange>)> {
    let collector = Collector::start(Mood::Takes).await?;
    let (file, url) = (world.folder().join("token"), world.neutron_gate.url());
    fs::write(&file, format!("{OF_FILE}\n"))?;
    world.plugins.grant("attacker", &grant.origin(&url).secret_file("token", &file).partial())?;
    world.plugins.place("attacker.wasm", &attacker(change)?)?;
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "stored"}, "stringData": {"value": STORED}});
    world.cluster.create(&format!("/api/v1/namespaces/{}/secrets", world.namespace), &secret).await?;
    start(world, &collector).await?;
    ask(world, "leaks", &json!({"leak": url})).await?;
    let trace = collector.trace("the reconcile", |span| span.attribute("k8s.object.name") == "leaks").await?;
    trace.is_a_tree()?;
    let sent = world.neutron_gate.journal();
    let text = |exchange: &Exchange| format!("{exchange:?} {}", String::from_utf8_lossy(&exchange.body));
    ensure!(sent.iter().any(|one| text(one).contains(OF_FILE)), "the attacker sent nothing: {sent:?}");
    Ok((collector, trace, sent))
}

/// Searches everything that the collector got, and the trace context that servers got.
fn search(collector: &Collector, sent: &[Exchange], host: &[Exchange]) -> Result<()> {
    let raw = collector.raw();
    ensure!(raw.contains("leaks"), "nothing was sent");
    let headers: Vec<_> = sent.iter().chain(host).flat_map(|one| one.trace.iter().flatten()).collect();
    ensure!(headers.len() >= sent.len(), "{sent:?}");
    for canary in [STORED.to_owned(), OF_FILE.to_owned(), STANDARD.encode(STORED), STANDARD.encode(OF_FILE)] {
        ensure!(!raw.contains(&canary), "{canary} is in the trace: {raw}");
        ensure!(headers.iter().all(|header| !header.contains(&canary)), "{canary}: {headers:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_file_is_in_no_trace_wherever_a_guest_puts_it() -> Result<()> {
    let options = WorldOptions { network: false, crd: false, ..no_host() };
    with_world(options, async |world: Arc<World>| {
        let (collector, trace, sent) = leaked(&world, attackers_grant(&world), |_| {}).await?;
        search(&collector, &sent, &world.kubernetes_gate.journal())?;
        ensure!(trace.root.failed && trace.root.attribute("error.type") == "TerminalError", "{:#?}", trace.root);
        let url = world.neutron_gate.url();
        // The path without a secret is shown, without its query; the other is not.
        ensure!(trace.one("GET")?.attribute("url.full") == format!("{url}/shown"), "{:#?}", trace.spans);
        ensure!(trace.one("POST")?.attribute("url.full") == format!("{url}/_"), "{:#?}", trace.spans);
        ensure!(trace.one("HTTP")?.attribute("http.request.method") == "_OTHER", "{:#?}", trace.spans);
        // The guest forged a trace: the host's own replaces it, and the state beside it.
        for one in &sent {
            let [parent, state] = &one.trace;
            ensure!(
                parent.as_ref().is_some_and(|header| header.contains(&trace.root.trace)) && state.is_none(),
                "{one:?}"
            );
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stored_secret_is_in_no_trace_wherever_a_guest_puts_it() -> Result<()> {
    let options = WorldOptions { network: false, crd: false, ..no_host() };
    with_world(options, async |world: Arc<World>| {
        let grant = attackers_grant(&world).rule_in(&world.namespace, "", &["secrets"], &["get"]);
        let (collector, trace, sent) = leaked(&world, grant, |manifest| {
            let secrets = json!({"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]});
            if let Some(permissions) = manifest.pointer_mut("/permissions").and_then(Value::as_array_mut) {
                permissions.push(secrets);
            }
        })
        .await?;
        search(&collector, &sent, &world.kubernetes_gate.journal())?;
        let value = STANDARD.encode(STORED);
        ensure!(sent.iter().any(|one| one.path.contains(&value)), "the attacker read no Secret: {sent:?}");
        // It can read Secrets: no path of it is shown.
        for name in ["GET", "POST", "HTTP"] {
            ensure!(
                trace.one(name)?.attribute("url.full") == format!("{}/_", world.neutron_gate.url()),
                "{:#?}",
                trace.spans
            );
        }
        // The read that left the cache names the Secret, not its content.
        let read = trace.one("get secrets")?;
        ensure!(
            read.attribute("k8s.object.name") == "stored" && trace.parent(read)?.name == "get-desired",
            "{read:#?}"
        );
        Ok(())
    })
    .await
}
