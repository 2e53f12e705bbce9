//! Validation of NetworkPolicies and Ingresses.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::{has, invalid, list, port_or_name, selector, text};
use crate::model::{names, status::Cause};

pub(super) fn policy_port(value: &Value, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    let known = ["TCP", "UDP", "SCTP"];
    if let Some(protocol) = value.get("protocol").filter(|p| !known.iter().any(|k| p == k)) {
        out.push(Cause::unsupported(format!("{path}.protocol"), protocol, &known));
    }
    let at = format!("{path}.endPort");
    let (port, end) = (value.get("port"), value.get("endPort"));
    if let Some(port) = port {
        out.extend(port_or_name(port, &format!("{path}.port")));
    }
    match (port.map(Value::as_i64), end) {
        (_, None) => {}
        (None, Some(end)) => out.push(Cause::invalid(at, end, "may not be specified when `port` is not specified")),
        (Some(None), Some(end)) => {
            out.push(Cause::invalid(at, end, "may not be specified when `port` is non-numeric"));
        }
        (Some(Some(first)), Some(end)) => {
            if end.as_i64().is_some_and(|end| end < first) {
                out.push(Cause::invalid(at.clone(), &json!(first), "must be greater than or equal to `port`"));
            }
            out.extend(port_or_name(end, &at));
        }
    }
    out
}

/// A peer of a NetworkPolicy.
pub(super) fn peer(value: &Value, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    for key in ["podSelector", "namespaceSelector"] {
        if let Some(found) = value.get(key) {
            out.extend(selector(found, &format!("{path}.{key}")));
        }
    }
    if let Some(block) = value.get("ipBlock") {
        out.extend(ip_block(block, &format!("{path}.ipBlock")));
    }
    let others = has(value, "podSelector") || has(value, "namespaceSelector");
    match (has(value, "ipBlock"), others) {
        (false, false) => out.push(Cause::required(path, "must specify a peer")),
        (true, true) => out.push(Cause::forbidden(path, "may not specify both ipBlock and another peer")),
        _ => {}
    }
    out
}

/// The bits of an address and its prefix length.
fn parse(text: &str) -> Option<(u128, u32, u32)> {
    let (address, length) = text.split_once('/')?;
    let length: u32 = length.parse().ok()?;
    let (bits, width) = match address.parse::<IpAddr>().ok()? {
        IpAddr::V4(v4) => (u128::from(u32::from(v4)), 32),
        IpAddr::V6(v6) => (u128::from(v6), 128),
    };
    (length <= width).then_some((bits, length, width))
}

fn ip_block(value: &Value, path: &str) -> Vec<Cause> {
    const FORM: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
    let cidr = text(value, "cidr");
    let at = format!("{path}.cidr");
    if cidr.is_empty() {
        return vec![Cause::required(at, "")];
    }
    let Some((whole, length, width)) = parse(cidr) else { return vec![Cause::invalid(at, &json!(cidr), FORM)] };
    let mut out = Vec::new();
    for (i, except) in list(value, "except").iter().enumerate() {
        let at = format!("{path}.except[{i}]");
        let Some((part, longer, wide)) = parse(except.as_str().unwrap_or_default()) else {
            out.push(Cause::invalid(at, except, FORM));
            continue;
        };
        let head = |bits: u128| bits.checked_shr(width - length).unwrap_or(0);
        if wide != width || longer <= length || head(whole) != head(part) {
            out.push(Cause::invalid(at, except, "must be a strict subset of `cidr`"));
        }
    }
    out
}

pub(super) fn ingress(value: &Value, path: &str) -> Vec<Cause> {
    if list(value, "rules").is_empty() && !has(value, "defaultBackend") {
        let rules = value.get("rules").cloned().unwrap_or_default();
        return vec![Cause::invalid(path, &rules, "either `defaultBackend` or `rules` must be specified")];
    }
    Vec::new()
}

