//! Address ranges in a canonical form.

use std::fmt::{self, Display};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address range like `192.168.0.0/16`, without host bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cidr {
    v4: bool,
    first: u128,
    prefix: u8,
}

/// Addresses from the first to the last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pool {
    first: IpAddr,
    last: IpAddr,
}

impl Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

impl Cidr {
    /// Parses a range. Host bits are cleared, as in Neutron. Ranges without room for a gateway and a port are rejected, and so is `/0`.
    ///
    /// # Errors
    ///
    /// The fault of the text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let malformed = || format!("{text:?} is not an address range like 192.168.0.0/16");
        let (address, prefix) = text.trim().split_once('/').ok_or_else(malformed)?;
        let address: IpAddr = address.parse().ok().ok_or_else(malformed)?;
        let prefix: u8 = prefix.parse().ok().ok_or_else(malformed)?;
        let widest = if address.is_ipv4() { 32 } else { 128 };
        if prefix > widest {
            return Err(malformed());
        }
        if prefix == 0 || prefix > widest - 2 {
            return Err(format!("{text} must have a prefix length from 1 to {}", widest - 2));
        }
        let cidr = Self { v4: address.is_ipv4(), first: 0, prefix };
        Ok(Self { first: number(address) & !cidr.host_mask(), ..cidr })
    }

    /// 4 or 6.
    pub(crate) fn version(self) -> u8 {
        if self.v4 { 4 } else { 6 }
    }

    /// The first host address.
    pub(crate) fn first_host(self) -> IpAddr {
        self.address(self.first + 1)
    }

    /// The last address of IPv4 is for broadcasts.
    fn last_host(self) -> u128 {
        (self.first | self.host_mask()) - u128::from(self.v4)
    }

    /// Parses the gateway of this range. Neutron accepts one outside the range without an error.
    ///
    /// # Errors
    ///
    /// Why the address cannot be the gateway.
    pub(crate) fn gateway(self, text: &str) -> Result<IpAddr, String> {
        let address = parse_address(text.trim())?;
        let hosts = number(self.first_host())..=self.last_host();
        if address.is_ipv4() != self.v4 || !hosts.contains(&number(address)) {
            return Err(format!("{address} is not a host address of {self}"));
        }
        Ok(address)
    }

    /// Every host address but the gateway: Neutron's default, in order.
    pub(crate) fn pools_around(self, gateway: IpAddr) -> Vec<Pool> {
        let (first, last, gateway) = (self.first + 1, self.last_host(), number(gateway));
        if !(first..=last).contains(&gateway) {
            return vec![self.pool(first, last)];
        }
        let before = (first < gateway).then(|| self.pool(first, gateway - 1));
        let after = (gateway < last).then(|| self.pool(gateway + 1, last));
        before.into_iter().chain(after).collect()
    }

    /// Whether a pool has only host addresses of this range, in order.
    pub(crate) fn has_hosts(self, pool: &Pool) -> bool {
        let hosts = number(self.first_host())..=self.last_host();
        let inside = |address: IpAddr| address.is_ipv4() == self.v4 && hosts.contains(&number(address));
        inside(pool.first) && inside(pool.last) && pool.first <= pool.last
    }

    fn pool(self, first: u128, last: u128) -> Pool {
        Pool { first: self.address(first), last: self.address(last) }
    }

    fn host_mask(self) -> u128 {
        let bits = if self.v4 { 32 } else { 128 } - u32::from(self.prefix);
        u128::MAX.checked_shr(128 - bits).unwrap_or(0)
    }

    fn address(self, number: u128) -> IpAddr {
        address(self.v4, number)
    }
}

impl Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address(self.first), self.prefix)
    }
}

impl Pool {
    /// # Errors
    ///
    /// The text that is no address.
    pub(crate) fn parse(first: &str, last: &str) -> Result<Self, String> {
        Ok(Self { first: parse_address(first)?, last: parse_address(last)? })
    }

    /// Parses the output of [`Display`].
    ///
    /// # Errors
    ///
    /// The text that is no address.
    pub(crate) fn parse_range(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').ok_or_else(|| format!("{text:?} is not a range of addresses"))?;
        Self::parse(first, last)
    }

    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        (self.first..=self.last).contains(&address)
    }

    /// The first and the last address, as text.
    pub(crate) fn ends(&self) -> (String, String) {
        (self.first.to_string(), self.last.to_string())
    }
}

/// The same addresses in order, with overlapping and adjacent pools joined: Neutron returns pools in any order.
pub(crate) fn joined(mut pools: Vec<Pool>) -> Vec<Pool> {
    pools.sort();
    let mut joined: Vec<Pool> = Vec::with_capacity(pools.len());
    for pool in pools {
        match joined.last_mut() {
            Some(last) if touches(last, &pool) => last.last = last.last.max(pool.last),
            _ => joined.push(pool),
        }
    }
    joined
}

fn touches(earlier: &Pool, later: &Pool) -> bool {
    earlier.last.is_ipv4() == later.first.is_ipv4() && number(later.first) <= number(earlier.last).saturating_add(1)
}

fn parse_address(text: &str) -> Result<IpAddr, String> {
    text.parse().ok().ok_or_else(|| format!("{text:?} is not an IP address"))
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    }
}

