//! Everything there is, in the API server and behind the plugin's HTTP requests, in a spelling that can be compared.

use super::kinds::served;
use crate::harness::{Cluster, HttpClient, text};
use anyhow::{Context, Result};
use regex::Regex;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Fields that say when or how often, not what.
const IGNORED: [&str; 13] = [
    "resourceVersion",
    "generation",
    "observedGeneration",
    "creationTimestamp",
    "lastTransitionTime",
    "lastUpdateTime",
    "selfLink",
    "clusterIP",
    "clusterIPs",
    "nodePort",
    "created_at",
    "updated_at",
    "revision_number",
];

static RANDOM: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let uuid = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}";
    let time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?";
    Regex::new(&format!("(?P<uuid>{uuid})|(?P<time>{time})")).ok()
});

/// One thing.
#[derive(Clone, Debug)]
pub(super) struct Thing {
    /// Kind, or URL path.
    pub(super) place: String,
    pub(super) value: Value,
}

impl Thing {
    /// The same thing has the same identity whatever changes about it.
    pub(super) fn identity(&self) -> String {
        let own = ["/metadata/uid", "/id"].iter().map(|at| text(&self.value, at)).find(|id| !id.is_empty());
        format!("{} {}", self.place, own.unwrap_or_else(|| self.value.to_string()))
    }
}

/// Everything there is.
///
/// * `targets` - servers past the gates, and the paths whose content counts: the members of the lists in it, or the whole.
pub(super) async fn everything(cluster: &Cluster, targets: &[HttpClient], looks: &[String]) -> Result<Vec<Thing>> {
    let mut all = Vec::new();
    for resource in served(cluster).await? {
        let place = format!("{} {}", resource.api_version, resource.kind);
        let found = cluster.list(&resource.collection(None)).await?;
        all.extend(found.into_iter().map(|value| Thing { place: place.clone(), value }));
    }
    for target in targets {
        for look in looks {
            let answer = target.get(look).await.with_context(|| format!("GET {look}"))?;
            if !answer.status.is_success() {
                continue;
            }
            let body = answer.json()?;
            let lists: Vec<&Vec<Value>> = match &body {
                Value::Array(items) => vec![items],
                Value::Object(fields) => fields.values().filter_map(Value::as_array).collect(),
                _ => Vec::new(),
            };
            let things = |values: Vec<Value>| values.into_iter().map(|value| Thing { place: look.clone(), value });
            all.extend(things(if lists.is_empty() {
                vec![body]
            } else {
                lists.into_iter().flatten().cloned().collect()
            }));
        }
    }
    Ok(all)
}

/// What differs from world to world although nothing is different.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Names of objects by their uid.
    pub uids: BTreeMap<String, String>,
    /// The namespace everything is in.
    pub namespace: String,
    /// Fields that are left out, beside those that always are.
    pub ignored: BTreeSet<String>,
    /// Lists are sorted: what is behind HTTP may list things in any order.
    pub sorted: bool,
}

/// A value without times, versions, generated names and ids.
///
/// Of managedFields only what plugins own is kept: who else edited an object is part of its past.
#[must_use]
pub fn normalise(value: &Value, names: &Names) -> Value {
    match value {
        Value::Object(fields) => Value::Object(normalised_fields(fields, names)),
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(|item| normalise(item, names)).collect();
            if names.sorted {
                items.sort_by_key(ToString::to_string);
            }
            Value::Array(items)
        }
        Value::String(text) => Value::String(plain(text, names)),
        other => other.clone(),
    }
}

fn normalised_fields(fields: &Map<String, Value>, names: &Names) -> Map<String, Value> {
    let mut plain_fields = Map::new();
    for (name, field) in fields {
        if IGNORED.contains(&name.as_str()) || names.ignored.contains(name) {
            continue;
        }
        let field = match field {
            Value::Array(entries) if name == "managedFields" => {
                let ours = |entry: &&Value| text(entry, "/manager").starts_with("oarlock.");
                let mut ours: Vec<Value> = entries.iter().filter(ours).map(|entry| normalise(entry, names)).collect();
                ours.sort_by_key(ToString::to_string);
                Value::Array(ours)
            }
            field => normalise(field, names),
        };
        plain_fields.insert(plain(name, names), field);
    }
    let generated = fields.get("generateName").and_then(Value::as_str).unwrap_or_default();
    if !generated.is_empty() && fields.contains_key("name") {
        plain_fields.insert("name".to_owned(), Value::String(format!("{generated}<generated>")));
    }
    plain_fields
}

fn plain(text: &str, names: &Names) -> String {
    let text = if names.namespace.is_empty() { text.to_owned() } else { text.replace(&names.namespace, "<namespace>") };
    let Some(random) = RANDOM.as_ref() else { return text };
    let plain = random.replace_all(&text, |found: &regex::Captures<'_>| match found.name("uuid") {
        Some(uuid) => {
            names.uids.get(uuid.as_str()).map_or_else(|| "<uuid>".to_owned(), |name| format!("<uid of {name}>"))
        }
        None => "<time>".to_owned(),
    });
    plain.into_owned()
}
