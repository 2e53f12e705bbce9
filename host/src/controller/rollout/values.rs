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

/// `known`, and the fields that only `newer` has.
pub(super) fn completed(known: Value, newer: Value) -> Value {
    match (known, newer) {
        (Value::Object(mut known), Value::Object(newer)) => {
            for (name, value) in newer {
                let value = match known.remove(&name) {
                    Some(of) => completed(of, value),
                    None => value,
                };
                known.insert(name, value);
            }
            Value::Object(known)
        }
        (known, _) => known,
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
    let (Value::Object(all), Value::Object(document)) = (all, document) else { return json!({}) };
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
        assert_eq!(completed(known, newer), both);
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
        assert_eq!(set_back(&json!({"spec": {"theirs": 4}}), &without(&before, &before)), None);
    }
}
