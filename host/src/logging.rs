//! Log lines on standard error: one line per event for people, JSON for machines.
//!
//! ```text
//! 2026-01-31T12:00:00.000Z  INFO network synced plugin=network key=default/example took_ms=12
//! ```
//!
//! Each event is one line, with line breaks and control characters escaped: guests and servers can put them into messages.

pub mod flood;
mod human;
mod json;
pub mod recent;

use std::io::{self, IsTerminal};

use tracing::Subscriber;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::JsonFields;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt;

use self::human::{HumanEvents, HumanFields};
use self::json::JsonEvents;
use self::recent::RecentLines;

/// The variable that holds the filter, for example `info,oarlock::informer=debug`.
pub const FILTER_VARIABLE: &str = "OARLOCK_LOG";

/// The default filter: events of the host.
const DEFAULT_FILTER: &str = "info";

/// Libraries only warn, unless the filter names them.
const LIBRARIES: &str = "cranelift=warn,h2=warn,hyper=warn,kube=warn,mio=warn,notify=warn,regalloc2=warn,rustls=warn,tower=warn,want=warn,wasmtime=warn";

/// The field of a log line that names its trace.
const TRACE_ID: &str = "trace_id";

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// One line per event: time, level, message, `key=value`. Coloured on a terminal, unless `NO_COLOR` is set.
    #[default]
    Human,
    /// One JSON object per event and line.
    Json,
}

/// Starts logging for the process.
///
/// It never fails. An invalid filter is replaced by the default, with a warning. If logging was started before, nothing changes. Lines
/// that cannot be written are lost.
///
/// * `filter` - directives as in `tracing_subscriber::EnvFilter`; without it the variable `OARLOCK_LOG`, without that `info`. Of
///   libraries that it does not name, only warnings are logged.
pub fn init(format: Format, filter: Option<&str>) {
    let from_variable = std::env::var(FILTER_VARIABLE).ok();
    let asked = filter.map(str::to_owned).or(from_variable).filter(|filter| !filter.trim().is_empty());
    let (filter, refused) = parse(asked.as_deref());
    let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    start(format, filter, io::stderr, colour);
    warn_of(refused, asked);
}

/// As [`init`], with the filter of `OARLOCK_LOG`, into a file.
pub fn init_into(format: Format, file: std::fs::File) {
    let asked = std::env::var(FILTER_VARIABLE).ok();
    let (filter, refused) = parse(asked.as_deref().filter(|filter| !filter.trim().is_empty()));
    start(format, filter, std::sync::Arc::new(file), false);
    warn_of(refused, asked);
}

fn start<W>(format: Format, filter: EnvFilter, writer: W, colour: bool)
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    // An error means that logging is already started, by a test or by a program that embeds this one.
    let _ = subscriber(format, filter, writer, colour).with(RecentLines(recent::lines())).try_init();
}

fn warn_of(refused: Option<String>, asked: Option<String>) {
    if let Some(reason) = refused {
        tracing::warn!(filter = asked.unwrap_or_default(), reason, "invalid log filter OARLOCK_LOG: using the default");
    }
}

/// The filter, and why it is not the requested one.
fn parse(asked: Option<&str>) -> (EnvFilter, Option<String>) {
    let filter = asked.unwrap_or(DEFAULT_FILTER);
    match EnvFilter::builder().parse(with_libraries(filter)) {
        Ok(filter) => (filter, None),
        Err(error) => (EnvFilter::new(with_libraries(DEFAULT_FILTER)), Some(error.to_string())),
    }
}

/// The filter with [`LIBRARIES`] before it, so that a directive of the filter for a library replaces theirs. A filter whose general level is
/// `warn` or less already excludes them.
fn with_libraries(filter: &str) -> String {
    let talkative =
        |directive: &str| ["trace", "debug", "info"].iter().any(|level| directive.eq_ignore_ascii_case(level));
    if filter.split(',').any(|directive| talkative(directive.trim())) {
        format!("{LIBRARIES},{filter}")
    } else {
        filter.to_owned()
    }
}

