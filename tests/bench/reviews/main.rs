//! Sends AdmissionReviews to a webhook, at a rate or as fast as they are answered, and says how long the answers took.

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use clap::Parser;
use http::Method;
use oarlock_tests::harness::HttpClient;
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// Load on a webhook, in one line of JSON: requests, those per second, and milliseconds at p50, p99 and p99.9.
#[derive(Debug, Parser)]
struct Arguments {
    /// The webhook: https://HOST:PORT/PATH
    #[arg(long)]
    url: String,

    /// The CA bundle in base64, as a webhook configuration has it
    #[arg(long)]
    ca: String,

    /// The object under review, JSON
    #[arg(long)]
    object: PathBuf,

    /// Requests per second, counted from when they are due, or from a timer that is late; 0: as fast as they are answered
    #[arg(long, default_value_t = 0)]
    rate: u32,

    /// For how long
    #[arg(long, default_value_t = 10)]
    seconds: u64,

    /// Requests at once, each on a connection of its own
    #[arg(long, default_value_t = 8)]
    connections: u32,
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the figures")]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let bundle = base64::prelude::BASE64_STANDARD.decode(&arguments.ca)?;
    let at = arguments.url.find('/').and_then(|at| Some(at + 2 + arguments.url.get(at + 2..)?.find('/')?));
    let (base, path) = arguments.url.split_at(at.context("the URL has no path")?);
    let client = HttpClient::with_ca(base, &bundle)?;
    let object: Value = serde_json::from_str(&std::fs::read_to_string(&arguments.object)?)?;
    let body = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"}, "operation": "CREATE",
        "namespace": object.pointer("/metadata/namespace"), "name": object.pointer("/metadata/name"),
        "userInfo": {"username": "load"}, "object": object, "oldObject": null, "dryRun": false}});
    let load = Arc::new(Load { client, path: path.to_owned(), body, next: AtomicU64::new(0) });
    let (began, rate, seconds) = (Instant::now(), arguments.rate, arguments.seconds);
    let askers: Vec<_> =
        (0..arguments.connections).map(|_| tokio::spawn(Arc::clone(&load).ask(began, rate, seconds))).collect();
    let mut took: Vec<Duration> = Vec::new();
    for asker in askers {
        took.extend(asker.await??);
    }
    let elapsed = began.elapsed().as_secs_f64();
    took.sort();
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a place in a list"
        )]
        let place = ((took.len() as f64 * share) as usize).min(took.len().saturating_sub(1));
        took.get(place).map(|took| (took.as_secs_f64() * 1e5).round() / 100.0)
    };
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let per_second = (took.len() as f64 / elapsed).round();
    println!(
        "{}",
        json!({"requests": took.len(), "perSecond": per_second, "p50": at(0.5), "p99": at(0.99), "p999": at(0.999), "most": at(1.0)})
    );
    Ok(())
}

struct Load {
    client: HttpClient,
    path: String,
    body: Value,
    /// How many were begun.
    next: AtomicU64,
}

impl Load {
    async fn ask(self: Arc<Self>, began: Instant, rate: u32, seconds: u64) -> Result<Vec<Duration>> {
        let mut took = Vec::new();
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let mut due = Instant::now();
            if rate > 0 {
                due = began + Duration::from_micros(number.saturating_mul(1_000_000) / u64::from(rate));
            }
            if due.duration_since(began).as_secs() >= seconds {
                return Ok(took);
            }
            // A timer is up to a millisecond late, which is not the server's.
            if due > Instant::now() {
                tokio::time::sleep_until(due).await;
                due = Instant::now();
            }
            let answer = self.client.json(Method::POST, &self.path, &[], &self.body).await?;
            let answer = answer.json()?;
            ensure!(answer.pointer("/response/allowed") == Some(&Value::Bool(true)), "{answer}");
            took.push(due.elapsed());
        }
    }
}
