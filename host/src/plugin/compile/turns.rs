//! Concurrency limit of compilations.

use std::future::Future;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Longer compilations leave their turn to others and continue beside them.
const LONG: Duration = Duration::from_secs(10);

/// Fewest threads for long compilations.
const ASIDE: u32 = 4;

/// The cores for compilations, given to them in the order of their arrival.
#[derive(Debug)]
pub(in crate::plugin) struct Turns {
    threads: u32,
    turns: Semaphore,
    /// As many threads again for long compilations, at least [`ASIDE`], so that a few files that take minutes do not block the others.
    aside: Semaphore,
}

impl Turns {
    /// The rest is for the work of a host.
    pub(in crate::plugin) fn of_half_the_cores() -> Self {
        Self::of((cores() / 2).max(1))
    }

    pub(in crate::plugin) fn of_all_cores() -> Self {
        Self::of(cores())
    }

    fn of(threads: u32) -> Self {
        let threads_aside = threads.max(ASIDE);
        Self { threads, turns: Semaphore::new(threads as usize), aside: Semaphore::new(threads_aside as usize) }
    }

    /// The wanted number of threads, up to the number of all threads.
    pub(in crate::plugin) fn at_most(&self, threads: usize) -> u32 {
        u32::try_from(threads).unwrap_or(u32::MAX).min(self.threads)
    }

    /// Runs a compilation when it is its turn. Simulations take no turns: their clock would move while they wait for another thread.
    ///
    /// * `threads` - the number of threads it uses; see [`at_most`](Self::at_most).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future frees its threads.
    pub(in crate::plugin) async fn take<T>(&self, threads: u32, work: impl Future<Output = T>) -> T {
        if oarlock_simulation::is_running() {
            return work.await;
        }
        let turn = self.turns.acquire_many(threads).await;
        let mut work = std::pin::pin!(work);
        if let Ok(done) = tokio::time::timeout(LONG, &mut work).await {
            return done;
        }
        let _aside = tokio::select! {
            done = &mut work => return done,
            aside = self.aside.acquire_many(threads) => aside,
        };
        drop(turn);
        work.await
    }
}

fn cores() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(cores).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[tokio::test(start_paused = true)]
    async fn no_more_threads_are_used_than_there_are() {
        let (turns, used, most) = (Turns::of(3), AtomicU32::new(0), AtomicU32::new(0));
        let works = (0..20).map(|i| {
            let threads = turns.at_most(i % 5 + 1);
            let (used, most) = (&used, &most);
            turns.take(threads, async move {
                most.fetch_max(used.fetch_add(threads, Ordering::SeqCst) + threads, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(1)).await;
                used.fetch_sub(threads, Ordering::SeqCst);
            })
        });
        futures::future::join_all(works).await;
        assert_eq!(most.into_inner(), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn p18_what_takes_long_steps_aside_for_the_others() {
        let turns = Turns::of(1);
        let bombs =
            |count: u32| futures::future::join_all((0..count).map(|_| turns.take(1, std::future::pending::<()>())));
        let mut few = std::pin::pin!(bombs(ASIDE));
        assert!(few.as_mut().now_or_never().is_none());
        let others = async {
            for _ in 0..3 {
                turns.take(1, tokio::time::sleep(Duration::from_secs(1))).await;
            }
        };
        tokio::select! {
            _ = few.as_mut() => panic!("they never end"),
            done = tokio::time::timeout(LONG * ASIDE + Duration::from_secs(4), others) => done.unwrap(),
        }
        // One more finds no free threads aside, and keeps its turn: long compilations get no more of the machine.
        let more = std::pin::pin!(bombs(1));
        let wait = tokio::time::sleep(LONG * 3);
        tokio::select! { _ = few => panic!(), _ = more => panic!(), () = wait => {} }
        assert_eq!((turns.turns.available_permits(), turns.aside.available_permits()), (0, 0));
    }
}
