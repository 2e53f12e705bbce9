//! `oarlock describe`: everything that a running host knows about a plugin.

use super::admin::{Admin, get, send};
use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use http_body_util::BodyExt as _;
use serde_json::Value;
use std::fmt::Write as _;

/// Log lines that are shown.
const LINES: usize = 10;

/// The fields that come first, in this order.
const FIRST: [&str; 8] = ["name", "state", "sinceSeconds", "reason", "version", "digest", "file", "source"];

/// The options of `oarlock describe`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  oarlock describe plugin network")]
pub(super) struct DescribeArgs {
    /// What to describe
    #[arg(value_enum, value_name = "KIND")]
    kind: Kind,

    /// Its name
    #[arg(value_name = "NAME")]
    name: String,

    #[command(flatten)]
    admin: Admin,

    /// Output format [default: lines for people, with the last log lines]
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<super::Output>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A plugin
    Plugin,
}

pub(super) async fn run(args: DescribeArgs) -> anyhow::Result<()> {
    let Kind::Plugin = args.kind;
    let text = send(&args.admin, "GET", "/plugins").await?;
    let all: Value = serde_json::from_str(&text).context("the host's response is not JSON")?;
    let entries = all.get("plugins").and_then(Value::as_array).into_iter().flatten();
    let is = |entry: &Value, field: &str| entry.get(field).is_some_and(|value| *value == *args.name);
    let Some(entry) = entries.into_iter().find(|entry| is(entry, "name") || is(entry, "file")) else {
        bail!("the host has no plugin {}; oarlock plugins lists them", args.name);
    };
    if let Some(document) = super::Output::document(args.output, false, entry)? {
        return super::say(document.trim_end());
    }
    let mut shown = described(entry);
    let name = entry.get("name").and_then(Value::as_str).unwrap_or(&args.name);
    let path = oarlock::api::path::join(["plugins", name, "logs"]);
    // A file that is no plugin has no lines.
    if let Ok(body) = get(&args.admin, &path).await {
        let body = body.collect().await?.to_bytes();
        let text = String::from_utf8_lossy(&body);
        let lines: Vec<&str> = text.lines().collect();
        if !lines.is_empty() {
            shown.push_str("Log:\n");
        }
        for line in lines.iter().skip(lines.len().saturating_sub(LINES)) {
            let _ = writeln!(shown, "  {}", super::logs::for_people(line));
        }
    }
    super::say(shown.trim_end())
}

/// The fields of a plugin, one below the other.
fn described(entry: &Value) -> String {
    let mut lines = String::new();
    let Some(fields) = entry.as_object() else { return lines };
    let first = FIRST.iter().filter_map(|name| fields.get_key_value(*name));
    let rest = fields.iter().filter(|(name, _)| !FIRST.contains(&name.as_str()));
    first.chain(rest).for_each(|(name, value)| field(&mut lines, 0, name, value));
    lines
}

/// Writes a field, and its parts below it. Empty ones are left out.
fn field(lines: &mut String, depth: usize, name: &str, value: &Value) {
    let indent = "  ".repeat(depth);
    let title = if depth == 0 || is_word(name) { title(name) } else { name.to_owned() };
    // Writing to a string cannot fail.
    let _ = match value {
        Value::Null => Ok(()),
        Value::Array(items) if items.is_empty() => Ok(()),
        Value::Object(fields) if fields.is_empty() => Ok(()),
        Value::String(text) if text.is_empty() => Ok(()),
        Value::Object(fields) => {
            let _ = writeln!(lines, "{indent}{title}:");
            fields.iter().for_each(|(name, value)| field(lines, depth + 1, name, value));
            Ok(())
        }
        Value::Array(items) => {
            let _ = writeln!(lines, "{indent}{title}:");
            for item in items {
                match item {
                    Value::Object(fields) => {
                        let parts = fields.iter().map(|(name, value)| format!("{name}: {}", plain(value)));
                        let _ = writeln!(lines, "{indent}  {}", parts.collect::<Vec<_>>().join(", "));
                    }
                    item => drop(writeln!(lines, "{indent}  {}", plain(item))),
                }
            }
            Ok(())
        }
        value => writeln!(lines, "{indent}{:<24}{}", format!("{title}:"), plain(value)),
    };
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether a name is a field's, not that of a kind or an object.
fn is_word(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase()) && name.chars().all(|c| c.is_ascii_alphanumeric())
}

/// `queueDepth` as `Queue depth`.
fn title(name: &str) -> String {
    let mut words = String::new();
    for (number, letter) in name.chars().enumerate() {
        match letter {
            letter if number == 0 => words.extend(letter.to_uppercase()),
            letter if letter.is_ascii_uppercase() => {
                words.push(' ');
                words.extend(letter.to_lowercase());
            }
            letter => words.push(letter),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_field_is_shown_and_empty_ones_are_not() {
        let entry = json!({"queueDepth": 3, "name": "network", "state": "active", "lease": {"held": true, "holder": null},
            "objects": {"v1.Network": 7}, "waitingFor": [], "missing": ["get secrets"], "lastError": "",
            "rollout": {"examples": [{"field": "a", "write": "b"}]}});
        let expected = "Name:                   network\nState:                  active\nLease:\n  Held:                   true\nMissing:\n  \
                        get secrets\nObjects:\n  v1.Network:             7\nQueue depth:            3\nRollout:\n  Examples:\n    field: a, \
                        write: b\n";
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&described(&entry)), sorted(expected));
        assert!(described(&entry).starts_with("Name:"));
    }
}
