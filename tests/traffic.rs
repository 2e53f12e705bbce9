//! The traffic plugin: Envoy itself follows TrafficRoutes. Left out where Envoy is missing.

mod canary;
mod mesh;

use anyhow::{Result, ensure};
use mesh::{Backend, Envoy, Kubelet, ready_pod};
use oarlock_tests::harness::{
    SOON, World, WorldOptions, built_plugin, eventually, repository_root, steady, text, tools, with_world,
};
use serde_json::{Value, json};
use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

const SWITCH: &str = "initializer.kubernetes.io/envoy";

/// A world with the CRD, a namespace with injection, and a host with the plugin as shipped.
///
/// * `grant` - changes the shipped grant.
async fn with_traffic(grant: impl FnOnce(&mut Value), body: impl AsyncFnOnce(Arc<World>) -> Result<()>) -> Result<()> {
    let options = WorldOptions { network: false, host: false, crd: false, ..WorldOptions::default() };
    with_world(options, async move |world: Arc<World>| {
        let folder = repository_root().join("plugins/traffic");
        world.cluster.apply_crd(&folder.join("crd.yaml")).await?;
        let on = json!({"metadata": {"labels": {SWITCH: "true"}}});
        world.cluster.merge_patch(&format!("/api/v1/namespaces/{}", world.namespace), &on).await?;
        let mut shipped: Value = serde_saphyr::from_str(&fs::read_to_string(folder.join("traffic.yaml"))?)?;
        grant(&mut shipped);
        world.plugins.file("traffic.yaml", shipped.to_string().as_bytes())?;
        world.plugins.file("traffic.wasm", &fs::read(built_plugin("traffic")?)?)?;
        world.start_host().await?;
        body(world).await
    })
    .await
}

/// Envoy, and two versions of a workload with a Pod each.
struct Mesh {
    envoy: Envoy,
    v1: Backend,
    v2: Backend,
    _kubelet: Kubelet,
}

impl Mesh {
    async fn new(world: &Arc<World>, program: PathBuf) -> Result<Self> {
        let (v1, v2) = (Backend::start("v1").await?, Backend::start("v2").await?);
        for version in ["v1", "v2"] {
            ready_pod(world, &format!("reviews-{version}"), &json!({"app": "reviews", "version": version})).await?;
        }
        let folder = world.folder().join("envoy");
        fs::create_dir(&folder)?;
        let kubelet = Kubelet::mount(world, &folder).await?;
        let envoy = Envoy::start(&program, &folder).await?;
        Ok(Self { envoy, v1, v2, _kubelet: kubelet })
    }

    fn destination(&self, version: &str, weight: u32) -> Value {
        let port = if version == "v1" { self.v1.port } else { self.v2.port };
        json!({"name": version, "weight": weight, "port": port, "pods": {"app": "reviews", "version": version}})
    }

    fn split(&self, v1: u32, v2: u32) -> Value {
        json!({"host": "reviews", "rules": [{"destinations": [self.destination("v1", v1), self.destination("v2", v2)]}]})
    }
}

fn path(world: &World, name: &str) -> String {
    format!("/apis/traffic.oarlock.dev/v1alpha1/namespaces/{}/trafficroutes/{name}", world.namespace)
}

/// `kubectl apply` of a TrafficRoute.
async fn apply(world: &World, name: &str, spec: &Value) -> Result<()> {
    let object = json!({"apiVersion": "traffic.oarlock.dev/v1alpha1", "kind": "TrafficRoute",
        "metadata": {"name": name, "namespace": world.namespace}, "spec": spec});
    let file = world.folder().join(format!("{name}.json"));
    fs::write(&file, object.to_string())?;
    world.cluster.kubectl(&["apply", "-f", &file.display().to_string()]).await.map(drop)
}

/// Waits until a condition has this status and reason for the newest generation; returns the object.
async fn condition(world: &World, name: &str, kind: &str, status: &str, reason: &str) -> Result<Value> {
    eventually(SOON, &format!("{kind} of {name} to be {status}: {reason}"), || async {
        let object = world.cluster.get(&path(world, name)).await?.unwrap_or_default();
        let conditions = object.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
        let of = |one: &&Value| text(one, "/type") == kind;
        let found = conditions.iter().find(of).cloned().unwrap_or_default();
        let generation = |at: &str| object.pointer(at).and_then(Value::as_i64).unwrap_or_default();
        let current = generation("/metadata/generation") == generation("/status/observedGeneration");
        ensure!(current && text(&found, "/status") == status && text(&found, "/reason") == reason, "{object}");
        Ok(object)
    })
    .await
}

