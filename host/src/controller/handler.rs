//! From events to keys: which watches a plugin needs, and whom a change wakes.

use super::ReconcileKey;
use super::tombstones::Tombstones;
use super::version::{Wakes, Waking};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::Writer;
use crate::informer::{Delta, Handler, Informers, Object, Store, Subscription, WatchSpec};
use crate::plugin::StoreOf;
use crate::workqueue::{Trigger, WorkQueue};
use oarlock_manifest::{Kind, Mapping, PluginManifest, Watch};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

type Stores = HashMap<GroupVersionKind, Vec<StoreOf>>;

/// A manifest's kind in the host's own type.
pub(super) fn kind(kind: &Kind) -> GroupVersionKind {
    GroupVersionKind::new(kind.group.clone(), kind.version.clone(), kind.kind.clone())
}

/// What the handlers of one version need.
#[derive(Clone)]
pub(super) struct Handlers {
    pub(super) queue: WorkQueue<ReconcileKey>,
    pub(super) tombstones: Arc<Tombstones>,
    /// Objects that are shown as out of sync until their key has run again.
    pub(super) unsettled: Arc<super::Unsettled>,
    pub(super) writer: Writer,
    /// Whom they wake.
    pub(super) waking: Arc<Waking>,
}

/// Subscribes to everything the manifest names: primaries first, so that mappings find their stores.
pub(super) fn subscribe(
    manifest: &PluginManifest,
    informers: &Informers,
    handlers: &Handlers,
) -> (Vec<Subscription>, Stores) {
    let mut subscriptions = Vec::new();
    let mut stores = Stores::new();
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
            let subscription = informers.subscribe(spec, Arc::clone(handler));
            let of = StoreOf { store: subscription.store().clone(), primary };
            stores.entry(gvk.clone()).or_default().push(of);
            subscriptions.push(subscription);
        }
        stores.get(gvk).map(|all| all.iter().map(|of| of.store.clone()).collect::<Vec<_>>()).unwrap_or_default()
    };
    let mut primaries: HashMap<GroupVersionKind, Vec<Store>> = HashMap::new();
    for primary in &manifest.primaries {
        let gvk = kind(&primary.gvk());
        let handler = primary_handler(gvk.clone().into(), manifest, handlers);
        let of = open(&gvk, &primary.namespaces, &primary.label_selector, &primary.field_selector, &handler, true);
        primaries.insert(gvk, of);
    }
    for watch in &manifest.watches {
        let gvk = kind(&watch.gvk());
        let target = watch.primary.as_ref().map(kind).or_else(|| manifest.primaries.first().map(|p| kind(&p.gvk())));
        let handler = match target {
            Some(target) if watch.map_to != Mapping::CacheOnly => {
                let stores = primaries.get(&target).cloned().unwrap_or_default();
                let mapper = Mapper { watch: watch.clone(), target: target.into(), stores };
                watch_handler(mapper, handlers)
            }
            _ => {
                let writer = handlers.writer.clone();
                Arc::new(move |delta: &Delta| forget_gone(&writer, delta)) as Handler
            }
        };
        open(&gvk, &watch.namespaces, &watch.label_selector, &named(&watch.names), &handler, false);
    }
    (subscriptions, stores)
}

/// One name can be asked for; of several, the handler sorts out.
fn named(names: &[String]) -> String {
    let plain = |name: &&String| name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.'));
    match names {
        [name] if plain(&name) => WatchSpec::field_of_name(name),
        _ => String::new(),
    }
}

