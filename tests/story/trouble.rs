//! Drift, silence, a killed host, and deletion in good times and bad.

use super::Story;
use crate::harness::{Action, Exchange, Gate, Rule, SOON, eventually, ready, steady, text};
use anyhow::{Context, Result, ensure};
use http::Method;
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};

impl Story<'_> {
    pub(super) async fn drift_repaired(&self, uid: &str) -> Result<()> {
        let world = self.world;
        let (network, subnet) = world.only_network(uid).await?;
        world.narrator.progress("somebody takes the gateway away in Neutron; the next resync finds it");
        world.neutron.update("subnet", &text(&subnet, "/id"), &json!({"gateway_ip": null})).await?;
        self.gateway_is(uid, "192.168.1.1").await?;
        world.narrator.step("somebody took the gateway away in Neutron: put back at the next resync");

        world.narrator.progress("somebody deletes the subnet in Neutron");
        world.neutron.delete("subnet", &text(&subnet, "/id")).await?;
        let (kept, made) = eventually(SOON, "a new subnet", || async {
            let (network, made) = world.only_network(uid).await?;
            ensure!(text(&made, "/id") != text(&subnet, "/id"), "still the old one");
            Ok((network, made))
        })
        .await?;
        ensure!(text(&kept, "/id") == text(&network, "/id"), "a new network was made: {kept}");
        ensure!(text(&made, "/gateway_ip") == "192.168.1.1", "{made}");
        eventually(SOON, "the new subnet's id in status", || async {
            let object = world.network(&self.name).await?;
            ensure!(text(&object, "/status/subnetId") == text(&made, "/id"), "{object}");
            Ok(())
        })
        .await?;
        world.ready(&self.name).await?;
        world
            .narrator
            .step("somebody deleted the subnet in Neutron: made again at the next resync, its new id is in status");
        self.show_neutron(&[&made]);
        Ok(())
    }

    pub(super) async fn unchanged_resync_is_silent(&self) -> Result<()> {
        let world = self.world;
        world.narrator.progress("nothing changes; waiting for two more resyncs");
        // A large plugin may still be compiled, and its start is an event.
        eventually(4 * SOON, "all plugins to run", || async {
            let plugins = world.host(async |host| host.plugins().await).await?;
            let states: Vec<_> = plugins
                .get("plugins")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .map(|one| text(one, "/state"))
                .collect();
            ensure!(
                states.len() == world.plugins.count()? && states.iter().all(|state| *state == "active"),
                "{states:?}"
            );
            Ok(())
        })
        .await?;
        // Let what the last step caused run out: the end of a resync that wrote nothing.
        resyncs(&world.neutron_gate, world.neutron_gate.mark(), 2).await?;
        let (kubernetes, neutron) = (world.kubernetes_gate.mark(), world.neutron_gate.mark());
        let seen = resyncs(&world.neutron_gate, neutron, 2).await?;
        let mut writes = world.kubernetes_gate.writes_since(kubernetes);
        writes.extend(world.neutron_gate.writes_since(neutron));
        ensure!(writes.is_empty(), "{}", listed(&writes));
        world.narrator.step(&format!(
            "two unchanged resyncs: {seen} reads of Neutron, no write to it and none to the API server"
        ));
        Ok(())
    }

    pub(super) async fn killed(&self, uid: &str) -> Result<()> {
        let world = self.world;
        let held =
            world.neutron_gate.rule(Rule::every(Action::HoldAnswer).methods(&[Method::POST]).path("/v2.0/networks"));
        let second = world.create_network("second-network", "10.1.0.0/24", "10.1.0.1").await?;
        eventually(SOON, "Neutron to have made the network", || async {
            ensure!(world.neutron.networks_of(&second).await?.len() == 1, "not yet");
            Ok(())
        })
        .await?;
        world.kill_host().await?;
        world
            .narrator
            .step("a second Network; the host is killed (SIGKILL) after Neutron made it, before it learned its id");
        drop(held);
        world.start_host().await?;
        let object = world.ready("second-network").await?;
        let (network, _) = world.only_network(&second).await?;
        ensure!(text(&object, "/status/networkId") == text(&network, "/id"), "{object}");
        world.only_network(uid).await?;
        world.narrator.step("started again: it finds what it made; no duplicate, nothing orphaned");
        world.delete_whole_network("second-network", &second).await
    }

    pub(super) async fn deleted(&self, uid: &str) -> Result<()> {
        let world = self.world;
        let object = world.network(&self.name).await?;
        let finalizers = object.pointer("/metadata/finalizers").cloned().unwrap_or_default();
        ensure!(finalizers == json!(["oarlock.dev/network"]), "{finalizers}");
        let held =
            world.neutron_gate.rule(Rule::every(Action::Delay(Duration::from_millis(1500))).methods(&[Method::DELETE]));
        self.kubectl(&["delete", "network.samplecrd.k8s.io", &self.name, "--wait=false"]).await?;
        // As long as Neutron has the network, the object stands.
        eventually(SOON, "the network to be gone from Neutron", || async {
            let object = world.cluster.get(&world.network_path(&self.name)).await?;
            let left = world.neutron.networks_of(uid).await?;
            ensure!(left.is_empty() || object.is_some(), "the object went before the network");
            ensure!(left.is_empty(), "{left:?}");
            Ok(())
        })
        .await?;
        ensure!(held.hits() > 0, "Neutron was not asked to delete");
        world.gone(&self.name).await?;
        world.nothing_left(uid).await?;
        world
            .narrator
            .step("kubectl delete: the finalizer holds the object until Neutron's network is gone, then it goes");
        Ok(())
    }

    pub(super) async fn deleted_while_down(&self) -> Result<()> {
        let world = self.world;
        self.kubectl(&["apply", "-f", &self.example.display().to_string()]).await?;
        let object = world.ready(&self.name).await?;
        let uid = text(&object, "/metadata/uid");
        world.neutron_gate.set_down(true);
        self.kubectl(&["delete", "network.samplecrd.k8s.io", &self.name, "--wait=false"]).await?;
        let waiting = world.not_ready(&self.name, &[]).await?;
        ensure!(!waiting.message.is_empty(), "a condition without a reason: {waiting:?}");
        let event = world.event(&uid, "Warning", "").await?;
        world
            .narrator
            .step("kubectl delete while Neutron is down: it waits, and says why in the Ready condition and an event");
        world.narrator.show(&format!("Ready={} {}: {}", waiting.status, waiting.reason, waiting.message));
        world.narrator.show(&format!("Warning {}: {}", text(&event, "/reason"), text(&event, "/message")));
        let from = world.kubernetes_gate.mark();
        steady(Duration::from_secs(2), "the object", || async {
            let object = world.network(&self.name).await?;
            ensure!(ready(&object)?.status == "False", "{object}");
            Ok(())
        })
        .await?;
        let writes = world.kubernetes_gate.writes_since(from);
        ensure!(writes.len() <= 10, "a storm of writes while it waits:\n{}", listed(&writes));
        world.neutron_gate.set_down(false);
        eventually(Duration::from_secs(90), "the deletion to finish", || async {
            let left = world.cluster.get(&world.network_path(&self.name)).await?;
            ensure!(left.is_none(), "{}", left.unwrap_or_default());
            Ok(())
        })
        .await?;
        world.nothing_left(&uid).await?;
        world.narrator.step("Neutron is back: the deletion finishes, nothing is left");
        Ok(())
    }
}

/// Waits until some GET came `times` more often after `mark`: as many rounds of looking. Returns the number of requests.
pub(crate) async fn resyncs(gate: &Gate, mark: usize, times: usize) -> Result<usize> {
    eventually(SOON, &format!("{times} resyncs"), || async {
        let since = gate.since(mark);
        let mut seen = BTreeMap::<&str, usize>::new();
        for exchange in since.iter().filter(|exchange| exchange.method == Method::GET && exchange.status.is_some()) {
            *seen.entry(&exchange.path).or_default() += 1;
        }
        seen.values().find(|count| **count >= times).context("not seen often enough")?;
        Ok(since.len())
    })
    .await
}

/// One exchange per line.
pub(crate) fn listed(exchanges: &[Exchange]) -> String {
    exchanges.iter().map(|exchange| format!("  {exchange}\n")).collect()
}
