//! Which fields of an object a change concerns, for people.

use crate::informer::Object;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most fields that are named.
const MOST: usize = 3;

/// Longest path of a field, in bytes.
const PATH_BYTES: usize = 80;

/// Longest object whose fields are compared, in bytes.
const OBJECT_BYTES: usize = 64 << 10;

/// Most bytes of the states that the events of a plugin keep: the queue of a paused plugin grows with each object that changes. A host may have
/// hundreds of plugins.
const KEPT_BYTES: usize = 2 << 20;

/// Fields that every write changes, or that only repeat what others say.
const BOOKKEEPING: [&str; 3] = ["resourceVersion", "managedFields", "generation"];

type Fields<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

/// The bytes of the states that the events of one plugin keep. A plugin with a long queue takes no room from the others.
#[derive(Debug, Default)]
pub(super) struct KeptBytes(AtomicUsize);

/// The fields that a change of an object concerns.
pub(super) enum ChangedFields {
    /// Empty: none, or the object is too long.
    Named(String),
    /// Named when somebody reads the event.
    Later(KeptStates),
}

/// The states of an object before and after a change.
pub(super) struct KeptStates {
    old: Arc<Object>,
    new: Arc<Object>,
    kept: Arc<KeptBytes>,
}

impl KeptStates {
    fn bytes(&self) -> usize {
        self.old.heap_bytes() + self.new.heap_bytes()
    }
}

impl Drop for KeptStates {
    fn drop(&mut self) {
        self.kept.0.fetch_sub(self.bytes(), Ordering::Relaxed);
    }
}

impl ChangedFields {
    /// Keeps both states, because another event may replace this one before anybody reads it. Without room for them, compares them at once.
    ///
    /// * `kept` - counts the states.
    pub(super) fn between(old: &Arc<Object>, new: &Arc<Object>, kept: &Arc<KeptBytes>) -> Self {
        if old.json().len().max(new.json().len()) > OBJECT_BYTES {
            return Self::Named(String::new());
        }
        let states = KeptStates { old: Arc::clone(old), new: Arc::clone(new), kept: Arc::clone(kept) };
        let before = kept.0.fetch_add(states.bytes(), Ordering::Relaxed);
        if before + states.bytes() <= KEPT_BYTES { Self::Later(states) } else { Self::Named(changed_fields(old, new)) }
    }

    /// As `spec.cidr, metadata.labels.team`. Empty: none, or unknown.
    pub(super) fn names(&self) -> Cow<'_, str> {
        match self {
            Self::Named(fields) => fields.into(),
            Self::Later(states) => changed_fields(&states.old, &states.new).into(),
        }
    }
}

/// The paths of the fields that differ between two states of an object. Empty: none.
///
/// A path ends at the second name, below `metadata` at the third.
fn changed_fields(old: &Object, new: &Object) -> String {
    let mut found = BTreeSet::new();
    differ(old.json(), new.json(), "", &mut found);
    let more = found.len().saturating_sub(MOST);
    let mut named: Vec<&str> = found.iter().take(MOST).map(String::as_str).collect();
    let more = format!("{more} more");
    if found.len() > MOST {
        named.push(&more);
    }
    named.join(", ")
}

/// Adds the paths that differ between two documents.
fn differ(old: &str, new: &str, at: &str, found: &mut BTreeSet<String>) {
    let fields = |text| serde_json::from_str::<Fields<'_>>(text).ok();
    let (Some(old), Some(new)) = (fields(old), fields(new)) else {
        found.insert(at.to_owned());
        return;
    };
    let names: BTreeSet<&Cow<'_, str>> = old.keys().chain(new.keys()).collect();
    for name in names {
        let [before, after] = [&old, &new].map(|fields| fields.get(name).map_or("", |value| value.get()));
        if before == after || at == "metadata" && BOOKKEEPING.contains(&&**name) {
            continue;
        }
        let path = if at.is_empty() { name.to_string() } else { format!("{at}.{name}") };
        let deeper = at.is_empty() || at == "metadata";
        if deeper && (is_object(before) || is_object(after)) {
            let or_empty = |text| if is_object(text) { text } else { "{}" };
            differ(or_empty(before), or_empty(after), &path, found);
        } else {
            found.insert(crate::shorten(&crate::one_line(&path), PATH_BYTES).to_owned());
        }
    }
}

