//! What in sync means for the plugins that come with the host. Of others only a fresh world tells.

use super::play::in_sync;
use super::settle::Stage;
use super::verdict::{Finding, Oracle, Seen};
use crate::harness::text;
use anyhow::Result;
use serde_json::Value;

/// Whether what is there is what objects that are in sync ask for.
pub(super) async fn agrees(stage: &Stage<'_>, seen: &Seen) -> Result<Result<(), Finding>> {
    for object in in_sync(stage, seen).await? {
        let agrees = match stage.subject.name.as_str() {
            "network" if stage.subject.targets.iter().any(|target| target.url.is_none()) => {
                network(stage, &object).await
            }
            "deployment-network" => deployment(stage, &object).await?,
            "pod-network" if text(&object, "/kind") == "Pod" => pod(stage, &object).await?,
            "envoy-injector" if text(&object, "/kind") == "Namespace" => namespace(stage, &object).await?,
            _ => Ok(()),
        };
        if let Err(why) = agrees {
            let text = format!("{} is in sync, but {why}", text(&object, "/metadata/name"));
            return Ok(Err(Finding::new(Oracle::Converges, text)));
        }
    }
    Ok(Ok(()))
}

/// One network and one subnet in Neutron, as the spec says, and the status names them.
async fn network(stage: &Stage<'_>, object: &Value) -> Result<(), String> {
    let uid = text(object, "/metadata/uid");
    let (network, subnet) = stage.world.only_network(&uid).await.map_err(|error| format!("{error:#}"))?;
    let pairs = [
        (object, "/spec/cidr", &subnet, "/cidr"),
        (object, "/spec/gateway", &subnet, "/gateway_ip"),
        (object, "/status/networkId", &network, "/id"),
        (object, "/status/subnetId", &subnet, "/id"),
        (object, "/status/cidr", &subnet, "/cidr"),
        (object, "/status/gateway", &subnet, "/gateway_ip"),
    ];
    for (ours, at, theirs, there) in pairs {
        let (wanted, found) = (text(ours, at), text(theirs, there));
        if wanted != found {
            return Err(format!("{at} is {wanted:?}, and in Neutron {there} is {found:?}"));
        }
    }
    Ok(())
}

/// A Network of the same name with what the annotations say, or none if none is wanted.
async fn deployment(stage: &Stage<'_>, object: &Value) -> Result<Result<(), String>> {
    let annotation = |key: &str| {
        let annotations = object.pointer("/metadata/annotations");
        annotations.and_then(|all| all.get(format!("samplecrd.k8s.io/{key}"))).and_then(Value::as_str).map(str::trim)
    };
    let network = stage.world.cluster.get(&stage.world.network_path(&text(object, "/metadata/name"))).await?;
    let Some(network) = network else {
        let wanted = annotation("network") != Some("false");
        return Ok(if wanted { Err("there is no Network".to_owned()) } else { Ok(()) });
    };
    if annotation("network") == Some("false") {
        return Ok(Err(format!("a Network is there that is not wanted: {network}")));
    }
    let owner = text(&network, "/metadata/ownerReferences/0/uid");
    if owner != text(object, "/metadata/uid") {
        return Ok(Err(format!("its Network belongs to {owner:?}")));
    }
    for (key, at) in [("cidr", "/spec/cidr"), ("gateway", "/spec/gateway")] {
        let found = text(&network, at);
        if let Some(wanted) = annotation(key).filter(|wanted| *wanted != found) {
            return Ok(Err(format!("{key} is {wanted:?}, and that of its Network {found:?}")));
        }
    }
    Ok(Ok(()))
}

/// A port in the Network the Pod names, and its annotations say which; none if it names none.
async fn pod(stage: &Stage<'_>, object: &Value) -> Result<Result<(), String>> {
    let annotation = |key: &str| text(object, &format!("/metadata/annotations/samplecrd.k8s.io~1{key}"));
    let ports = stage.world.ports_of(&text(object, "/metadata/uid")).await?;
    let name = annotation("network");
    let told = (annotation("network-port-id"), annotation("network-ip"));
    if name.is_empty() {
        let nothing = ports.is_empty() && told == (String::new(), String::new());
        return Ok(if nothing { Ok(()) } else { Err(format!("it wants no port: {ports:?} {told:?}")) });
    }
    let network = stage.world.cluster.get(&stage.world.network_path(&name)).await?.unwrap_or_default();
    let [port] = ports.as_slice() else { return Ok(Err(format!("its ports are {ports:?}"))) };
    let found = (text(port, "/id"), text(port, "/fixed_ips/0/ip_address"));
    let right = text(port, "/network_id") == text(&network, "/status/networkId") && found == told;
    Ok(if right { Ok(()) } else { Err(format!("it is told {told:?}, and its port is {port}")) })
}

/// A copy of the ConfigMap `envoy` of the namespace `default` where injection is on, and none elsewhere.
async fn namespace(stage: &Stage<'_>, object: &Value) -> Result<Result<(), String>> {
    let of = async |namespace: &str| {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps/envoy");
        Ok::<_, anyhow::Error>(
            stage.world.cluster.get(&path).await?.map(|found| found.get("data").cloned().unwrap_or_default()),
        )
    };
    let on = text(object, "/metadata/labels/initializer.kubernetes.io~1envoy") == "true";
    let wanted = if on { of("default").await? } else { None };
    let found = of(&text(object, "/metadata/name")).await?;
    Ok(if found == wanted { Ok(()) } else { Err(format!("its ConfigMap envoy is {found:?}, not {wanted:?}")) })
}
