//! From a watched object to the keys it wakes, and which mappings can wake nothing.

use super::handler::{Stores, kind};
use crate::api::{GroupVersionKind, ObjectKey};
use crate::informer::{Indexed, Indexer, ListOptions, Object, Store};
use oarlock_manifest::{Mapping, PluginManifest, Primary, Watch};
use serde_json::Value;
use std::sync::Arc;

/// Finds the primaries a watched object is about.
pub(super) struct Mapper {
    watch: Watch,
    target: Arc<GroupVersionKind>,
    stores: Vec<Store>,
    /// The index of the primaries, for `referencedBy`.
    indexer: Option<Indexer>,
}

impl Mapper {
    /// * `stores` - of the primary.
    pub(super) fn new(watch: Watch, target: Arc<GroupVersionKind>, stores: Vec<Store>) -> Self {
        let indexer = indexer(&watch);
        Self { watch, target, stores, indexer }
    }

    /// The kind of the keys.
    pub(super) fn target(&self) -> &Arc<GroupVersionKind> {
        &self.target
    }

    /// The keys of the primaries that an object is about. A key whose scope is not that of the primary cannot exist, and is left out.
    pub(super) fn keys(&self, object: &Object, found: &mut Vec<ObjectKey>) {
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
                    if !key.namespace.is_empty() {
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
            Mapping::ReferencedBy { .. } => {
                let value = key.name.to_string();
                let options = ListOptions {
                    namespace: key.namespace().map(str::to_owned),
                    indexed: self.indexer.clone().map(|indexer| Indexed { indexer, value }),
                    ..ListOptions::default()
                };
                found.extend(
                    self.stores.iter().flat_map(|store| store.list(&options)).map(|primary| primary.key().clone()),
                );
            }
            Mapping::All => found.extend(self.stores.iter().flat_map(Store::keys)),
            Mapping::Reads | Mapping::CacheOnly => {}
        }
        match self.stores.iter().find_map(Store::namespaced) {
            Some(namespaced) => found.retain(|key| key.namespace.is_empty() != namespaced),
            // Nobody is woken before the primary is listed, so this is a store without a watch.
            None => found.retain(|found| found.namespace == key.namespace),
        }
    }
}

/// The index of the primaries that a watch needs.
pub(super) fn indexer(watch: &Watch) -> Option<Indexer> {
    match &watch.map_to {
        Mapping::ReferencedBy { pointer } => Some(Indexer::pointer(pointer)),
        _ => None,
    }
}

/// The mappings of a manifest that cannot wake anything, a sentence each. Kinds that are not served yet are not judged.
pub(super) fn dead(manifest: &PluginManifest, stores: &Stores) -> Vec<String> {
    let namespaced = |of: &GroupVersionKind| stores.get(of)?.iter().find_map(|of| of.store.namespaced());
    let of_watch = |(i, watch): (usize, &Watch)| {
        let mut primaries = manifest.primaries.iter();
        let primary = match &watch.primary {
            Some(named) => primaries.find(|primary| primary.gvk() == *named)?,
            None => primaries.next()?,
        };
        let (of, to) = (namespaced(&kind(&watch.gvk()))?, namespaced(&kind(&primary.gvk()))?);
        let reason = dead_because(watch, of, primary, to)?;
        Some(format!("watches[{i}] ({}) never wakes anything: {reason}", watch.kind))
    };
    manifest.watches.iter().enumerate().filter_map(of_watch).collect()
}

