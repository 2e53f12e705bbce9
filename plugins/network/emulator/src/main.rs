//! `neutron-emulator`: the emulator as a process.

use std::io::IsTerminal;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Parser;
use neutron_emulator::{Account, Auth, Emulator, Options};
use tracing_subscriber::EnvFilter;

/// Answers like OpenStack Neutron (and, with accounts, Keystone), keeping everything in memory.
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES)]
struct Args {
    /// Neutron's port; 0 takes a free one.
    #[arg(long, default_value_t = 9696)]
    port: u16,
    /// Keystone's port, used with accounts.
    #[arg(long, default_value_t = 5000)]
    keystone_port: u16,
    /// The address to listen on.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,
    /// A member account; its project is named like the user unless one is given. Turns authentication on.
    #[arg(long, value_name = "USER:PASSWORD[:PROJECT]")]
    auth: Vec<String>,
    /// An administrator account, written the same way.
    #[arg(long, value_name = "USER:PASSWORD[:PROJECT]")]
    admin: Vec<String>,
    /// An application credential of an account.
    #[arg(long, value_name = "ID:SECRET:USER")]
    application: Vec<String>,
    /// How long tokens are accepted.
    #[arg(long, default_value_t = 3600, value_name = "SECONDS")]
    token_lifetime_seconds: u64,
    /// Largest page of a list, whatever the request asks for.
    #[arg(long, value_name = "COUNT")]
    page_limit: Option<usize>,
}

const EXAMPLES: &str = "\
Examples:
  neutron-emulator --port 9696
  curl -s localhost:9696/v2.0/networks -d '{\"network\": {\"name\": \"blue\"}}'

  neutron-emulator --auth demo:secret --admin admin:secret --application app-id:app-secret:demo

Break things (rules: method, path with *, skip, count, action):
  curl -X PUT localhost:9696/_faults -d \\
    '[{\"path\": \"/v2.0/*\", \"count\": 3, \"action\": {\"answer\": {\"status\": 503}}}]'
  actions: answer, reset, hang, delay, dribble, oversized, garbage, hideNew, expireTokens
See what was asked, see or forget what exists:
  curl localhost:9696/_journal
  curl localhost:9696/_state
  curl -X DELETE localhost:9696/_state";

#[tokio::main]
async fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_unset| EnvFilter::new("info"));
    let ansi = std::io::stderr().is_terminal();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(ansi)
        .with_target(false)
        .init();
    match run(&Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args) -> Result<()> {
    let options = Options {
        addr: SocketAddr::new(args.bind, args.port),
        keystone_addr: SocketAddr::new(args.bind, args.keystone_port),
        auth: accounts(args)?,
        page_limit: args.page_limit,
        ..Options::default()
    };
    let running = Emulator::start(options).await?;
    tracing::info!("Neutron: {}", running.url());
    if let Some(url) = running.keystone_url() {
        tracing::info!("Keystone: {url}");
    }
    stopped().await?;
    tracing::info!("stopping");
    running.shutdown().await;
    Ok(())
}

fn accounts(args: &Args) -> Result<Option<Auth>> {
    let mut accounts: Vec<Account> = Vec::new();
    for (text, admin) in args.auth.iter().map(|a| (a, false)).chain(args.admin.iter().map(|a| (a, true))) {
        let parts: Vec<&str> = text.split(':').collect();
        let account = match parts.as_slice() {
            [user, password] => Account::new(user, password, user),
            [user, password, project] => Account::new(user, password, project),
            _ => bail!("'{text}' is not USER:PASSWORD[:PROJECT]"),
        };
        accounts.push(if admin { account.admin() } else { account });
    }
    for text in &args.application {
        let parts: Vec<&str> = text.split(':').collect();
        let [id, secret, user] = parts.as_slice() else { bail!("'{text}' is not ID:SECRET:USER") };
        let owner = accounts.iter_mut().find(|account| account.user == *user);
        let owner = owner.with_context(|| format!("'{text}' names no account of --auth or --admin"))?;
        owner.application = Some(((*id).to_owned(), (*secret).to_owned()));
    }
    let token_lifetime = Duration::from_secs(args.token_lifetime_seconds);
    Ok((!accounts.is_empty()).then(|| Auth { token_lifetime, ..Auth::new(accounts) }))
}

/// Ctrl-C or SIGTERM.
async fn stopped() -> Result<()> {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        result = tokio::signal::ctrl_c() => result.context("waiting for Ctrl-C"),
        _ = terminate.recv() => Ok(()),
    }
}
