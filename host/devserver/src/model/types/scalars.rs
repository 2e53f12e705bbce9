//! Scalar values: accepted forms, Go's conversion, and its error messages.

use base64::{DecodeError, Engine as _, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde_json::Value;

use crate::model::quantity;

/// The names of a value's type in JSON and in Go's reflection.
pub(super) fn kind(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", "invalid"),
        Value::Bool(_) => ("bool", "bool"),
        Value::Number(n) if n.is_f64() => ("number", "float64"),
        Value::Number(_) => ("number", "int64"),
        Value::String(_) => ("string", "string"),
        Value::Array(_) => ("array", "slice"),
        Value::Object(_) => ("object", "map"),
    }
}

/// Whether Go omits a value; a struct is never empty.
pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(_) | Value::Object(_) => false,
    }
}

/// Base64 may have several lines, as kustomize writes it and people write a webhook's bundle; it is stored in one line.
pub(super) fn bytes(value: &mut Value) -> Result<(), String> {
    let Value::String(text) = value else { return Ok(()) };
    text.retain(|c| c != '\n' && c != '\r');
    let at = match STANDARD.decode(text.as_bytes()) {
        Ok(_) => return Ok(()),
        Err(DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _)) => at,
        Err(DecodeError::InvalidLength(length)) => length,
        Err(DecodeError::InvalidPadding) => text.len(),
    };
    Err(format!("illegal base64 data at input byte {at}"))
}

/// A time in UTC; `micro` with six digits of the second.
pub(super) fn time(value: &mut Value, micro: bool) -> Result<(), String> {
    let text = match &*value {
        Value::Null => return Ok(()),
        Value::String(text) => text.clone(),
        other => return Err(format!("json: cannot unmarshal {} into Go value of type string", kind(other).0)),
    };
    let layout = if micro { "2006-01-02T15:04:05.000000Z07:00" } else { "2006-01-02T15:04:05Z07:00" };
    check_time(&text, layout, micro)?;
    let parsed: Timestamp = text.parse().map_err(|e: jiff::Error| format!("parsing time \"{text}\": {e}"))?;
    let format = if micro { "%Y-%m-%dT%H:%M:%S.%6fZ" } else { "%Y-%m-%dT%H:%M:%SZ" };
    *value = parsed.strftime(format).to_string().into();
    Ok(())
}

/// Go's message for the first part that does not fit the layout.
fn check_time(text: &str, layout: &str, micro: bool) -> Result<(), String> {
    let mut rest = text;
    let cannot = |rest: &str, part: &str| {
        Err(format!("parsing time \"{text}\" as \"{layout}\": cannot parse \"{rest}\" as \"{part}\""))
    };
    let parts = [
        ("2006", 4),
        ("-", 0),
        ("01", 2),
        ("-", 0),
        ("02", 2),
        ("T", 0),
        ("15", 2),
        (":", 0),
        ("04", 2),
        (":", 0),
        ("05", 2),
    ];
    for (part, digits) in parts {
        let width = if digits == 0 { 1 } else { digits };
        let fits = rest
            .get(..width)
            .is_some_and(|head| if digits == 0 { head == part } else { head.bytes().all(|b| b.is_ascii_digit()) });
        if !fits {
            return cannot(rest, part);
        }
        rest = rest.get(width..).unwrap_or_default();
    }
    let fraction = rest.strip_prefix('.').map_or(0, |tail| 1 + tail.bytes().take_while(u8::is_ascii_digit).count());
    if micro && fraction != 7 {
        return cannot(rest, ".000000");
    }
    rest = rest.get(fraction..).unwrap_or_default();
    let zone = rest == "Z" || (rest.len() == 6 && rest.starts_with(['+', '-']));
    if zone { Ok(()) } else { cannot(rest, "Z07:00") }
}

/// A quantity in its canonical spelling.
pub(super) fn quantity(value: &mut Value) -> Result<(), String> {
    let text = match &*value {
        Value::Null => return Ok(()),
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    };
    match quantity::canonical(&text) {
        Some(canonical) => *value = canonical.into(),
        None if quantity::is_written_well(&text) => {
            return Err("unable to parse quantity's suffix".to_owned());
        }
        None => {
            let pattern = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$";
            return Err(format!("quantities must match the regular expression '{pattern}'"));
        }
    }
    Ok(())
}

/// A number of 32 bits or a text.
pub(super) fn int_or_string(value: &Value) -> Result<(), String> {
    let found = match value {
        Value::Null | Value::String(_) => return Ok(()),
        Value::Number(n) if n.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) => return Ok(()),
        Value::Number(n) => format!("number {n}"),
        other => kind(other).0.to_owned(),
    };
    Err(format!("json: cannot unmarshal {found} into Go value of type int32"))
}
