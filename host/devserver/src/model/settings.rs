//! What differs between clusters, beside their objects.

use std::{net::Ipv4Addr, str::FromStr};

/// Settings of a cluster.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Whether a new Pod needs an existing ServiceAccount, and gets its token.
    pub(crate) service_accounts: bool,
    pub(crate) services: ServiceRange,
}

impl Default for Settings {
    fn default() -> Self {
        Self { service_accounts: true, services: ServiceRange::default() }
    }
}

/// The addresses of Services: an IPv4 range in CIDR notation. Default `10.96.0.0/16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServiceRange {
    network: u32,
    mask: u32,
}

impl Default for ServiceRange {
    fn default() -> Self {
        Self { network: Ipv4Addr::new(10, 96, 0, 0).to_bits(), mask: u32::MAX << 16 }
    }
}

impl ServiceRange {
    pub(crate) fn contains(self, address: Ipv4Addr) -> bool {
        address.to_bits() & self.mask == self.network
    }

    /// Every address but the network's own and the last one.
    pub(crate) fn addresses(self) -> impl Iterator<Item = Ipv4Addr> {
        (1..!self.mask).map(move |host| Ipv4Addr::from_bits(self.network | host))
    }
}

impl FromStr for ServiceRange {
    type Err = String;

    /// Takes `ADDRESS/PREFIX` with a prefix of 12 to 30 bits. kube-apiserver has the same upper bound of addresses.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text} is no range of IPv4 addresses with a prefix of 12 to 30 bits, such as 10.96.0.0/16");
        let (address, bits) = text.split_once('/').ok_or_else(wrong)?;
        let address: Ipv4Addr = address.parse().ok().ok_or_else(wrong)?;
        let bits: u32 = bits.parse().ok().filter(|bits| (12..=30).contains(bits)).ok_or_else(wrong)?;
        let mask = u32::MAX << (32 - bits);
        Ok(Self { network: address.to_bits() & mask, mask })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_its_addresses_without_the_first_and_the_last() {
        let range: ServiceRange = "10.0.0.5/30".parse().unwrap();
        let all: Vec<String> = range.addresses().map(|address| address.to_string()).collect();
        assert_eq!(all, ["10.0.0.5", "10.0.0.6"]);
        assert!(range.contains(Ipv4Addr::new(10, 0, 0, 7)) && !range.contains(Ipv4Addr::new(10, 0, 0, 8)));
        assert_eq!(ServiceRange::default().addresses().next(), Some(Ipv4Addr::new(10, 96, 0, 1)));
    }

    #[test]
    fn other_texts_are_no_ranges() {
        for text in ["", "10.0.0.0", "10.0.0.0/8", "10.0.0.0/31", "10.0.0/24", "fd00::/108", "10.0.0.0/24,fd00::/108"] {
            assert!(text.parse::<ServiceRange>().unwrap_err().starts_with(text), "{text}");
        }
    }
}
