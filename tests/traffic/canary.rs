//! A canary on Envoy's own metrics, which Prometheus scrapes.

use super::{Mesh, apply, condition, path, with_traffic};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Process, SOON, World, eventually, text, tools};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// A port that is free now: the grant names it before Prometheus listens there.
fn free_port() -> Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

async fn prometheus(program: &Path, world: &World, port: u16, envoy: &str) -> Result<Process> {
    let folder = world.folder();
    let config = folder.join("prometheus.yml");
    let text = json!({
        "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms"},
        "scrape_configs": [{"job_name": "envoy", "metrics_path": "/stats/prometheus", "static_configs": [{"targets": [envoy]}]}],
    });
    fs::write(&config, text.to_string())?;
    let args = [
        format!("--config.file={}", config.display()),
        format!("--storage.tsdb.path={}", folder.join("prometheus").display()),
        format!("--web.listen-address=127.0.0.1:{port}"),
    ];
    Process::spawn("prometheus", program, &args, &[], &folder.join("prometheus.log"), false)
}

/// The weight and the phase of the canary.
async fn progress(world: &World) -> Result<(u64, String, String)> {
    let object = world.cluster.get(&path(world, "reviews")).await?.context("no route")?;
    let weight = object.pointer("/status/canary/weight").and_then(Value::as_u64).unwrap_or_default();
    Ok((weight, text(&object, "/status/canary/phase"), text(&object, "/status/canary/message")))
}

/// The README's example: a canary advances while its share of errors is small, and stops when v2 fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_advances_on_prometheus_metrics_of_envoy_and_stops_when_they_degrade() -> Result<()> {
    let Some([program, prometheus_program]) = tools(["envoy", "prometheus"])? else { return Ok(()) };
    let port = free_port()?;
    let url = format!("http://127.0.0.1:{port}");
    let grant = |grant: &mut Value| {
        grant["http"] = json!({"origins": [url]});
        grant["config"]["prometheus"] = json!(url);
    };
    with_traffic(grant, async |world: Arc<World>| {
        let mesh = Arc::new(Mesh::new(&world, program).await?);
        let envoy = mesh.envoy.admin.base().trim_start_matches("http://").to_owned();
        let _prometheus = prometheus(&prometheus_program, &world, port, &envoy).await?;
        let cluster = format!("envoy_cluster_name=\"{}/reviews/v2\"", world.namespace);
        let rate = |class: &str| format!("rate(envoy_cluster_upstream_rq_xx{{{cluster}{class}}}[5s])");
        let query = format!("(sum({}) or vector(0)) / sum({})", rate(",envoy_response_code_class=\"5\""), rate(""));
        let mut spec = mesh.split(90, 10);
        spec["canary"] = json!({"destination": "v2", "stepPercent": 10, "interval": "3s", "metric": {"query": query, "max": "0.05"}});
        apply(&world, "reviews", &spec).await?;
        condition(&world, "reviews", "Programmed", "True", "Programmed").await?;
        let stop = Arc::new(AtomicBool::new(false));
        let load = {
            let (mesh, stop) = (Arc::clone(&mesh), Arc::clone(&stop));
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let _ = mesh.envoy.ask("reviews", "/", &[]).await;
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            })
        };
        let at = eventually(SOON * 2, "three steps", || async {
            let (weight, phase, message) = progress(&world).await?;
            ensure!(weight >= 40, "{weight} {phase} {message}");
            Ok(weight)
        })
        .await?;
        mesh.v2.failing.store(true, Ordering::Relaxed);
        let stopped = eventually(SOON * 2, "the canary to stop", || async {
            let (weight, phase, message) = progress(&world).await?;
            ensure!(phase == "Stopped", "{weight} {phase} {message}");
            ensure!(message.starts_with("the metric is 0.") || message.starts_with("the metric is 1,"), "{message}");
            Ok(weight)
        })
        .await?;
        ensure!(stopped >= at && stopped < 100, "{stopped}");
        mesh.v2.failing.store(false, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(8)).await;
        ensure!(progress(&world).await?.0 == stopped, "it went on");
        // An edit of the spec begins it again.
        spec["canary"]["stepPercent"] = json!(90);
        apply(&world, "reviews", &spec).await?;
        eventually(SOON * 2, "the canary to complete", || async {
            let (weight, phase, message) = progress(&world).await?;
            ensure!(weight == 100 && phase == "Completed", "{weight} {phase} {message}");
            Ok(())
        })
        .await?;
        super::share_is(&mesh, 100).await?;
        stop.store(true, Ordering::Relaxed);
        load.await?;
        mesh.envoy.refused_nothing().await
    })
    .await
}
