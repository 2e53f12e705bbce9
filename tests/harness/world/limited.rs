//! Hosts with limits: the RBAC of `oarlock rbac`, or a number of open files.

use super::World;
use crate::harness::{oarlock, text};
use anyhow::{Context, Result, ensure};
use serde_json::json;

/// The namespace of the ServiceAccounts of the host and the plugins.
const SYSTEM: &str = "oarlock-system";

impl World {
    /// Limits the open files of hosts that are started from now on.
    pub fn limit_open_files(&self, files: u32) {
        self.host_options().open_files = Some(files);
    }

    /// Makes the next host run as the ServiceAccount `oarlock`, without permissions yet.
    ///
    /// * `impersonate` - whether it runs with `--impersonate`.
    ///
    /// # Errors
    ///
    /// The account cannot be created.
    pub async fn limit_host(&self, impersonate: bool) -> Result<()> {
        let named = |name: &str| json!({"metadata": {"name": name}});
        self.cluster.create("/api/v1/namespaces", &named(SYSTEM)).await?;
        let accounts = format!("/api/v1/namespaces/{SYSTEM}/serviceaccounts");
        self.cluster.create(&accounts, &named("oarlock")).await?;
        self.act_as(SYSTEM, "oarlock").await?;
        if impersonate {
            let mut options = self.host_options();
            options.args.push("--impersonate".to_owned());
            // Independent of where the tests run.
            options.args.extend(["--impersonate-namespace".to_owned(), SYSTEM.to_owned()]);
        }
        Ok(())
    }

    /// Makes the next host run as an existing ServiceAccount.
    ///
    /// # Errors
    ///
    /// The account does not exist.
    pub async fn act_as(&self, namespace: &str, account: &str) -> Result<()> {
        let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
        let token = self
            .cluster
            .create(&format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"), &request)
            .await?;
        let token = text(&token, "/status/token");
        ensure!(!token.is_empty(), "no token");
        let kubeconfig = self.cluster.kubeconfig_for(&self.kubernetes_gate.url(), Some(&token)).await?;
        self.host_options().kubeconfig = kubeconfig;
        Ok(())
    }

    /// Adds arguments of hosts that are started from now on; those about admission only for [hosts with an admission
    /// server](Self::start_host_answering).
    pub fn add_host_args(&self, args: impl IntoIterator<Item = String>) {
        let (answering, always): (Vec<_>, Vec<_>) = args.into_iter().partition(|arg| arg.starts_with("--admission-"));
        self.host_options().args.extend(always);
        self.answering.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend(answering);
    }

    /// Applies the output of `oarlock rbac` for the plugin directory, with kubectl.
    ///
    /// # Errors
    ///
    /// The output is empty, or the server rejects it.
    pub async fn apply_rbac(&self, impersonate: bool) -> Result<()> {
        self.apply_rbac_with(if impersonate { &["--impersonate"] } else { &[] }).await
    }

    /// As [`Self::apply_rbac`], with these arguments.
    ///
    /// # Errors
    ///
    /// As there.
    pub async fn apply_rbac_with(&self, args: &[&str]) -> Result<()> {
        let folder = self.plugins.path().display().to_string();
        let told = oarlock(&[&["rbac", folder.as_str(), "--namespace", SYSTEM], args].concat()).await?;
        ensure!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        let file = self.folder().join("rbac.yaml");
        std::fs::write(&file, &told.stdout).with_context(|| file.display().to_string())?;
        self.cluster.kubectl(&["apply", "-f", &file.display().to_string()]).await?;
        Ok(())
    }
}
