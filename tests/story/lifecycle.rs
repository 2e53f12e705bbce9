//! From the first start to a Network that follows its edits.

use super::Story;
use crate::harness::{LogLine, SOON, eventually, steady, text};
use anyhow::{Context, Result, ensure};
use std::{collections::BTreeSet, net::Ipv4Addr, time::Duration};
use tokio::time::Instant;

/// How soon after the CRD the host must begin, on a busy machine. It looks every second.
const BEGINS_WITHIN: Duration = Duration::from_secs(10);

fn says_it_waits(line: &LogLine) -> bool {
    let message = line.field("message").unwrap_or_else(|| line.text.clone()).to_lowercase();
    message.contains("wait") && line.text.contains("samplecrd.k8s.io")
}

impl Story<'_> {
    pub(super) async fn host_before_crd(&self) -> Result<()> {
        let world = self.world;
        if world.cluster.is_external() {
            let _gone =
                world.cluster.kubectl(&["delete", "--ignore-not-found", "crd", "networks.samplecrd.k8s.io"]).await?;
        }
        world.narrator.progress("starting `oarlock run`; there is no Network CRD yet");
        world.start_host().await?;
        eventually(SOON, "the host to say what it waits for", || async {
            let lines = world.log(says_it_waits).await?;
            ensure!(!lines.is_empty(), "no such line yet");
            Ok(())
        })
        .await?;
        steady(Duration::from_secs(1), "one line about the missing CRD, and a live host", || async {
            // One for each plugin that waits for it, and for each place it is watched in.
            let lines = world.log(says_it_waits).await?;
            let told: BTreeSet<_> = lines.iter().map(|line| (line.field("plugin"), line.field("namespace"))).collect();
            ensure!(!lines.is_empty() && lines.len() == told.len(), "{lines:?}");
            world.host(async |host| host.admin().get("/livez").await.map(|answer| assert_ok(answer.status))).await?
        })
        .await?;
        let line = world.log(says_it_waits).await?.into_iter().next().context("no line")?;
        world.narrator.step("the host runs before the Network CRD exists; it says once what it waits for");
        world.narrator.show(&line.text);

        let from = world.kubernetes_gate.mark();
        let applied = self.kubectl(&["apply", "-f", &self.crd.display().to_string()]).await?;
        let created = Instant::now();
        let began = eventually(SOON, "the host to list Networks", || async {
            let listed = world.kubernetes_gate.since(from).into_iter().find(|exchange| {
                exchange.path.starts_with("/apis/samplecrd.k8s.io/v1/networks")
                    && exchange.status.is_some_and(|status| status.is_success())
            });
            Ok(listed.context("not listed yet")?.at)
        })
        .await?;
        let after = began.saturating_duration_since(created);
        ensure!(after <= BEGINS_WITHIN, "it began {after:?} after the CRD");
        world.narrator.step(&format!("kubectl apply of the CRD; the host begins {:.1} s later", after.as_secs_f32()));
        world.narrator.show(&applied);
        Ok(())
    }

    /// Returns the Network's uid.
    pub(super) async fn applied(&self) -> Result<String> {
        let world = self.world;
        let applied = self.kubectl(&["apply", "-f", &self.example.display().to_string()]).await?;
        let object = world.ready(&self.name).await?;
        let uid = text(&object, "/metadata/uid");
        let (network, subnet) = world.only_network(&uid).await?;
        ensure!(text(&subnet, "/cidr") == "192.168.0.0/16", "{subnet}");
        ensure!(text(&subnet, "/gateway_ip") == "192.168.0.1", "{subnet}");
        ensure!(text(&object, "/status/networkId") == text(&network, "/id"), "{object}");
        ensure!(text(&object, "/status/subnetId") == text(&subnet, "/id"), "{object}");
        world
            .narrator
            .step("kubectl apply of example-network; Neutron has a network and a subnet, status has their ids");
        world.narrator.show(&applied);
        self.show(&object);
        self.show_neutron(&[&network, &subnet]);

        world.event(&uid, "Normal", "Network synced successfully").await?;
        let events = world.events(&uid).await?;
        let synced: Vec<_> = events.iter().filter(|event| text(event, "/reason") == "Synced").collect();
        ensure!(synced.len() == 1, "{events:?}");
        ensure!(
            synced.iter().all(|event| event.get("count").is_none_or(|count| count.is_null() || count == 1)),
            "{synced:?}"
        );
        world.narrator.step("one event: Normal Synced \"Network synced successfully\"");
        world.narrator.show(&self.kubectl(&["get", "events"]).await?);

        let table = self.kubectl(&["get", "networks"]).await?;
        let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        let [header, row] = rows.as_slice() else { anyhow::bail!("{table}") };
        for (column, value) in [("CIDR", "192.168.0.0/16"), ("GATEWAY", "192.168.0.1"), ("READY", "True")] {
            let place =
                header.iter().position(|name| *name == column).with_context(|| format!("no {column} in {table}"))?;
            ensure!(row.get(place) == Some(&value), "{column} in {table}");
        }
        world.narrator.step("kubectl get networks");
        world.narrator.show(&table);
        Ok(uid)
    }

    /// The schema refuses at the door what the plugin would have to refuse later.
    pub(super) async fn refused(&self) -> Result<()> {
        for (name, cidr, gateway) in
            [("not-a-cidr", "192.168.0.0/33", "192.168.0.1"), ("outside", "192.168.0.0/16", "10.0.0.1")]
        {
            let refused = self.world.create_network(name, cidr, gateway).await;
            let Err(error) = refused else { anyhow::bail!("{cidr} with {gateway} was accepted") };
            ensure!(crate::harness::api_code(&error) == Some(422), "{error:#}");
        }
        self.world.narrator.step("a bad CIDR, and a gateway outside its CIDR, are refused by the CRD's schema");
        Ok(())
    }

    pub(super) async fn gateway_edited(&self, uid: &str) -> Result<()> {
        let world = self.world;
        let (before, _) = world.only_network(uid).await?;
        let patch = r#"{"spec":{"gateway":"192.168.1.1"}}"#;
        self.kubectl(&["patch", "network.samplecrd.k8s.io", &self.name, "--type=merge", "--patch", patch]).await?;
        let (network, subnet) = self.gateway_is(uid, "192.168.1.1").await?;
        ensure!(text(&network, "/id") == text(&before, "/id"), "a new network was made: {network}");
        ensure!(!pools_hold(&subnet, Ipv4Addr::new(192, 168, 1, 1))?, "{subnet}");
        ensure!(pools_hold(&subnet, Ipv4Addr::new(192, 168, 0, 9))?, "{subnet}");
        ensure!(pools_hold(&subnet, Ipv4Addr::new(192, 168, 255, 254))?, "{subnet}");
        world.ready(&self.name).await?;
        world
            .narrator
            .step("the gateway is edited to 192.168.1.1; Neutron's subnet follows, pools included; no new network");
        self.show_neutron(&[&subnet]);
        Ok(())
    }

    /// Waits until the only subnet has this gateway.
    pub(super) async fn gateway_is(&self, uid: &str, gateway: &str) -> Result<(serde_json::Value, serde_json::Value)> {
        eventually(SOON, &format!("the subnet's gateway to be {gateway}"), || async {
            let (network, subnet) = self.world.only_network(uid).await?;
            ensure!(text(&subnet, "/gateway_ip") == gateway, "{subnet}");
            Ok((network, subnet))
        })
        .await
    }
}

fn assert_ok(status: http::StatusCode) -> Result<()> {
    ensure!(status.is_success(), "/livez: {status}");
    Ok(())
}

/// Whether an address lies in one of the subnet's allocation pools.
fn pools_hold(subnet: &serde_json::Value, address: Ipv4Addr) -> Result<bool> {
    let pools = subnet.get("allocation_pools").and_then(serde_json::Value::as_array).context("no pools")?;
    for pool in pools {
        let (start, end): (Ipv4Addr, Ipv4Addr) = (text(pool, "/start").parse()?, text(pool, "/end").parse()?);
        if (start..=end).contains(&address) {
            return Ok(true);
        }
    }
    Ok(false)
}
