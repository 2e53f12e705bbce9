//! `oarlock inspect`.

use super::compiling::Compiling;
use anyhow::Context as _;
use clap::{Args, ValueEnum};
use oarlock::plugin::{Attachments, Engine, inspect};
use serde_json::Value;
use std::path::PathBuf;

/// The options of `oarlock inspect`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oarlock inspect network.wasm --json\n  oarlock inspect network.wasm --attachment definitions | kubectl apply -f -"
)]
pub(super) struct InspectArgs {
    /// The plugin file
    #[arg(value_name = "FILE.wasm")]
    file: PathBuf,

    /// Output format. Each of these lists every import [default: a summary]
    #[arg(short, long, value_enum, value_name = "FORM")]
    output: Option<super::Output>,

    /// Short for -o json
    #[arg(long, conflicts_with = "output")]
    json: bool,

    /// Print only an attachment of the file
    #[arg(long, value_enum, value_name = "NAME", conflicts_with_all = ["output", "json"])]
    attachment: Option<Attachment>,

    #[command(flatten)]
    compiling: Compiling,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Attachment {
    /// The definitions, in YAML
    Definitions,
    /// The default grant, in YAML
    Grant,
    /// The documentation, in Markdown
    Documentation,
}

pub(super) async fn run(args: InspectArgs) -> anyhow::Result<()> {
    let shown = args.file.display().to_string();
    let bytes = std::fs::read(&args.file).with_context(|| format!("cannot read {shown}"))?;
    if let Some(attachment) = args.attachment {
        let text = attached(attachment, &Attachments::read(&bytes).with_context(|| shown.clone())?)?;
        return super::say(text.with_context(|| format!("{shown} has no such attachment"))?.trim_end());
    }
    let engine = Engine::new(args.compiling.options())?;
    let found = inspect::inspect(&engine, &shown, bytes).await.with_context(|| shown.clone())?;
    if let Some(document) = super::Output::document(args.output, args.json, &found)? {
        return super::say(document.trim_end());
    }
    super::say(&described(&found, args.output.is_some())?)
}

/// None: the file has none.
fn attached(attachment: Attachment, found: &Attachments) -> anyhow::Result<Option<String>> {
    Ok(match attachment {
        Attachment::Grant => found.grant.clone(),
        Attachment::Documentation => found.documentation.clone(),
        Attachment::Definitions if found.definitions.is_empty() => None,
        Attachment::Definitions => {
            let documents = found.definitions.iter().map(|one| serde_saphyr::to_string(&one.document()));
            Some(documents.collect::<Result<Vec<_>, _>>()?.join("---\n"))
        }
    })
}

/// The answer first; WASI, which every language runtime imports, last and only its number.
///
/// * `wide` - lists WASI, too.
fn described(found: &Value, wide: bool) -> anyhow::Result<String> {
    let text = |field: &str| found.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let list = |field: &str| found.get(field).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let is_wasi = |name: &&str| name.starts_with("wasi:") || name.starts_with("wasi_");
    let lines = |names: Vec<&str>| names.iter().map(|name| format!("  {name}\n")).collect::<String>();
    let (wasi, own): (Vec<&str>, Vec<&str>) = list("imports").partition(is_wasi);
    let wasi = match wasi.len() {
        0 => String::new(),
        _ if wide => lines(wasi),
        count => format!("  {count} of WASI (-o wide lists them)\n"),
    };
    Ok(format!(
        "{} {}\ncontract  {}\nsize      {} bytes\ndigest    {}\n{}manifest\n{}\nexports\n{}imports\n{}{}",
        text("name"),
        text("version"),
        contract(&text("contract"), &text("contractServed")),
        found.get("sizeBytes").and_then(Value::as_u64).unwrap_or_default(),
        text("digest"),
        attachments(found),
        serde_json::to_string_pretty(found.get("manifest").unwrap_or(&Value::Null))?,
        lines(list("exports").collect()),
        lines(own),
        wasi,
    )
    .trim_end()
    .to_owned())
}

/// A line for each attachment.
fn attachments(found: &Value) -> String {
    let list = |of: &Value, field: &str| of.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |of: &Value| of.as_str().unwrap_or_default().to_owned();
    let mut lines = String::new();
    for definition in list(found, "definitions") {
        let versions: Vec<String> = list(&definition, "versions").iter().map(text).collect();
        let name = definition.get("name").map(text).unwrap_or_default();
        lines.push_str(&format!("defines   {name} ({})\n", versions.join(", ")));
    }
    let attached = ["defaultGrant", "documentation"].map(|field| found.get(field).is_some_and(Value::is_string));
    let others: Vec<&str> = ["a default grant", "documentation"]
        .into_iter()
        .zip(attached)
        .filter(|(_, has)| *has)
        .map(|(it, _)| it)
        .collect();
    if !others.is_empty() {
        lines.push_str(&format!("attached  {} (--attachment prints one)\n", others.join(", ")));
    }
    lines
}

/// The contract version of a file, and the host's version where it differs.
fn contract(built: &str, served: &str) -> String {
    if built == served { built.to_owned() } else { format!("{built} (this host serves {served})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n23_inspect_answers_first_and_counts_wasi() {
        let found = serde_json::json!({"name": "a", "version": "1", "contract": "0.1.0", "contractServed": "0.1.0", "sizeBytes": 5,
            "digest": "sha256:0", "imports": ["wasi:io/poll@0.2.0", "oarlock:reconciler/http@0.1.0", "wasi:cli/environment@0.2.0"],
            "exports": ["oarlock:reconciler/reconcile@0.1.0"], "manifest": {"name": "a"}, "documentation": "# A",
            "definitions": [{"name": "networks.s.io", "versions": ["v1", "v2"]}]});
        let text = described(&found, false).unwrap();
        let attached =
            "defines   networks.s.io (v1, v2)\nattached  documentation (--attachment prints one)\nmanifest\n";
        assert!(text.contains(attached), "{text}");
        let text = text.replace(attached, "manifest\n");
        assert!(text.starts_with("a 1\ncontract  0.1.0\nsize      5 bytes\ndigest    sha256:0\nmanifest\n{"), "{text}");
        let end = "imports\n  oarlock:reconciler/http@0.1.0\n  2 of WASI (-o wide lists them)";
        assert!(text.ends_with(end), "{text}");
        let text = described(&found, true).unwrap();
        assert!(text.ends_with("  wasi:io/poll@0.2.0\n  wasi:cli/environment@0.2.0"), "{text}");
    }

    #[test]
    fn the_contract_of_the_host_is_told_where_it_is_another_than_the_files() {
        assert_eq!(contract("0.1.0", "0.1.0"), "0.1.0");
        assert_eq!(contract("0.1.0", "0.1.2"), "0.1.0 (this host serves 0.1.2)");
    }
}
