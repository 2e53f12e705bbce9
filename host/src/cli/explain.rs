//! `oarlock explain`: why an object is as it is.

use super::admin::{Admin, object_query, send};
use super::annotate::{Annotated, Target, WrongScope};
use anyhow::Context as _;
use clap::Args;
use oarlock::api::ObjectKey;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Fields of one manager that are shown, unless the output is wide.
const FIELDS: usize = 20;

/// The options of `oarlock explain`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oarlock explain Network default/example\n  oarlock explain configmaps team-a/settings -o yaml"
)]
pub(super) struct ExplainArgs {
    /// Kind of the object, as for kubectl: Network, networks or networks.samplecrd.k8s.io
    #[arg(value_name = "KIND")]
    kind: String,

    /// The object: NAMESPACE/NAME, or NAME for a cluster-scoped kind
    #[arg(value_name = "NAMESPACE/NAME")]
    object: ObjectKey,

    /// Kubeconfig of the cluster, for the fields of other writers [default: as for kubectl]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig [default: its current context]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,

    #[command(flatten)]
    admin: Admin,

    /// Output format [default: lines for people]
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<super::Output>,
}

pub(super) async fn run(args: ExplainArgs) -> anyhow::Result<()> {
    let target = Target::of(&args.kind, &args.object.to_string(), args.kubeconfig, args.context)?;
    // The host knows the plugins without the cluster, which knows what the kind means.
    let (kind, managers) = match Annotated::find(target).await {
        Ok(object) => (object.kind_in_its_group(), managers(&object).await),
        // Without its namespace, the host would know nothing of it.
        Err(error) if error.is::<WrongScope>() => return Err(error),
        Err(error) => (args.kind, Err(error.context("the cluster could not be asked"))),
    };
    let managers = managers.unwrap_or_else(|error| json!({"unknown": format!("{error:#}")}));
    let path = format!("/explain?{}", object_query(&kind, &args.object));
    let text = send(&args.admin, "GET", &path).await?;
    let mut found: Value = serde_json::from_str(&text).context("the host's response is not JSON")?;
    if let Some(fields) = found.as_object_mut() {
        fields.insert("managers".to_owned(), managers);
    }
    match super::Output::document(args.output, false, &found)? {
        Some(document) => super::say(document.trim_end()),
        None => super::say(for_people(&found, args.output.is_some()).trim_end()),
    }
}

/// The field managers of the object at the API server, with the fields of each.
async fn managers(object: &Annotated) -> anyhow::Result<Value> {
    let object = object.get().await?;
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array).into_iter().flatten();
    let managers = entries.map(|entry| {
        let mut fields = BTreeSet::new();
        paths(entry.get("fieldsV1").unwrap_or(&Value::Null), "", &mut fields);
        json!({
            "manager": entry.get("manager"), "operation": entry.get("operation"), "time": entry.get("time"),
            "subresource": entry.get("subresource"), "fields": fields,
        })
    });
    Ok(managers.collect())
}

/// The paths of the leaves in `fieldsV1`.
fn paths(fields: &Value, at: &str, found: &mut BTreeSet<String>) {
    let Some(fields) = fields.as_object() else { return };
    let parts = fields.iter().filter(|(name, _)| *name != ".");
    let mut leaf = true;
    for (name, below) in parts {
        leaf = false;
        // `f:spec`, `k:{"name":"a"}`, `v:"x"` and `i:0`.
        let (kind, part) = name.split_once(':').unwrap_or(("", name));
        let path = if kind == "f" { format!("{at}.{part}") } else { format!("{at}[{part}]") };
        paths(below, &path, found);
    }
    if leaf && !at.is_empty() {
        found.insert(at.to_owned());
    }
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    value.get(field).and_then(Value::as_array).into_iter().flatten()
}

/// A line for each text of a list.
fn each(lines: &mut String, value: &Value, field: &str, before: &str) {
    for text in list(value, field).filter_map(Value::as_str) {
        let _ = writeln!(lines, "{before}{text}");
    }
}

/// * `wide` - nothing is cut.
fn for_people(found: &Value, wide: bool) -> String {
    let mut lines = format!("{}\n", text(found, "/object"));
    // Writing to a string cannot fail.
    let managers = found.get("managers").unwrap_or(&Value::Null);
    if let Some(unknown) = managers.get("unknown").and_then(Value::as_str) {
        let _ = writeln!(lines, "\nfields: unknown: {unknown}");
    } else {
        lines.push_str("\nfields:\n");
        for manager in managers.as_array().into_iter().flatten() {
            field_manager(&mut lines, manager, found, if wide { usize::MAX } else { FIELDS });
        }
    }
    for plugin in list(found, "plugins") {
        lines.push('\n');
        about(&mut lines, plugin);
    }
    lines
}