/// Waits until requests are split like this: the share of v2 in percent.
async fn share_is(mesh: &Mesh, percent: usize) -> Result<()> {
    const COUNT: usize = 400;
    // Five times the standard deviation of a fair draw, at its largest.
    const SPREAD: usize = 50;
    eventually(SOON, &format!("{percent} % of the requests at v2"), || async {
        let seen = mesh.envoy.sample("reviews", COUNT).await?;
        let v2 = seen.get("v2").copied().unwrap_or_default();
        let expected = COUNT * percent / 100;
        let exact = percent == 0 || percent == 100;
        ensure!(if exact { v2 == expected } else { v2.abs_diff(expected) <= SPREAD }, "{seen:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_apply_shifts_the_traffic_of_envoy_and_no_request_fails() -> Result<()> {
    let Some([program]) = tools(["envoy"])? else { return Ok(()) };
    with_traffic(
        |_| (),
        async |world: Arc<World>| {
            let mesh = Arc::new(Mesh::new(&world, program).await?);
            let alone =
                |version| json!({"host": "reviews", "rules": [{"destinations": [mesh.destination(version, 100)]}]});
            apply(&world, "reviews", &alone("v1")).await?;
            condition(&world, "reviews", "Programmed", "True", "Programmed").await?;
            share_is(&mesh, 0).await?;
            let (stop, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
            let load = {
                let (mesh, stop, sent) = (Arc::clone(&mesh), Arc::clone(&stop), Arc::clone(&sent));
                tokio::spawn(async move {
                    while !stop.load(Ordering::Relaxed) {
                        mesh.envoy.sample("reviews", 10).await?;
                        sent.fetch_add(10, Ordering::Relaxed);
                    }
                    Ok::<_, anyhow::Error>(())
                })
            };
            let began = mesh.envoy.statistic("server.uptime").await?;
            // Envoy reads routes and clusters in any order: a new destination gets requests when Envoy has its cluster.
            apply(&world, "reviews", &mesh.split(100, 0)).await?;
            mesh.envoy.has_cluster(&format!("{}/reviews/v2", world.namespace)).await?;
            for (v1, v2) in [(90, 10), (50, 50), (0, 100), (100, 0), (50, 50)] {
                apply(&world, "reviews", &mesh.split(v1, v2)).await?;
                share_is(&mesh, usize::try_from(v2)?).await?;
            }
            // Destinations that come and go in one apply with the weights.
            for (version, percent) in [("v2", 100), ("v1", 0), ("v2", 100), ("v1", 0)] {
                apply(&world, "reviews", &alone(version)).await?;
                share_is(&mesh, percent).await?;
            }
            stop.store(true, Ordering::Relaxed);
            load.await??;
            ensure!(sent.load(Ordering::Relaxed) > 100, "no load");
            ensure!(mesh.envoy.statistic("server.uptime").await? >= began, "Envoy was restarted");
            mesh.envoy.refused_nothing().await
        },
    )
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_is_named_in_a_condition_and_the_last_good_configuration_stays() -> Result<()> {
    let Some([program]) = tools(["envoy"])? else { return Ok(()) };
    with_traffic(
        |_| (),
        async |world: Arc<World>| {
            let mesh = Mesh::new(&world, program).await?;
            apply(&world, "reviews", &mesh.split(0, 100)).await?;
            condition(&world, "reviews", "Programmed", "True", "Programmed").await?;
            share_is(&mesh, 100).await?;
            let mut absent = mesh.split(50, 50);
            absent["rules"][0]["destinations"][0]["pods"]["version"] = json!("v3");
            for (spec, reason) in [(mesh.split(90, 20), "WeightsDoNotAddUp"), (absent, "DestinationNotFound")] {
                apply(&world, "reviews", &spec).await?;
                let object = condition(&world, "reviews", "Accepted", "False", reason).await?;
                ensure!(object["status"]["accepted"]["rules"][0]["destinations"][1]["weight"] == 100, "{object}");
                condition(&world, "reviews", "Ready", "False", "TerminalError").await?;
                share_is(&mesh, 100).await?;
            }
            // A host that another route has.
            apply(&world, "second", &mesh.split(100, 0)).await?;
            condition(&world, "second", "Accepted", "False", "HostClaimed").await?;
            share_is(&mesh, 100).await?;
            // Nothing but the other route's end makes it valid.
            world.cluster.delete(&path(&world, "reviews")).await?;
            condition(&world, "second", "Programmed", "True", "Programmed").await?;
            share_is(&mesh, 0).await?;
            mesh.envoy.refused_nothing().await
        },
    )
    .await
}

/// Whatever is accepted, Envoy takes: one expression that it refuses would hold up all routes.
async fn expressions(world: &World, mesh: &Mesh) -> Result<()> {
    let namespace = &world.namespace;
    for (i, regex) in [
        "[^/]+\\.html?",
        "(a|b){3}",
        "a{400}",
        "\\w{30}",
        "[à-ýЀ-ӿ]{5}",
        "\\d+\\s\\W",
        "[[:alpha:]-]+",
        "^/$",
        "\\{x\\}",
        "(?:a+b*?)+",
        "[\\w.]",
        "é+",
    ]
    .iter()
    .enumerate()
    {
        let rule = json!({"matches": [json!({"path": {"type": "RegularExpression", "value": regex}})], "destinations": json!([mesh.destination("v1", 100)])});
        apply(world, &format!("regex-{i}"), &json!({"host": format!("regex-{i}"), "rules": [rule]})).await?;
        condition(world, &format!("regex-{i}"), "Programmed", "True", "Programmed").await?;
        eventually(SOON, "Envoy to take it", || async {
            mesh.envoy.refused_nothing().await?;
            let answer = mesh.envoy.ask(&format!("regex-{i}.{namespace}"), "/no", &[]).await?;
            ensure!(answer.status == 404, "{regex}: {} {}", answer.status, answer.text());
            Ok(())
        })
        .await?;
    }

    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn matches_timeouts_retries_and_mirrors_do_in_envoy_what_they_say() -> Result<()> {
    let Some([program]) = tools(["envoy"])? else { return Ok(()) };
    with_traffic(
        |_| (),
        async |world: Arc<World>| {
            let mesh = Mesh::new(&world, program).await?;
            let only = |version: &str| json!([mesh.destination(version, 100)]);
            let path_is = |kind: &str, value: &str| json!({"path": {"type": kind, "value": value}});
            let tester = json!({"path": {"value": "/"}, "headers": [{"name": "x-user", "value": "tester"}]});
            let beta = json!({"headers": [{"name": "x-user", "type": "RegularExpression", "value": "beta-[0-9]+"}]});
            let mirror = json!({"name": "v2", "percent": 100, "port": mesh.v2.port, "pods": {"app": "reviews", "version": "v2"}});
            let spec = json!({"host": "reviews", "rules": [
                {"matches": [path_is("PathPrefix", "/new/"), path_is("Exact", "/one"), path_is("RegularExpression", "/r[0-9]+"), tester, beta],
                 "destinations": only("v2")},
                {"matches": [path_is("PathPrefix", "/slow")], "timeout": "200ms", "destinations": only("v1")},
                {"matches": [path_is("PathPrefix", "/retried")], "retries": {"attempts": 3, "on": ["5xx"], "perTryTimeout": "1s"},
                 "destinations": only("v1")},
                {"matches": [path_is("PathPrefix", "/mirrored")], "mirror": mirror, "destinations": only("v1")},
                {"destinations": only("v1")},
            ]});
            apply(&world, "reviews", &spec).await?;
            condition(&world, "reviews", "Programmed", "True", "Programmed").await?;
            eventually(SOON, "Envoy to follow", || async {
                let answer = mesh.envoy.ask("reviews", "/new", &[]).await?;
                ensure!(answer.text() == "v2", "{} {}", answer.status, answer.text());
                Ok(())
            })
            .await?;
            let namespace = &world.namespace;
            for (host, at, headers, version) in [
                ("reviews", "/new/page?x=1", &[][..], "v2"),
                ("reviews", "/newer", &[], "v1"),
                ("reviews", "/one", &[], "v2"),
                ("reviews", "/one/two", &[], "v1"),
                ("reviews", "/r42", &[], "v2"),
                ("reviews", "/r42x", &[], "v1"),
                ("reviews", "/", &[("x-user", "tester")], "v2"),
                ("reviews", "/", &[("x-user", "testers")], "v1"),
                ("reviews", "/", &[("x-user", "beta-7")], "v2"),
                ("reviews", "/", &[("x-user", "beta-")], "v1"),
                ("reviews:8080", "/one", &[], "v2"),
                (&format!("reviews.{namespace}"), "/one", &[], "v2"),
                (&format!("reviews.{namespace}.svc.cluster.local:80"), "/one", &[], "v2"),
            ] {
                let answer = mesh.envoy.ask(host, at, headers).await?;
                ensure!(answer.text() == version, "{host}{at} {headers:?}: {} {}", answer.status, answer.text());
            }
            expressions(&world, &mesh).await?;
            mesh.v1.delay.store(2000, Ordering::Relaxed);
            let answer = mesh.envoy.ask("reviews", "/slow", &[]).await?;
            ensure!(answer.status == 504, "{}", answer.status);
            mesh.v1.delay.store(0, Ordering::Relaxed);
            mesh.v1.failing.store(true, Ordering::Relaxed);
            let before = mesh.v1.requests.load(Ordering::Relaxed);
            let answer = mesh.envoy.ask("reviews", "/retried", &[]).await?;
            let tries = mesh.v1.requests.load(Ordering::Relaxed) - before;
            ensure!(answer.status == 500 && tries == 4, "{} after {tries} tries", answer.status);
            mesh.v1.failing.store(false, Ordering::Relaxed);
            let before = mesh.v2.requests.load(Ordering::Relaxed);
            ensure!(mesh.envoy.ask("reviews", "/mirrored", &[]).await?.text() == "v1", "not v1");
            eventually(SOON, "the copy", || async {
                let copies = mesh.v2.requests.load(Ordering::Relaxed) - before;
                ensure!(copies == 1, "{copies} copies");
                Ok(())
            })
            .await?;
            // A host without a TrafficRoute is asked for in the DNS.
            let direct = mesh.envoy.ask(&format!("localhost:{}", mesh.v2.port), "/", &[]).await?;
            ensure!(direct.text() == "v2", "{} {}", direct.status, direct.text());
            mesh.envoy.refused_nothing().await
        },
    )
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endpoints_follow_pods_and_the_config_map_follows_injection() -> Result<()> {
    let Some([program]) = tools(["envoy"])? else { return Ok(()) };
    with_traffic(
        |_| (),
        async |world: Arc<World>| {
            let mesh = Mesh::new(&world, program).await?;
            apply(&world, "reviews", &mesh.split(50, 50)).await?;
            condition(&world, "reviews", "Programmed", "True", "Programmed").await?;
            share_is(&mesh, 50).await?;
            // A Pod that is not ready gets no requests: its version answers 503 for its share.
            let status = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
            world.cluster.merge_patch(&format!("{}/status", world.pod_path("reviews-v2")), &status).await?;
            eventually(SOON, "v2 to get none", || async {
                let answer = mesh.envoy.ask("reviews", "/", &[]).await?;
                ensure!(answer.status == 503, "{} {}", answer.status, answer.text());
                Ok(())
            })
            .await?;
            let status = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
            world.cluster.merge_patch(&format!("{}/status", world.pod_path("reviews-v2")), &status).await?;
            share_is(&mesh, 50).await?;

            // What somebody changes in the ConfigMap comes back.
            let map = format!("/api/v1/namespaces/{}/configmaps/envoy-traffic", world.namespace);
            let before = world.cluster.get(&map).await?.unwrap_or_default();
            world.cluster.merge_patch(&map, &json!({"data": {"rds.json": "{}"}})).await?;
            eventually(SOON, "the repair", || async {
                let now = world.cluster.get(&map).await?.unwrap_or_default();
                ensure!(now["data"] == before["data"], "{now}");
                Ok(())
            })
            .await?;
            eventually(SOON, "the end of the repair", || async {
                let busy = ["controller=\"traffic\""];
                let busy =
                    world.host(async |host| host.metric("controller_runtime_active_workers", &busy).await).await?;
                let entry = world.host(async |host| host.plugin("traffic").await).await?;
                ensure!(busy < 0.5 && entry["queueDepth"] == 0, "{busy} workers, {entry}");
                Ok(())
            })
            .await?;
            let quiet = world.kubernetes_gate.mark();
            steady(Duration::from_secs(1), "no further write", || async {
                let writes = world.kubernetes_gate.writes_since(quiet);
                ensure!(writes.is_empty(), "{writes:?}");
                Ok(())
            })
            .await?;
            let off = json!({"metadata": {"labels": {SWITCH: null}}});
            world.cluster.merge_patch(&format!("/api/v1/namespaces/{}", world.namespace), &off).await?;
            eventually(SOON, "the ConfigMap to go", || async {
                ensure!(world.cluster.get(&map).await?.is_none(), "still there");
                Ok(())
            })
            .await?;
            condition(&world, "reviews", "Programmed", "False", "NoNamespace").await.map(drop)
        },
    )
    .await
}
