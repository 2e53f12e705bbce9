//! The workqueue alone: no worker does anything.

use anyhow::Result;
use oarlock::api::{GroupVersionKind, ObjectKey};
use oarlock::controller::ReconcileKey;
use oarlock::workqueue::{Config, Trigger, WorkQueue};
use serde_json::json;
use std::sync::Arc;
use tokio::time::Instant;

/// How often and of how many.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Keys in one round
    #[arg(long, default_value_t = 1000)]
    keys: usize,
    /// Rounds; the median counts
    #[arg(long, default_value_t = 201)]
    rounds: usize,
}

pub(crate) async fn run(args: &Args) -> Result<()> {
    let kind = Arc::new(GroupVersionKind::new("samplecrd.k8s.io", "v1", "Network"));
    let keys: Vec<ReconcileKey> = (0..args.keys)
        .map(|i| ReconcileKey { kind: Arc::clone(&kind), key: ObjectKey::new("default", format!("network-{i:05}")) })
        .collect();
    let queue = WorkQueue::new("bench", Config::default());
    let mut rounds = Vec::new();
    for _ in 0..args.rounds {
        // A key comes from a watch's handler, which makes it: what the queue does with it counts from there.
        let batch = keys.clone();
        let began = Instant::now();
        for key in batch {
            queue.add(key, Trigger::Event);
        }
        for _ in 0..args.keys {
            let Some(item) = queue.get().await else { anyhow::bail!("the queue ended") };
            queue.done(&item.key);
        }
        rounds.push(began.elapsed().as_secs_f64() * 1e6);
    }
    rounds.sort_by(f64::total_cmp);
    let median = rounds.get(rounds.len() / 2).copied().unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let per_second = 3.0 * args.keys as f64 / median * 1e6;
    crate::print(&json!({"keys": args.keys, "add_get_done_us": median, "operations_per_second": per_second}));
    Ok(())
}
