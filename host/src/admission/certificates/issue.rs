//! A CA and the serving certificate that it issues: pure functions of the current certificates and the time.
//!
//! Both are renewed after two thirds of their lifetime. A new CA is only published at first. It issues the serving certificate an hour
//! later, when every API server has had time to read the new bundle. If the serving certificate or its CA expires soon, it waits only half
//! of the time that remains at the publication. The bundle contains the old CA until that expires.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use time::OffsetDateTime;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::pem::Pem;

/// Lifetimes in seconds.
const CA_LIFETIME: i64 = 10 * 365 * 24 * 3600;
const SERVING_LIFETIME: i64 = 90 * 24 * 3600;

/// A new CA is published for this long before it issues a certificate.
const PUBLISHED_FIRST: i64 = 3600;

/// PEM is written as rcgen writes it.
pub(super) const LINES: pem::EncodeConfig = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);

/// Clocks of other machines may be behind by this much.
const BACKDATED: i64 = 300;

/// A CA with its key, and a serving certificate with its key, all in PEM.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Issued {
    /// The newest CA first, then the older ones that have not expired.
    pub(super) ca_bundle: String,
    /// Key of the newest CA.
    pub(super) ca_key: String,
    pub(super) certificate: String,
    pub(super) key: String,
}

impl std::fmt::Debug for Issued {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Issued").finish_non_exhaustive()
    }
}

/// The fields of a certificate that count here. Times are Unix seconds.
struct Facts {
    not_before: i64,
    not_after: i64,
    names: Vec<String>,
    subject: String,
    issuer: String,
    public_key: Vec<u8>,
    pem: String,
}

impl Facts {
    fn all(pem: &str) -> Result<Vec<Self>, String> {
        let mut all = Vec::new();
        for block in Pem::iter_from_buffer(pem.as_bytes()) {
            let block = block.map_err(|e| format!("not PEM: {e}"))?;
            let certificate = block.parse_x509().map_err(|e| format!("not a certificate: {e}"))?;
            all.push(Self::of(&certificate, &block.contents));
        }
        if all.is_empty() { Err("it holds no certificate".to_owned()) } else { Ok(all) }
    }

    fn of(certificate: &X509Certificate<'_>, der: &[u8]) -> Self {
        let alternative = certificate.subject_alternative_name().ok().flatten();
        let names = alternative.map(|names| names.value.general_names.as_slice()).unwrap_or_default();
        let names = names.iter().filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            GeneralName::IPAddress(bytes) => address(bytes),
            _ => None,
        });
        let validity = certificate.validity();
        Self {
            not_before: validity.not_before.timestamp(),
            not_after: validity.not_after.timestamp(),
            names: names.collect(),
            subject: certificate.subject().to_string(),
            issuer: certificate.issuer().to_string(),
            public_key: certificate.public_key().subject_public_key.data.to_vec(),
            pem: pem::encode_config(&pem::Pem::new("CERTIFICATE", der), LINES),
        }
    }

    /// When the certificate is due for renewal.
    fn due(&self) -> i64 {
        self.not_before + (self.not_after - self.not_before) / 3 * 2
    }
}

fn address(bytes: &[u8]) -> Option<String> {
    let short = <[u8; 4]>::try_from(bytes).map(|bytes| std::net::Ipv4Addr::from(bytes).to_string());
    short.ok().or_else(|| Some(std::net::Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).to_string()))
}

/// The certificates that should replace the current ones. None: nothing is due.
///
/// * `names` - DNS names and addresses of the serving certificate.
/// * `now` - Unix seconds.
pub(super) fn renew(there: Option<&Issued>, names: &[String], now: i64) -> Result<Option<Issued>, String> {
    let Some((there, authorities, serving)) = there.and_then(|there| read(there, now)) else {
        let (authority, ca_key) = authority(now)?;
        let (certificate, key) = issue(&authority, &ca_key, names, now)?;
        return Ok(Some(Issued { ca_bundle: authority, ca_key, certificate, key }));
    };
    let mut new = there.clone();
    let newest = authorities.first().ok_or("there is no CA")?;
    if now >= newest.due() {
        let (authority, ca_key) = authority(now)?;
        new.ca_bundle = authority + &bundle(&authorities, now);
        new.ca_key = ca_key;
        return Ok(Some(new));
    }
    new.ca_bundle = bundle(&authorities, now);
    let covers = names.iter().all(|name| serving.names.contains(name));
    if now >= may_issue(&authorities, &serving) && (now >= serving.due() || !covers || serving.issuer != newest.subject)
    {
        (new.certificate, new.key) = issue(&newest.pem, &there.ca_key, names, now)?;
    }
    Ok((new != *there).then_some(new))
}

/// When the next renewal may be due, in Unix seconds, if nothing is due now.
pub(super) fn next(there: &Issued, now: i64) -> Option<i64> {
    let (_, authorities, serving) = read(there, now)?;
    let ends = authorities.iter().map(|authority| authority.not_after);
    let due = [authorities.first()?.due(), serving.due(), may_issue(&authorities, &serving)];
    ends.chain(due).filter(|when| *when > now).min()
}

