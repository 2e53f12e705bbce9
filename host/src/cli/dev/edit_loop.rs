//! The loop of `oarlock dev --watch`: a save, a build, the swap, the project's own tests.

use super::board::News;
use super::build;
use super::sources::{Sources, Stamps};
use crate::cli::folder::Folder;
use crate::cli::group::{Ended, Group};
use anyhow::Context as _;
use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::process::Command;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The host compiles a new version for at most this time before its tests begin: they then find its code in the cache.
const COMPILED_WITHIN: Duration = Duration::from_secs(120);

/// The parts of the loop.
pub(super) struct EditLoop {
    /// The project's folder.
    pub(super) project: PathBuf,
    /// The plugin directory of the host.
    pub(super) plugins: PathBuf,
    /// Where `make install` writes.
    pub(super) staging: Folder,
    /// The options of `oarlock test` about compilation.
    pub(super) compiling: Vec<OsString>,
    pub(super) news: mpsc::Sender<News>,
    /// The digests of versions that the host has compiled.
    pub(super) compiled: watch::Receiver<Vec<String>>,
    /// The sources of the last build that succeeded, at first those of the first build.
    pub(super) built_from: Option<Stamps>,
}

/// What interrupts a step.
enum Step<T> {
    Done(T),
    /// The sources have changed.
    Saved(Instant),
}

impl EditLoop {
    /// Runs until `stop`.
    ///
    /// # Errors
    ///
    /// The sources cannot be watched, or no command can be started.
    pub(super) async fn run(mut self, stop: CancellationToken) -> anyhow::Result<()> {
        let excluded = std::path::absolute(&self.plugins)?;
        let mut sources = Sources::new(self.project.clone(), vec![excluded]);
        tokio::select! {
            () = stop.cancelled() => Ok(()),
            ended = self.repeat(&mut sources) => ended,
        }
    }

    async fn repeat(&mut self, sources: &mut Sources) -> anyhow::Result<()> {
        let mut saved = Instant::now();
        loop {
            let built_from = sources.look()?;
            saved = match self.round(sources, &built_from, saved).await? {
                Step::Saved(again) => again,
                Step::Done(()) => sources.changed(&built_from).await?,
            };
        }
    }

    /// One build with all that follows.
    async fn round(&mut self, sources: &mut Sources, from: &Stamps, saved: Instant) -> anyhow::Result<Step<()>> {
        self.tell(News::Building).await;
        let began = Instant::now();
        clear(&self.staging.path)?;
        let saved_since = self.saved_since(from);
        let build = Group::start(build::command(&self.project, &self.staging.path, &saved_since)?)?;
        let ended = match unless_saved(sources, from, build).await? {
            Step::Saved(again) => return Ok(Step::Saved(again)),
            Step::Done(ended) => ended,
        };
        let took = began.elapsed();
        if !ended.success {
            self.tell(News::BuildFailed { took, output: ended.output }).await;
            return Ok(Step::Done(()));
        }
        self.built_from = Some(from.clone());
        // A save that was not noticed yet: what was built may have half of it.
        if sources.look()? != *from {
            return Ok(Step::Saved(Instant::now()));
        }
        let Prepared { plugin, digest, parts } = match prepare(&self.staging.path, &self.plugins) {
            Ok(prepared) => prepared,
            Err(error) => {
                self.tell(News::BuildFailed { took, output: format!("{error:#}") }).await;
                return Ok(Step::Done(()));
            }
        };
        // Before the host can see the file: the first reconcile on it is reported.
        self.tell(News::Built { took, saved, digest: digest.clone(), output: ended.output }).await;
        install(&parts)?;
        tokio::select! {
            changed = sources.changed(from) => return Ok(Step::Saved(changed?)),
            _ = tokio::time::timeout(COMPILED_WITHIN, self.compiled.wait_for(|all| all.contains(&digest))) => {}
        }
        for tests in ["cases", "scenarios"] {
            if !has_yaml(&self.project.join(tests)) {
                continue;
            }
            let group = Group::start(self.test(&plugin, tests)?)?;
            match unless_saved(sources, from, group).await? {
                Step::Saved(again) => return Ok(Step::Saved(again)),
                Step::Done(ended) => self.tell(News::Tested { tests, ended }).await,
            }
        }
        Ok(Step::Done(()))
    }

