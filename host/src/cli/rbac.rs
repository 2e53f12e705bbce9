//! `oarlock rbac`.

use super::compiling::Compiling;
use super::impersonation::{DEFAULT_NAMESPACE, namespace};
use anyhow::Context as _;
use clap::Args;
use oarlock::api::{Discovery, GroupVersionKind, client};
use oarlock::grants::Grants;
use oarlock::plugin::directory::{self, Candidate};
use oarlock::plugin::{Engine, identity, inspect};
use oarlock::rbac::{self, Plugin};
use oarlock_manifest::{Kind, PluginManifest};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The options of `oarlock rbac`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  oarlock rbac ./plugins --impersonate | kubectl apply -f -")]
pub(super) struct RbacArgs {
    /// Directory of .wasm files, each with its grant (NAME.yaml) beside it
    #[arg(value_name = "DIR")]
    plugins: PathBuf,

    /// For a host that runs with --impersonate: one ServiceAccount for each plugin, and the permission of the host to impersonate them
    #[arg(long)]
    impersonate: bool,

    /// Namespace of the ServiceAccounts, of the host and of the plugins
    #[arg(long, value_name = "NAMESPACE", default_value = DEFAULT_NAMESPACE, value_parser = namespace)]
    namespace: String,

    /// Name of the host's ServiceAccount
    #[arg(long, value_name = "NAME", default_value = "oarlock", value_parser = namespace)]
    service_account: String,

    /// Name of the host's roles, and label of all objects. If one host has several directories of plugins, give each another name
    /// [default: the name of the ServiceAccount]
    #[arg(long, value_name = "NAME", value_parser = namespace)]
    name: Option<String>,

    /// For hosts that run with --lease-namespace: the namespace of the Leases
    #[arg(long, value_name = "NAMESPACE", value_parser = namespace)]
    lease_namespace: Option<String>,

    /// For hosts that run with --admission-service, --admission-url or --admission-addr: print the RBAC for admission in any case, and not
    /// only if a plugin answers admission
    #[arg(long)]
    admission: bool,

    /// For hosts that run with --plugin-objects: the namespace of the Plugin objects
    #[arg(long, value_name = "NAMESPACE", value_parser = namespace)]
    plugin_objects: Option<String>,

    /// Kubeconfig of a cluster, for the plurals of the plugins' kinds [default: guess the plurals]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME", requires = "kubeconfig")]
    context: Option<String>,

    #[command(flatten)]
    compiling: Compiling,
}

pub(super) async fn run(args: RbacArgs) -> anyhow::Result<()> {
    let discovery = match &args.kubeconfig {
        Some(_) => {
            let options = client::Options { kubeconfig: args.kubeconfig.clone(), context: args.context.clone() };
            Some(Discovery::new(client::build(client::load_config(&options).await?)?))
        }
        None => None,
    };
    let engine = Engine::new(args.compiling.options())?;
    let roles = args.name.unwrap_or_else(|| args.service_account.clone());
    let mut plugins: Vec<Plugin> = Vec::new();
    for candidate in directory::scan(&args.plugins).context("cannot use the plugin directory")? {
        let plugin = read(&engine, &candidate, discovery.as_ref())
            .await
            .with_context(|| format!("cannot print RBAC: {}", candidate.path.display()))?;
        let name = &plugin.manifest.name;
        // Like the host, which runs the first of two files with one plugin name.
        anyhow::ensure!(
            plugins.iter().all(|other| other.manifest.name != *name),
            "cannot print RBAC: {} is a second plugin {name}",
            candidate.path.display()
        );
        anyhow::ensure!(
            !args.impersonate || rbac::service_account(name) != args.service_account,
            "the ServiceAccount {} is that of plugin {name}: the host needs another one",
            args.service_account
        );
        anyhow::ensure!(
            !args.impersonate || rbac::service_account(name) != roles,
            "roles called {roles} are those of plugin {name}: --name another"
        );
        plugins.push(plugin);
    }
    let options = rbac::Options {
        namespace: args.namespace,
        service_account: args.service_account,
        name: roles,
        impersonate: args.impersonate,
        lease_namespace: args.lease_namespace,
        admission: args.admission,
        plugin_objects: args.plugin_objects,
    };
    super::say(rbac::yaml(&plugins, &options).trim_end())?;
    Ok(())
}

/// Reads a plugin and its grant.
///
/// * `discovery` - for the resources of its kinds.
pub(super) async fn read(
    engine: &Engine,
    candidate: &Candidate,
    discovery: Option<&Discovery>,
) -> anyhow::Result<Plugin> {
    let mut manifest = inspect::manifest(engine, &candidate.file_name, candidate.read()?).await?;
    // Secrets do not affect permissions, and may not exist on this machine.
    let written = candidate.grant()?;
    manifest.name = identity::name(candidate, written.as_ref(), &manifest.name)?;
    let grants = match written {
        Some(grant) => {
            let file = candidate.grant_path();
            Some(Grants::without_secrets(&grant).with_context(|| file.display().to_string())?)
        }
        None => None,
    };
    let plurals = match discovery {
        Some(discovery) => plurals(discovery, &manifest).await?,
        None => BTreeMap::new(),
    };
    Ok(Plugin { manifest, grants, plurals })
}

/// The resources of a manifest's kinds, as far as they are served.
async fn plurals(discovery: &Discovery, manifest: &PluginManifest) -> anyhow::Result<BTreeMap<Kind, String>> {
    let kinds = manifest.primaries.iter().map(|p| p.gvk()).chain(manifest.watches.iter().map(|w| w.gvk()));
    let mut plurals = BTreeMap::new();
    for kind in kinds {
        let gvk = GroupVersionKind::new(kind.group.clone(), kind.version.clone(), kind.kind.clone());
        if let Some(resource) = discovery.resolve(&gvk).await? {
            plurals.insert(kind, resource.plural);
        }
    }
    Ok(plurals)
}
