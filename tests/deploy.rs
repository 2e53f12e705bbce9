//! deploy/: what an API server takes, what it allows, and that the host lives with that.

mod engine;
mod image;
mod monitoring;
mod objects;
mod operations;
mod prometheus;
mod story;

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Cluster, SHIPPED, built_plugin, checkout, commands_of_comment, oarlock, repository_root};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

const NAMESPACE: &str = "oarlock";

/// Everything `kubectl apply -k` can be pointed at, but for the base.
const OVERLAYS: [&str; 6] =
    ["development", "plugins-configmap", "plugins-image", "plugins-registry", "plugins-volume", "samples"];

/// Grants of the shipped plugins.
const GRANTS: &str = "deploy/components/samples/grants";

/// A checkout, with the files that the comment of the ConfigMap overlay adds to it.
fn copied(to: &Path) -> Result<PathBuf> {
    let deploy = checkout(to)?;
    for command in commands_of_comment("deploy/overlays/plugins-configmap/kustomization.yaml")? {
        if !command.starts_with("kubectl ") {
            let done = std::process::Command::new("sh").args(["-c", &command]).current_dir(to).output()?;
            ensure!(done.status.success(), "{command}: {}", String::from_utf8_lossy(&done.stderr));
        }
    }
    Ok(deploy)
}

/// The objects of a kustomization of this repository, as kubectl builds them.
async fn built(folder: &Path) -> Result<Vec<Value>> {
    let mut kubectl = tokio::process::Command::new("kubectl");
    let output = kubectl.arg("kustomize").arg(folder).kill_on_drop(true).output().await?;
    let what = folder.display();
    ensure!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
    let documents: Vec<Value> = serde_saphyr::from_multiple(&String::from_utf8(output.stdout)?)?;
    ensure!(documents.len() > 5, "{what}: only {} objects", documents.len());
    Ok(documents)
}

/// The base, built: the host alone.
async fn base() -> Result<Vec<Value>> {
    built(&repository_root().join("deploy/base")).await
}

/// The base with the shipped plugins, built.
async fn samples() -> Result<Vec<Value>> {
    built(&repository_root().join("deploy/overlays/samples")).await
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The only object of a kind with this name.
fn named<'v>(objects: &'v [Value], kind: &str, name: &str) -> Result<&'v Value> {
    let mut found = objects.iter().filter(|one| text(one, "/kind") == kind && text(one, "/metadata/name") == name);
    let one = found.next().with_context(|| format!("no {kind} {name}"))?;
    ensure!(found.next().is_none(), "two {kind} {name}");
    Ok(one)
}

