//! Offloading of long computations: guests that compute for long run on threads of low priority, so that other work comes first.
//!
//! A call begins on the worker that holds its key. When it has computed for a tick without waiting, the rest of it moves to these
//! threads. A guest without neighbours has a whole core, a guest beside a busy thread of the host has a quarter of one. Of each plugin one call computes at a time, in turns of a tick. So a plugin with many such
//! calls has no larger share than one with a single call.
//!
//! In a simulation everything runs on its one thread, so that its clock stands while a guest computes.
//!
//! Computations of the host for a guest cannot yield at each tick. They have a thread of their own for each plugin, and a budget that
//! ends them at the deadline; the operating system shares the cores among the plugins.

use super::clock::TICK;
use futures::future::BoxFuture;
use oarlock_merge::steps::Budget;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::{Poll, ready};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, PollSemaphore};
use tokio_util::task::AbortOnDropHandle;

/// Nice value of the threads. Beside one busy thread of the host, a thread has a quarter of a core; at 19 it has a seventieth, so that
/// calls miss their deadline on a busy machine.
const NICE: i32 = 5;

/// The threads. They end, with the work on them, when this is dropped.
pub(super) struct OffloadPool {
    runtime: Option<Runtime>,
}

impl OffloadPool {
    /// Starts half as many threads as there are cores, at least one.
    ///
    /// # Errors
    ///
    /// No thread can be started.
    pub(super) fn new() -> std::io::Result<Self> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let runtime = Builder::new_multi_thread()
            .worker_threads((cores / 2).max(1))
            .thread_name("offload")
            // On Linux, this sets the priority of the calling thread alone.
            .on_thread_start(|| {
                if let Err(error) = rustix::process::setpriority_process(None, NICE) {
                    tracing::warn!(%error, "cannot lower the priority of plugins' long computations");
                }
            })
            .build()?;
        Ok(Self { runtime: Some(runtime) })
    }

    /// Runs a call to its end: here, or on the threads once it computes for long.
    ///
    /// # Cancel safety
    ///
    /// A dropped call ends on its current thread, and is dropped there.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        slot: &PluginSlot,
        meter: &Arc<CpuMeter>,
        mut call: BoxFuture<'static, T>,
    ) -> T {
        meter.start(slot.offloaded.load(Ordering::Relaxed) && !oarlock_simulation::is_running());
        let computed = Arc::clone(&slot.computed);
        if !meter.is_offloaded() {
            let answer = poll_fn(|context| match meter.timed(&computed, || call.as_mut().poll(context)) {
                Poll::Ready(answer) => Poll::Ready(Some(answer)),
                Poll::Pending if meter.is_offloaded() => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            });
            if let Some(answer) = answer.await {
                return answer;
            }
            slot.offloaded.store(true, Ordering::Relaxed);
        }
        let answer = self.continue_offloaded(slot, meter, call).await;
        // The next call starts on the kind of thread that suited this one.
        slot.offloaded.store(meter.computed() >= TICK, Ordering::Relaxed);
        answer
    }

    async fn continue_offloaded<T: Send + 'static>(
        &self,
        slot: &PluginSlot,
        meter: &Arc<CpuMeter>,
        mut call: BoxFuture<'static, T>,
    ) -> T {
        // Connections, timers and tasks of imports belong to the main runtime.
        let home = Handle::current();
        let mut turns = PollSemaphore::new(Arc::clone(&slot.turn));
        let (meter, computed) = (Arc::clone(meter), Arc::clone(&slot.computed));
        let task = poll_fn(move |context| {
            let _turn = ready!(turns.poll_acquire(context));
            let _home = home.enter();
            meter.timed(&computed, || call.as_mut().poll(context))
        });
        let Some(runtime) = &self.runtime else { return std::future::pending().await };
        match AbortOnDropHandle::new(runtime.spawn(task)).await {
            Ok(answer) => answer,
            Err(e) if e.is_panic() => std::panic::resume_unwind(e.into_panic()),
            // The host is ending; the call's own deadline ends the wait.
            Err(_) => std::future::pending().await,
        }
    }

    /// Computes for a guest, on its plugin's thread. None: not started or not finished by the deadline.
    ///
    /// * `work` - ends soon after its budget is exhausted.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future exhausts the budget of the work.
    pub(super) async fn run_blocking<T: Send + 'static>(
        &self,
        slot: &PluginSlot,
        meter: &Arc<CpuMeter>,
        deadline: Instant,
        work: impl FnOnce(&Budget<'_>) -> T + Send + 'static,
    ) -> Option<T> {
        if oarlock_simulation::is_running() {
            return Some(work(&Budget::until(&oarlock_simulation::is_expired)));
        }
        let runtime = self.runtime.as_ref()?;
        let turn = tokio::time::timeout_at(deadline, Arc::clone(&slot.host).acquire_owned()).await.ok()?.ok()?;
        let waited_for = CancellationToken::new();
        let _stop = waited_for.clone().drop_guard();
        let (meter, computed, asked) = (Arc::clone(meter), Arc::clone(&slot.computed), meter.now());
        let task = runtime.spawn_blocking(move || {
            let _turn = turn;
            let began = meter.now();
            meter.waited.fetch_add(began.saturating_sub(asked), Ordering::Relaxed);
            let over = || waited_for.is_cancelled() || Instant::now() >= deadline;
            let answer = (!over()).then(|| work(&Budget::until(&over)));
            computed.fetch_add(meter.now().saturating_sub(began), Ordering::Relaxed);
            answer
        });
        match tokio::time::timeout_at(deadline, task).await.ok()? {
            Ok(answer) => answer,
            Err(e) if e.is_panic() => std::panic::resume_unwind(e.into_panic()),
            Err(_) => None,
        }
    }

    /// Drops a value whose drop takes long.
    pub(super) fn drop_offloaded(&self, thing: impl Send + 'static) {
        if let Some(runtime) = &self.runtime {
            runtime.spawn(async move { drop(thing) });
        }
    }
}

