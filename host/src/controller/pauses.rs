//! Paused plugins: their keys wait.

use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::sync::watch;

/// The paused plugins of a host. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Pauses {
    /// None: unknown yet, so every plugin waits.
    paused: Arc<watch::Sender<Option<BTreeSet<String>>>>,
}

impl Default for Pauses {
    /// No plugin is paused.
    fn default() -> Self {
        Self { paused: Arc::new(watch::Sender::new(Some(BTreeSet::new()))) }
    }
}

impl Pauses {
    /// Every plugin waits until [`Self::set`]: a plugin that was paused before the start of the host must not run.
    #[must_use]
    pub fn unknown() -> Self {
        Self { paused: Arc::new(watch::Sender::new(None)) }
    }

    /// Sets the paused plugins. Returns whether that is a change.
    pub fn set(&self, plugins: BTreeSet<String>) -> bool {
        self.paused.send_if_modified(|paused| {
            let changed = paused.as_ref() != Some(&plugins);
            *paused = Some(plugins);
            changed
        })
    }

    /// Whether a plugin is known to be paused.
    #[must_use]
    pub fn is_paused(&self, plugin: &str) -> bool {
        self.paused.borrow().as_ref().is_some_and(|paused| paused.contains(plugin))
    }

    /// Waits until a plugin may run.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub(super) async fn wait(&self, plugin: &str) {
        // An error is impossible: `self` owns the sender.
        let _ = self.paused.subscribe().wait_for(|paused| !held(paused, plugin)).await;
    }
}

fn held(paused: &Option<BTreeSet<String>>, plugin: &str) -> bool {
    paused.as_ref().is_none_or(|paused| paused.contains(plugin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_plugin_waits_until_the_pauses_are_known_and_while_it_is_paused() {
        let pauses = Pauses::unknown();
        assert!(!pauses.is_paused("a"));
        let unknown = tokio::time::timeout(std::time::Duration::from_millis(20), pauses.wait("a")).await;
        assert!(unknown.is_err(), "it runs before the pauses are known");
        assert!(pauses.set(BTreeSet::from(["b".to_owned()])) && !pauses.set(BTreeSet::from(["b".to_owned()])));
        pauses.wait("a").await;
        let waiting = tokio::spawn({
            let pauses = pauses.clone();
            async move { pauses.wait("b").await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished() && pauses.is_paused("b"));
        pauses.set(BTreeSet::new());
        waiting.await.unwrap();
        assert!(!Pauses::default().is_paused("b"));
    }
}