/// What the host's container is started with, `run` left away.
fn host_args(objects: &[Value]) -> Result<Vec<String>> {
    let host = named(objects, "Deployment", "oarlock")?;
    let args = host.pointer("/spec/template/spec/containers/0/args").and_then(Value::as_array).context("no args")?;
    let args: Vec<String> = args.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    ensure!(args.first().is_some_and(|first| first == "run"), "{args:?}");
    Ok(args.into_iter().skip(1).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_base_and_every_overlay_are_taken_as_they_stand() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let deploy = copied(folder.path())?;
    let cluster = Cluster::start(folder.path(), false).await?;
    let path = |below: &str| deploy.join(below).display().to_string();
    let overlays: Vec<String> = fs::read_dir(deploy.join("overlays"))?
        .map(|one| Ok(one?.file_name().display().to_string()))
        .collect::<Result<_>>()?;
    ensure!(
        overlays.iter().all(|one| OVERLAYS.contains(&one.as_str())) && overlays.len() == OVERLAYS.len(),
        "{overlays:?}"
    );

    // A dry run makes no namespace, and nothing can be in one that is not there.
    cluster.kubectl(&["apply", "-f", &path("base/namespace.yaml")]).await?;
    let strict = ["--dry-run=server", "--validate=strict"];
    for one in [
        "base",
        "overlays/development",
        "overlays/plugins-image",
        "overlays/plugins-registry",
        "overlays/plugins-volume",
        "overlays/samples",
        "monitoring",
    ] {
        cluster
            .kubectl(&[&["apply"], &strict[..], &["-k", &path(one)]].concat())
            .await
            .with_context(|| one.to_owned())?;
    }
    for one in ["base", "overlays/plugins-configmap", "overlays/samples"] {
        let from = path(one);
        cluster
            .kubectl(&[&["apply", "--server-side"], &strict[..], &["-k", &from]].concat())
            .await
            .with_context(|| one.to_owned())?;
    }
    // Strict means strict: what is misspelt anywhere is refused.
    let spelt = fs::read_to_string(deploy.join("base/deployment.yaml"))?;
    let misspelt = spelt.replace("readOnlyRootFilesystem", "readonlyRootFilesystem");
    ensure!(spelt != misspelt);
    fs::write(deploy.join("base/deployment.yaml"), misspelt)?;
    let refused = cluster.kubectl(&[&["apply"], &strict[..], &["-k", &path("base")]].concat()).await.err();
    let refused = format!("{:#}", refused.context("it was taken")?);
    ensure!(refused.contains("unknown field") && refused.contains("readonlyRootFilesystem"), "{refused}");
    fs::write(deploy.join("base/deployment.yaml"), spelt)?;

    let nothing = cluster.list("/api/v1/namespaces/oarlock/configmaps").await?;
    ensure!(!nothing.iter().any(|one| text(one, "/metadata/name") == "oarlock-grants"), "a dry run made something");
    for one in ["base", "overlays/samples"] {
        cluster.kubectl(&["apply", "-k", &path(one)]).await?;
        let again = cluster.kubectl(&["apply", "-k", &path(one)]).await?;
        // kubectl sends the selector of a disruption budget every time, because it may only be replaced as a whole.
        let changed: Vec<_> = again.lines().filter(|line| !line.ends_with(" unchanged")).collect();
        ensure!(changed == ["poddisruptionbudget.policy/oarlock configured"], "{one}: {again}");
    }
    // From the host alone to plugins of a ConfigMap: a volume with two sources would be rejected.
    cluster.kubectl(&["apply", "-k", &path("base")]).await?;
    cluster.kubectl(&["apply", "--server-side", "-k", &path("overlays/plugins-configmap")]).await?;
    let deployment = cluster.get("/apis/apps/v1/namespaces/oarlock/deployments/oarlock").await?.context("none")?;
    let volume = volume_of_plugins(&[deployment])?.context("no volume")?;
    ensure!(volume.get("configMap").is_some() && volume.get("emptyDir").is_none(), "{volume}");
    Ok(())
}

/// The volume that the host's container mounts at /plugins; without one it has the plugins of the image.
fn volume_of_plugins(objects: &[Value]) -> Result<Option<Value>> {
    let pod = named(objects, "Deployment", "oarlock")?.pointer("/spec/template/spec").context("no Pod")?;
    let list = |pointer: &str| pod.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default();
    let mounts = list("/containers/0/volumeMounts");
    let Some(mount) = mounts.iter().find(|one| text(one, "/mountPath") == "/plugins") else { return Ok(None) };
    let volume = list("/volumes").into_iter().find(|one| text(one, "/name") == text(mount, "/name"));
    volume.map(Some).with_context(|| format!("no volume of {mount}"))
}

/// Names of the shipped plugins, their kinds and their server.
fn names_of_samples(objects: &[Value]) -> Result<Vec<&'static str>> {
    let all = serde_json::to_string(objects)?;
    let names = ["deployment-network", "envoy-injector", "oarlock-network", "pod-network", "samplecrd", "9696"];
    Ok(names.into_iter().filter(|name| all.contains(name)).collect())
}

