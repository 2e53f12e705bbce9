//! Log format for people.

use std::fmt::{self, Write};

use super::TRACE_ID;
use crate::text::Escape;
use jiff::Timestamp;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// Time, level, message, the event's fields, then the fields of its spans, innermost first.
pub(super) struct HumanEvents;

/// The message unquoted, other fields as `key=value`; both escaped.
pub(super) struct HumanFields;

/// Writes fields in order, each but the message after a space.
struct FieldVisitor<'w, W> {
    out: &'w mut W,
    /// Whether to write only the message, or all other fields.
    message: bool,
    result: fmt::Result,
}

impl<S, N> FormatEvent<S, N> for HumanEvents
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, ctx: &FmtContext<'_, S, N>, mut out: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        write!(out, "{} ", Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ"))?;
        let (name, colour) = level(*event.metadata().level());
        if out.has_ansi_escapes() {
            write!(out, "\x1b[{colour}m{name:>5}\x1b[0m ")?;
        } else {
            write!(out, "{name:>5} ")?;
        }
        write_fields(&mut out, event, true)?;
        write_fields(&mut out, event, false)?;
        if let Some(trace) = crate::telemetry::current_trace_id() {
            write!(out, " {TRACE_ID}={trace}")?;
        }
        for span in ctx.event_scope().into_iter().flatten() {
            if let Some(fields) = span.extensions().get::<FormattedFields<N>>() {
                out.write_str(&fields.fields)?;
            }
        }
        out.write_char('\n')
    }
}

impl<'writer> FormatFields<'writer> for HumanFields {
    fn format_fields<R: RecordFields>(&self, mut out: Writer<'writer>, fields: R) -> fmt::Result {
        write_fields(&mut out, fields, false)
    }

    fn add_fields(
        &self,
        current: &'writer mut FormattedFields<Self>,
        fields: &tracing::span::Record<'_>,
    ) -> fmt::Result {
        // The default implementation, without the space between the two.
        self.format_fields(current.as_writer(), fields)
    }
}

fn write_fields<R: RecordFields, W: Write>(out: &mut W, fields: R, message: bool) -> fmt::Result {
    let mut visitor = FieldVisitor { out, message, result: Ok(()) };
    fields.record(&mut visitor);
    visitor.result
}

impl<W: Write> FieldVisitor<'_, W> {
    fn write(&mut self, field: &Field, value: &dyn fmt::Display) {
        let is_message = field.name() == "message";
        if self.result.is_err() || is_message != self.message {
            return;
        }
        self.result = if is_message {
            write!(Escape(self.out), "{value}")
        } else {
            write!(self.out, " {}=", field.name()).and_then(|()| write_value(self.out, &value.to_string()))
        };
    }
}

impl<W: Write> Visit for FieldVisitor<'_, W> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.write(field, &value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        let mut chain = value.to_string();
        let mut source = value.source();
        while let Some(cause) = source {
            chain.push_str(": ");
            chain.push_str(&cause.to_string());
            source = cause.source();
        }
        self.write(field, &chain);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.write(field, &format_args!("{value:?}"));
    }
}

/// A value, in quotes where its end or its presence would be unclear.
fn write_value<W: Write>(out: &mut W, value: &str) -> fmt::Result {
    let plain = !value.is_empty() && !value.contains(|c: char| c.is_whitespace() || c == '=' || c == '"');
    // `Debug` output has its own delimiters.
    let delimited = value.starts_with(['"', '[', '{', '(']) && value.ends_with(['"', ']', '}', ')']);
    if plain || delimited && value.len() > 1 {
        return Escape(out).write_str(value);
    }
    out.write_char('"')?;
    for part in value.split_inclusive('"') {
        match part.strip_suffix('"') {
            Some(part) => {
                Escape(out).write_str(part)?;
                out.write_str("\\\"")?;
            }
            None => Escape(out).write_str(part)?,
        }
    }
    out.write_char('"')
}

/// The level's name and its terminal colour code.
fn level(level: Level) -> (&'static str, u8) {
    match level {
        Level::ERROR => ("ERROR", 31),
        Level::WARN => ("WARN", 33),
        Level::INFO => ("INFO", 32),
        Level::DEBUG => ("DEBUG", 34),
        Level::TRACE => ("TRACE", 35),
    }
}
