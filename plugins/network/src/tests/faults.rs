//! Faults in requests: lost responses, crashes between writes, lists that lag, invalid bodies.

use super::fake::{Fake, Fault};
use super::recorded::{body, fixture};
use super::{UID, URL, assert_done, assert_terminal, assert_transient, example, made, network, subnets};
use crate::NetworkReconciler;
use oarlock_guest::Error;
use oarlock_guest::http::{Failure, Response};
use oarlock_guest::testing::Runner;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

type Scene = (Runner<NetworkReconciler>, Fake);

/// Name, start, and whether the object is deleted at the end.
type Story = (&'static str, fn() -> Scene, bool);

const STORIES: [Story; 7] = [
    ("made", example, false),
    ("gateway", || edited(|runner, _| runner.edit(|object| object["spec"]["gateway"] = json!("192.168.1.1"))), false),
    ("gone", || edited(|_, neutron| neutron.remove_everything()), false),
    ("second", || edited(|_, neutron| drop(neutron.seed_network("x", &format!("oarlock:{UID}")))), false),
    ("deleted", || edited(|runner, _| runner.delete()), true),
    ("several", || subnets::begun(&subnets::two()), false),
    ("replaced", subnets::replaced, false),
];

fn edited(edit: impl FnOnce(&mut Runner<NetworkReconciler>, &Fake)) -> Scene {
    let (mut runner, neutron) = made();
    edit(&mut runner, &neutron);
    (runner, neutron)
}

/// Fails each single write of each story, one run each; afterwards every story ends as without a fault.
fn fail_each_write(fault: &Fault, restart: bool) {
    for (story, begin, goes) in STORIES {
        let mut failed = 0;
        for write in 1.. {
            let (mut runner, neutron) = begin();
            neutron.fail_at_write(write, fault.clone());
            let first = runner.reconcile();
            if neutron.pending_fault() {
                break;
            }
            failed += 1;
            assert!(first.error.as_ref().is_some_and(Error::is_transient), "{story} {write}: {first:#?}");
            neutron.revive();
            if restart {
                runner.restart();
            }
            let last = runner.settle(4).pop().unwrap();
            if goes {
                assert!(last.gone && neutron.networks().is_empty() && neutron.subnets().is_empty(), "{story} {write}");
                continue;
            }
            assert_done(&last);
            assert!(!last.patched, "{story} {write}");
            let status = &runner.current().unwrap()["status"];
            assert_eq!(status["networkId"], neutron.only_network()["id"], "{story} {write}");
            let ids = |subnets: &[Value], field: &str| {
                subnets.iter().map(|subnet| subnet[field].to_string()).collect::<BTreeSet<_>>()
            };
            let (named, made) = (status["subnets"].as_array().unwrap(), neutron.subnets());
            assert_eq!(ids(named, "subnetId"), ids(&made, "id"), "{story} {write}");
            assert_eq!(named.len(), made.len(), "{story} {write}");
        }
        assert!(failed > 0, "{story} has no write");
    }
}

#[test]
fn a_crash_after_any_write_leaves_nothing_behind() {
    fail_each_write(&Fault::Dies, true);
}

#[test]
fn a_lost_answer_to_any_write_leaves_nothing_behind() {
    fail_each_write(&Fault::Lost, false);
}

#[test]
fn a_write_that_was_refused_is_done_later() {
    let busy = Response::json_body(503, &json!({"message": "busy"}));
    fail_each_write(&Fault::Instead(Ok(busy)), false);
    fail_each_write(&Fault::Instead(Err(Failure::Unreachable("connection refused".into()))), true);
}

#[test]
fn lists_that_lag_behind_make_no_second_network() {
    let (mut runner, neutron) = example();
    neutron.lists_lag(true);
    assert_done(&runner.reconcile());
    let report = runner.reconcile();
    assert!(report.in_sync() && !report.patched, "{report:#?}");
    // Without the cache, the ids in the status lead there.
    runner.restart();
    assert!(!runner.reconcile().patched);
    neutron.lists_lag(false);
    assert!(!runner.reconcile().patched);
    neutron.only_network();
}

#[test]
fn lists_that_lag_behind_do_not_let_go_of_what_exists() {
    let (mut runner, neutron) = made();
    neutron.lists_lag(true);
    runner.delete();
    assert!(runner.reconcile().gone);
    assert!(neutron.networks().is_empty());
}

#[test]
fn a_revision_that_moved_on_is_read_again_and_the_change_redone_once() {
    let stale = || Fault::Instead(Ok(body(&fixture("027-network-update-if-match-stale"))));
    for (times, done) in [(1, true), (2, false)] {
        let (mut runner, neutron) = made();
        runner.edit(|object| object["spec"]["gateway"] = json!("192.168.1.1"));
        (0..times).for_each(|_| neutron.fail("PUT", "/v2.0/subnets", stale()));
        let report = runner.reconcile();
        if done {
            assert_done(&report);
        } else {
            assert_transient(&report, "RevisionNumberConstraintFailed");
            assert_done(&runner.reconcile());
        }
    }
}

#[test]
fn a_server_that_asks_for_time_gets_it() {
    let (mut runner, neutron) = example();
    let mut busy = Response::json_body(429, &json!({"error": "slow down"}));
    busy.headers.push(("Retry-After".into(), "17".into()));
    neutron.fail("GET", "/v2.0/networks", Fault::Instead(Ok(busy)));
    match runner.reconcile().error {
        Some(Error::Transient { after, .. }) => assert_eq!(after, Some(Duration::from_secs(17))),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_no_answer_is_tried_again() {
    let raw = |status, text: &str| Ok(Response { status, headers: Vec::new(), body: text.as_bytes().to_vec() });
    for (answer, part) in [
        (raw(200, "<html>welcome</html>"), "not the JSON that was expected"),
        (raw(200, ""), "not the JSON"),
        (raw(200, "[]"), "not the JSON"),
        (raw(200, "{}"), "makes no sense"),
        (raw(200, r#"{"networks": [{"name": "no id"}]}"#), "makes no sense"),
        (raw(500, "<html>oops</html>"), "500 <html>oops</html>"),
        (Ok(Response { status: 502, headers: Vec::new(), body: vec![0xff; 4096] }), "502"),
        (raw(404, ""), "404"),
        (Err(Failure::TimedOut), "no answer in time"),
        (Err(Failure::TooLarge(1024)), "larger than 1024 bytes"),
        (Err(Failure::Unreachable("no route to host".into())), "no route to host"),
    ] {
        let (mut runner, neutron) = made();
        neutron.fail("GET", "/v2.0/networks", Fault::Instead(answer));
        let report = runner.reconcile();
        assert_transient(&report, part);
        assert_eq!(report.requests.len(), 1);
        assert_done(&runner.reconcile());
        assert_eq!(neutron.writes(), 2);
    }
}

#[test]
fn nothing_is_let_go_while_neutron_is_away() {
    let (mut runner, neutron) = made();
    runner.delete();
    for _ in 0..3 {
        neutron.fail("GET", "/v2.0/networks", Fault::Dies);
        let report = runner.reconcile();
        assert_transient(&report, "Neutron at http://127.0.0.1:9696/v2.0");
        assert!(!report.gone);
        neutron.revive();
    }
    assert!(runner.reconcile().gone);
}

#[test]
fn lists_are_read_to_their_last_page() {
    let (mut runner, neutron) = made();
    neutron.page_size(1);
    for _ in 0..3 {
        let id = neutron.seed_network("x", &format!("oarlock:{UID}"));
        neutron.seed_subnet(&id, "10.0.0.0/24", &format!("oarlock:{UID}"));
    }
    assert_done(&runner.reconcile());
    neutron.only_network();
    neutron.only_subnet();
}

#[test]
fn a_list_without_end_is_an_error() {
    let (mut runner, _) = example();
    let page = json!({
        "networks": [],
        "networks_links": [{"rel": "next", "href": format!("http://x/v2.0/networks?description=oarlock%3A{UID}")}],
    });
    runner.script([Ok(Response::json_body(200, &page))]);
    assert_transient(&runner.reconcile(), "has no end");
}

#[test]
fn a_server_that_ignores_filters_shows_nothing_new() {
    let (mut runner, neutron) = example();
    neutron.ignore_filters();
    let foreign = neutron.seed_network("a", "somebody else's");
    neutron.seed_subnet(&foreign, "192.168.0.0/16", "somebody else's");
    assert_done(&runner.reconcile());
    runner.delete();
    assert!(runner.reconcile().gone);
    assert_eq!(neutron.only_network()["id"], foreign);
    neutron.only_subnet();
}

#[test]
fn a_configuration_without_neutron_says_so() {
    let mut runner = Runner::<NetworkReconciler>::new().object(network("10.0.0.0/24", ""));
    assert_terminal(&runner.reconcile(), "does not set neutronUrl");
}

#[test]
fn an_endpoint_may_name_its_version() {
    let neutron = Fake::new();
    let mut runner = Runner::<NetworkReconciler>::new()
        .config("neutronUrl", format!("{URL}/v2.0/"))
        .http(neutron.handler())
        .object(network("10.0.0.0/24", ""));
    assert_done(&runner.reconcile());
}
