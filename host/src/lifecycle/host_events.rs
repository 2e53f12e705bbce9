//! Events about plugins, recorded on the host's own object, and on the Plugin objects where there are some.

use crate::apply::WriteIdentity;
use crate::apply::events::{Event, Recorder, Regarding};
use crate::plugin::directory;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Most events that wait for a Plugin object.
const WAITING: usize = 512;

/// How long an event waits: the object of a new plugin is made after its first event.
const PATIENCE: Duration = Duration::from_secs(10);

/// Events that are to regard Plugin objects. Cheap to clone: the lifecycle adds, the keeper of the objects takes.
#[derive(Clone, Debug, Default)]
pub struct ObjectEvents(Arc<Mutex<VecDeque<(String, Event, Instant)>>>);

impl ObjectEvents {
    fn add(&self, plugin: &str, event: Event) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() >= WAITING {
            waiting.pop_front();
        }
        waiting.push_back((plugin.to_owned(), event, Instant::now()));
    }

    /// Takes the events that have an object now. Others wait for a while.
    ///
    /// * `object` - the object of a plugin.
    pub fn take(&self, object: impl Fn(&str) -> Option<Regarding>) -> Vec<(Regarding, Event)> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = Vec::new();
        waiting.retain(|(plugin, event, since)| match object(plugin) {
            Some(regarding) => {
                taken.push((regarding, event.clone()));
                false
            }
            None => since.elapsed() < PATIENCE,
        });
        taken
    }
}

/// Records events about plugins. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct HostEvents {
    recorder: Recorder,
    host_object: Regarding,
    /// None: there are no Plugin objects.
    objects: Option<ObjectEvents>,
}

impl HostEvents {
    pub(super) fn new(recorder: Recorder, host_object: Regarding, objects: Option<ObjectEvents>) -> Self {
        Self { recorder, host_object, objects }
    }

    /// * `plugin` - plugin or file: each has a rate limit of its own.
    pub(super) fn record(&self, plugin: &str, warning: bool, reason: &str, message: String) {
        let event = Event { warning, reason: reason.to_owned(), message };
        if let Some(objects) = &self.objects {
            let stem = plugin.strip_suffix(".wasm").unwrap_or(plugin);
            objects.add(directory::plugin_of(plugin).unwrap_or(stem), event.clone());
        }
        self.recorder.record(&WriteIdentity::host(), &self.host_object.part(plugin), event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{GroupVersionKind, ObjectKey};

    #[tokio::test(start_paused = true)]
    async fn events_wait_for_their_object_for_a_while_and_are_bounded() {
        let events = ObjectEvents::default();
        let event = || Event { warning: false, reason: "R".to_owned(), message: String::new() };
        let object =
            |name: &str| Regarding::named(GroupVersionKind::new("g", "v1", "K"), ObjectKey::new("n", name), "u");
        events.add("a", event());
        assert!(events.take(|_| None).is_empty());
        assert_eq!(events.take(|name| Some(object(name))).len(), 1);
        assert!(events.take(|name| Some(object(name))).is_empty());
        for _ in 0..2 * WAITING {
            events.add("b", event());
        }
        assert_eq!(events.0.lock().unwrap().len(), WAITING);
        tokio::time::advance(PATIENCE).await;
        events.take(|_| None);
        assert!(events.0.lock().unwrap().is_empty());
    }
}
