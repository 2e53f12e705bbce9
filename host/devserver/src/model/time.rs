//! Times in the formats of Kubernetes.

/// The present second: `2026-01-31T12:00:00Z`.
pub(crate) fn now() -> String {
    oarlock_simulation::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A number of seconds from now.
pub(crate) fn in_seconds(seconds: i64) -> String {
    let seconds = seconds.clamp(0, 365 * 24 * 3600);
    let now = oarlock_simulation::now();
    let then = now.checked_add(jiff::SignedDuration::from_secs(seconds)).unwrap_or(now);
    then.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