    /// Files that were saved since the last build that succeeded. make must not go by their times alone: what that build made is younger than
    /// a save that came while it ran.
    fn saved_since(&mut self, now: &Stamps) -> Vec<PathBuf> {
        let Self { project, built_from, .. } = self;
        let before = built_from.get_or_insert_with(|| now.clone());
        let saved = now.iter().filter(|(path, stamp)| before.get(*path) != Some(*stamp));
        saved.filter_map(|(path, _)| path.strip_prefix(&*project).ok()).map(Path::to_owned).collect()
    }

    /// The project's tests, by this same program: they end with the next save.
    fn test(&self, file: &Path, tests: &str) -> anyhow::Result<Command> {
        let oarlock = std::env::current_exe().context("the path of this program is unknown")?;
        let mut command = Command::new(oarlock);
        command.arg("test").arg(file).arg(format!("--{tests}")).arg(tests).args(&self.compiling);
        command.current_dir(&self.project).env("OARLOCK_LOG", "error");
        Ok(command)
    }

    async fn tell(&self, news: News) {
        // An error means that the host ends.
        let _ = self.news.send(news).await;
    }
}

/// Waits for the end of a command, or ends it at the next save.
async fn unless_saved(sources: &mut Sources, from: &Stamps, mut group: Group) -> anyhow::Result<Step<Ended>> {
    let saved = tokio::select! {
        biased;
        ended = group.ended() => return Ok(Step::Done(ended?)),
        saved = sources.changed(from) => saved,
    };
    group.end().await;
    Ok(Step::Saved(saved?))
}

/// What was built, beside its place in the plugin directory.
struct Prepared {
    /// The plugin file in the staging folder.
    plugin: PathBuf,
    /// Its SHA-256, in hex.
    digest: String,
    /// Hidden files in the plugin directory, and their later names: the grant before the plugin.
    parts: Vec<(PathBuf, PathBuf)>,
}

/// Copies what was built into the plugin directory, under hidden names: both folders may be on different file systems.
///
/// # Errors
///
/// `make install` did not write exactly one plugin, or the plugin directory cannot be written.
fn prepare(from: &Path, to: &Path) -> anyhow::Result<Prepared> {
    let (mut plugins, mut others) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let list =
            if path.extension().is_some_and(|extension| extension == "wasm") { &mut plugins } else { &mut others };
        list.push(path);
    }
    let [plugin] = plugins.as_slice() else {
        anyhow::bail!("make install DIR=… wrote {} .wasm files; --watch needs one", plugins.len());
    };
    let digest = HEXLOWER.encode(&Sha256::digest(fs::read(plugin)?));
    let mut parts = Vec::new();
    for path in others.iter().chain([plugin]) {
        let name = path.file_name().context("a file without a name")?;
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(".part");
        let part = to.join(hidden);
        fs::copy(path, &part).with_context(|| format!("cannot write {}", part.display()))?;
        parts.push((part, to.join(name)));
    }
    Ok(Prepared { plugin: plugin.clone(), digest, parts })
}

fn install(parts: &[(PathBuf, PathBuf)]) -> anyhow::Result<()> {
    for (part, file) in parts {
        fs::rename(part, file).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

fn clear(folder: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
    }
    Ok(())
}

fn has_yaml(folder: &Path) -> bool {
    let yaml = |path: PathBuf| path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
    fs::read_dir(folder).is_ok_and(|mut entries| entries.any(|entry| entry.is_ok_and(|entry| yaml(entry.path()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_one_plugin_is_installed_with_its_grant() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let error = prepare(from.path(), to.path()).err().unwrap().to_string();
        assert!(error.contains("wrote 0 .wasm files"), "{error}");
        fs::write(from.path().join("a.yaml"), "grant").unwrap();
        fs::write(from.path().join("a.wasm"), "abc").unwrap();
        let Prepared { plugin, digest, parts } = prepare(from.path(), to.path()).unwrap();
        assert_eq!(
            (plugin, &*digest),
            (from.path().join("a.wasm"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        );
        assert!(!to.path().join("a.wasm").exists());
        install(&parts).unwrap();
        let mut names: Vec<_> = fs::read_dir(to.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["a.wasm", "a.yaml"]);
        fs::write(from.path().join("b.wasm"), "abc").unwrap();
        assert!(prepare(from.path(), to.path()).is_err());
        clear(from.path()).unwrap();
        assert_eq!(fs::read_dir(from.path()).unwrap().count(), 0);
    }
}
