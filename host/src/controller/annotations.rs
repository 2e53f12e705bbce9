//! Annotations by which people control single objects: pause, and reconcile now.

use crate::apply::events::Event;
use crate::informer::Object;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// With the value `true`, every plugin of the object leaves it alone; with the prefix `PLUGIN.`, this plugin does.
pub const PAUSED: &str = "oarlock.dev/paused";

/// With another value than before, every plugin of the object reconciles it, and acknowledges the value.
pub const RECONCILE_AT: &str = "oarlock.dev/reconcile-at";

/// Longest value of [`RECONCILE_AT`], in bytes; a longer one is not acknowledged.
const RECONCILE_AT_BYTES: usize = 256;

/// Bytes of a wrong value that an event quotes.
const QUOTED_BYTES: usize = 64;

/// The annotations of one object that concern its plugins.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Annotations {
    /// Whether the plugin leaves the object alone.
    pub(super) paused: bool,
    /// The value of [`RECONCILE_AT`], unless it is empty or too long.
    pub(super) reconcile_at: Option<String>,
    /// What is wrong with the values: the messages of events.
    faults: Vec<String>,
}

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow)]
    metadata: Metadata<'a>,
}

#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow, default)]
    annotations: Option<BTreeMap<Cow<'a, str>, Cow<'a, str>>>,
}

impl Annotations {
    pub(super) fn of(object: &Object, plugin: &str) -> Self {
        let mut found = Self::default();
        let mut values = values(object);
        if values.is_empty() {
            return found;
        }
        for name in [PAUSED.to_owned(), paused_for(plugin)] {
            match values.remove(&*name).as_deref() {
                None | Some("false") => {}
                Some("true") => found.paused = true,
                Some(other) => found.faults.push(format!(
                    "the annotation {name} has the value {:?}, which is neither \"true\" nor \"false\": it does not pause the object",
                    crate::shorten(other, QUOTED_BYTES)
                )),
            }
        }
        match values.remove(RECONCILE_AT) {
            Some(value) if value.len() > RECONCILE_AT_BYTES => found.faults.push(format!(
                "the value of the annotation {RECONCILE_AT} has {} bytes: values of more than {RECONCILE_AT_BYTES} bytes are not acknowledged",
                value.len()
            )),
            value => found.reconcile_at = value.map(Cow::into_owned).filter(|value| !value.is_empty()),
        }
        found
    }

    /// The warnings about wrong values.
    pub(super) fn warnings(&self) -> impl Iterator<Item = Event> {
        self.faults.iter().map(|fault| warning("InvalidAnnotation", fault.clone()))
    }
}

/// The annotation that pauses an object for one plugin.
#[must_use]
pub fn paused_for(plugin: &str) -> String {
    format!("{plugin}.{PAUSED}")
}

/// A warning about an annotation.
pub(super) fn warning(reason: &str, message: String) -> Event {
    Event { warning: true, reason: reason.to_owned(), message }
}

/// The value of any annotation.
pub(super) fn value(object: &Object, name: &str) -> Option<String> {
    all(object).remove(name).map(Cow::into_owned)
}

/// Whether a change of an object asks for a reconcile.
pub(super) fn asks(old: &Object, new: &Object) -> bool {
    let value = |object: &Object| values(object).remove(RECONCILE_AT).map(Cow::into_owned);
    value(new).is_some_and(|asked| !asked.is_empty() && value(old).is_none_or(|before| before != asked))
}

/// All annotations, when one of those that matter may be among them.
fn values(object: &Object) -> BTreeMap<Cow<'_, str>, Cow<'_, str>> {
    // A search in the text is much cheaper than reading it, and hardly an object has them.
    let text = object.json();
    if text.contains(PAUSED) || text.contains(RECONCILE_AT) { all(object) } else { BTreeMap::new() }
}

fn all(object: &Object) -> BTreeMap<Cow<'_, str>, Cow<'_, str>> {
    let document: Option<Document<'_>> = serde_json::from_str(object.json()).ok();
    document.and_then(|document| document.metadata.annotations).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn object(annotations: &Value) -> Object {
        let document =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "annotations": annotations}});
        Object::parse(&document.to_string()).unwrap()
    }

    fn of(annotations: &Value) -> Annotations {
        Annotations::of(&object(annotations), "network")
    }

    #[test]
    fn only_the_word_true_pauses_and_only_true_and_false_are_words() {
        for (value, paused, faults) in
            [("true", true, 0), ("false", false, 0), ("yes", false, 1), ("True", false, 1), ("", false, 1)]
        {
            let found = of(&json!({PAUSED: value}));
            assert_eq!((found.paused, found.faults.len()), (paused, faults), "{value:?}");
            assert!(found.warnings().all(|event| event.warning && event.message.contains(PAUSED)), "{found:?}");
        }
        for (name, paused) in [("network.oarlock.dev/paused", true), ("other.oarlock.dev/paused", false)] {
            let found = of(&json!({name: "true", PAUSED: "false"}));
            assert_eq!((found.paused, found.faults.len()), (paused, 0), "{name}");
        }
        assert_eq!(of(&json!({"network.oarlock.dev/paused": "no"})).faults.len(), 1);
        assert_eq!(of(&Value::Null), Annotations::default());
        assert_eq!(of(&json!({"other": "oarlock.dev/paused"})), Annotations::default());
    }

    #[test]
    fn a_quoted_value_is_short_and_has_no_control_characters() {
        let found = of(&json!({PAUSED: format!("\n{}", "x".repeat(100_000))}));
        assert!(found.faults[0].len() < 300 && !found.faults[0].contains('\n'), "{found:?}");
    }

    #[test]
    fn a_request_has_at_most_256_bytes() {
        let most = "x".repeat(RECONCILE_AT_BYTES);
        assert_eq!(of(&json!({RECONCILE_AT: most})).reconcile_at, Some(most.clone()));
        let found = of(&json!({RECONCILE_AT: format!("{most}x")}));
        assert_eq!((found.reconcile_at, found.faults.len()), (None, 1));
        assert!(found.faults[0].contains(RECONCILE_AT));
        assert_eq!(of(&json!({RECONCILE_AT: ""})), Annotations::default());
    }

    #[test]
    fn only_another_value_asks_for_a_reconcile() {
        let with = |value: &str| object(&json!({RECONCILE_AT: value}));
        let without = || object(&json!({}));
        assert!(asks(&without(), &with("1")) && asks(&with("1"), &with("2")));
        assert!(asks(&with("1"), &with(&"x".repeat(300))), "one that is too long runs the key, too");
        assert!(!asks(&with("1"), &with("1")) && !asks(&with("1"), &without()) && !asks(&without(), &with("")));
        assert_eq!(
            value(&object(&json!({"p.oarlock.dev/reconciled-at": "\"1\""})), "p.oarlock.dev/reconciled-at").as_deref(),
            Some("\"1\"")
        );
    }
}
