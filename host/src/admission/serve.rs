//! HTTPS listener of the admission server, bounded in connections, sizes and time for any client.

mod limits;

use super::WebhookServer;
use super::answer::{Path, Time};
use super::clients::{Accepting, Client};
use super::conversion::ConversionRequest;
use super::review::{AdmissionRequest, Unreadable};
use crate::telemetry::{Span, SpanKind, TraceId};
use arc_swap::ArcSwap;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Body;
use hyper_util::rt::{TokioIo, TokioTimer};
use limits::ServerLimits;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, OwnedSemaphorePermit, SemaphorePermit};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Deadline of the TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Deadline of the first request after the handshake.
const FIRST: Duration = Duration::from_secs(10);

/// Deadline of the head of each further request. Longer than 90 s, after which an API server closes an idle connection: a request that
/// meets the end of its connection fails, because Go repeats no POST.
const HEAD: Duration = Duration::from_secs(120);

/// Largest body: two objects of the API server's size limit, and the fields around them.
const BODY_BYTES: usize = 16 << 20;

/// The server does not read and discard a body beyond this size.
const MOST_BYTES: usize = 64 << 20;

/// Drain time of reviews in flight when the host stops.
const DRAIN: Duration = Duration::from_secs(30);

/// Timeout of a request whose query has none.
const TIMEOUT: Duration = Duration::from_secs(super::webhooks::TIMEOUT_SECONDS as u64);

/// Least and greatest margin between the response and the API server's timeout.
const MARGIN: std::ops::RangeInclusive<Duration> = Duration::from_millis(50)..=Duration::from_millis(500);

/// The two steps in which the server ends.
#[derive(Debug, Clone)]
pub(super) struct Ends {
    /// The host stops: it leaves the webhook configurations to others, and each response closes its connection, so that API servers open
    /// the next one to another host. Cancelled with `stop` at the latest.
    pub(super) leaves: CancellationToken,
    /// The server closes the connections that are left.
    pub(super) stop: CancellationToken,
}

impl Ends {
    pub(super) fn new() -> Self {
        let stop = CancellationToken::new();
        Self { leaves: stop.child_token(), stop }
    }
}

/// The body of a request: from a connection, or from this process.
trait RequestBody: Body<Data = Bytes, Error: std::fmt::Display> + Send + Unpin {}

impl<B: Body<Data = Bytes, Error: std::fmt::Display> + Send + Unpin> RequestBody for B {}

/// The service without a connection, for an API server in this process.
pub(super) fn router(server: Arc<WebhookServer>, ends: Ends) -> axum::Router {
    let connection = Connection { server, limits: Arc::new(ServerLimits::new()), ends, client: Client::Unknown };
    axum::Router::new().fallback(move |request: Request<axum::body::Body>| {
        let connection = connection.clone();
        async move { connection.respond(request).await.map(axum::body::Body::new) }
    })
}

/// Accepts connections until `stop` is cancelled, then finishes the reviews in flight.
pub(super) async fn serve(
    server: Arc<WebhookServer>,
    listener: TcpListener,
    accepting: Arc<ArcSwap<Accepting>>,
    ends: Ends,
) {
    let limits = Arc::new(ServerLimits::new());
    let tasks = TaskTracker::new();
    loop {
        let stream = tokio::select! {
            () = ends.stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // The process has no free file descriptors, or the connection broke before it was accepted.
                    tracing::warn!(%error, "cannot accept a connection to the admission server");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
        };
        let permit = tokio::select! {
            () = ends.stop.cancelled() => break,
            Some(permit) = limits.connection() => permit,
        };
        let connection = Connection {
            server: Arc::clone(&server),
            limits: Arc::clone(&limits),
            ends: ends.clone(),
            client: Client::Unknown,
        };
        tasks.spawn(connection.run(stream, accepting.load_full(), permit));
    }
    tasks.close();
    let _ = tokio::time::timeout(DRAIN, tasks.wait()).await;
}

#[derive(Clone)]
struct Connection {
    server: Arc<WebhookServer>,
    limits: Arc<ServerLimits>,
    ends: Ends,
    /// The client that the handshake showed.
    client: Client,
}

