//! The reconciler on an in-memory cluster, with the emulated Neutron.

mod door;
mod faults;
mod lab;
mod orders;

use crate::objects::{network_kind, pod_kind};
use crate::{PodNetwork, State};
use lab::{Lab, UID, lab, pod};
use oarlock_guest::Reconciler;
use oarlock_guest::testing::{Report, Runner};
use serde_json::{Value, json};

type Scene = (Runner<PodNetwork>, Lab);

/// A Pod with its port.
fn made() -> Scene {
    let (mut runner, lab) = lab();
    assert_done(&runner.reconcile());
    (runner, lab)
}

#[track_caller]
fn assert_done(report: &Report) {
    assert!(report.in_sync(), "{report:#?}");
}

#[track_caller]
fn assert_error(report: &Report, transient: bool, part: &str) {
    let error = report.error.as_ref().expect("an error");
    assert!(error.is_transient() == transient && error.message().contains(part), "{error:?}");
}

/// Asserts that the Pod's annotations describe its only port.
#[track_caller]
fn assert_told(runner: &Runner<PodNetwork>, lab: &Lab) {
    let port = lab.only_port();
    let annotations = &runner.current().unwrap()["metadata"]["annotations"];
    assert_eq!(annotations["samplecrd.k8s.io/network-ip"], port["fixed_ips"][0]["ip_address"]);
    assert_eq!(annotations["samplecrd.k8s.io/network-port-id"], port["id"]);
}

#[test]
fn a_pod_gets_a_port_and_is_told_its_address() {
    let (mut runner, lab) = lab();
    let report = runner.reconcile();
    assert_done(&report);
    let port = lab.only_port();
    assert_eq!(port["network_id"], lab.network("blue"));
    assert_eq!(port["device_id"], UID);
    assert_eq!(port["device_owner"], "oarlock:pod");
    assert_eq!(port["name"], "shop/web");
    assert_eq!(port["fixed_ips"][0]["ip_address"], "10.0.0.2");
    assert_told(&runner, &lab);
    let said =
        format!("Normal PortAssigned: Port {} with address 10.0.0.2 in Network blue", port["id"].as_str().unwrap());
    assert_eq!(report.event_lines(), [said]);
}

#[test]
fn in_sync_costs_one_request_and_no_write() {
    let (mut runner, lab) = made();
    let before = runner.current().cloned();
    for _ in 0..3 {
        let report = runner.reconcile();
        assert!(report.in_sync() && !report.patched);
        assert_eq!(report.request_lines(), ["GET /v2.0/ports"]);
        assert!(report.requeue_after.is_some(), "drift is looked for");
    }
    assert_eq!(runner.current().cloned(), before);
    assert_eq!(lab.writes(), 1);
}

#[test]
fn a_pod_that_names_no_network_costs_nothing() {
    let (mut runner, _) = lab();
    runner.edit(|pod| pod["metadata"]["annotations"] = json!({"other": "x"}));
    let report = runner.reconcile();
    assert!(report.in_sync() && report.requests.is_empty() && report.requeue_after.is_none(), "{report:#?}");
    runner.delete();
    let report = runner.reconcile();
    assert!(report.in_sync() && report.requests.is_empty(), "{report:#?}");
}

