//! `oarlock plugins` and `oarlock confirm`: the state of a running host, and actions of an operator.

use super::admin::{Admin, act, send};
use anyhow::{Context as _, bail, ensure};
use clap::Args;
use serde_json::Value;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

/// The options of `oarlock plugins`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oarlock plugins\n  oarlock plugins -o wide\n  oarlock plugins --json\n  oarlock plugins --watch\n  oarlock plugins --release-finalizers network\n\nThe exit status is 1 when a plugin is failed or quarantined."
)]
pub(super) struct PluginsArgs {
    #[command(flatten)]
    admin: Admin,

    /// Output format. json and yaml have all fields of /plugins [default: a table]
    #[arg(short, long, value_enum, value_name = "FORM", conflicts_with = "release_finalizers")]
    output: Option<super::Output>,

    /// Short for -o json
    #[arg(long, conflicts_with = "output")]
    json: bool,

    /// Show the table again every 2 seconds, until interrupted
    #[arg(short, long, conflicts_with_all = ["json", "release_finalizers"])]
    watch: bool,

    /// Remove the finalizer of a removed plugin from all objects, so that the API server can delete them. Everything that the plugin
    /// created for them stays
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    release_finalizers: Option<String>,
}

/// The options of `oarlock confirm`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  oarlock confirm network")]
pub(super) struct ConfirmArgs {
    /// Name of the plugin
    #[arg(value_name = "NAME")]
    name: String,

    #[command(flatten)]
    admin: Admin,
}

pub(super) async fn plugins(args: PluginsArgs) -> anyhow::Result<()> {
    if let Some(name) = &args.release_finalizers {
        return act(&args.admin, name, "release-finalizers").await;
    }
    if args.watch {
        ensure!(
            matches!(args.output, None | Some(super::Output::Wide)),
            "--watch shows the table: leave -o out, or use -o wide"
        );
        return watch(&args.admin, args.output.is_some()).await;
    }
    let text = send(&args.admin, "GET", "/plugins").await?;
    let all: Value = serde_json::from_str(&text).context("the host's response is not JSON")?;
    match super::Output::document(args.output, args.json, &all)? {
        Some(document) => super::say(document.trim_end())?,
        None => super::say(table(&all, args.output == Some(super::Output::Wide)).trim_end())?,
    }
    let (failed, of) = failed(&all);
    if !failed.is_empty() {
        bail!("{} of {of} plugins failed: {}", failed.len(), failed.join(", "));
    }
    Ok(())
}

/// Interval of `--watch`.
const AGAIN: Duration = Duration::from_secs(2);

