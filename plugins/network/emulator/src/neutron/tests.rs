//! Random sequences of calls.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::address::{Address, Cidr, stored_pools};
use super::{Call, Caller, Neutron};

/// A call whose ids are indexes of the existing rows.
#[derive(Debug, Clone)]
struct Step {
    method: &'static str,
    collection: &'static str,
    /// Index of an existing row; `None`: the collection.
    target: Option<usize>,
    suffix: &'static str,
    body: Value,
    /// Index of the network and subnet in a body.
    parent: usize,
}

const CIDRS: &[&str] = &[
    "10.0.0.0/24",
    "10.0.0.0/30",
    "10.0.0.7/31",
    "10.0.0.9/32",
    "10.0.0.0/8",
    "0.0.0.0/0",
    "2001:db8::/64",
    "::/0",
    "x",
];
const ADDRESSES: &[&str] =
    &["10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.9", "10.0.0.255", "10.1.0.1", "2001:db8::", "2001:db8::9", "", "x"];

fn address() -> impl Strategy<Value = Value> {
    prop_oneof![4 => prop::sample::select(ADDRESSES).prop_map(|a| json!(a)), 1 => Just(Value::Null), 1 => Just(json!(7))]
}

fn pools() -> impl Strategy<Value = Value> {
    let pool = (address(), address()).prop_map(|(start, end)| json!({"start": start, "end": end}));
    prop::collection::vec(pool, 0..3).prop_map(Value::Array)
}

