//! Interleavings of the shared part, under a scheduler that chooses the next task before every step: no wake-up is lost in any order.
//!
//! The shared part is compiled here once more, on the primitives below. A schedule in which a worker waits for ever is a deadlock for the
//! scheduler, which prints the input for [`shuttle::replay`]. Random schedules with few task switches find races that need a certain
//! order of few steps; the smallest scenario runs in every possible order.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use futures::FutureExt;
use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config as Limits, Runner, future, thread};

use self::shared::Shared;
use super::{Config, Item, Trigger};
use super::{config, state};

#[path = "shared.rs"]
#[expect(clippy::duplicate_mod, reason = "the same code on other primitives is what this file is for")]
mod shared;

/// The primitives of the shared part: every use of the lock and of a [`Notify`] is a step, and the test sets the time.
mod sync {
    use std::cell::RefCell;
    use std::future::poll_fn;
    use std::task::{Poll, Waker};
    use std::time::Duration;

    use shuttle::sync::atomic::{AtomicBool, Ordering::SeqCst};
    pub(super) use shuttle::sync::{Mutex, MutexGuard};
    pub(super) use std::sync::PoisonError;
    pub(super) use tokio::time::Instant;

    thread_local! {
        /// The time and the tasks that wait for one. All tasks of a schedule run on one thread.
        static CLOCK: RefCell<Clock> = RefCell::new(Clock { now: Instant::now(), waiting: Vec::new() });
    }

    struct Clock {
        now: Instant,
        waiting: Vec<Waker>,
    }

    pub(super) fn now() -> Instant {
        CLOCK.with_borrow(|clock| clock.now)
    }

    pub(super) fn advance(by: Duration) {
        let waiting = CLOCK.with_borrow_mut(|clock| {
            clock.now += by;
            std::mem::take(&mut clock.waiting)
        });
        waiting.into_iter().for_each(Waker::wake);
    }

    pub(super) async fn sleep_until(due: Instant) {
        poll_fn(|context| {
            CLOCK.with_borrow_mut(|clock| {
                if due <= clock.now {
                    return Poll::Ready(());
                }
                clock.waiting.push(context.waker().clone());
                Poll::Pending
            })
        })
        .await;
    }

    /// tokio's `Notify`. Each call of it is one step, before which another task may run.
    pub(super) struct Notify {
        inner: tokio::sync::Notify,
        step: AtomicBool,
    }

    impl Notify {
        pub(super) fn new() -> Self {
            Self { inner: tokio::sync::Notify::new(), step: AtomicBool::new(false) }
        }

        pub(super) fn notify_one(&self) {
            self.step.load(SeqCst);
            self.inner.notify_one();
        }

        pub(super) fn notify_waiters(&self) {
            self.step.load(SeqCst);
            self.inner.notify_waiters();
        }

        /// Beginning to wait is a step of its own, because other tasks may run between a check and the wait.
        pub(super) fn notified(&self) -> impl Future<Output = ()> {
            self.step.load(SeqCst);
            let notified = self.inner.notified();
            async move {
                self.step.load(SeqCst);
                notified.await;
            }
        }
    }
}

const KEYS: usize = 2;
const MS: Duration = Duration::from_millis(1);

/// A queue, and the activity of its workers.
#[derive(Clone)]
struct World {
    queue: Arc<Shared<usize>>,
    /// Per key: the number of adds, the number that its last run saw, and the workers that hold it.
    added: Arc<[AtomicU32; KEYS]>,
    seen: Arc<[AtomicU32; KEYS]>,
    held: Arc<[AtomicU32; KEYS]>,
}

impl World {
    fn new() -> Self {
        let queue = Arc::new(Shared::new(Config::default()));
        Self { queue, added: Arc::default(), seen: Arc::default(), held: Arc::default() }
    }

    fn add(&self, key: usize) {
        self.added[key].fetch_add(1, SeqCst);
        self.queue.add(key, Trigger::Event, None);
    }

    fn run(&self, item: &Item<usize>) {
        assert_eq!(self.held[item.key].fetch_add(1, SeqCst), 0, "key {} is held twice", item.key);
        self.seen[item.key].store(self.added[item.key].load(SeqCst), SeqCst);
        thread::yield_now();
        self.held[item.key].fetch_sub(1, SeqCst);
        self.queue.done(&item.key);
    }

