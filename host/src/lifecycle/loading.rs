//! Loading of a plugin file: read, compile, describe, validate, and compare with its grant.

use super::candidate::{CandidateVersion, Compiled, Granting};
use super::object_versions::{ObjectVersion, ObjectVersions};
use super::registry::{Earlier, Registry, Task};
use super::saved_versions::{Saved, SavedVersions};
use super::{Message, lock};
use crate::api::{Discovery, GroupVersionKind};
use crate::controller::Shared;
use crate::grants::Grants;
use crate::metrics::Metrics;
use crate::oci::Puller;
use crate::plugin::directory::{Candidate, Found};
use crate::plugin::{Attachments, Definition, Engine, HttpGate, identity, inspect, load};
use data_encoding::HEXLOWER;
use oarlock_manifest::{Kind, PluginGrant, PluginManifest};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::mpsc;

/// Deadline of discovery for the plurals of kinds; without a response the host guesses them.
const DISCOVERY: Duration = Duration::from_secs(3);

/// How long a grant may be absent while it is replaced: longer than the directory takes to report that it is gone, which aborts the load.
const GRANT_ABSENCE: Duration = Duration::from_secs(1);

/// Starts the loads of files. Cheap to clone.
#[derive(Clone)]
pub(super) struct Loader {
    /// None: there are no saved versions.
    pub(super) saved: Option<SavedVersions>,
    /// The good versions that Plugin objects remember. None: there are no Plugin objects.
    pub(super) object_versions: Option<ObjectVersions>,
    /// Pulls versions of before. None: there is no registry.
    pub(super) puller: Option<Arc<Puller>>,
    /// Contains the code that is compiled already.
    pub(super) registry: Arc<Mutex<Registry>>,
    pub(super) resync_seconds: Option<u32>,
    pub(super) grant_what_is_asked: bool,
    pub(super) unstated_deadline_seconds: Option<u32>,
    pub(super) engine: Engine,
    pub(super) http: HttpGate,
    pub(super) shared: Shared,
    pub(super) messages: mpsc::UnboundedSender<Message>,
}

impl Loader {
    /// Loads the file's current content, or postpones that until the load of its earlier content ends.
    pub(super) fn load_now_or_next(&self, name: String, found: Found) {
        if let Some(file) = lock(&self.registry).files.get_mut(&name)
            && file.is_under_way()
            // A changed grant takes effect at once.
            && file.found.grant == found.grant
        {
            file.next = Some(found);
            return;
        }
        self.load(name, found);
    }

    /// Starts the postponed loads.
    pub(super) fn load_next(&self) {
        let next: Vec<_> = {
            let mut registry = lock(&self.registry);
            let files = registry.files.iter_mut().filter(|(_, file)| !file.is_under_way());
            files.filter_map(|(name, file)| Some((name.clone(), file.next.take()?))).collect()
        };
        for (name, found) in next {
            self.load(name, found);
        }
    }

    /// Loads the file's current content; an earlier load of the file is aborted.
    fn load(&self, name: String, found: Found) {
        let (candidate, has_grant) = (found.candidate.clone(), found.grant.is_some());
        let mut registry = lock(&self.registry);
        let running = registry.plugin_of(&name).and_then(|(_, plugin)| plugin.running.as_ref());
        let running = running.map(|running| running.candidate.clone());
        let file = registry.file_mut(&name, found);
        let generation = file.generation;
        let load = Load { candidate, has_grant, running, loader: self.clone() };
        let messages = self.messages.clone();
        let task = tokio::spawn(async move {
            let read = load.run().await.map(Box::new);
            // The send fails while the host stops.
            let _ = messages.send(Message::Loaded { file: name, generation, read });
        });
        file.task = Some(Task(task.abort_handle()));
    }
}

/// The input of a load.
pub(super) struct Load {
    pub(super) candidate: Candidate,
    /// Whether the directory has a grant beside the file.
    pub(super) has_grant: bool,
    /// The version that the file's plugin runs: the new grant also applies to it, even if the new code is unusable.
    pub(super) running: Option<CandidateVersion>,
    pub(super) loader: Loader,
}

/// The result of a load.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) candidate: CandidateVersion,
    /// The good version that an earlier host saved.
    pub(super) earlier: Option<Earlier>,
}

