//! The ConfigMap `envoy-traffic` of each namespace with injection, which injected Pods mount: Envoy's RDS, CDS and EDS.

use crate::endpoints::{self, Endpoints};
use crate::envoy::{self, Programmed};
use crate::retirement;
use crate::route::{Accepted, TrafficRoute, route_kind};
use oarlock_guest::{Context, Error, Kind, Observation, Outcome, Result, cluster, kind, object_ref};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The ConfigMap's name.
pub(crate) const NAME: &str = "envoy-traffic";
/// The label of these ConfigMaps.
pub(crate) const LABEL: &str = "traffic.oarlock.dev/config";
/// The annotation with the routes and their versions, as JSON.
const ROUTES: &str = "traffic.oarlock.dev/routes";
/// The annotation with the clusters that no route names any more, as JSON.
const RETIRED: &str = "traffic.oarlock.dev/retired";
/// The label of a namespace with injection.
const INJECTION: &str = "initializer.kubernetes.io/envoy";
/// An object has at most a megabyte, and names of fields, the last apply and metadata need some of it.
const LIMIT_BYTES: usize = 900 << 10;

pub(crate) fn config_map_kind() -> Kind {
    kind("v1", "ConfigMap")
}

pub(crate) fn namespace_kind() -> Kind {
    kind("v1", "Namespace")
}

pub(crate) fn desired(cx: &Context<Value>) -> Result<Option<Value>> {
    let label = cx.object()?.pointer(&format!("/metadata/labels/{}", INJECTION.replace('/', "~1")));
    if label.and_then(Value::as_str) != Some("true") || live(cx)?.is_some_and(|existing| !is_ours(&existing, cx)) {
        return Ok(None);
    }
    let mut routes: Vec<TrafficRoute> = cluster::list(&route_kind(), &cluster::ListOptions::default())?;
    // The oldest first: it wins, should two have one domain.
    routes.sort_by(|one, other| one.age().cmp(&other.age()));
    let routes: Vec<_> = routes.iter().filter_map(|route| Some((route, route.status.accepted.as_ref()?))).collect();
    let programmed = routes.iter().map(|(route, accepted)| programmed(route, accepted)).collect::<Result<Vec<_>>>()?;
    let mut files = envoy::files(cx.name(), &programmed);
    let present = cluster::get_applied::<Value>(&config_map_kind(), cx.name(), NAME)?.unwrap_or_default();
    let empty = Map::new();
    let present_files = present.get("data").and_then(Value::as_object).unwrap_or(&empty);
    let retired = retirement::keep(cx.name(), present_files, &retired_in(&present), &mut files)?;
    let bytes: usize = files.values().filter_map(Value::as_str).map(str::len).sum();
    if bytes > LIMIT_BYTES {
        return Err(Error::terminal(format_args!(
            "the configuration of {} routes has {} KiB, and a ConfigMap holds {}: the Pods keep the last one",
            routes.len(),
            bytes >> 10,
            LIMIT_BYTES >> 10
        )));
    }
    let versions: Map<String, Value> =
        routes.iter().map(|(route, accepted)| (route.id(), version(accepted).into())).collect();
    Ok(Some(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": NAME, "namespace": cx.name(), "labels": {LABEL: "true"},
            "annotations": {ROUTES: Value::Object(versions).to_string(), RETIRED: json!(retired).to_string()},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Namespace", "name": cx.name(), "uid": cx.uid()}],
        },
        "data": files,
    })))
}

fn programmed<'a>(route: &'a TrafficRoute, accepted: &'a Accepted) -> Result<Programmed<'a>> {
    let namespace = route.metadata.namespace.as_str();
    let mut endpoints = BTreeMap::new();
    for (name, target) in envoy::targets_of(accepted) {
        // A destination that went stays in the configuration without endpoints: Envoy answers 503 for its share.
        let found = match endpoints::of(namespace, target)? {
            Endpoints::Found(found) => found,
            Endpoints::Missing(_) => Vec::new(),
        };
        endpoints.insert(name, found);
    }
    Ok(Programmed { id: route.id(), namespace, accepted, endpoints })
}

