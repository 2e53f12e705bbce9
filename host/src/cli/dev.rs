//! `oarlock dev`.

mod board;
mod build;
mod console;
mod edit_loop;
mod results;
mod sources;

use super::folder::Folder;
use anyhow::Context as _;
use board::Board;
use clap::Args;
use console::Console;
use edit_loop::EditLoop;
use kube::api::DynamicObject;
use kube::config::Kubeconfig;
use oarlock::api::{Discovery, GroupVersionKind, client};
use oarlock::controller::ReconcileFeed;
use oarlock::plugin::directory;
use oarlock::{admin, admission, plugin_objects, runtime};
use oarlock_devserver::WebhookClients;
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use serde::Deserialize as _;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Deadline for a kind to be served after its CRD was applied.
const SERVED_WITHIN: Duration = Duration::from_secs(5);

/// Deadline of a reconcile without one in its grant. Short, because a developer waits for it.
const DEADLINE_SECONDS: u32 = 3;

/// The options of `oarlock dev`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oarlock dev --watch --apply crd.yaml --apply example.yaml\n  oarlock dev --plugins ./plugins --apply crd.yaml --apply example.yaml\n  kubectl --kubeconfig .oarlock/kubeconfig get networks",
    mut_arg("plugins", |plugins| plugins.required_unless_present_any(["directory", "watch"]))
)]
pub(super) struct DevArgs {
    #[command(flatten)]
    plugins: super::sources::PluginSources,

    /// Build the project in DIR (of oarlock new) at each save, and swap its plugin. A failed build shows its output, and the last version goes
    /// on. After a swap the cases and scenarios of the project run. The plugin is installed into --plugins DIR, or else into a temporary
    /// folder. On a terminal the command shows a view, and the log goes into dev.log beside the kubeconfig [default DIR: this folder]
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    watch: Option<PathBuf>,

    /// Port of the API server on 127.0.0.1. 0: a free port
    #[arg(long, value_name = "N", default_value_t = 0)]
    api_port: u16,

    /// File for the kubeconfig of the API server
    #[arg(long, value_name = "FILE", default_value = ".oarlock/kubeconfig")]
    kubeconfig_out: PathBuf,

    /// File of YAML documents to apply before the plugins start. Repeatable
    #[arg(long, value_name = "FILE")]
    apply: Vec<PathBuf>,

    /// Address of /livez, /readyz, /metrics and /plugins. Port 0: a free port
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9797", value_parser = super::address::admin)]
    admin_addr: SocketAddr,

    /// Resync period of all plugins [default: the period of each plugin's grant or manifest]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    resync_seconds: Option<u32>,

    #[command(flatten)]
    recorder: super::record::RecorderArgs,

    #[command(flatten)]
    telemetry: super::telemetry::TelemetryArgs,

    #[command(flatten)]
    compiling: super::compiling::Compiling,

    #[command(flatten)]
    impersonation: super::impersonation::Impersonation,
}

impl DevArgs {
    /// The file of the log, where a view takes the terminal.
    pub(super) fn log_file(&self) -> Option<PathBuf> {
        let view = self.watch.is_some() && std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
        view.then(|| self.kubeconfig_out.with_file_name("dev.log"))
    }
}

/// The project of `--watch`, and its folders.
struct Watched {
    project: PathBuf,
    staging: Folder,
    /// The plugin directory, where no other is given.
    plugins: Folder,
    compiling: Vec<OsString>,
    log: Option<PathBuf>,
}

impl Watched {
    /// None: no project is watched.
    fn of(args: &DevArgs) -> anyhow::Result<Option<Self>> {
        let Some(folder) = &args.watch else { return Ok(None) };
        let (staging, plugins) = (Folder::create("built")?, Folder::create("plugins")?);
        let (compiling, log) = (args.compiling.words(), args.log_file());
        Ok(Some(Self { project: build::project(folder)?, staging, plugins, compiling, log }))
    }
}

