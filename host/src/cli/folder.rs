//! Temporary folders of plugins with their grants.

use anyhow::{Context as _, ensure};
use oarlock_manifest::PluginGrant;
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// A temporary folder, which ends with this.
pub(super) struct Folder {
    pub(super) path: PathBuf,
}

impl Folder {
    /// * `of` - a part of its name: the command.
    ///
    /// # Errors
    ///
    /// The folder for temporary files cannot be written.
    pub(super) fn create(of: &str) -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("oarlock-{of}-{}", uuid::Uuid::new_v4().simple()));
        // Grants contain configuration.
        let created = fs::DirBuilder::new().mode(0o700).create(&path);
        created.with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self { path })
    }

    /// Adds a plugin, as a link, and its grant.
    ///
    /// # Errors
    ///
    /// There is a plugin of this name, or the folder cannot be written.
    pub(super) fn add(&self, name: &str, plugin: &Path, grant: &PluginGrant) -> anyhow::Result<()> {
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