pub(crate) fn actual(cx: &Context<Value>) -> Result<Observation<Value>> {
    // The ConfigMap is deleted with its namespace, in which nothing new may be created.
    if cx.deleting() || !live(cx)?.is_some_and(|existing| is_ours(&existing, cx)) {
        return Ok(Observation::absent());
    }
    let applied = cluster::get_applied(&config_map_kind(), cx.name(), NAME)?;
    let applied: Value = applied.unwrap_or_else(|| json!({}));
    let retired = !retired_in(&applied).is_empty();
    let observation = Observation::present(applied);
    // Each reconcile for another reason puts the next look off: a whole period later, a cluster could stay for two of them.
    Ok(if retired { observation.requeue_after(retirement::period()? / 6) } else { observation })
}

/// The names of the retired clusters in a ConfigMap.
fn retired_in(config_map: &Value) -> BTreeSet<String> {
    let annotation = config_map.pointer(&format!("/metadata/annotations/{}", RETIRED.replace('/', "~1")));
    annotation.and_then(Value::as_str).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// * `seen` - whether the ConfigMap exists.
pub(crate) fn patch(cx: &Context<Value>, desired: Option<Value>, seen: bool) -> Result<Outcome> {
    // Read from the API server if the cache has none: a ConfigMap that another client has just created must not be taken over.
    let existing = if seen { live(cx)? } else { cluster::get_live(&config_map_kind(), cx.name(), NAME)? };
    if existing.as_ref().is_some_and(|existing| !is_ours(existing, cx)) {
        return Ok(Outcome::new());
    }
    let uid = existing.as_ref().and_then(|existing| Some(existing.pointer("/metadata/uid")?.as_str()?.to_owned()));
    let outcome = Outcome::new();
    Ok(match desired {
        Some(document) => outcome.apply_with(&document, |change| {
            change.force = true;
            change.precondition.uid = uid;
        }),
        None if uid.is_none() => outcome,
        None => {
            outcome.delete_with(object_ref(&config_map_kind(), cx.name(), NAME), |change| change.precondition.uid = uid)
        }
    })
}

fn live(cx: &Context<Value>) -> Result<Option<Value>> {
    cluster::get(&config_map_kind(), cx.name(), NAME)
}

/// Whether a ConfigMap of this name is the plugin's own.
fn is_ours(config_map: &Value, cx: &Context<Value>) -> bool {
    let owners = config_map.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    owners.is_some_and(|owners| owners.iter().any(|owner| owner.get("uid").and_then(Value::as_str) == Some(cx.uid())))
}

#[derive(Deserialize)]
struct Stored {
    metadata: StoredMetadata,
}

#[derive(Deserialize)]
struct StoredMetadata {
    namespace: String,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// The namespaces whose ConfigMap has this configuration of a route, and those that still lack it, in order.
///
/// # Errors
///
/// The error of reading the cache.
pub(crate) fn namespaces(route: &TrafficRoute, accepted: &Accepted) -> Result<(Vec<String>, Vec<String>)> {
    let wanted = version(accepted);
    let options = cluster::ListOptions { label_selector: format!("{LABEL}=true"), ..cluster::ListOptions::default() };
    let stored: Vec<Stored> = cluster::list(&config_map_kind(), &options)?;
    let has = |stored: &Stored| {
        let text = stored.metadata.annotations.get(ROUTES)?;
        Some(serde_json::from_str::<BTreeMap<String, String>>(text).ok()?.get(&route.id())? == &wanted)
    };
    let (with, without) = stored.into_iter().partition::<Vec<_>, _>(|stored| has(stored) == Some(true));
    let names = |list: Vec<Stored>| list.into_iter().map(|stored| stored.metadata.namespace).collect();
    Ok((names(with), names(without)))
}

/// Another text for every configuration, whichever generation it is of: FNV-1a of its JSON.
fn version(accepted: &Accepted) -> String {
    let text = serde_json::to_string(&(&accepted.host, &accepted.rules)).unwrap_or_default();
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}
