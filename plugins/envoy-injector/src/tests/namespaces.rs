//! Copies of the ConfigMap `envoy`.

use super::{config_map, config_map_kind, namespace};
use crate::EnvoyInjector;
use oarlock_guest::testing::Runner;
use serde_json::{Value, json};

const SWITCH: &str = "initializer.kubernetes.io/envoy";

fn shop(labels: &Value) -> Runner<EnvoyInjector> {
    Runner::new().object(namespace("shop", labels)).seed(config_map(
        "default",
        "envoy",
        &json!({"envoy.yaml": "admin: {}"}),
    ))
}

fn copy(runner: &Runner<EnvoyInjector>) -> Option<&Value> {
    runner.get(&config_map_kind(), "shop", "envoy")
}

fn switched_on() -> Runner<EnvoyInjector> {
    shop(&json!({SWITCH: "true"}))
}

#[test]
fn a_namespace_gets_a_copy_it_owns_and_loses_it_when_switched_off() {
    let mut runner = switched_on();
    let report = runner.reconcile();
    assert!(report.in_sync(), "{report:#?}");
    let made = copy(&runner).unwrap();
    assert_eq!(made["data"], json!({"envoy.yaml": "admin: {}"}));
    assert_eq!(made["metadata"]["ownerReferences"][0]["uid"], "uid-of-shop");
    assert!(!runner.reconcile().patched);
    runner.edit(|object| object["metadata"]["labels"] = json!({}));
    assert!(runner.reconcile().in_sync());
    assert!(copy(&runner).is_none());
    assert!(!runner.reconcile().patched);
}

#[test]
fn an_edit_of_the_original_reaches_the_copy_and_an_edit_of_the_copy_is_undone() {
    let mut runner = switched_on();
    runner.reconcile();
    runner.put(config_map("default", "envoy", &json!({"other.yaml": "node: {}"})));
    assert!(runner.reconcile().in_sync());
    assert_eq!(copy(&runner).unwrap()["data"], json!({"other.yaml": "node: {}"}));
    let mut changed = copy(&runner).unwrap().clone();
    changed["data"]["other.yaml"] = json!("broken");
    runner.put(changed);
    assert!(runner.reconcile().in_sync());
    assert_eq!(copy(&runner).unwrap()["data"], json!({"other.yaml": "node: {}"}));
    runner.remove(&config_map_kind(), "shop", "envoy");
    assert!(runner.reconcile().in_sync());
    assert!(copy(&runner).is_some());
}

#[test]
fn x10_a_namespace_that_is_going_or_off_or_the_original_s_own_gets_none() {
    let mut going = namespace("shop", &json!({SWITCH: "true"}));
    going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    for (object, default) in [
        (going, "true"),
        (namespace("shop", &json!({})), "false"),
        (namespace("shop", &json!({SWITCH: "false"})), "true"),
        (namespace("kube-system", &json!({SWITCH: "true"})), "true"),
        (namespace("default", &json!({SWITCH: "true"})), "true"),
    ] {
        let mut runner = Runner::<EnvoyInjector>::new()
            .config("injectByDefault", default)
            .object(&object)
            .seed(config_map("default", "envoy", &json!({})));
        let report = runner.reconcile();
        assert!(report.in_sync() && !report.patched, "{object}: {report:#?}");
    }
    let mut by_default = shop(&json!({})).config("injectByDefault", "true");
    assert!(by_default.reconcile().in_sync());
    assert!(copy(&by_default).is_some());
}

#[test]
fn a_config_map_of_the_namespace_s_own_is_left_alone() {
    let mut runner = switched_on().seed(config_map("shop", "envoy", &json!({"mine": "1"})));
    let report = runner.reconcile();
    assert!(report.in_sync() && !report.patched, "{report:#?}");
    runner.edit(|object| object["metadata"]["labels"] = json!({}));
    assert!(!runner.reconcile().patched);
    assert_eq!(copy(&runner).unwrap()["data"], json!({"mine": "1"}));
}

#[test]
fn copies_stay_when_the_original_goes_and_none_is_made_without_it() {
    let mut runner = switched_on();
    runner.remove(&config_map_kind(), "default", "envoy");
    assert!(!runner.reconcile().patched);
    runner.put(config_map("default", "envoy", &json!({"a": "1"})));
    runner.reconcile();
    runner.remove(&config_map_kind(), "default", "envoy");
    assert!(!runner.reconcile().patched);
    assert_eq!(copy(&runner).unwrap()["data"], json!({"a": "1"}));
}
