//! Updates of plugins from registries: one task per reference, which polls, pulls, verifies and reports.

use super::Error;
use super::cache::Cache;
use super::client::{Client, ClientOptions};
use super::fetch::{self, Found};
use super::reference::{Digest, Reference};
use super::signature;
use super::trust::Trust;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// Backoff after the first transient failure; doubled with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// Longest backoff, in poll intervals.
const LONGEST_PAUSE: u32 = 5;

/// Most references polled at once.
const AT_ONCE: usize = 4;

/// Configuration of the puller.
#[derive(Clone, Debug)]
pub struct Options {
    /// The plugins to pull.
    pub plugins: Vec<Wanted>,
    /// Folder of the cache.
    pub cache: PathBuf,
    /// Configuration of the registry client.
    pub client: ClientOptions,
    /// The trust policy.
    pub trust: Trust,
    /// Poll interval of tags.
    pub poll: Duration,
}

/// A plugin and its reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The name that its manifest must have.
    pub plugin: String,
    /// The reference.
    pub reference: Reference,
}

/// Most contents before the present one.
const EARLIER: usize = 10;

/// A pulled plugin file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The digest of the reference.
    pub manifest: Digest,
    /// Digest of the file.
    pub layer: Digest,
    /// The file; its name is its digest.
    pub path: PathBuf,
}

/// Content of the registry that must not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The digest of the reference, if known.
    pub manifest: Option<Digest>,
    /// The reason, for people.
    pub reason: String,
}

/// The pull status of a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullStatus {
    /// The text of the reference.
    pub reference: String,
    /// The name that its manifest must have.
    pub plugin: String,
    /// The content to run.
    pub content: Option<Content>,
    /// Contents before that, the newest first: one of them may still run.
    pub earlier: Vec<Content>,
    /// The target of the reference, if it must not be run.
    pub refused: Option<Refused>,
    /// Why the registry cannot be reached.
    pub problem: Option<String>,
    /// When the registry last confirmed the content, or the cache sufficed.
    pub asked: Option<Instant>,
}

/// The pull status of all references, by their keys, with notification of changes. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PullStatuses(watch::Receiver<BTreeMap<String, PullStatus>>);

impl PullStatuses {
    /// The present status.
    #[must_use]
    pub fn now(&self) -> BTreeMap<String, PullStatus> {
        self.0.borrow().clone()
    }

    /// Waits for a change since the last call.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            // The puller ended: nothing changes any more.
            std::future::pending::<()>().await;
        }
    }

    /// The status for `/plugins`. None: no such reference.
    ///
    /// * `key` - the text of a reference, or a key of [`Puller::want`].
    /// * `running` - digest of the file that runs, with its algorithm.
    #[must_use]
    pub fn describe(&self, key: &str, running: Option<&str>) -> Option<Value> {
        let all = self.0.borrow();
        let pull_status = all.get(key)?;
        let mut entry = json!({"reference": pull_status.reference});
        let mut set =
            |field: &str, value: Value| entry.as_object_mut().map(|entry| entry.insert(field.to_owned(), value));
        if let Some(content) = &pull_status.content {
            set("manifestDigest", json!(content.manifest.to_string()));
        }
        let mut known = pull_status.content.iter().chain(&pull_status.earlier);
        if let Some(content) = known.find(|content| running.is_some_and(|file| file == content.layer.to_string())) {
            set("runningManifestDigest", json!(content.manifest.to_string()));
        }
        if let Some(Refused { manifest, reason }) = &pull_status.refused {
            let manifest = manifest.as_ref().map(ToString::to_string);
            set("refused", json!({"manifestDigest": manifest, "reason": reason}));
        }
        if let Some(problem) = &pull_status.problem {
            set("problem", json!(problem));
        }
        if let Some(asked) = pull_status.asked {
            set("askedSecondsAgo", json!(asked.elapsed().as_secs()));
        }
        Some(entry)
    }
}

/// The tasks of all references, which end when this is dropped.
#[derive(Debug)]
pub struct Puller {
    shared: Arc<Shared>,
    states: Arc<watch::Sender<BTreeMap<String, PullStatus>>>,
    pull_statuses: PullStatuses,
    _fixed: Vec<Task>,
    /// Those of [`Self::want`], by key.
    wanted: Mutex<BTreeMap<String, (Wanted, Task)>>,
}

