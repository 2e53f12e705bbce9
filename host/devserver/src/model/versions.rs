//! Built-in kinds with different served and stored forms: events, autoscalers.

use serde_json::Value;

use crate::model::kinds::Resource;

mod autoscalers;
pub(crate) mod events;

fn is_old_autoscaler(resource: &Resource) -> bool {
    resource.is("autoscaling", "horizontalpodautoscalers") && resource.version == "v1"
}

/// The stored form of a client's object in the version of `resource`; `old` is the stored object.
pub(crate) fn to_stored(resource: &Resource, object: Value, old: Option<&Value>) -> Value {
    if resource.is_new_event() {
        events::to_core(&object)
    } else if is_old_autoscaler(resource) {
        autoscalers::to_v2(object, old)
    } else {
        object
    }
}

/// A stored object in the version of `resource`; `None` when it equals the stored form.
pub(crate) fn to_served(resource: &Resource, stored: &Value) -> Option<Value> {
    if resource.is_new_event() {
        return Some(events::to_new(stored));
    }
    is_old_autoscaler(resource).then(|| autoscalers::to_v1(stored))
}
