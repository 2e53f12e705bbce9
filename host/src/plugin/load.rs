//! From bytes to a component that is known to be a plugin of this contract.

use super::bindings::{Plugin, PluginPre};
use super::call::CallError;
use super::engine::Engine;
use super::instance::{Guest, Run, State};
use super::pool::Pool;
use super::validate;
use oarlock_manifest::PluginManifest;
use sha2::{Digest as _, Sha256};
use wasmtime::component::{HasSelf, Linker};

/// Largest plugin file.
pub(super) const FILE_LIMIT_BYTES: u64 = 256 << 20;

/// The interface every plugin exports.
const RECONCILE: &str = "oarlock:reconciler/reconcile@";

/// The version of the contract this host serves.
pub(super) const CONTRACT_VERSION: &str = "0.1.0";

/// Why a file is not a plugin.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LoadError {
    /// Not WebAssembly at all.
    #[error("not a WebAssembly file: {0}")]
    NotWasm(String),
    /// A core module that no component can be made of.
    #[error(
        "a core module without the contract's component type: build it with wit-bindgen (oarlock-guest does), or make it a component"
    )]
    NoComponentType,
    /// Not valid, or truncated.
    #[error("not a valid component: {0}")]
    Invalid(String),
    /// A component of something else.
    #[error("a component that does not export oarlock:reconciler/reconcile@{CONTRACT_VERSION}: it exports {0}")]
    NotAPlugin(String),
    /// A plugin of another contract.
    #[error("built for version {found} of the contract; this host serves {CONTRACT_VERSION}")]
    OtherVersion {
        /// As exported.
        found: String,
    },
    /// It imports what the host does not have, or other shapes.
    #[error("does not fit the contract: {0}")]
    Unfit(String),
    /// It could not describe itself.
    #[error("describe failed: {0}")]
    Describe(CallError),
    /// Its manifest is nonsense.
    #[error("its manifest is refused: {}", .0.join("; "))]
    Manifest(Vec<String>),
}

/// A compiled plugin. Cheap to clone.
#[derive(Clone)]
pub struct Component {
    engine: Engine,
    pre: PluginPre<State>,
    /// Names of what it imports, in order.
    pub imports: Vec<String>,
    /// Names of what it exports, in order.
    pub exports: Vec<String>,
    /// SHA-256 of the file, in hex.
    pub digest: String,
    /// Size of the file in bytes.
    pub size_bytes: usize,
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

    pub(super) fn pre(&self) -> &PluginPre<State> {
        &self.pre
    }
}

/// Compiles a plugin and asks it for its manifest.
///
/// Compiling runs on a blocking thread. A core module as cargo leaves it (component type embedded) is made a component first.
///
/// * `guest` - what `describe` runs with: its limits count, its grants do not, for describe has no import but log.
///
/// # Errors
///
/// See [`LoadError`]: each says what to do about it.
pub async fn load(engine: &Engine, bytes: Vec<u8>, guest: &Guest) -> Result<(Component, PluginManifest), LoadError> {
    let engine = engine.clone();
    // Whatever the bytes provoke in the compiler stays on that thread.
    let compiled = tokio::task::spawn_blocking(move || compile(&engine, &bytes)).await;
    let component = compiled.unwrap_or_else(|e| Err(LoadError::Invalid(format!("the compiler gave up: {e}"))))?;
    let run = Run { reads: None, key: String::new(), correlation_id: String::new(), dry_run: true };
    let mut instance = Pool::new(component.clone(), guest.clone(), 0).take(run).await.map_err(LoadError::Describe)?;
    let text = instance.describe().await.map_err(LoadError::Describe)?;
    let manifest = validate::manifest(&text).map_err(LoadError::Manifest)?;
    Ok((component, manifest))
}