/// Why a load failed.
#[derive(Debug)]
pub(super) struct Failed {
    /// The plugin's name, when the load got that far.
    pub(super) name: Option<String>,
    pub(super) reason: String,
    /// The grant beside the file, for the running version.
    pub(super) granting: Option<Granting>,
}

impl Failed {
    fn new(name: Option<&str>, reason: String) -> Self {
        Self { name: name.map(str::to_owned), reason, granting: None }
    }
}

impl Load {
    async fn run(self) -> Result<Read, Failed> {
        let mut read = self.read().await;
        if let (Err(failed), Some(running)) = (&mut read, &self.running) {
            // An unusable grant is the reported failure itself, or the next one.
            let written = self.written().await;
            let compiled = &running.compiled;
            failed.granting = match written {
                // A grant with another name belongs to another plugin.
                Ok(grant)
                    if identity::name(&self.candidate, grant.as_ref(), &compiled.says).as_ref()
                        != Ok(&compiled.manifest.name) =>
                {
                    Some(Granting::Nothing)
                }
                Ok(grant) => self.granting(grant, compiled, &running.plurals).await.ok(),
                Err(_) => None,
            };
        }
        read
    }

    async fn read(&self) -> Result<Read, Failed> {
        let unnamed = |reason: String| Failed::new(None, reason);
        let pulled = self.candidate.pulled.as_ref();
        if let Some(pulled) = pulled
            && let Some(reason) = &pulled.refused
            // The previous good version runs until a better one is loaded.
            && (pulled.digest.is_none() || self.running.is_some())
        {
            return Err(unnamed(reason.clone()));
        }
        let began = tokio::time::Instant::now();
        let candidate = self.candidate.clone();
        let read = tokio::task::spawn_blocking(move || {
            let bytes = candidate.read()?;
            let digest = HEXLOWER.encode(&Sha256::digest(&bytes));
            Ok::<_, crate::plugin::directory::Error>((bytes, digest))
        });
        let (bytes, digest) = read.await.map_err(|e| unnamed(e.to_string()))?.map_err(|e| unnamed(crate::chain(&e)))?;
        if pulled.and_then(|pulled| pulled.digest.as_ref()).is_some_and(|wanted| *wanted != digest) {
            return Err(unnamed("the file that was pulled was changed since".to_owned()));
        }
        let known = lock(&self.loader.registry).compiled(&digest);
        let mut compiled = match known {
            Some(compiled) => compiled,
            None => self.compile(bytes, began).await?,
        };
        let written = self.written().await;
        let written = written.map_err(|reason| Failed::new(Some(&self.candidate.own_name()), reason))?;
        // Otherwise a file could choose the grant, the ServiceAccount and the finalizer of its code.
        let name = identity::name(&self.candidate, written.as_ref(), &compiled.says);
        compiled.manifest.name = name.map_err(|e| unnamed(e.to_string()))?;
        let manifest = &compiled.manifest;
        if *manifest.name != *compiled.says {
            let (plugin, says, file) = (&manifest.name, &compiled.says, &self.candidate.file_name);
            tracing::info!(plugin, says, file, "the manifest has another name: the name in the grant is used");
        }
        let candidate = self.granted(compiled, written.clone()).await?;
        let earlier = self.earlier(&candidate, written).await;
        Ok(Read { candidate, earlier })
    }

    /// The candidate with the grant.
    pub(super) async fn granted(
        &self,
        compiled: Compiled,
        written: Option<PluginGrant>,
    ) -> Result<CandidateVersion, Failed> {
        let manifest = &compiled.manifest;
        let discovery = self.loader.shared.writer.requests().discovery();
        let plurals = plurals(discovery, manifest, &compiled.definitions).await;
        let granting = self.granting(written, &compiled, &plurals).await;
        let granting = granting.map_err(|reason| Failed::new(Some(&manifest.name), reason))?;
        Ok(CandidateVersion { compiled, plurals: Arc::new(plurals), granting })
    }

