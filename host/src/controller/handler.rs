//! Event handlers: the watches of a plugin, and the keys that each event enqueues.

use super::changed_fields::{ChangedFields, KeptBytes};
use super::current_version::CurrentVersion;
use super::dependencies::Dependencies;
use super::mapping::{self, Mapper};
use super::marks::Marks;
use super::tombstones::Tombstones;
use super::version::{EventMode, EventModeCell};
use super::{ReconcileKey, annotations};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::Writer;
use crate::informer::{Delta, Handler, Indexer, Informers, Object, Store, Subscription, WatchSpec};
use crate::plugin::{StoreOf, indexes};
use crate::workqueue::{Cause, Trigger, WorkQueue};
use oarlock_manifest::{Kind, Mapping, PluginManifest, Primary, Watch};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Weak};

pub(super) type Stores = HashMap<GroupVersionKind, Vec<StoreOf>>;

/// Converts a manifest's kind into the host's type.
pub(super) fn kind(kind: &Kind) -> GroupVersionKind {
    GroupVersionKind::new(kind.group.clone(), kind.version.clone(), kind.kind.clone())
}

/// The state that the handlers of one version share.
#[derive(Clone)]
pub(super) struct Handlers {
    pub(super) queue: WorkQueue<ReconcileKey>,
    pub(super) tombstones: Arc<Tombstones>,
    /// Marks of objects, which stay until their key runs again.
    pub(super) marks: Arc<Marks>,
    /// Of the plugin's events in the queue.
    pub(super) kept_bytes: Arc<KeptBytes>,
    pub(super) dependencies: Arc<Dependencies>,
    pub(super) writer: Writer,
    /// Whether the handlers enqueue keys.
    pub(super) event_mode: Arc<EventModeCell>,
    /// The current version, and the rollout beside it.
    pub(super) version: Weak<CurrentVersion>,
}

impl Handlers {
    /// Whether a key is the version's, so that its events concern it.
    ///
    /// * `object`, `old` - see [`CurrentVersion::is_of`].
    fn has(&self, key: &ReconcileKey, object: Option<&Object>, old: Option<&Object>) -> bool {
        self.version.upgrade().is_none_or(|version| version.is_of(&self.event_mode, key, object, old))
    }
}

/// Subscribes to all kinds of the manifest: primaries first, so that mappings find their stores.
pub(super) fn subscribe(
    manifest: &PluginManifest,
    informers: &Informers,
    handlers: &Handlers,
) -> (Vec<Subscription>, Stores) {
    let mut subscriptions = Vec::new();
    let mut stores = Stores::new();
    let indexers = indexers(manifest);
    let mut open = |gvk: &GroupVersionKind,
                    namespaces: &[String],
                    labels: &str,
                    fields: &str,
                    handler: &Handler,
                    primary: bool| {
        let each: Vec<Option<String>> =
            if namespaces.is_empty() { vec![None] } else { namespaces.iter().cloned().map(Some).collect() };
        for namespace in each {
            let spec = WatchSpec {
                gvk: gvk.clone(),
                namespace,
                label_selector: Some(labels.to_owned()),
                field_selector: Some(fields.to_owned()),
            };
            let mut subscription = informers.subscribe(spec, Arc::clone(handler));
            subscription.declare(indexers.iter().filter(|(of, _)| of == gvk).map(|(_, indexer)| indexer.clone()));
            let of = StoreOf { store: subscription.store().clone(), primary };
            stores.entry(gvk.clone()).or_default().push(of);
            subscriptions.push(subscription);
        }
        stores.get(gvk).map(|all| all.iter().map(|of| of.store.clone()).collect::<Vec<_>>()).unwrap_or_default()
    };
    let mut primaries: HashMap<GroupVersionKind, Vec<Store>> = HashMap::new();
    for primary in &manifest.primaries {
        let gvk = kind(&primary.gvk());
        let handler = primary_handler(gvk.clone().into(), manifest, handlers, is_read_elsewhere(manifest, &gvk));
        let of = open(&gvk, &primary.namespaces, &primary.label_selector, &primary.field_selector, &handler, true);
        primaries.insert(gvk, of);
    }
    for watch in &manifest.watches {
        let gvk = kind(&watch.gvk());
        let mapper = match (&watch.map_to, target(watch, manifest)) {
            (Mapping::CacheOnly | Mapping::Reads, _) | (_, None) => None,
            (_, Some(target)) => {
                let stores = primaries.get(&target).cloned().unwrap_or_default();
                Some(Mapper::new(watch.clone(), target.into(), stores))
            }
        };
        let wakes = Wakes { mapper, readers: watch.map_to == Mapping::Reads || is_read_elsewhere(manifest, &gvk) };
        let handler = watch_handler(gvk.clone().into(), wakes, handlers);
        for fields in named(&watch.names) {
            open(&gvk, &watch.namespaces, &watch.label_selector, &fields, &handler, false);
        }
    }
    (subscriptions, stores)
}

