//! Strategic merge patches, case by case.

#![expect(clippy::unwrap_used, reason = "tests")]

use oarlock_merge::schema::Schema;
use oarlock_merge::steps::Budget;
use oarlock_merge::strategic::{apply_patch, create_three_way, create_two_way};
use serde_json::{Value, json};

fn pod() -> Schema {
    Schema::builtin("", "v1", "Pod").unwrap()
}

fn deployment() -> Schema {
    Schema::builtin("apps", "v1", "Deployment").unwrap()
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "tests read better so")]
fn two_way(schema: &Schema, original: Value, modified: Value, patch: Value) {
    assert_eq!(create_two_way(schema, &original, &modified, &Budget::unlimited()).unwrap(), patch);
    assert_eq!(apply_patch(schema, &original, &patch, &Budget::unlimited()).unwrap(), modified);
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "tests read better so")]
fn refuses(original: Value, patch: Value, status: u16, message: &str) {
    let error = apply_patch(&pod(), &original, &patch, &Budget::unlimited()).unwrap_err();
    assert_eq!((error.to_string().as_str(), error.status()), (message, status));
}

#[test]
fn a_changed_element_is_named_by_its_key() {
    two_way(
        &pod(),
        json!({"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}}),
        json!({"spec": {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]}}),
        json!({"spec": {
            "$setElementOrder/containers": [{"name": "a"}, {"name": "b"}],
            "containers": [{"name": "b", "image": "2"}],
        }}),
    );
}

#[test]
fn a_removed_element_is_deleted_by_its_key() {
    two_way(
        &pod(),
        json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}], "volumes": [{"name": "v"}]}}),
        json!({"spec": {"containers": [{"name": "b"}], "volumes": []}}),
        json!({"spec": {
            "$setElementOrder/containers": [{"name": "b"}],
            "containers": [{"$patch": "delete", "name": "a"}],
            "volumes": [{"$patch": "delete", "name": "v"}],
        }}),
    );
}

#[test]
fn elements_that_only_moved_need_an_order_alone() {
    two_way(
        &pod(),
        json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}),
        json!({"spec": {"containers": [{"name": "b"}, {"name": "a"}]}}),
        json!({"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}}),
    );
}

#[test]
fn finalizers_are_added_and_deleted_one_by_one() {
    two_way(
        &pod(),
        json!({"metadata": {"finalizers": ["a", "b"]}}),
        json!({"metadata": {"finalizers": ["c", "b"]}}),
        json!({"metadata": {
            "$deleteFromPrimitiveList/finalizers": ["a"],
            "$setElementOrder/finalizers": ["c", "b"],
            "finalizers": ["c"],
        }}),
    );
}

#[test]
fn atomic_lists_are_replaced() {
    two_way(
        &pod(),
        json!({"spec": {"tolerations": [{"key": "a"}, {"key": "b"}]}}),
        json!({"spec": {"tolerations": [{"key": "b"}]}}),
        json!({"spec": {"tolerations": [{"key": "b"}]}}),
    );
}

#[test]
fn a_volume_that_changes_its_kind_keeps_the_new_keys_only() {
    two_way(
        &pod(),
        json!({"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}),
        json!({"spec": {"volumes": [{"name": "v", "configMap": {"name": "c"}}]}}),
        json!({"spec": {
            "$setElementOrder/volumes": [{"name": "v"}],
            "volumes": [{"$retainKeys": ["configMap", "name"], "name": "v", "configMap": {"name": "c"}, "emptyDir": null}],
        }}),
    );
}

#[test]
fn a_strategy_that_changes_its_type_keeps_the_new_keys_only() {
    two_way(
        &deployment(),
        json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}),
        json!({"spec": {"strategy": {"type": "Recreate"}}}),
        json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate", "rollingUpdate": null}}}),
    );
}

#[test]
fn owner_references_merge_by_uid() {
    two_way(
        &pod(),
        json!({"metadata": {"ownerReferences": [{"uid": "1", "name": "a"}, {"uid": "2", "name": "b"}]}}),
        json!({"metadata": {"ownerReferences": [{"uid": "2", "name": "b"}]}}),
        json!({"metadata": {
            "$setElementOrder/ownerReferences": [{"uid": "2"}],
            "ownerReferences": [{"$patch": "delete", "uid": "1"}],
        }}),
    );
}

