//! Shared external clusters: one serves one test at a time, and is cleaned after it.

use super::cluster::{FRESH_NAMESPACE, code};
use super::gate::{Created, Gate, Tripwire, Upstream, lock};
use anyhow::{Context, Result, anyhow, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use http::Method;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    env,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep},
};

/// Deadline for a cluster to delete a test's objects: its namespace controller may need some seconds.
const DELETED: Duration = Duration::from_secs(90);
/// Concurrent deletions.
const AT_ONCE: usize = 16;

/// The unused kubeconfigs of `KUBECONFIG_E2E`.
struct Pool {
    free: Mutex<Vec<PathBuf>>,
    turns: Arc<Semaphore>,
}

/// The clusters of `KUBECONFIG_E2E`, a list as in `KUBECONFIG`; none if it is empty.
fn pool() -> Option<&'static Pool> {
    static POOL: OnceLock<Option<Pool>> = OnceLock::new();
    let read = || {
        let list = env::var_os("KUBECONFIG_E2E")?;
        let free: Vec<PathBuf> = env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect();
        let turns = Arc::new(Semaphore::new(free.len()));
        (!free.is_empty()).then(|| Pool { free: Mutex::new(free), turns })
    };
    POOL.get_or_init(read).as_ref()
}

/// Whether `KUBECONFIG_E2E` names a cluster.
pub(super) fn is_named() -> bool {
    pool().is_some()
}

/// One test's use of a cluster. At its end all objects that the test created are deleted, also after a failure.
pub(super) struct Borrowed {
    kubeconfig: PathBuf,
    /// Every client of the test goes through this gate, which records the created objects.
    gate: Gate,
    config: kube::Config,
    _turn: OwnedSemaphorePermit,
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        // A separate thread and runtime: the test's own runtime may be the one that waits here.
        let cleaned = std::thread::scope(|scope| {
            let run = || -> Result<()> {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                runtime.block_on(async { Cleaner::new(self.config.clone())?.clean(&self.gate).await })
            };
            scope.spawn(run).join()
        });
        if let Some(pool) = pool() {
            lock(&pool.free).push(self.kubeconfig.clone());
        }
        let cleaned = cleaned.unwrap_or_else(|_| Err(anyhow!("it panicked")));
        // The test's own failure is more important.
        assert!(std::thread::panicking() || cleaned.is_ok(), "cleaning {}: {cleaned:?}", self.kubeconfig.display());
    }
}

impl Borrowed {
    /// Waits for a free external cluster; none without any.
    pub(super) async fn take() -> Result<Option<Self>> {
        let Some(pool) = pool() else { return Ok(None) };
        let turn = Arc::clone(&pool.turns).acquire_owned().await?;
        let kubeconfig = lock(&pool.free).pop().context("a turn without a cluster")?;
        let config = Kubeconfig::read_from(&kubeconfig)?;
        let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
        let mut unknown = config.clone();
        unknown.auth_info = kube::config::AuthInfo::default();
        let upstream = Upstream::Cluster {
            administrator: kube::Client::try_from(config.clone())?,
            unknown: kube::Client::try_from(unknown)?,
        };
        let gate = Gate::open(upstream, Tripwire::default()).await?;
        Ok(Some(Self { kubeconfig, gate, config, _turn: turn }))
    }

    /// Writes a kubeconfig for the gate.
    pub(super) fn write_kubeconfig(&self, folder: &Path) -> Result<PathBuf> {
        let path = folder.join("kubeconfig");
        let text = json!({"apiVersion": "v1", "kind": "Config", "current-context": "gate",
            "clusters": [{"name": "gate", "cluster": {"server": self.gate.url()}}], "users": [{"name": "gate", "user": {}}],
            "contexts": [{"name": "gate", "context": {"cluster": "gate", "user": "gate", "namespace": "default"}}]});
        std::fs::write(&path, text.to_string()).with_context(|| path.display().to_string())?;
        Ok(path)
    }
}

/// Deletes a test's objects.
struct Cleaner {
    client: kube::Client,
}

impl Cleaner {
    fn new(config: kube::Config) -> Result<Self> {
        Ok(Self { client: kube::Client::try_from(config)? })
    }

