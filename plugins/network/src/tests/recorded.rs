//! Recorded responses of a real Neutron.

use super::fake::Fault;
use super::{UID, assert_terminal, assert_transient, example, made};
use oarlock_guest::http::Response;
use serde_json::{Value, json};
use std::path::Path;

/// A recorded exchange, by its file name; `auth/` contains those with Keystone.
#[track_caller]
pub(super) fn fixture(name: &str) -> Value {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/neutron/fixtures");
    let path = recorded.join(format!("{name}.json"));
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap()
}

/// The response of an exchange.
pub(super) fn body(exchange: &Value) -> Response {
    let status = u16::try_from(exchange["status"].as_u64().unwrap()).unwrap();
    exchange.get("response").map_or_else(|| Response::empty(status), |body| Response::json_body(status, body))
}

#[test]
fn each_refusal_of_a_create_says_who_tries_again() {
    for (name, transient, part) in [
        ("121-quota-network-exceeded", true, "OverQuota: Quota exceeded for resources: ['network']."),
        ("030-network-create-name-too-long", false, "400 HTTPBadRequest"),
        ("auth/109-demo-network-create-shared", false, "403 PolicyNotAuthorized"),
        ("auth/102-bad-token", true, "401"),
    ] {
        let (mut runner, neutron) = example();
        neutron.fail("POST", "/v2.0/networks", Fault::Instead(Ok(body(&fixture(name)))));
        let report = runner.reconcile();
        if transient {
            assert_transient(&report, part);
        } else {
            assert_terminal(&report, part);
        }
        assert!(runner.settle(3).last().unwrap().in_sync(), "recovers by itself");
    }
}

#[test]
fn a_gateway_that_a_router_holds_is_waited_for() {
    let (mut runner, neutron) = made();
    runner.edit(|object| object["spec"]["gateway"] = json!("192.168.1.1"));
    let refusal = body(&fixture("098-subnet-gateway-update-used-by-router"));
    neutron.fail("PUT", "/v2.0/subnets", Fault::Instead(Ok(refusal)));
    let report = runner.reconcile();
    assert_transient(&report, "already in use by port d30e455b-b487-49df-9fb1-e47b320782a5");
    assert!(report.events.is_empty());
    assert!(runner.reconcile().in_sync());
}

/// The recorded lists, except for the mark, lead to no change.
#[test]
fn recorded_lists_are_understood() {
    let (mut runner, _) = example();
    let mark = format!("oarlock:{UID}");
    let marked = |name: &str, from: &str, to: &str| {
        let mut answer = body(&fixture(name));
        answer.body = answer.text().replace(from, to).into_bytes();
        Ok(answer)
    };
    let description = format!(r#""description":"{mark}""#);
    runner.script([
        marked("006-network-list-by-description", "owner=uid-1", &mark),
        marked("041-subnet-list-by-network", r#""description":"""#, &description),
    ]);
    let report = runner.reconcile();
    assert!(report.in_sync() && !report.patched, "{report:#?}");
    let status = report.status.unwrap();
    assert_eq!(status["networkId"], "c9411a7f-4c2e-4db3-b9e2-00fbaf3d1a90");
    assert_eq!(status["subnetId"], "62bd5e59-a87b-4c8a-86e6-06c593b7eb59");
}
