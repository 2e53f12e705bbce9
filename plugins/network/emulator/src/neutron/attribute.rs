//! Attributes of each resource: who may set them when, and their values.

use serde_json::{Value, json};

use super::address::{Address, Cidr};
use super::{Caller, Document, Kind};
use crate::answer::{Refusal, Result};

/// The form of a value.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// At most 255 characters.
    Text,
    Flag,
    Number,
    Uuid,
    /// 4 or 6.
    Version,
    /// An address or null.
    Address,
    Mac,
    Nameservers,
    Routes,
    Pools,
    /// Any value; checked elsewhere, or not at all.
    Free,
}

/// When an attribute may be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Never,
    Create,
    Always,
}

/// The default of an attribute in a creation request.
#[derive(Debug, Clone, Copy)]
enum Default {
    /// The request is rejected without it.
    Required,
    /// The attribute is absent until it is set elsewhere.
    Absent,
    Null,
    EmptyText,
    EmptyList,
    EmptyObject,
    False,
    True,
}

struct Attribute {
    name: &'static str,
    when: When,
    shape: Shape,
    default: Default,
}

const fn attribute(name: &'static str, when: When, shape: Shape, default: Default) -> Attribute {
    Attribute { name, when, shape, default }
}

use When::{Always, Create, Never};

const COMMON: &[Attribute] = &[
    attribute("id", Never, Shape::Uuid, Default::Absent),
    attribute("project_id", Create, Shape::Text, Default::Absent),
    attribute("tenant_id", Create, Shape::Text, Default::Absent),
    attribute("name", Always, Shape::Text, Default::EmptyText),
    attribute("description", Always, Shape::Text, Default::EmptyText),
    attribute("tags", Never, Shape::Free, Default::Absent),
    attribute("created_at", Never, Shape::Free, Default::Absent),
    attribute("updated_at", Never, Shape::Free, Default::Absent),
    attribute("revision_number", Never, Shape::Number, Default::Absent),
];

const NETWORK: &[Attribute] = &[
    attribute("admin_state_up", Always, Shape::Flag, Default::True),
    attribute("mtu", Always, Shape::Number, Default::Absent),
    attribute("status", Never, Shape::Text, Default::Absent),
    attribute("subnets", Never, Shape::Free, Default::Absent),
    attribute("shared", Always, Shape::Flag, Default::False),
    attribute("port_security_enabled", Always, Shape::Flag, Default::True),
    attribute("router:external", Always, Shape::Flag, Default::False),
    attribute("is_default", Always, Shape::Flag, Default::Absent),
    attribute("provider:network_type", Always, Shape::Free, Default::Absent),
    attribute("provider:physical_network", Always, Shape::Free, Default::Absent),
    attribute("provider:segmentation_id", Always, Shape::Free, Default::Absent),
    attribute("vlan_transparent", Create, Shape::Flag, Default::False),
    attribute("qinq", Create, Shape::Flag, Default::False),
    attribute("availability_zone_hints", Create, Shape::Free, Default::EmptyList),
    attribute("availability_zones", Never, Shape::Free, Default::EmptyList),
    attribute("ipv4_address_scope", Never, Shape::Free, Default::Null),
    attribute("ipv6_address_scope", Never, Shape::Free, Default::Null),
];

const SUBNET: &[Attribute] = &[
    attribute("network_id", Create, Shape::Uuid, Default::Required),
    attribute("ip_version", Create, Shape::Version, Default::Required),
    attribute("cidr", Create, Shape::Free, Default::Absent),
    attribute("subnetpool_id", Create, Shape::Free, Default::Null),
    attribute("prefixlen", Create, Shape::Number, Default::Absent),
    attribute("enable_dhcp", Always, Shape::Flag, Default::True),
    attribute("ipv6_ra_mode", Create, Shape::Free, Default::Null),
    attribute("ipv6_address_mode", Create, Shape::Free, Default::Null),
    attribute("gateway_ip", Always, Shape::Address, Default::Absent),
    attribute("allocation_pools", Always, Shape::Pools, Default::Absent),
    attribute("host_routes", Always, Shape::Routes, Default::EmptyList),
    attribute("dns_nameservers", Always, Shape::Nameservers, Default::EmptyList),
    attribute("router:external", Never, Shape::Flag, Default::False),
    attribute("service_types", Always, Shape::Free, Default::EmptyList),
];

