//! Validation of IP addresses and CIDR blocks, as strict as for new values.

use std::net::IpAddr;

use serde_json::json;

use crate::model::status::Cause;

/// Parses an address, or returns its fault.
pub(crate) fn ip(text: &str, path: &str) -> Result<IpAddr, Cause> {
    let invalid = |why: &str| Err(Cause::invalid(path, &json!(text), why));
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V6(v6)) if v6.to_ipv4_mapped().is_some() => invalid("must not be an IPv4-mapped IPv6 address"),
        Ok(address) => Ok(address),
        Err(_) if without_zeros(text).parse::<IpAddr>().is_ok() => invalid("must not have leading 0s"),
        Err(_) => invalid("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
    }
}

/// The parts of an IPv4 address without leading zeros.
fn without_zeros(text: &str) -> String {
    let part = |p: &str| match p.trim_start_matches('0') {
        "" if !p.is_empty() => "0".to_owned(),
        rest => rest.to_owned(),
    };
    text.split('.').map(part).collect::<Vec<_>>().join(".")
}

/// Validates the address of an endpoint. A real server rejects loopback addresses; here only these lead to a webhook.
pub(crate) fn endpoint(text: &str, path: &str) -> Vec<Cause> {
    let address = match ip(text, path) {
        Ok(address) => address,
        Err(cause) => return vec![cause],
    };
    let (local, multicast) = match address {
        IpAddr::V4(v4) => (v4.is_link_local(), v4.octets().starts_with(&[224, 0, 0])),
        IpAddr::V6(v6) => {
            let first = v6.segments().first().copied().unwrap_or_default();
            (first & 0xffc0 == 0xfe80, first & 0xff0f == 0xff02)
        }
    };
    let kinds = [
        (address.is_unspecified(), format!("may not be unspecified ({text})")),
        (local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned()),
        (multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned()),
    ];
    kinds.iter().filter(|(is, _)| *is).map(|(_, why)| Cause::invalid(path, &json!(text), why)).collect()
}

/// A block of addresses: the address, and how many of its bits count.
pub(crate) fn block(text: &str) -> Option<(IpAddr, u32)> {
    let (address, length) = text.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let length: u32 = length.parse().ok()?;
    (length <= if address.is_ipv4() { 32 } else { 128 }).then_some((address, length))
}

/// The fault of a CIDR block.
pub(crate) fn cidr(text: &str, path: &str) -> Option<Cause> {
    let invalid = |why: &str| Some(Cause::invalid(path, &json!(text), why));
    let Some((address, length)) = block(text) else {
        return invalid("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    };
    let rest = match address {
        IpAddr::V4(v4) => u32::from(v4).checked_shl(length).unwrap_or(0) != 0,
        IpAddr::V6(v6) => u128::from(v6).checked_shl(length).unwrap_or(0) != 0,
    };
    if rest { invalid("must not have bits set beyond the prefix length") } else { None }
}
