//! The command line: one file per subcommand.

mod admission;
mod apiserver;
mod compile;
mod compiling;
mod dev;
mod grant;
mod impersonation;
mod inspect;
mod leases;
mod new;
mod plugins;
mod pull;
mod push;
mod rbac;
mod run;
mod signals;
mod sources;
mod test;

use clap::{Parser, Subcommand, ValueEnum};
use std::path::{Path, PathBuf};

/// A Kubernetes controller host: reconcilers are WebAssembly components in a directory.
#[derive(Debug, Parser)]
#[command(name = "oarlock", version, about, max_term_width = 110)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,

    /// How log lines on stderr look; the variable OARLOCK_LOG filters them (`info,oarlock=debug`)
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Human, value_name = "FORMAT")]
    log_format: LogFormat,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormat {
    /// One line per event, for people
    Human,
    /// One JSON object per event
    Json,
}

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "one is made, when the program starts")]
enum Command {
    /// Make the project of a plugin
    New(new::NewArgs),
    /// Run the plugins of a directory against a cluster
    Run(run::RunArgs),
    /// Run an embedded API server and the plugins of a directory in one process
    Dev(dev::DevArgs),
    /// Run the embedded API server
    Apiserver(apiserver::ApiserverArgs),
    /// Show what a plugin file is
    Inspect(inspect::InspectArgs),
    /// Show the plugins of a running host
    Plugins(plugins::PluginsArgs),
    /// Let a version run that drops what objects depend on
    Confirm(plugins::ConfirmArgs),
    /// Print the grant file that a plugin asks for
    Grant(grant::GrantArgs),
    /// Print the least RBAC for the plugins of a directory
    Rbac(rbac::RbacArgs),
    /// Run a plugin against recorded cases, without a cluster
    Test(test::TestArgs),
    /// Store a plugin in a registry
    Push(push::PushArgs),
    /// Fetch a plugin from a registry
    Pull(pull::PullArgs),
    /// Compile plugins ahead of their first start
    Compile(compile::CompileArgs),
}

/// Carries out a command.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    if let Command::Compile(args) = &args.command
        && args.serves()
    {
        // Its limits hold for threads that are started after them.
        return compile::serve(args);
    }
    let format = match args.log_format {
        LogFormat::Human => oarlock::logging::Format::Human,
        LogFormat::Json => oarlock::logging::Format::Json,
    };
    oarlock::logging::init(format, None);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(async {
        match args.command {
            Command::New(args) => new::run(&args),
            Command::Run(args) => run::run(args).await,
            Command::Dev(args) => dev::run(args).await,
            Command::Apiserver(args) => apiserver::run(args).await,
            Command::Inspect(args) => inspect::run(args).await,
            Command::Plugins(args) => plugins::plugins(args).await,
            Command::Confirm(args) => plugins::confirm(args).await,
            Command::Grant(args) => grant::run(args).await,
            Command::Rbac(args) => rbac::run(args).await,
            Command::Test(args) => test::run(args).await,
            Command::Push(args) => push::run(args).await,
            Command::Pull(args) => pull::run(args).await,
            Command::Compile(args) => compile::run(args).await,
        }
    });
    // A file may still be read or checked; nobody waits for the result any more.
    runtime.shutdown_background();
    result
}

/// Prints an error and its causes, once, at the edge.
#[expect(clippy::print_stderr, reason = "the one place where a command reports its failure to a person")]
pub(crate) fn complain(error: &anyhow::Error) {
    eprintln!("oarlock: {error:#}");
}

/// Prints the result of a command.
#[expect(clippy::print_stdout, reason = "the one place where a command prints its result")]
fn say(text: &str) {
    println!("{text}");
}

/// Writes a kubeconfig and the folders above it.
fn write_kubeconfig(path: &Path, text: &str) -> anyhow::Result<PathBuf> {
    use anyhow::Context as _;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write the kubeconfig {}", path.display()))?;
    Ok(std::path::absolute(path)?)
}
