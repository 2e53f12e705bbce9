//! `oarlock plan`: what plugins would change in a cluster.
//!
//! The command copies the objects that the plugins may read or write into an embedded API server in this process, lets the real controllers
//! reconcile the copy, and compares the copy before and after.

mod changes;
mod cluster;
mod definitions;
mod grants;
mod host;
mod inputs;
mod kinds;
mod primaries;
mod report;
mod secrets;
mod selection;
mod server_side;
mod unified;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use oarlock::api::client;
use oarlock::controller::Rehearsal;
use oarlock::oci;
use oarlock::plugin::{Engine, WithheldRequests};
use oarlock::runtime::{RehearsalOptions, rehearse};
use oarlock_devserver::DevServer;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Exit codes, as of `kubectl diff`.
const CHANGES: u8 = 1;
const ERRORS: u8 = 2;

/// The options of `oarlock plan`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oarlock plan build/network.wasm --grant plugins/network.yaml\n  oarlock plan ./plugins -n team-a -o summary\n  oarlock plan oci://registry.example/team/network:1.3.0 --grant network.yaml --base ./plugins/network.wasm\n  oarlock plan build/network.wasm --host 127.0.0.1:9797\n\nThe exit status is 0 without changes, 1 with changes, and 2 if the plan has errors, or objects that cannot be decided."
)]
pub(super) struct PlanArgs {
    /// The plugin file, a directory of .wasm files, or an artifact of a registry; each file with its grant (NAME.yaml) beside it
    #[arg(value_name = "FILE.wasm|DIR|OCI", value_parser = inputs::source)]
    plugins: inputs::Source,

    /// Grant of the plugin [default: NAME.yaml beside it]. A plugin from a registry needs this option
    #[arg(long, value_name = "FILE")]
    grant: Option<PathBuf>,

    /// The plugins as they run now, each with its grant beside it: the plan lists what the new grants, and the RBAC for them, add and remove
    #[arg(long, value_name = "FILE.wasm|DIR")]
    base: Option<PathBuf>,

    /// Kubeconfig of the cluster [default: as for kubectl: KUBECONFIG, ~/.kube/config, the Pod's ServiceAccount]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    #[command(flatten)]
    selection: selection::SelectionArgs,

    /// Compare with the version that runs in the host at this admin address, on the host's caches and with the host's grant. Of the grant
    /// here, the configuration counts. The plan names writes and fields, and no values
    #[arg(long, value_name = "ADDR", value_parser = super::address::admin, conflicts_with_all = ["base", "kubeconfig", "context", "server_side"])]
    host: Option<std::net::SocketAddr>,

    /// Send each planned write to the API server as a dry run: the plan then shows what admission, defaults and validation make of it
    #[arg(long)]
    server_side: bool,

    /// Format of the plan
    #[arg(short, long, value_enum, default_value_t = Output::Diff, value_name = "FORMAT")]
    output: Output,

    /// Time limit of the reconciles. Objects that were not reconciled by then are undecidable
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..))]
    timeout_seconds: u32,

    #[command(flatten)]
    compiling: super::compiling::Compiling,

    #[command(flatten)]
    trust: super::sources::TrustArgs,

    #[command(flatten)]
    registry: super::sources::RegistryArgs,
}

/// The form of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// A YAML diff of each object, then the summary
    Diff,
    /// One JSON document
    Json,
    /// One YAML document
    Yaml,
    /// The summary
    Summary,
}

pub(super) async fn run(args: PlanArgs) -> ExitCode {
    match plan(args).await {
        Ok(code) => code,
        Err(error) => {
            super::complain(&error);
            ExitCode::from(ERRORS)
        }
    }
}

async fn plan(args: PlanArgs) -> anyhow::Result<ExitCode> {
    let engine = Engine::new(args.compiling.options())?;
    let registries = (oci::Client::new(args.registry.options())?, args.trust.trust()?);
    if let Some(host) = args.host {
        let uploads = inputs::uploads(&engine, &registries, &args.plugins, args.grant.as_deref()).await?;
        return host::plan(host, uploads, &args.selection, args.timeout_seconds, args.output).await;
    }
    let inputs = inputs::Inputs::read(&engine, &registries, &args.plugins, args.grant.as_deref()).await?;
    let base = match args.base.map(inputs::Source::Path) {
        Some(base) => Some(inputs::Inputs::read(&engine, &registries, &base, None).await.context("--base")?),
        None => None,
    };
    let options = client::Options { kubeconfig: args.kubeconfig, context: args.context };
    let client = client::build(client::load_config(&options).await?)?;
    let mut problems = Vec::new();
    let old = base.as_ref().map(|base| base.plugins.as_slice());
    let found = kinds::find(&client, &inputs.plugins, old.unwrap_or_default(), &mut problems).await;
    let kinds = found.context("cannot ask the cluster")?;
    let (objects, read) = cluster::read(&client, &kinds, &mut problems).await;
    tell(&format!("objects read: {}", objects.len()));

    let copy = DevServer::copy_of(objects, oarlock_devserver::Options::default().controllers(false));
    problems.extend(cluster::not_served(copy.unknown()));
    let copied = kube::Client::new(copy.router(), "default");
    let selects = selection::Selection::new(args.selection, &inputs.plugins, &copied).await?;
    let before = cluster::stored(&copied, &kinds).await?;
    let withheld: Arc<WithheldRequests> = Arc::default();
    let copy = Arc::new(copy);
    let revision = Arc::clone(&copy);
    let rehearsal =
        Arc::new(Rehearsal::new(move |key| selects.selects(key), move || revision.revision(), Arc::clone(&withheld)));
    let options = RehearsalOptions {
        plugins: inputs.folder().to_owned(),
        engine,
        rehearsal: Arc::clone(&rehearsal),
        limit: Duration::from_secs(args.timeout_seconds.into()),
    };
    let progress = |rehearsal: &Rehearsal| tell(&format!("objects reconciled: {}", rehearsal.checked()));
    problems.extend(rehearse(copied.clone(), options, progress).await);
    let after = cluster::stored(&copied, &kinds).await?;

    let mut secrets = secrets::Secrets::of(&inputs.secrets);
    secrets.learn(before.iter().chain(&after));
    let primaries = primaries::of(&inputs.plugins, old, &read, &before, &after);
    let mut changes = changes::between(before, after);
    if args.server_side {
        changes = server_side::answer(&client, &kinds, changes, &mut problems).await;
    }
    let mut changed = definitions::changes(&client, &inputs.plugins, &mut problems).await;
    changed.extend(changes);
    let found = report::Found {
        kinds: primaries,
        grants: old.map(|old| grants::between(old, &inputs.plugins, &kinds)),
        changes: changed,
        requests: withheld.requests(),
        read,
        problems,
    };
    let report = report::Report::new(found, &rehearsal.objects(), &secrets);
    report.print(args.output)?;
    Ok(ExitCode::from(report.exit_code()))
}

/// A line of progress.
fn tell(line: &str) {
    // The plan does not depend on it.
    let _ = writeln!(std::io::stderr(), "oarlock: {}", oarlock::text::lines(line));
}