/// The kind of the keys that a watch enqueues.
fn target(watch: &Watch, manifest: &PluginManifest) -> Option<GroupVersionKind> {
    watch.primary.as_ref().map(kind).or_else(|| manifest.primaries.first().map(|primary| kind(&primary.gvk())))
}

/// Whether a change of a kind concerns keys, and the manifest has several entries of the kind, which may be several caches. A read is
/// answered by one of them: its event wakes the readers, whichever of them was first to have the change.
fn is_read_elsewhere(manifest: &PluginManifest, gvk: &GroupVersionKind) -> bool {
    let of_kind = |of: &Kind| kind(of) == *gvk;
    let entries = manifest.primaries.iter().map(Primary::gvk).chain(manifest.watches.iter().map(Watch::gvk));
    let mut watches = manifest.watches.iter();
    entries.filter(of_kind).count() > 1
        && watches.any(|watch| of_kind(&watch.gvk()) && watch.map_to != Mapping::CacheOnly)
}

/// The indexes that the plugin declares, and those that its mappings need.
fn indexers(manifest: &PluginManifest) -> Vec<(GroupVersionKind, Indexer)> {
    let declared = indexes::of(manifest).into_iter().map(|index| (index.kind, index.indexer));
    let of_watch = |watch: &Watch| Some((target(watch, manifest)?, mapping::indexer(watch)?));
    declared.chain(manifest.watches.iter().filter_map(of_watch)).collect()
}

/// Most watches for the names of one entry. With more names the host watches all objects, and the handler filters them.
const NAMED_WATCHES: usize = 16;

/// The field selectors for watches of these names, so that the host does not receive other objects.
fn named(names: &[String]) -> Vec<String> {
    let plain = |name: &String| name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'));
    if names.is_empty() || names.len() > NAMED_WATCHES || !names.iter().all(plain) {
        return vec![String::new()];
    }
    let distinct: BTreeSet<&String> = names.iter().collect();
    distinct.into_iter().map(|name| WatchSpec::field_of_name(name)).collect()
}

/// An event of an object, for people: `ConfigMap team-a/settings modified: data.color`.
struct Watched {
    kind: Arc<GroupVersionKind>,
    key: ObjectKey,
    happened: &'static str,
    fields: ChangedFields,
}

impl Watched {
    /// The event as a cause. None: it concerns no object.
    ///
    /// * `kept` - counts what the event keeps.
    fn cause(kind: &Arc<GroupVersionKind>, delta: &Delta, kept: &Arc<KeptBytes>) -> Option<Cause> {
        let (key, fields) = match delta {
            Delta::Applied { old: Some(old), new, .. } => (new.key(), ChangedFields::between(old, new, kept)),
            Delta::Applied { new: object, .. } | Delta::Deleted(object) => {
                (object.key(), ChangedFields::Named(String::new()))
            }
            Delta::Synced => return None,
        };
        let event = Self { kind: Arc::clone(kind), key: key.clone(), happened: happened(delta), fields };
        Some(Cause::Other(Arc::new(event)))
    }
}

impl std::fmt::Display for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.kind.kind, self.key, self.happened)?;
        let fields = self.fields.names();
        if fields.is_empty() { Ok(()) } else { write!(f, ": {fields}") }
    }
}

/// The type of an event, in the words of a watch.
fn happened(delta: &Delta) -> &'static str {
    match delta {
        Delta::Applied { old: None, .. } => "added",
        Delta::Applied { .. } | Delta::Synced => "modified",
        Delta::Deleted(_) => "deleted",
    }
}

