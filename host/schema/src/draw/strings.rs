//! Strings that formats, patterns and CEL rules of a schema ask for.

use fastrand::Rng;
use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::Value;
use std::net::Ipv4Addr;

/// Samples of the formats that an API server checks.
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
    ("creditcard", ["4111111111111111", "5500000000000004"]),
    ("ssn", ["123-45-6789", "987-65-4321"]),
    ("email", ["somebody@example.com", "a@b.example"]),
    ("uri", ["https://example.com/a?b=c", "http://example.com"]),
    ("hostname", ["example.com", "a"]),
    ("byte", ["aGVsbG8=", "YQ=="]),
    ("hexcolor", ["#ff0000", "#0f0"]),
];

/// Most repetitions of a part of a pattern beyond the least number.
const REPEATS: u32 = 3;

/// A string of a format. None: the format is not one of those above.
pub(super) fn of_format(format: &str, random: &mut Rng) -> Option<String> {
    let (_, samples) = FORMATS.iter().find(|(name, _)| *name == format)?;
    random.choice(samples).map(|text| (*text).to_owned())
}

/// A string as the rules of its schema want it, read off the CEL functions that they call on `self`. None: they call none.
///
/// * `ranges` - IPv4 ranges that were drawn: addresses are mostly of one of them.
pub(super) fn of_rules(schema: &Value, ranges: &mut Vec<String>, random: &mut Rng) -> Option<String> {
    let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array)?;
    let rules: Vec<&str> = rules.iter().filter_map(|one| one.get("rule")?.as_str()).collect();
    let calls = |names: [&str; 2]| rules.iter().any(|rule| names.iter().any(|name| rule.contains(name)));
    if calls(["isCIDR(self)", "cidr(self)"]) {
        let known = random.choice(ranges.iter()).cloned().filter(|_| random.u8(..100) < 30);
        let range = known.unwrap_or_else(|| range(random));
        ranges.push(range.clone());
        Some(range)
    } else if calls(["isIP(self)", "ip(self)"]) {
        Some(address(ranges, random))
    } else if calls(["isQuantity(self)", "quantity(self)"]) {
        random.choice(["0", "100m", "1Gi", "1.5"]).map(str::to_owned)
    } else if calls(["isURL(self)", "url(self)"]) {
        Some("https://example.com/path".to_owned())
    } else {
        None
    }
}

/// A string that matches. None: there are anchors in the middle, or something else that cannot be drawn from.
pub(super) fn of_pattern(pattern: &str, random: &mut Rng) -> Option<String> {
    let mut text = String::new();
    draw(&regex_syntax::parse(pattern).ok()?, &mut text, random)?;
    Some(text)
}

fn draw(hir: &Hir, text: &mut String, random: &mut Rng) -> Option<()> {
    match hir.kind() {
        // Who validates the result finds out whether the anchors hold.
        HirKind::Empty | HirKind::Look(_) => Some(()),
        HirKind::Literal(literal) => {
            text.push_str(std::str::from_utf8(&literal.0).ok()?);
            Some(())
        }
        HirKind::Class(Class::Unicode(class)) => {
            let ranges = class.ranges();
            // Printable ASCII, where the class has some.
            let plain: Vec<(u32, u32)> = ranges
                .iter()
                .map(|range| (u32::from(range.start()).max(0x20), u32::from(range.end()).min(0x7e)))
                .filter(|(low, high)| low <= high)
                .collect();
            let any: Vec<(u32, u32)> = ranges.iter().map(|range| (range.start().into(), range.end().into())).collect();
            let (low, high) = *random.choice(if plain.is_empty() { &any } else { &plain })?;
            text.push(char::from_u32(random.u32(low..=high)).unwrap_or('a'));
            Some(())
        }
        HirKind::Class(Class::Bytes(_)) => None,
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(u32::MAX).min(repetition.min.saturating_add(REPEATS));
            for _ in 0..random.u32(repetition.min..=most.max(repetition.min)).min(512) {
                draw(&repetition.sub, text, random)?;
            }
            Some(())
        }
        HirKind::Capture(capture) => draw(&capture.sub, text, random),
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| draw(part, text, random)),
        HirKind::Alternation(parts) => draw(random.choice(parts)?, text, random),
    }
}

/// A private IPv4 range without host bits.
fn range(random: &mut Rng) -> String {
    let prefix = match random.u8(..10) {
        0 => 30,
        1 => 8,
        _ => random.u32(16..29),
    };
    let mask = u32::MAX.checked_shl(32 - prefix).unwrap_or(0);
    format!("{}/{prefix}", Ipv4Addr::from(((10 << 24) | random.u32(..1 << 24)) & mask))
}

/// An IPv4 address: of a host of one of these ranges, at their ends, or just outside.
fn address(ranges: &[String], random: &mut Rng) -> String {
    let read = |text: &String| {
        let (first, prefix) = text.split_once('/')?;
        let (first, prefix): (Ipv4Addr, u32) = (first.parse().ok()?, prefix.parse().ok()?);
        Some((u32::from(first), u32::MAX.checked_shr(prefix).unwrap_or(0)))
    };
    // The last one is the likely one: fields stand side by side.
    let known = ranges.last().filter(|_| random.u8(..100) < 80).or_else(|| random.choice(ranges));
    let (first, hosts) = known.and_then(read).unwrap_or((10 << 24, 255));
    let offset = match random.u8(..10) {
        0 => 0,
        1 => hosts,
        2 => hosts.saturating_add(1),
        3..6 => 1,
        _ => random.u32(0..=hosts),
    };
    Ipv4Addr::from(first.saturating_add(offset)).to_string()
}

/// Letters and digits; often as few or as many as allowed.
pub(super) fn word(least: usize, most: usize, random: &mut Rng) -> String {
    let length = match random.u8(..10) {
        0 => least,
        1 if most <= 512 => most,
        _ => random.usize(least.max(1).min(most)..=most.min(least.saturating_add(8)).max(least.max(1).min(most))),
    };
    (0..length).map(|_| if random.u8(..4) == 0 { random.digit(10) } else { random.lowercase() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_match_their_patterns() {
        let mut random = Rng::with_seed(1);
        for pattern in ["^[a-z]([-a-z0-9]*[a-z0-9])?$", "^(red|green)-[0-9]{2,4}$", "^.{3}$", "^\\d+(\\.\\d+)?$"] {
            let whole = regex_lite(pattern);
            for _ in 0..50 {
                let text = of_pattern(pattern, &mut random).unwrap();
                let object = serde_json::json!({"s": text});
                assert!(whole.validate(&object, None).is_empty(), "{pattern}: {text:?}");
            }
        }
    }

    /// The judge is the validator of the API server.
    fn regex_lite(pattern: &str) -> crate::StructuralSchema {
        let definition = serde_json::json!({
            "metadata": {"name": "xs.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "xs", "kind": "X"}, "versions": [
                {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
                    "properties": {"s": {"type": "string", "pattern": pattern}}}}}]},
        });
        crate::Crd::parse(&definition).unwrap().version("v1").unwrap().schema.clone()
    }
}
