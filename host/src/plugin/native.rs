//! Compiled code on its way from the compiler, or from the code cache, into this process.

use memmap2::MmapMut;
use wasmtime::component::Component;

/// Native code of a component. Who runs it trusts it with the whole process: it is made of what the compiler answered, or of a
/// cache entry that passed every check, and of nothing else.
pub(super) struct NativeCode {
    bytes: Room,
    /// What comes before the code.
    offset: usize,
}

/// Memory for code that goes back to the system as a whole. Buffers of this size, from an allocator that many threads use,
/// would stay with the process: half as much again as the code of all plugins.
pub(super) struct Room {
    map: MmapMut,
    size: usize,
}

impl Room {
    /// # Errors
    ///
    /// There is no memory.
    pub(super) fn new(size: usize) -> std::io::Result<Self> {
        // There are no mappings of no bytes.
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
    /// Vouches for code.
    ///
    /// * `offset` - how many of the bytes come before it.
    pub(super) fn trust(bytes: Room, offset: usize) -> Self {
        Self { bytes, offset }
    }

    /// The code.
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.bytes().get(self.offset..).unwrap_or_default()
    }

    /// Puts the code, a copy of it, where it can run.
    ///
    /// A copy rather than a mapping of the cache entry: a file that is cut short under a mapping ends the process, one that is
    /// written to changes the code that runs. The mapping would save a tenth of the memory at best, for nearly every page of it
    /// is used.
    ///
    /// # Errors
    ///
    /// It was compiled by another version of wasmtime, or with other settings.
    #[expect(
        unsafe_code,
        reason = "wasmtime cannot check native code; where it comes from is what makes it safe to run"
    )]
    pub(super) fn component(&self, engine: &wasmtime::Engine) -> wasmtime::Result<Component> {
        // SAFETY: the bytes are, unchanged, what wasmtime's `precompile_component` answered. Either they come straight from the
        // compiler, which is this very program; or from a file that only this user can write, that names the wasm file, the
        // version and the settings as its key, and whose checksum is right. wasmtime compares version and settings once more.
        unsafe { Component::deserialize(engine, self.as_bytes()) }
    }
}