/// Why no object of a watch is about any primary.
///
/// * `of`, `to` - whether the kind of the watch and that of the primary are namespaced.
fn dead_because(watch: &Watch, of: bool, primary: &Primary, to: bool) -> Option<String> {
    let (watched, target) = (&watch.kind, &primary.kind);
    let mapping = match &watch.map_to {
        Mapping::Reads | Mapping::All | Mapping::CacheOnly => return None,
        Mapping::OwnerReference => "ownerReference",
        Mapping::SameName => "sameName",
        Mapping::Label { .. } => "label",
        Mapping::Annotation { .. } => "annotation",
        Mapping::ReferencedBy { .. } => "referencedBy",
    };
    match (of, to, &watch.map_to) {
        (true, false, Mapping::OwnerReference) | (false, true, Mapping::ReferencedBy { .. }) | (false, false, _) => {
            None
        }
        (true, false, _) => Some(format!(
            "mapTo {mapping} looks for a primary in the namespace of the {watched}, and {target} is cluster-scoped; \
             ownerReference and all work"
        )),
        (false, true, Mapping::OwnerReference) => Some(format!(
            "mapTo {mapping}: {watched} is cluster-scoped, and its owner cannot be a {target}, which is namespaced; \
             referencedBy and all work"
        )),
        (false, true, _) => Some(format!(
            "mapTo {mapping} looks for a primary without a namespace, as {watched} is cluster-scoped, and {target} is \
             namespaced; referencedBy and all work"
        )),
        (true, true, _) => {
            let apart = !watch.namespaces.is_empty()
                && !primary.namespaces.is_empty()
                && !watch.namespaces.iter().any(|namespace| primary.namespaces.contains(namespace));
            apart.then(|| {
                format!(
                    "mapTo {mapping} looks for a {target} in the namespace of the {watched}, and the watch and the primary have no \
                     namespace in common"
                )
            })
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(doc: &Value) -> Object {
        Object::parse(&doc.to_string()).unwrap()
    }

    fn mapped(map_to: &Value, object: &Object) -> Vec<String> {
        let watch = json!({"version": "v1", "kind": "ConfigMap", "mapTo": map_to});
        let target = GroupVersionKind::new("apps", "v1", "Deployment").into();
        let mapper = Mapper::new(serde_json::from_value(watch).unwrap(), target, vec![]);
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

    #[test]
    fn n2_a_mapping_is_dead_where_scopes_or_namespaces_do_not_meet() {
        let dead = |map_to: &Value, of: bool, to: bool, namespaces: [&[&str]; 2]| {
            let [watched, primaries] = namespaces;
            let watch = json!({"version": "v1", "kind": "Watched", "mapTo": map_to, "namespaces": watched});
            let primary = json!({"version": "v1", "kind": "Primary", "namespaces": primaries});
            let (watch, primary) = (serde_json::from_value(watch).unwrap(), serde_json::from_value(primary).unwrap());
            dead_because(&watch, of, &primary, to)
        };
        let everywhere: [&[&str]; 2] = [&[], &[]];
        for (map_to, to_cluster_scoped, of_cluster_scoped) in [
            (json!({"type": "ownerReference"}), false, true),
            (json!({"type": "sameName"}), true, true),
            (json!({"type": "label", "key": "a"}), true, true),
            (json!({"type": "annotation", "key": "a"}), true, true),
            (json!({"type": "referencedBy", "pointer": "/a"}), true, false),
            (json!({"type": "all"}), false, false),
            (json!({"type": "cacheOnly"}), false, false),
        ] {
            assert_eq!(dead(&map_to, true, false, everywhere).is_some(), to_cluster_scoped, "{map_to}");
            assert_eq!(dead(&map_to, false, true, everywhere).is_some(), of_cluster_scoped, "{map_to}");
            assert_eq!(dead(&map_to, true, true, everywhere), None, "{map_to}");
            assert_eq!(dead(&map_to, false, false, everywhere), None, "{map_to}");
            assert_eq!(dead(&map_to, true, true, [&["a", "b"], &["b"]]), None, "{map_to}");
            let maps = !["all", "cacheOnly"].iter().any(|name| map_to["type"] == *name);
            assert_eq!(dead(&map_to, true, true, [&["a"], &["b"]]).is_some(), maps, "{map_to}");
        }
    }
}
