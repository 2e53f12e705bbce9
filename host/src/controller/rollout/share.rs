//! The share of the objects that is the candidate's.

use super::{Rollout, hash, is_called};
use crate::api::Selector;
use crate::controller::{ReconcileKey, Version};
use crate::informer::Object;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

impl Rollout {
    /// Whether a key is the candidate's. Deleted objects, and those that are being deleted, stay with the version that runs.
    ///
    /// * `object` - the newest state that is known. None: the one in the candidate's cache.
    pub(in crate::controller) fn has(&self, key: &ReconcileKey, object: Option<&Object>) -> bool {
        !self.over.load(Relaxed) && self.is_in_share(key, object)
    }

    /// Whether a key is the candidate's as long as the rollout goes on; see [`Self::has`].
    fn is_in_share(&self, key: &ReconcileKey, object: Option<&Object>) -> bool {
        let share = self.share.load(Relaxed);
        share > 0 && self.version.reaches(key) && self.is_in(share, key) && self.may_have(key, object)
    }

    /// Whether a key may be the candidate's, whatever its share.
    fn may_have(&self, key: &ReconcileKey, object: Option<&Object>) -> bool {
        let cached;
        let object = match object {
            Some(object) => object,
            None => match self.version.cached(key) {
                Some(found) => {
                    cached = found;
                    &*cached
                }
                None => return false,
            },
        };
        !object.deleting()
            && self.selector().is_none_or(|selector| selector.matches(|label| object.label(label)))
            && !self.held().contains_key(key)
    }

    /// Whether a key is in a share.
    fn is_in(&self, share: u32, key: &ReconcileKey) -> bool {
        let hash = self.hash_of(key);
        share >= 100 || hash % 100 < u64::from(share) || hash == self.chosen.load(Relaxed)
    }

    /// The place of a key among all. Every host computes the same, and each version has another order.
    fn hash_of(&self, key: &ReconcileKey) -> u64 {
        let kind = &key.kind;
        hash(&[&*self.version.identity, &kind.group, &kind.kind, &key.key.namespace, &key.key.name])
    }

    /// Whether the candidate would be called for an object.
    ///
    /// * `current` - the version that runs.
    pub(super) fn may_run(&self, key: &ReconcileKey, current: &Version) -> bool {
        let cached = self.version.cached(key);
        cached.is_some_and(|object| is_called(&object, &self.plugin) && self.may_have(key, Some(&object)))
            && current.sees(&key.kind, &key.key)
    }

    /// Adds an object, for which the candidate would be called, to its share. None: there is no object.
    ///
    /// * `current` - the version that runs.
    ///
    /// # Errors
    ///
    /// There are objects, and the candidate would be called for none of them: the canary would prove nothing.
    pub(super) fn choose(&self, current: &Version) -> Result<Option<ReconcileKey>, String> {
        let may_run = self.version.keys().filter(|key| self.may_run(key, current));
        let first = may_run.min_by_key(|key| self.hash_of(key) % 100);
        if let Some(key) = &first {
            self.chosen.store(self.hash_of(key), Relaxed);
        }
        let stays = |key: &ReconcileKey| current.cached(key).is_some_and(|object| !object.deleting());
        match current.keys().filter(stays).count() {
            all if first.is_none() && all > 0 => {
                let (who, labels) = match self.selector() {
                    Some(_) => ("canary.selector leaves", "none has the labels, or "),
                    None => ("the canary has", ""),
                };
                Err(format!("{who} none of the {all} objects: {labels}they are paused, or not for the candidate"))
            }
            _ => Ok(first),
        }
    }

    /// The number of objects that the version that runs reconciles, and the candidate does not. Its selector may be narrower.
    ///
    /// * `selects` - which objects count.
    pub(super) fn left(&self, current: &Version, selects: impl Fn(&ReconcileKey, &Object) -> bool) -> usize {
        let kinds: Vec<_> = self.version.kinds().into_iter().map(Arc::new).collect();
        // The candidate may reconcile them in another version of their kind.
        let stays = |key: &ReconcileKey| {
            let mut of = kinds.iter().filter(|kind| (&kind.group, &kind.kind) == (&key.kind.group, &key.kind.kind));
            of.any(|kind| {
                let key = ReconcileKey { kind: Arc::clone(kind), key: key.key.clone() };
                self.version.cached(&key).is_some()
            })
        };
        let selected = |key: &ReconcileKey| current.cached(key).is_some_and(|object| selects(key, &object));
        current.keys().filter(|key| !stays(key) && selected(key)).count()
    }

    fn selector(&self) -> Option<&Selector> {
        self.steps.canary.as_ref()?.selector.as_ref()
    }

    /// The keys that are the candidate's.
    pub(super) fn keys(&self) -> Vec<ReconcileKey> {
        self.version.keys().filter(|key| self.has(key, None)).collect()
    }

    /// The keys that return to the version that runs: those of the candidate, also after a fault ended the rollout, and those it gave back.
    pub(super) fn returning(&self) -> Vec<ReconcileKey> {
        let held: Vec<ReconcileKey> = self.held().keys().cloned().collect();
        self.version.keys().filter(|key| self.is_in_share(key, None)).chain(held).collect()
    }
}
