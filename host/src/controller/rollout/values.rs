//! JSON values before and after a write of a canary.

use serde_json::{Map, Value, json};

/// The merge patch that takes a merge patch back.
pub(super) fn inverse(patch: &Value, before: &Value) -> Value {
    match (patch, before) {
        (Value::Object(patch), Value::Object(before)) => {
            let fields = patch.iter().map(|(name, value)| {
                (name.clone(), before.get(name).map_or(Value::Null, |before| inverse(value, before)))
            });
            Value::Object(fields.collect())
        }
        (_, before) => before.clone(),
    }
}

/// The fields of `live` that `document` has, too.
pub(super) fn common(document: &Value, live: &Value) -> Value {
    match (document, live) {
        (Value::Object(document), Value::Object(live)) => {
            let fields =
                document.iter().filter_map(|(name, value)| Some((name.clone(), common(value, live.get(name)?))));
            Value::Object(fields.collect())
        }
        (_, live) => live.clone(),
    }
}

/// The fields of `all` that `document` does not have.
pub(super) fn without(all: &Value, document: &Value) -> Value {
    let Value::Object(all) = all else { return json!({}) };
    let fields = all.iter().filter_map(|(name, value)| match document.get(name) {
        None => Some((name.clone(), value.clone())),
        Some(of @ Value::Object(_)) if value.is_object() => {
            let rest = without(value, of);
            rest.as_object().is_some_and(|rest| !rest.is_empty()).then(|| (name.clone(), rest))
        }
        Some(_) => None,
    });
    Value::Object(fields.collect())
}

