//! The columns of everyday kinds.

use serde_json::{Value, json};

use super::Column;
use crate::time;

mod policy;
mod workload;

type Cells = fn(&Value) -> Vec<Value>;

const NAME: Column = ("Name", "string", "name", 0);
const AGE: Column = ("Age", "string", "", 0);

const fn text_column(name: &'static str) -> Column {
    (name, "string", "", 0)
}

const fn wide(name: &'static str) -> Column {
    (name, "string", "", 1)
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn or_none(text: &str) -> Value {
    if text.is_empty() { "<none>".into() } else { text.into() }
}

fn number(value: &Value, pointer: &str) -> i64 {
    value.pointer(pointer).and_then(Value::as_i64).unwrap_or(0)
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn size(value: &Value, pointer: &str) -> usize {
    value.pointer(pointer).and_then(Value::as_object).map_or(0, serde_json::Map::len)
}

fn name(object: &Value) -> Value {
    text(object, "/metadata/name").into()
}

fn age(object: &Value) -> Value {
    time::age(object.pointer("/metadata/creationTimestamp").and_then(Value::as_str)).into()
}

/// Name and creation time.
pub(super) fn default_cells(object: &Value) -> Vec<Value> {
    vec![name(object), text(object, "/metadata/creationTimestamp").into()]
}

/// Columns and cells of a kind.
pub(super) fn printer(group: &str, plural: &str) -> Option<(&'static [Column], Cells)> {
    Some(match (group, plural) {
        ("", "configmaps") => (CONFIG_MAPS, config_map),
        ("", "secrets") => (SECRETS, secret),
        ("", "namespaces") => (NAMESPACES, |o| vec![name(o), text(o, "/status/phase").into(), age(o)]),
        ("", "serviceaccounts") | ("rbac.authorization.k8s.io", "clusterroles" | "roles") | ("", "limitranges") => {
            (PLAIN, |o| vec![name(o), age(o)])
        }
        ("", "pods") => (PODS, pod),
        ("", "services") => (SERVICES, service),
        ("" | "events.k8s.io", "events") => (EVENTS, event),
        ("", "nodes") => (NODES, node),
        ("", "persistentvolumeclaims") => (CLAIMS, claim),
        ("apps", "deployments") => (workload::DEPLOYMENTS, workload::deployment),
        ("apps", "replicasets") | ("", "replicationcontrollers") => (workload::REPLICA_SETS, workload::replica_set),
        ("apps", "statefulsets") => (workload::STATEFUL_SETS, workload::stateful_set),
        ("apps", "daemonsets") => (workload::DAEMON_SETS, workload::daemon_set),
        ("batch", "jobs") => (workload::JOBS, workload::job),
        ("batch", "cronjobs") => (workload::CRON_JOBS, workload::cron_job),
        ("", "resourcequotas") => (policy::QUOTAS, policy::quota),
        ("autoscaling", "horizontalpodautoscalers") => (policy::AUTOSCALERS, policy::autoscaler),
        ("policy", "poddisruptionbudgets") => (policy::BUDGETS, policy::budget),
        ("scheduling.k8s.io", "priorityclasses") => (policy::PRIORITY_CLASSES, policy::priority_class),
        ("storage.k8s.io", "storageclasses") => (policy::STORAGE_CLASSES, policy::storage_class),
        ("networking.k8s.io", "ingresses") => (INGRESSES, ingress),
        ("networking.k8s.io", "networkpolicies") => (policy::NETWORK_POLICIES, policy::network_policy),
        ("coordination.k8s.io", "leases") => {
            (LEASES, |o| vec![name(o), text(o, "/spec/holderIdentity").into(), age(o)])
        }
        ("rbac.authorization.k8s.io", "clusterrolebindings" | "rolebindings") => (BINDINGS, binding),
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations" | "validatingwebhookconfigurations") => {
            (WEBHOOKS, |o| vec![name(o), list(o, "/webhooks").len().into(), age(o)])
        }
        _ => return None,
    })
}

const PLAIN: &[Column] = &[NAME, AGE];
const CONFIG_MAPS: &[Column] = &[NAME, text_column("Data"), AGE];
const SECRETS: &[Column] = &[NAME, text_column("Type"), text_column("Data"), AGE];
const NAMESPACES: &[Column] = &[NAME, text_column("Status"), AGE];
const WEBHOOKS: &[Column] = &[NAME, text_column("Webhooks"), AGE];
const LEASES: &[Column] = &[NAME, text_column("Holder"), AGE];
const BINDINGS: &[Column] = &[NAME, text_column("Role"), AGE];

fn config_map(o: &Value) -> Vec<Value> {
    vec![name(o), (size(o, "/data") + size(o, "/binaryData")).into(), age(o)]
}

fn secret(o: &Value) -> Vec<Value> {
    vec![name(o), text(o, "/type").into(), size(o, "/data").into(), age(o)]
}

fn binding(o: &Value) -> Vec<Value> {
    vec![name(o), format!("{}/{}", text(o, "/roleRef/kind"), text(o, "/roleRef/name")).into(), age(o)]
}

const PODS: &[Column] = &[
    NAME,
    text_column("Ready"),
    text_column("Status"),
    text_column("Restarts"),
    AGE,
    wide("IP"),
    wide("Node"),
    wide("Nominated Node"),
    wide("Readiness Gates"),
];

fn pod(o: &Value) -> Vec<Value> {
    let statuses = list(o, "/status/containerStatuses");
    let ready = statuses.iter().filter(|s| s.get("ready") == Some(&Value::Bool(true))).count();
    let total = list(o, "/spec/containers").len();
    let restarts: i64 = statuses.iter().map(|s| number(s, "/restartCount")).sum();
    let gates = list(o, "/spec/readinessGates");
    let met = gates
        .iter()
        .filter(|g| {
            let kind = text(g, "/conditionType");
            list(o, "/status/conditions").iter().any(|c| text(c, "/type") == kind && text(c, "/status") == "True")
        })
        .count();
    let gates = if gates.is_empty() { "<none>".to_owned() } else { format!("{met}/{}", gates.len()) };
    vec![
        name(o),
        format!("{ready}/{total}").into(),
        pod_status(o, statuses).into(),
        restarts.to_string().into(),
        age(o),
        or_none(text(o, "/status/podIP")),
        or_none(text(o, "/spec/nodeName")),
        or_none(text(o, "/status/nominatedNodeName")),
        gates.into(),
    ]
}

fn pod_status(o: &Value, statuses: &[Value]) -> String {
    let mut reason = text(o, "/status/phase").to_owned();
    if !text(o, "/status/reason").is_empty() {
        text(o, "/status/reason").clone_into(&mut reason);
    }
    if list(o, "/status/conditions").iter().any(|c| text(c, "/reason") == "SchedulingGated") {
        "SchedulingGated".clone_into(&mut reason);
    }
    for status in statuses.iter().rev() {
        let waiting = text(status, "/state/waiting/reason");
        let terminated = text(status, "/state/terminated/reason");
        if !waiting.is_empty() {
            waiting.clone_into(&mut reason);
        } else if !terminated.is_empty() {
            terminated.clone_into(&mut reason);
        }
    }
    if o.pointer("/metadata/deletionTimestamp").is_some() {
        "Terminating".clone_into(&mut reason);
    }
    reason
}

const SERVICES: &[Column] = &[
    NAME,
    text_column("Type"),
    text_column("Cluster-IP"),
    text_column("External-IP"),
    text_column("Port(s)"),
    AGE,
    wide("Selector"),
];

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
    let kind = text(o, "/spec/type");
    let external = match kind {
        "ExternalName" => text(o, "/spec/externalName").into(),
        "LoadBalancer" => match text(o, "/status/loadBalancer/ingress/0/ip") {
            "" => "<pending>".into(),
            ip => ip.into(),
        },
        _ => "<none>".into(),
    };
    vec![
        name(o),
        kind.into(),
        or_none(text(o, "/spec/clusterIP")),
        external,
        or_none(&ports.join(",")),
        age(o),
        or_none(&labels(o.pointer("/spec/selector"))),
    ]
}

