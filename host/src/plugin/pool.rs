//! The instances of one version of a plugin: fresh for each reconcile, or, where the grant allows it, reused.

use super::call::CallError;
use super::instance::{Guest, Instance, Run, Shared};
use super::load::Component;
use crate::metrics::Call;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

/// Where the instances of one version of a plugin come from, and where they wait for further work if the grant lets them
/// (`limits.instanceReuses`). What waits here is dropped with the pool.
#[derive(Debug)]
pub struct Pool {
    component: Component,
    guest: Guest,
    shared: Arc<Shared>,
    /// Most instances that may wait.
    workers: usize,
    waiting: Mutex<Vec<Waiting>>,
    most_memory_bytes: AtomicUsize,
}

#[derive(Debug)]
struct Waiting {
    instance: Instance,
    _room: OwnedSemaphorePermit,
}

/// The instances that wait in a [`Pool`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Idle {
    /// How many.
    pub instances: usize,
    /// Their linear memories together, in bytes.
    pub memory_bytes: usize,
}

impl Pool {
    /// An empty pool.
    ///
    /// * `workers` - as many instances may wait.
    #[must_use]
    pub fn new(component: Component, guest: Guest, workers: u32) -> Self {
        let shared = Arc::new(Shared::new(guest.grants.limits(), component.engine().clone()));
        let most_memory_bytes = AtomicUsize::new(0);
        Self { component, guest, shared, workers: workers as usize, waiting: Mutex::default(), most_memory_bytes }
    }

    /// An instance for one reconcile: one that waits, or else a fresh one. Its deadline begins with its first call, or with its
    /// instantiation.
    ///
    /// # Errors
    ///
    /// Of a fresh one: its start function trapped, or it needs more than it may have before it does anything; or, after the
    /// deadline, [`CallError::Transient`]: the host has as many instances as it can.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the instance it was about to make.
    pub async fn take(&self, run: Run) -> Result<Instance, CallError> {
        let waiting = self.waiting().pop();
        if let Some(Waiting { mut instance, .. }) = waiting
            && instance.begin(run.clone())
        {
            return Ok(instance);
        }
        let began = Instant::now();
        let fresh = Instance::new(&self.component, self.guest.clone(), Arc::clone(&self.shared), run).await;
        self.guest.metrics.called(Call::Instantiate, began.elapsed());
        fresh
    }

    /// Takes back an instance after its reconcile. It waits for another one if it answered all calls, has not served as many as
    /// it may, and there is room; else it is dropped.
    pub fn give_back(&self, instance: Instance) {
        self.most_memory_bytes.fetch_max(instance.memory_bytes(), Relaxed);
        let reuses = self.guest.grants.limits().instance_reuses;
        if !instance.is_sound() || instance.served() > reuses {
            return;
        }
        let Ok(room) = Arc::clone(self.component.engine().idle()).try_acquire_owned() else { return };
        let mut waiting = self.waiting();
        if waiting.len() < self.workers {
            waiting.push(Waiting { instance, _room: room });
        }
    }

    /// What waits.
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

    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
