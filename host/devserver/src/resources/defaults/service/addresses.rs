//! Allocation of a Service's addresses, IP families and node ports.

use std::{collections::HashSet, net::IpAddr};

use serde_json::{Value, json};

use super::Spec;
use crate::{
    model::{
        settings::ServiceRange,
        status::{ApiError, Cause, Result},
    },
    resources::validation::service::{cluster_ips, is_asked_for_health, is_external, items, number, text},
    store::Store,
};

/// The sources of addresses and ports, and the ones in use.
pub(super) struct Allocation {
    name: String,
    range: ServiceRange,
    ips: HashSet<String>,
    ports: HashSet<i64>,
}

impl Allocation {
    /// The allocation for one Service.
    pub(super) fn new(store: &Store, namespace: &str, name: &str) -> Self {
        let (mut ips, mut ports) = (HashSet::new(), HashSet::new());
        for service in &store.resource_store("services").list("").objects {
            let at = |p: &str| service.value.pointer(p).and_then(Value::as_str).unwrap_or_default();
            if (at("/metadata/namespace"), at("/metadata/name")) == (namespace, name) {
                continue;
            }
            let Some(spec) = service.value.get("spec").and_then(Value::as_object) else { continue };
            ips.extend(items(spec, "clusterIPs").iter().filter_map(Value::as_str).map(str::to_owned));
            ports.extend(items(spec, "ports").iter().map(|p| number(p, "nodePort")));
            ports.extend(spec.get("healthCheckNodePort").and_then(Value::as_i64));
        }
        Self { name: name.to_owned(), range: store.settings().services, ips, ports }
    }

    fn refused(&self, causes: &[Cause]) -> Result<()> {
        if causes.is_empty() { Ok(()) } else { Err(ApiError::invalid("", "Service", &self.name, causes)) }
    }

    /// Allocates missing values.
    pub(super) fn run(&mut self, spec: &mut Spec, before: Option<&Spec>) -> Result<()> {
        self.families(spec, before)?;
        if before.is_none_or(is_external) {
            self.addresses(spec)?;
        }
        if matches!(text(spec, "type"), "NodePort" | "LoadBalancer") {
            match before {
                None => self.new_ports(spec)?,
                Some(before) => self.changed_ports(spec, before)?,
            }
        }
        if is_asked_for_health(spec) && !before.is_some_and(is_asked_for_health) {
            self.health(spec)?;
        }
        Ok(())
    }

    /// The IP families of the Service: the cluster has only IPv4.
    fn families(&self, spec: &mut Spec, before: Option<&Spec>) -> Result<()> {
        if is_external(spec) || before.is_some_and(|before| prefers_both(spec, before)) {
            return Ok(());
        }
        let alone = text(spec, "clusterIP") == "None"
            && spec.get("selector").and_then(Value::as_object).is_none_or(serde_json::Map::is_empty);
        if text(spec, "ipFamilyPolicy").is_empty() {
            let usual = if alone { "RequireDualStack" } else { "SingleStack" };
            let was = before.map(|b| text(b, "ipFamilyPolicy")).filter(|p| !p.is_empty());
            spec.insert("ipFamilyPolicy".to_owned(), was.unwrap_or(usual).into());
        }
        self.refused(&cluster_ips(spec, before))?;
        let mut out = Vec::new();
        if let Some(before) = before {
            reduce(spec, before, &mut out);
        }
        let policy = spec.get("ipFamilyPolicy").cloned().unwrap_or_default();
        for (key, what) in [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")] {
            if policy == "SingleStack" && items(spec, key).len() == 2 {
                let why = format!("must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified");
                out.push(Cause::invalid("spec.ipFamilyPolicy", &policy, &why));
            }
        }
        let ips = items(spec, "clusterIPs").to_vec();
        let mut families = items(spec, "ipFamilies").to_vec();
        for (i, ip) in ips.iter().enumerate().take_while(|(_, ip)| *ip != "None") {
            if i < families.len() {
                continue;
            }
            if ip.as_str().is_some_and(|ip| ip.contains(':')) {
                let why = "IPv6 is not configured on this cluster";
                out.push(Cause::invalid(format!("spec.clusterIPs[{i}]"), &json!(ips), why));
            } else {
                families.push("IPv4".into());
            }
        }
        self.refused(&out)?;
        if alone {
            if families.is_empty() {
                families.push("IPv4".into());
            }
            if families.len() < 2 && policy != "SingleStack" {
                let other = if families.iter().any(|f| f == "IPv4") { "IPv6" } else { "IPv4" };
                families.push(other.into());
            }
        } else {
            if policy == "RequireDualStack" {
                let why = "this cluster is not configured for dual-stack services";
                out.push(Cause::invalid("spec.ipFamilyPolicy", &policy, why));
            }
            for (i, family) in families.iter().enumerate().filter(|(_, family)| *family != "IPv4") {
                out.push(Cause::invalid(format!("spec.ipFamilies[{i}]"), family, "not configured on this cluster"));
            }
            if families.is_empty() {
                families.push("IPv4".into());
            }
        }
        spec.insert("ipFamilies".to_owned(), families.into());
        self.refused(&out)
    }