    /// Deletes every object created through the gate, and waits until it is gone. Finalizers are removed, because their controllers have
    /// ended. The namespace controller takes seconds to minutes for an empty namespace. Nobody waits for it where no other test uses the name.
    async fn clean(&self, gate: &Gate) -> Result<()> {
        // Without kube-controller-manager no controller empties namespaces.
        let account = self.get("/api/v1/namespaces/default/serviceaccounts/default").await?;
        let controllers = account.is_some();
        let (mut seen, mut left) = (0, Vec::new());
        let end = Instant::now() + DELETED;
        loop {
            let created = gate.created().split_off(seen);
            seen += created.len();
            // First the webhooks, whose servers have ended; the content of a namespace before the namespace.
            let (webhooks, rest): (Vec<_>, Vec<_>) =
                created.into_iter().rev().partition(|one| one.path.contains("/admissionregistration.k8s.io/"));
            self.disconnect(&rest).await?;
            self.delete(&webhooks).await?;
            self.delete(&rest).await?;
            let all = left.into_iter().chain(webhooks).chain(rest);
            let (namespaces, objects): (Vec<_>, Vec<_>) = all.partition(|one| namespace(&one.path).is_some());
            left = self.still_there(objects, &HashSet::new()).await?;
            // Objects in an absent namespace can no longer be changed: their finalizers would stay.
            let full: HashSet<String> =
                left.iter().filter_map(|one| namespace_of(&one.path)).map(str::to_owned).collect();
            let names = namespaces.iter().filter_map(|one| namespace(&one.path)).filter(|name| !full.contains(*name));
            let empty = if controllers { HashSet::new() } else { names.map(str::to_owned).collect() };
            let waits = |name: &str| !controllers || !name.starts_with(FRESH_NAMESPACE);
            let namespaces = namespaces.into_iter().filter(|one| namespace(&one.path).is_some_and(waits)).collect();
            left.extend(self.still_there(namespaces, &empty).await?);
            if left.is_empty() {
                return Ok(());
            }
            ensure!(Instant::now() < end, "left in the cluster: {left:#?}");
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Takes the conversion webhooks, whose servers have ended, off the definitions: their objects could neither be read nor deleted.
    async fn disconnect(&self, objects: &[Created]) -> Result<()> {
        for one in objects.iter().filter(|one| one.path.contains("/customresourcedefinitions/")) {
            let Some(definition) = self.get(&one.path).await? else { continue };
            let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            if text("/spec/conversion/strategy") != "Webhook" {
                continue;
            }
            let none = json!({"spec": {"conversion": {"strategy": "None", "webhook": null}}});
            self.request(Method::PATCH, &one.path, "application/merge-patch+json", &none).await?;
            let (group, plural) = (text("/spec/group"), text("/spec/names/plural"));
            for version in definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten() {
                let version = version.get("name").and_then(Value::as_str).unwrap_or_default();
                let path = format!("/apis/{group}/{version}/{plural}");
                super::wait::eventually(Duration::from_secs(10), &path, || self.get(&path)).await?;
            }
        }
        Ok(())
    }

    async fn delete(&self, objects: &[Created]) -> Result<()> {
        // One after the other: a definition must not be deleted before its objects, nor a namespace before its content.
        for one in objects {
            let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
                "gracePeriodSeconds": 0, "preconditions": {"uid": one.uid}});
            match self.request(Method::DELETE, &one.path, "application/json", &options).await {
                Err(error) if ![Some(404), Some(409)].contains(&code(&error)) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// The objects that still exist.
    ///
    /// * `empty` - namespaces to finalize.
    async fn still_there(&self, objects: Vec<Created>, empty: &HashSet<String>) -> Result<Vec<Created>> {
        let looked = stream::iter(objects).map(|one| self.released(one, empty)).buffer_unordered(AT_ONCE);
        looked.try_filter_map(async |one| Ok(one)).try_collect().await
    }

    /// The object, if it still exists. Removes its finalizers, so that its deletion completes.
    async fn released(&self, one: Created, empty: &HashSet<String>) -> Result<Option<Created>> {
        let Some(object) = self.get(&one.path).await? else { return Ok(None) };
        if object.pointer("/metadata/uid").and_then(Value::as_str) != Some(one.uid.as_str()) {
            return Ok(None);
        }
        let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
        let of_server = |name: &Value| name == "customresourcecleanup.apiextensions.k8s.io";
        if finalizers.is_some_and(|all| !all.iter().all(of_server)) {
            let none = json!({"metadata": {"uid": one.uid, "finalizers": null}});
            let freed = self.request(Method::PATCH, &one.path, "application/merge-patch+json", &none).await;
            freed
                .map(drop)
                .or_else(|error| if [Some(404), Some(409)].contains(&code(&error)) { Ok(()) } else { Err(error) })?;
        }
        if namespace(&one.path).is_some_and(|name| empty.contains(name)) {
            let mut emptied = object;
            if let Some(spec) = emptied.get_mut("spec") {
                *spec = json!({"finalizers": []});
            }
            let path = format!("{}/finalize", one.path);
            // It may be gone, or changed: then the next check decides.
            let _ = self.request(Method::PUT, &path, "application/json", &emptied).await;
        }
        Ok(Some(one))
    }

    async fn get(&self, path: &str) -> Result<Option<Value>> {
        match self.request(Method::GET, path, "application/json", &Value::Null).await {
            Ok(value) => Ok(Some(value)),
            Err(error) if code(&error) == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn request(&self, method: Method, path: &str, content_type: &str, body: &Value) -> Result<Value> {
        super::cluster::request(&self.client, method, path, content_type, body).await
    }
}

/// The namespace with this URL path; none for the path of another object.
fn namespace(path: &str) -> Option<&str> {
    path.strip_prefix("/api/v1/namespaces/").filter(|name| !name.contains('/'))
}

/// The namespace of the object with this URL path.
fn namespace_of(path: &str) -> Option<&str> {
    let (_, rest) = path.split_once("/namespaces/")?;
    rest.split_once('/').map(|(name, _)| name)
}
