//! Cache of pulled artifacts on disk: a host that starts without the registry runs its last versions.
//!
//! ```text
//! blobs/sha256/<digits>      manifests and layers, each by the digest of its bytes
//! references/<digits>.json   what a reference led to last, by the digest of its text
//! ```
//!
//! Every blob is checked against its digest before use. The cached target of a reference is trusted, like the code cache beside it. The
//! folder belongs to the host's user, and no other user may write to it. Signatures and pins are checked again at every start.

use super::artifact::Descriptor;
use super::fetch::{Found, last_layer};
use super::reference::{Digest, Reference};
use super::signature::Signature;
use super::{Error, LAYER_BYTES};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Lifetime of blobs without a reference: another host may be about to use them.
const UNUSED: Duration = Duration::from_secs(3600);

/// The target of a reference.
#[derive(Serialize, Deserialize)]
struct Record {
    /// The reference, for people.
    reference: String,
    /// The manifest, or an index and its manifest.
    manifests: Vec<Digest>,
    layer: Digest,
    signatures: Vec<Signature>,
}

/// The cache; see the module. Its functions block on the disk.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// Opens the folder, and creates it if absent.
    pub(super) fn open(folder: &Path) -> Result<Self, Error> {
        let bad = |reason: String| Error::File { path: folder.to_owned(), reason };
        for part in ["blobs/sha256", "references"] {
            let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder.join(part));
            made.map_err(|e| bad(e.to_string()))?;
        }
        let metadata = std::fs::metadata(folder).map_err(|e| bad(e.to_string()))?;
        if metadata.uid() != rustix::process::geteuid().as_raw() || metadata.mode() & 0o022 != 0 {
            let (owner, mode) = (metadata.uid(), metadata.mode() & 0o7777);
            return Err(bad(format!("others can write to it (user {owner}, mode {mode:o})")));
        }
        Ok(Self { folder: folder.to_owned() })
    }

    /// The path of a blob, whether it exists or not.
    pub(super) fn blob(&self, digest: &Digest) -> PathBuf {
        self.folder.join("blobs/sha256").join(digest.hex())
    }

    fn record(&self, reference: &Reference) -> PathBuf {
        self.folder.join("references").join(format!("{}.json", Digest::of(reference.to_string().as_bytes()).hex()))
    }

    /// Whether a blob exists and is complete; if so, its lifetime begins anew.
    pub(super) fn has(&self, digest: &Digest) -> bool {
        let whole = self.read(digest).is_some();
        if whole && let Ok(file) = std::fs::File::open(self.blob(digest)) {
            let _ = file.set_modified(SystemTime::now());
        }
        whole
    }

    fn read(&self, digest: &Digest) -> Option<Bytes> {
        let path = self.blob(digest);
        let metadata = std::fs::metadata(&path).ok().filter(|m| m.is_file() && m.len() <= LAYER_BYTES)?;
        let bytes = Bytes::from(std::fs::read(&path).ok()?);
        let whole = metadata.len() == bytes.len() as u64 && Digest::of(&bytes) == *digest;
        if !whole {
            tracing::warn!(blob = %path.display(), "pulled file is damaged: pulling it again");
            let _ = std::fs::remove_file(&path);
        }
        whole.then_some(bytes)
    }

    /// The last target of a reference, if all its blobs exist.
    pub(super) fn last(&self, reference: &Reference) -> Option<Found> {
        let record: Record = serde_json::from_slice(&std::fs::read(self.record(reference)).ok()?).ok()?;
        let manifest = record.manifests.first()?.clone();
        if reference.digest().is_some_and(|wanted| *wanted != manifest) {
            return None;
        }
        let manifests: Vec<Bytes> = record.manifests.iter().map(|digest| self.read(digest)).collect::<Option<_>>()?;
        let layer: Descriptor = last_layer(&manifests).ok()?;
        let whole = layer.digest == record.layer && self.has(&layer.digest);
        whole.then_some(Found { manifest, layer, manifests, signatures: record.signatures })
    }

    /// Stores the present target of a reference, whose layer exists already, and removes unneeded blobs.
    pub(super) fn keep(&self, reference: &Reference, found: &Found) -> Result<(), Error> {
        let mut manifests = Vec::new();
        for bytes in &found.manifests {
            let digest = Digest::of(bytes);
            self.write(&self.blob(&digest), bytes)?;
            manifests.push(digest);
        }
        let record = Record {
            reference: reference.to_string(),
            manifests,
            layer: found.layer.digest.clone(),
            signatures: found.signatures.clone(),
        };
        let path = self.record(reference);
        let text = serde_json::to_vec_pretty(&record)
            .map_err(|e| Error::File { path: path.clone(), reason: e.to_string() })?;
        self.write(&path, &text)?;
        self.drop_unused();
        Ok(())
    }

    /// Writes a file atomically.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        let beside = self.folder.join("blobs/sha256").join(format!(".{}.tmp", uuid::Uuid::new_v4()));
        let written = (|| {
            let mut file = std::fs::File::create(&beside)?;
            std::io::Write::write_all(&mut file, bytes)?;
            file.sync_all()?;
            std::fs::rename(&beside, path)
        })();
        if written.is_err() {
            let _ = std::fs::remove_file(&beside);
        }
        written.map_err(|e| Error::File { path: path.to_owned(), reason: e.to_string() })
    }

    fn drop_unused(&self) {
        let entries = |folder: &str| std::fs::read_dir(self.folder.join(folder)).into_iter().flatten().flatten();
        let mut used = BTreeSet::new();
        for entry in entries("references") {
            let record = std::fs::read(entry.path()).ok();
            // An unreadable record may need any blob, so nothing is removed.
            let Some(record) = record.and_then(|bytes| serde_json::from_slice::<Record>(&bytes).ok()) else { return };
            used.extend(record.manifests.into_iter().chain([record.layer]).map(|digest| digest.hex().to_owned()));
        }
        for entry in entries("blobs/sha256") {
            let changed = entry.metadata().and_then(|metadata| metadata.modified()).ok();
            let old = changed.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > UNUSED);
            if old && !used.contains(&*entry.file_name().to_string_lossy()) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::pack;
    use std::collections::BTreeMap;

    const WASM: &[u8] = b"\0asm\x0d\0\x01\0";

    fn found() -> Found {
        let manifests = vec![pack(WASM, "a.wasm", &BTreeMap::new()).unwrap().manifest];
        let layer = last_layer(&manifests).unwrap();
        Found { manifest: Digest::of(&manifests[0]), layer, manifests, signatures: Vec::new() }
    }

    fn kept(folder: &Path) -> (Cache, Reference, Found) {
        let cache = Cache::open(&folder.join("oci")).unwrap();
        let (reference, found) = ("r.example/a:v1".parse().unwrap(), found());
        std::fs::write(cache.blob(&found.layer.digest), WASM).unwrap();
        cache.keep(&reference, &found).unwrap();
        (cache, reference, found)
    }

    #[test]
    fn what_was_kept_is_there_and_what_is_damaged_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, reference, found) = kept(folder.path());
        assert_eq!(cache.last(&reference).unwrap().manifest, found.manifest);
        assert!(cache.last(&"r.example/a:v2".parse().unwrap()).is_none());
        let other = reference.at(&Digest::of(b"other"));
        std::fs::copy(cache.record(&reference), cache.record(&other)).unwrap();
        assert!(cache.last(&other).is_none(), "a digest leads to nothing else");
        std::fs::write(cache.blob(&found.layer.digest), b"\0asm\x0d\0\x01\x01").unwrap();
        assert!(cache.last(&reference).is_none());
        assert!(!cache.blob(&found.layer.digest).exists());
    }

    #[test]
    fn what_no_reference_leads_to_goes_after_a_while() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, reference, found) = kept(folder.path());
        let (old, young) = (cache.blob(&Digest::of(b"old")), cache.blob(&Digest::of(b"young")));
        for path in [&old, &young] {
            std::fs::write(path, b"x").unwrap();
        }
        for path in [&old, &cache.blob(&found.layer.digest)] {
            let long_ago = SystemTime::now() - 2 * UNUSED;
            std::fs::File::open(path).unwrap().set_modified(long_ago).unwrap();
        }
        cache.keep(&reference, &found).unwrap();
        assert!(!old.exists() && young.exists() && cache.last(&reference).is_some());
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(Cache::open(folder.path()).unwrap_err().to_string().contains("others can write"));
    }
}
