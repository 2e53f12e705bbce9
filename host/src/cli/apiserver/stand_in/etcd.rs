//! In place of etcd: a health check, and the folder where the API server beside it keeps its objects.

use super::flags::Flags;
use anyhow::{Context as _, bail};
use axum::{Json, Router, http::StatusCode, routing::get};
use http_body_util::{BodyExt as _, Limited};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::net::TcpListener;
use url::Url;

/// Where the API server asks for the folder.
const FOLDER: &str = "/_oarlock/data-dir";

/// Deadline of that answer, and its largest size.
const ANSWER: (Duration, usize) = (Duration::from_secs(10), 16 * 1024);

const HELP: &str = "In place of etcd, for kube-apiserver of the same folder (oarlock apiserver envtest). Every flag of etcd is taken.\n
      --data-dir DIR                          the objects are below it [default: default.etcd]
      --listen-client-urls http://HOST:PORT   the port, on loopback [default: http://localhost:2379]
      --unsafe-no-fsync                       no effect: only snapshots are synced\n
docs/api-server.md says more.";

pub(super) async fn run(arguments: &[String]) -> anyhow::Result<()> {
    let mut flags = Flags::read(arguments);
    if flags.has(&["help", "h"]) {
        return crate::cli::say(HELP);
    }
    if flags.has(&["version"]) {
        return crate::cli::say(concat!("etcd Version: oarlock ", env!("CARGO_PKG_VERSION")));
    }
    let dir = PathBuf::from(flags.take("data-dir").unwrap_or_else(|| "default.etcd".to_owned()));
    std::fs::create_dir_all(&dir).with_context(|| format!("cannot create --data-dir {}", dir.display()))?;
    let dir = std::path::absolute(dir)?;
    let mut urls = flags.take_list("listen-client-urls");
    if urls.is_empty() {
        urls.push("http://localhost:2379".to_owned());
    }
    let stop = crate::cli::signals::stop_token()?;
    let mut servers = Vec::new();
    for url in urls {
        let address = address(&url)?;
        let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
        let served = axum::serve(listener, router(&dir)).with_graceful_shutdown(stop.clone().cancelled_owned());
        servers.push(tokio::spawn(served.into_future()));
    }
    tracing::info!(data_dir = %dir.display(), "in place of etcd");
    stop.cancelled().await;
    for server in servers {
        // A client that reads nothing does not hold the end up.
        let _ = tokio::time::timeout(Duration::from_secs(1), server).await;
    }
    Ok(())
}

fn router(dir: &Path) -> Router {
    let dir = dir.display().to_string();
    Router::new()
        .route("/health", get(async || Json(serde_json::json!({"health": "true", "reason": ""}))))
        .route("/version", get(async || Json(serde_json::json!({"etcdserver": "oarlock", "etcdcluster": "oarlock"}))))
        .route(FOLDER, get(async move || dir.clone()))
        .fallback(async || (StatusCode::NOT_FOUND, "this is no etcd: oarlock apiserver envtest wrote it\n"))
}

fn address(url: &str) -> anyhow::Result<SocketAddr> {
    let parsed = Url::parse(url).with_context(|| format!("--listen-client-urls {url} is no URL"))?;
    if parsed.scheme() != "http" {
        bail!("--listen-client-urls {url}: only http is served");
    }
    let host = super::loopback("--listen-client-urls", parsed.host_str().unwrap_or_default());
    Ok(SocketAddr::new(host, parsed.port().unwrap_or(2379)))
}

/// The data directory for an API server.
///
/// * `url` - of the process that [`run`] serves.
///
/// # Errors
///
/// The process does not answer, or is an etcd.
pub(super) async fn data_dir(url: &str) -> anyhow::Result<PathBuf> {
    let asked = async {
        let request = http::Request::get(format!("{}{FOLDER}", url.trim_end_matches('/'))).body(String::new())?;
        let response = Client::builder(TokioExecutor::new()).build_http().request(request).await?;
        if !response.status().is_success() {
            bail!("it is an etcd; start the one in the folder of this program");
        }
        let body = Limited::new(response.into_body(), ANSWER.1).collect().await.map_err(anyhow::Error::from_boxed)?;
        Ok(PathBuf::from(String::from_utf8(body.to_bytes().to_vec())?).join("oarlock"))
    };
    tokio::time::timeout(ANSWER.0, asked)
        .await
        .context("it does not answer")
        .flatten()
        .with_context(|| format!("--etcd-servers {url} cannot be used"))
}
