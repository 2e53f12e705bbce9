//! `oarlock plan --host`: a plan inside a host, compared with the version that runs there.

use super::inputs::Upload;
use super::selection::SelectionArgs;
use super::{CHANGES, ERRORS, Output, tell};
use crate::cli::admin::exchange;
use crate::cli::output::{json, yaml};
use crate::cli::rollout::differences;
use anyhow::Context as _;
use serde_json::Value;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

/// How long the host may take beyond the time limit: it compiles the component, and opens watches.
const BEYOND: Duration = Duration::from_secs(300);

/// Plans each plugin, one after the other.
///
/// # Errors
///
/// A host that does not answer, or the words with which it refused.
pub(super) async fn plan(
    host: SocketAddr,
    plugins: Vec<Upload>,
    selection: &SelectionArgs,
    seconds: u32,
    output: Output,
) -> anyhow::Result<ExitCode> {
    let mut found = Vec::new();
    for plugin in plugins {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("seconds", &seconds.to_string()).extend_pairs(selection.fields());
        if let Some(config) = &plugin.config {
            query.append_pair("config", &serde_json::to_string(config)?);
        }
        let path = format!("{}?{}", oarlock::api::path::join(["plugins", &plugin.name, "plan"]), query.finish());
        let within = Duration::from_secs(seconds.into()) + BEYOND;
        let text = exchange(host, "POST", &path, plugin.component.into(), within).await;
        let text = text.with_context(|| format!("plugin {}", plugin.name))?;
        let one: Value = serde_json::from_str(&text).context("the host's response is not JSON")?;
        tell(&format!("plugin {}: objects compared: {}", plugin.name, count(&one, "/compared/objects")));
        found.push(one);
    }
    let code = found.iter().map(exit_code).max().unwrap_or_default();
    match output {
        Output::Json => crate::cli::say(&json(&found)?)?,
        Output::Yaml => crate::cli::say(&yaml(&found)?)?,
        Output::Diff | Output::Summary => {
            let all = found.iter().map(|one| text(one, output == Output::Diff)).collect::<Vec<_>>();
            crate::cli::say(all.join("\n").trim_end())?;
        }
    }
    Ok(ExitCode::from(code))
}

fn exit_code(found: &Value) -> u8 {
    if ["/compared/failing", "/undecidable", "/notCompared"].iter().any(|field| count(found, field) > 0) {
        ERRORS
    } else if count(found, "/compared/differentWrites") + count(found, "/left") > 0
        || found.pointer("/drops/what").is_some()
    {
        CHANGES
    } else {
        0
    }
}

fn count(found: &Value, pointer: &str) -> u64 {
    found.pointer(pointer).and_then(Value::as_u64).unwrap_or_default()
}

fn word<'a>(found: &'a Value, pointer: &str) -> &'a str {
    found.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The plan of one plugin, for people.
///
/// * `examples` - also the first writes that differ, with their objects.
fn text(found: &Value, examples: bool) -> String {
    let mut lines = String::new();
    let all = found.get("examples").and_then(Value::as_array).into_iter().flatten();
    for one in all.filter(|_| examples) {
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "{}: {} {}", word(one, "/object"), word(one, "/write"), last(word(one, "/field")));
    }
    if !lines.is_empty() {
        lines.push('\n');
    }
    let name = word(found, "/plugin");
    let version = |of: &str| {
        let digest: String = word(found, &format!("{of}/digest")).chars().take("sha256:".len() + 12).collect();
        format!("{} ({digest})", word(found, &format!("{of}/version")))
    };
    let _ = writeln!(
        lines,
        "plugin {name}: version {} runs, version {} is planned",
        version("/running"),
        version("/planned")
    );
    if found.pointer("/drops/what").is_some() {
        let objects = count(found, "/drops/objects");
        let _ = writeln!(lines, "it drops {}, on which {objects} objects depend", word(found, "/drops/what"));
    }
    if count(found, "/left") > 0 {
        let _ = writeln!(lines, "{} objects would not be reconciled any more", count(found, "/left"));
    }
    let of = |field: &str| count(found, &format!("/compared/{field}"));
    let _ = writeln!(
        lines,
        "{} objects compared: {} differ, {} fail only with it, {} undecidable, {} paused, {} not compared in time",
        of("objects"),
        of("different"),
        of("failing"),
        count(found, "/undecidable"),
        count(found, "/paused"),
        count(found, "/notCompared")
    );
    if of("failing") > 0 {
        let _ = writeln!(lines, "failure: {}", word(found, "/lastFailure"));
    }
    let _ = writeln!(lines, "{} differing writes, {} of them deletions", of("differentWrites"), of("deletes"));
    lines + &differences(found)
}

/// The path in `apply ConfigMap /data/color`, or `(not written)`. Empty: the whole write differs.
fn last(field: &str) -> &str {
    const NOT_WRITTEN: &str = "(not written)";
    if field.ends_with(NOT_WRITTEN) {
        return NOT_WRITTEN;
    }
    field.rsplit_once(' ').map(|(_, path)| path).filter(|path| path.starts_with('/')).unwrap_or_default()
}