#[tokio::test]
async fn the_base_is_the_host_alone() -> Result<()> {
    let (base, samples) = (base().await?, samples().await?);
    let found = names_of_samples(&base)?;
    ensure!(found.is_empty(), "the base names {found:?}");
    ensure!(names_of_samples(&samples)?.len() == 6, "{:?}", names_of_samples(&samples)?);
    let grants = named(&base, "ConfigMap", "oarlock-grants")?;
    ensure!(grants.get("data").is_none(), "{grants}");
    // Plugins of the image would wait for their grants, which raises an alert.
    let volume = volume_of_plugins(&base)?.context("the image's plugins run")?;
    ensure!(volume.get("emptyDir").is_some(), "{volume}");
    ensure!(volume_of_plugins(&samples)?.is_none(), "the image's plugins are hidden");
    // The component adds; the host is the same.
    for object in &base {
        let patched = ["ConfigMap", "Deployment", "NetworkPolicy"].contains(&text(object, "/kind"));
        ensure!(patched || samples.contains(object), "{object} differs");
    }
    Ok(())
}

#[tokio::test]
async fn every_source_of_plugins_works_without_the_samples() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let deploy = copied(folder.path())?;
    for (overlay, source) in [
        ("plugins-configmap", "configMap"),
        ("plugins-image", "image"),
        ("plugins-registry", "emptyDir"),
        ("plugins-volume", "persistentVolumeClaim"),
    ] {
        let file = deploy.join("overlays").join(overlay).join("kustomization.yaml");
        let before = fs::read_to_string(&file)?;
        let line = "  - ../../components/samples\n";
        ensure!(before.contains(line), "{overlay}");
        // As the comment says; an empty list is what is left.
        fs::write(&file, before.replace(line, ""))?;
        let objects = built(&deploy.join("overlays").join(overlay)).await?;
        let volume = volume_of_plugins(&objects)?.with_context(|| format!("{overlay} has no volume"))?;
        let sources: Vec<_> =
            volume.as_object().into_iter().flatten().map(|(key, _)| key).filter(|key| *key != "name").collect();
        ensure!(sources == [source], "{overlay}: {volume}");
        let account = |one: &&Value| text(one, "/kind") == "ServiceAccount";
        ensure!(objects.iter().filter(account).count() == 1, "{overlay} brings accounts of plugins");
        let crds = objects.iter().filter(|one| text(one, "/kind") == "CustomResourceDefinition").count();
        ensure!(crds == 2, "{overlay} brings {crds} definitions");
    }
    Ok(())
}

