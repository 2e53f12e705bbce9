//! The command line: one file per subcommand.

mod address;
mod admin;
mod admission;
mod annotate;
mod apiserver;
mod attach;
mod check;
mod compile;
mod compiling;
mod completion;
mod crd;
mod describe;
mod dev;
mod doctor;
mod explain;
mod folder;
mod generated;
mod grant;
mod group;
mod impersonation;
mod inspect;
mod leases;
mod logs;
mod new;
mod output;
mod plan;
mod plugins;
mod pull;
mod push;
mod rbac;
mod record;
mod rollout;
mod run;
mod signals;
mod sources;
mod telemetry;
mod terminal;
mod test;
mod top;
mod types;
mod ui;
mod version;

use clap::{Parser, Subcommand, ValueEnum};
use output::Output;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A host for Kubernetes controllers: each plugin of a directory is a reconciler in a WebAssembly sandbox.
#[derive(Debug, Parser)]
#[command(name = "oarlock", version, long_version = long_version(), about, max_term_width = 110)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,

    /// Format of the log on stderr. The variable OARLOCK_LOG filters it (`info,oarlock=debug`)
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Human, value_name = "FORMAT")]
    log_format: LogFormat,
}

/// The output of `oarlock --version`.
fn long_version() -> &'static str {
    static TEXT: std::sync::LazyLock<String> = std::sync::LazyLock::new(version::text);
    &TEXT
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormat {
    /// One line per event, for reading
    Human,
    /// One JSON object per event
    Json,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create the project of a plugin
    ///
    /// The project is a reconciler that runs, with its tests, its grant and the SDK.
    New(new::NewArgs),
    /// Run the plugins of a directory against a cluster
    Run(run::RunArgs),
    /// Run an embedded API server and the plugins of a directory in one process
    ///
    /// For authors of plugins: no cluster is needed.
    Dev(dev::DevArgs),
    /// Run the embedded API server
    ///
    /// It serves HTTP or HTTPS on loopback, and keeps its objects in memory or in a directory.
    Apiserver(apiserver::ApiserverArgs),
    /// Show the content of a plugin file
    ///
    /// Print manifest, imports, exports, size and digest, or the reason why the file is not a plugin.
    Inspect(inspect::InspectArgs),
    /// Attach definitions, a default grant and documentation to a plugin file
    ///
    /// A host installs and upgrades attached definitions, if the grant names them. oarlock grant prints the default grant. An attachment that
    /// is not given stays as it is.
    Attach(attach::AttachArgs),
    /// Show the plugins of a running host
    Plugins(plugins::PluginsArgs),
    /// Show everything that a running host knows about a plugin
    Describe(describe::DescribeArgs),
    /// Say why an object is as it is
    ///
    /// Which plugin wrote which fields and why, the last reconciles, what holds the next one up, and what would trigger it.
    Explain(explain::ExplainArgs),
    /// Show the log lines of a plugin in a running host
    ///
    /// The host keeps the last lines of each plugin in memory.
    Logs(logs::LogsArgs),
    /// Show live rates, latencies and memory of the plugins of a running host
    Top(top::TopArgs),
    /// Open the page of a running host in a browser
    ///
    /// Print its address with a token, which shows objects and allows actions for twelve hours. In a cluster, first run kubectl port-forward.
    Ui(ui::UiArgs),
    /// Confirm a version that drops a kind or its cleanup, or that was rolled back
    ///
    /// The version takes over, although objects depend on what it drops, or although it failed before.
    Confirm(plugins::ConfirmArgs),
    /// Show, promote or abort the rollout of a new version; show the versions that ran, and go back to one
    Rollout(rollout::RolloutArgs),
    /// Reconcile an object now, or all objects of a plugin
    ///
    /// For an object, the command sets the annotation oarlock.dev/reconcile-at, which all its plugins follow. A Plugin object stands for all
    /// objects of its plugin. For a plugin, the command asks the host at --admin-addr. A backoff ends.
    Reconcile(annotate::ReconcileArgs),
    /// Pause an object, or a plugin
    ///
    /// For an object, the command sets the annotation oarlock.dev/paused, or PLUGIN.oarlock.dev/paused for one plugin. The plugin changes
    /// neither the object nor anything for it, and the deletion of the object waits. A paused plugin starts no further reconcile.
    Pause(annotate::PauseArgs),
    /// Resume a paused object, or a paused plugin
    ///
    /// The command ends what oarlock pause with the same arguments began. The object is reconciled at once.
    Resume(annotate::ResumeArgs),
    /// Print the grant file that a plugin asks for
    Grant(grant::GrantArgs),
    /// Print the least RBAC for the plugins of a directory
    ///
    /// The output is ClusterRoles, Roles and bindings, according to the grants, with the reason for each rule.
    Rbac(rbac::RbacArgs),
    /// Check a directory of plugins against a cluster, before a host runs
    ///
    /// Check the files, their grants, the kinds that the API server serves, and the permissions that it gives.
    Doctor(doctor::DoctorArgs),
    /// Show what plugins would change in a cluster
    ///
    /// The plugins reconcile a copy of the cluster in this process. Nothing is written, and no HTTP request with effects is sent.
    Plan(plan::PlanArgs),
    /// Write recorded reconciles of a running host as cases
    ///
    /// The host keeps the most interesting recent reconciles of each plugin. oarlock test replays them without a cluster. Placeholders replace
    /// secrets.
    Record(record::RecordArgs),
    /// Run a plugin against recorded cases, without a cluster
    ///
    /// The cases are the *.yaml files of a folder. The plugin runs in its sandbox.
    Test(test::TestArgs),
    /// Find faults of a plugin with generated objects and injected faults, without a cluster
    ///
    /// Objects come from the schema of a definition. Each finding becomes a short scenario, which is a test.
    Check(check::CheckArgs),
    /// Write types for the objects of a CustomResourceDefinition
    ///
    /// The types are source text in a language, on standard output or in a file.
    Types(types::TypesArgs),
    /// Write the CustomResourceDefinition of a type, or compare two
    ///
    /// The type is a JSON Schema, as generators of Rust, TypeScript and Python print it.
    Crd(crd::CrdArgs),
    /// Store a plugin in a registry
    ///
    /// Print the digest to pin it by.
    Push(push::PushArgs),
    /// Fetch a plugin from a registry
    Pull(pull::PullArgs),
    /// Compile plugins ahead of their first start
    ///
    /// The code goes into the cache of `run` and `dev`.
    Compile(compile::CompileArgs),
    /// Print the completion script of a shell
    Completion(completion::CompletionArgs),
    /// Print the versions of this program and of the contract with plugins
    Version(version::VersionArgs),
}

