//! Memory shares of compilers, from the memory that the host's own limit leaves: a file that is hard to compile must not end the host.
//!
//! In a Pod the compilers share the host's memory limit. When that is exceeded, the kernel ends all processes of the container.

use super::CompileLimits;
use crate::metrics::process::{memory_limit_bytes, resident_bytes};
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

/// Reserved for the growth of the host.
const KEPT_MIB: u64 = 64;

/// A compiler with less memory than this does not start, and waits for others to finish.
const LEAST_MIB: u64 = 96;

/// The memory of all running compilers.
#[derive(Debug, Default)]
pub(super) struct Memory {
    taken_mib: Mutex<u64>,
    given_back: Notify,
}

/// The memory of one compiler, until this is dropped.
#[derive(Debug)]
pub(super) struct Share<'a> {
    memory: &'a Memory,
    mib: u64,
}

impl Memory {
    /// Three quarters of the remaining memory, but no more than a compiler needs. The rest lets a further file compile beside a slow one.
    pub(super) async fn share(&self) -> Share<'_> {
        loop {
            let given_back = self.given_back.notified();
            if let Some(share) = self.take(available_mib()) {
                return share;
            }
            given_back.await;
        }
    }

    /// * `available_mib` - memory for all compilers together, including the running ones.
    fn take(&self, available_mib: u64) -> Option<Share<'_>> {
        let mut taken = self.taken_mib.lock().unwrap_or_else(PoisonError::into_inner);
        let most = available_mib.saturating_sub(*taken) / 4 * 3;
        // One compiler runs with any amount; if that is too little, its error says so.
        if most < LEAST_MIB && *taken > 0 {
            return None;
        }
        let mib = most.clamp(LEAST_MIB, CompileLimits::default().memory_mib);
        *taken += mib;
        Some(Share { memory: self, mib })
    }
}

impl Share<'_> {
    pub(super) fn mib(&self) -> u64 {
        self.mib
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        *self.memory.taken_mib.lock().unwrap_or_else(PoisonError::into_inner) -= self.mib;
        self.memory.given_back.notify_waiters();
    }
}

/// The memory that the limit leaves beside the host itself.
fn available_mib() -> u64 {
    let own_mib = resident_bytes().unwrap_or_default() >> 20;
    (memory_limit_bytes().unwrap_or(u64::MAX) >> 20).saturating_sub(own_mib + KEPT_MIB)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    #[test]
    fn t7_compilers_together_stay_below_what_there_is_and_a_second_one_need_not_wait() {
        let memory = Memory::default();
        let first = memory.take(900).unwrap();
        let second = memory.take(900).unwrap();
        assert_eq!((first.mib(), second.mib()), (675, 168));
        assert!(memory.take(900).is_none());
        drop(first);
        assert_eq!(memory.take(900).unwrap().mib(), 549);
        drop(second);
        assert_eq!(memory.take(1 << 40).unwrap().mib(), CompileLimits::default().memory_mib);
        // A host beyond its limit still compiles one file at a time.
        assert_eq!(memory.take(0).unwrap().mib(), LEAST_MIB);
    }

    #[tokio::test]
    async fn t7_who_waits_for_memory_gets_what_is_given_back() {
        let memory = Memory { taken_mib: Mutex::new(u64::MAX / 2), given_back: Notify::new() };
        let everything = Share { memory: &memory, mib: u64::MAX / 2 };
        let waiting = memory.share();
        tokio::pin!(waiting);
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(everything);
        let waiting = tokio::time::timeout(std::time::Duration::from_secs(30), waiting).await.expect("it is told");
        assert!(waiting.mib() >= LEAST_MIB);
    }
}
