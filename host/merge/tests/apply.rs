//! Server-side apply and field ownership after other writes, case by case.

#![expect(clippy::unwrap_used, reason = "tests")]

use oarlock_merge::apply::{self, Error, ManagedFields, Reset, Write, applied_part, equal_but_for_times};
use oarlock_merge::fields::FieldSet;
use oarlock_merge::schema::Schema;
use serde_json::{Value, json};

const NOW: &str = "2024-01-01T00:00:00Z";

fn widget(schema: &Value) -> Schema {
    Schema::from_openapi(&json!({"type": "object", "properties": {"spec": schema}}))
}

fn named(spec: &Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec})
}

/// Applies as each manager in turn, with force.
fn applies(schema: &Schema, configs: &[(&str, Value)]) -> Value {
    let mut live = None;
    for (manager, spec) in configs {
        live = Some(apply::apply(live.as_ref(), &named(spec), &Write::new(schema, manager, NOW), true).unwrap());
    }
    live.unwrap()
}

fn sets(object: &Value) -> Vec<(String, Value)> {
    let managed = ManagedFields::of(object).unwrap();
    managed.iter().map(|(m, o)| (m.name.clone(), o.set.to_json())).collect()
}

#[test]
fn elements_of_both_lists_keep_their_order_where_both_can() {
    let schema = widget(&json!({"type": "object", "properties": {"s": {
        "type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}}));
    for (live, applied, merged) in [
        ("abc", "ca", "bca"),
        ("abc", "abc", "abc"),
        ("abc", "x", "abcx"),
        ("abc", "bx", "abcx"),
        ("abc", "xb", "axbc"),
        ("abcd", "db", "acdb"),
        ("", "ba", "ba"),
    ] {
        let list = |letters: &str| json!({"s": letters.chars().map(String::from).collect::<Vec<_>>()});
        let object = applies(&schema, &[("alice", list(live)), ("bob", list(applied))]);
        let got: String = object["spec"]["s"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(got, merged, "{live} + {applied}");
    }
}

#[test]
fn untyped_parts_merge_key_by_key_and_lists_are_atomic() {
    let schema = widget(&json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}));
    let object =
        applies(&schema, &[("alice", json!({"a": {"x": 1}, "l": [1, 2]})), ("bob", json!({"a": {"y": 2}, "l": [3]}))]);
    assert_eq!(object["spec"], json!({"a": {"x": 1, "y": 2}, "l": [3]}));
    assert_eq!(
        sets(&object),
        [
            ("alice".to_owned(), json!({"f:spec": {"f:a": {".": {}, "f:x": {}}}})),
            ("bob".to_owned(), json!({"f:spec": {"f:a": {".": {}, "f:y": {}}, "f:l": {}}})),
        ]
    );
}

#[test]
fn without_a_schema_everything_is_untyped() {
    for schema in [Schema::default(), Schema::from_openapi(&Value::Null)] {
        let object = applies(&schema, &[("alice", json!({"a": {"x": 1}})), ("bob", json!({"a": {"y": 2}}))]);
        assert_eq!(object["spec"], json!({"a": {"x": 1, "y": 2}}));
    }
}

#[test]
fn atomic_maps_have_one_owner() {
    let schema = widget(&json!({"type": "object", "properties": {"m": {
        "type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}}}}));
    let live = applies(&schema, &[("alice", json!({"m": {"a": "1"}}))]);
    let other = named(&json!({"m": {"b": "1"}}));
    let refused = apply::apply(Some(&live), &other, &Write::new(&schema, "bob", NOW), false).unwrap_err();
    assert_eq!(refused.to_string(), "Apply failed with 1 conflict: conflict with \"alice\": .spec.m");
    let forced = apply::apply(Some(&live), &other, &Write::new(&schema, "bob", NOW), true).unwrap();
    assert_eq!(forced["spec"], json!({"m": {"b": "1"}}));
    assert_eq!(sets(&forced).len(), 1, "alice owns nothing any more");
}

#[test]
fn a_map_that_became_atomic_is_owned_as_a_whole() {
    let map = |kind: &str| {
        widget(&json!({"type": "object", "properties": {"m": {
            "type": "object", "x-kubernetes-map-type": kind, "additionalProperties": {"type": "string"}}}}))
    };
    let (before, after) = (map("granular"), map("atomic"));
    let live = applies(&before, &[("alice", json!({"m": {"a": "1"}}))]);
    let other = named(&json!({"m": {"b": "1"}}));
    apply::apply(Some(&live), &other, &Write::new(&before, "bob", NOW), false).unwrap();
    let refused = apply::apply(Some(&live), &other, &Write::new(&after, "bob", NOW), false).unwrap_err();
    assert_eq!(refused.to_string(), "Apply failed with 1 conflict: conflict with \"alice\": .spec.m");
}

#[test]
fn list_keys_have_the_defaults_of_the_schema() {
    let schema = widget(&json!({"type": "object", "properties": {"p": {
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n", "proto"],
        "items": {"type": "object", "properties": {
            "n": {"type": "integer"}, "proto": {"type": "string", "default": "TCP"}, "v": {"type": "string"}}}}}}));
    let live = applies(
        &schema,
        &[("alice", json!({"p": [{"n": 1, "v": "a"}]})), ("bob", json!({"p": [{"n": 1, "proto": "TCP", "v": "b"}]}))],
    );
    assert_eq!(live["spec"], json!({"p": [{"n": 1, "proto": "TCP", "v": "b"}]}));
    let part = applied_part(&live, "alice", Some(&schema)).unwrap().unwrap();
    assert_eq!(part["spec"], json!({"p": [{"n": 1}]}), "proto is bob's, and not needed to tell the element");
}

#[test]
fn several_problems_are_listed_one_per_line() {
    let schema = widget(&json!({"type": "object", "properties": {
        "a": {"type": "string"}, "n": {"type": "integer"}, "b": {"type": "boolean"}, "l": {"type": "array"}}}));
    let config = named(&json!({"a": 1, "n": "x", "b": "x", "l": {}, "zz": 1}));
    let refused = apply::apply(None, &config, &Write::new(&schema, "m", NOW), false).unwrap_err();
    assert!(matches!(refused, Error::Untyped { .. }));
    assert_eq!(
        refused.to_string(),
        "failed to create typed patch object (/w; example.com/v1, Kind=Widget): errors:\n  \
         .spec.a: expected string, got &value.valueUnstructured{Value:1}\n  \
         .spec.b: expected boolean, got &{x}\n  \
         .spec.l: expected list, got &{map[]}\n  \
         .spec.n: expected numeric (int or float), got string\n  \
         .spec.zz: field not declared in schema"
    );
}

#[test]
fn status_is_written_through_its_subresource_only() {
    let schema = Schema::builtin("apps", "v1", "Deployment").unwrap();
    let config = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "labels": {"l": "1"}},
        "spec": {"replicas": 2}, "status": {"replicas": 3}});
    let main = Write::new(&schema, "m", NOW).reset(Reset::Fields(FieldSet::of_fields(&[&["status"]])));
    let status = Write::new(&schema, "m", NOW).subresource("status").reset(Reset::AllBut(vec!["status".to_owned()]));
    let live = apply::apply(None, &config, &main, false).unwrap();
    assert_eq!((live.get("status"), &live["spec"]["replicas"]), (None, &json!(2)));
    let mut other = config.clone();
    other["spec"]["replicas"] = json!(9);
    other["metadata"]["labels"] = json!({"l": "2"});
    let live = apply::apply(Some(&live), &other, &status, false).unwrap();
    assert_eq!((&live["status"]["replicas"], &live["spec"]["replicas"]), (&json!(3), &json!(2)));
    assert_eq!(live["metadata"]["labels"]["l"], "1");
    let entries = live["metadata"]["managedFields"].as_array().unwrap();
    let subresources: Vec<_> = entries.iter().map(|e| e.get("subresource").and_then(Value::as_str)).collect();
    assert_eq!(subresources, [None, Some("status")]);
    let mut edited = live.clone();
    edited["status"]["replicas"] = json!(4);
    edited["spec"]["replicas"] = json!(4);
    apply::update(Some(&live), &mut edited, &Write { manager: "ctl", ..status });
    let ctl = sets(&edited).into_iter().find(|(name, _)| name == "ctl").unwrap();
    assert_eq!(ctl.1, json!({"f:status": {"f:replicas": {}}}));
}

#[test]
fn what_a_go_struct_always_has_belongs_to_nobody() {
    let schema = Schema::builtin("apps", "v1", "Deployment").unwrap();
    let mut new = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
        "template": {"spec": {"containers": [{"name": "a"}], "securityContext": {}}}}});
    apply::update(None, &mut new, &Write::new(&schema, "kubectl-create", NOW));
    assert_eq!(
        sets(&new)[0].1,
        json!({"f:spec": {
            "f:strategy": {"f:type": {}, "f:rollingUpdate": {".": {}, "f:maxSurge": {}}},
            "f:template": {"f:spec": {
                "f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:resources": {}}},
                "f:securityContext": {},
            }},
        }})
    );
}

#[test]
fn managed_fields_can_be_written_cleared_and_not_deleted_by_accident() {
    let schema = Schema::builtin("", "v1", "ConfigMap").unwrap();
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
    let live = apply::apply(None, &config, &Write::new(&schema, "alice", NOW), false).unwrap();
    let write = Write::new(&schema, "edit", NOW);
    let updated = |fields: Value, write: &Write<'_>| {
        let mut new = live.clone();
        new["metadata"]["managedFields"] = fields;
        apply::update(Some(&live), &mut new, write);
        sets(&new).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(updated(json!([]), &write), Vec::<String>::new());
    assert_eq!(updated(Value::Null, &write), ["alice"]);
    assert_eq!(updated(json!([{"manager": "x", "operation": "Apply", "fieldsV1": 1}]), &write), ["alice"]);
    assert_eq!(updated(json!([{}]), &write), Vec::<String>::new());
    let given =
        json!([{"manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"f:data": {"f:k": {}}}}]);
    assert_eq!(updated(given.clone(), &write), ["x"]);
    assert_eq!(updated(given, &write.subresource("status")), ["alice"]);
}

#[test]
fn the_oldest_of_many_updaters_become_one() {
    let schema = Schema::builtin("", "v1", "ConfigMap").unwrap();
    let mut live = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {}});
    for i in 0..14 {
        let old = if i == 0 { None } else { Some(live.clone()) };
        live["data"][format!("k{i}")] = json!("v");
        let (name, time) = (format!("m{i:02}"), format!("2024-01-01T00:00:{i:02}Z"));
        apply::update(old.as_ref(), &mut live, &Write::new(&schema, &name, &time));
    }
    let names: Vec<String> = sets(&live).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 10, "{names:?}");
    assert_eq!((names[0].as_str(), names[1].as_str()), ("ancient-changes", "m05"));
    let all = sets(&live).iter().fold(FieldSet::new(), |all, (_, set)| all.union(&FieldSet::from_json(set).unwrap()));
    assert_eq!(all.to_json()["f:data"].as_object().unwrap().len(), 15, "nothing is forgotten");
}

#[test]
fn the_part_of_a_manager_that_applied_nothing_is_none() {
    let schema = Schema::default();
    let live = applies(&schema, &[("alice", json!({"a": 1}))]);
    assert_eq!(applied_part(&live, "bob", Some(&schema)).unwrap(), None);
    let part = applied_part(&live, "alice", Some(&schema)).unwrap().unwrap();
    assert_eq!(part, named(&json!({"a": 1})));
}

#[test]
fn an_unreadable_book_is_an_error_and_not_a_panic() {
    let schema = Schema::default();
    let mut live = named(&json!({}));
    live["metadata"]["managedFields"] = json!([{"manager": "x", "operation": "Apply", "fieldsV1": {"k:{": {}}}]);
    let refused = apply::apply(Some(&live), &named(&json!({})), &Write::new(&schema, "m", NOW), false).unwrap_err();
    assert!(matches!(refused, Error::ManagedFields(_)));
    assert!(applied_part(&live, "m", None).is_err());
}

#[test]
fn times_alone_are_no_difference() {
    let schema = Schema::default();
    let old = applies(&schema, &[("alice", json!({"a": 1}))]);
    let mut new = old.clone();
    new["metadata"]["managedFields"][0]["time"] = json!("2030-01-01T00:00:00Z");
    assert!(equal_but_for_times(&old, &new));
    new["spec"]["a"] = json!(2);
    assert!(!equal_but_for_times(&old, &new));
}
