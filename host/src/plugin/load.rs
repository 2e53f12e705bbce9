//! Loading of plugins: from bytes to a component that implements this contract.

use super::bindings::{ConverterIndices, Plugin, PluginIndices};
use super::call::CallError;
use super::code_cache::Mark;
use super::engine::Engine;
use super::instance::{Guest, Run, State};
use super::native::NativeCode;
use super::pool::Pool;
use super::{validate, wasi};
use crate::lease::LeadershipGuard;
use data_encoding::HEXLOWER;
use oarlock_manifest::PluginManifest;
use sha2::{Digest as _, Sha256};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use wasmtime::component::{HasSelf, InstancePre, Linker};

/// Size limit of a plugin file from any source.
pub(super) const FILE_LIMIT_BYTES: u64 = crate::oci::LAYER_BYTES;

/// Prefix of the contract's interfaces.
const CONTRACT: &str = "oarlock:reconciler/";

/// The interface that a plugin exports if it converts.
const CONVERSION: &str = "oarlock:reconciler/conversion@0.1.0";

/// The interface every plugin exports.
const RECONCILE: &str = "oarlock:reconciler/reconcile@";

/// The version of the contract this host serves.
pub const CONTRACT_VERSION: &str = "0.1.0";

/// Delay before `describe` is called again because the host was too busy; it doubles up to [`DESCRIBE_AGAIN_MOST`].
const DESCRIBE_AGAIN: Duration = Duration::from_secs(1);

/// The longest delay before `describe` is called again.
const DESCRIBE_AGAIN_MOST: Duration = Duration::from_secs(30);

/// Why a file is no plugin.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LoadError {
    /// The file is no WebAssembly.
    #[error("not a WebAssembly file: {0}")]
    NotWasm(String),
    /// A core module that cannot become a component.
    #[error(
        "a core module without the contract's component type: build it with wit-bindgen (oarlock-guest does), or make it a component"
    )]
    NoComponentType,
    /// Invalid or truncated.
    #[error("not a valid component: {0}")]
    Invalid(String),
    /// A component that is no plugin.
    #[error("a component that does not export oarlock:reconciler/reconcile@{CONTRACT_VERSION}: it exports {0}")]
    NotAPlugin(String),
    /// A plugin of another contract version.
    #[error("built for version {found} of the contract; this host serves {CONTRACT_VERSION}")]
    OtherVersion {
        /// The version it exports.
        found: String,
    },
    /// It imports functions that the host lacks, or that have other types.
    #[error("does not fit the contract: {0}")]
    Unfit(String),
    /// The compiler failed or was ended.
    #[error("cannot compile it: {0}")]
    Compiler(String),
    /// The call of describe failed.
    #[error("describe failed: {0}")]
    Describe(CallError),
    /// The manifest is invalid.
    #[error("its manifest is refused: {}", .0.join("; "))]
    Manifest(Vec<String>),
}

/// A compiled plugin. Cheap to clone.
#[derive(Clone)]
pub struct Component {
    engine: Engine,
    pre: InstancePre<State>,
    plugin: Arc<PluginIndices>,
    /// The exports for conversion, if the component has them.
    converter: Option<Arc<ConverterIndices>>,
    /// Names of the imports, in order.
    pub imports: Vec<String>,
    /// Names of the exports, in order.
    pub exports: Vec<String>,
    /// The version of the contract that it was built against.
    pub contract: String,
    /// SHA-256 of the file, in hex.
    pub digest: String,
    /// Size of the file in bytes.
    pub size_bytes: usize,
    /// Whether the code comes from the code cache.
    pub from_cache: bool,
    /// Duration of the read from the code cache or of the compilation, without the wait for a turn.
    pub prepared_in: Duration,
}

impl std::fmt::Debug for Component {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Component").field("digest", &self.digest).finish_non_exhaustive()
    }
}

impl Component {
    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(super) fn pre(&self) -> &InstancePre<State> {
        &self.pre
    }

