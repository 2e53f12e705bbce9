//! What a host uses: memory, files, threads, tasks, series, and the sizes of its maps.

use crate::harness::Host;
use anyhow::{Context, Result};
use std::{collections::BTreeMap, path::Path};

/// Figures of one host at one moment, by name.
#[derive(Clone, Debug, Default)]
pub struct Usage(pub BTreeMap<String, f64>);

/// How a figure may differ from where it started.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// At most so many times as much, and so much more.
    Start(f64, f64),
    /// At most this, whatever it was at first: a bound that docs/memory.md states.
    Bound(f64),
}

const MIB: f64 = 1_048_576.0;

impl Limit {
    /// The limit of a figure.
    #[must_use]
    pub fn of(name: &str) -> Self {
        match name {
            // An allocator keeps some memory.
            "rss MiB" => Self::Start(1.25, 16.0),
            // Threads for blocking work end after some seconds without any; connections are kept for the next request.
            "threads" => Self::Start(1.0, 4.0),
            // A series begins with the first call of its kind, on the host that leads the plugin: about 200 for each of five plugins.
            "series" => Self::Bound(2000.0),
            "open files" | "tasks" => Self::Start(1.0, 32.0),
            "code cache MiB" => Self::Bound(2048.0),
            "map events-written" => Self::Bound(20_000.0),
            "map group-versions" => Self::Bound(1024.0),
            "map struck" => Self::Bound(10_000.0),
            // 8 MiB, of which each takes a KiB at least.
            "map recordings" => Self::Bound(8192.0),
            "map applied-documents" => Self::Bound(32.0 * MIB / 400.0),
            _ => Self::Start(1.0, 0.0),
        }
    }

    fn holds(self, start: f64, end: f64) -> bool {
        match self {
            Self::Start(factor, more) => end <= start * factor + more,
            Self::Bound(bound) => end <= bound,
        }
    }
}

impl Usage {
    /// Reads /metrics and /proc.
    ///
    /// * `code` - the folder of the host's code cache.
    ///
    /// # Errors
    ///
    /// When the host does not answer, or has ended.
    pub async fn of(host: &Host, code: &Path) -> Result<Self> {
        let text = host.admin().get("/metrics").await?.text();
        let mut figures = BTreeMap::new();
        let samples: Vec<(&str, f64)> = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.rsplit_once(' '))
            .filter_map(|(series, value)| Some((series, value.parse().ok()?)))
            .collect();
        figures.insert("series".to_owned(), f64::from(u32::try_from(samples.len())?));
        let of = |name: &str| samples.iter().find(|(series, _)| *series == name).map(|(_, value)| *value);
        let resident = of("process_resident_memory_bytes").context("no process_resident_memory_bytes")?;
        figures.insert("rss MiB".to_owned(), resident / MIB);
        figures.insert("open files".to_owned(), of("process_open_fds").context("no process_open_fds")?);
        figures.insert("tasks".to_owned(), of("oarlock_tasks").context("no oarlock_tasks")?);
        let threads = std::fs::read_dir(format!("/proc/{}/task", host.process().pid()))?.count();
        figures.insert("threads".to_owned(), f64::from(u32::try_from(threads)?));
        for (prefix, shown) in [("oarlock_map_entries{map=\"", "map "), ("oarlock_map_bytes{map=\"", "bytes ")] {
            for (series, value) in &samples {
                if let Some(map) = series.strip_prefix(prefix).and_then(|rest| rest.strip_suffix("\"}")) {
                    figures.insert(format!("{shown}{map}"), *value);
                }
            }
        }
        let instances: f64 =
            samples.iter().filter(|(series, _)| series.starts_with("oarlock_plugin_instances{")).map(|(_, n)| n).sum();
        figures.insert("instances".to_owned(), instances);
        let entries = std::fs::read_dir(code)?.filter_map(|entry| entry.ok()?.metadata().ok());
        let bytes: u64 = entries.map(|entry| entry.len()).sum();
        figures.insert("code cache MiB".to_owned(), f64::from(u32::try_from(bytes >> 10)?) / 1024.0);
        Ok(Self(figures))
    }

    /// Figures that have grown past their limit since `start`, in words.
    #[must_use]
    pub fn grown_since(&self, start: &Self) -> Vec<String> {
        let grown = self.0.iter().filter(|(name, end)| {
            let start = start.0.get(*name).copied().unwrap_or_default();
            // Bytes follow the entries they belong to.
            let limit = if name.starts_with("bytes ") { Limit::Bound(32.0 * MIB) } else { Limit::of(name) };
            !limit.holds(start, **end)
        });
        grown
            .map(|(name, end)| format!("{name}: {} at first, {end} in the end", start.0.get(name).unwrap_or(&0.0)))
            .collect()
    }
}
