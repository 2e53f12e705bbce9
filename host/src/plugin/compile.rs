//! From the bytes of a plugin to native code: off the threads that serve, a bounded share of the machine, and in a process of its
//! own that can be ended.
//!
//! A small file can take hours and all memory to compile (a function of a hundred thousand calls in a row does), and a compiler
//! that is in the middle of it cannot be interrupted. So the host starts itself again as `oarlock compile`, with limits the
//! kernel keeps.

mod process;
mod turns;

pub use process::{CompileLimits, serve};
pub(super) use turns::Turns;

use super::load::LoadError;
use super::native::{NativeCode, Room};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// For each thread of a compiler there is this much of the file.
const BYTES_PER_THREAD: usize = 1 << 20;

/// Where and how much is compiled at a time.
#[derive(Debug)]
pub(super) struct Compiler {
    program: Option<PathBuf>,
    turns: Turns,
}

impl Compiler {
    /// * `program` - `oarlock`; none: compile in this process, where nothing ends it.
    pub(super) fn new(program: Option<PathBuf>) -> Self {
        Self { program, turns: Turns::new() }
    }

    /// Compiles a plugin file when it is its turn, and says how long that took from then on.
    ///
    /// # Errors
    ///
    /// See [`LoadError`]: it is no component, or could not be compiled.
    ///
    /// # Cancel safety
    ///
    /// A compiler process ends when the future is dropped.
    pub(super) async fn compile(
        &self,
        engine: &wasmtime::Engine,
        file: &Arc<Vec<u8>>,
    ) -> Result<(NativeCode, Duration), LoadError> {
        let threads = self.turns.at_most(file.len() / BYTES_PER_THREAD + 1);
        let work = async {
            let began = Instant::now();
            let code = match &self.program {
                Some(program) => process::compile(program, threads, file).await?,
                None => here(engine.clone(), Arc::clone(file)).await?,
            };
            Ok((code, began.elapsed()))
        };
        self.turns.take(threads, work).await
    }
}

async fn here(engine: wasmtime::Engine, file: Arc<Vec<u8>>) -> Result<NativeCode, LoadError> {
    // Whatever the bytes provoke in the compiler stays on that thread.
    let code = tokio::task::spawn_blocking(move || native_code(&engine, &file)).await;
    let code = code.unwrap_or_else(|e| Err(LoadError::Compiler(format!("the compiler gave up: {e}"))))?;
    let mut room = Room::new(code.len()).map_err(|e| LoadError::Compiler(e.to_string()))?;
    room.bytes_mut().copy_from_slice(&code);
    Ok(NativeCode::trust(room, 0))
}

/// Compiles. A core module as cargo leaves it (component type embedded) is made a component first.
fn native_code(engine: &wasmtime::Engine, file: &[u8]) -> Result<Vec<u8>, LoadError> {
    let component = componentize(file)?;
    engine.precompile_component(&component).map_err(|e| LoadError::Invalid(format!("{e:#}")))
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
    // A module for WASI's first preview imports this; of one that does not, the adapter leaves nothing.
    let preview1 = wasi_preview1_component_adapter_provider::WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER;
    let encode = || {
        let encoder = wit_component::ComponentEncoder::default().module(bytes)?;
        encoder.adapter("wasi_snapshot_preview1", preview1)?.validate(true).encode()
    };
    encode().map(Into::into).map_err(|e| LoadError::Invalid(format!("no component can be made of it: {e:#}")))
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
}