    /// The exports of every plugin.
    pub(super) fn plugin(&self) -> &Arc<PluginIndices> {
        &self.plugin
    }

    /// The exports of a plugin that converts.
    pub(super) fn converter(&self) -> Option<&Arc<ConverterIndices>> {
        self.converter.as_ref()
    }
}

/// Compiles a plugin or reads its compiled code, and calls `describe` for its manifest.
///
/// The threads that serve are not blocked: at most half the cores read files from the code cache and compile, and other files wait their
/// turn.
///
/// * `guest` - the guest of `describe`: its limits count, its grants do not, because describe has no import but log.
///
/// # Errors
///
/// See [`LoadError`]: each says what to do about it.
///
/// # Cancel safety
///
/// Dropping the future leaves no running work, and at most a complete entry in the code cache.
pub async fn load(engine: &Engine, bytes: Vec<u8>, guest: &Guest) -> Result<(Component, PluginManifest), LoadError> {
    let component = component(engine, Arc::new(bytes)).await?;
    let describe = || async {
        let run = Run {
            reads: None,
            observer: None,
            key: String::new(),
            correlation_id: String::new(),
            dry_run: true,
            withheld: None,
            forgets: false,
            at_most: None,
            guard: LeadershipGuard::for_ever(),
            tape: None,
            replay: None,
        };
        Pool::new(component.clone(), guest.clone(), 0).take(run).await?.describe().await
    };
    let text = until_not_starved(&guest.plugin, describe).await.map_err(LoadError::Describe)?;
    let manifest = validate::manifest(&text).map_err(LoadError::Manifest)?;
    if !manifest.conversions.is_empty() && component.converter().is_none() {
        let names = manifest.conversions.join(", ");
        let fault = format!("conversions names {names}, but the component does not export {CONVERSION}");
        return Err(LoadError::Manifest(vec![fault]));
    }
    Ok((component, manifest))
}

/// Repeats a call for as long as the host is too busy for it: nothing else would load the file again.
async fn until_not_starved<T, C: Future<Output = Result<T, CallError>>>(
    plugin: &str,
    call: impl Fn() -> C,
) -> Result<T, CallError> {
    let mut wait = DESCRIBE_AGAIN;
    loop {
        match call().await {
            Err(error @ CallError::Starved { .. }) => {
                let wait_seconds = wait.as_secs();
                tracing::warn!(plugin, wait_seconds, "plugin not loaded yet: {error}; the call is repeated");
            }
            answer => return answer,
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(DESCRIBE_AGAIN_MOST);
    }
}

/// Facts about a file before its compilation.
struct File {
    bytes: Arc<Vec<u8>>,
    digest: [u8; 32],
}

async fn component(engine: &Engine, bytes: Arc<Vec<u8>>) -> Result<Component, LoadError> {
    let looking = engine.clone();
    let (file, cached) = engine.reading().take(1, blocking(move || look_up(&looking, bytes))).await??;
    if let Some(component) = cached {
        return Ok(component);
    }
    wait_if_interrupted(engine, &file.digest).await;
    let begin = mark(engine, file.digest);
    let (code, compiled_in) = engine.compiler().compile(engine.raw(), &file.bytes, begin).await?;
    let keeping = engine.clone();
    let kept = blocking(move || {
        let component = prepare(&keeping, &file, &code)?;
        // Only code of a plugin is stored.
        if let Some(cache) = keeping.cache() {
            cache.put(&cache.key(&file.digest), code.as_bytes());
        }
        Ok(component)
    });
    let mut component = kept.await??;
    component.prepared_in = compiled_in;
    Ok(component)
}

/// Delays a file at which a host ended, while others load: it may end the host again.
async fn wait_if_interrupted(engine: &Engine, digest: &[u8; 32]) {
    let Some(cache) = engine.cache() else { return };
    if let Some(wait) = cache.interrupted(&cache.key(digest)) {
        let (digest, wait_seconds) = (HEXLOWER.encode(digest), wait.as_secs());
        tracing::warn!(digest, wait_seconds, "the host ended while it compiled this file: the next compilation waits");
        tokio::time::sleep(wait).await;
    }
}

/// Marks a file as compiling.
async fn mark(engine: &Engine, digest: [u8; 32]) -> Result<Option<Mark>, LoadError> {
    let marking = engine.clone();
    blocking(move || marking.cache().and_then(|cache| cache.mark(&cache.key(&digest)))).await
}

/// Runs computations and file reads away from the threads that serve.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, LoadError> {
    tokio::task::spawn_blocking(work).await.map_err(|e| LoadError::Compiler(e.to_string()))
}