fn compile(engine: &Engine, bytes: &[u8]) -> Result<Component, LoadError> {
    let digest = Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect();
    let size_bytes = bytes.len();
    let component_bytes = componentize(bytes)?;
    let raw = engine.raw();
    let component =
        wasmtime::component::Component::new(raw, &component_bytes).map_err(|e| LoadError::Invalid(format!("{e:#}")))?;
    let ty = component.component_type();
    let imports: Vec<String> = ty.imports(raw).map(|(name, _)| name.to_owned()).collect();
    let exports: Vec<String> = ty.exports(raw).map(|(name, _)| name.to_owned()).collect();
    check_exports(&exports)?;
    let mut linker = Linker::<State>::new(raw);
    Plugin::add_to_linker::<_, HasSelf<State>>(&mut linker, |state| state)
        .map_err(|e| LoadError::Unfit(format!("{e:#}")))?;
    let pre =
        linker.instantiate_pre(&component).and_then(PluginPre::new).map_err(|e| LoadError::Unfit(format!("{e:#}")))?;
    Ok(Component { engine: engine.clone(), pre, imports, exports, digest, size_bytes })
}

/// The bytes of a component; a core module that carries its component type becomes one.
fn componentize(bytes: &[u8]) -> Result<std::borrow::Cow<'_, [u8]>, LoadError> {
    match bytes.get(..8) {
        Some([0, b'a', b's', b'm', 0x0d, 0, 1, 0]) => return Ok(bytes.into()),
        Some([0, b'a', b's', b'm', 1, 0, 0, 0]) => {}
        Some([0, b'a', b's', b'm', ..]) => {
            return Err(LoadError::NotWasm("it is of a WebAssembly version that is not known".to_owned()));
        }
        Some(_) => return Err(LoadError::NotWasm("it does not begin with \\0asm".to_owned())),
        None => return Err(LoadError::NotWasm(format!("it has only {} bytes", bytes.len()))),
    }
    let mut has_type = false;
    for payload in wasmparser::Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(|e| LoadError::Invalid(format!("the core module is broken: {e}")))?;
        if let wasmparser::Payload::CustomSection(section) = payload {
            has_type |= section.name().starts_with("component-type");
        }
    }
    if !has_type {
        return Err(LoadError::NoComponentType);
    }
    let encode = || wit_component::ComponentEncoder::default().module(bytes)?.validate(true).encode();
    encode().map(Into::into).map_err(|e| LoadError::Invalid(format!("no component can be made of it: {e:#}")))
}

fn check_exports(exports: &[String]) -> Result<(), LoadError> {
    let Some(version) = exports.iter().find_map(|name| name.strip_prefix(RECONCILE)) else {
        let all = if exports.is_empty() { "nothing".to_owned() } else { exports.join(", ") };
        return Err(LoadError::NotAPlugin(all));
    };
    if version == CONTRACT_VERSION {
        return Ok(());
    }
    Err(LoadError::OtherVersion { found: version.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_wasm_is_told_so() {
        for (bytes, expected) in [
            (b"".as_slice(), "0 bytes"),
            (b"hello, world", "\\0asm"),
            (b"\0asm\x07\0\0\0", "version"),
            (b"\0asm\x01\0\0\0", "without the contract's component type"),
            (b"\0asm\x01\0\0\0\x01\xff", "broken"),
        ] {
            let said = componentize(bytes).unwrap_err().to_string();
            assert!(said.contains(expected), "{said}");
        }
    }

    #[test]
    fn another_contract_is_told_from_no_contract() {
        let own = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        assert!(check_exports(&own(&["oarlock:reconciler/reconcile@0.1.0"])).is_ok());
        assert!(matches!(
            check_exports(&own(&["oarlock:reconciler/reconcile@0.9.0"])),
            Err(LoadError::OtherVersion { found }) if found == "0.9.0"
        ));
        assert!(matches!(check_exports(&own(&["wasi:cli/run@0.2.0"])), Err(LoadError::NotAPlugin(_))));
        assert!(matches!(check_exports(&[]), Err(LoadError::NotAPlugin(_))));
    }
}
