//! Defaults of pods and pod templates.

use serde_json::{Map, Value, json};

use crate::{
    model::{
        members::{fill, object},
        quantity,
        status::{ApiError, Result},
        time,
    },
    store::{Key, Store},
};

/// The defaults of a pod spec; `pod`: of a pod itself rather than of a template.
pub(super) fn spec(spec: Option<&mut Value>, pod: bool) {
    let Some(spec) = spec.and_then(Value::as_object_mut) else { return };
    fill(spec, "restartPolicy", "Always");
    fill(spec, "dnsPolicy", "ClusterFirst");
    fill(spec, "schedulerName", "default-scheduler");
    fill(spec, "terminationGracePeriodSeconds", 30);
    fill(spec, "securityContext", json!({}));
    if pod {
        fill(spec, "enableServiceLinks", true);
    }
    let host_network = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for item in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(map) = item.as_object_mut() {
                container(map, pod, host_network);
            }
        }
    }
    // The old name of a field; both are printed.
    let account = spec.get("serviceAccountName").or_else(|| spec.get("serviceAccount")).cloned();
    if let Some(account) = account {
        fill(spec, "serviceAccountName", account.clone());
        spec.insert("serviceAccount".to_owned(), account);
    }
    for item in spec.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(map) = item.as_object_mut() {
            volume(map);
        }
    }
    quantity::normalize_all(spec.get_mut("overhead"));
}

fn container(map: &mut Map<String, Value>, pod: bool, host_network: bool) {
    let image = map.get("image").and_then(Value::as_str).unwrap_or_default();
    // Without a tag, or with `latest`, the image may change under the same name.
    let last = image.rsplit('/').next().unwrap_or_default();
    let tagged = image.contains('@') || last.split_once(':').is_some_and(|(_, tag)| tag != "latest");
    fill(map, "imagePullPolicy", if tagged { "IfNotPresent" } else { "Always" });
    fill(map, "terminationMessagePath", "/dev/termination-log");
    fill(map, "terminationMessagePolicy", "File");
    fill(map, "resources", json!({}));
    if let Some(resources) = map.get_mut("resources") {
        quantity::normalize_all(resources.get_mut("limits"));
        quantity::normalize_all(resources.get_mut("requests"));
        let limits = resources.get("limits").and_then(Value::as_object).cloned().unwrap_or_default();
        if pod
            && !limits.is_empty()
            && let Some(requests) = object(resources, "requests")
        {
            for (key, value) in limits {
                fill(requests, &key, value);
            }
        }
    }
    for port in map.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(port) = port.as_object_mut() {
            fill(port, "protocol", "TCP");
            if host_network && let Some(number) = port.get("containerPort").cloned() {
                fill(port, "hostPort", number);
            }
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = map.get_mut(name).and_then(Value::as_object_mut) {
            for (key, value) in
                [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
            {
                fill(probe, key, value);
            }
            http_action(probe.get_mut("httpGet"));
            if let Some(grpc) = probe.get_mut("grpc").and_then(Value::as_object_mut) {
                fill(grpc, "service", "");
            }
        }
    }
    for hook in ["postStart", "preStop"] {
        http_action(map.get_mut("lifecycle").and_then(|l| l.get_mut(hook)?.get_mut("httpGet")));
    }
    for variable in map.get_mut("env").and_then(Value::as_array_mut).into_iter().flatten() {
        field_ref(variable.pointer_mut("/valueFrom/fieldRef"));
        if let Some(divisor) = variable.pointer_mut("/valueFrom/resourceFieldRef").and_then(Value::as_object_mut) {
            fill(divisor, "divisor", "0");
        }
        // Go omits an empty value.
        if let Some(map) = variable.as_object_mut()
            && map.get("value").and_then(Value::as_str) == Some("")
        {
            map.remove("value");
        }
    }
}

fn http_action(action: Option<&mut Value>) {
    if let Some(action) = action.and_then(Value::as_object_mut) {
        fill(action, "path", "/");
        fill(action, "scheme", "HTTP");
    }
}

fn field_ref(reference: Option<&mut Value>) {
    if let Some(reference) = reference.and_then(Value::as_object_mut) {
        fill(reference, "apiVersion", "v1");
    }
}

fn volume(map: &mut Map<String, Value>) {
    if map.len() == 1 && map.contains_key("name") {
        map.insert("emptyDir".to_owned(), json!({}));
    }
    for (source, key, value) in [
        ("configMap", "defaultMode", json!(420)),
        ("secret", "defaultMode", json!(420)),
        ("downwardAPI", "defaultMode", json!(420)),
        ("projected", "defaultMode", json!(420)),
        ("hostPath", "type", json!("")),
    ] {
        if let Some(source) = map.get_mut(source).and_then(Value::as_object_mut) {
            fill(source, key, value);
        }
    }
    for item in map.get_mut("downwardAPI").and_then(|d| d.get_mut("items")?.as_array_mut()).into_iter().flatten() {
        field_ref(item.get_mut("fieldRef"));
    }
    for source in map.get_mut("projected").and_then(|p| p.get_mut("sources")?.as_array_mut()).into_iter().flatten() {
        if let Some(token) = source.get_mut("serviceAccountToken").and_then(Value::as_object_mut) {
            fill(token, "expirationSeconds", 3600);
        }
        let items = source.pointer_mut("/downwardAPI/items").and_then(Value::as_array_mut);
        for item in items.into_iter().flatten() {
            field_ref(item.get_mut("fieldRef"));
        }
    }
    if let Some(limit) = map.get_mut("emptyDir").and_then(|e| e.get_mut("sizeLimit")) {
        quantity::normalize(limit);
    }
}

/// Admission of a new pod: service account, tolerations, priority.
pub(super) fn admit(store: &Store, pod: &mut Value) -> Result<()> {
    let mounts = store.settings().service_accounts && take_account(store, pod)?;
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return Ok(()) };
    fill(spec, "preemptionPolicy", "PreemptLowerPriority");
    fill(spec, "priority", 0);
    tolerate(spec);
    if mounts {
        mount_token(spec);
    }
    Ok(())
}