/// From when the newest CA issues serving certificates: at once if it issued the current one already.
fn may_issue(authorities: &[Facts], serving: &Facts) -> i64 {
    let [newest, before @ ..] = authorities else { return i64::MAX };
    if serving.issuer == newest.subject {
        return i64::MIN;
    }
    let Some(before) = before.iter().find(|authority| authority.subject == serving.issuer) else { return i64::MIN };
    let published = newest.not_before + BACKDATED;
    published + PUBLISHED_FIRST.min((before.not_after.min(serving.not_after) - published) / 2)
}

/// Whether all certificates and keys are still usable.
pub(super) fn is_usable(there: &Issued, now: i64) -> bool {
    read(there, now).is_some()
}

/// The parsed certificates, if all of them are still usable.
fn read(there: &Issued, now: i64) -> Option<(&Issued, Vec<Facts>, Facts)> {
    let authorities = Facts::all(&there.ca_bundle).ok()?;
    let serving = Facts::all(&there.certificate).ok()?.into_iter().next()?;
    for (key, of) in [(&there.ca_key, authorities.first()?), (&there.key, &serving)] {
        KeyPair::from_pem(key).ok().filter(|key| *key.public_key_raw() == *of.public_key)?;
    }
    let known = authorities.iter().any(|authority| authority.subject == serving.issuer && authority.not_after > now);
    (known && serving.not_after > now).then_some((there, authorities, serving))
}

fn bundle(authorities: &[Facts], now: i64) -> String {
    authorities.iter().filter(|authority| authority.not_after > now).map(|authority| authority.pem.as_str()).collect()
}