fn subscriber<W>(format: Format, filter: EnvFilter, writer: W, colour: bool) -> Box<dyn Subscriber + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    // Lines that cannot be written are lost; otherwise a closed standard error would cause a panic.
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).log_internal_errors(false);
    match format {
        Format::Human => Box::new(builder.with_ansi(colour).fmt_fields(HumanFields).event_format(HumanEvents).finish()),
        Format::Json => {
            let events = JsonEvents(tracing_subscriber::fmt::format().json().flatten_event(true));
            Box::new(builder.with_ansi(false).fmt_fields(JsonFields::new()).event_format(events).finish())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct LogLines(Arc<Mutex<Vec<u8>>>);

    impl Write for LogLines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn log(format: Format, filter: &str, colour: bool, log: impl FnOnce()) -> String {
        let lines = LogLines::default();
        let writer = lines.clone();
        let subscriber = subscriber(format, parse(Some(filter)).0, move || writer.clone(), colour);
        tracing::subscriber::with_default(subscriber, log);
        let bytes = lines.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    /// The lines without their times, which are checked for their format.
    fn human(filter: &str, events: impl FnOnce()) -> Vec<String> {
        let text = log(Format::Human, filter, false, events);
        text.lines()
            .map(|line| {
                let (time, rest) = line.split_at("2026-01-31T12:00:00.000Z".len());
                let time: jiff::Timestamp = time.parse().unwrap();
                assert!(time.duration_until(jiff::Timestamp::now()).as_secs() < 60, "{line}");
                rest.to_owned()
            })
            .collect()
    }

    #[test]
    fn an_event_is_one_line_with_level_message_and_fields() {
        let lines = human("trace", || {
            tracing::info!(plugin = "network", took_ms = 12, "network synced");
            tracing::warn!(ok = false, ratio = 0.5, "warned");
            tracing::error!("failed with {}", 3);
        });
        assert_eq!(
            lines,
            [
                "  INFO network synced plugin=network took_ms=12",
                "  WARN warned ok=false ratio=0.5",
                " ERROR failed with 3"
            ]
        );
    }

    #[test]
    fn fields_of_the_spans_around_an_event_come_after_its_own() {
        let lines = human("trace", || {
            let outer = tracing::info_span!("plugin", plugin = "network");
            let _outer = outer.enter();
            let inner = tracing::info_span!("reconcile", key = "default/a", attempt = tracing::field::Empty);
            inner.record("attempt", 2);
            let _inner = inner.enter();
            tracing::info!(outcome = "done", "reconciled");
        });
        assert_eq!(lines, ["  INFO reconciled outcome=done key=default/a attempt=2 plugin=network"]);
    }

    #[test]
    fn what_a_guest_says_can_neither_forge_lines_nor_hide_text() {
        let lines = human("trace", || {
            let evil = "a\nERROR forged\r\x1b[2J\u{202e}\u{9b}";
            tracing::info!(plugin = "x", said = evil, "{evil}");
        });
        let escaped = r"a\nERROR forged\r\u{1b}[2J\u{202e}\u{9b}";
        assert_eq!(lines, [format!("  INFO {escaped} plugin=x said=\"{escaped}\"")]);
    }

    #[test]
    fn values_are_quoted_where_their_end_could_not_be_seen() {
        let lines = human("trace", || {
            tracing::info!(empty = "", spaced = "a b", equals = "a=b", quote = "say \"hi\" x", list = ?["a b"], none = ?None::<u8>, "m");
        });
        assert_eq!(
            lines,
            [r#"  INFO m empty="" spaced="a b" equals="a=b" quote="say \"hi\" x" list=["a b"] none=None"#]
        );
    }

    #[test]
    fn an_error_is_logged_with_its_causes() {
        #[derive(Debug, thiserror::Error)]
        #[error("cannot list networks")]
        struct Failed(#[source] io::Error);
        let error = Failed(io::Error::other("refused"));
        let lines = human("trace", || tracing::warn!(error = &error as &dyn std::error::Error, "retrying"));
        assert_eq!(lines, [r#"  WARN retrying error="cannot list networks: refused""#]);
    }

    #[test]
    fn levels_are_coloured_on_a_terminal_only() {
        let text = log(Format::Human, "info", true, || tracing::info!("m"));
        assert!(text.contains("\x1b[32m INFO\x1b[0m m\n"), "{text:?}");
        let text = log(Format::Human, "info", false, || tracing::info!("m"));
        assert!(!text.contains('\x1b'), "{text:?}");
    }

    #[test]
    fn the_filter_decides_what_is_logged() {
        let lines = human("warn,oarlock::logging=debug", || {
            tracing::debug!("ours");
            tracing::info!(target: "kube", "theirs");
            tracing::warn!(target: "kube", "their warning");
        });
        assert_eq!(lines, [" DEBUG ours", "  WARN their warning"]);
    }

    #[test]
    fn without_a_filter_libraries_only_warn() {
        let (filter, refused) = parse(None);
        assert_eq!(refused, None);
        let lines = human(&filter.to_string(), || {
            tracing::info!("ours");
            tracing::info!(target: "kube::client", "theirs");
        });
        assert_eq!(lines, ["  INFO ours"]);
    }

    #[test]
    fn n4_libraries_only_warn_unless_the_filter_names_them() {
        let events = || {
            tracing::debug!("ours");
            tracing::debug!(target: "hyper_util::client", "theirs");
            tracing::warn!(target: "h2", "their warning");
        };
        assert_eq!(human("debug", events), [" DEBUG ours", "  WARN their warning"]);
        assert_eq!(human("info,oarlock=debug", events), [" DEBUG ours", "  WARN their warning"]);
        assert_eq!(human("debug,hyper=debug", events), [" DEBUG ours", " DEBUG theirs", "  WARN their warning"]);
        assert_eq!(human("error", events), [""; 0]);
        assert_eq!(human("off", events), [""; 0]);
    }

    #[test]
    fn a_filter_that_cannot_be_read_is_replaced_by_the_default_and_told() {
        let (filter, refused) = parse(Some("oarlock=loud"));
        assert!(refused.is_some());
        assert_eq!(filter.to_string(), parse(None).0.to_string());
    }

    #[test]
    fn json_is_one_object_per_line_with_fields_and_spans() {
        let text = log(Format::Json, "info", false, || {
            let _span = tracing::info_span!("reconcile", key = "default/a").entered();
            tracing::info!(attempt = 2, said = "a\nb", "reconciled");
            tracing::warn!("second");
        });
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2, "{text}");
        let first = &lines[0];
        assert_eq!((&first["level"], &first["message"]), (&"INFO".into(), &"reconciled".into()));
        assert_eq!((&first["attempt"], &first["said"]), (&2.into(), &"a\nb".into()));
        assert_eq!(first["span"]["key"], "default/a");
        assert!(first["timestamp"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok());
    }

    #[test]
    fn a_writer_that_fails_fails_nothing_else() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }

            fn flush(&mut self) -> io::Result<()> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
        for format in [Format::Human, Format::Json] {
            let subscriber = subscriber(format, parse(None).0, || Closed, false);
            tracing::subscriber::with_default(subscriber, || tracing::error!("lost"));
        }
    }

    #[test]
    fn starting_twice_changes_nothing() {
        init(Format::Json, Some("off"));
        init(Format::Human, Some("off,nonsense=loud"));
    }
}
