//! Primaries and finalizers that a version adds or drops, by the traces that earlier reconciles left on objects.

use super::cluster::{ListRead, Objects};
use super::inputs::Plugin;
use oarlock::api::GroupVersionKind;
use serde_json::Value;
use std::collections::BTreeMap;

/// What is known of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// A primary, and no object has a trace of the plugin.
    Added,
    /// A primary, and objects have traces of the plugin.
    Kept,
    /// A primary of a plugin that leaves no traces, or has no object.
    Unknown,
    /// No primary, but objects have traces of the plugin, or the version that runs now has this primary.
    Dropped,
}

impl State {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Kept => "kept",
            Self::Unknown => "unknown",
            Self::Dropped => "dropped",
        }
    }
}

/// A kind that a plugin reconciles, or reconciled.
#[derive(Debug)]
pub(super) struct Primary {
    pub(super) kind: GroupVersionKind,
    /// The number of objects in the cluster. None: they were not read.
    pub(super) objects: Option<usize>,
    pub(super) state: State,
    /// Those of them that keep a finalizer which this version does not remove.
    pub(super) left: usize,
}

/// The kinds and the finalizer of a plugin.
#[derive(Debug)]
pub(super) struct Kinds {
    pub(super) plugin: String,
    pub(super) version: String,
    /// SHA-256 of the file.
    pub(super) digest: String,
    pub(super) primaries: Vec<Primary>,
    pub(super) finalizer: String,
    /// Whether the version that runs now has a primary that this one does not have.
    pub(super) drops: bool,
    /// Objects that get the finalizer.
    pub(super) added: usize,
    /// Objects that lose the finalizer, or go with it.
    pub(super) removed: usize,
}

/// The kinds of each plugin.
///
/// * `old` - the plugins that run now. None: not known.
/// * `read` - what `before` rests on.
pub(super) fn of(
    plugins: &[Plugin],
    old: Option<&[Plugin]>,
    read: &[ListRead],
    before: &Objects,
    after: &Objects,
) -> Vec<Kinds> {
    let old = old.unwrap_or_default();
    plugins.iter().map(|plugin| kinds(plugin, same_plugin(plugin, old), read, before, after)).collect()
}

/// The primaries that plugins do not have any more, each with the plugin of `old` that has it.
pub(super) fn dropped<'o>(plugins: &[Plugin], old: &'o [Plugin]) -> Vec<(GroupVersionKind, &'o Plugin)> {
    let pairs = plugins.iter().filter_map(|plugin| Some((plugin, same_plugin(plugin, old)?)));
    pairs.flat_map(|(plugin, old)| dropped_by(plugin, old).into_iter().map(move |kind| (kind, old))).collect()
}

fn same_plugin<'o>(plugin: &Plugin, old: &'o [Plugin]) -> Option<&'o Plugin> {
    old.iter().find(|old| old.manifest.name == plugin.manifest.name)
}

fn dropped_by(plugin: &Plugin, old: &Plugin) -> Vec<GroupVersionKind> {
    let (kept, mut dropped) = (primaries(plugin), primaries(old));
    dropped.retain(|kind| !kept.iter().any(|kept| is_same(kept, kind)));
    dropped
}

/// Whether two versions are of one kind.
fn is_same(a: &GroupVersionKind, b: &GroupVersionKind) -> bool {
    (&a.group, &a.kind) == (&b.group, &b.kind)
}

#[derive(Default)]
struct Count {
    objects: usize,
    traces: usize,
    finalizers: usize,
}

fn primaries(plugin: &Plugin) -> Vec<GroupVersionKind> {
    let primaries = plugin.manifest.primaries.iter().map(|primary| primary.gvk());
    primaries.map(|kind| GroupVersionKind::new(kind.group, kind.version, kind.kind)).collect()
}