fn authority(now: i64) -> Result<(String, String), String> {
    let fault = |e: rcgen::Error| format!("a CA could not be made: {e}");
    let key = KeyPair::generate().map_err(fault)?;
    let mut params = lasting(CA_LIFETIME, now)?;
    // Each CA has a name of its own, so that the issuer of a serving certificate identifies its CA.
    params
        .distinguished_name
        .push(DnType::CommonName, format!("oarlock admission CA {}", uuid::Uuid::new_v4().simple()));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let certificate = params.self_signed(&key).map_err(fault)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

fn issue(authority: &str, ca_key: &str, names: &[String], now: i64) -> Result<(String, String), String> {
    let fault = |e: rcgen::Error| format!("a certificate for {} could not be made: {e}", names.join(", "));
    let issuer = Issuer::from_ca_cert_pem(authority, KeyPair::from_pem(ca_key).map_err(fault)?).map_err(fault)?;
    let key = KeyPair::generate().map_err(fault)?;
    let mut params = CertificateParams::new(names.to_vec()).map_err(fault)?;
    let validity = lasting(SERVING_LIFETIME, now)?;
    (params.not_before, params.not_after) = (validity.not_before, validity.not_after);
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "oarlock admission");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let certificate = params.signed_by(&key, &issuer).map_err(fault)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

fn lasting(seconds: i64, now: i64) -> Result<CertificateParams, String> {
    let at = |seconds: i64| OffsetDateTime::from_unix_timestamp(seconds).map_err(|e| format!("the clock is off: {e}"));
    let mut params = CertificateParams::default();
    (params.not_before, params.not_after) = (at(now - BACKDATED)?, at(now + seconds)?);
    params.distinguished_name = rcgen::DistinguishedName::new();
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000;
    const DAY: i64 = 24 * 3600;

    fn names() -> Vec<String> {
        vec!["host.oarlock.svc".to_owned(), "127.0.0.1".to_owned()]
    }

    fn first() -> Issued {
        renew(None, &names(), NOW).unwrap().unwrap()
    }

    fn authorities(issued: &Issued) -> Vec<Facts> {
        Facts::all(&issued.ca_bundle).unwrap()
    }

    fn serving(issued: &Issued) -> Facts {
        Facts::all(&issued.certificate).unwrap().remove(0)
    }

    #[test]
    fn what_is_made_is_for_the_names_and_stays_for_two_thirds_of_its_time() {
        let issued = first();
        let facts = serving(&issued);
        assert_eq!(facts.names, names());
        assert_eq!(facts.issuer, authorities(&issued)[0].subject);
        assert_eq!(facts.not_after, NOW + 90 * DAY);
        assert_eq!(renew(Some(&issued), &names(), NOW + 59 * DAY).unwrap(), None);
        let later = renew(Some(&issued), &names(), NOW + 61 * DAY).unwrap().unwrap();
        assert_eq!((&later.ca_bundle, &later.ca_key), (&issued.ca_bundle, &issued.ca_key));
        assert!(later.certificate != issued.certificate && later.key != issued.key);
    }

    #[test]
    fn a_certificate_for_other_names_is_made_anew() {
        let issued = first();
        let other = vec!["other.svc".to_owned()];
        let renewed = renew(Some(&issued), &other, NOW + 1).unwrap().unwrap();
        assert_eq!((serving(&renewed).names, &renewed.ca_bundle), (other, &issued.ca_bundle));
        // A certificate with more names is good enough.
        assert_eq!(renew(Some(&issued), &names()[..1], NOW + 1).unwrap(), None);
    }

    #[test]
    fn a_new_ca_is_published_before_it_issues_and_the_old_one_until_it_ends() {
        let issued = first();
        let due = NOW + CA_LIFETIME / 3 * 2 + DAY;
        let issued =
            Issued { certificate: issue(&issued.ca_bundle, &issued.ca_key, &names(), due - DAY).unwrap().0, ..issued };
        let key = issue(&authorities(&issued)[0].pem, &issued.ca_key, &names(), due - DAY).unwrap();
        let issued = Issued { certificate: key.0, key: key.1, ..issued };
        let published = renew(Some(&issued), &names(), due).unwrap().unwrap();
        assert_eq!(authorities(&published).len(), 2);
        assert_eq!(published.certificate, issued.certificate);
        assert_eq!(renew(Some(&published), &names(), due + PUBLISHED_FIRST - 1).unwrap(), None);
        let taken = renew(Some(&published), &names(), due + PUBLISHED_FIRST + 1).unwrap().unwrap();
        assert_eq!(serving(&taken).issuer, authorities(&taken)[0].subject);
        assert_eq!(authorities(&taken).len(), 2);
        let at_the_end = NOW + CA_LIFETIME + 1;
        let fresh = issue(&authorities(&taken)[0].pem, &taken.ca_key, &names(), at_the_end - DAY).unwrap();
        let taken = Issued { certificate: fresh.0, key: fresh.1, ..taken };
        assert_eq!(authorities(&renew(Some(&taken), &names(), at_the_end).unwrap().unwrap()).len(), 1);
    }

    /// A CA and a certificate that it issued, each with this lifetime.
    fn lasting_only(ca: i64, serving: i64) -> Issued {
        let key = KeyPair::generate().unwrap();
        let mut params = lasting(ca, NOW).unwrap();
        params.distinguished_name.push(DnType::CommonName, "short");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        let ca_bundle = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        let serving_key = KeyPair::generate().unwrap();
        let mut params = lasting(serving, NOW).unwrap();
        params.subject_alt_names = CertificateParams::new(names()).unwrap().subject_alt_names;
        let certificate = params.signed_by(&serving_key, &issuer).unwrap().pem();
        Issued { ca_bundle, ca_key: issuer.key().serialize_pem(), certificate, key: serving_key.serialize_pem() }
    }

    #[test]
    fn a_new_ca_does_not_wait_for_longer_than_what_is_served_lasts() {
        for (ca, serving) in [(600, 500), (500, 900)] {
            let short = lasting_only(ca, serving);
            let due = authorities(&short)[0].due();
            let published = renew(Some(&short), &names(), due).unwrap().unwrap();
            assert_eq!(published.certificate, short.certificate);
            let take = due + (NOW + 500 - due) / 2;
            assert_eq!(renew(Some(&published), &names(), take - 1).unwrap(), None);
            let taken = renew(Some(&published), &names(), take).unwrap().unwrap();
            assert_eq!(self::serving(&taken).issuer, authorities(&taken)[0].subject);
            assert_eq!(authorities(&taken).len(), 2, "the old CA is published until it ends");
        }
    }

    #[test]
    fn nothing_is_due_before_the_time_that_is_told() {
        let mut issued = lasting_only(600, 300);
        let (mut now, mut renewals) = (NOW, 0);
        while renewals < 6 {
            let next = next(&issued, now).unwrap();
            assert!(next > now);
            assert_eq!(
                renew(Some(&issued), &names(), next - 1).unwrap(),
                None,
                "{renewals} renewals, at {}",
                next - 1 - NOW
            );
            if let Some(new) = renew(Some(&issued), &names(), next).unwrap() {
                issued = new;
                renewals += 1;
            }
            now = next;
        }
        // Both were renewed, and the old CA is gone.
        assert_eq!(authorities(&issued).len(), 1);
    }

    #[test]
    fn what_cannot_be_used_is_made_anew() {
        let issued = first();
        for broken in [
            Issued { ca_bundle: String::new(), ..issued.clone() },
            Issued {
                ca_bundle: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_owned(),
                ..issued.clone()
            },
            Issued { ca_key: "no key".to_owned(), ..issued.clone() },
            Issued { certificate: first().certificate, ..issued.clone() },
            Issued { key: String::new(), ..issued.clone() },
            Issued { key: first().key, ..issued.clone() },
            Issued { ca_key: first().ca_key, ..issued.clone() },
        ] {
            let renewed = renew(Some(&broken), &names(), NOW + 1).unwrap().unwrap();
            assert_eq!(renew(Some(&renewed), &names(), NOW + 2).unwrap(), None);
        }
        assert!(renew(Some(&issued), &names(), NOW + 91 * DAY).unwrap().is_some());
    }
}
