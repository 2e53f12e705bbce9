//! What a plugin reads of the cluster: its own watches' stores, never older than the host's last write.

use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::{Author, WriteError, Writer};
use crate::informer::{ListOptions, Object, Store};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long a read waits for the cache to see the host's own last write before it asks the API server instead.
const FRESH_DEADLINE: Duration = Duration::from_secs(2);

/// The store of one watch.
#[derive(Clone, Debug)]
pub struct StoreOf {
    /// The store; its spec tells what it selects.
    pub store: Store,
    /// Whether its objects are reconciled, or only read. One kind may be both, by different selectors.
    pub primary: bool,
}

/// Why a read failed.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The kind is no primary or watch of the plugin, or the grant forbids it.
    #[error("{0}")]
    Refused(String),
    /// The API server could not be asked.
    #[error(transparent)]
    Failed(WriteError),
    /// The cache is behind the host's own writes.
    #[error("{0}")]
    Stale(String),
}

/// Reads for one version of a plugin.
#[derive(Debug)]
pub struct Reads {
    author: Author,
    writer: Writer,
    stores: HashMap<GroupVersionKind, Vec<StoreOf>>,
}

impl Reads {
    /// Reads from these stores, and past them through `writer`.
    #[must_use]
    pub fn new(author: Author, writer: Writer, stores: HashMap<GroupVersionKind, Vec<StoreOf>>) -> Self {
        Self { author, writer, stores }
    }

    /// One object, not older than the host's own last write of it.
    ///
    /// # Errors
    ///
    /// See [`ReadError`].
    pub async fn get(&self, kind: &GroupVersionKind, key: &ObjectKey) -> Result<Option<Arc<Object>>, ReadError> {
        self.granted("get", kind, key).await?;
        self.first(kind, key, self.stores_covering(kind, &key.namespace, false)?).await
    }

    /// A primary, for the host itself, which needs no grant.
    ///
    /// # Errors
    ///
    /// See [`ReadError`].
    pub async fn get_unchecked(
        &self,
        kind: &GroupVersionKind,
        key: &ObjectKey,
    ) -> Result<Option<Arc<Object>>, ReadError> {
        self.first(kind, key, self.stores_covering(kind, &key.namespace, true)?).await
    }

    /// Watches of one kind with different selectors see different objects: whichever has this one answers.
    async fn first(
        &self,
        kind: &GroupVersionKind,
        key: &ObjectKey,
        stores: Vec<&StoreOf>,
    ) -> Result<Option<Arc<Object>>, ReadError> {
        for of in stores {
            if of.store.fresh(key, Instant::now() + FRESH_DEADLINE).await.is_err() {
                return self.writer.read(&self.author, kind, key).await.map_err(ReadError::Failed);
            }
            if let Some(object) = of.store.get(key) {
                return Ok(Some(object));
            }
        }
        Ok(None)
    }

    /// Past the cache.
    ///
    /// # Errors
    ///
    /// See [`ReadError`].
    pub async fn get_live(&self, kind: &GroupVersionKind, key: &ObjectKey) -> Result<Option<Arc<Object>>, ReadError> {
        self.granted("get", kind, key).await?;
        self.writer.read(&self.author, kind, key).await.map_err(ReadError::Failed)
    }

    /// Objects in order of namespace and name, not older than the host's own last writes of the kind.
    ///
    /// # Errors
    ///
    /// See [`ReadError`]; [`ReadError::Stale`] when the cache has not caught up in time.
    pub async fn list(&self, kind: &GroupVersionKind, options: &ListOptions) -> Result<Vec<Arc<Object>>, ReadError> {
        let key = ObjectKey::new(options.namespace.clone().unwrap_or_default(), "");
        self.granted("list", kind, &key).await?;
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
            found.extend(of.store.list(options));
        }
        found.sort_by(|a, b| a.key().cmp(b.key()));
        found.dedup_by(|a, b| a.key() == b.key());
        found.truncate(options.limit.unwrap_or(usize::MAX));
        Ok(found)
    }

    /// What this plugin's field manager owns of an object.
    ///
    /// # Errors
    ///
    /// See [`ReadError`].
    pub async fn get_applied(
        &self,
        kind: &GroupVersionKind,
        key: &ObjectKey,
    ) -> Result<Option<serde_json::Value>, ReadError> {
        let object = self.get(kind, key).await?;
        Ok(object.and_then(|o| self.writer.applied().get(&self.author.field_manager(), kind, &o)))
    }

    /// Whether the plugin may see an object at all.
    pub async fn may_see(&self, kind: &GroupVersionKind, key: &ObjectKey) -> bool {
        self.granted("get", kind, key).await.is_ok()
    }

    async fn granted(&self, verb: &str, kind: &GroupVersionKind, key: &ObjectKey) -> Result<(), ReadError> {
        let resource = self.writer.resource_of(kind).await.map_err(ReadError::Failed)?;
        if self.author.grants.allows(verb, &kind.group, &resource.plural, &key.namespace, &key.name) {
            return Ok(());
        }
        Err(ReadError::Refused(format!(
            "the grant of plugin {} does not allow {verb} {} (group {:?}) on {key}",
            self.author.plugin, resource.plural, kind.group
        )))
    }

    fn stores_of(&self, kind: &GroupVersionKind) -> Result<&[StoreOf], ReadError> {
        self.stores.get(kind).map(Vec::as_slice).ok_or_else(|| {
            ReadError::Refused(format!("{kind} is neither a primary nor a watch of plugin {}", self.author.plugin))
        })
    }

    /// Those that may hold an object of the namespace; one that holds all of them answers alone.
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
                self.author.plugin
            )));
        }
        Ok(covering)
    }
}
