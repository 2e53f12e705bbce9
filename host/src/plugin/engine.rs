//! The wasmtime engine all plugins share, the clock that interrupts them, and room for their instances.

use super::code_cache::CodeCache;
use super::compile::{Compiler, Turns};
use super::heavy::Heavy;
use super::instance::State;
use super::load;
use oarlock_manifest::Limits;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use wasmtime::component::Linker;
use wasmtime::{Config, Enabled, InstanceAllocationStrategy, PoolingAllocationConfig};

/// How long a guest may compute before others have their turn, and how exactly a deadline is kept.
pub const TICK: Duration = Duration::from_millis(5);

/// Instances that may live at the same time; further ones wait, within their deadlines.
const INSTANCES: u32 = 512;

/// Of those, the ones that wait for further work of their plugin.
const IDLE_INSTANCES: usize = 256;

/// Linear memories, tables and core instances of one component. A component with more does not load; one with fewer
/// always finds room, because the pool has these for each instance. What is reserved is address space, not memory.
const MEMORIES: u32 = 4;
const TABLES: u32 = 16;
const CORE_INSTANCES: u32 = 64;

/// What an instance has written to is cleared in place up to this much of each memory and table, which takes a fraction of the time of
/// giving pages back and faulting them in again; it stays with the slot. Slots that nobody uses: at most 100.
const MEMORY_KEPT_BYTES: usize = 128 << 10;
const TABLE_KEPT_BYTES: usize = 16 << 10;

/// What is given back to the system goes there for so many instances at once.
const GIVEN_BACK_AT_ONCE: usize = 16;

/// How plugins are compiled. The default: in this process, and again at every start.
#[derive(Clone, Debug, Default)]
pub struct EngineOptions {
    /// Folder where compiled code is kept. Whoever can write to it owns the host.
    pub cache: Option<PathBuf>,
    /// The `oarlock` program, which compiles in a process of its own: with limits, and without the memory staying with the host.
    /// None: in this process, one thread for each plugin.
    pub compiler: Option<PathBuf>,
}

/// The engine. Cheap to clone; its clock and its threads end with the last clone.
#[derive(Clone)]
pub struct Engine {
    engine: wasmtime::Engine,
    running: Arc<Running>,
    loading: Arc<Loading>,
}

/// What all plugins are loaded with.
struct Loading {
    linker: Linker<State>,
    compiler: Compiler,
    /// Files are read and checked, also while others are compiled.
    reading: Turns,
    cache: Option<CodeCache>,
}

/// What the live instances of all plugins share.
struct Running {
    heavy: Heavy,
    instances: Arc<Semaphore>,
    idle: Arc<Semaphore>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Engine")
    }
}

impl Engine {
    /// Makes the engine and starts its clock, a thread of its own so that busy workers cannot hold it up, and the threads for
    /// guests that compute for long.
    ///
    /// # Errors
    ///
    /// The machine cannot run wasmtime (no address space for the pool, say), or no thread could be started. A code cache that
    /// cannot be used is no error: there is a warning, and no cache.
    pub fn new(options: EngineOptions) -> anyhow::Result<Self> {
        let mut config = code_settings();
        config.parallel_compilation(false);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool()));
        let engine = wasmtime::Engine::new(&config).map_err(unusable)?;
        let loading = Loading {
            linker: load::linker(&engine).map_err(unusable)?,
            compiler: Compiler::new(options.compiler),
            reading: Turns::new(),
            cache: options.cache.and_then(|folder| CodeCache::open_or_warn(&folder, &engine)),
        };
        let weak = engine.weak();
        std::thread::Builder::new().name("epoch".to_owned()).spawn(move || {
            loop {
                std::thread::park_timeout(TICK);
                match weak.upgrade() {
                    Some(engine) => engine.increment_epoch(),
                    None => break,
                }
            }
        })?;
        let running = Running {
            heavy: Heavy::new()?,
            instances: Arc::new(Semaphore::new(INSTANCES as usize)),
            idle: Arc::new(Semaphore::new(IDLE_INSTANCES)),
        };
        Ok(Self { engine, running: Arc::new(running), loading: Arc::new(loading) })
    }

    pub(super) fn raw(&self) -> &wasmtime::Engine {
        &self.engine
    }

    pub(super) fn linker(&self) -> &Linker<State> {
        &self.loading.linker
    }

    pub(super) fn compiler(&self) -> &Compiler {
        &self.loading.compiler
    }

    pub(super) fn reading(&self) -> &Turns {
        &self.loading.reading
    }

    pub(super) fn cache(&self) -> Option<&CodeCache> {
        self.loading.cache.as_ref()
    }

    pub(super) fn heavy(&self) -> &Heavy {
        &self.running.heavy
    }

    /// A permit for each instance that lives.
    pub(super) fn instances(&self) -> &Arc<Semaphore> {
        &self.running.instances
    }

    /// A permit for each instance that waits for work.
    pub(super) fn idle(&self) -> &Arc<Semaphore> {
        &self.running.idle
    }
}

/// An engine that compiles as the host's does, on several threads, and runs nothing.
pub(super) fn compiling() -> anyhow::Result<wasmtime::Engine> {
    let mut config = code_settings();
    config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
    wasmtime::Engine::new(&config).map_err(unusable)
}

/// What decides which code is made of a plugin.
fn code_settings() -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true);
    config
}

fn unusable(error: wasmtime::Error) -> anyhow::Error {
    anyhow::Error::from_boxed(error.into_boxed_dyn_error()).context("wasmtime cannot be set up")
}

fn pool() -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(INSTANCES)
        .total_core_instances(INSTANCES * CORE_INSTANCES)
        .total_memories(INSTANCES * MEMORIES)
        .total_tables(INSTANCES * TABLES)
        .total_stacks(INSTANCES)
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_memories_per_module(MEMORIES)
        .max_tables_per_component(TABLES)
        .max_tables_per_module(TABLES)
        .max_memory_size((Limits::MOST_MEMORY_MIB as usize) << 20)
        .table_elements(Limits::MOST_TABLE_ELEMENTS as usize)
        .linear_memory_keep_resident(MEMORY_KEPT_BYTES)
        .table_keep_resident(TABLE_KEPT_BYTES)
        .decommit_batch_size(GIVEN_BACK_AT_ONCE)
        .pagemap_scan(Enabled::Auto)
        .max_component_instance_size(4 << 20)
        .max_core_instance_size(4 << 20);
    pool
}
