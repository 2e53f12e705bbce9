//! Gate: an HTTP reverse proxy that records, counts, holds and breaks requests.
//!
//! The host connects to the gate instead of the server. So the same test bodies run against any server, and the journal contains only the
//! host's requests. A host can be killed between a write's effect and its response.

mod exchange;
mod rule;
mod tripwire;

pub(super) use exchange::Created;
pub use exchange::Exchange;
use exchange::{TRACE_CONTEXT, is_event, is_write};
pub use rule::{Action, Rule, RuleHandle};
pub use tripwire::Tripwire;

use anyhow::{Context, Result};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header, request::Parts};
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
};
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    time::{Instant, sleep},
};
use tokio_util::sync::{CancellationToken, DropGuard};

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Body = UnsyncBoxBody<Bytes, BoxError>;

/// The server behind a gate.
#[derive(Clone)]
pub enum Upstream {
    /// A plain HTTP server: scheme, host and port.
    Http(String),
    /// A Kubernetes API server, with the client's own TLS and credentials. The gate itself uses plain HTTP and asks for no credentials.
    Kubernetes(kube::Client),
    /// A Kubernetes API server that outlives the test: the gate records created objects.
    Cluster {
        /// Client for requests without credentials.
        administrator: kube::Client,
        /// Client for requests with credentials; it has none of its own.
        unknown: kube::Client,
    },
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Http(base) => f.debug_tuple("Http").field(base).finish(),
            Self::Kubernetes(_) | Self::Cluster { .. } => f.write_str("Kubernetes"),
        }
    }
}

struct Inner {
    upstream: Upstream,
    client: Client<HttpConnector, Full<Bytes>>,
    journal: Mutex<Vec<Exchange>>,
    created: Mutex<Vec<Created>>,
    rules: Mutex<Vec<Arc<rule::Armed>>>,
    tripwire: Tripwire,
    down: watch::Sender<bool>,
    cuts: watch::Sender<u64>,
    /// Watches whose path contains one of these texts are stalled.
    stalled: watch::Sender<Vec<String>>,
}

/// A gate on 127.0.0.1. Dropping it closes it.
pub struct Gate {
    address: SocketAddr,
    inner: Arc<Inner>,
    _closing: DropGuard,
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate")
            .field("address", &self.address)
            .field("upstream", &self.inner.upstream)
            .finish_non_exhaustive()
    }
}

