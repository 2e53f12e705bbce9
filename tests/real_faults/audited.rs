//! What a plan sends, as the audit log of kube-apiserver has it.

use super::{NETWORKS, RECOVERY, Real, SYSTEM, wanted, with_real};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{ControlPlaneOptions, oarlock, text};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Networks that a host has brought in sync.
const IN_SYNC: usize = 100;

/// All Networks.
const MANY: usize = 1000;

/// The flags that write each answered request to a file.
fn audit(folder: &Path) -> Result<(ControlPlaneOptions, PathBuf)> {
    let (policy, log) = (folder.join("audit-policy.yaml"), folder.join("audit.log"));
    let rules = json!({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
        "rules": [{"level": "Metadata"}]});
    std::fs::write(&policy, rules.to_string())?;
    let flags = [("--audit-policy-file", &policy), ("--audit-log-path", &log)];
    let apiserver_flags = flags.map(|(flag, file)| format!("{flag}={}", file.display())).to_vec();
    Ok((ControlPlaneOptions { apiserver_flags, ..ControlPlaneOptions::default() }, log))
}

/// The requests of a user.
fn requests_of(log: &Path, user: &str) -> Result<Vec<Value>> {
    let lines = std::fs::read_to_string(log)?;
    let events = lines.lines().map(serde_json::from_str::<Value>).collect::<Result<Vec<_>, _>>()?;
    Ok(events.into_iter().filter(|event| text(event, "/user/username") == user).collect())
}

/// An account that may read what docs/plan.md names, and no more. Returns its kubeconfig.
async fn reader(real: &Real) -> Result<PathBuf> {
    let accounts = format!("/api/v1/namespaces/{SYSTEM}/serviceaccounts");
    real.cluster.create(&accounts, &json!({"metadata": {"name": "planner"}})).await?;
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let read =
        |group: &str, resource: &str| json!({"apiGroups": [group], "resources": [resource], "verbs": ["get", "list"]});
    let role = json!({"metadata": {"name": "planner"}, "rules": [read("samplecrd.k8s.io", "networks"), read("", "namespaces"),
        read("apiextensions.k8s.io", "customresourcedefinitions")]});
    real.cluster.create(&format!("{rbac}/clusterroles"), &role).await?;
    let binding = json!({"metadata": {"name": "planner"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "planner"},
        "subjects": [{"kind": "ServiceAccount", "name": "planner", "namespace": SYSTEM}]});
    real.cluster.create(&format!("{rbac}/clusterrolebindings"), &binding).await?;
    let request =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}});
    let token = text(&real.cluster.create(&format!("{accounts}/planner/token"), &request).await?, "/status/token");
    let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "current-context": "real",
        "clusters": [{"name": "real", "cluster": {
            "server": real.plane.url()?, "certificate-authority": real.plane.folder().join("certs/ca.crt")}}],
        "users": [{"name": "planner", "user": {"token": token}}],
        "contexts": [{"name": "real", "context": {"cluster": "real", "user": "planner"}}]});
    let file = real.folder.path().join("planner.kubeconfig");
    std::fs::write(&file, kubeconfig.to_string())?;
    Ok(file)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_of_a_thousand_networks_is_in_the_audit_log_with_reads_alone() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (options, log) = audit(folder.path())?;
    with_real(options, async |real: &mut Real| {
        let user = real.user();
        user.create_all(0..IN_SYNC).await?;
        real.settled(RECOVERY, &wanted(0..IN_SYNC, 1), 0).await?;
        real.kill_host().await?;
        user.create_all(IN_SYNC..MANY).await?;
        let kubeconfig = reader(real).await?;
        let versions = async || {
            let all = real.cluster.list(NETWORKS).await?;
            Ok::<_, anyhow::Error>(all.iter().map(|one| text(one, "/metadata/resourceVersion")).collect::<Vec<_>>())
        };
        let before = versions().await?;
        let journal = async || match real.neutron.is_external() {
            true => Ok(Vec::new()),
            false => real.neutron.journal().await,
        };
        let last = journal().await?.last().and_then(|entry| entry["number"].as_u64());

        let [plugins, kubeconfig] = [&real.options.plugins, &kubeconfig].map(|path| path.display().to_string());
        let output = oarlock(&["plan", &plugins, "--kubeconfig", &kubeconfig, "-o", "json"]).await?;
        let document: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?;
        let summary = &document["summary"];
        ensure!(document["problems"] == json!([]), "{}", document["problems"]);
        ensure!(summary["checked"] == MANY && summary["inSync"] == IN_SYNC, "{summary}");

        ensure!(versions().await? == before, "the plan changed a Network");
        let planner = requests_of(&log, &format!("system:serviceaccount:{SYSTEM}:planner"))?;
        let lists = planner.iter().filter(|event| text(event, "/objectRef/resource") == "networks");
        // In pages of 500.
        ensure!(lists.count() >= 2, "{planner:#?}");
        let reads = |event: &&Value| ["get", "list", "watch"].contains(&text(event, "/verb").as_str());
        let others: Vec<_> = planner.iter().filter(|event| !reads(event)).collect();
        ensure!(others.is_empty(), "{others:#?}");
        // The log has writes: those of the administrator.
        let created = requests_of(&log, "admin")?;
        let created =
            created.iter().filter(|event| event["verb"] == "create" && event["objectRef"]["resource"] == "networks");
        ensure!(created.count() >= MANY, "the log is not complete");
        let journal = journal().await?;
        let new: Vec<_> = journal.iter().filter(|entry| entry["number"].as_u64() > last).collect();
        ensure!(real.neutron.is_external() || new.len() >= MANY, "only {} requests to Neutron", new.len());
        let written: Vec<_> = new.iter().filter(|entry| text(entry, "/method") != "GET").collect();
        ensure!(written.is_empty(), "{written:?}");
        // Its end is no fault.
        real.start_host().await
    })
    .await
}