    /// Its address: the requested one, or the next free one.
    fn addresses(&self, spec: &mut Spec) -> Result<()> {
        if is_external(spec) {
            return Ok(());
        }
        match items(spec, "clusterIPs").first().and_then(Value::as_str).unwrap_or_default() {
            "None" => Ok(()),
            "" if self.name.is_empty() => {
                let why = "failed to allocate IP: IPAddress.networking.k8s.io is invalid: spec.parentRef.name: Required value";
                self.refused(&[Cause::invalid("spec.clusterIPs", &json!([""]), why)])
            }
            "" => {
                let mut all = self.range.addresses().map(|address| address.to_string());
                // A test needs fewer than 65 000 Services; a further one gets no address.
                let free = all.find(|ip| !self.ips.contains(ip)).unwrap_or_default();
                spec.insert("clusterIPs".to_owned(), json!([free]));
                spec.insert("clusterIP".to_owned(), free.into());
                Ok(())
            }
            ip => {
                // Services of webhooks on this machine have loopback addresses.
                let reachable = match ip.parse() {
                    Ok(IpAddr::V4(v4)) => v4.is_loopback() || self.range.contains(v4),
                    _ => false,
                };
                let why = if !reachable {
                    "the provided network does not match the current range"
                } else if self.ips.contains(ip) && !ip.starts_with("127.") {
                    "provided IP is already allocated"
                } else {
                    return Ok(());
                };
                let why = format!("failed to allocate IP {ip}: {why}");
                self.refused(&[Cause::invalid("spec.clusterIPs", &json!(items(spec, "clusterIPs")), &why)])
            }
        }
    }

