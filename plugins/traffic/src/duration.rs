//! Durations in Kubernetes' notation: `1h30m`, `15s`, `250ms`.

/// The seconds of a duration. None: it is not one, or longer than a day.
pub(crate) fn seconds(text: &str) -> Option<f64> {
    const DAY: f64 = 86_400.0;
    let mut rest = text;
    let mut sum = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u32 = rest.get(..digits)?.parse().ok()?;
        let units = rest.get(digits..)?;
        let (unit, length) = match units {
            _ if units.starts_with("ms") => (0.001, 2),
            _ if units.starts_with('h') => (3600.0, 1),
            _ if units.starts_with('m') => (60.0, 1),
            _ if units.starts_with('s') => (1.0, 1),
            _ => return None,
        };
        sum += f64::from(number) * unit;
        rest = units.get(length..)?;
    }
    (!text.is_empty() && sum <= DAY).then_some(sum)
}

/// A duration in the JSON of protobuf: `90s`, `0.250s`. None: it is not one.
pub(crate) fn protobuf(text: &str) -> Option<String> {
    let seconds = seconds(text)?;
    Some(if seconds.fract() == 0.0 { format!("{seconds}s") } else { format!("{seconds:.3}s") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_written_for_envoy() {
        for (text, written) in [
            ("15s", Some("15s")),
            ("1m30s", Some("90s")),
            ("250ms", Some("0.250s")),
            ("1h1ms", Some("3600.001s")),
            ("0s", Some("0s")),
            ("24h", Some("86400s")),
            ("24h1ms", None),
            ("", None),
            ("15", None),
            ("s", None),
            ("1.5s", None),
            ("-1s", None),
            ("1d", None),
            ("99999999999s", None),
            ("1sé", None),
        ] {
            assert_eq!(protobuf(text).as_deref(), written, "{text}");
        }
    }
}
