//! Validation of nodes.

use serde_json::{Value, json};

use super::{addresses, shapes::quotas};
use crate::model::status::Cause;

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Capacities of a node, and the addresses of its pods.
pub(super) fn check(object: &Value) -> Vec<Cause> {
    let mut out = Vec::new();
    for part in ["capacity", "allocatable"] {
        let amounts = object.pointer(&format!("/status/{part}")).and_then(Value::as_object);
        for (name, amount) in amounts.into_iter().flatten() {
            out.extend(quotas::amount(name, amount, &format!("status.{part}.{name}")));
        }
    }
    let blocks = list(object, "/spec/podCIDRs");
    for (i, block) in blocks.iter().enumerate() {
        out.extend(addresses::cidr(block.as_str().unwrap_or_default(), &format!("spec.podCIDRs[{i}]")));
    }
    let wide = |block: &Value| block.as_str().is_some_and(|b| b.contains(':'));
    if blocks.len() > 2 || matches!(blocks, [a, b] if wide(a) == wide(b)) {
        let why = "may specify no more than one CIDR for each IP family";
        out.push(Cause::invalid("spec.podCIDRs", &json!(blocks), why));
    }
    out
}

/// Values that are assigned to a node once.
pub(super) fn update(object: &Value, old: &Value) -> Vec<Cause> {
    let mut out = Vec::new();
    let addresses = list(object, "/status/addresses");
    for (i, address) in addresses.iter().enumerate().filter(|(i, a)| addresses.iter().take(*i).any(|b| b == *a)) {
        out.push(Cause::duplicate(format!("status.addresses[{i}]"), address));
    }
    let (new, was) = (list(object, "/spec/podCIDRs"), list(old, "/spec/podCIDRs"));
    let why = "node updates may not change podCIDR except from \"\" to valid";
    if !was.is_empty() {
        let changes = if new.len() == was.len() { new.iter().zip(was).filter(|(a, b)| a != b).count() } else { 1 };
        out.extend(vec![Cause::forbidden("spec.podCIDRs", why); changes]);
    }
    let id = |v: &Value| v.pointer("/spec/providerID").and_then(Value::as_str).unwrap_or_default().to_owned();
    if !id(old).is_empty() && id(old) != id(object) {
        let why = "node updates may not change providerID except from \"\" to valid";
        out.push(Cause::forbidden("spec.providerID", why));
    }
    out
}