/// Whether a field in managedFields is one that a write gave its value, or is below it. Keys of labels and of data may have dots, and their values
/// have no fields.
fn is_within(field: &str, given: &str) -> bool {
    let keyed = [".data.", ".stringData.", ".binaryData."].iter().any(|map| given.starts_with(map))
        || [".metadata.labels.", ".metadata.annotations."].iter().any(|map| given.contains(map));
    let below = field.strip_prefix(given);
    below.is_some_and(|below| below.is_empty() || below.starts_with('[') || !keyed && below.starts_with('.'))
}

/// The fields of a write that its manager still owns. None: it has no list of them.
fn given<'w>(write: &'w Value, owned: &[&str]) -> Option<Vec<&'w str>> {
    let fields = write.get("fields")?.as_array()?.iter().filter_map(Value::as_str);
    Some(fields.filter(|given| owned.iter().any(|field| is_within(field, given))).collect())
}

/// A field manager with its fields; of a plugin's, the reconciles that gave them their values.
///
/// * `most` - fields that are shown.
fn field_manager(lines: &mut String, manager: &Value, found: &Value, most: usize) {
    let name = text(manager, "/manager");
    let sub = text(manager, "/subresource");
    let sub = if sub.is_empty() { String::new() } else { format!(" of {sub}") };
    let _ = writeln!(lines, "  {name}: {}{sub}, {}", text(manager, "/operation"), text(manager, "/time"));
    let fields: Vec<&str> = list(manager, "fields").filter_map(Value::as_str).collect();
    let more = fields.len().saturating_sub(most);
    let shown = fields.iter().take(most).copied().collect::<Vec<_>>().join(" ");
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let _ = writeln!(lines, "    {shown}{more}");
    let same = |write: &&Value| {
        ["/manager", "/operation", "/subresource"].iter().all(|part| text(write, part) == text(manager, part))
    };
    let mut known = Vec::new();
    for write in list(found, "writes").filter(same) {
        let of = match given(write, &fields) {
            Some(given) if given.is_empty() => continue,
            Some(given) => {
                known.extend(given.iter().copied());
                format!("{} ", given.join(" "))
            }
            None => {
                known.push("");
                String::new()
            }
        };
        // Other writes are of some fields only.
        let what = match text(write, "/operation") {
            "Apply" => String::new(),
            _ => format!(" ({})", text(write, "/writes/0/write")),
        };
        let digest: String = text(write, "/digest").chars().take("sha256:".len() + 12).collect();
        let _ = writeln!(
            lines,
            "    {of}last written{what} by plugin {} {} ({digest}) for {}, in reconcile {}",
            text(write, "/plugin"),
            text(write, "/version"),
            text(write, "/of"),
            reconcile(write)
        );
    }
    let is_known = |field: &&str| known.iter().any(|given| given.is_empty() || is_within(field, given));
    if !known.is_empty() && !fields.iter().all(is_known) {
        lines.push_str("    the other fields: written before this host led, or longer ago than it remembers\n");
    }
}

/// A reconcile in one line, with what triggered it.
fn reconcile(of: &Value) -> String {
    let cause = text(of, "/cause");
    let cause =
        if cause.is_empty() { text(of, "/trigger").to_owned() } else { format!("{}: {cause}", text(of, "/trigger")) };
    let took = of.get("tookMs").map(|took| format!(", {took} ms")).unwrap_or_default();
    format!("{} at {}{took} ({cause})", text(of, "/correlationId"), text(of, "/at"))
}

