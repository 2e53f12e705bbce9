//! Annotations of a Deployment about its Network.

use oarlock_guest::{Error, Result};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// `"false"`: no Network.
pub(crate) const WANTED: &str = "samplecrd.k8s.io/network";
/// The Network's address range.
pub(crate) const CIDR: &str = "samplecrd.k8s.io/cidr";
/// The Network's gateway.
pub(crate) const GATEWAY: &str = "samplecrd.k8s.io/gateway";

const DEFAULT_CIDR: &str = "10.0.0.0/24";

/// The parameters of the Network.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parameters {
    pub(crate) cidr: String,
    pub(crate) gateway: String,
}

impl Parameters {
    /// None: no Network is wanted.
    ///
    /// # Errors
    ///
    /// Terminal, with the invalid annotation.
    pub(crate) fn read(annotations: &BTreeMap<String, String>) -> Result<Option<Self>> {
        let annotation = |key: &str| annotations.get(key).map(|value| value.trim());
        match annotation(WANTED) {
            Some("false") => return Ok(None),
            None | Some("true") => {}
            Some(other) => {
                return Err(Error::terminal(format_args!("annotation {WANTED}: {other:?} is neither true nor false")));
            }
        }
        let cidr = annotation(CIDR).unwrap_or(DEFAULT_CIDR);
        let range = Range::parse(cidr).ok_or_else(|| {
            Error::terminal(format_args!(
                "annotation {CIDR}: {cidr:?} is not an IPv4 range like {DEFAULT_CIDR}, of /30 at most"
            ))
        })?;
        let gateway = match annotation(GATEWAY) {
            None => range.first_host(),
            Some(text) => text.parse().ok().filter(|&gateway| range.has_host(gateway)).ok_or_else(|| {
                Error::terminal(format_args!("annotation {GATEWAY}: {text:?} is not a host address of {cidr}"))
            })?,
        };
        Ok(Some(Self { cidr: cidr.to_owned(), gateway: gateway.to_string() }))
    }
}

/// Network and broadcast address.
struct Range {
    first: u32,
    last: u32,
}

impl Range {
    fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/')?;
        let address = u32::from(address.parse::<Ipv4Addr>().ok()?);
        let prefix: u32 = prefix.parse().ok().filter(|prefix| (1..=30).contains(prefix))?;
        let hosts = u32::MAX >> prefix;
        Some(Self { first: address & !hosts, last: address | hosts })
    }

    fn first_host(&self) -> Ipv4Addr {
        Ipv4Addr::from(self.first + 1)
    }

    fn has_host(&self, address: Ipv4Addr) -> bool {
        (self.first + 1..self.last).contains(&u32::from(address))
    }
}