impl Gate {
    /// Opens a gate.
    ///
    /// * `tripwire` - counts the writes of this gate and of others that share it.
    ///
    /// # Errors
    ///
    /// No port is free.
    pub async fn open(upstream: Upstream, tripwire: Tripwire) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("no port for a gate")?;
        let address = listener.local_addr()?;
        let closing = CancellationToken::new();
        let inner = Arc::new(Inner {
            upstream,
            client: Client::builder(TokioExecutor::new()).build_http(),
            journal: Mutex::default(),
            created: Mutex::default(),
            rules: Mutex::default(),
            tripwire,
            down: watch::Sender::new(false),
            cuts: watch::Sender::new(0),
            stalled: watch::Sender::new(Vec::new()),
        });
        tokio::spawn(accept(listener, inner.clone(), closing.clone()));
        Ok(Self { address, inner, _closing: closing.drop_guard() })
    }

    /// `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Down: every connection breaks, new ones at their first byte. Up: normal operation.
    pub fn set_down(&self, down: bool) {
        self.inner.down.send_replace(down);
    }

    /// Breaks all present connections. New ones are served.
    pub fn cut(&self) {
        self.inner.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Stalls the watches whose path contains one of `parts`: they stay open, but their data is held back. Without parts, everything is
    /// delivered.
    pub fn stall(&self, parts: &[&str]) {
        self.inner.stalled.send_replace(parts.iter().map(|&part| part.to_owned()).collect());
    }

    /// Activates a rule. Of several that match a request, the oldest decides. The rule ends with its handle.
    #[must_use]
    pub fn rule(&self, rule: Rule) -> RuleHandle {
        let armed = Arc::new(rule::Armed::new(rule));
        lock(&self.inner.rules).push(armed.clone());
        RuleHandle::new(armed)
    }

    /// All exchanges so far, in order of arrival.
    #[must_use]
    pub fn journal(&self) -> Vec<Exchange> {
        lock(&self.inner.journal).clone()
    }

    /// The objects created at an [`Upstream::Cluster`] so far, oldest first.
    pub(super) fn created(&self) -> Vec<Created> {
        lock(&self.inner.created).clone()
    }

    /// The number of requests so far: a position in the journal for [`since`](Self::since).
    #[must_use]
    pub fn mark(&self) -> usize {
        lock(&self.inner.journal).len()
    }

    /// The exchanges after `mark`.
    #[must_use]
    pub fn since(&self, mark: usize) -> Vec<Exchange> {
        lock(&self.inner.journal).iter().skip(mark).cloned().collect()
    }

    /// The writes after `mark`, except for Leases, which their holders renew in any case.
    #[must_use]
    pub fn writes_since(&self, mark: usize) -> Vec<Exchange> {
        self.since(mark).into_iter().filter(|one| one.is_write() && !one.path.contains("/leases")).collect()
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, inner: Arc<Inner>, closing: CancellationToken) {
    loop {
        let stream = tokio::select! {
            () = closing.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match stream {
            Ok((stream, _)) => {
                tokio::spawn(serve(stream, inner.clone(), closing.clone()));
            }
            // For example out of descriptors: the next attempt may succeed, but not at once.
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn serve(stream: TcpStream, inner: Arc<Inner>, closing: CancellationToken) {
    let (mut down, mut cuts) = (inner.down.subscribe(), inner.cuts.subscribe());
    if *down.borrow_and_update() {
        // A connection that closes at the very moment of a request may leave hyper's client waiting until its deadline
        // (hyperium/hyper#4122). Tests of outages must not depend on that, so the gate waits for the request first.
        let mut first = [0];
        tokio::select! {
            _ = stream.peek(&mut first) => {}
            () = closing.cancelled() => return,
        }
        if *down.borrow_and_update() {
            return;
        }
    }
    // Small responses must not wait for the client's acknowledgement; an error only makes them slower.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| pass(inner.clone(), request));
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        // The other side handles a broken connection.
        _ = connection => {}
        _ = down.wait_for(|down| *down) => {}
        _ = cuts.changed() => {}
        () = closing.cancelled() => {}
    }
}

/// Handles one request. An error cuts the connection without a response.
async fn pass(inner: Arc<Inner>, request: Request<Incoming>) -> Result<Response<Body>, BoxError> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let path = parts.uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string);
    let write = is_write(&parts.method, &path);
    let ticket = if write { Some(inner.tripwire.enter(is_event(&path)).await?) } else { None };
    let place = {
        let mut journal = lock(&inner.journal);
        journal.push(Exchange {
            at: Instant::now(),
            method: parts.method.clone(),
            path: path.clone(),
            body: body.clone(),
            trace: TRACE_CONTEXT
                .map(|name| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)),
            status: None,
            forwarded: false,
        });
        journal.len() - 1
    };
    let armed = lock(&inner.rules).iter().find(|armed| armed.take(&parts.method, &path)).cloned();
    let action = armed.map_or(Action::Pass, |armed| armed.action());
    let response = match action {
        Action::Answer { status, headers, body } => answer(status, &headers, body)?,
        Action::Silence => std::future::pending().await,
        Action::Cut => return Err("cut by a rule".into()),
        Action::Trickle { body, pause } => trickle(&body, pause),
        Action::Delay(time) => {
            sleep(time).await;
            inner.forward(place, parts, body).await?
        }
        Action::Until(go) => {
            go.cancelled().await;
            inner.forward(place, parts, body).await?
        }
        Action::HoldAnswer => {
            whole(inner.forward(place, parts, body).await?).await?;
            std::future::pending().await
        }
        Action::DropAnswer => {
            let response = inner.forward(place, parts, body).await?;
            whole(response).await?;
            if let Some(ticket) = ticket {
                inner.tripwire.answered(ticket).await?;
            }
            return Err("answer dropped by a rule".into());
        }
        Action::Pass => inner.forward(place, parts, body).await?,
    };
    // The response to a write is read as a whole first: then its effect is certain when the tripwire holds it.
    let response = match ticket {
        Some(ticket) => {
            let response = whole(response).await?;
            inner.tripwire.answered(ticket).await?;
            response
        }
        None if path.contains("watch=") => stallable(response, path, &inner.stalled),
        None => response,
    };
    inner.note(place, |exchange| exchange.status = Some(response.status()));
    Ok(response)
}

impl Inner {
    fn note(&self, place: usize, change: impl FnOnce(&mut Exchange)) {
        if let Some(exchange) = lock(&self.journal).get_mut(place) {
            change(exchange);
        }
    }

    /// Sends one request to an API server that outlives the test. A write continues when its client is gone: its created object is
    /// recorded all the same.
    async fn send_noting(
        self: &Arc<Self>,
        client: kube::Client,
        method: Method,
        path: String,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response<Body>, BoxError> {
        if method == Method::GET {
            return send(&client, method, &path, headers, body).await;
        }
        // Otherwise kubectl gets protobuf.
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let inner = Arc::clone(self);
        let answered = tokio::spawn(async move {
            let response = send(&client, method.clone(), &path, headers, body).await?;
            let (parts, body) = response.into_parts();
            let bytes = body.collect().await?.to_bytes();
            if parts.status == StatusCode::CREATED {
                lock(&inner.created).extend(Created::of(&method, &path, &bytes));
            }
            Ok(Response::from_parts(parts, boxed(Full::new(bytes))))
        });
        answered.await?
    }

    async fn forward(self: &Arc<Self>, place: usize, parts: Parts, body: Bytes) -> Result<Response<Body>, BoxError> {
        self.note(place, |exchange| exchange.forwarded = true);
        let mut headers = parts.headers;
        // These headers concern only this hop.
        for name in [header::HOST, header::CONNECTION, header::TRANSFER_ENCODING, header::CONTENT_LENGTH] {
            headers.remove(name);
        }
        let path = parts.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
        let mut response = match &self.upstream {
            Upstream::Http(base) => {
                let mut request = Request::new(Full::new(body));
                *request.method_mut() = parts.method;
                *request.uri_mut() = format!("{base}{path}").parse::<Uri>()?;
                *request.headers_mut() = headers;
                self.client.request(request).await?.map(boxed)
            }
            Upstream::Kubernetes(client) => {
                // A host without credentials uses those of the gate's kube client.
                send(client, parts.method, path, headers, body).await?
            }
            Upstream::Cluster { administrator, unknown } => {
                let client = if headers.contains_key(header::AUTHORIZATION) { unknown } else { administrator };
                self.send_noting(client.clone(), parts.method, path.to_owned(), headers, body).await?
            }
        };
        for name in [header::CONNECTION, header::TRANSFER_ENCODING] {
            response.headers_mut().remove(name);
        }
        Ok(response)
    }
}

async fn send(
    client: &kube::Client,
    method: Method,
    path: &str,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response<Body>, BoxError> {
    let mut request = Request::new(kube::client::Body::from(body));
    *request.method_mut() = method;
    *request.uri_mut() = path.parse::<Uri>()?;
    *request.headers_mut() = headers;
    Ok(client.send(request).await?.map(boxed))
}

fn boxed<B>(body: B) -> Body
where
    B: hyper::body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    body.map_err(Into::into).boxed_unsync()
}

async fn whole(response: Response<Body>) -> Result<Response<Body>, BoxError> {
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await?.to_bytes();
    Ok(Response::from_parts(parts, boxed(Full::new(bytes))))
}

/// A body whose chunks wait while its watch is stalled.
fn stallable(response: Response<Body>, path: String, stalled: &watch::Sender<Vec<String>>) -> Response<Body> {
    let stalled = stalled.subscribe();
    response.map(|body| {
        let pieces = futures::stream::unfold((body, path, stalled), async |(mut body, path, mut stalled)| {
            let piece = body.frame().await?;
            // The gate is gone, and soon the connection as well.
            let _ = stalled.wait_for(|parts| !parts.iter().any(|part| path.contains(part))).await;
            Some((piece, (body, path, stalled)))
        });
        boxed(http_body_util::StreamBody::new(pieces))
    })
}

fn answer(status: StatusCode, headers: &[(String, String)], body: Bytes) -> Result<Response<Body>, BoxError> {
    let mut response = Response::new(boxed(Full::new(body)));
    *response.status_mut() = status;
    let mut all = HeaderMap::new();
    all.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in headers {
        all.insert(name.parse::<http::HeaderName>()?, value.parse::<HeaderValue>()?);
    }
    *response.headers_mut() = all;
    Ok(response)
}

fn trickle(body: &Bytes, pause: Duration) -> Response<Body> {
    let pieces: Vec<Bytes> = body.chunks(1024).map(Bytes::copy_from_slice).collect();
    let stream = futures::stream::unfold(pieces.into_iter(), move |mut rest| async move {
        let piece = rest.next()?;
        sleep(pause).await;
        Some((Ok::<_, BoxError>(hyper::body::Frame::data(piece)), rest))
    });
    let mut response = Response::new(boxed(http_body_util::StreamBody::new(stream)));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
