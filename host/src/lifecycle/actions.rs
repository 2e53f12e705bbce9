//! Actions that people request, such as to confirm a version, to promote a rollout, or to pause a plugin.

use super::candidate::CandidateVersion;
use super::preview::PreviewRequest;
use super::registry::{BlockedReason, FileState, Registry, State};
use super::undo::GoBack;
use super::{Lifecycle, lock};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::{Finalizers, WriteIdentity};
use crate::controller::{Controller, Pauses};
use crate::grants::Grants;
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;

/// A version of a plugin that does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingVersion {
    /// The plugin.
    pub plugin: String,
    /// `sha256:…`, of its code.
    pub digest: String,
    /// Of its configuration. None: any.
    pub config: Option<String>,
}

impl WaitingVersion {
    /// The newest contents of files that wait or are rolled out, of this plugin.
    fn waiting<'r>(&self, registry: &'r Registry) -> impl Iterator<Item = (&'r CandidateVersion, &'r FileState)> {
        let states = registry.files.values().map(|file| &file.file_state);
        let waiting = states.filter(|state| !matches!(state, FileState::Runs(_)));
        let candidates = waiting.filter_map(|state| Some((state.candidate()?, state)));
        candidates.filter(move |(candidate, _)| candidate.name() == self.plugin)
    }

    fn is_code_of(&self, candidate: &CandidateVersion) -> bool {
        candidate.digest() == self.digest.strip_prefix("sha256:").unwrap_or(&self.digest)
    }

    fn is_there(&self, registry: &Registry) -> bool {
        self.waiting(registry).any(|(candidate, _)| {
            self.is_code_of(candidate) && self.config.as_ref().is_none_or(|of| *of == candidate.published().1)
        })
    }

    /// Says that the version is not there, and which one is.
    fn refusal(&self, registry: &Registry) -> String {
        let (asked, plugin) = (crate::quoted(&self.digest, 100), &self.plugin);
        // Of several files with one name, one may be rolled out.
        let there = self.waiting(registry).max_by_key(|(_, state)| matches!(state, FileState::RollingOut(_)));
        let Some((candidate, state)) = there else {
            return format!(
                "version {asked} of plugin {plugin} neither waits nor is rolled out, and no other one does"
            );
        };
        let (version, digest) = (&candidate.compiled.manifest.version, candidate.digest());
        let now = match state {
            FileState::RollingOut(_) => "is rolled out now",
            FileState::Blocked { why: BlockedReason::RolledBack(_), .. } => "was rolled back",
            _ => "waits now",
        };
        let (this, other) =
            if self.is_code_of(candidate) { (" with this configuration", " with another one") } else { ("", "") };
        format!(
            "version {asked} of plugin {plugin} neither waits nor is rolled out{this}: version {version} (sha256:{digest}) \
             {now}{other}"
        )
    }
}

/// An action on a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// An action about one version: none, if another version has taken its place meanwhile.
    About(WaitingVersion, Box<Self>),
    /// Run the version that waits for confirmation because it drops features, or that was rolled back, or end the conversions of a plugin that was removed.
    Confirm(String),
    /// Let a rollout go on after its plan; with the id of the plan that the person saw.
    Approve(String, Option<String>),
    /// End the steps of a rollout: its version runs.
    Promote(String),
    /// Abort a rollout, for a reason.
    Abort(String, String),
    /// Abort a rollout on a standby, because the host that leads aborted it.
    FollowAbort(String, String),
    /// Go back to a version that ran before.
    GoBack(String, GoBack),
    /// The versions that ran, as a JSON list of revisions.
    History(String),
    /// Compare what another version would write with what the version that runs would write, as JSON.
    Plan(String, Box<PreviewRequest>),
    /// Start no further reconcile of a plugin on this host.
    Pause(String),
    /// End that pause.
    Resume(String),
    /// Reconcile all objects of a plugin now, or one: by its kind as for kubectl, and its name.
    Reconcile(String, Option<(String, ObjectKey)>),
    /// Remove the plugin's finalizer from every object that no version of the plugin cleans up any more.
    ReleaseFinalizers(String),
}

