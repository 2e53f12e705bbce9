//! A person goes back to a version that ran before.
//!
//! The code comes from the saved versions, or from its registry; the grant is the present one. The version in the file then counts as rolled
//! back, until the file changes or a person confirms it.

use super::accept::drops;
use super::actions::leads;
use super::candidate::{CandidateVersion, Granting};
use super::loading::{Load, Loader};
use super::registry::{FileState, Plugin, Registry, Running};
use super::saved_versions::{Revision, SavedVersions};
use super::{Lifecycle, Message, lock};
use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Begins the reason of a version that a person went back from.
pub(crate) const UNDONE: &str = "a person went back";

/// For how long a pull is begun again after faults that pass. The version in the file does not run meanwhile.
const PULL_RETRIES_FOR: Duration = Duration::from_secs(60);

/// Longest pause between two attempts, unless the registry states a longer one.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// The reason on a standby. It begins with [`UNDONE`], but the standby follows when the leader runs the version after all.
pub(crate) fn undone_on_the_leader() -> String {
    format!("{UNDONE} on the host that leads")
}

/// Where to go back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GoBack {
    /// To the version that ran before.
    Last,
    /// To a revision of this host.
    Revision(u64),
    /// To a version by the SHA-256 of its file, in hex, as a Plugin object asks for.
    Digest {
        /// The digest.
        digest: String,
        /// A reference with a digest in a registry that has the file, if this host does not.
        reference: Option<String>,
    },
}

impl GoBack {
    fn why(&self) -> String {
        match self {
            Self::Digest { .. } => format!("{UNDONE} with spec.undo of its Plugin object"),
            Self::Last | Self::Revision(_) => UNDONE.to_owned(),
        }
    }
}

/// The version to go back to, ready to run.
#[derive(Debug)]
pub(super) struct Ready {
    plugin: String,
    candidate: CandidateVersion,
    wasm: Vec<u8>,
    why: String,
}

/// What was found of a version to go back to.
#[derive(Debug)]
pub(super) struct Found {
    plugin: String,
    to: GoBack,
    /// The rollout that was aborted for it, in words.
    aborted: Option<String>,
    /// None: it runs already.
    ready: Option<Ready>,
}

type Answer = oneshot::Sender<Result<String, String>>;

impl Loader {
    /// Loads the version to go back to, in a task.
    ///
    /// * `aborted` - the rollout that was aborted for it, in words.
    fn go_back(&self, plugin: String, to: GoBack, aborted: Option<String>, mut answer: Answer) {
        let loader = self.clone();
        let by_object = matches!(to, GoBack::Digest { .. });
        tokio::spawn(async move {
            let loaded = tokio::select! {
                loaded = loader.load_earlier(plugin.clone(), to.clone()) => loaded,
                // The Plugin object wants another version by now. An undo on one host goes on if its client disconnects.
                () = answer.closed(), if by_object => return,
            };
            match loaded {
                Ok(ready) => {
                    let found = Box::new(Found { plugin, to, aborted, ready });
                    // The send fails while the host stops.
                    drop(loader.messages.send(Message::GoBack { found, answer }));
                }
                Err(why) => {
                    // The requesting client may have closed its connection.
                    let _ = answer.send(Err(but(aborted, why)));
                }
            }
        });
    }

