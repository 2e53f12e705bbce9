//! Metrics of the process itself.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

/// Reads the system's figures about the process on each scrape.
#[derive(Debug)]
struct Process {
    /// Seconds since 1970. The registry is created first, so its creation is the start of the process.
    started: f64,
}

pub(super) fn register(registry: &mut Registry) {
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    registry.register_collector(Box::new(Process { started }));
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let started = ConstGauge::new(self.started);
        started.encode(encoder.encode_descriptor(
            "process_start_time_seconds",
            "Start time of the process since unix epoch in seconds.",
            None,
            started.metric_type(),
        )?)?;
        // Without /proc this metric does not exist.
        let Some(bytes) = resident_bytes() else { return Ok(()) };
        let resident = ConstGauge::new(bytes);
        resident.encode(encoder.encode_descriptor(
            "process_resident_memory_bytes",
            "Resident memory size in bytes.",
            None,
            resident.metric_type(),
        )?)?;
        let Ok(descriptors) = std::fs::read_dir("/proc/self/fd") else { return Ok(()) };
        // One of them is the folder itself.
        let open = ConstGauge::new(descriptors.count().saturating_sub(1) as u64);
        open.encode(encoder.encode_descriptor(
            "process_open_fds",
            "Number of open file descriptors.",
            None,
            open.metric_type(),
        )?)
    }
}

/// Resident memory of this process. Reads one line that the kernel generates; no disk is involved.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}
