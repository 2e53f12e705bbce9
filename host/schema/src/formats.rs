//! OpenAPI string formats that an API server validates; all others accept any string.
//!
//! # Source
//!
//! kube-openapi `pkg/validation/strfmt`.

use std::{net::IpAddr, sync::LazyLock};

use base64::{
    Engine as _, alphabet,
    engine::general_purpose::{GeneralPurpose, PAD},
};
use regex::Regex;
use serde_json::Value;

/// Whether `text` matches `format`; true for a format that is not validated.
pub(crate) fn matches(format: &str, text: &str) -> bool {
    match format {
        "date-time" | "datetime" => date_time(text),
        "date" => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        "duration" => duration(text),
        "ipv4" => matches!(text.parse(), Ok(IpAddr::V4(_))),
        "ipv6" => matches!(text.parse(), Ok(IpAddr::V6(_))),
        "cidr" => cidr(text),
        "mac" => mac(text),
        "uuid" => hex_groups(text, None),
        "uuid3" => hex_groups(text, Some('3')),
        "uuid4" => hex_groups(text, Some('4')),
        "uuid5" => hex_groups(text, Some('5')),
        "byte" => base64(text).is_some(),
        "email" => email(text),
        "uri" => uri(text),
        "hostname" => hostname(text),
        "hexcolor" => HEX_COLOR.as_ref().is_some_and(|r| r.is_match(text)),
        "rgbcolor" => RGB_COLOR.as_ref().is_some_and(|r| r.is_match(text)),
        "bsonobjectid" => text.len() == 24 && text.chars().all(|c| c.is_ascii_hexdigit()),
        "isbn" => isbn10(text) || isbn13(text),
        "isbn10" => isbn10(text),
        "isbn13" => isbn13(text),
        "creditcard" => luhn(text),
        "ssn" => SSN.as_ref().is_some_and(|r| r.is_match(text)),
        "k8s-short-name" => short_name(text),
        "k8s-long-name" => crate::names::dns1123_subdomain(text).is_ok(),
        _ => true,
    }
}

/// Formats of strings that an API server knows, without their dashes.
const KNOWN: [&str; 26] = [
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "k8sshortname",
    "k8slongname",
];

/// The formats in a CustomResourceDefinition that an API server does not know, and so ignores, in order.
///
/// # Source
///
/// apiextensions-apiserver `pkg/registry/customresourcedefinition/strategy.go`, `pkg/apiserver/validation/formats.go`.
#[must_use]
pub fn unknown_formats(crd: &Value) -> Vec<String> {
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
    let mut unknown = Vec::new();
    for schema in versions.filter_map(|version| version.pointer("/schema/openAPIV3Schema")) {
        walk(schema, &mut unknown, 0);
    }
    unknown
}

/// Whether an API server knows the format of values of this type (empty: any).
pub(crate) fn is_known(ty: &str, format: &str) -> bool {
    match ty {
        "" | "string" => KNOWN.contains(&format.replace('-', "").as_str()),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    }
}

fn walk(schema: &Value, unknown: &mut Vec<String>, depth: usize) {
    let text = |key: &str| schema.get(key).and_then(Value::as_str).unwrap_or_default();
    let format = text("format");
    if !format.is_empty() && !is_known(text("type"), format) {
        unknown.push(format.to_owned());
    }
    if depth >= crate::node::MAX_DEPTH {
        return;
    }
    for key in ["items", "additionalProperties", "not"] {
        schema.get(key).into_iter().for_each(|part| walk(part, unknown, depth + 1));
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        let parts = schema.get(key).and_then(Value::as_array).into_iter().flatten();
        parts.for_each(|part| walk(part, unknown, depth + 1));
    }
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties.for_each(|(_, part)| walk(part, unknown, depth + 1));
}

static HEX_COLOR: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$").ok());
static RGB_COLOR: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let part = r"(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])";
    Regex::new(&format!(r"^rgb\(\s*{part}\s*,\s*{part}\s*,\s*{part}\s*\)$")).ok()
});
static SSN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\d{3}[- ]?\d{2}[- ]?\d{4}$").ok());
static DATE_TIME: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)^\d{4}-\d{2}-\d{2}t\d{2}:\d{2}:\d{2}([.,]\d+)?(z|[+-]\d{2}:\d{2})$").ok());
static WORDED_DURATION: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)^((\d+)\s*([A-Za-zµ]+))$").ok());

fn date_time(text: &str) -> bool {
    DATE_TIME.as_ref().is_some_and(|r| r.is_match(text)) && text.parse::<jiff::Timestamp>().is_ok()
}

