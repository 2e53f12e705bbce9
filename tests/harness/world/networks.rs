//! Networks in a world, created, changed and read as by a user, without the gates.

use super::{SOON, World};
use crate::harness::wait::eventually;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

/// An object's Ready condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// UpperCamelCase.
    pub reason: String,
    /// For people.
    pub message: String,
}

impl World {
    /// The URL path of a Network.
    #[must_use]
    pub fn network_path(&self, name: &str) -> String {
        format!("/apis/samplecrd.k8s.io/v1/namespaces/{}/networks/{name}", self.namespace)
    }

    /// Creates a Network and returns its uid.
    ///
    /// # Errors
    ///
    /// The API server rejects it.
    pub async fn create_network(&self, name: &str, cidr: &str, gateway: &str) -> Result<String> {
        let object = json!({"apiVersion": "samplecrd.k8s.io/v1", "kind": "Network", "metadata": {"name": name},
            "spec": {"cidr": cidr, "gateway": gateway}});
        let path = self.network_path("");
        let made = self.cluster.create(path.trim_end_matches('/'), &object).await?;
        Ok(text(&made, "/metadata/uid"))
    }

    /// The URL path of a Deployment.
    #[must_use]
    pub fn deployment_path(&self, name: &str) -> String {
        format!("/apis/apps/v1/namespaces/{}/deployments/{name}", self.namespace)
    }

