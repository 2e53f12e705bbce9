//! Networks with several subnets, as v2 has them.

use super::{UID, assert_done, assert_terminal, assert_transient, example, fake::Fake};
use crate::NetworkReconciler;
use crate::versions::V1;
use oarlock_guest::Converter as _;
use oarlock_guest::testing::Runner;
use serde_json::{Value, json};

/// A Network of v2 as it arrives: converted to v1.
fn network(subnets: &Value) -> Value {
    let object = json!({
        "apiVersion": "samplecrd.k8s.io/v2", "kind": "Network",
        "metadata": {"name": "example-network", "namespace": "default", "uid": UID},
        "spec": {"subnets": subnets},
    });
    NetworkReconciler::convert(object, V1).unwrap()
}

pub(super) fn two() -> Value {
    json!([
        {"name": "web", "cidr": "10.1.0.0/24", "gateway": "10.1.0.1"},
        {"name": "db", "cidr": "10.2.0.0/24", "gateway": "10.2.0.1",
         "allocationPools": [{"start": "10.2.0.20", "end": "10.2.0.29"}, {"start": "10.2.0.10", "end": "10.2.0.19"}]},
    ])
}

/// A runner on a new Network with these subnets, and its Neutron.
pub(super) fn begun(subnets: &Value) -> (Runner<NetworkReconciler>, Fake) {
    let (mut runner, neutron) = example();
    runner.set_object(network(subnets));
    (runner, neutron)
}

/// A Network whose second subnet gives its range to a new one.
pub(super) fn replaced() -> (Runner<NetworkReconciler>, Fake) {
    let (mut runner, neutron) = made(&two());
    let web = two()[0].clone();
    changed(&mut runner, &json!([web, {"name": "new", "cidr": "10.2.0.0/24", "gateway": "10.2.0.1"}]));
    (runner, neutron)
}

fn made(subnets: &Value) -> (Runner<NetworkReconciler>, Fake) {
    let (mut runner, neutron) = begun(subnets);
    assert_done(&runner.reconcile());
    (runner, neutron)
}

/// Replaces the spec, as a v2 client does.
fn changed(runner: &mut Runner<NetworkReconciler>, subnets: &Value) {
    let new = network(subnets);
    runner.edit(|object| {
        object["spec"] = new["spec"].clone();
        object["metadata"]["annotations"] = new["metadata"]["annotations"].clone();
    });
}

fn cidrs(neutron: &Fake) -> Vec<Value> {
    let mut cidrs: Vec<Value> = neutron.subnets().iter().map(|subnet| subnet["cidr"].clone()).collect();
    cidrs.sort_by_key(ToString::to_string);
    cidrs
}

#[test]
fn each_subnet_is_made_with_its_pools_and_stands_in_the_status() {
    let (mut runner, neutron) = made(&two());
    neutron.only_network();
    let subnets = neutron.subnets();
    let (db, web) = (&subnets[0], &subnets[1]);
    assert_eq!(web["description"], format!("oarlock:{UID}/web"));
    assert_eq!(db["name"], "default/example-network/db");
    // Two pools that touch are one.
    assert_eq!(db["allocation_pools"], json!([{"start": "10.2.0.10", "end": "10.2.0.29"}]));
    assert_eq!(web["allocation_pools"], json!([{"start": "10.1.0.2", "end": "10.1.0.254"}]));
    let status = &runner.current().unwrap()["status"];
    assert_eq!(status["subnetId"], web["id"], "v1 clients see the first subnet");
    assert_eq!(
        status["subnets"],
        json!([
            {"name": "web", "subnetId": web["id"], "cidr": "10.1.0.0/24", "gateway": "10.1.0.1"},
            {"name": "db", "subnetId": db["id"], "cidr": "10.2.0.0/24", "gateway": "10.2.0.1"},
        ])
    );
    let report = runner.reconcile();
    assert!(!report.patched);
    assert_eq!(report.request_lines(), ["GET /v2.0/networks", "GET /v2.0/subnets"]);
}