impl Lifecycle {
    /// Carries out an action, or begins to.
    pub(super) fn act(&mut self, action: Action, answer: oneshot::Sender<Result<String, String>>) {
        match action {
            Action::About(version, action) => {
                let refusal = {
                    let registry = lock(&self.registry);
                    (!version.is_there(&registry)).then(|| version.refusal(&registry))
                };
                let Some(refusal) = refusal else { return self.act(*action, answer) };
                let _ = answer.send(Err(refusal));
            }
            Action::Confirm(name) if lock(&self.registry).ended_converters.contains_key(&name) => {
                let _ = answer.send(super::conversions::confirm_end(&mut lock(&self.registry), &name));
            }
            Action::Confirm(name) => {
                let confirmed = confirm(&mut lock(&self.registry), &name);
                let done = confirmed.map(|(file, said)| {
                    self.swapper.forgive(&name);
                    self.evaluate(&file);
                    said
                });
                // The requesting client may have closed its connection.
                let _ = answer.send(done);
            }
            Action::Approve(name, plan) => {
                let controller = lock(&self.registry).plugins.get(&name).map(|plugin| Arc::clone(&plugin.controller));
                // It may ask the API server.
                tokio::spawn(async move {
                    let _ = answer.send(approve(controller, &name, plan.as_deref()).await);
                });
            }
            Action::Promote(name) => {
                let mut registry = lock(&self.registry);
                let promoted = leads(&registry, &name).and_then(|()| self.swapper.promote(&mut registry, &name, true));
                let _ = answer.send(promoted.map(|version| format!("version {version} of plugin {name} promoted")));
            }
            Action::Abort(name, why) => {
                let mut registry = lock(&self.registry);
                let aborted = leads(&registry, &name).and_then(|()| self.swapper.abort(&mut registry, &name, &why));
                let said = |version| format!("rollout of version {version} of plugin {name} aborted");
                let _ = answer.send(aborted.map(said));
            }
            Action::FollowAbort(name, why) => {
                let aborted = self.swapper.abort(&mut lock(&self.registry), &name, &why);
                let said = |version| format!("rollout of version {version} of plugin {name} aborted");
                let _ = answer.send(aborted.map(said));
            }
            Action::Pause(name) => {
                let _ = answer.send(set_paused(&lock(&self.registry), &self.shared.pauses, &name, true));
            }
            Action::Resume(name) => {
                let _ = answer.send(set_paused(&lock(&self.registry), &self.shared.pauses, &name, false));
            }
            Action::Reconcile(name, object) => {
                let controller = lock(&self.registry).plugins.get(&name).map(|plugin| Arc::clone(&plugin.controller));
                let unknown = || Err(format!("no plugin {name} runs on this host: oarlock plugins lists them"));
                let object = object.as_ref().map(|(kind, key)| (kind.as_str(), key));
                let _ = answer.send(controller.map_or_else(unknown, |controller| controller.reconcile_now(object)));
            }
            Action::GoBack(name, to) => self.begin_to_go_back(name, to, answer),
            Action::Plan(name, request) => {
                super::preview::begin(&self.loader, &self.shared.metrics, name, *request, answer)
            }
            Action::History(name) => super::undo::history(self.swapper.saved.clone(), name, answer),
            Action::ReleaseFinalizers(name) => {
                let finalizers = self.shared.writer.finalizers().clone();
                release_finalizers(Arc::clone(&self.registry), finalizers, name, answer);
            }
        }
    }
}

/// Checks that this host reconciles for a plugin: a standby would decide about its own copy of a rollout only.
pub(super) fn leads(registry: &Registry, name: &str) -> Result<(), String> {
    registry.plugins.get(name).map_or(Ok(()), |plugin| plugin.controller.leads_or_why())
}

/// Lets a rollout go on after its plan. Returns a line for people.
///
/// * `plan` - the plan that the person saw. None: the present one.
async fn approve(controller: Option<Arc<Controller>>, name: &str, plan: Option<&str>) -> Result<String, String> {
    let approved = match (controller, plan) {
        (None, _) => None,
        (Some(controller), Some(plan)) => controller.approve_plan(plan).await?,
        (Some(controller), None) => controller.approve_rollout().then(String::new),
    };
    let said = approved.ok_or_else(|| format!("no rollout of plugin {name} waits for an approval"))?;
    Ok(format!("the rollout of plugin {name} goes on{said}"))
}

