//! The listeners, and what happens to one request from its first byte to its last.

use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::answer::Answer;
use crate::body::ReplyBody;
use crate::control;
use crate::fault::{Action, Fault, Plan};
use crate::journal::{Journal, Request};
use crate::keystone::{Auth, Keystone, KeystoneCall, unauthorized};
use crate::neutron::{Call, Caller, Neutron};

/// Longest request body; longer ones are answered with 413.
const BODY_LIMIT_BYTES: usize = 1 << 20;
/// A burst of connections to a full accept queue is not refused, so a failed accept is worth another try.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// How to start an emulator.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where Neutron listens; port 0 takes a free one.
    pub addr: SocketAddr,
    /// Where Keystone listens; used with `auth` only.
    pub keystone_addr: SocketAddr,
    /// Accounts. `None`: no authentication, everyone is an administrator.
    pub auth: Option<Auth>,
    /// Largest page of a list, whatever the request's `limit` says.
    pub page_limit: Option<usize>,
    /// How many requests the journal keeps.
    pub journal_capacity: usize,
}

impl Default for Options {
    /// Free ports on 127.0.0.1, no authentication, no page limit, 10 000 journal entries.
    fn default() -> Self {
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self { addr: loopback, keystone_addr: loopback, auth: None, page_limit: None, journal_capacity: 10_000 }
    }
}

/// Starts emulators.
#[derive(Debug)]
pub struct Emulator;

impl Emulator {
    /// Listens and serves until [`Running::shutdown`], or until the handle is dropped.
    ///
    /// # Errors
    ///
    /// When an address cannot be listened on.
    pub async fn start(options: Options) -> Result<Running> {
        let neutron = listen(options.addr).await?;
        let neutron_url = format!("http://{}", neutron.local_addr()?);
        let keystone = if options.auth.is_some() { Some(listen(options.keystone_addr).await?) } else { None };
        let keystone_url = match &keystone {
            Some(listener) => Some(format!("http://{}", listener.local_addr()?)),
            None => None,
        };
        let inner = Inner {
            neutron: Neutron::new(options.page_limit),
            keystone: options.auth.map(Keystone::new),
            plan: Plan::default(),
            journal: Journal::new(options.journal_capacity),
        };
        let shared = Arc::new(Shared {
            inner: Mutex::new(inner),
            neutron_url,
            keystone_url: keystone_url.unwrap_or_default(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        });
        shared.tasks.spawn(serve(neutron, Service::Neutron, Arc::clone(&shared)));
        if let Some(listener) = keystone {
            shared.tasks.spawn(serve(listener, Service::Keystone, Arc::clone(&shared)));
        }
        Ok(Running { shared })
    }
}

/// A running emulator.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
}

impl Running {
    /// Neutron's endpoint without `/v2.0`, such as `http://127.0.0.1:9696`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.shared.neutron_url
    }

    /// Keystone's `auth_url` with `/v3`; `None` without authentication.
    #[must_use]
    pub fn keystone_url(&self) -> Option<String> {
        let url = &self.shared.keystone_url;
        (!url.is_empty()).then(|| format!("{url}/v3"))
    }

    /// Every network as an administrator sees it, ordered by id.
    #[must_use]
    pub fn networks(&self) -> Vec<Value> {
        self.shared.lock().neutron.all("networks")
    }

    /// Every subnet, ordered by id.
    #[must_use]
    pub fn subnets(&self) -> Vec<Value> {
        self.shared.lock().neutron.all("subnets")
    }

    /// Every port, ordered by id.
    #[must_use]
    pub fn ports(&self) -> Vec<Value> {
        self.shared.lock().neutron.all("ports")
    }

    /// The newest requests, oldest first; see [`Options::journal_capacity`].
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().journal.entries()
    }

    /// Empties the journal; numbering goes on.
    pub fn clear_requests(&self) {
        self.shared.lock().journal.clear();
    }

    /// Replaces the fault rules. Requests that a fault already holds are not let go.
    pub fn set_faults(&self, faults: Vec<Fault>) {
        self.shared.lock().plan.set(faults);
    }

    /// Removes the fault rules.
    pub fn clear_faults(&self) {
        self.set_faults(Vec::new());
    }

    /// The fault rules, with what is left of their `skip` and `count`.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        self.shared.lock().plan.rules().to_vec()
    }

    /// Ends every token issued so far.
    pub fn expire_tokens(&self) {
        if let Some(keystone) = &mut self.shared.lock().keystone {
            keystone.expire_all();
        }
    }

    /// Forgets every network, subnet, port, router and quota.
    pub fn clear_state(&self) {
        self.shared.lock().neutron.clear();
    }

    /// Stops listening, drops open connections and waits until they are gone.
    pub async fn shutdown(self) {
        self.shared.stop.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.stop.cancel();
    }
}

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    inner: Mutex<Inner>,
    neutron_url: String,
    /// Without `/v3`; empty without authentication.
    keystone_url: String,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) neutron: Neutron,
    keystone: Option<Keystone>,
    pub(crate) plan: Plan,
    pub(crate) journal: Journal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Service {
    Neutron,
    Keystone,
}

