//! The informer promises under faults, against a scripted API server and on a paused clock.

mod faults;
mod replay;
mod server;

use super::*;
use crate::api::ObjectKey;
use server::Server;
use std::{cell::RefCell, collections::BTreeMap, sync::Once, time::Duration};
use tokio::sync::watch;

fn gvk() -> GroupVersionKind {
    GroupVersionKind::new("samplecrd.k8s.io", "v1", "Network")
}

fn informers(server: &Server) -> Informers {
    let client = server.client();
    Informers::new(client.clone(), Discovery::new(client))
}

fn soon() -> Instant {
    // On the paused clock: the longest that anything here takes, not a wait.
    Instant::now() + Duration::from_secs(600)
}

/// Follows one subscription: what it was told, and what the objects are if that was all true.
struct Follower {
    subscription: Subscription,
    told: Arc<watch::Sender<Told>>,
}

#[derive(Default, Clone)]
struct Told {
    /// One word per change, such as `+default/a@105` or `-default/a`, and `synced`.
    log: Vec<String>,
    /// Key to uid and version.
    objects: BTreeMap<ObjectKey, (String, String)>,
    /// The newest version told of each key.
    newest: BTreeMap<ObjectKey, u64>,
    /// The first change that cannot follow what was told before.
    violation: Option<String>,
}

impl Told {
    fn take(&mut self, delta: &Delta) {
        if let Err(violation) = self.follow(delta) {
            self.violation.get_or_insert(format!("{violation}: {delta:?} after {:?}", self.log));
        }
    }

    fn follow(&mut self, delta: &Delta) -> Result<(), &'static str> {
        let id = |o: &Object| (o.uid().to_owned(), o.resource_version().to_owned());
        match delta {
            Delta::Applied { old, new, initial } => {
                let version: u64 = new.resource_version().parse().unwrap();
                self.log.push(format!("{}{}@{version}", if *initial { "=" } else { "+" }, new.key()));
                let before = self.objects.insert(new.key().clone(), id(new));
                if before != old.as_ref().map(|o| id(o)) {
                    return Err("a gap or a repetition: the old state is not what was told before");
                }
                if before.is_some_and(|(uid, _)| uid != new.uid()) {
                    return Err("another object, but no end of the first");
                }
                if self.newest.insert(new.key().clone(), version) >= Some(version) {
                    return Err("an older state after a newer one");
                }
            }
            Delta::Deleted(last) => {
                self.log.push(format!("-{}", last.key()));
                if self.objects.remove(last.key()).map(|(uid, _)| uid).as_deref() != Some(last.uid()) {
                    return Err("the end of what was not there");
                }
            }
            Delta::Synced => self.log.push("synced".to_owned()),
        }
        Ok(())
    }
}

impl Follower {
    fn new(informers: &Informers, spec: WatchSpec) -> Self {
        let told = Arc::new(watch::Sender::new(Told::default()));
        let sender = Arc::clone(&told);
        let handler: Handler = Arc::new(move |delta| sender.send_modify(|told| told.take(delta)));
        Self { subscription: informers.subscribe(spec, handler), told }
    }

    fn all(informers: &Informers) -> Self {
        Self::new(informers, WatchSpec::all(gvk()))
    }

    /// Waits until `condition` holds of what was told.
    async fn until(&self, what: &str, condition: impl Fn(&Told) -> bool) {
        let mut told = self.told.subscribe();
        let wanted = |told: &Told| told.violation.is_some() || condition(told);
        let waiting = tokio::time::timeout_at(soon(), told.wait_for(wanted)).await.map(|_| ());
        assert!(waiting.is_ok(), "never: {what}; told {:?}; {}", self.log(), self.subscription.status());
        assert_eq!(self.told.borrow().violation, None);
    }

    /// Waits until everything at the server, and nothing else, was told.
    async fn until_equal(&self, server: &Server) {
        let expected = live(server);
        self.until("equal to the server", |told| told.objects == expected).await;
        let stored: BTreeMap<_, _> =
            self.subscription.store().list(&ListOptions::default()).iter().map(|o| entry(o)).collect();
        assert_eq!(stored, expected);
    }

    async fn until_told(&self, change: &str) {
        self.until(change, |told| told.log.iter().any(|entry| entry == change)).await;
    }

    async fn until_status(&self, what: &str, condition: impl Fn(&WatchStatus) -> bool) {
        let mut status = self.subscription.store.watch_status();
        let waiting = tokio::time::timeout_at(soon(), status.wait_for(|status| condition(status))).await.map(|_| ());
        assert!(waiting.is_ok(), "never: {what}; {}", self.subscription.status());
    }

    fn log(&self) -> Vec<String> {
        self.told.borrow().log.clone()
    }

    fn store(&self) -> &Store {
        self.subscription.store()
    }
}

fn entry(object: &Object) -> (ObjectKey, (String, String)) {
    (object.key().clone(), (object.uid().to_owned(), object.resource_version().to_owned()))
}

fn live(server: &Server) -> BTreeMap<ObjectKey, (String, String)> {
    let world = server.world();
    world.objects.values().map(|object| entry(&Object::parse(&object.to_string()).unwrap())).collect()
}

fn key(text: &str) -> ObjectKey {
    text.parse().unwrap()
}

/// Waits for something at the server, which tells nobody of it, by letting the tasks run.
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

/// Keeps what this test logs. One subscriber for all tests, one log per thread: whether a line is logged at all is
/// cached for the whole process, so subscribers of single threads would switch each other's lines off.
fn keep_log() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(|| ThreadLog).finish();
        tracing::subscriber::set_global_default(subscriber).unwrap();
    });
    LOG.with_borrow_mut(Vec::clear);
}

/// How often `text` was logged by this test.
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
