//! The story: what a user of Oarlock sees, from the first start to the last deletion.
//!
//! The end-to-end test of this name and the demo both play it. Every step is checked before it is told.

mod deployment;
mod injection;
mod lifecycle;
mod pod;
mod rollout;
mod traffic;
mod trouble;
mod versions;

use crate::harness::World;
use anyhow::{Context, Result};
use serde_json::{Map, Value};
use std::{fs, path::PathBuf};

/// Puts in what the story needs beside the network plugin.
///
/// # Errors
///
/// When a plugin has not been built.
pub fn furnish(world: &World) -> Result<()> {
    add_envoy_injector(world, &[])?;
    world.plugins.add("deployment-network", "deployment-network", &world.deployment_network_grant())?;
    world.plugins.add("pod-network", "pod-network", &world.pod_network_grant()?)?;
    let grant = crate::harness::repository_root().join("plugins/traffic/traffic.yaml");
    world.plugins.file("traffic.yaml", &fs::read(&grant).with_context(|| grant.display().to_string())?)?;
    world.plugins.file("traffic.wasm", &fs::read(crate::harness::built_plugin("traffic")?)?)
}

/// Puts in the plugin envoy-injector, on the terms of the grant it is shipped with; its ConfigMaps are in the world's namespace.
///
/// * `settings` - further configuration.
///
/// # Errors
///
/// When it has not been built.
pub fn add_envoy_injector(world: &World, settings: &[(&str, &str)]) -> Result<()> {
    let file = crate::harness::repository_root().join("plugins/envoy-injector/envoy-injector.yaml");
    let grant = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let mut grant: Value = serde_saphyr::from_str(&grant)?;
    if let Some(config) = grant.pointer_mut("/config").and_then(Value::as_object_mut) {
        config.insert("configNamespace".to_owned(), world.namespace.clone().into());
        config.extend(settings.iter().map(|&(key, value)| (key.to_owned(), value.into())));
    }
    world.plugins.file("envoy-injector.yaml", grant.to_string().as_bytes())?;
    world.plugins.file("envoy-injector.wasm", &fs::read(crate::harness::built_plugin("envoy-injector")?)?)
}

/// Plays the whole story in a [furnished](furnish) world without the CRD and without a running host, with a resync of a few seconds.
///
/// # Errors
///
/// The first step that is not true.
pub async fn play(world: &World) -> Result<()> {
    let story = Story::new(world)?;
    world.cluster.apply_crd(&crate::harness::repository_root().join("plugins/traffic/crd.yaml")).await?;
    story.host_before_crd().await.context("the host starts before the CRD exists")?;
    let uid = story.applied().await.context("kubectl apply of a Network")?;
    story.refused().await.context("a Network that makes no sense")?;
    story.gateway_edited(&uid).await.context("the gateway is edited")?;
    story.drift_repaired(&uid).await.context("somebody changes Neutron behind our back")?;
    story.unchanged_resync_is_silent().await.context("an unchanged resync")?;
    story.killed(&uid).await.context("the host is killed")?;
    story.deleted(&uid).await.context("kubectl delete")?;
    story.deleted_while_down().await.context("kubectl delete while Neutron is down")?;
    story.deployment().await.context("a Deployment gets a Network")?;
    story.pod().await.context("a Pod gets a port in a Network")?;
    story.injection().await.context("a Pod gets the envoy container before it is stored")?;
    story.versions().await.context("a second version of the Network arrives")?;
    story.traffic().await.context("the traffic between two versions shifts")?;
    Ok(())
}

/// Plays the last act, after [`play`]: a plan, and a canary that is stopped. It takes another plugin, whose permissions the host needs.
///
/// # Errors
///
/// The first step that is not true.
pub async fn play_rollout(world: &World) -> Result<()> {
    Story::new(world)?.rollout().await.context("a configuration with more consequences than meant")
}

/// What the steps share.
struct Story<'w> {
    world: &'w World,
    crd: PathBuf,
    example: PathBuf,
    /// Name of the Network in the example file.
    name: String,
}

impl<'w> Story<'w> {
    fn new(world: &'w World) -> Result<Self> {
        let folder = crate::harness::repository_root().join("plugins/network");
        let example = folder.join("example.yaml");
        let text = fs::read_to_string(&example).with_context(|| example.display().to_string())?;
        let object: Value = serde_saphyr::from_str(&text)?;
        let name = crate::harness::text(&object, "/metadata/name");
        Ok(Self { world, crd: folder.join("crd.yaml"), example, name })
    }

    /// kubectl in the world's namespace.
    async fn kubectl(&self, args: &[&str]) -> Result<String> {
        let mut all = vec!["--namespace", self.world.namespace.as_str()];
        all.extend_from_slice(args);
        self.world.cluster.kubectl(&all).await
    }

    /// Shows an object without the fields nobody reads.
    fn show(&self, object: &Value) {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
            if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
                annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
            }
        }
        let yaml = serde_saphyr::to_string(&object).unwrap_or_else(|_| object.to_string());
        self.world.narrator.show(&yaml);
    }

    /// Shows what Neutron has, without the fields that are the same for everybody.
    fn show_neutron(&self, things: &[&Value]) {
        for thing in things {
            let told = ["name", "id", "description", "status", "cidr", "gateway_ip", "allocation_pools", "fixed_ips"];
            let brief: Map<String, Value> =
                told.iter().filter_map(|key| Some(((*key).to_owned(), thing.get(*key)?.clone()))).collect();
            self.world.narrator.show(&format!("Neutron: {}", Value::Object(brief)));
        }
    }
}
