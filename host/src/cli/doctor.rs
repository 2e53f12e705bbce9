//! `oarlock doctor`: the checks that a host makes of plugins, their grants and the cluster, before a host runs.

use super::compiling::Compiling;
use super::impersonation::{Impersonation, namespace};
use super::rbac::read;
use anyhow::{Context as _, bail};
use clap::Args;
use oarlock::api::{Discovery, GroupVersionKind, client};
use oarlock::apply::{WriteIdentity, Writer, access};
use oarlock::informer::Informers;
use oarlock::metrics::Metrics;
use oarlock::plugin::Engine;
use oarlock::plugin::directory::{self, Candidate};
use oarlock::rbac::Plugin;
use oarlock_manifest::Kind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Deadline of the API server's first response.
const ANSWER: Duration = Duration::from_secs(10);

/// The options of `oarlock doctor`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oarlock doctor ./plugins --kubeconfig ~/.kube/config\n  kubectl -n oarlock exec deployment/oarlock -- oarlock doctor /plugins --impersonate --lease-namespace oarlock\n\nThe permissions are those of the kubeconfig's user; in the Pod of a host, those of the host. The exit status is 1 when a check fails."
)]
pub(super) struct DoctorArgs {
    /// Directory of .wasm files, each with its grant (NAME.yaml) beside it
    #[arg(value_name = "DIR")]
    plugins: PathBuf,

    /// Kubeconfig of the cluster [default: as for kubectl: KUBECONFIG, ~/.kube/config, the Pod's ServiceAccount]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    #[command(flatten)]
    impersonation: Impersonation,

    /// For hosts that run with --lease-namespace: the namespace of the Leases
    #[arg(long, value_name = "NAMESPACE", value_parser = namespace)]
    lease_namespace: Option<String>,

    #[command(flatten)]
    compiling: Compiling,
}

/// The results of the checks.
#[derive(Default)]
struct Report {
    failed: usize,
}

impl Report {
    fn good(text: &str) -> anyhow::Result<()> {
        super::say(&format!("ok    {text}"))
    }

    /// * `next` - what helps.
    fn bad(&mut self, text: &str, next: &str) -> anyhow::Result<()> {
        self.failed += 1;
        super::say(&format!("FAIL  {text}{}{next}", if next.is_empty() { "" } else { "\n      " }))
    }
}

/// The cluster, as a host sees it.
struct Cluster {
    discovery: Discovery,
    writer: Writer,
    leases: Option<String>,
}

pub(super) async fn run(args: DoctorArgs) -> anyhow::Result<()> {
    let candidates = directory::scan(&args.plugins).context("cannot use the plugin directory")?;
    let mut report = Report::default();
    if candidates.is_empty() {
        report.bad(&format!("{} has no .wasm file", args.plugins.display()), "")?;
    }
    let options = client::Options { kubeconfig: args.kubeconfig, context: args.context };
    let cluster = match connect(&options, args.impersonation.namespace(), args.lease_namespace).await {
        Ok((cluster, version)) => {
            Report::good(&format!("API server: Kubernetes {version}"))?;
            Some(cluster)
        }
        Err(error) => {
            report.bad(&format!("API server: {error:#}"), "correct --kubeconfig or --context")?;
            None
        }
    };
    let engine = Engine::new(args.compiling.options())?;
    for candidate in candidates {
        check(&engine, &candidate, cluster.as_ref(), &mut report).await?;
    }
    match report.failed {
        0 => Ok(()),
        1 => bail!("1 check failed"),
        failed => bail!("{failed} checks failed"),
    }
}

async fn connect(
    options: &client::Options,
    impersonate: Option<String>,
    leases: Option<String>,
) -> anyhow::Result<(Cluster, String)> {
    let kube = client::build(client::load_config(options).await?)?;
    let version = tokio::time::timeout(ANSWER, kube.apiserver_version()).await.context("no response within 10 s")??;
    let discovery = Discovery::new(kube.clone());
    let informers = Informers::new(kube.clone(), discovery.clone());
    let writer = Writer::new(kube, discovery.clone(), informers, Metrics::new());
    let writer = match impersonate {
        Some(namespace) => writer.impersonating(&namespace),
        None => writer,
    };
    Ok((Cluster { discovery, writer, leases }, version.git_version))
}

/// One plugin: its file, its grant, its kinds, its permissions.
async fn check(
    engine: &Engine,
    candidate: &Candidate,
    cluster: Option<&Cluster>,
    report: &mut Report,
) -> anyhow::Result<()> {
    let file = candidate.path.display();
    let plugin = match read(engine, candidate, cluster.map(|cluster| &cluster.discovery)).await {
        Ok(plugin) => plugin,
        Err(error) => return report.bad(&format!("{file}: {error:#}"), ""),
    };
    let Plugin { manifest, grants, plurals } = &plugin;
    let name = &manifest.name;
    Report::good(&format!("{file}: plugin {name} {}", manifest.version))?;
    let Some(grants) = grants else {
        return report.bad(&format!("{name}: no grant"), &format!("oarlock grant {file} --write writes one"));
    };
    let plural = |kind: &Kind| plurals.get(kind).cloned();
    let missing = grants.missing(manifest, &plural);
    for line in &missing {
        report.bad(&format!("{name}: not granted: {line}"), "")?;
    }
    if missing.is_empty() {
        Report::good(&format!("{name}: grant"))?;
    }
    let Some(cluster) = cluster else { return Ok(()) };
    for kind in manifest.primaries.iter().map(|primary| primary.gvk()).chain(manifest.watches.iter().map(|w| w.gvk())) {
        if !plurals.contains_key(&kind) {
            let kind = GroupVersionKind::new(kind.group, kind.version, kind.kind);
            report
                .bad(&format!("{name}: the API server does not serve {kind}"), "apply its CustomResourceDefinition")?;
        }
    }
    let identity = WriteIdentity::new(name, Arc::new(grants.clone()));
    let required = access::required_permissions(
        cluster.writer.requests(),
        &identity,
        manifest,
        &plural,
        cluster.leases.as_deref(),
        None,
    );
    let denied = access::check(cluster.writer.requests(), &identity, &required).await;
    for line in &denied {
        report.bad(&format!("{name}: the API server does not allow {line}"), "apply the output of oarlock rbac")?;
    }
    if denied.is_empty() {
        Report::good(&format!("{name}: permissions at the API server"))?;
    }
    Ok(())
}
