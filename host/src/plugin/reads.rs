//! Cluster reads of a plugin: from the stores of its own watches, never older than the host's last write.

mod planned;

use super::indexes::{self, KindIndex};
use super::recorded::RecordedObjects;
use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::{Change, Identity, WriteError, WriteIdentity, Writer};
use crate::informer::{Indexed, ListOptions, Object, Store};
use oarlock_manifest::PluginManifest;
use oarlock_merge::schema::Schema;
use planned::PlannedReads;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How long a read waits until the cache shows the host's own last write; then it asks the API server.
const FRESH_DEADLINE: Duration = Duration::from_secs(2);

/// Lifetime of a cached merge schema.
const DEFINITION_LASTS: Duration = Duration::from_secs(60);

/// The store of one watch.
#[derive(Clone, Debug)]
pub struct StoreOf {
    /// The store; its spec has the selectors.
    pub store: Store,
    /// Whether its objects are reconciled, or only read. With different selectors, one kind may be both.
    pub primary: bool,
}

/// Why a read failed.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The kind is no primary or watch of the plugin, or the grant forbids it.
    #[error("{0}")]
    Refused(String),
    /// The request to the API server failed.
    #[error(transparent)]
    Failed(WriteError),
    /// The cache is behind the host's own writes.
    #[error("{0}")]
    Stale(String),
}

/// Learns of each cluster read of a plugin before it is answered, whether or not it succeeds.
pub trait ReadObserver: std::fmt::Debug + Send + Sync {
    /// A read of an object of a watched kind.
    fn object(&self, kind: &GroupVersionKind, key: &ObjectKey);
    /// A list of objects of a watched kind.
    fn list(&self, kind: &GroupVersionKind, options: &ListOptions);
    /// What the API server answered to a read of an object of any kind.
    fn live(&self, _kind: &GroupVersionKind, _key: &ObjectKey, _found: Option<&Object>) {}
}

/// The reads of one version of a plugin.
#[derive(Debug)]
pub struct Reads {
    of: Of,
    indexes: Vec<KindIndex>,
}

#[derive(Debug)]
enum Of {
    Cluster(Arc<ClusterReads>),
    Recorded(RecordedObjects),
    Planned(PlannedReads),
}

/// Reads through the caches and from the API server.
#[derive(Debug)]
struct ClusterReads {
    write_identity: WriteIdentity,
    writer: Writer,
    stores: HashMap<GroupVersionKind, Vec<StoreOf>>,
    schemas: Mutex<Schemas>,
}

/// For custom resources: how their lists merge, and when that was read.
type Schemas = HashMap<GroupVersionKind, (Instant, Schema)>;

impl Reads {
    /// Reads from these stores, and from the API server through `writer`.
    ///
    /// * `manifest` - declares the indexes. The stores have them.
    #[must_use]
    pub fn new(
        manifest: &PluginManifest,
        write_identity: WriteIdentity,
        writer: Writer,
        stores: HashMap<GroupVersionKind, Vec<StoreOf>>,
    ) -> Self {
        let cluster = ClusterReads { write_identity, writer, stores, schemas: Mutex::default() };
        Self { of: Of::Cluster(Arc::new(cluster)), indexes: indexes::of(manifest) }
    }

    /// Reads from recorded objects.
    #[must_use]
    pub fn recorded(manifest: &PluginManifest, objects: RecordedObjects) -> Self {
        Self { of: Of::Recorded(objects), indexes: indexes::of(manifest) }
    }

    /// The same reads for a plan, with the changes of [`Self::carry_out`] made. None: they are not those of a cluster.
    #[must_use]
    pub fn planned(&self) -> Option<Self> {
        let Of::Cluster(cluster) = &self.of else { return None };
        Some(Self { of: Of::Planned(PlannedReads::new(Arc::clone(cluster))), indexes: self.indexes.clone() })
    }

    /// Makes a change in a plan. Returns whether a read can see it.
    ///
    /// # Errors
    ///
    /// The change cannot be made, or these are no reads of a plan.
    pub async fn carry_out(&self, change: &Change, manager: &str) -> Result<bool, String> {
        match &self.of {
            Of::Planned(planned) => planned.carry_out(change, manager).await,
            Of::Cluster(_) | Of::Recorded(_) => Err("changes are made in plans only".to_owned()),
        }
    }

