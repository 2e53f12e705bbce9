//! What a kubelet or a backend answers: log, exec, attach, portforward and proxy. Nothing runs here, so what the API server itself says is
//! all that there is.
//!
//! # Source
//!
//! kube-apiserver 1.36.2: the recording `crud/pod-connect`.

use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};

use crate::{
    handlers::resource_request::ResourceRequest,
    http::{query::Query, response::Response},
    model::status::{ApiError, Cause, Result},
    store::{Key, Object},
};

impl ResourceRequest<'_> {
    /// The log of a Pod without a node is empty. Everything else fails.
    pub(super) fn connect(&self) -> Result<Response> {
        match (self.resource.plural.as_str(), self.path.subresource.as_str()) {
            ("pods", "proxy") => {
                self.named(target(&self.path.name).0)?;
                Err(ApiError::bad_request("address not allowed"))
            }
            ("pods", subresource) => self.connect_pod(subresource),
            ("nodes", _) => Err(unreachable(&self.named(target(&self.path.name).0)?.value)),
            _ => {
                let (name, port) = target(&self.path.name);
                let service = self.named(name)?;
                let ports = service.value.pointer("/spec/ports").and_then(Value::as_array).into_iter().flatten();
                let is_port = |one: &Value| {
                    let number = one.get("port").map(Value::to_string);
                    number.is_some_and(|number| number == port) || one.get("name").is_some_and(|name| name == port)
                };
                let known = port.is_empty() || { ports }.any(is_port);
                Err(ApiError::unavailable(&match known {
                    true => format!("nothing answers for {name:?}"),
                    false => format!("no service port {port} found for service {name:?}"),
                }))
            }
        }
    }

    fn connect_pod(&self, subresource: &str) -> Result<Response> {
        let (name, query) = (&self.path.name, &self.call.query);
        if subresource == "log" {
            log_options(query, name)?;
        }
        let pod = self.named(name)?;
        if subresource != "portforward" {
            container(&pod.value, query.get("container"), name)?;
        }
        match pod.value.pointer("/spec/nodeName").and_then(Value::as_str).filter(|node| !node.is_empty()) {
            None if subresource == "log" => Ok(Response::empty(StatusCode::NO_CONTENT)),
            None => Err(ApiError::bad_request(format!("pod {name} does not have a host assigned"))),
            Some(node) => {
                let served = self.api.registry.served();
                let nodes = served.find("", "v1", "nodes");
                let found = nodes.and_then(|nodes| self.api.store.find(nodes, &Key::new("", node)).ok());
                // Of this resource, as the real server says.
                Err(found.map_or_else(|| ApiError::not_found("", "pods", node), |node| unreachable(&node.value)))
            }
        }
    }

    fn named(&self, name: &str) -> Result<Arc<Object>> {
        self.api.store.find(&self.resource, &Key::new(&self.path.namespace, name))
    }
}

/// The name and the port of `scheme:name:port`, `name:port` or `name`. The port may be empty.
fn target(text: &str) -> (&str, &str) {
    let text = text.strip_prefix("http:").or_else(|| text.strip_prefix("https:")).unwrap_or(text);
    text.split_once(':').unwrap_or((text, ""))
}

/// No kubelet answers for a node.
fn unreachable(node: &Value) -> ApiError {
    let addresses = node.pointer("/status/addresses").and_then(Value::as_array).map_or(0, Vec::len);
    match addresses {
        0 => ApiError::internal("no preferred addresses found; known addresses: []"),
        _ => ApiError::unavailable("no kubelet answers"),
    }
}

/// Checks that a Pod has a container of this name, or without a name exactly one.
fn container(pod: &Value, named: Option<&str>, name: &str) -> Result<()> {
    let of = |field: &str| {
        let containers =
            pod.get("spec").and_then(|spec| spec.get(field)).and_then(Value::as_array).into_iter().flatten();
        let names = containers.filter_map(|one| one.get("name").and_then(Value::as_str));
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    let main = of("containers");
    let all = [of("initContainers"), main.clone(), of("ephemeralContainers")].concat();
    match named {
        Some(named) if all.iter().any(|one| one == named) => Ok(()),
        Some(named) => Err(ApiError::bad_request(format!("container {named} is not valid for pod {name}"))),
        None if main.len() == 1 => Ok(()),
        None => {
            let choice = all.join(" ");
            let why = format!("a container name must be specified for pod {name}, choose one of: [{choice}]");
            Err(ApiError::bad_request(why))
        }
    }
}

/// Checks PodLogOptions.
fn log_options(query: &Query, pod: &str) -> Result<()> {
    let number = |name: &str| -> Result<Option<i64>> {
        let Some(text) = query.first(name) else { return Ok(None) };
        let why = |kind: &std::num::IntErrorKind| match kind {
            std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        let wrong = |error: std::num::ParseIntError| {
            ApiError::bad_request(format!("strconv.ParseInt: parsing \"{text}\": {}", why(error.kind())))
        };
        text.parse().map(Some).map_err(wrong)
    };
    let (tail, limit, since) = (number("tailLines")?, number("limitBytes")?, number("sinceSeconds")?);
    let time = query.first("sinceTime").filter(|time| !time.is_empty());
    if let Some(text) = time.filter(|text| text.parse::<jiff::Timestamp>().is_err()) {
        const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";
        let why = format!("parsing time \"{text}\" as \"{LAYOUT}\": cannot parse \"{text}\" as \"2006\"");
        return Err(ApiError::bad_request(why));
    }
    let mut causes = Vec::new();
    let mut least = |field: &str, value: Option<i64>, least: i64, why: &str| {
        let wrong = value.filter(|value| *value < least);
        causes.extend(wrong.map(|value| Cause::invalid(field, &json!(value), why)));
    };
    least("tailLines", tail, 0, "must be greater than or equal to 0");
    least("limitBytes", limit, 1, "must be greater than 0");
    if since.is_none() || time.is_none() {
        least("sinceSeconds", since, 1, "must be greater than 0");
    } else {
        causes.push(Cause::forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified"));
    }
    if query.first("stream").is_some() {
        causes.push(Cause::forbidden("stream", "may not be specified"));
    }
    if causes.is_empty() { Ok(()) } else { Err(ApiError::invalid("", "PodLogOptions", pod, &causes)) }
}
