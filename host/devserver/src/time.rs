//! Times in the formats of Kubernetes.

use jiff::Timestamp;

/// The present second: `2026-01-31T12:00:00Z`.
pub(crate) fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A number of seconds from now.
pub(crate) fn in_seconds(seconds: i64) -> String {
    let seconds = seconds.clamp(0, 365 * 24 * 3600);
    let now = Timestamp::now();
    let then = now.checked_add(jiff::SignedDuration::from_secs(seconds)).unwrap_or(now);
    then.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The age of a time, as kubectl prints it; `<unknown>` for an invalid time.
pub(crate) fn age(time: Option<&str>) -> String {
    let Some(then) = time.and_then(|t| t.parse::<Timestamp>().ok()) else { return "<unknown>".to_owned() };
    let seconds = Timestamp::now().as_second().saturating_sub(then.as_second());
    duration(seconds)
}

/// A duration as kubectl prints it: `5s`, `3m20s`, `17m`, `2h5m`, `3d4h`, `400d`, `2y10d`.
pub(crate) fn duration(seconds: i64) -> String {
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let pair = |large: i64, unit: char, small: i64, small_unit: char| {
        if small == 0 { format!("{large}{unit}") } else { format!("{large}{unit}{small}{small_unit}") }
    };
    if seconds < 120 {
        format!("{seconds}s")
    } else if minutes < 10 {
        pair(minutes, 'm', seconds % 60, 's')
    } else if minutes < 180 {
        format!("{minutes}m")
    } else if hours < 8 {
        pair(hours, 'h', minutes % 60, 'm')
    } else if hours < 48 {
        format!("{hours}h")
    } else if days < 8 {
        pair(days, 'd', hours % 24, 'h')
    } else if days < 730 {
        format!("{days}d")
    } else if days < 365 * 8 {
        pair(days / 365, 'y', days % 365, 'd')
    } else {
        format!("{}y", days / 365)
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_are_printed_as_kubectl_does() {
        let cases = [
            (5, "5s"),
            (119, "119s"),
            (125, "2m5s"),
            (660, "11m"),
            (8000, "133m"),
            (11_000, "3h3m"),
            (200_000, "2d7h"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(duration(seconds), expected);
        }
    }
}
