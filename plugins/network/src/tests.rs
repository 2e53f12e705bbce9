//! The reconciler with an in-memory Neutron, whose bodies are recorded ones.

mod fake;
mod faults;
mod keystone;
mod recorded;
mod subnets;
mod versions;

use crate::NetworkReconciler;
use fake::Fake;
use oarlock_guest::testing::{Report, Runner};
use serde_json::{Value, json};

const UID: &str = "3f1c9a52-5c3e-4a7e-9d44-0b7f6b1f2a10";
const URL: &str = "http://127.0.0.1:9696";

fn network(cidr: &str, gateway: &str) -> Value {
    json!({
        "apiVersion": "samplecrd.k8s.io/v1", "kind": "Network",
        "metadata": {"name": "example-network", "namespace": "default", "uid": UID},
        "spec": {"cidr": cidr, "gateway": gateway},
    })
}

/// A runner on the example network, and its Neutron.
fn example() -> (Runner<NetworkReconciler>, Fake) {
    let neutron = Fake::new();
    let runner = Runner::new()
        .config("neutronUrl", URL)
        .http(neutron.handler())
        .object(network("192.168.0.0/16", "192.168.0.1"));
    (runner, neutron)
}

/// The example after its first reconcile.
fn made() -> (Runner<NetworkReconciler>, Fake) {
    let (mut runner, neutron) = example();
    assert_done(&runner.reconcile());
    (runner, neutron)
}

#[track_caller]
fn assert_done(report: &Report) {
    assert!(report.in_sync(), "{report:#?}");
}

#[track_caller]
fn assert_transient(report: &Report, part: &str) {
    let error = report.error.as_ref().expect("an error");
    assert!(error.is_transient() && error.message().contains(part), "{error:?}");
}

#[track_caller]
fn assert_terminal(report: &Report, part: &str) {
    let error = report.error.as_ref().expect("an error");
    assert!(!error.is_transient() && error.message().contains(part), "{error:?}");
}

#[test]
fn a_network_and_a_subnet_are_made_and_said_so_once() {
    let (mut runner, neutron) = example();
    let report = runner.reconcile();
    assert_done(&report);
    assert_eq!(report.event_lines(), ["Normal Synced: Network synced successfully"]);
    assert!(report.changes.is_empty());

    let network = neutron.only_network();
    assert_eq!(network["description"], format!("oarlock:{UID}"));
    assert_eq!(network["name"], "default/example-network");
    let subnet = neutron.only_subnet();
    assert_eq!(subnet["cidr"], "192.168.0.0/16");
    assert_eq!(subnet["gateway_ip"], "192.168.0.1");
    assert_eq!(subnet["description"], format!("oarlock:{UID}"));
    assert_eq!(subnet["allocation_pools"], json!([{"start": "192.168.0.2", "end": "192.168.255.254"}]));

    let status = &runner.current().unwrap()["status"];
    assert_eq!(
        *status,
        json!({
            "networkId": network["id"], "subnetId": subnet["id"], "cidr": "192.168.0.0/16", "gateway": "192.168.0.1",
            "subnets": [
                {"name": "default", "subnetId": subnet["id"], "cidr": "192.168.0.0/16", "gateway": "192.168.0.1"},
            ],
        })
    );
}

#[test]
fn in_sync_costs_two_requests_and_no_write() {
    let (mut runner, neutron) = made();
    let before = runner.current().cloned();
    for _ in 0..3 {
        let report = runner.reconcile();
        assert_done(&report);
        assert!(!report.patched);
        assert_eq!(report.request_lines(), ["GET /v2.0/networks", "GET /v2.0/subnets"]);
    }
    assert_eq!(runner.current().cloned(), before);
    assert_eq!(neutron.writes(), 2);
}

#[test]
fn a_new_gateway_goes_out_with_its_pools_and_the_revision_read() {
    let (mut runner, neutron) = made();
    runner.edit(|object| object["spec"]["gateway"] = json!("192.168.1.1"));
    let report = runner.reconcile();
    assert_done(&report);
    assert_eq!(report.events.len(), 1);
    let put = report.requests.iter().find(|request| request.method == "PUT").unwrap();
    assert_eq!(put.header_value("if-match"), Some("revision_number=0"));
    let body: Value = serde_json::from_slice(&put.body).unwrap();
    // Equal to the recorded request.
    assert_eq!(body, recorded::fixture("046-subnet-gateway-update-with-pools")["request"]["body"]);
    assert_eq!(neutron.only_subnet()["gateway_ip"], "192.168.1.1");
    assert_eq!(neutron.networks().len(), 1);
    assert!(!runner.reconcile().patched, "pools come back in another order: they are the same pools");
}