fn about(lines: &mut String, plugin: &Value) {
    let name = format!("plugin {} {}", text(plugin, "/plugin"), text(plugin, "/version"));
    if text(plugin, "/state") == "removed" {
        let _ = writeln!(lines, "{name} is removed and reconciles nothing any more:");
        each(lines, plugin, "heldUp", "  ");
        return;
    }
    if plugin.get("reconciles") != Some(&Value::Bool(true)) {
        let _ = writeln!(lines, "{name} does not reconcile it. A change of it wakes:");
        each(lines, plugin, "wakes", "  ");
        return;
    }
    let _ = writeln!(lines, "{name} reconciles it: {}", text(plugin, "/state"));
    for (field, title) in [("notCached", "not seen"), ("lastError", "last error")] {
        let value = text(plugin, &format!("/{field}"));
        if !value.is_empty() {
            let _ = writeln!(lines, "  {title}: {value}");
        }
    }
    each(lines, plugin, "heldUp", "  held up: ");
    let mut waits = false;
    for queued in list(plugin, "queue") {
        waits = true;
        let number = |field: &str| queued.get(field).map(ToString::to_string).unwrap_or_default();
        let failures = match queued.get("failures").and_then(Value::as_u64) {
            Some(failures) if failures > 0 => format!(", after {failures} failures"),
            _ => String::new(),
        };
        let _ = match text(queued, "/phase") {
            "delayed" => {
                writeln!(lines, "  next: in {} s ({}{failures})", number("inSeconds"), text(queued, "/trigger"))
            }
            "ready" => writeln!(
                lines,
                "  next: waits for a worker for {} s ({})",
                number("forSeconds"),
                text(queued, "/trigger")
            ),
            _ => writeln!(lines, "  now: reconciled for {} s", number("forSeconds")),
        };
    }
    if !waits && plugin.get("queue").is_some() {
        let resync = plugin.get("resyncSeconds").map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(lines, "  next: with a change of the object, or a resync every {resync} s, or:");
        each(lines, plugin, "runsOn", "    a change of ");
    }
    let reads: Vec<&str> = list(plugin, "reads").filter_map(Value::as_str).collect();
    if !reads.is_empty() {
        let _ = writeln!(lines, "  reads: {}", reads.join(", "));
    }
    if plugin.get("last").is_some() {
        lines.push_str("  last reconciles, the newest first:\n");
    }
    for one in list(plugin, "last") {
        let written = text(one, "/written");
        let written = if written.is_empty() { String::new() } else { format!(", wrote {written}") };
        let error = text(one, "/error");
        let error = if error.is_empty() { String::new() } else { format!(": {error}") };
        let _ = writeln!(lines, "    {} {}{error}{written}", reconcile(one), text(one, "/outcome"));
    }
    let since = text(plugin, "/lastCompleteSince");
    if !since.is_empty() {
        let _ = writeln!(lines, "    before {since} the host knows of recorded reconciles only");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_the_leaves_of_what_a_manager_owns() {
        let fields = json!({"f:data": {".": {}, "f:a": {}}, "f:spec": {"f:ports": {"k:{\"port\":80}": {".": {}, "f:port": {}}}},
            "f:metadata": {"f:finalizers": {"v:\"x\"": {}}}});
        let mut found = BTreeSet::new();
        paths(&fields, "", &mut found);
        let expected = [".data.a", ".metadata.finalizers[\"x\"]", ".spec.ports[{\"port\":80}].port"];
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
        paths(&json!([1, "x"]), "", &mut BTreeSet::new());
    }

    /// What is shown of the fields of a manager after some writes: the version and fields of each.
    fn shown(writes: &[(&str, Value)]) -> Vec<String> {
        let manager = json!({"manager": "oarlock.p", "operation": "Apply", "fields": [".data.a", ".data.b", ".spec.l[{\"x\":1}].y"]});
        let write = |(version, fields): &(&str, Value)| json!({"manager": "oarlock.p", "operation": "Apply", "subresource": "", "version": version, "fields": fields});
        let mut lines = String::new();
        let found = json!({"writes": writes.iter().map(write).collect::<Vec<_>>()});
        field_manager(&mut lines, &manager, &found, FIELDS);
        let lines = lines.lines().skip(2).map(|line| line.split(" (").next().unwrap_or_default().trim().to_owned());
        lines.collect()
    }

    #[test]
    fn a_wide_output_has_every_field() {
        let fields: Vec<String> = (0..30).map(|number| format!(".data.k{number:02}")).collect();
        let found =
            json!({"object": "ConfigMap n/a", "managers": [{"manager": "m", "operation": "Apply", "fields": fields}]});
        let (few, all) = (for_people(&found, false), for_people(&found, true));
        assert!(few.contains(".data.k19 and 10 more") && !few.contains(".data.k20"), "{few}");
        assert!(all.contains(".data.k29") && !all.contains("more"), "{all}");
    }

    #[test]
    fn a_removed_plugin_does_not_reconcile_the_object() {
        let plugin = json!({"plugin": "p", "version": "1", "reconciles": false, "state": "removed",
            "heldUp": ["3 objects of the kind have its finalizer"]});
        let mut lines = String::new();
        about(&mut lines, &plugin);
        let expected =
            "plugin p 1 is removed and reconciles nothing any more:\n  3 objects of the kind have its finalizer\n";
        assert_eq!(lines, expected);
    }

    #[test]
    fn each_field_is_shown_with_the_write_that_gave_it_its_value() {
        let rest = "the other fields: written before this host led, or longer ago than it remembers";
        let all = [("2", json!([".data.b", ".data.gone"])), ("1", Value::Null)];
        assert_eq!(shown(&all), [".data.b last written by plugin  2", "last written by plugin  1"]);
        assert_eq!(shown(&[("3", json!([".spec.l"]))]), [".spec.l last written by plugin  3", rest]);
        assert_eq!(shown(&[("3", json!([".spec.l", ".data"]))]), [".spec.l .data last written by plugin  3"]);
        assert_eq!(shown(&[("3", json!([".dat"]))]), Vec::<String>::new());
    }

    #[test]
    fn a_key_with_dots_is_not_below_a_shorter_one() {
        assert!(!is_within(".metadata.labels.app.kubernetes.io/name", ".metadata.labels.app"));
        assert!(!is_within(".data.conf.d", ".data.conf") && is_within(".data.conf", ".data"));
        assert!(is_within(".data.items[{\"a\":1}].b", ".data.items") && is_within(".spec.a.b", ".spec.a"));
    }
}
