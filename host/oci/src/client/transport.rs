//! HTTP requests to registries, bounded in time, size and redirects.

use super::connector::Connector;
use crate::Error;
use crate::reference::is_loopback;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde::Deserialize;
use std::path::Path;
use std::time::Duration;
use url::Url;

/// Most redirects of a request.
const REDIRECTS: usize = 5;

/// Deadline for a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// Most bytes read from an error response.
const COMPLAINT_BYTES: usize = 64 << 10;

/// Most bytes of it in a message.
const TOLD_BYTES: usize = 200;

/// Longest accepted Retry-After.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

pub(super) type Answer = Response<Incoming>;

/// The operation and the registry, for messages.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) what: String,
    pub(super) registry: String,
}

impl Asked {
    pub(super) fn unreachable(&self, reason: String) -> Error {
        Error::Unreachable { what: self.what.clone(), registry: self.registry.clone(), reason }
    }

    pub(super) fn timed_out(&self, after: Duration) -> Error {
        Error::TimedOut { what: self.what.clone(), registry: self.registry.clone(), seconds: after.as_secs() }
    }

    pub(super) fn unauthorized(&self, reason: &str) -> Error {
        Error::Unauthorized { what: self.what.clone(), registry: self.registry.clone(), reason: reason.to_owned() }
    }

    fn redirect(&self, reason: String) -> Error {
        Error::Redirect { what: self.what.clone(), registry: self.registry.clone(), reason }
    }
}

/// One request.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) asked: Asked,
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) accept: &'a str,
    /// Media type and bytes of the body.
    pub(super) content: Option<(&'static str, Bytes)>,
    pub(super) repository: String,
    /// Whether the login must allow pushing.
    pub(super) push: bool,
    /// Replaces the default deadline for the head of the response.
    pub(super) timeout: Option<Duration>,
    /// Whether plain http to loopback is allowed.
    pub(super) plain: bool,
}

/// The HTTP connections.
#[derive(Debug)]
pub(super) struct Transport {
    client: Client<HttpsConnector<Connector>, Full<Bytes>>,
    timeout: Duration,
}

impl Transport {
    pub(super) fn new(ca: Option<&Path>, timeout: Duration) -> Result<Self, Error> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if let Some(path) = ca {
            let bad = |reason: String| Error::File { path: path.to_owned(), reason };
            let text = std::fs::read(path).map_err(|e| bad(e.to_string()))?;
            let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
            let certificates = certificates.map_err(|e| bad(e.to_string()))?;
            if certificates.is_empty() {
                return Err(bad("it holds no PEM certificate".to_owned()));
            }
            for certificate in certificates {
                roots.add(certificate).map_err(|e| bad(e.to_string()))?;
            }
        }
        let tls = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_connect_timeout(Some(CONNECT.min(timeout)));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(Connector::new(tcp));
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .pool_timer(TokioTimer::new())
            .build(connector);
        Ok(Self { client, timeout })
    }

    /// Sends a request and reads the head of its response, with any status. Reads follow redirects; a login is only sent to its origin.
    pub(super) async fn send(&self, call: &Call<'_>, authorization: Option<&HeaderValue>) -> Result<Answer, Error> {
        let mut url = call.url.clone();
        for _ in 0..=REDIRECTS {
            allowed(call, &url)?;
            let mut request = Request::builder()
                .method(call.method.clone())
                .uri(url.as_str())
                .header(header::ACCEPT, call.accept)
                .header(header::USER_AGENT, concat!("oarlock/", env!("CARGO_PKG_VERSION")));
            if let Some(value) = authorization.filter(|_| url.origin() == call.url.origin()) {
                request = request.header(header::AUTHORIZATION, value);
            }
            let body = match &call.content {
                Some((kind, bytes)) => {
                    request = request.header(header::CONTENT_TYPE, *kind);
                    bytes.clone()
                }
                None => Bytes::new(),
            };
            let request = request.body(Full::new(body)).map_err(|e| call.asked.unreachable(e.to_string()))?;
            let time = call.timeout.unwrap_or(self.timeout);
            let response = tokio::time::timeout(time, self.client.request(request)).await;
            let response = response.map_err(|_late| call.asked.timed_out(time))?;
            let response = response.map_err(|e| call.asked.unreachable(oarlock_text::chain(&e)))?;
            if !leads_on(response.status()) {
                // Only the registry itself may ask for a login, never the target of a redirect.
                if response.status() == StatusCode::UNAUTHORIZED && url.origin() != call.url.origin() {
                    let place = url.origin().ascii_serialization();
                    return Err(call.asked.redirect(format!("to {place}, which asks for a login")));
                }
                return Ok(response);
            }
            let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
            let next = location.and_then(|location| url.join(location).ok());
            url = next.ok_or_else(|| call.asked.redirect("it does not say where to".to_owned()))?;
            if call.method != Method::GET && call.method != Method::HEAD {
                return Err(call.asked.redirect(format!("a {} does not follow", call.method)));
            }
        }
        Err(call.asked.redirect(format!("more than {REDIRECTS} times")))
    }

    /// The response if it is a success, otherwise its error.
    pub(super) async fn checked(&self, asked: &Asked, response: Answer) -> Result<Answer, Error> {
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let retry_after = retry_after(response.headers());
        let body = Limited::new(response.into_body(), COMPLAINT_BYTES).collect();
        let body = tokio::time::timeout(self.timeout, body).await;
        let said = match body {
            Ok(Ok(body)) => complaint(&body.to_bytes()),
            _ => String::new(),
        };
        let (what, registry) = (asked.what.clone(), asked.registry.clone());
        Err(match status {
            StatusCode::UNAUTHORIZED => {
                Error::Unauthorized { what, registry, reason: format!("the login is not accepted{said}") }
            }
            StatusCode::FORBIDDEN => Error::Forbidden { what, registry, said },
            StatusCode::NOT_FOUND => Error::NotFound { what, registry, said },
            StatusCode::TOO_MANY_REQUESTS => Error::TooMany { what, registry, said, retry_after },
            _ => Error::Status { what, registry, status: status.as_u16(), said, retry_after },
        })
    }

    /// The whole body of a response.
    pub(super) async fn whole(&self, asked: &Asked, response: Answer, limit_bytes: u64) -> Result<Bytes, Error> {
        let limit = usize::try_from(limit_bytes).unwrap_or(usize::MAX);
        let body = tokio::time::timeout(self.timeout, Limited::new(response.into_body(), limit).collect()).await;
        match body.map_err(|_late| asked.timed_out(self.timeout))? {
            Ok(body) => Ok(body.to_bytes()),
            Err(e) if e.is::<LengthLimitError>() => Err(Error::TooLarge { what: asked.what.clone(), limit_bytes }),
            Err(e) => Err(asked.unreachable(oarlock_text::chain(e.as_ref()))),
        }
    }

    /// The next chunk of a body. None: end of the body.
    pub(super) async fn piece(&self, asked: &Asked, body: &mut Incoming) -> Result<Option<Bytes>, Error> {
        loop {
            let frame = tokio::time::timeout(self.timeout, body.frame()).await;
            let Some(frame) = frame.map_err(|_late| asked.timed_out(self.timeout))? else { return Ok(None) };
            let frame = frame.map_err(|e| asked.unreachable(oarlock_text::chain(&e)))?;
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
    }
}

