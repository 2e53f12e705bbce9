//! Validation of pods and pod templates.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{rules, shapes};
use crate::model::{names, status::Cause};

const UPDATE: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

fn items<'a>(spec: &'a Value, key: &str) -> &'a [Value] {
    spec.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A pod template below a path: its labels and its spec, without ephemeral containers.
pub(super) fn template(template: Option<&Value>, path: &str) -> Vec<Cause> {
    let empty = json!({});
    let template = template.unwrap_or(&empty);
    let mut out = spec(template.get("spec"), &format!("{path}.spec"));
    if let Some(labels) = template.pointer("/metadata/labels") {
        out.extend(shapes::labels(labels, &format!("{path}.labels")));
    }
    for key in
        template.pointer("/metadata/annotations").and_then(Value::as_object).into_iter().flatten().map(|(k, _)| k)
    {
        let problems = names::qualified_name(&key.to_lowercase());
        out.extend(problems.iter().map(|e| Cause::invalid(format!("{path}.annotations"), &json!(key), e)));
    }
    if template.get("spec").is_some_and(|spec| !items(spec, "ephemeralContainers").is_empty()) {
        let why = "ephemeral containers not allowed in pod template";
        out.push(Cause::forbidden(format!("{path}.spec.ephemeralContainers"), why));
    }
    out
}

/// A pod spec under a path.
pub(super) fn spec(spec: Option<&Value>, path: &str) -> Vec<Cause> {
    let empty = json!({});
    let spec = spec.unwrap_or(&empty);
    let mut out = Vec::new();
    if items(spec, "containers").is_empty() {
        out.push(Cause::required(format!("{path}.containers"), ""));
    }
    let mut volumes = HashSet::new();
    let wrong = rules::check("volumes", spec, path);
    for (i, volume) in items(spec, "volumes").iter().enumerate() {
        let name = text(volume, "name");
        let field = format!("{path}.volumes[{i}].name");
        let problems = names::label(name);
        if name.is_empty() {
            out.push(Cause::required(field.clone(), ""));
        } else {
            out.extend(problems.iter().map(|e| Cause::invalid(field.clone(), &json!(name), e)));
        }
        if volumes.contains(name) {
            out.push(Cause::duplicate(field, &json!(name)));
        }
        // An invalid volume cannot be mounted.
        let whole = format!("{path}.volumes[{i}]");
        let broken = wrong.iter().any(|c| c.field() == whole || c.field().starts_with(&format!("{whole}.")));
        if problems.is_empty() && !broken {
            volumes.insert(name);
        }
    }
    out.extend(wrong);
    let mut seen = HashSet::new();
    for list in ["initContainers", "containers"] {
        for (i, container) in items(spec, list).iter().enumerate() {
            let path = format!("{path}.{list}[{i}]");
            check_container(container, &path, &volumes, &mut seen, &mut out);
            out.extend(claims(container, spec, &path));
        }
    }
    let policy = text(spec, "restartPolicy");
    if !matches!(policy, "Always" | "OnFailure" | "Never" | "") {
        let known = ["Always", "OnFailure", "Never"];
        out.push(Cause::unsupported(format!("{path}.restartPolicy"), &json!(policy), &known));
    }
    let dns = text(spec, "dnsPolicy");
    if !matches!(dns, "ClusterFirst" | "ClusterFirstWithHostNet" | "Default" | "None" | "") {
        let known = ["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"];
        out.push(Cause::unsupported(format!("{path}.dnsPolicy"), &json!(dns), &known));
    }
    if dns == "None" {
        out.extend(servers(spec, path));
    }
    out.extend(rules::check("podspec", spec, path));
    out
}

/// Without a DNS policy the pod must name its servers.
fn servers(spec: &Value, path: &str) -> Option<Cause> {
    match spec.get("dnsConfig").filter(|config| !config.is_null()) {
        None => {
            let why = "must provide `dnsConfig` when `dnsPolicy` is None";
            Some(Cause::required(format!("{path}.dnsConfig"), why))
        }
        Some(config) if items(config, "nameservers").is_empty() => {
            let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            Some(Cause::required(format!("{path}.dnsConfig.nameservers"), why))
        }
        Some(_) => None,
    }
}

fn check_container<'a>(
    container: &'a Value,
    path: &str,
    volumes: &HashSet<&str>,
    seen: &mut HashSet<&'a str>,
    out: &mut Vec<Cause>,
) {
    let name = text(container, "name");
    let field = format!("{path}.name");
    if name.is_empty() {
        out.push(Cause::required(field, ""));
    } else {
        out.extend(names::label(name).iter().map(|e| Cause::invalid(field.clone(), &json!(name), e)));
        if !seen.insert(name) {
            out.push(Cause::duplicate(field, &json!(name)));
        }
    }
    if text(container, "image").is_empty() {
        out.push(Cause::required(format!("{path}.image"), ""));
    }
    for (i, mount) in items(container, "volumeMounts").iter().enumerate() {
        let volume = text(mount, "name");
        if !volumes.contains(volume) {
            let message = format!("Not found: {}", json!(volume));
            out.push(Cause::raw("FieldValueNotFound", format!("{path}.volumeMounts[{i}].name"), message));
        }
        if text(mount, "mountPath").is_empty() {
            out.push(Cause::required(format!("{path}.volumeMounts[{i}].mountPath"), ""));
        }
    }
    for (i, port) in items(container, "ports").iter().enumerate() {
        let number = port.get("containerPort").and_then(Value::as_i64).unwrap_or(0);
        if number == 0 {
            out.push(Cause::required(format!("{path}.ports[{i}].containerPort"), ""));
        } else if !(1..=65_535).contains(&number) {
            let detail = "must be between 1 and 65535, inclusive";
            out.push(Cause::invalid(format!("{path}.ports[{i}].containerPort"), &json!(number), detail));
        }
    }
    for (i, variable) in items(container, "env").iter().enumerate() {
        if text(variable, "name").is_empty() {
            out.push(Cause::required(format!("{path}.env[{i}].name"), ""));
        }
        let file = variable.pointer("/valueFrom/fileKeyRef").map(|file| text(file, "volumeName"));
        if let Some(volume) = file.filter(|volume| !volumes.contains(volume)) {
            let field = format!("{path}.env[{i}].valueFrom.fileKeyRef.volumeName");
            out.push(Cause::raw("FieldValueNotFound", field, format!("Not found: {}", json!(volume))));
        }
    }
}