/// Enqueues the key of a changed primary, except for the watch echo of the host's own write.
///
/// * `wakes_readers` - also enqueues the other keys that have read the object.
fn primary_handler(
    gvk: Arc<GroupVersionKind>,
    manifest: &PluginManifest,
    handlers: &Handlers,
    wakes_readers: bool,
) -> Handler {
    let handlers = handlers.clone();
    let (plugin, cleanup) = (manifest.name.clone(), manifest.cleanup);
    Arc::new(move |delta| {
        let Handlers { queue, tombstones, marks, kept_bytes, dependencies, writer, event_mode, .. } = &handlers;
        forget_gone(writer, delta);
        match (event_mode.now(), delta) {
            (EventMode::Enqueue, _) => {}
            (EventMode::Standby, Delta::Deleted(last)) if !cleanup => {
                // If the leader ends now, it may not have reconciled the deletion.
                let key = ReconcileKey { kind: Arc::clone(&gvk), key: last.key().clone() };
                tombstones.put_for_a_while(&key, last);
                return;
            }
            (EventMode::Standby | EventMode::Disabled, _) => return,
        }
        let readers = dependencies.changed(&gvk, delta);
        if let Delta::Applied { new: object, .. } | Delta::Deleted(object) = delta {
            dependencies.touch(&ReconcileKey { kind: Arc::clone(&gvk), key: object.key().clone() });
        }
        if wakes_readers {
            enqueue(&handlers, &gvk, delta, without_itself(readers, &gvk, delta));
        }
        if !concerns(&handlers, &gvk, delta) {
            return;
        }
        let (object, initial) = match delta {
            Delta::Applied { old: Some(old), new, .. } if old.uid() == new.uid() => {
                let (queue, key) = (queue.clone(), ReconcileKey { kind: Arc::clone(&gvk), key: new.key().clone() });
                let asked = annotations::asks(old, new);
                let change = Delta::Applied { old: Some(Arc::clone(old)), new: Arc::clone(new), initial: false };
                let (gvk, kept_bytes) = (Arc::clone(&gvk), Arc::clone(kept_bytes));
                let wake = move || match Watched::cause(&gvk, &change, &kept_bytes).filter(|_| !asked) {
                    Some(cause) => queue.add_event(key, cause),
                    None => ask(&queue, key),
                };
                let echoes = writer.echoes();
                echoes.unless_echo(&plugin, new.uid(), old.resource_version(), new.resource_version(), wake);
                return;
            }
            Delta::Applied { new, initial, .. } => (new, *initial),
            Delta::Deleted(last) => (last, false),
            Delta::Synced => return,
        };
        let key = ReconcileKey { kind: Arc::clone(&gvk), key: object.key().clone() };
        let cause = Cause::Own(happened(delta));
        if let Delta::Deleted(last) = delta {
            // Timers of the key would only find the object gone.
            queue.remove(&key);
            if cleanup {
                // The finalizer held the object until cleanup was done, or the object left the selector: the plugin has nothing left to
                // do. A key with a mark runs once more, without a call, to clear the mark.
                if marks.contains(&key) {
                    queue.add_event(key, cause);
                } else {
                    dependencies.forget(&key);
                }
                return;
            }
            tombstones.put(&key, last);
        }
        if initial {
            queue.add(key, Trigger::InitialList);
        } else {
            queue.add_event(key, cause);
        }
    })
}

/// Whether a primary's own event concerns the version: during a rollout each key is of one version.
fn concerns(handlers: &Handlers, gvk: &Arc<GroupVersionKind>, delta: &Delta) -> bool {
    let key = |object: &Object| ReconcileKey { kind: Arc::clone(gvk), key: object.key().clone() };
    match delta {
        Delta::Applied { old, new, .. } => handlers.has(&key(new), Some(new), old.as_deref()),
        Delta::Deleted(last) => {
            let version = handlers.version.upgrade();
            version.is_none_or(|version| version.is_of_deleted(&handlers.event_mode, &key(last), last))
        }
        Delta::Synced => false,
    }
}

/// The event of a key whose reconcile a person asked for.
pub(super) const ASKED: &str = "asks for a reconcile";

/// Enqueues a key whose reconcile a person asked for. Its backoff ends.
pub(super) fn ask(queue: &WorkQueue<ReconcileKey>, key: ReconcileKey) {
    queue.forget(&key);
    queue.add_event(key, Cause::Own(ASKED));
}