    /// Shows the plugin's status fields in its primary, in a plan. Returns whether they differ from those before.
    pub async fn show_status(&self, kind: &GroupVersionKind, key: &ObjectKey, status: &Value) -> bool {
        match &self.of {
            Of::Planned(planned) => planned.show_status(kind, key, status).await,
            Of::Cluster(_) | Of::Recorded(_) => false,
        }
    }

    /// Whether the plugin watches a kind.
    #[must_use]
    pub fn watches(&self, kind: &GroupVersionKind) -> bool {
        match &self.of {
            Of::Cluster(cluster) => cluster.stores.contains_key(kind),
            Of::Recorded(_) => true,
            Of::Planned(planned) => planned.below.stores.contains_key(kind),
        }
    }

    /// A value in a declared index.
    ///
    /// # Errors
    ///
    /// [`ReadError::Refused`] when the manifest declares no such index of the kind.
    pub fn index(&self, kind: &GroupVersionKind, name: &str, value: String) -> Result<Indexed, ReadError> {
        let of_kind = || self.indexes.iter().filter(|index| index.kind == *kind);
        let Some(index) = of_kind().find(|index| index.name == name) else {
            let names: Vec<&str> = of_kind().map(|index| index.name.as_str()).collect();
            let name = crate::shorten(name, 100);
            return Err(ReadError::Refused(format!(
                "the manifest declares no index {name:?} of {kind}; it declares [{}]",
                names.join(", ")
            )));
        };
        Ok(Indexed { indexer: index.indexer.clone(), value })
    }

    /// One object, not older than the host's own last write of it.
    ///
    /// # Errors
    ///
    /// See [`ReadError`].
    pub async fn get(&self, kind: &GroupVersionKind, key: &ObjectKey) -> Result<Option<Arc<Object>>, ReadError> {
        match &self.of {
            Of::Cluster(cluster) => cluster.get(kind, key).await,
            Of::Planned(planned) => planned.get(kind, key).await,
            Of::Recorded(objects) => objects.get(kind, key),
        }
    }

    /// How lists of a custom resource merge, by its CustomResourceDefinition.
    ///
    /// # Errors
    ///
    /// [`ReadError::Refused`] when the grant does not let the plugin read the definition, or it does not exist.
    pub async fn merge_schema(&self, kind: &GroupVersionKind) -> Result<Schema, ReadError> {
        match &self.of {
            Of::Cluster(cluster) => cluster.merge_schema(kind).await,
            Of::Planned(planned) => planned.below.merge_schema(kind).await,
            Of::Recorded(objects) => objects.merge_schema(kind),
        }
    }

    /// Reads a primary for the host itself, which needs no grant.
    ///
    /// # Errors
    ///
    /// See [`ReadError`].
    pub async fn get_unchecked(
        &self,
        kind: &GroupVersionKind,
        key: &ObjectKey,
    ) -> Result<Option<Arc<Object>>, ReadError> {
        match &self.of {
            Of::Cluster(cluster) => cluster.get_unchecked(kind, key, true).await,
            Of::Planned(planned) => planned.get_unchecked(kind, key).await,
            Of::Recorded(objects) => objects.get(kind, key),
        }
    }

    /// Reads an object from the API server.
    ///
    /// # Errors
    ///
    /// See [`ReadError`].
    pub async fn get_live(&self, kind: &GroupVersionKind, key: &ObjectKey) -> Result<Option<Arc<Object>>, ReadError> {
        match &self.of {
            Of::Cluster(cluster) => cluster.get_live(kind, key).await,
            Of::Planned(planned) => planned.get_live(kind, key).await,
            Of::Recorded(objects) => objects.get_live(kind, key),
        }
    }

