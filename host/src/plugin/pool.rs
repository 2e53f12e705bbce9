//! Instance pool of one plugin version: a fresh instance for each reconcile, or, where the grant allows it, a reused one.

use super::call::CallError;
use super::instance::{Guest, Instance, Run, Shared};
use super::load::Component;
use crate::metrics::Call;
use crate::telemetry::Span;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

/// The instances of one version of a plugin. Idle instances wait here for further work, if the grant allows that
/// (`limits.instanceReuses`); they are dropped with the pool.
#[derive(Debug)]
pub struct Pool {
    component: Component,
    guest: Guest,
    shared: Arc<Shared>,
    /// Most idle instances.
    workers: usize,
    waiting: Mutex<Vec<IdleInstance>>,
    most_memory_bytes: AtomicUsize,
}

#[derive(Debug)]
struct IdleInstance {
    instance: Instance,
    _room: OwnedSemaphorePermit,
}

/// The idle instances of a [`Pool`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Idle {
    /// The number of instances.
    pub instances: usize,
    /// Their linear memories together, in bytes.
    pub memory_bytes: usize,
}

impl Pool {
    /// An empty pool.
    ///
    /// * `workers` - the most idle instances.
    #[must_use]
    pub fn new(component: Component, guest: Guest, workers: u32) -> Self {
        let shared = Arc::new(Shared::new(guest.grants.limits(), component.engine().clone()));
        let most_memory_bytes = AtomicUsize::new(0);
        Self { component, guest, shared, workers: workers as usize, waiting: Mutex::default(), most_memory_bytes }
    }

    /// An instance for one reconcile: an idle one, or else a fresh one. Its deadline begins with its first call, or with its
    /// instantiation.
    ///
    /// # Errors
    ///
    /// For a fresh instance: the start function trapped, or the component exceeds a limit at once. After the deadline,
    /// [`CallError::Transient`]: the host has as many instances as it can.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the instance that it is creating.
    pub async fn take(&self, run: Run) -> Result<Instance, CallError> {
        let waiting = self.waiting().pop();
        if let Some(IdleInstance { mut instance, .. }) = waiting
            && instance.begin(run.clone())
        {
            return Ok(instance);
        }
        let began = Instant::now();
        let span = Span::internal("instantiate");
        let fresh = Instance::new(&self.component, self.guest.clone(), Arc::clone(&self.shared), run);
        let fresh = span.within(fresh).await;
        if let Err(error) = &fresh {
            span.fail(error.kind());
        }
        self.guest.metrics.called(Call::Instantiate, began.elapsed());
        fresh
    }

    /// Returns an instance after its reconcile. It becomes idle if it answered all calls, may serve further reconciles, and there is
    /// room; otherwise it is dropped.
    pub fn give_back(&self, instance: Instance) {
        self.most_memory_bytes.fetch_max(instance.memory_bytes(), Relaxed);
        let reuses = self.guest.grants.limits().instance_reuses;
        if !instance.is_sound() || instance.served() > reuses {
            return;
        }
        let Ok(room) = Arc::clone(self.component.engine().idle()).try_acquire_owned() else { return };
        let mut waiting = self.waiting();
        if waiting.len() < self.workers {
            waiting.push(IdleInstance { instance, _room: room });
        }
    }

    /// The idle instances.
    #[must_use]
    pub fn idle(&self) -> Idle {
        let waiting = self.waiting();
        let memory_bytes = waiting.iter().map(|one| one.instance.memory_bytes()).sum();
        Idle { instances: waiting.len(), memory_bytes }
    }

    /// The largest linear memory an instance had at the end of a reconcile, in bytes.
    #[must_use]
    pub fn most_memory_bytes(&self) -> usize {
        self.most_memory_bytes.load(Relaxed)
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<IdleInstance>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
