//! The informer's guarantees under faults, with a scripted API server and a paused clock.

mod behind;
mod counting;
mod faults;
mod fruitless;
mod kinds;
mod memory;
mod oracle;
mod random;
mod reads;
mod rotation;
mod server;
mod subscribers;

use super::*;
use oarlock_api::ObjectKey;
use oracle::Follower;
use server::Server;
use std::{cell::RefCell, sync::Once, time::Duration};

fn gvk() -> GroupVersionKind {
    GroupVersionKind::new("samplecrd.k8s.io", "v1", "Network")
}

/// The watches of a server, which the followers compare with its history.
struct Watching {
    informers: Informers,
    server: Server,
}

impl std::ops::Deref for Watching {
    type Target = Informers;

    fn deref(&self) -> &Informers {
        &self.informers
    }
}

fn informers(server: &Server) -> Watching {
    let client = server.client();
    Watching { informers: Informers::new(client.clone(), Discovery::new(client)), server: server.clone() }
}

fn soon() -> Instant {
    // On the paused clock: the longest duration of any step, not a wait.
    Instant::now() + Duration::from_secs(600)
}

fn key(text: &str) -> ObjectKey {
    text.parse().unwrap()
}

/// Lets the tasks run until a condition of the server holds, for which there is no notification.
async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = soon();
    while !condition() {
        assert!(Instant::now() < deadline, "never: {what}");
        tokio::time::advance(Duration::from_millis(100)).await;
        tokio::task::yield_now().await;
    }
}

thread_local! {
    static LOG: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Captures the log lines of this test. One subscriber serves all tests, with one log per thread: tracing caches for the whole process
/// whether a line is enabled, so per-thread subscribers would disable each other's lines.
fn keep_log() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(|| ThreadLog).finish();
        tracing::subscriber::set_global_default(subscriber).unwrap();
    });
    LOG.with_borrow_mut(Vec::clear);
}

/// How often this test logged `text`.
fn logged(text: &str) -> usize {
    LOG.with_borrow(|log| String::from_utf8_lossy(log).matches(text).count())
}

struct ThreadLog;

impl std::io::Write for ThreadLog {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOG.with_borrow_mut(|log| log.extend_from_slice(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