fn look_up(engine: &Engine, bytes: Arc<Vec<u8>>) -> Result<(File, Option<Component>), LoadError> {
    let began = Instant::now();
    let digest = Sha256::digest(bytes.as_slice()).into();
    let file = File { bytes, digest };
    let Some(code) = engine.cache().and_then(|cache| cache.get(&cache.key(&digest))) else { return Ok((file, None)) };
    match prepare(engine, &file, &code) {
        Ok(mut component) => {
            component.from_cache = true;
            component.prepared_in = began.elapsed();
            Ok((file, Some(component)))
        }
        // wasmtime itself rejects code of another version or of other settings.
        Err(LoadError::Invalid(reason)) => {
            tracing::warn!(reason, "entry of the code cache does not fit this host: compiling again");
            Ok((file, None))
        }
        Err(e) => Err(e),
    }
}

fn prepare(engine: &Engine, file: &File, code: &NativeCode) -> Result<Component, LoadError> {
    let raw = engine.raw();
    let component = code.component(raw).map_err(|e| LoadError::Invalid(format!("{e:#}")))?;
    let ty = component.component_type();
    let imports: Vec<String> = ty.imports(raw).map(|(name, _)| name.to_owned()).collect();
    let exports: Vec<String> = ty.exports(raw).map(|(name, _)| name.to_owned()).collect();
    let contract = check_exports(&exports)?.to_owned();
    check_imports(&imports)?;
    let unfit = |e: wasmtime::Error| LoadError::Unfit(format!("{e:#}"));
    let linked = wasi::linker(raw, engine.linker(), &ty).and_then(|linker| linker.instantiate_pre(&component));
    let pre = linked.map_err(unfit)?;
    let plugin = PluginIndices::new(&pre).map_err(unfit)?;
    let converts = exports.iter().any(|name| name == CONVERSION);
    let converter = converts.then(|| ConverterIndices::new(&pre)).transpose().map_err(unfit)?;
    Ok(Component {
        engine: engine.clone(),
        pre,
        plugin: Arc::new(plugin),
        converter: converter.map(Arc::new),
        imports,
        exports,
        contract,
        digest: HEXLOWER.encode(&file.digest),
        size_bytes: file.bytes.len(),
        from_cache: false,
        prepared_in: Duration::ZERO,
    })
}

/// The linker with all imports of the contract, for all plugins.
pub(super) fn linker(engine: &wasmtime::Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    Plugin::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)?;
    Ok(linker)
}

/// Lists all unknown imports, before wasmtime reports only the first.
fn check_imports(imports: &[String]) -> Result<(), LoadError> {
    let known = |name: &String| name.starts_with(CONTRACT) || name.starts_with(wasi::PREFIX);
    let unknown: Vec<&str> = imports.iter().filter(|name| !known(name)).map(String::as_str).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let has = "the host has the interfaces of oarlock:reconciler, and of WASI what language runtimes need";
    Err(LoadError::Unfit(format!("it imports {}, which nothing offers: {has}", unknown.join(", "))))
}

