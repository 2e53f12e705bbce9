//! `oarlock reconcile`, `oarlock pause` and `oarlock resume`: annotations of single objects, set with the user's credentials, and whole
//! plugins of one host, through its admin address.

mod kinds;

use super::admin::{Admin, object_query, send};
use anyhow::{Context as _, bail, ensure};
use clap::Args;
use kinds::Kind;
use oarlock::api::{ObjectKey, client};
use oarlock::apply::acknowledgement;
use oarlock::controller::{PAUSED, RECONCILE_AT, paused_for};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::Instant;

/// The field manager of the annotations.
const FIELD_MANAGER: &str = "oarlock-cli";

/// Deadline of one response of the API server.
const ANSWER: Duration = Duration::from_secs(30);

/// Interval of `--wait`.
const AGAIN: Duration = Duration::from_millis(250);

/// A plugin or an object.
#[derive(Debug, Args)]
pub(super) struct TargetArgs {
    /// PLUGIN: a plugin of the host at --admin-addr. KIND NAMESPACE/NAME: an object, for all its plugins; the kind is as for kubectl. PLUGIN KIND
    /// NAMESPACE/NAME: an object, for one plugin. Plugin NAMESPACE/NAME: a Plugin object, for the whole plugin on every host
    #[arg(value_name = "PLUGIN | [PLUGIN] KIND NAMESPACE/NAME", required = true, num_args = 1..=3)]
    target: Vec<String>,

    #[command(flatten)]
    admin: Admin,

    /// Kubeconfig of the cluster [default: as for kubectl: KUBECONFIG, ~/.kube/config, the Pod's ServiceAccount]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

impl TargetArgs {
    /// The plugin of a host, if the target is one.
    fn plugin(&self) -> Option<&str> {
        match self.target.as_slice() {
            [plugin] => Some(plugin),
            _ => None,
        }
    }

    /// The object, and the one plugin that is concerned.
    fn object(self) -> anyhow::Result<(Target, Option<String>)> {
        let (plugin, kind, object) = match self.target.as_slice() {
            [kind, object] => (None, kind, object),
            [plugin, kind, object] => (Some(plugin.clone()), kind, object),
            _ => bail!("name a plugin, or an object as KIND NAMESPACE/NAME"),
        };
        Ok((Target::of(kind, object, self.kubeconfig, self.context)?, plugin))
    }

    /// Sends an action on a plugin of the host. Returns its line.
    async fn act(&self, plugin: &str, action: &str, query: &str) -> anyhow::Result<String> {
        let path = oarlock::api::path::join(["plugins", plugin, action]);
        send(&self.admin, "POST", &format!("{path}{query}")).await
    }
}

/// An object, and how to reach its cluster.
#[derive(Debug)]
pub(super) struct Target {
    kind: String,
    object: ObjectKey,
    kubeconfig: Option<PathBuf>,
    context: Option<String>,
}

impl Target {
    /// * `kind` - as for kubectl: `Network`, `networks` or `networks.samplecrd.k8s.io`.
    /// * `object` - `NAMESPACE/NAME`, or `NAME` for a cluster-scoped kind.
    pub(super) fn of(
        kind: &str,
        object: &str,
        kubeconfig: Option<PathBuf>,
        context: Option<String>,
    ) -> anyhow::Result<Self> {
        Ok(Self { kind: kind.to_owned(), object: parse(object)?, kubeconfig, context })
    }
}

/// The options of `oarlock reconcile`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oarlock reconcile Network default/example\n  oarlock reconcile networks default/example --wait --plugin network\n  oarlock reconcile network Network default/example    # plugin network alone\n  oarlock reconcile network    # all objects of the plugin, on this host\n  oarlock reconcile Plugin oarlock/network    # the same, on the host that leads\n\nWith --wait the exit status is 1 when the plugin has not reconciled the object in time."
)]
pub(super) struct ReconcileArgs {
    #[command(flatten)]
    target: TargetArgs,

    /// Wait until the plugin of --plugin has reconciled the object without an error
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "30", requires = "plugin")]
    wait: Option<u32>,

    /// The plugin to wait for
    #[arg(long, value_name = "NAME", requires = "wait", value_parser = super::impersonation::namespace)]
    plugin: Option<String>,
}

/// The options of `oarlock pause`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oarlock pause Network default/example\n  oarlock pause network Network default/example    # for plugin network alone\n  oarlock pause network    # the whole plugin, on this host until it ends\n  oarlock pause Plugin oarlock/network    # the whole plugin, on every host"
)]
pub(super) struct PauseArgs {
    #[command(flatten)]
    target: TargetArgs,
}

