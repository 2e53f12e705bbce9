//! Discovery: the kinds that the API server serves, cached per group and version until found wrong.

use super::{GroupVersionKind, Resource};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResourceList;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, timeout};

/// Deadline of one request to the API server, including its retries.
const REQUEST_DEADLINE: Duration = Duration::from_secs(30);

/// Lifetime of a negative result. It lets many waiters for one group share a request. It is short because people watch a kind right after
/// they create its CustomResourceDefinition.
const ABSENT_FOR: Duration = Duration::from_millis(250);

/// Most cached groups and versions, including those not served. Callers may ask for invented kinds: at the limit, all negative results
/// are forgotten.
const MOST_VERSIONS: usize = 1024;

/// Why discovery failed. "Not served" is a result, not an error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request failed.
    #[error("cannot list the resources of {group_version}")]
    Request {
        /// Such as `v1` or `apps/v1`.
        group_version: String,
        /// The client's error.
        #[source]
        source: Box<kube::Error>,
    },
    /// No response in time.
    #[error("no response within {} s to the list of the resources of {group_version}", REQUEST_DEADLINE.as_secs())]
    Deadline {
        /// Such as `v1` or `apps/v1`.
        group_version: String,
    },
}

/// Resolves kinds to resources. Clones share one cache.
#[derive(Clone)]
pub struct Discovery {
    client: kube::Client,
    versions: Arc<Mutex<HashMap<String, Arc<GroupVersionCache>>>>,
}

impl std::fmt::Debug for Discovery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Discovery").finish_non_exhaustive()
    }
}

/// One group and version.
#[derive(Default)]
struct GroupVersionCache {
    /// Held during a request, so that one request serves all waiters.
    asking: tokio::sync::Mutex<()>,
    known: Mutex<CachedListing>,
}

#[derive(Default)]
struct CachedListing {
    listing: Option<Listing>,
    /// Counts invalidations: a response to a request sent before one is not cached.
    generation: u64,
}

#[derive(Clone)]
struct Listing {
    by_kind: Arc<HashMap<String, Resource>>,
    at: Instant,
}

impl Discovery {
    /// The number of cached groups and versions, including those not served.
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Discovery through `client`; the first [`resolve`](Self::resolve) sends the first request.
    pub fn new(client: kube::Client) -> Self {
        Self { client, versions: Arc::default() }
    }