    /// Objects in order of namespace and name, not older than the host's own last writes of the kind. Contains only objects for which the
    /// grant allows `list`.
    ///
    /// # Errors
    ///
    /// See [`ReadError`]; [`ReadError::Refused`] when the grant allows `list` for none of the requested objects, [`ReadError::Stale`]
    /// when the cache has not caught up in time.
    pub async fn list(&self, kind: &GroupVersionKind, options: &ListOptions) -> Result<Vec<Arc<Object>>, ReadError> {
        match &self.of {
            Of::Cluster(cluster) => cluster.list(kind, options).await,
            Of::Planned(planned) => planned.list(kind, options).await,
            Of::Recorded(objects) => objects.list(kind, options),
        }
    }

    /// The part of an object that the plugin's field manager owns.
    ///
    /// # Errors
    ///
    /// See [`ReadError`].
    pub async fn get_applied(&self, kind: &GroupVersionKind, key: &ObjectKey) -> Result<Option<String>, ReadError> {
        match &self.of {
            Of::Cluster(cluster) => cluster.get_applied(kind, key).await,
            Of::Planned(planned) => planned.get_applied(kind, key).await,
            Of::Recorded(objects) => objects.get_applied(kind, key),
        }
    }

    /// Whether the grant lets the plugin see an object at all.
    ///
    /// # Errors
    ///
    /// [`ReadError::Failed`] when discovery of the kind's resource failed, which says nothing about the grant.
    pub async fn may_see(&self, kind: &GroupVersionKind, key: &ObjectKey) -> Result<bool, ReadError> {
        let granted = match &self.of {
            Of::Cluster(cluster) => cluster.granted("get", kind, key).await,
            Of::Recorded(objects) => objects.get(kind, key).map(drop),
            Of::Planned(planned) => planned.below.granted("get", kind, key).await,
        };
        match granted {
            Ok(()) => Ok(true),
            Err(ReadError::Refused(_) | ReadError::Failed(WriteError::Denied(_))) => Ok(false),
            Err(e) => Err(e),
        }
    }
}

impl ClusterReads {
    async fn get(&self, kind: &GroupVersionKind, key: &ObjectKey) -> Result<Option<Arc<Object>>, ReadError> {
        self.granted("get", kind, key).await?;
        self.first(kind, key, self.stores_covering(kind, &key.namespace, false)?, Identity::Plugin).await
    }

    /// * `primary` - only from watches of primaries.
    async fn get_unchecked(
        &self,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        primary: bool,
    ) -> Result<Option<Arc<Object>>, ReadError> {
        self.first(kind, key, self.stores_covering(kind, &key.namespace, primary)?, Identity::Host).await
    }

    async fn merge_schema(&self, kind: &GroupVersionKind) -> Result<Schema, ReadError> {
        if let Some((when, schema)) = self.schemas().get(kind)
            && when.elapsed() < DEFINITION_LASTS
        {
            return Ok(schema.clone());
        }
        let definition = GroupVersionKind::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let resource =
            self.writer.requests().resource_of(&self.write_identity, kind).await.map_err(ReadError::Failed)?;
        let key = ObjectKey::new("", format!("{}.{}", resource.plural, kind.group));
        // Checked by name, also where the grant has nothing in its group.
        let (group, plural) = (&definition.group, "customresourcedefinitions");
        if !self.write_identity.grants.allows("get", group, plural, "", &key.name) {
            return Err(self.refused("get", &definition, plural, &key));
        }
        let read = self.writer.requests().read(&self.write_identity, Identity::Plugin, &definition, &key).await;
        let none = || ReadError::Refused(format!("{kind} has no definition that says how its lists merge"));
        let object = read.map_err(ReadError::Failed)?.ok_or_else(none)?;
        let document: Value = serde_json::from_str(object.json()).map_err(|_no_json| none())?;
        let schema = merge_schema_of(&document, kind).ok_or_else(none)?;
        self.schemas().insert(kind.clone(), (Instant::now(), schema.clone()));
        Ok(schema)
    }

