//! Validation of Services: fields that depend on the type and on each other.

use serde_json::{Map, Value, json};

use super::addresses;
use crate::model::{names, status::Cause};

/// The spec of a Service.
type Spec = Map<String, Value>;

const KINDS: &[&str] = &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const ONCE: &str = "may not change once set";

pub(crate) fn text<'a>(spec: &'a Spec, key: &str) -> &'a str {
    spec.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn items<'a>(spec: &'a Spec, key: &str) -> &'a [Value] {
    spec.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(crate) fn number(map: &Value, key: &str) -> i64 {
    map.get(key).and_then(Value::as_i64).unwrap_or(0)
}

fn shown(spec: &Spec, key: &str) -> Value {
    spec.get(key).cloned().unwrap_or_default()
}

fn has(spec: &Spec, key: &str) -> bool {
    spec.get(key).is_some_and(|v| !v.is_null())
}

fn headless(spec: &Spec) -> bool {
    matches!(items(spec, "clusterIPs"), [only] if only == "None")
}

pub(crate) fn is_external(spec: &Spec) -> bool {
    text(spec, "type") == "ExternalName"
}

/// Whether the Service is reachable from outside of the cluster.
pub(crate) fn is_reached(spec: &Spec) -> bool {
    match text(spec, "type") {
        "NodePort" | "LoadBalancer" => true,
        "ClusterIP" => !items(spec, "externalIPs").is_empty(),
        _ => false,
    }
}

/// Whether a load balancer checks the health of its nodes.
pub(crate) fn is_asked_for_health(spec: &Spec) -> bool {
    text(spec, "type") == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local"
}

/// A new or a changed Service.
pub(super) fn check(object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let empty = Spec::new();
    let spec = object.get("spec").and_then(Value::as_object).unwrap_or(&empty);
    let before = old.and_then(|o| o.get("spec")?.as_object());
    let mut out = Vec::new();
    let kind = text(spec, "type");
    if items(spec, "ports").is_empty() && !headless(spec) && kind != "ExternalName" {
        out.push(Cause::required("spec.ports", ""));
    }
    match kind {
        "LoadBalancer" | "NodePort" if headless(spec) => {
            let why = format!("may not be set to 'None' for {kind} services");
            out.push(Cause::invalid("spec.clusterIPs[0]", &json!("None"), &why));
        }
        "ExternalName" => out.extend(external(spec)),
        kind if !KINDS.contains(&kind) => out.push(Cause::unsupported("spec.type", &json!(kind), KINDS)),
        _ => {}
    }
    out.extend(ports(spec));
    out.extend(affinity(spec));
    out.extend(cluster_ips(spec, before));
    let known = before.map(|b| items(b, "externalIPs")).unwrap_or_default();
    for (i, ip) in items(spec, "externalIPs").iter().enumerate() {
        let causes = addresses::endpoint(ip.as_str().unwrap_or_default(), &format!("spec.externalIPs[{i}]"));
        out.extend(causes.into_iter().filter(|_| !known.contains(ip)));
    }
    out.extend(balancer(spec, before));
    out.extend(policies(spec));
    if let Some(before) = before {
        out.extend(update(spec, before));
    }
    out
}

/// An ExternalName Service has no addresses.
fn external(spec: &Spec) -> Vec<Cause> {
    let set = ["clusterIPs", "ipFamilies", "ipFamilyPolicy"].into_iter().filter(|key| has(spec, key));
    let why = "may not be set for ExternalName services";
    let mut out: Vec<Cause> = set.map(|key| Cause::forbidden(format!("spec.{key}"), why)).collect();
    let name = text(spec, "externalName");
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.is_empty() {
        out.push(Cause::required("spec.externalName", ""));
    } else {
        out.extend(names::subdomain(name).iter().map(|e| Cause::invalid("spec.externalName", &json!(name), e)));
    }
    out
}