/// The merge patch that gives the fields of `live` their values of `before`, of which null stands for no field. None: they have them.
pub(super) fn set_back(live: &Value, before: &Value) -> Option<Value> {
    match (live, before) {
        (Value::Object(live), Value::Object(before)) => {
            let fields = before.iter().filter_map(|(name, before)| {
                let changed = match live.get(name) {
                    Some(live) => set_back(live, before),
                    None => Some(before.clone()).filter(|before| !before.is_null()),
                };
                Some((name.clone(), changed?))
            });
            let fields: Map<String, Value> = fields.collect();
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
        (live, before) => (!crate::controller::same_state(Some(live), Some(before))).then(|| before.clone()),
    }
}

/// The fields of `before` that are also in `owned`: nobody else has written them since.
pub(super) fn still(before: &Value, owned: &Value) -> Value {
    let (Value::Object(before), Value::Object(owned)) = (before, owned) else { return json!({}) };
    let fields = before.iter().filter_map(|(name, before)| match (before, owned.get(name)?) {
        (Value::Object(of), owned @ Value::Object(_)) if !of.is_empty() => {
            let rest = still(before, owned);
            rest.as_object().is_some_and(|rest| !rest.is_empty()).then(|| (name.clone(), rest))
        }
        _ => Some((name.clone(), before.clone())),
    });
    Value::Object(fields.collect())
}

/// The fields of `wanted` without those to which another writer has given another value.
///
/// * `owned` - the part of `live` that the plugin wrote last.
pub(super) fn uncontested(wanted: &Value, live: &Value, owned: &Value) -> Value {
    let (Value::Object(wanted), Value::Object(live)) = (wanted, live) else { return wanted.clone() };
    let fields = wanted.iter().filter_map(|(name, wanted)| {
        let Some(live) = live.get(name) else { return Some((name.clone(), wanted.clone())) };
        let owned = owned.get(name);
        let left = match (wanted, live) {
            (Value::Object(of), Value::Object(_)) if !of.is_empty() => {
                let rest = uncontested(wanted, live, owned.unwrap_or(&Value::Null));
                rest.as_object().is_some_and(|rest| !rest.is_empty()).then_some(rest)
            }
            _ => {
                let theirs = owned.is_none() && !crate::controller::same_state(Some(live), Some(wanted));
                (!theirs).then(|| wanted.clone())
            }
        };
        Some((name.clone(), left?))
    });
    Value::Object(fields.collect())
}

/// The fields of both. Of a field that both have, the first value.
pub(super) fn merged(first: Value, second: Value) -> Value {
    match (first, second) {
        (Value::Object(mut first), Value::Object(second)) => {
            for (name, value) in second {
                let value = match first.remove(&name) {
                    Some(known) => merged(known, value),
                    None => value,
                };
                first.insert(name, value);
            }
            Value::Object(first)
        }
        (first, _) => first,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_patch_is_taken_back_field_by_field() {
        let before = json!({"spec": {"a": 1, "list": [1, 2], "same": true}, "data": {"x": "1"}});
        let patch = json!({"spec": {"a": 2, "b": {"c": 3}, "list": [3]}, "data": null});
        assert_eq!(inverse(&patch, &before), json!({"spec": {"a": 1, "b": null, "list": [1, 2]}, "data": {"x": "1"}}));
    }

    #[test]
    fn what_a_later_write_found_does_not_replace_what_was_there_before_the_first_one() {
        let known = json!({"labels": {"a": "1", "b": null}, "data": null});
        let newer = json!({"labels": {"a": "2", "c": "3"}, "data": {"x": "2"}, "spec": {"d": 4}});
        let both = json!({"labels": {"a": "1", "b": null, "c": "3"}, "data": null, "spec": {"d": 4}});
        assert_eq!(merged(known, newer), both);
        let live = json!({"labels": {"a": "1", "b": "2"}, "spec": {"d": 4}});
        assert_eq!(set_back(&live, &both), Some(json!({"labels": {"b": null, "c": "3"}})));
    }

    #[test]
    fn only_fields_that_changed_are_set_back() {
        let document = json!({"spec": {"mine": 2, "theirs": 5, "new": 1}});
        let before = common(&document, &json!({"spec": {"mine": 1, "theirs": 4, "other": 9}}));
        assert_eq!(before, json!({"spec": {"mine": 1, "theirs": 4}}));
        assert_eq!(set_back(&json!({"spec": {"mine": 1, "other": 9}}), &before), Some(json!({"spec": {"theirs": 4}})));
        assert_eq!(set_back(&json!({"spec": {"mine": 1.0, "theirs": 4}}), &before), None);
        let rest = without(&before, &json!({"spec": {"mine": 7}, "kind": "x"}));
        assert_eq!(rest, json!({"spec": {"theirs": 4}}));
        assert_eq!(without(&before, &Value::Null), before, "the plugin wrote nothing of it");
        assert_eq!(set_back(&json!({"spec": {"theirs": 4}}), &without(&before, &before)), None);
    }

    #[test]
    fn what_another_writer_wrote_last_is_left_alone() {
        let owned = json!({"spec": {"mine": 2, "list": [1]}, "metadata": {"annotations": {"a": "c"}}});
        let live = json!({"spec": {"mine": 2, "theirs": 9, "list": [1, 5], "same": 1}, "metadata": {"annotations": {"a": "c", "b": "k"}}});
        let before = json!({"spec": {"mine": 1, "theirs": 4, "gone": 3}});
        assert_eq!(still(&before, &owned), json!({"spec": {"mine": 1}}));
        let wanted = json!({"spec": {"mine": 1, "theirs": 4, "new": 3, "list": [2], "same": 1.0},
            "metadata": {"annotations": {"a": null, "b": "1"}}});
        let left =
            json!({"spec": {"mine": 1, "new": 3, "list": [2], "same": 1.0}, "metadata": {"annotations": {"a": null}}});
        assert_eq!(uncontested(&wanted, &live, &owned), left);
        // Nothing is left of an object whose fields are all theirs, also in a patch.
        assert_eq!(uncontested(&json!({"data": {"b": null}}), &json!({"data": {"b": "k"}}), &json!({})), json!({}));
    }

    #[test]
    fn the_first_value_counts() {
        let first = json!({"data": {"a": null, "b": "1"}});
        let second = json!({"data": {"a": "candidate", "c": "2"}, "kind": "x"});
        assert_eq!(merged(first, second), json!({"data": {"a": null, "b": "1", "c": "2"}, "kind": "x"}));
    }
}