/// Forgets the applied documents and own writes of a deleted object. An object that only left its selector costs one more apply and one
/// more reconcile.
fn forget_gone(writer: &Writer, delta: &Delta) {
    let gone = match delta {
        Delta::Applied { old: Some(old), new, .. } if old.uid() != new.uid() => old.uid(),
        Delta::Deleted(last) => last.uid(),
        _ => return,
    };
    writer.applied().forget(gone);
    writer.echoes().forget(gone);
}

/// The keys that a change of a watched object enqueues.
struct Wakes {
    mapper: Option<Mapper>,
    /// Those that have read the object, or a list with it.
    readers: bool,
}

fn watch_handler(gvk: Arc<GroupVersionKind>, wakes: Wakes, handlers: &Handlers) -> Handler {
    let handlers = handlers.clone();
    Arc::new(move |delta| {
        forget_gone(&handlers.writer, delta);
        if handlers.event_mode.now() != EventMode::Enqueue {
            return;
        }
        let readers = handlers.dependencies.changed(&gvk, delta);
        let mut keys = if wakes.readers { without_itself(readers, &gvk, delta) } else { Vec::new() };
        keys.extend(wakes.mapper.iter().flat_map(|mapper| mapped(mapper, delta)));
        enqueue(&handlers, &gvk, delta, keys);
    })
}

/// The other keys. A changed primary runs by its own event, unless that is an echo.
fn without_itself(mut keys: Vec<ReconcileKey>, gvk: &GroupVersionKind, delta: &Delta) -> Vec<ReconcileKey> {
    if let Delta::Applied { new: object, .. } | Delta::Deleted(object) = delta {
        keys.retain(|key| *key.kind != *gvk || key.key != *object.key());
    }
    keys
}

/// Enqueues the keys that a change of another object concerns.
fn enqueue(handlers: &Handlers, gvk: &Arc<GroupVersionKind>, delta: &Delta, mut keys: Vec<ReconcileKey>) {
    let queue = &handlers.queue;
    keys.sort();
    keys.dedup();
    keys.retain(|key| handlers.has(key, None, None));
    if matches!(delta, Delta::Applied { initial: true, .. }) {
        keys.into_iter().for_each(|key| queue.add(key, Trigger::InitialList));
        return;
    }
    if keys.is_empty() {
        return;
    }
    let Some(cause) = Watched::cause(gvk, delta, &handlers.kept_bytes) else { return };
    keys.into_iter().for_each(|key| queue.add_event(key, cause.clone()));
}

