//! The plugin directory and the plugins pulled from registries, as one set of files.

use super::{Candidate, DirectoryWatch, Error, Found, Pulled, Snapshot, Stamp};
use crate::oci::{PullStatus, PullStatuses};
use std::path::{Path, PathBuf};

/// A watch of all plugin files. A pulled plugin has its reference in place of a file name, and its grant is in the plugin directory.
#[derive(Debug)]
pub struct Sources {
    folder: PathBuf,
    directory: DirectoryWatch,
    pulled: Option<PullStatuses>,
    /// The last content of the directory. None: not read yet.
    local: Option<Snapshot>,
    /// The last snapshot returned.
    last: Option<Snapshot>,
}

impl Sources {
    /// Starts watching; see [`DirectoryWatch::start`].
    ///
    /// * `pulled` - pulled plugins. None: only the directory.
    #[must_use]
    pub fn start(folder: PathBuf, pulled: Option<PullStatuses>) -> Self {
        Self { directory: DirectoryWatch::start(folder.clone()), folder, pulled, local: None, last: None }
    }

    /// The next snapshot that differs from the last one; see [`DirectoryWatch::next`]. A pulled plugin is never removed. A plugin whose
    /// pull has no result yet is omitted.
    ///
    /// # Errors
    ///
    /// As [`DirectoryWatch::next`]; pulled plugins wait then, because their grants are in the directory.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn next(&mut self) -> Result<Snapshot, Error> {
        loop {
            let known = self.local.is_some();
            let changed = async {
                match &mut self.pulled {
                    Some(pulled) if known => pulled.changed().await,
                    _ => std::future::pending().await,
                }
            };
            tokio::select! {
                local = self.directory.next() => self.local = Some(local?),
                () = changed => {}
            }
            let Some(mut all) = self.local.clone() else { continue };
            if let Some(pulled) = &self.pulled {
                for (name, pull_status) in pulled.now() {
                    let grant = all.grants.get(&format!("{}.yaml", pull_status.plugin)).cloned();
                    if let Some(candidate) = candidate(&self.folder, &name, pull_status) {
                        all.files.insert(name, Found { candidate, wasm: Stamp::fixed(), grant });
                    }
                }
            }
            if self.last.as_ref() != Some(&all) {
                self.last = Some(all.clone());
                return Ok(all);
            }
        }
    }

    /// Whether each pull has succeeded or failed.
    #[must_use]
    pub fn all_asked(&self) -> bool {
        let pulled = self.pulled.as_ref().map(PullStatuses::now).unwrap_or_default();
        pulled.into_iter().all(|(name, pull_status)| candidate(&self.folder, &name, pull_status).is_some())
    }
}

/// None: the pull has no result yet.
fn candidate(folder: &Path, name: &str, pull_status: PullStatus) -> Option<Candidate> {
    let PullStatus { plugin, content, refused, problem, .. } = pull_status;
    let refused = refused.map(|refused| refused.reason);
    // An unreachable registry does not stop the present version.
    let refused = refused.or_else(|| problem.filter(|_| content.is_none()));
    if content.is_none() && refused.is_none() {
        return None;
    }
    let grant = folder.join(format!("{plugin}.yaml"));
    let (path, digest) = match content {
        Some(content) => (content.path, Some(content.layer.hex().to_owned())),
        None => (PathBuf::new(), None),
    };
    Some(Candidate { file_name: name.to_owned(), path, pulled: Some(Pulled { plugin, digest, grant, refused }) })
}
