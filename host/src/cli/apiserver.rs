//! `oarlock apiserver`.

use anyhow::Context as _;
use clap::Args;
use oarlock_devserver::{DevServer, Options, Running, StaticTokens};
use std::net::SocketAddr;
use std::path::PathBuf;

/// The options of `oarlock apiserver`.
#[derive(Debug, Args)]
#[command(
    about = "Run the embedded API server: plain HTTP on loopback, objects in memory",
    after_help = "Example:\n  oarlock apiserver --port 8001 --kubeconfig-out ./kubeconfig\n  kubectl --kubeconfig ./kubeconfig get namespaces"
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

    /// Collect no garbage and delete no namespaces' contents: only clients change objects
    #[arg(long)]
    no_controllers: bool,
}

pub(super) async fn run(args: ApiserverArgs) -> anyhow::Result<()> {
    let stop = super::signals::stop_token()?;
    let mut options = Options::default().controllers(!args.no_controllers);
    if let Some(path) = &args.token_file {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let tokens = StaticTokens::parse(&text).with_context(|| format!("{} cannot be used", path.display()))?;
        options = options.tokens(tokens);
    }
    let server = start(args.port, options).await?;
    if let Some(path) = &args.kubeconfig_out {
        let path = super::write_kubeconfig(path, &server.kubeconfig())?;
        tracing::info!(kubeconfig = %path.display(), "kubeconfig written");
    }
    super::say(&server.url());
    stop.cancelled().await;
    server.shutdown().await;
    Ok(())
}

/// Starts the embedded API server on a port of the loopback address.
pub(super) async fn start(port: u16, options: Options) -> anyhow::Result<Running> {
    let addr = SocketAddr::from(([127, 0, 0, 1], port));
    let server = DevServer::start(options.addr(addr))
        .await
        .with_context(|| format!("the embedded API server cannot listen on {addr}"))?;
    tracing::info!(url = server.url(), "API server listening");
    Ok(server)
}