fn address(v4: bool, number: u128) -> IpAddr {
    match u32::try_from(number) {
        Ok(number) if v4 => IpAddr::V4(Ipv4Addr::from(number)),
        _ => IpAddr::V6(Ipv6Addr::from(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pools(cidr: &str, gateway: &str) -> Vec<String> {
        let cidr = Cidr::parse(cidr).unwrap();
        cidr.pools_around(cidr.gateway(gateway).unwrap()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn ranges_lose_their_host_bits() {
        for (text, expected) in [
            ("192.168.0.0/16", "192.168.0.0/16"),
            ("10.1.2.3/24", "10.1.2.0/24"),
            (" 10.0.0.5/30 ", "10.0.0.4/30"),
            ("200.1.1.1/1", "128.0.0.0/1"),
            ("2001:DB8:0::1/64", "2001:db8::/64"),
            ("fd00::f/126", "fd00::c/126"),
        ] {
            assert_eq!(Cidr::parse(text).unwrap().to_string(), expected);
        }
    }

    #[test]
    fn what_is_no_usable_range_is_refused() {
        for text in [
            "",
            "10.0.0.0",
            "10.0.0.0/",
            "10.0.0.0/33",
            "10.0.0/24",
            "10.0.0.0/24/1",
            "ten/8",
            "10.0.0.0/-1",
            "0.0.0.0/0",
            "10.0.0.0/31",
            "10.0.0.0/32",
            "::/0",
            "fd00::/127",
            "fd00::/129",
            "010.0.0.0/8",
        ] {
            assert!(Cidr::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_gateway_is_a_host_of_its_range() {
        let cidr = Cidr::parse("192.168.0.0/16").unwrap();
        for text in ["192.168.0.1", "192.168.1.1", "192.168.255.254", "192.168.1.0"] {
            assert_eq!(cidr.gateway(text).unwrap().to_string(), text);
        }
        for text in ["192.168.0.0", "192.168.255.255", "192.169.0.1", "10.9.9.1", "", "gw", "fd00::1"] {
            assert!(cidr.gateway(text).is_err(), "{text}");
        }
        let cidr = Cidr::parse("fd00::/64").unwrap();
        assert!(cidr.gateway("fd00::").is_err());
        assert!(cidr.gateway("0.0.0.1").is_err());
        assert!(cidr.gateway("fd00::ffff:ffff:ffff:ffff").is_ok());
        assert_eq!(cidr.first_host().to_string(), "fd00::1");
    }

    #[test]
    fn pools_leave_the_gateway_out() {
        for (cidr, gateway, expected) in [
            ("192.168.0.0/16", "192.168.0.1", vec!["192.168.0.2-192.168.255.254"]),
            ("192.168.0.0/16", "192.168.1.1", vec!["192.168.0.1-192.168.1.0", "192.168.1.2-192.168.255.254"]),
            ("192.168.0.0/16", "192.168.255.254", vec!["192.168.0.1-192.168.255.253"]),
            ("10.6.0.0/24", "10.6.0.10", vec!["10.6.0.1-10.6.0.9", "10.6.0.11-10.6.0.254"]),
            ("10.0.0.0/30", "10.0.0.1", vec!["10.0.0.2-10.0.0.2"]),
            ("10.0.0.0/30", "10.0.0.2", vec!["10.0.0.1-10.0.0.1"]),
            ("128.0.0.0/1", "128.0.0.1", vec!["128.0.0.2-255.255.255.254"]),
            ("fd00::/64", "fd00::1", vec!["fd00::2-fd00::ffff:ffff:ffff:ffff"]),
            ("8000::/1", "8000::1", vec!["8000::2-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"]),
        ] {
            assert_eq!(pools(cidr, gateway), expected, "{cidr} around {gateway}");
        }
    }

    #[test]
    fn pools_compare_by_the_addresses_they_cover() {
        let pools = |texts: &[&str]| joined(texts.iter().map(|text| Pool::parse_range(text).unwrap()).collect());
        let whole = pools(&["10.0.0.2-10.0.0.254"]);
        assert_eq!(pools(&["10.0.0.10-10.0.0.254", "10.0.0.2-10.0.0.9"]), whole);
        assert_eq!(pools(&["10.0.0.2-10.0.0.100", "10.0.0.50-10.0.0.60", "10.0.0.101-10.0.0.254"]), whole);
        assert_ne!(pools(&["10.0.0.2-10.0.0.9", "10.0.0.11-10.0.0.254"]), whole);
        assert_eq!(pools(&[]), []);
    }

    proptest::proptest! {
        /// For any range and gateway, the pools and the gateway are exactly the hosts.
        #[test]
        fn pools_and_gateway_are_all_hosts(first: u32, prefix in 20u8..=30, pick: u32) {
            let cidr = Cidr::parse(&format!("{}/{prefix}", Ipv4Addr::from(first))).unwrap();
            let hosts: Vec<u128> = (number(cidr.first_host())..=cidr.last_host()).collect();
            let gateway = cidr.address(hosts[pick as usize % hosts.len()]);
            let mut covered: Vec<u128> = cidr
                .pools_around(gateway)
                .iter()
                .flat_map(|pool| number(pool.first)..=number(pool.last))
                .chain([number(gateway)])
                .collect();
            covered.sort_unstable();
            proptest::prop_assert_eq!(covered, hosts);
        }
    }
}
