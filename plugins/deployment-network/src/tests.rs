//! The reconciler on an in-memory cluster.

use crate::{DeploymentNetwork, network_kind};
use oarlock_guest::Reconciler;
use oarlock_guest::testing::{Report, Runner};
use serde_json::{Value, json};

const UID: &str = "6d0c3a0e-6f3e-4f0c-8f53-0f3c1f6f7d11";

fn deployment(annotations: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop", "uid": UID, "annotations": annotations},
        "spec": {"replicas": 2},
    })
}

fn runner(annotations: &Value) -> Runner<DeploymentNetwork> {
    Runner::new().object(deployment(annotations))
}

fn network(runner: &Runner<DeploymentNetwork>) -> Option<&Value> {
    runner.get(&network_kind(), "shop", "web")
}

#[track_caller]
fn assert_terminal(report: &Report, part: &str) {
    let error = report.error.as_ref().expect("an error");
    assert!(!error.is_transient() && error.message().contains(part), "{error:?}");
    assert!(report.changes.is_empty());
}

#[test]
fn a_deployment_gets_a_network_it_owns() {
    let mut runner = runner(&json!({}));
    let report = runner.reconcile();
    assert!(report.in_sync(), "{report:#?}");
    assert_eq!(report.event_lines(), ["Normal NetworkApplied: Network web applied"]);
    let network = network(&runner).unwrap();
    assert_eq!(network["spec"], json!({"cidr": "10.0.0.0/24", "gateway": "10.0.0.1"}));
    assert_eq!(
        network["metadata"]["ownerReferences"],
        json!([{
            "apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": UID,
            "controller": true,
        }])
    );
    assert!(!runner.reconcile().patched);
}

#[test]
fn annotations_choose_the_range_and_the_gateway() {
    for (annotations, cidr, gateway) in [
        (json!({"samplecrd.k8s.io/cidr": "192.168.0.0/16"}), "192.168.0.0/16", "192.168.0.1"),
        (json!({"samplecrd.k8s.io/gateway": "10.0.0.254"}), "10.0.0.0/24", "10.0.0.254"),
        (
            json!({"samplecrd.k8s.io/cidr": "172.16.4.0/30", "samplecrd.k8s.io/gateway": "172.16.4.2", "other": "x"}),
            "172.16.4.0/30",
            "172.16.4.2",
        ),
        (json!({"samplecrd.k8s.io/network": "true"}), "10.0.0.0/24", "10.0.0.1"),
    ] {
        let mut runner = runner(&annotations);
        assert!(runner.reconcile().in_sync());
        assert_eq!(network(&runner).unwrap()["spec"], json!({"cidr": cidr, "gateway": gateway}));
    }
}

#[test]
fn annotations_that_make_no_sense_are_named() {
    for (key, value) in [
        ("samplecrd.k8s.io/cidr", "10.0.0.0"),
        ("samplecrd.k8s.io/cidr", "10.0.0.0/31"),
        ("samplecrd.k8s.io/cidr", "10.0.0.0/0"),
        ("samplecrd.k8s.io/cidr", ""),
        ("samplecrd.k8s.io/cidr", "fd00::/64"),
        ("samplecrd.k8s.io/gateway", "10.0.1.1"),
        ("samplecrd.k8s.io/gateway", "10.0.0.0"),
        ("samplecrd.k8s.io/gateway", "10.0.0.255"),
        ("samplecrd.k8s.io/gateway", "first"),
        ("samplecrd.k8s.io/network", "no"),
    ] {
        let mut runner = runner(&json!({key: value}));
        assert_terminal(&runner.reconcile(), key);
        assert!(network(&runner).is_none());
    }
}

#[test]
fn a_changed_gateway_is_applied_and_what_others_add_stays() {
    let mut runner = runner(&json!({}));
    runner.reconcile();
    let mut changed = network(&runner).unwrap().clone();
    changed["metadata"]["labels"] = json!({"team": "blue"});
    runner.put(changed);
    assert!(!runner.reconcile().patched, "the label is not ours");
    runner.edit(|object| object["metadata"]["annotations"] = json!({"samplecrd.k8s.io/gateway": "10.0.0.9"}));
    assert!(runner.reconcile().in_sync());
    assert_eq!(network(&runner).unwrap()["spec"]["gateway"], "10.0.0.9");
    assert_eq!(network(&runner).unwrap()["metadata"]["labels"]["team"], "blue");
}

