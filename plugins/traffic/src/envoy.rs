//! Envoy's resources, in the JSON of its protobuf API v3: RDS, CDS, and EDS for each cluster. Each is a file with a DiscoveryResponse.

use crate::duration;
use crate::route::{Accepted, HeaderKind, Match, Mirror, PathKind, Retries, Rule, Target, domains, targets};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Where the Pods mount the files.
pub(crate) const FOLDER: &str = "/etc/envoy-traffic";
/// The name of the route configuration, which the listener in envoy.yaml names.
const ROUTE_CONFIGURATION: &str = "traffic";
/// The cluster of envoy.yaml for hosts without a TrafficRoute: it asks the DNS.
const PASSTHROUGH: &str = "passthrough";

/// A route as the Pods of one namespace get it.
#[derive(Debug)]
pub(crate) struct Programmed<'a> {
    /// `NAMESPACE/NAME`
    pub(crate) id: String,
    pub(crate) namespace: &'a str,
    pub(crate) accepted: &'a Accepted,
    /// By name of the target.
    pub(crate) endpoints: BTreeMap<&'a str, Vec<(IpAddr, u16)>>,
}

/// The files of the ConfigMap.
///
/// * `namespace` - of the Pods that mount it: there, the plain name of a Service of this namespace is a domain, too.
pub(crate) fn files(namespace: &str, routes: &[Programmed<'_>]) -> Map<String, Value> {
    let mut taken = BTreeSet::new();
    let hosts: Vec<Value> =
        routes.iter().filter_map(|route| virtual_host(namespace, route, &mut taken)).chain([elsewhere()]).collect();
    // Envoy refuses a configuration in which two virtual hosts have one domain, and Host headers may have a port.
    let rds = json!({
        "@type": "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
        "name": ROUTE_CONFIGURATION, "ignore_port_in_host_matching": true, "virtual_hosts": hosts,
    });
    let mut cds = Vec::new();
    let mut files = vec![("rds.json".to_owned(), vec![rds])];
    for route in routes {
        for (name, endpoints) in &route.endpoints {
            let cluster = cluster_name(&route.id, name);
            cds.push(cluster_of(&cluster));
            // Envoy takes an EDS file only if it has the one resource of its cluster.
            files.push((eds_file(&cluster), vec![assignment(&cluster, endpoints)]));
        }
    }
    files.push(("cds.json".to_owned(), cds));
    files.into_iter().map(|(file, resources)| (file, json!({"resources": resources}).to_string().into())).collect()
}

/// No part of a cluster's name has an underscore.
pub(crate) fn eds_file(cluster: &str) -> String {
    format!("eds_{}.json", cluster.replace('/', "_"))
}

/// The targets of a configuration, each once.
pub(crate) fn targets_of(accepted: &Accepted) -> BTreeMap<&str, &Target> {
    targets(&accepted.rules).map(|target| (target.name.as_str(), target)).collect()
}

fn cluster_name(id: &str, target: &str) -> String {
    format!("{id}/{target}")
}

/// None: every domain belongs to another route.
fn virtual_host(namespace: &str, route: &Programmed<'_>, taken: &mut BTreeSet<String>) -> Option<Value> {
    let host = &route.accepted.host;
    let mut names = domains(host, route.namespace);
    if namespace == route.namespace && !host.contains('.') {
        names.push(host.clone());
    }
    names.retain(|name| taken.insert(name.clone()));
    let routes: Vec<Value> = route.accepted.rules.iter().flat_map(|rule| routes_of(&route.id, rule)).collect();
    (!names.is_empty()).then(|| json!({"name": route.id, "domains": names, "routes": routes}))
}

/// Hosts that no TrafficRoute names.
fn elsewhere() -> Value {
    json!({
        "name": PASSTHROUGH, "domains": ["*"],
        "routes": [{"match": {"prefix": "/"}, "route": {"cluster": PASSTHROUGH, "timeout": "0s"}}],
    })
}

/// One of Envoy's routes for each match of the rule.
fn routes_of(id: &str, rule: &Rule) -> Vec<Value> {
    let clusters: Vec<Value> = rule
        .destinations
        .iter()
        .map(|to| json!({"name": cluster_name(id, &to.target.name), "weight": to.weight}))
        .collect();
    let mut action = json!({"weighted_clusters": {"clusters": clusters}});
    if let Value::Object(action) = &mut action {
        let timeout = rule.timeout.as_deref().and_then(duration::protobuf);
        let retries = Some(rule.retries.as_ref().map_or_else(unsent_requests, retry_policy));
        let mirror = rule.mirror.as_ref().map(|mirror| json!([mirror_policy(id, mirror)]));
        action.extend(timeout.map(|timeout| ("timeout".to_owned(), json!(timeout))));
        action.extend(retries.map(|retries| ("retry_policy".to_owned(), retries)));
        action.extend(mirror.map(|mirror| ("request_mirror_policies".to_owned(), mirror)));
    }
    let all = [Match::default()];
    let matches = if rule.matches.is_empty() { &all[..] } else { &rule.matches };
    matches.iter().map(|one| json!({"match": route_match(one), "route": action})).collect()
}

fn route_match(one: &Match) -> Value {
    let path = one.path.as_ref().map(|path| (path.kind, path.value.as_str()));
    let mut fields = match path {
        // Envoy's path_separated_prefix takes no slash at the end, and no lone slash.
        Some((PathKind::PathPrefix, prefix)) if !prefix.trim_end_matches('/').is_empty() => {
            json!({"path_separated_prefix": prefix.trim_end_matches('/')})
        }
        None | Some((PathKind::PathPrefix, _)) => json!({"prefix": "/"}),
        Some((PathKind::Exact, path)) => json!({"path": path}),
        Some((PathKind::RegularExpression, regex)) => json!({"safe_regex": {"regex": regex}}),
    };
    if let (Value::Object(fields), false) = (&mut fields, one.headers.is_empty()) {
        let headers = one.headers.iter().map(|header| {
            let test = match header.kind {
                HeaderKind::Exact => json!({"exact": header.value}),
                HeaderKind::RegularExpression => json!({"safe_regex": {"regex": header.value}}),
            };
            json!({"name": header.name, "string_match": test})
        });
        fields.insert("headers".to_owned(), headers.collect());
    }
    fields
}

/// Without retries in the rule: requests that no server has got go to another endpoint. The files lag behind the Pods, so that addresses of
/// Pods that are gone are in them for a while.
fn unsent_requests() -> Value {
    json!({
        "retry_on": "connect-failure,refused-stream", "num_retries": 2, "host_selection_retry_max_attempts": 3,
        "retry_host_predicate": [{
            "name": "envoy.retry_host_predicates.previous_hosts",
            "typed_config": {"@type": "type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate"},
        }],
    })
}

fn retry_policy(retries: &Retries) -> Value {
    let on =
        if retries.on.is_empty() { "connect-failure,refused-stream,reset".to_owned() } else { retries.on.join(",") };
    let mut policy = json!({"retry_on": on, "num_retries": retries.attempts});
    if let (Value::Object(policy), Some(timeout)) =
        (&mut policy, retries.per_try_timeout.as_deref().and_then(duration::protobuf))
    {
        policy.insert("per_try_timeout".to_owned(), json!(timeout));
    }
    policy
}

fn mirror_policy(id: &str, mirror: &Mirror) -> Value {
    json!({
        "cluster": cluster_name(id, &mirror.target.name),
        "runtime_fraction": {"default_value": {"numerator": mirror.percent, "denominator": "HUNDRED"}},
    })
}

fn cluster_of(name: &str) -> Value {
    // The kubelet renames `..data`, which Envoy notices, before it makes the link of a new file: without `..data` in the path Envoy would
    // look for the file before it can be opened, and look again only after the next change.
    let eds = json!({
        "path_config_source": {"path": format!("{FOLDER}/..data/{}", eds_file(name)), "watched_directory": {"path": FOLDER}},
        "resource_api_version": "V3",
    });
    json!({
        "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster",
        "name": name,
        // In the names of statistics a dot begins the next part.
        "alt_stat_name": name.replace('.', "_"),
        "type": "EDS",
        "connect_timeout": "1s",
        "eds_cluster_config": {"eds_config": eds},
    })
}

fn assignment(cluster: &str, endpoints: &[(IpAddr, u16)]) -> Value {
    let endpoints: Vec<Value> = endpoints
        .iter()
        .map(|(address, port)| {
            let socket = json!({"address": address.to_string(), "port_value": port});
            json!({"endpoint": {"address": {"socket_address": socket}}})
        })
        .collect();
    json!({
        "@type": "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
        "cluster_name": cluster,
        "endpoints": [{"lb_endpoints": endpoints}],
    })
}
