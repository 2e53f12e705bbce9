//! The queue's guarantees, one sentence per test. `q1` to `q14` number the known failures of controllers' queues.

mod coalescing;
mod ending;
mod order;
mod retries;
mod showing;
mod waiting;

use futures::FutureExt;

use super::*;

const MS: Duration = Duration::from_millis(1);

fn queue() -> WorkQueue<&'static str> {
    with(Config::default())
}

fn with<K: Clone + Eq + Hash + Debug + Send + 'static>(config: Config) -> WorkQueue<K> {
    WorkQueue::new("test", config)
}

/// The key that `get` returns without waiting. Dropping the waiting future is part of the test: it must lose no key.
fn take<K: Clone + Eq + Hash + Debug + Send + 'static>(queue: &WorkQueue<K>) -> Option<Item<K>> {
    queue.get().now_or_never().flatten()
}

fn take_key<K: Clone + Eq + Hash + Debug + Send + 'static>(queue: &WorkQueue<K>) -> Option<K> {
    take(queue).map(|item| item.key)
}

/// Whether `get` reports the end of the queue.
fn is_finished(queue: &WorkQueue<&'static str>) -> bool {
    queue.get().now_or_never() == Some(None)
}
