//! Events about plugins, recorded on the host's own object.

use crate::apply::WriteIdentity;
use crate::apply::events::{Event, Recorder, Regarding};

/// Records events about plugins. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct HostEvents {
    recorder: Recorder,
    host_object: Regarding,
}

impl HostEvents {
    pub(super) fn new(recorder: Recorder, host_object: Regarding) -> Self {
        Self { recorder, host_object }
    }

    /// * `plugin` - plugin or file: each has a rate limit of its own.
    pub(super) fn record(&self, plugin: &str, warning: bool, reason: &str, message: String) {
        let event = Event { warning, reason: reason.to_owned(), message };
        self.recorder.record(&WriteIdentity::host(), &self.host_object.part(plugin), event);
    }
}