pub(super) async fn run(mut args: DevArgs) -> anyhow::Result<()> {
    // Quick code is less safe against hostile plugins, so it is for a project alone.
    if args.watch.is_some() && args.plugins.is_none() {
        args.compiling = args.compiling.quickly();
    }
    let stop = super::signals::stop_token()?;
    // Another `oarlock dev` may run in this folder: nothing is written before everything is known to work.
    let telemetry = args.telemetry.options()?;
    let watched = Watched::of(&args)?;
    let own = watched.as_ref().map(|watched| watched.plugins.path.clone());
    let (plugins, oci) = args.plugins.options_or(own, args.compiling.folder())?;
    directory::scan(&plugins).context("cannot use the plugin directory")?;
    let files = args.apply.iter().map(|file| Ok((file, documents(file)?))).collect::<anyhow::Result<Vec<_>>>()?;
    let listener = admin::bind(args.admin_addr).await?;
    let admin = listener.local_addr()?;
    let (webhook_client, clients) = api_server_identity()?;
    let options = oarlock_devserver::Options::default().webhook_clients(webhook_client);
    let server = super::apiserver::start(args.api_port, options).await?;
    let kubeconfig = server.kubeconfig();
    let client = client(&kubeconfig).await?;
    for definition in [admission::INITIALIZERS, plugin_objects::DEFINITION] {
        apply(&client, &parse(definition)?).await?;
    }
    for (file, documents) in &files {
        apply(&client, documents).await.with_context(|| format!("cannot apply {}", file.display()))?;
    }
    let kubeconfig = super::write_kubeconfig(&args.kubeconfig_out, &kubeconfig)?;
    tracing::info!("try: kubectl --kubeconfig {} get plugins", kubeconfig.display());
    let feed = watched.as_ref().map(|_| ReconcileFeed::default());
    let editing = match (watched, &feed) {
        (Some(watched), Some(feed)) => Some(Editing::start(watched, &plugins, feed, &kubeconfig, admin, &stop)?),
        _ => None,
    };
    let options = runtime::Options {
        plugins,
        oci,
        client: client::Options { kubeconfig: Some(kubeconfig), context: None },
        admin_addr: args.admin_addr,
        resync_seconds: args.resync_seconds,
        impersonate: args.impersonation.namespace(),
        engine: args.compiling.options(),
        grant_what_is_asked: true,
        unstated_deadline_seconds: Some(DEADLINE_SECONDS),
        admission: Some(admission::Options {
            addr: (std::net::Ipv4Addr::LOCALHOST, 0).into(),
            client_config: None,
            certificates: admission::Certificate::InMemory,
            clients: Some(clients),
        }),
        plugin_objects: Some(plugin_objects::Options {
            namespace: "default".to_owned(),
            host: super::leases::own_name(),
        }),
        leases: None,
        shutdown_delay: Duration::ZERO,
        recorder_bytes: args.recorder.bytes(),
        telemetry,
        feed,
    };
    let result = runtime::run_on(Some(listener), options, stop.clone()).await;
    stop.cancel();
    if let Some(editing) = editing {
        editing.end().await;
    }
    server.shutdown().await;
    result
}

/// The tasks of `--watch`.
struct Editing {
    /// The plugin directory. It ends after the host.
    _own: Folder,
    building: JoinHandle<()>,
    showing: JoinHandle<()>,
}

impl Editing {
    fn start(
        watched: Watched,
        plugins: &Path,
        feed: &ReconcileFeed,
        kubeconfig: &Path,
        admin: SocketAddr,
        stop: &CancellationToken,
    ) -> anyhow::Result<Self> {
        let Watched { project, staging, plugins: own, compiling, log } = watched;
        let (news, news_receiver) = mpsc::channel(16);
        let (compiled, compiled_receiver) = watch::channel(Vec::new());
        let title = format!("oarlock dev --watch {}", project.display());
        let log = log.map(|log| format!("; log: {}", log.display())).unwrap_or_default();
        let footer = format!("kubectl --kubeconfig {}{log}; ctrl-C ends", kubeconfig.display());
        let console = Console {
            board: Board::new(title, footer),
            news: news_receiver,
            reconciles: feed.subscribe(),
            admin,
            compiled,
        };
        let plugins = std::path::absolute(plugins)?;
        let edit_loop =
            EditLoop { project, plugins, staging, compiling, news, compiled: compiled_receiver, built_from: None };
        let ended = stop.clone();
        let building = tokio::spawn(async move { report(edit_loop.run(ended.clone()).await, &ended) });
        let ended = stop.clone();
        let showing = tokio::spawn(async move { report(console.run(ended.clone()).await, &ended) });
        Ok(Self { _own: own, building, showing })
    }

