//! `oarlock apiserver`.

mod envtest;
mod stand_in;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use oarlock_devserver::{DevServer, Options, Running, StaticTokens, Tls, WebhookClients, faults::Rules};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The options of `oarlock apiserver`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  oarlock apiserver --port 8001 --kubeconfig-out ./kubeconfig\n  kubectl --kubeconfig ./kubeconfig get \
                  namespaces\n\n  echo '{requests: {verbs: [create]}, times: 1, fault: {cut: {afterEffect: true}}}' > rules.yaml\n  \
                  curl -H 'X-Oarlock-Faults: 1' --data-binary @rules.yaml http://127.0.0.1:8001/_oarlock/faults"
)]
pub(super) struct ApiserverArgs {
    #[command(subcommand)]
    command: Option<ApiserverCommand>,

    /// Port on 127.0.0.1. 0: a free port
    #[arg(long, value_name = "N", default_value_t = 8001)]
    port: u16,

    /// File for a kubeconfig of this API server [default: none is written]
    #[arg(long, value_name = "FILE")]
    kubeconfig_out: Option<PathBuf>,

    /// File of bearer tokens, one per line: token,user,uid,"group1,group2". RBAC applies to their requests. Requests without a token have
    /// the rights of an administrator
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Treat requests without credentials as system:anonymous, to which RBAC applies
    #[arg(long)]
    anonymous_auth: bool,

    /// Serve HTTPS with this certificate chain (PEM): the server's certificate first [default: HTTP]
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    tls_cert_file: Option<PathBuf>,

    /// Private key of --tls-cert-file (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    tls_private_key_file: Option<PathBuf>,

    /// Certificate authorities of client certificates (PEM). A certificate's common name is the user, its organisations are the groups
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    client_ca_file: Option<PathBuf>,

    /// An AdmissionConfiguration, as for kube-apiserver. Its kubeconfigs contain the client certificates for requests to webhooks
    #[arg(long, value_name = "FILE")]
    admission_control_config_file: Option<PathBuf>,

    /// Run no garbage collection and no deletion of namespaces' contents: only clients change objects
    #[arg(long)]
    no_controllers: bool,

    /// Keep the objects in this directory across restarts [default: in memory]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// File of fault rules, a list in YAML or JSON (docs/api-server.md). Requests to /_oarlock/faults change them later
    #[arg(long, value_name = "FILE")]
    faults: Option<PathBuf>,

    /// Accept fault rules over HTTP that kill processes (`crash: {kill: PID}`). Every client of the port can then end any process of this
    /// user
    #[arg(long)]
    faults_may_kill: bool,
}

#[derive(Debug, Subcommand)]
enum ApiserverCommand {
    /// Write etcd, kube-apiserver and kubectl for test frameworks that start a control plane
    ///
    /// The folder is one for KUBEBUILDER_ASSETS. Its programs take the flags of the real ones and run the embedded API server.
    Envtest(envtest::EnvtestArgs),
    /// One of these programs
    #[command(hide = true)]
    StandIn(stand_in::StandInArgs),
}

pub(super) async fn run(args: ApiserverArgs) -> anyhow::Result<()> {
    match &args.command {
        Some(ApiserverCommand::Envtest(args)) => return envtest::run(args),
        Some(ApiserverCommand::StandIn(args)) => return stand_in::run(args).await,
        None => {}
    }
    let stop = super::signals::stop_token()?;
    let mut options = Options::default()
        .controllers(!args.no_controllers)
        .anonymous_auth(args.anonymous_auth)
        .faults_may_kill(args.faults_may_kill);
    if let Some(dir) = args.data_dir {
        options = options.data_dir(dir);
    }
    let read = |path: &Path| std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
    if let Some(path) = &args.faults {
        let rules = Rules::parse(&read(path)?).with_context(|| format!("{} cannot be used", path.display()))?;
        options = options.faults(rules);
    }
    if let Some(path) = &args.admission_control_config_file {
        options = options.webhook_clients(WebhookClients::read(path)?);
    }
    if let Some(path) = &args.token_file {
        let text = read(path)?;
        let tokens = StaticTokens::parse(&text).with_context(|| format!("{} cannot be used", path.display()))?;
        options = options.tokens(tokens);
    }
    if let (Some(certificate), Some(key)) = (&args.tls_cert_file, &args.tls_private_key_file) {
        let clients = args.client_ca_file.as_deref().map(read).transpose()?;
        options = options.tls(Tls::new(&read(certificate)?, &read(key)?, clients.as_deref())?);
    }
    let server = start(args.port, options).await?;
    if let Some(path) = &args.kubeconfig_out {
        let path = super::write_kubeconfig(path, &server.kubeconfig())?;
        tracing::info!(kubeconfig = %path.display(), "kubeconfig written");
    }
    super::say(&server.url())?;
    stop.cancelled().await;
    server.shutdown().await;
    Ok(())
}

/// Starts the embedded API server on a port of the loopback address.
pub(super) async fn start(port: u16, options: Options) -> anyhow::Result<Running> {
    let addr = SocketAddr::from(([127, 0, 0, 1], port));
    let server = DevServer::start(options.addr(addr)).await.context("cannot start the embedded API server")?;
    tracing::info!(url = server.url(), "API server listening");
    Ok(server)
}
