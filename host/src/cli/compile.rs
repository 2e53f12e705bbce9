//! `oarlock compile`: the compiler process of the other commands.

use clap::Args;
use oarlock::plugin::{CompileLimits, serve_compiler};

/// The options of `oarlock compile`.
#[derive(Debug, Args)]
pub(super) struct CompileArgs {
    /// Processor time it may take
    #[arg(long, value_name = "SECONDS", default_value_t = CompileLimits::default().cpu_seconds)]
    cpu_seconds: u64,

    /// Memory it may take
    #[arg(long, value_name = "MIB", default_value_t = CompileLimits::default().memory_mib)]
    memory_mib: u64,
}

pub(super) fn run(args: &CompileArgs) -> anyhow::Result<()> {
    serve_compiler(CompileLimits { cpu_seconds: args.cpu_seconds, memory_mib: args.memory_mib })
}