    /// None: it runs already.
    async fn load_earlier(&self, plugin: String, to: GoBack) -> Result<Option<Ready>, String> {
        let (found, running) = {
            let registry = lock(&self.registry);
            let of = registry.plugins.get(&plugin).ok_or_else(|| format!("plugin {plugin} does not run"))?;
            let file = registry.files.get(&of.file).ok_or_else(|| format!("plugin {plugin} has no file"))?;
            let running = of.running.as_ref().ok_or_else(|| format!("no version of plugin {plugin} runs yet"))?;
            (file.found.clone(), running.candidate.clone())
        };
        let why = to.why();
        let Some((digest, wasm)) = self.find(&plugin, &to, running.digest()).await? else { return Ok(None) };
        let wasm = match (wasm, to) {
            (Some(wasm), _) => wasm,
            (None, GoBack::Digest { reference: Some(reference), .. }) => self.pull(&reference, &digest).await?,
            (None, _) => {
                return Err(format!(
                    "this host does not have the code of sha256:{digest} any more: put the file of that version in place"
                ));
            }
        };
        let load =
            Load { candidate: found.candidate, has_grant: found.grant.is_some(), running: None, loader: self.clone() };
        let mut compiled = load.compile(wasm.clone(), Instant::now()).await.map_err(|failed| failed.reason)?;
        compiled.manifest.name.clone_from(&plugin);
        let written = load.written().await?;
        let candidate = load.granted(compiled, written).await.map_err(|failed| failed.reason)?;
        match &candidate.granting {
            Granting::Grant { missing, .. } if missing.is_empty() => {}
            Granting::Grant { missing, .. } => {
                let version = &candidate.compiled.manifest.version;
                return Err(format!(
                    "version {version} asks for more than the present grant allows ({}): oarlock rollout history {plugin} \
                     --revision N prints the grant of then",
                    missing.join("; ")
                ));
            }
            Granting::Nothing => return Err(format!("plugin {plugin} has no grant")),
        }
        Ok(Some(Ready { plugin, candidate, wasm, why }))
    }

    /// The digest of the version to go back to, and its file, if it is saved. None: it runs already.
    async fn find(
        &self,
        plugin: &str,
        to: &GoBack,
        running: &str,
    ) -> Result<Option<(String, Option<Vec<u8>>)>, String> {
        if matches!(to, GoBack::Digest { digest, .. } if digest == running) {
            return Ok(None);
        }
        let Some(saved) = self.saved.clone() else {
            return Err("this host saves no versions: it runs without --cache-dir, or as oarlock dev".to_owned());
        };
        let (plugin, to, running) = (plugin.to_owned(), to.clone(), running.to_owned());
        let find = move || {
            let digest = match to {
                GoBack::Digest { digest, .. } => digest,
                GoBack::Last | GoBack::Revision(_) => chosen(&saved, &plugin, &to, &running)?.digest,
            };
            if digest == running {
                return Ok(None);
            }
            let wasm = saved.code(&plugin, &digest);
            Ok(Some((digest, wasm)))
        };
        tokio::task::spawn_blocking(find).await.map_err(|error| error.to_string())?
    }

    /// The file of a version in a registry. After faults that pass it pulls again, and begins no attempt after [`PULL_RETRIES_FOR`].
    ///
    /// * `digest` - SHA-256 of the file, in hex.
    pub(super) async fn pull(&self, reference: &str, digest: &str) -> Result<Vec<u8>, String> {
        let Some(puller) = self.puller.clone() else {
            return Err(format!("this host cannot pull {reference}, and does not have the code"));
        };
        let reference: crate::oci::Reference = reference.parse()?;
        let (until, mut pause) = (Instant::now() + PULL_RETRIES_FOR, Duration::from_secs(1));
        let content = loop {
            let error = match puller.pull(&reference).await {
                Ok(content) => break content,
                Err(error) => error,
            };
            let again = Instant::now() + pause.max(error.retry_after().unwrap_or_default());
            if !error.passes() || again >= until {
                return Err(crate::chain(&error));
            }
            tracing::warn!(%reference, reason = crate::chain(&error), "an earlier version is not pulled, retrying");
            tokio::time::sleep_until(again).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        };
        let read = tokio::task::spawn_blocking(move || std::fs::read(content.path)).await;
        let wasm = read.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        if HEXLOWER.encode(&Sha256::digest(&wasm)) != digest {
            return Err(format!("{reference} is not the version sha256:{digest}"));
        }
        Ok(wasm)
    }
}

/// Why there is no way back, after what was done for it.
fn but(aborted: Option<String>, why: String) -> String {
    aborted.map(|aborted| format!("{aborted}, but {why}")).unwrap_or(why)
}

