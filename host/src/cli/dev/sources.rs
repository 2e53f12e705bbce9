//! Watch of a project's sources: every file that its .gitignore does not name.
//!
//! inotify makes it fast. A slow poll makes it reliable, because notifications get lost (network file systems, a full queue, a limit of
//! watches). What decides is neither, but the state of the files.

use ignore::WalkBuilder;
use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Interval between two looks without a notification.
const POLL: Duration = Duration::from_secs(1);

/// A change is complete when nothing further has changed for this time: editors write several files, or one in several steps.
const SETTLED: Duration = Duration::from_millis(30);

/// Longest wait for that.
const UNSETTLED: Duration = Duration::from_millis(500);

/// Most files. A folder with more is hardly one project.
const FILES: usize = 20_000;

/// Folders of build output and packages, also where no .gitignore names them.
const OUTPUT: [&str; 4] = ["build", "target", "node_modules", "__pycache__"];

/// The state of the sources: modification time, size and inode of each file.
pub(super) type Stamps = BTreeMap<PathBuf, (i64, i64, u64, u64)>;

/// A watch of the sources of a project.
pub(super) struct Sources {
    folder: PathBuf,
    excluded: Vec<PathBuf>,
    wake: Arc<Notify>,
    watcher: Option<RecommendedWatcher>,
    warned: bool,
}

impl Sources {
    /// * `folder` - the project; absolute.
    /// * `excluded` - folders that are no sources, such as the directory of installed plugins; absolute.
    pub(super) fn new(folder: PathBuf, excluded: Vec<PathBuf>) -> Self {
        let wake = Arc::new(Notify::new());
        let told = Arc::clone(&wake);
        let handler = move |event: notify::Result<notify::Event>| {
            if event.map_or(true, |event| is_change(event.kind)) {
                told.notify_one();
            }
        };
        let watcher = RecommendedWatcher::new(handler, notify::Config::default());
        let watcher = watcher.inspect_err(|error| tracing::warn!(%error, "the sources are polled: no notifications"));
        Self { folder, excluded, wake, watcher: watcher.ok(), warned: false }
    }

    /// The present state of the sources.
    ///
    /// # Errors
    ///
    /// The folder has too many files.
    pub(super) fn look(&mut self) -> anyhow::Result<Stamps> {
        let mut stamps = Stamps::new();
        let excluded = self.excluded.clone();
        let walk = WalkBuilder::new(&self.folder)
            .require_git(false)
            .filter_entry(move |entry| !is_output(entry.path(), &excluded))
            .build();
        // What cannot be read now is found by the next look.
        for entry in walk.flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                self.watch(entry.path());
            } else {
                let stamp = (metadata.mtime(), metadata.mtime_nsec(), metadata.size(), metadata.ino());
                stamps.insert(entry.into_path(), stamp);
            }
            anyhow::ensure!(
                stamps.len() <= FILES,
                "{} has more than {FILES} files: name those that are no sources in .gitignore",
                self.folder.display()
            );
        }
        Ok(stamps)
    }

    /// Waits until the sources differ from `before`, and have settled. Returns when the change was noticed.
    ///
    /// # Errors
    ///
    /// See [`look`](Self::look).
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost: the next call compares with the state that it is given.
    pub(super) async fn changed(&mut self, before: &Stamps) -> anyhow::Result<Instant> {
        loop {
            let _quiet = tokio::time::timeout(POLL, self.wake.notified()).await;
            let noticed = Instant::now();
            while noticed.elapsed() < UNSETTLED && tokio::time::timeout(SETTLED, self.wake.notified()).await.is_ok() {}
            if self.look()? != *before {
                return Ok(noticed);
            }
        }
    }

    fn watch(&mut self, folder: &Path) {
        let Some(watcher) = &mut self.watcher else { return };
        // At each look: a folder that was deleted and made again has lost its watch.
        if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive)
            && !std::mem::replace(&mut self.warned, true)
        {
            tracing::warn!(%error, folder = %folder.display(), "sources are polled: no notifications");
        }
    }
}

/// Whether a path is build output, whatever .gitignore says.
fn is_output(path: &Path, excluded: &[PathBuf]) -> bool {
    let name = path.file_name().unwrap_or_default();
    OUTPUT.iter().any(|output| name == *output) || excluded.iter().any(|folder| path == folder)
}

/// Reading a file is an event, too, and no change.
fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn project() -> (tempfile::TempDir, Sources) {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("project");
        for (file, text) in
            [("src/lib.rs", "a"), (".gitignore", "/ignored\n"), ("Makefile", ""), ("ignored/x", ""), ("target/y", "")]
        {
            let file = at.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let sources = Sources::new(at.clone(), vec![at.join("plugins")]);
        (folder, sources)
    }

    #[tokio::test]
    async fn a_change_of_a_source_is_noticed_also_in_a_new_folder_and_by_rename() {
        let (folder, mut sources) = project();
        let at = folder.path().join("project");
        let mut before = sources.look().unwrap();
        let names = |stamps: &Stamps| -> Vec<String> {
            stamps.keys().map(|path| path.strip_prefix(&at).unwrap().display().to_string()).collect()
        };
        assert_eq!(names(&before), ["Makefile", "src/lib.rs"]);
        let changes: [&dyn Fn(); 4] = [
            &|| fs::write(at.join("src/lib.rs"), "b").unwrap(),
            &|| fs::create_dir(at.join("src/new")).and_then(|()| fs::write(at.join("src/new/a.rs"), "")).unwrap(),
            &|| {
                fs::write(at.join("src/.lib.rs.part"), "b").unwrap();
                fs::rename(at.join("src/.lib.rs.part"), at.join("src/lib.rs")).unwrap();
            },
            &|| fs::remove_file(at.join("src/new/a.rs")).unwrap(),
        ];
        for change in changes {
            change();
            sources.changed(&before).await.unwrap();
            let after = sources.look().unwrap();
            assert_ne!(after, before);
            before = after;
        }
    }

    #[test]
    fn build_output_and_what_gitignore_names_are_no_sources() {
        let (folder, mut sources) = project();
        let before = sources.look().unwrap();
        for file in
            ["ignored/z", "target/z", "plugins/a.wasm", ".git/HEAD", "node_modules/a/index.js", "src/.lib.rs.swp"]
        {
            let file = folder.path().join("project").join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "new").unwrap();
        }
        assert_eq!(sources.look().unwrap(), before);
    }
}
