//! The plugin directory: which files are plugins, and what was granted to each.

use oarlock_manifest::PluginGrant;
use std::path::{Path, PathBuf};

/// A file that may be a plugin.
#[derive(Debug)]
pub struct Candidate {
    /// `network.wasm`.
    pub file_name: String,
    /// Where it lies.
    pub path: PathBuf,
}

/// Why a candidate cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The directory or a file in it.
    #[error("{} cannot be read", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file is larger than a plugin may be.
    #[error("{} has {size_bytes} bytes; a plugin has at most {limit_bytes}", path.display())]
    TooLarge {
        /// Which.
        path: PathBuf,
        /// How large.
        size_bytes: u64,
        /// How large it may be.
        limit_bytes: u64,
    },
    /// The grant is not one.
    #[error("{} is not a grant: {reason}", path.display())]
    Grant {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// The `.wasm` files of a directory, by name; hidden ones are left out.
///
/// # Errors
///
/// The directory cannot be read.
pub fn scan(folder: &Path) -> Result<Vec<Candidate>, Error> {
    let io = |source| Error::Io { path: folder.to_owned(), source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let Some(file_name) = path.file_name().map(|n| n.to_string_lossy().into_owned()) else { continue };
        if file_name.starts_with('.') || path.extension().is_none_or(|e| e != "wasm") || !path.is_file() {
            continue;
        }
        found.push(Candidate { file_name, path });
    }
    found.sort_by(|a, b| a.file_name.cmp(&b.file_name));
    Ok(found)
}

impl Candidate {
    /// The bytes of the file.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is larger than a plugin may be.
    pub fn read(&self) -> Result<Vec<u8>, Error> {
        let io = |source| Error::Io { path: self.path.clone(), source };
        let size_bytes = std::fs::metadata(&self.path).map_err(io)?.len();
        let limit_bytes = super::load::FILE_LIMIT_BYTES;
        if size_bytes > limit_bytes {
            return Err(Error::TooLarge { path: self.path.clone(), size_bytes, limit_bytes });
        }
        std::fs::read(&self.path).map_err(io)
    }

    /// The grant beside the file: `network.yaml` beside `network.wasm`. None: there is none.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is not a grant.
    pub fn grant(&self) -> Result<Option<PluginGrant>, Error> {
        let path = self.grant_path();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(Error::Io { path, source }),
        };
        let parsed: Result<PluginGrant, _> = serde_saphyr::from_str(&text);
        parsed.map(Some).map_err(|e| Error::Grant { path, reason: e.to_string() })
    }

    /// Where the grant lies, or would lie.
    #[must_use]
    pub fn grant_path(&self) -> PathBuf {
        self.path.with_extension("yaml")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_wasm_files_are_candidates_in_order_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.wasm", "a.wasm", ".hidden.wasm", "a.yaml", "README", "c.wasm.tmp"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        std::fs::create_dir(folder.path().join("folder.wasm")).unwrap();
        let names: Vec<_> = scan(folder.path()).unwrap().into_iter().map(|c| c.file_name).collect();
        assert_eq!(names, ["a.wasm", "b.wasm"]);
        assert!(scan(&folder.path().join("absent")).is_err());
    }

    #[test]
    fn a_grant_says_what_is_wrong_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.wasm");
        let candidate = Candidate { file_name: "a.wasm".into(), path };
        assert!(candidate.grant().unwrap().is_none());
        std::fs::write(candidate.grant_path(), "apiVersion: oarlock.dev/v1alpha1\nkind: PluginGrant\nsurprise: 1\n")
            .unwrap();
        assert!(candidate.grant().unwrap_err().to_string().contains("surprise"));
        std::fs::write(candidate.grant_path(), "apiVersion: oarlock.dev/v1alpha1\nkind: PluginGrant\nconfig: {a: b}\n")
            .unwrap();
        assert_eq!(candidate.grant().unwrap().unwrap().config["a"], "b");
    }
}