#[test]
fn what_others_change_is_put_back() {
    let mut runner = runner(&json!({}));
    runner.reconcile();
    let mut changed = network(&runner).unwrap().clone();
    changed["spec"]["gateway"] = json!("10.0.0.77");
    runner.put(changed);
    assert!(runner.reconcile().in_sync());
    assert_eq!(network(&runner).unwrap()["spec"]["gateway"], "10.0.0.1");
    runner.remove(&network_kind(), "shop", "web");
    assert!(runner.reconcile().in_sync());
    assert!(network(&runner).is_some());
}

#[test]
fn somebody_elses_network_is_never_taken_over() {
    let foreign = |owners: Value| {
        json!({
            "apiVersion": "samplecrd.k8s.io/v1", "kind": "Network",
            "metadata": {"name": "web", "namespace": "shop", "uid": "n-1", "ownerReferences": owners},
            "spec": {"cidr": "10.0.0.0/24", "gateway": "10.0.0.1"},
        })
    };
    let earlier =
        json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "earlier", "controller": true}]);
    let not_controller = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": UID}]);
    for owners in [json!([]), earlier, not_controller] {
        let mut runner = runner(&json!({})).seed(foreign(owners));
        let before = network(&runner).cloned();
        assert_terminal(&runner.reconcile(), "does not belong to this Deployment");
        // It is not deleted either when no Network is wanted.
        runner.edit(|object| object["metadata"]["annotations"] = json!({"samplecrd.k8s.io/network": "false"}));
        assert!(!runner.reconcile().patched);
        assert_eq!(network(&runner).cloned(), before);
    }
}

#[test]
fn opting_out_deletes_the_network_and_opting_in_again_makes_one() {
    let mut runner = runner(&json!({}));
    runner.reconcile();
    runner.edit(|object| object["metadata"]["annotations"] = json!({"samplecrd.k8s.io/network": "false"}));
    let report = runner.reconcile();
    assert!(report.in_sync(), "{report:#?}");
    assert!(network(&runner).is_none());
    assert!(!runner.reconcile().patched);
    runner.edit(|object| object["metadata"]["annotations"] = json!({}));
    assert!(runner.reconcile().in_sync());
    assert!(network(&runner).is_some());
}

#[test]
fn a_network_that_is_going_is_waited_for() {
    let mut runner = runner(&json!({}));
    runner.reconcile();
    let mut going = network(&runner).unwrap().clone();
    going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    runner.put(going);
    let error = runner.reconcile().error.unwrap();
    assert!(error.is_transient() && error.message().contains("is being deleted"), "{error:?}");
    // Nothing to do where no Network is wanted.
    runner.edit(|object| object["metadata"]["annotations"] = json!({"samplecrd.k8s.io/network": "false"}));
    assert!(!runner.reconcile().patched);
    runner.edit(|object| object["metadata"]["annotations"] = json!({}));
    runner.remove(&network_kind(), "shop", "web");
    assert!(runner.reconcile().in_sync());
}

#[test]
fn with_its_deployment_the_network_is_left_to_its_owner_reference() {
    let mut runner = runner(&json!({}));
    runner.reconcile();
    runner.delete();
    let report = runner.reconcile();
    assert!(report.in_sync() && !report.patched, "{report:#?}");
    assert!(network(&runner).is_some());
}

#[test]
fn the_grant_in_the_folder_covers_what_the_manifest_asks_for() {
    let grant: oarlock_manifest::PluginGrant =
        serde_saphyr::from_str(include_str!("../deployment-network.yaml")).unwrap();
    for rule in &DeploymentNetwork::manifest().document().permissions {
        assert!(grant.permissions.contains(rule), "{rule:?}");
    }
}