impl Command {
    /// The level of the log where it would only repeat what the command prints.
    fn quiet(&self) -> Option<&'static str> {
        match self {
            // It provokes errors.
            Self::Check(_) => Some("off"),
            Self::Plan(_) => Some("error"),
            Self::Test(args) if args.simulates() => Some("error"),
            _ => None,
        }
    }
}

/// Runs a command.
pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    if let Command::Compile(args) = &args.command
        && args.serves()
    {
        // The limits apply only to threads that start after them.
        return compile::serve(args).map(|()| ExitCode::SUCCESS);
    }
    let format = match args.log_format {
        LogFormat::Human => oarlock::logging::Format::Human,
        LogFormat::Json => oarlock::logging::Format::Json,
    };
    // Of a plan, the plan counts: each change of the copy would be a line.
    let quiet = args.command.quiet().filter(|_| std::env::var_os("OARLOCK_LOG").is_none());
    match &args.command {
        Command::Dev(dev) if dev.log_file().is_some() => log_into(&dev.log_file().unwrap_or_default(), format)?,
        _ => oarlock::logging::init(format, quiet),
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        let done = match args.command {
            Command::New(args) => new::run(&args),
            Command::Run(args) => Box::pin(run::run(args)).await,
            Command::Dev(args) => dev::run(args).await,
            Command::Apiserver(args) => apiserver::run(args).await,
            Command::Inspect(args) => inspect::run(args).await,
            Command::Attach(args) => attach::run(&args),
            Command::Doctor(args) => doctor::run(args).await,
            Command::Plugins(args) => plugins::plugins(args).await,
            Command::Describe(args) => describe::run(args).await,
            Command::Explain(args) => explain::run(args).await,
            Command::Logs(args) => logs::run(args).await,
            Command::Top(args) => top::run(args).await,
            Command::Ui(args) => ui::run(args).await,
            Command::Confirm(args) => plugins::confirm(args).await,
            Command::Rollout(args) => rollout::run(args).await,
            Command::Reconcile(args) => annotate::reconcile(args).await,
            Command::Pause(args) => annotate::pause(args).await,
            Command::Resume(args) => annotate::resume(args).await,
            Command::Grant(args) => grant::run(args).await,
            Command::Rbac(args) => rbac::run(args).await,
            Command::Plan(args) => return Ok(plan::run(args).await),
            Command::Record(args) => record::run(args).await,
            Command::Test(args) => return test::run(args).await,
            Command::Check(args) => return Ok(check::run(args).await),
            Command::Types(args) => types::run(args).await,
            Command::Crd(args) => return crd::run(&args),
            Command::Push(args) => push::run(args).await,
            Command::Pull(args) => pull::run(args).await,
            Command::Compile(args) => compile::run(args).await,
            Command::Completion(args) => completion::run(&args),
            Command::Version(args) => version::run(&args),
        };
        done.map(|()| ExitCode::SUCCESS)
    });
    terminal::leave();
    // A file may still be read or checked; its result is no longer needed.
    runtime.shutdown_background();
    result
}

/// Logs into a file, because a view takes the terminal.
fn log_into(path: &Path, format: oarlock::logging::Format) -> anyhow::Result<()> {
    use anyhow::Context as _;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
    }
    let file = std::fs::File::create(path).with_context(|| format!("cannot write the log {}", path.display()))?;
    oarlock::logging::init_into(format, file);
    Ok(())
}

/// Prints an error and its causes, once, at the edge.
pub(crate) fn complain(error: &anyhow::Error) {
    // Nothing is left that could report a failure of this write.
    let _ = writeln!(std::io::stderr(), "oarlock: {}", oarlock::text::lines(&format!("{error:#}")));
}

/// Prints the result of a command. It may contain text of plugins and servers, so control characters are escaped.
///
/// # Errors
///
/// Standard output cannot be written, for example to a full disk. A closed pipe is no error.
fn say(text: &str) -> anyhow::Result<()> {
    print(format!("{}\n", oarlock::text::lines(text)).as_bytes())
}

/// Prints bytes that contain no foreign text. Errors as in [`say`].
fn print(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(anyhow::Error::from(error).context("cannot write to standard output"))
        }
        _ => Ok(()),
    }
}

/// Writes a kubeconfig, and creates its parent folders.
fn write_kubeconfig(path: &Path, text: &str) -> anyhow::Result<PathBuf> {
    use anyhow::Context as _;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write the kubeconfig {}", path.display()))?;
    Ok(std::path::absolute(path)?)
}
