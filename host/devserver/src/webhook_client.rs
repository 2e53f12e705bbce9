//! HTTPS client for webhooks.

use std::{error::Error, io, net::SocketAddr, sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Body;
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, pki_types::ServerName};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_util::task::AbortOnDropHandle;
use tower::ServiceExt as _;
use url::Url;

mod tls;
pub(crate) mod users;

use crate::store::{Key, Store};
use users::Users;

/// Largest response.
const ANSWER_LIMIT: usize = 3 * 1024 * 1024;

/// Requests of one call that redirects may cause, as in Go.
const REDIRECTS: usize = 10;

/// The address of a webhook.
#[derive(Debug)]
enum WebhookAddress {
    /// A URL of its own.
    Url(Url),
    /// A Service of the cluster.
    Service { namespace: String, name: String, port: u16, path: String },
    /// No address; validation rejects such a configuration.
    Nowhere,
}

/// The client of a webhook, from its `clientConfig`.
#[derive(Debug)]
pub(crate) struct Client {
    place: WebhookAddress,
    /// An error if the TLS configuration is invalid.
    tls: Result<Arc<ClientConfig>, String>,
}

impl Client {
    /// * `users` - the client certificates for webhooks.
    pub(crate) fn new(config: &Value, users: &Users) -> Self {
        let text = |v: &Value, key: &str| v.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let place = match (config.get("service"), text(config, "url").parse()) {
            (Some(service), _) => WebhookAddress::Service {
                namespace: text(service, "namespace"),
                name: text(service, "name"),
                port: service.get("port").and_then(Value::as_u64).and_then(|p| p.try_into().ok()).unwrap_or(443),
                path: text(service, "path"),
            },
            (None, Ok(url)) => WebhookAddress::Url(url),
            (None, Err(_)) => WebhookAddress::Nowhere,
        };
        let bundle = BASE64.decode(text(config, "caBundle")).unwrap_or_default();
        let identity = match &place {
            WebhookAddress::Url(url) => {
                users.of(url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(443))
            }
            WebhookAddress::Service { namespace, name, port, .. } => {
                users.of(&format!("{name}.{namespace}.svc"), *port)
            }
            WebhookAddress::Nowhere => None,
        };
        Self { place, tls: tls::client(&bundle, identity.as_deref()) }
    }

    /// Sends a review and returns the body of the response.
    ///
    /// # Errors
    ///
    /// Why there is no response, in the words of the API server.
    pub(crate) async fn call(&self, store: &Store, review: &Value, timeout: Duration) -> Result<Bytes, String> {
        let url = self.url(timeout)?;
        let body = serde_json::to_vec(review).map_err(|e| e.to_string())?;
        let posted = |why: String| format!("Post \"{url}\": {why}");
        match tokio::time::timeout(timeout, self.post(store, &url, body.into())).await {
            Err(_) => Err(posted("context deadline exceeded".to_owned())),
            Ok(Err(why)) => Err(posted(why)),
            Ok(Ok(answer)) => match refusal(&answer) {
                Some(why) => Err(why),
                None => Ok(answer.body),
            },
        }
    }

    fn url(&self, timeout: Duration) -> Result<Url, String> {
        let mut url = match &self.place {
            WebhookAddress::Url(url) => url.clone(),
            WebhookAddress::Service { namespace, name, port, path } => {
                // As in error messages: with the port even if it is the default, and without a path if there is none.
                let path = path.trim_start_matches('/');
                format!("https://{name}.{namespace}.svc:{port}/{path}").parse().map_err(|e| format!("{e}"))?
            }
            WebhookAddress::Nowhere => return Err("there is neither a URL nor a service".to_owned()),
        };
        url.set_query(Some(&format!("timeout={}s", timeout.as_secs())));
        Ok(url)
    }

    /// Sends a request, also where the webhook sends it on: as Go, but only to the same server.
    async fn post(&self, store: &Store, url: &Url, body: Bytes) -> Result<Answer, String> {
        let mut next = url.clone();
        for _ in 0..REDIRECTS {
            let answer = self.send(store, &next, body.clone()).await?;
            match answer.elsewhere(&next) {
                Some(elsewhere) => next = elsewhere,
                None => return Ok(answer),
            }
        }
        Err(format!("stopped after {REDIRECTS} redirects"))
    }

