//! Paused plugins: their keys wait.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::sync::watch;

/// Why a plugin is paused by `oarlock pause NAME`.
const BY_HAND: &str = "oarlock pause on this host, until oarlock resume or the end of the host";

/// The paused plugins of a host. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Pauses {
    paused: Arc<watch::Sender<Paused>>,
}

#[derive(Debug)]
struct Paused {
    /// By Plugin objects, with the reason. None: unknown yet, so every plugin waits.
    by_objects: Option<BTreeMap<String, &'static str>>,
    by_hand: BTreeSet<String>,
}

impl Default for Pauses {
    /// No plugin is paused.
    fn default() -> Self {
        Self::of(Some(BTreeMap::new()))
    }
}

impl Pauses {
    /// Every plugin waits until [`Self::set`]: a plugin that was paused before the start of the host must not run.
    #[must_use]
    pub fn unknown() -> Self {
        Self::of(None)
    }

    fn of(by_objects: Option<BTreeMap<String, &'static str>>) -> Self {
        Self { paused: Arc::new(watch::Sender::new(Paused { by_objects, by_hand: BTreeSet::new() })) }
    }

    /// Sets the plugins that Plugin objects pause, with the reason. Returns whether that is a change.
    pub fn set(&self, plugins: BTreeMap<String, &'static str>) -> bool {
        self.paused.send_if_modified(|paused| {
            let changed = paused.by_objects.as_ref() != Some(&plugins);
            paused.by_objects = Some(plugins);
            changed
        })
    }

    /// Pauses a plugin on this host until [`Self::resume`].
    pub fn pause(&self, plugin: &str) {
        self.paused.send_if_modified(|paused| paused.by_hand.insert(plugin.to_owned()));
    }

    /// Ends a pause by [`Self::pause`]. Returns whether there was one.
    pub fn resume(&self, plugin: &str) -> bool {
        self.paused.send_if_modified(|paused| paused.by_hand.remove(plugin))
    }

    /// Why a plugin is paused. None: it is not known to be.
    #[must_use]
    pub fn why(&self, plugin: &str) -> Option<&'static str> {
        let paused = self.paused.borrow();
        let by_object = paused.by_objects.as_ref().and_then(|by| by.get(plugin).copied());
        by_object.or_else(|| paused.by_hand.contains(plugin).then_some(BY_HAND))
    }

    /// Waits until a plugin may run.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub(super) async fn wait(&self, plugin: &str) {
        // An error is impossible: `self` owns the sender.
        let _ = self.paused.subscribe().wait_for(|paused| !paused.holds(plugin)).await;
    }
}

impl Paused {
    fn holds(&self, plugin: &str) -> bool {
        self.by_hand.contains(plugin) || self.by_objects.as_ref().is_none_or(|by| by.contains_key(plugin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_plugin_waits_until_the_pauses_are_known_and_while_it_is_paused() {
        let pauses = Pauses::unknown();
        assert!(pauses.why("a").is_none());
        let unknown = tokio::time::timeout(std::time::Duration::from_millis(20), pauses.wait("a")).await;
        assert!(unknown.is_err(), "it runs before the pauses are known");
        let b = || BTreeMap::from([("b".to_owned(), "spec.paused")]);
        assert!(pauses.set(b()) && !pauses.set(b()));
        pauses.wait("a").await;
        let waiting = tokio::spawn({
            let pauses = pauses.clone();
            async move { pauses.wait("b").await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished() && pauses.why("b") == Some("spec.paused"));
        pauses.set(BTreeMap::new());
        waiting.await.unwrap();
        assert!(Pauses::default().why("b").is_none());
    }

    #[tokio::test]
    async fn a_person_ends_only_the_pause_of_a_person() {
        let pauses = Pauses::default();
        pauses.pause("a");
        assert!(pauses.why("a").is_some() && pauses.why("b").is_none());
        pauses.set(BTreeMap::from([("a".to_owned(), "spec.paused")]));
        assert!(pauses.resume("a") && !pauses.resume("a"));
        assert_eq!(pauses.why("a"), Some("spec.paused"));
        pauses.set(BTreeMap::new());
        pauses.wait("a").await;
    }
}
