//! Signature keys in PEM files: Ed25519 and ECDSA P-256.

use crate::Error;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, ED25519, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
    UnparsedPublicKey, VerificationAlgorithm,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};
use std::path::Path;

/// The DER of an Ed25519 public key before its 32 bytes: SEQUENCE, AlgorithmIdentifier 1.3.101.112, BIT STRING.
///
/// # Source
///
/// RFC 8410 section 4.
const ED25519_SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// The DER of a P-256 public key before its uncompressed point of 65 bytes: SEQUENCE, AlgorithmIdentifier 1.2.840.10045.2.1 with the
/// curve 1.2.840.10045.3.1.7, BIT STRING.
///
/// # Source
///
/// RFC 5480 section 2.
const P256_SPKI: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

const P256_POINT_BYTES: usize = 65;

/// Largest key file.
const FILE_BYTES: u64 = 64 << 10;

/// A private key.
pub struct SigningKey(Pair);

enum Pair {
    Ed25519(Ed25519KeyPair),
    P256(EcdsaKeyPair),
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningKey")
    }
}

impl SigningKey {
    /// Reads an Ed25519 or ECDSA P-256 key in PKCS #8, as `openssl genpkey` writes it.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or contains no such key.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bad = |reason: &str| Error::File { path: path.to_owned(), reason: reason.to_owned() };
        let text = read(path)?;
        let has = |label: &str| text.contains(&format!("-----BEGIN {label}-----"));
        if has("ENCRYPTED SIGSTORE PRIVATE KEY") || has("ENCRYPTED COSIGN PRIVATE KEY") {
            return Err(bad("it is a key of cosign, encrypted with a password: sign with cosign instead"));
        }
        if has("ENCRYPTED PRIVATE KEY") {
            return Err(bad("it is encrypted with a password: decrypt it with openssl pkey"));
        }
        if has("EC PRIVATE KEY") {
            return Err(bad("it is not in PKCS #8: convert it with openssl pkcs8 -topk8 -nocrypt"));
        }
        let key = PrivatePkcs8KeyDer::from_pem_slice(text.as_bytes()).map_err(|e| bad(&e.to_string()))?;
        let der = key.secret_pkcs8_der();
        if let Ok(pair) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der) {
            return Ok(Self(Pair::Ed25519(pair)));
        }
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, der, &SystemRandom::new());
        pair.map(|pair| Self(Pair::P256(pair)))
            .map_err(|_rejected| bad("neither an Ed25519 nor an ECDSA P-256 private key"))
    }

    /// The public key of this private key.
    pub(super) fn public(&self) -> PublicKey {
        match &self.0 {
            Pair::Ed25519(pair) => PublicKey::new(&ED25519, pair.public_key().as_ref()),
            Pair::P256(pair) => PublicKey::new(&ECDSA_P256_SHA256_ASN1, pair.public_key().as_ref()),
        }
    }

    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        match &self.0 {
            Pair::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
            Pair::P256(pair) => {
                let signature = pair.sign(&SystemRandom::new(), message).map_err(|_unspecified| Error::NoRandom)?;
                Ok(signature.as_ref().to_vec())
            }
        }
    }
}

/// A trusted public key.
#[derive(Clone, Debug)]
pub struct PublicKey(UnparsedPublicKey<Vec<u8>>);

impl PublicKey {
    /// Reads an Ed25519 or ECDSA P-256 key, as `openssl pkey -pubout` writes it, or the `cosign.pub` of cosign.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or contains no such key.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bad = |reason: &str| Error::File { path: path.to_owned(), reason: reason.to_owned() };
        let der = SubjectPublicKeyInfoDer::from_pem_slice(read(path)?.as_bytes()).map_err(|e| bad(&e.to_string()))?;
        if let Some(key) = der.strip_prefix(&ED25519_SPKI[..]).filter(|key| key.len() == 32) {
            return Ok(Self::new(&ED25519, key));
        }
        match der.strip_prefix(&P256_SPKI[..]).filter(|point| point.len() == P256_POINT_BYTES) {
            Some(point) => Ok(Self::new(&ECDSA_P256_SHA256_ASN1, point)),
            None => Err(bad("neither an Ed25519 nor an ECDSA P-256 public key")),
        }
    }

    fn new(algorithm: &'static dyn VerificationAlgorithm, bytes: &[u8]) -> Self {
        Self(UnparsedPublicKey::new(algorithm, bytes.to_vec()))
    }

    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        self.0.verify(message, signature).is_ok()
    }
}

