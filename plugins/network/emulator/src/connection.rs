//! Connections, and the handling of one request from its first byte to its last.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

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

use crate::answer::Answer;
use crate::body::ReplyBody;
use crate::control;
use crate::fault::Action;
use crate::journal::Request;
use crate::keystone::{KeystoneCall, unauthorized};
use crate::neutron::{Call, Caller};
use crate::server::{Inner, Shared};

/// Longest request body; longer ones are answered with 413.
const BODY_LIMIT_BYTES: usize = 1 << 20;
/// Pause after a failed accept, which happens when the process is out of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    Neutron,
    Keystone,
}

/// The connection is reset instead of a response.
#[derive(Debug)]
struct Reset;

impl std::fmt::Display for Reset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("connection reset by a fault")
    }
}

impl std::error::Error for Reset {}

/// Serves one listener until the emulator stops.
pub(crate) async fn serve(listener: TcpListener, service: Service, shared: Arc<Shared>) {
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

/// Records the request and finds its fault.
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

/// Carries out a request, with the effect of its fault.
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

/// The true response, with the request's effect.
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

/// The artificial response of a fault.
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
