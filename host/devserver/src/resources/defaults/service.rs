//! Defaults of Services.

use serde_json::{Map, Value, json};

use crate::{
    model::{
        members::{fill, object},
        status::Result,
    },
    resources::validation::service::{is_asked_for_health, is_external, is_reached, items, number, text},
    store::Store,
};

mod addresses;

/// The spec of a Service.
type Spec = Map<String, Value>;

/// The defaults of a service.
pub(super) fn defaults(value: &mut Value) {
    let Some(spec) = object(value, "spec") else { return };
    fill(spec, "type", "ClusterIP");
    fill(spec, "sessionAffinity", "None");
    match text(spec, "sessionAffinity") {
        "None" => {
            spec.remove("sessionAffinityConfig");
        }
        "ClientIP" => {
            let timeout = spec.get("sessionAffinityConfig").and_then(|c| c.pointer("/clientIP/timeoutSeconds"));
            if timeout.is_none() {
                let config = json!({"clientIP": {"timeoutSeconds": 10_800}});
                spec.insert("sessionAffinityConfig".to_owned(), config);
            }
        }
        _ => {}
    }
    if matches!(text(spec, "type"), "ClusterIP" | "NodePort" | "LoadBalancer") {
        fill(spec, "internalTrafficPolicy", "Cluster");
    }
    if is_reached(spec) && text(spec, "externalTrafficPolicy").is_empty() {
        spec.insert("externalTrafficPolicy".to_owned(), "Cluster".into());
    }
    let balances = text(spec, "type") == "LoadBalancer";
    if balances {
        fill(spec, "allocateLoadBalancerNodePorts", true);
    }
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(port) = port.as_object_mut() else { continue };
        fill(port, "protocol", "TCP");
        if port.get("targetPort").is_none_or(|t| t.is_null() || *t == 0 || t == "") {
            port.insert("targetPort".to_owned(), port.get("port").cloned().unwrap_or_else(|| 0.into()));
        }
    }
    let entries = value.pointer_mut("/status/loadBalancer/ingress").and_then(Value::as_array_mut);
    for entry in entries.into_iter().flatten().filter_map(Value::as_object_mut).filter(|_| balances) {
        if !text(entry, "ip").is_empty() {
            fill(entry, "ipMode", "VIP");
        }
    }
}

/// Allocates addresses and node ports that a new Service does not request.
pub(super) fn create(store: &Store, value: &mut Value) -> Result<()> {
    settle(store, value, None)
}

/// The same for a changed Service: omitted values stay, values that its new type lacks are removed.
pub(super) fn update(store: &Store, value: &mut Value, old: &Value) -> Result<()> {
    let before = old.get("spec").and_then(Value::as_object).cloned().unwrap_or_default();
    if let Some(spec) = object(value, "spec") {
        keep(spec, &before);
    }
    settle(store, value, Some(&before))?;
    if let Some(spec) = object(value, "spec") {
        drop_dependents(spec, &before);
    }
    Ok(())
}

fn settle(store: &Store, value: &mut Value, before: Option<&Spec>) -> Result<()> {
    let (namespace, name) =
        (super::text(value, "/metadata/namespace").to_owned(), super::text(value, "/metadata/name").to_owned());
    let Some(spec) = object(value, "spec") else { return Ok(()) };
    align(spec, before);
    addresses::Allocation::new(store, &namespace, &name).run(spec, before)
}

fn takes_node_ports(spec: &Spec) -> bool {
    match text(spec, "type") {
        "NodePort" => true,
        "LoadBalancer" => spec.get("allocateLoadBalancerNodePorts") != Some(&Value::Bool(false)),
        _ => false,
    }
}

fn copy(spec: &mut Spec, before: &Spec, key: &str) {
    if let Some(value) = before.get(key).cloned() {
        spec.insert(key.to_owned(), value);
    }
}

fn node_ports(spec: &Spec) -> Vec<i64> {
    items(spec, "ports").iter().map(|p| number(p, "nodePort")).filter(|n| *n != 0).collect()
}

/// Values that an update may omit: the addresses, and the node ports of ports with the same names.
fn keep(spec: &mut Spec, before: &Spec) {
    if !is_external(spec) && !is_external(before) {
        if text(spec, "clusterIP").is_empty() {
            copy(spec, before, "clusterIP");
        }
        if items(spec, "clusterIPs").is_empty() {
            copy(spec, before, "clusterIPs");
        }
    }
    if takes_node_ports(spec) && takes_node_ports(before) {
        let name = |port: &Value| port.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let used: Vec<i64> = node_ports(spec).into_iter().filter(|n| node_ports(before).contains(n)).collect();
        for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
            let same = items(before, "ports").iter().rev().find(|b| name(b) == name(port));
            let was = same.map_or(0, |b| number(b, "nodePort"));
            if number(port, "nodePort") == 0
                && was != 0
                && !used.contains(&was)
                && let Some(port) = port.as_object_mut()
            {
                port.insert("nodePort".to_owned(), was.into());
            }
        }
    }
    if is_asked_for_health(spec) && is_asked_for_health(before) && !spec.contains_key("healthCheckNodePort") {
        copy(spec, before, "healthCheckNodePort");
    }
}

/// Aligns `clusterIP` and `clusterIPs` for clients that write only one of them.
fn align(spec: &mut Spec, before: Option<&Spec>) {
    let one = text(spec, "clusterIP").to_owned();
    let Some(before) = before else {
        if !one.is_empty() && items(spec, "clusterIPs").is_empty() {
            spec.insert("clusterIPs".to_owned(), json!([one]));
        }
        return;
    };
    let same = |spec: &Spec| items(spec, "clusterIPs") == items(before, "clusterIPs");
    let was = text(before, "clusterIP");
    if one == was {
        if items(spec, "clusterIPs").is_empty() {
            copy(spec, before, "clusterIPs");
        }
    } else if same(spec) {
        if one.is_empty() {
            spec.remove("clusterIPs");
        } else {
            spec.insert("clusterIPs".to_owned(), json!([one]));
        }
    }
}

/// Removes values that the new type lacks, unless the client changed them.
fn drop_dependents(spec: &mut Spec, before: &Spec) {
    let same = |spec: &Spec, key: &str| spec.get(key) == before.get(key);
    if !is_external(before) && is_external(spec) {
        if same(spec, "clusterIP") && same(spec, "clusterIPs") {
            spec.remove("clusterIP");
            spec.remove("clusterIPs");
        }
        for key in ["ipFamilies", "ipFamilyPolicy"] {
            if same(spec, key) {
                spec.remove(key);
            }
        }
    }
    let on_nodes = |spec: &Spec| matches!(text(spec, "type"), "NodePort" | "LoadBalancer");
    if on_nodes(before) && !on_nodes(spec) && node_ports(spec).iter().all(|n| node_ports(before).contains(n)) {
        for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
            port.as_object_mut().map(|port| port.remove("nodePort"));
        }
    }
    let balances = |spec: &Spec| text(spec, "type") == "LoadBalancer";
    let gone = [
        ("healthCheckNodePort", is_asked_for_health(before) && !is_asked_for_health(spec)),
        ("allocateLoadBalancerNodePorts", balances(before) && !balances(spec)),
        ("loadBalancerClass", balances(before) && !balances(spec)),
        ("internalTrafficPolicy", !is_external(before) && is_external(spec)),
        ("externalTrafficPolicy", is_reached(before) && !is_reached(spec)),
    ];
    for (key, _) in gone.iter().filter(|(_, gone)| *gone) {
        if same(spec, key) {
            spec.remove(*key);
        }
    }
}
