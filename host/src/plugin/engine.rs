//! The wasmtime engine all plugins share, and the clock that interrupts them.

use std::time::Duration;
use wasmtime::{Config, InstanceAllocationStrategy, PoolingAllocationConfig};

/// How often a running guest gives way to others, and how exactly a deadline is kept.
pub const TICK: Duration = Duration::from_millis(10);

/// Instances that may live at the same time; further ones wait for the queue's workers anyway.
const INSTANCES: u32 = 256;

/// Most linear memory an instance can be granted. Address space is reserved for it, memory is not.
pub const MAX_MEMORY_BYTES: usize = 512 << 20;

/// The engine. Cheap to clone; its clock ends with the last clone.
#[derive(Clone)]
pub struct Engine {
    engine: wasmtime::Engine,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Engine")
    }
}

impl Engine {
    /// Makes the engine and starts its clock, a thread of its own so that busy workers cannot hold it up.
    ///
    /// # Errors
    ///
    /// The machine cannot run wasmtime (no address space for the pool, say), or no thread could be started.
    pub fn new() -> anyhow::Result<Self> {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_component_instances(INSTANCES)
            .total_core_instances(INSTANCES * 16)
            .total_memories(INSTANCES * 2)
            .total_tables(INSTANCES * 16)
            .total_stacks(INSTANCES)
            .max_core_instances_per_component(64)
            .max_memories_per_component(4)
            .max_tables_per_component(64)
            .max_memory_size(MAX_MEMORY_BYTES)
            .max_component_instance_size(4 << 20)
            .max_core_instance_size(4 << 20)
            .table_elements(20_000);
        let mut config = Config::new();
        config.epoch_interruption(true);
        config.parallel_compilation(true);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        let engine = wasmtime::Engine::new(&config)
            .map_err(|e| anyhow::Error::from_boxed(e.into_boxed_dyn_error()).context("wasmtime cannot be set up"))?;
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
        Ok(Self { engine })
    }

    pub(super) fn raw(&self) -> &wasmtime::Engine {
        &self.engine
    }
}