fn labels(map: Option<&Value>) -> String {
    let pairs = map.and_then(Value::as_object).into_iter().flatten();
    pairs.map(|(k, v)| format!("{k}={}", v.as_str().unwrap_or_default())).collect::<Vec<_>>().join(",")
}

const EVENTS: &[Column] = &[
    text_column("Last Seen"),
    text_column("Type"),
    text_column("Reason"),
    text_column("Object"),
    wide("Subobject"),
    wide("Source"),
    text_column("Message"),
    wide("First Seen"),
    wide("Count"),
    ("Name", "string", "name", 1),
];

fn event(o: &Value) -> Vec<Value> {
    let either = |a: &str, b: &str| if text(o, a).is_empty() { text(o, b).to_owned() } else { text(o, a).to_owned() };
    let pick = |times: &[&str]| times.iter().map(|p| text(o, p)).find(|t| !t.is_empty()).map(str::to_owned);
    let first = pick(&["/firstTimestamp", "/deprecatedFirstTimestamp", "/eventTime"]);
    let last =
        pick(&["/series/lastObservedTime", "/lastTimestamp", "/deprecatedLastTimestamp"]).or_else(|| first.clone());
    let kind = either("/involvedObject/kind", "/regarding/kind").to_lowercase();
    let object = format!("{kind}/{}", either("/involvedObject/name", "/regarding/name"));
    let mut source = either("/source/component", "/deprecatedSource/component");
    if source.is_empty() {
        source = either("/reportingComponent", "/reportingController");
    }
    let host = either("/source/host", "/deprecatedSource/host");
    if !host.is_empty() {
        source = format!("{source}, {host}");
    }
    let count = number(o, "/series/count").max(number(o, "/count")).max(number(o, "/deprecatedCount")).max(1);
    vec![
        time::age(last.as_deref()).into(),
        text(o, "/type").into(),
        text(o, "/reason").into(),
        object.into(),
        either("/involvedObject/fieldPath", "/regarding/fieldPath").into(),
        source.into(),
        either("/message", "/note").trim().into(),
        time::age(first.as_deref()).into(),
        count.into(),
        name(o),
    ]
}

