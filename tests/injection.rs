//! The plugin envoy-injector on a whole host.

mod large;
mod swap;

use anyhow::{Context, Result, ensure};
use oarlock_tests::{
    harness::{SOON, World, WorldOptions, eventually, steady, text, with_world},
    story::add_envoy_injector,
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

const SWITCH: &str = "initializer.kubernetes.io/envoy";

/// A world without the Network plugin, and without a host yet. Its namespace is where the ConfigMaps are.
async fn with_home(body: impl AsyncFnOnce(Arc<World>) -> Result<()>) -> Result<()> {
    let options = WorldOptions { network: false, host: false, crd: false, ..WorldOptions::default() };
    with_world(options, async move |world: Arc<World>| {
        config_map(&world, "envoy-initializer", &json!({"config": INITIALIZER})).await?;
        config_map(&world, "envoy", &json!({"envoy.yaml": "admin: {}"})).await?;
        body(world).await
    })
    .await
}

const INITIALIZER: &str = "
containers:
  - name: envoy
    image: envoy:1
    ports: [{containerPort: 9901}]
    resources: {requests: {cpu: 0.5}}
    volumeMounts: [{name: envoy, mountPath: /etc/envoy}]
initContainers:
  - {name: envoy-redirect, image: 'redirect:1'}
volumes:
  - {name: envoy, configMap: {name: envoy}}
";

/// Starts the host with the plugin, on the terms of the grant it is shipped with.
async fn start(world: &World, config: &[(&str, &str)]) -> Result<()> {
    add_envoy_injector(world, config)?;
    world.start_host().await
}

fn path_of(namespace: &str, resource: &str, name: &str) -> String {
    let group = if resource == "deployments" { "/apis/apps/v1" } else { "/api/v1" };
    let path = format!("{group}/namespaces/{namespace}/{resource}");
    if name.is_empty() { path } else { format!("{path}/{name}") }
}

async fn config_map(world: &World, name: &str, data: &Value) -> Result<()> {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data});
    world.cluster.create(&path_of(&world.namespace, "configmaps", ""), &object).await.map(drop)
}

/// A namespace where injection is on.
async fn switched_on(world: &World) -> Result<String> {
    let name = world.cluster.fresh_namespace().await?;
    world
        .cluster
        .merge_patch(&format!("/api/v1/namespaces/{name}"), &json!({"metadata": {"labels": {SWITCH: "true"}}}))
        .await?;
    Ok(name)
}