#[test]
fn subnets_come_and_go_while_the_network_stays() {
    let (mut runner, neutron) = made(&json!([{"name": "default", "cidr": "10.1.0.0/24", "gateway": "10.1.0.1"}]));
    let (id, first) = (neutron.only_network()["id"].clone(), neutron.only_subnet()["id"].clone());
    let subnets = |more: &str| {
        json!([{"name": "default", "cidr": "10.1.0.0/24", "gateway": "10.1.0.1"},
            {"name": more, "cidr": "10.2.0.0/24", "gateway": "10.2.0.1"}])
    };
    changed(&mut runner, &subnets("a"));
    assert_done(&runner.reconcile());
    assert_eq!(cidrs(&neutron), ["10.1.0.0/24", "10.2.0.0/24"]);
    // One with the same range takes its place.
    changed(&mut runner, &subnets("b"));
    assert_done(&runner.reconcile());
    assert_eq!(cidrs(&neutron), ["10.1.0.0/24", "10.2.0.0/24"]);
    assert_eq!(neutron.subnets()[1]["description"], format!("oarlock:{UID}/b"));
    changed(&mut runner, &json!([{"name": "default", "cidr": "10.1.0.0/24", "gateway": "10.1.0.1"}]));
    assert_done(&runner.reconcile());
    assert_eq!((&neutron.only_network()["id"], &neutron.only_subnet()["id"]), (&id, &first));
}

#[test]
fn a_subnet_in_use_stays_and_is_named_while_the_others_are_made() {
    let (mut runner, neutron) = made(&two());
    let id = neutron.only_network()["id"].as_str().unwrap().to_owned();
    neutron.seed_port(&id, "compute:nova");
    changed(
        &mut runner,
        &json!([{"name": "web", "cidr": "10.1.0.0/24", "gateway": "10.1.0.1"},
            {"name": "new", "cidr": "10.3.0.0/24", "gateway": "10.3.0.1"}]),
    );
    assert_transient(&runner.reconcile(), "(db) cannot be deleted yet: ");
    assert_eq!(cidrs(&neutron), ["10.1.0.0/24", "10.2.0.0/24", "10.3.0.0/24"]);
    neutron.remove_ports();
    runner.settle(3);
    assert_eq!(cidrs(&neutron), ["10.1.0.0/24", "10.3.0.0/24"]);
}

#[test]
fn lists_that_lag_behind_make_no_second_subnet() {
    let (mut runner, neutron) = begun(&two());
    neutron.lists_lag(true);
    assert_done(&runner.reconcile());
    assert!(!runner.reconcile().patched);
    runner.restart();
    assert!(!runner.reconcile().patched);
    runner.delete();
    assert!(runner.reconcile().gone);
    assert!(neutron.subnets().is_empty() && neutron.networks().is_empty());
}

#[test]
fn faults_name_the_subnet_and_send_nothing() {
    let pools = |pools: Value| {
        json!([{"name": "web", "cidr": "10.1.0.0/24", "gateway": "10.1.0.1"},
            {"name": "db", "cidr": "10.2.0.0/24", "gateway": "10.2.0.1", "allocationPools": pools}])
    };
    for (subnets, part) in [
        (
            pools(json!([{"start": "10.2.0.9", "end": "10.2.0.4"}])),
            "spec.subnets[db].allocationPools: 10.2.0.9-10.2.0.4 is not",
        ),
        (pools(json!([{"start": "10.2.0.4", "end": "10.3.0.9"}])), "is not a range of host addresses of 10.2.0.0/24"),
        (pools(json!([{"start": "10.2.0.0", "end": "10.2.0.9"}])), "is not a range of host addresses of 10.2.0.0/24"),
        (pools(json!([{"start": "10.2.0.1", "end": "10.2.0.9"}])), "10.2.0.1-10.2.0.9 contains the gateway 10.2.0.1"),
        (pools(json!([{"start": "first", "end": "10.2.0.9"}])), "\"first\" is not an IP address"),
        (json!([{"name": "web", "cidr": "10.1.0.0/33", "gateway": "10.1.0.1"}]), "spec.subnets[web].cidr: "),
        (
            json!([{"name": "web", "cidr": "10.1.0.0/24", "gateway": "10.1.0.1"},
                {"name": "web", "cidr": "10.2.0.0/24", "gateway": "10.2.0.1"}]),
            "spec.subnets has two subnets named \"web\"",
        ),
    ] {
        let (mut runner, neutron) = begun(&subnets);
        assert_terminal(&runner.reconcile(), part);
        assert_eq!(neutron.writes(), 0);
    }
    let (mut runner, _) = made(&two());
    let mut moved = two();
    moved[1]["cidr"] = json!("10.9.0.0/24");
    moved[1]["gateway"] = json!("10.9.0.1");
    moved[1]["allocationPools"] = json!([{"start": "10.9.0.4", "end": "10.9.0.5"}]);
    changed(&mut runner, &moved);
    assert_terminal(&runner.reconcile(), "the cidr of db is 10.9.0.0/24, but the subnet was made with 10.2.0.0/24");
}