    fn schemas(&self) -> MutexGuard<'_, Schemas> {
        self.schemas.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches of one kind with different selectors see different objects; the first with this object answers.
    async fn first(
        &self,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        stores: Vec<&StoreOf>,
        identity: Identity,
    ) -> Result<Option<Arc<Object>>, ReadError> {
        for of in stores {
            if of.store.fresh(key, Instant::now() + FRESH_DEADLINE).await.is_err() {
                return self
                    .writer
                    .requests()
                    .read(&self.write_identity, identity, kind, key)
                    .await
                    .map_err(ReadError::Failed);
            }
            if let Some(object) = of.store.get(key) {
                return Ok(Some(object));
            }
        }
        Ok(None)
    }

    async fn get_live(&self, kind: &GroupVersionKind, key: &ObjectKey) -> Result<Option<Arc<Object>>, ReadError> {
        self.granted("get", kind, key).await?;
        self.writer.requests().read(&self.write_identity, Identity::Plugin, kind, key).await.map_err(ReadError::Failed)
    }

    async fn list(&self, kind: &GroupVersionKind, options: &ListOptions) -> Result<Vec<Arc<Object>>, ReadError> {
        let resource =
            self.writer.requests().resource_of(&self.write_identity, kind).await.map_err(ReadError::Failed)?;
        let (grants, group, plural) = (&self.write_identity.grants, &kind.group, &resource.plural);
        let namespace = options.namespace.as_deref();
        if !grants.allows_some("list", group, plural, namespace) {
            let key = ObjectKey::new(namespace.unwrap_or_default(), "");
            return Err(self.refused("list", kind, plural, &key));
        }
        // A permission for the whole list makes checks of single objects unnecessary.
        let all = grants.allows("list", group, plural, namespace.unwrap_or_default(), "");
        let granted = |object: &Arc<Object>| {
            let key = object.key();
            all || grants.allows("list", group, plural, &key.namespace, &key.name)
        };
        let limit = options.limit.unwrap_or(usize::MAX);
        let options = &ListOptions { limit: options.limit.filter(|_| all), ..options.clone() };
        let mut found = Vec::new();
        let stores = self.stores_of(kind)?;
        for of in stores {
            if options.namespace.as_ref().is_some_and(|n| !of.store.spec().covers(n)) {
                continue;
            }
            of.store
                .fresh_all(Instant::now() + FRESH_DEADLINE)
                .await
                .map_err(|e| ReadError::Stale(format!("the cache of {kind} is behind the host's own writes: {e}")))?;
            found.extend(of.store.list(options).into_iter().filter(granted));
        }
        found.sort_by(|a, b| a.key().cmp(b.key()));
        found.dedup_by(|a, b| a.key() == b.key());
        found.truncate(limit);
        Ok(found)
    }

    async fn get_applied(&self, kind: &GroupVersionKind, key: &ObjectKey) -> Result<Option<String>, ReadError> {
        let object = self.get(kind, key).await?;
        Ok(object.and_then(|o| self.writer.applied().get(&self.write_identity.field_manager(), kind, &o)))
    }

    async fn granted(&self, verb: &str, kind: &GroupVersionKind, key: &ObjectKey) -> Result<(), ReadError> {
        let resource =
            self.writer.requests().resource_of(&self.write_identity, kind).await.map_err(ReadError::Failed)?;
        if self.write_identity.grants.allows(verb, &kind.group, &resource.plural, &key.namespace, &key.name) {
            return Ok(());
        }
        Err(self.refused(verb, kind, &resource.plural, key))
    }

    fn refused(&self, verb: &str, kind: &GroupVersionKind, plural: &str, key: &ObjectKey) -> ReadError {
        ReadError::Refused(format!(
            "the grant of plugin {} does not allow {verb} {plural} (group {:?}) on {key}",
            self.write_identity.plugin, kind.group
        ))
    }

    fn stores_of(&self, kind: &GroupVersionKind) -> Result<&[StoreOf], ReadError> {
        self.stores.get(kind).map(Vec::as_slice).ok_or_else(|| {
            ReadError::Refused(format!(
                "{kind} is neither a primary nor a watch of plugin {}",
                self.write_identity.plugin
            ))
        })
    }

