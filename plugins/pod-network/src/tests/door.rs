//! Admission of Pods and Networks.

use super::lab::{Lab, UID, lab, pod};
use crate::PodNetwork;
use crate::objects::network_kind;
use oarlock_guest::testing::{Report, Runner};
use oarlock_guest::{Error, Reconciler};
use serde_json::{Value, json};

fn admit(runner: &mut Runner<PodNetwork>, operation: &str, object: &Value) -> (Report, Value) {
    runner.admit(object, json!({"uid": "r", "operation": operation, "namespace": "shop"}))
}

/// A runner that reviews new Pods, with the content of the namespace.
fn reviewing() -> (Runner<PodNetwork>, Lab) {
    let (mut runner, lab) = lab();
    runner.remove(&crate::objects::pod_kind(), "shop", "web");
    (runner, lab)
}

#[track_caller]
fn assert_denied(report: &Report, code: u16, part: &str) {
    match &report.error {
        Some(Error::Denied { code: answered, message, .. }) => {
            assert_eq!(*answered, code);
            assert!(message.contains(part), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_pod_whose_network_is_ready_is_admitted_as_it_is() {
    let (mut runner, _) = reviewing();
    for operation in ["CREATE", "UPDATE"] {
        let (report, admitted) = admit(&mut runner, operation, &pod("web", ""));
        assert!(report.in_sync() && !report.patched && report.requests.is_empty(), "{report:#?}");
        assert_eq!(admitted, pod("web", ""));
    }
}

#[test]
fn a_pod_whose_network_does_not_exist_is_refused() {
    let (mut runner, _) = reviewing();
    runner.remove(&network_kind(), "shop", "blue");
    for operation in ["CREATE", "UPDATE"] {
        let (report, _) = admit(&mut runner, operation, &pod("web", ""));
        assert_denied(&report, 403, "Network \"blue\" does not exist in namespace shop");
    }
    let mut plain = pod("web", "");
    plain["metadata"]["annotations"] = json!({});
    assert!(admit(&mut runner, "CREATE", &plain).0.in_sync(), "it asks for none");
}

#[test]
fn a_pod_whose_network_is_being_deleted_is_refused() {
    let (mut runner, lab) = reviewing();
    let mut network = lab.object("blue");
    network["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    runner.put(network);
    assert_denied(&admit(&mut runner, "CREATE", &pod("web", "")).0, 403, "is being deleted");
}

#[test]
fn a_pod_on_the_host_network_is_refused() {
    let (mut runner, _) = reviewing();
    let mut object = pod("web", "");
    object["spec"]["hostNetwork"] = json!(true);
    assert_denied(&admit(&mut runner, "CREATE", &object).0, 403, "hostNetwork");
}

#[test]
fn a_pod_whose_network_is_not_ready_is_warned_and_admitted_as_it_is() {
    let (mut runner, lab) = reviewing();
    let mut network = lab.object("blue");
    network["status"]["conditions"][0] = json!({"type": "Ready", "status": "False", "message": "Neutron is away"});
    runner.put(network.clone());
    let (report, admitted) = admit(&mut runner, "CREATE", &pod("web", ""));
    assert!(report.error.is_none() && report.changes.is_empty(), "{report:#?}");
    assert_eq!(report.warnings, ["Network \"blue\" is not Ready (Neutron is away): the Pod gets its port once it is"]);
    assert_eq!(admitted, pod("web", ""));
    network["status"] = json!({});
    runner.put(network);
    let (report, _) = admit(&mut runner, "CREATE", &pod("web", ""));
    assert!(report.warnings[0].contains("nothing was reported"), "{report:#?}");
}

#[test]
fn a2_a_copied_pod_loses_the_address_of_its_original_and_admission_twice_is_once() {
    let (mut runner, lab) = reviewing();
    let mut copy = pod("web", "");
    copy["metadata"]["annotations"]["samplecrd.k8s.io/network-ip"] = json!("10.0.0.9");
    copy["metadata"]["annotations"]["samplecrd.k8s.io/network-port-id"] = json!("p");
    let (report, admitted) = admit(&mut runner, "CREATE", &copy);
    assert!(report.in_sync(), "{report:#?}");
    assert_eq!(admitted, pod("web", ""));
    let (report, again) = admit(&mut runner, "CREATE", &admitted);
    assert!(!report.patched);
    assert_eq!(again, admitted);
    // Also with a warning: a change must lead to the desired state.
    let mut network = lab.object("blue");
    network["status"]["conditions"][0]["status"] = json!("False");
    runner.put(network);
    let (report, admitted) = admit(&mut runner, "CREATE", &copy);
    assert!(report.in_sync() && report.warnings.len() == 1, "{report:#?}");
    assert_eq!(admitted, pod("web", ""));
    runner.put(lab.object("blue"));
    // A Pod with a port keeps this plugin's annotations.
    assert!(!admit(&mut runner, "UPDATE", &copy).0.patched);
}

#[test]
fn a_network_that_pods_ask_for_is_not_deleted_and_they_are_named() {
    let (mut runner, lab) = lab();
    let network = lab.object("blue");
    let (report, _) = admit(&mut runner, "DELETE", &network);
    assert_denied(&report, 409, "Network \"blue\" is in use by Pods web: delete them first");
    assert!(report.requests.is_empty(), "the cache knows");
    for name in ["a", "b", "c", "d", "e", "f"] {
        runner.put(pod(name, name));
    }
    assert_denied(&admit(&mut runner, "DELETE", &network).0, 409, "by Pods a, b, c, d, e and 2 more");
}

/// A second delete changes nothing.
#[test]
fn a_network_that_is_going_may_be_deleted_again() {
    let (mut runner, lab) = lab();
    let mut network = lab.object("blue");
    network["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert!(admit(&mut runner, "DELETE", &network).0.in_sync());
}

#[test]
fn pods_that_need_nothing_of_a_network_do_not_hold_it() {
    let (mut runner, lab) = lab();
    let network = lab.object("blue");
    let mut finished = pod("web", UID);
    finished["status"]["phase"] = json!("Succeeded");
    runner.put(finished);
    let mut elsewhere = pod("web", "u");
    elsewhere["metadata"]["namespace"] = json!("bar");
    runner.put(elsewhere);
    let mut other = pod("other", "o");
    other["metadata"]["annotations"]["samplecrd.k8s.io/network"] = json!("green");
    runner.put(other);
    let (report, _) = admit(&mut runner, "DELETE", &network);
    assert!(report.in_sync() && !report.patched, "{report:#?}");
}

/// Otherwise it would be deleted, or hang, before a Pod's leftover port is found.
#[test]
fn a_network_with_a_port_that_is_still_being_given_back_is_not_deleted() {
    let (mut runner, lab) = reviewing();
    lab.make_port("blue", "gone", "oarlock:pod", "shop/gone");
    let network = lab.object("blue");
    assert_denied(&admit(&mut runner, "DELETE", &network).0, 409, "ports of Pods that have ended, shop/gone");
    lab.die();
    let (report, _) = admit(&mut runner, "DELETE", &network);
    assert!(report.error.is_some_and(|error| error.is_transient()), "the failure policy decides");
    lab.forget_faults();
    lab.delete_ports();
    assert!(admit(&mut runner, "DELETE", &network).0.in_sync());
}

#[test]
fn pods_that_ask_for_nothing_are_not_reviewed() {
    let manifest = PodNetwork::manifest();
    let rules = &manifest.document().admission;
    assert_eq!(rules.len(), 3);
    for rule in rules {
        assert_eq!(rule.failure_policy.as_deref(), Some("Fail"));
        assert_eq!(rule.timeout_seconds, Some(5));
        assert_eq!(rule.side_effects.as_deref(), Some("None"));
        let conditions = rule.match_conditions.as_ref().map_or(0, |list| list.as_array().unwrap().len());
        let expected = match rule.operations[0].as_str() {
            "CREATE" => 1,
            "UPDATE" => 2,
            _ => 0,
        };
        assert_eq!(conditions, expected, "{rule:?}");
    }
}
