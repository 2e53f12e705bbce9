//! Export of spans: batches, their bound, and what the operator learns about them.
//!
//! The SDK batches and sends on a thread of its own. Around it are the counts: a span that finds the queue full is dropped at once, so that
//! no reconcile waits for a collector.

use super::Tracer;
use super::client::{CollectorClient, Partial};
use super::config::{Error, Options};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{Protocol, SpanExporter as OtlpExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider, Span, SpanData, SpanExporter, SpanProcessor,
};
use prometheus_client::metrics::counter::Counter;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Time for the last spans when the host ends.
const FLUSH: Duration = Duration::from_secs(3);

/// Least time between two log lines that report trouble.
const TOLD: Duration = Duration::from_secs(60);

/// Counters of spans.
#[derive(Clone, Debug, Default)]
pub struct SpanCounters {
    /// Spans that the collector accepted.
    pub exported: Counter,
    /// Spans that were dropped.
    pub dropped: Counter,
}

/// The export of a host's spans.
#[derive(Debug)]
pub struct Exporting {
    provider: SdkTracerProvider,
    state: Arc<State>,
    client: CollectorClient,
}

/// The state of the export.
#[derive(Debug)]
struct State {
    collector: String,
    counters: SpanCounters,
    /// Spans in the queue or on their way.
    waiting: AtomicUsize,
    /// Most of them.
    most: usize,
    trouble: Mutex<Trouble>,
}

/// Whether spans are being dropped, and what the log says about it.
#[derive(Debug, Default)]
struct Trouble {
    /// Spans dropped since it began. None: there is no trouble.
    dropped: Option<u64>,
    /// Whether the log has a line about it.
    told: bool,
    last_told: Option<Instant>,
    /// The last warning of the collector, and when the log got it.
    warning: Option<(String, Instant)>,
}

impl Exporting {
    /// Starts a thread that sends spans.
    ///
    /// Call it on the runtime that sends the requests.
    ///
    /// # Errors
    ///
    /// A variable of the exporter is invalid.
    pub fn start(options: &Options, counters: SpanCounters) -> Result<Self, Error> {
        let client = CollectorClient::new(options.timeout);
        let exporter = OtlpExporter::builder()
            .with_http()
            .with_http_client(client.clone())
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(options.endpoint.as_str())
            .with_timeout(options.timeout)
            .build()
            .map_err(Error::Exporter)?;
        let state = Arc::new(State {
            collector: options.collector(),
            counters,
            waiting: AtomicUsize::new(0),
            most: options.queue,
            trouble: Mutex::default(),
        });
        let exporter = CountingExporter { exporter, client: client.clone(), state: Arc::clone(&state) };
        let batches = BatchConfigBuilder::default().with_max_queue_size(options.queue).build();
        let batches = BatchSpanProcessor::builder(exporter).with_batch_config(batches).build();
        let provider = SdkTracerProvider::builder()
            .with_resource(resource(options))
            .with_span_processor(BoundedProcessor { batches, state: Arc::clone(&state) })
            .build();
        tracing::info!(collector = state.collector, "traces are sent with OTLP");
        Ok(Self { provider, state, client })
    }

    /// The tracer that makes the spans.
    #[must_use]
    pub fn tracer(&self) -> Tracer {
        Tracer::new(&self.provider)
    }

    /// Sends the last spans, for at most three seconds.
    pub async fn stop(self) {
        let Self { provider, state, client } = self;
        // Failed exports have their own line; what counts here is whether the time sufficed.
        let _ = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(FLUSH)).await;
        let spans = state.waiting.load(Relaxed);
        if spans > 0 {
            let error = client.take_failure();
            tracing::warn!(collector = state.collector, spans, error, "the last spans were not sent");
        }
    }
}

/// The attributes of the host, beside those of `OTEL_RESOURCE_ATTRIBUTES`.
fn resource(options: &Options) -> Resource {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let mut own = vec![KeyValue::new("service.version", env!("CARGO_PKG_VERSION"))];
    for (key, name) in
        [("k8s.namespace.name", "POD_NAMESPACE"), ("k8s.pod.name", "POD_NAME"), ("k8s.pod.uid", "POD_UID")]
    {
        own.extend(variable(name).map(|value| KeyValue::new(key, value)));
    }
    let own = Resource::builder_empty().with_attributes(own).build();
    let mut builder = Resource::builder();
    if let Some(name) = options.service_name {
        builder = builder.with_service_name(name);
    }
    let stated = builder.build();
    // The operator's attributes win over the host's.
    let stated = stated.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
    let merged = own.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).chain(stated);
    Resource::builder_empty().with_attributes(merged).build()
}

