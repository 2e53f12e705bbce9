//! Makes objects, faster than a script could.

use anyhow::{Context, Result};
use futures::StreamExt as _;
use http::Request;
use serde_json::{Value, json};

/// What to make.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// `networks` or `configmaps`
    what: String,
    /// How many
    #[arg(long)]
    count: usize,
    /// Size of each one's payload, in bytes; ConfigMaps only
    #[arg(long, default_value_t = 1000)]
    bytes: usize,
    /// Label of ConfigMaps, KEY=VALUE
    #[arg(long, default_value = "bench=true")]
    label: String,
}

pub(crate) async fn run(args: Args) -> Result<()> {
    let client = kube::Client::try_default().await.context("no API server: set KUBECONFIG")?;
    let results = futures::stream::iter((0..args.count).map(|i| {
        let (client, (path, object)) = (client.clone(), object(&args, i));
        async move {
            let request =
                Request::post(path).header("content-type", "application/json").body(object.to_string().into());
            client.request::<Value>(request?).await?;
            anyhow::Ok(())
        }
    }));
    let mut results = results.buffer_unordered(8);
    while let Some(made) = results.next().await {
        made?;
    }
    Ok(())
}

fn object(args: &Args, i: usize) -> (&'static str, Value) {
    if args.what == "networks" {
        let network = format!("10.{}.{}", i / 256 % 256, i % 256);
        let object = json!({
            "apiVersion": "samplecrd.k8s.io/v1", "kind": "Network", "metadata": {"name": format!("network-{i:05}")},
            "spec": {"cidr": format!("{network}.0/24"), "gateway": format!("{network}.1")},
        });
        return ("/apis/samplecrd.k8s.io/v1/namespaces/default/networks", object);
    }
    let (key, value) = args.label.split_once('=').unwrap_or((&args.label, ""));
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": format!("config-{i:06}"), "labels": {key: value}},
        "data": {"payload": "x".repeat(args.bytes)},
    });
    ("/api/v1/namespaces/default/configmaps", object)
}