impl Connection {
    async fn run(mut self, stream: TcpStream, accepting: Arc<Accepting>, _permit: OwnedSemaphorePermit) {
        let _ = stream.set_nodelay(true);
        let acceptor = TlsAcceptor::from(Arc::clone(&accepting.tls));
        let tls = match tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
            Ok(Ok(tls)) => tls,
            Ok(Err(error)) => {
                tracing::debug!(%error, "a TLS handshake with the admission server failed");
                return;
            }
            Err(_elapsed) => return,
        };
        self.client = accepting.client(tls.get_ref().1);
        let (stop, limits) = (self.ends.stop.clone(), Arc::clone(&self.limits));
        let asked = Arc::new(Notify::new());
        let asks = Arc::clone(&asked);
        let service = hyper::service::service_fn(move |request| {
            asks.notify_one();
            let connection = self.clone();
            async move { Ok::<_, Infallible>(connection.respond(request).await) }
        });
        let mut http = hyper::server::conn::http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEAD);
        let serving = http.serve_connection(TokioIo::new(tls), service);
        tokio::pin!(serving);
        // Other clients wait for a connection. This one ends after the response it owes, but not before its first request, which arrives
        // soon or never.
        let unwanted = async {
            let asks = tokio::time::timeout(FIRST, asked.notified()).await.is_ok();
            if asks {
                limits.crowded().await;
            }
            asks
        };
        tokio::select! {
            _ = &mut serving => return,
            () = stop.cancelled() => serving.as_mut().graceful_shutdown(),
            () = accepting.over.cancelled() => serving.as_mut().graceful_shutdown(),
            asks = unwanted => {
                if !asks {
                    return;
                }
                serving.as_mut().graceful_shutdown();
            }
        }
        let _ = serving.await;
    }

    async fn respond<B: RequestBody>(&self, request: Request<B>) -> Response<Full<Bytes>> {
        let began = Instant::now();
        let timeout = timeout_of(request.uri().query().unwrap_or_default());
        let path = request.uri().path().to_owned();
        let label = Path::parse(&path);
        let mut trace = None;
        let answered = match &label {
            None => Err(Unreadable::new(404, "there is no such webhook here")),
            Some(path) => self.answer(path, request, began, timeout, &mut trace).await,
        };
        let (status, body) = match answered {
            Ok(body) => (StatusCode::OK, body),
            Err(Unreadable { status, message }) => {
                let path = crate::shorten(&path, 200);
                tracing::warn!(path, status, message, "cannot answer a request to the admission server");
                (StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST), Bytes::from(message + "\n"))
            }
        };
        if let Some(series) = label.as_ref().and_then(|path| self.server.series(path)) {
            self.server.metrics.webhook_answered(&series, status.as_u16(), began.elapsed(), trace);
        }
        let content_type = if status == StatusCode::OK { "application/json" } else { "text/plain; charset=utf-8" };
        let mut response = Response::new(Full::new(body));
        *response.status_mut() = status;
        response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(content_type));
        if self.ends.leaves.is_cancelled() {
            response.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
        }
        response
    }

    /// * `trace` - becomes the trace of the review, if that is sampled.
    async fn answer<B: RequestBody>(
        &self,
        path: &Path,
        request: Request<B>,
        arrived: Instant,
        timeout: Duration,
        trace: &mut Option<TraceId>,
    ) -> Result<Bytes, Unreadable> {
        let deadline = arrived + timeout;
        if let Client::Refused(names) = &self.client {
            let names = crate::shorten(&names.join(", "), 200).to_owned();
            return Err(Unreadable::new(
                403,
                format!("the client certificate is that of {names:?}, which --admission-client-name does not name"),
            ));
        }
        if request.method().as_str() != "POST" {
            return Err(Unreadable::new(405, "a review must be sent with POST"));
        }
        let content_type =
            request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let media = content_type.split(';').next().unwrap_or_default().trim();
        if !media.eq_ignore_ascii_case("application/json") {
            let found = crate::shorten(media, 100);
            return Err(Unreadable::new(415, format!("expected content type application/json, found {found:?}")));
        }
        // Before the review takes a slot: reviews for a plugin that is still loading must not block those for ready plugins.
        let latest = limits::latest(deadline, timeout);
        if let Path::Convert { plugin } = path {
            let converter = self.server.converter(plugin, latest).await?;
            let (body, _room) = self.body(request.into_body(), deadline).await?;
            let _permit = self.limits.conversion(plugin, latest).await?;
            let conversion = ConversionRequest::read(&body)?;
            drop(body);
            return Ok(Bytes::from(self.server.convert(&converter, conversion, deadline).await.to_string()));
        }
        let headers = self.server.tracer.is_some().then(|| request.headers().clone());
        self.server.ready(path, latest).await?;
        let (body, _room) = self.body(request.into_body(), deadline).await?;
        let _permit = self.limits.review(path.plugin(), latest).await?;
        let mut admission_request = AdmissionRequest::read(&body)?;
        drop(body);
        admission_request.authenticated = self.client == Client::Authenticated;
        let span = self.begin(path, &admission_request, arrived, headers.as_ref());
        *trace = span.trace_id();
        let answer = span.within(self.server.answer(path, &admission_request, Time { arrived, deadline })).await;
        let answer = answer.inspect_err(|_| span.fail("unavailable"))?;
        span.set("oarlock.outcome", || answer.result());
        if answer.failed || answer.ignored {
            span.fail("plugin_failed");
        }
        self.server.count(path, &answer);
        Ok(Bytes::from(answer.to_json(&admission_request).to_string()))
    }

    /// Begins the span of a review when it arrived. Without a tracer it is nothing.
    fn begin(
        &self,
        path: &Path,
        admission_request: &AdmissionRequest,
        arrived: Instant,
        headers: Option<&HeaderMap>,
    ) -> Span {
        let Some(tracer) = &self.server.tracer else { return Span::default() };
        let waited = arrived.elapsed();
        let span = tracer.begin("review", SpanKind::Server, waited, headers);
        span.past("queue wait", waited);
        span.set_object(&admission_request.kind, &admission_request.key);
        span.set("oarlock.webhook", || self.server.series(path).unwrap_or_default());
        span.set("oarlock.operation", || admission_request.operation.clone());
        span
    }

    /// Reads a body. Its share of the memory for bodies is held for as long as the request, because the parsed review is as large.
    async fn body<B: RequestBody>(
        &self,
        body: B,
        deadline: Instant,
    ) -> Result<(Bytes, Option<SemaphorePermit<'_>>), Unreadable> {
        let room = self.limits.body(body.size_hint().exact(), deadline).await?;
        Ok((read(body, deadline).await?, room))
    }
}

