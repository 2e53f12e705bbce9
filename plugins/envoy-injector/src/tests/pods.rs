//! Missed Pods.

use super::{INITIALIZER, create, plain_pod, shop};
use serde_json::json;

#[test]
fn a10_a_pod_that_slipped_in_is_told_of_and_not_touched() {
    let mut runner = shop(INITIALIZER).object(plain_pod());
    let report = runner.reconcile();
    assert!(report.patched && !report.in_sync(), "{report:#?}");
    assert_eq!(report.changes, []);
    assert!(report.event_lines()[0].starts_with("Warning NotInjected: "), "{:?}", report.event_lines());
    assert!(report.requeue_after.is_some(), "it is not tried again at once");
}

#[test]
fn a10_a_pod_that_has_envoy_or_should_not_have_it_is_fine() {
    let (_, injected) = create(&mut shop(INITIALIZER), &plain_pod());
    let mut unlabelled = injected.clone();
    unlabelled["metadata"]["labels"] = json!({});
    let mut out = plain_pod();
    out["metadata"]["annotations"] = json!({"initializer.kubernetes.io/envoy": "false"});
    let mut going = plain_pod();
    going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    for pod in [injected, unlabelled, out, going] {
        let report = shop(INITIALIZER).object(&pod).reconcile();
        assert!(report.in_sync() && !report.patched, "{pod}: {report:#?}");
    }
    let report = shop("containers: [").object(plain_pod()).reconcile();
    assert!(report.in_sync(), "nobody can tell what it lacks: {report:#?}");
}