/// Whether a request may go to this URL: https, or plain http from loopback to loopback.
fn allowed(call: &Call<'_>, url: &Url) -> Result<(), Error> {
    let place = url.origin().ascii_serialization();
    if !url.username().is_empty() || url.password().is_some() {
        return Err(call.asked.redirect(format!("to {place} with a user in the address")));
    }
    match url.scheme() {
        "https" => Ok(()),
        "http" if call.plain && is_loopback(url.as_str()) => Ok(()),
        _ => Err(call.asked.redirect(format!("to {place}: only https is followed"))),
    }
}

fn leads_on(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Parses seconds or a date.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    let pause = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let at = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
            Duration::try_from(at.duration_since(jiff::Timestamp::now())).ok()?
        }
    };
    Some(pause.min(LONGEST_PAUSE))
}

/// The registry's error text, after a colon; empty: none that helps.
pub(crate) fn complaint(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Complaints {
        errors: Vec<Complaint>,
    }
    #[derive(Deserialize)]
    struct Complaint {
        #[serde(default)]
        code: String,
        #[serde(default)]
        message: String,
    }
    let Ok(Complaints { errors }) = serde_json::from_slice(body) else { return String::new() };
    let Some(Complaint { code, message }) = errors.into_iter().next() else { return String::new() };
    let said = oarlock_text::one_line(&format!("{code} {message}"));
    format!(": {}", oarlock_text::shorten(said.trim(), TOLD_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(url: &str, plain: bool) -> Call<'static> {
        Call {
            asked: Asked { what: "manifest".to_owned(), registry: "r.example".to_owned() },
            method: Method::GET,
            url: Url::parse(url).unwrap(),
            accept: "*/*",
            content: None,
            repository: "a".to_owned(),
            push: false,
            timeout: None,
            plain,
        }
    }

    #[test]
    fn nothing_leads_from_https_to_http_or_off_loopback() {
        let may = |from: &str, plain: bool, to: &str| allowed(&call(from, plain), &Url::parse(to).unwrap()).is_ok();
        assert!(may("https://r.example/", false, "https://storage.example/x?signed=1"));
        assert!(may("http://127.0.0.1:1/", true, "http://localhost:2/"));
        assert!(!may("https://r.example/", false, "http://storage.example/"));
        assert!(!may("https://r.example/", false, "http://127.0.0.1/"));
        assert!(!may("http://127.0.0.1:1/", true, "http://169.254.169.254/latest"));
        assert!(!may("https://r.example/", false, "https://user:password@storage.example/"));
        assert!(!may("https://r.example/", false, "file:///etc/passwd"));
    }

    #[test]
    fn a_pause_is_seconds_or_a_date_and_an_hour_at_most() {
        let of = |text: &str| retry_after(&HeaderMap::from_iter([(header::RETRY_AFTER, text.parse().unwrap())]));
        assert_eq!(of("7"), Some(Duration::from_secs(7)));
        assert_eq!(of("999999999"), Some(LONGEST_PAUSE));
        assert_eq!(of("Tue, 31 Dec 2199 23:59:59 GMT"), Some(LONGEST_PAUSE));
        assert_eq!(of("Fri, 31 Dec 1999 23:59:59 GMT"), None);
        assert_eq!(of("soon"), None);
    }

    #[test]
    fn complaints_are_one_short_line() {
        let said = complaint(br#"{"errors":[{"code":"DENIED","message":"no\nway"}]}"#);
        assert_eq!(said, r": DENIED no\nway");
        assert!(complaint(format!(r#"{{"errors":[{{"message":"{}"}}]}}"#, "x".repeat(9999)).as_bytes()).len() < 250);
        assert_eq!(complaint(b"<html>"), "");
    }
}
