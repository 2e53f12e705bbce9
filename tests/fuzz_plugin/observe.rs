//! What the host's log says of reconciles.

use crate::harness::LogLine;
use jiff::Timestamp;

/// A reconcile that ended.
#[derive(Clone, Debug)]
pub(super) struct Reconciled {
    pub(super) outcome: Outcome,
    /// It is not tried again by itself.
    is_final: bool,
    /// When it ended.
    at: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    /// Desired and actual agree.
    Synced,
    /// It failed, for this reason.
    Failed(String),
    /// Anything else: patched and not there yet, cleaned up, nothing to do.
    Other(String),
}

/// How long nothing else may have come for the last reconcile to count as the last word: two resyncs.
const LASTING: jiff::SignedDuration = jiff::SignedDuration::from_millis(2500);

/// The reconciles of one object, oldest first.
///
/// * `name` - of the object; there is one of that name.
pub(super) fn of_object(lines: &[LogLine], name: &str) -> Vec<Reconciled> {
    let read = |line: &LogLine| {
        let key = line.field("key")?;
        let is_it = key.rsplit(['/', ' ']).next() == Some(name);
        let at = line.field("timestamp")?.parse().ok()?;
        let outcome = match line.field("message")?.as_str() {
            // The host looked whether anything could have changed.
            skipped if skipped.starts_with("resync skipped") && is_it => Outcome::Synced,
            "reconciled" if is_it => match line.field("result")? {
                result if result == "synced" => Outcome::Synced,
                result => Outcome::Other(result),
            },
            "reconcile failed" if is_it => Outcome::Failed(line.field("error")?),
            _ => return None,
        };
        let is_final = line.field("next").is_none_or(|next| ["done", "given up"].contains(&next.as_str()));
        Some(Reconciled { outcome, is_final, at })
    };
    lines.iter().filter_map(read).collect()
}

/// What the last reconciles mean; None: it is not over.
///
/// With resyncs two in a row must agree: the second began after the first ended, so after whatever came before that. Without
/// them the last one stands when nothing came after it, and nothing is going to. A failure must have lasted.
pub(super) fn standing(reconciles: &[Reconciled], resyncs: bool) -> Option<Outcome> {
    let last = reconciles.last()?;
    let lasted = |since: &Reconciled| Timestamp::now().duration_since(since.at) >= LASTING;
    let of_kind = |outcome: &Outcome| std::mem::discriminant(outcome) == std::mem::discriminant(&last.outcome);
    let alike: Vec<&Reconciled> = reconciles.iter().rev().take_while(|one| of_kind(&one.outcome)).collect();
    let over = match (&last.outcome, resyncs) {
        (Outcome::Other(_), _) => false,
        (Outcome::Synced, true) => alike.len() >= 2,
        (Outcome::Failed(_), true) => alike.last().is_some_and(|first| lasted(first)),
        // What is in sync may be looked at again by the clock.
        (Outcome::Synced, false) => lasted(last),
        (Outcome::Failed(_), false) => last.is_final && lasted(last),
    };
    over.then(|| last.outcome.clone())
}