/// A custom resource whose list `spec.list` is of this type.
fn custom(list: &Value) -> Schema {
    let mut property =
        json!({"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}});
    property.as_object_mut().unwrap().extend(list.as_object().unwrap().clone());
    let spec = json!({"type": "object", "properties": {"list": property}});
    Schema::from_openapi(&json!({"type": "object", "properties": {"spec": spec}}))
}

#[test]
fn lists_of_custom_resources_merge_by_their_list_types() {
    let (one, other) = (json!({"spec": {"list": [{"name": "a"}]}}), json!({"spec": {"list": [{"name": "b"}]}}));
    let key = json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]});
    let merged = json!({"spec": {"$setElementOrder/list": [{"name": "b"}], "list": [{"name": "b"}, {"$patch": "delete", "name": "a"}]}});
    two_way(&custom(&key), one.clone(), other.clone(), merged);
    let two_keys = json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "port"]});
    for replaced in [two_keys, json!({"x-kubernetes-list-type": "atomic"}), json!({})] {
        two_way(&custom(&replaced), one.clone(), other.clone(), other.clone());
    }
    let set = json!({"x-kubernetes-list-type": "set", "items": {"type": "string"}});
    two_way(
        &custom(&set),
        json!({"spec": {"list": ["a", "b"]}}),
        json!({"spec": {"list": ["b", "c"]}}),
        json!({"spec": {"$deleteFromPrimitiveList/list": ["a"], "$setElementOrder/list": ["b", "c"], "list": ["c"]}}),
    );
}

#[test]
fn a_three_way_patch_deletes_only_what_was_applied_before() {
    let original = json!({"metadata": {"labels": {"ours": "1", "gone": "1"}}, "spec": {"containers": [{"name": "a"}, {"name": "gone"}]}});
    let modified =
        json!({"metadata": {"labels": {"ours": "2"}}, "spec": {"containers": [{"name": "a", "image": "2"}]}});
    let current = json!({
        "metadata": {"labels": {"ours": "1", "gone": "1", "theirs": "1"}},
        "spec": {"containers": [{"name": "a", "image": "1"}, {"name": "gone"}, {"name": "theirs"}], "nodeName": "n"},
    });
    let patch = create_three_way(&pod(), &original, &modified, &current, &Budget::unlimited()).unwrap();
    assert_eq!(
        patch,
        json!({
            "metadata": {"labels": {"gone": null, "ours": "2"}},
            "spec": {
                "$setElementOrder/containers": [{"name": "a"}],
                "containers": [{"name": "a", "image": "2"}, {"$patch": "delete", "name": "gone"}],
            },
        })
    );
    assert_eq!(
        apply_patch(&pod(), &current, &patch, &Budget::unlimited()).unwrap(),
        json!({
            "metadata": {"labels": {"ours": "2", "theirs": "1"}},
            "spec": {"containers": [{"name": "a", "image": "2"}, {"name": "theirs"}], "nodeName": "n"},
        })
    );
}

#[test]
fn a_three_way_patch_repairs_what_others_changed() {
    let applied = json!({"spec": {"replicas": 2}});
    let current = json!({"spec": {"replicas": 5, "paused": true}});
    let patch = create_three_way(&deployment(), &applied, &applied, &current, &Budget::unlimited()).unwrap();
    assert_eq!(patch, json!({"spec": {"replicas": 2}}));
}

#[test]
fn a_list_keeps_the_order_of_the_server_where_the_patch_has_none() {
    let live = json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}});
    let order = |names: &[&str]| Value::from(names.iter().map(|n| json!({"name": n})).collect::<Vec<_>>());
    for (patch, result) in [
        (json!({"containers": order(&["n"])}), order(&["n", "a", "b", "c"])),
        (json!({"containers": order(&["c", "a"])}), order(&["b", "c", "a"])),
        (json!({"$setElementOrder/containers": order(&["c", "a"])}), order(&["b", "c", "a"])),
        (
            json!({"$setElementOrder/containers": order(&["b", "n"]), "containers": order(&["n"])}),
            order(&["a", "b", "n", "c"]),
        ),
    ] {
        let result = json!({"spec": {"containers": result}});
        assert_eq!(
            apply_patch(&pod(), &live, &json!({"spec": patch}), &Budget::unlimited()).unwrap(),
            result,
            "{patch}"
        );
    }
}

