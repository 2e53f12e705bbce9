//! The share of the objects that is the candidate's.

use super::{Rollout, hash, is_called};
use crate::api::Selector;
use crate::controller::{ReconcileKey, Version};
use crate::informer::Object;
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

    /// Adds an object to a share that has none. Without objects there is nothing to add.
    ///
    /// # Errors
    ///
    /// The selector leaves no object: the canary would prove nothing.
    pub(super) fn choose(&self) -> Result<(), String> {
        let may_run = |key: &ReconcileKey| {
            self.version
                .cached(key)
                .is_some_and(|object| is_called(&object, &self.plugin) && self.may_have(key, Some(&object)))
        };
        let first = self.version.keys().filter(may_run).min_by_key(|key| self.hash_of(key) % 100);
        if let Some(key) = &first {
            self.chosen.store(self.hash_of(key), Relaxed);
        }
        let all = self.version.keys().count();
        if first.is_none() && all > 0 && self.selector().is_some() {
            return Err(format!(
                "canary.selector leaves none of the {all} objects: none has the labels, or they are paused or being deleted"
            ));
        }
        Ok(())
    }

    /// The number of objects that the version that runs reconciles, and the candidate does not. Its selector may be narrower.
    ///
    /// * `selects` - which objects count.
    pub(super) fn left(&self, current: &Version, selects: impl Fn(&ReconcileKey, &Object) -> bool) -> usize {
        let selected = |key: &ReconcileKey| current.cached(key).is_some_and(|object| selects(key, &object));
        current.keys().filter(|key| self.version.cached(key).is_none() && selected(key)).count()
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