#[test]
fn the_port_goes_when_the_pod_is_gone_and_not_before() {
    let (mut runner, lab) = made();
    runner.edit(|pod| pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"));
    assert!(!runner.reconcile().patched, "its containers still run");
    lab.only_port();
    let (mut runner, lab) = made();
    runner.delete();
    let report = runner.reconcile();
    assert!(report.in_sync() && report.changes.is_empty(), "{report:#?}");
    assert!(lab.ports().is_empty());
}

#[test]
fn a_finished_pod_gives_its_port_back_and_its_annotations() {
    for phase in ["Succeeded", "Failed"] {
        let (mut runner, lab) = made();
        runner.edit(|pod| pod["status"]["phase"] = json!(phase));
        let report = runner.reconcile();
        assert_done(&report);
        assert_eq!(report.event_lines(), ["Normal PortReleased: The Pod's port was given back"]);
        assert!(lab.ports().is_empty());
        let annotations = &runner.current().unwrap()["metadata"]["annotations"];
        assert_eq!(*annotations, json!({"samplecrd.k8s.io/network": "blue"}));
        assert!(!runner.reconcile().patched);
    }
}

#[test]
fn a_pod_that_takes_its_annotation_back_gives_its_port_back() {
    let (mut runner, lab) = made();
    runner.edit(|pod| drop(pod["metadata"]["annotations"].as_object_mut().unwrap().remove("samplecrd.k8s.io/network")));
    assert_done(&runner.reconcile());
    assert!(lab.ports().is_empty());
    assert_eq!(runner.current().unwrap()["metadata"]["annotations"], json!({}));
}

#[test]
fn a_pod_that_loses_all_annotations_at_once_gives_its_port_back() {
    let (mut runner, lab) = made();
    runner.edit(|pod| drop(pod["metadata"].as_object_mut().unwrap().remove("annotations")));
    assert_done(&runner.reconcile());
    assert!(lab.ports().is_empty());
    assert!(!runner.reconcile().patched);
}

#[test]
fn a_pod_that_names_another_network_gets_a_port_there_and_none_is_left() {
    let (mut runner, lab) = made();
    runner.put(lab.make_network("green", "10.1.0.0/24"));
    runner.edit(|pod| pod["metadata"]["annotations"]["samplecrd.k8s.io/network"] = json!("green"));
    assert_done(&runner.reconcile());
    assert_eq!(lab.only_port()["network_id"], lab.network("green"));
    assert_told(&runner, &lab);
}

#[test]
fn what_others_change_or_delete_is_repaired() {
    let (mut runner, lab) = made();
    // The port with another address: the annotation follows.
    lab.put_port(&json!({"fixed_ips": [{"ip_address": "10.0.0.5"}]}));
    assert_done(&runner.reconcile());
    assert_told(&runner, &lab);
    // None.
    lab.put_port(&json!({"fixed_ips": []}));
    assert_done(&runner.reconcile());
    assert_eq!(lab.only_port()["fixed_ips"].as_array().unwrap().len(), 1);
    assert_told(&runner, &lab);
    // The annotations.
    runner.edit(|pod| pod["metadata"]["annotations"]["samplecrd.k8s.io/network-ip"] = json!("1.2.3.4"));
    assert_done(&runner.reconcile());
    assert_told(&runner, &lab);
    // The port.
    lab.delete_ports();
    assert_done(&runner.reconcile());
    assert_told(&runner, &lab);
}

#[test]
fn a_network_that_is_not_ready_is_waited_for() {
    let (mut runner, lab) = lab();
    let ready = runner.get(&network_kind(), "shop", "blue").cloned().unwrap();
    let mut fresh = ready.clone();
    fresh["status"] = json!({});
    let mut broken = ready.clone();
    broken["status"]["conditions"][0] = json!({"type": "Ready", "status": "False", "message": "subnet missing"});
    let mut going = ready.clone();
    going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    for (network, why) in
        [(fresh, "nothing was reported about it yet"), (broken, "subnet missing"), (going, "it is being deleted")]
    {
        runner.put(network);
        assert_error(&runner.reconcile(), false, why);
        assert!(lab.ports().is_empty());
    }
    runner.remove(&network_kind(), "shop", "blue");
    assert_error(&runner.reconcile(), false, "Network \"blue\" does not exist in namespace shop");
    runner.put(ready);
    assert_done(&runner.reconcile());
    assert_told(&runner, &lab);
}

/// Neither a failed nor a deleting Network removes the ports of running Pods.
#[test]
fn a_port_stays_whatever_becomes_of_its_network() {
    let (mut runner, lab) = made();
    let mut network = runner.get(&network_kind(), "shop", "blue").cloned().unwrap();
    network["status"]["conditions"][0]["status"] = json!("False");
    network["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    runner.put(network);
    assert!(!runner.reconcile().patched);
    runner.remove(&network_kind(), "shop", "blue");
    assert_error(&runner.reconcile(), false, "does not exist");
    assert_told(&runner, &lab);
}

#[test]
fn a_pod_on_the_host_network_that_slipped_in_gets_no_port() {
    let (mut runner, lab) = lab();
    runner.edit(|pod| pod["spec"]["hostNetwork"] = json!(true));
    assert_error(&runner.reconcile(), false, "hostNetwork");
    assert!(lab.ports().is_empty());
}

#[test]
fn somebody_elses_ports_are_never_touched() {
    let (mut runner, lab) = lab();
    let foreign = lab.make_port("blue", UID, "compute:nova", "shop/web");
    assert_done(&runner.reconcile());
    assert_eq!(lab.ports().len(), 2);
    // Even when an annotation names one.
    runner.edit(|pod| pod["metadata"]["annotations"]["samplecrd.k8s.io/network-port-id"] = json!(foreign));
    runner.delete();
    assert_done(&runner.reconcile());
    assert_eq!(lab.only_port()["id"], foreign);
}

#[test]
fn of_two_ports_the_older_stays() {
    let (mut runner, lab) = lab();
    let mut ids = [(); 2].map(|()| lab.make_port("blue", UID, "oarlock:pod", "shop/web"));
    // Created within one second: the id decides.
    ids.sort();
    assert_done(&runner.reconcile());
    assert_eq!(lab.only_port()["id"], ids[0]);
    assert_told(&runner, &lab);
}

#[test]
fn a_full_network_and_a_quota_are_told_and_waited_out() {
    let (mut runner, lab) = lab();
    let taken: Vec<String> = (0..5).map(|_| lab.make_port("blue", "", "", "")).collect();
    let report = runner.reconcile();
    assert_error(&report, true, "no port in Network \"blue\"");
    assert_error(&report, true, "IpAddressGenerationFailure: No more IP addresses available");
    lab.delete_port(&taken[3]);
    assert_done(&runner.reconcile());
    taken.iter().filter(|id| **id != taken[3]).for_each(|id| lab.delete_port(id));
    assert_told(&runner, &lab);

    let (mut runner, lab) = self::lab();
    lab.quota(0);
    assert_error(&runner.reconcile(), true, "OverQuota");
    lab.quota(1);
    assert_done(&runner.reconcile());
    assert_told(&runner, &lab);
}

#[test]
fn ports_of_pods_that_went_unseen_are_found_from_their_network() {
    let (mut runner, lab) = made();
    let kept = lab.only_port()["id"].clone();
    lab.make_port("blue", "gone", "oarlock:pod", "shop/gone");
    lab.make_port("blue", "another uid", "oarlock:pod", "shop/web");
    lab.make_port("blue", "renamed", "oarlock:pod", "");
    let foreign = lab.make_port("blue", "gone", "compute:nova", "shop/gone");
    runner.put(lab.object("blue"));
    runner.set_object(lab.object("blue"));
    let report = runner.reconcile();
    assert_done(&report);
    assert!(report.event_lines()[0].starts_with("Normal PortsReleased: Ports of Pods that are gone"), "{report:#?}");
    let mut left: Vec<Value> = lab.ports().iter().map(|port| port["id"].clone()).collect();
    let mut expected = vec![kept, json!(foreign)];
    left.sort_by_key(Value::to_string);
    expected.sort_by_key(Value::to_string);
    assert_eq!(left, expected);
    let report = runner.reconcile();
    assert!(!report.patched && report.requeue_after.is_some());
    assert_eq!(report.request_lines(), ["GET /v2.0/ports"]);
}

#[test]
fn a_renamed_port_of_a_pod_that_lives_is_kept() {
    let (mut runner, lab) = made();
    lab.put_port(&json!({"name": "mine"}));
    runner.set_object(lab.object("blue"));
    assert!(!runner.reconcile().patched);
    lab.only_port();
}

#[test]
fn pods_that_finished_or_moved_on_hold_no_port() {
    for change in [
        json!({"status": {"phase": "Failed"}}),
        json!({"metadata": {"annotations": {"samplecrd.k8s.io/network": "green"}}}),
        json!({"metadata": {"annotations": null}}),
    ] {
        let (mut runner, lab) = made();
        let mut pod = runner.current().cloned().unwrap();
        lab::merge(&mut pod, &change);
        runner.put(pod);
        runner.set_object(lab.object("blue"));
        assert_done(&runner.reconcile());
        assert!(lab.ports().is_empty(), "{change}");
    }
}

#[test]
fn a_network_without_ports_of_pods_needs_nothing() {
    let (mut runner, lab) = lab();
    lab.make_port("blue", "x", "network:dhcp", "");
    runner.set_object(lab.object("blue"));
    assert!(!runner.reconcile().patched);
    let mut fresh = lab.object("blue");
    fresh["status"] = json!({});
    runner.set_object(fresh);
    let report = runner.reconcile();
    assert!(!report.patched && report.requests.is_empty());
}

#[test]
fn the_grant_in_the_folder_covers_what_the_manifest_asks_for() {
    let grant: oarlock_manifest::PluginGrant = serde_saphyr::from_str(include_str!("../pod-network.yaml")).unwrap();
    let manifest = PodNetwork::manifest();
    let document = manifest.document();
    assert_eq!(grant.limits.fault(), None);
    assert_eq!(grant.http.origins, [grant.config["neutronUrl"].as_str()]);
    assert_eq!(grant.http.safe_requests, document.http.safe_requests);
    for rule in &document.permissions {
        let granted = |verb: &String| {
            grant
                .permissions
                .iter()
                .any(|g| g.resources == rule.resources && g.api_groups == rule.api_groups && g.verbs.contains(verb))
        };
        assert!(rule.verbs.iter().all(granted), "{rule:?}");
    }
    for rule in &document.admission {
        let covers = |g: &oarlock_manifest::GrantedAdmission| {
            rule.operations.iter().all(|o| g.operations.contains(o))
                && g.resources == rule.resources
                && g.api_groups == rule.api_groups
        };
        assert!(grant.admission.iter().any(covers), "{rule:?}");
    }
    assert!(!document.cleanup, "every Pod would get a finalizer");
}

#[test]
fn states_come_back_as_they_were() {
    for state in [
        json!({"leftBehind": ["a"]}),
        json!({"port": {"networkId": null, "addressed": false, "annotated": true, "surplus": []}}),
    ] {
        let parsed: State = serde_json::from_value(state.clone()).unwrap();
        assert_eq!(serde_json::to_value(parsed).unwrap(), state);
    }
    assert_eq!(pod("x", "y")["kind"], pod_kind().kind);
}