fn subnet() -> impl Strategy<Value = Value> {
    (prop::sample::select(CIDRS), prop::option::of(address()), prop::option::of(pools()), any::<bool>()).prop_map(
        |(cidr, gateway, pools, dhcp)| {
            let version = if cidr.contains(':') { 6 } else { 4 };
            let mut body = json!({"cidr": cidr, "ip_version": version, "enable_dhcp": dhcp});
            gateway.into_iter().for_each(|g| body["gateway_ip"] = g);
            pools.into_iter().for_each(|p| body["allocation_pools"] = p);
            body
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let networks = prop_oneof![Just(json!({"name": "a"})), Just(json!({"name": 1})), Just(json!({"mtu": 0}))];
    let change = (prop::option::of(address()), prop::option::of(pools())).prop_map(|(gateway, pools)| {
        let mut body = json!({});
        gateway.into_iter().for_each(|g| body["gateway_ip"] = g);
        pools.into_iter().for_each(|p| body["allocation_pools"] = p);
        body
    });
    let port = prop::option::of(address()).prop_map(|ip| match ip {
        Some(ip) => json!({"fixed_ips": [{"ip_address": ip}]}),
        None => json!({}),
    });
    let collection = prop::sample::select(&["networks", "subnets", "ports", "routers", "nonsense"][..]);
    let method = prop::sample::select(&["GET", "PUT", "POST", "DELETE", "PATCH"][..]);
    let suffix = prop::sample::select(&["", "/tags", "/tags/a%2Cb", "/x"][..]);
    let parent = 0..4usize;
    prop_oneof![
        4 => (networks, parent.clone()).prop_map(|(body, parent)| made("POST", "networks", None, body, parent)),
        6 => (subnet(), parent.clone()).prop_map(|(body, parent)| made("POST", "subnets", None, body, parent)),
        3 => (port, parent.clone()).prop_map(|(body, parent)| made("POST", "ports", None, body, parent)),
        1 => parent.clone().prop_map(|parent| made("POST", "routers", None, json!({}), parent)),
        5 => (change, 0..4usize).prop_map(|(body, at)| made("PUT", "subnets", Some(at), body, 0)),
        2 => (0..4usize, any::<bool>()).prop_map(|(at, add)| Step {
            suffix: if add { "/add_router_interface" } else { "/remove_router_interface" },
            ..made("PUT", "routers", Some(at), json!({}), at)
        }),
        2 => (collection.clone(), 0..4usize).prop_map(|(c, at)| made("DELETE", c, Some(at), json!({}), 0)),
        2 => (method, collection, prop::option::of(0..4usize), suffix, parent).prop_map(|(method, c, target, suffix, parent)| {
            Step { suffix, ..made(method, c, target, json!({"tags": ["a"], "zz": [1]}), parent) }
        }),
    ]
}

const fn made(
    method: &'static str,
    collection: &'static str,
    target: Option<usize>,
    body: Value,
    parent: usize,
) -> Step {
    Step { method, collection, target, suffix: "", body, parent }
}

fn nth(neutron: &Neutron, collection: &str, at: usize) -> String {
    let rows = neutron.all(collection);
    let at = at % rows.len().max(1);
    rows.get(at).and_then(|row| row["id"].as_str()).unwrap_or("missing").to_owned()
}

fn run(neutron: &mut Neutron, step: &Step) {
    let mut path = format!("/v2.0/{}", step.collection);
    if let Some(at) = step.target {
        path = format!("{path}/{}{}", nth(neutron, step.collection, at), step.suffix);
    }
    let mut body = step.body.clone();
    if step.suffix.ends_with("router_interface") {
        body["subnet_id"] = json!(nth(neutron, "subnets", step.parent));
    } else if step.suffix.is_empty() {
        if step.method == "POST" && ["subnets", "ports"].contains(&step.collection) {
            body["network_id"] = json!(nth(neutron, "networks", step.parent));
        }
        body = json!({step.collection.trim_end_matches('s'): body});
    }
    let caller = Caller::anyone();
    let answer = neutron.answer(&Call {
        method: step.method,
        path: &path,
        query: "",
        if_match: None,
        body: body.to_string().as_bytes(),
        caller: &caller,
        base: "http://neutron",
        hide_younger_than: None,
    });
    assert!((200..600).contains(&answer.status.as_u16()));
}

fn check_invariants(neutron: &Neutron) {
    let networks = neutron.all("networks");
    for table in [&neutron.networks, &neutron.subnets, &neutron.ports, &neutron.routers] {
        table.check();
    }
    for subnet in neutron.subnets.rows() {
        assert!(networks.iter().any(|n| n["id"] == subnet.value["network_id"]), "a subnet without its network");
        let cidr = Cidr::parse(subnet.text("cidr")).expect("a prefix is stored as it was understood");
        assert_eq!(cidr.to_string(), subnet.text("cidr"), "host bits are cleared");
        let pools = stored_pools(cidr, subnet.items("allocation_pools"));
        assert_eq!(pools.len(), subnet.items("allocation_pools").count(), "a pool that cannot be read");
        if let Some(gateway) = Address::parse(subnet.text("gateway_ip")) {
            assert!(!pools.iter().any(|p| p.contains(gateway.number)), "the gateway is inside a pool");
        }
        assert!(pools.iter().all(|p| p.end <= cidr.last()), "a pool beyond the prefix");
        for other in neutron.subnets.rows().filter(|o| o.id() != subnet.id()) {
            let apart = Cidr::parse(other.text("cidr")).is_some_and(|o| !o.overlaps(cidr));
            assert!(apart || other.text("network_id") != subnet.text("network_id"), "overlapping prefixes");
        }
    }
    let mut addresses = Vec::new();
    for port in neutron.ports.rows() {
        assert!(networks.iter().any(|n| n["id"] == port.value["network_id"]), "a port without its network");
        for address in port.items("fixed_ips") {
            let subnet = address["subnet_id"].as_str().and_then(|id| neutron.subnets.get(id));
            assert_eq!(
                subnet.map(|s| s.text("network_id")),
                Some(port.text("network_id")),
                "an address without its subnet"
            );
            assert!(!addresses.contains(&address), "an address given twice: {address:?}");
            addresses.push(address);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_sequence_of_calls_panics_or_breaks_an_invariant(steps in prop::collection::vec(step(), 1..40)) {
        let mut neutron = Neutron::default();
        for step in &steps {
            run(&mut neutron, step);
            check_invariants(&neutron);
        }
    }
}
