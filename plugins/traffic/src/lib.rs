#![doc = include_str!("../README.md")]

mod acceptance;
mod canary;
mod config_map;
mod duration;
mod endpoints;
mod envoy;
mod regular_expression;
mod retirement;
mod route;
mod status;
#[cfg(test)]
mod tests;

use crate::config_map::{config_map_kind, namespace_kind};
use crate::endpoints::{pod_kind, service_kind, slice_kind};
use crate::route::{TrafficRoute, route_kind};
use oarlock_guest::{Context, Kind, Manifest, Mapping, Observation, Outcome, PolicyRule, Reconciler, Result, export};
use serde_json::Value;

/// Reconciles TrafficRoutes, and the ConfigMap of every namespace with injection.
#[derive(Debug, Default)]
pub struct Traffic;

impl Reconciler for Traffic {
    type Object = Value;
    type State = Value;

    fn manifest() -> Manifest {
        let manifest = Manifest::new("traffic", env!("CARGO_PKG_VERSION"))
            .description("Shifts traffic between versions of a workload by the configuration of Envoy")
            .primary(route_kind())
            .primary_with(namespace_kind(), |primary| primary.manage_status = Some(false));
        // A change of any route, destination or ConfigMap may concern every route and every namespace.
        let both = |manifest: Manifest, watched: Kind| {
            [route_kind(), namespace_kind()].into_iter().fold(manifest, |manifest, primary| {
                manifest.watch_with(watched.clone(), Mapping::All, |watch| watch.primary = Some(primary))
            })
        };
        let manifest = [route_kind(), pod_kind(), service_kind(), slice_kind()].into_iter().fold(manifest, both);
        let manifest = manifest
            .watch_with(config_map_kind(), Mapping::All, |watch| {
                watch.names.push(config_map::NAME.to_owned());
                watch.primary = Some(route_kind());
            })
            .watch_with(config_map_kind(), Mapping::OwnerReference, |watch| {
                watch.names.push(config_map::NAME.to_owned());
                watch.primary = Some(namespace_kind());
            })
            .permission_rule(PolicyRule {
                api_groups: vec![String::new()],
                resources: vec!["configmaps".to_owned()],
                verbs: ["get", "list", "watch", "create", "patch", "delete"].map(str::to_owned).to_vec(),
                resource_names: vec![config_map::NAME.to_owned()],
                namespaces: Vec::new(),
            })
            .manage_status()
            // Two workers could accept one host for two routes.
            .workers(1)
            .resync_seconds(300);
        retirement::declare(canary::declare(manifest))
    }

    fn desired(&self, cx: &Context<Value>) -> Result<Option<Value>> {
        match is_route(cx) {
            true => status::desired(),
            false => config_map::desired(cx),
        }
    }

    fn actual(&self, cx: &Context<Value>) -> Result<Observation<Value>> {
        match is_route(cx) {
            true => status::observe(route(cx)?.as_ref()),
            false => config_map::actual(cx),
        }
    }

    fn patch(&self, cx: &Context<Value>, desired: Option<Value>, actual: Option<Value>) -> Result<Outcome> {
        match is_route(cx) {
            true => status::patch(actual.as_ref()),
            false => config_map::patch(cx, desired, actual.is_some()),
        }
    }
}

fn is_route(cx: &Context<Value>) -> bool {
    *cx.kind() == route_kind()
}

/// The TrafficRoute under reconciliation. None: it is gone, or being deleted.
fn route(cx: &Context<Value>) -> Result<Option<TrafficRoute>> {
    if cx.is_gone() || cx.deleting() {
        return Ok(None);
    }
    Ok(Some(serde_json::from_value(cx.object()?.clone())?))
}

export!(Traffic);
