//! The reconciler on a cluster in memory.

use crate::{NamespaceBaseline, QUOTA_ANNOTATION, policy_kind, quota_kind};
use oarlock_guest::Reconciler;
use oarlock_guest::testing::Runner;
use serde_json::{Value, json};

const UID: &str = "0d4b5d38-63c0-4a39-9c86-7f3a3f6b8a11";

fn namespace(labels: &Value, annotations: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "shop", "uid": UID, "labels": labels, "annotations": annotations},
    })
}

fn runner(annotations: &Value) -> Runner<NamespaceBaseline> {
    Runner::new().object(namespace(&json!({"oarlock.dev/baseline": "true"}), annotations))
}

fn hard(runner: &Runner<NamespaceBaseline>) -> &Value {
    &runner.get(&quota_kind(), "shop", "baseline").unwrap()["spec"]["hard"]
}

#[test]
fn a_namespace_that_asks_for_it_gets_both_documents() {
    let mut runner = runner(&json!({}));
    let report = runner.reconcile();
    assert!(report.in_sync(), "{report:#?}");
    let owner = json!({
        "apiVersion": "v1", "kind": "Namespace", "name": "shop", "uid": UID,
        "controller": true,
    });
    assert_eq!(
        report.applied(),
        [
            json!({
                "apiVersion": "v1", "kind": "ResourceQuota",
                "metadata": {"name": "baseline", "namespace": "shop", "ownerReferences": [owner]},
                "spec": {"hard": {"pods": "50", "requests.cpu": "10", "requests.memory": "20Gi"}},
            }),
            json!({
                "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
                "metadata": {"name": "default-deny", "namespace": "shop", "ownerReferences": [owner]},
                "spec": {"podSelector": {}, "policyTypes": ["Ingress"]},
            }),
        ]
    );
    let told = "Normal BaselineWritten: quota baseline and network policy default-deny written";
    assert_eq!(report.event_lines(), [told]);
    assert!(!runner.reconcile().patched);
}

#[test]
fn a_namespace_that_does_not_ask_is_left_alone() {
    for labels in [json!({}), json!({"oarlock.dev/baseline": "false"}), json!({"oarlock.dev/baseline": "True"})] {
        let mut runner = Runner::<NamespaceBaseline>::new().object(namespace(&labels, &json!({})));
        let report = runner.reconcile();
        assert!(report.in_sync() && !report.patched, "{report:#?}");
    }
    let bare = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    assert!(Runner::<NamespaceBaseline>::new().object(bare).reconcile().in_sync());
}

#[test]
fn only_what_differs_is_applied() {
    let mut runner = runner(&json!({}));
    runner.reconcile();
    runner.remove(&policy_kind(), "shop", "default-deny");
    let report = runner.reconcile();
    assert!(report.in_sync(), "{report:#?}");
    let kinds: Vec<_> = report.applied().iter().map(|document| document["kind"].clone()).collect();
    assert_eq!(kinds, ["NetworkPolicy"]);
}

#[test]
fn an_annotation_replaces_the_quota_of_its_namespace() {
    let mut runner = runner(&json!({QUOTA_ANNOTATION: r#"{"pods": "5"}"#}));
    runner.reconcile();
    assert_eq!(*hard(&runner), json!({"pods": "5"}));
    runner.edit(|namespace| namespace["metadata"]["annotations"] = json!({}));
    assert!(runner.reconcile().in_sync());
    assert_eq!(*hard(&runner), json!({"pods": "50", "requests.cpu": "10", "requests.memory": "20Gi"}));
}

#[test]
fn an_annotation_that_makes_no_sense_is_named() {
    for text in ["", "5", "null", "[]", r#"["pods"]"#, r#"{"pods": 5}"#, r#"{"pods": null}"#, r#"{"pods": "5""#] {
        let report = runner(&json!({QUOTA_ANNOTATION: text})).reconcile();
        let error = report.error.expect(text);
        assert!(!error.is_transient());
        assert_eq!(error.message(), "annotation baseline.oarlock.dev/quota is not a JSON object of strings");
    }
}

#[test]
fn the_configuration_sets_label_quota_and_egress() {
    let mut runner = Runner::<NamespaceBaseline>::new()
        .config("label", "example.com/limited")
        .config("quota", r#"{"services":"3"}"#)
        .config("denyEgress", "true")
        .object(namespace(&json!({"example.com/limited": "true"}), &json!({})));
    assert!(runner.reconcile().in_sync());
    assert_eq!(*hard(&runner), json!({"services": "3"}));
    let policy = runner.get(&policy_kind(), "shop", "default-deny").unwrap();
    assert_eq!(policy["spec"]["policyTypes"], json!(["Ingress", "Egress"]));

    let on = namespace(&json!({"oarlock.dev/baseline": "true"}), &json!({}));
    let report = Runner::<NamespaceBaseline>::new().config("quota", "50").object(on).reconcile();
    assert_eq!(report.error.unwrap().message(), "config quota is not a JSON object of strings");
}

#[test]
fn without_the_label_both_documents_go() {
    let mut runner = runner(&json!({}));
    runner.reconcile();
    runner.edit(|namespace| namespace["metadata"]["labels"] = json!({}));
    let report = runner.reconcile();
    assert!(report.in_sync() && report.changes.len() == 2, "{report:#?}");
    let told = "Normal BaselineRemoved: quota baseline and network policy default-deny removed";
    assert_eq!(report.event_lines(), [told]);
    assert!(runner.get(&quota_kind(), "shop", "baseline").is_none());
    assert!(runner.get(&policy_kind(), "shop", "default-deny").is_none());
}

#[test]
fn a_namespace_that_goes_takes_everything_with_it() {
    let mut runner = runner(&json!({}));
    runner.reconcile();
    runner.edit(|namespace| namespace["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"));
    assert!(!runner.reconcile().patched);
    runner.delete();
    assert!(!runner.reconcile().patched);
}

#[test]
fn the_grant_allows_what_the_manifest_asks_for() {
    let grant: oarlock_manifest::PluginGrant = serde_saphyr::from_str(include_str!("../grant.yaml")).unwrap();
    let manifest = NamespaceBaseline::manifest();
    for rule in &manifest.document().permissions {
        assert!(grant.permissions.contains(rule), "{rule:?} is not granted");
    }
}
