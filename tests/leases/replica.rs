//! Hosts beside each other: each with a plugin directory and gates of its own, on one API server and one Neutron.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{
    Exchange, Gate, Grant, Host, HostOptions, PluginDir, SOON, Upstream, World, eventually, text,
};
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;

/// Where the Leases are.
pub(super) const HOME: &str = "default";

/// Shorter than by default, so that tests are; see [`TIMING`].
pub(super) const LEASE: Duration = Duration::from_secs(6);
pub(super) const RENEW: Duration = Duration::from_secs(4);

/// Arguments of all hosts.
const TIMING: [&str; 8] = [
    "--lease-namespace",
    HOME,
    "--lease-duration-seconds",
    "6",
    "--lease-renew-deadline-seconds",
    "4",
    "--lease-retry-period-seconds",
    "1",
];

/// One of several hosts.
pub(super) struct Replica {
    pub(super) name: &'static str,
    /// Between it and the API server.
    pub(super) kubernetes: Gate,
    /// Between its plugins and Neutron.
    pub(super) outside: Gate,
    pub(super) plugins: PluginDir,
    options: HostOptions,
    pub(super) host: Option<Host>,
}

impl Replica {
    /// Makes its folders and gates; it is not started.
    pub(super) async fn new(world: &World, name: &'static str) -> Result<Self> {
        let kubernetes = Gate::open(Upstream::Kubernetes(world.cluster.client()), world.tripwire.clone()).await?;
        let outside = Gate::open(Upstream::Http(world.neutron.url().to_owned()), world.tripwire.clone()).await?;
        let folder = world.folder().join(name);
        let plugins = PluginDir::create(folder.join("plugins"))?;
        let kubeconfig = folder.join("kubeconfig");
        std::fs::rename(world.cluster.kubeconfig_for(&kubernetes.url(), None).await?, &kubeconfig)?;
        let options = HostOptions {
            plugins: plugins.path().to_owned(),
            kubeconfig,
            resync_seconds: Some(3600),
            args: TIMING.iter().map(|&arg| arg.to_owned()).chain(["--identity".to_owned(), name.to_owned()]).collect(),
            environment: Vec::new(),
            log: folder.join("host.log"),
            open_files: None,
            own_group: false,
        };
        Ok(Self { name, kubernetes, outside, plugins, options, host: None })
    }

    /// With an identity that is not its name.
    pub(super) fn known_as(mut self, identity: &str) -> Self {
        if let Some(last) = self.options.args.last_mut() {
            identity.clone_into(last);
        }
        self
    }

    /// With a longer Lease, for tests in which none expires: a busy machine may stop a host for seconds.
    pub(super) fn patient(mut self) -> Self {
        for (name, seconds) in [("duration", "30"), ("renew-deadline", "20"), ("retry-period", "2")] {
            let args = &mut self.options.args;
            let at = args.iter().position(|arg| *arg == format!("--lease-{name}-seconds"));
            if let Some(value) = at.and_then(|at| args.get_mut(at + 1)) {
                seconds.clone_into(value);
            }
        }
        self
    }

    /// The misfit's grant, with this host's own way out.
    pub(super) fn grant(&self) -> Grant {
        let verbs = ["get", "list", "watch", "create", "patch", "delete"];
        let url = self.outside.url();
        Grant::nothing().rule("", &["configmaps"], &verbs).origin(&url).config("url", &url)
    }

    /// Puts a plugin in.
    pub(super) fn place(&self, name: &str, component: &[u8]) -> Result<()> {
        self.plugins.grant(name, &self.grant())?;
        self.plugins.place(&format!("{name}.wasm"), component)
    }

    pub(super) async fn start(&mut self, args: &[&str]) -> Result<()> {
        let mut options = self.options.clone();
        options.args.extend(args.iter().map(|&arg| arg.to_owned()));
        self.host = Some(Host::start(&options).await?);
        Ok(())
    }

    pub(super) fn host(&self) -> Result<&Host> {
        self.host.as_ref().with_context(|| format!("{} does not run", self.name))
    }

    pub(super) async fn signal(&self, signal: &str) -> Result<()> {
        self.host()?.process().signal(signal).await
    }

    /// What `/plugins` says of the Lease of a plugin.
    pub(super) async fn lease(&self, plugin: &str) -> Result<Value> {
        self.host()?.plugin(plugin).await?.get("lease").cloned().context("no lease")
    }

    pub(super) async fn holds(&self, plugin: &str) -> Result<bool> {
        Ok(self.lease(plugin).await?.get("held") == Some(&Value::Bool(true)))
    }

    /// What it did for its plugins: writes but for Leases and Events, and requests to the outside.
    pub(super) fn acts(&self) -> Vec<Exchange> {
        let quiet = ["/leases", "/events", "webhookconfigurations"];
        let mut acts = self.kubernetes.journal();
        acts.retain(|act| act.is_write() && !quiet.iter().any(|part| act.path.contains(part)));
        acts.extend(self.outside.journal());
        acts.sort_by_key(|act| act.at);
        acts
    }

    pub(super) fn first_act_since(&self, at: Instant) -> Option<Exchange> {
        self.acts().into_iter().find(|act| act.at >= at)
    }

    pub(super) fn last_act(&self) -> Option<Exchange> {
        self.acts().pop()
    }

    /// When the last request arrived by which it took or renewed a Lease.
    pub(super) fn renewed(&self, plugin: &str) -> Option<Instant> {
        let name = format!("oarlock-{plugin}");
        let renewals = self.kubernetes.journal().into_iter().filter(|renewal| {
            renewal.is_write()
                && renewal.path.contains("/leases")
                && serde_json::from_slice(&renewal.body)
                    .is_ok_and(|lease: Value| text(&lease, "/metadata/name") == name)
                && renewal.status.is_some_and(|status| status.is_success())
        });
        renewals.map(|renewal| renewal.at).last()
    }
}

/// Waits until one of the replicas that can be asked holds a plugin, and answers which.
pub(super) async fn holder(replicas: &[&Replica], plugin: &str) -> Result<usize> {
    eventually(SOON, &format!("a holder of {plugin}"), || async {
        let mut holders = Vec::new();
        for (number, replica) in replicas.iter().enumerate() {
            if replica.holds(plugin).await? {
                holders.push(number);
            }
        }
        ensure!(holders.len() == 1, "{holders:?}");
        holders.pop().context("none")
    })
    .await
}

/// The Lease itself.
pub(super) async fn lease(world: &World, plugin: &str) -> Result<Value> {
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{HOME}/leases/oarlock-{plugin}");
    world.cluster.get(&path).await?.context("no Lease")
}

/// How often it went from one holder to another.
pub(super) async fn transitions(world: &World, plugin: &str) -> Result<i64> {
    let lease = lease(world, plugin).await?;
    lease.pointer("/spec/leaseTransitions").and_then(Value::as_i64).with_context(|| text(&lease, "/spec"))
}
