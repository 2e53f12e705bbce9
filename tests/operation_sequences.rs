//! Random operation sequences against the plugins that come with the host; `make fuzz-plugin` plays them to any other.

use anyhow::{Result, ensure};
use oarlock_tests::{
    fuzz_plugin::{Files, Limits, Report, Subject, plan, play_once},
    harness::{built_plugin, repository_root},
};
use std::env;

#[expect(clippy::print_stdout, reason = "what a test did, for those who ask")]
fn say(what: &str) {
    println!("{what}");
}

/// Plays one plan. Its seed is that of `FUZZ_SEED`, so that another one can be tried.
async fn holds(files: &Files, steps: usize) -> Result<()> {
    let seed = env::var("FUZZ_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let subject = Subject::load(files).await?;
    let limits = Limits { steps, ..Limits::default() };
    let plan = plan(&subject.source, seed, limits.objects, limits.steps)?;
    let mut report = Report::default();
    let failure = play_once(&subject, &plan, &limits, &mut report).await?;
    ensure!(failure.is_none(), "FUZZ_SEED={seed}: {}", failure.map(|failure| failure.to_string()).unwrap_or_default());
    say(&report.to_string());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: make test-all"]
async fn the_network_plugin_does_as_the_last_object_says_whatever_was_before() -> Result<()> {
    let root = repository_root();
    let files = Files {
        plugin: built_plugin("network")?,
        crds: vec![root.join("plugins/network/crd.yaml")],
        grant: Some(root.join("plugins/network/network.yaml")),
        targets: vec!["neutronUrl=neutron".to_owned()],
        looks: ["networks", "subnets", "ports"].map(|what| format!("/v2.0/{what}")).to_vec(),
        // Neutron counts them up.
        ignored: vec!["provider:segmentation_id".to_owned()],
        ..Files::default()
    };
    holds(&files, 20).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: make test-all"]
async fn the_deployment_plugin_does_as_the_last_object_says_whatever_was_before() -> Result<()> {
    let root = repository_root();
    let files = Files {
        plugin: built_plugin("deployment-network")?,
        crds: vec![root.join("plugins/network/crd.yaml")],
        grant: Some(root.join("plugins/deployment-network/deployment-network.yaml")),
        base: Some(root.join("tests/fixtures/deployments.yaml")),
        fixed: vec!["/metadata/annotations/samplecrd.k8s.io~1cidr".to_owned()],
        ..Files::default()
    };
    holds(&files, 20).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: make test-all"]
async fn the_pod_plugin_does_as_the_last_object_says_whatever_was_before() -> Result<()> {
    let root = repository_root();
    let files = Files {
        plugin: built_plugin("pod-network")?,
        crds: vec![root.join("plugins/network/crd.yaml")],
        grant: Some(root.join("plugins/pod-network/pod-network.yaml")),
        base: Some(root.join("tests/fixtures/pods.yaml")),
        beside: Some(root.join("tests/fixtures/networks.yaml")),
        targets: vec!["neutronUrl=neutron".to_owned()],
        looks: vec!["/v2.0/ports".to_owned()],
        // Which address is free depends on what was before.
        ignored: vec!["samplecrd.k8s.io/network-ip".to_owned(), "ip_address".to_owned(), "mac_address".to_owned()],
        ..Files::default()
    };
    holds(&files, 14).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: make test-all"]
async fn the_injector_keeps_its_config_map_as_the_last_labels_of_namespaces_say_whatever_was_before() -> Result<()> {
    let root = repository_root();
    let files = Files {
        plugin: built_plugin("envoy-injector")?,
        grant: Some(root.join("plugins/envoy-injector/envoy-injector.yaml")),
        base: Some(root.join("tests/fixtures/namespaces.yaml")),
        beside: Some(root.join("tests/fixtures/envoy.yaml")),
        ..Files::default()
    };
    holds(&files, 14).await
}