fn chosen(saved: &SavedVersions, plugin: &str, to: &GoBack, running: &str) -> Result<Revision, String> {
    let mut all = saved.revisions(plugin).into_iter();
    let (found, what) = match to {
        GoBack::Revision(number) => (all.find(|one| one.revision == *number), format!("no revision {number}")),
        _ => (all.find(|one| one.digest != running), "no earlier revision".to_owned()),
    };
    found.ok_or_else(|| format!("{what} of plugin {plugin} is saved; oarlock rollout history {plugin} lists them"))
}

/// The revisions of a plugin, as a JSON list.
pub(super) fn history(saved: Option<SavedVersions>, plugin: String, answer: Answer) {
    tokio::task::spawn_blocking(move || {
        let all = saved.map(|saved| saved.revisions(&plugin)).unwrap_or_default();
        let done = match serde_json::to_string(&all) {
            Ok(_) if all.is_empty() => Err(format!("this host has no revisions of plugin {plugin}")),
            Ok(text) => Ok(text),
            Err(error) => Err(error.to_string()),
        };
        let _ = answer.send(done);
    });
}

impl Lifecycle {
    /// Goes back. If the newest version is rolled out, that ends first.
    pub(super) fn begin_to_go_back(&self, name: String, to: GoBack, answer: Answer) {
        // There may be no such revision, or the grant does not suffice for it: then the rollout goes on.
        let aborted = if matches!(to, GoBack::Revision(_)) { Ok(None) } else { self.abort_rollout(&name, &to, None) };
        match aborted {
            // The version that runs is the one before the candidate.
            Ok(Some(aborted)) if to == GoBack::Last => drop(answer.send(Ok(aborted))),
            Ok(aborted) => self.loader.go_back(name, to, aborted, answer),
            Err(why) => drop(answer.send(Err(why))),
        }
    }

    /// Aborts the rollout of the newest version. Returns a line for people; none: it is not rolled out.
    ///
    /// * `earlier` - the version to go back to, if it is loaded. The rollout goes on if there is no way back to it.
    fn abort_rollout(
        &self,
        name: &str,
        to: &GoBack,
        earlier: Option<&CandidateVersion>,
    ) -> Result<Option<String>, String> {
        let mut registry = lock(&self.registry);
        let Some(plugin) = registry.plugins.get(name) else { return Ok(None) };
        let Some(FileState::RollingOut(candidate)) = registry.files.get(&plugin.file).map(|file| &file.file_state)
        else {
            return Ok(None);
        };
        // Every host obeys a Plugin object. Else a standby would decide about its own copy of the rollout only.
        if !matches!(to, GoBack::Digest { .. }) {
            let runs_the_same = |running: &Running| running.candidate.digest() == candidate.digest();
            if plugin.running.as_ref().is_some_and(runs_the_same) {
                return Err(format!(
                    "a configuration of plugin {name} is rolled out, and an undo is about code: oarlock rollout abort {name}"
                ));
            }
            leads(&registry, name)?;
        }
        if let Some(earlier) = earlier {
            if earlier.digest() == candidate.digest() {
                let version = &earlier.compiled.manifest.version;
                return Err(format!(
                    "version {version} of plugin {name} is rolled out now: oarlock rollout promote {name} ends its steps"
                ));
            }
            drops_nothing(plugin, earlier)?;
        }
        let version = self.swapper.abort(&mut registry, name, &to.why())?;
        Ok(Some(format!("rollout of version {version} of plugin {name} aborted")))
    }

    /// Opens the watches of the version to go back to, which becomes current when they are in sync.
    pub(super) fn go_back(&mut self, found: Found, answer: Answer) {
        let Found { plugin, to, mut aborted, ready } = found;
        if matches!(to, GoBack::Revision(_)) {
            match self.abort_rollout(&plugin, &to, ready.as_ref().map(|ready| &ready.candidate)) {
                Ok(now) => aborted = now,
                Err(why) => return drop(answer.send(Err(why))),
            }
        }
        let Some(ready) = ready else {
            let done = aborted.ok_or_else(|| format!("plugin {plugin} runs this version already"));
            return drop(answer.send(done));
        };
        match self.try_to_go_back(ready) {
            // The answer comes after the record, so that a restart of the host keeps an answered undo.
            Ok((done, record)) => drop(tokio::task::spawn_blocking(move || {
                record();
                // The requesting client may have closed its connection.
                let _ = answer.send(Ok(done));
            })),
            Err(why) => drop(answer.send(Err(but(aborted, why)))),
        }
    }