    /// One request on a connection of its own.
    async fn send(&self, store: &Store, url: &Url, body: Bytes) -> Result<Answer, String> {
        let host = url.host_str().unwrap_or_default();
        let authority = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let request = Request::post(format!("{}?{}", url.path(), url.query().unwrap_or_default()))
            .header(header::HOST, authority)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, */*")
            .header(header::USER_AGENT, "kube-apiserver-admission")
            .body(body)
            .map_err(|e| e.to_string())?;
        if let Some(service) = store.in_process.at(url) {
            let service = service?;
            let answered = tokio::spawn(async move {
                // A router has no error of its own.
                let Ok(response) = service.oneshot(request.map(Full::new)).await;
                Answer::read(response).await
            });
            return AbortOnDropHandle::new(answered).await.unwrap_or_else(|panic| Err(panic.to_string()));
        }
        let config = self.tls.clone()?;
        let stream = self.connect(store, url).await?;
        let _ = stream.set_nodelay(true);
        let name = host.trim_matches(['[', ']']).to_owned();
        let name = ServerName::try_from(name).map_err(|e| format!("tls: {e}"))?;
        let stream = TlsConnector::from(config).connect(name, stream).await.map_err(|e| tls_error(&e))?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|e| e.to_string())?;
        let _driver = AbortOnDropHandle::new(tokio::spawn(async move {
            // The request itself reports the end of the connection.
            let _ = connection.await;
        }));
        Answer::read(sender.send_request(request.map(Full::new)).await.map_err(|e| http_error(&e))?).await
    }

    async fn connect(&self, store: &Store, url: &Url) -> Result<TcpStream, String> {
        if let WebhookAddress::Service { namespace, name, port, .. } = &self.place {
            let address = service(store, namespace, name, *port)?;
            return TcpStream::connect(address).await.map_err(|e| dial_error(&address.to_string(), &e));
        }
        let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(443));
        let address = format!("{host}:{port}");
        TcpStream::connect(&address).await.map_err(|e| dial_error(&address, &e))
    }
}

/// The response of a webhook.
struct Answer {
    status: StatusCode,
    /// Whether the body is text.
    text: bool,
    location: String,
    body: Bytes,
}

impl Answer {
    /// Reads a response to its end.
    async fn read<B>(response: Response<B>) -> Result<Self, String>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let (head, body) = response.into_parts();
        let status = head.status;
        let header = |name| head.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let text = header(header::CONTENT_TYPE).starts_with("text/");
        let location = header(header::LOCATION).to_owned();
        match Limited::new(body, ANSWER_LIMIT).collect().await {
            Ok(whole) => Ok(Self { status, text, location, body: whole.to_bytes() }),
            Err(error) if error.is::<LengthLimitError>() => {
                Err(format!("the answer is larger than {ANSWER_LIMIT} bytes"))
            }
            Err(error) => Err(error.downcast_ref().map_or_else(|| error.to_string(), http_error)),
        }
    }

    /// Where the same request is to be sent: another path of the same server.
    fn elsewhere(&self, from: &Url) -> Option<Url> {
        if !matches!(self.status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT)
            || self.location.is_empty()
        {
            return None;
        }
        from.join(&self.location).ok().filter(|to| to.origin() == from.origin())
    }
}

/// The first ready address of a Service: from its EndpointSlices, else its Endpoints, else its own, because there is no DNS and no
/// kube-proxy. Only loopback addresses of Services count, because no others are reachable.
fn service(store: &Store, namespace: &str, name: &str, port: u16) -> Result<SocketAddr, String> {
    let key = Key::new(namespace, name);
    let service = store.resource_store("services").get(&key).ok_or_else(|| format!("service \"{name}\" not found"))?;
    let ports = service.value.pointer("/spec/ports").and_then(Value::as_array).into_iter().flatten();
    let number = |v: &Value| v.get("port").and_then(Value::as_u64);
    let wanted = ports.clone().find(|p| number(p) == Some(port.into()));
    let wanted = wanted.ok_or_else(|| format!("no service port {port} found for service \"{name}\""))?;
    let port_name = wanted.get("name").and_then(Value::as_str).unwrap_or_default();
    let slices = store.resource_store("endpointslices.discovery.k8s.io").list(namespace).objects;
    let of_service = slices.iter().map(|s| &s.value).filter(|s| {
        let label = s.pointer("/metadata/labels").and_then(|l| l.get("kubernetes.io/service-name"));
        label.and_then(Value::as_str) == Some(name)
    });
    let ready = |e: &&Value| e.pointer("/conditions/ready").and_then(Value::as_bool) != Some(false);
    let from_slices = of_service.filter_map(|slice| {
        let endpoint = slice.get("endpoints")?.as_array()?.iter().find(ready)?;
        socket(endpoint.pointer("/addresses/0")?, slice.get("ports")?, port_name)
    });
    if let Some(address) = from_slices.into_iter().next() {
        return Ok(address);
    }
    let endpoints = store.resource_store("endpoints").get(&key);
    let subsets = endpoints.as_ref().and_then(|e| e.value.get("subsets")?.as_array()).into_iter().flatten();
    if let Some(address) =
        subsets.filter_map(|s| socket(s.pointer("/addresses/0/ip")?, s.get("ports")?, port_name)).next()
    {
        return Ok(address);
    }
    let own = service.value.pointer("/spec/clusterIP").and_then(Value::as_str).and_then(|ip| ip.parse().ok());
    match own.filter(std::net::IpAddr::is_loopback) {
        Some(ip) => Ok(SocketAddr::new(ip, port)),
        None => Err(format!("no endpoints available for service \"{name}\"")),
    }
}

/// An address with the port of a name; with an empty name, the only port.
fn socket(ip: &Value, ports: &Value, name: &str) -> Option<SocketAddr> {
    let ports = ports.as_array()?;
    let named = |p: &&Value| p.get("name").and_then(Value::as_str).unwrap_or_default() == name;
    let port = ports.iter().find(named)?.get("port")?.as_u64()?;
    Some(SocketAddr::new(ip.as_str()?.parse().ok()?, port.try_into().ok()?))
}

fn dial_error(address: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => format!("dial tcp {address}: connect: connection refused"),
        // Without a system error code, the name was not found.
        _ if error.raw_os_error().is_none() => {
            let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
            format!("dial tcp: lookup {host}: no such host")
        }
        _ => format!("dial tcp {address}: {error}"),
    }
}

fn tls_error(error: &io::Error) -> String {
    match error.get_ref().and_then(|e| e.downcast_ref::<rustls::Error>()) {
        Some(error) => tls::words(error),
        None if error.kind() == io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
        None => error.to_string(),
    }
}

fn http_error(error: &hyper::Error) -> String {
    let cause = error.source().and_then(|e| e.downcast_ref::<io::Error>());
    match cause {
        _ if error.is_incomplete_message() => "EOF".to_owned(),
        Some(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
        Some(cause) => cause.to_string(),
        None => error.to_string(),
    }
}

/// The error of an unsuccessful response, in the words of client-go.
fn refusal(answer: &Answer) -> Option<String> {
    let message = match answer.status.as_u16() {
        200..=206 => return None,
        400 => "the server rejected our request for an unknown reason",
        401 => "the server has asked for the client to provide credentials",
        404 => "the server could not find the requested resource",
        405 => "the server does not allow this method on the requested resource",
        409 => "the server reported a conflict",
        410 => "the requested resource is no longer available",
        422 => "the server rejected our request due to an error in our request",
        429 => "the server has received too many requests and has asked us to try again later",
        503 => "the server is currently unable to handle the request",
        504 => {
            "the server was unable to return a response in the time allotted, but may still be processing the request"
        }
        500.. => {
            let shown = String::from_utf8_lossy(&answer.body);
            let shown = if answer.text { shown.trim() } else { "unknown" };
            return Some(format!("an error on the server ({shown:?}) has prevented the request from succeeding"));
        }
        code => {
            return Some(format!(
                "the server responded with the status code {code} but did not return more information"
            ));
        }
    };
    Some(message.to_owned())
}
