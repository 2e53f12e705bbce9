//! The input of a plan: plugins with their grants, in a folder of their own.

use super::super::folder::Folder;
use anyhow::{Context as _, bail, ensure};
use data_encoding::HEXLOWER;
use oarlock::grants::Grants;
use oarlock::oci::{self, Reference, SCHEME};
use oarlock::plugin::directory::{self, Candidate};
use oarlock::plugin::{Attachments, Definition, Engine, identity, inspect};
use oarlock_manifest::{PluginGrant, PluginManifest};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;

/// A plugin of the plan.
pub(super) struct Plugin {
    /// SHA-256 of the file, in hex.
    pub(super) digest: String,
    /// The manifest, with the plugin's name in the host.
    pub(super) manifest: PluginManifest,
    /// The grant as its author wrote it.
    pub(super) grant: PluginGrant,
    /// The validated grant.
    pub(super) grants: Grants,
    /// The definitions in the file.
    pub(super) definitions: Vec<Definition>,
}

/// The origin of plugins.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// A file, or a directory of files.
    Path(PathBuf),
    /// An artifact of a registry.
    Registry(Reference),
}

/// Parses `FILE.wasm|DIR|oci://…`.
pub(super) fn source(text: &str) -> Result<Source, String> {
    if text.starts_with(SCHEME) {
        return Reference::from_str(text).map(Source::Registry).map_err(|error| error.to_string());
    }
    Ok(Source::Path(text.into()))
}

/// The plugins, and a plugin directory that holds them as long as this exists.
pub(super) struct Inputs {
    pub(super) plugins: Vec<Plugin>,
    /// The values of the secret files.
    pub(super) secrets: Vec<String>,
    folder: Folder,
    /// The folder of a plugin from a registry.
    pulled: Option<Folder>,
}

impl Inputs {
    /// * `registries` - the client for a plugin from a registry, and the conditions for it.
    /// * `grant` - instead of the grant beside the file.
    pub(super) async fn read(
        engine: &Engine,
        registries: &(oci::Client, oci::Trust),
        source: &Source,
        grant: Option<&Path>,
    ) -> anyhow::Result<Self> {
        match source {
            Source::Path(path) => Self::of_path(engine, path, grant).await,
            Source::Registry(reference) => {
                let grant =
                    grant.with_context(|| format!("{reference} has no grant beside it: name one with --grant"))?;
                let (pulled, file) = pull(registries, reference).await?;
                let mut inputs = Self::of_path(engine, &file, Some(grant)).await?;
                inputs.pulled = Some(pulled);
                Ok(inputs)
            }
        }
    }

    /// * `path` - a plugin file, or a directory of them.
    async fn of_path(engine: &Engine, path: &Path, grant: Option<&Path>) -> anyhow::Result<Self> {
        let one = !path.is_dir();
        let candidates = candidates(path, grant)?;
        let mut inputs =
            Self { plugins: Vec::new(), secrets: Vec::new(), folder: Folder::create("plan")?, pulled: None };
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
        let component = candidate.read()?;
        let digest = HEXLOWER.encode(&Sha256::digest(&component));
        let attachments = Attachments::read(&component);
        let mut manifest = inspect::manifest(engine, &candidate.file_name, component).await?;
        let definitions = attachments?.definitions;
        manifest.name = name(candidate, Some(&written), manifest.name, one)?;
        let folder = grant_path.parent().unwrap_or(&grant_path);
        let grants = Grants::new(&written, folder).with_context(|| grant_path.display().to_string())?;
        let grant = written.clone();
        for file in written.secret_files.values_mut() {
            let path = folder.join(&*file);
            self.secrets.extend(fs::read_to_string(&path).map(|value| value.trim_end().to_owned()));
            *file = path.display().to_string();
        }
        self.folder.add(&manifest.name, &candidate.path, &written)?;
        self.plugins.push(Plugin { digest, manifest, grant, grants, definitions });
        Ok(())
    }
}

/// A plugin for a host, which has its own grant.
pub(super) struct Upload {
    /// The plugin's name in the host.
    pub(super) name: String,
    pub(super) component: Vec<u8>,
    /// The configuration in the grant. None: there is no grant.
    pub(super) config: Option<BTreeMap<String, String>>,
}

/// Reads plugins for a host. They need no grant.
pub(super) async fn uploads(
    engine: &Engine,
    registries: &(oci::Client, oci::Trust),
    source: &Source,
    grant: Option<&Path>,
) -> anyhow::Result<Vec<Upload>> {
    let (path, _pulled) = match source {
        Source::Path(path) => (path.clone(), None),
        Source::Registry(reference) => {
            let (folder, file) = pull(registries, reference).await?;
            (file, Some(folder))
        }
    };
    let one = !path.is_dir();
    let mut uploads = Vec::new();
    for candidate in candidates(&path, grant)? {
        let written = match grant {
            Some(grant) => directory::read_grant(grant)?
                .with_context(|| format!("there is no grant {}", grant.display()))
                .map(Some)?,
            None => directory::read_grant(&candidate.grant_path())?,
        };
        let component = candidate.read()?;
        let manifest = inspect::manifest(engine, &candidate.file_name, component.clone()).await;
        let manifest = manifest.with_context(|| candidate.path.display().to_string())?;
        let name = name(&candidate, written.as_ref(), manifest.name, one)?;
        uploads.push(Upload { name, component, config: written.map(|grant| grant.config) });
    }
    Ok(uploads)
}

/// The plugin file, or those of a directory.
fn candidates(path: &Path, grant: Option<&Path>) -> anyhow::Result<Vec<Candidate>> {
    let candidates = if path.is_dir() {
        directory::scan(path)?
    } else {
        let file_name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        vec![Candidate::file(file_name, path.to_owned())]
    };
    ensure!(!candidates.is_empty(), "{} has no .wasm file", path.display());
    ensure!(grant.is_none() || candidates.len() == 1, "--grant needs one plugin: {} has several", path.display());
    Ok(candidates)
}

/// The plugin's name in a host.
///
/// * `one` - whether the file is named by itself: then its name does not matter.
fn name(candidate: &Candidate, grant: Option<&PluginGrant>, says: String, one: bool) -> anyhow::Result<String> {
    match grant.and_then(|grant| grant.name.as_ref()) {
        None if one => Ok(says),
        _ => Ok(identity::name(candidate, grant, &says)?),
    }
}

/// Pulls a plugin into a folder, which ends with the value. Returns its file, too.
async fn pull(registries: &(oci::Client, oci::Trust), reference: &Reference) -> anyhow::Result<(Folder, PathBuf)> {
    let pulled = Folder::create("plan")?;
    let file = pulled.path.join(format!("{}.wasm", reference.last_part()));
    let (client, trust) = registries;
    let done = oci::pull(client, trust, reference, &file).await;
    done.with_context(|| format!("cannot pull {reference}"))?;
    Ok((pulled, file))
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
