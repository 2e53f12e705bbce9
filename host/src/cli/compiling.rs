//! Command-line options about compilation, for every command that loads plugins.

use clap::Args;
use oarlock::plugin::EngineOptions;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Clone, Debug, Args)]
pub(super) struct Compiling {
    /// Folder of the code cache, for compiled plugins [default: oarlock in XDG_CACHE_HOME, or ~/.cache/oarlock]
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,

    /// Compile all plugins, without a code cache
    #[arg(long, conflicts_with = "cache_dir")]
    no_cache: bool,

    /// Compile quickly, for `dev --watch` and the processes that it starts
    #[arg(long, hide = true)]
    quick: bool,
}

impl Compiling {
    /// The folder of caches. None: no suitable folder.
    pub(super) fn folder(&self) -> Option<PathBuf> {
        self.cache_dir.clone().or_else(user_cache)
    }

    /// The same, for somebody who waits for the first reconcile.
    pub(super) fn quickly(self) -> Self {
        Self { quick: true, ..self }
    }

    pub(super) fn is_quick(&self) -> bool {
        self.quick
    }

    /// These options as words of a command line.
    pub(super) fn words(&self) -> Vec<OsString> {
        let cache = self.cache_dir.iter().flat_map(|folder| ["--cache-dir".into(), folder.clone().into_os_string()]);
        let flags = [(self.no_cache, "--no-cache"), (self.quick, "--quick")];
        cache.chain(flags.into_iter().filter(|(set, _)| *set).map(|(_, flag)| flag.into())).collect()
    }

    pub(super) fn options(self) -> EngineOptions {
        let cache = if self.no_cache { None } else { self.cache_dir.or_else(user_cache) };
        EngineOptions { cache, quick: self.quick, ..own_compiler() }
    }
}

/// Compiles in a process of this same program, even if its file has been replaced meanwhile.
pub(super) fn own_compiler() -> EngineOptions {
    EngineOptions { compiler: Some(PathBuf::from("/proc/self/exe")), ..EngineOptions::default() }
}

/// # Source
///
/// XDG Base Directory Specification: a path that is not absolute is ignored.
fn user_cache() -> Option<PathBuf> {
    let folder = |variable| env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")))?;
    Some(cache.join("oarlock"))
}