async fn read(body: impl RequestBody, deadline: Instant) -> Result<Bytes, Unreadable> {
    tokio::time::timeout_at(deadline, collect(body))
        .await
        .unwrap_or_else(|_elapsed| Err(Unreadable::new(408, "the body did not come in time")))
}

/// Reads and discards a part of a body that is too large: a client that is still sending would not read the response.
async fn collect(mut body: impl RequestBody) -> Result<Bytes, Unreadable> {
    let (mut all, mut size) = (BytesMut::new(), 0);
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Unreadable::new(400, format!("the body could not be read: {error}")))?;
        let Some(data) = frame.data_ref() else { continue };
        size += data.len();
        if size.max(announced) <= BODY_BYTES {
            all.extend_from_slice(data);
        } else if size > MOST_BYTES {
            break;
        }
    }
    if size > BODY_BYTES {
        return Err(Unreadable::new(413, format!("the body is larger than {} MiB", BODY_BYTES >> 20)));
    }
    Ok(all.freeze())
}

/// Time for the response, from the API server's timeout in the query (`?timeout=5s`).
pub(super) fn timeout_of(query: &str) -> Duration {
    let said = url::form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == "timeout");
    let waits = said.and_then(|(_, value)| duration(&value)).unwrap_or(TIMEOUT).min(Duration::from_secs(60));
    let margin = (waits / 10).clamp(*MARGIN.start(), *MARGIN.end());
    waits.saturating_sub(margin)
}

/// Parses a duration as Go prints it: `5s`, `1m30s`, `500ms`.
fn duration(text: &str) -> Option<Duration> {
    text.parse::<jiff::SignedDuration>().ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_comes_before_the_api_server_gives_up() {
        for (query, milliseconds) in [
            ("timeout=10s", 9500),
            ("timeout=1s", 900),
            ("a=b&timeout=500ms", 450),
            ("timeout=1m30s", 59_500),
            ("timeout=1.5s", 1350),
            ("timeout=1m0s", 59_500),
            ("timeout=999999999h", 59_500),
            ("timeout=250%C2%B5s", 0),
            ("timeout=30ms", 0),
            ("timeout=soon", 9500),
            ("timeout=-1s", 9500),
            ("", 9500),
        ] {
            assert_eq!(timeout_of(query).as_millis(), milliseconds, "{query}");
        }
    }
}
