//! The node as its bodies use it: a reader's shell and kubectl, the hosts' Pods, and a Neutron that is a Pod, too.

use anyhow::{Context, Result, bail, ensure};
use oarlock_tests::harness::{Cluster, HttpClient, SHIPPED, Shell, checkout, commands, eventually, text};
use serde_json::{Value, json};
use std::{
    env, fs,
    path::{Path, PathBuf},
    time::Duration,
};

/// How long anything may take that Pods have to start or end for, on a machine that is busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// Where the hosts are.
pub(crate) const HOME: &str = "oarlock";

const HOSTS: &str = "app.kubernetes.io/component=host";

/// A node that runs.
pub(crate) struct Node {
    /// Its API server.
    pub(crate) cluster: Cluster,
    folder: tempfile::TempDir,
    /// Commands of tools that a reader has.
    tools: PathBuf,
    /// Where what failed bodies leave is kept.
    kept: PathBuf,
}

impl Node {
    /// Joins the node whose folder is `OARLOCK_NODE`, and puts a Neutron into it.
    pub(crate) async fn join() -> Result<Self> {
        let kept = PathBuf::from(env::var_os("OARLOCK_NODE").context("no OARLOCK_NODE")?);
        let folder = tempfile::tempdir()?;
        checkout(folder.path())?;
        std::os::unix::fs::symlink(kept.join("image"), folder.path().join("target/image"))?;
        let cluster = Cluster::join(kept.join("admin.kubeconfig"), folder.path()).await?;
        let node = Self { cluster, folder, tools: kept.join("tools"), kept };
        node.neutron_server("neutron-server", "10.96.0.40", &[]).await?;
        Ok(node)
    }

    /// The checkout that commands are run in.
    pub(crate) fn checkout(&self) -> &Path {
        self.folder.path()
    }

    /// The folder of the run.
    pub(crate) fn kept(&self) -> &Path {
        &self.kept
    }

    /// Runs a line as a reader does, in the checkout.
    pub(crate) async fn run(&self, line: &str) -> Result<String> {
        let (checkout, kubeconfig) = (self.folder.path(), self.cluster.kubeconfig());
        Shell { checkout, kubeconfig, commands: Some(&self.tools), deadline: Duration::from_secs(330) }.run(line).await
    }

    /// Runs a block of docs/operations.md, and returns what its last command printed.
    pub(crate) async fn block(&self, mark: &str) -> Result<String> {
        let mut said = String::new();
        for line in commands(mark)? {
            said = self.run(&line).await.with_context(|| format!("block {mark}"))?;
        }
        Ok(said)
    }

    /// Changes a file of the checkout.
    pub(crate) fn edit(&self, file: &str, from: &str, to: &str) -> Result<()> {
        let path = self.folder.path().join(file);
        let before = fs::read_to_string(&path).with_context(|| file.to_owned())?;
        ensure!(before.contains(from), "{file} has no {from:?}");
        Ok(fs::write(path, before.replace(from, to))?)
    }

    /// Puts deploy/ of the checkout back to what it was.
    pub(crate) fn restore(&self) -> Result<()> {
        fs::remove_dir_all(self.folder.path().join("deploy"))?;
        checkout(self.folder.path()).map(drop)
    }

    /// The samples as they are shipped, with their hosts ready: what most bodies begin with.
    pub(crate) async fn samples(&self) -> Result<()> {
        self.restore()?;
        self.forget_overlay().await?;
        self.run("kubectl apply -k deploy/overlays/samples").await?;
        self.rolled_out().await?;
        self.all_active(SHIPPED.len()).await
    }

    /// A Deployment of an overlay has volumes that applying the samples would leave.
    async fn forget_overlay(&self) -> Result<()> {
        let path = "/apis/apps/v1/namespaces/oarlock/deployments/oarlock";
        let Some(deployment) = self.cluster.get(path).await? else { return Ok(()) };
        let volumes = deployment.pointer("/spec/template/spec/volumes").and_then(Value::as_array);
        let plugins = volumes.into_iter().flatten().any(|volume| text(volume, "/name") == "plugins");
        if plugins || text(&deployment, "/spec/template/spec/containers/0/args/1") != "--plugins=/plugins" {
            self.run("kubectl -n oarlock delete deployment oarlock").await?;
        }
        Ok(())
    }

