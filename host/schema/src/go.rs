//! Go's formatting of values, as in the messages of an API server.

use serde_json::Value;

/// A string as `%q` prints it.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 || c == '\u{7f}' => out.push_str(&format!("\\x{:02x}", c as u32)),
            c if c.is_control() || c == '\u{feff}' || c == '\u{200b}' => {
                out.push_str(&format!("\\u{:04x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A float as `%v` prints it: shortest digits, with an exponent below 1e-4 and from 1e6.
pub(crate) fn float(f: f64) -> String {
    if f == 0.0 {
        return if f.is_sign_negative() { "-0".to_owned() } else { "0".to_owned() };
    }
    let scientific = format!("{f:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return format!("{f}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// A number in a message: integers plainly, floats as [`float`].
pub(crate) fn number(n: &serde_json::Number) -> String {
    if n.is_i64() || n.is_u64() { n.to_string() } else { float(n.as_f64().unwrap_or(0.0)) }
}

/// A value as `field.Error` prints it: strings quoted, null as `"null"`, lists and objects as JSON.
pub(crate) fn value(v: &Value) -> String {
    match v {
        Value::Null => quote("null"),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => number(n),
        Value::String(s) => quote(s),
        Value::Array(_) | Value::Object(_) => v.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_go_prints_them() {
        for (f, expect) in [
            (1.5, "1.5"),
            (0.0, "0"),
            (1e6, "1e+06"),
            (1_234_567.0, "1.234567e+06"),
            (1e-7, "1e-07"),
            (100.0, "100"),
            (-2.25, "-2.25"),
        ] {
            assert_eq!(float(f), expect);
        }
    }

    #[test]
    fn strings_are_quoted_with_go_escapes() {
        assert_eq!(quote("a\"b\\\n\u{1}é"), "\"a\\\"b\\\\\\n\\x01é\"");
    }
}
