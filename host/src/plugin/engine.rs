//! The wasmtime engine of all plugins, and the pool of instances.

use super::clock::Clock;
use super::code_cache::{CodeCache, FunctionCache};
use super::compile::{Compiler, Turns};
use super::instance::State;
use super::load;
use super::offload::OffloadPool;
use oarlock_manifest::Limits;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Semaphore;
use wasmtime::component::Linker;
use wasmtime::{Config, Enabled, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, RegallocAlgorithm};

/// Most live instances; further ones wait, within their deadlines.
const INSTANCES: u32 = 512;

/// Most idle instances among them, which wait for further work of their plugin.
const IDLE_INSTANCES: usize = 256;

/// Linear memories, tables and core instances of one component. A component with more does not load. One with fewer always finds room,
/// because the pool has these for each instance. The pool reserves address space, not memory.
const MEMORIES: u32 = 4;
const TABLES: u32 = 16;
const CORE_INSTANCES: u32 = 64;

/// Up to this much written memory of each slot is restored in place after use, and stays with the slot: that is much faster than returning
/// pages and faulting them in again. An instance writes 40 KiB in Rust, 300 in Go and 450 in JavaScript. In Python it writes 2 MiB in more
/// places than wasmtime looks at (32), so that most of it is returned with any value.
const MEMORY_KEPT_BYTES: usize = 1 << 20;

/// The same on a system that cannot tell which pages were written (Linux before 6.7): there this much is cleared each time.
const MEMORY_CLEARED_BYTES: usize = 128 << 10;
const TABLE_KEPT_BYTES: usize = 16 << 10;

/// Most unused slots that keep their memory.
const WARM_SLOTS: u32 = 64;

/// Instances whose pages the pool returns to the system in one batch.
const GIVEN_BACK_AT_ONCE: usize = 16;

/// How plugins are compiled. The default compiles in this process, again at every start.
#[derive(Clone, Debug, Default)]
pub struct EngineOptions {
    /// Folder of the code cache. Write access to it is control of the host.
    pub cache: Option<PathBuf>,
    /// The `oarlock` program, which compiles in a separate process with limits, so that the host does not keep the compiler's memory.
    /// None: in this process, one thread for each plugin.
    pub compiler: Option<PathBuf>,
    /// Somebody waits for the first reconcile: the compiler takes all cores with the priority of the host, and makes code that is compiled
    /// in half the time and runs more slowly.
    pub quick: bool,
}

/// The engine. Cheap to clone; its clock and its threads end with the last clone.
#[derive(Clone)]
pub struct Engine {
    engine: wasmtime::Engine,
    running: Arc<Running>,
    loading: Arc<Loading>,
}

/// The shared parts of loading.
struct Loading {
    linker: Linker<State>,
    compiler: Compiler,
    /// Limit of reading and checking files, which goes on while others compile.
    reading: Turns,
    cache: Option<CodeCache>,
}

/// The shared parts of live instances.
struct Running {
    clock: Arc<Clock>,
    offload_pool: OffloadPool,
    instances: Arc<Semaphore>,
    idle: Arc<Semaphore>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Engine")
    }
}

impl Engine {
    /// Creates the engine, and starts its clock and the threads for long computations.
    ///
    /// # Errors
    ///
    /// The machine cannot run wasmtime (for example for lack of address space), or no thread can be started. An unusable code cache is no
    /// error: the host logs a warning and works without.
    pub fn new(options: EngineOptions) -> anyhow::Result<Self> {
        let mut config = code_settings(options.quick);
        config.parallel_compilation(false);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool()));
        let engine = wasmtime::Engine::new(&config).map_err(unusable)?;
        let cache = options.cache.and_then(|folder| CodeCache::open_or_warn(&folder, &engine, options.quick));
        let loading = Loading {
            linker: load::linker(&engine).map_err(unusable)?,
            compiler: Compiler::new(options.compiler, options.quick, cache.as_ref().map(CodeCache::folder)),
            reading: Turns::of_half_the_cores(),
            cache,
        };
        let ticked = engine.clone();
        let clock = Clock::start(move || ticked.increment_epoch())?;
        let running = Running {
            clock,
            offload_pool: OffloadPool::new()?,
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

    pub(super) fn offload_pool(&self) -> &OffloadPool {
        &self.running.offload_pool
    }

    /// Ticks while guests run.
    pub(super) fn clock(&self) -> &Arc<Clock> {
        &self.running.clock
    }

    /// One permit for each live instance.
    pub(super) fn instances(&self) -> &Arc<Semaphore> {
        &self.running.instances
    }

    /// One permit for each idle instance.
    pub(super) fn idle(&self) -> &Arc<Semaphore> {
        &self.running.idle
    }
}

/// An engine that compiles like the host's, on several threads, and runs nothing.
///
/// * `quick` - see [`EngineOptions::quick`].
/// * `functions` - that were compiled before.
pub(super) fn compiling(quick: bool, functions: Option<FunctionCache>) -> anyhow::Result<wasmtime::Engine> {
    let mut config = code_settings(quick);
    if let Some(functions) = functions {
        config.enable_incremental_compilation(Arc::new(functions)).map_err(unusable)?;
    }
    config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
    wasmtime::Engine::new(&config).map_err(unusable)
}

/// The settings that determine the code of a plugin. An engine runs quick and usual code.
fn code_settings(quick: bool) -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true);
    if quick {
        config.cranelift_opt_level(OptLevel::None).cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass);
    }
    config
}

fn unusable(error: wasmtime::Error) -> anyhow::Error {
    anyhow::Error::from_boxed(error.into_boxed_dyn_error()).context("cannot set up wasmtime")
}

fn pool() -> PoolingAllocationConfig {
    let sees_writes = PoolingAllocationConfig::is_pagemap_scan_available();
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
        .max_unused_warm_slots(WARM_SLOTS)
        .linear_memory_keep_resident(if sees_writes { MEMORY_KEPT_BYTES } else { MEMORY_CLEARED_BYTES })
        .table_keep_resident(TABLE_KEPT_BYTES)
        .decommit_batch_size(GIVEN_BACK_AT_ONCE)
        .pagemap_scan(Enabled::Auto)
        .max_component_instance_size(4 << 20)
        .max_core_instance_size(4 << 20);
    pool
}
