//! `oarlock apiserver`.

use anyhow::Context as _;
use clap::Args;
use oarlock_devserver::{DevServer, Options, Running, StaticTokens, Tls, WebhookClients, faults::Rules};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The options of `oarlock apiserver`.
#[derive(Debug, Args)]
#[command(
    about = "Run the embedded API server: HTTP or HTTPS on loopback, objects in memory or in a directory",
    after_help = "Examples:\n  oarlock apiserver --port 8001 --kubeconfig-out ./kubeconfig\n  kubectl --kubeconfig ./kubeconfig get \
                  namespaces\n\n  echo '{requests: {verbs: [create]}, times: 1, fault: {cut: {afterEffect: true}}}' > rules.yaml\n  \
                  curl -H 'X-Oarlock-Faults: 1' --data-binary @rules.yaml http://127.0.0.1:8001/_oarlock/faults"
)]
pub(super) struct ApiserverArgs {
    /// Port on 127.0.0.1; 0 takes a free one
    #[arg(long, value_name = "N", default_value_t = 8001)]
    port: u16,

    /// Write a kubeconfig for it here
    #[arg(long, value_name = "FILE")]
    kubeconfig_out: Option<PathBuf>,

    /// Bearer tokens, one per line: token,user,uid,"group1,group2". They are held to RBAC; requests without a token stay the
    /// administrator's
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Hold requests without credentials to RBAC, as system:anonymous
    #[arg(long)]
    anonymous_auth: bool,

    /// Serve HTTPS with this certificate (PEM), behind it those that signed it
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    tls_cert_file: Option<PathBuf>,

    /// The private key of --tls-cert-file (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    tls_private_key_file: Option<PathBuf>,

    /// Who signs certificates of clients (PEM): a client's common name is the user, its organisations are the groups
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    client_ca_file: Option<PathBuf>,

    /// An AdmissionConfiguration, as kube-apiserver takes it: the kubeconfigs it names have the client certificates that webhooks are shown
    #[arg(long, value_name = "FILE")]
    admission_control_config_file: Option<PathBuf>,

    /// Collect no garbage and delete no namespaces' contents: only clients change objects
    #[arg(long)]
    no_controllers: bool,

    /// Keep the objects in this directory, so that they are there after a restart; without it, in memory alone
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// What goes wrong on request: a list of fault rules, YAML or JSON (docs/api-server.md). While it runs they are changed at
    /// /_oarlock/faults
    #[arg(long, value_name = "FILE")]
    faults: Option<PathBuf>,

    /// Take rules over HTTP that kill processes (`crash: {kill: PID}`): every client of the port can then end any process of
    /// this user
    #[arg(long)]
    faults_may_kill: bool,
}

pub(super) async fn run(args: ApiserverArgs) -> anyhow::Result<()> {
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
    let server = DevServer::start(options.addr(addr)).await.context("the embedded API server does not start")?;
    tracing::info!(url = server.url(), "API server listening");
    Ok(server)
}
