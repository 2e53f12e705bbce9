//! Trust policy for code from registries: keys and pins.

use super::Error;
use super::reference::Digest;
use super::signature::{self, PublicKey, Signature};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The conditions for using an artifact. Without any, the host uses every artifact of the reference.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    /// If there are any, one of these keys must have signed the artifact.
    pub keys: Vec<PublicKey>,
    /// If there are any, or a file of them, the digest of the manifest must be one of these.
    pub pins: Vec<Digest>,
    /// A file with more pins, one per line, `#` begins a comment; read again for every artifact.
    pub pin_file: Option<PathBuf>,
}

impl Trust {
    pub(super) fn wants_signatures(&self) -> bool {
        !self.keys.is_empty()
    }

    /// # Errors
    ///
    /// [`Error::Untrusted`]: the artifact must not be used.
    pub(super) fn check(&self, manifest: &Digest, signatures: &[Signature]) -> Result<(), Error> {
        if !self.pins.is_empty() || self.pin_file.is_some() {
            let pinned = match &self.pin_file {
                Some(file) if !self.pins.contains(manifest) => pins(file).map_err(Error::Untrusted)?.contains(manifest),
                _ => self.pins.contains(manifest),
            };
            if !pinned {
                return Err(Error::Untrusted(format!("{manifest} is not one of the pinned digests")));
            }
        }
        if self.wants_signatures() { signature::verify(&self.keys, manifest, signatures) } else { Ok(()) }
    }
}

fn pins(file: &Path) -> Result<BTreeSet<Digest>, String> {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|e| format!("the pinned digests cannot be read: {name}: {e}"))?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let digests = lines.filter(|line| !line.is_empty()).map(str::parse::<Digest>);
    digests.collect::<Result<_, _>>().map_err(|e| format!("the pinned digests cannot be read: {name}: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_pinned_passes_and_a_broken_list_lets_nothing_pass() {
        let (one, other, third) = (Digest::of(b"1"), Digest::of(b"2"), Digest::of(b"3"));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pins");
        std::fs::write(&file, format!("# ours\n\n{one} # network 1.2\n")).unwrap();
        let trust = Trust { pins: vec![other.clone()], pin_file: Some(file.clone()), ..Trust::default() };
        assert!(trust.check(&one, &[]).is_ok() && trust.check(&other, &[]).is_ok());
        assert!(trust.check(&third, &[]).unwrap_err().to_string().contains("not one of the pinned"));
        std::fs::write(&file, format!("{one}\nnonsense\n")).unwrap();
        assert!(trust.check(&one, &[]).unwrap_err().to_string().contains("nonsense"));
        std::fs::remove_file(&file).unwrap();
        assert!(trust.check(&one, &[]).unwrap_err().refuses());
        let empty = Trust { pin_file: Some(file.clone()), ..Trust::default() };
        std::fs::write(&file, "").unwrap();
        assert!(empty.check(&one, &[]).is_err(), "an empty list is one that allows nothing");
        assert!(Trust::default().check(&one, &[]).is_ok());
    }
}
