//! `oarlock apiserver envtest`: its programs, started with the flags that controller-runtime's envtest gives them.

use anyhow::{Context, Result, ensure};
use http::Method;
use oarlock_tests::harness::{HttpClient, Identity, Process, SOON, eventually, oarlock, oarlock_binary};
use rcgen::{CertificateParams, KeyPair};
use serde_json::json;
use std::{
    fs,
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Stdio,
};
use tokio::process::Command;

/// The programs, and the folders of a control plane.
struct Envtest {
    folder: tempfile::TempDir,
    etcd: u16,
    /// The certificate authority of clients, with an administrator.
    admin: Identity,
}

impl Envtest {
    async fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let assets = folder.path().join("the assets");
        let told = oarlock(&["apiserver", "envtest", &assets.display().to_string()]).await?;
        let said = String::from_utf8(told.stdout)?;
        ensure!(said == format!("export KUBEBUILDER_ASSETS='{}'\n", assets.display()), "{said:?} {:?}", told.stderr);
        let certs = folder.path().join("certs");
        fs::create_dir(&certs)?;
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()])?;
        fs::write(certs.join("apiserver.crt"), certificate.self_signed(&key)?.pem())?;
        fs::write(certs.join("apiserver.key"), key.serialize_pem())?;
        let admin = Identity::write_for(&folder.path().join("admin"), "default", &["system:masters"])?;
        Ok(Self { etcd: free_port()?, folder, admin })
    }

    fn program(&self, name: &str) -> PathBuf {
        self.folder.path().join("the assets").join(name)
    }

    fn spawn(&self, name: &str, flags: &[String]) -> Result<Process> {
        Process::spawn(
            name,
            &self.program(name),
            flags,
            &[],
            &self.folder.path().join(name).with_extension("log"),
            false,
        )
    }

    async fn etcd(&self) -> Result<Process> {
        let url = format!("http://127.0.0.1:{}", self.etcd);
        let flags = [
            format!("--advertise-client-urls={url}"),
            format!("--data-dir={}", self.folder.path().join("etcd").display()),
            format!("--listen-client-urls={url}"),
            "--listen-peer-urls=http://127.0.0.1:0".to_owned(),
            "--unsafe-no-fsync=true".to_owned(),
        ];
        let etcd = self.spawn("etcd", &flags)?;
        healthy(&HttpClient::new(&url), "/health", "{\"health\":\"true\",\"reason\":\"\"}").await?;
        Ok(etcd)
    }

    /// A running kube-apiserver, and its URL.
    async fn apiserver(&self, more: &[&str]) -> Result<(Process, String)> {
        let (certs, port) = (self.folder.path().join("certs").display().to_string(), free_port()?);
        let url = format!("https://127.0.0.1:{port}");
        let mut flags = vec![
            "--allow-privileged=true".to_owned(),
            "--authorization-mode=RBAC".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--cert-dir={certs}"),
            format!("--client-ca-file={}", self.admin.ca().display()),
            "--disable-admission-plugins=ServiceAccount".to_owned(),
            format!("--etcd-servers=http://127.0.0.1:{}", self.etcd),
            format!("--secure-port={port}"),
            format!("--service-account-issuer={url}/"),
            format!("--service-account-key-file={certs}/sa-signer.crt"),
            format!("--service-account-signing-key-file={certs}/sa-signer.key"),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        ];
        flags.extend(more.iter().map(|flag| (*flag).to_owned()));
        let server = self.spawn("kube-apiserver", &flags)?;
        let healthz = healthy(&HttpClient::with_ca(&url, &self.ca()?)?, "/healthz", "ok").await;
        healthz.with_context(|| server.tail())?;
        Ok((server, url))
    }

    fn ca(&self) -> Result<Vec<u8>> {
        Ok(fs::read(self.folder.path().join("certs/apiserver.crt"))?)
    }

    fn client(&self, url: &str) -> Result<HttpClient> {
        HttpClient::with_identity(url, &self.ca()?, &self.admin)
    }
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

