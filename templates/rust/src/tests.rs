//! The reconciler on a cluster in memory, natively.

use crate::{ANNOTATION, {{kind}}Reconciler};
use oarlock_guest::testing::Runner;
use serde_json::{Value, json};

fn object() -> Value {
    json!({
        "apiVersion": "{{api_version}}", "kind": "{{kind}}",
        "metadata": {"name": "a"{{namespace_json}}, "uid": "u1"}{{fields_json}},
    })
}

fn greeting(runner: &Runner<{{kind}}Reconciler>) -> &Value {
    &runner.current().unwrap()["metadata"]["annotations"][ANNOTATION]
}

#[test]
fn it_greets_once() {
    let mut runner = Runner::<{{kind}}Reconciler>::new().object(object());
    let report = runner.reconcile();
    assert!(report.in_sync(), "{report:#?}");
    assert_eq!(greeting(&runner), "Hello, a");
    assert_eq!(report.event_lines(), ["Normal Greeted: Greeted with \"Hello, a\""]);
    // Nothing is left to do: nothing is written.
    assert!(!runner.reconcile().patched);
}

#[test]
fn it_greets_as_it_is_told() {
    let mut runner = Runner::<{{kind}}Reconciler>::new().config("greeting", "Hi").object(object());
    runner.reconcile();
    assert_eq!(greeting(&runner), "Hi, a");
}

#[test]
fn a_config_map_of_the_namespace_overrides_the_word() {
    let mut runner = Runner::<{{kind}}Reconciler>::new().object(object());
    runner.reconcile();
    runner.put(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "greeting"{{namespace_json}}}, "data": {"greeting": "Welcome"},
    }));
    runner.reconcile();
    assert_eq!(greeting(&runner), "Welcome, a");
}

#[test]
fn what_others_write_into_the_greeting_is_put_back() {
    let mut runner = Runner::<{{kind}}Reconciler>::new().object(object());
    runner.reconcile();
    runner.edit(|object| object["metadata"]["annotations"][ANNOTATION] = json!("Go away"));
    assert!(runner.reconcile().in_sync());
    assert_eq!(greeting(&runner), "Hello, a");
}

#[test]
fn an_object_that_goes_is_left_alone() {
    let mut runner = Runner::<{{kind}}Reconciler>::new().object(object());
    runner.edit(|object| object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"));
    assert!(!runner.reconcile().patched);
}
