//! Columns of network kinds.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Printer, age, first_three, joined, label_selector, labels, list, name, number, or, or_none, plain, text};

pub(super) fn printer(plural: &str) -> Option<Printer> {
    Some(match plural {
        "services" => ("Name*|Type|Cluster-IP|External-IP|Port(s)|Age|Selector+", service),
        "endpoints" => ("Name*|Endpoints|Age", |o| vec![name(o), endpoints(o).into(), age(o)]),
        "endpointslices" => ("Name*|AddressType|Ports|Endpoints|Age", endpoint_slice),
        "ingresses" => ("Name*|Class|Hosts|Address|Ports|Age", ingress),
        "ingressclasses" => ("Name*|Controller|Parameters|Age", ingress_class),
        "networkpolicies" => {
            ("Name*|Pod-Selector|Age", |o| vec![name(o), label_selector(o.pointer("/spec/podSelector")), age(o)])
        }
        "ipaddresses" => ("Name*|ParentRef|Age", ip_address),
        "servicecidrs" => ("Name*|CIDRs|Age", |o| vec![name(o), joined(o, "/spec/cidrs").into(), age(o)]),
        _ => return None,
    })
}

/// The addresses of a load balancer, in order.
fn balancer(o: &Value) -> String {
    let addresses = list(o, "/status/loadBalancer/ingress").iter().map(|i| or(text(i, "/ip"), text(i, "/hostname")));
    let sorted: BTreeSet<&str> = addresses.filter(|a| !a.is_empty()).collect();
    sorted.into_iter().collect::<Vec<_>>().join(",")
}

fn external(o: &Value) -> String {
    let own = joined(o, "/spec/externalIPs");
    match text(o, "/spec/type") {
        "ExternalName" => text(o, "/spec/externalName").to_owned(),
        "LoadBalancer" => match (balancer(o), own) {
            (balancer, own) if balancer.is_empty() && own.is_empty() => "<pending>".to_owned(),
            (balancer, own) => {
                [balancer, own].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(",")
            }
        },
        _ => or(&own, "<none>").to_owned(),
    }
}

fn service(o: &Value) -> Vec<Value> {
    let ports: Vec<String> = list(o, "/spec/ports")
        .iter()
        .map(|p| {
            let (port, protocol) = (number(p, "/port"), text(p, "/protocol"));
            match number(p, "/nodePort") {
                0 => format!("{port}/{protocol}"),
                node => format!("{port}:{node}/{protocol}"),
            }
        })
        .collect();
    vec![
        name(o),
        text(o, "/spec/type").into(),
        or_none(text(o, "/spec/clusterIP")),
        external(o).into(),
        or_none(&ports.join(",")),
        age(o),
        labels(o.pointer("/spec/selector")),
    ]
}

fn endpoints(o: &Value) -> String {
    if list(o, "/subsets").is_empty() {
        return "<none>".to_owned();
    }
    let mut all = Vec::new();
    for subset in list(o, "/subsets") {
        let addresses = list(subset, "/addresses").iter().map(|a| text(a, "/ip"));
        let ports = list(subset, "/ports");
        if ports.is_empty() {
            all.extend(addresses.clone().map(str::to_owned));
        }
        for port in ports {
            let port = number(port, "/port");
            all.extend(
                addresses
                    .clone()
                    .map(|ip| if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }),
            );
        }
    }
    first_three(&all)
}

fn endpoint_slice(o: &Value) -> Vec<Value> {
    let ports: Vec<String> = list(o, "/ports")
        .iter()
        .map(|p| p.get("port").or_else(|| p.get("name")).map_or_else(|| "*".to_owned(), plain))
        .collect();
    let addresses = list(o, "/endpoints").iter().flat_map(|e| list(e, "/addresses"));
    let addresses: Vec<String> = addresses.filter_map(Value::as_str).map(str::to_owned).collect();
    let shown = |all: &[String]| or(&first_three(all), "<unset>").into();
    vec![name(o), text(o, "/addressType").into(), shown(&ports), shown(&addresses), age(o)]
}

/// The first three hosts. Rules without a host count among the others.
fn hosts(o: &Value) -> String {
    let rules = list(o, "/spec/rules");
    let hosts: Vec<&str> = rules.iter().map(|r| text(r, "/host")).filter(|h| !h.is_empty()).collect();
    let shown = hosts.get(..3).unwrap_or(&hosts).join(",");
    // There are more when a rule follows the one with the third host.
    let third = rules.iter().enumerate().filter(|(_, r)| !text(r, "/host").is_empty()).nth(2).map(|(i, _)| i + 1);
    match third {
        _ if hosts.is_empty() => "*".to_owned(),
        Some(end) if end < rules.len() => format!("{shown} + {} more...", rules.len() - 3),
        _ => shown,
    }
}

fn ingress(o: &Value) -> Vec<Value> {
    let ports = if list(o, "/spec/tls").is_empty() { "80" } else { "80, 443" };
    vec![name(o), or_none(text(o, "/spec/ingressClassName")), hosts(o).into(), balancer(o).into(), ports.into(), age(o)]
}

fn ingress_class(o: &Value) -> Vec<Value> {
    let marked = o.pointer("/metadata/annotations/ingressclass.kubernetes.io~1is-default-class");
    let default = if marked.and_then(Value::as_str) == Some("true") { " (default)" } else { "" };
    let group = match text(o, "/spec/parameters/apiGroup") {
        "" => String::new(),
        group => format!(".{group}"),
    };
    let parameters = match o.pointer("/spec/parameters") {
        Some(p) => format!("{}{group}/{}", text(p, "/kind"), text(p, "/name")),
        None => "<none>".to_owned(),
    };
    let name = format!("{}{default}", text(o, "/metadata/name"));
    vec![name.into(), text(o, "/spec/controller").into(), parameters.into(), age(o)]
}

fn ip_address(o: &Value) -> Vec<Value> {
    let parent = |key: &str| text(o, &format!("/spec/parentRef/{key}")).to_owned();
    let resource = crate::model::status::qualified(&parent("resource"), &parent("group")).to_lowercase();
    let parts = [resource, parent("namespace"), parent("name")];
    let shown = parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join("/");
    vec![name(o), or_none(&shown), age(o)]
}
