//! Lists of many objects, kept in memory.

use crate::memory;
use anyhow::{Context, Result};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::{WatchStreamExt as _, reflector, watcher};
use oarlock::api::{Discovery, GroupVersionKind};
use oarlock::informer::{Informers, WatchSpec};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Our own informer: the store holds the objects as compact JSON.
pub(crate) async fn informer() -> Result<()> {
    let client = kube::Client::try_default().await.context("no API server: set KUBECONFIG")?;
    let informers = Informers::new(client.clone(), Discovery::new(client.clone()));
    let gvk = GroupVersionKind { group: String::new(), version: "v1".to_owned(), kind: "ConfigMap".to_owned() };
    let before = memory::resident()?;
    let began = Instant::now();
    let subscription = informers.subscribe(WatchSpec::all(gvk), Arc::new(|_| {}));
    subscription.synced(Instant::now() + Duration::from_secs(300)).await?;
    let listed = began.elapsed();
    let relists = || informers.stats().iter().map(|watch| watch.lists).sum::<u64>();
    let first = relists();
    let figures = figures(before, listed, subscription.store().len())?;
    let relisted = relist(&client, || relists() > first && subscription.store().synced()).await?;
    crate::print(&merge(figures, relisted));
    Ok(())
}

/// kube-rs' reflector: the store holds typed objects.
pub(crate) async fn kube_rs() -> Result<()> {
    let client = kube::Client::try_default().await.context("no API server: set KUBECONFIG")?;
    let before = memory::resident()?;
    let began = Instant::now();
    let (store, writer) = reflector::store::<ConfigMap>();
    let (done, lists) = tokio::sync::watch::channel(0_u64);
    let stream = watcher(kube::Api::<ConfigMap>::all(client.clone()), watcher::Config::default())
        .default_backoff()
        .reflect(writer)
        .inspect_ok(move |event| {
            if matches!(event, watcher::Event::InitDone) {
                done.send_modify(|lists| *lists += 1);
            }
        });
    let task = tokio::spawn(stream.for_each(|_| std::future::ready(())));
    lists.clone().wait_for(|lists| *lists > 0).await?;
    let listed = began.elapsed();
    let figures = figures(before, listed, store.len())?;
    let relisted = relist(&client, || *lists.borrow() > 1).await?;
    crate::print(&merge(figures, relisted));
    task.abort();
    Ok(())
}

fn figures(before: u64, listed: Duration, objects: usize) -> Result<Value> {
    Ok(json!({
        "objects": objects, "list_seconds": listed.as_secs_f64(), "rss_before": before, "rss": memory::resident()?,
        "peak": memory::peak()?, "cpu_seconds": memory::cpu_seconds()?,
    }))
}

/// Has the watch told that its version is too old (410, a fault on request of the embedded API server), and waits until everything
/// has been listed again.
async fn relist(client: &kube::Client, done: impl Fn() -> bool) -> Result<Value> {
    memory::forget_peak()?;
    let rule = json!({"times": 1, "requests": {"verbs": ["watch"]}, "fault": {"expireWatch": {}}});
    let request = http::Request::post("/_oarlock/faults")
        .header("content-type", "application/json")
        .header("x-oarlock-faults", "1")
        .body(rule.to_string().into_bytes())?;
    let began = Instant::now();
    client.request_text(request).await?;
    while !done() {
        anyhow::ensure!(began.elapsed() < Duration::from_secs(300), "it was not listed again");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(json!({
        "relist_seconds": began.elapsed().as_secs_f64(), "relist_rss": memory::resident()?, "relist_peak": memory::peak()?,
    }))
}

fn merge(mut figures: Value, more: Value) -> Value {
    if let (Value::Object(figures), Value::Object(more)) = (&mut figures, more) {
        figures.extend(more);
    }
    figures
}
