//! The host as the Deployment of the base starts it: its arguments, its ServiceAccount, its grants, its Service.

use super::{GRANTS, NAMESPACE, SHIPPED, base, copied, host_args, operations, samples};
use anyhow::{Context, Result, ensure};
use oarlock_manifest::PluginGrant;
use oarlock_tests::{
    harness::{
        Exchange, SOON, World, WorldOptions, built_plugin, commands, eventually, repository_root, text, with_world,
    },
    story,
};
use serde_json::{Value, json};
use std::{fs, net::SocketAddr, sync::Arc};

/// The grants of the samples; only where Neutron and the ConfigMaps of Envoy are is this world's.
fn furnish(world: &World) -> Result<()> {
    for name in SHIPPED {
        let file = repository_root().join(GRANTS).join(format!("{name}.yaml"));
        let mut grant: Value = serde_saphyr::from_str(&fs::read_to_string(&file)?)?;
        let neutron = world.neutron_gate.url();
        let mut put = |pointer: &str, value: Value| {
            if let Some(place) = grant.pointer_mut(pointer) {
                *place = value;
            }
        };
        put("/http/origins", json!([neutron]));
        put("/config/neutronUrl", json!(neutron));
        put("/config/configNamespace", json!(world.namespace));
        let asks_neutron = grant.pointer("/config/neutronUrl").is_some();
        let grant: PluginGrant = serde_json::from_value(grant)?;
        let grant = if asks_neutron { world.with_login(grant.into())? } else { grant.into() };
        world.plugins.grant(name, &grant)?;
        world.plugins.file(&format!("{name}.wasm"), &fs::read(built_plugin(name)?)?)?;
    }
    Ok(())
}