#[test]
fn what_is_new_brings_no_nulls_and_no_directives() {
    let patch = json!({"metadata": {"labels": {"a": null, "b": "1"}, "annotations": {"$patch": "delete"}},
        "spec": {"containers": [{"name": "a", "image": null}, {"name": "b", "$patch": "delete"}]}});
    let live = json!({"kind": "Pod"});
    let result = json!({"kind": "Pod", "metadata": {"labels": {"b": "1"}}, "spec": {"containers": [{"name": "a"}]}});
    assert_eq!(apply_patch(&pod(), &live, &patch, &Budget::unlimited()).unwrap(), result);
}

#[test]
fn directives_that_cannot_be_carried_out_are_refused() {
    let live =
        json!({"metadata": {"finalizers": ["a"]}, "spec": {"containers": [{"name": "a"}], "securityContext": {}}});
    let spec = |patch: Value| json!({"spec": patch});
    refuses(json!([]), json!({}), 400, "invalid JSON document");
    refuses(live.clone(), json!("x"), 400, "invalid JSON document");
    refuses(
        live.clone(),
        spec(json!({"containers": [{"name": "a", "$patch": "merge"}]})),
        500,
        "merging lists cannot yet be specified in the patch",
    );
    refuses(
        live.clone(),
        spec(json!({"securityContext": {"$patch": "merge"}})),
        500,
        "unknown patch type: merge in map: map[$patch:merge]",
    );
    refuses(live.clone(), spec(json!({"$retainKeys": "x"})), 400, "invalid patch format of retainKeys");
    refuses(live.clone(), spec(json!({"$setElementOrder": []})), 400, "invalid patch format of setElementOrder list");
    refuses(live.clone(), spec(json!({"$deleteFromPrimitiveList": []})), 400, "invalid patch format of primitive list");
    let nested = json!({"metadata": {"finalizers": [["b"]]}});
    refuses(live.clone(), nested.clone(), 500, "list element types are not identical: [b]");
    refuses(json!({"metadata": {"finalizers": []}}), nested, 422, "lists of lists are not supported");
    refuses(live, json!({"metadata": {"finalizers": ["b", 1]}}), 500, "list element types are not identical: 1");
}

#[test]
fn long_lists_do_not_take_quadratic_time() {
    let numbers = |from: i32| (from..from + 20_000).map(|n| format!("x.io/{n}")).collect::<Vec<_>>();
    let (a, b) =
        (json!({"metadata": {"finalizers": numbers(0)}}), json!({"metadata": {"finalizers": numbers(10_000)}}));
    let named = |list: &Value| {
        let names = list["metadata"]["finalizers"].as_array().unwrap().iter();
        json!({"spec": {"containers": names.map(|n| json!({"name": n})).collect::<Vec<_>>()}})
    };
    for (a, b) in [(named(&a), named(&b)), (a, b)] {
        let patch = create_two_way(&pod(), &a, &b, &Budget::unlimited()).unwrap();
        assert_eq!(apply_patch(&pod(), &a, &patch, &Budget::unlimited()).unwrap(), b);
    }
}

#[test]
fn a_list_with_equal_merge_keys_does_not_differ_from_itself() {
    let containers = |ports: [u16; 3]| {
        let named = ports.map(|port| json!({"name": "app", "ports": [{"containerPort": port}]}));
        json!({"spec": {"containers": named}})
    };
    let (a, b) = (containers([80, 81, 82]), containers([80, 83, 82]));
    assert_eq!(create_two_way(&pod(), &a, &a, &Budget::unlimited()).unwrap(), json!({}));
    let patch = create_two_way(&pod(), &a, &b, &Budget::unlimited()).unwrap();
    let changed = patch.pointer("/spec/containers").and_then(Value::as_array).unwrap();
    assert_eq!(changed.len(), 1, "the second one differs, and no other: {patch}");
}

/// Templates are read and written again: a number keeps its value, also where its text has more digits than a float.
#[test]
fn a_number_is_the_same_after_it_was_read_and_written() {
    for text in [
        "91444444444444444444444444444444444444444444444444",
        "0.1",
        "2.2250738585072014e-308",
        "1.7976931348623157e308",
    ] {
        let read: Value = serde_json::from_str(text).unwrap();
        assert_eq!(read.as_f64(), text.parse().ok(), "{text}");
        let again: Value = serde_json::from_str(&read.to_string()).unwrap();
        assert_eq!(again, read, "{text}");
    }
}
