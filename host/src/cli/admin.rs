//! The client of a host's admin address.

use anyhow::{Context as _, bail};
use bytes::Bytes;
use clap::Args;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use oarlock::admin::ACTION_HEADER;
use oarlock::api::ObjectKey;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::net::SocketAddr;
use std::time::Duration;

/// Deadline of the host's response; releasing many finalizers takes a while.
const ANSWER: Duration = Duration::from_secs(600);

/// The host to call.
#[derive(Debug, Args)]
pub(super) struct Admin {
    /// Admin address of the host
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9797", value_parser = super::address::admin)]
    admin_addr: SocketAddr,
}

impl Admin {
    /// The address of the host.
    pub(super) fn address(&self) -> SocketAddr {
        self.admin_addr
    }
}

pub(super) async fn act(admin: &Admin, name: &str, action: &str) -> anyhow::Result<()> {
    let said = send(admin, "POST", &oarlock::api::path::join(["plugins", name, action])).await?;
    super::say(said.trim_end())?;
    Ok(())
}

pub(super) async fn send(admin: &Admin, method: &str, path: &str) -> anyhow::Result<String> {
    exchange(admin.admin_addr, method, path, Bytes::new(), ANSWER).await
}

/// The query for an object.
///
/// * `kind` - as for kubectl.
pub(super) fn object_query(kind: &str, key: &ObjectKey) -> String {
    let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
    format!("kind={}&namespace={}&name={}", encode(kind), encode(&key.namespace), encode(&key.name))
}

/// Sends a request with a body to the admin address of a host, and returns the body of the response.
///
/// # Errors
///
/// The host does not answer in time, or refuses: then its words.
pub(super) async fn exchange(
    address: SocketAddr,
    method: &str,
    path: &str,
    body: Bytes,
    within: Duration,
) -> anyhow::Result<String> {
    let exchange = async {
        let (status, body) = respond(address, method, path, body).await?;
        let body = body.collect().await?.to_bytes();
        anyhow::Ok((status, String::from_utf8_lossy(&body).into_owned()))
    };
    let (status, body) = tokio::time::timeout(within, exchange).await.context("the host does not answer")??;
    if !status.is_success() {
        bail!("{}", body.trim_end());
    }
    Ok(body)
}

/// The body of the response to a GET, as it comes.
pub(super) async fn get(admin: &Admin, path: &str) -> anyhow::Result<Incoming> {
    let (status, body) = respond(admin.admin_addr, "GET", path, Bytes::new()).await?;
    if !status.is_success() {
        bail!("{}", String::from_utf8_lossy(&body.collect().await?.to_bytes()).trim_end());
    }
    Ok(body)
}

async fn respond(
    address: SocketAddr,
    method: &str,
    path: &str,
    body: Bytes,
) -> anyhow::Result<(http::StatusCode, Incoming)> {
    let request = http::Request::builder()
        .method(method)
        .uri(format!("http://{address}{path}"))
        .header(ACTION_HEADER, "1")
        .body(Full::new(body))?;
    let client = Client::builder(TokioExecutor::new()).build_http();
    let response = client.request(request).await.with_context(|| {
        format!(
            "no host answers at {address} (--admin-addr, or --host of oarlock plan; in a cluster: kubectl exec into its Pod, or \
             kubectl port-forward)"
        )
    })?;
    let status = response.status();
    Ok((status, response.into_body()))
}
