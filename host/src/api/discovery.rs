//! Which kinds the API server serves, asked per group and version, kept until found wrong.

use super::{GroupVersionKind, Resource};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, timeout};

/// How long one question to the API server may take, its retries included.
const REQUEST_DEADLINE: Duration = Duration::from_secs(30);

/// How long "not served" is believed. It keeps many waiters for one group from asking each on their own, and is
/// short because people watch the moment after they create a CustomResourceDefinition.
const ABSENT_FOR: Duration = Duration::from_millis(250);

/// Why the API server could not be asked. "Not served" is an answer, not an error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request failed.
    #[error("could not list the resources of {group_version}")]
    Request {
        /// Such as `v1` or `apps/v1`.
        group_version: String,
        /// What the client reported.
        #[source]
        source: Box<kube::Error>,
    },
    /// No answer in time.
    #[error("no answer within {}s when listing the resources of {group_version}", REQUEST_DEADLINE.as_secs())]
    Deadline {
        /// Such as `v1` or `apps/v1`.
        group_version: String,
    },
}

/// Resolves kinds to resources. Clones share one memory.
#[derive(Clone)]
pub struct Discovery {
    client: kube::Client,
    versions: Arc<Mutex<HashMap<String, Arc<Version>>>>,
}

impl std::fmt::Debug for Discovery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Discovery").finish_non_exhaustive()
    }
}

/// One group and version.
#[derive(Default)]
struct Version {
    /// Held while asking, so that one question serves all who wait for it.
    asking: tokio::sync::Mutex<()>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    listing: Option<Listing>,
    /// Counts invalidations: an answer to a question asked before one is not kept.
    generation: u64,
}

#[derive(Clone)]
struct Listing {
    by_kind: Arc<HashMap<String, Resource>>,
    at: Instant,
}

impl Discovery {
    /// Asks through `client`; nothing is asked before the first [`resolve`](Self::resolve).
    pub fn new(client: kube::Client) -> Self {
        Self { client, versions: Arc::default() }
    }

    /// The resource that serves `gvk`, or `None` while the API server does not serve it.
    ///
    /// Found resources are remembered until [`invalidate`](Self::invalidate); a missing one is asked for again on
    /// every call, though at most four times a second.
    ///
    /// # Errors
    ///
    /// [`Error`] when the API server could not be asked, or did not answer within 30 seconds.
    pub async fn resolve(&self, gvk: &GroupVersionKind) -> Result<Option<Resource>, Error> {
        let group_version = gvk.api_version();
        let version = Arc::clone(lock(&self.versions).entry(group_version.clone()).or_default());
        if let Some(answer) = version.answer(&gvk.kind) {
            return Ok(answer);
        }
        let asking = async {
            let _one_at_a_time = version.asking.lock().await;
            if let Some(answer) = version.answer(&gvk.kind) {
                return Ok(answer);
            }
            let generation = lock(&version.known).generation;
            let by_kind = Arc::new(self.ask(gvk, &group_version).await?);
            let mut known = lock(&version.known);
            if known.generation == generation {
                known.listing = Some(Listing { by_kind: Arc::clone(&by_kind), at: Instant::now() });
            }
            Ok(by_kind.get(&gvk.kind).cloned())
        };
        match timeout(REQUEST_DEADLINE, asking).await {
            Ok(answer) => answer,
            Err(_elapsed) => Err(Error::Deadline { group_version: gvk.api_version() }),
        }
    }

    /// Forgets what is known of the group and version of `gvk`: call it when a URL built from it answered 404.
    pub fn invalidate(&self, gvk: &GroupVersionKind) {
        if let Some(version) = lock(&self.versions).get(&gvk.api_version()) {
            let mut known = lock(&version.known);
            known.listing = None;
            known.generation += 1;
        }
    }

    async fn ask(&self, gvk: &GroupVersionKind, group_version: &str) -> Result<HashMap<String, Resource>, Error> {
        let list = if gvk.group.is_empty() {
            self.client.list_core_api_resources(&gvk.version).await
        } else {
            self.client.list_api_group_resources(group_version).await
        };
        match list {
            Ok(list) => Ok(by_kind(list, gvk)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(HashMap::new()),
            Err(source) => Err(Error::Request { group_version: group_version.to_owned(), source: Box::new(source) }),
        }
    }
}

impl Version {
    /// `Some(answer)` if the answer is known well enough not to ask.
    fn answer(&self, kind: &str) -> Option<Option<Resource>> {
        let known = lock(&self.known);
        let listing = known.listing.as_ref()?;
        match listing.by_kind.get(kind) {
            Some(resource) => Some(Some(resource.clone())),
            None => (listing.at.elapsed() < ABSENT_FOR).then_some(None),
        }
    }
}

fn by_kind(list: APIResourceList, gvk: &GroupVersionKind) -> HashMap<String, Resource> {
    let mut kinds: HashMap<String, Resource> = HashMap::new();
    let mut subresources: Vec<(String, String)> = Vec::new();
    for resource in list.resources {
        if let Some((parent, subresource)) = resource.name.split_once('/') {
            subresources.push((parent.to_owned(), subresource.to_owned()));
            continue;
        }
        let found = Resource {
            gvk: GroupVersionKind::new(&gvk.group, &gvk.version, &resource.kind),
            plural: resource.name,
            namespaced: resource.namespaced,
            verbs: resource.verbs,
            subresources: Vec::new(),
        };
        // Where two resources have one kind, the one that can be watched is the one objects are kept in.
        if kinds.get(&resource.kind).is_none_or(|other| !other.watchable()) {
            kinds.insert(resource.kind, found);
        }
    }
    subresources.sort();
    for resource in kinds.values_mut() {
        let own = subresources.iter().filter(|(parent, _)| *parent == resource.plural);
        resource.subresources = own.map(|(_, subresource)| subresource.clone()).collect();
    }
    kinds
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // No code that can panic runs under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
