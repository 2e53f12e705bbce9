//! A Deployment gets a Network of its own.

use super::Story;
use crate::harness::{SOON, eventually, repository_root, text};
use anyhow::{Context, Result, ensure};
use serde_json::Value;

impl Story<'_> {
    pub(super) async fn deployment(&self) -> Result<()> {
        let world = self.world;
        let file = repository_root().join("tests/fixtures/deployment.yaml").display().to_string();
        self.kubectl(&["apply", "-f", &file]).await?;
        let path = format!("/apis/apps/v1/namespaces/{}/deployments/shop", world.namespace);
        let deployment = world.cluster.get(&path).await?.context("no Deployment")?;
        let owner = text(&deployment, "/metadata/uid");
        let made = eventually(SOON, "a Network owned by the Deployment", || async {
            let networks = world.cluster.list(world.network_path("").trim_end_matches('/')).await?;
            networks.into_iter().find(|network| owned_by(network, &owner)).context("none yet")
        })
        .await?;
        let name = text(&made, "/metadata/name");
        let network = world.ready(&name).await?;
        ensure!(text(&network, "/spec/cidr") == "10.20.0.0/24", "{network}");
        ensure!(text(&network, "/spec/gateway") == "10.20.0.1", "{network}");
        let uid = text(&network, "/metadata/uid");
        let (_, subnet) = world.only_network(&uid).await?;
        ensure!(text(&subnet, "/cidr") == "10.20.0.0/24", "{subnet}");
        world.narrator.step("a Deployment gets a Network of its own, with the parameters of its annotations");
        self.show(&network);

        self.kubectl(&["delete", "deployment", "shop", "--wait=false"]).await?;
        world.gone(&name).await?;
        world.nothing_left(&uid).await?;
        world.narrator.step("the Deployment is deleted: its Network goes, and Neutron's network with it");
        Ok(())
    }
}

fn owned_by(object: &Value, uid: &str) -> bool {
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    owners.into_iter().flatten().any(|owner| text(owner, "/uid") == uid)
}
