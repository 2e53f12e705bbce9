//! The input of a plan: plugins with their grants, in a folder of their own.

use anyhow::{Context as _, bail, ensure};
use oarlock::grants::Grants;
use oarlock::plugin::directory::{self, Candidate};
use oarlock::plugin::{Engine, identity, inspect};
use oarlock_manifest::{PluginGrant, PluginManifest};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A plugin of the plan.
pub(super) struct Plugin {
    /// The manifest, with the plugin's name in the host.
    pub(super) manifest: PluginManifest,
    /// The validated grant.
    pub(super) grants: Grants,
}

/// The plugins, and a plugin directory that holds them as long as this exists.
pub(super) struct Inputs {
    pub(super) plugins: Vec<Plugin>,
    /// The values of the secret files.
    pub(super) secrets: Vec<String>,
    folder: Folder,
}

impl Inputs {
    /// * `path` - a plugin file, or a directory of them.
    /// * `grant` - instead of the grant beside the file.
    pub(super) async fn read(engine: &Engine, path: &Path, grant: Option<&Path>) -> anyhow::Result<Self> {
        let one = !path.is_dir();
        let candidates = if one {
            let file_name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            vec![Candidate { file_name, path: path.to_owned(), pulled: None }]
        } else {
            directory::scan(path)?
        };
        ensure!(!candidates.is_empty(), "{} has no .wasm file", path.display());
        ensure!(grant.is_none() || candidates.len() == 1, "--grant needs one plugin: {} has several", path.display());
        let mut inputs = Self { plugins: Vec::new(), secrets: Vec::new(), folder: Folder::create()? };
        for candidate in candidates {
            inputs.add(engine, &candidate, grant, one).await.with_context(|| candidate.path.display().to_string())?;
        }
        Ok(inputs)
    }

    /// The plugin directory.
    pub(super) fn folder(&self) -> &Path {
        &self.folder.path
    }

    /// * `one` - whether the file is named by itself: then its name does not matter.
    async fn add(
        &mut self,
        engine: &Engine,
        candidate: &Candidate,
        grant: Option<&Path>,
        one: bool,
    ) -> anyhow::Result<()> {
        let grant_path = std::path::absolute(grant.map_or_else(|| candidate.grant_path(), Path::to_owned))?;
        let Some(mut written) = directory::read_grant(&grant_path)? else {
            bail!(
                "there is no grant {}: name one with --grant, or write it with oarlock grant {} --write",
                grant_path.display(),
                candidate.path.display()
            );
        };
        let mut manifest = inspect::manifest(engine, &candidate.file_name, candidate.read()?).await?;
        manifest.name = match &written.name {
            None if one => manifest.name,
            _ => identity::name(candidate, Some(&written), &manifest.name)?,
        };
        let folder = grant_path.parent().unwrap_or(&grant_path);
        let grants = Grants::new(&written, folder).with_context(|| grant_path.display().to_string())?;
        for file in written.secret_files.values_mut() {
            let path = folder.join(&*file);
            self.secrets.extend(fs::read_to_string(&path).map(|value| value.trim_end().to_owned()));
            *file = path.display().to_string();
        }
        self.folder.add(&manifest.name, &candidate.path, &written)?;
        self.plugins.push(Plugin { manifest, grants });
        Ok(())
    }
}

/// A temporary folder, which ends with this.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn create() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("oarlock-plan-{}", uuid::Uuid::new_v4().simple()));
        // Grants contain configuration.
        let created = fs::DirBuilder::new().mode(0o700).create(&path);
        created.with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self { path })
    }

    fn add(&self, name: &str, plugin: &Path, grant: &PluginGrant) -> anyhow::Result<()> {
        let file = self.path.join(format!("{name}.wasm"));
        ensure!(fs::symlink_metadata(&file).is_err(), "two files of plugin {name}");
        std::os::unix::fs::symlink(std::path::absolute(plugin)?, &file)?;
        let file = self.path.join(format!("{name}.yaml"));
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file)?;
        std::io::Write::write_all(&mut file, serde_json::to_string(grant)?.as_bytes())?;
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "the temporary folder stays");
        }
    }
}

/// The versions that the plugins name, by group and kind.
pub(super) fn versions(plugins: &[Plugin]) -> BTreeMap<(String, String), String> {
    let mut versions = BTreeMap::new();
    for manifest in plugins.iter().map(|plugin| &plugin.manifest) {
        let primaries = manifest.primaries.iter().map(|primary| primary.gvk());
        for kind in primaries.chain(manifest.watches.iter().map(|watch| watch.gvk())) {
            versions.entry((kind.group, kind.kind)).or_insert(kind.version);
        }
    }
    versions
}
