//! Faults of a real control plane: a kube-apiserver and an etcd of its own for each test, straight behind the host.
//!
//! The host runs as a ServiceAccount, with a token of TokenRequest, over TLS, and may do what `oarlock rbac` prints and nothing more.
//! Without `KUBEBUILDER_ASSETS` these tests are skipped, with a line that says so.

mod access;
mod audited;
mod clients;
mod etcd;
mod extensions;
mod many;

use anyhow::{Context, Result, ensure};
use futures::{StreamExt as _, stream};
use http::Method;
use oarlock_tests::harness::{
    Cluster, ControlPlane, ControlPlaneOptions, Host, HostOptions, Neutron, PluginDir, Program, api_code, eventually,
    network_grant_for, oarlock, ready, repository_root, text,
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, future::Future, ops::Range, path::PathBuf, sync::Arc, time::Duration};
use tempfile::TempDir;
use tokio::{sync::Semaphore, time::sleep};

const NETWORKS: &str = "/apis/samplecrd.k8s.io/v1/namespaces/default/networks";
/// The namespace of the host's account.
const SYSTEM: &str = "oarlock-system";
/// Until a control plane that was away, and everything that waits for it, is well again.
const RECOVERY: Duration = Duration::from_secs(120);
/// Requests of the loader at once.
const AT_ONCE: usize = 8;

/// Each test has a control plane of its own, which takes some 400 MiB: so many at once.
static TURNS: Semaphore = Semaphore::const_new(3);

/// A host on a control plane of its own.
pub(crate) struct Real {
    // Dropped first: it talks to the rest.
    host: Option<Host>,
    plane: ControlPlane,
    /// As the administrator.
    cluster: Arc<Cluster>,
    neutron: Neutron,
    options: HostOptions,
    folder: TempDir,
}

/// Plays `body`; on failure tells the end of the host's log and keeps the folder.
async fn with_real(options: ControlPlaneOptions, body: impl AsyncFnOnce(&mut Real) -> Result<()>) -> Result<()> {
    if std::env::var_os("KUBEBUILDER_ASSETS").is_none_or(|folder| folder.is_empty()) {
        skipped("KUBEBUILDER_ASSETS is not set: export KUBEBUILDER_ASSETS=$(setup-envtest use 1.36 -p path)");
        return Ok(());
    }
    ControlPlane::available().map_err(anyhow::Error::msg)?;
    let _turn = TURNS.acquire().await?;
    let mut real = Real::start(options).await?;
    let result = match body(&mut real).await {
        Ok(()) => real.calm(),
        failed => failed,
    };
    result.map_err(|error| {
        real.folder.disable_cleanup(true);
        let tail = real.host.as_ref().map(|host| host.process().tail()).unwrap_or_default();
        error.context(format!("host:\n{tail}\nkept in {}", real.folder.path().display()))
    })
}

#[expect(clippy::print_stdout, reason = "says that a test was skipped")]
fn skipped(reason: &str) {
    println!("skipped: {reason}");
}