    /// Starts a worker that ends when the queue does.
    fn worker(&self) -> future::JoinHandle<()> {
        let world = self.clone();
        future::spawn(async move {
            while let Some(item) = world.queue.get().await {
                world.run(&item);
            }
        })
    }

    /// Starts a worker that ends after one key, and returns that key.
    fn worker_of_one(&self) -> future::JoinHandle<usize> {
        let world = self.clone();
        future::spawn(async move {
            let item = world.queue.get().await.unwrap();
            world.run(&item);
            item.key
        })
    }

    /// Runs an action on a thread of its own.
    fn beside(&self, act: impl FnOnce(&Self) + Send + 'static) -> thread::JoinHandle<()> {
        let world = self.clone();
        thread::spawn(move || act(&world))
    }

    /// Asserts that the last add of each key was followed by a run that began after it.
    fn assert_nothing_lost(&self) {
        for key in 0..KEYS {
            assert_eq!(self.seen[key].load(SeqCst), self.added[key].load(SeqCst), "an add of key {key} was lost");
        }
    }
}

/// Stack of each task; unoptimised code takes more than the default.
const STACK_BYTES: usize = 1 << 18;

fn explore(scheduler: impl Scheduler + 'static, scenario: impl Fn() + Send + Sync + 'static) {
    let mut limits = Limits::new();
    limits.stack_size = STACK_BYTES;
    Runner::new(scheduler, limits).run(scenario);
}

/// Many random orders, including orders with few task switches.
fn many_orders(scenario: fn()) {
    explore(RandomScheduler::new(400), scenario);
    explore(PctScheduler::new(3, 400), scenario);
}

#[test]
fn q1_q3_in_no_order_of_steps_is_an_add_lost_or_a_key_held_twice() {
    many_orders(|| {
        let world = World::new();
        let workers = [world.worker(), world.worker()];
        let adding = [
            world.beside(|world| [0, 1, 0].into_iter().for_each(|key| world.add(key))),
            world.beside(|world| [0, 1].into_iter().for_each(|key| world.add(key))),
        ];
        for one in adding {
            one.join().unwrap();
        }
        future::block_on(world.queue.shut_down_with_drain());
        world.assert_nothing_lost();
        for worker in workers {
            future::block_on(worker).unwrap();
        }
    });
}

#[test]
fn q2_in_no_order_of_steps_does_a_worker_sleep_while_a_key_is_ready() {
    many_orders(|| {
        let world = World::new();
        // No shutdown follows: each worker takes one key, and must be woken for it.
        let takers = [world.worker_of_one(), world.worker_of_one()];
        let adding = [0, 1].map(|key| world.beside(move |world| world.add(key)));
        let mut taken = takers.map(|taker| future::block_on(taker).unwrap());
        taken.sort_unstable();
        assert_eq!(taken, [0, 1]);
        for one in adding {
            one.join().unwrap();
        }
    });
}

#[test]
fn q2_in_no_order_of_steps_does_a_worker_that_goes_away_take_a_wake_up_along() {
    many_orders(|| {
        let world = World::new();
        let gone = world.beside(|world| {
            // Waits, and is dropped, perhaps after its wake-up; it runs the key if it got one.
            let mut get = Box::pin(world.queue.get());
            let mut item = get.as_mut().now_or_never();
            thread::yield_now();
            if item.is_none() && shuttle::rand::Rng::r#gen(&mut shuttle::rand::thread_rng()) {
                item = get.now_or_never();
            }
            if let Some(item) = item {
                world.run(&item.unwrap());
            }
        });
        let worker = world.worker();
        world.add(0);
        world.add(1);
        gone.join().unwrap();
        // Only a woken worker ends this loop: no shutdown wakes it.
        while world.seen.iter().any(|seen| seen.load(SeqCst) == 0) {
            thread::yield_now();
        }
        world.queue.shut_down();
        future::block_on(worker).unwrap();
        world.assert_nothing_lost();
    });
}

#[test]
fn q1_in_no_order_of_steps_does_a_key_wait_that_was_added_while_it_was_held() {
    many_orders(|| {
        let world = World::new();
        world.add(0);
        let item = future::block_on(world.queue.get()).unwrap();
        let taker = world.worker_of_one();
        let adding = world.beside(|world| world.add(0));
        // The worker that held the key does not check the queue again itself.
        world.run(&item);
        adding.join().unwrap();
        assert_eq!(future::block_on(taker).unwrap(), 0);
        world.assert_nothing_lost();
    });
}

