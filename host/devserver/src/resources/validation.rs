//! Validation of objects: the subset of the API server's checks that clients encounter.

use oarlock_schema::FieldError;
use serde_json::Value;

use super::crd;
use crate::model::{
    custom::CustomVersion,
    kinds::{RBAC_GROUP, Resource},
    names,
    status::Cause,
};

pub(crate) mod addresses;
mod core;
mod immutable;
mod metadata;
mod node;
mod pod;
mod rbac;
mod rules;
pub(crate) mod service;
mod shapes;
mod volumes;
mod webhooks;
mod workload;

impl From<FieldError> for Cause {
    fn from(error: FieldError) -> Self {
        Self::raw(error.reason.as_str(), error.field, error.message)
    }
}

fn causes(errors: Vec<FieldError>) -> Vec<Cause> {
    errors.into_iter().map(Cause::from).collect()
}

/// Validates a new object, in its stored form. `new_event`: it came as `events.k8s.io`.
pub(crate) fn create(resource: &Resource, object: &Value, new_event: bool) -> Vec<Cause> {
    let mut out = metadata::create(resource, object);
    if let Some(custom) = &resource.custom {
        out.extend(causes(custom.schema.validate(object, None)));
        out.extend(scale(custom, object, true));
        return out;
    }
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("apiextensions.k8s.io", _) => out.extend(causes(oarlock_schema::validate_crd(object))),
        (_, "events") => out.extend(core::event(object, new_event)),
        _ => out.extend(common(resource, object)),
    }
    if resource.is("", "pods") {
        out.extend(pod::create(object));
    }
    if resource.is("apps", "statefulsets") {
        out.extend(rules::check("newstatefulset", object, ""));
    }
    out
}

/// Validates the numbers of a custom resource's `/scale`; `all`: not only those of its status.
fn scale(custom: &CustomVersion, object: &Value, all: bool) -> Vec<Cause> {
    let Some(scale) = &custom.scale else { return Vec::new() };
    let mut out = Vec::new();
    for steps in [Some(&scale.spec_replicas).filter(|_| all), Some(&scale.status_replicas)].into_iter().flatten() {
        let found = steps.iter().try_fold(object, |value, step| value.get(step));
        let path = format!(".{}", steps.join("."));
        let Some(found) = found else { continue };
        let zero = Value::from(0);
        let (shown, why) = match found.as_i64() {
            None => {
                let (kind, text) = match found {
                    Value::String(text) => ("string", text.clone()),
                    Value::Number(number) => ("float64", number.to_string()),
                    other => ("bool", other.to_string()),
                };
                (&zero, format!("{path} accessor error: {text} is of the type {kind}, expected int64"))
            }
            Some(n) if n < 0 => (found, "should be a non-negative integer".to_owned()),
            Some(n) if n > i64::from(i32::MAX) => (found, format!("should be less than or equal to {}", i32::MAX)),
            Some(_) => continue,
        };
        out.push(Cause::invalid(path, shown, &why));
    }
    out
}

/// Warnings about a new object.
pub(crate) fn warnings(resource: &Resource, object: &Value) -> Vec<String> {
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "pods") => pod::warnings(object),
        ("", "secrets") => core::certificate_warning(object).into_iter().collect(),
        _ => unqualified(resource, object, None),
    }
}