impl Real {
    async fn start(options: ControlPlaneOptions) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("oarlock-real-").tempdir()?;
        // Nothing here needs garbage collection or Pods.
        let options = ControlPlaneOptions { without_controllers: true, ..options };
        let plane = ControlPlane::start(folder.path(), options).await?;
        let cluster = Cluster::join(plane.kubeconfig(), folder.path()).await?;
        let neutron = Neutron::start(folder.path(), false, false).await?;
        let unlimited = json!({"quota": {"network": -1, "subnet": -1}});
        neutron.call(Method::PUT, "/v2.0/quotas/fake_project_id", &unlimited).await?;
        cluster.apply_crd(&repository_root().join("plugins/network/crd.yaml")).await?;
        let plugins = PluginDir::create(folder.path().join("plugins"))?;
        plugins.add("network", "network", &network_grant_for(neutron.url()).workers(4))?;
        let options = HostOptions {
            plugins: plugins.path().to_owned(),
            kubeconfig: folder.path().join("host.kubeconfig"),
            resync_seconds: Some(3600),
            args: Vec::new(),
            environment: Vec::new(),
            log: folder.path().join("host.log"),
            open_files: None,
            own_group: false,
        };
        let mut real = Self { host: None, plane, cluster: Arc::new(cluster), neutron, options, folder };
        real.make_account().await?;
        real.start_host().await?;
        Ok(real)
    }

    /// Makes the account of the host, with what `oarlock rbac` prints, and a token in a file.
    async fn make_account(&self) -> Result<()> {
        let named = |name: &str| json!({"metadata": {"name": name}});
        self.cluster.create("/api/v1/namespaces", &named(SYSTEM)).await?;
        let accounts = format!("/api/v1/namespaces/{SYSTEM}/serviceaccounts");
        self.cluster.create(&accounts, &named("oarlock")).await?;
        let plugins = self.options.plugins.display().to_string();
        let told = oarlock(&["rbac", &plugins, "--namespace", SYSTEM]).await?;
        ensure!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        let file = self.folder.path().join("rbac.yaml");
        std::fs::write(&file, &told.stdout)?;
        self.cluster.kubectl(&["apply", "-f", &file.display().to_string()]).await?;
        self.new_token("first").await?;
        let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "current-context": "real",
            "clusters": [{"name": "real", "cluster": {
                "server": self.plane.url()?, "certificate-authority": self.plane.folder().join("certs/ca.crt")}}],
            "users": [{"name": "host", "user": {"tokenFile": self.token_file()}}],
            "contexts": [{"name": "real", "context": {"cluster": "real", "user": "host"}}]});
        std::fs::write(&self.options.kubeconfig, kubeconfig.to_string())?;
        Ok(())
    }

    fn token_file(&self) -> PathBuf {
        self.folder.path().join("token")
    }

    /// Writes a token that ends with the Secret of this name, as a kubelet does: renamed into place.
    async fn new_token(&self, secret: &str) -> Result<()> {
        let secrets = format!("/api/v1/namespaces/{SYSTEM}/secrets");
        let made = self.cluster.create(&secrets, &json!({"metadata": {"name": secret}})).await?;
        let bound = json!({"apiVersion": "v1", "kind": "Secret", "name": secret, "uid": text(&made, "/metadata/uid")});
        let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"expirationSeconds": 3600, "boundObjectRef": bound}});
        let path = format!("/api/v1/namespaces/{SYSTEM}/serviceaccounts/oarlock/token");
        let token = text(&self.cluster.create(&path, &request).await?, "/status/token");
        ensure!(!token.is_empty(), "no token");
        let new = self.folder.path().join("token.new");
        std::fs::write(&new, token)?;
        Ok(std::fs::rename(new, self.token_file())?)
    }

    async fn start_host(&mut self) -> Result<()> {
        self.host = Some(Host::start(&self.options).await?);
        Ok(())
    }

    fn host(&self) -> Result<&Host> {
        self.host.as_ref().context("no host runs")
    }

    async fn kill_host(&mut self) -> Result<()> {
        self.host.take().context("no host runs")?.kill().await
    }

    /// The host that was started last still runs, and neither it nor a host before panicked.
    fn calm(&mut self) -> Result<()> {
        if let Some(host) = self.host.take() {
            let mut process = host.into_process();
            let ended = process.ended()?;
            ensure!(ended.is_none(), "the host ended: {ended:?}");
        }
        let log = std::fs::read_to_string(&self.options.log)?;
        let panics: Vec<_> = log.lines().filter(|line| line.contains("panicked")).collect();
        ensure!(panics.is_empty(), "{panics:?}");
        Ok(())
    }

    /// What a loader of its own task needs.
    fn user(&self) -> User {
        User(Arc::clone(&self.cluster))
    }

    async fn networks(&self) -> Result<Vec<Value>> {
        self.cluster.list(NETWORKS).await
    }

    async fn ready_count(&self) -> Result<usize> {
        let is_ready = |object: &&Value| ready(object).is_ok_and(|ready| ready.status == "True");
        Ok(self.networks().await?.iter().filter(is_ready).count())
    }

    /// Waits until so many Networks are Ready.
    async fn some_ready(&self, count: usize) -> Result<()> {
        // A debug build makes some 30 a second.
        let deadline = RECOVERY + Duration::from_millis(100) * u32::try_from(count)?;
        slowly(deadline, &format!("{count} Ready Networks"), || async {
            let ready = self.ready_count().await?;
            ensure!(ready >= count, "{ready}");
            Ok(())
        })
        .await
    }

    /// Waits until there are these Networks and no others, each Ready for its newest generation, and in Neutron one network and one
    /// subnet of each with the gateway that is wanted.
    ///
    /// * `wanted` - name to gateway.
    /// * `foreign` - how many networks in Neutron belong to no Network.
    async fn settled(&self, deadline: Duration, wanted: &BTreeMap<String, String>, foreign: usize) -> Result<()> {
        slowly(deadline, &format!("{} Networks to be settled", wanted.len()), || async {
            let mut uids = BTreeMap::new();
            for object in self.networks().await? {
                let name = text(&object, "/metadata/name");
                let gateway = wanted.get(&name).with_context(|| format!("{name} is there"))?;
                let ready = ready(&object)?;
                let current = object.pointer("/status/observedGeneration") == object.pointer("/metadata/generation");
                ensure!(ready.status == "True" && current, "{name}: {ready:?}, {object}");
                ensure!(text(&object, "/spec/gateway") == *gateway, "{name}: {object}");
                uids.insert(format!("oarlock:{}", text(&object, "/metadata/uid")), (name, gateway.clone()));
            }
            ensure!(uids.len() == wanted.len(), "{} of {} are there", uids.len(), wanted.len());
            for kind in ["network", "subnet"] {
                let collection = format!("{kind}s");
                let all = self.neutron.call(Method::GET, &format!("/v2.0/{collection}"), &Value::Null).await?;
                let all = all.get(&collection).and_then(Value::as_array).context("no list")?;
                ensure!(all.len() == wanted.len() + foreign, "{} {collection} for {}", all.len(), wanted.len());
                let mut found = BTreeMap::new();
                for one in all {
                    let mark = text(one, "/description");
                    let Some((name, gateway)) = uids.get(&mark) else { continue };
                    ensure!(found.insert(mark, ()).is_none(), "two {collection} of {name}");
                    ensure!(kind == "network" || text(one, "/gateway_ip") == *gateway, "{name}: {one}");
                }
                ensure!(found.len() == wanted.len(), "{collection} of {} only", found.len());
            }
            Ok(())
        })
        .await
    }

    async fn kill(&self, programs: &[Program]) -> Result<()> {
        for program in programs {
            self.plane.kill(*program).await?;
        }
        Ok(())
    }

    async fn run(&self, programs: &[Program]) -> Result<()> {
        for program in programs {
            self.plane.run(*program).await?;
        }
        Ok(())
    }
}

