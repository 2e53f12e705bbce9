//! Subject of a client certificate: the user and its groups.
//!
//! # Source
//!
//! RFC 5280 for the bytes; apiserver `pkg/authentication/request/x509`, `CommonNameUserConversion`, for what they mean.

use super::Peer;
use crate::authentication::User;

const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OID: u8 = 0x06;
/// The version of a certificate, which may be absent.
const VERSION: u8 = 0xa0;

/// One element of DER.
struct Element<'a> {
    tag: u8,
    content: &'a [u8],
}

/// A sequence of elements; ends at the first incomplete one.
struct Elements<'a>(&'a [u8]);

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    fn next(&mut self) -> Option<Element<'a>> {
        let (tag, rest) = self.0.split_first()?;
        let (first, mut rest) = rest.split_first()?;
        let mut length = usize::from(*first);
        if length >= 0x80 {
            let (bytes, after) = rest.split_at_checked(length - 0x80)?;
            if bytes.len() > 4 {
                return None;
            }
            length = bytes.iter().fold(0, |all, byte| all << 8 | usize::from(*byte));
            rest = after;
        }
        let (content, after) = rest.split_at_checked(length)?;
        self.0 = after;
        Some(Element { tag: *tag, content })
    }
}

impl<'a> Elements<'a> {
    fn enter(&mut self, tag: u8) -> Option<Self> {
        let element = self.next()?;
        (element.tag == tag).then_some(Self(element.content))
    }
}

/// The user of a certificate: the common name, with its organisations as groups. `None` without a common name.
pub(super) fn user(certificate: &[u8]) -> Option<User> {
    let mut fields = Elements(certificate).enter(SEQUENCE)?.enter(SEQUENCE)?;
    if fields.0.first() == Some(&VERSION) {
        fields.next()?;
    }
    // Serial number, algorithm, issuer, time.
    fields.nth(3)?;
    let (mut name, mut groups) = (None, Vec::new());
    for set in fields.enter(SEQUENCE)?.filter(|e| e.tag == SET) {
        for pair in Elements(set.content).filter(|e| e.tag == SEQUENCE) {
            let mut pair = Elements(pair.content);
            let (Some(key), Some(value)) = (pair.next().filter(|k| k.tag == OID), pair.next()) else { continue };
            let text = String::from_utf8_lossy(value.content).into_owned();
            match key.content {
                COMMON_NAME => name = Some(text),
                ORGANIZATION => groups.push(text),
                _ => {}
            }
        }
    }
    Some(Peer::user(name.filter(|n| !n.is_empty())?, groups))
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