const PORT: &[Attribute] = &[
    attribute("network_id", Create, Shape::Uuid, Default::Required),
    attribute("mac_address", Create, Shape::Mac, Default::Absent),
    attribute("admin_state_up", Always, Shape::Flag, Default::True),
    attribute("status", Never, Shape::Text, Default::Absent),
    attribute("device_id", Always, Shape::Text, Default::EmptyText),
    attribute("device_owner", Always, Shape::Text, Default::EmptyText),
    attribute("fixed_ips", Always, Shape::Free, Default::Absent),
    attribute("port_security_enabled", Always, Shape::Flag, Default::True),
    attribute("security_groups", Always, Shape::Free, Default::Absent),
    attribute("allowed_address_pairs", Always, Shape::Free, Default::EmptyList),
    attribute("extra_dhcp_opts", Always, Shape::Free, Default::EmptyList),
    attribute("binding:vnic_type", Always, Shape::Free, Default::Absent),
    attribute("binding:profile", Always, Shape::Free, Default::EmptyObject),
    attribute("binding:host_id", Always, Shape::Text, Default::EmptyText),
    attribute("binding:vif_type", Never, Shape::Free, Default::Absent),
    attribute("binding:vif_details", Never, Shape::Free, Default::EmptyObject),
];

const ROUTER: &[Attribute] = &[
    attribute("admin_state_up", Always, Shape::Flag, Default::True),
    attribute("status", Never, Shape::Text, Default::Absent),
    attribute("external_gateway_info", Always, Shape::Free, Default::Null),
    attribute("availability_zones", Never, Shape::Free, Default::EmptyList),
    attribute("availability_zone_hints", Create, Shape::Free, Default::EmptyList),
    attribute("distributed", Always, Shape::Flag, Default::False),
    attribute("ha", Always, Shape::Flag, Default::False),
    attribute("routes", Always, Shape::Free, Default::EmptyList),
    attribute("flavor_id", Create, Shape::Free, Default::Null),
];

fn attributes(kind: Kind) -> impl Iterator<Item = &'static Attribute> {
    let own = match kind {
        Kind::Network => NETWORK,
        Kind::Subnet => SUBNET,
        Kind::Port => PORT,
        Kind::Router => ROUTER,
    };
    COMMON.iter().chain(own)
}

/// Whether lists can be filtered and sorted by this name.
pub(super) fn exists(kind: Kind, name: &str) -> bool {
    attributes(kind).any(|a| a.name == name)
}

/// Attributes that members can neither see nor set.
pub(super) fn hidden(kind: Kind, name: &str) -> bool {
    match kind {
        Kind::Network => name.starts_with("provider:"),
        Kind::Port => name.starts_with("binding:") && name != "binding:vnic_type",
        Kind::Router => ["distributed", "ha"].contains(&name),
        Kind::Subnet => false,
    }
}

/// Checks a creation request and fills in defaults.
pub(super) fn for_create(kind: Kind, given: Document, caller: &Caller) -> Result<Document> {
    check_known(kind, &given)?;
    for attribute in attributes(kind) {
        match given.contains_key(attribute.name) {
            true if attribute.when == Never => {
                return Err(Refusal::bad_request(format!("Attribute '{}' not allowed in POST", attribute.name)));
            }
            false if matches!(attribute.default, Default::Required) => {
                return Err(Refusal::bad_request(format!(
                    "Failed to parse request. Required attribute '{}' not specified",
                    attribute.name
                )));
            }
            _ => {}
        }
    }
    let mut document = convert(kind, given)?;
    check_policy(kind, "create", &document, caller)?;
    for attribute in attributes(kind).filter(|a| !matches!(a.default, Default::Absent | Default::Required)) {
        document.entry(attribute.name).or_insert_with(|| default_value(attribute.default));
    }
    Ok(document)
}

/// Checks an update request.
pub(super) fn for_update(kind: Kind, given: Document) -> Result<Document> {
    check_known(kind, &given)?;
    if let Some(attribute) = attributes(kind).find(|a| a.when != Always && given.contains_key(a.name)) {
        return Err(Refusal::bad_request(format!("Cannot update read-only attribute {}", attribute.name)));
    }
    convert(kind, given)
}

/// Rejects attributes that only administrators may set.
pub(super) fn check_policy(kind: Kind, verb: &str, given: &Document, caller: &Caller) -> Result<()> {
    if caller.admin {
        return Ok(());
    }
    let guarded = |name: &str| {
        hidden(kind, name) || (kind == Kind::Network && ["shared", "router:external", "is_default"].contains(&name))
    };
    let rule = format!("rule:{verb}_{}", kind.name());
    let refused = attributes(kind)
        .filter(|a| guarded(a.name) && given.get(a.name).is_some_and(|value| *value != Value::Bool(false)))
        .fold(rule.clone(), |rules, a| format!("({rules} and {rule}:{})", a.name));
    if refused == rule { Ok(()) } else { Err(Refusal::policy(&refused)) }
}

fn check_known(kind: Kind, given: &Document) -> Result<()> {
    let unknown: Vec<&str> = given.keys().map(String::as_str).filter(|name| !exists(kind, name)).collect();
    if unknown.is_empty() {
        Ok(())
    } else {
        Err(Refusal::bad_request(format!("Unrecognized attribute(s) '{}'", unknown.join(", "))))
    }
}

fn convert(kind: Kind, mut given: Document) -> Result<Document> {
    for attribute in attributes(kind) {
        if let Some(value) = given.get_mut(attribute.name) {
            *value = check(attribute, value)?;
        }
    }
    Ok(given)
}

