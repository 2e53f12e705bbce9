//! What is around the traffic plugin in a cluster: servers in Pods, Envoy in a Pod, and the kubelet's part in mounting a ConfigMap.

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use oarlock_tests::harness::{Answer, HttpClient, Process, SOON, World, eventually, repository_root, text};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    convert::Infallible,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::task::JoinHandle;

/// Where Pods mount the plugin's ConfigMap; in tests it is another folder.
const FOLDER: &str = "/etc/envoy-traffic";

/// An HTTP server that answers with its name.
pub(super) struct Backend {
    pub(super) port: u16,
    pub(super) failing: Arc<AtomicBool>,
    pub(super) requests: Arc<AtomicUsize>,
    /// Milliseconds before each response.
    pub(super) delay: Arc<AtomicUsize>,
    server: JoinHandle<()>,
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Backend {
    pub(super) async fn start(name: &str) -> Result<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let (failing, requests) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let delay = Arc::new(AtomicUsize::new(0));
        let shared = (name.to_owned(), Arc::clone(&failing), Arc::clone(&requests), Arc::clone(&delay));
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let shared = shared.clone();
                let service = service_fn(move |_: Request<Incoming>| {
                    let (name, failing, requests, delay) = shared.clone();
                    async move {
                        requests.fetch_add(1, Ordering::Relaxed);
                        let delay = u64::try_from(delay.load(Ordering::Relaxed)).unwrap_or_default();
                        tokio::time::sleep(Duration::from_millis(delay)).await;
                        let mut response = Response::new(Full::new(Bytes::from(name)));
                        if failing.load(Ordering::Relaxed) {
                            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
                        }
                        Ok::<_, Infallible>(response)
                    }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Ok(Self { port, failing, requests, delay, server })
    }
}

/// Creates a Pod with these labels that runs, is ready, and has this address of this machine.
pub(super) async fn ready_pod(world: &World, name: &str, labels: &Value) -> Result<()> {
    let pods = format!("/api/v1/namespaces/{}/pods", world.namespace);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [{"name": "web", "image": "web:1"}]}});
    world.cluster.create(&pods, &pod).await?;
    let status = json!({"status": {"phase": "Running", "podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}],
        "conditions": [{"type": "Ready", "status": "True"}]}});
    world.cluster.merge_patch(&format!("{pods}/{name}/status"), &status).await.map(drop)
}

/// Writes the namespace's ConfigMap into a folder as the kubelet does: the files are links through `..data`, which it renames.
pub(super) struct Kubelet(JoinHandle<()>);

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Kubelet {
    pub(super) async fn mount(world: &Arc<World>, folder: &Path) -> Result<Self> {
        let path = format!("/api/v1/namespaces/{}/configmaps/envoy-traffic", world.namespace);
        let map =
            eventually(SOON, "the ConfigMap", || async { world.cluster.get(&path).await?.context("none") }).await?;
        write(folder, &map)?;
        let (world, folder) = (Arc::clone(world), folder.to_owned());
        let data = |map: &Value| map.get("data").cloned().unwrap_or_default();
        Ok(Self(tokio::spawn(async move {
            let mut last = data(&map);
            loop {
                tokio::time::sleep(Duration::from_millis(100)).await;
                if let Ok(Some(map)) = world.cluster.get(&path).await
                    && data(&map) != last
                    && write(&folder, &map).is_ok()
                {
                    last = data(&map);
                }
            }
        })))
    }
}

/// The order of the kubelet's AtomicWriter: the links of new files come after the rename, which Envoy notices.
fn write(folder: &Path, map: &Value) -> Result<()> {
    let version = format!("..{}", text(map, "/metadata/resourceVersion"));
    fs::create_dir_all(folder.join(&version))?;
    let files = map.get("data").and_then(Value::as_object).context("no data")?;
    for (name, content) in files {
        let content = content.as_str().unwrap_or_default().replace(FOLDER, &folder.display().to_string());
        fs::write(folder.join(&version).join(name), content)?;
    }
    let new = folder.join("..data_tmp");
    let _ = fs::remove_file(&new);
    symlink(&version, &new)?;
    fs::rename(&new, folder.join("..data"))?;
    for name in files.keys() {
        let link = folder.join(name);
        if !link.is_symlink() {
            symlink(Path::new("..data").join(name), &link)?;
        }
    }
    Ok(())
}

