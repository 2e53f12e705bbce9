//! Properties for arbitrary Pods and ConfigMaps.

use super::{create, namespace, pod};
use crate::EnvoyInjector;
use oarlock_guest::testing::Runner;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A container with one of few names, so that Pod and ConfigMap often share one.
fn container() -> impl Strategy<Value = Value> {
    let env = proptest::collection::vec(("[AB]", prop_oneof![Just("value"), Just("valueFrom")]), 0..3);
    let ports =
        proptest::collection::vec((80u16..82, prop_oneof![Just(None), Just(Some("TCP")), Just(Some("UDP"))]), 0..3);
    let cpu = prop_oneof![Just(None), Just(Some("500m")), Just(Some("0.5"))];
    (any::<bool>(), env, ports, cpu, proptest::option::of("[xy]")).prop_map(|(always, env, ports, cpu, command)| {
        let mut container = Map::new();
        if always {
            container.insert("restartPolicy".to_owned(), json!("Always"));
        }
        let env: Vec<Value> = env
            .into_iter()
            .map(|(name, how)| {
                if how == "value" {
                    json!({"name": name, how: "1"})
                } else {
                    json!({"name": name, how: {"fieldRef": {}}})
                }
            })
            .collect();
        let ports: Vec<Value> = ports
            .into_iter()
            .map(|(port, protocol)| {
                protocol
                    .map_or_else(|| json!({"containerPort": port}), |p| json!({"containerPort": port, "protocol": p}))
            })
            .collect();
        for (field, items) in [("env", env), ("ports", ports)] {
            if !items.is_empty() {
                container.insert(field.to_owned(), json!(items));
            }
        }
        if let Some(cpu) = cpu {
            container.insert("resources".to_owned(), json!({"limits": {"cpu": cpu}}));
        }
        if let Some(command) = command {
            container.insert("command".to_owned(), json!([command]));
        }
        Value::Object(container)
    })
}

fn volume() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"emptyDir": {}})),
        Just(json!({"emptyDir": {"medium": "Memory"}})),
        Just(json!({"configMap": {"name": "envoy"}})),
        Just(json!({"configMap": {"name": "other", "defaultMode": 420}})),
    ]
}

/// Containers, init containers and volumes; names are unique where Kubernetes requires it.
fn lists() -> impl Strategy<Value = Value> {
    let named = |names: Vec<String>, items: Vec<Value>| -> Vec<Value> {
        names
            .into_iter()
            .zip(items)
            .map(|(name, mut item)| {
                item["name"] = json!(name);
                item
            })
            .collect()
    };
    let letters = || Just(["a", "b", "c", "d", "e", "f"].map(str::to_owned).to_vec()).prop_shuffle();
    (letters(), 0usize..5, 0usize..4, letters(), 0usize..4).prop_flat_map(move |(names, containers, inits, volume_names, volumes)| {
        let inits = inits.min(names.len() - containers);
        let items = proptest::collection::vec(container(), containers + inits);
        let volumes = proptest::collection::vec(volume(), volumes);
        (items, volumes).prop_map(move |(items, volumes)| {
            let all = named(names.clone(), items);
            json!({"containers": all[..containers], "initContainers": all[containers..], "volumes": named(volume_names.clone(), volumes)})
        })
    })
}

fn order() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("first"), Just("last")]
}

fn names(list: &Value) -> Vec<&Value> {
    list.as_array().into_iter().flatten().map(|item| &item["name"]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a2_twice_is_once_and_the_pods_own_stays(
        spec in lists(), ours in lists(), order in order(), init_order in order(), others in proptest::option::of(container()),
    ) {
        prop_assume!(ours["containers"] != json!([]) || ours["initContainers"] != json!([]) || ours["volumes"] != json!([]));
        let mut runner = Runner::<EnvoyInjector>::new()
            .config("injectByDefault", "true").config("order", order).config("initOrder", init_order)
            .seed(namespace("shop", &json!({})))
            .seed(super::initializer(&ours.to_string()));
        let (report, injected) = create(&mut runner, &pod(&json!({}), &spec));
        prop_assert!(report.in_sync(), "{:#?}", report);
        let (again, twice) = create(&mut runner, &injected);
        prop_assert!(!again.patched, "{:#?}", again);
        prop_assert_eq!(&twice, &injected);

        for list in ["containers", "initContainers", "volumes"] {
            let (before, after, mentioned) = (names(&spec[list]), names(&injected["spec"][list]), names(&ours[list]));
            // Containers that the ConfigMap does not name are unchanged, in their order.
            let own: Vec<&Value> = before.iter().copied().filter(|name| !mentioned.contains(name)).collect();
            let kept: Vec<&Value> = after.iter().copied().filter(|name| own.contains(name)).collect();
            prop_assert_eq!(&kept, &own);
            for item in spec[list].as_array().into_iter().flatten().filter(|item| own.contains(&&item["name"])) {
                prop_assert!(injected["spec"][list].as_array().unwrap().contains(item), "{}", item);
            }
        }
        // Every name occurs once in both lists.
        let all: Vec<&Value> =
            [names(&injected["spec"]["containers"]), names(&injected["spec"]["initContainers"])].concat();
        for list in ["containers", "initContainers"] {
            for name in names(&ours[list]) {
                prop_assert_eq!(all.iter().filter(|known| **known == name).count(), 1, "{}", name);
            }
        }
        // A later webhook adds a container, and the API server calls again.
        if let Some(mut late) = others {
            late["name"] = json!("late");
            let mut changed = injected.clone();
            changed["spec"]["containers"].as_array_mut().map_or_else(|| (), |list| list.push(late.clone()));
            let (_, last) = create(&mut runner, &changed);
            prop_assert_eq!(names(&last["spec"]["containers"]).len(), names(&changed["spec"]["containers"]).len());
            prop_assert!(!create(&mut runner, &last).0.patched);
        }
    }
}