/// A primary wakes its own key, except by the echo of the host's own write.
fn primary_handler(gvk: Arc<GroupVersionKind>, manifest: &PluginManifest, handlers: &Handlers) -> Handler {
    let handlers = handlers.clone();
    let (plugin, cleanup) = (manifest.name.clone(), manifest.cleanup);
    Arc::new(move |delta| {
        let Handlers { queue, tombstones, unsettled, writer, waking } = &handlers;
        forget_gone(writer, delta);
        match (waking.now(), delta) {
            (Wakes::Keys, _) => {}
            (Wakes::NobodyYet, Delta::Deleted(last)) if !cleanup => {
                // If the host that reconciles it ends now, it may not have come to it.
                let key = ReconcileKey { kind: Arc::clone(&gvk), key: last.key().clone() };
                tombstones.put_for_a_while(&key, last);
                return;
            }
            (Wakes::NobodyYet | Wakes::Nobody, _) => return,
        }
        let (object, trigger) = match delta {
            Delta::Applied { old: Some(old), new, .. } if old.uid() == new.uid() => {
                let (queue, key) = (queue.clone(), ReconcileKey { kind: Arc::clone(&gvk), key: new.key().clone() });
                let wake = move || queue.add(key, Trigger::Event);
                let own = writer.own();
                own.unless_echo(&plugin, new.uid(), old.resource_version(), new.resource_version(), wake);
                return;
            }
            Delta::Applied { new, initial, .. } => (new, if *initial { Trigger::InitialList } else { Trigger::Event }),
            Delta::Deleted(last) => (last, Trigger::Event),
            Delta::Synced => return,
        };
        let key = ReconcileKey { kind: Arc::clone(&gvk), key: object.key().clone() };
        if let Delta::Deleted(last) = delta {
            // Whatever was planned for it: its timers would only find that it is gone.
            queue.remove(&key);
            if cleanup {
                // Its finalizer held it until everything was gone, or it left the selector: the plugin has nothing left to do. A key
                // that is shown as out of sync runs once more, without a call, so that it no longer is.
                if unsettled.lock().unwrap_or_else(PoisonError::into_inner).contains(&key) {
                    queue.add(key, trigger);
                }
                return;
            }
            tombstones.put(&key, last);
        }
        queue.add(key, trigger);
    })
}

/// Of an object that is gone nothing that was applied needs to be known. One that only left its selector costs one apply more.
fn forget_gone(writer: &Writer, delta: &Delta) {
    match delta {
        Delta::Applied { old: Some(old), new, .. } if old.uid() != new.uid() => writer.applied().forget(old.uid()),
        Delta::Deleted(last) => writer.applied().forget(last.uid()),
        _ => {}
    }
}

fn watch_handler(mapper: Mapper, handlers: &Handlers) -> Handler {
    let handlers = handlers.clone();
    Arc::new(move |delta| {
        forget_gone(&handlers.writer, delta);
        if handlers.waking.now() != Wakes::Keys {
            return;
        }
        let mut keys = Vec::new();
        let trigger = match delta {
            Delta::Applied { old, new, initial } => {
                // A reference may have moved: the old target must look again as well.
                if let Some(old) = old {
                    mapper.keys(old, &mut keys);
                }
                mapper.keys(new, &mut keys);
                if *initial { Trigger::InitialList } else { Trigger::Event }
            }
            Delta::Deleted(last) => {
                mapper.keys(last, &mut keys);
                Trigger::Event
            }
            Delta::Synced => return,
        };
        keys.sort();
        keys.dedup();
        for key in keys {
            handlers.queue.add(ReconcileKey { kind: Arc::clone(&mapper.target), key }, trigger);
        }
    })
}

/// Finds the primaries a watched object is about.
struct Mapper {
    watch: Watch,
    target: Arc<GroupVersionKind>,
    stores: Vec<Store>,
}