/// References of a container to the rest of the pod.
fn claims(container: &Value, spec: &Value, path: &str) -> Vec<Cause> {
    let mut out = Vec::new();
    let known: Vec<&str> = items(spec, "resourceClaims").iter().map(|claim| text(claim, "name")).collect();
    let wanted = container.get("resources").map_or(&[][..], |resources| items(resources, "claims"));
    for (i, claim) in wanted.iter().enumerate().filter(|(_, claim)| !known.contains(&text(claim, "name"))) {
        let names = if known.is_empty() { " which is empty".to_owned() } else { format!(": {}", known.join(", ")) };
        let name = json!(text(claim, "name"));
        let message = format!("Not found: {name}: must be one of the names in pod.spec.resourceClaims{names}");
        out.push(Cause::raw("FieldValueNotFound", format!("{path}.resources.claims[{i}]"), message));
    }
    let mount = container.pointer("/securityContext/procMount").filter(|mount| *mount == "Unmasked");
    if let Some(mount) = mount.filter(|_| spec.get("hostUsers") != Some(&Value::Bool(false))) {
        let why = "`hostUsers` must be false to use `Unmasked`";
        out.push(Cause::invalid(format!("{path}.securityContext.procMount"), mount, why));
    }
    out
}

/// Checks for new pods only.
pub(super) fn create(pod: &Value) -> Vec<Cause> {
    let gated = pod.pointer("/spec/schedulingGates").and_then(Value::as_array).is_some_and(|g| !g.is_empty());
    let placed = pod.pointer("/spec/nodeName").and_then(Value::as_str).is_some_and(|n| !n.is_empty());
    if gated && placed {
        return vec![Cause::forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")];
    }
    Vec::new()
}

/// A warning about a name that is no valid hostname.
pub(super) fn warnings(pod: &Value) -> Vec<String> {
    let name = pod.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let problems = names::label(name);
    if problems.is_empty() {
        return Vec::new();
    }
    let intro =
        "this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended";
    vec![format!("metadata.name: {intro}: [{}]", problems.join(" "))]
}

/// Most of a pod's spec cannot be changed.
pub(super) fn update(pod: &Value, old: &Value) -> Vec<Cause> {
    let empty = json!({});
    let (new, old) = (pod.get("spec").unwrap_or(&empty), old.get("spec").unwrap_or(&empty));
    let mut out = spec(Some(new), "spec");
    for list in ["containers", "initContainers"] {
        if items(new, list).len() != items(old, list).len() {
            let detail = "pod updates may not add or remove containers";
            out.push(Cause::forbidden(format!("spec.{list}"), detail));
            return out;
        }
    }
    let gates =
        |s: &Value| -> Vec<String> { items(s, "schedulingGates").iter().map(|g| text(g, "name").to_owned()).collect() };
    let (wanted, had) = (gates(new), gates(old));
    for (i, gate) in wanted.iter().enumerate().filter(|(_, g)| !had.contains(g)) {
        let detail = format!("only deletion is allowed, but found new scheduling gate '{gate}'");
        out.push(Cause::forbidden(format!("spec.schedulingGates[{i}].name"), &detail));
    }
    let gated = !had.is_empty();
    let tolerations = items(new, "tolerations");
    let kept = items(old, "tolerations").iter().all(|t| tolerations.contains(t));
    if !kept {
        out.push(Cause::forbidden(
            "spec.tolerations",
            "existing toleration can not be modified except its tolerationSeconds",
        ));
    }
    if fixed(new, gated) != fixed(old, gated) {
        out.push(Cause::forbidden("spec", &format!("{UPDATE}\n")));
    }
    out
}

/// The immutable part of a spec.
fn fixed(spec: &Value, gated: bool) -> Map<String, Value> {
    let mut out = spec.as_object().cloned().unwrap_or_default();
    for key in ["activeDeadlineSeconds", "tolerations", "schedulingGates", "terminationGracePeriodSeconds"] {
        out.remove(key);
    }
    if gated {
        // The selectors of an unscheduled pod may be narrowed.
        out.remove("nodeSelector");
        out.remove("affinity");
    }
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        for item in out.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(item) = item.as_object_mut() {
                item.remove("image");
            }
        }
    }
    out
}
