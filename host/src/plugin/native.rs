//! Native code on its way from the compiler or the code cache into this process.

use memmap2::MmapMut;
use wasmtime::component::Component;

/// Native code of a component. Running it trusts it with the whole process. It comes only from the compiler's result, or from a cache
/// entry that passed every check.
pub(super) struct NativeCode {
    bytes: CodeBuffer,
    /// Length of the bytes before the code.
    offset: usize,
}

/// A code buffer that returns to the system as a whole. Buffers of this size from the general allocator, which many threads use, would
/// stay with the process: half as much again as the code of all plugins.
pub(super) struct CodeBuffer {
    map: MmapMut,
    size: usize,
}

impl CodeBuffer {
    /// # Errors
    ///
    /// Out of memory.
    pub(super) fn new(size: usize) -> std::io::Result<Self> {
        // An empty mapping is not allowed.
        Ok(Self { map: MmapMut::map_anon(size.max(1))?, size })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.map.get(..self.size).unwrap_or_default()
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        self.map.get_mut(..self.size).unwrap_or_default()
    }
}

impl NativeCode {
    /// Declares code as trusted.
    ///
    /// * `offset` - length of the bytes before it.
    pub(super) fn trust(bytes: CodeBuffer, offset: usize) -> Self {
        Self { bytes, offset }
    }

    /// The code.
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.bytes().get(self.offset..).unwrap_or_default()
    }

    /// Copies the code to where it can run.
    ///
    /// A copy rather than a mapping of the cache entry: truncating a mapped file ends the process, and writing to it changes the running
    /// code. The mapping would save a tenth of the memory at best, because nearly every page is used.
    ///
    /// # Errors
    ///
    /// The code was compiled by another version of wasmtime, or with other settings.
    #[expect(
        unsafe_code,
        reason = "wasmtime cannot check native code; where it comes from is what makes it safe to run"
    )]
    pub(super) fn component(&self, engine: &wasmtime::Engine) -> wasmtime::Result<Component> {
        // SAFETY: the bytes are the unchanged result of wasmtime's `precompile_component`. They come either straight from the compiler,
        // which is this very program, or from a file that only this user can write. The file's key covers the wasm file, the version and
        // the settings, and its checksum matches. wasmtime checks version and settings once more.
        unsafe { Component::deserialize(engine, self.as_bytes()) }
    }
}
