//! A collector of OpenTelemetry traces that a test can break.

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use oarlock_tests::harness::{SOON, eventually};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span as Received;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode as Code;
use prost::Message as _;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

/// What the collector does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    Takes,
    /// Takes all spans but one of each request, and says why.
    Rejects,
    /// Takes all spans, with this warning.
    Warns,
    /// This status, without a body.
    Refuses(StatusCode),
    /// 200 with bytes that are no protobuf.
    Babbles,
    /// Never answers.
    Hangs,
}

/// A span as a collector reads it.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) trace: String,
    pub(super) id: String,
    /// Empty: none.
    pub(super) parent: String,
    pub(super) name: String,
    pub(super) kind: i32,
    /// Nanoseconds since 1970.
    pub(super) time: (u64, u64),
    pub(super) attributes: BTreeMap<String, String>,
    pub(super) failed: bool,
}

impl Span {
    pub(super) fn attribute(&self, key: &str) -> &str {
        self.attributes.get(key).map_or("", String::as_str)
    }

    fn of(span: Received) -> Self {
        Self {
            trace: hex(&span.trace_id),
            id: hex(&span.span_id),
            parent: hex(&span.parent_span_id),
            name: span.name,
            kind: span.kind,
            time: (span.start_time_unix_nano, span.end_time_unix_nano),
            attributes: attributes(span.attributes),
            failed: span.status.is_some_and(|status| status.code == i32::from(Code::Error)),
        }
    }
}

#[derive(Debug)]
struct State {
    mood: Mood,
    spans: Vec<Span>,
    resources: Vec<BTreeMap<String, String>>,
    /// Heads and bodies of all requests.
    raw: Vec<String>,
    requests: usize,
}

/// A collector on 127.0.0.1. Dropping it closes it.
#[derive(Clone, Debug)]
pub(super) struct Collector {
    url: String,
    state: Arc<Mutex<State>>,
    _closing: Arc<DropGuard>,
}

impl Collector {
    pub(super) async fn start(mood: Mood) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let state = State { mood, spans: Vec::new(), resources: Vec::new(), raw: Vec::new(), requests: 0 };
        let (state, closing) = (Arc::new(Mutex::new(state)), CancellationToken::new());
        let (served, closed) = (Arc::clone(&state), closing.clone());
        tokio::spawn(closing.clone().run_until_cancelled_owned(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let served = Arc::clone(&served);
                let service = service_fn(move |request| answer(Arc::clone(&served), request));
                let serving = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                tokio::spawn(closed.clone().run_until_cancelled_owned(serving));
            }
        }));
        Ok(Self { url, state, _closing: Arc::new(closing.drop_guard()) })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn change(&self, mood: Mood) {
        lock(&self.state).mood = mood;
    }

    pub(super) fn requests(&self) -> usize {
        lock(&self.state).requests
    }

    /// Every span so far.
    pub(super) fn spans(&self) -> Vec<Span> {
        lock(&self.state).spans.clone()
    }

    /// The attributes of the host in each request.
    pub(super) fn resources(&self) -> Vec<BTreeMap<String, String>> {
        lock(&self.state).resources.clone()
    }

    /// Everything that was sent, as text.
    pub(super) fn raw(&self) -> String {
        lock(&self.state).raw.join("\n")
    }

    /// Waits for a whole trace whose root is such a span. The root comes last.
    pub(super) async fn trace(&self, what: &str, root: impl Fn(&Span) -> bool) -> Result<Trace> {
        eventually(SOON, what, || async {
            let spans = self.spans();
            let root = spans.iter().find(|span| root(span)).with_context(|| format!("{spans:#?}"))?.clone();
            let spans = spans.into_iter().filter(|span| span.trace == root.trace).collect();
            Ok(Trace { root, spans })
        })
        .await
    }
}

/// The spans of one trace.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    pub(super) root: Span,
    pub(super) spans: Vec<Span>,
}

impl Trace {
    /// The only span with this name.
    pub(super) fn one(&self, name: &str) -> Result<&Span> {
        let found = self.all(name);
        ensure!(found.len() == 1, "{} spans {name} in {:#?}", found.len(), self.spans);
        found.first().copied().context("none")
    }

    pub(super) fn all(&self, name: &str) -> Vec<&Span> {
        self.spans.iter().filter(|span| span.name == name).collect()
    }

    pub(super) fn parent(&self, span: &Span) -> Result<&Span> {
        self.spans.iter().find(|parent| parent.id == span.parent).with_context(|| format!("no parent of {span:#?}"))
    }

    /// Checks that every span but the root has a parent and lies within it. Events are written after their reconcile.
    pub(super) fn is_a_tree(&self) -> Result<()> {
        for span in self.spans.iter().filter(|span| span.id != self.root.id) {
            let parent = self.parent(span)?;
            let inside = parent.time.0 <= span.time.0 && span.time.1 <= parent.time.1;
            ensure!(span.time.0 <= span.time.1, "{span:#?}");
            ensure!(inside || span.name.ends_with(" events"), "{span:#?} is not within {parent:#?}");
        }
        Ok(())
    }
}

async fn answer(state: Arc<Mutex<State>>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let mood = {
        let mut state = lock(&state);
        state.requests += 1;
        state.raw.push(format!("{head:?} {}", String::from_utf8_lossy(&body)));
        state.mood
    };
    let with = |status: StatusCode, body: &'static [u8]| {
        let mut response = Response::new(Full::new(Bytes::from_static(body)));
        *response.status_mut() = status;
        Ok(response)
    };
    match mood {
        Mood::Hangs => std::future::pending().await,
        Mood::Refuses(status) => with(status, b""),
        Mood::Babbles => with(StatusCode::OK, b"\xff\xff\xff<html>"),
        Mood::Takes | Mood::Rejects | Mood::Warns => {
            let Ok(export) = ExportTraceServiceRequest::decode(body) else {
                return with(StatusCode::BAD_REQUEST, b"not OTLP");
            };
            if head.uri.path() != "/v1/traces"
                || head.headers.get("content-type").is_none_or(|is| is != "application/x-protobuf")
            {
                return with(StatusCode::NOT_FOUND, b"not the endpoint for traces");
            }
            let mut state = lock(&state);
            for of_resource in export.resource_spans {
                state.resources.extend(of_resource.resource.map(|resource| attributes(resource.attributes)));
                let spans = of_resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
                state.spans.extend(spans.map(Span::of));
            }
            drop(state);
            Ok(Response::new(Full::new(Bytes::from(partial_success(mood)))))
        }
    }
}

fn partial_success(mood: Mood) -> Vec<u8> {
    let (rejected_spans, error_message) = match mood {
        Mood::Rejects => (1, "scripted limit"),
        Mood::Warns => (0, "scripted advice"),
        _ => return Vec::new(),
    };
    let partial_success = ExportTracePartialSuccess { rejected_spans, error_message: error_message.to_owned() };
    ExportTraceServiceResponse { partial_success: Some(partial_success) }.encode_to_vec()
}

fn attributes(list: Vec<KeyValue>) -> BTreeMap<String, String> {
    list.into_iter().map(|pair| (pair.key, text(pair.value))).collect()
}

fn text(value: Option<AnyValue>) -> String {
    match value.and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::BoolValue(is)) => is.to_string(),
        other => format!("{other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
