//! Inspection of a plugin file, for people and machines, without running it against a cluster.

use super::engine::Engine;
use super::instance::Guest;
use super::load::{LoadError, load};
use super::{AttachmentError, Attachments, HttpGate, cache::Cache};
use crate::grants::Grants;
use oarlock_manifest::{PluginGrant, PluginManifest};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A guest without permissions: enough to call describe.
#[must_use]
pub fn describe_guest(metrics: &crate::metrics::Metrics, http: &HttpGate, name: &str) -> Guest {
    Guest {
        plugin: name.to_owned(),
        grants: Arc::new(Grants::none()),
        cache: Arc::new(Cache::default()),
        secrets: Arc::default(),
        http: http.clone(),
        metrics: metrics.plugin(name),
    }
}

/// Loads a plugin and describes it: name, version, contract (the file's and this host's), digest, size, imports, exports, manifest,
/// attachments.
///
/// * `file` - the file name, for messages.
///
/// # Errors
///
/// [`InspectError`]: the file is no plugin.
pub async fn inspect(engine: &Engine, file: &str, bytes: Vec<u8>) -> Result<Value, InspectError> {
    let guest = describe_guest(&crate::metrics::Metrics::new(), &HttpGate::new(), file);
    // What is wrong with the code comes first.
    let attachments = Attachments::read(&bytes);
    let (component, manifest) = load(engine, bytes, &guest).await?;
    let attachments = attachments?;
    let definitions = attachments.definitions.iter();
    let definitions: Vec<Value> =
        definitions.map(|one| json!({"name": one.name(), "versions": one.versions()})).collect();
    Ok(json!({
        "file": file,
        "name": manifest.name,
        "version": manifest.version,
        "contract": component.contract,
        "contractServed": super::load::CONTRACT_VERSION,
        "digest": format!("sha256:{}", component.digest),
        "sizeBytes": component.size_bytes,
        "imports": component.imports,
        "exports": component.exports,
        "manifest": manifest,
        "definitions": definitions,
        "defaultGrant": attachments.grant,
        "documentation": attachments.documentation,
    }))
}

/// Loads a plugin for its manifest alone.
///
/// * `file` - the file name, for messages.
///
/// # Errors
///
/// [`InspectError`]: the file is no plugin.
pub async fn manifest(engine: &Engine, file: &str, bytes: Vec<u8>) -> Result<PluginManifest, InspectError> {
    let guest = describe_guest(&crate::metrics::Metrics::new(), &HttpGate::new(), file);
    Ok(load(engine, bytes, &guest).await.map(|(_, manifest)| manifest)?)
}

/// Why a file cannot be inspected: it is no plugin.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The code is that of no plugin.
    #[error("not a plugin")]
    Load(#[from] LoadError),
    /// The attachments are invalid.
    #[error("not a plugin")]
    Attachments(#[from] AttachmentError),
}

/// The grant file for a manifest, as YAML, with comments on the values to fill in.
///
/// * `definitions` - names of the definitions in the file.
#[must_use]
pub fn grant_yaml(manifest: &PluginManifest, definitions: Vec<String>) -> String {
    let mut grant = PluginGrant { definitions, ..Grants::asked(manifest, BTreeMap::new(), &|_| None) };
    let asked = manifest.config.as_ref().and_then(|c| c.get("properties")).and_then(Value::as_object);
    for key in asked.into_iter().flat_map(|p| p.keys()) {
        grant.config.insert(key.clone(), String::new());
    }
    let mut text = format!(
        "# What plugin {} {} may do. Nothing is allowed that is not said here. Read it, fill in the configuration\n\
         # (remove what is not needed), and keep it as {}.yaml beside the plugin, {}.wasm. Plurals of watched kinds are guessed:\n\
         # kubectl api-resources knows them.\n",
        manifest.name,
        crate::one_line(&manifest.version),
        manifest.name,
        manifest.name
    );
    if !manifest.http.origins_from_config.is_empty() {
        text.push_str(&format!(
            "# http.origins also needs the origins (scheme://host:port) of: {}\n",
            manifest.http.origins_from_config.join(", ")
        ));
    }
    match serde_saphyr::to_string(&grant) {
        Ok(yaml) => text.push_str(&yaml),
        Err(e) => text.push_str(&format!("# the grant could not be written: {e}\n")),
    }
    text
}
