//! A control group with a memory limit.

use anyhow::{Context, Result};
use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

/// A control group of this test's own. It is removed when dropped, after the processes in it have ended.
pub(super) struct MemoryGroup {
    folder: PathBuf,
    file: &'static str,
    /// The limit that is none.
    pub(super) unlimited: &'static str,
}

impl MemoryGroup {
    /// None, and a line that says so, without the rights to make one.
    pub(super) fn create() -> Result<Option<Self>> {
        let version_1 = Path::new("/sys/fs/cgroup/memory");
        let (root, file, unlimited) = if version_1.is_dir() {
            (version_1, "memory.limit_in_bytes", "-1")
        } else {
            (Path::new("/sys/fs/cgroup"), "memory.max", "max")
        };
        let folder = root.join(format!("oarlock-test-{}", std::process::id()));
        let made = fs::create_dir(&folder);
        let group = Self { folder, file, unlimited };
        if made.is_err() || !group.folder.join(file).is_file() {
            let _ = writeln!(
                std::io::stderr(),
                "skipped: OarlockMemory: only root can make a control group with a memory limit"
            );
            return Ok(None);
        }
        Ok(Some(group))
    }

    /// Moves a process into the group.
    pub(super) fn add(&self, pid: u32) -> Result<()> {
        fs::write(self.folder.join("cgroup.procs"), pid.to_string()).context("cgroup.procs")
    }

    /// * `bytes` - what the group may use, or `unlimited`.
    pub(super) fn limit(&self, bytes: &str) -> Result<()> {
        fs::write(self.folder.join(self.file), bytes).context(self.file)
    }
}

impl Drop for MemoryGroup {
    #[expect(clippy::disallowed_methods, reason = "drop cannot await, and the test has ended")]
    fn drop(&mut self) {
        // A process that was killed may take a moment to end.
        for _ in 0..250 {
            if fs::remove_dir(&self.folder).is_ok() || !self.folder.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