fn ports(spec: &Spec) -> Vec<Cause> {
    let mut out = Vec::new();
    let ports = items(spec, "ports");
    let (mut seen, mut pairs, mut nodes) = (Vec::new(), Vec::new(), Vec::new());
    for (i, port) in ports.iter().enumerate() {
        let path = format!("spec.ports[{i}]");
        let part = |key: &str| port.get(key).and_then(Value::as_str).unwrap_or_default();
        let (name, field) = (part("name"), format!("{path}.name"));
        if name.is_empty() && ports.len() > 1 {
            out.push(Cause::required(field, ""));
        } else if !name.is_empty() {
            out.extend(names::label(name).iter().map(|e| Cause::invalid(field.clone(), &json!(name), e)));
            if seen.contains(&name) {
                out.push(Cause::duplicate(field, &json!(name)));
            }
            seen.push(name);
        }
        let (wanted, protocol, node) = (number(port, "port"), part("protocol"), number(port, "nodePort"));
        if !(1..=65_535).contains(&wanted) {
            let why = "must be between 1 and 65535, inclusive";
            out.push(Cause::invalid(format!("{path}.port"), &json!(wanted), why));
        }
        if pairs.contains(&(wanted, protocol)) {
            let shown = format!("Duplicate value: {{\"protocol\":\"{protocol}\",\"port\":{wanted}}}");
            out.push(Cause::raw("FieldValueDuplicate", path.clone(), shown));
        }
        pairs.push((wanted, protocol));
        if node == 0 {
            continue;
        }
        let at = format!("{path}.nodePort");
        if text(spec, "type") == "ClusterIP" {
            out.push(Cause::forbidden(at.clone(), "may not be used when `type` is 'ClusterIP'"));
        }
        if nodes.contains(&(node, protocol)) {
            out.push(Cause::duplicate(at, &json!(node)));
        }
        nodes.push((node, protocol));
    }
    out
}

/// Session affinity.
fn affinity(spec: &Spec) -> Option<Cause> {
    let path = "spec.sessionAffinityConfig";
    match (text(spec, "sessionAffinity"), spec.get("sessionAffinityConfig").filter(|c| !c.is_null())) {
        ("None", Some(_)) => Some(Cause::forbidden(path, "must not be set when session affinity is None")),
        ("ClientIP", Some(config)) => {
            let seconds = config.pointer("/clientIP/timeoutSeconds").and_then(Value::as_i64).unwrap_or(0);
            let why = "must be greater than 0 and less than 86400";
            let field = format!("{path}.clientIP.timeoutSeconds");
            (!(1..=86_400).contains(&seconds)).then(|| Cause::invalid(field, &json!(seconds), why))
        }
        _ => None,
    }
}

/// The addresses of a Service and their families.
pub(crate) fn cluster_ips(spec: &Spec, before: Option<&Spec>) -> Vec<Cause> {
    let mut out = Vec::new();
    if is_external(spec) {
        return out;
    }
    let field = "spec.clusterIPs";
    let (one, all) = (text(spec, "clusterIP"), items(spec, "clusterIPs"));
    let list = json!(all);
    match (one, all) {
        ("", []) => {}
        ("", _) => out.push(Cause::invalid(field, &list, "must be empty when `clusterIP` is not specified")),
        (_, []) => out.push(Cause::required(field, "")),
        (one, [first, ..]) if first != one => {
            out.push(Cause::invalid(field, &list, "first value must match `clusterIP`"));
        }
        _ => {}
    }
    out.extend(families(spec));
    let known = before.map(|b| items(b, "clusterIPs")).unwrap_or_default();
    let mut wrong = Vec::new();
    for (i, ip) in all.iter().enumerate() {
        if i == 0 && ip == "None" {
            if all.len() > 1 {
                wrong.push(Cause::invalid(field, &list, "'None' must be the first and only value"));
            }
        } else if !known.contains(ip) {
            wrong.extend(addresses::ip(ip.as_str().unwrap_or_default(), &format!("{field}[{i}]")).err());
        }
    }
    if all.len() > 2 {
        out.push(Cause::invalid(field, &list, "may only hold up to 2 values"));
    }
    if !wrong.is_empty() {
        out.extend(wrong);
        return out;
    }
    let family = |ip: &Value| if ip.as_str().is_some_and(|ip| ip.contains(':')) { "IPv6" } else { "IPv4" };
    let of_one_family = |wanted: &str| all.iter().filter(|ip| family(ip) == wanted).count() > 1;
    if of_one_family("IPv4") || of_one_family("IPv6") {
        out.push(Cause::invalid(field, &list, "may specify no more than one IP for each IP family"));
    }
    for (i, (ip, wanted)) in all.iter().zip(items(spec, "ipFamilies")).enumerate().filter(|_| !headless(spec)) {
        let wanted = wanted.as_str().unwrap_or_default();
        if matches!(wanted, "IPv4" | "IPv6") && wanted != family(ip) {
            let why = format!("expected an {wanted} value as indicated by `ipFamilies[{i}]`");
            out.push(Cause::invalid(format!("{field}[{i}]"), ip, &why));
        }
    }
    out
}

