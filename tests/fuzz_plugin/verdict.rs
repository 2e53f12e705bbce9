//! What must hold, and where two worlds differ. No IO.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Oracle {
    /// Every object comes to an end: in sync, or an error that is told. In sync means that what was asked for is there.
    Converges,
    /// The end depends on the last objects, not on what was before.
    PathIndependent,
    /// What is invalid is refused and what is valid is not; an error is told; a valid object recovers.
    Invalid,
    /// What is deleted leaves nothing behind, in Kubernetes or elsewhere.
    LeavesNothing,
    /// Nothing is written while nothing changes.
    Quiet,
    /// A change costs a bounded number of writes.
    Bounded,
    /// The host and the API server keep their feet.
    Unharmed,
}

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which.
    pub oracle: Oracle,
    /// What was seen instead.
    pub text: String,
}

impl Finding {
    pub(super) fn new(oracle: Oracle, text: impl Into<String>) -> Self {
        Self { oracle, text: text.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.oracle, self.text)
    }
}

/// What the host says of an object in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Desired and actual agree.
    InSync,
    /// The last reconciles failed, for this reason.
    Error(String),
}

/// A world in the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// What the host says, by the name of the object.
    pub verdicts: BTreeMap<String, Verdict>,
    /// Names of objects in which something was changed that only the plugin knows cannot be: they may fail.
    pub drifted: BTreeSet<String>,
    /// Everything there is but what was there before, a line for each thing, without what differs from world to world.
    pub outside: Vec<String>,
}

/// Where a world that was played in differs from a fresh one with the same last objects.
///
/// What hangs on an object that failed in both is not compared: it may well be as it was before.
#[must_use]
pub fn compare(played: &Seen, fresh: &Seen) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut excused: BTreeSet<&str> = BTreeSet::new();
    for (name, in_fresh) in &fresh.verdicts {
        let different = match (played.verdicts.get(name), in_fresh) {
            (Some(Verdict::InSync), Verdict::InSync) => continue,
            (Some(Verdict::InSync), Verdict::Error(why)) => {
                format!("{name} is in sync after what went before, while it fails in a fresh world: {why}")
            }
            (Some(Verdict::Error(why)), Verdict::InSync) if !played.drifted.contains(name) => {
                format!("{name} fails after what went before, while it is in sync in a fresh world: {why}")
            }
            (Some(Verdict::Error(_)), _) => {
                excused.insert(name);
                continue;
            }
            (None, _) => format!("{name} is not there"),
        };
        findings.push(Finding::new(Oracle::PathIndependent, different));
    }
    let about = |line: &&String| !excused.iter().any(|name| line.contains(name));
    let mut only_fresh: Vec<&String> = fresh.outside.iter().filter(about).collect();
    let mut only_played = Vec::new();
    for line in played.outside.iter().filter(about) {
        match only_fresh.iter().position(|other| *other == line) {
            Some(at) => drop(only_fresh.swap_remove(at)),
            None => only_played.push(line),
        }
    }
    for line in only_played {
        let nearest = only_fresh.iter().copied().max_by_key(|other| alike(line, other));
        let nearest = nearest.filter(|other| alike(line, other) * 2 > line.len());
        let text = match nearest {
            Some(other) => {
                only_fresh.iter().position(|one| *one == other).map(|at| only_fresh.swap_remove(at));
                let (played, fresh) = (around(line, other), around(other, line));
                format!("not as in a fresh world: {played}\n  there: {fresh}\n  in: {line}")
            }
            None => format!("only after what went before: {line}"),
        };
        findings.push(Finding::new(Oracle::PathIndependent, text));
    }
    let missing = only_fresh.iter().map(|line| format!("only in a fresh world with the last objects: {line}"));
    findings.extend(missing.map(|text| Finding::new(Oracle::PathIndependent, text)));
    findings
}

/// How many bytes two lines have in common at the beginning and at the end.
fn alike(one: &str, other: &str) -> usize {
    let (one, other) = (one.trim(), other.trim());
    let before = common(one, other);
    let after = one.bytes().rev().zip(other.bytes().rev()).take_while(|(a, b)| a == b).count();
    before + after.min(one.len().min(other.len()) - before)
}

/// How many bytes two lines have in common at the beginning.
fn common(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count()
}

/// The part of a line where it begins to differ from another.
fn around(line: &str, other: &str) -> String {
    let from = common(line, other).saturating_sub(60);
    let part: String =
        String::from_utf8_lossy(line.as_bytes().get(from..).unwrap_or_default()).chars().take(160).collect();
    format!("…{part}…")
}