    /// Creates a Deployment that asks for a Network of this name in 10.20.0.0/24, and returns its uid.
    ///
    /// # Errors
    ///
    /// The API server rejects it.
    pub async fn create_deployment(&self, name: &str, gateway: &str) -> Result<String> {
        let labels = json!({"app": name});
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "annotations": {
                "samplecrd.k8s.io/cidr": "10.20.0.0/24", "samplecrd.k8s.io/gateway": gateway}},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}}});
        let path = self.deployment_path("");
        let made = self.cluster.create(path.trim_end_matches('/'), &object).await?;
        Ok(text(&made, "/metadata/uid"))
    }

    /// Edits an annotation of a Deployment, as a user would.
    ///
    /// * `key` - the part after `samplecrd.k8s.io/`.
    ///
    /// # Errors
    ///
    /// The API server rejects it.
    pub async fn annotate_deployment(&self, name: &str, key: &str, value: &str) -> Result<()> {
        let annotations = json!({format!("samplecrd.k8s.io/{key}"): value});
        self.cluster
            .merge_patch(&self.deployment_path(name), &json!({"metadata": {"annotations": annotations}}))
            .await?;
        Ok(())
    }

    /// Edits a Network's gateway, as a user would.
    ///
    /// # Errors
    ///
    /// The API server rejects it.
    pub async fn set_gateway(&self, name: &str, gateway: &str) -> Result<()> {
        self.cluster.merge_patch(&self.network_path(name), &json!({"spec": {"gateway": gateway}})).await?;
        Ok(())
    }

    /// A Network.
    ///
    /// # Errors
    ///
    /// The Network does not exist.
    pub async fn network(&self, name: &str) -> Result<Value> {
        self.cluster.get(&self.network_path(name)).await?.with_context(|| format!("no Network {name}"))
    }

    /// Deletes a Network, without waiting until it is gone.
    ///
    /// # Errors
    ///
    /// The API server rejects it.
    pub async fn delete_network(&self, name: &str) -> Result<()> {
        self.cluster.delete(&self.network_path(name)).await
    }

    /// Deletes a Network, and waits until it is gone and nothing in Neutron has its uid any more.
    ///
    /// # Errors
    ///
    /// The API server rejects it, or something is left.
    pub async fn delete_whole_network(&self, name: &str, uid: &str) -> Result<()> {
        self.delete_network(name).await?;
        self.gone(name).await?;
        self.nothing_left(uid).await
    }

    /// Waits until a Network is Ready for its current generation, and returns it.
    ///
    /// # Errors
    ///
    /// The Network is not Ready soon.
    pub async fn ready(&self, name: &str) -> Result<Value> {
        eventually(SOON, &format!("{name} to be Ready"), || async {
            let object = self.network(name).await?;
            let ready = ready(&object)?;
            ensure!(ready.status == "True", "{ready:?}");
            let generation = object.pointer("/metadata/generation");
            ensure!(object.pointer("/status/observedGeneration") == generation, "{object}");
            Ok(object)
        })
        .await
    }

    /// Waits until a Network is not Ready, with a reason or message that contains one of `texts`.
    ///
    /// # Errors
    ///
    /// That does not happen soon.
    pub async fn not_ready(&self, name: &str, texts: &[&str]) -> Result<Ready> {
        eventually(SOON, &format!("{name} to be not Ready because of {texts:?}"), || async {
            let ready = ready(&self.network(name).await?)?;
            ensure!(ready.status == "False", "{ready:?}");
            let all = format!("{} {}", ready.reason, ready.message).to_lowercase();
            ensure!(texts.is_empty() || texts.iter().any(|text| all.contains(&text.to_lowercase())), "{ready:?}");
            Ok(ready)
        })
        .await
    }

    /// Waits until a Network is gone.
    ///
    /// # Errors
    ///
    /// The Network is not gone soon.
    pub async fn gone(&self, name: &str) -> Result<()> {
        // The garbage collector of a real cluster discovers new kinds every 30 s; until then it does not collect their objects.
        eventually(3 * SOON, &format!("{name} to be gone"), || async {
            let left = self.cluster.get(&self.network_path(name)).await?;
            ensure!(left.is_none(), "{}", left.unwrap_or_default());
            Ok(())
        })
        .await
    }

    /// The Events on the object with this uid, oldest first.
    ///
    /// # Errors
    ///
    /// The API server does not answer.
    pub async fn events(&self, uid: &str) -> Result<Vec<Value>> {
        let all = self.cluster.list(&format!("/api/v1/namespaces/{}/events", self.namespace)).await?;
        let about =
            |event: &Value| ["/involvedObject/uid", "/regarding/uid"].iter().any(|place| text(event, place) == uid);
        Ok(all.into_iter().filter(about).collect())
    }

    /// Waits for an Event of this type whose reason or message contains `part`.
    ///
    /// # Errors
    ///
    /// No such Event appears soon.
    pub async fn event(&self, uid: &str, kind: &str, part: &str) -> Result<Value> {
        eventually(SOON, &format!("a {kind} event with {part:?}"), || async {
            let events = self.events(uid).await?;
            let lower = part.to_lowercase();
            let wanted = |event: &&Value| {
                let all = format!("{} {} {}", text(event, "/reason"), text(event, "/message"), text(event, "/note"));
                text(event, "/type") == kind && all.to_lowercase().contains(&lower)
            };
            events.iter().find(wanted).cloned().with_context(|| format!("{events:?}"))
        })
        .await
    }

    /// Asserts that exactly one network and one subnet exist for this uid; returns both.
    ///
    /// # Errors
    ///
    /// There are more or fewer.
    pub async fn only_network(&self, uid: &str) -> Result<(Value, Value)> {
        let networks = self.neutron.networks_of(uid).await?;
        let [network] = networks.as_slice() else { bail!("{} networks: {networks:?}", networks.len()) };
        let subnets = self.neutron.subnets_of(&text(network, "/id")).await?;
        let [subnet] = subnets.as_slice() else { bail!("{} subnets: {subnets:?}", subnets.len()) };
        Ok((network.clone(), subnet.clone()))
    }

    /// Waits until nothing in Neutron has this uid any more.
    ///
    /// # Errors
    ///
    /// Something is left.
    pub async fn nothing_left(&self, uid: &str) -> Result<()> {
        eventually(SOON, &format!("nothing of {uid} to be left in Neutron"), || async {
            let left = self.neutron.left_of(uid).await?;
            ensure!(left.is_empty(), "{left:?}");
            Ok(())
        })
        .await
    }
}

/// The string at a JSON pointer; empty if absent.
#[must_use]
pub fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// An object's Ready condition.
///
/// # Errors
///
/// The object has none.
pub fn ready(object: &Value) -> Result<Ready> {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let ready = conditions.into_iter().flatten().find(|condition| text(condition, "/type") == "Ready");
    let ready =
        ready.with_context(|| format!("no Ready condition: {}", object.get("status").unwrap_or(&Value::Null)))?;
    Ok(Ready { status: text(ready, "/status"), reason: text(ready, "/reason"), message: text(ready, "/message") })
}
