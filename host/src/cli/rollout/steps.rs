//! The steps of a rollout in a running host.

use crate::cli::admin::{Admin, act, send};
use crate::cli::{Output, say};
use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::Value;
use std::fmt::Write as _;

#[derive(Debug, Args)]
pub(super) struct NameArgs {
    /// Name of the plugin
    #[arg(value_name = "NAME")]
    name: String,

    #[command(flatten)]
    admin: Admin,
}

#[derive(Debug, Args)]
pub(super) struct StatusArgs {
    /// Name of the plugin
    #[arg(value_name = "NAME")]
    name: String,

    #[command(flatten)]
    admin: Admin,

    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<Output>,
}

#[derive(Debug, Args)]
pub(super) struct ApproveArgs {
    /// Name of the plugin
    #[arg(value_name = "NAME")]
    name: String,

    /// Id of the plan that you saw (oarlock rollout status). The command fails if the plan is another one by now, or if an object has changed
    /// since
    #[arg(long, value_name = "ID")]
    plan: Option<String>,

    #[command(flatten)]
    admin: Admin,
}

pub(super) async fn approve(of: ApproveArgs) -> anyhow::Result<()> {
    let mut path = oarlock::api::path::join(["plugins", &of.name, "approve"]);
    if let Some(plan) = &of.plan {
        path.push_str("?plan=");
        path.extend(oarlock::api::path::join([plan.as_str()]).chars().skip(1));
    }
    let said = send(&of.admin, "POST", &path).await?;
    say(said.trim_end())
}

pub(super) async fn promote(of: NameArgs) -> anyhow::Result<()> {
    act(&of.admin, &of.name, "promote").await
}

pub(super) async fn abort(of: NameArgs) -> anyhow::Result<()> {
    act(&of.admin, &of.name, "abort").await
}

pub(super) async fn status(args: StatusArgs) -> anyhow::Result<()> {
    let text = send(&args.admin, "GET", "/plugins").await?;
    let all: Value = serde_json::from_str(&text).context("the host's response is not JSON")?;
    let entries = all.get("plugins").and_then(Value::as_array).into_iter().flatten();
    let Some(entry) = entries.into_iter().find(|entry| entry.get("name").is_some_and(|name| *name == *args.name))
    else {
        bail!("the host has no plugin {}", args.name);
    };
    let empty = Value::Null;
    let rollout = entry.get("rollout").unwrap_or(&empty);
    match Output::document(args.output, false, rollout)? {
        Some(document) => say(document.trim_end()),
        None => say(summary(&args.name, entry).trim_end()),
    }
}

/// The rollout in lines for people.
fn summary(name: &str, entry: &Value) -> String {
    let text = |value: &Value, pointer: &str| match value.pointer(pointer) {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    };
    let running = text(entry, "/version");
    let Some(rollout) = entry.get("rollout") else {
        let why = text(entry, "/next/reason");
        let next =
            if why.is_empty() { String::new() } else { format!("; version {}: {why}", text(entry, "/next/version")) };
        return format!("plugin {name} runs version {running}, without a rollout{next}");
    };
    let of = |pointer: &str| text(rollout, pointer);
    let mut lines = format!(
        "plugin {name}: {running} → {}\nstep: {}{}, for {} s\n",
        of("/version"),
        of("/phase"),
        if of("/percent") == "0" { String::new() } else { format!(" of {} %", of("/percent")) },
        of("/seconds")
    );
    if !of("/reason").is_empty() {
        let _ = writeln!(lines, "reason: {}", of("/reason"));
    }
    for (title, part) in [("plan", "/plan"), ("compared", "/compared")] {
        if rollout.pointer(part).is_some() {
            let count = |field: &str| of(&format!("{part}/{field}"));
            let _ = writeln!(
                lines,
                "{title}: {} objects, {} of them differ; {} differing writes, {} deletions; {} failing{}",
                count("objects"),
                count("different"),
                count("differentWrites"),
                count("deletes"),
                count("failing"),
                match &*count("left") {
                    "" | "0" => String::new(),
                    left => format!("; {left} not reconciled any more"),
                }
            );
        }
    }
    if of("/held") != "0" {
        let _ = writeln!(
            lines,
            "stay with version {running}: {} objects; the first: {}",
            of("/held"),
            of("/heldObjects/0/reason")
        );
    }
    lines.push_str(&differences(rollout));
    let examples: Vec<&Value> = rollout.get("examples").and_then(Value::as_array).into_iter().flatten().collect();
    if let Some(one) = examples.first() {
        let _ =
            writeln!(lines, "the first, of {}: {} {}", text(one, "/object"), text(one, "/write"), text(one, "/field"));
    }
    lines
}

/// Lines that count the differing writes by field. Empty: none differs.
pub(in crate::cli) fn differences(of: &Value) -> String {
    let all: Vec<&Value> = of.get("differences").and_then(Value::as_array).into_iter().flatten().collect();
    let mut lines = if all.is_empty() { "" } else { "differing writes by field:\n" }.to_owned();
    for one in all {
        let writes = one.get("writes").and_then(Value::as_u64).unwrap_or_default();
        let field = one.get("field").and_then(Value::as_str).unwrap_or_default();
        let _ = writeln!(lines, "{writes:>7}  {field}");
    }
    lines
}