/// Does what the controller of EndpointSlices does: says where the Service leads, whenever a host begins to listen.
async fn serve(world: &World) -> Result<()> {
    let path = format!("/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices/oarlock-1");
    let mut known: Option<SocketAddr> = None;
    loop {
        // While the host is being started again there is none.
        let lines = world.log(|line| line.text.contains("admission server listening")).await.unwrap_or_default();
        let now: Option<SocketAddr> = lines.last().and_then(|line| line.field("addr")?.parse().ok());
        if let Some(addr) = now
            && known != now
        {
            let slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
                "metadata": {"name": "oarlock-1", "namespace": NAMESPACE, "labels": {"kubernetes.io/service-name": "oarlock"}},
                "endpoints": [{"addresses": [addr.ip().to_string()], "conditions": {"ready": true}}],
                "ports": [{"name": "admission", "port": addr.port(), "protocol": "TCP"}]});
            world.cluster.apply(&path, "endpoints", &slice).await?;
            known = now;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

/// What of the Deployment's arguments means the same outside of a Pod.
fn portable(args: Vec<String>) -> Vec<String> {
    // The harness says these: free ports, a folder of plugins, its log.
    let elsewhere = ["--plugins=", "--admin-addr=", "--cache-dir=", "--log-format="];
    let portable = args.into_iter().filter(|arg| !elsewhere.iter().any(|flag| arg.starts_with(flag)));
    portable.map(|arg| arg.replace("$(POD_NAME)", "oarlock-0")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_story_is_lived_with_the_arguments_grants_and_permissions_of_the_samples() -> Result<()> {
    // The one that is granted to deployment-network.
    let namespace = Some("default");
    let options = WorldOptions {
        resync_seconds: 2,
        crd: false,
        network: false,
        host: false,
        namespace,
        ..WorldOptions::default()
    };
    with_world(options, async |world: Arc<World>| {
        let checkout = world.folder().join("checkout");
        copied(&checkout)?;
        let run = async |line: &str| operations::run(line, &checkout, world.cluster.kubeconfig()).await;
        for line in commands("install")? {
            run(&line).await?;
        }
        // The story begins without Networks.
        world.cluster.kubectl(&["delete", "crd", "networks.samplecrd.k8s.io"]).await?;
        furnish(&world)?;
        world.act_as(NAMESPACE, "oarlock").await?;
        world.add_host_args(portable(host_args(&samples().await?)?));
        world.set_environment("POD_NAMESPACE", NAMESPACE);
        world.set_environment("POD_NAME", "oarlock-0");
        let serving = {
            let world = Arc::clone(&world);
            tokio::spawn(async move { serve(&world).await })
        };
        story::play(&world).await?;
        nothing_is_missing(&world).await?;
        nothing_was_forbidden(&world)?;

        // What the host serves is reached by the Service, with a certificate out of the Secret.
        let secret = world.cluster.get(&format!("/api/v1/namespaces/{NAMESPACE}/secrets/oarlock-admission")).await?;
        ensure!(secret.is_some(), "no certificates");
        let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/oarlock";
        let hooks = world.cluster.get(path).await?.context("no webhooks")?;
        ensure!(text(&hooks, "/webhooks/0/clientConfig/service/name") == "oarlock", "{hooks}");

        // What has a finalizer goes while a host runs; then nothing is left that somebody would wait for.
        let uid = world.create_network("last", "10.9.0.0/24", "10.9.0.1").await?;
        world.ready("last").await?;
        // One that somebody would make anew.
        let file = fs::read_to_string(repository_root().join("tests/fixtures/deployment.yaml"))?;
        let deployment: Value = serde_saphyr::from_str(&file)?;
        world.cluster.create("/apis/apps/v1/namespaces/default/deployments", &deployment).await?;
        world.ready("shop").await?;
        for line in commands("uninstall")? {
            run(&line).await?;
            if line.contains("--replicas=0") {
                let (status, _) = world.stop_host(SOON).await?;
                ensure!(status.success(), "the host ended with {status}");
            }
        }
        serving.abort();
        world.nothing_left(&uid).await?;
        nothing_is_left(&world).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_host_alone_is_ready_with_the_permissions_of_the_base() -> Result<()> {
    // Events about cluster-scoped objects are in `default`.
    let namespace = Some("default");
    let options = WorldOptions { crd: false, network: false, host: false, namespace, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        let checkout = world.folder().join("checkout");
        copied(&checkout)?;
        for line in commands("host")? {
            operations::run(&line, &checkout, world.cluster.kubeconfig()).await?;
        }
        world.act_as(NAMESPACE, "oarlock").await?;
        world.add_host_args(portable(host_args(&base().await?)?));
        world.set_environment("POD_NAMESPACE", NAMESPACE);
        world.set_environment("POD_NAME", "oarlock-0");
        // Ready, and the holder of its own Lease.
        world.start_host_answering(&[]).await?;
        let lease = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/oarlock");
        eventually(SOON, "the host to hold its Lease", || async {
            let lease = world.cluster.get(&lease).await?.context("no Lease")?;
            ensure!(text(&lease, "/spec/holderIdentity").starts_with("oarlock-0"), "{lease}");
            Ok(())
        })
        .await?;
        let plugins = world.host(async |host| host.plugins().await).await?;
        ensure!(plugins.get("plugins").and_then(Value::as_array).is_some_and(Vec::is_empty), "{plugins}");
        // An initializer without its plugin takes all of its permissions for admission.
        let configurations = "/apis/oarlock.dev/v1alpha1/initializerconfigurations";
        let initializer = json!({"name": "a.initializer.example.com", "plugin": "elsewhere",
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]});
        let configuration = json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "InitializerConfiguration",
            "metadata": {"name": "early"}, "initializers": [initializer]});
        let created = world.cluster.create(configurations, &configuration).await?;
        let hooks = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/oarlock";
        eventually(SOON, "the webhook of initializers", || async {
            world.cluster.get(hooks).await?.map(drop).context("no webhook configuration")
        })
        .await?;
        world.event(&text(&created, "/metadata/uid"), "Warning", "no plugin elsewhere runs").await?;
        nothing_was_forbidden(&world)
    })
    .await
}

/// Neither objects of the base, nor what the host made for itself, nor the definitions.
async fn nothing_is_left(world: &World) -> Result<()> {
    eventually(SOON, "everything to be gone", || async {
        for path in [
            format!("/api/v1/namespaces/{NAMESPACE}"),
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/networks.samplecrd.k8s.io".to_owned(),
            "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/oarlock".to_owned(),
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/oarlock".to_owned(),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/oarlock-samples".to_owned(),
        ] {
            ensure!(world.cluster.get(&path).await?.is_none(), "{path} is left");
        }
        Ok(())
    })
    .await
}

/// No request of the host was answered with 401 or 403.
fn nothing_was_forbidden(world: &World) -> Result<()> {
    let refused = |one: &Exchange| one.status.is_some_and(|status| [401, 403].contains(&status.as_u16()));
    let forbidden: Vec<String> =
        world.kubernetes_gate.journal().iter().filter(|one| refused(one)).map(ToString::to_string).collect();
    ensure!(forbidden.is_empty(), "forbidden: {forbidden:#?}");
    Ok(())
}

/// No plugin says that the API server allows less than its grant.
async fn nothing_is_missing(world: &World) -> Result<()> {
    eventually(SOON, "every plugin to be active and allowed what it is granted", || async {
        let plugins = world.host(async |host| host.plugins().await).await?;
        let plugins = plugins.get("plugins").and_then(Value::as_array).cloned().unwrap_or_default();
        ensure!(plugins.len() == SHIPPED.len(), "{plugins:?}");
        for plugin in plugins {
            let lacks = plugin.get("missingPermissions").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
            ensure!(text(&plugin, "/state") == "active" && !lacks, "{plugin}");
        }
        Ok(())
    })
    .await
}
