//! Pods in a world that ask for ports in Networks.

use super::{Grant, SOON, World, text};
use crate::harness::wait::eventually;
use anyhow::{Result, ensure};
use http::Method;
use serde_json::{Value, json};

const NETWORK: &str = "samplecrd.k8s.io/network";

impl World {
    /// The pod-network plugin's grant: that of the network plugin, patches of Pods, and admission reviews.
    ///
    /// # Errors
    ///
    /// A secret cannot be written.
    pub fn pod_network_grant(&self) -> Result<Grant> {
        let grant = self.network_grant()?.rule("", &["pods"], &["get", "list", "watch", "patch"]);
        let grant = grant.admission(&["CREATE", "UPDATE"], "", "pods");
        Ok(grant.admission(&["DELETE"], "samplecrd.k8s.io", "networks"))
    }

    /// The URL path of a Pod.
    #[must_use]
    pub fn pod_path(&self, name: &str) -> String {
        format!("/api/v1/namespaces/{}/pods/{name}", self.namespace)
    }

    /// Creates a Pod that asks for a port in a Network, and returns its uid.
    ///
    /// # Errors
    ///
    /// The API server rejects it.
    pub async fn create_pod(&self, name: &str, network: &str) -> Result<String> {
        let object = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "annotations": {NETWORK: network}},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]}});
        let made = self.cluster.create(self.pod_path("").trim_end_matches('/'), &object).await?;
        Ok(text(&made, "/metadata/uid"))
    }

    /// Deletes a Pod without a grace period.
    ///
    /// # Errors
    ///
    /// The API server rejects it.
    pub async fn delete_pod(&self, name: &str) -> Result<()> {
        self.cluster.delete(&format!("{}?gracePeriodSeconds=0", self.pod_path(name))).await
    }

    /// The Neutron ports of the Pod with this uid.
    ///
    /// # Errors
    ///
    /// Neutron does not answer.
    pub async fn ports_of(&self, uid: &str) -> Result<Vec<Value>> {
        ensure!(!uid.is_empty(), "an empty uid is everybody's");
        let answer = self.neutron.call(Method::GET, &format!("/v2.0/ports?device_id={uid}"), &Value::Null).await?;
        Ok(answer.get("ports").and_then(Value::as_array).cloned().unwrap_or_default())
    }

    /// Waits until the Pod has one port that its annotations describe; returns the port.
    ///
    /// # Errors
    ///
    /// That does not happen soon.
    pub async fn port_of(&self, name: &str, uid: &str) -> Result<Value> {
        eventually(SOON, &format!("Pod {name} to have a port and say so"), || async {
            let ports = self.ports_of(uid).await?;
            let [port] = ports.as_slice() else { anyhow::bail!("{ports:?}") };
            let pod = self.cluster.get(&self.pod_path(name)).await?.unwrap_or_default();
            let told = |key: &str| text(&pod, &format!("/metadata/annotations/samplecrd.k8s.io~1{key}"));
            ensure!(told("network-port-id") == text(port, "/id"), "{pod}");
            ensure!(told("network-ip") == text(port, "/fixed_ips/0/ip_address"), "{pod}");
            Ok(port.clone())
        })
        .await
    }

    /// Waits until the Pod with this uid has no port any more.
    ///
    /// # Errors
    ///
    /// That does not happen soon.
    pub async fn no_port_of(&self, uid: &str) -> Result<()> {
        eventually(SOON, "the port to be given back", || async {
            let ports = self.ports_of(uid).await?;
            ensure!(ports.is_empty(), "{ports:?}");
            Ok(())
        })
        .await
    }
}