    /// The good version of an earlier host, for a plugin that does not run yet.
    async fn earlier(&self, candidate: &CandidateVersion, written: Option<PluginGrant>) -> Option<Earlier> {
        let plugin = candidate.name().to_owned();
        if lock(&self.loader.registry).plugins.get(&plugin).is_some_and(|plugin| plugin.running.is_some()) {
            return None;
        }
        let (digest, config) = candidate.published();
        // Another configuration is another version where versions are rolled out.
        let rolls_out = matches!(&candidate.granting, Granting::Grant { grants, .. } if grants.rollout().is_some());
        let found = match self.saved(&plugin, &digest, rolls_out.then_some(config)).await {
            Some(saved) => saved?,
            None => self.remembered(&plugin, &digest).await?,
        };
        let written = match found.grant.and_then(|grant| serde_json::from_value::<PluginGrant>(grant).ok()) {
            Some(PluginGrant { config, secret_files, .. }) if rolls_out => {
                written.map(|written| PluginGrant { config, secret_files, ..written })
            }
            _ => written,
        };
        let compiled = self.compile(found.wasm, tokio::time::Instant::now()).await;
        let usable = match compiled {
            Ok(mut compiled) => {
                compiled.manifest.name.clone_from(&plugin);
                self.granted(compiled, written).await
            }
            Err(failed) => Err(failed),
        };
        match usable {
            Ok(earlier) if earlier.published() == candidate.published() => None,
            Ok(earlier) if matches!(&earlier.granting, Granting::Grant { missing, .. } if missing.is_empty()) => {
                Some(Earlier { candidate: earlier, rejected: found.rejected })
            }
            Ok(_) => None,
            Err(failed) => {
                tracing::warn!(plugin, reason = failed.reason, "the saved version cannot be used for a rollback");
                None
            }
        }
    }

    /// The good version on disk. None: the folder knows nothing about the plugin.
    ///
    /// * `config` - digest of the configuration, if another one is another version.
    async fn saved(&self, plugin: &str, digest: &str, config: Option<String>) -> Option<Option<Saved>> {
        let saved = self.loader.saved.clone()?;
        let (plugin, file, digest) = (plugin.to_owned(), self.candidate.file_name.clone(), digest.to_owned());
        let find = move || {
            let known = saved.knows(&plugin, &file);
            known.then(|| saved.earlier(&plugin, &file, (&digest, config.as_deref())))
        };
        tokio::task::spawn_blocking(find).await.ok()?
    }

    /// The good version of the Plugin object, pulled from its registry and saved. Waits until the objects are read: the plugin does not run
    /// before that in any case.
    async fn remembered(&self, plugin: &str, digest: &str) -> Option<Saved> {
        self.candidate.pulled.as_ref()?;
        let remembered = self.loader.object_versions.as_ref()?.get(plugin).await?;
        let ObjectVersion { digest: good, reference, rejected } = remembered;
        if good == digest {
            return None;
        }
        let wasm = match self.loader.pull(&reference, &good).await {
            Ok(wasm) => wasm,
            Err(reason) => {
                tracing::warn!(
                    plugin,
                    reference,
                    reason,
                    "the good version of the Plugin object cannot be pulled for a rollback"
                );
                return None;
            }
        };
        if let Some(saved) = self.loader.saved.clone() {
            let (plugin, file, wasm, rejected) =
                (plugin.to_owned(), self.candidate.file_name.clone(), wasm.clone(), rejected.clone());
            tokio::task::spawn_blocking(move || {
                let done = saved.good(&plugin, &file, &good, Some(wasm), true);
                let done = done.and_then(|()| match &rejected {
                    Some((digest, why)) => saved.rejected(&plugin, &file, (digest, None), why),
                    None => Ok(()),
                });
                if let Err(error) = done {
                    tracing::warn!(plugin, %error, "the good version could not be saved for a rollback after a restart");
                }
            });
        }
        tracing::info!(plugin, reference, "the good version comes from the Plugin object");
        let rejected = rejected.filter(|(rejected, _)| rejected == digest).map(|(_, why)| why);
        Some(Saved { wasm, grant: None, rejected })
    }

    pub(super) async fn compile(&self, bytes: Vec<u8>, began: tokio::time::Instant) -> Result<Compiled, Failed> {
        let file = &self.candidate.file_name;
        // Nobody needs figures of a call of describe, and their removal would look at the series of all plugins.
        let guest = inspect::describe_guest(&Metrics::new(), &self.loader.http, file);
        let read = tokio::task::spawn_blocking(move || (Attachments::read(&bytes), bytes)).await;
        let (attachments, bytes) = read.map_err(|e| Failed::new(None, e.to_string()))?;
        let described = load(&self.loader.engine, bytes, &guest).await;
        // What is wrong with the code comes first.
        let (component, mut manifest) = described.map_err(|e| Failed::new(None, crate::chain(&e)))?;
        let definitions = attachments.map_err(|e| Failed::new(None, e.to_string()))?.definitions.into();
        if let Some(seconds) = self.loader.resync_seconds {
            manifest.resync_seconds = seconds.max(1);
        }
        let duration_ms = crate::milliseconds(began.elapsed());
        let (from_cache, prepared_ms) = (component.from_cache, crate::milliseconds(component.prepared_in));
        let (says, version) = (manifest.name.clone(), &manifest.version);
        tracing::info!(plugin = says, version, file, duration_ms, prepared_ms, from_cache, "plugin loaded");
        Ok(Compiled { component, manifest, says, definitions })
    }