    /// The stores that may contain an object of the namespace; a store with all of them suffices alone.
    fn stores_covering(
        &self,
        kind: &GroupVersionKind,
        namespace: &str,
        primaries_only: bool,
    ) -> Result<Vec<&StoreOf>, ReadError> {
        let covers = |of: &&StoreOf| of.store.spec().covers(namespace) && (of.primary || !primaries_only);
        let mut covering: Vec<&StoreOf> = self.stores_of(kind)?.iter().filter(covers).collect();
        if let Some(complete) = covering.iter().find(|of| of.store.spec().is_complete()) {
            covering = vec![complete];
        }
        if covering.is_empty() {
            return Err(ReadError::Refused(format!(
                "plugin {} does not watch {kind} in namespace {namespace:?}",
                self.write_identity.plugin
            )));
        }
        Ok(covering)
    }
}

/// How lists of a kind merge, by its definition.
pub(super) fn merge_schema_of(definition: &Value, kind: &GroupVersionKind) -> Option<Schema> {
    let mut versions = definition.pointer("/spec/versions")?.as_array()?.iter();
    let version = versions.find(|version| version.get("name").is_some_and(|name| *name == *kind.version))?;
    version.pointer("/schema/openAPIV3Schema").map(Schema::from_openapi)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Discovery;
    use crate::grants::Grants;
    use crate::informer::{Handler, Informers, Subscription, WatchSpec};
    use crate::metrics::Metrics;
    use oarlock_devserver::{DevServer, Options};
    use serde_json::{Value, json};

    fn kind() -> GroupVersionKind {
        GroupVersionKind::new("", "v1", "ConfigMap")
    }

    async fn create(client: &kube::Client, path: &str, object: Value) {
        let request = http::Request::post(path).header(http::header::CONTENT_TYPE, "application/json");
        client.request::<Value>(request.body(object.to_string().into_bytes()).unwrap()).await.unwrap();
    }

    /// The ConfigMaps x and y in each of the namespaces a, b and c, and a reader with these permissions.
    pub(super) async fn reads(permissions: Value) -> (Reads, Subscription) {
        let client = kube::Client::new(DevServer::router(Options::default()), "default");
        for namespace in ["a", "b", "c"] {
            let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            create(&client, "/api/v1/namespaces", object).await;
            for name in ["x", "y"] {
                let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
                create(&client, &format!("/api/v1/namespaces/{namespace}/configmaps"), object).await;
            }
        }
        let grant = json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginGrant", "permissions": permissions});
        let grants = Grants::new(&serde_json::from_value(grant).unwrap(), std::path::Path::new(".")).unwrap();
        let discovery = Discovery::new(client.clone());
        let informers = Informers::new(client.clone(), discovery.clone());
        let handler: Handler = Arc::new(|_| {});
        let subscription = informers.subscribe(WatchSpec::all(kind()), handler);
        let synced = async {
            while !subscription.store().synced() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), synced).await.unwrap();
        let stores = HashMap::from([(kind(), vec![StoreOf { store: subscription.store().clone(), primary: true }])]);
        let write_identity = WriteIdentity::new("reader", Arc::new(grants));
        let writer = Writer::new(client, discovery, informers, Metrics::new());
        (Reads::new(&manifest(), write_identity, writer, stores), subscription)
    }

    fn manifest() -> PluginManifest {
        let index = json!({"name": "by-name", "version": "v1", "kind": "ConfigMap", "jsonPath": ".metadata.name"});
        let manifest = json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginManifest", "name": "reader",
            "version": "1", "indexes": [index]});
        serde_json::from_value(manifest).unwrap()
    }

    fn rule(namespaces: &[&str], names: &[&str]) -> Value {
        json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"], "namespaces": namespaces,
            "resourceNames": names})
    }

    async fn listed(reads: &Reads, namespace: Option<&str>, limit: Option<usize>) -> Vec<String> {
        let options = ListOptions { namespace: namespace.map(str::to_owned), limit, ..ListOptions::default() };
        let found = reads.list(&kind(), &options).await.unwrap();
        found.iter().map(|o| o.key().to_string()).filter(|key| !key.contains("kube")).collect()
    }

    #[tokio::test]
    async fn a_list_across_namespaces_answers_what_is_granted() {
        let (reads, _watch) = reads(json!([rule(&["a"], &[]), rule(&["c"], &["y"])])).await;
        assert_eq!(listed(&reads, None, None).await, ["a/x", "a/y", "c/y"]);
        assert_eq!(listed(&reads, Some("c"), None).await, ["c/y"]);
        // The limit counts the returned objects.
        assert_eq!(listed(&reads, Some("c"), Some(1)).await, ["c/y"]);
        assert_eq!(listed(&reads, None, Some(2)).await, ["a/x", "a/y"]);
    }

    #[tokio::test]
    async fn a_list_by_an_index_answers_what_is_granted() {
        let (reads, _watch) = reads(json!([rule(&["a"], &[]), rule(&["c"], &["y"])])).await;
        let found = async |name: &str, namespace: Option<&str>| {
            let indexed = Some(reads.index(&kind(), "by-name", name.to_owned()).unwrap());
            let options = ListOptions { namespace: namespace.map(str::to_owned), indexed, ..ListOptions::default() };
            let found = reads.list(&kind(), &options).await.unwrap();
            found.iter().map(|o| o.key().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(found("x", None).await, ["a/x"]);
        assert_eq!(found("y", None).await, ["a/y", "c/y"]);
        assert_eq!(found("y", Some("c")).await, ["c/y"]);
        assert!(found("z", None).await.is_empty());
        let unknown = reads.index(&kind(), "by-node", String::new()).unwrap_err().to_string();
        assert!(unknown.contains("no index \"by-node\"") && unknown.contains("[by-name]"), "{unknown}");
    }

    #[tokio::test]
    async fn a_list_is_refused_where_nothing_of_it_is_granted() {
        let (reads, _watch) = reads(json!([rule(&["a"], &[])])).await;
        let in_b = ListOptions { namespace: Some("b".to_owned()), ..ListOptions::default() };
        assert!(
            matches!(reads.list(&kind(), &in_b).await, Err(ReadError::Refused(why)) if why.contains("list configmaps"))
        );
        let get = reads.get(&kind(), &ObjectKey::new("a", "x")).await;
        assert!(matches!(get, Err(ReadError::Refused(_))), "list is not get");
    }

    /// A failed discovery says nothing about the grant: the reconcile is retried, and not given up as denied.
    #[tokio::test]
    async fn b4_a_discovery_error_is_not_a_missing_permission() {
        let stumbling = tower::service_fn(|_: http::Request<kube::client::Body>| async {
            let mut response = http::Response::new(kube::client::Body::empty());
            *response.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
            Ok::<_, std::convert::Infallible>(response)
        });
        let client = kube::Client::new(stumbling, "default");
        let discovery = Discovery::new(client.clone());
        let informers = Informers::new(client.clone(), discovery.clone());
        let writer = Writer::new(client, discovery, informers, Metrics::new());
        let grant = json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginGrant", "permissions":
            [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]});
        let grants = Grants::new(&serde_json::from_value(grant).unwrap(), std::path::Path::new(".")).unwrap();
        let reads =
            Reads::new(&manifest(), WriteIdentity::new("reader", Arc::new(grants)), writer.clone(), HashMap::new());
        let seen = reads.may_see(&kind(), &ObjectKey::new("a", "x")).await;
        assert!(matches!(seen, Err(ReadError::Failed(WriteError::Transport(_)))), "{seen:?}");
        // A grant without the group is decided without the API server.
        let nothing =
            Reads::new(&manifest(), WriteIdentity::new("reader", Arc::new(Grants::none())), writer, HashMap::new());
        assert!(!nothing.may_see(&kind(), &ObjectKey::new("a", "x")).await.unwrap());
    }

    #[tokio::test]
    async fn a_list_of_everything_needs_no_look_at_each_object() {
        let (reads, _watch) = reads(json!([rule(&[], &[])])).await;
        let expected = ["a/x", "a/y", "b/x", "b/y", "c/x", "c/y"];
        assert_eq!(listed(&reads, None, None).await, expected);
        assert_eq!(listed(&reads, Some("b"), Some(1)).await, ["b/x"]);
    }
}
