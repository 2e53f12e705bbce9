//! Services.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{fill, object};
use crate::api::Api;

/// The defaults of a service.
pub(super) fn defaults(value: &mut Value) {
    let Some(spec) = object(value, "spec") else { return };
    fill(spec, "type", "ClusterIP");
    fill(spec, "sessionAffinity", "None");
    let kind = spec.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    if spec.get("sessionAffinity").and_then(Value::as_str) == Some("ClientIP") {
        fill(spec, "sessionAffinityConfig", json!({"clientIP": {"timeoutSeconds": 10_800}}));
    }
    if kind != "ExternalName" {
        fill(spec, "internalTrafficPolicy", "Cluster");
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        fill(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        fill(spec, "allocateLoadBalancerNodePorts", true);
    }
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(port) = port.as_object_mut() {
            fill(port, "protocol", "TCP");
            if let Some(number) = port.get("port").cloned()
                && kind != "ExternalName"
            {
                fill(port, "targetPort", number);
            }
        }
    }
}

fn headless(spec: &Map<String, Value>) -> bool {
    spec.get("clusterIP").and_then(Value::as_str) == Some("None")
}

/// Addresses and node ports that were not asked for.
pub(super) fn allocate(api: &Api, value: &mut Value) {
    let namespaced = api.store.shelf("services").list("");
    let Some(spec) = object(value, "spec") else { return };
    let kind = spec.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    if kind == "ExternalName" {
        return;
    }
    if spec.get("clusterIP").and_then(Value::as_str).is_none_or(str::is_empty) {
        let used: HashSet<String> = namespaced
            .objects
            .iter()
            .filter_map(|o| o.value.pointer("/spec/clusterIP")?.as_str().map(str::to_owned))
            .collect();
        let free = (1..=u16::MAX).map(|n| format!("10.96.{}.{}", n / 256, n % 256)).find(|ip| !used.contains(ip));
        // 65 000 services are more than a test needs; the next one gets no address.
        spec.insert("clusterIP".to_owned(), free.unwrap_or_default().into());
    }
    let ip = spec.get("clusterIP").cloned().unwrap_or_default();
    fill(spec, "clusterIPs", json!([ip]));
    let selectorless = spec.get("selector").and_then(Value::as_object).is_none_or(Map::is_empty);
    if headless(spec) && selectorless {
        fill(spec, "ipFamilyPolicy", "RequireDualStack");
        fill(spec, "ipFamilies", json!(["IPv4", "IPv6"]));
    } else {
        fill(spec, "ipFamilyPolicy", "SingleStack");
        fill(spec, "ipFamilies", json!(["IPv4"]));
    }
    if !matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        return;
    }
    if spec.get("allocateLoadBalancerNodePorts") == Some(&Value::Bool(false)) {
        return;
    }
    let mut used: HashSet<u64> = namespaced
        .objects
        .iter()
        .filter_map(|o| o.value.pointer("/spec/ports")?.as_array().cloned())
        .flatten()
        .filter_map(|p| p.get("nodePort")?.as_u64())
        .collect();
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(port) = port.as_object_mut() else { continue };
        if port.get("nodePort").and_then(Value::as_u64).is_none_or(|n| n == 0)
            && let Some(free) = (30_000..32_768).find(|n| !used.contains(n))
        {
            used.insert(free);
            port.insert("nodePort".to_owned(), free.into());
        }
    }
}

/// What an update may leave out: the addresses, and the node ports of ports that stay.
pub(super) fn keep(value: &mut Value, old: &Value) {
    let Some(old_spec) = old.get("spec").and_then(Value::as_object) else { return };
    let Some(spec) = object(value, "spec") else { return };
    for key in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort"] {
        let empty = spec.get(key).and_then(Value::as_str) == Some("");
        if empty {
            spec.remove(key);
        }
        if let Some(kept) = old_spec.get(key).cloned() {
            fill(spec, key, kept);
        }
    }
    let kind = |s: &Map<String, Value>| s.get("type").and_then(Value::as_str).unwrap_or("ClusterIP").to_owned();
    if !matches!(kind(spec).as_str(), "NodePort" | "LoadBalancer") {
        return;
    }
    let before: Vec<Value> = old_spec.get("ports").and_then(Value::as_array).cloned().unwrap_or_default();
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let same = before.iter().find(|b| {
            b.get("port") == port.get("port")
                && b.get("protocol").and_then(Value::as_str).unwrap_or("TCP")
                    == port.get("protocol").and_then(Value::as_str).unwrap_or("TCP")
        });
        if let (Some(number), Some(port)) = (same.and_then(|s| s.get("nodePort")).cloned(), port.as_object_mut()) {
            fill(port, "nodePort", number);
        }
    }
}
