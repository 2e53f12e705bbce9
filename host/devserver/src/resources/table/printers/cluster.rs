//! Columns of nodes, RBAC, admission and other kinds of the cluster.

use std::collections::BTreeSet;

use oarlock_schema::human_duration;
use serde_json::Value;

use super::{Printer, age, flag, list, name, or, or_none, text};

pub(super) fn printer(group: &str, plural: &str) -> Option<Printer> {
    Some(match (group, plural) {
        ("", "nodes") => (
            "Name*|Status|Roles|Age|Version|Internal-IP+|External-IP+|OS-Image+|Kernel-Version+|Container-Runtime+",
            node,
        ),
        ("coordination.k8s.io", "leases") => {
            ("Name*|Holder|Age", |o| vec![name(o), text(o, "/spec/holderIdentity").into(), age(o)])
        }
        ("rbac.authorization.k8s.io", "clusterrolebindings" | "rolebindings") => {
            ("Name*|Role|Age|Users+|Groups+|ServiceAccounts+", binding)
        }
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations" | "validatingwebhookconfigurations") => {
            ("Name*|Webhooks:integer|Age", |o| vec![name(o), list(o, "/webhooks").len().into(), age(o)])
        }
        ("admissionregistration.k8s.io", "validatingadmissionpolicies") => {
            ("Name*|Validations:integer|ParamKind|Age", |o| {
                vec![name(o), list(o, "/spec/validations").len().into(), param_kind(o), age(o)]
            })
        }
        ("admissionregistration.k8s.io", "mutatingadmissionpolicies") => {
            ("Name*|Mutations:integer|ParamKind|Age", |o| {
                vec![name(o), list(o, "/spec/mutations").len().into(), param_kind(o), age(o)]
            })
        }
        ("admissionregistration.k8s.io", _) => ("Name*|PolicyName|ParamRef|Age", policy_binding),
        ("apiregistration.k8s.io", "apiservices") => ("Name*|Service|Available|Age", api_service),
        ("certificates.k8s.io", "certificatesigningrequests") => {
            ("Name*|Age|SignerName|Requestor|RequestedDuration|Condition", signing_request)
        }
        ("node.k8s.io", "runtimeclasses") => {
            ("Name*|Handler|Age", |o| vec![name(o), text(o, "/handler").into(), age(o)])
        }
        ("resource.k8s.io", "resourceclaims") => ("Name*|State|Age", |o| vec![name(o), claim_state(o), age(o)]),
        ("resource.k8s.io", "resourceslices") => ("Name*|Node|Driver|Pool|Age", |o| {
            let [node, driver, pool] = ["/spec/nodeName", "/spec/driver", "/spec/pool/name"].map(|p| text(o, p).into());
            vec![name(o), node, driver, pool, age(o)]
        }),
        _ => return None,
    })
}

fn node(o: &Value) -> Vec<Value> {
    let ready = list(o, "/status/conditions").iter().find(|c| text(c, "/type") == "Ready");
    let status = match ready.map(|c| text(c, "/status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    let cordoned = if flag(o, "/spec/unschedulable") { ",SchedulingDisabled" } else { "" };
    let labels = o.pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
    let roles: BTreeSet<&str> = labels
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            None if key == "kubernetes.io/role" => value.as_str(),
            role => role,
        })
        .filter(|role| !role.is_empty())
        .collect();
    let address = |kind: &str| {
        or_none(
            list(o, "/status/addresses").iter().find(|a| text(a, "/type") == kind).map_or("", |a| text(a, "/address")),
        )
    };
    let info = |key: &str| or(text(o, &format!("/status/nodeInfo/{key}")), "<unknown>");
    let architecture = match text(o, "/status/nodeInfo/architecture") {
        "" => String::new(),
        name => format!(" ({name})"),
    };
    vec![
        name(o),
        format!("{status}{cordoned}").into(),
        or_none(&roles.into_iter().collect::<Vec<_>>().join(",")),
        age(o),
        text(o, "/status/nodeInfo/kubeletVersion").into(),
        address("InternalIP"),
        address("ExternalIP"),
        info("osImage").into(),
        format!("{}{architecture}", info("kernelVersion")).into(),
        info("containerRuntimeVersion").into(),
    ]
}

fn binding(o: &Value) -> Vec<Value> {
    let of = |kind: &str| -> Value {
        let some = list(o, "/subjects").iter().filter(|s| text(s, "/kind") == kind);
        let names = some.map(|s| match (kind, text(s, "/namespace")) {
            ("ServiceAccount", namespace) if !namespace.is_empty() => format!("{namespace}/{}", text(s, "/name")),
            _ => text(s, "/name").to_owned(),
        });
        names.collect::<Vec<_>>().join(", ").into()
    };
    let role = format!("{}/{}", text(o, "/roleRef/kind"), text(o, "/roleRef/name"));
    vec![name(o), role.into(), age(o), of("User"), of("Group"), of("ServiceAccount")]
}

fn param_kind(o: &Value) -> Value {
    match o.pointer("/spec/paramKind") {
        Some(kind) => format!("{}/{}", text(kind, "/apiVersion"), text(kind, "/kind")).into(),
        None => "<unset>".into(),
    }
}

fn policy_binding(o: &Value) -> Vec<Value> {
    let (space, named) = (text(o, "/spec/paramRef/namespace"), text(o, "/spec/paramRef/name"));
    let reference = if named.is_empty() { "<unset>".to_owned() } else { format!("{}/{named}", or(space, "*")) };
    vec![name(o), text(o, "/spec/policyName").into(), reference.into(), age(o)]
}

fn api_service(o: &Value) -> Vec<Value> {
    let service = match o.pointer("/spec/service") {
        Some(service) => format!("{}/{}", text(service, "/namespace"), text(service, "/name")),
        None => "Local".to_owned(),
    };
    let available = list(o, "/status/conditions").iter().find(|c| text(c, "/type") == "Available");
    let shown = match available {
        None => "Unknown".to_owned(),
        Some(c) if text(c, "/status") == "True" || text(c, "/reason").is_empty() => text(c, "/status").to_owned(),
        Some(c) => format!("{} ({})", text(c, "/status"), text(c, "/reason")),
    };
    vec![name(o), service.into(), shown.into(), age(o)]
}

fn signing_request(o: &Value) -> Vec<Value> {
    let has = |kind: &str| list(o, "/status/conditions").iter().any(|c| text(c, "/type") == kind);
    let mut state = if has("Denied") {
        "Denied"
    } else if has("Approved") {
        "Approved"
    } else {
        "Pending"
    }
    .to_owned();
    if has("Failed") {
        state.push_str(",Failed");
    }
    if !text(o, "/status/certificate").is_empty() {
        state.push_str(",Issued");
    }
    let asked = o.pointer("/spec/expirationSeconds").and_then(Value::as_i64).map(human_duration);
    vec![
        name(o),
        age(o),
        or_none(text(o, "/spec/signerName")),
        text(o, "/spec/username").into(),
        or_none(&asked.unwrap_or_default()),
        state.into(),
    ]
}

fn claim_state(o: &Value) -> Value {
    let going = o.pointer("/metadata/deletionTimestamp").is_some();
    let allocated = o.pointer("/status/allocation").is_some();
    let reserved = allocated && !list(o, "/status/reservedFor").is_empty();
    let states =
        [("deleted", going), ("pending", !allocated && !going), ("allocated", allocated), ("reserved", reserved)];
    states.iter().filter(|(_, is)| *is).map(|(state, _)| *state).collect::<Vec<_>>().join(",").into()
}
