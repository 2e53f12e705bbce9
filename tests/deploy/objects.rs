//! What must be true of the objects themselves.

use super::{NAMESPACE, SHIPPED, built, copied, host_args, named, samples, text};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::repository_root;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

fn yaml_files(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "plugins") {
            yaml_files(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            found.push(path);
        }
    }
    Ok(())
}

#[test]
fn every_object_says_why_it_is_there_and_every_rule_why_it_is_needed() -> Result<()> {
    let mut files = Vec::new();
    yaml_files(&repository_root().join("deploy"), &mut files)?;
    ensure!(files.len() > 15, "{files:?}");
    for file in files {
        let content = fs::read_to_string(&file)?;
        for (number, document) in content.split("---\n").enumerate() {
            ensure!(document.trim_start().starts_with("# "), "{}: object {number} says nothing", file.display());
        }
        let lines: Vec<&str> = content.lines().collect();
        for pair in lines.windows(2).filter(|_| file.ends_with("rbac.yaml")) {
            let rule = pair.get(1).is_some_and(|line| line.starts_with("  - apiGroups:"));
            ensure!(!rule || pair.first().is_some_and(|line| line.starts_with("  # ")), "{pair:?}");
        }
    }
    Ok(())
}

/// Volumes that Pod Security allows with the profile `restricted`.
const VOLUMES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
    "image",
];

#[tokio::test]
async fn pods_are_what_the_restricted_profile_allows_in_every_overlay() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let deploy = copied(folder.path())?;
    for one in [
        "base",
        "overlays/development",
        "overlays/plugins-configmap",
        "overlays/plugins-image",
        "overlays/plugins-registry",
        "overlays/plugins-volume",
        "overlays/samples",
    ] {
        let objects = built(&deploy.join(one)).await?;
        let namespace = named(&objects, "Namespace", NAMESPACE)?;
        ensure!(text(namespace, "/metadata/labels/pod-security.kubernetes.io~1enforce") == "restricted", "{namespace}");
        let host = named(&objects, "Deployment", "oarlock")?;
        let pod = host.pointer("/spec/template/spec").context("no Pod")?;
        for host_s in ["hostNetwork", "hostPID", "hostIPC"] {
            ensure!(pod.get(host_s).is_none(), "{one}: {host_s}");
        }
        let is = |value: &Value, pointer: &str, wanted: Value| {
            let found = value.pointer(pointer).cloned().unwrap_or_default();
            ensure!(found == wanted, "{one}: {pointer} is {found}, not {wanted}");
            Ok(())
        };
        is(pod, "/securityContext/runAsNonRoot", true.into())?;
        is(pod, "/securityContext/seccompProfile/type", "RuntimeDefault".into())?;
        let containers = pod.get("containers").and_then(Value::as_array).context("no containers")?;
        ensure!(containers.len() == 1 && pod.get("initContainers").is_none(), "{one}: {containers:?}");
        for container in containers {
            is(container, "/securityContext/allowPrivilegeEscalation", false.into())?;
            is(container, "/securityContext/readOnlyRootFilesystem", true.into())?;
            is(container, "/securityContext/capabilities", serde_json::json!({"drop": ["ALL"]}))?;
            for resource in ["requests/cpu", "requests/memory", "limits/memory"] {
                ensure!(!text(container, &format!("/resources/{resource}")).is_empty(), "{one}: no {resource}");
            }
        }
        for volume in pod.get("volumes").and_then(Value::as_array).into_iter().flatten() {
            let kinds: Vec<_> =
                volume.as_object().into_iter().flatten().map(|(key, _)| key).filter(|key| *key != "name").collect();
            ensure!(kinds.len() == 1 && kinds.iter().all(|kind| VOLUMES.contains(&kind.as_str())), "{one}: {volume}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn what_names_another_object_names_one_that_is_there() -> Result<()> {
    let objects = samples().await?;
    let host = named(&objects, "Deployment", "oarlock")?;
    let labels = host.pointer("/spec/template/metadata/labels").and_then(Value::as_object).context("no labels")?;
    let selects = |selector: &Value| {
        let pairs = selector.as_object().filter(|pairs| !pairs.is_empty());
        pairs.is_some_and(|pairs| pairs.iter().all(|(key, value)| labels.get(key) == Some(value)))
    };
    for (kind, name, selector) in [
        ("Deployment", "oarlock", "/spec/selector/matchLabels"),
        ("Service", "oarlock", "/spec/selector"),
        ("PodDisruptionBudget", "oarlock", "/spec/selector/matchLabels"),
        ("NetworkPolicy", "oarlock", "/spec/podSelector/matchLabels"),
    ] {
        let selector = named(&objects, kind, name)?.pointer(selector).cloned().unwrap_or_default();
        ensure!(selects(&selector), "{kind} {name}: {selector} selects no Pod of {labels:?}");
    }
    let container = host.pointer("/spec/template/spec/containers/0").context("no container")?;
    let ports = container.get("ports").and_then(Value::as_array).context("no ports")?;
    let port_of = |name: &str| {
        ports.iter().find(|port| text(port, "/name") == name).and_then(|port| port.get("containerPort")?.as_u64())
    };
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        ensure!(text(container, &format!("/{probe}/httpGet/port")) == "admin", "{probe}");
    }
    let service = named(&objects, "Service", "oarlock")?;
    ensure!(
        text(service, "/spec/ports/0/targetPort") == "admission" && port_of("admission") == Some(9443),
        "{ports:?}"
    );
    let scraped = text(host, "/spec/template/metadata/annotations/prometheus.io~1port");
    ensure!(port_of("admin").is_some_and(|port| port.to_string() == scraped), "{scraped}");

    let args = host_args(&objects)?;
    let has = |arg: &str| args.iter().any(|one| one == arg);
    ensure!(has(&format!("--admission-service={NAMESPACE}/oarlock")), "{args:?}");
    ensure!(has(&format!("--admin-addr=0.0.0.0:{scraped}")) && has("--plugins=/plugins"), "{args:?}");
    let grants = named(&objects, "ConfigMap", "oarlock-grants")?;
    let keys: Vec<&String> =
        grants.get("data").and_then(Value::as_object).into_iter().flatten().map(|(key, _)| key).collect();
    ensure!(keys == SHIPPED.map(|name| format!("{name}.yaml")).iter().collect::<Vec<_>>(), "{keys:?}");
    // The image of this version.
    let image = text(container, "/image");
    ensure!(image == format!("oarlock:{}", env!("CARGO_PKG_VERSION")), "{image}");
    let overlay = fs::read_to_string(repository_root().join("deploy/overlays/plugins-image/deployment.yaml"))?;
    ensure!(overlay.contains(&format!("oarlock-plugins:{}\"", env!("CARGO_PKG_VERSION"))), "{overlay}");
    for crd in ["networks.samplecrd.k8s.io", "initializerconfigurations.oarlock.dev"] {
        named(&objects, "CustomResourceDefinition", crd)?;
    }
    Ok(())
}
