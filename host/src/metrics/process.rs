//! Metrics of the process itself.

use std::fmt;
use std::path::{Path, PathBuf};
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
        if let Some(bytes) = memory_limit_bytes() {
            let limit = ConstGauge::new(bytes);
            limit.encode(encoder.encode_descriptor(
                "oarlock_memory_limit_bytes",
                "Memory limit of the container, or the memory of the machine.",
                None,
                limit.metric_type(),
            )?)?;
        }
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

/// Resident memory of this process in bytes. Reads one line that the kernel generates; no disk is involved.
pub(crate) fn resident_bytes() -> Option<u64> {
    field_bytes("/proc/self/status", "VmRSS:")
}

/// The memory that this process may use, in bytes: the limit of its control groups, or the memory of the machine if that is less.
///
/// None where /proc does not exist.
pub(crate) fn memory_limit_bytes() -> Option<u64> {
    let own_groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = [limit_bytes(Path::new("/sys/fs/cgroup"), &own_groups), field_bytes("/proc/meminfo", "MemTotal:")];
    limits.into_iter().flatten().min()
}

fn field_bytes(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The smallest memory limit of this process's control groups and their ancestors. None: no limit.
///
/// * `root` - mount point of the control groups.
/// * `own_groups` - `/proc/self/cgroup`: lines of `ID:CONTROLLERS:PATH`; version 2 has one with the id 0 and no controllers.
///
/// # Source
///
/// cgroups(7), "/proc files".
fn limit_bytes(root: &Path, own_groups: &str) -> Option<u64> {
    let limits = own_groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (id, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let (mounted, file) = match controllers {
            "" if id == "0" => (root.to_owned(), "memory.max"),
            list if list.split(',').any(|one| one == "memory") => (root.join("memory"), "memory.limit_in_bytes"),
            _ => return None,
        };
        // In a container, the group that appears as the root may have another path outside. Then only the root exists.
        let folder: PathBuf = mounted.join(path.trim_start_matches('/'));
        let above = folder.ancestors().take_while(|folder| folder.starts_with(&mounted));
        above.filter_map(|folder| std::fs::read_to_string(folder.join(file)).ok()?.trim().parse().ok()).min()
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t7_the_limit_is_that_of_the_control_groups() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let limit = |groups: &str| limit_bytes(root.path(), groups);
        assert_eq!(limit(""), None);
        assert_eq!(limit("0::/kubepods/pod1/host\n"), None);
        write("kubepods/pod1/host/memory.max", "max\n");
        assert_eq!(limit("0::/kubepods/pod1/host\n"), None);
        write("kubepods/pod1/memory.max", "1073741824\n");
        write("kubepods/memory.max", "9073741824\n");
        assert_eq!(limit("0::/kubepods/pod1/host\n"), Some(1 << 30));
        write("memory.max", "536870912\n");
        assert_eq!(limit("0::/\n"), Some(512 << 20));
        // The view from within a container whose group has another path outside.
        assert_eq!(limit("0::/not/to/be/seen\n"), Some(512 << 20));
        write("memory/docker/memory.limit_in_bytes", "268435456\n");
        assert_eq!(limit("5:cpu:/docker\n4:hugetlb,memory:/docker\n"), Some(256 << 20));
        assert_eq!(limit("nonsense\n:\n4:memory\n"), None);
    }
}
