//! The Kubernetes API server of a test: embedded, or a real one.

use super::borrowed::{self, Borrowed};
use super::identity::Identity;
use super::process::{Process, oarlock_binary};
use super::wait::eventually;
use super::world::SOON;
use anyhow::{Context, Result, bail, ensure};
use http::{Method, Request};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{fs, process::Command, time::timeout};

const KUBECTL: Duration = Duration::from_secs(180);

/// Begins the names of [`Cluster::fresh_namespace`].
pub(super) const FRESH_NAMESPACE: &str = "oarlock-e2e-";

/// An API server and its clients, without any gate.
pub struct Cluster {
    client: kube::Client,
    kubeconfig: PathBuf,
    scratch: PathBuf,
    server: Option<Process>,
    borrowed: Option<Box<Borrowed>>,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster")
            .field("kubeconfig", &self.kubeconfig)
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl Cluster {
    /// Whether the tests use clusters that `KUBECONFIG_E2E` names, instead of embedded API servers.
    #[must_use]
    pub fn external() -> bool {
        borrowed::is_named()
    }

    /// Takes a free cluster of `KUBECONFIG_E2E`, or else starts an `oarlock apiserver`.
    ///
    /// * `folder` - for the kubeconfig, logs and kubectl's cache.
    /// * `own_group` - see [`Process::spawn`].
    ///
    /// # Errors
    ///
    /// The server cannot be started or reached.
    pub async fn start(folder: &Path, own_group: bool) -> Result<Self> {
        // The future is large, and every test holds one.
        let borrowed = Box::pin(Borrowed::take()).await?.map(Box::new);
        let (kubeconfig, server) = match &borrowed {
            Some(borrowed) => (borrowed.write_kubeconfig(folder)?, None),
            None => {
                let kubeconfig = folder.join("kubeconfig");
                let identity = Identity::write(&folder.join("webhook-client"), "kube-apiserver")?;
                let server = Process::spawn(
                    "oarlock apiserver",
                    &oarlock_binary()?,
                    &[
                        OsStr::new("apiserver"),
                        "--port".as_ref(),
                        "0".as_ref(),
                        "--kubeconfig-out".as_ref(),
                        kubeconfig.as_ref(),
                        "--admission-control-config-file".as_ref(),
                        identity.admission_configuration().as_ref(),
                    ],
                    &[],
                    &folder.join("apiserver.log"),
                    own_group,
                )?;
                (kubeconfig, Some(server))
            }
        };
        let connected = eventually(SOON, "the API server", || connect(&kubeconfig)).await;
        let client = match (&connected, &server) {
            (Err(_), Some(server)) => connected.with_context(|| server.tail())?,
            _ => connected?,
        };
        Ok(Self { client, kubeconfig, scratch: folder.to_owned(), server, borrowed })
    }

    /// Joins a cluster with another owner: objects created in it stay.
    ///
    /// * `scratch` - for kubectl's cache.
    ///
    /// # Errors
    ///
    /// The cluster cannot be reached.
    ///
    /// When it cannot be reached.
    pub async fn join(kubeconfig: PathBuf, scratch: &Path) -> Result<Self> {
        let client = connect(&kubeconfig).await?;
        Ok(Self { client, kubeconfig, scratch: scratch.to_owned(), server: None, borrowed: None })
    }

    /// Whether the cluster comes from `KUBECONFIG_E2E`, and so outlives the test.
    #[must_use]
    pub fn is_external(&self) -> bool {
        self.borrowed.is_some()
    }

    /// A kubeconfig for the server itself.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// A client for the server itself.
    #[must_use]
    pub fn client(&self) -> kube::Client {
        self.client.clone()
    }

    /// The embedded server's process, if there is one.
    pub fn server(&mut self) -> Option<&mut Process> {
        self.server.as_mut()
    }

    /// Writes a kubeconfig for another address of this server with plain HTTP: a gate's.
    ///
    /// * `token` - bearer token; without one the kubeconfig has no credentials.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub async fn kubeconfig_for(&self, url: &str, token: Option<&str>) -> Result<PathBuf> {
        let path = self.scratch.join(if token.is_some() { "kubeconfig-gate-limited" } else { "kubeconfig-gate" });
        let user = token.map_or_else(|| json!({}), |token| json!({"token": token}));
        let text = json!({"apiVersion": "v1", "kind": "Config", "current-context": "gate",
            "clusters": [{"name": "gate", "cluster": {"server": url}}],
            "users": [{"name": "gate", "user": user}],
            "contexts": [{"name": "gate", "context": {"cluster": "gate", "user": "gate", "namespace": "default"}}]});
        fs::write(&path, text.to_string()).await?;
        Ok(path)
    }

