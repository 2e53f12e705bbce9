//! A plan inside the host: what other code, or another configuration, of a plugin that runs would write.

use super::accept::drops;
use super::candidate::{CandidateVersion, Granting};
use super::loading::{Load, Loader};
use super::lock;
use super::swapper::guest;
use crate::api::Selector;
use crate::controller::{Controller, Loaded, Preview, ReconcileKey};
use crate::informer::Object;
use crate::metrics::Metrics;
use crate::plugin::cache::Cache;
use crate::secrets::KnownSecrets;
use bytes::Bytes;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// The version to compare with the one that runs, and the objects. The host's own grant decides what the version may do.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PreviewRequest {
    /// The component. None: the code that runs.
    pub wasm: Option<Bytes>,
    /// The configuration. None: that of the grant.
    pub config: Option<BTreeMap<String, String>>,
    /// Only primaries in this namespace.
    pub namespace: Option<String>,
    /// Only primaries of these kinds. None: all.
    pub kinds: Vec<String>,
    /// Only primaries with these labels.
    pub selector: Option<String>,
    /// The time limit of all comparisons.
    pub limit: Duration,
}

/// Compares in a task, until the caller goes.
pub(super) fn begin(
    loader: &Loader,
    metrics: &Metrics,
    name: String,
    request: PreviewRequest,
    mut answer: oneshot::Sender<Result<String, String>>,
) {
    let (loader, metrics) = (loader.clone(), metrics.clone());
    tokio::spawn(async move {
        let done = tokio::select! {
            done = compare(&loader, &metrics, &name, request) => done,
            () = answer.closed() => return,
        };
        let _ = answer.send(done.map(|found| found.to_string()));
    });
}

/// The plugin that runs, for a comparison.
struct Running {
    load: Load,
    candidate: CandidateVersion,
    controller: Arc<Controller>,
    cache: Arc<Cache>,
    secrets: Arc<KnownSecrets>,
}

async fn compare(loader: &Loader, metrics: &Metrics, name: &str, request: PreviewRequest) -> Result<Value, String> {
    let until = Instant::now() + request.limit;
    let selector = request.selector.as_deref().map(Selector::bounded).transpose();
    let selector = selector.map_err(|fault| format!("the selector: {fault}"))?;
    let running = running(loader, name)?;
    let candidate = candidate(&running, request.wasm, request.config).await?;
    let Granting::Grant { grants, missing, .. } = &candidate.granting else {
        return Err(format!("plugin {name} has no grant"));
    };
    let version = &candidate.compiled.manifest.version;
    if !missing.is_empty() {
        return Err(format!(
            "version {version} asks for more than the grant in the host allows ({}): plan it without --host, with its new grant",
            missing.join("; ")
        ));
    }
    let drops = running.controller.current().and_then(|current| drops(&current, &candidate.manifest()));
    let drops = drops.map(|(what, objects)| json!({"what": what, "objects": objects}));
    let guest = guest(name, grants, (&running.cache, &running.secrets), &loader.http, metrics);
    let component = candidate.compiled.component.clone();
    let prepared = running.controller.prepare(Loaded { manifest: candidate.manifest(), component, guest });
    let preview = Preview::new(&running.controller, prepared);
    let (namespace, kinds) = (request.namespace, request.kinds);
    let selects = |key: &ReconcileKey, object: &Object| {
        namespace.as_ref().is_none_or(|namespace| **namespace == *key.key.namespace)
            && (kinds.is_empty() || kinds.iter().any(|kind| kind.eq_ignore_ascii_case(&key.kind.kind)))
            && selector.as_ref().is_none_or(|selector| selector.matches(|label| object.label(label)))
    };
    let mut found = preview.compare(selects, until).await?;
    tracing::info!(plugin = name, version, digest = candidate.digest(), "plan: compared with the version that runs");
    if let Some(found) = found.as_object_mut() {
        let of = |of: &CandidateVersion| json!({"version": of.compiled.manifest.version, "digest": format!("sha256:{}", of.digest())});
        found.insert("plugin".to_owned(), name.into());
        found.insert("running".to_owned(), of(&running.candidate));
        found.insert("planned".to_owned(), of(&candidate));
        found.insert("drops".to_owned(), drops.unwrap_or_default());
    }
    Ok(found)
}

fn running(loader: &Loader, name: &str) -> Result<Running, String> {
    let registry = lock(&loader.registry);
    let plugin = registry.plugins.get(name).ok_or_else(|| format!("plugin {name} does not run on this host"))?;
    let file = registry.files.get(&plugin.file).ok_or_else(|| format!("plugin {name} has no file"))?;
    let running = plugin.running.as_ref().ok_or_else(|| format!("no version of plugin {name} runs yet"))?;
    let found = file.found.clone();
    let load =
        Load { candidate: found.candidate, has_grant: found.grant.is_some(), running: None, loader: loader.clone() };
    Ok(Running {
        load,
        candidate: running.candidate.clone(),
        controller: Arc::clone(&plugin.controller),
        cache: Arc::clone(&plugin.cache),
        secrets: Arc::clone(&plugin.secrets),
    })
}

/// The version to compare, with the host's grant.
async fn candidate(
    running: &Running,
    wasm: Option<Bytes>,
    config: Option<BTreeMap<String, String>>,
) -> Result<CandidateVersion, String> {
    let mut compiled = match wasm {
        Some(wasm) => running.load.compile(wasm.into(), Instant::now()).await.map_err(|failed| failed.reason)?,
        None => running.candidate.compiled.clone(),
    };
    compiled.manifest.name = running.candidate.name().to_owned();
    let mut written = running.load.written().await?;
    if let (Some(grant), Some(config)) = (&mut written, config) {
        grant.config = config;
    }
    running.load.granted(compiled, written).await.map_err(|failed| failed.reason)
}
