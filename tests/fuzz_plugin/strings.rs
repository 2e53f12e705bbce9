//! Strings that formats, patterns and rules ask for.

use crate::torture::Random;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::Value;
use std::net::Ipv4Addr;

/// Strings of the formats that an API server checks.
const FORMATS: [(&str, [&str; 2]); 16] = [
    ("date-time", ["2024-02-29T12:00:00Z", "1999-12-31T23:59:59+01:00"]),
    ("date", ["2024-02-29", "1999-12-31"]),
    ("duration", ["90s", "1h30m"]),
    ("ipv4", ["192.168.0.1", "10.0.0.255"]),
    ("ipv6", ["2001:db8::1", "::1"]),
    ("cidr", ["192.168.0.0/16", "2001:db8::/32"]),
    ("mac", ["00:00:5e:00:53:01", "00-00-5e-00-53-02"]),
    ("uuid", ["123e4567-e89b-12d3-a456-426614174000", "00000000-0000-4000-8000-000000000001"]),
    ("uuid4", ["123e4567-e89b-42d3-a456-426614174000", "00000000-0000-4000-8000-000000000001"]),
    ("email", ["somebody@example.com", "a@b.example"]),
    ("uri", ["https://example.com/a?b=c", "http://example.com"]),
    ("hostname", ["example.com", "a"]),
    ("byte", ["aGVsbG8=", "YQ=="]),
    ("creditcard", ["4111111111111111", "5500000000000004"]),
    ("ssn", ["123-45-6789", "987-65-4321"]),
    ("hexcolor", ["#ff0000", "#0f0"]),
];

/// What the rules of a string schema say it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meant {
    Range,
    Address,
    Quantity,
    Url,
    Anything,
}

/// Reads it off the functions that CEL rules call on `self`.
pub(super) fn meant(schema: &Value) -> Meant {
    let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array);
    let rules: Vec<&str> = rules.into_iter().flatten().filter_map(|one| one.get("rule")?.as_str()).collect();
    let calls = |names: &[&str]| rules.iter().any(|rule| names.iter().any(|name| rule.contains(name)));
    if calls(&["isCIDR(self)", "cidr(self)"]) {
        Meant::Range
    } else if calls(&["isIP(self)", "ip(self)"]) {
        Meant::Address
    } else if calls(&["isQuantity(self)", "quantity(self)"]) {
        Meant::Quantity
    } else if calls(&["isURL(self)", "url(self)"]) {
        Meant::Url
    } else {
        Meant::Anything
    }
}

/// A string of a format; None: the format is not one that is checked.
pub(super) fn of_format(format: &str, random: &mut Random) -> Option<String> {
    let (_, samples) = FORMATS.iter().find(|(name, _)| *name == format)?;
    samples.get(random.below(samples.len())).map(|text| (*text).to_owned())
}

/// A string that matches; None: there are anchors in the middle, or something else that cannot be drawn from.
pub(super) fn of_pattern(pattern: &str, random: &mut Random) -> Option<String> {
    let inner = pattern.strip_prefix('^').unwrap_or(pattern);
    let inner = match inner.strip_suffix('$') {
        Some(rest) if !rest.ends_with('\\') => rest,
        _ => inner,
    };
    let strategy = proptest::string::string_regex(inner).ok()?;
    let mut seed = [0_u8; 32];
    for byte in &mut seed {
        *byte = u8::try_from(random.below(256)).unwrap_or(0);
    }
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    Some(strategy.new_tree(&mut runner).ok()?.current())
}

/// A quantity as resources have it.
pub(super) fn quantity(random: &mut Random) -> String {
    const QUANTITIES: [&str; 4] = ["0", "100m", "1Gi", "1.5"];
    QUANTITIES.get(random.below(QUANTITIES.len())).copied().unwrap_or("1").to_owned()
}

/// An IPv4 range without host bits; mostly a small private one.
pub(super) fn range(random: &mut Random) -> String {
    let prefix = match random.below(10) {
        0 => 30,
        1 => 29,
        2 => 8,
        _ => 16 + random.below(13),
    };
    let byte = |random: &mut Random| u32::try_from(random.below(256)).unwrap_or(0);
    let address = (10 << 24) | (byte(random) << 16) | (byte(random) << 8) | byte(random);
    let prefix = u32::try_from(prefix).unwrap_or(24);
    let mask = u32::MAX.checked_shl(32 - prefix).unwrap_or(0);
    format!("{}/{prefix}", Ipv4Addr::from(address & mask))
}

/// An IPv4 address, mostly of a host of one of these ranges.
pub(super) fn address(ranges: &[String], random: &mut Random) -> String {
    let read = |text: &String| {
        let (first, prefix) = text.split_once('/')?;
        let (first, prefix): (Ipv4Addr, u32) = (first.parse().ok()?, prefix.parse().ok()?);
        Some((u32::from(first), u32::MAX.checked_shr(prefix).unwrap_or(0)))
    };
    let known = ranges.get(random.below(ranges.len())).and_then(read);
    let (first, hosts) = known.unwrap_or((10 << 24, 255));
    let within = u32::try_from(random.below(usize::try_from(hosts).unwrap_or(0))).unwrap_or(0);
    let address = match random.below(10) {
        0 => first,
        1 => first.saturating_add(hosts),
        2 => first.saturating_add(hosts).saturating_add(1),
        3 | 4 => first.saturating_add(1),
        5 | 6 => first.saturating_add(hosts.saturating_sub(1)),
        _ => first.saturating_add(within),
    };
    Ipv4Addr::from(address).to_string()
}

/// Letters, at least and at most so many; now and then exactly so many.
pub(super) fn word(least: usize, most: usize, random: &mut Random) -> String {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let roomy = most.min(least.saturating_add(8));
    let length = match random.below(10) {
        0 => least,
        1 if most <= 512 => most,
        _ => least.max(1).saturating_add(random.below(roomy.saturating_sub(least).saturating_add(1))),
    };
    let letter = |random: &mut Random| LETTERS.get(random.below(LETTERS.len())).copied().unwrap_or(b'a');
    (0..length.min(most)).map(|_| char::from(letter(random))).collect()
}