/// Envoy with the configuration of plugins/traffic/envoy.yaml. It ends when dropped.
pub(super) struct Envoy {
    _process: Process,
    pub(super) outbound: HttpClient,
    pub(super) admin: HttpClient,
}

impl Envoy {
    /// * `folder` - where the ConfigMap is mounted.
    pub(super) async fn start(program: &Path, folder: &Path) -> Result<Self> {
        let file = repository_root().join("plugins/traffic/envoy.yaml");
        let shipped = fs::read_to_string(&file)?;
        let maps: Vec<Value> = serde_saphyr::from_multiple(&shipped)?;
        let bootstrap =
            maps.iter().find_map(|map| map.pointer("/data/envoy.yaml")?.as_str()).context("no envoy.yaml")?;
        let bootstrap = bootstrap
            .replace(FOLDER, &folder.display().to_string())
            .replace("0.0.0.0, port_value: 9901", "127.0.0.1, port_value: 0")
            .replace("port_value: 15001", "port_value: 0");
        let (config, address): (PathBuf, PathBuf) = (folder.join("envoy.yaml"), folder.join("admin-address"));
        fs::write(&config, bootstrap)?;
        let args = [
            "--config-path",
            &config.display().to_string(),
            "--admin-address-path",
            &address.display().to_string(),
            "--service-cluster",
            "test",
            "--service-node",
            "test",
            "--disable-hot-restart",
            "--concurrency",
            "1",
            "--log-level",
            "warning",
        ]
        .map(str::to_owned);
        let process = Process::spawn("envoy", program, &args, &[], &folder.join("envoy.log"), false)?;
        let admin = eventually(SOON, "Envoy's admin server", || async {
            let address = fs::read_to_string(&address)?;
            let admin = HttpClient::new(&format!("http://{address}"));
            let ready = admin.get("/ready").await?;
            ensure!(ready.status.is_success(), "{} {}", ready.status, ready.text());
            Ok(admin)
        })
        .await?;
        let listeners = admin.get("/listeners?format=json").await?.json()?;
        let port =
            listeners.pointer("/listener_statuses/0/local_address/socket_address/port_value").and_then(Value::as_u64);
        let outbound = HttpClient::new(&format!("http://127.0.0.1:{}", port.context("no listener")?));
        Ok(Self { _process: process, outbound, admin })
    }

    /// Sends a request to a host.
    pub(super) async fn ask(&self, host: &str, path: &str, headers: &[(&str, &str)]) -> Result<Answer> {
        let headers = [&[("host", host)], headers].concat();
        self.outbound.send(Method::GET, path, &headers, Bytes::new()).await
    }

    /// Sends requests to a host; returns the number of each response's text.
    pub(super) async fn sample(&self, host: &str, count: usize) -> Result<BTreeMap<String, usize>> {
        let mut seen = BTreeMap::new();
        for _ in 0..count {
            let answer = self.ask(host, "/", &[]).await?;
            ensure!(answer.status.is_success(), "{} {}", answer.status, answer.text());
            *seen.entry(answer.text()).or_default() += 1;
        }
        Ok(seen)
    }

    /// A counter or gauge of Envoy.
    pub(super) async fn statistic(&self, name: &str) -> Result<u64> {
        let stats = self.admin.get("/stats?format=json").await?.json()?;
        let all = stats.get("stats").and_then(Value::as_array).context("no stats")?;
        let found = all.iter().find(|one| one.get("name").and_then(Value::as_str) == Some(name));
        found.and_then(|one| one.get("value")?.as_u64()).with_context(|| format!("no statistic {name}"))
    }

    /// Waits until Envoy has an endpoint of a cluster.
    pub(super) async fn has_cluster(&self, name: &str) -> Result<()> {
        eventually(SOON, &format!("cluster {name} in Envoy"), || async {
            let clusters = self.admin.get("/clusters").await?.text();
            ensure!(clusters.contains(&format!("{name}::127.0.0.1:")), "{clusters}");
            Ok(())
        })
        .await
    }

    /// Envoy refused none of the files it was given.
    pub(super) async fn refused_nothing(&self) -> Result<()> {
        for kind in ["cluster_manager.cds", "http.outbound.rds.traffic"] {
            for fault in ["update_rejected", "update_failure"] {
                let count = self.statistic(&format!("{kind}.{fault}")).await?;
                ensure!(count == 0, "{kind}.{fault} is {count}");
            }
        }
        Ok(())
    }
}