/// The exported version of the contract, which this host must serve.
fn check_exports(exports: &[String]) -> Result<&str, LoadError> {
    let Some(version) = exports.iter().find_map(|name| name.strip_prefix(RECONCILE)) else {
        let all = if exports.is_empty() { "nothing".to_owned() } else { exports.join(", ") };
        return Err(LoadError::NotAPlugin(all));
    };
    if version == CONTRACT_VERSION {
        return Ok(version);
    }
    Err(LoadError::OtherVersion { found: version.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::EngineOptions;
    use crate::plugin::native::CodeBuffer;

    #[test]
    fn another_contract_is_told_from_no_contract() {
        let own = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        assert_eq!(check_exports(&own(&["oarlock:reconciler/reconcile@0.1.0"])).unwrap(), "0.1.0");
        assert!(matches!(
            check_exports(&own(&["oarlock:reconciler/reconcile@0.9.0"])),
            Err(LoadError::OtherVersion { found }) if found == "0.9.0"
        ));
        assert!(matches!(check_exports(&own(&["wasi:cli/run@0.2.0"])), Err(LoadError::NotAPlugin(_))));
        assert!(matches!(check_exports(&[]), Err(LoadError::NotAPlugin(_))));
    }

    /// The smallest component, which is no plugin.
    const NOTHING: &[u8] = b"\0asm\x0d\0\x01\0";

    fn engine(cache: &std::path::Path) -> Engine {
        Engine::new(EngineOptions { cache: Some(cache.to_owned()), compiler: None, quick: false }).unwrap()
    }

    #[test]
    fn p16_code_that_wasmtime_refuses_is_compiled_again() {
        let folder = tempfile::tempdir().unwrap();
        let engine = engine(folder.path());
        let look = || look_up(&engine, Arc::new(NOTHING.to_vec()));
        let (file, cached) = look().unwrap();
        assert!(cached.is_none());
        let cache = engine.cache().unwrap();
        let other = wasmtime::Engine::default().precompile_component(NOTHING).unwrap();
        for foreign in [b"nonsense".as_slice(), &other] {
            cache.put(&cache.key(&file.digest), foreign);
            assert!(look().unwrap().1.is_none());
        }
        // The fitting entry is used: it is valid code of a component that is no plugin.
        cache.put(&cache.key(&file.digest), &engine.raw().precompile_component(NOTHING).unwrap());
        assert!(matches!(look(), Err(LoadError::NotAPlugin(_))));
    }

    /// Found under load: the plugin stayed failed, though its file was sound.
    #[tokio::test(start_paused = true)]
    async fn a_describe_that_the_host_was_too_busy_for_is_repeated_and_another_failure_is_not() {
        let calls = std::cell::Cell::new(0);
        let answer = until_not_starved("p", || async {
            calls.set(calls.get() + 1);
            if calls.get() < 8 { Err(CallError::Starved { call: "describe", seconds: 5 }) } else { Ok("manifest") }
        });
        let began = Instant::now();
        assert_eq!(answer.await.unwrap(), "manifest");
        // 1 + 2 + 4 + 8 + 16 + 30 + 30
        assert_eq!((calls.get(), began.elapsed().as_secs()), (8, 91));

        let failed =
            until_not_starved("p", || async { Err::<(), _>(CallError::Deadline { call: "describe", seconds: 5 }) });
        assert!(matches!(failed.await, Err(CallError::Deadline { .. })));
        assert_eq!(began.elapsed().as_secs(), 91);
    }

    #[test]
    fn the_compiler_process_makes_the_code_that_the_host_runs() {
        let folder = tempfile::tempdir().unwrap();
        for quick in [false, true] {
            let code = crate::plugin::engine::compiling(quick, None).unwrap().precompile_component(NOTHING).unwrap();
            let mut buffer = CodeBuffer::new(code.len()).unwrap();
            buffer.bytes_mut().copy_from_slice(&code);
            assert!(NativeCode::trust(buffer, 0).component(engine(folder.path()).raw()).is_ok());
        }
    }
}
