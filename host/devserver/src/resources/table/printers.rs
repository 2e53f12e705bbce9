//! Table columns of the built-in kinds.
//!
//! # Source
//!
//! Kubernetes `pkg/printers/internalversion/printers.go`.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::model::selector;

mod cluster;
mod network;
mod pod;
mod policy;
mod storage;
mod workload;

pub(super) use pod::row_conditions;

type Cells = fn(&Value) -> Vec<Value>;

/// Columns and cells. `|` separates columns; after a name, `:type` when it is no string, `*` for the format `name`, and `+` when only `-o
/// wide` shows it.
type Printer = (&'static str, Cells);

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

fn or_none(text: &str) -> Value {
    or(text, "<none>").into()
}

fn number(value: &Value, pointer: &str) -> i64 {
    value.pointer(pointer).and_then(Value::as_i64).unwrap_or(0)
}

fn flag(value: &Value, pointer: &str) -> bool {
    value.pointer(pointer).and_then(Value::as_bool).unwrap_or(false)
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The texts of a list, joined.
fn joined(value: &Value, pointer: &str) -> String {
    list(value, pointer).iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",")
}

fn size(value: &Value, pointer: &str) -> usize {
    value.pointer(pointer).and_then(Value::as_object).map_or(0, serde_json::Map::len)
}

fn name(object: &Value) -> Value {
    text(object, "/metadata/name").into()
}

fn age(object: &Value) -> Value {
    since(text(object, "/metadata/creationTimestamp")).into()
}

fn since(moment: &str) -> String {
    oarlock_schema::age(moment, Timestamp::now())
}

/// A text without quotes, anything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// `a=b,c=d`, or `<none>`.
fn labels(map: Option<&Value>) -> Value {
    let pairs = map.and_then(Value::as_object).into_iter().flatten();
    or_none(&pairs.map(|(k, v)| format!("{k}={}", v.as_str().unwrap_or_default())).collect::<Vec<_>>().join(","))
}

/// A label selector as text.
fn label_selector(value: Option<&Value>) -> Value {
    or_none(&selector::to_text(value))
}

/// The first three, and the number of others.
fn first_three(all: &[String]) -> String {
    let shown = all.get(..3).unwrap_or(all).join(",");
    match all.len() {
        0..=3 => shown,
        count => format!("{shown} + {} more...", count - 3),
    }
}

/// Name and creation time.
pub(super) fn default_cells(object: &Value) -> Vec<Value> {
    vec![name(object), text(object, "/metadata/creationTimestamp").into()]
}

/// Columns and cells of a kind.
pub(super) fn printer(group: &str, plural: &str) -> Option<Printer> {
    Some(match (group, plural) {
        ("", "configmaps") => ("Name*|Data|Age", config_map),
        ("", "secrets") => ("Name*|Type|Data|Age", secret),
        ("", "namespaces") => ("Name*|Status|Age", |o| vec![name(o), text(o, "/status/phase").into(), age(o)]),
        ("", "serviceaccounts") | ("resource.k8s.io", "deviceclasses" | "resourceclaimtemplates") => {
            ("Name*|Age", |o| vec![name(o), age(o)])
        }
        ("" | "events.k8s.io", "events") => (EVENTS, event),
        ("", "pods" | "podtemplates") => return Some(pod::printer(plural)),
        ("", "resourcequotas") => policy::QUOTAS,
        ("", "services" | "endpoints") | ("networking.k8s.io" | "discovery.k8s.io", _) => {
            return network::printer(plural);
        }
        ("", "persistentvolumes" | "persistentvolumeclaims") | ("storage.k8s.io", _) => {
            return storage::printer(plural);
        }
        ("apps" | "batch", _) | ("", "replicationcontrollers") => return workload::printer(plural),
        ("autoscaling", "horizontalpodautoscalers") => policy::AUTOSCALERS,
        ("policy", "poddisruptionbudgets") => policy::BUDGETS,
        ("scheduling.k8s.io", "priorityclasses") => policy::PRIORITY_CLASSES,
        ("flowcontrol.apiserver.k8s.io", "flowschemas") => policy::FLOW_SCHEMAS,
        ("flowcontrol.apiserver.k8s.io", _) => policy::PRIORITY_LEVELS,
        _ => return cluster::printer(group, plural),
    })
}

/// The definitions of a printer's columns.
pub(super) fn definitions(columns: &str) -> Vec<Value> {
    columns.split('|').map(definition).collect()
}

fn definition(column: &str) -> Value {
    let (column, priority) = column.strip_suffix('+').map_or((column, 0), |rest| (rest, 1));
    let (column, format) = column.strip_suffix('*').map_or((column, ""), |rest| (rest, "name"));
    let (name, kind) = column.split_once(':').unwrap_or((column, "string"));
    json!({"name": name, "type": kind, "format": format, "priority": priority, "description": ""})
}

fn config_map(o: &Value) -> Vec<Value> {
    vec![name(o), (size(o, "/data") + size(o, "/binaryData")).into(), age(o)]
}

fn secret(o: &Value) -> Vec<Value> {
    vec![name(o), text(o, "/type").into(), size(o, "/data").into(), age(o)]
}

const EVENTS: &str = "Last Seen|Type|Reason|Object|Subobject+|Source+|Message|First Seen+|Count+|Name*+";

fn event(o: &Value) -> Vec<Value> {
    let either = |a: &str, b: &str| or(text(o, a), text(o, b)).to_owned();
    let pick = |times: &[&str]| times.iter().map(|p| text(o, p)).find(|t| !t.is_empty()).unwrap_or_default();
    let first = pick(&["/firstTimestamp", "/deprecatedFirstTimestamp", "/eventTime"]);
    let series = o.get("series").is_some_and(Value::is_object);
    let last = if series {
        text(o, "/series/lastObservedTime")
    } else {
        pick(&["/lastTimestamp", "/deprecatedLastTimestamp"])
    };
    let last = if series { last } else { or(last, first) };
    let kind = either("/involvedObject/kind", "/regarding/kind").to_lowercase();
    let about = either("/involvedObject/name", "/regarding/name");
    let object = if about.is_empty() { kind } else { format!("{kind}/{about}") };
    let component = either("/source/component", "/deprecatedSource/component");
    let mut source = or(&component, &either("/reportingComponent", "/reportingController")).to_owned();
    let host = either("/source/host", "/deprecatedSource/host");
    let host = or(&host, text(o, "/reportingInstance")).to_owned();
    if !host.is_empty() {
        source = format!("{source}, {host}");
    }
    let count =
        if series { number(o, "/series/count") } else { number(o, "/count").max(number(o, "/deprecatedCount")).max(1) };
    vec![
        since(last).into(),
        text(o, "/type").into(),
        text(o, "/reason").into(),
        object.into(),
        either("/involvedObject/fieldPath", "/regarding/fieldPath").into(),
        source.into(),
        either("/message", "/note").trim().into(),
        since(first).into(),
        count.into(),
        name(o),
    ]
}
