//! What a host uses while it has nothing to do.

use crate::harness::Host;
use anyhow::Result;

/// What a host uses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Vitals {
    /// Resident memory, in MiB.
    pub(super) rss_mib: f64,
    /// Instances of plugins.
    pub(super) instances: f64,
    /// Threads; 0 where the system does not tell.
    pub(super) threads: usize,
    /// Open files and connections; 0 where the system does not tell.
    pub(super) descriptors: usize,
}

impl Vitals {
    /// Looks.
    pub(super) async fn of(host: &Host) -> Result<Self> {
        let entries = |folder: &str| {
            let folder = format!("/proc/{}/{folder}", host.process().pid());
            std::fs::read_dir(folder).map_or(0, Iterator::count)
        };
        Ok(Self {
            rss_mib: host.metric("process_resident_memory_bytes", &[]).await? / f64::from(1 << 20),
            instances: host.metric("oarlock_plugin_instances", &[]).await?,
            threads: entries("task"),
            descriptors: entries("fd"),
        })
    }

    /// Whether this is no more than `before`, but for what an allocator may keep.
    pub(super) fn is_back_to(&self, before: &Self) -> bool {
        self.rss_mib <= before.rss_mib * RSS_FACTOR + RSS_MIB
            && self.instances <= before.instances
            && self.threads <= before.threads + THREADS
            && self.descriptors <= before.descriptors + DESCRIPTORS
    }
}

/// What an allocator may keep: a quarter, and 16 MiB.
pub(super) const RSS_FACTOR: f64 = 1.25;
/// See [`RSS_FACTOR`].
pub(super) const RSS_MIB: f64 = 16.0;
/// Threads for blocking work end after some seconds without any.
const THREADS: usize = 4;
/// Connections that are kept for the next request.
const DESCRIPTORS: usize = 32;
