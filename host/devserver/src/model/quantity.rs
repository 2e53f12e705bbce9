//! Quantities in their canonical spelling: `1000m` is `1`, `1024Mi` is `1Gi`.

use serde_json::Value;

const BINARY: &[(&str, u32)] = &[("Ki", 1), ("Mi", 2), ("Gi", 3), ("Ti", 4), ("Pi", 5), ("Ei", 6)];
/// Suffix and power of thousand, from nano.
const DECIMAL: &[(&str, u32)] =
    &[("n", 0), ("u", 1), ("m", 2), ("", 3), ("k", 4), ("M", 5), ("G", 6), ("T", 7), ("P", 8), ("E", 9)];

/// The canonical form; `None` for an invalid quantity, or one too large or fine for this parser.
pub(crate) fn canonical(text: &str) -> Option<String> {
    let digits = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-'))).unwrap_or(text.len());
    let (number, suffix) = text.split_at_checked(digits)?;
    if let Some((_, power)) = BINARY.iter().find(|(s, _)| *s == suffix) {
        let nano = nanos(number)?.checked_mul(1024_i128.checked_pow(*power)?)?;
        return Some(binary(nano).unwrap_or_else(|| decimal(nano)));
    }
    if let Some((_, power)) = DECIMAL.iter().find(|(s, _)| *s == suffix) {
        // `number` is in units of the suffix; nanos() counts in units of one.
        let scaled = nanos(number)?.checked_mul(1000_i128.checked_pow(*power)?)?;
        return Some(decimal(scaled / 1_000_000_000));
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    let base = nanos(number)?;
    let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
    let scaled = if exponent < 0 { base / power } else { base.checked_mul(power)? };
    Some(exponential(scaled).unwrap_or_else(|| decimal(scaled)))
}

/// The value of a quantity in billionths.
pub(crate) fn value(text: &str) -> Option<i128> {
    let digits = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-'))).unwrap_or(text.len());
    let (number, suffix) = text.split_at_checked(digits)?;
    let base = nanos(number)?;
    if let Some((_, power)) = BINARY.iter().find(|(s, _)| *s == suffix) {
        return base.checked_mul(1024_i128.checked_pow(*power)?);
    }
    if let Some((_, power)) = DECIMAL.iter().find(|(s, _)| *s == suffix) {
        return Some(base.checked_mul(1000_i128.checked_pow(*power)?)? / 1_000_000_000);
    }
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
    if exponent < 0 { Some(base / power) } else { base.checked_mul(power) }
}

/// Whether a text has the form of a quantity, even with an unknown suffix.
pub(crate) fn is_written_well(text: &str) -> bool {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let tail = rest.trim_start_matches(|c: char| "eEinumkKMGTP".contains(c));
    let tail = tail.strip_prefix(['+', '-']).unwrap_or(tail);
    rest.len() < text.len() && tail.bytes().all(|b| b.is_ascii_digit())
}

/// A decimal number in billionths; finer digits are rounded up.
fn nanos(text: &str) -> Option<i128> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if (whole.is_empty() && fraction.is_empty()) || whole.len() > 20 {
        return None;
    }
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let kept: String = fraction.chars().chain(std::iter::repeat('0')).take(9).collect();
    let rounded = i128::from(fraction.bytes().skip(9).any(|b| b != b'0'));
    let value = whole.checked_mul(1_000_000_000)?.checked_add(kept.parse::<i128>().ok()?)?.checked_add(rounded)?;
    Some(if negative { -value } else { value })
}

fn decimal(nano: i128) -> String {
    if nano == 0 {
        return "0".to_owned();
    }
    let mut best = (nano, "n");
    for (suffix, power) in DECIMAL {
        let unit = 1000_i128.pow(*power);
        if nano % unit == 0 {
            best = (nano / unit, suffix);
        }
    }
    format!("{}{}", best.0, best.1)
}

fn binary(nano: i128) -> Option<String> {
    if nano % 1_000_000_000 != 0 {
        return None;
    }
    let value = nano / 1_000_000_000;
    if value == 0 {
        return Some("0".to_owned());
    }
    // Below one Ki the binary form has no suffix of its own.
    if value.abs() < 1024 {
        return Some(value.to_string());
    }
    let mut best = (value, "");
    for (suffix, power) in BINARY {
        let unit = 1024_i128.pow(*power);
        if value % unit == 0 {
            best = (value / unit, suffix);
        }
    }
    Some(format!("{}{}", best.0, best.1))
}

fn exponential(nano: i128) -> Option<String> {
    if nano == 0 || nano % 1_000_000_000 != 0 {
        return None;
    }
    let (mut value, mut exponent) = (nano / 1_000_000_000, 0);
    while value % 1000 == 0 {
        value /= 1000;
        exponent += 3;
    }
    Some(if exponent == 0 { value.to_string() } else { format!("{value}e{exponent}") })
}

/// Converts a quantity to its canonical form; an invalid one stays for validation.
pub(crate) fn normalize(value: &mut Value) {
    let text = match &*value {
        Value::String(s) => s.clone(),
        Value::Number(n) => n.to_string(),
        _ => return,
    };
    if let Some(canonical) = canonical(&text) {
        *value = canonical.into();
    }
}

/// [`normalize`] for every member of a map.
pub(crate) fn normalize_all(map: Option<&mut Value>) {
    for value in map.and_then(Value::as_object_mut).into_iter().flat_map(|m| m.values_mut()) {
        normalize(value);
    }
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn quantities_are_spelled_canonically() {
        let cases = [
            ("0.5", "500m"),
            ("1000m", "1"),
            ("1024Mi", "1Gi"),
            ("1500Mi", "1500Mi"),
            ("0.5Gi", "512Mi"),
            ("1.5", "1500m"),
            ("1e3", "1e3"),
            ("1000", "1k"),
            ("100M", "100M"),
            ("0", "0"),
            ("-2000", "-2k"),
        ];
        for (text, expected) in cases {
            assert_eq!(canonical(text).as_deref(), Some(expected), "{text}");
        }
        for bad in ["", "x", "1.2.3", "--1", "1Q", "."] {
            assert_eq!(canonical(bad), None, "{bad}");
        }
    }
}