const NODES: &[Column] = &[NAME, text_column("Status"), text_column("Roles"), AGE, text_column("Version")];

fn node(o: &Value) -> Vec<Value> {
    let ready = list(o, "/status/conditions").iter().find(|c| text(c, "/type") == "Ready");
    let status = match ready.map(|c| text(c, "/status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    let cordoned = o.pointer("/spec/unschedulable").and_then(Value::as_bool).unwrap_or(false);
    let status = if cordoned { format!("{status},SchedulingDisabled") } else { status.to_owned() };
    let labels = o.pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
    let roles =
        labels.filter_map(|(key, _)| key.strip_prefix("node-role.kubernetes.io/")).collect::<Vec<_>>().join(",");
    vec![name(o), status.into(), or_none(&roles), age(o), text(o, "/status/nodeInfo/kubeletVersion").into()]
}

const CLAIMS: &[Column] = &[
    NAME,
    text_column("Status"),
    text_column("Volume"),
    text_column("Capacity"),
    text_column("Access Modes"),
    text_column("StorageClass"),
    AGE,
];

fn claim(o: &Value) -> Vec<Value> {
    vec![
        name(o),
        text(o, "/status/phase").into(),
        text(o, "/spec/volumeName").into(),
        text(o, "/status/capacity/storage").into(),
        "".into(),
        text(o, "/spec/storageClassName").into(),
        age(o),
    ]
}

const INGRESSES: &[Column] =
    &[NAME, text_column("Class"), text_column("Hosts"), text_column("Address"), text_column("Ports"), AGE];

fn ingress(o: &Value) -> Vec<Value> {
    let hosts: Vec<&str> = list(o, "/spec/rules").iter().map(|r| text(r, "/host")).filter(|h| !h.is_empty()).collect();
    let hosts = if hosts.is_empty() { json!("*") } else { hosts.join(",").into() };
    let ports = if list(o, "/spec/tls").is_empty() { "80" } else { "80, 443" };
    vec![
        name(o),
        or_none(text(o, "/spec/ingressClassName")),
        hosts,
        text(o, "/status/loadBalancer/ingress/0/ip").into(),
        ports.into(),
        age(o),
    ]
}