    /// Runs kubectl and returns its whole output, warnings first.
    ///
    /// # Errors
    ///
    /// As [`kubectl`](Self::kubectl).
    pub async fn kubectl_said(&self, args: &[&str]) -> Result<String> {
        let output = self.run_kubectl(args).await?;
        Ok(String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout))
    }

    /// Runs kubectl and returns its stdout.
    ///
    /// # Errors
    ///
    /// kubectl is not installed or its exit status is not 0; the message contains its stderr.
    pub async fn kubectl(&self, args: &[&str]) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.run_kubectl(args).await?.stdout).into_owned())
    }

    async fn run_kubectl(&self, args: &[&str]) -> Result<std::process::Output> {
        let mut command = Command::new("kubectl");
        command.args(args).env("KUBECONFIG", &self.kubeconfig).env("KUBECACHEDIR", self.scratch.join("kube-cache"));
        command.env("HOME", &self.scratch).kill_on_drop(true);
        let what = format!("kubectl {}", args.join(" "));
        let output = timeout(KUBECTL, command.output()).await.with_context(|| format!("{what}: still runs"))?;
        let output = output.context("kubectl is needed on the PATH: https://kubernetes.io/docs/tasks/tools")?;
        ensure!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr).trim());
        Ok(output)
    }

    /// Sends one request; the body is sent as JSON unless it is null. The status decides between `Ok` and `Err`.
    ///
    /// # Errors
    ///
    /// The server's Status as `kube::Error::Api`, or a missing response.
    pub async fn request(&self, method: Method, path: &str, content_type: &str, body: &Value) -> Result<Value> {
        request(&self.client, method, path, content_type, body).await
    }

    /// GET; none when the object does not exist.
    ///
    /// # Errors
    ///
    /// Any status but success and 404.
    pub async fn get(&self, path: &str) -> Result<Option<Value>> {
        match self.request(Method::GET, path, "application/json", &Value::Null).await {
            Ok(value) => Ok(Some(value)),
            Err(error) if code(&error) == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The items of a list.
    ///
    /// # Errors
    ///
    /// As [`request`](Self::request).
    pub async fn list(&self, path: &str) -> Result<Vec<Value>> {
        let list = self.request(Method::GET, path, "application/json", &Value::Null).await?;
        Ok(list.get("items").and_then(Value::as_array).cloned().unwrap_or_default())
    }

    /// POST.
    ///
    /// # Errors
    ///
    /// As [`request`](Self::request).
    pub async fn create(&self, path: &str, object: &Value) -> Result<Value> {
        self.request(Method::POST, path, "application/json", object).await
    }

    /// JSON merge patch.
    ///
    /// # Errors
    ///
    /// As [`request`](Self::request).
    pub async fn merge_patch(&self, path: &str, patch: &Value) -> Result<Value> {
        self.request(Method::PATCH, path, "application/merge-patch+json", patch).await
    }

    /// Server-side apply with force.
    ///
    /// # Errors
    ///
    /// As [`request`](Self::request).
    pub async fn apply(&self, path: &str, manager: &str, object: &Value) -> Result<Value> {
        let path = format!("{path}?fieldManager={manager}&force=true");
        self.request(Method::PATCH, &path, "application/apply-patch+yaml", object).await
    }

    /// DELETE; an absent object is no error.
    ///
    /// # Errors
    ///
    /// Any status but success and 404.
    pub async fn delete(&self, path: &str) -> Result<()> {
        match self.request(Method::DELETE, path, "application/json", &Value::Null).await {
            Err(error) if code(&error) != Some(404) => Err(error),
            _ => Ok(()),
        }
    }

    /// Creates a namespace with a new name and returns the name.
    ///
    /// # Errors
    ///
    /// As [`request`](Self::request).
    pub async fn fresh_namespace(&self) -> Result<String> {
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": FRESH_NAMESPACE}});
        let made = self.create("/api/v1/namespaces", &body).await?;
        let name = made.pointer("/metadata/name").and_then(Value::as_str).context("a namespace without a name")?;
        if self.is_external() {
            // Pods need it, and its controller may be slow or absent.
            let account = json!({"metadata": {"name": "default"}});
            let made = self.create(&format!("/api/v1/namespaces/{name}/serviceaccounts"), &account).await;
            made.map(drop).or_else(|error| if code(&error) == Some(409) { Ok(()) } else { Err(error) })?;
            // kube-controller-manager creates it some time later, which could be while a test checks that nothing changes.
            let root_ca = |namespace: &str| format!("/api/v1/namespaces/{namespace}/configmaps/kube-root-ca.crt");
            if self.get(&root_ca("default")).await?.is_some() {
                let path = root_ca(name);
                let is_there = || async { self.get(&path).await?.context("it does not exist").map(drop) };
                eventually(SOON, &path, is_there).await?;
            }
        }
        Ok(name.to_owned())
    }

    /// Applies a CustomResourceDefinition from a YAML file and waits until its kind is served.
    ///
    /// # Errors
    ///
    /// The file is invalid, the server rejects it, or does not serve the kind within [`SOON`].
    pub async fn apply_crd(&self, file: &Path) -> Result<()> {
        let text = fs::read_to_string(file).await.with_context(|| file.display().to_string())?;
        let crd: Value = serde_saphyr::from_str(&text).with_context(|| file.display().to_string())?;
        let field = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).map(ToOwned::to_owned);
        let name = field("/metadata/name").context("no metadata.name")?;
        self.apply(&format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"), "e2e", &crd).await?;
        let (Some(group), Some(version)) = (field("/spec/group"), field("/spec/versions/0/name")) else {
            bail!("{}: no group or version", file.display())
        };
        let plural = field("/spec/names/plural").context("no plural")?;
        let path = format!("/apis/{group}/{version}/{plural}");
        eventually(SOON, &format!("{path} to be served"), || self.list(&path)).await?;
        Ok(())
    }
}

/// Sends one request; the body is sent as JSON unless it is null.
pub(super) async fn request(
    client: &kube::Client,
    method: Method,
    path: &str,
    content_type: &str,
    body: &Value,
) -> Result<Value> {
    let what = format!("{method} {path}");
    let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = Request::builder().method(method).uri(path).header("content-type", content_type).body(bytes)?;
    client.request::<Value>(request).await.with_context(|| what)
}

async fn connect(kubeconfig: &Path) -> Result<kube::Client> {
    let config = Kubeconfig::read_from(kubeconfig)?;
    let config = kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
    let client = kube::Client::try_from(config)?;
    client.apiserver_version().await?;
    Ok(client)
}

/// The HTTP status of an API error, if it is one.
#[must_use]
pub fn code(error: &anyhow::Error) -> Option<u16> {
    match error.downcast_ref::<kube::Error>() {
        Some(kube::Error::Api(status)) => Some(status.code),
        _ => None,
    }
}
