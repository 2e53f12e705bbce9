//! Webhook configurations that another client writes too: another host, or a tool that applies what is in a repository.

use super::{CONFIGURATIONS, configuration, door, gatekeeper, grant, open, options};
use anyhow::{Context, Result, ensure};
use http::Method;
use oarlock_tests::harness::{
    Exchange, Host, HostOptions, PluginDir, SOON, World, api_code, eventually, steady, text, with_world,
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::task::JoinHandle;

const REASON: &str = "WebhookConfigurationContested";

/// Long enough that two hosts wrote hundreds of times before repairs slowed down.
const WHILE: Duration = Duration::from_secs(5);

/// Each host may write each configuration 0.5, 1.5 and 3.5 s after the first repairs, and at their ends.
const FEW: usize = 16;

/// Longest time between two repairs.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Another host without Leases, with its own plugin directory and address.
async fn another_host(world: &World, with_plugin: bool) -> Result<Host> {
    let folder = world.folder().join("other");
    let plugins = PluginDir::create(folder.join("plugins"))?;
    if with_plugin {
        plugins.grant("gatekeeper", &grant())?;
        plugins.place("gatekeeper.wasm", &gatekeeper("no")?)?;
    }
    Host::start(&HostOptions {
        plugins: plugins.path().to_owned(),
        kubeconfig: world.folder().join("kubeconfig-gate"),
        resync_seconds: Some(3600),
        args: ["--admission-addr", "127.0.0.1:0"].map(str::to_owned).to_vec(),
        environment: Vec::new(),
        log: folder.join("host.log"),
        open_files: None,
        own_group: false,
    })
    .await
}

/// A tool that makes the webhooks its own as soon as the host has repaired them; each time the host's idea comes back.
fn tool(world: &Arc<World>, manager: &'static str) -> JoinHandle<()> {
    let world = Arc::clone(world);
    tokio::spawn(async move {
        let path = format!("{CONFIGURATIONS}/mutatingwebhookconfigurations/oarlock");
        loop {
            if let Ok(Some(mut config)) = world.cluster.get(&path).await
                && text(&config, "/webhooks/0/failurePolicy") == "Fail"
            {
                if let Some(policy) = config.pointer_mut("/webhooks/0/failurePolicy") {
                    *policy = json!("Ignore");
                }
                let path = format!("{path}?fieldManager={manager}");
                // The host may have written meanwhile: a conflict, and it is looked at again.
                let _ = world.cluster.request(Method::PUT, &path, "application/json", &config).await;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
}

/// The one event that names `rival`; the other host reports a rival of its own.
async fn reported(world: &World, kind: &str, rival: &str) -> Result<Value> {
    let events = eventually(SOON, "the event", || async {
        let events = world.cluster.list("/api/v1/namespaces/default/events").await?;
        let about = |event: &&Value| {
            text(event, "/reason") == REASON
                && text(event, "/involvedObject/kind") == kind
                && text(event, "/message").starts_with(rival)
        };
        let events: Vec<Value> = events.iter().filter(about).cloned().collect();
        ensure!(!events.is_empty(), "none yet");
        Ok(events)
    })
    .await?;
    ensure!(events.len() == 1, "{events:?}");
    let event = events.into_iter().next().context("none")?;
    ensure!(text(&event, "/type") == "Warning", "{event}");
    Ok(event)
}

fn writes(world: &World, mark: usize) -> Vec<Exchange> {
    let mut writes = world.kubernetes_gate.writes_since(mark);
    writes.retain(|write| write.path.contains("webhookconfigurations"));
    writes
}

/// The hosts write each configuration a few times at most from now on.
async fn slow(world: &World) -> Result<()> {
    let mark = world.kubernetes_gate.mark();
    steady(WHILE, "few writes", || async { few(world, mark) }).await
}

fn few(world: &World, mark: usize) -> Result<()> {
    let writes = writes(world, mark).len();
    ensure!(writes <= FEW, "{writes} writes");
    Ok(())
}

fn lines(host: &Host) -> usize {
    host.log(|line| line.text.contains("webhook configuration contested")).len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hosts_without_leases_slow_down_and_say_so_and_the_one_that_stays_has_its_way() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        open(&world, &grant()).await?;
        let mut other = another_host(&world, true).await?;
        for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
            reported(&world, kind, "another host with field manager oarlock changes what the host writes").await?;
        }
        slow(&world).await?;
        let told = world.host(async |host| Ok(lines(host))).await? + lines(&other);
        ensure!(told <= 4, "once for each configuration and host, not {told} times");
        let repairs = world
            .host(async |host| host.metric("oarlock_webhook_configuration_repairs_total", &["kind=\"Mutating"]).await)
            .await?;
        ensure!(repairs >= 1.0, "no repair is counted");
        other.kill().await?;
        eventually(LONGEST_PAUSE + SOON, "the configurations of the one that stays", || async {
            let door = door(&world).await?;
            let response = door.gate("label").await?;
            ensure!(super::patch(&response)?[0]["value"]["gate"] == "yes", "{response}");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_undoes_every_repair_is_named_once_and_not_fought() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        open(&world, &grant()).await?;
        let tool = tool(&world, "argocd-controller");
        let event =
            reported(&world, "MutatingWebhookConfiguration", "field manager argocd-controller changes what").await?;
        ensure!(text(&event, "/involvedObject/name") == "oarlock", "{event}");
        slow(&world).await?;
        ensure!(world.host(async |host| Ok(lines(host))).await? == 1, "it is said once");
        reported(&world, "MutatingWebhookConfiguration", "field manager argocd-controller changes what").await?;
        // A change of what the host wants does not wait for the next repair.
        world.plugins.remove("gatekeeper.wasm")?;
        eventually(SOON, "no webhook without the plugin", || async {
            ensure!(configuration(&world, "mutating").await.is_err(), "it is there");
            Ok(())
        })
        .await?;
        tool.abort();
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_without_plugins_and_a_tool_that_deletes_are_not_fought_either() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        open(&world, &grant()).await?;
        let mut other = another_host(&world, false).await?;
        reported(&world, "MutatingWebhookConfiguration", "a client that deletes it").await?;
        slow(&world).await?;
        other.kill().await?;
        let path = format!("{CONFIGURATIONS}/validatingwebhookconfigurations/oarlock");
        let mark = world.kubernetes_gate.mark();
        let deleting = steady(WHILE, "the slowness", || async {
            match world.cluster.delete(&path).await {
                Err(error) if api_code(&error) != Some(409) => return Err(error),
                _ => {}
            }
            few(&world, mark)
        });
        deleting.await?;
        eventually(LONGEST_PAUSE + SOON, "it to be made again", || configuration(&world, "validating")).await?;
        Ok(())
    })
    .await
}