impl Drop for OffloadPool {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Blocking is forbidden in async code, and nothing here needs to be awaited.
            runtime.shutdown_background();
        }
    }
}

/// The shared state of one plugin's calls.
#[derive(Debug)]
pub(super) struct PluginSlot {
    /// One call computes at a time.
    turn: Arc<Semaphore>,
    /// One computation of the host for this plugin runs at a time.
    host: Arc<Semaphore>,
    /// Processor time of all calls, and of the host for them, in nanoseconds.
    computed: Arc<AtomicU64>,
    /// Whether the last call computed for long; if so, the next one starts on these threads.
    offloaded: AtomicBool,
}

impl Default for PluginSlot {
    fn default() -> Self {
        let one = || Arc::new(Semaphore::new(1));
        Self { turn: one(), host: one(), computed: Arc::default(), offloaded: AtomicBool::new(false) }
    }
}

impl PluginSlot {
    /// How long the plugin has computed in total.
    pub(super) fn computed(&self) -> Duration {
        Duration::from_nanos(self.computed.load(Ordering::Relaxed))
    }
}

/// Computing time of a call, without its waits. Read from inside the guest, and written from outside.
#[derive(Debug)]
pub(super) struct CpuMeter {
    base: Instant,
    /// When the guest was last entered, in nanoseconds from `base`.
    entered: AtomicU64,
    /// Computing time of this call before the last entry, in nanoseconds.
    computed: AtomicU64,
    /// When the guest yielded with more to compute, in nanoseconds from `base`; 0: it waits or runs.
    yielded_at: AtomicU64,
    /// Time in which this call could compute but had no thread, in nanoseconds.
    waited: AtomicU64,
    offloaded: AtomicBool,
    /// In a simulation: ticks in which the guest of this call computed.
    ticks: AtomicU32,
}

