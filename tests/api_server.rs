//! The embedded API server as a process: what a SIGKILL leaves behind.

use anyhow::{Context, Result, ensure};
use http::Method;
use oarlock_tests::harness::{HttpClient, Process, SOON, oarlock_binary};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::sync::Notify;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// Within which some large objects are stored.
const MANY_WRITES: Duration = Duration::from_secs(60);

async fn start(folder: &Path) -> Result<(Process, HttpClient)> {
    let data = folder.join("data");
    let data = data.to_str().context("a path that is text")?;
    let args = ["apiserver", "--port", "0", "--data-dir", data];
    let log = folder.join("apiserver.log");
    let server = Process::spawn("oarlock apiserver", &oarlock_binary()?, &args, &[], &log, false)?;
    let url = server.line(SOON, "its URL", |line| line.text.starts_with("http://")).await?;
    Ok((server, HttpClient::new(&url.text)))
}

/// Name to uid and resourceVersion.
type Versions = BTreeMap<String, (Value, Value)>;

/// What was answered; wakes whoever waits for more.
#[derive(Clone, Default)]
struct Answered(Arc<(Mutex<Versions>, Notify)>);

impl Answered {
    fn known(&self) -> Versions {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, name: String, object: (Value, Value)) {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name, object);
        self.0.1.notify_one();
    }

    async fn reaches(&self, number: usize) {
        while self.known().len() < number {
            self.0.1.notified().await;
        }
    }
}

/// Makes objects until the server is gone.
async fn write(client: HttpClient, prefix: String, answered: Answered) {
    for i in 0.. {
        let name = format!("{prefix}-{i}");
        // Large enough that a snapshot is begun meanwhile.
        let object = json!({"metadata": {"name": name}, "data": {"x": "x".repeat(200_000)}});
        let Ok(answer) = client.json(Method::POST, MAPS, &[], &object).await else { return };
        let Ok(made) = answer.json() else { return };
        let meta = |key: &str| made.pointer(&format!("/metadata/{key}")).cloned().unwrap_or_default();
        answered.add(name, (meta("uid"), meta("resourceVersion")));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_survives_a_sigkill_among_writes() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let answered = Answered::default();
    let mut newest = 0;
    for round in 0..=3 {
        let (mut server, client) = start(folder.path()).await?;
        let list = client.get(MAPS).await?.json()?;
        let version: u64 =
            list.pointer("/metadata/resourceVersion").and_then(Value::as_str).context("a version")?.parse()?;
        ensure!(version > newest, "resource versions go on rising: {version} after {newest}");
        newest = version;
        let items = list.get("items").and_then(Value::as_array).context("items")?;
        let found: BTreeMap<&str, &Value> =
            items.iter().filter_map(|i| Some((i.pointer("/metadata/name")?.as_str()?, i.get("metadata")?))).collect();
        for (name, (uid, version)) in answered.known() {
            let meta = found.get(name.as_str()).with_context(|| format!("{name} was answered and is gone"))?;
            ensure!(meta.get("uid") == Some(&uid) && meta.get("resourceVersion") == Some(&version), "{meta}");
            newest = newest.max(version.as_str().context("a version")?.parse()?);
        }
        if round == 3 {
            break;
        }
        let before = answered.known().len();
        let writers: Vec<_> = (0..4)
            .map(|w| tokio::spawn(write(HttpClient::new(client.base()), format!("r{round}w{w}"), answered.clone())))
            .collect();
        tokio::time::timeout(MANY_WRITES, answered.reaches(before + 15)).await.context("writes are answered")?;
        server.kill().await?;
        for writer in writers {
            writer.await?;
        }
    }
    Ok(())
}

/// What a web page makes a browser send.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t12_a_page_of_a_stranger_neither_writes_nor_reads() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (_server, client) = start(folder.path()).await?;
    let forged = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "forged"}}).to_string();
    for header in [("origin", "http://evil.example"), ("sec-fetch-site", "cross-site"), ("host", "evil.example")] {
        for (method, body) in [(Method::POST, forged.clone()), (Method::GET, String::new())] {
            let answer = client.send(method, MAPS, &[header], body.into()).await?;
            ensure!(answer.status.as_u16() == 403, "{header:?}: {} {}", answer.status, answer.text());
        }
    }
    ensure!(client.get(&format!("{MAPS}/forged")).await?.status.as_u16() == 404, "it was written");
    // As curl sends it, and as Kubernetes takes it.
    let answer = client.send(Method::POST, MAPS, &[], forged.into()).await?;
    ensure!(answer.status.as_u16() == 201, "{} {}", answer.status, answer.text());
    Ok(())
}
