//! Workload mode.

use super::{INITIALIZER, initializer};
use crate::EnvoyInjector;
use oarlock_guest::testing::Runner;
use oarlock_guest::{Kind, kind};
use serde_json::{Value, json};
use std::time::Duration;

fn workload(kind: &str, name: &str, annotation: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": kind,
        "metadata": {"name": name, "namespace": "shop", "uid": format!("uid-of-{name}"), "generation": 1,
                     "annotations": {"initializer.kubernetes.io/envoy-workload": annotation}},
        "spec": {"replicas": 1, "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "web", "image": "web:1"}], "volumes": [{"name": "data", "emptyDir": {}}]},
        }},
        "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1,
                   "readyReplicas": 1, "desiredNumberScheduled": 1, "updatedNumberScheduled": 1, "numberAvailable": 1},
    })
}

fn runner(object: &Value) -> Runner<EnvoyInjector> {
    Runner::new().config("workloadMode", "true").seed(initializer(INITIALIZER)).object(object)
}

fn template(runner: &Runner<EnvoyInjector>) -> Value {
    runner.current().unwrap()["spec"]["template"].clone()
}

fn names(template: &Value, list: &str) -> Vec<String> {
    super::names(template, list)
}

fn deployment_kind() -> Kind {
    kind("apps/v1", "Deployment")
}

#[test]
fn a_template_gets_envoy_and_loses_it_again() {
    for kind in ["Deployment", "StatefulSet", "DaemonSet"] {
        let before = workload(kind, "web", "true");
        let mut runner = runner(&before);
        let report = runner.reconcile();
        assert!(report.in_sync(), "{kind}: {report:#?}");
        assert_eq!(names(&template(&runner), "containers"), ["web", "envoy"]);
        assert_eq!(names(&template(&runner), "volumes"), ["data", "envoy"]);
        assert_eq!(template(&runner)["metadata"]["labels"]["initializer.kubernetes.io/envoy-injected"], "true");
        assert!(!runner.reconcile().patched);
        // Its Pods are injected already, so a webhook changes nothing.
        let mut pod = template(&runner);
        pod["apiVersion"] = json!("v1");
        pod["kind"] = json!("Pod");
        pod["metadata"]["generateName"] = json!("web-");
        pod["metadata"]["annotations"] = json!({"initializer.kubernetes.io/envoy": "true"});
        assert!(!super::create(&mut runner, &pod).0.patched);
        runner.edit(|object| object["metadata"]["annotations"] = json!({}));
        assert!(runner.reconcile().in_sync());
        assert_eq!(template(&runner), before["spec"]["template"]);
        assert!(!runner.reconcile().patched);
    }
}

#[test]
fn a_workload_is_patched_only_where_both_ask_for_it() {
    for (mode, annotation) in [("false", "true"), ("true", "false"), ("true", "yes")] {
        let mut runner = Runner::<EnvoyInjector>::new()
            .config("workloadMode", mode)
            .seed(initializer(INITIALIZER))
            .object(workload("Deployment", "web", annotation));
        assert!(!runner.reconcile().patched, "{mode} {annotation}");
    }
}

#[test]
fn an_edit_of_the_config_map_is_rolled_out_and_a_missing_one_changes_nothing() {
    let mut runner = runner(&workload("Deployment", "web", "true"));
    runner.reconcile();
    runner.put(initializer("containers: [{name: envoy, image: 'envoy:2'}]"));
    assert!(runner.reconcile().in_sync());
    assert_eq!(template(&runner)["spec"]["containers"][1], json!({"name": "envoy", "image": "envoy:2"}));
    assert_eq!(names(&template(&runner), "volumes"), ["data"]);
    runner.remove(&super::config_map_kind(), "default", "envoy-initializer");
    let report = runner.reconcile();
    assert!(report.error.unwrap().is_transient());
    assert_eq!(names(&template(&runner), "containers"), ["web", "envoy"]);
}

#[test]
fn one_workload_is_rolled_out_after_the_other() {
    let mut runner = runner(&workload("Deployment", "first", "true"));
    runner.reconcile();
    // The API server increments the generation; nothing has rolled out yet.
    runner.edit(|object| object["metadata"]["generation"] = json!(2));
    runner.set_object(workload("StatefulSet", "second", "true"));
    let report = runner.reconcile();
    assert!(report.changes.is_empty() && !report.in_sync(), "{report:#?}");
    assert_eq!(report.event_lines(), ["Normal WaitingForRollout: Waits for the rollout of Deployment shop/first"]);
    assert_eq!(report.requeue_after, Some(Duration::from_secs(15)));
    // The first has rolled out.
    let mut first = runner.get(&deployment_kind(), "shop", "first").unwrap().clone();
    first["status"]["observedGeneration"] = json!(2);
    runner.put(first);
    assert!(runner.reconcile().in_sync());
    // The second rolls out now, and the third waits until that ends or takes too long.
    runner.edit(|object| object["metadata"]["generation"] = json!(2));
    runner.set_object(workload("DaemonSet", "third", "true"));
    assert!(runner.reconcile().changes.is_empty());
    runner.advance(Duration::from_secs(599));
    assert!(runner.reconcile().changes.is_empty());
    runner.advance(Duration::from_secs(1));
    assert!(runner.reconcile().in_sync());
}

#[test]
fn a_workload_that_is_gone_holds_up_nobody() {
    let mut runner = runner(&workload("Deployment", "first", "true"));
    runner.reconcile();
    runner.remove(&deployment_kind(), "shop", "first");
    runner.set_object(workload("Deployment", "second", "true"));
    assert!(runner.reconcile().in_sync());
}

#[test]
fn a_workload_that_is_going_is_left_alone() {
    let mut going = workload("Deployment", "web", "true");
    going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert!(!runner(&going).reconcile().patched);
}