impl CpuMeter {
    pub(super) fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            base: Instant::now(),
            entered: zero(),
            computed: zero(),
            yielded_at: zero(),
            waited: zero(),
            offloaded: AtomicBool::new(false),
            ticks: AtomicU32::new(0),
        }
    }

    pub(super) fn start(&self, offloaded: bool) {
        self.ticks.store(0, Ordering::Relaxed);
        self.computed.store(0, Ordering::Relaxed);
        self.waited.store(0, Ordering::Relaxed);
        self.yielded_at.store(0, Ordering::Relaxed);
        self.offloaded.store(offloaded, Ordering::Relaxed);
    }

    /// Measures one entry into the guest.
    ///
    /// * `of_all` - the sum of its plugin.
    fn timed<T>(&self, plugin_total: &AtomicU64, work: impl FnOnce() -> T) -> T {
        let entered = self.now();
        let yielded_at = self.yielded_at.swap(0, Ordering::Relaxed);
        if yielded_at > 0 {
            self.waited.fetch_add(entered.saturating_sub(yielded_at), Ordering::Relaxed);
        }
        self.entered.store(entered, Ordering::Relaxed);
        let answer = work();
        let took = self.now().saturating_sub(entered);
        self.computed.fetch_add(took, Ordering::Relaxed);
        plugin_total.fetch_add(took, Ordering::Relaxed);
        answer
    }

    fn now(&self) -> u64 {
        u64::try_from(self.base.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Counts a tick of a simulated call. Returns how long the guest has computed in this call, in real time.
    pub(super) fn simulated_tick(&self) -> Duration {
        TICK * (self.ticks.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// How long the guest has run since the last entry.
    pub(super) fn since_entered(&self) -> Duration {
        Duration::from_nanos(self.now().saturating_sub(self.entered.load(Ordering::Relaxed)))
    }

    pub(super) fn computed(&self) -> Duration {
        Duration::from_nanos(self.computed.load(Ordering::Relaxed))
    }

    /// How long this call could compute but had no thread.
    pub(super) fn waited(&self) -> Duration {
        Duration::from_nanos(self.waited.load(Ordering::Relaxed))
    }

    /// Records that the guest yields although it could continue.
    pub(super) fn yielded(&self) {
        self.yielded_at.store(self.now(), Ordering::Relaxed);
    }

    /// Whether the call runs on the threads for long computations, or moves there at its next yield.
    pub(super) fn is_offloaded(&self) -> bool {
        self.offloaded.load(Ordering::Relaxed)
    }

    /// Moves the call to the threads for long computations at its next yield.
    pub(super) fn offload(&self) {
        self.offloaded.store(true, Ordering::Relaxed);
    }

    /// Moves the call to the threads for long computations now, because the host's next work for the guest takes long.
    pub(super) async fn offload_now(&self) {
        if !self.is_offloaded() {
            self.offload();
            self.yielded();
            let mut yielded = false;
            poll_fn(|_| if std::mem::replace(&mut yielded, true) { Poll::Ready(()) } else { Poll::Pending }).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oarlock_merge::steps::Stopped;
    use std::sync::Mutex;

    #[expect(clippy::disallowed_methods, reason = "the thread is to be blocked, as a guest blocks it")]
    fn block(time: Duration) {
        std::thread::sleep(time);
    }

    fn thread() -> String {
        std::thread::current().name().unwrap_or_default().to_owned()
    }

    /// A call that computes before and after it yields; returns the threads it computed on.
    fn call(meter: &Arc<CpuMeter>, time: Duration) -> BoxFuture<'static, (String, String)> {
        let meter = Arc::clone(meter);
        Box::pin(async move {
            block(time);
            let before = thread();
            if meter.since_entered() >= TICK {
                meter.offload();
            }
            tokio::task::yield_now().await;
            (before, thread())
        })
    }

    #[tokio::test]
    async fn a_call_that_computes_for_long_goes_on_aside_and_the_next_begins_there() {
        let (offload_pool, slot, meter) =
            (OffloadPool::new().unwrap(), PluginSlot::default(), Arc::new(CpuMeter::new()));
        let here = thread();
        let short = offload_pool.run(&slot, &meter, call(&meter, Duration::ZERO)).await;
        assert_eq!(short, (here.clone(), here.clone()));
        let long = offload_pool.run(&slot, &meter, call(&meter, TICK)).await;
        assert_eq!(long, (here.clone(), "offload".to_owned()));
        let again = offload_pool.run(&slot, &meter, call(&meter, Duration::ZERO)).await;
        assert_eq!(again, ("offload".to_owned(), "offload".to_owned()));
        let forgiven = offload_pool.run(&slot, &meter, call(&meter, Duration::ZERO)).await;
        assert_eq!(forgiven, (here.clone(), here));
    }

    #[tokio::test]
    async fn work_of_the_host_steps_aside_and_timers_still_run() {
        let (offload_pool, slot, meter) =
            (OffloadPool::new().unwrap(), PluginSlot::default(), Arc::new(CpuMeter::new()));
        let inside = Arc::clone(&meter);
        let call = Box::pin(async move {
            inside.offload_now().await;
            tokio::time::sleep(Duration::from_millis(1)).await;
            tokio::spawn(async { thread() }).await.map(|spawned| (thread(), spawned))
        });
        let (on, spawned) = offload_pool.run(&slot, &meter, call).await.unwrap();
        assert_eq!((on.as_str(), spawned == "offload"), ("offload", false));
    }

    #[tokio::test]
    async fn of_one_plugin_one_call_computes_at_a_time() {
        let (offload_pool, slot) = (OffloadPool::new().unwrap(), PluginSlot::default());
        let inside = Arc::new(AtomicU64::new(0));
        let calls = (0..8).map(|_| {
            let (inside, meter) = (Arc::clone(&inside), Arc::new(CpuMeter::new()));
            let entered = Arc::clone(&meter);
            let call: BoxFuture<'static, u64> = Box::pin(async move {
                entered.offload_now().await;
                let mut most = 0;
                for _ in 0..5 {
                    most = most.max(inside.fetch_add(1, Ordering::SeqCst) + 1);
                    block(Duration::from_millis(1));
                    inside.fetch_sub(1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                }
                most
            });
            let (offload_pool, slot) = (&offload_pool, &slot);
            async move { offload_pool.run(slot, &meter, call).await }
        });
        assert!(futures::future::join_all(calls).await.iter().all(|most| *most == 1));
    }

    /// Computations that end only with their budget.
    #[derive(Clone, Default)]
    struct Endless {
        running: Arc<AtomicU64>,
        /// Most that ran at once.
        most: Arc<AtomicU64>,
        ended: Arc<Mutex<Vec<Stopped>>>,
    }

    impl Endless {
        fn work(&self) -> impl FnOnce(&Budget<'_>) + Send + 'static {
            let this = self.clone();
            move |budget| {
                this.most.fetch_max(this.running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let stopped = loop {
                    if let Err(stopped) = budget.charge(1) {
                        break stopped;
                    }
                };
                this.running.fetch_sub(1, Ordering::SeqCst);
                this.ended.lock().unwrap().push(stopped);
            }
        }
    }

    #[tokio::test]
    async fn t3_the_hosts_work_for_one_plugin_ends_at_the_deadline_and_delays_no_other() {
        let (offload_pool, meter) = (OffloadPool::new().unwrap(), Arc::new(CpuMeter::new()));
        let (busy, neighbour) = (PluginSlot::default(), PluginSlot::default());
        let soon = Instant::now() + Duration::from_millis(200);
        let endless = Endless::default();
        let attack =
            futures::future::join_all((0..8).map(|_| offload_pool.run_blocking(&busy, &meter, soon, endless.work())));
        let far = Instant::now() + Duration::from_secs(3600);
        let other = async {
            let other = Arc::new(CpuMeter::new());
            let on = offload_pool.run_blocking(&neighbour, &other, far, |_| thread()).await;
            (on, Instant::now() < soon)
        };
        let (_attack, (on, before)) = futures::future::join(attack, other).await;
        assert_eq!((on.as_deref(), before), (Some("offload"), true));
        // The thread of the busy plugin is free again.
        let again = Instant::now() + Duration::from_secs(3600);
        assert!(offload_pool.run_blocking(&busy, &meter, again, |_| ()).await.is_some());
        assert_eq!(*endless.ended.lock().unwrap(), [Stopped::Late], "the deadline ended it, and no second one began");
        assert_eq!(endless.most.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn t3_the_hosts_work_that_nobody_waits_for_ends() {
        let (offload_pool, slot, meter) =
            (OffloadPool::new().unwrap(), PluginSlot::default(), Arc::new(CpuMeter::new()));
        let far = Instant::now() + Duration::from_secs(3600);
        let endless = Endless::default();
        let work = offload_pool.run_blocking(&slot, &meter, far, endless.work());
        assert!(tokio::time::timeout(Duration::from_millis(20), work).await.is_err());
        assert!(offload_pool.run_blocking(&slot, &meter, far, |_| ()).await.is_some());
        assert!(endless.ended.lock().unwrap().iter().all(|stopped| *stopped == Stopped::Late), "not by its steps");
    }

    #[tokio::test]
    async fn t3_time_without_a_thread_is_told_from_time_that_was_waited_for_something() {
        let (meter, all) = (CpuMeter::new(), AtomicU64::new(0));
        meter.start(false);
        meter.timed(&all, || ());
        block(Duration::from_millis(2));
        meter.timed(&all, || meter.yielded());
        assert_eq!(meter.waited(), Duration::ZERO, "it waited for something");
        block(Duration::from_millis(2));
        meter.timed(&all, || ());
        assert!(meter.waited() >= Duration::from_millis(2), "{:?}", meter.waited());
    }

    #[tokio::test]
    async fn a_call_that_is_dropped_ends_there() {
        let (offload_pool, slot, meter) =
            (OffloadPool::new().unwrap(), PluginSlot::default(), Arc::new(CpuMeter::new()));
        let alive = Arc::new(());
        let (inside, held) = (Arc::clone(&meter), Arc::clone(&alive));
        let call = Box::pin(async move {
            inside.offload_now().await;
            loop {
                block(Duration::from_millis(1));
                tokio::task::yield_now().await;
                assert!(Arc::strong_count(&held) > 0);
            }
        });
        let cut = tokio::time::timeout(Duration::from_millis(20), offload_pool.run::<()>(&slot, &meter, call)).await;
        assert!(cut.is_err());
        while Arc::strong_count(&alive) > 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
