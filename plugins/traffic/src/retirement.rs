//! Clusters that no route names any more. Envoy reads its files one after the other: were the cluster gone before the new routes are read,
//! requests to it would fail. So it stays for a while.

use crate::envoy::eds_file;
use oarlock_guest::{Error, Manifest, Result, cache, config};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// The configuration key with the time.
const SECONDS: &str = "retireSeconds";
/// The kubelet takes up to two minutes for a change of a ConfigMap.
const DEFAULT_SECONDS: &str = "180";

pub(crate) fn declare(manifest: Manifest) -> Manifest {
    let description = "How long Envoy keeps a cluster that no route names any more, in seconds";
    manifest.config_property(SECONDS, json!({"type": "string", "default": DEFAULT_SECONDS, "description": description}))
}

/// How long a retired cluster stays.
///
/// # Errors
///
/// Terminal: the configuration is no number of seconds.
pub(crate) fn period() -> Result<Duration> {
    let text = config::get(SECONDS).unwrap_or_else(|| DEFAULT_SECONDS.to_owned());
    let seconds = text.parse::<u32>().ok().filter(|&seconds| seconds > 0);
    let seconds = seconds.ok_or_else(|| {
        Error::terminal(format_args!("config {SECONDS}: {text:?} is not a whole number of seconds, at least 1"))
    })?;
    Ok(Duration::from_secs(seconds.into()))
}

/// Adds the retired clusters of the present ConfigMap to new files; returns their names.
///
/// * `retired` - the names that the present ConfigMap has as retired.
///
/// # Errors
///
/// Terminal: the configuration is invalid.
pub(crate) fn keep(
    namespace: &str,
    present: &Map<String, Value>,
    retired: &BTreeSet<String>,
    files: &mut Map<String, Value>,
) -> Result<BTreeSet<String>> {
    let period = period()?;
    let (before, mut after) = (resources(present), resources(files));
    let named: BTreeSet<String> = after.iter().filter_map(name).collect();
    let mut kept = BTreeSet::new();
    for cluster in before {
        let Some(name) = name(&cluster).filter(|name| !named.contains(name)) else { continue };
        // The cache forgets the key after the period, or when the host starts again.
        let key = format!("retired/{namespace}/{name}");
        if retired.contains(&name) && cache::get::<bool>(&key).is_none() {
            continue;
        }
        if !retired.contains(&name) {
            cache::set(&key, &true, Some(period));
        }
        let file = eds_file(&name);
        files.extend(present.get(&file).map(|content| (file.clone(), content.clone())));
        after.push(cluster);
        kept.insert(name);
    }
    if !kept.is_empty() {
        files.insert("cds.json".to_owned(), json!({"resources": after}).to_string().into());
    }
    Ok(kept)
}

/// The clusters in a ConfigMap's files.
fn resources(files: &Map<String, Value>) -> Vec<Value> {
    let text = files.get("cds.json").and_then(Value::as_str).unwrap_or_default();
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(mut document)) => match document.remove("resources") {
            Some(Value::Array(resources)) => resources,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn name(cluster: &Value) -> Option<String> {
    Some(cluster.get("name")?.as_str()?.to_owned())
}
