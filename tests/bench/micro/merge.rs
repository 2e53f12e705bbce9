//! Strategic merge alone: patches of Pods, made and carried out.

use anyhow::Result;
use oarlock_merge::schema::Schema;
use oarlock_merge::steps::Budget;
use oarlock_merge::strategic::{apply_patch, create_three_way, create_two_way};
use serde_json::{Value, json};
use std::hint::black_box;
use std::time::Duration;
use tokio::time::Instant;

/// How many containers, each of about 1 KB.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Containers of the Pod
    #[arg(long, default_value_t = 4)]
    containers: usize,

    /// Make this number of two-way patches and nothing else, for a profiler
    #[arg(long)]
    rounds: Option<usize>,
}

fn container(name: &str) -> Value {
    let env: Vec<Value> =
        (0..20).map(|i| json!({"name": format!("KEY_{i}"), "value": format!("value of {i}")})).collect();
    json!({"name": name, "image": "registry.example.com/app:1", "env": env, "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}]})
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let schema = Schema::builtin("", "v1", "Pod").unwrap_or_default();
    let own: Vec<Value> = (0..args.containers).map(|i| container(&format!("app-{i}"))).collect();
    let injected: Vec<Value> = own.iter().cloned().chain([container("envoy")]).collect();
    let pod = |containers: &[Value]| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "labels": {"app": "web"}},
            "spec": {"containers": containers, "volumes": [{"name": "data", "emptyDir": {}}]}})
    };
    let (original, modified) = (pod(&own), pod(&injected));
    if let Some(rounds) = args.rounds {
        for _ in 0..rounds {
            black_box(create_two_way(&schema, &original, &modified, &Budget::unlimited())?);
        }
        return Ok(());
    }
    let patch = create_two_way(&schema, &original, &modified, &Budget::unlimited())?;
    let two = per_second(|| create_two_way(&schema, &original, &modified, &Budget::unlimited()).map(drop))?;
    let three =
        per_second(|| create_three_way(&schema, &original, &modified, &original, &Budget::unlimited()).map(drop))?;
    let applied = per_second(|| apply_patch(&schema, &original, &patch, &Budget::unlimited()).map(drop))?;
    crate::print(&json!({"pod_bytes": original.to_string().len(), "create_two_way_per_second": two,
        "create_three_way_per_second": three, "apply_per_second": applied}));
    Ok(())
}

/// How often it can be done in a second, over one.
fn per_second<E>(work: impl Fn() -> Result<(), E>) -> Result<u32, E> {
    let (began, mut count) = (Instant::now(), 0);
    while began.elapsed() < Duration::from_secs(1) {
        black_box(work()?);
        count += 1;
    }
    Ok(count)
}