/// Waits until the copy of the ConfigMap holds this.
async fn copy_is(world: &World, namespace: &str, expected: Option<&Value>) -> Result<()> {
    eventually(SOON, "the copy of the ConfigMap", || async {
        let copy = world.cluster.get(&path_of(namespace, "configmaps", "envoy")).await?;
        ensure!(copy.as_ref().map(|copy| &copy["data"]) == expected, "{copy:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_config_map_of_envoy_is_kept_in_every_namespace_where_injection_is_on() -> Result<()> {
    with_home(async |world: Arc<World>| {
        start(&world, &[]).await?;
        let shop = switched_on(&world).await?;
        let first = json!({"envoy.yaml": "admin: {}"});
        copy_is(&world, &shop, Some(&first)).await?;
        // The original is edited, the copy is, and the copy is deleted.
        let second = json!({"envoy.yaml": "node: {}"});
        world.cluster.merge_patch(&path_of(&world.namespace, "configmaps", "envoy"), &json!({"data": second})).await?;
        copy_is(&world, &shop, Some(&second)).await?;
        let copy = path_of(&shop, "configmaps", "envoy");
        world.cluster.merge_patch(&copy, &json!({"data": first})).await?;
        copy_is(&world, &shop, Some(&second)).await?;
        world.cluster.delete(&copy).await?;
        copy_is(&world, &shop, Some(&second)).await?;
        let mark = world.kubernetes_gate.mark();
        steady(Duration::from_secs(2), "no write without a reason", || async {
            let writes = world.kubernetes_gate.writes_since(mark);
            ensure!(!writes.iter().any(|one| one.path.contains("/configmaps/")), "{writes:?}");
            Ok(())
        })
        .await?;
        // Only ConfigMaps of the two names were ever asked for.
        let asked = world.kubernetes_gate.journal().into_iter().filter(|one| one.path.contains("/configmaps?"));
        for one in asked {
            ensure!(one.path.contains("metadata.name%3Denvoy"), "{one}");
        }
        let off = json!({"metadata": {"labels": {SWITCH: "false"}}});
        world.cluster.merge_patch(&format!("/api/v1/namespaces/{shop}"), &off).await?;
        copy_is(&world, &shop, None).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a10_a_pod_that_slipped_in_gets_an_event() -> Result<()> {
    with_home(async |world: Arc<World>| {
        let shop = switched_on(&world).await?;
        world.cluster.create(&path_of(&shop, "pods", ""), &pod("out", "false")).await?;
        let before = world.cluster.create(&path_of(&shop, "pods", ""), &pod("early", "true")).await?;
        start(&world, &[]).await?;
        eventually(SOON, "the event", || async {
            let events = world.cluster.list(&path_of(&shop, "events", "")).await?;
            let told: Vec<_> = events.iter().filter(|event| event["reason"] == "NotInjected").collect();
            let about = told.first().map(|event| text(event, "/involvedObject/name")).unwrap_or_default();
            ensure!(told.len() == 1 && about == "early", "{events:?}");
            Ok(())
        })
        .await?;
        let after = world.cluster.get(&path_of(&shop, "pods", "early")).await?.context("the Pod")?;
        ensure!(after["spec"] == before["spec"], "{after}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workload_gets_envoy_through_its_template_and_loses_it_again() -> Result<()> {
    with_home(async |world: Arc<World>| {
        start(&world, &[("workloadMode", "true")]).await?;
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "annotations": {"initializer.kubernetes.io/envoy-workload": "true"}},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "web:1"}]},
            }},
        });
        let before = world.cluster.create(&path_of(&world.namespace, "deployments", ""), &deployment).await?;
        let path = path_of(&world.namespace, "deployments", "web");
        let containers_are = async |expected: &[&str]| {
            eventually(SOON, "the containers of the template", || async {
                let live = world.cluster.get(&path).await?.context("the Deployment")?;
                let containers = live["spec"]["template"]["spec"]["containers"].as_array().cloned().unwrap_or_default();
                let names: Vec<String> = containers.iter().map(|container| text(container, "/name")).collect();
                ensure!(names == expected, "{names:?}");
                Ok(live)
            })
            .await
        };
        containers_are(&["web", "envoy"]).await?;
        // What the API server spells otherwise and adds is no reason to roll again.
        let mark = world.kubernetes_gate.mark();
        steady(Duration::from_secs(2), "one rollout", || async {
            let writes = world.kubernetes_gate.writes_since(mark);
            let again = writes.iter().filter(|one| one.path.contains("/deployments/")).count();
            ensure!(again == 0, "{writes:?}");
            Ok(())
        })
        .await?;
        let edited = json!({"data": {"config": "containers: [{name: envoy, image: 'envoy:2'}]"}});
        world.cluster.merge_patch(&path_of(&world.namespace, "configmaps", "envoy-initializer"), &edited).await?;
        eventually(SOON, "the new Envoy", || async {
            let live = world.cluster.get(&path).await?.context("the Deployment")?;
            let spec = &live["spec"]["template"]["spec"];
            ensure!(spec["containers"][1]["image"] == "envoy:2" && spec.get("initContainers").is_none(), "{spec}");
            Ok(())
        })
        .await?;
        world.cluster.merge_patch(&path, &json!({"metadata": {"annotations": null}})).await?;
        let after = containers_are(&["web"]).await?;
        ensure!(after["spec"]["template"] == before["spec"]["template"], "{after}");
        Ok(())
    })
    .await
}

/// A Pod with one container that asks for Envoy, or not.
fn pod(name: &str, annotation: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": {SWITCH: annotation}},
        "spec": {"containers": [{"name": "web", "image": "web:1"}]},
    })
}

