//! Subject of a client certificate: the user and its groups.
//!
//! # Source
//!
//! apiserver `pkg/authentication/request/x509`, `CommonNameUserConversion`.

use x509_parser::prelude::{AttributeTypeAndValue, FromDer as _, X509Certificate};

use super::Peer;
use crate::model::user::User;

/// The user of a certificate: the common name, with its organisations as groups. `None` without a common name.
pub(super) fn user(certificate: &[u8]) -> Option<User> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let text = |part: &AttributeTypeAndValue<'_>| String::from_utf8_lossy(part.as_slice()).into_owned();
    let name = certificate.subject().iter_common_name().last().map(text).filter(|name| !name.is_empty())?;
    Some(Peer::user(name, certificate.subject().iter_organization().map(text).collect()))
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

    use super::*;

    fn certificate(parts: &[(DnType, &str)]) -> Vec<u8> {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name = DistinguishedName::new();
        for (kind, text) in parts {
            params.distinguished_name.push(kind.clone(), *text);
        }
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn the_common_name_is_the_user_and_organisations_are_groups() {
        let der = certificate(&[
            (DnType::OrganizationName, "devs"),
            (DnType::CommonName, "jane"),
            (DnType::CountryName, "CH"),
        ]);
        let jane = user(&der).unwrap();
        assert_eq!((jane.name.as_str(), jane.groups.join(" ").as_str()), ("jane", "devs system:authenticated"));
        assert_eq!(user(&certificate(&[(DnType::OrganizationName, "devs")])), None);
    }

    #[test]
    fn bytes_that_are_no_certificate_name_nobody() {
        let der = certificate(&[(DnType::CommonName, "jane")]);
        assert!((0..der.len()).all(|end| user(&der[..end]).is_none()), "a part of one is none");
        for at in 0..der.len() {
            let mut broken = der.clone();
            broken[at] ^= 0xff;
            // No input may cause a panic.
            let _ = user(&broken);
        }
    }
}
