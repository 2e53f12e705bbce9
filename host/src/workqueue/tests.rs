//! What the queue promises, one sentence per test. `q1` to `q14` number the ways in which queues of controllers failed.

mod coalescing;
mod ending;
mod order;
mod retries;
mod showing;
mod waiting;

use futures::FutureExt;

use super::*;
use crate::metrics::Metrics;

const MS: Duration = Duration::from_millis(1);

fn queue() -> WorkQueue<&'static str> {
    with(Config::default())
}

fn with<K: Clone + Eq + Hash + Debug + Send + 'static>(config: Config) -> WorkQueue<K> {
    WorkQueue::new("test", config, Metrics::new().queue("test"))
}

/// What `get` hands out without waiting. Dropping the future that waits is part of the test: nothing may be lost by it.
fn take<K: Clone + Eq + Hash + Debug + Send + 'static>(queue: &WorkQueue<K>) -> Option<Item<K>> {
    queue.get().now_or_never().flatten()
}

fn take_key<K: Clone + Eq + Hash + Debug + Send + 'static>(queue: &WorkQueue<K>) -> Option<K> {
    take(queue).map(|item| item.key)
}

/// Whether `get` answers that the queue has ended.
fn is_finished(queue: &WorkQueue<&'static str>) -> bool {
    queue.get().now_or_never() == Some(None)
}