/// Images by container, as the API server stored the Pod.
async fn made(world: &World, name: &str, annotation: &str) -> Result<Vec<String>> {
    let made = world.cluster.create(&path_of(&world.namespace, "pods", ""), &pod(name, annotation)).await?;
    let containers = made.pointer("/spec/containers").and_then(Value::as_array).cloned().unwrap_or_default();
    Ok(containers.iter().map(|container| text(container, "/image")).collect())
}

/// The same with the admission server, through the API server.
async fn with_door(body: impl AsyncFnOnce(Arc<World>) -> Result<()>) -> Result<()> {
    with_home(async move |world: Arc<World>| {
        add_envoy_injector(&world, &[])?;
        open_door(&world).await?;
        body(world).await
    })
    .await
}

async fn open_door(world: &World) -> Result<()> {
    world.start_host_answering(&["envoy-injector"]).await?;
    eventually(SOON, "the ConfigMap to be known", || made(world, "first", "true")).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_pod_is_stored_with_envoy_and_an_edit_counts_for_the_next_one() -> Result<()> {
    with_door(async |world: Arc<World>| {
        ensure!(made(&world, "in", "true").await? == ["web:1", "envoy:1"], "not injected");
        ensure!(made(&world, "out", "false").await? == ["web:1"], "injected against its will");
        let stored = world.cluster.get(&path_of(&world.namespace, "pods", "in")).await?.context("the Pod")?;
        ensure!(text(&stored, "/spec/initContainers/0/name") == "envoy-redirect", "{stored}");
        let edited = json!({"data": {"config": INITIALIZER.replace("envoy:1", "envoy:2")}});
        world.cluster.merge_patch(&path_of(&world.namespace, "configmaps", "envoy-initializer"), &edited).await?;
        let mut tries = 0;
        eventually(SOON, "the edit to count", || {
            tries += 1;
            let name = format!("edited-{tries}");
            let world = Arc::clone(&world);
            async move {
                let images = made(&world, &name, "true").await?;
                ensure!(images == ["web:1", "envoy:2"], "{images:?}");
                Ok(())
            }
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_config_map_refuses_the_pods_that_ask_for_envoy_and_says_where() -> Result<()> {
    with_door(async |world: Arc<World>| {
        let broken = json!({"data": {"config": "containers:\n  - name: [oops"}});
        world.cluster.merge_patch(&path_of(&world.namespace, "configmaps", "envoy-initializer"), &broken).await?;
        let mut tries = 0;
        eventually(SOON, "a refusal", || {
            tries += 1;
            let name = format!("broken-{tries}");
            let world = Arc::clone(&world);
            async move {
                let refused = made(&world, &name, "true").await.err().context("it was taken")?;
                let refused = format!("{refused:#}");
                ensure!(
                    refused.contains("plugin envoy-injector") && refused.contains("envoy-initializer"),
                    "{refused}"
                );
                Ok(())
            }
        })
        .await?;
        ensure!(made(&world, "out", "false").await? == ["web:1"], "who opts out is not touched");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a10_the_host_dies_and_pods_wait_for_it_as_the_failure_policy_says() -> Result<()> {
    with_door(async |world: Arc<World>| {
        world.kill_host().await?;
        let refused = made(&world, "fails", "true").await.err().context("it was taken")?;
        ensure!(format!("{refused:#}").contains("failed calling webhook"), "{refused:#}");
        world.start_host_answering(&["envoy-injector"]).await?;
        eventually(SOON, "the new host to be asked", || async {
            let images = made(&world, "again", "true").await?;
            ensure!(images == ["web:1", "envoy:1"], "{images:?}");
            Ok(())
        })
        .await
    })
    .await
}

/// Not even for a moment, in which Pods would pass.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a10_a_host_that_starts_again_never_takes_its_webhooks_away() -> Result<()> {
    with_door(async |world: Arc<World>| {
        let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/oarlock";
        let uid = async || {
            let configuration = world.cluster.get(path).await?.context("no configuration")?;
            anyhow::Ok(configuration.pointer("/metadata/uid").cloned())
        };
        let before = uid().await?;
        for start in 0..6 {
            world.kill_host().await?;
            world.start_host_answering(&["envoy-injector"]).await?;
            eventually(SOON, "the new host to be asked", || async {
                made(&world, &format!("pod-{start}"), "true").await.map(drop)
            })
            .await?;
            ensure!(uid().await? == before, "start {start}: removed, and written again");
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_grant_says_ignore_pods_pass_with_a_warning() -> Result<()> {
    with_home(async |world: Arc<World>| {
        add_envoy_injector(&world, &[])?;
        let file = world.plugins.path().join("envoy-injector.yaml");
        let mut grant: Value = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
        grant["admission"][0]["failurePolicy"] = json!("Ignore");
        world.plugins.file("envoy-injector.yaml", grant.to_string().as_bytes())?;
        world.cluster.delete(&path_of(&world.namespace, "configmaps", "envoy-initializer")).await?;
        world.start_host_answering(&["envoy-injector"]).await?;
        let file = world.folder().join("pod.json");
        std::fs::write(&file, pod("bare", "true").to_string())?;
        let said =
            world.cluster.kubectl_said(&["apply", "-n", &world.namespace, "-f", &file.display().to_string()]).await?;
        ensure!(said.contains("Warning: plugin envoy-injector") && said.contains("envoy-initializer"), "{said}");
        let stored = world.cluster.get(&path_of(&world.namespace, "pods", "bare")).await?.context("the Pod")?;
        ensure!(stored.pointer("/spec/containers").and_then(Value::as_array).map(Vec::len) == Some(1), "{stored}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_initializer_configuration_switches_injection_on_and_off() -> Result<()> {
    with_home(async |world: Arc<World>| {
        world.cluster.apply_crd(&oarlock_tests::harness::repository_root().join("deploy/crds/initializerconfigurations.yaml")).await?;
        add_envoy_injector(&world, &[])?;
        let file = world.plugins.path().join("envoy-injector.yaml");
        let mut grant: Value = serde_json::from_str(&std::fs::read_to_string(&file)?)?;
        grant["admission"][0]["onlyAsInitializer"] = json!(true);
        world.plugins.file("envoy-injector.yaml", grant.to_string().as_bytes())?;
        world.start_host_with(&["--admission-addr", "127.0.0.1:0"]).await?;
        ensure!(made(&world, "before", "true").await? == ["web:1"], "injected without an initializer");
        let path = "/apis/oarlock.dev/v1alpha1/initializerconfigurations";
        let configuration = json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "InitializerConfiguration", "metadata": {"name": "envoy"},
            "initializers": [{"name": "envoy.initializer.example.com", "plugin": "envoy-injector",
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]}]});
        world.cluster.create(path, &configuration).await?;
        for (switched, expected) in [("on", &["web:1", "envoy:1"][..]), ("off", &["web:1"][..])] {
            if switched == "off" {
                world.cluster.delete(&format!("{path}/envoy")).await?;
            }
            let mut tries = 0;
            eventually(SOON, &format!("injection to be {switched}"), || {
                tries += 1;
                let (name, world) = (format!("{switched}-{tries}"), Arc::clone(&world));
                async move {
                    let images = made(&world, &name, "true").await?;
                    ensure!(images == expected, "{images:?}");
                    let stored = world.cluster.get(&path_of(&world.namespace, "pods", &name)).await?.context("the Pod")?;
                    ensure!(stored.pointer("/metadata/initializers").is_none(), "{stored}");
                    Ok(())
                }
            })
            .await?;
        }
        Ok(())
    })
    .await
}
