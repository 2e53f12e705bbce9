//! World of a test: an API server and Neutron behind gates, a plugin directory, a namespace, and a host.

mod limited;
mod networks;
mod pods;

pub use networks::{Ready, ready, text};

use super::{
    cluster::Cluster,
    gate::{Gate, Tripwire, Upstream},
    host::{Host, HostOptions},
    narrator::Narrator,
    neutron::Neutron,
    plugins::{Grant, PluginDir, network_grant_for, repository_root},
    process::{LogLine, Process},
    wait::eventually,
};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::{
    process::ExitStatus,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tempfile::TempDir;
use tokio::sync::Mutex;

/// Deadline on a slow machine for anything that should happen soon.
pub const SOON: Duration = Duration::from_secs(90);

/// Configuration of a world.
#[derive(Clone, Debug)]
pub struct WorldOptions {
    /// Seconds between resyncs.
    pub resync_seconds: u32,
    /// Apply the Network CRD before the host starts.
    pub crd: bool,
    /// Add the network plugin.
    pub network: bool,
    /// Start the host.
    pub host: bool,
    /// Neutron requires tokens.
    pub keystone: bool,
    /// Its namespace. None: a new one.
    pub namespace: Option<&'static str>,
    /// Print objects, and run children in process groups of their own.
    pub demo: bool,
}

impl Default for WorldOptions {
    /// The Network CRD, the network plugin, and a host that resyncs every hour.
    fn default() -> Self {
        Self {
            resync_seconds: 3600,
            crd: true,
            network: true,
            host: true,
            keystone: false,
            namespace: None,
            demo: false,
        }
    }
}

/// A complete world on loopback. Dropping it ends everything in it.
#[derive(Debug)]
pub struct World {
    // Dropped first, because it uses the rest.
    host: Mutex<Option<Host>>,
    /// The API server, without the gates.
    pub cluster: Cluster,
    /// The Neutron server, without the gates.
    pub neutron: Neutron,
    /// The gate between the host and the API server.
    pub kubernetes_gate: Gate,
    /// The gate between the plugin and Neutron.
    pub neutron_gate: Gate,
    /// The tripwire for the writes of both gates.
    pub tripwire: Tripwire,
    /// The host's plugin directory.
    pub plugins: PluginDir,
    /// The namespace of this world.
    pub namespace: String,
    /// The narration.
    pub narrator: Narrator,
    options: WorldOptions,
    host_options: std::sync::Mutex<HostOptions>,
    /// Additional arguments of hosts with an admission server.
    answering: std::sync::Mutex<Vec<String>>,
    folder: TempDir,
    kept: AtomicBool,
}

impl World {
    /// Starts a world.
    ///
    /// # Errors
    ///
    /// One of its parts does not start.
    pub async fn start(options: WorldOptions) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("oarlock-e2e-").tempdir()?;
        let narrator = Narrator::new(options.demo);
        let cluster = Cluster::start(folder.path(), options.demo).await?;
        let neutron = Neutron::start(folder.path(), options.keystone, options.demo).await?;
        let tripwire = Tripwire::default();
        let kubernetes_gate = Gate::open(Upstream::Kubernetes(cluster.client()), tripwire.clone()).await?;
        let neutron_gate = Gate::open(Upstream::Http(neutron.url().to_owned()), tripwire.clone()).await?;
        let namespace = match options.namespace {
            Some(name) => name.to_owned(),
            None => cluster.fresh_namespace().await?,
        };
        let plugins = PluginDir::create(folder.path().join("plugins"))?;
        let host_options = HostOptions {
            plugins: plugins.path().to_owned(),
            kubeconfig: cluster.kubeconfig_for(&kubernetes_gate.url(), None).await?,
            resync_seconds: Some(options.resync_seconds),
            args: Vec::new(),
            environment: Vec::new(),
            log: folder.path().join("host.log"),
            open_files: None,
            own_group: options.demo,
        };
        let world = Self {
            host: Mutex::new(None),
            cluster,
            neutron,
            kubernetes_gate,
            neutron_gate,
            tripwire,
            plugins,
            namespace,
            narrator,
            options,
            host_options: std::sync::Mutex::new(host_options),
            answering: std::sync::Mutex::default(),
            folder,
            kept: AtomicBool::new(false),
        };
        world.furnish().await.with_context(|| format!("kept in {}", world.keep()))?;
        Ok(world)
    }

    async fn furnish(&self) -> Result<()> {
        if self.options.network {
            self.plugins.add("network", "network", &self.network_grant()?)?;
        }
        if self.options.crd {
            self.apply_crd().await?;
        }
        if self.options.host {
            self.start_host().await?;
        }
        Ok(())
    }

    /// The network plugin's grant: reads of its kind, and Neutron through the gate.
    ///
    /// # Errors
    ///
    /// A secret cannot be written.
    pub fn network_grant(&self) -> Result<Grant> {
        self.with_login(network_grant_for(&self.neutron_gate.url()))
    }

    /// Adds the Neutron login to a grant, if Neutron requires one.
    ///
    /// # Errors
    ///
    /// A secret cannot be written to a file.
    pub fn with_login(&self, mut grant: Grant) -> Result<Grant> {
        let Some(login) = self.neutron.login() else { return Ok(grant) };
        let origin = login.auth_url.split('/').take(3).collect::<Vec<_>>().join("/");
        let (plain, secret) = login.plugin_config();
        grant = grant.origin(&origin);
        for (key, value) in plain {
            grant = grant.config(key, &value);
        }
        for (key, value) in secret {
            let file = self.folder.path().join(key);
            std::fs::write(&file, value)?;
            grant = grant.secret_file(key, &file);
        }
        Ok(grant)
    }

    /// The deployment-network plugin's grant: reads of Deployments and writes of Networks.
    #[must_use]
    pub fn deployment_network_grant(&self) -> Grant {
        Grant::nothing()
            .rule("apps", &["deployments"], &["get", "list", "watch"])
            .resources("samplecrd.k8s.io", &["networks"])
    }

    /// Applies the Network CRD and waits until it is served.
    ///
    /// # Errors
    ///
    /// The API server rejects it.
    pub async fn apply_crd(&self) -> Result<()> {
        self.cluster.apply_crd(&repository_root().join("plugins/network/crd.yaml")).await
    }

    /// Starts the host.
    ///
    /// # Errors
    ///
    /// The host runs already or does not start.
    pub async fn start_host(&self) -> Result<()> {
        self.start_host_with(&[]).await
    }

    /// Starts the host with additional arguments.
    ///
    /// # Errors
    ///
    /// The host runs already or does not start.
    pub async fn start_host_with(&self, args: &[&str]) -> Result<()> {
        let mut host = self.host.lock().await;
        ensure!(host.is_none(), "the host runs already");
        let mut options = self.host_options().clone();
        options.args.extend(args.iter().map(|&arg| arg.to_owned()));
        *host = Some(Host::start(&options).await?);
        Ok(())
    }

    /// Starts the host with its admission server, and waits until the webhook configurations contain a rule of each of these plugins.
    ///
    /// # Errors
    ///
    /// The host runs already, does not start, or writes no webhook configurations.
    pub async fn start_host_answering(&self, plugins: &[&str]) -> Result<()> {
        let reach = self.answering.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let args = ["--admission-addr", "127.0.0.1:0"].into_iter().chain(reach.iter().map(String::as_str));
        self.start_host_with(&args.collect::<Vec<_>>()).await?;
        // Its plugin is compiled first, at low priority.
        eventually(4 * SOON, "the webhooks", || async {
            let mut there = String::new();
            for kind in ["mutating", "validating"] {
                let path = format!("/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/oarlock");
                there += &self.cluster.get(&path).await?.unwrap_or_default().to_string();
            }
            for plugin in plugins {
                ensure!(there.contains(&format!(".{plugin}.oarlock.dev")), "nothing of {plugin}");
            }
            Ok(())
        })
        .await
    }

    /// The options of the next host.
    fn host_options(&self) -> std::sync::MutexGuard<'_, HostOptions> {
        self.host_options.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Sets an environment variable of hosts that are started from now on.
    pub fn set_environment(&self, name: &'static str, value: &str) {
        self.host_options().environment.push((name, value.to_owned()));
    }

    /// Kills the host with SIGKILL and waits for its end.
    ///
    /// # Errors
    ///
    /// No host runs.
    pub async fn kill_host(&self) -> Result<()> {
        self.take_host().await?.kill().await
    }

    /// Removes the host from the world, so that the test can stop it.
    ///
    /// # Errors
    ///
    /// No host runs.
    pub async fn take_host(&self) -> Result<Host> {
        self.host.lock().await.take().context("no host runs")
    }

    /// Stops the host with SIGTERM and waits for its end.
    ///
    /// # Errors
    ///
    /// No host runs, or it does not end.
    pub async fn stop_host(&self, deadline: Duration) -> Result<(ExitStatus, Process)> {
        self.take_host().await?.stop(deadline).await
    }

    /// Runs a query on the running host.
    ///
    /// # Errors
    ///
    /// No host runs, or the query fails.
    pub async fn host<T>(&self, ask: impl AsyncFnOnce(&Host) -> Result<T>) -> Result<T> {
        let host = self.host.lock().await;
        ask(host.as_ref().context("no host runs")?).await
    }

    /// The running host's log lines so far that `wanted` accepts.
    ///
    /// # Errors
    ///
    /// No host runs.
    pub async fn log<F: Fn(&LogLine) -> bool>(&self, wanted: F) -> Result<Vec<LogLine>> {
        self.host(async |host| Ok(host.log(&wanted))).await
    }

    /// Waits for a line of the log that `wanted` accepts; returns all such lines so far. A line arrives after its cause: `/plugins` and
    /// events may show a change before the log does.
    ///
    /// # Errors
    ///
    /// No such line within [`SOON`].
    pub async fn logged<F: Fn(&LogLine) -> bool>(&self, what: &str, wanted: F) -> Result<Vec<LogLine>> {
        eventually(SOON, &format!("a log line: {what}"), || async {
            let lines = self.log(&wanted).await?;
            ensure!(!lines.is_empty(), "none");
            Ok(lines)
        })
        .await
    }

    /// The folder with all logs.
    #[must_use]
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Keeps the folder when the world ends; returns its path.
    pub fn keep(&self) -> String {
        self.kept.store(true, Ordering::Relaxed);
        self.folder.path().display().to_string()
    }

    /// Deletes all Networks and gives a running host time to delete theirs in Neutron.
    async fn delete_networks(&self) -> Result<()> {
        // The host needs the data that the test held back.
        self.kubernetes_gate.stall(&[]);
        let networks = self.network_path("").trim_end_matches('/').to_owned();
        // Without the CRD there are none.
        let all = async || Ok::<_, anyhow::Error>(self.cluster.get(&networks).await?.unwrap_or_default());
        let names = |list: &Value| {
            let items = list.get("items").and_then(Value::as_array);
            items.into_iter().flatten().map(|one| text(one, "/metadata/name")).collect::<Vec<_>>()
        };
        for name in names(&all().await?) {
            self.delete_network(&name).await?;
        }
        let gone = eventually(Duration::from_secs(5), "the Networks to go", || async {
            ensure!(names(&all().await?).is_empty(), "some are left");
            Ok(())
        });
        // Without a host they are not deleted.
        let _ = gone.await;
        Ok(())
    }

    /// No byte of a guest, of the API server or of Neutron may make the host panic in any test. The same holds for clients and the
    /// embedded API server.
    pub(crate) fn no_panic(&self) -> Result<()> {
        // The host's log is JSON with quotations of guests; a panic itself is printed outside of it, or logged by the host.
        let panicked = |line: &&str| match line.starts_with('{') {
            true => line.contains("the host panicked") || line.contains("a handler panicked"),
            false => line.contains("panicked at"),
        };
        for (process, log) in [
            ("host", self.host_options().log.clone()),
            ("embedded API server", self.folder.path().join("apiserver.log")),
        ] {
            let log = std::fs::read_to_string(log).unwrap_or_default();
            let panics: Vec<_> = log.lines().filter(panicked).collect();
            ensure!(panics.is_empty(), "the {process} panicked: {panics:?}");
        }
        Ok(())
    }

    /// The context of a failure.
    pub(crate) async fn account(&self) -> String {
        use std::fmt::Write as _;
        let mut text = String::new();
        if let Some(host) = self.host.lock().await.as_ref() {
            let _ = writeln!(text, "host:\n{}", host.process().tail());
        }
        for (name, gate) in [("Kubernetes", &self.kubernetes_gate), ("Neutron", &self.neutron_gate)] {
            let journal = gate.journal();
            let _ = writeln!(text, "{name}: {} requests; the last ones:", journal.len());
            for exchange in journal.iter().skip(journal.len().saturating_sub(25)) {
                let _ = writeln!(text, "  | {exchange}");
            }
        }
        text
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if self.kept.load(Ordering::Relaxed) {
            self.folder.disable_cleanup(true);
        }
    }
}

/// Starts a world, runs `body` in it, and after a failure prints the state of the host and the gates.
///
/// # Errors
///
/// The error of `body`.
pub async fn with_world(options: WorldOptions, body: impl AsyncFnOnce(Arc<World>) -> Result<()>) -> Result<()> {
    let world = Arc::new(World::start(options).await?);
    let result = match body(world.clone()).await {
        Ok(()) => world.no_panic(),
        failed => failed,
    };
    if world.neutron.is_external() {
        world.delete_networks().await?;
    }
    match result {
        Ok(()) => Ok(()),
        Err(error) => {
            let account = world.account().await;
            let folder = world.keep();
            // The cause comes first: a long log has it cut off at the end.
            let cause = format!("{error:#}");
            Err(error.context(format!("{cause}\n{account}\nkept in {folder}")))
        }
    }
}