/// As `eventually`, for conditions that cost much.
async fn slowly<F, Fut>(deadline: Duration, what: &str, mut condition: F) -> Result<()>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<()>>,
{
    eventually(deadline, what, || {
        let asked = condition();
        async {
            let answer = asked.await;
            if answer.is_err() {
                sleep(Duration::from_secs(1)).await;
            }
            answer
        }
    })
    .await
}

/// Somebody who wants Networks, and asks again until the API server has understood.
#[derive(Clone)]
struct User(Arc<Cluster>);

impl User {
    /// * `ask` - may be asked again when it is not known what came of it.
    async fn insist<F, Fut>(what: &str, ask: F) -> Result<()>
    where
        F: Fn() -> Fut,
        Fut: Future<Output = Result<()>>,
    {
        slowly(RECOVERY, what, || async {
            match ask().await {
                // It was created before, or is gone.
                Err(error) if [Some(409), Some(404)].contains(&api_code(&error)) => Ok(()),
                other => other,
            }
        })
        .await
    }

    async fn create(&self, number: usize) -> Result<()> {
        let name = name(number);
        let object = json!({"apiVersion": "samplecrd.k8s.io/v1", "kind": "Network", "metadata": {"name": name},
            "spec": {"cidr": cidr(number), "gateway": gateway(number, 1)}});
        Self::insist(&name, || async { self.0.create(NETWORKS, &object).await.map(drop) }).await
    }

    async fn edit(&self, number: usize, host: u8) -> Result<()> {
        let patch = json!({"spec": {"gateway": gateway(number, host)}});
        let path = format!("{NETWORKS}/{}", name(number));
        Self::insist(&path, || async { self.0.merge_patch(&path, &patch).await.map(drop) }).await
    }

    async fn delete(&self, number: usize) -> Result<()> {
        let path = format!("{NETWORKS}/{}", name(number));
        Self::insist(&path, || self.0.delete(&path)).await
    }

    async fn create_all(&self, numbers: Range<usize>) -> Result<()> {
        each(numbers, |number| self.create(number)).await
    }

    /// Creates each, and edits it at once until its gateway ends in `edits + 1`.
    async fn create_and_edit(&self, numbers: Range<usize>, edits: u8) -> Result<()> {
        each(numbers, |number| async move {
            self.create(number).await?;
            for edit in 1..=edits {
                self.edit(number, edit + 1).await?;
            }
            Ok(())
        })
        .await
    }
}

async fn each<F, Fut>(numbers: Range<usize>, act: F) -> Result<()>
where
    F: Fn(usize) -> Fut,
    Fut: Future<Output = Result<()>>,
{
    let mut acts = stream::iter(numbers.map(act)).buffer_unordered(AT_ONCE);
    while let Some(done) = acts.next().await {
        done?;
    }
    Ok(())
}

fn name(number: usize) -> String {
    format!("network-{number:05}")
}

fn cidr(number: usize) -> String {
    format!("10.{}.{}.0/24", number / 256, number % 256)
}

fn gateway(number: usize, host: u8) -> String {
    format!("10.{}.{}.{host}", number / 256, number % 256)
}

fn wanted(numbers: Range<usize>, host: u8) -> BTreeMap<String, String> {
    numbers.map(|number| (name(number), gateway(number, host))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r1_an_api_server_and_an_etcd_that_are_killed_under_load_lose_nothing() -> Result<()> {
    with_real(ControlPlaneOptions::default(), async |real: &mut Real| {
        let user = real.user();
        let load = tokio::spawn(async move { user.create_and_edit(0..90, 2).await });
        for (round, program) in [Program::ApiServer, Program::Etcd, Program::ApiServer].into_iter().enumerate() {
            real.some_ready(10 + 20 * round).await?;
            real.kill(&[program]).await?;
            real.run(&[program]).await?;
        }
        load.await??;
        real.settled(RECOVERY, &wanted(0..90, 3), 0).await?;
        let user = real.user();
        let load = tokio::spawn(async move { each(0..90, |number| user.delete(number)).await });
        real.kill(&[Program::ApiServer]).await?;
        real.run(&[Program::ApiServer]).await?;
        load.await??;
        real.settled(RECOVERY, &BTreeMap::new(), 0).await
    })
    .await
}