/// A task that ends with its handle.
#[derive(Debug)]
struct Task(AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Puller {
    /// Starts with the cached content, and polls the registries.
    ///
    /// # Errors
    ///
    /// The folder or the certificates cannot be used.
    pub async fn start(options: Options) -> Result<Self, Error> {
        let cache = Cache::open(&options.cache)?;
        let shared = Arc::new(Shared {
            client: Client::new(options.client)?,
            cache,
            trust: options.trust,
            poll: options.poll,
            turns: Semaphore::new(AT_ONCE),
        });
        let states = Arc::new(watch::Sender::new(BTreeMap::new()));
        let pull_statuses = PullStatuses(states.subscribe());
        let mut fixed = Vec::new();
        for wanted in options.plugins {
            let name = wanted.reference.to_string();
            let mut source = Source::new(Arc::clone(&shared), wanted, name).await;
            source.tell(&states);
            let states = Arc::clone(&states);
            fixed.push(Task(tokio::spawn(async move { source.keep(&states).await }).abort_handle()));
        }
        Ok(Self { shared, states, pull_statuses, _fixed: fixed, wanted: Mutex::default() })
    }

    /// Replaces the further plugins to pull, by a key of the caller, which is no reference. A key keeps its status until another reference
    /// has one.
    pub fn want(&self, plugins: BTreeMap<String, Wanted>) {
        let mut all = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let gone: Vec<String> = all.keys().filter(|key| !plugins.contains_key(*key)).cloned().collect();
        for key in gone {
            all.remove(&key);
            self.states.send_if_modified(|states| states.remove(&key).is_some());
        }
        for (key, wanted) in plugins {
            if all.get(&key).is_some_and(|(before, _)| *before == wanted) {
                continue;
            }
            let (shared, states, name, of) =
                (Arc::clone(&self.shared), Arc::clone(&self.states), key.clone(), wanted.clone());
            let task = tokio::spawn(async move {
                let mut source = Source::new(shared, of, name).await;
                if source.pull_status.content.is_some() {
                    source.tell(&states);
                }
                source.keep(&states).await;
            });
            all.insert(key, (wanted, Task(task.abort_handle())));
        }
    }

    /// Pulls the file of one digest once, into the cache.
    ///
    /// * `reference` - with a digest.
    ///
    /// # Errors
    ///
    /// See [`Error`].
    pub async fn pull(&self, reference: &Reference) -> Result<Content, Error> {
        let wanted = Wanted { plugin: String::new(), reference: reference.clone() };
        let mut source = Source::new(Arc::clone(&self.shared), wanted, reference.to_string()).await;
        source.ask(&mut None).await?;
        let refused = source.pull_status.refused.take().map(|refused| refused.reason).unwrap_or_default();
        source.pull_status.content.ok_or(Error::Artifact(refused))
    }

    /// The status of all references.
    #[must_use]
    pub fn pull_statuses(&self) -> PullStatuses {
        self.pull_statuses.clone()
    }
}

#[derive(Debug)]
struct Shared {
    client: Client,
    cache: Cache,
    trust: Trust,
    poll: Duration,
    turns: Semaphore,
}

/// The task of one reference.
struct Source {
    shared: Arc<Shared>,
    reference: Reference,
    /// The key of the status.
    name: String,
    held: Option<Found>,
    pull_status: PullStatus,
    failures: u32,
    /// The last logged status.
    told: Option<String>,
}

impl Source {
    async fn new(shared: Arc<Shared>, wanted: Wanted, name: String) -> Self {
        let Wanted { plugin, reference } = wanted;
        let (cache, asked) = (shared.cache.clone(), reference.clone());
        let held = tokio::task::spawn_blocking(move || cache.last(&asked)).await.ok().flatten();
        let text = reference.to_string();
        let pull_status = PullStatus {
            reference: text,
            plugin,
            content: None,
            earlier: Vec::new(),
            refused: None,
            problem: None,
            asked: None,
        };
        let mut source = Self { shared, reference, name, held: None, pull_status, failures: 0, told: None };
        if let Some(found) = held {
            source.hold(found);
        }
        source
    }

    /// Stores the found artifact, and publishes it if it may be used now.
    fn hold(&mut self, found: Found) {
        match self.shared.trust.check(&found.manifest, &found.signatures) {
            Ok(()) => {
                let path = self.shared.cache.blob(&found.layer.digest);
                let (manifest, layer) = (found.manifest.clone(), found.layer.digest.clone());
                let new = Content { manifest, layer, path };
                let earlier = &mut self.pull_status.earlier;
                earlier.retain(|one| one.layer != new.layer);
                if let Some(before) = self.pull_status.content.replace(new.clone()).filter(|of| of.layer != new.layer) {
                    earlier.insert(0, before);
                    earlier.truncate(EARLIER);
                }
                self.pull_status.refused = None;
            }
            Err(e) => {
                self.pull_status.content = None;
                let manifest = Some(found.manifest.clone());
                self.pull_status.refused = Some(Refused { manifest, reason: oarlock_text::chain(&e) });
            }
        }
        self.held = Some(found);
    }

    fn tell(&self, states: &watch::Sender<BTreeMap<String, PullStatus>>) {
        states.send_modify(|states| {
            states.insert(self.name.clone(), self.pull_status.clone());
        });
    }

    async fn keep(&mut self, states: &watch::Sender<BTreeMap<String, PullStatus>>) {
        loop {
            let pause = self.look().await;
            self.tell(states);
            tokio::time::sleep(jittered(pause)).await;
        }
    }

    /// Polls once; returns the time until the next poll.
    async fn look(&mut self) -> Duration {
        let shared = Arc::clone(&self.shared);
        let _turn = shared.turns.acquire().await;
        let mut seen = None;
        let before = self.held.as_ref().map(|found| found.manifest.clone());
        match self.ask(&mut seen).await {
            Ok(()) => {
                self.failures = 0;
                self.pull_status.problem = None;
                self.pull_status.asked = Some(Instant::now());
                self.log(before.as_ref());
                shared.poll
            }
            Err(e) => {
                let reason = oarlock_text::chain(&e);
                if e.refuses() {
                    self.pull_status.refused = Some(Refused { manifest: seen, reason });
                    self.pull_status.problem = None;
                    self.pull_status.asked = Some(Instant::now());
                } else {
                    self.pull_status.problem = Some(reason);
                }
                self.failures = self.failures.saturating_add(1);
                self.log(before.as_ref());
                pause(shared.poll, self.failures, &e)
            }
        }
    }

    /// * `seen` - set to the digest of the reference as soon as it is known.
    async fn ask(&mut self, seen: &mut Option<Digest>) -> Result<(), Error> {
        let shared = Arc::clone(&self.shared);
        let client = &shared.client;
        let digest = match self.reference.digest() {
            Some(digest) => digest.clone(),
            None => match client.resolve(&self.reference).await? {
                Some(digest) => digest,
                None => client.manifest(&self.reference).await?.0,
            },
        };
        *seen = Some(digest.clone());
        let exact = self.reference.at(&digest);
        if let Some(mut held) = self.held.clone().filter(|held| held.manifest == digest) {
            if shared.trust.wants_signatures() && shared.trust.check(&digest, &held.signatures).is_err() {
                // The artifact may have been signed since.
                held.signatures = signature::fetch(client, &shared.trust.keys, &exact, &digest).await?;
                self.keep_on_disk(&held).await?;
            }
            self.hold(held);
            return Ok(());
        }
        let found = fetch::find(client, &shared.trust, &exact).await?;
        let (cache, layer) = (shared.cache.clone(), found.layer.digest.clone());
        let there = tokio::task::spawn_blocking(move || cache.has(&layer)).await.unwrap_or(false);
        if !there {
            fetch::download(client, &exact, &found.layer, &shared.cache.blob(&found.layer.digest)).await?;
        }
        self.keep_on_disk(&found).await?;
        self.hold(found);
        Ok(())
    }

    async fn keep_on_disk(&self, found: &Found) -> Result<(), Error> {
        let (cache, reference, found) = (self.shared.cache.clone(), self.reference.clone(), found.clone());
        let kept = tokio::task::spawn_blocking(move || cache.keep(&reference, &found)).await;
        kept.map_err(|e| Error::File { path: self.shared.cache.blob(&Digest::of(b"")), reason: e.to_string() })?
    }

    /// Logs every change once.
    fn log(&mut self, before: Option<&Digest>) {
        let (plugin, reference) = (&self.pull_status.plugin, &self.pull_status.reference);
        if let Some(content) = self.pull_status.content.as_ref().filter(|content| before != Some(&content.manifest)) {
            tracing::info!(plugin, reference, digest = %content.manifest, "plugin pulled");
        }
        let refused = self.pull_status.refused.as_ref().map(|refused| refused.reason.clone());
        let trouble = refused.or_else(|| self.pull_status.problem.clone());
        if trouble == self.told {
            return;
        }
        let runs = if self.pull_status.content.is_some() {
            "the version pulled before runs on"
        } else {
            "no version has been pulled"
        };
        match &trouble {
            Some(reason) if self.pull_status.refused.is_some() => {
                tracing::error!(plugin, reference, reason, "plugin in the registry refused: {runs}");
            }
            Some(reason) => tracing::warn!(plugin, reference, reason, "plugin not pulled, retrying: {runs}"),
            None => tracing::info!(plugin, reference, "the registry has the plugin again"),
        }
        self.told = trouble;
    }
}

/// Backoff after a failure.
fn pause(poll: Duration, failures: u32, error: &Error) -> Duration {
    let backoff =
        FIRST_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(poll.saturating_mul(LONGEST_PAUSE));
    let pause = if error.passes() { backoff } else { poll };
    pause.max(error.retry_after().unwrap_or_default())
}

/// Adds or subtracts up to a tenth, so that many hosts do not poll at once.
fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(0.9 + 0.2 * fastrand::f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_where_it_may_pass_and_last_as_long_as_the_registry_wants() {
        let poll = Duration::from_secs(60);
        let (what, registry, said) = ("manifest".to_owned(), "r".to_owned(), String::new());
        let lost = Error::TimedOut { what: what.clone(), registry: registry.clone(), seconds: 1 };
        let seconds: Vec<u64> = [1, 2, 3, 9, 10, u32::MAX].map(|n| pause(poll, n, &lost).as_secs()).to_vec();
        assert_eq!(seconds, [1, 2, 4, 256, 300, 300]);
        let absent = Error::NotFound { what: what.clone(), registry: registry.clone(), said: said.clone() };
        assert_eq!(pause(poll, 1, &absent), poll);
        let often = Error::TooMany { what, registry, said, retry_after: Some(Duration::from_secs(77)) };
        assert_eq!(pause(poll, 1, &often), Duration::from_secs(77));
        for _ in 0..100 {
            let pause = jittered(Duration::from_secs(100)).as_secs_f64();
            assert!((90.0..=110.0).contains(&pause), "{pause}");
        }
    }
}
