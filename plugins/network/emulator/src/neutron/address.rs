//! Address arithmetic: prefixes, ranges and allocation pools.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::{Value, json};

use super::Document;
use crate::answer::{Refusal, Result};

/// An address as a number, with its family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Address {
    pub(super) v6: bool,
    pub(super) number: u128,
}

impl Address {
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text.parse().ok()? {
            IpAddr::V4(ip) => Some(Self { v6: false, number: u128::from(ip.to_bits()) }),
            IpAddr::V6(ip) => Some(Self { v6: true, number: ip.to_bits() }),
        }
    }

    pub(super) const fn version(self) -> u64 {
        if self.v6 { 6 } else { 4 }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match u32::try_from(self.number) {
            Ok(number) if !self.v6 => Ipv4Addr::from_bits(number).fmt(f),
            _ => Ipv6Addr::from_bits(self.number).fmt(f),
        }
    }
}

/// A prefix; host bits of the parsed text are cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cidr {
    pub(super) v6: bool,
    pub(super) prefix: u32,
    first: u128,
}

impl Cidr {
    /// An address without a length is a single host.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address = Address::parse(address)?;
        let width = if address.v6 { 128 } else { 32 };
        let prefix = match prefix {
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                digits.parse().ok().filter(|p| *p <= width)?
            }
            Some(_) => return None,
            None => width,
        };
        let hosts = Self::hosts(width - prefix);
        Some(Self { v6: address.v6, prefix, first: address.number & !hosts })
    }

    /// A number with this many low bits set.
    const fn hosts(bits: u32) -> u128 {
        if bits >= 128 { u128::MAX } else { (1 << bits) - 1 }
    }

    const fn width(self) -> u32 {
        if self.v6 { 128 } else { 32 }
    }

    pub(super) const fn first(self) -> u128 {
        self.first
    }

    pub(super) const fn last(self) -> u128 {
        self.first | Self::hosts(self.width() - self.prefix)
    }

    pub(super) const fn address(self, number: u128) -> Address {
        Address { v6: self.v6, number }
    }

    pub(super) const fn contains(self, address: Address) -> bool {
        address.v6 == self.v6 && self.first <= address.number && address.number <= self.last()
    }

    pub(super) const fn overlaps(self, other: Self) -> bool {
        self.v6 == other.v6 && self.first <= other.last() && other.first <= self.last()
    }

    /// Whether the prefix has a network address and (IPv4) a broadcast address, which hosts cannot have.
    const fn reserves(self) -> bool {
        self.width() - self.prefix > 1
    }

    /// The host addresses.
    pub(super) const fn usable(self) -> Pool {
        match (self.reserves(), self.v6) {
            (false, _) => Pool { start: self.first, end: self.last() },
            (true, true) => Pool { start: self.first + 1, end: self.last() },
            (true, false) => Pool { start: self.first + 1, end: self.last() - 1 },
        }
    }

    /// Whether this is the IPv4 network or broadcast address.
    pub(super) const fn is_reserved(self, address: Address) -> bool {
        !self.v6 && self.reserves() && !address.v6 && (address.number == self.first || address.number == self.last())
    }

    /// The default gateway of a subnet: the first host, for IPv6 the prefix itself.
    pub(super) const fn default_gateway(self) -> Address {
        if self.v6 { self.address(self.first) } else { self.address(self.first.saturating_add(1)) }
    }
}

impl std::fmt::Display for Cidr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address(self.first), self.prefix)
    }
}

/// A range of addresses, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pool {
    pub(super) start: u128,
    pub(super) end: u128,
}

impl Pool {
    pub(super) const fn contains(self, number: u128) -> bool {
        self.start <= number && number <= self.end
    }

    pub(super) fn describe(self, cidr: Cidr) -> String {
        format!("{}-{}", cidr.address(self.start), cidr.address(self.end))
    }
}

/// The default pools of a subnet: all hosts but the gateway.
pub(super) fn default_pools(cidr: Cidr, gateway: Option<Address>) -> Vec<Pool> {
    let all = cidr.usable();
    match gateway.filter(|g| g.v6 == cidr.v6 && all.contains(g.number)) {
        None => vec![all],
        Some(gateway) => {
            let below = (gateway.number > all.start).then(|| Pool { start: all.start, end: gateway.number - 1 });
            let above = (gateway.number < all.end).then(|| Pool { start: gateway.number + 1, end: all.end });
            below.into_iter().chain(above).collect()
        }
    }
}