async fn healthy(client: &HttpClient, path: &str, body: &str) -> Result<()> {
    eventually(SOON, path, async || {
        let answer = client.get(path).await?;
        ensure!(answer.status == 200 && answer.text() == body, "{} {}", answer.status, answer.text());
        Ok(())
    })
    .await
}

async fn ends(mut process: Process) -> Result<()> {
    process.terminate().await?;
    let status = process.wait(SOON).await?;
    ensure!(status.success(), "{status}: {}", process.tail());
    Ok(())
}

async fn create(client: &HttpClient, path: &str, object: serde_json::Value) -> Result<serde_json::Value> {
    let answer = client.json(Method::POST, path, &[], &object).await?;
    ensure!(answer.status == 201, "{} {}", answer.status, answer.text());
    answer.json()
}

/// What envtest asks of the programs before it starts them: whether they have these flags.
#[tokio::test]
async fn their_help_answers_the_questions_of_envtest() -> Result<()> {
    let envtest = Envtest::new().await?;
    for (program, flag, has) in [
        ("etcd", "unsafe-no-fsync", true),
        ("kube-apiserver", "insecure-port", false),
        ("kube-apiserver", "cert-dir", true),
    ] {
        let told = Command::new(envtest.program(program)).arg("--help").stdin(Stdio::null()).output().await?;
        let said = String::from_utf8(told.stdout)? + &String::from_utf8(told.stderr)?;
        ensure!(told.status.success(), "{program}: {said}");
        let found = regex::Regex::new(&format!(r"(?m)^\s*--{flag}\b"))?.is_match(&said);
        ensure!(found == has, "{program} --{flag}: {said}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_programs_are_a_control_plane_without_controllers() -> Result<()> {
    let envtest = Envtest::new().await?;
    let etcd = envtest.etcd().await?;
    let (server, url) =
        envtest.apiserver(&["--audit-log-path=-", "--enable-admission-plugins=AlwaysPullImages"]).await?;
    let client = envtest.client(&url)?;
    for lost in
        ["--audit-log-path has no effect here", "--enable-admission-plugins=AlwaysPullImages has no effect here"]
    {
        server.line(SOON, lost, |line| line.text.contains(lost)).await?;
    }
    ensure!(!server.tail().contains("--allow-privileged"), "{}", server.tail());

    // RBAC applies to everybody else.
    let stranger = HttpClient::with_ca(&url, &envtest.ca()?)?;
    ensure!(stranger.get("/api/v1/namespaces").await?.status == 403, "an anonymous client may read");

    // Without the admission plugin, a Pod needs no ServiceAccount, which no controller makes.
    create(&client, "/api/v1/namespaces", json!({"metadata": {"name": "tests"}})).await?;
    let pod = json!({"metadata": {"name": "web"}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}});
    let pod = create(&client, "/api/v1/namespaces/tests/pods", pod).await?;
    ensure!(pod.pointer("/spec/volumes").is_none() && pod.pointer("/spec/serviceAccountName").is_none(), "{pod}");
    let service = json!({"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}});
    let service = create(&client, "/api/v1/namespaces/tests/services", service).await?;
    let ip = service.pointer("/spec/clusterIP").and_then(|ip| ip.as_str()).context("an address")?;
    ensure!(ip.starts_with("10.0.0."), "{ip} is in --service-cluster-ip-range");
    let deleted = client.send(Method::DELETE, "/api/v1/namespaces/tests", &[], "".into()).await?.json()?;
    ensure!(deleted.pointer("/status/phase") == Some(&json!("Terminating")), "{deleted}");

    // One HTTP call is a fault.
    let rule = "{id: busy, requests: {verbs: [create]}, times: 1, fault: {answer: {code: 429}}}";
    let faults = client.send(Method::POST, "/_oarlock/faults", &[("x-oarlock-faults", "1")], rule.into()).await?;
    ensure!(faults.status.is_success(), "{} {}", faults.status, faults.text());
    let map = json!({"metadata": {"name": "a"}});
    let refused = client.json(Method::POST, "/api/v1/namespaces/default/configmaps", &[], &map).await?;
    ensure!(refused.status == 429, "{}", refused.status);

    // A server that is started again on the same etcd finds its objects; nothing emptied the namespace meanwhile.
    ends(server).await?;
    let (server, url) = envtest.apiserver(&[]).await?;
    let found = envtest.client(&url)?.get("/api/v1/namespaces/tests/pods/web").await?.json()?;
    ensure!(found.pointer("/metadata/uid") == pod.pointer("/metadata/uid"), "{found}");
    ends(server).await?;
    ends(etcd).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_start_lacks_is_said_in_one_line() -> Result<()> {
    let envtest = Envtest::new().await?;
    let _etcd = envtest.etcd().await?;
    let (server, url) = envtest.apiserver(&[]).await?;
    let running = url.rsplit_once(':').context("a port")?.1;
    let certs = format!("--cert-dir={}", envtest.folder.path().join("new certs").display());
    let etcd = format!("--etcd-servers=http://127.0.0.1:{}", envtest.etcd);
    let plain = free_port()?;
    let api = Process::spawn(
        "api",
        &oarlock_binary()?,
        &["apiserver", "--port", &plain.to_string()],
        &[],
        &envtest.folder.path().join("api.log"),
        false,
    )?;
    api.line(SOON, "its URL", |line| line.text.starts_with("http://")).await?;
    for (flags, reason) in [
        (vec![], "--etcd-servers is needed"),
        (vec![&*certs, "--etcd-servers=http://127.0.0.1:1"], "--etcd-servers http://127.0.0.1:1 cannot be used"),
        (
            vec![&certs, &format!("--etcd-servers=http://127.0.0.1:{plain}")],
            "it is an etcd; start the one in the folder of this program",
        ),
        (vec![&certs, &etcd, "--secure-port=many"], "--secure-port many is no port"),
        (vec![&certs, &etcd, "--service-cluster-ip-range=fd00::/108"], "fd00::/108 is no range of IPv4 addresses"),
        (vec![&certs, &etcd, "--client-ca-file=/nowhere/ca"], "cannot read /nowhere/ca"),
        (vec![&certs, &etcd, &format!("--secure-port={running}")], "in use"),
        (vec![&certs, &etcd, &format!("--secure-port={}", free_port()?)], "is in use by another API server"),
    ] {
        let mut command = Command::new(envtest.program("kube-apiserver"));
        command.args(&flags).stdin(Stdio::null()).kill_on_drop(true);
        let told = tokio::time::timeout(SOON, command.output()).await.with_context(|| format!("{flags:?}"))??;
        let said = String::from_utf8(told.stderr)?;
        ensure!(!told.status.success() && said.contains("oarlock: kube-apiserver: "), "{flags:?}: {said}");
        ensure!(said.contains(reason), "{flags:?}: {said}");
    }
    ends(server).await
}

#[tokio::test]
async fn kubectl_is_that_of_the_path() -> Result<()> {
    let envtest = Envtest::new().await?;
    let run = async |path: String| {
        Command::new(envtest.program("kubectl")).args(["get", "a b"]).env("PATH", path).output().await
    };
    let assets = envtest.folder.path().join("the assets").display().to_string();
    let none = run(assets.clone()).await?;
    ensure!(
        none.status.code() == Some(127) && String::from_utf8_lossy(&none.stderr).contains("PATH has no kubectl"),
        "{none:?}"
    );
    let real = envtest.folder.path().join("real");
    fs::create_dir(&real)?;
    script(&real.join("kubectl"), "#!/bin/sh\nprintf '%s;' \"$@\"\n")?;
    let found = run(format!("{assets}:/nowhere:{}", real.display())).await?;
    ensure!(found.stdout == b"get;a b;", "{found:?}");
    Ok(())
}

fn script(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text)?;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}