/// Gives the pod its ServiceAccount; whether it also gets the token.
fn take_account(store: &Store, pod: &mut Value) -> Result<bool> {
    let text = |p: &str| pod.pointer(p).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
    let mut account = text("/spec/serviceAccountName");
    if account.is_empty() {
        "default".clone_into(&mut account);
    }
    let accounts = store.resource_store("serviceaccounts");
    let Some(found) = accounts.get(&Key::new(&namespace, &account)) else {
        let why =
            format!("error looking up service account {namespace}/{account}: serviceaccount \"{account}\" not found");
        return Err(ApiError::forbidden("", "pods", &name, &why));
    };
    let own = found.value.get("automountServiceAccountToken").and_then(Value::as_bool);
    let asked = pod.pointer("/spec/automountServiceAccountToken").and_then(Value::as_bool);
    let secrets = found.value.get("imagePullSecrets").cloned();
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return Ok(false) };
    spec.insert("serviceAccountName".to_owned(), account.clone().into());
    spec.insert("serviceAccount".to_owned(), account.into());
    if let Some(secrets) = secrets {
        fill(spec, "imagePullSecrets", secrets);
    }
    Ok(asked.or(own).unwrap_or(true))
}

fn tolerate(spec: &mut Map<String, Value>) {
    let Some(list) = spec.entry("tolerations").or_insert_with(|| json!([])).as_array_mut() else { return };
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let covered = list.iter().any(|t| {
            let text = |k: &str| t.get(k).and_then(Value::as_str).unwrap_or_default();
            (text("key") == key || (text("key").is_empty() && text("operator") == "Exists"))
                && matches!(text("effect"), "NoExecute" | "")
        });
        if !covered {
            list.push(json!({"effect": "NoExecute", "key": key, "operator": "Exists", "tolerationSeconds": 300}));
        }
    }
}

fn mount_token(spec: &mut Map<String, Value>) {
    const PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
    // A second run after webhooks finds the volume that it added before.
    let volumes = spec.get("volumes").and_then(Value::as_array).into_iter().flatten();
    let present = volumes
        .filter_map(|v| v.get("name")?.as_str())
        .find(|name| name.starts_with("kube-api-access-"))
        .map(str::to_owned);
    let has_volume = present.is_some();
    let name = present.unwrap_or_else(|| {
        let random: String =
            oarlock_simulation::unique_id("kube-api-access").simple().to_string().chars().take(5).collect();
        format!("kube-api-access-{random}")
    });
    let mut used = false;
    for list in ["initContainers", "containers"] {
        for item in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(item) = item.as_object_mut() else { continue };
            let Some(mounts) = item.entry("volumeMounts").or_insert_with(|| json!([])).as_array_mut() else { continue };
            if !mounts.iter().any(|m| m.get("mountPath").and_then(Value::as_str) == Some(PATH)) {
                mounts.push(json!({"mountPath": PATH, "name": name, "readOnly": true}));
                used = true;
            }
        }
    }
    if !used || has_volume {
        return;
    }
    let field = json!({"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}, "path": "namespace"});
    let volume = json!({"name": name, "projected": {"defaultMode": 420, "sources": [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}},
        {"downwardAPI": {"items": [field]}}]}});
    if let Some(volumes) = spec.entry("volumes").or_insert_with(|| json!([])).as_array_mut() {
        volumes.push(volume);
    }
}

/// Admission of a changed pod, and the addresses that are stored in two fields.
pub(super) fn update(value: &mut Value) {
    if let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) {
        tolerate(spec);
    }
    let ip = value.pointer("/status/podIP").and_then(Value::as_str).filter(|ip| !ip.is_empty()).map(str::to_owned);
    if let (Some(ip), Some(status)) = (ip, value.get_mut("status").and_then(Value::as_object_mut)) {
        fill(status, "podIPs", json!([{"ip": ip}]));
    }
}

/// The status of a new pod.
pub(super) fn status(value: &mut Value) {
    let class = quality(value);
    let gated = value.pointer("/spec/schedulingGates").and_then(Value::as_array).is_some_and(|g| !g.is_empty());
    let Some(status) = object(value, "status") else { return };
    status.insert("phase".to_owned(), "Pending".into());
    status.insert("qosClass".to_owned(), class.into());
    if gated {
        let condition = json!({"type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates", "lastProbeTime": null,
            "lastTransitionTime": time::now()});
        status.insert("conditions".to_owned(), json!([condition]));
    }
}

/// The quality of service class.
fn quality(pod: &Value) -> &'static str {
    let (mut any, mut guaranteed) = (false, true);
    for list in ["/spec/containers", "/spec/initContainers"] {
        for item in pod.pointer(list).and_then(Value::as_array).into_iter().flatten() {
            let get = |kind: &str, name: &str| item.pointer(&format!("/resources/{kind}/{name}"));
            for name in ["cpu", "memory"] {
                let (limit, request) = (get("limits", name), get("requests", name));
                any |= limit.is_some() || request.is_some();
                guaranteed &= limit.is_some() && (request.is_none() || request == limit);
            }
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}