/// Parses `allocation_pools` and checks them against the prefix and each other.
pub(super) fn parse_pools(cidr: Cidr, given: &[Value]) -> Result<Vec<Pool>> {
    let mut pools: Vec<Pool> = Vec::new();
    for value in given {
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        let (start, end) = (Address::parse(text("start")), Address::parse(text("end")));
        let invalid = || {
            let pool = format!("{{'start': '{}', 'end': '{}'}}", text("start"), text("end"));
            Refusal::new(
                http::StatusCode::BAD_REQUEST,
                "InvalidAllocationPool",
                format!("The allocation pool {pool} is not valid."),
            )
        };
        let (Some(start), Some(end)) = (start, end) else { return Err(invalid()) };
        if start.v6 != cidr.v6 || end.v6 != cidr.v6 || end.number < start.number {
            return Err(invalid());
        }
        let pool = Pool { start: start.number, end: end.number };
        let usable = cidr.usable();
        if pool.start < usable.start || pool.end > usable.end {
            return Err(Refusal::new(
                http::StatusCode::BAD_REQUEST,
                "OutOfBoundsAllocationPool",
                format!("The allocation pool {} spans beyond the subnet cidr {cidr}.", pool.describe(cidr)),
            ));
        }
        pools.push(pool);
    }
    for (index, pool) in pools.iter().enumerate() {
        if let Some(other) = pools.iter().skip(index + 1).find(|o| pool.start <= o.end && o.start <= pool.end) {
            let (one, two) = (pool.describe(cidr), other.describe(cidr));
            return Err(Refusal::conflict(
                "OverlappingAllocationPools",
                format!("Found overlapping allocation pools: {one} {two} for subnet {cidr}."),
            ));
        }
    }
    Ok(pools)
}

pub(super) fn pools_value(cidr: Cidr, pools: &[Pool]) -> Value {
    let pool = |p: &Pool| json!({"start": cidr.address(p.start).to_string(), "end": cidr.address(p.end).to_string()});
    pools.iter().map(pool).collect()
}

/// The pools of a stored subnet.
pub(super) fn stored_pools<'a>(cidr: Cidr, pools: impl Iterator<Item = &'a Document>) -> Vec<Pool> {
    let number = |pool: &Document, name: &str| Address::parse(pool.get(name)?.as_str()?).map(|a| a.number);
    pools
        .filter_map(|p| Some(Pool { start: number(p, "start")?, end: number(p, "end")? }))
        .filter(|p| p.start <= p.end && cidr.first() <= p.start)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_read_with_host_bits_cleared() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(Cidr::parse(text).map(|c| c.to_string()).as_deref(), expect, "{text}");
        };
        check("10.1.2.3/24", Some("10.1.2.0/24"));
        check("10.0.0.1", Some("10.0.0.1/32"));
        check("0.0.0.0/0", Some("0.0.0.0/0"));
        check("::/0", Some("::/0"));
        check("2001:db8::5/64", Some("2001:db8::/64"));
        check("10.0.0.0/33", None);
        check("10.0.0.0/+8", None);
        check("10.0.0.0/", None);
        check("banana", None);
    }

    #[test]
    fn default_pools_leave_the_gateway_out() {
        let check = |cidr: &str, gateway: Option<&str>, expect: &[&str]| {
            let cidr = Cidr::parse(cidr).unwrap();
            let pools = default_pools(cidr, gateway.and_then(Address::parse));
            let pools: Vec<_> = pools.iter().map(|p| p.describe(cidr)).collect();
            assert_eq!(pools, expect, "{cidr} {gateway:?}");
        };
        check("10.6.0.0/24", Some("10.6.0.10"), &["10.6.0.1-10.6.0.9", "10.6.0.11-10.6.0.254"]);
        check("10.6.0.0/24", Some("10.6.0.1"), &["10.6.0.2-10.6.0.254"]);
        check("10.6.0.0/24", Some("10.6.0.254"), &["10.6.0.1-10.6.0.253"]);
        check("10.6.0.0/24", Some("10.7.0.1"), &["10.6.0.1-10.6.0.254"]);
        check("10.6.0.0/24", None, &["10.6.0.1-10.6.0.254"]);
        check("10.6.0.0/30", Some("10.6.0.1"), &["10.6.0.2-10.6.0.2"]);
        check("10.6.0.0/32", None, &["10.6.0.0-10.6.0.0"]);
        check("::/0", Some("::"), &["::1-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"]);
    }
}
