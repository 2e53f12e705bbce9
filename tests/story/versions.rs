//! A second version of the Network arrives while clients of the first go on.

use super::Story;
use crate::harness::{SOON, eventually, text};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

const V1: &str = "apiVersion: samplecrd.k8s.io/v1
kind: Network
metadata: {name: shared}
spec: {cidr: 10.30.0.0/24, gateway: 10.30.0.1}
";

/// The same Network with a second subnet.
const V2: &str = "apiVersion: samplecrd.k8s.io/v2
kind: Network
metadata: {name: shared}
spec:
  subnets:
    - {name: default, cidr: 10.30.0.0/24, gateway: 10.30.0.1}
    - name: database
      cidr: 10.31.0.0/24
      gateway: 10.31.0.1
      allocationPools: [{start: 10.31.0.100, end: 10.31.0.200}]
";

impl Story<'_> {
    /// Takes a host with its admission server.
    pub(super) async fn versions(&self) -> Result<()> {
        let world = self.world;
        let file = world.folder().join("network.yaml");
        let apply = async |yaml: &str| {
            std::fs::write(&file, yaml)?;
            self.kubectl(&["apply", "-f", &file.display().to_string()]).await
        };
        apply(V1).await?;
        let uid = text(&world.ready("shared").await?, "/metadata/uid");
        eventually(SOON, "the host to be the conversion webhook", || async {
            let definition = world.cluster.get(&definition_path()).await?.context("no definition")?;
            ensure!(text(&definition, "/spec/conversion/strategy") == "Webhook", "{definition}");
            Ok(())
        })
        .await?;
        let both = self.crd.with_file_name("crd-v2.yaml");
        world.cluster.kubectl(&["apply", "-f", &both.display().to_string()]).await?;
        let as_v2 = eventually(SOON, "the Network as v2", || async { self.get_in("v2").await }).await?;
        let first = json!([{"name": "default", "cidr": "10.30.0.0/24", "gateway": "10.30.0.1"}]);
        ensure!(as_v2.pointer("/spec/subnets") == Some(&first), "{as_v2}");
        world
            .narrator
            .step("kubectl apply of a definition with v2: the Network that a v1 client made is there as v2, too");
        self.show(&as_v2);

        apply(V2).await?;
        self.subnets(&uid, &["10.30.0.0/24 10.30.0.1", "10.31.0.0/24 10.31.0.1"]).await?;
        world.narrator.step("a v2 client adds a subnet with a pool of addresses: Neutron has both");

        let as_v1 = self.get_in("v1").await?;
        let one = json!({"cidr": "10.30.0.0/24", "gateway": "10.30.0.1"});
        ensure!(as_v1.get("spec") == Some(&one), "{as_v1}");
        let gateway = r#"{"spec": {"gateway": "10.30.0.9"}}"#;
        self.kubectl(&["patch", "networks.v1.samplecrd.k8s.io", "shared", "--type=merge", "-p", gateway]).await?;
        self.subnets(&uid, &["10.30.0.0/24 10.30.0.9", "10.31.0.0/24 10.31.0.1"]).await?;
        let after = self.get_in("v2").await?;
        ensure!(after.pointer("/spec/subnets/1/allocationPools/0/end") == Some(&json!("10.31.0.200")), "{after}");
        world.narrator.step("a v1 client, which knows one subnet, edits its gateway: the other subnet is as it was");
        self.show(&as_v1);

        self.kubectl(&["delete", "networks.v2.samplecrd.k8s.io", "shared", "--wait=false"]).await?;
        world.gone("shared").await?;
        world.nothing_left(&uid).await
    }

    /// The Network in a version, as kubectl prints it.
    async fn get_in(&self, version: &str) -> Result<Value> {
        let kind = format!("networks.{version}.samplecrd.k8s.io");
        Ok(serde_json::from_str(&self.kubectl(&["get", &kind, "shared", "-o", "json"]).await?)?)
    }

    /// Waits until the network of an object has exactly these subnets in Neutron: range and gateway, sorted.
    async fn subnets(&self, uid: &str, wanted: &[&str]) -> Result<()> {
        eventually(SOON, "the subnets", || async {
            let networks = self.world.neutron.networks_of(uid).await?;
            let [network] = networks.as_slice() else { bail!("{} networks: {networks:?}", networks.len()) };
            let mut subnets = self.world.neutron.subnets_of(&text(network, "/id")).await?;
            subnets.sort_by_key(|subnet| text(subnet, "/cidr"));
            let found: Vec<String> = subnets
                .iter()
                .map(|subnet| format!("{} {}", text(subnet, "/cidr"), text(subnet, "/gateway_ip")))
                .collect();
            ensure!(found == wanted, "{found:?}");
            Ok(())
        })
        .await
    }
}

fn definition_path() -> String {
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/networks.samplecrd.k8s.io".to_owned()
}