/// A DNS name, which may begin with `*.`.
pub(super) fn host(value: &Value, path: &str) -> Vec<Cause> {
    const WILDCARD: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which \
        must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. \
        '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    let name = value.as_str().unwrap_or_default();
    let mut out = Vec::new();
    if name.parse::<IpAddr>().is_ok() && path.contains("rules") {
        out.push(Cause::invalid(path, value, "must be a DNS name, not an IP address"));
    }
    if !name.contains('*') {
        out.extend(invalid(path, value, &names::subdomain(name)));
    } else if !name.strip_prefix("*.").is_some_and(|rest| names::subdomain(rest).is_empty()) {
        out.push(Cause::invalid(path, value, WILDCARD));
    }
    out
}

pub(super) fn backend(value: &Value, path: &str) -> Vec<Cause> {
    let service = match (has(value, "resource"), value.get("service").filter(|s| !s.is_null())) {
        (true, Some(_)) => {
            return vec![Cause::invalid(path, &json!(""), "cannot set both resource and service backends")];
        }
        (true, None) => return Vec::new(),
        (false, None) => return vec![Cause::invalid(path, &json!(""), "resource or service backend is required")],
        (false, Some(service)) => service,
    };
    let mut out = Vec::new();
    let (name, at) = (text(service, "name"), format!("{path}.service.name"));
    if name.is_empty() {
        out.push(Cause::required(at, ""));
    } else {
        out.extend(invalid(&at, &json!(name), &names::label_1035(name)));
    }
    let port = service.get("port").unwrap_or(&Value::Null);
    let number = port.get("number").filter(|n| n.as_i64() != Some(0));
    match (text(port, "name"), number) {
        ("", None) => out.push(Cause::required(path, "port name or number is required")),
        ("", Some(number)) => out.extend(port_or_name(number, &format!("{path}.service.port.number"))),
        (name, None) => {
            out.extend(invalid(&format!("{path}.service.port.name"), &json!(name), &names::port_name(name)));
        }
        (_, Some(_)) => out.push(Cause::invalid(path, &json!(""), "cannot set both port name & port number")),
    }
    out
}

pub(super) fn ingress_path(value: &Value, path: &str) -> Vec<Cause> {
    let at = format!("{path}.path");
    let found = text(value, "path");
    let mut out = Vec::new();
    match value.get("pathType").and_then(Value::as_str) {
        None => return vec![Cause::required(format!("{path}.pathType"), "pathType must be specified")],
        Some("Exact" | "Prefix") => {
            if !found.starts_with('/') {
                out.push(Cause::invalid(at.clone(), &json!(found), "must be an absolute path"));
            }
            for part in ["//", "/./", "/../", "%2f", "%2F"].iter().filter(|p| found.contains(**p)) {
                out.push(Cause::invalid(at.clone(), &json!(found), &format!("must not contain '{part}'")));
            }
            for end in ["/..", "/."].iter().filter(|e| found.ends_with(**e)) {
                out.push(Cause::invalid(at.clone(), &json!(found), &format!("cannot end with '{end}'")));
            }
        }
        Some("ImplementationSpecific") if found.is_empty() || found.starts_with('/') => {}
        Some("ImplementationSpecific") => {
            out.push(Cause::invalid(at, &json!(found), "must be an absolute path"));
        }
        Some(other) => {
            let known = ["Exact", "ImplementationSpecific", "Prefix"];
            out.push(Cause::unsupported(format!("{path}.pathType"), &json!(other), &known));
        }
    }
    out
}

pub(super) fn class_parameters(value: &Value, path: &str) -> Vec<Cause> {
    let (scope, at) = (text(value, "scope"), format!("{path}.namespace"));
    match (scope, value.get("namespace")) {
        ("Namespace", None) => vec![Cause::required(at, "`parameters.scope` is set to 'Namespace'")],
        ("Namespace", Some(name)) => invalid(&at, name, &names::label(name.as_str().unwrap_or_default())),
        ("Cluster", Some(_)) => vec![Cause::forbidden(at, "`parameters.scope` is set to 'Cluster'")],
        ("Cluster", None) => Vec::new(),
        (other, _) => vec![Cause::unsupported(format!("{path}.scope"), &json!(other), &["Cluster", "Namespace"])],
    }
}