/// Rules that say the same are the same: each verb on each resource of each group with each name.
fn permissions(role: &Value) -> Vec<String> {
    let list = |rule: &Value, key: &str| -> Vec<String> {
        let list = rule.get(key).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut all = Vec::new();
    for rule in role.get("rules").and_then(Value::as_array).into_iter().flatten() {
        let names = list(rule, "resourceNames");
        let names = if names.is_empty() { vec!["*".to_owned()] } else { names };
        for group in list(rule, "apiGroups") {
            for resource in list(rule, "resources") {
                for (name, verb) in
                    names.iter().flat_map(|name| list(rule, "verbs").into_iter().map(move |v| (name, v)))
                {
                    all.push(format!("{verb} {resource}.{group} {name}"));
                }
            }
        }
    }
    all.sort();
    all
}

/// What matters of everybody's permissions: accounts, roles with their rules, bindings with their subjects.
fn access(objects: &[Value]) -> Vec<String> {
    let mut all = Vec::new();
    for one in objects {
        let what =
            format!("{} {}/{}", text(one, "/kind"), text(one, "/metadata/namespace"), text(one, "/metadata/name"));
        match text(one, "/kind") {
            // It has to be there, `oarlock rbac` says.
            "ServiceAccount" if text(one, "/metadata/name") == "oarlock" => {}
            "ServiceAccount" => {
                all.push(format!("{what} {}", one.get("automountServiceAccountToken").unwrap_or(&Value::Null)));
            }
            "Role" | "ClusterRole" => all.extend(permissions(one).into_iter().map(|may| format!("{what}: {may}"))),
            "RoleBinding" | "ClusterRoleBinding" => {
                all.push(format!(
                    "{what}: {} {}",
                    one.get("roleRef").unwrap_or(&Value::Null),
                    one.get("subjects").unwrap_or(&Value::Null)
                ));
            }
            _ => {}
        }
    }
    all.sort();
    all
}

/// What `oarlock rbac` prints for the plugins of a folder, and a host with these arguments.
async fn printed(folder: &Path, args: &[String], more: &[&str]) -> Result<Vec<String>> {
    let folder = folder.display().to_string();
    let mut asked = vec!["rbac", &folder, "--namespace", NAMESPACE];
    asked.extend(more);
    // What the host is started with decides what it needs.
    asked.extend(
        args.iter()
            .filter(|arg| {
                *arg == "--impersonate"
                    || ["--lease-namespace=", "--plugin-objects="].iter().any(|option| arg.starts_with(option))
            })
            .map(String::as_str),
    );
    if args.iter().any(|arg| arg.starts_with("--admission-service=")) {
        asked.push("--admission");
    }
    ensure!(asked.contains(&"--impersonate") && asked.contains(&"--admission"), "{args:?}");
    let told = oarlock(&asked).await?;
    ensure!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let documents: Vec<Value> = serde_saphyr::from_multiple(&String::from_utf8(told.stdout)?)?;
    Ok(access(&documents))
}

/// Fails with what differs.
fn same(printed: &[String], there: &[String]) -> Result<()> {
    let missing: Vec<_> = printed.iter().filter(|one| !there.contains(one)).collect();
    let more: Vec<_> = there.iter().filter(|one| !printed.contains(one)).collect();
    ensure!(missing.is_empty() && more.is_empty(), "missing: {missing:#?}\nmore: {more:#?}");
    Ok(())
}

#[tokio::test]
async fn the_rbac_of_the_base_is_what_rbac_prints_without_plugins() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let objects = base().await?;
    let wanted = printed(folder.path(), &host_args(&objects)?, &[]).await?;
    ensure!(wanted.iter().any(|one| one.contains("webhookconfigurations")), "{wanted:#?}");
    same(&wanted, &access(&objects))
}

#[tokio::test]
async fn the_rbac_of_the_samples_is_what_rbac_prints_and_not_a_verb_more() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for name in SHIPPED {
        fs::copy(built_plugin(name)?, folder.path().join(format!("{name}.wasm")))?;
        let grant = repository_root().join(GRANTS).join(format!("{name}.yaml"));
        fs::copy(grant, folder.path().join(format!("{name}.yaml")))?;
    }
    let objects = samples().await?;
    // The Plugin objects are in the RBAC of the base.
    let mut args = host_args(&objects)?;
    args.retain(|arg| !arg.starts_with("--plugin-objects="));
    let printed = printed(folder.path(), &args, &["--name", "oarlock-samples"]).await?;
    ensure!(printed.len() > 50, "{printed:#?}");
    let base = access(&base().await?);
    let added: Vec<String> = access(&objects).into_iter().filter(|one| !base.contains(one)).collect();
    same(&printed, &added)
}

#[test]
fn permissions_that_differ_are_told_apart() -> Result<()> {
    let role = |rules: &str| -> Result<Vec<String>> {
        let text = format!("{{kind: Role, metadata: {{name: a}}, rules: [{rules}]}}");
        Ok(access(&[serde_saphyr::from_str(&text)?]))
    };
    let one = role("{apiGroups: [a], resources: [b], verbs: [get, list]}")?;
    ensure!(
        one == role("{apiGroups: [a], resources: [b], verbs: [list]}, {apiGroups: [a], resources: [b], verbs: [get]}")?
    );
    for other in [
        "{apiGroups: [a], resources: [b], verbs: [get]}",
        "{apiGroups: [a], resources: [b], verbs: [get, list], resourceNames: [x]}",
        "{apiGroups: [b], resources: [b], verbs: [get, list]}",
        "{apiGroups: [a], resources: [b/status], verbs: [get, list]}",
    ] {
        ensure!(one != role(other)?, "{other}");
    }
    Ok(())
}