/// Whether this is a duration of Go (`1h2m`, `-1.5s`, `0`).
pub(crate) fn go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        if number.matches('.').count() > 1 || !number.contains(|c: char| c.is_ascii_digit()) {
            return false;
        }
        let Some(tail) = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"].iter().find_map(|unit| {
            // "m" must not eat the start of "ms".
            tail.strip_prefix(unit).filter(|t| !(*unit == "m" && t.starts_with('s')))
        }) else {
            return false;
        };
        rest = tail;
    }
    true
}

fn duration(text: &str) -> bool {
    if go_duration(text) {
        return true;
    }
    let Some(captures) = WORDED_DURATION.as_ref().and_then(|r| r.captures(text)) else { return false };
    let unit = captures.get(3).map_or("", |m| m.as_str()).to_lowercase();
    const UNITS: [&str; 24] = [
        "ns",
        "nano",
        "us",
        "µs",
        "micro",
        "ms",
        "milli",
        "s",
        "sec",
        "m",
        "min",
        "h",
        "hr",
        "hour",
        "d",
        "day",
        "w",
        "wk",
        "week",
        "second",
        "minute",
        "nanosecond",
        "microsecond",
        "millisecond",
    ];
    UNITS.contains(&unit.as_str()) || unit.strip_suffix('s').is_some_and(|unit| UNITS.contains(&unit))
}

fn cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let max = match address.parse() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    !bits.is_empty()
        && bits.len() <= 3
        && bits.chars().all(|c| c.is_ascii_digit())
        && bits.parse().is_ok_and(|b: u16| b <= max)
}

fn mac(text: &str) -> bool {
    let groups: Vec<&str> = match (text.contains(':'), text.contains('-'), text.contains('.')) {
        (true, false, false) => text.split(':').collect(),
        (false, true, false) => text.split('-').collect(),
        (false, false, true) => text.split('.').collect(),
        _ => return false,
    };
    let width = if text.contains('.') { 4 } else { 2 };
    groups.iter().all(|g| g.len() == width && g.chars().all(|c| c.is_ascii_hexdigit()))
        && matches!(groups.len() * width, 12 | 16 | 40)
}

/// A UUID with or without dashes, of `version` if given.
fn hex_groups(text: &str, version: Option<char>) -> bool {
    let hex: String = text.chars().filter(|c| *c != '-').collect();
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    let dashes = matches!(lengths.as_slice(), [32] | [8, 4, 4, 4, 12])
        || (version.is_none() && hex.len() == 32 && text.len() <= 36);
    let variant = |c: Option<char>| c.is_some_and(|c| matches!(c.to_ascii_lowercase(), '8' | '9' | 'a' | 'b'));
    hex.len() == 32
        && hex.chars().all(|c| c.is_ascii_hexdigit())
        && dashes
        && version.is_none_or(|v| hex.chars().nth(12) == Some(v) && (v == '3' || variant(hex.chars().nth(16))))
}

/// The bytes of a text in base64. Like Go's decoder it ignores the last, unused bits.
pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    const LIKE_GO: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, PAD.with_decode_allow_trailing_bits(true));
    LIKE_GO.decode(text).ok()
}

fn email(text: &str) -> bool {
    let address = match text.split_once('<') {
        Some((_, rest)) => match rest.strip_suffix('>') {
            Some(address) => address,
            None => return false,
        },
        None => text.trim(),
    };
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let atom = |part: &str| {
        !part.is_empty()
            && part.chars().all(|c| {
                !c.is_whitespace()
                    && !c.is_control()
                    && !matches!(c, '(' | ')' | '<' | '>' | '[' | ']' | ':' | ';' | '@' | '\\' | ',' | '"')
            })
    };
    let quoted = local.len() >= 2 && local.starts_with('"') && local.ends_with('"');
    (quoted || local.split('.').all(atom)) && domain.split('.').all(atom)
}

/// As Go's `url.ParseRequestURI`: an absolute URI or an absolute path.
fn uri(text: &str) -> bool {
    if text.is_empty() || text.chars().any(|c| c.is_ascii_control() || c == ' ') {
        return false;
    }
    text.starts_with('/') || url::Url::parse(text).is_ok()
}

fn hostname(text: &str) -> bool {
    let label = |l: &str| {
        (1..=63).contains(&l.chars().count())
            && !l.starts_with('-')
            && !l.ends_with('-')
            && l.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || !c.is_ascii())
    };
    let top = |l: &str| (2..=63).contains(&l.chars().count()) && l.chars().all(char::is_alphabetic);
    let ends_well = text.rsplit_once('.').is_none_or(|(_, last)| top(last));
    text.len() <= 255 && text.split('.').all(label) && ends_well
}

fn short_name(text: &str) -> bool {
    text.len() <= 63 && !text.contains('.') && crate::names::dns1123_subdomain(text).is_ok()
}

fn digits_of(text: &str) -> Vec<u32> {
    text.chars().filter(|c| !matches!(c, '-' | ' ')).map(|c| c.to_digit(10).unwrap_or(10)).collect()
}

