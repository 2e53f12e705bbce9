//! Properties of merge operations for arbitrary documents.

#![expect(clippy::unwrap_used, reason = "tests")]

use oarlock_merge::apply::{self, ManagedFields, Operation, Write};
use oarlock_merge::fields::{self, FieldSet};
use oarlock_merge::schema::Schema;
use oarlock_merge::steps::Budget;
use oarlock_merge::strategic::{apply_patch, create_three_way, create_two_way};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const NOW: &str = "2024-01-01T00:00:00Z";
const LATER: &str = "2024-01-01T00:00:09Z";

fn deployment() -> Schema {
    Schema::builtin("apps", "v1", "Deployment").unwrap()
}

/// Any JSON over a few names, without nulls where a patch would delete by them.
fn json_with(names: &'static [&'static str], nulls: bool) -> impl Strategy<Value = Value> {
    let mut scalars = vec![(-3_i64..3).prop_map(Value::from).boxed(), "[a-c]{0,2}".prop_map(Value::from).boxed()];
    scalars.push(any::<bool>().prop_map(Value::from).boxed());
    if nulls {
        scalars.push(Just(Value::Null).boxed());
    }
    proptest::strategy::Union::new(scalars).prop_recursive(5, 48, 5, move |inner| {
        let name = proptest::sample::select(names).prop_map(str::to_owned);
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(name, inner, 0..5).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn plain() -> impl Strategy<Value = Value> {
    json_with(&["a", "b", "c", "metadata", "labels"], false).prop_map(|v| json!({"spec": v}))
}

/// Names with a special meaning in this crate.
fn hostile() -> impl Strategy<Value = Value> {
    const NAMES: &[&str] = &[
        "apiVersion",
        "kind",
        "metadata",
        "spec",
        "template",
        "containers",
        "env",
        "ports",
        "name",
        "containerPort",
        "volumes",
        "strategy",
        "finalizers",
        "ownerReferences",
        "uid",
        "labels",
        "status",
        "conditions",
        "type",
        "managedFields",
        "manager",
        "operation",
        "fieldsV1",
        "f:spec",
        "f:metadata",
        "k:{\"name\":\"a\"}",
        "v:1",
        "i:0",
        ".",
        "$patch",
        "$retainKeys",
        "$setElementOrder/containers",
        "$setElementOrder",
        "$setElementOrder/finalizers",
        "$deleteFromPrimitiveList/finalizers",
        "$deleteFromPrimitiveList",
    ];
    let deep = || json_with(NAMES, true);
    prop_oneof![
        2 => deep().prop_map(|v| json!({"spec": {"template": {"spec": v}}})),
        1 => deep().prop_map(|v| json!({"metadata": v})),
        1 => (deep(), deep()).prop_map(|(a, b)| json!({"spec": {"template": {"spec": {"containers": a, "$setElementOrder/containers": b}}}})),
        1 => deep().prop_map(|v| json!({"metadata": {"managedFields": [{"manager": "a", "operation": "Apply", "fieldsV1": v}]}})),
        2 => deep(),
    ]
}

fn texts() -> impl Strategy<Value = Value> {
    btree_map("[a-d]", "[x-z]", 1..4).prop_map(|map| json!(map))
}

/// A list of objects with unique names, in any order.
fn by_name(
    key: &'static str,
    item: impl Strategy<Value = Map<String, Value>> + 'static,
) -> impl Strategy<Value = Value> {
    btree_map("[a-e]", item, 1..5).prop_map(|map| map.into_iter().collect::<Vec<_>>()).prop_shuffle().prop_map(
        move |items| {
            let named = |(name, mut item): (String, Map<String, Value>)| {
                item.insert(key.to_owned(), Value::from(name));
                Value::Object(item)
            };
            items.into_iter().map(named).collect()
        },
    )
}

fn object(fields: Vec<(&'static str, Option<Value>)>) -> Map<String, Value> {
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn container() -> impl Strategy<Value = Map<String, Value>> {
    let env = by_name("name", "[x-z]".prop_map(|v| object(vec![("value", Some(Value::from(v)))])));
    let mounts = by_name("mountPath", "[x-z]".prop_map(|v| object(vec![("name", Some(Value::from(v)))])));
    let ports = proptest::sample::subsequence(vec![80, 81, 82], 1..3).prop_shuffle();
    let ports = ports.prop_map(|ports| ports.iter().map(|p| json!({"containerPort": p, "protocol": "TCP"})).collect());
    let parts =
        (option::of("[x-z]"), option::of(env), option::of(mounts), option::of(ports), option::of(vec("[x-z]", 1..3)));
    parts.prop_map(|(image, env, mounts, ports, args): (_, _, _, Option<Value>, _)| {
        let fields = vec![
            ("image", image.map(Value::from)),
            ("env", env),
            ("volumeMounts", mounts),
            ("ports", ports),
            ("args", args.map(Value::from)),
        ];
        object(fields)
    })
}

/// A Deployment as people write it: no empty maps and lists, keys unique.
fn workload() -> impl Strategy<Value = Value> {
    let volume = prop_oneof![
        Just(json!({"emptyDir": {"medium": "x"}})),
        "[x-z]".prop_map(|n| json!({"configMap": {"name": n}}))
    ];
    let volumes = by_name("name", volume.prop_map(|v| v.as_object().unwrap().clone()));
    let finalizers = proptest::sample::subsequence(vec!["x.io/a", "x.io/b", "x.io/c"], 1..4).prop_shuffle();
    let tolerations = vec("[x-z]".prop_map(|k| json!({"key": k})), 1..3);
    let strategy = prop_oneof![
        Just(json!({"type": "Recreate"})),
        (1..4).prop_map(|n| json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": n}})),
    ];
    let meta = (option::of(texts()), option::of(texts()), option::of(finalizers));
    let spec = (1..5, option::of(strategy), texts());
    let pod = (by_name("name", container()), option::of(volumes), option::of(tolerations), option::of(texts()));
    (meta, spec, pod).prop_map(|((labels, annotations, finalizers), (replicas, strategy, selector), pod)| {
        let (containers, volumes, tolerations, node_selector) = pod;
        let name = Some(Value::from("d"));
        let meta = object(vec![
            ("name", name),
            ("labels", labels),
            ("annotations", annotations),
            ("finalizers", finalizers.map(Value::from)),
        ]);
        let pod = object(vec![
            ("containers", Some(containers)),
            ("volumes", volumes),
            ("tolerations", tolerations.map(Value::from)),
            ("nodeSelector", node_selector),
        ]);
        let spec = object(vec![
            ("replicas", Some(Value::from(replicas))),
            ("strategy", strategy),
            ("selector", Some(json!({"matchLabels": selector}))),
            ("template", Some(json!({"spec": pod}))),
        ]);
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec})
    })
}

fn without_managers(object: &Value) -> Value {
    let mut object = object.clone();
    ManagedFields::clear(&mut object);
    object
}

fn is_emptied(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.values().all(is_emptied),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_two_way_patch_makes_the_modified_of_the_original(a in workload(), b in workload()) {
        let patch = create_two_way(&deployment(), &a, &b, &Budget::unlimited()).unwrap();
        prop_assert_eq!(apply_patch(&deployment(), &a, &patch, &Budget::unlimited()).unwrap(), b, "patch {}", patch);
    }

    #[test]
    fn a_two_way_patch_of_untyped_documents_does_too(a in plain(), b in plain()) {
        let schema = Schema::default();
        let patch = create_two_way(&schema, &a, &b, &Budget::unlimited()).unwrap();
        prop_assert_eq!(apply_patch(&schema, &a, &patch, &Budget::unlimited()).unwrap(), b, "patch {}", patch);
    }

    #[test]
    fn documents_that_are_equal_need_no_patch(a in workload(), b in plain()) {
        prop_assert_eq!(create_two_way(&deployment(), &a, &a, &Budget::unlimited()).unwrap(), json!({}));
        prop_assert_eq!(create_two_way(&Schema::default(), &b, &b, &Budget::unlimited()).unwrap(), json!({}));
    }

    #[test]
    fn a_three_way_patch_is_the_two_way_patch_when_nobody_else_wrote(a in workload(), b in workload()) {
        let patch = create_three_way(&deployment(), &a, &b, &a, &Budget::unlimited()).unwrap();
        prop_assert_eq!(apply_patch(&deployment(), &a, &patch, &Budget::unlimited()).unwrap(), b, "patch {}", patch);
    }

    #[test]
    fn a_three_way_patch_keeps_what_others_wrote(a in workload(), b in workload()) {
        // A map that is no longer applied is deleted, including fields that other managers wrote into it.
        let mut b = b;
        b["metadata"]["annotations"]["ours"] = json!("1");
        let mut current = a.clone();
        let side = json!({"name": "sidecar", "image": "s", "env": [{"name": "E", "value": "1"}]});
        current["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap().push(side.clone());
        current["metadata"]["annotations"]["theirs"] = json!("1");
        current["spec"]["paused"] = json!(true);
        let patch = create_three_way(&deployment(), &a, &b, &current, &Budget::unlimited()).unwrap();
        let mut result = apply_patch(&deployment(), &current, &patch, &Budget::unlimited()).unwrap();
        prop_assert_eq!(&result["metadata"]["annotations"]["theirs"], &json!("1"));
        prop_assert_eq!(&result["spec"]["paused"], &json!(true));
        let containers = result["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap();
        let position = containers.iter().position(|c| c["name"] == "sidecar").unwrap();
        prop_assert_eq!(containers.remove(position), side);
        // Without the other manager's field, the result is the applied document.
        result["spec"].as_object_mut().unwrap().remove("paused");
        result["metadata"]["annotations"].as_object_mut().unwrap().remove("theirs");
        prop_assert_eq!(result, b, "patch {}", patch);
    }

    #[test]
    fn field_sets_print_as_they_were_read(a in workload(), b in plain(), c in hostile()) {
        let sets = [FieldSet::of(&a, &deployment()), FieldSet::of(&b, &Schema::default())];
        for set in sets.into_iter().chain(FieldSet::from_json(&c)) {
            prop_assert_eq!(FieldSet::from_json(&set.to_json()).unwrap(), set);
        }
    }

    #[test]
    fn field_sets_are_sets(a in workload(), b in workload()) {
        let (a, b) = (FieldSet::of(&a, &deployment()), FieldSet::of(&b, &deployment()));
        let (both, union) = (a.intersection(&b), a.union(&b));
        prop_assert_eq!(a.difference(&b).union(&both), a.clone());
        prop_assert_eq!(&union, &b.union(&a));
        prop_assert_eq!(&both, &b.intersection(&a));
        prop_assert!(a.difference(&a).is_empty() && a.recursive_difference(&a).is_empty());
        for path in union.paths() {
            prop_assert_eq!(union.contains(&path.0), a.contains(&path.0) || b.contains(&path.0));
            prop_assert_eq!(both.contains(&path.0), a.contains(&path.0) && b.contains(&path.0));
        }
        prop_assert!(a.leaves().paths().len() <= a.paths().len());
        prop_assert!(a.leaves().difference(&a).is_empty());
    }

    #[test]
    fn all_fields_of_a_document_are_the_document(a in workload(), b in plain()) {
        let set = FieldSet::of(&a, &deployment());
        prop_assert_eq!(fields::extract(&a, &set, Some(&deployment())), a.clone());
        prop_assert_eq!(fields::extract(&a, &set, None), a.clone());
        // A parent that is no path of the set itself stays, as in structured-merge-diff's typed/remove.go, version 6.
        prop_assert!(is_emptied(&fields::remove(&a, &set, &deployment())));
        let schema = Schema::default();
        prop_assert_eq!(fields::extract(&b, &FieldSet::of(&b, &schema), Some(&schema)), b.clone());
        prop_assert_eq!(fields::extract(&b, &FieldSet::of(&b, &schema), None), b);
    }

    #[test]
    fn applying_twice_is_applying_once(a in workload(), b in workload()) {
        let schema = deployment();
        let live = apply::apply(None, &a, &Write::new(&schema, "alice", NOW), false).unwrap();
        prop_assert_eq!(&without_managers(&live), &a);
        let again = apply::apply(Some(&live), &a, &Write::new(&schema, "alice", LATER), false).unwrap();
        prop_assert_eq!(&again, &live);
        let bob = apply::apply(Some(&live), &b, &Write::new(&schema, "bob", NOW), true).unwrap();
        let again = apply::apply(Some(&bob), &b, &Write::new(&schema, "bob", LATER), false).unwrap();
        prop_assert_eq!(again, bob);
    }

    #[test]
    fn a_sole_applier_gets_what_it_applies(a in workload(), b in workload()) {
        let schema = deployment();
        let write = Write::new(&schema, "alice", NOW);
        let live = apply::apply(None, &a, &write, false).unwrap();
        let live = apply::apply(Some(&live), &b, &write, false).unwrap();
        prop_assert_eq!(without_managers(&live), b);
    }

    #[test]
    fn the_applied_part_is_what_was_applied(a in workload(), b in workload(), c in workload()) {
        let schema = deployment();
        let mut live = json!(null);
        for (manager, config) in [("alice", &a), ("bob", &b), ("alice", &c)] {
            let old = Some(&live).filter(|live| !live.is_null());
            live = apply::apply(old, config, &Write::new(&schema, manager, NOW), true).unwrap();
            for schema in [Some(&schema), None] {
                let part = apply::applied_part(&live, manager, schema).unwrap().unwrap();
                prop_assert_eq!(&part, config);
            }
        }
    }

    #[test]
    fn giving_everything_up_leaves_the_others_theirs(a in workload(), b in workload()) {
        let schema = deployment();
        let live = apply::apply(None, &a, &Write::new(&schema, "alice", NOW), true).unwrap();
        let live = apply::apply(Some(&live), &b, &Write::new(&schema, "bob", NOW), true).unwrap();
        let nothing = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}});
        let live = apply::apply(Some(&live), &nothing, &Write::new(&schema, "alice", LATER), false).unwrap();
        prop_assert_eq!(without_managers(&live), b);
    }

    #[test]
    fn an_update_takes_what_it_changes_and_nothing_else(a in workload(), b in workload()) {
        let schema = deployment();
        let live = apply::apply(None, &a, &Write::new(&schema, "alice", NOW), false).unwrap();
        let mut new = b.clone();
        apply::update(Some(&live), &mut new, &Write::new(&schema, "edit", LATER));
        let managed = ManagedFields::of(&new).unwrap();
        let alice = managed.applied_by("alice");
        let edited = managed.iter().filter(|(m, _)| m.operation == Operation::Update);
        let edited = edited.fold(FieldSet::new(), |all, (_, owned)| all.union(&owned.set));
        prop_assert!(alice.intersection(&edited).is_empty());
        let fields = FieldSet::of(&b, &schema);
        prop_assert!(alice.difference(&fields).is_empty(), "alice owns what is gone");
        prop_assert_eq!(a == b, edited.is_empty());
        let mut same = new.clone();
        apply::update(Some(&new), &mut same, &Write::new(&schema, "other", LATER));
        prop_assert_eq!(same, new);
    }

    #[test]
    fn nothing_panics(a in hostile(), b in hostile(), c in hostile()) {
        for schema in [deployment(), Schema::default(), Schema::from_openapi(&c)] {
            if let Ok(patch) = create_two_way(&schema, &a, &b, &Budget::unlimited()) {
                let _ = apply_patch(&schema, &a, &patch, &Budget::unlimited());
            }
            let _ = apply_patch(&schema, &a, &b, &Budget::unlimited());
            let _ = create_three_way(&schema, &a, &b, &c, &Budget::unlimited());
            let write = Write::new(&schema, "m", NOW);
            for live in [None, Some(&a)] {
                for force in [false, true] {
                    let _ = apply::apply(live, &b, &write, force);
                }
                let mut new = b.clone();
                apply::update(live, &mut new, &write);
            }
            let set = FieldSet::from_json(&c).unwrap_or_default();
            let _ = fields::extract(&a, &set, Some(&schema));
            let _ = fields::extract(&a, &set, None);
            let _ = fields::remove(&a, &set, &schema);
            let _ = FieldSet::of(&a, &schema);
        }
    }
}
