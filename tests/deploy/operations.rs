//! The commands of docs/operations.md on the embedded API server: blocks marked `run` run, here or on a node; the others may name only files and flags that exist.

use super::{SHIPPED, access, built, copied};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{
    Cluster, OPERATIONS as GUIDE, Shell, built_plugin, command_blocks, commands, oarlock, repository_root,
};
use regex::Regex;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Blocks that take Pods that run: tests/node runs them.
const ON_A_NODE: [&str; 6] = ["load", "started", "upgrade", "leases", "version", "release"];

/// Blocks that are only read, by a text of each, and why.
const READ: [(&str, &str); 3] = [
    ("make image", "builds everything anew, and names a registry"),
    ("get plugin NAME -o jsonpath", "names a plugin that waits"),
    ("kind: PrometheusRule", "takes the definitions of Prometheus' operator"),
];

/// Runs a line as a reader does, in a checkout.
pub(super) async fn run(line: &str, checkout: &Path, kubeconfig: &Path) -> Result<String> {
    // A command may have to compile plugins first.
    let deadline = std::time::Duration::from_secs(180);
    Shell { checkout, kubeconfig, commands: None, deadline }.run(line).await
}

#[test]
fn every_block_of_the_guide_is_run_or_there_is_a_reason() -> Result<()> {
    let here =
        ["host", "preview", "install", "rbac", "rbac-samples", "secret", "grants", "monitoring", "in-use", "uninstall"];
    for (mark, lines) in command_blocks()? {
        let text = lines.join("\n");
        let read = READ.iter().any(|(part, _)| text.contains(part));
        let known = here.contains(&mark.as_str()) || ON_A_NODE.contains(&mark.as_str());
        ensure!(if mark.is_empty() { read } else { known }, "{GUIDE}: nobody runs run={mark}: {text}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_guide_runs_works_from_the_first_command_to_the_last() -> Result<()> {
    let folder = tempfile::tempdir()?;
    copied(folder.path())?;
    let cluster = Cluster::start(folder.path(), false).await?;
    for mark in ["preview", "host", "install", "secret", "grants", "monitoring", "in-use", "uninstall"] {
        for line in commands(mark)? {
            run(&line, folder.path(), cluster.kubeconfig()).await.with_context(|| format!("block {mark}"))?;
        }
    }
    let left = cluster.list("/api/v1/namespaces").await?;
    ensure!(!left.iter().any(|one| super::text(one, "/metadata/name") == super::NAMESPACE), "the namespace is left");
    Ok(())
}

/// A checkout to run the guide's lines in, and an API server that takes what they apply.
struct Desk {
    folder: tempfile::TempDir,
    deploy: PathBuf,
    cluster: Cluster,
}

impl Desk {
    async fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let deploy = copied(folder.path())?;
        let cluster = Cluster::start(folder.path(), false).await?;
        let desk = Self { folder, deploy, cluster };
        desk.run("kubectl apply -f deploy/base/namespace.yaml").await?;
        desk.run("kubectl create namespace shop").await?;
        Ok(desk)
    }

    async fn run(&self, line: &str) -> Result<String> {
        run(line, self.folder.path(), self.cluster.kubeconfig()).await
    }

    /// Puts plugins with these grants into a folder, and runs a block of the guide about it.
    async fn print(&self, block_of: &str, folder: &str, plugins: &[(&str, String)]) -> Result<()> {
        let folder = self.folder.path().join(folder);
        fs::create_dir(&folder)?;
        for (name, grant) in plugins {
            fs::copy(built_plugin(name)?, folder.join(format!("{name}.wasm")))?;
            fs::write(folder.join(format!("{name}.yaml")), grant)?;
        }
        for line in commands(block_of)? {
            self.run(&line).await?;
        }
        Ok(())
    }

    /// Everybody's permissions, of a kustomization that the API server takes.
    async fn access(&self, kustomization: &str) -> Result<Vec<String>> {
        let folder = self.deploy.join(kustomization);
        self.run(&format!("kubectl apply --dry-run=server --validate=strict -k {}", folder.display())).await?;
        Ok(access(&built(&folder).await?))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rbac_for_plugins_of_ones_own_fits_beside_the_base() -> Result<()> {
    let desk = Desk::new().await?;
    let permissions = "[{apiGroups: [\"\"], resources: [configmaps], verbs: [get, list, watch], namespaces: [shop]}]";
    let grant =
        format!("apiVersion: oarlock.dev/v1alpha1\nkind: PluginGrant\npartial: true\npermissions: {permissions}\n");
    desk.print("rbac", "my-plugins", &[("misfit", grant)]).await?;
    let overlay = desk.deploy.join("overlays/mine");
    fs::create_dir(&overlay)?;
    let head = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n";
    fs::write(overlay.join("kustomization.yaml"), format!("{head}resources: [../../base, my-rbac.yaml]\n"))?;
    fs::rename(desk.folder.path().join("my-rbac.yaml"), overlay.join("my-rbac.yaml"))?;
    let (base, both) = (desk.access("base").await?, desk.access("overlays/mine").await?);
    ensure!(base.iter().all(|one| both.contains(one)), "{both:#?}");
    let new: Vec<_> = both.iter().filter(|one| !base.contains(one)).collect();
    for wanted in [
        "ServiceAccount oarlock/oarlock-misfit",
        "impersonate serviceaccounts. oarlock-misfit",
        "update leases.coordination.k8s.io oarlock-misfit",
        "RoleBinding shop/oarlock-misfit",
        "RoleBinding shop/my-plugins",
    ] {
        ensure!(new.iter().any(|one| one.contains(wanted)), "{wanted}: {new:#?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rbac_for_other_grants_takes_the_place_of_the_samples() -> Result<()> {
    let desk = Desk::new().await?;
    let before = desk.access("overlays/samples").await?;
    let mut plugins = Vec::new();
    for name in SHIPPED {
        let grant = fs::read_to_string(desk.deploy.join(format!("components/samples/grants/{name}.yaml")))?;
        plugins.push((name, grant.replace("namespaces: [default]", "namespaces: [default, shop]")));
    }
    desk.print("rbac-samples", "plugins-with-my-grants", &plugins).await?;
    let after = desk.access("overlays/samples").await?;
    let new: Vec<_> = after.iter().filter(|one| !before.contains(one)).collect();
    ensure!(before.iter().all(|one| after.contains(one)) && new.iter().all(|one| one.contains(" shop/")), "{new:#?}");
    ensure!(new.iter().any(|one| one.contains("patch networks.samplecrd.k8s.io")), "{new:#?}");
    Ok(())
}

#[tokio::test]
async fn what_the_guide_names_is_there() -> Result<()> {
    let root = repository_root();
    let guide = fs::read_to_string(root.join(GUIDE))?;
    let path = Regex::new(r"\b(?:deploy|plugins)/[a-z0-9./-]*[a-z0-9]")?;
    for named in path.find_iter(&guide) {
        ensure!(root.join(named.as_str()).exists(), "{GUIDE} names {}", named.as_str());
    }
    let makefile = fs::read_to_string(root.join("Makefile"))?;
    for target in Regex::new(r"\bmake ([a-z-]+)$|`make ([a-z-]+)`")?.captures_iter(&guide) {
        let target = target.iter().skip(1).flatten().next().map_or("", |found| found.as_str());
        ensure!(makefile.lines().any(|line| line.starts_with(&format!("{target}:"))), "there is no make {target}");
    }
    let flags = Regex::new(r"--[a-z-]+")?;
    let mut asked = 0;
    for command in Regex::new(r"\boarlock (plugins|rbac|confirm|run)\b([^`#\n>]*)")?.captures_iter(&guide) {
        let help = oarlock(&[&command[1], "--help"]).await?;
        let help = String::from_utf8(help.stdout)?;
        for flag in flags.find_iter(&command[2]) {
            asked += 1;
            ensure!(help.contains(flag.as_str()), "oarlock {} has no {}", &command[1], flag.as_str());
        }
    }
    ensure!(asked > 3, "only {asked} flags");
    Ok(())
}
