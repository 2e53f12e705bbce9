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
    /// There are objects, and the candidate would be called for none of them: why.
    pub(super) fn choose(&self, current: &Version) -> Result<Option<ReconcileKey>, String> {
        let may_run = self.version.keys().filter(|key| self.may_run(key, current));
        if let Some(key) = may_run.min_by_key(|key| self.hash_of(key) % 100) {
            self.chosen.store(self.hash_of(&key), Relaxed);
            return Ok(Some(key));
        }
        let stays = |key: &ReconcileKey| current.cached(key).is_some_and(|object| !object.deleting());
        let all = current.keys().filter(stays).count();
        if all == 0 {
            return Ok(None);
        }
        let selected = self.selector().is_some();
        let has = if selected { "canary.selector leaves" } else { "the canary has" };
        let why = if !self.version.keys().any(|key| current.sees(&key.kind, &key.key)) {
            "the two versions have no object in common"
        } else if selected {
            "none has the labels, or they are paused, or stay with the version that runs"
        } else {
            "they are paused, or stay with the version that runs"
        };
        Err(format!("{has} none of the {all} objects: {why}"))
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
