//! Offloading of long computations: guests that compute for long run on threads of the lowest priority, so that other work comes first.
//!
//! A call begins on the worker that holds its key. When it has computed for a tick without waiting, the rest of it moves to these
//! threads. The operating system runs them with the processor time that the workers leave. A guest without neighbours has a whole core, a
//! guest among busy neighbours has the rest. Of each plugin one call computes at a time, in turns of a tick. So a plugin with many such
//! calls has no larger share than one with a single call.
//!
//! Computations of the host for a guest cannot yield at each tick. They have a thread of their own for each plugin, and a budget that
//! ends them at the deadline; the operating system shares the cores among the plugins.

use super::engine::TICK;
use futures::future::BoxFuture;
use oarlock_merge::steps::Budget;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Poll, ready};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, PollSemaphore};
use tokio_util::task::AbortOnDropHandle;

/// Nice value of the threads: the lowest priority.
const NICE: i32 = 19;

/// The threads. They end, with the work on them, when this is dropped.
pub(super) struct Heavy {
    runtime: Option<Runtime>,
}

impl Heavy {
    /// Starts half as many threads as there are cores, at least one.
    ///
    /// # Errors
    ///
    /// No thread can be started.
    pub(super) fn new() -> std::io::Result<Self> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let runtime = Builder::new_multi_thread()
            .worker_threads((cores / 2).max(1))
            .thread_name("heavy")
            // On Linux, this sets the priority of the calling thread alone.
            .on_thread_start(|| {
                if let Err(error) = rustix::process::setpriority_process(None, NICE) {
                    tracing::warn!(%error, "plugins that compute for long cannot be given a low priority");
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
    pub(super) async fn drive<T: Send + 'static>(
        &self,
        lane: &Lane,
        meter: &Arc<Meter>,
        mut call: BoxFuture<'static, T>,
    ) -> T {
        meter.start(lane.aside.load(Ordering::Relaxed));
        let computed = Arc::clone(&lane.computed);
        if !meter.is_aside() {
            let answer = poll_fn(|context| match meter.timed(&computed, || call.as_mut().poll(context)) {
                Poll::Ready(answer) => Poll::Ready(Some(answer)),
                Poll::Pending if meter.is_aside() => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            });
            if let Some(answer) = answer.await {
                return answer;
            }
            lane.aside.store(true, Ordering::Relaxed);
        }
        let answer = self.carry_on(lane, meter, call).await;
        // The next call starts on the kind of thread that suited this one.
        lane.aside.store(meter.computed() >= TICK, Ordering::Relaxed);
        answer
    }

    async fn carry_on<T: Send + 'static>(&self, lane: &Lane, meter: &Arc<Meter>, mut call: BoxFuture<'static, T>) -> T {
        // Connections, timers and tasks of imports belong to the main runtime.
        let home = Handle::current();
        let mut turns = PollSemaphore::new(Arc::clone(&lane.turn));
        let (meter, computed) = (Arc::clone(meter), Arc::clone(&lane.computed));
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
    pub(super) async fn compute<T: Send + 'static>(
        &self,
        lane: &Lane,
        meter: &Arc<Meter>,
        deadline: Instant,
        work: impl FnOnce(&Budget<'_>) -> T + Send + 'static,
    ) -> Option<T> {
        let runtime = self.runtime.as_ref()?;
        let turn = tokio::time::timeout_at(deadline, Arc::clone(&lane.host).acquire_owned()).await.ok()?.ok()?;
        let waited_for = CancellationToken::new();
        let _stop = waited_for.clone().drop_guard();
        let (meter, computed, asked) = (Arc::clone(meter), Arc::clone(&lane.computed), meter.now());
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
    pub(super) fn drop_aside(&self, thing: impl Send + 'static) {
        if let Some(runtime) = &self.runtime {
            runtime.spawn(async move { drop(thing) });
        }
    }
}

impl Drop for Heavy {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Blocking is forbidden in async code, and nothing here needs to be awaited.
            runtime.shutdown_background();
        }
    }
}

/// The shared state of one plugin's calls.
#[derive(Debug)]
pub(super) struct Lane {
    /// One call computes at a time.
    turn: Arc<Semaphore>,
    /// One computation of the host for this plugin runs at a time.
    host: Arc<Semaphore>,
    /// Processor time of all calls, and of the host for them, in nanoseconds.
    computed: Arc<AtomicU64>,
    /// Whether the last call computed for long; if so, the next one starts on these threads.
    aside: AtomicBool,
}

impl Default for Lane {
    fn default() -> Self {
        let one = || Arc::new(Semaphore::new(1));
        Self { turn: one(), host: one(), computed: Arc::default(), aside: AtomicBool::new(false) }
    }
}

impl Lane {
    /// How long the plugin has computed in total.
    pub(super) fn computed(&self) -> Duration {
        Duration::from_nanos(self.computed.load(Ordering::Relaxed))
    }
}

/// Computing time of a call, without its waits. Read from inside the guest, and written from outside.
#[derive(Debug)]
pub(super) struct Meter {
    base: Instant,
    /// When the guest was last entered, in nanoseconds from `base`.
    entered: AtomicU64,
    /// Computing time of this call before the last entry, in nanoseconds.
    computed: AtomicU64,
    /// When the guest yielded with more to compute, in nanoseconds from `base`; 0: it waits or runs.
    gave_way: AtomicU64,
    /// Time in which this call could compute but had no thread, in nanoseconds.
    waited: AtomicU64,
    aside: AtomicBool,
}

impl Meter {
    pub(super) fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            base: Instant::now(),
            entered: zero(),
            computed: zero(),
            gave_way: zero(),
            waited: zero(),
            aside: AtomicBool::new(false),
        }
    }

    pub(super) fn start(&self, aside: bool) {
        self.computed.store(0, Ordering::Relaxed);
        self.waited.store(0, Ordering::Relaxed);
        self.gave_way.store(0, Ordering::Relaxed);
        self.aside.store(aside, Ordering::Relaxed);
    }

    /// Measures one entry into the guest.
    ///
    /// * `of_all` - the sum of its plugin.
    fn timed<T>(&self, of_all: &AtomicU64, work: impl FnOnce() -> T) -> T {
        let entered = self.now();
        let gave_way = self.gave_way.swap(0, Ordering::Relaxed);
        if gave_way > 0 {
            self.waited.fetch_add(entered.saturating_sub(gave_way), Ordering::Relaxed);
        }
        self.entered.store(entered, Ordering::Relaxed);
        let answer = work();
        let took = self.now().saturating_sub(entered);
        self.computed.fetch_add(took, Ordering::Relaxed);
        of_all.fetch_add(took, Ordering::Relaxed);
        answer
    }

    fn now(&self) -> u64 {
        u64::try_from(self.base.elapsed().as_nanos()).unwrap_or(u64::MAX)
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
    pub(super) fn give_way(&self) {
        self.gave_way.store(self.now(), Ordering::Relaxed);
    }

    /// Whether the call runs on the threads for long computations, or moves there at its next yield.
    pub(super) fn is_aside(&self) -> bool {
        self.aside.load(Ordering::Relaxed)
    }

    /// Moves the call to the threads for long computations at its next yield.
    pub(super) fn set_aside(&self) {
        self.aside.store(true, Ordering::Relaxed);
    }

    /// Moves the call to the threads for long computations now, because the host's next work for the guest takes long.
    pub(super) async fn step_aside(&self) {
        if !self.is_aside() {
            self.set_aside();
            self.give_way();
            let mut gave_way = false;
            poll_fn(|_| if std::mem::replace(&mut gave_way, true) { Poll::Ready(()) } else { Poll::Pending }).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "the thread is to be blocked, as a guest blocks it")]
    fn compute(time: Duration) {
        std::thread::sleep(time);
    }

    fn thread() -> String {
        std::thread::current().name().unwrap_or_default().to_owned()
    }

    /// A call that computes before and after it yields; returns the threads it computed on.
    fn call(meter: &Arc<Meter>, time: Duration) -> BoxFuture<'static, (String, String)> {
        let meter = Arc::clone(meter);
        Box::pin(async move {
            compute(time);
            let before = thread();
            if meter.since_entered() >= TICK {
                meter.set_aside();
            }
            tokio::task::yield_now().await;
            (before, thread())
        })
    }

    #[tokio::test]
    async fn a_call_that_computes_for_long_goes_on_aside_and_the_next_begins_there() {
        let (heavy, lane, meter) = (Heavy::new().unwrap(), Lane::default(), Arc::new(Meter::new()));
        let here = thread();
        let short = heavy.drive(&lane, &meter, call(&meter, Duration::ZERO)).await;
        assert_eq!(short, (here.clone(), here.clone()));
        let long = heavy.drive(&lane, &meter, call(&meter, TICK)).await;
        assert_eq!(long, (here.clone(), "heavy".to_owned()));
        let again = heavy.drive(&lane, &meter, call(&meter, Duration::ZERO)).await;
        assert_eq!(again, ("heavy".to_owned(), "heavy".to_owned()));
        let forgiven = heavy.drive(&lane, &meter, call(&meter, Duration::ZERO)).await;
        assert_eq!(forgiven, (here.clone(), here));
    }

    #[tokio::test]
    async fn work_of_the_host_steps_aside_and_timers_still_run() {
        let (heavy, lane, meter) = (Heavy::new().unwrap(), Lane::default(), Arc::new(Meter::new()));
        let inside = Arc::clone(&meter);
        let call = Box::pin(async move {
            inside.step_aside().await;
            tokio::time::sleep(Duration::from_millis(1)).await;
            tokio::spawn(async { thread() }).await.map(|spawned| (thread(), spawned))
        });
        let (on, spawned) = heavy.drive(&lane, &meter, call).await.unwrap();
        assert_eq!((on.as_str(), spawned == "heavy"), ("heavy", false));
    }

    #[tokio::test]
    async fn of_one_plugin_one_call_computes_at_a_time() {
        let (heavy, lane) = (Heavy::new().unwrap(), Lane::default());
        let inside = Arc::new(AtomicU64::new(0));
        let calls = (0..8).map(|_| {
            let (inside, meter) = (Arc::clone(&inside), Arc::new(Meter::new()));
            let entered = Arc::clone(&meter);
            let call: BoxFuture<'static, u64> = Box::pin(async move {
                entered.step_aside().await;
                let mut most = 0;
                for _ in 0..5 {
                    most = most.max(inside.fetch_add(1, Ordering::SeqCst) + 1);
                    compute(Duration::from_millis(1));
                    inside.fetch_sub(1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                }
                most
            });
            let (heavy, lane) = (&heavy, &lane);
            async move { heavy.drive(lane, &meter, call).await }
        });
        assert!(futures::future::join_all(calls).await.iter().all(|most| *most == 1));
    }

    /// A computation that ends only with its budget.
    fn endless(budget: &Budget<'_>) -> u64 {
        while budget.charge(1).is_ok() {}
        budget.spent()
    }

    #[tokio::test]
    async fn t3_the_hosts_work_for_one_plugin_ends_at_the_deadline_and_delays_no_other() {
        let (heavy, meter) = (Heavy::new().unwrap(), Arc::new(Meter::new()));
        let (busy, neighbour) = (Lane::default(), Lane::default());
        let soon = Instant::now() + Duration::from_millis(200);
        let attack = futures::future::join_all((0..8).map(|_| heavy.compute(&busy, &meter, soon, endless)));
        let far = Instant::now() + Duration::from_secs(3600);
        let other = async {
            let other = Arc::new(Meter::new());
            let on = heavy.compute(&neighbour, &other, far, |_| thread()).await;
            (on, Instant::now() < soon)
        };
        let (_attack, (on, before)) = futures::future::join(attack, other).await;
        assert_eq!((on.as_deref(), before), (Some("heavy"), true));
        // The thread of the busy plugin is free again.
        let again = Instant::now() + Duration::from_secs(3600);
        assert!(heavy.compute(&busy, &meter, again, |_| ()).await.is_some());
    }

    #[tokio::test]
    async fn t3_the_hosts_work_that_nobody_waits_for_ends() {
        let (heavy, lane, meter) = (Heavy::new().unwrap(), Lane::default(), Arc::new(Meter::new()));
        let far = Instant::now() + Duration::from_secs(3600);
        let work = heavy.compute(&lane, &meter, far, endless);
        assert!(tokio::time::timeout(Duration::from_millis(20), work).await.is_err());
        assert!(heavy.compute(&lane, &meter, far, |_| ()).await.is_some());
    }

    #[tokio::test]
    async fn t3_time_without_a_thread_is_told_from_time_that_was_waited_for_something() {
        let (meter, all) = (Meter::new(), AtomicU64::new(0));
        meter.start(false);
        meter.timed(&all, || ());
        compute(Duration::from_millis(2));
        meter.timed(&all, || meter.give_way());
        assert_eq!(meter.waited(), Duration::ZERO, "it waited for something");
        compute(Duration::from_millis(2));
        meter.timed(&all, || ());
        assert!(meter.waited() >= Duration::from_millis(2), "{:?}", meter.waited());
    }

    #[tokio::test]
    async fn a_call_that_is_dropped_ends_there() {
        let (heavy, lane, meter) = (Heavy::new().unwrap(), Lane::default(), Arc::new(Meter::new()));
        let alive = Arc::new(());
        let (inside, held) = (Arc::clone(&meter), Arc::clone(&alive));
        let call = Box::pin(async move {
            inside.step_aside().await;
            loop {
                compute(Duration::from_millis(1));
                tokio::task::yield_now().await;
                assert!(Arc::strong_count(&held) > 0);
            }
        });
        let cut = tokio::time::timeout(Duration::from_millis(20), heavy.drive::<()>(&lane, &meter, call)).await;
        assert!(cut.is_err());
        while Arc::strong_count(&alive) > 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
