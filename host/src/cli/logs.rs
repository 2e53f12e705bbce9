//! `oarlock logs`: the log lines of one plugin in a running host.

use super::admin::{Admin, get};
use anyhow::{Context as _, ensure};
use clap::Args;
use http_body_util::BodyExt as _;
use serde_json::{Map, Value};
use std::io::Write as _;

/// The longest line that a host sends: a message and some fields.
const LINE_BYTES: usize = 1 << 20;

/// The fields that stand before the message, or are the plugin's name.
const KNOWN: [&str; 5] = ["timestamp", "level", "message", "plugin", "target"];

/// The options of `oarlock logs`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oarlock logs network\n  oarlock logs network -f --object team-a/blue\n  oarlock logs network --object 'Network team-a/blue' -o json"
)]
pub(super) struct LogsArgs {
    /// Name of the plugin
    #[arg(value_name = "PLUGIN")]
    plugin: String,

    /// Show further lines as they come, until interrupted
    #[arg(short, long)]
    follow: bool,

    /// Only lines about this object
    #[arg(long, value_name = "[KIND ]NS/NAME")]
    object: Option<String>,

    /// Output format [default: a line for people]
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<Form>,

    #[command(flatten)]
    admin: Admin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// One JSON object per line
    Json,
}

pub(super) async fn run(args: LogsArgs) -> anyhow::Result<()> {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    if args.follow {
        query.append_pair("follow", "true");
    }
    if let Some(object) = &args.object {
        query.append_pair("object", object);
    }
    let path = format!("{}?{}", oarlock::api::path::join(["plugins", &args.plugin, "logs"]), query.finish());
    let mut body = get(&args.admin, &path).await?;
    let mut rest = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.context("the host ended the response")?;
        let Ok(data) = frame.into_data() else { continue };
        rest.extend_from_slice(&data);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            if !show(&String::from_utf8_lossy(&line), args.output)? {
                return Ok(());
            }
        }
        ensure!(rest.len() <= LINE_BYTES, "the host sent a line of more than {LINE_BYTES} bytes");
    }
    Ok(())
}

/// Shows a line. False: nobody reads the output any more.
fn show(line: &str, output: Option<Form>) -> anyhow::Result<bool> {
    let line = line.trim_end();
    let shown = if output.is_none() { for_people(line) } else { line.to_owned() };
    let mut out = std::io::stdout().lock();
    match out.write_all(format!("{}\n", oarlock::text::lines(&shown)).as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        written => written.context("cannot write to standard output").map(|()| true),
    }
}

/// A line of the host for people.
pub(super) fn for_people(line: &str) -> String {
    match serde_json::from_str(line) {
        Ok(Value::Object(fields)) => human(&fields),
        _ => line.to_owned(),
    }
}

/// Time, level, message and the other fields, as the host's own log has them.
fn human(fields: &Map<String, Value>) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let of = |field: &str| fields.get(field).map(text).unwrap_or_default();
    let mut line = format!("{} {:>5} {}", of("timestamp"), of("level"), of("message"));
    for (name, value) in fields.iter().filter(|(name, _)| !KNOWN.contains(&name.as_str())) {
        let value = text(value);
        let plain = !value.is_empty() && !value.contains(|c: char| c.is_whitespace() || c == '=' || c == '"');
        line.push_str(&if plain { format!(" {name}={value}") } else { format!(" {name}={value:?}") });
    }
    line.trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_for_people_has_the_fields_after_the_message() {
        let line = json!({"timestamp": "2026-01-31T12:00:00.000000Z", "level": "INFO", "message": "reconciled", "plugin": "a",
            "key": "ConfigMap n/x", "attempt": 1, "target": "t"});
        let Value::Object(fields) = line else { panic!() };
        let expected = "2026-01-31T12:00:00.000000Z  INFO reconciled key=\"ConfigMap n/x\" attempt=1";
        let sorted = |line: &str| {
            let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            words.sort();
            words
        };
        assert_eq!(sorted(&human(&fields)), sorted(expected));
    }
}
