//! Log format for machines: one JSON object per line.

use super::TRACE_ID;
use std::fmt;
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Format, Json, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// The format of `tracing_subscriber`, with the id of the trace that the event belongs to.
pub(super) struct JsonEvents(pub(super) Format<Json>);

impl<S, N> FormatEvent<S, N> for JsonEvents
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, ctx: &FmtContext<'_, S, N>, mut out: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let Some(trace) = crate::telemetry::current_trace_id() else { return self.0.format_event(ctx, out, event) };
        let mut line = String::new();
        self.0.format_event(ctx, Writer::new(&mut line), event)?;
        match line.trim_end().strip_suffix('}') {
            Some(object) => writeln!(out, "{object},\"{TRACE_ID}\":\"{trace}\"}}"),
            None => out.write_str(&line),
        }
    }
}