impl State {
    /// Counts spans that are dropped. The first ones since all was well are worth a log line.
    fn dropped(&self, spans: usize, why: &str) {
        let spans = u64::try_from(spans).unwrap_or(u64::MAX);
        self.counters.dropped.inc_by(spans);
        let mut trouble = self.trouble();
        let began = trouble.dropped.is_none();
        *trouble.dropped.get_or_insert(0) += spans;
        if began && trouble.last_told.is_none_or(|told| told.elapsed() >= TOLD) {
            (trouble.told, trouble.last_told) = (true, Some(Instant::now()));
            drop(trouble);
            tracing::warn!(
                collector = self.collector,
                error = why,
                "spans are dropped; oarlock_otlp_spans_dropped_total counts them"
            );
        }
    }

    /// Counts spans of a request that the collector accepted in part.
    fn partly_exported(&self, spans: usize, partial: &Partial) {
        let rejected = partial.rejected.min(spans);
        if rejected == 0 {
            self.exported(spans);
            return self.warned(&partial.why);
        }
        // Trouble goes on until a request is accepted as a whole.
        self.count_exported(spans - rejected);
        self.dropped(rejected, &format!("the collector rejected spans: {}", partial.why));
    }

    /// Logs a warning of the collector, unless it is the last one or comes too soon after it.
    fn warned(&self, warning: &str) {
        let mut trouble = self.trouble();
        let known = |(text, told): &(String, Instant)| text == warning || told.elapsed() < TOLD;
        if trouble.warning.as_ref().is_some_and(known) {
            return;
        }
        trouble.warning = Some((warning.to_owned(), Instant::now()));
        drop(trouble);
        tracing::warn!(collector = self.collector, warning, "the collector took spans with a warning");
    }

    fn count_exported(&self, spans: usize) {
        self.counters.exported.inc_by(u64::try_from(spans).unwrap_or(u64::MAX));
    }

    /// Counts spans that the collector accepted.
    fn exported(&self, spans: usize) {
        self.count_exported(spans);
        if self.waiting.load(Relaxed) > self.most / 2 {
            return;
        }
        let mut trouble = self.trouble();
        let Some(dropped) = trouble.dropped.take() else { return };
        let told = std::mem::take(&mut trouble.told);
        drop(trouble);
        if told {
            tracing::info!(collector = self.collector, dropped, "spans are sent again");
        }
    }

    fn trouble(&self) -> std::sync::MutexGuard<'_, Trouble> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drops spans that find the queue full.
#[derive(Debug)]
struct BoundedProcessor {
    batches: BatchSpanProcessor,
    state: Arc<State>,
}

impl SpanProcessor for BoundedProcessor {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if self.state.waiting.fetch_add(1, Relaxed) >= self.state.most {
            self.state.waiting.fetch_sub(1, Relaxed);
            self.state.dropped(1, "the queue is full (OTEL_BSP_MAX_QUEUE_SIZE): the collector is slower than the host");
            return;
        }
        self.batches.on_end(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.batches.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.batches.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.batches.set_resource(resource);
    }
}

/// Counts what becomes of spans.
#[derive(Debug)]
struct CountingExporter {
    exporter: OtlpExporter,
    client: CollectorClient,
    state: Arc<State>,
}

impl SpanExporter for CountingExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let sent = self.exporter.export(batch).await;
        self.state.waiting.fetch_sub(spans, Relaxed);
        match (&sent, self.client.take_partial()) {
            (Ok(()), None) => self.state.exported(spans),
            (Ok(()), Some(partial)) => self.state.partly_exported(spans, &partial),
            (Err(error), _) => {
                let why = self.client.take_failure().unwrap_or_else(|| crate::quoted(&error.to_string(), 200));
                self.state.dropped(spans, &why);
            }
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