    /// Waits until the hosts of the Deployment are ready, and no others are there.
    pub(crate) async fn rolled_out(&self) -> Result<()> {
        self.run("kubectl -n oarlock rollout status deployment/oarlock --timeout=300s").await?;
        eventually(PATIENCE, "the hosts before to be gone", || async {
            let (hosts, all) = (self.hosts().await?, self.pods(HOME, HOSTS).await?);
            ensure!(hosts.len() == all.len() && !hosts.is_empty(), "{} of {} stay", hosts.len(), all.len());
            Ok(())
        })
        .await
    }

    /// Pods by a label.
    pub(crate) async fn pods(&self, namespace: &str, labels: &str) -> Result<Vec<Value>> {
        let labels = labels.replace('=', "%3D");
        self.cluster.list(&format!("/api/v1/namespaces/{namespace}/pods?labelSelector={labels}")).await
    }

    /// The Pods of hosts that are ready and not ending.
    pub(crate) async fn hosts(&self) -> Result<Vec<Value>> {
        let mut hosts = self.pods(HOME, HOSTS).await?;
        hosts.retain(|pod| pod.pointer("/metadata/deletionTimestamp").is_none() && is_ready(pod));
        Ok(hosts)
    }

    /// What a host tells of its plugins.
    pub(crate) async fn plugins(&self, pod: &str) -> Result<Vec<Value>> {
        let said = self.run(&format!("kubectl -n oarlock exec {pod} -- oarlock plugins --json")).await?;
        let told: Value = serde_json::from_str(&said).with_context(|| said.clone())?;
        let list = told.get("plugins").and_then(Value::as_array).cloned();
        list.with_context(|| format!("no plugins in {told}"))
    }

    /// What a host tells of one plugin.
    pub(crate) async fn plugin(&self, pod: &str, name: &str) -> Result<Value> {
        let all = self.plugins(pod).await?;
        all.iter().find(|one| text(one, "/name") == name).cloned().with_context(|| format!("no {name} in {all:?}"))
    }

    /// Waits until every host runs so many plugins, and the API server allows all that they are granted.
    pub(crate) async fn all_active(&self, number: usize) -> Result<()> {
        eventually(PATIENCE, &format!("{number} plugins to be active"), || async {
            let hosts = self.hosts().await?;
            ensure!(!hosts.is_empty(), "no host is ready");
            for host in hosts {
                let mut plugins = self.plugins(&text(&host, "/metadata/name")).await?;
                // Of an overlay before: objects have its finalizer.
                plugins.retain(|plugin| text(plugin, "/state") != "retired");
                ensure!(plugins.len() == number, "{plugins:?}");
                for plugin in &plugins {
                    let missing = plugin.get("missingPermissions").and_then(Value::as_array).map_or(0, Vec::len);
                    ensure!(text(plugin, "/state") == "active" && missing == 0, "{plugin}");
                }
            }
            Ok(())
        })
        .await
    }

    /// The Pod that reconciles for a plugin.
    pub(crate) async fn leader(&self, plugin: &str) -> Result<String> {
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{HOME}/leases/oarlock-{plugin}");
        let lease = self.cluster.get(&path).await?.with_context(|| format!("{plugin} has no Lease"))?;
        let holder = text(&lease, "/spec/holderIdentity");
        let (pod, _) = holder.rsplit_once('_').with_context(|| format!("nobody holds {lease}"))?;
        Ok(pod.to_owned())
    }