    /// Returns the answer, and what records the return for a restart.
    fn try_to_go_back(&mut self, ready: Ready) -> Result<(String, impl FnOnce() + Send + use<>), String> {
        let Ready { plugin: name, candidate, wasm, why } = ready;
        let mut registry = lock(&self.registry);
        let (file_name, from) = undone(&registry, &name, &candidate)?;
        let Some(plugin) = registry.plugins.get_mut(&name) else { return Err(format!("plugin {name} has ended")) };
        let (from_version, to_version) =
            (from.compiled.manifest.version.clone(), candidate.compiled.manifest.version.clone());
        let Some(version) = self.swapper.prepare(plugin, &candidate) else {
            return Err(format!("plugin {name} has no grant"));
        };
        let (task, installation) = self.swapper.when_synced(&plugin.controller, &candidate, &version);
        let saved = self.swapper.saved.clone();
        let of = (name.clone(), file_name.clone(), from.digest().to_owned(), why.clone());
        let record = move || {
            let (plugin, file, from, why) = of;
            if let Some(Err(error)) = saved.map(|saved| saved.undone(&plugin, &file, &from, &why, &wasm)) {
                tracing::warn!(plugin, %error, "the return could not be recorded for a restart");
            }
        };
        if let Some(file) = registry.files.get_mut(&file_name) {
            file.confirmed = None;
            file.refused = Some((from, why.clone()));
            file.file_state = FileState::Syncing { candidate, version, installation };
            file.task = Some(task);
        }
        drop(registry);
        tracing::warn!(plugin = name, from = from_version, to = to_version, why, "version rolled back");
        let message = format!("version {from_version} of plugin {name} was rolled back to {to_version}: {why}");
        self.events.record(&name, false, "RolledBack", message);
        Ok((format!("plugin {name} goes back from version {from_version} to version {to_version}"), record))
    }
}

/// The plugin's file, and its newest version, which counts as rolled back from now on.
fn undone(registry: &Registry, name: &str, to: &CandidateVersion) -> Result<(String, CandidateVersion), String> {
    let plugin = registry.plugins.get(name).ok_or_else(|| format!("plugin {name} does not run"))?;
    let file = registry.files.get(&plugin.file).ok_or_else(|| format!("plugin {name} has no file"))?;
    let newest = match &file.file_state {
        FileState::Runs(candidate) | FileState::Blocked { candidate, .. } => candidate.clone(),
        FileState::Compiling | FileState::Syncing { .. } => {
            return Err(format!("a new version of plugin {name} is on its way: try again in some seconds"));
        }
        FileState::RollingOut(candidate) => {
            let version = &candidate.compiled.manifest.version;
            return Err(format!(
                "version {version} of plugin {name} is rolled out: oarlock rollout abort {name} first"
            ));
        }
        FileState::Failed { .. } => {
            return Err(format!(
                "the newest file of plugin {name} cannot run: put the file of the earlier version in place"
            ));
        }
    };
    if newest.digest() == to.digest() {
        return Err(format!("the file of plugin {name} has this version: oarlock confirm {name} runs it again"));
    }
    drops_nothing(plugin, to)?;
    Ok((plugin.file.clone(), newest))
}

/// Checks that a version to go back to drops no kind and no cleanup of the version that runs: that needs a confirmation.
fn drops_nothing(plugin: &Plugin, to: &CandidateVersion) -> Result<(), String> {
    let dropped = plugin.controller.current().and_then(|current| drops(&current, &to.manifest()));
    dropped.map_or(Ok(()), |(what, objects)| {
        let version = &to.compiled.manifest.version;
        Err(format!(
            "version {version} drops {what}, and {objects} objects depend on it: put its file in place and confirm it"
        ))
    })
}
