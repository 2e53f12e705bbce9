//! The plugin that scenarios play: its versions, its grant, and the keys of its configuration.

use super::super::super::compiling::Compiling;
use super::super::super::folder::Folder;
use anyhow::{Context as _, ensure};
use oarlock::oci;
use oarlock::plugin::directory::read_grant;
use oarlock::plugin::{Attachments, Engine, EngineOptions, inspect};
use oarlock_manifest::{PluginGrant, PluginManifest};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The plugin of all scenarios. Its code is in the cache of the engine.
pub(in crate::cli) struct Plugin {
    pub(super) file: PathBuf,
    pub(in crate::cli) manifest: PluginManifest,
    /// None: what the manifest asks for.
    pub(super) grant: Option<PluginGrant>,
    /// The names of the definitions in the file.
    pub(super) definitions: Vec<String>,
    /// The keys of the configuration, of all versions. None: a version does not say which ones it has.
    pub(super) keys: Option<BTreeSet<String>>,
    pub(super) engine: Engine,
    pub(super) seed: u64,
    pub(super) limit: Duration,
    pub(super) update: bool,
    /// The files of `swap` steps; of no path, the plugin itself as two versions that take turns.
    pub(super) swaps: BTreeMap<Option<PathBuf>, Vec<Vec<u8>>>,
    /// The code cache of a plugin that has none elsewhere.
    _own: Folder,
}

impl Plugin {
    /// Compiles a plugin, with limits and in real time, and reads its manifest.
    ///
    /// * `swaps` - the files that take over in scenarios, compiled as well; None is the plugin itself. Each with its place for errors, or
    ///   nothing.
    ///
    /// # Errors
    ///
    /// A file is no plugin, a file that takes over is of another plugin, or the grant cannot be read.
    pub(in crate::cli) async fn load(
        file: PathBuf,
        grant: Option<&Path>,
        compiling: Compiling,
        (seed, limit, update): (u64, Duration, bool),
        swaps: BTreeMap<Option<PathBuf>, String>,
    ) -> anyhow::Result<Self> {
        let shown = file.display().to_string();
        let bytes = std::fs::read(&file).with_context(|| format!("cannot read {shown}"))?;
        let mut compiling = compiling.options();
        let own = Folder::create("test")?;
        let cache = compiling.cache.get_or_insert_with(|| own.path.clone()).clone();
        let quick = compiling.quick;
        let attachments = Attachments::read(&bytes);
        // The engine of the scenarios finds the code in the cache.
        let ahead = Engine::new(compiling)?;
        let manifest = inspect::manifest(&ahead, &shown, bytes.clone()).await.context(shown)?;
        let mut versions = BTreeMap::new();
        let mut keys = keys(&manifest);
        for (swap, place) in swaps {
            let files = match &swap {
                Some(path) => {
                    let (bytes, version) =
                        version(&ahead, path, &manifest.name).await.map_err(|error| match &*place {
                            "" => error,
                            place => error.context(format!("{place}: swap.file")),
                        })?;
                    keys = keys.zip(self::keys(&version)).map(|(known, more)| &known | &more);
                    vec![bytes]
                }
                None => {
                    let files = vec![marked(&bytes, 0)?, marked(&bytes, 1)?];
                    for bytes in &files {
                        inspect::manifest(&ahead, &file.display().to_string(), bytes.clone()).await?;
                    }
                    files
                }
            };
            versions.insert(swap, files);
        }
        let definitions = attachments?.definitions.iter().map(|one| one.name().to_owned()).collect();
        let grant = match grant {
            Some(path) => Some(read_grant(path)?.with_context(|| format!("there is no grant {}", path.display()))?),
            None => None,
        };
        let engine = Engine::new(EngineOptions { cache: Some(cache), compiler: None, quick })?;
        Ok(Self { file, manifest, grant, definitions, keys, engine, seed, limit, update, swaps: versions, _own: own })
    }
}

/// Another version of the plugin, compiled.
///
/// # Errors
///
/// The file is no plugin, or another one.
async fn version(engine: &Engine, path: &Path, name: &str) -> anyhow::Result<(Vec<u8>, PluginManifest)> {
    let shown = path.display().to_string();
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {shown}"))?;
    let manifest = inspect::manifest(engine, &shown, bytes.clone()).await.with_context(|| shown.clone())?;
    ensure!(manifest.name == name, "{shown} is plugin {}: only a version of {name} takes over", manifest.name);
    Ok((bytes, manifest))
}

/// The keys of a plugin's configuration. None: it may have others, because its manifest has no schema, or an open one.
fn keys(manifest: &PluginManifest) -> Option<BTreeSet<String>> {
    let schema = manifest.config.as_ref()?;
    let open = schema.get("patternProperties").is_some()
        || schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false));
    let keys = schema.get("properties").and_then(Value::as_object).filter(|_| !open)?.keys();
    Some(keys.chain(&manifest.http.origins_from_config).cloned().collect())
}

/// A plugin file with another digest.
fn marked(wasm: &[u8], number: u8) -> anyhow::Result<Vec<u8>> {
    const MARK: &str = "oarlock:swap";
    oci::with_custom_sections(wasm, |name| name == MARK, &[(MARK, &[number])]).map_err(anyhow::Error::msg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_manifest_declares_its_keys_by_a_closed_schema() {
        let keys_of = |config: Value| {
            let manifest = json!({
                "apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginManifest", "name": "a", "version": "1",
                "config": config, "http": {"originsFromConfig": ["url"]},
            });
            keys(&serde_json::from_value(manifest).unwrap())
        };
        let both = Some(BTreeSet::from(["greeting".to_owned(), "url".to_owned()]));
        assert_eq!(keys_of(json!({"properties": {"greeting": {}}})), both);
        assert_eq!(keys_of(json!({"properties": {"greeting": {}}, "additionalProperties": false})), both);
        for open in [
            json!(null),
            json!({"required": ["greeting"]}),
            json!({"properties": {"greeting": {}}, "additionalProperties": {"type": "string"}}),
            json!({"properties": {"greeting": {}}, "patternProperties": {"^x-": {}}}),
        ] {
            assert_eq!(keys_of(open.clone()), None, "{open}");
        }
    }
}