    /// The host's process in a Pod.
    pub(crate) fn process_of(pod: &str) -> Result<u32> {
        let mine = format!("POD_NAME={pod}");
        for entry in fs::read_dir("/proc")? {
            let path = entry?.path();
            let environment = fs::read(path.join("environ")).unwrap_or_default();
            let command = fs::read(path.join("cmdline")).unwrap_or_default();
            let args: Vec<&[u8]> = command.split(|byte| *byte == 0).collect();
            let is_host =
                args.first().is_some_and(|program| program.ends_with(b"oarlock")) && args.contains(&&b"run"[..]);
            if is_host && environment.split(|byte| *byte == 0).any(|one| one == mine.as_bytes()) {
                let pid = path.file_name().and_then(|name| name.to_str()).context("no process id")?;
                return Ok(pid.parse()?);
            }
        }
        bail!("no process of {pod}")
    }

    /// Asks until kubectl's jsonpath prints this.
    pub(crate) async fn shows(&self, what: &str, jsonpath: &str, expected: &str) -> Result<()> {
        eventually(PATIENCE, &format!("{what} {jsonpath} to be {expected}"), || async {
            let said = self.run(&format!("kubectl get {what} -o jsonpath='{jsonpath}'")).await?;
            ensure!(said.trim() == expected, "{said}");
            Ok(())
        })
        .await
    }

    /// Waits until a Network is Ready.
    pub(crate) async fn network_is_ready(&self, namespace: &str, name: &str) -> Result<()> {
        self.run(&format!(
            "kubectl -n {namespace} wait --for=condition=Ready networks.samplecrd.k8s.io/{name} --timeout=300s"
        ))
        .await
        .map(drop)
    }

    /// A Neutron as Pod and Service in the namespace `openstack`, where the samples' grants look for one.
    pub(crate) async fn neutron_server(&self, name: &str, address: &str, args: &[&str]) -> Result<()> {
        let args: Vec<&str> = ["--bind", "0.0.0.0", "--port", "9696"].into_iter().chain(args.iter().copied()).collect();
        let labels = json!({"app": name});
        let objects = json!({"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "openstack"}},
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "openstack"}, "spec": {"selector": labels,
                "clusterIP": address, "ports": [{"name": "neutron", "port": 9696}, {"name": "keystone", "port": 5000}]}},
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "openstack", "labels": labels}, "spec": {
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "neutron", "image": "localhost/neutron:1", "args": args,
                    "readinessProbe": {"tcpSocket": {"port": 9696}, "periodSeconds": 1}}]}},
        ]});
        let file = self.folder.path().join(format!("{name}.json"));
        fs::write(&file, objects.to_string())?;
        self.run(&format!("kubectl apply -f {}", file.display())).await?;
        self.run(&format!("kubectl -n openstack wait --for=condition=Ready pod/{name} --timeout=300s")).await.map(drop)
    }

    /// What Neutron has of a kind (`networks`, `ports`), past the plugins.
    pub(crate) async fn neutron(&self, kind: &str) -> Result<Vec<Value>> {
        let answer = HttpClient::new("http://10.96.0.40:9696").get(&format!("/v2.0/{kind}")).await?;
        let all = answer.json()?;
        all.get(kind).and_then(Value::as_array).cloned().with_context(|| format!("{all}"))
    }

    /// Pods, events and logs of the hosts, for who looks why a body failed.
    pub(crate) async fn keep_what_was_said(&self, body: &str) {
        let folder = self.kept.join("failed").join(body.replace("::", "-"));
        let _ = fs::create_dir_all(&folder);
        let lines = [
            ("pods.txt", "kubectl get pods -A -o wide; kubectl -n oarlock describe pods"),
            ("events.txt", "kubectl get events -A --sort-by=.lastTimestamp"),
            ("logs.txt", "kubectl -n oarlock logs --prefix --tail=-1 --selector app.kubernetes.io/component=host"),
            (
                "before.txt",
                "kubectl -n oarlock logs --prefix --previous --tail=-1 --selector app.kubernetes.io/component=host || true",
            ),
        ];
        for (file, line) in lines {
            let said = self.run(line).await.unwrap_or_else(|error| format!("{error:#}"));
            // Only for people.
            let _ = fs::write(folder.join(file), said);
        }
    }
}

/// Whether a Pod's Ready condition is true.
pub(crate) fn is_ready(pod: &Value) -> bool {
    let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|one| text(one, "/type") == "Ready" && text(one, "/status") == "True")
}
