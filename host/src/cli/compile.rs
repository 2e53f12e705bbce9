//! `oarlock compile`: fills the code cache; without files it is the compiler process of the other commands.

use super::compiling::Compiling;
use anyhow::Context as _;
use clap::Args;
use oarlock::plugin::{CompileLimits, Engine, HttpGate, inspect, load, serve_compiler};
use std::path::PathBuf;

/// The options of `oarlock compile`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  oarlock compile build/namespace-baseline.wasm")]
pub(super) struct CompileArgs {
    /// The plugin files. Without one, the command compiles a file from standard input, for a host
    #[arg(value_name = "FILE.wasm")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    compiling: Compiling,

    /// Limit of the processor time, for a host
    #[arg(long, hide = true, value_name = "SECONDS", default_value_t = CompileLimits::default().cpu_seconds)]
    cpu_seconds: u64,

    /// Limit of the memory, for a host
    #[arg(long, hide = true, value_name = "MIB", default_value_t = CompileLimits::default().memory_mib)]
    memory_mib: u64,

    /// Folder with functions that were compiled before, for a host
    #[arg(long, hide = true, value_name = "DIR")]
    functions: Option<PathBuf>,
}

impl CompileArgs {
    /// Whether a host started this process.
    pub(super) fn serves(&self) -> bool {
        self.files.is_empty()
    }
}

/// Compiles one file from standard input.
pub(super) fn serve(args: &CompileArgs) -> anyhow::Result<()> {
    serve_compiler(
        CompileLimits { cpu_seconds: args.cpu_seconds, memory_mib: args.memory_mib },
        args.compiling.is_quick(),
        args.functions.as_deref(),
    )
}

/// Compiles files into the cache.
pub(super) async fn run(args: CompileArgs) -> anyhow::Result<()> {
    let engine = Engine::new(args.compiling.options())?;
    let metrics = oarlock::metrics::Metrics::new();
    for file in args.files {
        let shown = file.display().to_string();
        let bytes = std::fs::read(&file).with_context(|| format!("cannot read {shown}"))?;
        let guest = inspect::describe_guest(&metrics, &HttpGate::new(), &shown);
        let (component, manifest) =
            load(&engine, bytes, &guest).await.with_context(|| format!("not a plugin: {shown}"))?;
        let how = if component.from_cache { "was in the cache, read in" } else { "compiled in" };
        super::say(&format!("{shown}: {} {}, {how} {:.1?}", manifest.name, manifest.version, component.prepared_in))?;
    }
    Ok(())
}