/// Shows the table again and again. A host that does not answer is shown, too, because it may be restarting. Ends when the output is closed.
async fn watch(admin: &Admin, wide: bool) -> anyhow::Result<()> {
    loop {
        let shown = match send(admin, "GET", "/plugins").await {
            Ok(text) => table(&serde_json::from_str(&text).context("the host's response is not JSON")?, wide),
            Err(error) => format!("{error:#}\n"),
        };
        if !frame(&shown)? {
            return Ok(());
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Shows a text in place of the one before: in a terminal at the same place, and as much as fits; elsewhere below it. False: nobody reads the
/// output any more.
pub(super) fn frame(text: &str) -> anyhow::Result<bool> {
    let mut out = std::io::stdout();
    let terminal = out.is_terminal();
    let text = oarlock::text::lines(text.trim_end());
    let text = if terminal { super::terminal::on_screen(&text, super::terminal::size()) } else { text };
    // Home, and clear to the end.
    let before = if terminal { "\x1b[H\x1b[J" } else { "" };
    let after = if terminal { "" } else { "\n" };
    let frame = format!("{before}{text}\n{after}");
    match out.write_all(frame.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        written => written.context("cannot write to standard output").map(|()| true),
    }
}

/// A number in the entry of a plugin. 0: there is none.
pub(super) fn number_of(entry: &Value, field: &str) -> u64 {
    entry.get(field).and_then(Value::as_u64).unwrap_or_default()
}

/// A line for each row, with the cells below each other.
pub(super) fn columns(rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..rows.first().map_or(0, Vec::len)).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// The plugins that do not reconcile because of a failure, and the number of all.
fn failed(all: &Value) -> (Vec<String>, usize) {
    let entries: Vec<&Value> = all.get("plugins").and_then(Value::as_array).into_iter().flatten().collect();
    let text = |entry: &Value, field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let failed = entries.iter().filter(|entry| ["failed", "quarantined"].contains(&text(entry, "state").as_str()));
    (failed.map(|entry| name(entry)).collect(), entries.len())
}

/// The name of a plugin, or of a file whose plugin is unknown.
fn name(entry: &Value) -> String {
    let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    if text("name").is_empty() { text("file") } else { text("name") }
}

pub(super) async fn confirm(args: ConfirmArgs) -> anyhow::Result<()> {
    act(&args.admin, &args.name, "confirm").await
}

/// The longest text of a note and of a last error, unless the table is wide.
const NOTE: usize = 160;
const LAST_ERROR: usize = 60;

/// The number of missing permissions listed, unless the table is wide.
const MISSING: usize = 10;

/// One line per plugin, and lines below it for a version that waits or failed.
///
/// * `wide` - nothing is shortened.
fn table(all: &Value, wide: bool) -> String {
    const HEAD: [&str; 13] = [
        "NAME",
        "VERSION",
        "DIGEST",
        "STATE",
        "SINCE",
        "OBJECTS",
        "QUEUE",
        "RECONCILES/S",
        "ERRORS",
        "P50",
        "P99",
        "MEMORY",
        "LAST ERROR",
    ];
    let mut rows: Vec<Vec<String>> = vec![HEAD.map(str::to_owned).to_vec()];
    let mut notes: Vec<(usize, String)> = Vec::new();
    for entry in all.get("plugins").and_then(Value::as_array).into_iter().flatten() {
        rows.push(row(entry, wide));
        notes.extend(remarks(entry, wide).into_iter().map(|note| (rows.len(), note)));
    }
    let mut text = String::new();
    for (number, line) in columns(&rows).lines().enumerate() {
        text.push_str(line);
        text.push('\n');
        for (_, note) in notes.iter().filter(|(at, _)| *at == number + 1) {
            text.push_str(&format!("  {note}\n"));
        }
    }
    if rows.len() == 1 {
        text.push_str("(no plugin)\n");
    }
    text
}

fn row(entry: &Value, wide: bool) -> Vec<String> {
    let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let number = |field: &str| entry.get(field).filter(|v| v.is_number()).map(ToString::to_string).unwrap_or_default();
    let ms = |field: &str| entry.get(field).and_then(Value::as_f64).map(|v| format!("{v:.1}ms")).unwrap_or_default();
    let digest = text("digest");
    let objects = entry.get("objects").and_then(Value::as_object);
    let objects = objects.map(|kinds| kinds.values().filter_map(Value::as_u64).sum::<u64>().to_string());
    let memory = entry.get("instanceMemoryBytes").and_then(Value::as_u64).filter(|bytes| *bytes > 0);
    let (digits, error) = if wide { (usize::MAX, usize::MAX) } else { (12, LAST_ERROR) };
    vec![
        name(entry),
        text("version"),
        digest.trim_start_matches("sha256:").chars().take(digits).collect(),
        text("state"),
        entry.get("sinceSeconds").and_then(Value::as_u64).map(age).unwrap_or_default(),
        objects.unwrap_or_default(),
        number("queueDepth"),
        number("reconcilesPerSecond"),
        number("errors"),
        ms("p50Ms"),
        ms("p99Ms"),
        memory.map(|bytes| format!("{:.1}MiB", bytes as f64 / f64::from(1 << 20))).unwrap_or_default(),
        cut(&text("lastError"), error),
    ]
}

/// Facts without a column in the table.
fn remarks(entry: &Value, wide: bool) -> Vec<String> {
    let note = if wide { usize::MAX } else { NOTE };
    let list = |of: &Value, field: &str| -> Vec<String> {
        let items = of.get(field).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut notes = Vec::new();
    if let Some(source) = entry.get("source") {
        let text = |at: &str| source.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let digest = text("/manifestDigest");
        let at = if digest.is_empty() || text("/reference").ends_with(digest) { "" } else { " " };
        notes.push(format!("from {}{at}{digest}", text("/reference")));
        for (at, what) in [("/refused/reason", "refused"), ("/problem", "not pulled")] {
            if !text(at).is_empty() {
                notes.push(format!("{what}: {}", cut(text(at), note)));
            }
        }
    }
    // What a grant lacks is a list: one line each.
    let not_granted = |of: &Value| -> Vec<String> {
        let lines = list(of, "missing");
        let shown = if wide { lines.len() } else { lines.len().min(MISSING) };
        let more = lines.len() - shown;
        let more = (more > 0).then(|| format!("and {more} more, which -o wide lists"));
        lines.into_iter().take(shown).map(|line| format!("not granted: {line}")).chain(more).collect()
    };
    match entry.get("reason").and_then(Value::as_str) {
        Some(reason) if list(entry, "missing").is_empty() => notes.push(cut(reason, note)),
        _ => notes.extend(not_granted(entry)),
    }
    let lease = |field: &str| entry.pointer(&format!("/lease/{field}")).and_then(Value::as_str);
    if entry.pointer("/lease/held") == Some(&Value::Bool(false)) {
        notes.push(match (lease("holder"), lease("holderVersion")) {
            (Some(holder), version) => format!("standby: {holder} reconciles, with version {}", version.unwrap_or("?")),
            (None, _) => "standby: no host reconciles".to_owned(),
        });
    }
    if let Some(paused) = entry.pointer("/pausedObjects/objects").and_then(Value::as_u64).filter(|paused| *paused > 0) {
        let some = list(entry.get("pausedObjects").unwrap_or(&Value::Null), "some").join(", ");
        notes.push(cut(&format!("{paused} objects are paused by annotation: {some}"), note));
    }
    notes.extend(list(entry, "warnings").into_iter().map(|warning| format!("warning: {warning}")));
    notes.extend(list(entry, "waitingFor").into_iter().map(|what| format!("waits for {what}")));
    notes.extend(
        list(entry, "missingPermissions").into_iter().map(|what| format!("the API server does not allow {what}")),
    );
    if let Some(next) = entry.get("next") {
        let text = |field: &str| next.get(field).and_then(Value::as_str).unwrap_or_default();
        let version = if text("version").is_empty() { "the file's new content" } else { text("version") };
        let reason = if list(next, "missing").is_empty() { cut(text("reason"), note) } else { String::new() };
        notes.push(format!("next: {version} is {} {reason}", text("state")).trim_end().to_owned());
        notes.extend(not_granted(next));
    }
    if let Some(left) = entry.get("finalizersLeft").and_then(Value::as_u64).filter(|left| *left > 0) {
        let deleted = entry.get("deletionsBlocked").and_then(Value::as_u64).filter(|deleted| *deleted > 0);
        let deleted = deleted.map(|deleted| format!(", {deleted} of them are being deleted")).unwrap_or_default();
        notes.push(format!(
            "{left} objects keep its finalizer{deleted}: put its file or its grant back, or run \
             oarlock plugins --release-finalizers {}",
            name(entry)
        ));
    }
    notes
}

fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

fn cut(text: &str, most: usize) -> String {
    let mut short: String = text.chars().take(most).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_table_has_a_line_for_each_plugin_and_says_what_waits() {
        let all = json!({"plugins": [
            {"name": "network", "version": "1.2.0", "digest": "sha256:0123456789abcdef", "state": "active", "sinceSeconds": 7300,
             "objects": {"a": 2, "b": 3}, "queueDepth": 1, "reconcilesPerSecond": 0.5, "errors": 2, "p50Ms": 1.04, "p99Ms": 9.5,
             "instanceMemoryBytes": 1_114_112, "lastError": "it broke", "lease": {"held": true, "holder": "me"},
             "pausedObjects": {"objects": 2, "some": ["Network n/a", "Network n/b"]},
             "next": {"version": "1.3.0", "state": "awaiting-grant", "reason": "http.origins: https://x"}},
            {"file": "broken.wasm", "state": "failed", "reason": "not a WebAssembly file"},
            {"name": "old", "state": "retired", "finalizersLeft": 7, "deletionsBlocked": 2},
            {"name": "shared", "state": "active", "lease": {"held": false, "holder": "pod-2_ab12", "holderVersion": "2.0.0"}},
        ]});
        let text = table(&all, false);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("NAME"));
        for part in ["network", "1.2.0", "0123456789ab", "active", "2h", "5", "1.0ms", "9.5ms", "1.1MiB", "it broke"] {
            assert!(lines[1].contains(part), "{part}: {text}");
        }
        assert_eq!(lines[2], "  2 objects are paused by annotation: Network n/a, Network n/b");
        assert_eq!(lines[3], "  next: 1.3.0 is awaiting-grant http.origins: https://x");
        assert!(lines[4].starts_with("broken.wasm"));
        assert_eq!(lines[5], "  not a WebAssembly file");
        assert_eq!(
            lines[7],
            "  7 objects keep its finalizer, 2 of them are being deleted: put its file or its grant back, or run \
             oarlock plugins --release-finalizers old"
        );
        assert_eq!(lines[9], "  standby: pod-2_ab12 reconciles, with version 2.0.0");
    }

    #[test]
    fn n17_what_is_not_granted_has_a_line_each_and_wide_shortens_nothing() {
        let missing: Vec<String> = (0..12).map(|n| format!("permission {n}")).collect();
        let error = "x".repeat(300);
        let all = json!({"plugins": [
            {"name": "a", "state": "awaiting-grant", "reason": missing.join("; "), "missing": missing},
            {"name": "b", "state": "failed", "reason": error, "lastError": error, "digest": format!("sha256:{}", "0".repeat(64))},
            {"name": "c", "state": "active", "next": {"state": "awaiting-grant", "reason": "one", "missing": ["one"]}},
        ]});
        let short = table(&all, false);
        let lines: Vec<&str> = short.lines().collect();
        assert_eq!((lines[2], lines[12]), ("  not granted: permission 0", "  and 2 more, which -o wide lists"));
        assert!(
            !short.contains(&error)
                && short.ends_with("  next: the file's new content is awaiting-grant\n  not granted: one\n"),
            "{short}"
        );
        let wide = table(&all, true);
        assert!(
            wide.contains("not granted: permission 11")
                && wide.matches(&error).count() == 2
                && wide.contains(&"0".repeat(64))
        );
    }

    #[test]
    fn n17_failed_and_quarantined_plugins_are_a_failure() {
        let all = json!({"plugins": [
            {"name": "a", "state": "active", "next": {"state": "failed"}}, {"file": "b.wasm", "state": "failed"},
            {"name": "c", "state": "quarantined"}, {"name": "d", "state": "retired"},
        ]});
        assert_eq!(failed(&all), (vec!["b.wasm".to_owned(), "c".to_owned()], 4));
        assert_eq!(failed(&json!({"plugins": []})), (vec![], 0));
    }

    #[test]
    fn no_plugin_is_said() {
        assert!(table(&json!({"plugins": []}), false).contains("(no plugin)"));
    }
}