fn families(spec: &Spec) -> Vec<Cause> {
    let mut out = Vec::new();
    let families = items(spec, "ipFamilies");
    for (i, family) in families.iter().enumerate() {
        let at = format!("spec.ipFamilies[{i}]");
        if !["IPv4", "IPv6"].iter().any(|known| family == known) {
            out.push(Cause::unsupported(at.clone(), family, &["IPv4", "IPv6"]));
        }
        if families.iter().take(i).any(|earlier| earlier == family) {
            out.push(Cause::duplicate(at, family));
        }
    }
    let known = ["PreferDualStack", "RequireDualStack", "SingleStack"];
    if has(spec, "ipFamilyPolicy") && !known.contains(&text(spec, "ipFamilyPolicy")) {
        out.push(Cause::unsupported("spec.ipFamilyPolicy", &shown(spec, "ipFamilyPolicy"), &known));
    }
    out
}

/// Fields that only a load balancer has.
fn balancer(spec: &Spec, before: Option<&Spec>) -> Vec<Cause> {
    let mut out = Vec::new();
    let only = "may only be used when `type` is 'LoadBalancer'";
    let is = text(spec, "type") == "LoadBalancer";
    let field = "spec.LoadBalancerSourceRanges";
    let ranges = items(spec, "loadBalancerSourceRanges");
    if !is && !ranges.is_empty() {
        out.push(Cause::forbidden(field, only));
    }
    let known = before.map(|b| items(b, "loadBalancerSourceRanges")).unwrap_or_default();
    for (i, range) in ranges.iter().enumerate().filter(|(_, range)| !known.contains(range)) {
        out.extend(addresses::cidr(range.as_str().unwrap_or_default().trim(), &format!("{field}[{i}]")));
    }
    let class = text(spec, "loadBalancerClass");
    for key in ["allocateLoadBalancerNodePorts", "loadBalancerClass"].into_iter().filter(|key| !is && has(spec, key)) {
        // The class is checked twice when it changes.
        let times = if key == "loadBalancerClass" && before.is_some() { 2 } else { 1 };
        out.extend(vec![Cause::forbidden(format!("spec.{key}"), only); times]);
    }
    if is && has(spec, "loadBalancerClass") {
        let problems = names::qualified_name(class);
        let times = if before.is_some() { 2 } else { 1 };
        let causes = problems.iter().map(|e| Cause::invalid("spec.loadBalancerClass", &json!(class), e));
        out.extend(causes.flat_map(|cause| vec![cause; times]));
    }
    out
}

/// Traffic policies.
fn policies(spec: &Spec) -> Vec<Cause> {
    let mut out = Vec::new();
    let (field, policy) = ("spec.externalTrafficPolicy", text(spec, "externalTrafficPolicy"));
    match (is_reached(spec), policy) {
        (false, "") | (true, "Cluster" | "Local") => {}
        (false, policy) => {
            out.push(Cause::invalid(field, &json!(policy), "may only be set for externally-accessible services"));
        }
        (true, "") => out.push(Cause::required(field, "")),
        (true, policy) => out.push(Cause::unsupported(field, &json!(policy), &["Cluster", "Local"])),
    }
    let port = spec.get("healthCheckNodePort").and_then(Value::as_i64).unwrap_or(0);
    let field = "spec.healthCheckNodePort";
    if !is_asked_for_health(spec) {
        if port != 0 {
            let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            out.push(Cause::invalid(field, &json!(port), why));
        }
    } else if port == 0 {
        out.push(Cause::required(field, ""));
    } else if !(1..=65_535).contains(&port) {
        out.push(Cause::invalid(field, &json!(port), "must be between 1 and 65535, inclusive"));
    }
    out
}

/// Immutable fields.
fn update(spec: &Spec, before: &Spec) -> Vec<Cause> {
    let mut out = Vec::new();
    if !is_external(spec) && !is_external(before) {
        out.extend(changed_ips(spec, before));
        out.extend(changed_families(spec, before));
    }
    let both = text(spec, "type") == "LoadBalancer" && text(before, "type") == "LoadBalancer";
    if both && spec.get("loadBalancerClass") != before.get("loadBalancerClass") {
        out.push(Cause::invalid("spec.loadBalancerClass", &shown(spec, "loadBalancerClass"), ONCE));
    }
    let asked = is_asked_for_health(spec) && is_asked_for_health(before);
    if asked && spec.get("healthCheckNodePort") != before.get("healthCheckNodePort") {
        out.push(Cause::forbidden("spec.healthCheckNodePort", "field is immutable"));
    }
    out
}

