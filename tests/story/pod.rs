//! A Pod gets an address in a Network.

use super::Story;
use crate::harness::text;
use anyhow::{Context, Result, ensure};

impl Story<'_> {
    pub(super) async fn pod(&self) -> Result<()> {
        let world = self.world;
        let uid = world.create_network("blue", "10.30.0.0/24", "10.30.0.1").await?;
        world.ready("blue").await?;
        let pod = world.create_pod("web", "blue").await?;
        let port = world.port_of("web", &pod).await?;
        let (network, _) = world.only_network(&uid).await?;
        ensure!(text(&port, "/network_id") == text(&network, "/id"), "{port}");
        ensure!(text(&port, "/fixed_ips/0/ip_address").starts_with("10.30.0."), "{port}");
        world.narrator.step("a Pod that names a Network gets a port there, and its address as an annotation");
        self.show(&world.cluster.get(&world.pod_path("web")).await?.context("no Pod")?);
        self.show_neutron(&[&port]);

        world.delete_network("blue").await?;
        let ready = world.not_ready("blue", &["in use", "web"]).await?;
        world.narrator.step("the Network is deleted while the Pod uses it: it stays, and says who holds it");
        world.narrator.show(&ready.message);
        world.delete_pod("web").await?;
        world.no_port_of(&pod).await?;
        world.gone("blue").await?;
        world.nothing_left(&uid).await?;
        world.narrator.step("the Pod is deleted: its port goes, and then the Network");
        Ok(())
    }
}