    /// Waits for the end of the build and of the view, after `stop`.
    async fn end(self) {
        let _ = self.building.await;
        let _ = self.showing.await;
    }
}

/// Without builds or output there is nothing to go on for.
fn report(ended: anyhow::Result<()>, stop: &CancellationToken) {
    if let Err(error) = ended {
        super::terminal::leave();
        super::complain(&error);
        stop.cancel();
    }
}

/// A client of the API server of this process.
async fn client(kubeconfig: &str) -> anyhow::Result<kube::Client> {
    let config = Kubeconfig::from_yaml(kubeconfig)?;
    Ok(client::build(client::of_kubeconfig(config, None).await?)?)
}

/// A client certificate for the API server, and what the host admits because of it: both are this process.
fn api_server_identity() -> anyhow::Result<(WebhookClients, admission::Clients)> {
    let (ca_key, key) = (KeyPair::generate()?, KeyPair::generate()?);
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_pem = ca.self_signed(&ca_key)?.pem();
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "oarlock-dev-apiserver");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = params.signed_by(&key, &Issuer::new(ca, ca_key))?.pem();
    let webhook_client = WebhookClients::everywhere(&certificate, &key.serialize_pem())?;
    Ok((webhook_client, admission::Clients { ca: admission::ClientCa::Pem(ca_pem), names: Vec::new() }))
}

/// A document to apply.
struct Document {
    value: serde_json::Value,
    kind: GroupVersionKind,
    namespace: String,
    name: String,
}

fn documents(file: &Path) -> anyhow::Result<Vec<Document>> {
    let read = std::fs::read_to_string(file).map_err(anyhow::Error::from);
    read.and_then(|text| parse(&text)).with_context(|| format!("cannot apply {}", file.display()))
}

/// The documents of a YAML text.
fn parse(yaml: &str) -> anyhow::Result<Vec<Document>> {
    let documents: Vec<serde_json::Value> = serde_saphyr::from_multiple(yaml)?;
    let document = |value: serde_json::Value| {
        let object =
            DynamicObject::deserialize(&value).context("a document is not an object with apiVersion and kind")?;
        let types = object.types.context("a document has no apiVersion or no kind")?;
        let name = object.metadata.name.context("a document has no metadata.name")?;
        let kind = GroupVersionKind::from_api_version(&types.api_version, types.kind);
        let namespace = object.metadata.namespace.unwrap_or_else(|| "default".to_owned());
        Ok(Document { value, kind, namespace, name })
    };
    documents.into_iter().filter(|document| !document.is_null()).map(document).collect()
}

/// Applies documents in their order; waits for kinds whose CRD was just made.
async fn apply(kube: &kube::Client, documents: &[Document]) -> anyhow::Result<()> {
    let discovery = Discovery::new(kube.clone());
    for Document { value, kind, namespace, name } in documents {
        let resource = tokio::time::timeout(SERVED_WITHIN, async {
            loop {
                if let Some(resource) = discovery.resolve(kind).await? {
                    return anyhow::Ok(resource);
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        })
        .await
        .map_err(|_elapsed| anyhow::anyhow!("the API server does not serve {kind}"))??;
        let path = resource.path(namespace, Some(name), None);
        let request = http::Request::patch(format!("{path}?fieldManager=oarlock-dev&force=true"))
            .header(http::header::CONTENT_TYPE, "application/apply-patch+yaml")
            .body(value.to_string().into_bytes())?;
        kube.request::<serde_json::Value>(request).await?;
        tracing::info!(kind = kind.kind, name, "applied");
    }
    Ok(())
}
