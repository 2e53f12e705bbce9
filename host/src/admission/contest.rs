//! Contested webhook configurations: exponential backoff of repairs, and the field manager that changes what the host wrote.

use crate::apply::HOST;
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::Instant;

/// Backoff after the first repair; each further repair doubles it.
const FIRST: Duration = Duration::from_millis(500);

/// Longest backoff.
const LONGEST: Duration = Duration::from_secs(60);

/// A contest is over after this time without a repair. GitOps tools check more often than that.
const QUIET: Duration = Duration::from_secs(300);

/// Rivals that are reported in one contest; a client that changes its name each time gets no more events.
const MOST_RIVALS: usize = 64;

/// A person who edits twice is no contest.
const EDITS: u32 = 2;

/// The repairs of one configuration.
#[derive(Debug, Default)]
pub(super) struct Contest {
    repairs: u32,
    last: Option<Instant>,
    reported: BTreeSet<String>,
}

impl Contest {
    /// Whether a repair may be written now. The first one always may.
    pub(super) fn due(&mut self, now: Instant) -> bool {
        let Some(last) = self.last else { return true };
        let since = now.saturating_duration_since(last);
        if since >= QUIET {
            *self = Self::default();
        }
        since >= self.pause()
    }

    /// Records a repair.
    pub(super) fn repaired(&mut self, now: Instant) {
        self.repairs = self.repairs.saturating_add(1);
        self.last = Some(now);
    }

    /// Whether the repairs exceed those of a person's edits.
    pub(super) fn lasts(&self) -> bool {
        self.repairs >= EDITS
    }

    /// Whether this rival is new in the contest; the call records it.
    pub(super) fn report(&mut self, rival: &str) -> bool {
        self.reported.len() < MOST_RIVALS && self.reported.insert(rival.to_owned())
    }

    fn pause(&self) -> Duration {
        let Some(doublings) = self.repairs.checked_sub(1) else { return Duration::ZERO };
        2u32.checked_pow(doublings)
            .and_then(|factor| FIRST.checked_mul(factor))
            .map_or(LONGEST, |pause| pause.min(LONGEST))
    }
}

/// A description of the client that changed a configuration after the host's last write.
///
/// An apply of another host has the same field manager as this host. An update that only removes fields is not in managedFields, and
/// neither is a deletion.
///
/// * `live` - the configuration with all its managedFields. None: it was deleted.
pub(super) fn rival(live: Option<&Value>) -> String {
    let Some(live) = live else { return "a client that deletes it".to_owned() };
    let text = |entry: &Value, field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let entries = live.pointer("/metadata/managedFields").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is_own = |entry: &&Value| text(entry, "manager") == HOST && text(entry, "operation") == "Apply";
    let own = entries.iter().find(is_own);
    // All times are UTC with seconds, so they compare as text.
    let since = own.map(|own| text(own, "time")).unwrap_or_default();
    let others = entries.iter().filter(|entry| !is_own(entry) && text(entry, "time") >= since);
    let newest = others.clone().map(|entry| text(entry, "time")).max().unwrap_or_default();
    let names: BTreeSet<String> =
        others.filter(|entry| text(entry, "time") == newest).map(|entry| text(entry, "manager")).collect();
    if !names.is_empty() {
        return format!("field manager {}", names.into_iter().collect::<Vec<_>>().join(" or "));
    }
    let webhooks = own.and_then(|own| own.pointer("/fieldsV1/f:webhooks")?.as_object());
    if webhooks.is_some_and(|webhooks| webhooks.keys().any(|key| key.starts_with("k:"))) {
        return format!("another host with field manager {HOST}");
    }
    "a client that managedFields does not name".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test(start_paused = true)]
    async fn repairs_come_further_and_further_apart_and_at_once_again_after_a_quiet_time() {
        let mut contest = Contest::default();
        let mut pauses = Vec::new();
        for _ in 0..12 {
            let from = Instant::now();
            while !contest.due(Instant::now()) {
                tokio::time::advance(Duration::from_millis(100)).await;
            }
            pauses.push(from.elapsed().as_secs_f32());
            contest.repaired(Instant::now());
        }
        assert_eq!(pauses, [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 60.0]);
        assert!(contest.lasts() && contest.report("a") && !contest.report("a"));
        let reported = (0..1000).filter(|number| contest.report(&number.to_string())).count();
        assert_eq!(reported, MOST_RIVALS - 1, "a rival that changes its name is not remembered for ever");
        tokio::time::advance(QUIET).await;
        assert!(contest.due(Instant::now()) && !contest.lasts());
        contest.repaired(Instant::now());
        assert!(!contest.due(Instant::now()));
        tokio::time::advance(FIRST).await;
        assert!(contest.due(Instant::now()));
        assert!(contest.report("a"), "a contest that begins anew is reported anew");
    }

    #[test]
    fn the_rival_is_the_manager_that_wrote_since_we_did() {
        let entry = |manager: &str, operation: &str, second: u32, fields: Value| json!({"manager": manager, "operation": operation, "time": format!("2026-01-01T00:00:{second:02}Z"), "fieldsV1": fields});
        let ours = |second| entry(HOST, "Apply", second, json!({"f:webhooks": {".": {}, "k:{\"name\":\"a\"}": {}}}));
        let said = |entries: &[Value]| rival(Some(&json!({"metadata": {"managedFields": entries}})));
        let webhooks = || json!({"f:webhooks": {}});
        assert_eq!(
            said(&[entry("kubectl-edit", "Update", 5, webhooks()), ours(7), entry("argocd", "Update", 8, webhooks())]),
            "field manager argocd"
        );
        assert_eq!(
            said(&[ours(7), entry("argocd", "Update", 7, webhooks())]),
            "field manager argocd",
            "the same second"
        );
        assert_eq!(
            said(&[entry("kubectl-edit", "Update", 5, webhooks()), ours(7)]),
            "another host with field manager oarlock",
            "an edit of long ago is not about this"
        );
        let emptied = entry(HOST, "Apply", 7, json!({"f:metadata": {"f:labels": {}}}));
        assert_eq!(said(&[emptied]), "a client that managedFields does not name");
        assert_eq!(said(&[entry("flux", "Apply", 3, webhooks())]), "field manager flux");
        assert_eq!(said(&[]), "a client that managedFields does not name");
        assert_eq!(rival(None), "a client that deletes it");
    }
}
