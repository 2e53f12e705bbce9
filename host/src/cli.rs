//! The command line: one file per subcommand.

mod address;
mod admission;
mod apiserver;
mod compile;
mod compiling;
mod completion;
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
mod version;

use clap::{Parser, Subcommand, ValueEnum};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A Kubernetes controller host: reconcilers are WebAssembly components in a directory.
#[derive(Debug, Parser)]
#[command(name = "oarlock", version, long_version = long_version(), about, max_term_width = 110)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,

    /// How log lines on stderr look; the variable OARLOCK_LOG filters them (`info,oarlock=debug`)
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Human, value_name = "FORMAT")]
    log_format: LogFormat,
}

/// The output of `oarlock --version`.
fn long_version() -> &'static str {
    static TEXT: std::sync::LazyLock<String> = std::sync::LazyLock::new(version::text);
    &TEXT
}

/// The form of what a command shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// As the table, with nothing shortened
    Wide,
    /// One JSON document
    Json,
    /// One YAML document
    Yaml,
}

impl Output {
    /// The document in this form; none: the command's own form.
    fn document(output: Option<Self>, json: bool, document: &serde_json::Value) -> anyhow::Result<Option<String>> {
        Ok(match if json { Some(Self::Json) } else { output } {
            Some(Self::Json) => Some(serde_json::to_string_pretty(document)?),
            Some(Self::Yaml) => Some(serde_saphyr::to_string(document)?),
            Some(Self::Wide) | None => None,
        })
    }
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
    /// Print the completion script of a shell
    Completion(completion::CompletionArgs),
    /// Print the versions of this program and of the contract with plugins
    Version(version::VersionArgs),
}

/// Runs a command.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    if let Command::Compile(args) = &args.command
        && args.serves()
    {
        // The limits apply only to threads that start after them.
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
            Command::Completion(args) => completion::run(&args),
            Command::Version(args) => version::run(&args),
        }
    });
    // A file may still be read or checked; its result is no longer needed.
    runtime.shutdown_background();
    result
}

/// Prints an error and its causes, once, at the edge.
pub(crate) fn complain(error: &anyhow::Error) {
    // What cannot be written is lost: nobody is there to be told.
    let _ = writeln!(std::io::stderr(), "oarlock: {}", oarlock::text::lines(&format!("{error:#}")));
}

/// Prints the result of a command. It may quote strangers: a terminal shows what they say, and does not obey it.
///
/// # Errors
///
/// It cannot be written, to a full disk for instance. A pipe whose reader has ended is no error: it wants no more.
fn say(text: &str) -> anyhow::Result<()> {
    print(format!("{}\n", oarlock::text::lines(text)).as_bytes())
}

/// Prints bytes of the command's own making. Errors as in [`say`].
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
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write the kubeconfig {}", path.display()))?;
    Ok(std::path::absolute(path)?)
}