#[test]
fn q4_in_no_order_of_steps_does_a_waiting_worker_miss_an_earlier_timer() {
    many_orders(|| {
        let world = World::new();
        world.queue.add_after(0, 100 * MS, Trigger::Requeue);
        let takers = [world.worker_of_one(), world.worker_of_one()];
        let setting = world.beside(|world| {
            world.queue.add_after(1, 10 * MS, Trigger::Requeue);
            sync::advance(10 * MS);
        });
        setting.join().unwrap();
        // At 10 ms one of them must have had its turn; the other waits for 100 ms.
        let [first, second] = takers;
        let (early, other) = future::block_on(futures::future::select(first, second)).factor_first();
        assert_eq!(early.unwrap(), 1);
        sync::advance(90 * MS);
        assert_eq!(future::block_on(other).unwrap(), 0);
    });
}

#[test]
fn q9_in_no_order_of_steps_does_a_shutdown_leave_a_worker_or_a_drain_waiting() {
    many_orders(|| {
        let world = World::new();
        world.add(0);
        let workers = [world.worker(), world.worker()];
        let others = [
            world.beside(|world| world.queue.add(1, Trigger::Resync, None)),
            world.beside(|world| {
                world.queue.remove(&0);
                world.queue.add_rate_limited(1);
                world.queue.forget(&1);
            }),
            world.beside(|world| future::block_on(world.queue.shut_down_with_drain())),
        ];
        for one in others {
            one.join().unwrap();
        }
        for worker in workers {
            future::block_on(worker).unwrap();
        }
        assert!(world.queue.with(|state, _| state.is_finished()));
    });
}

#[test]
fn q9_in_no_order_of_steps_does_a_key_that_comes_back_at_the_end_leave_a_worker_waiting() {
    many_orders(|| {
        let world = World::new();
        world.add(0);
        let item = future::block_on(world.queue.get()).unwrap();
        world.add(0);
        let workers = [world.worker(), world.worker()];
        let ending = world.beside(|world| world.queue.shut_down());
        world.run(&item);
        ending.join().unwrap();
        for worker in workers {
            future::block_on(worker).unwrap();
        }
        world.assert_nothing_lost();
    });
}

#[test]
fn q9_in_no_order_of_steps_does_a_purge_or_a_shutdown_leave_a_drain_waiting() {
    many_orders(|| {
        let world = World::new();
        world.add(0);
        world.add(1);
        // No worker takes these keys: only the two calls let the drain end.
        let drain = world.beside(|world| future::block_on(world.queue.shut_down_with_drain()));
        let ending =
            [world.beside(|world| assert!(world.queue.purge() <= KEYS)), world.beside(|world| world.queue.shut_down())];
        drain.join().unwrap();
        for one in ending {
            one.join().unwrap();
        }
    });
}

/// Every possible order of the steps of two tasks. Asserts that there were many; otherwise the scheduler does not see the steps.
fn every_order(scenario: impl Fn() + Send + Sync + 'static) {
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    explore(DfsScheduler::new(None, false), move || {
        counted.fetch_add(1, SeqCst);
        scenario();
    });
    let runs = runs.load(SeqCst);
    assert!(runs > 20, "only {runs} orders");
}

#[test]
fn q2_in_every_order_of_an_add_and_a_get_the_key_is_handed_out() {
    every_order(|| {
        let world = World::new();
        let taker = world.worker_of_one();
        world.queue.add(0, Trigger::Event, None);
        assert_eq!(future::block_on(taker).unwrap(), 0);
    });
}

#[test]
fn q4_in_every_order_of_a_timer_and_a_get_the_key_is_handed_out_in_time() {
    every_order(|| {
        let world = World::new();
        world.queue.add_after(0, 100 * MS, Trigger::Requeue);
        let taker = world.worker_of_one();
        world.queue.add_after(1, 10 * MS, Trigger::Requeue);
        sync::advance(10 * MS);
        assert_eq!(future::block_on(taker).unwrap(), 1);
    });
}

#[test]
fn q9_in_every_order_of_a_shutdown_and_a_get_the_worker_ends() {
    every_order(|| {
        let world = World::new();
        let worker = world.worker();
        world.queue.shut_down();
        future::block_on(worker).unwrap();
    });
}
