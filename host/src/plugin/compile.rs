//! Compilation of plugins to native code: in a separate process, with a bounded share of the machine, away from the threads that serve.
//!
//! A small file can take hours and all memory to compile (for example a function of a hundred thousand calls in a row). A running
//! compilation cannot be interrupted. So the host starts itself again as `oarlock compile`, with limits that the kernel enforces.

mod memory;
mod process;
mod turns;

pub use process::{CompileLimits, serve};
pub(super) use turns::Turns;

use super::load::LoadError;
use super::native::{CodeBuffer, NativeCode};
use memory::Memory;
use process::Start;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The compiler gets one thread for each of these bytes of the file.
const BYTES_PER_THREAD: usize = 1 << 20;

/// Where the host compiles, and how much at a time.
#[derive(Debug)]
pub(super) struct Compiler {
    start: Option<Start>,
    turns: Turns,
    memory: Memory,
}

impl Compiler {
    /// * `program` - the `oarlock` program. None: compile in this process, where no limit ends it.
    /// * `quick` - see [`EngineOptions::quick`](super::EngineOptions::quick).
    /// * `functions` - the folder of the code cache, where compilers find functions that they have compiled.
    pub(super) fn new(program: Option<PathBuf>, quick: bool, functions: Option<&Path>) -> Self {
        let turns = if quick { Turns::of_all_cores() } else { Turns::of_half_the_cores() };
        let start = program.map(|program| Start { program, quick, functions: functions.map(Path::to_owned) });
        Self { start, turns, memory: Memory::default() }
    }

    /// Compiles a plugin file when it is its turn, and returns the time from then on.
    ///
    /// * `begin` - called when a compiler process starts; its result is kept until the process ends.
    ///
    /// # Errors
    ///
    /// See [`LoadError`]: the file is no component, or could not be compiled.
    ///
    /// # Cancel safety
    ///
    /// The compiler process ends when the future is dropped.
    pub(super) async fn compile<T>(
        &self,
        engine: &wasmtime::Engine,
        file: &Arc<Vec<u8>>,
        begin: impl Future<Output = Result<T, LoadError>>,
    ) -> Result<(NativeCode, Duration), LoadError> {
        let threads = self.turns.at_most(file.len() / BYTES_PER_THREAD + 1);
        let work = async {
            let began = Instant::now();
            let code = match &self.start {
                Some(start) => {
                    let share = self.memory.share().await;
                    let _mark = begin.await?;
                    process::compile(start, threads, share.mib(), file).await?
                }
                None => here(engine.clone(), Arc::clone(file)).await?,
            };
            Ok((code, began.elapsed()))
        };
        self.turns.take(threads, work).await
    }
}

async fn here(engine: wasmtime::Engine, file: Arc<Vec<u8>>) -> Result<NativeCode, LoadError> {
    // A panic of the compiler stays on that thread.
    let code = tokio::task::spawn_blocking(move || native_code(&engine, &file)).await;
    let code = code.unwrap_or_else(|e| Err(LoadError::Compiler(format!("the compiler gave up: {e}"))))?;
    let mut buffer = CodeBuffer::new(code.len()).map_err(|e| LoadError::Compiler(e.to_string()))?;
    buffer.bytes_mut().copy_from_slice(&code);
    Ok(NativeCode::trust(buffer, 0))
}

/// Compiles a file. A core module from cargo (with an embedded component type) becomes a component first.
fn native_code(engine: &wasmtime::Engine, file: &[u8]) -> Result<Vec<u8>, LoadError> {
    let component = componentize(file)?;
    engine.precompile_component(&component).map_err(|e| LoadError::Invalid(format!("{e:#}")))
}

/// Whether a file is a component rather than a core module with an embedded component type.
pub(super) fn is_component(bytes: &[u8]) -> Result<bool, LoadError> {
    match bytes.get(..8) {
        Some([0, b'a', b's', b'm', 0x0d, 0, 1, 0]) => return Ok(true),
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
    if has_type { Ok(false) } else { Err(LoadError::NoComponentType) }
}

/// The bytes of a component; a core module with an embedded component type becomes one.
fn componentize(bytes: &[u8]) -> Result<std::borrow::Cow<'_, [u8]>, LoadError> {
    if is_component(bytes)? {
        return Ok(bytes.into());
    }
    // Modules for WASI's first preview import this adapter; in other modules it leaves no trace.
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
