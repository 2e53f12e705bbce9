//! `oarlock dev`.

use anyhow::Context as _;
use clap::Args;
use kube::api::DynamicObject;
use kube::config::{KubeConfigOptions, Kubeconfig};
use oarlock::api::{Discovery, GroupVersionKind, client};
use oarlock::plugin::directory;
use oarlock::{admin, admission, plugin_objects, runtime};
use oarlock_devserver::WebhookClients;
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use serde::Deserialize as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Deadline for a kind to be served after its CRD was applied.
const SERVED_WITHIN: Duration = Duration::from_secs(5);

/// Deadline of a reconcile without one in its grant. Short, because a developer waits for it.
const DEADLINE_SECONDS: u32 = 3;

/// The options of `oarlock dev`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  oarlock dev --plugins ./plugins --apply crd.yaml --apply example.yaml\n  kubectl --kubeconfig .oarlock/kubeconfig get networks"
)]
pub(super) struct DevArgs {
    #[command(flatten)]
    plugins: super::sources::PluginSources,

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
    compiling: super::compiling::Compiling,

    #[command(flatten)]
    impersonation: super::impersonation::Impersonation,
}

pub(super) async fn run(args: DevArgs) -> anyhow::Result<()> {
    let stop = super::signals::stop_token()?;
    // Another `oarlock dev` may run in this folder: nothing is written before everything is known to work.
    let (plugins, oci) = args.plugins.options(args.compiling.folder())?;
    directory::scan(&plugins).context("cannot use the plugin directory")?;
    let files = args.apply.iter().map(|file| Ok((file, documents(file)?))).collect::<anyhow::Result<Vec<_>>>()?;
    let listener = admin::bind(args.admin_addr).await?;
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
    };
    let result = runtime::run_on(Some(listener), options, stop).await;
    server.shutdown().await;
    result
}

/// A client of the API server of this process.
async fn client(kubeconfig: &str) -> anyhow::Result<kube::Client> {
    let config = Kubeconfig::from_yaml(kubeconfig)?;
    let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
    Ok(client::build(config)?)
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