    /// The resource that serves `gvk`, or `None` while the API server does not serve it.
    ///
    /// Found resources are cached until [`invalidate`](Self::invalidate); a missing one is requested again on every call, at most four
    /// times a second.
    ///
    /// # Errors
    ///
    /// [`Error`] when the request failed, or had no response within 30 seconds.
    pub async fn resolve(&self, gvk: &GroupVersionKind) -> Result<Option<Resource>, Error> {
        let group_version = gvk.api_version();
        let version = self.version(&group_version);
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

    fn version(&self, group_version: &str) -> Arc<GroupVersionCache> {
        let mut versions = lock(&self.versions);
        if versions.len() >= MOST_VERSIONS && !versions.contains_key(group_version) {
            // A version with a request in flight keeps its own reference, and gets its result.
            versions.retain(|_, version| lock(&version.known).listing.as_ref().is_some_and(|l| !l.by_kind.is_empty()));
        }
        Arc::clone(versions.entry(group_version.to_owned()).or_default())
    }

    /// Forgets the group and version of `gvk`: call it when a URL built from it answered 404.
    pub fn invalidate(&self, gvk: &GroupVersionKind) {
        if let Some(version) = lock(&self.versions).get(&gvk.api_version()) {
            let mut known = lock(&version.known);
            known.listing = None;
            known.generation += 1;
        }
    }

    async fn ask(&self, gvk: &GroupVersionKind, group_version: &str) -> Result<HashMap<String, Resource>, Error> {
        let failed = |source| Error::Request { group_version: group_version.to_owned(), source: Box::new(source) };
        let path = super::path::join(super::version_segments(&gvk.group, &gvk.version));
        let request =
            http::Request::get(path).body(Vec::new()).map_err(|error| failed(kube::Error::HttpError(error)))?;
        match self.client.request::<APIResourceList>(request).await {
            Ok(list) => Ok(by_kind(list, gvk)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(HashMap::new()),
            Err(source) => Err(failed(source)),
        }
    }
}

impl GroupVersionCache {
    /// The cached result, if it is recent enough.
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
        // Of two resources with one kind, the watchable one stores the objects.
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

#[cfg(test)]
mod tests {
    use super::*;
    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::json;
    use std::convert::Infallible;

    /// The API server's next response, and the requests so far.
    #[derive(Clone, Default)]
    struct Script(Arc<Mutex<(u16, String, Vec<String>)>>);

    impl Script {
        fn answers(&self, code: u16, body: &str) {
            let mut script = lock(&self.0);
            (script.0, script.1) = (code, body.to_owned());
        }

        fn asked(&self) -> usize {
            lock(&self.0).2.len()
        }

        fn discovery(&self) -> Discovery {
            let script = self.clone();
            let service = tower::service_fn(move |request: Request<Body>| {
                let mut script = lock(&script.0);
                script.2.push(request.uri().path().to_owned());
                let mut response = Response::new(Body::from(script.1.clone().into_bytes()));
                *response.status_mut() = script.0.try_into().unwrap();
                async move {
                    tokio::task::yield_now().await;
                    Ok::<_, Infallible>(response)
                }
            });
            Discovery::new(kube::Client::new(service, "default"))
        }
    }

    fn deployments(namespaced: bool) -> String {
        let resource = |name: &str, kind: &str, verbs: &[&str]| json!({"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": verbs});
        json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "apps/v1", "resources": [
            resource("deployments/scale", "Scale", &["get", "patch"]),
            resource("deploymentreviews", "Deployment", &["create"]),
            resource("deployments", "Deployment", &["list", "watch", "patch"]),
            resource("deployments/status", "Deployment", &["get", "patch"]),
            resource("others/extra", "Deployment", &["get"]),
        ]})
        .to_string()
    }

    fn gvk() -> GroupVersionKind {
        GroupVersionKind::new("apps", "v1", "Deployment")
    }

    #[tokio::test(start_paused = true)]
    async fn a_found_resource_is_asked_for_once() {
        let script = Script::default();
        script.answers(200, &deployments(true));
        let discovery = script.discovery();
        let resource = discovery.resolve(&gvk()).await.unwrap().unwrap();
        assert_eq!((resource.plural.as_str(), resource.namespaced), ("deployments", true));
        assert_eq!(resource.subresources, ["scale", "status"]);
        tokio::time::advance(Duration::from_secs(86_400)).await;
        assert!(discovery.resolve(&gvk()).await.unwrap().is_some());
        assert_eq!(lock(&script.0).2, ["/apis/apps/v1"]);

        script.answers(200, &deployments(false));
        discovery.invalidate(&gvk());
        assert!(!discovery.resolve(&gvk()).await.unwrap().unwrap().namespaced);
    }

    #[tokio::test(start_paused = true)]
    async fn a_missing_kind_is_asked_for_again_but_not_by_everyone_at_once() {
        let script = Script::default();
        script.answers(404, "404 page not found");
        let discovery = script.discovery();
        let gvk = gvk();
        let answers = futures::future::join_all((0..50).map(|_| discovery.resolve(&gvk))).await;
        assert!(answers.into_iter().all(|answer| answer.unwrap().is_none()));
        assert_eq!(script.asked(), 1);
        script.answers(200, &deployments(true));
        tokio::time::advance(ABSENT_FOR).await;
        assert!(discovery.resolve(&gvk).await.unwrap().is_some());
        assert_eq!(script.asked(), 2);
        // The group is served, the kind is not.
        let other = GroupVersionKind { kind: "Other".into(), ..gvk };
        assert!(discovery.resolve(&other).await.unwrap().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn an_api_server_that_fails_has_not_said_that_the_kind_is_missing() {
        let script = Script::default();
        script.answers(500, "boom");
        let discovery = script.discovery();
        assert!(matches!(discovery.resolve(&gvk()).await, Err(Error::Request { .. })));
        script.answers(200, &deployments(true));
        assert!(discovery.resolve(&gvk()).await.unwrap().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_from_before_an_invalidation_is_not_kept() {
        let script = Script::default();
        script.answers(200, &deployments(true));
        let discovery = script.discovery();
        let gvk = gvk();
        let (first, ()) = tokio::join!(discovery.resolve(&gvk), async {
            while script.asked() == 0 {
                tokio::task::yield_now().await;
            }
            discovery.invalidate(&gvk);
        });
        assert!(first.unwrap().is_some());
        script.answers(404, "");
        assert!(discovery.resolve(&gvk).await.unwrap().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn silence_ends_at_the_deadline() {
        let service =
            tower::service_fn(|_: Request<Body>| std::future::pending::<Result<Response<Body>, Infallible>>());
        let discovery = Discovery::new(kube::Client::new(service, "default"));
        let asked = Instant::now();
        assert!(matches!(discovery.resolve(&gvk()).await, Err(Error::Deadline { .. })));
        assert_eq!(asked.elapsed(), REQUEST_DEADLINE);
    }

    #[tokio::test(start_paused = true)]
    async fn the_core_group_has_its_own_path() {
        let script = Script::default();
        script.answers(404, "");
        let pods = GroupVersionKind::new("", "v1", "Pod");
        assert!(script.discovery().resolve(&pods).await.unwrap().is_none());
        assert_eq!(lock(&script.0).2, ["/api/v1"]);
    }

    #[tokio::test(start_paused = true)]
    async fn bounded_work_of_kinds_that_a_caller_invents() {
        let script = Script::default();
        script.answers(404, "");
        let discovery = script.discovery();
        for number in 0..3 * MOST_VERSIONS {
            let invented = GroupVersionKind::new(format!("g{number}.example"), "v1", "Invented");
            assert!(discovery.resolve(&invented).await.unwrap().is_none());
        }
        assert!(lock(&discovery.versions).len() <= MOST_VERSIONS);
    }
}
