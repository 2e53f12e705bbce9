//! OpenTelemetry traces: the spans of a reconcile or a review, and their trace context in requests, log lines and metrics.
//!
//! A [`Tracer`] begins a trace. Everything below finds the current span by OpenTelemetry's context, which follows a future from thread to
//! thread ([`Span::within`], [`carry`]). Without a tracer there is no context: each function here looks at one thread-local value and does
//! nothing.
//!
//! Spans contain names, codes and durations that the host chose. They never contain a message, a body, a header or a query.
//!
//! # Source
//!
//! OpenTelemetry specification 1.x; semantic conventions for HTTP and Kubernetes; W3C Trace Context.

mod client;
mod config;
mod export;

pub use self::config::{Error, Options};
pub use self::export::{Exporting, SpanCounters};

use crate::api::{GroupVersionKind, ObjectKey};
use futures::future::{BoxFuture, Either};
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{
    FutureExt as _, SpanBuilder, Status, TraceContextExt as _, Tracer as _, TracerProvider as _, WithContext,
};
pub use opentelemetry::trace::{SpanKind, TraceId};
use opentelemetry::{Context, InstrumentationScope, KeyValue, Value};
use opentelemetry_http::{HeaderExtractor, HeaderInjector};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

/// Most spans of one trace in this process; the root counts the others. A guest decides about the number of its requests and changes.
const MOST_SPANS: u32 = 512;

/// Longest text of an attribute. Names and paths come from guests and clients.
const ATTRIBUTE_BYTES: usize = 256;

/// Begins traces. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Tracer(SdkTracer);

/// The part of a trace in this process.
#[derive(Debug)]
struct Trace {
    tracer: SdkTracer,
    spans: AtomicU32,
}

/// A span, which ends when it is dropped. Without a trace, or when the trace is not sampled, it is nothing.
#[derive(Debug, Default)]
#[must_use = "the span ends when it is dropped"]
pub struct Span {
    context: Option<Context>,
    /// Whether it is the first of its trace in this process.
    root: bool,
}

/// The place in a trace of work that comes later, outside of its span. It does not keep the span open.
#[derive(Clone, Debug)]
pub struct Place(Context);

impl Tracer {
    fn new(provider: &SdkTracerProvider) -> Self {
        let scope = InstrumentationScope::builder("oarlock").with_version(env!("CARGO_PKG_VERSION")).build();
        Self(provider.tracer_with_scope(scope))
    }

    /// Begins the root span of this process.
    ///
    /// * `ago` - how long ago it began.
    /// * `headers` - of the request that it answers. A `traceparent` among them becomes its parent.
    pub fn begin(&self, name: &'static str, kind: SpanKind, ago: Duration, headers: Option<&http::HeaderMap>) -> Span {
        let before = match headers {
            Some(headers) => {
                TraceContextPropagator::new().extract_with_context(&Context::new(), &HeaderExtractor(headers))
            }
            None => Context::new(),
        };
        let span = SpanBuilder::from_name(name).with_kind(kind).with_start_time(before_now(ago));
        let span = self.0.build_with_context(span, &before);
        let trace = Trace { tracer: self.0.clone(), spans: AtomicU32::new(1) };
        Span { context: Some(Context::new().with_value(Arc::new(trace)).with_span(span)), root: true }
    }
}

impl Span {
    /// Begins a span below the current one.
    ///
    /// * `name` - called only if there is one.
    pub fn child(kind: SpanKind, name: impl FnOnce() -> Cow<'static, str>) -> Self {
        let context = Context::map_current(|parent| {
            let trace = trace_of(parent).filter(|trace| trace.takes_one(parent))?;
            let span = SpanBuilder::from_name(name()).with_kind(kind);
            Some(parent.with_span(trace.tracer.build_with_context(span, parent)))
        });
        Self { context, root: false }
    }

    /// Begins a span of the host's own work below the current one.
    pub fn internal(name: &'static str) -> Self {
        Self::child(SpanKind::Internal, || Cow::Borrowed(name))
    }

    /// Adds a span below this one that has just ended.
    pub fn past(&self, name: &'static str, took: Duration) {
        let Some(context) = &self.context else { return };
        if let Some(trace) = trace_of(context).filter(|trace| trace.takes_one(context)) {
            let span = SpanBuilder::from_name(name).with_start_time(before_now(took));
            drop(trace.tracer.build_with_context(span, context));
        }
    }

    /// Sets an attribute. A long text is cut.
    ///
    /// * `value` - called only if the span is recorded.
    pub fn set<V: Into<Value>>(&self, key: &'static str, value: impl FnOnce() -> V) {
        if let Some(context) = self.recorded() {
            set(context, key, value());
        }
    }

    /// Names the object that the span is about.
    pub fn set_object(&self, kind: &GroupVersionKind, key: &ObjectKey) {
        self.set("k8s.object.kind", || kind.kind.to_string());
        self.set("k8s.object.api_version", || kind.api_version());
        self.set("k8s.object.name", || key.name.to_string());
        if !key.namespace.is_empty() {
            self.set("k8s.namespace.name", || key.namespace.to_string());
        }
    }

