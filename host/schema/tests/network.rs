//! The CRD of Network, as shipped with the network plugin.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may fail this way")]

use oarlock_schema::{Crd, Version, cells, column_definitions, prune_crd};
use serde_json::{Value, json};

fn read(name: &str) -> Value {
    let path = format!("{}/../../plugins/network/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn version() -> Version {
    version_in("crd.yaml", "v1")
}

fn version_in(file: &str, version: &str) -> Version {
    let mut definition = read(file);
    assert_eq!(prune_crd(&mut definition), Vec::<String>::new());
    let crd = Crd::parse(&definition).unwrap_or_else(|errors| panic!("{errors:#?}"));
    assert_eq!(crd.name, "networks.samplecrd.k8s.io");
    assert_eq!(crd.names.short_names, ["net"]);
    crd.version(version).unwrap().clone()
}

fn network(cidr: &str, gateway: &str) -> Value {
    json!({"apiVersion": "samplecrd.k8s.io/v1", "kind": "Network", "metadata": {"name": "n"},
        "spec": {"cidr": cidr, "gateway": gateway}})
}

fn refusals(object: &Value, old: Option<&Value>) -> Vec<String> {
    version().schema.validate(object, old).iter().map(ToString::to_string).collect()
}

#[test]
fn the_example_is_accepted() {
    let mut example = read("example.yaml");
    assert_eq!(example["metadata"]["name"], "example-network");
    let version = version();
    assert!(version.schema.prune(&mut example).is_empty());
    assert_eq!(refusals(&example, None), Vec::<String>::new());
}

#[test]
fn networks_that_neutron_can_have_are_accepted() {
    for (cidr, gateway) in [
        ("10.0.0.0/8", "10.0.0.1"),
        ("10.0.0.0/8", "10.255.255.254"),
        ("10.0.0.0/8", "10.0.0.255"),
        ("10.0.0.0/8", "10.1.0.0"),
        ("192.168.1.0/24", "192.168.1.254"),
        ("192.168.1.4/30", "192.168.1.5"),
        ("192.168.1.4/30", "192.168.1.6"),
        ("0.0.0.0/0", "1.2.3.4"),
    ] {
        assert_eq!(refusals(&network(cidr, gateway), None), Vec::<String>::new(), "{cidr} {gateway}");
    }
}

#[test]
fn bad_networks_are_refused_with_the_reason() {
    let no_range = "must be an IPv4 range such as 192.168.0.0/16";
    let outside =
        |gateway: &str, cidr: &str| format!("spec.gateway: Invalid value: gateway {gateway} is outside of cidr {cidr}");
    for (cidr, gateway, expect) in [
        ("10.0.0.0/33", "10.0.0.1", format!("spec.cidr: Invalid value: \"10.0.0.0/33\": cidr {no_range}")),
        ("10.0.0.0", "10.0.0.1", format!("spec.cidr: Invalid value: \"10.0.0.0\": cidr {no_range}")),
        ("", "10.0.0.1", format!("spec.cidr: Invalid value: \"\": cidr {no_range}")),
        ("not a cidr", "10.0.0.1", format!("spec.cidr: Invalid value: \"not a cidr\": cidr {no_range}")),
        ("10.0.0.300/24", "10.0.0.1", format!("spec.cidr: Invalid value: \"10.0.0.300/24\": cidr {no_range}")),
        (
            "10.0.0.5/24",
            "10.0.0.1",
            "spec.cidr: Invalid value: \"10.0.0.5/24\": cidr must begin with the first address of its range: \
             10.0.0.5/24 has host bits set"
                .to_owned(),
        ),
        (
            "10.0.0.0/31",
            "10.0.0.1",
            "spec.cidr: Invalid value: \"10.0.0.0/31\": cidr must have room for hosts, which needs a prefix length of \
             at most 30"
                .to_owned(),
        ),
        (
            "10.0.0.0/24",
            "gateway",
            "spec.gateway: Invalid value: \"gateway\": gateway must be an IPv4 address such as 192.168.0.1".to_owned(),
        ),
        ("10.0.0.0/24", "10.0.1.1", outside("10.0.1.1", "10.0.0.0/24")),
        ("192.168.0.0/16", "192.169.0.1", outside("192.169.0.1", "192.168.0.0/16")),
        (
            "10.0.0.0/24",
            "10.0.0.0",
            "spec.gateway: Invalid value: gateway must not be the address of the network itself".to_owned(),
        ),
        (
            "10.0.0.0/24",
            "10.0.0.255",
            "spec.gateway: Invalid value: gateway must not be the broadcast address".to_owned(),
        ),
        (
            "10.128.0.0/9",
            "10.255.255.255",
            "spec.gateway: Invalid value: gateway must not be the broadcast address".to_owned(),
        ),
    ] {
        let found = refusals(&network(cidr, gateway), None);
        assert!(found.contains(&expect), "{cidr} {gateway}: {found:#?}");
    }
}

#[test]
fn ipv6_is_refused() {
    let found = refusals(&network("fd00::/64", "fd00::1"), None);
    assert!(found.iter().any(|e| e.starts_with("spec.cidr:")), "{found:#?}");
    assert!(found.iter().any(|e| e.starts_with("spec.gateway:")), "{found:#?}");
}

#[test]
fn both_fields_are_required() {
    let mut object = network("10.0.0.0/24", "10.0.0.1");
    object["spec"] = json!({});
    let found = refusals(&object, None);
    for field in ["spec.cidr", "spec.gateway"] {
        assert!(found.contains(&format!("{field}: Required value")), "{found:#?}");
    }
    object.as_object_mut().unwrap().remove("spec");
    assert!(refusals(&object, None).contains(&"spec: Required value".to_owned()));
}

#[test]
fn the_gateway_may_move_and_the_range_may_not() {
    let old = network("10.0.0.0/24", "10.0.0.1");
    assert_eq!(refusals(&network("10.0.0.0/24", "10.0.0.2"), Some(&old)), Vec::<String>::new());
    assert_eq!(
        refusals(&network("10.1.0.0/24", "10.1.0.1"), Some(&old)),
        ["spec.cidr: Invalid value: \"10.1.0.0/24\": cidr cannot be changed; delete the Network and create it with \
          another cidr"]
    );
}

#[test]
fn a_status_is_checked_and_shown() {
    let version = version();
    let old = network("10.0.0.0/24", "10.0.0.1");
    let mut new = old.clone();
    new["status"] = json!({"observedGeneration": 1, "networkId": "n", "subnetId": "s", "projectId": "p", "cidr": "10.0.0.0/24",
        "gateway": "10.0.0.1", "conditions": [{"type": "Ready", "status": "True", "reason": "Created",
        "message": "", "lastTransitionTime": "2024-05-01T00:00:00Z", "observedGeneration": 1}]});
    let mut pruned = new.clone();
    assert!(version.schema.prune(&mut pruned).is_empty());
    assert!(version.schema.validate_status(&new, &old).is_empty());

    new["metadata"]["creationTimestamp"] = "2024-05-01T00:00:00Z".into();
    let names: Vec<Value> = column_definitions(&version.columns).iter().map(|c| c["name"].clone()).collect();
    assert_eq!(json!(names), json!(["Name", "CIDR", "Gateway", "Ready", "Age"]));
    let now = "2024-05-01T01:00:00Z".parse().unwrap();
    assert_eq!(json!(cells(&version.columns, &new, now)), json!(["n", "10.0.0.0/24", "10.0.0.1", "True", "60m"]));

    new["status"]["conditions"][0]["status"] = "Maybe".into();
    let found: Vec<String> = version.schema.validate_status(&new, &old).iter().map(ToString::to_string).collect();
    assert!(
        found.contains(
            &"status.conditions[0].status: Unsupported value: \"Maybe\": supported values: \"True\", \"False\", \
              \"Unknown\""
                .to_owned()
        ),
        "{found:#?}"
    );
}

#[test]
fn both_files_have_the_same_v1() {
    assert_eq!(read("crd.yaml")["spec"]["versions"][0], read("crd-v2.yaml")["spec"]["versions"][0]);
}

/// What v2 refuses of these subnets.
fn refusals_of_v2(subnets: &Value, old: Option<&Value>) -> Vec<String> {
    let of = |subnets: &Value| json!({"apiVersion": "samplecrd.k8s.io/v2", "kind": "Network", "metadata": {"name": "n"}, "spec": {"subnets": subnets}});
    let old = old.map(of);
    let found = version_in("crd-v2.yaml", "v2").schema.validate(&of(subnets), old.as_ref());
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn the_example_of_v2_is_accepted() {
    let mut example = read("example-v2.yaml");
    let version = version_in("crd-v2.yaml", "v2");
    assert!(version.schema.prune(&mut example).is_empty());
    assert_eq!(refusals_of_v2(&example["spec"]["subnets"], None), Vec::<String>::new());
}

#[test]
fn faults_of_v2_are_named_at_their_subnet() {
    let subnet = |name: &str, cidr: &str, gateway: &str| json!({"name": name, "cidr": cidr, "gateway": gateway});
    let good = subnet("a", "10.0.0.0/24", "10.0.0.1");
    let mut pools = subnet("b", "10.1.0.0/24", "10.1.0.1");
    pools["allocationPools"] = json!([{"start": "10.1.0.4", "end": "10.2.0.9"}]);
    for (subnets, expect) in [
        (
            json!([good, subnet("b", "10.1.0.0/24", "10.2.0.1")]),
            "spec.subnets[1].gateway: Invalid value: gateway 10.2.0.1 is outside of cidr 10.1.0.0/24",
        ),
        (
            json!([good, subnet("b", "10.0.0.128/25", "10.0.0.129")]),
            "spec.subnets: Invalid value: the ranges of two subnets must not overlap",
        ),
        (
            json!([good, subnet("b", "10.0.0.0/16", "10.0.0.129")]),
            "spec.subnets: Invalid value: the ranges of two subnets must not overlap",
        ),
        (json!([good, subnet("a", "10.1.0.0/24", "10.1.0.1")]), "spec.subnets[1]: Duplicate value: {\"name\":\"a\"}"),
        (
            json!([good, pools]),
            "spec.subnets[1].allocationPools: Invalid value: allocationPools must have addresses of cidr",
        ),
        (json!([]), "spec.subnets: Invalid value: 0: spec.subnets in body should have at least 1 items"),
    ] {
        let found = refusals_of_v2(&subnets, None);
        assert!(found.iter().any(|said| said == expect), "{expect}: {found:#?}");
    }
}

#[test]
fn subnets_come_and_go_but_for_the_first() {
    let subnet = |name: &str, third: u8| json!({"name": name, "cidr": format!("10.{third}.0.0/24"), "gateway": format!("10.{third}.0.1")});
    let (a, b, c) = (subnet("a", 0), subnet("b", 1), subnet("c", 2));
    let old = json!([a, b]);
    for allowed in [json!([a]), json!([a, c]), json!([a, c, b])] {
        assert_eq!(refusals_of_v2(&allowed, Some(&old)), Vec::<String>::new());
    }
    for refused in [json!([b, a]), json!([b]), json!([c, a])] {
        let found = refusals_of_v2(&refused, Some(&old));
        assert_eq!(
            found,
            ["spec.subnets: Invalid value: the first subnet must stay the first; v1 clients see it as the only one"]
        );
    }
    let found = refusals_of_v2(&json!([a, subnet("b", 9)]), Some(&old));
    let expect = "spec.subnets[1].cidr: Invalid value: \"10.9.0.0/24\": cidr cannot be changed; remove the subnet and add one with another name";
    assert_eq!(found, [expect]);
}
