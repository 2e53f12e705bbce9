//! Two workers share a queue. Every key fails once, is retried after its backoff, and succeeds.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use oarlock_workqueue::{Config, Trigger, WorkQueue};

#[tokio::main]
async fn main() {
    let queue = WorkQueue::new("example", Config::default());
    for key in ["a", "b", "c", "a"] {
        queue.add(key, Trigger::Event);
    }
    let workers: Vec<_> = (0..2).map(|number| tokio::spawn(work(number, queue.clone()))).collect();
    // The retries are due after 5 ms.
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    queue.shut_down_with_drain().await;
    for worker in workers {
        let _ = worker.await;
    }
    let metrics = queue.metrics();
    println!("{} adds, {} retries", metrics.totals.adds, metrics.totals.retries);
}

async fn work(number: usize, queue: WorkQueue<&'static str>) {
    while let Some(item) = queue.get().await {
        let failed = item.attempt == 1;
        println!(
            "worker {number}: {} attempt {} {}",
            item.key,
            item.attempt,
            if failed { "failed" } else { "succeeded" }
        );
        if failed {
            queue.add_rate_limited(item.key);
        } else {
            queue.forget(&item.key);
        }
        queue.done(&item.key);
    }
}