fn mapped(mapper: &Mapper, delta: &Delta) -> Vec<ReconcileKey> {
    let mut keys = Vec::new();
    match delta {
        Delta::Applied { old, new, .. } => {
            // A reference may have moved: the old target must run as well.
            if let Some(old) = old {
                mapper.keys(old, &mut keys);
            }
            mapper.keys(new, &mut keys);
        }
        Delta::Deleted(last) => mapper.keys(last, &mut keys),
        Delta::Synced => {}
    }
    keys.into_iter().map(|key| ReconcileKey { kind: Arc::clone(mapper.target()), key }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::informer::Object;
    use serde_json::{Value, json};

    fn object(doc: &Value) -> Object {
        Object::parse(&doc.to_string()).unwrap()
    }

    /// Handlers whose events wake keys, without a server.
    fn handlers() -> Handlers {
        let client = kube::Client::new(tower::service_fn(no_server), "default");
        let discovery = crate::api::Discovery::new(client.clone());
        let informers = Informers::new(client.clone(), discovery.clone());
        let metrics = crate::metrics::Metrics::new();
        let event_mode: Arc<EventModeCell> = Arc::default();
        event_mode.set(EventMode::Enqueue);
        Handlers {
            queue: WorkQueue::new("p", crate::workqueue::Config::default()),
            tombstones: Arc::default(),
            marks: Arc::new(Marks::new(&metrics.plugin("p"))),
            kept_bytes: Arc::default(),
            dependencies: Arc::default(),
            writer: Writer::new(client, discovery, informers, metrics),
            event_mode,
            version: Weak::new(),
        }
    }

    fn manifest(cleanup: bool) -> PluginManifest {
        let manifest = json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginManifest", "name": "p", "version": "1",
            "cleanup": cleanup, "primaries": []});
        serde_json::from_value(manifest).unwrap()
    }

    /// An object that leaves its selector while out of sync would be counted until the host ends: no event runs its key again.
    #[tokio::test(start_paused = true)]
    async fn b6_an_object_that_goes_while_out_of_sync_is_looked_at_once_more() {
        for out_of_sync in [true, false] {
            let handlers = handlers();
            let gvk: Arc<_> = GroupVersionKind::new("", "v1", "ConfigMap").into();
            let tell = primary_handler(gvk.clone(), &manifest(true), &handlers, false);
            let last = object(&json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1"}}));
            let key = ReconcileKey { kind: gvk, key: last.key().clone() };
            if out_of_sync {
                handlers.marks.out_of_sync.set(&key, true, || true);
            }
            handlers.queue.add_rate_limited(key.clone());
            tell(&Delta::Deleted(Arc::new(last)));
            let left = handlers.queue.snapshot(1);
            assert_eq!((left.delayed, left.failing, left.ready), (0, 0, usize::from(out_of_sync)));
            assert!(handlers.tombstones.get(&key).is_none());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn q13_the_end_of_an_object_cancels_what_was_planned_for_it() {
        for cleanup in [true, false] {
            let handlers = handlers();
            let gvk: Arc<_> = GroupVersionKind::new("", "v1", "ConfigMap").into();
            let tell = primary_handler(gvk.clone(), &manifest(cleanup), &handlers, false);
            let last = object(&json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1"}}));
            let key = ReconcileKey { kind: gvk, key: last.key().clone() };
            handlers.queue.add_rate_limited(key.clone());
            handlers.queue.add_after(key.clone(), std::time::Duration::from_secs(3600), Trigger::Requeue);
            tell(&Delta::Deleted(Arc::new(last)));
            let left = handlers.queue.snapshot(1);
            assert_eq!((left.delayed, left.failing), (0, 0), "cleanup: {cleanup}");
            // Without a finalizer the key runs once more, with the object's last state.
            assert_eq!(left.ready, usize::from(!cleanup));
            assert_eq!(handlers.tombstones.get(&key).is_some(), !cleanup);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn another_value_of_reconcile_at_ends_the_backoff_and_no_other_change_does() {
        for asked in [true, false] {
            let handlers = handlers();
            let gvk: Arc<_> = GroupVersionKind::new("", "v1", "ConfigMap").into();
            let tell = primary_handler(gvk.clone(), &manifest(true), &handlers, false);
            let state = |version: &str, annotation: &str, value: &str| {
                let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n",
                    "uid": "u", "resourceVersion": version, "annotations": {annotation: value}}});
                Arc::new(self::object(&object))
            };
            let annotation = if asked { super::super::RECONCILE_AT } else { "other" };
            let (old, new) = (state("1", annotation, "1"), state("2", annotation, "2"));
            let key = ReconcileKey { kind: gvk, key: new.key().clone() };
            for _ in 0..5 {
                handlers.queue.add_rate_limited(key.clone());
            }
            tell(&Delta::Applied { old: Some(old), new, initial: false });
            let item = handlers.queue.get().await.unwrap();
            assert_eq!((item.key == key, item.attempt), (true, if asked { 1 } else { 6 }));
            let cause = match item.cause.unwrap() {
                Cause::Own(what) => what.to_owned(),
                Cause::Other(event) => event.to_string(),
            };
            assert_eq!(cause, if asked { ASKED } else { "ConfigMap n/a modified: metadata.annotations.other" });
        }
    }

    async fn no_server(
        _: http::Request<kube::client::Body>,
    ) -> Result<http::Response<kube::client::Body>, std::convert::Infallible> {
        Ok(http::Response::builder().status(503).body(kube::client::Body::empty()).unwrap())
    }

    #[test]
    fn t13_of_some_names_only_objects_of_these_names_are_watched() {
        let names = |names: &[&str]| named(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(names(&["settings"]), ["metadata.name=settings"]);
        assert_eq!(names(&["b", "a", "b"]), ["metadata.name=a", "metadata.name=b"]);
        assert_eq!(names(&[]), [""]);
        assert_eq!(names(&["a,metadata.namespace=b"]), [""], "what means something in a selector is no name");
        assert_eq!(names(&["x"; NAMED_WATCHES + 1]), [""]);
    }
}
