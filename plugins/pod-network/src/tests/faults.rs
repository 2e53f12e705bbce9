//! Faults in requests.

use super::lab::{Fault, Lab, UID, lab};
use super::{Scene, assert_done, assert_error, assert_told, made};
use crate::PodNetwork;
use oarlock_guest::Error;
use oarlock_guest::http::{Failure, Response};
use oarlock_guest::testing::Runner;
use serde_json::json;
use std::time::Duration;

/// Name, start, and whether no port is left at the end.
type Story = (&'static str, fn() -> Scene, bool);

const STORIES: [Story; 6] = [
    ("made", lab, false),
    (
        "moved",
        || {
            edited(|runner, lab| {
                runner.put(lab.make_network("green", "10.1.0.0/24"));
                runner.edit(|pod| pod["metadata"]["annotations"]["samplecrd.k8s.io/network"] = json!("green"));
            })
        },
        false,
    ),
    ("second", || edited(|_, lab| drop(lab.make_port("blue", UID, "oarlock:pod", "shop/web"))), false),
    ("no address", || edited(|_, lab| lab.put_port(&json!({"fixed_ips": []}))), false),
    ("finished", || edited(|runner, _| runner.edit(|pod| pod["status"]["phase"] = json!("Failed"))), true),
    ("gone", || edited(|runner, _| runner.delete()), true),
];

fn edited(edit: impl FnOnce(&mut Runner<PodNetwork>, &Lab)) -> Scene {
    let (mut runner, lab) = made();
    edit(&mut runner, &lab);
    (runner, lab)
}

/// Fails each single write of each story, one run each; afterwards every story ends as without a fault.
fn fail_each_write(fault: &Fault, restart: bool) {
    for (story, begin, goes) in STORIES {
        let mut failed = 0;
        for write in 1.. {
            let (mut runner, lab) = begin();
            lab.fail_at_write(write, fault.clone());
            let first = runner.reconcile();
            if lab.pending_fault() {
                break;
            }
            failed += 1;
            assert!(first.error.as_ref().is_some_and(Error::is_transient), "{story} {write}: {first:#?}");
            lab.forget_faults();
            if restart {
                runner.restart();
            }
            let last = runner.settle(4).pop().unwrap();
            assert_done(&last);
            assert!(!last.patched, "{story} {write}");
            if goes {
                assert!(lab.ports().is_empty(), "{story} {write}");
            } else {
                assert_told(&runner, &lab);
            }
        }
        assert!(failed > 0, "{story} has no write");
    }
}

#[test]
fn x2_to_x5_a_crash_after_any_write_leaves_nothing_behind() {
    fail_each_write(&Fault::Dies, true);
}

#[test]
fn n1_a_lost_answer_to_any_write_leaves_nothing_behind() {
    fail_each_write(&Fault::Lost, false);
}

#[test]
fn n2_a_write_that_was_refused_is_done_later() {
    let busy = Response::json_body(503, &json!({"message": "busy"}));
    fail_each_write(&Fault::Instead(Ok(busy)), false);
    fail_each_write(&Fault::Instead(Err(Failure::Unreachable("connection refused".into()))), true);
}

#[test]
fn n4_a_network_that_neutron_does_not_know_is_waited_for() {
    let (mut runner, lab) = lab();
    let mut network = lab.object("blue");
    network["status"]["networkId"] = json!("00000000-0000-0000-0000-000000000000");
    runner.put(network);
    assert_error(&runner.reconcile(), true, "could not be found");
    runner.put(lab.object("blue"));
    assert_done(&runner.reconcile());
    assert_told(&runner, &lab);
}

#[test]
fn n5_lists_that_lag_behind_make_no_second_port_and_leave_none() {
    let (mut runner, lab) = lab();
    lab.lists_lag(true);
    assert_done(&runner.reconcile());
    assert!(!runner.reconcile().patched);
    // Without the cache, the annotation leads there.
    runner.restart();
    assert!(!runner.reconcile().patched);
    assert_told(&runner, &lab);
    runner.delete();
    assert_done(&runner.reconcile());
    assert!(lab.ports().is_empty());
}

#[test]
fn n8_a_token_that_is_refused_is_told_and_tried_again() {
    let (mut runner, lab) = lab();
    let refused =
        Response::json_body(401, &json!({"error": {"message": "The request you have made requires authentication."}}));
    lab.fail("GET", "/v2.0/ports", Fault::Instead(Ok(refused)));
    assert_error(&runner.reconcile(), true, "401");
    assert_done(&runner.reconcile());
    assert_told(&runner, &lab);
}

#[test]
fn n9_a_server_that_asks_for_time_gets_it() {
    let (mut runner, lab) = lab();
    let mut busy = Response::json_body(429, &json!({}));
    busy.headers.push(("Retry-After".into(), "17".into()));
    lab.fail("POST", "/v2.0/ports", Fault::Instead(Ok(busy)));
    match runner.reconcile().error {
        Some(Error::Transient { after, .. }) => assert_eq!(after, Some(Duration::from_secs(17))),
        other => panic!("{other:?}"),
    }
}

#[test]
fn n10_slow_and_garbled_answers_are_tried_again() {
    let raw = |text: &str| Ok(Response { status: 200, headers: Vec::new(), body: text.as_bytes().to_vec() });
    for (answer, part) in [
        (Err(Failure::TimedOut), "no answer in time"),
        (Err(Failure::TooLarge(1024)), "larger than 1024 bytes"),
        (raw("<html>welcome</html>"), "not the JSON that was expected"),
        (raw("{}"), "makes no sense"),
        (raw(r#"{"ports": [{"name": "no id"}]}"#), "makes no sense"),
    ] {
        let (mut runner, lab) = made();
        lab.fail("GET", "/v2.0/ports", Fault::Instead(answer));
        assert_error(&runner.reconcile(), true, part);
        assert_done(&runner.reconcile());
        assert_eq!(lab.writes(), 1);
    }
}

#[test]
fn n15_ports_are_given_back_after_an_outage() {
    let (mut runner, lab) = made();
    runner.delete();
    lab.die();
    for _ in 0..3 {
        assert_error(&runner.reconcile(), true, "Neutron at http://127.0.0.1:9696/v2.0");
    }
    lab.forget_faults();
    assert_done(&runner.reconcile());
    assert!(lab.ports().is_empty());
}

/// The sweep deletes nothing that it cannot see.
#[test]
fn n15_a_sweep_that_meets_an_outage_is_done_later() {
    let (mut runner, lab) = made();
    lab.make_port("blue", "gone", "oarlock:pod", "shop/gone");
    runner.set_object(lab.object("blue"));
    for write in 1..3 {
        lab.fail_at_write(write, Fault::Lost);
        let report = runner.reconcile();
        if lab.pending_fault() {
            break;
        }
        assert!(report.error.is_some_and(|error| error.is_transient()));
    }
    lab.forget_faults();
    assert_done(&runner.reconcile());
    assert_eq!(lab.only_port()["device_id"], UID);
}

#[test]
fn i8_a_pod_replaced_under_its_name_gets_a_port_of_its_own() {
    let (mut runner, lab) = made();
    let first = lab.only_port()["id"].clone();
    let mut next = super::pod("web", "another");
    next["metadata"]["annotations"]["samplecrd.k8s.io/network-port-id"] = first.clone();
    runner.set_object(next);
    runner.restart();
    assert_done(&runner.reconcile());
    assert_eq!(lab.ports().len(), 2, "the first one's goes with its own last run");
    let told = &runner.current().unwrap()["metadata"]["annotations"]["samplecrd.k8s.io/network-port-id"];
    assert_ne!(*told, first);
    // Or from the Network.
    runner.set_object(lab.object("blue"));
    assert_done(&runner.reconcile());
    assert_eq!(lab.only_port()["device_id"], "another");
}

#[test]
fn a_dry_run_ends_at_the_first_write() {
    let (runner, lab) = lab();
    assert_error(&runner.dry_run().reconcile(), false, "dry run: POST /v2.0/ports");
    assert_eq!(lab.writes(), 0);
}
