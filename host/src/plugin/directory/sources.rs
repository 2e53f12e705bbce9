//! The plugin directory, and what is pulled from registries beside it, as one set of files.

use super::{Candidate, DirectoryWatch, Error, Found, Pulled, Snapshot, Stamp};
use crate::oci::{Standing, Standings};
use std::path::{Path, PathBuf};

/// Everything that may be a plugin, under watch. What was pulled has its reference in place of a file name, and its grant in the
/// plugin directory.
#[derive(Debug)]
pub struct Sources {
    folder: PathBuf,
    directory: DirectoryWatch,
    pulled: Option<Standings>,
    /// What the directory held last. None: it was not read yet.
    local: Option<Snapshot>,
    /// What was handed out last.
    last: Option<Snapshot>,
}

impl Sources {
    /// Starts watching; see [`DirectoryWatch::start`].
    ///
    /// * `pulled` - none: the directory is all there is.
    #[must_use]
    pub fn start(folder: PathBuf, pulled: Option<Standings>) -> Self {
        Self { directory: DirectoryWatch::start(folder.clone()), folder, pulled, local: None, last: None }
    }

    /// The next snapshot that differs from the last one; see [`DirectoryWatch::next`]. A plugin that was pulled is never gone, and
    /// one of which nothing is known yet is left out.
    ///
    /// # Errors
    ///
    /// As [`DirectoryWatch::next`]; what is pulled waits then, for its grants are in the directory.
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
                for (name, standing) in pulled.now() {
                    let grant = all.grants.get(&format!("{}.yaml", standing.plugin)).cloned();
                    if let Some(candidate) = candidate(&self.folder, &name, standing) {
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

    /// Whether everything that is to be pulled has been, or could not be.
    #[must_use]
    pub fn all_asked(&self) -> bool {
        let pulled = self.pulled.as_ref().map(Standings::now).unwrap_or_default();
        pulled.into_iter().all(|(name, standing)| candidate(&self.folder, &name, standing).is_some())
    }
}

/// None: nothing is known yet.
fn candidate(folder: &Path, name: &str, standing: Standing) -> Option<Candidate> {
    let Standing { plugin, content, refused, problem, .. } = standing;
    let refused = refused.map(|refused| refused.reason);
    // A registry that is out of reach is no reason to stop what there is.
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