    /// Takes a port, or returns why not.
    fn take(&mut self, port: i64) -> std::result::Result<(), &'static str> {
        if !(30_000..=32_767).contains(&port) {
            return Err("provided port is not in the valid range. The range of valid ports is 30000-32767");
        }
        if self.ports.insert(port) { Ok(()) } else { Err("provided port is already allocated") }
    }

    fn next(&mut self) -> i64 {
        let free = (30_000..=32_767).find(|n| !self.ports.contains(n)).unwrap_or(0);
        self.ports.insert(free);
        free
    }

    fn take_for(&mut self, index: usize, port: i64) -> Result<()> {
        match self.take(port) {
            Ok(()) => Ok(()),
            Err(why) => self.refused(&[Cause::invalid(format!("spec.ports[{index}].nodePort"), &json!(port), why)]),
        }
    }

    /// Ports of a new Service: the same number under two protocols is one node port.
    fn new_ports(&mut self, spec: &mut Spec) -> Result<()> {
        let gives = super::takes_node_ports(spec);
        let ports = items(spec, "ports").to_vec();
        let mut given: Vec<(i64, i64)> = Vec::new();
        let mut out = ports.clone();
        for (i, port) in out.iter_mut().enumerate() {
            let (wanted, node) = (number(port, "port"), number(port, "nodePort"));
            if node == 0 && !gives {
                continue;
            }
            let node = match given.iter().find(|(port, _)| *port == wanted) {
                Some((_, first)) if node == 0 || node == *first => *first,
                Some(_) => {
                    self.take_for(i, node)?;
                    node
                }
                None => {
                    let asked = ports.iter().filter(|p| number(p, "port") == wanted);
                    let asked = asked.map(|p| number(p, "nodePort")).find(|n| *n != 0);
                    if let Some(asked) = asked {
                        self.take_for(i, asked)?;
                    }
                    let node = asked.unwrap_or_else(|| self.next());
                    given.push((wanted, node));
                    node
                }
            };
            port.as_object_mut().map(|port| port.insert("nodePort".to_owned(), node.into()));
        }
        if !out.is_empty() {
            spec.insert("ports".to_owned(), out.into());
        }
        Ok(())
    }

    fn changed_ports(&mut self, spec: &mut Spec, before: &Spec) -> Result<()> {
        let gives = super::takes_node_ports(spec);
        let kept = super::node_ports(before);
        self.ports.extend(&kept);
        let mut ports = items(spec, "ports").to_vec();
        let (mut taken, mut seen) = (Vec::new(), Vec::new());
        for (i, port) in ports.iter_mut().enumerate() {
            let mut node = number(port, "nodePort");
            if node == 0 && !gives {
                continue;
            }
            if node == 0 {
                node = self.next();
                port.as_object_mut().map(|port| port.insert("nodePort".to_owned(), node.into()));
            } else if !kept.contains(&node) && !taken.contains(&node) {
                self.take_for(i, node)?;
                taken.push(node);
            }
            let protocol = port.get("protocol").and_then(Value::as_str).unwrap_or_default().to_owned();
            if seen.contains(&(node, protocol.clone())) {
                return Err(ApiError::internal(format!("duplicate nodePort: {{{protocol} {node}}}")));
            }
            seen.push((node, protocol));
        }
        if !ports.is_empty() {
            spec.insert("ports".to_owned(), ports.into());
        }
        Ok(())
    }

    /// The health check node port of a load balancer.
    fn health(&mut self, spec: &mut Spec) -> Result<()> {
        match spec.get("healthCheckNodePort").and_then(Value::as_i64).unwrap_or(0) {
            0 => {
                let free = self.next();
                spec.insert("healthCheckNodePort".to_owned(), free.into());
                Ok(())
            }
            port => self.take(port).map_err(|why| {
                let why = format!("failed to allocate requested HealthCheck NodePort {port}: {why}");
                ApiError::internal_error(&why)
            }),
        }
    }
}

/// Whether an update leaves a Service that prefers dual-stack unchanged.
fn prefers_both(spec: &Spec, before: &Spec) -> bool {
    let prefers = |spec: &Spec| text(spec, "ipFamilyPolicy") == "PreferDualStack";
    prefers(spec)
        && prefers(before)
        && text(spec, "type") == text(before, "type")
        && items(spec, "clusterIPs") == items(before, "clusterIPs")
        && items(spec, "ipFamilies") == items(before, "ipFamilies")
}

/// Reduces two families to one.
fn reduce(spec: &mut Spec, before: &Spec, out: &mut Vec<Cause>) {
    let single = text(spec, "ipFamilyPolicy") == "SingleStack";
    for (key, what) in [("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")] {
        let (new, was) = (items(spec, key), items(before, key));
        if single && new == was && new.len() > 1 {
            let first = json!([new.first()]);
            spec.insert(key.to_owned(), first);
        } else if !single && !new.is_empty() && new.len() < was.len() {
            let why = format!("must be 'SingleStack' to release the secondary {what}");
            let policy = spec.get("ipFamilyPolicy").cloned().unwrap_or_default();
            out.push(Cause::invalid("spec.ipFamilyPolicy", &policy, &why));
        }
    }
}