#[test]
fn a_gateway_left_out_is_the_first_host() {
    let (mut runner, neutron) = example();
    runner.set_object(network("10.1.2.3/24", ""));
    assert_done(&runner.reconcile());
    assert_eq!(neutron.only_subnet()["cidr"], "10.1.2.0/24");
    assert_eq!(neutron.only_subnet()["gateway_ip"], "10.1.2.1");
}

#[test]
fn ipv6_works_the_same_way() {
    let (mut runner, neutron) = example();
    runner.set_object(network("fd00:0::/64", "FD00::1"));
    assert_done(&runner.reconcile());
    assert_eq!(neutron.only_subnet()["ip_version"], 6);
    assert!(!runner.reconcile().patched);
}

#[test]
fn nonsense_in_the_spec_is_refused_before_anything_is_sent() {
    for (cidr, gateway, part) in [
        ("192.168.0.0/33", "", "spec.cidr"),
        ("", "", "spec.cidr"),
        ("10.0.0.0/31", "", "prefix length"),
        ("192.168.0.0/16", "10.9.9.1", "10.9.9.1 is not a host address of 192.168.0.0/16"),
        ("192.168.0.0/16", "192.168.255.255", "spec.gateway"),
        ("192.168.0.0/16", "gateway", "spec.gateway"),
    ] {
        let (mut runner, neutron) = example();
        runner.set_object(network(cidr, gateway));
        let report = runner.reconcile();
        assert_terminal(&report, part);
        assert!(report.requests.is_empty());
        // The object can be deleted.
        runner.delete();
        assert!(runner.reconcile().gone);
        assert_eq!(neutron.writes(), 0);
    }
}

#[test]
fn another_cidr_is_refused_and_touches_nothing() {
    let (mut runner, neutron) = made();
    runner.edit(|object| object["spec"] = json!({"cidr": "10.0.0.0/24", "gateway": "10.0.0.1"}));
    assert_terminal(&runner.reconcile(), "spec.cidr is 10.0.0.0/24, but the subnet was made with 192.168.0.0/16");
    assert_eq!(neutron.writes(), 2);
    runner.edit(|object| object["spec"] = json!({"cidr": "192.168.0.0/16", "gateway": "192.168.0.1"}));
    assert!(!runner.reconcile().patched);
}

#[test]
fn what_others_change_or_delete_is_repaired() {
    let (mut runner, neutron) = made();
    neutron.edit_subnet(|subnet| {
        subnet["gateway_ip"] = Value::Null;
        subnet["allocation_pools"] = json!([]);
        subnet["dns_nameservers"] = json!(["1.1.1.1"]);
    });
    assert_done(&runner.reconcile());
    assert_eq!(neutron.only_subnet()["gateway_ip"], "192.168.0.1");
    assert_eq!(neutron.only_subnet()["dns_nameservers"], json!(["1.1.1.1"]), "not ours to touch");

    neutron.remove_subnets();
    assert_done(&runner.reconcile());
    assert_eq!(runner.current().unwrap()["status"]["subnetId"], neutron.only_subnet()["id"]);

    neutron.remove_everything();
    assert_done(&runner.reconcile());
    assert_eq!(runner.current().unwrap()["status"]["networkId"], neutron.only_network()["id"]);
    neutron.only_subnet();
}

#[test]
fn pools_that_were_split_in_two_are_no_difference() {
    let (mut runner, neutron) = made();
    neutron.edit_subnet(|subnet| {
        subnet["allocation_pools"] = json!([
            {"start": "192.168.10.0", "end": "192.168.255.254"}, {"start": "192.168.0.2", "end": "192.168.9.255"},
        ]);
    });
    assert!(!runner.reconcile().patched);
}

#[test]
fn a_subnet_whose_description_was_edited_is_still_known_by_its_id() {
    let (mut runner, neutron) = made();
    neutron.edit_subnet(|subnet| subnet["description"] = json!("mine!"));
    runner.restart();
    assert!(!runner.reconcile().patched);
}

#[test]
fn nothing_is_adopted_by_its_name() {
    let (mut runner, neutron) = example();
    let foreign = neutron.seed_network("default/example-network", "somebody else's");
    neutron.seed_subnet(&foreign, "192.168.0.0/16", "");
    assert_done(&runner.reconcile());
    assert_eq!(neutron.networks().len(), 2);
    runner.delete();
    assert!(runner.reconcile().gone);
    assert_eq!(neutron.only_network()["id"], foreign);
    neutron.only_subnet();
}