/// Marks the version that waits for a confirmation as confirmed. Returns its file, and a line for people.
fn confirm(registry: &mut Registry, name: &str) -> Result<(String, String), String> {
    if let Some(plugin) = registry.plugins.get(name)
        && plugin.controller.approve_rollout()
    {
        return Ok((plugin.file.clone(), format!("the rollout of plugin {name} goes on")));
    }
    let file = registry.files.iter_mut().find_map(|(file_name, file)| match &file.file_state {
        FileState::Blocked { candidate, why: BlockedReason::Confirmation { drops, .. } }
            if candidate.name() == name =>
        {
            let said = format!("version {} of plugin {name} may drop {drops}", candidate.compiled.manifest.version);
            file.confirmed = Some(candidate.clone());
            Some((file_name.clone(), said))
        }
        FileState::Blocked { candidate, why: BlockedReason::RolledBack(_) } if candidate.name() == name => {
            let said = format!("version {} of plugin {name} runs again", candidate.compiled.manifest.version);
            file.confirmed = Some(candidate.clone());
            Some((file_name.clone(), said))
        }
        _ => None,
    });
    let confirmed = file.as_ref().and_then(|(file_name, _)| registry.files.get(file_name)?.confirmed.as_ref());
    let digest = confirmed.map(|confirmed| confirmed.digest().to_owned());
    if let Some(plugin) = registry.plugins.get_mut(name) {
        // It may run, whatever its grant will be.
        plugin.rejected.take_if(|(rejected, _)| Some(rejected.digest()) == digest.as_deref());
    }
    file.ok_or_else(|| {
        format!("no version of plugin {name} waits for a confirmation or an approval, or was rolled back")
    })
}

/// Pauses a plugin on this host, or ends that pause. Returns a line for people.
fn set_paused(registry: &Registry, pauses: &Pauses, name: &str, pause: bool) -> Result<String, String> {
    if !registry.plugins.contains_key(name) {
        return Err(format!("no plugin {name} runs on this host: oarlock plugins lists them"));
    }
    if pause {
        pauses.pause(name);
        return Ok(format!("plugin {name} is paused on this host, until oarlock resume {name} or the end of the host"));
    }
    let ended = pauses.resume(name);
    match pauses.why(name) {
        Some(why) => Err(format!("plugin {name} stays paused: {why}; oarlock resume Plugin NAMESPACE/{name}")),
        None if ended => Ok(format!("plugin {name} resumed on this host")),
        None => Ok(format!("plugin {name} is not paused on this host")),
    }
}

/// Removes the plugin's finalizer from the objects that no version of the plugin cleans up any more, in a task that answers at its end.
fn release_finalizers(
    registry: Arc<Mutex<Registry>>,
    finalizers: Finalizers,
    name: String,
    answer: oneshot::Sender<Result<String, String>>,
) {
    let kinds = match kinds_to_release(&lock(&registry), &name) {
        Ok(kinds) => kinds,
        Err(why) => {
            let _ = answer.send(Err(why));
            return;
        }
    };
    tokio::spawn(async move {
        let write_identity = WriteIdentity::new(&name, Arc::new(Grants::none()));
        let mut released = 0;
        for kind in &kinds {
            // The plugin's file may be put back at any time; from then on the plugin owns its objects again.
            let is_back = || match lock(&registry).plugins.get(&name) {
                None => false,
                Some(plugin) => plugin.controller.current().is_none_or(|version| version.cleans_up(kind)),
            };
            match finalizers.release(&write_identity, kind, &is_back).await {
                Ok(objects) => released += objects,
                Err(e) => {
                    let _ =
                        answer.send(Err(format!("finalizers of {released} objects released, then {kind} failed: {e}")));
                    return;
                }
            }
            let mut registry = lock(&registry);
            if let Some(removed) = registry.removed_plugins.get_mut(&name) {
                removed.held.remove(kind);
            }
            if let Some(plugin) = registry.plugins.get_mut(&name) {
                plugin.left_behind.remove(kind);
            }
            registry.removed_plugins.retain(|_, removed| removed.state != State::Retired || !removed.held.is_empty());
        }
        tracing::info!(plugin = name, objects = released, "finalizers released");
        let _ = answer.send(Ok(format!("finalizer {} released from {released} objects", write_identity.finalizer())));
    });
}

fn kinds_to_release(registry: &Registry, name: &str) -> Result<Vec<GroupVersionKind>, String> {
    if let Some(plugin) = registry.plugins.get(name) {
        let served = plugin.controller.current();
        let serves = |kind: &GroupVersionKind| served.as_ref().is_some_and(|version| version.cleans_up(kind));
        let kinds: Vec<_> = plugin.left_behind.iter().filter(|kind| !serves(kind)).cloned().collect();
        if kinds.is_empty() {
            return Err(format!(
                "plugin {name} runs and cleans up after its objects itself: delete them, or remove its file first"
            ));
        }
        return Ok(kinds);
    }
    match registry.removed_plugins.get(name) {
        Some(removed) if removed.state == State::Retired => Ok(removed.held.keys().cloned().collect()),
        Some(_) => Err(format!("plugin {name} is still draining: try again in some seconds")),
        None => Err(format!(
            "no plugin {name} left finalizers that this host knows of; the finalizer of another host, oarlock.dev/{name}, can be removed \
             by hand"
        )),
    }
}