/// The options of `oarlock resume`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oarlock resume Network default/example\n  oarlock resume network Network default/example\n  oarlock resume network\n  oarlock resume Plugin oarlock/network"
)]
pub(super) struct ResumeArgs {
    #[command(flatten)]
    target: TargetArgs,
}

pub(super) async fn reconcile(args: ReconcileArgs) -> anyhow::Result<()> {
    let of_plugin = match args.target.target.as_slice() {
        [plugin] => Some((plugin, String::new())),
        [plugin, kind, object] => Some((plugin, format!("?{}", object_query(kind, &parse(object)?)))),
        _ => None,
    };
    if let Some((plugin, query)) = of_plugin {
        ensure!(args.wait.is_none(), "--wait takes an object as KIND NAMESPACE/NAME, and the plugin with --plugin");
        let said = args.target.act(plugin, "reconcile", &query).await?;
        return super::say(said.trim_end());
    }
    let (target, _) = args.target.object()?;
    let object = Annotated::find(target).await?;
    let whole = object.kind.is_plugin();
    ensure!(!whole || args.wait.is_none(), "--wait takes an object that a plugin reconciles, not {object}");
    let value = jiff::Timestamp::now().to_string();
    let stored = object.annotate(RECONCILE_AT, Some(&value)).await?;
    if whole {
        return super::say(&format!(
            "{object}: {RECONCILE_AT} is {value}; status.lastHandledReconcileAt has this value when all objects of the plugin are in the queue"
        ));
    }
    let paused = annotation(&stored, PAUSED) == Some("true");
    let resume =
        format!("{object} is paused: oarlock resume {} {} lets its plugins reconcile it", object.kind, object.key);
    let (Some(seconds), Some(plugin)) = (args.wait, args.plugin) else {
        let note = if paused { format!("\n{resume}") } else { String::new() };
        return super::say(&format!("{object}: {RECONCILE_AT} is {value}{note}"));
    };
    if paused {
        bail!("{resume}");
    }
    object.wait(&plugin, &value, Duration::from_secs(seconds.into())).await?;
    super::say(&format!("{object}: reconciled by plugin {plugin}"))
}

pub(super) async fn pause(args: PauseArgs) -> anyhow::Result<()> {
    set_paused(args.target, true).await
}

pub(super) async fn resume(args: ResumeArgs) -> anyhow::Result<()> {
    set_paused(args.target, false).await
}

async fn set_paused(target: TargetArgs, pause: bool) -> anyhow::Result<()> {
    if let Some(plugin) = target.plugin() {
        let said = target.act(plugin, if pause { "pause" } else { "resume" }, "").await?;
        return super::say(said.trim_end());
    }
    let (target, plugin) = target.object()?;
    let object = Annotated::find(target).await?;
    object.pause(pause, plugin.as_deref()).await?;
    let whose = plugin.map(|plugin| format!(" for plugin {plugin}")).unwrap_or_default();
    super::say(&format!("{object}: {}{whose}", if pause { "paused" } else { "resumed" }))
}

fn parse(object: &str) -> anyhow::Result<ObjectKey> {
    object.parse().map_err(|error| anyhow::anyhow!("{object}: {error}"))
}

/// The name of an object has a namespace although its kind has none, or has none although its kind is namespaced.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct WrongScope(String);

/// An object of the cluster.
pub(super) struct Annotated {
    client: kube::Client,
    kind: Kind,
    key: ObjectKey,
    path: String,
}

impl std::fmt::Display for Annotated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kind.name, self.key)
    }
}

impl Annotated {
    pub(super) async fn find(target: Target) -> anyhow::Result<Self> {
        let options = client::Options { kubeconfig: target.kubeconfig, context: target.context };
        let client = client::build(client::load_config(&options).await?)?;
        let served = in_time(kinds::served(&client)).await.context("cannot list the kinds of the cluster")?;
        let kind = kinds::resolve(&served, &target.kind)?.clone();
        let key = target.object;
        let name = &key.name;
        let wrong = match (kind.namespaced, key.namespace()) {
            (true, None) => {
                format!("{} {name}: the kind is namespaced; name the object as NAMESPACE/{name}", kind.name)
            }
            (false, Some(_)) => format!("{} {key}: the kind is cluster-scoped; name the object as {name}", kind.name),
            _ => String::new(),
        };
        if !wrong.is_empty() {
            return Err(WrongScope(wrong).into());
        }
        let path = kind.path(&key);
        oarlock::api::path::check(&path).map_err(anyhow::Error::msg)?;
        Ok(Self { client, kind, key, path })
    }