    /// Marks the span as failed.
    ///
    /// * `error_type` - the attribute `error.type`: one of few values, never a message, which may quote a secret.
    pub fn fail(&self, error_type: impl Into<Cow<'static, str>>) {
        if let Some(context) = self.recorded() {
            fail(context, error_type.into());
        }
    }

    /// Runs a future within the span.
    pub fn within<F: Future>(&self, work: F) -> Either<WithContext<F>, F> {
        match &self.context {
            Some(context) => Either::Left(work.with_context(context.clone())),
            None => Either::Right(work),
        }
    }

    /// The id of its trace, if the trace is sampled.
    #[must_use]
    pub fn trace_id(&self) -> Option<TraceId> {
        self.recorded().map(|context| context.span().span_context().trace_id())
    }

    fn recorded(&self) -> Option<&Context> {
        self.context.as_ref().filter(|context| is_sampled(context))
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        let Some(context) = &self.context else { return };
        if let Some(trace) = trace_of(context).filter(|_| self.root) {
            let left_out = trace.spans.load(Relaxed).saturating_sub(MOST_SPANS);
            if left_out > 0 {
                set(context, "oarlock.spans_left_out", i64::from(left_out));
            }
        }
        // Work that was abandoned may still hold the context.
        context.span().end();
    }
}

impl Trace {
    /// Whether there is room for another span below this context.
    fn takes_one(&self, parent: &Context) -> bool {
        is_sampled(parent) && self.spans.fetch_add(1, Relaxed) < MOST_SPANS
    }
}

impl Place {
    /// The place of the current span. None: nothing is recorded.
    #[must_use]
    pub fn current() -> Option<Self> {
        Context::map_current(|context| {
            let _trace = trace_of(context).filter(|_| is_sampled(context))?;
            Some(Self(context.with_remote_span_context(context.span().span_context().clone())))
        })
    }

    /// Runs a future there.
    pub fn within<F: Future>(place: Option<&Self>, work: F) -> Either<WithContext<F>, F> {
        match place {
            Some(Self(context)) => Either::Left(work.with_context(context.clone())),
            None => Either::Right(work),
        }
    }
}

/// Sets an attribute of the current span.
///
/// * `value` - called only if the span is recorded.
pub fn annotate<V: Into<Value>>(key: &'static str, value: impl FnOnce() -> V) {
    Context::map_current(|context| {
        if trace_of(context).is_some() && is_sampled(context) {
            set(context, key, value());
        }
    });
}

/// Marks the current span as failed.
///
/// * `error_type` - as of [`Span::fail`].
pub fn fail_current(error_type: &'static str) {
    Context::map_current(|context| {
        if trace_of(context).is_some() && is_sampled(context) {
            fail(context, Cow::Borrowed(error_type));
        }
    });
}

/// Keeps work within the current span, on whatever thread it runs.
#[must_use]
pub fn carry<T: 'static>(work: BoxFuture<'static, T>) -> BoxFuture<'static, T> {
    match Context::map_current(|context| trace_of(context).map(|_| context.clone())) {
        Some(context) => Box::pin(work.with_context(context)),
        None => work,
    }
}

/// The id of the current trace, if it is sampled.
#[must_use]
pub fn current_trace_id() -> Option<TraceId> {
    Context::map_current(|context| is_sampled(context).then(|| context.span().span_context().trace_id()))
}

/// Puts the trace context into the headers of a request, in place of what they have. Without a trace nothing changes.
///
/// A trace that is not sampled is passed on as such, so that servers do not sample it either.
pub fn inject(headers: &mut http::HeaderMap) {
    Context::map_current(|context| {
        if trace_of(context).is_none() || !context.span().span_context().is_valid() {
            return;
        }
        headers.remove("tracestate");
        TraceContextPropagator::new().inject_context(context, &mut HeaderInjector(headers));
        if headers.get("tracestate").is_some_and(http::HeaderValue::is_empty) {
            headers.remove("tracestate");
        }
    });
}

fn trace_of(context: &Context) -> Option<&Trace> {
    context.get::<Arc<Trace>>().map(|trace| &**trace)
}

fn is_sampled(context: &Context) -> bool {
    context.span().span_context().is_sampled()
}

fn set(context: &Context, key: &'static str, value: impl Into<Value>) {
    let value = match value.into() {
        Value::String(text) if text.as_str().len() > ATTRIBUTE_BYTES => {
            crate::shorten(text.as_str(), ATTRIBUTE_BYTES).to_owned().into()
        }
        value => value,
    };
    context.span().set_attribute(KeyValue::new(key, value));
}

fn fail(context: &Context, error_type: Cow<'static, str>) {
    let span = context.span();
    span.set_status(Status::error(""));
    span.set_attribute(KeyValue::new("error.type", error_type));
}

fn before_now(duration: Duration) -> SystemTime {
    let now = SystemTime::now();
    now.checked_sub(duration).unwrap_or(now)
}