    /// The grant file beside the plugin.
    pub(super) async fn written(&self) -> Result<Option<PluginGrant>, String> {
        let absent = tokio::time::Instant::now() + GRANT_ABSENCE;
        loop {
            let grant = self.read_grant().await?;
            if grant.is_some() || !self.has_grant || tokio::time::Instant::now() >= absent {
                return Ok(grant);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn read_grant(&self) -> Result<Option<PluginGrant>, String> {
        let (candidate, unstated) = (self.candidate.clone(), self.loader.unstated_deadline_seconds);
        let read = tokio::task::spawn_blocking(move || {
            let mut grant = candidate.grant()?;
            if let (Some(grant), Some(seconds)) = (&mut grant, unstated)
                && !candidate.states_limit("deadlineSeconds")
            {
                grant.limits.deadline_seconds = seconds;
            }
            Ok::<_, crate::plugin::directory::Error>(grant)
        });
        read.await.map_err(|e| e.to_string())?.map_err(|e| crate::chain(&e))
    }

    /// The effective grant; without a grant file, `dev` grants everything in the manifest.
    async fn granting(
        &self,
        written: Option<PluginGrant>,
        compiled: &Compiled,
        plurals: &HashMap<Kind, String>,
    ) -> Result<Granting, String> {
        let manifest = &compiled.manifest;
        let plural = |kind: &Kind| plurals.get(kind).cloned();
        let path = self.candidate.grant_path();
        let mut grant: PluginGrant = match written {
            Some(grant) => grant,
            None if self.loader.grant_what_is_asked && self.candidate.pulled.is_none() => {
                tracing::warn!(
                    plugin = manifest.name,
                    "granted everything its manifest asks for, because there is no {}",
                    path.display()
                );
                let mut asked = Grants::asked(manifest, BTreeMap::new(), &plural);
                asked.definitions = compiled.definitions.iter().map(|one| one.name().to_owned()).collect();
                asked.limits.deadline_seconds =
                    self.loader.unstated_deadline_seconds.unwrap_or(asked.limits.deadline_seconds);
                asked
            }
            None => return Ok(Granting::Nothing),
        };
        if self.loader.resync_seconds.is_some() {
            grant.resync_seconds = self.loader.resync_seconds;
        }
        let folder = path.parent().unwrap_or_else(|| std::path::Path::new("."));
        let grants = Grants::new(&grant, folder).map_err(|e| format!("{}: {}", path.display(), crate::chain(&e)))?;
        let missing = grants.missing(manifest, &plural);
        Ok(Granting::Grant { grant: Box::new(grant), grants: Box::new(grants), missing })
    }
}

/// The plurals of the manifest's kinds, as far as the API server serves them, or the file has their definitions.
async fn plurals(
    discovery: &Discovery,
    manifest: &PluginManifest,
    definitions: &[Definition],
) -> HashMap<Kind, String> {
    let kinds = manifest.primaries.iter().map(|p| p.gvk()).chain(manifest.watches.iter().map(|w| w.gvk()));
    let (mut found, mut unknown) = (HashMap::new(), Vec::new());
    for kind in kinds {
        match definitions.iter().find_map(|definition| definition.plural_of(&kind)) {
            Some(plural) => drop(found.insert(kind, plural.to_owned())),
            None => unknown.push(kind),
        }
    }
    let ask = async {
        for kind in unknown {
            let gvk = GroupVersionKind::new(kind.group.clone(), kind.version.clone(), kind.kind.clone());
            if let Ok(Some(resource)) = discovery.resolve(&gvk).await {
                found.insert(kind, resource.plural.clone());
            }
        }
    };
    // Without a response the usual plurals apply.
    let _ = tokio::time::timeout(DISCOVERY, ask).await;
    found
}
