//! OCI references of artifacts: `oci://registry/repository:tag@sha256:…`.

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// Prefix of plugin references on the command line.
pub const SCHEME: &str = "oci://";

/// The tag of a reference without one.
const DEFAULT_TAG: &str = "latest";

/// Longest repository and tag that registries accept.
const REPOSITORY_BYTES: usize = 255;
const TAG_BYTES: usize = 128;

/// A SHA-256 digest: `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl Digest {
    /// The digest of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self::finish(Sha256::new_with_prefix(bytes))
    }

    pub(super) fn finish(hasher: Sha256) -> Self {
        Self(HEXLOWER.encode(&hasher.finalize()))
    }

    /// The 64 digits.
    #[must_use]
    pub fn hex(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let hex = text.strip_prefix("sha256:").unwrap_or_default();
        let good = hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if good { Ok(Self(hex.to_owned())) } else { Err(format!("{text:?} is not sha256: and 64 digits")) }
    }
}

/// The reference of an artifact. Its text has a registry, a repository and a tag or digest; as a path it stays within its folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    registry: String,
    repository: String,
    tag: String,
    digest: Option<Digest>,
}

impl Reference {
    /// `registry.example:5000`, without a scheme.
    #[must_use]
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// `team/network`.
    #[must_use]
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The tag; meaningless beside a digest.
    #[must_use]
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// The digest, if the reference has one.
    #[must_use]
    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// The last path segment of the repository.
    #[must_use]
    pub fn last_part(&self) -> &str {
        self.repository.rsplit('/').next().unwrap_or_default()
    }

    /// Whether the registry's host name is a loopback name or address.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        is_loopback(&format!("http://{}", self.registry))
    }

    /// The same repository with a digest instead of a tag.
    #[must_use]
    pub fn at(&self, digest: &Digest) -> Self {
        Self { digest: Some(digest.clone()), ..self.clone() }
    }

    /// The same repository with another tag.
    ///
    /// * `tag` - derived from a digest, and so valid.
    pub(super) fn tagged(&self, tag: String) -> Self {
        Self { tag, digest: None, ..self.clone() }
    }
}

/// Whether the host of a URL is `localhost` or a loopback address.
pub(super) fn is_loopback(url: &str) -> bool {
    let host = url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { registry, repository, tag, digest } = self;
        write!(f, "{SCHEME}{registry}/{repository}")?;
        match digest {
            Some(digest) => write!(f, "@{digest}"),
            None => write!(f, ":{tag}"),
        }
    }
}

impl FromStr for Reference {
    type Err = String;

    /// Parses a reference. `oci://` is optional; a tag beside a digest is dropped, and without either the tag is `latest`.
    ///
    /// # Source
    ///
    /// OCI distribution specification, "Pulling manifests", for the alphabets of repository and tag.
    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = |why: &str| Err(format!("{text:?} is not a reference: {why}"));
        let rest = text.strip_prefix(SCHEME).unwrap_or(text);
        let Some((registry, rest)) = rest.split_once('/') else {
            return refuse("it must be registry/repository:tag or registry/repository@sha256:…");
        };
        let (rest, digest) = match rest.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest.parse::<Digest>()?)),
            None => (rest, None),
        };
        let (repository, tag) = rest.split_once(':').unwrap_or((rest, DEFAULT_TAG));
        if !is_registry(registry) {
            return refuse(
                "it must begin with a registry: a name with a dot, an address or localhost, with a port or without",
            );
        }
        if repository.len() > REPOSITORY_BYTES || !repository.split('/').all(is_part) {
            return refuse("a repository is parts of a-z, 0-9 and single separators . _ -, with / between them");
        }
        if !is_tag(tag) {
            return refuse("a tag is at most 128 letters, digits and _ . -, and begins with none of . -");
        }
        let (registry, repository, tag) = (registry.to_ascii_lowercase(), repository.to_owned(), tag.to_owned());
        Ok(Self { registry, repository, tag, digest })
    }
}

/// Whether the text is a host with an optional port, without any character that a URL would interpret otherwise.
fn is_registry(text: &str) -> bool {
    let named = text.contains(['.', ':']) || text == "localhost";
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b".-:[]".contains(&b))
        && text.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '[');
    let Ok(url) = url::Url::parse(&format!("https://{text}")) else { return false };
    named && plain && url.host_str().is_some_and(|host| !host.is_empty()) && url.path() == "/"
}

fn is_part(text: &str) -> bool {
    let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let separated =
        |text: &str| !["..", "._", "_.", ".-", "-.", "_-", "-_", "___"].iter().any(|two| text.contains(two));
    text.bytes().all(|b| word(b) || b"._-".contains(&b))
        && text.bytes().next().is_some_and(word)
        && text.bytes().last().is_some_and(word)
        && separated(text)
}

fn is_tag(text: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || b"_.-".contains(&b);
    !text.is_empty() && text.len() <= TAG_BYTES && text.bytes().all(good) && !text.starts_with(['.', '-'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_and_told_again() {
        let hex = "a".repeat(64);
        for (text, told) in [
            ("oci://ghcr.example/team/network:1.2", "oci://ghcr.example/team/network:1.2".to_owned()),
            ("localhost/network", "oci://localhost/network:latest".to_owned()),
            ("127.0.0.1:5000/a/b-c__d.e:v_1", "oci://127.0.0.1:5000/a/b-c__d.e:v_1".to_owned()),
            ("oci://[::1]:5000/a", "oci://[::1]:5000/a:latest".to_owned()),
            (format!("r.example/a:1@sha256:{hex}").as_str(), format!("oci://r.example/a@sha256:{hex}")),
        ] {
            let reference: Reference = text.parse().unwrap();
            assert_eq!(reference.to_string(), told);
            assert_eq!(told.parse::<Reference>().unwrap().to_string(), told);
        }
    }

    #[test]
    fn what_could_lead_elsewhere_is_no_reference() {
        for text in [
            "network",
            "library/network",
            "r.example/",
            "r.example/../etc:v1",
            "r.example/a/../b",
            "r.example/a//b",
            "r.example/.hidden",
            "r.example/a..b",
            "r.example/A",
            "r.example/a:../../x",
            "r.example/a:",
            "r.example/a:.x",
            "r.example/a@sha256:12",
            "r.example/a@md5:aaaa",
            "r.example/a?x=y",
            "r.example/a%2f..",
            "./a/b",
            "../a/b",
            ".:1/a",
            "user:password@r.example/a",
            "r.example:port/a",
            "r.example:5000\\@other.example/a",
        ] {
            assert!(text.parse::<Reference>().is_err(), "{text}");
        }
    }

    #[test]
    fn loopback_is_told_from_what_is_called_like_it() {
        let loopback = |text: &str| text.parse::<Reference>().unwrap().is_loopback();
        assert!(loopback("localhost:5000/a") && loopback("127.0.0.9/a") && loopback("[::1]:80/a"));
        assert!(!loopback("localhost.example/a") && !loopback("127.0.0.1.example/a") && !loopback("10.0.0.1/a"));
    }
}
