//! Protection against requests of web pages in a local browser.
//!
//! A page may send a `POST` without a content type anywhere, which Kubernetes accepts as JSON. A page whose host name an attacker
//! resolved to this machine (DNS rebinding) may send any request, and read the responses. A real API server asks for credentials, which a
//! browser lacks; this server may not.

use axum::http::{HeaderMap, HeaderName, header, uri::Authority};
use std::net::IpAddr;

use crate::model::status::{ApiError, Result};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Rejects requests from a page of another origin, and over plain HTTP requests with a host name that an attacker could resolve to this
/// machine. Over HTTPS such a name would have to match the certificate.
///
/// # Errors
///
/// 403 with the header in question.
pub(crate) fn check(headers: &HeaderMap, plain: bool) -> Result<()> {
    let refused = |why: &str| Err(ApiError::forbidden("", "", "", why));
    let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    if let Some("cross-site" | "same-site") = text(&FETCH_SITE) {
        return refused("a web page of another origin sent this request (Sec-Fetch-Site)");
    }
    let host = text(&header::HOST);
    if let Some(origin) = text(&header::ORIGIN)
        && (host.is_none() || origin.split_once("://").map(|(_, host)| host) != host)
    {
        return refused("a web page of another origin sent this request (Origin)");
    }
    if plain && headers.get_all(header::HOST).iter().any(|host| !host.to_str().is_ok_and(is_near)) {
        return refused(
            "the Host header of a request without HTTPS must be localhost, an IP address, or a name of the cluster or the local network",
        );
    }
    Ok(())
}

/// Whether a host name cannot be owned by anyone on the internet.
fn is_near(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    let own = [".svc", ".cluster.local", ".localhost", ".internal", ".test"];
    !name.contains('.') || name.parse::<IpAddr>().is_ok() || own.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(headers: &[(&'static str, &'static str)], plain: bool) -> Result<()> {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), header::HeaderValue::from_static(value)));
        check(&headers.collect(), plain)
    }

    #[test]
    fn t12_a_page_of_another_origin_is_refused() {
        for headers in [
            &[("host", "127.0.0.1:1"), ("origin", "http://evil.example")][..],
            &[("host", "127.0.0.1:1"), ("origin", "null")],
            &[("origin", "null")],
            &[("host", "127.0.0.1:1"), ("origin", "http://127.0.0.1:2")],
            &[("host", "localhost:1"), ("sec-fetch-site", "cross-site")],
            &[("host", "localhost:1"), ("sec-fetch-site", "same-site")],
        ] {
            for plain in [true, false] {
                assert_eq!(checked(headers, plain).unwrap_err().code(), 403, "{headers:?}");
            }
        }
    }

    #[test]
    fn t12_a_name_that_was_made_to_mean_this_machine_is_refused_without_tls() {
        for host in ["evil.example:1", "127.0.0.1.evil.example", "localhost.evil.example", "svc.example", "", "a b"] {
            assert_eq!(checked(&[("host", host)], true).unwrap_err().code(), 403, "{host}");
            assert!(checked(&[("host", host)], false).is_ok(), "{host}");
        }
    }

    #[test]
    fn t12_clients_of_the_api_are_not_refused() {
        for headers in [
            &[][..],
            &[("host", "127.0.0.1:6443")],
            &[("host", "[::1]:6443")],
            &[("host", "LOCALHOST")],
            &[("host", "apiserver:80")],
            &[("host", "kubernetes.default.svc")],
            &[("host", "localhost:1"), ("sec-fetch-site", "none")],
            &[("host", "localhost:1"), ("sec-fetch-site", "same-origin"), ("origin", "http://localhost:1")],
        ] {
            assert!(checked(headers, true).is_ok(), "{headers:?}");
        }
    }
}