impl Mapper {
    fn keys(&self, object: &Object, found: &mut Vec<ObjectKey>) {
        let key = object.key();
        if !self.watch.names.is_empty() && !self.watch.names.iter().any(|n| *n == *key.name) {
            return;
        }
        match &self.watch.map_to {
            Mapping::OwnerReference => {
                let ours = object.owners().filter(|owner| {
                    let gvk = GroupVersionKind::from_api_version(owner.api_version, owner.kind);
                    gvk.group == self.target.group && gvk.kind == self.target.kind
                });
                for owner in ours {
                    found.push(ObjectKey::new(Arc::clone(&key.namespace), owner.name));
                    // The owner may be cluster-scoped.
                    if !key.namespace.is_empty() && self.has(&ObjectKey::new("", owner.name)) {
                        found.push(ObjectKey::new("", owner.name));
                    }
                }
            }
            Mapping::SameName => found.push(key.clone()),
            Mapping::Label { key: label } => {
                if let Some(name) = object.label(label).filter(|n| !n.is_empty()) {
                    found.push(ObjectKey::new(Arc::clone(&key.namespace), name));
                }
            }
            Mapping::Annotation { key: annotation } => {
                if let Some(name) = annotation_of(object, annotation).filter(|n| !n.is_empty()) {
                    found.push(ObjectKey::new(Arc::clone(&key.namespace), name));
                }
            }
            Mapping::ReferencedBy { pointer } => {
                for primary in self.candidates(key) {
                    if refers(&primary, pointer, &key.name) {
                        found.push(primary.key().clone());
                    }
                }
            }
            Mapping::All => found.extend(self.stores.iter().flat_map(Store::keys)),
            Mapping::CacheOnly => {}
        }
    }

    fn has(&self, key: &ObjectKey) -> bool {
        self.stores.iter().any(|store| store.get(key).is_some())
    }

    fn candidates(&self, key: &ObjectKey) -> Vec<Arc<Object>> {
        let options = crate::informer::ListOptions {
            namespace: key.namespace().map(str::to_owned),
            ..crate::informer::ListOptions::default()
        };
        self.stores.iter().flat_map(|store| store.list(&options)).collect()
    }
}

fn annotation_of(object: &Object, annotation: &str) -> Option<String> {
    // Not kept parsed: the text tells quickly that most objects do not have it.
    if !object.json().contains(annotation) {
        return None;
    }
    let document: Value = serde_json::from_str(object.json()).ok()?;
    document.get("metadata")?.get("annotations")?.get(annotation)?.as_str().map(str::to_owned)
}