fn changed_ips(spec: &Spec, before: &Spec) -> Vec<Cause> {
    let mut out = Vec::new();
    if headless(spec) && headless(before) {
        return out;
    }
    let (new, was) = (items(spec, "clusterIPs"), items(before, "clusterIPs"));
    let list = json!(new);
    if new.len() == was.len() {
        for (i, _) in new.iter().zip(was).enumerate().filter(|(_, (a, b))| a != b) {
            out.push(Cause::invalid(format!("spec.clusterIPs[{i}]"), &list, ONCE));
        }
        return out;
    }
    match (new.first(), was.first()) {
        (None, _) => out.push(Cause::invalid("spec.clusterIPs[0]", &list, "primary clusterIP can not be unset")),
        (Some(a), Some(b)) if a != b => out.push(Cause::invalid("spec.clusterIPs[0]", &list, ONCE)),
        _ => {}
    }
    if was.len() > new.len() && new.len() == 1 && text(spec, "ipFamilyPolicy") != "SingleStack" {
        let why = "must be set to 'SingleStack' when releasing the secondary clusterIP";
        out.push(Cause::invalid("spec.ipFamilyPolicy", &shown(spec, "ipFamilyPolicy"), why));
    }
    out
}

fn changed_families(spec: &Spec, before: &Spec) -> Vec<Cause> {
    let mut out = Vec::new();
    if headless(spec) || headless(before) {
        return out;
    }
    let (new, was) = (items(spec, "ipFamilies"), items(before, "ipFamilies"));
    let (list, at) = (json!(new), "spec.ipFamilies[0]");
    if new.len() == was.len() {
        let changes = new.iter().zip(was).filter(|(a, b)| a != b);
        out.extend(changes.map(|_| Cause::invalid(at, &list, ONCE)));
        return out;
    }
    if was.len() > new.len() && items(spec, "clusterIPs").is_empty() {
        out.push(Cause::invalid(at, &list, "primary ipFamily can not be unset"));
    }
    if new.first().zip(was.first()).is_some_and(|(a, b)| a != b) {
        out.push(Cause::invalid(at, &json!(items(spec, "clusterIPs")), ONCE));
    }
    if was.len() > new.len() && new.len() == 1 && text(spec, "ipFamilyPolicy") != "SingleStack" {
        let why = "must be set to 'SingleStack' when releasing the secondary ipFamily";
        out.push(Cause::invalid("spec.ipFamilyPolicy", &shown(spec, "ipFamilyPolicy"), why));
    }
    out
}

/// The addresses of a load balancer.
pub(super) fn status(object: &Value) -> Vec<Cause> {
    let mut out = Vec::new();
    let entries = object.pointer("/status/loadBalancer/ingress").and_then(Value::as_array).map_or(&[][..], |l| l);
    let path = "status.loadBalancer.ingress";
    if object.pointer("/spec/type").and_then(Value::as_str) != Some("LoadBalancer") && !entries.is_empty() {
        return vec![Cause::forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")];
    }
    for (i, entry) in entries.iter().enumerate() {
        let part = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        let (ip, mode, host) = (part("ip"), part("ipMode"), part("hostname"));
        if !ip.is_empty() {
            out.extend(addresses::ip(ip, &format!("{path}[{i}].ip")).err());
        }
        let at = format!("{path}[{i}].ipMode");
        match (ip, mode) {
            ("", "") | (_, "VIP" | "Proxy") if !ip.is_empty() || mode.is_empty() => {}
            (_, "") => out.push(Cause::required(at, "must be specified when `ip` is set")),
            ("", _) => out.push(Cause::forbidden(at, "may not be specified when `ip` is not set")),
            (_, mode) => out.push(Cause::unsupported(at, &json!(mode), &["Proxy", "VIP"])),
        }
        if !host.is_empty() {
            let at = format!("{path}[{i}].hostname");
            out.extend(names::subdomain(host).iter().map(|e| Cause::invalid(at.clone(), &json!(host), e)));
            if host.parse::<std::net::IpAddr>().is_ok() {
                out.push(Cause::invalid(at, &json!(host), "must be a DNS name, not an IP address"));
            }
        }
    }
    out
}