fn kinds(plugin: &Plugin, old: Option<&Plugin>, read: &[ListRead], before: &Objects, after: &Objects) -> Kinds {
    let manifest = &plugin.manifest;
    let finalizer = format!("oarlock.dev/{}", manifest.name);
    let host = format!("oarlock.{}.host", manifest.name);
    let (primaries, mut dropped) = (primaries(plugin), old.map(|old| dropped_by(plugin, old)).unwrap_or_default());
    let read_as = |kind: &GroupVersionKind| read.iter().map(|list| &list.kind).find(|read| is_same(read, kind));
    for kind in &mut dropped {
        // The cluster may prefer another version.
        if let Some(read) = read_as(kind) {
            *kind = read.clone();
        }
    }
    let mut counts: BTreeMap<&GroupVersionKind, Count> =
        primaries.iter().chain(&dropped).map(|kind| (kind, Count::default())).collect();
    for (name, object) in before {
        let finalized = has_finalizer(object, &finalizer);
        let count = counts.entry(&name.kind).or_default();
        count.objects += 1;
        count.finalizers += usize::from(finalized);
        count.traces += usize::from(finalized || has_manager(object, &host));
    }
    let leaves_traces = manifest.cleanup || manifest.manage_status;
    let listed = counts.into_iter().filter_map(|(kind, count)| {
        let primary = primaries.contains(kind);
        let state = match (primary, count.traces) {
            (false, 0) if !dropped.contains(kind) => return None,
            (false, _) => State::Dropped,
            (true, 0) if leaves_traces && count.objects > 0 => State::Added,
            (true, 0) => State::Unknown,
            (true, _) => State::Kept,
        };
        let left = if primary && manifest.cleanup { 0 } else { count.finalizers };
        let objects = read_as(kind).map(|_| count.objects);
        Some(Primary { kind: kind.clone(), objects, state, left })
    });
    let primaries_listed = listed.collect();
    let with = |objects: &Objects, other: &Objects| {
        let of = objects.iter().filter(|(_, object)| has_finalizer(object, &finalizer));
        of.filter(|(name, _)| !other.get(name).is_some_and(|object| has_finalizer(object, &finalizer))).count()
    };
    let (added, removed) = (with(after, before), with(before, after));
    let (name, version, digest) = (manifest.name.clone(), manifest.version.clone(), plugin.digest.clone());
    let drops = !dropped.is_empty();
    Kinds { plugin: name, version, digest, primaries: primaries_listed, finalizer, drops, added, removed }
}

fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    finalizers.is_some_and(|finalizers| finalizers.iter().any(|one| one == finalizer))
}

fn has_manager(object: &Value, manager: &str) -> bool {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    entries.is_some_and(|entries| entries.iter().any(|entry| entry.get("manager").is_some_and(|name| name == manager)))
}

#[cfg(test)]
mod tests {
    use super::super::cluster::Name;
    use super::super::kinds::List;
    use super::*;
    use oarlock::grants::Grants;
    use serde_json::json;

    #[test]
    fn a_kind_with_traces_that_is_no_primary_any_more_is_dropped() {
        let plugin = |kind: &str| {
            let manifest = json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginManifest", "name": "p",
                "version": "2", "cleanup": true, "primaries": [{"version": "v1", "kind": kind}]});
            let manifest = serde_json::from_value(manifest).unwrap();
            let grant = Grants::asked(&manifest, BTreeMap::new(), &|_| None);
            Plugin { digest: String::new(), manifest, grant, grants: Grants::none(), definitions: Vec::new() }
        };
        let name = |kind: &str| Name {
            kind: GroupVersionKind::new("", "v1", kind),
            namespace: "n".to_owned(),
            name: "a".to_owned(),
        };
        let with = json!({"metadata": {"finalizers": ["oarlock.dev/p"]}});
        let before =
            Objects::from([(name("ConfigMap"), json!({})), (name("Secret"), with.clone()), (name("Pod"), json!({}))]);
        let after =
            Objects::from([(name("ConfigMap"), with.clone()), (name("Secret"), with), (name("Pod"), json!({}))]);
        let list = |kind: &str| ListRead { kind: name(kind).kind, list: List::ALL, resource_version: String::new() };
        let read = ["ConfigMap", "Secret", "Pod"].map(list);
        let now = plugin("ConfigMap");
        let states = |found: &Kinds| -> Vec<_> {
            found.primaries.iter().map(|one| (one.kind.kind.clone(), one.state, one.left)).collect()
        };
        let found = kinds(&now, None, &read, &before, &after);
        let expected = [("ConfigMap".to_owned(), State::Added, 0), ("Secret".to_owned(), State::Dropped, 1)];
        assert_eq!(states(&found), expected);
        assert_eq!((found.added, found.removed, found.drops), (1, 0, false));
        // What the version that runs now reconciles is dropped, also without traces.
        let found = kinds(&now, Some(&plugin("Pod")), &read, &before, &after);
        assert!(states(&found).contains(&("Pod".to_owned(), State::Dropped, 0)) && found.drops);
        assert!(!kinds(&now, Some(&now), &read, &before, &after).drops);
        // Nothing is known of the objects of a kind that was not read.
        let found = kinds(&now, Some(&plugin("Job")), &read, &before, &after);
        let objects: Vec<_> = found.primaries.iter().map(|one| (&*one.kind.kind, one.objects)).collect();
        assert_eq!(objects, [("ConfigMap", Some(1)), ("Job", None), ("Secret", Some(1))]);
    }
}