/// Whether `object` holds `name` at `pointer`, as a text or in a list of texts.
fn refers(object: &Object, pointer: &str, name: &str) -> bool {
    if !object.json().contains(name) {
        return false;
    }
    let Ok(document) = serde_json::from_str::<Value>(object.json()) else { return false };
    match document.pointer(pointer) {
        Some(Value::String(text)) => text == name,
        Some(Value::Array(list)) => list.iter().any(|item| item.as_str() == Some(name)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(doc: &Value) -> Object {
        Object::parse(&doc.to_string()).unwrap()
    }

    fn mapped(map_to: &Value, object: &Object) -> Vec<String> {
        let watch = json!({"version": "v1", "kind": "ConfigMap", "mapTo": map_to});
        let mapper = Mapper {
            watch: serde_json::from_value(watch).unwrap(),
            target: GroupVersionKind::new("apps", "v1", "Deployment").into(),
            stores: vec![],
        };
        let mut keys = Vec::new();
        mapper.keys(object, &mut keys);
        keys.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_watched_object_wakes_those_it_is_about() {
        let o = object(&json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
            "name": "cm", "namespace": "n", "uid": "u", "resourceVersion": "1",
            "labels": {"for": "by-label"}, "annotations": {"for": "by-annotation"},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "Deployment", "name": "owner", "uid": "1"},
                {"apiVersion": "apps/v1beta9", "kind": "Deployment", "name": "other-version", "uid": "2"},
                {"apiVersion": "other/v1", "kind": "Deployment", "name": "other-group", "uid": "3"},
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "other-kind", "uid": "4"}],
        }}));
        assert_eq!(mapped(&json!({"type": "ownerReference"}), &o), ["n/owner", "n/other-version"]);
        assert_eq!(mapped(&json!({"type": "sameName"}), &o), ["n/cm"]);
        assert_eq!(mapped(&json!({"type": "label", "key": "for"}), &o), ["n/by-label"]);
        assert_eq!(mapped(&json!({"type": "annotation", "key": "for"}), &o), ["n/by-annotation"]);
        assert!(mapped(&json!({"type": "annotation", "key": "absent"}), &o).is_empty());
        assert!(mapped(&json!({"type": "cacheOnly"}), &o).is_empty());
    }

    /// Handlers whose events wake keys, without a server.
    fn handlers() -> Handlers {
        let client = kube::Client::new(tower::service_fn(no_server), "default");
        let discovery = crate::api::Discovery::new(client.clone());
        let informers = Informers::new(client.clone(), discovery.clone());
        let metrics = crate::metrics::Metrics::new();
        let waking: Arc<Waking> = Arc::default();
        waking.set(Wakes::Keys);
        Handlers {
            queue: WorkQueue::new("p", crate::workqueue::Config::default(), metrics.queue("p")),
            tombstones: Arc::default(),
            unsettled: Arc::default(),
            writer: Writer::new(client, discovery, informers, metrics),
            waking,
        }
    }

    fn manifest(cleanup: bool) -> PluginManifest {
        let manifest = json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginManifest", "name": "p", "version": "1",
            "cleanup": cleanup, "primaries": []});
        serde_json::from_value(manifest).unwrap()
    }

    /// An object that leaves its selector while it is out of sync would be counted until the host ends: nothing runs its key again.
    #[tokio::test(start_paused = true)]
    async fn b6_an_object_that_goes_while_out_of_sync_is_looked_at_once_more() {
        for out_of_sync in [true, false] {
            let handlers = handlers();
            let gvk: Arc<_> = GroupVersionKind::new("", "v1", "ConfigMap").into();
            let tell = primary_handler(gvk.clone(), &manifest(true), &handlers);
            let last = object(&json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1"}}));
            let key = ReconcileKey { kind: gvk, key: last.key().clone() };
            if out_of_sync {
                handlers.unsettled.lock().unwrap().insert(key.clone());
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
            let tell = primary_handler(gvk.clone(), &manifest(cleanup), &handlers);
            let last = object(&json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1"}}));
            let key = ReconcileKey { kind: gvk, key: last.key().clone() };
            handlers.queue.add_rate_limited(key.clone());
            handlers.queue.add_after(key.clone(), std::time::Duration::from_secs(3600), Trigger::Requeue);
            tell(&Delta::Deleted(Arc::new(last)));
            let left = handlers.queue.snapshot(1);
            assert_eq!((left.delayed, left.failing), (0, 0), "cleanup: {cleanup}");
            // Without a finalizer the key runs once more, with the last state.
            assert_eq!(left.ready, usize::from(!cleanup));
            assert_eq!(handlers.tombstones.get(&key).is_some(), !cleanup);
        }
    }

    async fn no_server(
        _: http::Request<kube::client::Body>,
    ) -> Result<http::Response<kube::client::Body>, std::convert::Infallible> {
        Ok(http::Response::builder().status(503).body(kube::client::Body::empty()).unwrap())
    }

    #[test]
    fn one_name_is_asked_for_and_several_are_not() {
        let names = |names: &[&str]| named(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(names(&["settings"]), "metadata.name=settings");
        assert_eq!(names(&[]), "");
        assert_eq!(names(&["a", "b"]), "");
        assert_eq!(names(&["a,metadata.namespace=b"]), "", "what means something in a selector is no name");
    }

    #[test]
    fn a_reference_is_a_name_or_a_list_of_names() {
        let o = object(
            &json!({"apiVersion": "v1", "kind": "X", "metadata": {"name": "a", "uid": "u", "resourceVersion": "1"},
            "spec": {"one": "cm", "many": ["x", "cm"], "deep": {"cm": 1}}}),
        );
        assert!(refers(&o, "/spec/one", "cm"));
        assert!(refers(&o, "/spec/many", "cm"));
        assert!(!refers(&o, "/spec/deep", "cm"));
        assert!(!refers(&o, "/spec/absent", "cm"));
        assert!(!refers(&o, "/spec/one", "c"));
    }
}
