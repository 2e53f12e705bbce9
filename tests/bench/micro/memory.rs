//! This process's memory, from `/proc`.

use anyhow::{Context, Result};

/// Resident now, in bytes.
pub(crate) fn resident() -> Result<u64> {
    field("VmRSS:")
}

/// This process's part of what is resident now, in bytes: a page that is mapped several times counts once.
pub(crate) fn proportional() -> Result<u64> {
    kib(&std::fs::read_to_string("/proc/self/smaps_rollup")?, "Pss:")
}

/// The most that was resident since the start or the last [`forget_peak`], in bytes.
pub(crate) fn peak() -> Result<u64> {
    field("VmHWM:")
}

/// Lets the peak start again from what is resident now.
pub(crate) fn forget_peak() -> Result<()> {
    std::fs::write("/proc/self/clear_refs", "5").context("the peak of the memory cannot be reset")
}

/// Processor time so far, user and system, in seconds.
pub(crate) fn cpu_seconds() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |i: usize| fields.get(i).and_then(|t| t.parse::<f64>().ok()).context("no times in /proc/self/stat");
    // Fields 14 and 15, of which 3 is the first after the name; a tick is 10 ms on every Linux that matters.
    Ok((ticks(11)? + ticks(12)?) / 100.0)
}

fn field(name: &str) -> Result<u64> {
    kib(&std::fs::read_to_string("/proc/self/status")?, name)
}

/// A field in kB, in bytes.
fn kib(text: &str, name: &str) -> Result<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).with_context(|| format!("no {name}"))?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}