/// The connection is to be reset instead of answered.
#[derive(Debug)]
struct Reset;

impl std::fmt::Display for Reset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("connection reset by a fault")
    }
}

impl std::error::Error for Reset {}

async fn listen(addr: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(addr).await.with_context(|| format!("listening on {addr}"))
}

async fn serve(listener: TcpListener, service: Service, shared: Arc<Shared>) {
    loop {
        let accepted = tokio::select! {
            () = shared.stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let connection = connection(stream, service, Arc::clone(&shared));
                let stop = shared.stop.clone();
                shared.tasks.spawn(async move {
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = connection => {}
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "accepting a connection failed");
                tokio::time::sleep(ACCEPT_RETRY).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, service: Service, shared: Arc<Shared>) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY was refused");
    }
    let handler = service_fn(move |request: http::Request<Incoming>| handle(request, service, Arc::clone(&shared)));
    let mut connection = http1::Builder::new().serve_connection(TokioIo::new(stream), handler);
    let result = Pin::new(&mut connection).await;
    let Err(error) = result else { return };
    if std::error::Error::source(&error).is_some_and(<dyn std::error::Error>::is::<Reset>) {
        let stream = connection.into_parts().io.into_inner();
        if let Err(error) = stream.set_zero_linger() {
            tracing::debug!(%error, "the connection is closed instead of reset");
        }
    }
}

async fn handle(
    request: http::Request<Incoming>,
    service: Service,
    shared: Arc<Shared>,
) -> std::result::Result<Response<ReplyBody>, Reset> {
    let arrived = Instant::now();
    let (head, body) = request.into_parts();
    let Ok(body) = Limited::new(body, BODY_LIMIT_BYTES).collect().await else {
        return Ok(reply(&Answer::empty(StatusCode::PAYLOAD_TOO_LARGE)));
    };
    let body = body.to_bytes();
    if head.uri.path().starts_with("/_") {
        return Ok(reply(&control::answer(&shared, head.method.as_str(), head.uri.path(), &body)));
    }
    let (number, action) = arrive(&shared, service, &head, &body);
    let answered = act(&shared, service, &head, &body, action).await;
    let milliseconds = u64::try_from(arrived.elapsed().as_millis()).unwrap_or(u64::MAX);
    let status = answered.as_ref().ok().map(|response| response.status().as_u16());
    shared.lock().journal.close(number, status, milliseconds);
    answered
}

/// Notes the request and finds out what fault it meets.
fn arrive(shared: &Shared, service: Service, head: &Parts, body: &[u8]) -> (u64, Option<Action>) {
    let mut inner = shared.lock();
    let action = inner.plan.take(head.method.as_str(), head.uri.path());
    let number = inner.journal.open(Request {
        number: 0,
        time: jiff::Timestamp::now().to_string(),
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        body: (service == Service::Neutron).then(|| serde_json::from_slice(body).ok()).flatten(),
        status: None,
        milliseconds: 0,
        fault: action.as_ref().map(Action::name),
    });
    (number, action)
}

/// Carries a request out, with what the fault does to it.
async fn act(
    shared: &Shared,
    service: Service,
    head: &Parts,
    body: &[u8],
    action: Option<Action>,
) -> std::result::Result<Response<ReplyBody>, Reset> {
    let truth = |hide| perform(shared, service, head, body, hide);
    match action {
        None => Ok(reply(&truth(None))),
        Some(Action::Answer { status, kind, message, body, retry_after_seconds, after_effect }) => {
            if after_effect {
                truth(None);
            }
            Ok(reply(&made_up(status, kind, message, body, retry_after_seconds)))
        }
        Some(Action::Reset { after_effect }) => {
            if after_effect {
                truth(None);
            }
            Err(Reset)
        }
        Some(Action::Hang { after_effect }) => {
            if after_effect {
                truth(None);
            }
            std::future::pending().await
        }
        Some(Action::Delay { milliseconds }) => {
            tokio::time::sleep(Duration::from_millis(milliseconds)).await;
            Ok(reply(&truth(None)))
        }
        Some(Action::Dribble { bytes, milliseconds }) => {
            let answer = truth(None);
            let text = answer.body.as_ref().map(Value::to_string).unwrap_or_default();
            let body = ReplyBody::dribble(Bytes::from(text), bytes, Duration::from_millis(milliseconds));
            Ok(respond(&answer, body))
        }
        Some(Action::Oversized { bytes }) => Ok(reply(&Answer::ok(json!({"padding": "x".repeat(bytes)})))),
        Some(Action::Garbage) => {
            let body = ReplyBody::Whole(Bytes::from_static(b"{\"networks\": [\xff\xfe\x00"));
            Ok(respond(&Answer::ok(Value::Null), body))
        }
        Some(Action::HideNew { milliseconds }) => Ok(reply(&truth(Some(Duration::from_millis(milliseconds))))),
        Some(Action::ExpireTokens) => {
            if let Some(keystone) = &mut shared.lock().keystone {
                keystone.expire_all();
            }
            Ok(reply(&truth(None)))
        }
    }
}

/// The true answer, with its effect.
fn perform(shared: &Shared, service: Service, head: &Parts, body: &[u8], hide: Option<Duration>) -> Answer {
    let header = |name: &str| text(&head.headers, name);
    let inner = &mut *shared.lock();
    let Inner { neutron, keystone, .. } = inner;
    if service == Service::Keystone {
        let Some(keystone) = keystone else { return Answer::empty(StatusCode::NOT_FOUND) };
        return keystone.answer(&KeystoneCall {
            method: head.method.as_str(),
            path: head.uri.path(),
            auth_token: header("x-auth-token"),
            subject_token: header("x-subject-token"),
            body,
            keystone: &shared.keystone_url,
            neutron: &shared.neutron_url,
        });
    }
    let caller = match keystone {
        None => Caller::anyone(),
        // The list of versions is public.
        Some(_) if head.uri.path() == "/" => Caller::anyone(),
        Some(keystone) => match keystone.caller(header("x-auth-token")) {
            Some(caller) => caller,
            None => return unauthorized(&shared.keystone_url),
        },
    };
    let base = header("host").map_or_else(|| shared.neutron_url.clone(), |host| format!("http://{host}"));
    neutron.answer(&Call {
        method: head.method.as_str(),
        path: head.uri.path(),
        query: head.uri.query().unwrap_or_default(),
        if_match: header("if-match"),
        body,
        caller: &caller,
        base: &base,
        hide_younger_than: hide,
    })
}

/// The answer a fault makes up.
fn made_up(
    status: u16,
    kind: Option<String>,
    message: Option<String>,
    body: Option<Value>,
    retry_after_seconds: Option<u64>,
) -> Answer {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = body.unwrap_or_else(|| {
        let (kind, message) = (kind.unwrap_or_else(|| "HTTPError".to_owned()), message.unwrap_or_default());
        json!({"NeutronError": {"type": kind, "message": message, "detail": ""}})
    });
    let answer = Answer::new(status, body);
    match retry_after_seconds {
        Some(seconds) => answer.with("retry-after", seconds.to_string()),
        None => answer,
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn reply(answer: &Answer) -> Response<ReplyBody> {
    let text = answer.body.as_ref().map(Value::to_string).unwrap_or_default();
    respond(answer, ReplyBody::Whole(Bytes::from(text)))
}

fn respond(answer: &Answer, body: ReplyBody) -> Response<ReplyBody> {
    let mut response = Response::new(body);
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    if answer.body.is_some() {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    for (name, value) in &answer.headers {
        match HeaderValue::from_str(value) {
            Ok(value) => drop(headers.insert(*name, value)),
            Err(error) => tracing::warn!(%error, name, "a header was left out"),
        }
    }
    response
}