fn is_object(text: &str) -> bool {
    text.starts_with('{')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn changed(old: &Value, new: &Value) -> String {
        let object = |part: &Value| {
            let mut document = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "u"}});
            let metadata = part.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
            for (name, value) in part.as_object().unwrap() {
                if name != "metadata" {
                    document[name] = value.clone();
                }
            }
            for (name, value) in metadata {
                document["metadata"][name] = value;
            }
            Object::parse(&document.to_string()).unwrap()
        };
        changed_fields(&object(old), &object(new))
    }

    #[test]
    fn the_fields_are_named_to_a_useful_depth() {
        for (old, new, expected) in [
            (json!({"spec": {"a": {"b": 1}}}), json!({"spec": {"a": {"b": 2}}}), "spec.a"),
            (json!({"data": {"x": "1"}}), json!({}), "data.x"),
            (json!({}), json!({"data": {"x": "1"}}), "data.x"),
            (
                json!({"metadata": {"labels": {"a": "1"}}}),
                json!({"metadata": {"labels": {"a": "2"}}}),
                "metadata.labels.a",
            ),
            (
                json!({"metadata": {"resourceVersion": "1", "generation": 1}}),
                json!({"metadata": {"resourceVersion": "2", "generation": 2, "finalizers": ["f"]}}),
                "metadata.finalizers",
            ),
            (json!({"immutable": true}), json!({"immutable": {"odd": 1}}), "immutable.odd"),
            (json!({"spec": {}}), json!({"spec": {}}), ""),
        ] {
            assert_eq!(changed(&old, &new), expected, "{old} {new}");
        }
    }

    #[test]
    fn many_and_long_and_odd_names_are_bounded() {
        let many: serde_json::Map<String, Value> = (0..9).map(|n| (format!("k{n}"), json!(n))).collect();
        assert_eq!(changed(&json!({"data": {}}), &json!({"data": many})), "data.k0, data.k1, data.k2, 6 more");
        let long = "x".repeat(5000);
        let odd = changed(&json!({}), &json!({"data": {(format!("\n\u{1b}[31m{long}")): "1"}}));
        assert!(odd.len() <= PATH_BYTES && !odd.contains(['\n', '\u{1b}']), "{odd:?}");
    }

    /// The queue of a plugin that is paused over night may have an event of each of 100,000 objects.
    #[test]
    fn the_states_that_waiting_events_keep_are_bounded_in_bytes_and_each_event_names_its_fields() {
        let [kept, of_another]: [Arc<KeptBytes>; 2] = Default::default();
        let state = |value: &str| {
            let document = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "u"},
                "data": {"large": "x".repeat(20_000), "value": value}});
            Arc::new(Object::parse(&document.to_string()).unwrap())
        };
        let between = |kept: &Arc<KeptBytes>| ChangedFields::between(&state("old"), &state("new"), kept);
        let waiting: Vec<ChangedFields> = (0..500).map(|_| between(&kept)).collect();
        let bytes = kept.0.load(Ordering::Relaxed);
        assert!((KEPT_BYTES / 2..=KEPT_BYTES).contains(&bytes), "{bytes}");
        assert!(waiting.iter().all(|fields| fields.names() == "data.value"));
        assert!(matches!(between(&kept), ChangedFields::Named(_)));
        assert!(matches!(between(&of_another), ChangedFields::Later(_)), "another plugin has room of its own");
        drop(waiting);
        assert_eq!([&kept, &of_another].map(|kept| kept.0.load(Ordering::Relaxed)), [0, 0]);
        let long = state(&"y".repeat(OBJECT_BYTES));
        assert_eq!(ChangedFields::between(&state("old"), &long, &kept).names(), "");
    }
}