/// Warnings about unqualified finalizers of custom resources, and about unknown formats of definitions; existing ones are not repeated.
pub(crate) fn unqualified(resource: &Resource, object: &Value, old: Option<&Value>) -> Vec<String> {
    let of = |value: &Value| -> Vec<String> {
        let list = value.pointer("/metadata/finalizers").and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    if crd::is_crd(resource) {
        let before = old.map(oarlock_schema::unknown_formats).unwrap_or_default();
        let new = oarlock_schema::unknown_formats(object).into_iter().filter(|format| !before.contains(format));
        return new.map(|format| format!("unrecognized format {format:?}")).collect();
    }
    let before = old.map(of).unwrap_or_default();
    let known = |name: &str| matches!(name, "orphan" | "foregroundDeletion");
    let new = of(object).into_iter().filter(|name| !name.contains('/') && !known(name) && !before.contains(name));
    let why = "prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers";
    let told = new.map(|name| format!("metadata.finalizers: {name:?}: {why}"));
    if resource.is("", "secrets") {
        return core::certificate_warning(object).into_iter().collect();
    }
    if resource.custom.is_some() { told.collect() } else { Vec::new() }
}

/// Validates a new version against the old one.
pub(crate) fn update(resource: &Resource, subresource: &str, object: &Value, old: &Value) -> Vec<Cause> {
    let mut out = metadata::update(resource, object, old);
    if let Some(custom) = &resource.custom {
        let errors = if subresource == "status" {
            custom.schema.validate_status(object, old)
        } else {
            custom.schema.validate(object, Some(old))
        };
        out.extend(causes(errors));
        out.extend(scale(custom, object, subresource != "status"));
        return out;
    }
    if subresource == "status" {
        out.extend(match (resource.group.as_str(), resource.plural.as_str()) {
            ("", "services") => service::status(object),
            ("", "nodes") => [node::check(object), node::update(object, old)].concat(),
            _ => workload::status(resource, object),
        });
        return out;
    }
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("apiextensions.k8s.io", _) => out.extend(causes(oarlock_schema::validate_crd_update(object, old))),
        // These subresources exist to change fields that the pod itself protects.
        ("", "pods") if matches!(subresource, "ephemeralcontainers" | "resize") => {
            out.extend(pod::spec(object.get("spec"), "spec"));
        }
        ("", "pods") => out.extend(pod::update(object, old)),
        ("", "configmaps" | "secrets") => {
            out.extend(common(resource, object));
            out.extend(core::immutable(resource, object, old));
        }
        ("batch", "jobs") | ("", "persistentvolumes") => {
            // The API server validates all of it twice.
            let once = common(resource, object);
            out.extend(once.iter().chain(&once).cloned());
            out.extend(workload::update(resource, object, old));
        }
        ("apps" | "batch", _) => {
            out.extend(common(resource, object));
            out.extend(workload::update(resource, object, old));
        }
        ("", "services") => {
            out.extend(rules::check(&resource.plural, object, ""));
            out.extend(service::check(object, Some(old)));
        }
        (RBAC_GROUP, _) => {
            out.extend(common(resource, object));
            out.extend(rbac::update(object, old));
        }
        (_, "events") => {
            out.extend(core::event(object, false));
            if resource.is_new_event() {
                out.extend(core::event_update(object, old));
            }
        }
        ("", "nodes") => {
            let once = common(resource, object);
            out.extend(once.iter().chain(&once).cloned());
            out.extend(node::update(object, old));
        }
        _ => out.extend(common(resource, object)),
    }
    out.extend(immutable::check(resource, object, old));
    out
}

fn common(resource: &Resource, object: &Value) -> Vec<Cause> {
    let mut out = rules::check(&resource.plural, object, "");
    out.extend(special(resource, object));
    out
}

/// The addresses of an EndpointSlice.
fn endpoints(object: &Value) -> Vec<Cause> {
    let mut out = Vec::new();
    let kind = object.get("addressType").and_then(Value::as_str).unwrap_or_default();
    for (i, endpoint) in object.get("endpoints").and_then(Value::as_array).into_iter().flatten().enumerate() {
        let list = format!("endpoints[{i}].addresses");
        let addresses = endpoint.get("addresses").and_then(Value::as_array);
        for (j, address) in addresses.into_iter().flatten().enumerate() {
            let (text, path) = (address.as_str().unwrap_or_default(), format!("{list}[{j}]"));
            match kind {
                "IPv4" | "IPv6" => {
                    let problems = addresses::endpoint(text, &path);
                    let parsed = addresses::ip(text, &path);
                    if parsed.is_ok_and(|ip| ip.is_ipv4() != (kind == "IPv4")) {
                        out.push(Cause::invalid(list.clone(), address, &format!("must be an {kind} address")));
                    }
                    out.extend(problems);
                }
                "FQDN" if !text.contains('.') => {
                    out.push(Cause::invalid(
                        path,
                        address,
                        "should be a domain with at least two segments separated by dots",
                    ));
                }
                "FQDN" => {
                    out.extend(names::subdomain(text).iter().map(|e| Cause::invalid(path.clone(), address, e)));
                }
                _ => {}
            }
        }
    }
    out
}

/// Checks outside of the table.
fn special(resource: &Resource, object: &Value) -> Vec<Cause> {
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "pods") => pod::spec(object.get("spec"), "spec"),
        ("", "configmaps") => core::config_map(object),
        ("", "nodes") => node::check(object),
        ("discovery.k8s.io", "endpointslices") => endpoints(object),
        ("", "secrets") => core::secret(object),
        ("", "services") => service::check(object, None),
        ("coordination.k8s.io", _) => core::lease(object),
        (RBAC_GROUP, _) => rbac::check(resource, object),
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations" | "validatingwebhookconfigurations") => {
            webhooks::check(object)
        }
        ("apps" | "batch", _) | ("", "replicationcontrollers") => workload::check(resource, object),
        _ => Vec::new(),
    }
}
