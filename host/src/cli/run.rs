//! `oarlock run`.

use super::leases::own_name;
use clap::Args;
use oarlock::api::client;
use oarlock::plugin_objects::Options;
use oarlock::runtime;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The options of `oarlock run`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  oarlock run --plugins ./plugins --kubeconfig ~/.kube/config --admin-addr 127.0.0.1:9797"
)]
pub(super) struct RunArgs {
    #[command(flatten)]
    plugins: super::sources::PluginSources,

    /// Kubeconfig of the cluster [default: as for kubectl: KUBECONFIG, ~/.kube/config, the Pod's ServiceAccount]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

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

    #[command(flatten)]
    admission: super::admission::AdmissionArgs,

    #[command(flatten)]
    leases: super::leases::LeaseArgs,

    /// Show each plugin as a Plugin object in this namespace, run the plugins that people declare there, and obey spec.paused and spec.approve
    /// [default: no objects]
    #[arg(long, value_name = "NAMESPACE", value_parser = super::impersonation::namespace)]
    plugin_objects: Option<String>,

    /// After SIGTERM, answer admission reviews for at least this time, and then until no more arrive
    #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=3600))]
    shutdown_delay_seconds: u32,

    #[command(flatten)]
    recorder: super::record::RecorderArgs,

    #[command(flatten)]
    telemetry: super::telemetry::TelemetryArgs,
}

pub(super) async fn run(args: RunArgs) -> anyhow::Result<()> {
    let stop = super::signals::stop_token()?;
    let telemetry = args.telemetry.options()?;
    let (plugins, oci) = args.plugins.options(args.compiling.folder())?;
    let options = runtime::Options {
        plugins,
        oci,
        client: client::Options { kubeconfig: args.kubeconfig, context: args.context },
        admin_addr: args.admin_addr,
        resync_seconds: args.resync_seconds,
        impersonate: args.impersonation.namespace(),
        engine: args.compiling.options(),
        grant_what_is_asked: false,
        unstated_deadline_seconds: None,
        admission: args.admission.options()?,
        plugin_objects: args.plugin_objects.map(|namespace| Options { namespace, host: own_name() }),
        leases: args.leases.options()?,
        shutdown_delay: Duration::from_secs(args.shutdown_delay_seconds.into()),
        recorder_bytes: args.recorder.bytes(),
        telemetry,
        feed: None,
    };
    runtime::run(options, stop).await
}