fn isbn10(text: &str) -> bool {
    let upper = text.to_uppercase();
    let digits = digits_of(&upper);
    let well_formed = digits.len() == 10
        && digits.iter().take(9).all(|d| *d < 10)
        && (digits.last() != Some(&10) || upper.ends_with('X'));
    well_formed && digits.iter().zip(1u32..).map(|(d, i)| d * i).sum::<u32>().is_multiple_of(11)
}

fn isbn13(text: &str) -> bool {
    let digits = digits_of(text);
    digits.len() == 13
        && digits.iter().all(|d| *d < 10)
        && digits.iter().enumerate().map(|(i, d)| if i % 2 == 0 { *d } else { d * 3 }).sum::<u32>().is_multiple_of(10)
}

fn luhn(text: &str) -> bool {
    let digits = digits_of(text);
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(i, d)| match (i % 2, d * 2) {
            (0, _) => *d,
            (_, double) if double > 9 => double - 9,
            (_, double) => double,
        })
        .sum();
    (13..=19).contains(&digits.len()) && digits.iter().all(|d| *d < 10) && sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// As kube-apiserver 1.36 warns.
    #[test]
    fn a_format_is_known_for_its_type_only_and_a_property_called_format_is_none() {
        let schema = json!({"type": "object", "properties": {
            "format": {"type": "string", "format": "date-time", "default": {"format": "x"}},
            "a": {"type": "integer", "format": "double"},
            "b": {"type": "array", "items": {"type": "string", "format": "colour"}},
            "c": {"type": "object", "additionalProperties": {"type": "number", "format": "float"}},
            "d": {"type": "string", "anyOf": [{"format": "ipv9"}]}}});
        let crd =
            json!({"spec": {"versions": [{"name": "v1"}, {"name": "v2", "schema": {"openAPIV3Schema": schema}}]}});
        assert_eq!(unknown_formats(&crd), ["double", "colour", "ipv9"]);
    }

    #[test]
    fn formats_accept_and_refuse() {
        for (format, good, bad) in [
            ("date-time", &["2024-05-01T00:00:00Z", "2024-05-01T00:00:00.123+02:00"][..], &["2024-05-01", "x", ""][..]),
            ("date", &["2024-02-29"], &["2023-02-29", "2024-2-1", "2024-05-01T00:00:00Z"]),
            ("duration", &["1h", "1m30s", "-1.5h", "0", "100ms", "3 days", "2 weeks"], &["1", "h", "1x", "", "1.2.3s"]),
            ("ipv4", &["10.0.0.1"], &["10.0.0.256", "::1", "10.0.0.01", ""]),
            ("ipv6", &["::1", "fe80::1"], &["10.0.0.1", ":::"]),
            (
                "cidr",
                &["10.0.0.0/8", "fd00::/64"],
                &["10.0.0.0/33", "10.0.0.0", "10.0.0.0/", "fd00::/129", "10.0.0.0/-1"],
            ),
            (
                "mac",
                &["00:11:22:33:44:55", "00-11-22-33-44-55", "0011.2233.4455"],
                &["00:11:22:33:44", "zz:11:22:33:44:55"],
            ),
            ("uuid", &["123e4567-e89b-12d3-a456-426614174000", "123e4567e89b12d3a456426614174000"], &["123e4567", ""]),
            ("uuid4", &["9b2d4e9c-1c9e-4a3b-8f5e-2d6c1c2b3a4f"], &["123e4567-e89b-12d3-a456-426614174000"]),
            ("byte", &["", "YWJj", "YQ==", "YR=="], &["YWJ", "Y!==", "YQ="]),
            ("email", &["a@b.c", "A B <a@b.c>"], &["a", "a@", "@b", "a b@c"]),
            ("uri", &["http://a/b", "/path", "urn:x:y"], &["", "a b", "relative"]),
            ("hostname", &["a.bc", "localhost", "a-b.example"], &["-a", "a..bc", "", "a_b", "a.b", "a.bc."]),
            ("hexcolor", &["#fff", "A0B1C2"], &["#ff", "ggg"]),
            ("rgbcolor", &["rgb(0, 128,255)"], &["rgb(0,0,256)", "0,0,0"]),
            ("isbn", &["0-306-40615-2", "978-0-306-40615-7", "080442957X"], &["0-306-40615-3", "123"]),
            ("creditcard", &["4111111111111111"], &["4111111111111112", "1"]),
            ("ssn", &["123-45-6789"], &["123-45-678"]),
            ("k8s-short-name", &["a-b"], &["A", "a.b", ""]),
            ("k8s-long-name", &["a.b"], &["a..b"]),
            ("something-else", &["anything"], &[]),
        ] {
            for text in good {
                assert!(matches(format, text), "{format} {text:?}");
            }
            for text in bad {
                assert!(!matches(format, text), "{format} {text:?}");
            }
        }
    }
}