#[test]
fn a_known_id_that_is_no_longer_marked_as_ours_is_left_alone() {
    let (mut runner, neutron) = made();
    let first = neutron.only_network()["id"].clone();
    neutron.edit_network(|network| network["description"] = json!("taken over"));
    assert_done(&runner.reconcile());
    assert_eq!(neutron.networks().len(), 2);
    assert_ne!(runner.current().unwrap()["status"]["networkId"], first);
}

#[test]
fn the_older_of_two_stays_and_the_unused_younger_goes() {
    let (mut runner, neutron) = made();
    let first = neutron.only_network()["id"].clone();
    let second = neutron.seed_network("x", &format!("oarlock:{UID}"));
    neutron.seed_subnet(&second, "192.168.0.0/16", &format!("oarlock:{UID}"));
    assert_done(&runner.reconcile());
    assert_eq!(neutron.only_network()["id"], first);
    neutron.only_subnet();
}

#[test]
fn a_younger_one_in_use_stays_and_does_not_stand_in_the_way() {
    let (mut runner, neutron) = made();
    let second = neutron.seed_network("x", &format!("oarlock:{UID}"));
    neutron.seed_port(&second, "compute:nova");
    let report = runner.reconcile();
    assert!(!report.patched && report.in_sync());
    assert!(report.log.iter().any(|line| line.message.contains(&second)), "{:?}", report.log);
    // It is also deleted with the object, as soon as possible.
    runner.delete();
    assert_transient(&runner.reconcile(), "in use by ports port-");
    neutron.remove_ports();
    assert!(runner.settle(3).last().unwrap().gone);
    assert!(neutron.networks().is_empty());
}

#[test]
fn deleting_takes_subnet_and_network_away_and_lets_go() {
    let (mut runner, neutron) = made();
    runner.delete();
    let report = runner.reconcile();
    assert!(report.gone, "{report:#?}");
    assert!(report.events.is_empty());
    assert!(neutron.networks().is_empty() && neutron.subnets().is_empty());
    let deletes: Vec<String> = report.request_lines().into_iter().filter(|line| line.starts_with("DELETE")).collect();
    assert_eq!(deletes.len(), 2);
    assert!(deletes[0].starts_with("DELETE /v2.0/subnets/") && deletes[1].starts_with("DELETE /v2.0/networks/"));
}

#[test]
fn deleting_waits_for_ports_and_names_them() {
    let (mut runner, neutron) = made();
    let id = neutron.only_network()["id"].as_str().unwrap().to_owned();
    for _ in 0..7 {
        neutron.seed_port(&id, "compute:nova");
    }
    neutron.seed_port(&id, "network:dhcp");
    runner.delete();
    let report = runner.reconcile();
    assert_transient(&report, "in use by ports port-1, port-2, port-3, port-4, port-5 and 2 more");
    assert!(!report.gone && runner.current().is_some());
    neutron.name_ports("shop/web");
    assert_transient(&runner.reconcile(), "in use by ports port-1 (shop/web), port-2 (shop/web), ");
    neutron.remove_ports();
    assert!(runner.reconcile().gone);
}

#[test]
fn deleting_what_never_was_is_done_at_once() {
    let (mut runner, neutron) = example();
    runner.delete();
    assert!(runner.reconcile().gone);
    assert_eq!(neutron.writes(), 0);
}

#[test]
fn a_dry_run_ends_at_the_first_write() {
    let (runner, neutron) = example();
    let mut runner = runner.dry_run();
    assert_terminal(&runner.reconcile(), "dry run: POST /v2.0/networks");
    assert_eq!(neutron.writes(), 0);
}

#[test]
fn the_grant_in_the_folder_covers_what_the_manifest_asks_for() {
    use oarlock_guest::Reconciler;
    let grant: oarlock_manifest::PluginGrant = serde_saphyr::from_str(include_str!("../network.yaml")).unwrap();
    let manifest = NetworkReconciler::manifest();
    let declared = &manifest.document().config.as_ref().unwrap()["properties"];
    for key in grant.config.keys().chain(grant.secret_files.keys()) {
        assert!(declared.get(key).is_some(), "{key}");
    }
    assert_eq!(grant.http.origins, [grant.config["neutronUrl"].as_str()]);
    assert_eq!(grant.http.safe_requests, manifest.document().http.safe_requests);
    for rule in &manifest.document().permissions {
        assert!(grant.permissions.contains(rule));
    }
}