fn read(path: &Path) -> Result<String, Error> {
    use std::io::Read as _;
    let bad = |e: std::io::Error| Error::File { path: path.to_owned(), reason: e.to_string() };
    let mut text = String::new();
    std::fs::File::open(path).map_err(bad)?.take(FILE_BYTES).read_to_string(&mut text).map_err(bad)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8410 section 10.
    const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n";
    const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n";
    /// `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256`, and `openssl pkey -pubout` of it.
    const P256_PRIVATE: &str = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgl2CuyDE53tZpfJBa\nuJd+aRo12BlaFsvBc5KjwMEB60KhRANCAASV1T/PNduj22KkE4gLXtaQD42pbJNj\nH8Ty7lDohN34mXUFreQIpmufT98QKuwtOh/fk+D8UiSWNhSEo0p28PW7\n-----END PRIVATE KEY-----\n";
    const P256_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEldU/zzXbo9tipBOIC17WkA+NqWyT\nYx/E8u5Q6ITd+Jl1Ba3kCKZrn0/fECrsLTof35Pg/FIkljYUhKNKdvD1uw==\n-----END PUBLIC KEY-----\n";

    fn file(folder: &tempfile::TempDir, name: &str, text: &str) -> std::path::PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn keys_are_what_openssl_writes() {
        let folder = tempfile::tempdir().unwrap();
        let mut publics = Vec::new();
        for (name, private, public) in [("ed25519", PRIVATE, PUBLIC), ("p256", P256_PRIVATE, P256_PUBLIC)] {
            let key = SigningKey::read(&file(&folder, name, private)).unwrap();
            let public = PublicKey::read(&file(&folder, &format!("{name}.pub"), public)).unwrap();
            let signature = key.sign(b"text").unwrap();
            assert!(public.verifies(b"text", &signature) && key.public().verifies(b"text", &signature), "{name}");
            assert!(!public.verifies(b"test", &signature) && !public.verifies(b"text", b""), "{name}");
            publics.push((public, signature));
        }
        let [(ed25519, of_ed25519), (p256, of_p256)] = publics.as_slice() else { unreachable!() };
        assert!(!ed25519.verifies(b"text", of_p256) && !p256.verifies(b"text", of_ed25519));
    }

    #[test]
    fn what_is_no_such_key_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let armour = |label: &str, base64: &str| format!("-----BEGIN {label}-----\n{base64}\n-----END {label}-----\n");
        let truncated = armour("PUBLIC KEY", "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZg==");
        for (text, says) in
            [(PRIVATE, "no items found"), (&*truncated, "neither an Ed25519 nor"), ("", "no items found")]
        {
            let error = PublicKey::read(&file(&folder, "key", text)).unwrap_err().to_string();
            assert!(error.contains(says) && error.contains("key cannot be used"), "{error}");
        }
        for (text, says) in [
            (PUBLIC.to_owned(), "no items found"),
            (armour("ENCRYPTED SIGSTORE PRIVATE KEY", "e30="), "sign with cosign"),
            (armour("ENCRYPTED PRIVATE KEY", "MAA="), "decrypt it"),
            (armour("EC PRIVATE KEY", "MAA="), "openssl pkcs8"),
            (armour("PRIVATE KEY", "MAA="), "neither an Ed25519 nor"),
        ] {
            let error = SigningKey::read(&file(&folder, "key", &text)).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        assert!(PublicKey::read(&folder.path().join("absent")).is_err());
    }
}