fn default_value(default: Default) -> Value {
    match default {
        Default::Required | Default::Absent | Default::Null => Value::Null,
        Default::EmptyText => json!(""),
        Default::EmptyList => json!([]),
        Default::EmptyObject => json!({}),
        Default::False => json!(false),
        Default::True => json!(true),
    }
}

/// Text as Neutron's messages quote it.
pub(super) fn quoted(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{text}'"),
        other => format!("'{other}'"),
    }
}

fn check(attribute: &Attribute, value: &Value) -> Result<Value> {
    let invalid = |reason: &str| Refusal::attribute(attribute.name, format!("{} {reason}", quoted(value)));
    let text = value.as_str();
    match attribute.shape {
        Shape::Free => Ok(value.clone()),
        Shape::Text => match text {
            None => Err(invalid("is not a valid string")),
            Some(text) if text.chars().count() > 255 => Err(invalid("exceeds maximum length of 255")),
            Some(_) => Ok(value.clone()),
        },
        Shape::Flag => flag(value).map(Value::Bool),
        Shape::Number => match whole(value)? {
            number if number < 0 => Err(invalid("should be non-negative")),
            number => Ok(json!(number)),
        },
        Shape::Version => match whole(value)? {
            version @ (4 | 6) => Ok(json!(version)),
            other => Err(Refusal::attribute(attribute.name, format!("{other} is not in valid_values"))),
        },
        Shape::Uuid if text.is_some_and(|t| uuid::Uuid::try_parse(t).is_ok()) => Ok(value.clone()),
        Shape::Uuid => Err(invalid("is not a valid UUID")),
        Shape::Address if value.is_null() => Ok(Value::Null),
        Shape::Address => match text.and_then(Address::parse) {
            Some(address) => Ok(json!(address.to_string())),
            None => Err(invalid("is not a valid IP address")),
        },
        Shape::Mac if text.is_some_and(is_mac) => Ok(value.clone()),
        Shape::Mac => Err(invalid("is not a valid MAC address")),
        Shape::Nameservers => check_nameservers(attribute.name, value),
        Shape::Routes => check_routes(attribute.name, value),
        Shape::Pools => check_pools(attribute.name, value),
    }
}

fn flag(value: &Value) -> Result<bool> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        Value::Number(n) if n.as_u64() == Some(0) => Ok(false),
        Value::Number(n) if n.as_u64() == Some(1) => Ok(true),
        Value::String(text) if ["true", "1"].contains(&text.to_lowercase().as_str()) => Ok(true),
        Value::String(text) if ["false", "0"].contains(&text.to_lowercase().as_str()) => Ok(false),
        other => Err(Refusal::input(format!("{} cannot be converted to boolean", quoted(other)))),
    }
}

/// An integer, or its text.
pub(super) fn whole(value: &Value) -> Result<i64> {
    let number = value.as_i64().or_else(|| value.as_str()?.trim().parse().ok());
    number.ok_or_else(|| Refusal::input(format!("{} is not an integer", quoted(value))))
}

fn is_mac(text: &str) -> bool {
    let octet = |part: &str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit());
    text.split(':').count() == 6 && text.split(':').all(octet)
}

fn list(value: &Value) -> Result<&[Value]> {
    let items = value.as_array().map(Vec::as_slice);
    items.ok_or_else(|| Refusal::input(format!("{} is not a list", quoted(value))))
}

fn check_nameservers(name: &str, value: &Value) -> Result<Value> {
    for server in list(value)? {
        if server.as_str().and_then(Address::parse).is_none() {
            let server = quoted(server);
            let reason = format!("{server} is not a valid nameserver. {server} is not a valid IP address");
            return Err(Refusal::attribute(name, reason));
        }
    }
    Ok(value.clone())
}

fn check_routes(name: &str, value: &Value) -> Result<Value> {
    for route in list(value)? {
        let part = |key: &str| route.get(key).cloned().unwrap_or_default();
        let (destination, nexthop) = (part("destination"), part("nexthop"));
        if destination.as_str().and_then(Cidr::parse).is_none() {
            return Err(Refusal::attribute(name, format!("{} is not a valid CIDR", quoted(&destination))));
        }
        if nexthop.as_str().and_then(Address::parse).is_none() {
            return Err(Refusal::attribute(name, format!("{} is not a valid IP address", quoted(&nexthop))));
        }
    }
    Ok(value.clone())
}

fn check_pools(name: &str, value: &Value) -> Result<Value> {
    let pools = value.as_array().ok_or_else(|| Refusal::input("Invalid data format for allocation pools"))?;
    for pool in pools {
        for end in ["start", "end"] {
            let address = pool.get(end).cloned().unwrap_or_default();
            if address.as_str().and_then(Address::parse).is_none() {
                return Err(Refusal::attribute(name, format!("{} is not a valid IP address", quoted(&address))));
            }
        }
    }
    Ok(value.clone())
}