    /// Whether it is a Plugin object.
    pub(super) fn is_plugin(&self) -> bool {
        self.kind.is_plugin()
    }

    /// The name of its kind for a host, with the group.
    pub(super) fn kind_in_its_group(&self) -> String {
        self.kind.in_its_group()
    }

    /// Its namespace and name.
    pub(super) fn key(&self) -> &ObjectKey {
        &self.key
    }

    /// The object at the API server.
    pub(super) async fn get(&self) -> anyhow::Result<Value> {
        let request = http::Request::get(&self.path).body(Vec::new())?;
        let found = in_time(self.client.request(request)).await;
        found.map_err(|error| self.explain(error, "get")).with_context(|| format!("cannot read {self}"))
    }

    /// Pauses the object, or ends its pause. A Plugin object has a field for that, which pauses the whole plugin.
    ///
    /// * `plugin` - the plugin that leaves the object alone. None: all do.
    async fn pause(&self, paused: bool, plugin: Option<&str>) -> anyhow::Result<()> {
        let set = if self.kind.is_plugin() {
            self.patch("spec.paused", &json!({"spec": {"paused": paused.then_some(true)}})).await
        } else {
            let name = plugin.map_or_else(|| PAUSED.to_owned(), paused_for);
            self.annotate(&name, paused.then_some("true")).await
        };
        set.map(drop)
    }

    /// Sets an annotation, or removes it. Returns the stored object.
    async fn annotate(&self, name: &str, value: Option<&str>) -> anyhow::Result<Value> {
        self.patch(name, &json!({"metadata": {"annotations": {name: value}}})).await
    }

    /// * `name` - of what the patch sets.
    pub(super) async fn patch(&self, name: &str, patch: &Value) -> anyhow::Result<Value> {
        let request = http::Request::patch(format!("{}?fieldManager={FIELD_MANAGER}", self.path))
            .header(http::header::CONTENT_TYPE, "application/merge-patch+json")
            .body(patch.to_string().into_bytes())?;
        let stored = in_time(self.client.request(request)).await;
        stored.map_err(|error| self.explain(error, "patch")).with_context(|| format!("cannot set {name} of {self}"))
    }

    /// Waits until a plugin acknowledges a value.
    async fn wait(&self, plugin: &str, value: &str, most: Duration) -> anyhow::Result<()> {
        let name = acknowledgement(plugin);
        let deadline = Instant::now() + most;
        loop {
            let request = http::Request::get(&self.path).body(Vec::new())?;
            match tokio::time::timeout_at(deadline, self.client.request::<Value>(request)).await {
                Ok(Ok(object)) if annotation(&object, &name) == Some(value) => return Ok(()),
                Ok(Err(error)) if is_final(&error) => {
                    let error = self.explain(error.into(), "get");
                    return Err(error.context(format!("cannot wait for plugin {plugin}")));
                }
                // Another state of the object, or an API server that is away for a moment.
                _ => {}
            }
            if Instant::now() >= deadline {
                bail!(
                    "{self}: plugin {plugin} has not set {name} within {} s. Look at the object's events and conditions, and at \
                     oarlock plugins: the plugin may fail, wait, or have no permission to patch the object",
                    most.as_secs()
                );
            }
            tokio::time::sleep_until(deadline.min(Instant::now() + AGAIN)).await;
        }
    }

    /// An error of the API server, with its remedy.
    fn explain(&self, error: anyhow::Error, verb: &str) -> anyhow::Error {
        let code = match error.downcast_ref::<kube::Error>() {
            Some(kube::Error::Api(status)) => status.code,
            _ => 0,
        };
        match code {
            404 => anyhow::anyhow!("{self} does not exist; kubectl get {} lists the objects of its kind", self.kind),
            401 | 403 => error.context(format!("the user of the kubeconfig needs the verb {verb} on {}", self.kind)),
            _ => error,
        }
    }
}

/// Whether repeating the request cannot help.
fn is_final(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if [401, 403, 404].contains(&status.code))
}

async fn in_time<T, E: Into<anyhow::Error>>(work: impl Future<Output = Result<T, E>>) -> anyhow::Result<T> {
    let answered = tokio::time::timeout(ANSWER, work).await;
    answered
        .with_context(|| format!("the API server does not answer within {} s", ANSWER.as_secs()))?
        .map_err(Into::into)
}

fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object.pointer("/metadata/annotations")?.get(name)?.as_str()
}
