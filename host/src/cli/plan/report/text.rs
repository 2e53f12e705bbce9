//! A plan for people: a unified diff for each object, and the summary.

use super::{Noted, Report};
use crate::cli::plan::changes::{Action, Change};
use crate::cli::plan::cluster::Name;
use crate::cli::plan::grants::GrantChange;
use crate::cli::plan::primaries::{Kinds, State};
use crate::cli::plan::unified;
use serde_json::Value;
use std::fmt::Write as _;

/// Of many objects, a list of the summary shows this many.
const LISTED: usize = 20;

/// The difference of one object.
pub(super) fn diff(change: &Change) -> anyhow::Result<String> {
    let yaml = |object: &Value| match object {
        Value::Null => Ok(String::new()),
        object => serde_saphyr::to_string(object),
    };
    let (before, after) = (yaml(&change.before)?, yaml(&change.after)?);
    let name = shown(&change.name);
    let managers: Vec<&str> = change.managers.iter().map(String::as_str).collect();
    let by = if managers.is_empty() { String::new() } else { format!(" by {}", managers.join(", ")) };
    let side =
        |object: &Value, side: &str| if object.is_null() { "/dev/null".to_owned() } else { format!("{side}/{name}") };
    Ok(format!(
        "# {name} {}{by}\n--- {}\n+++ {}\n{}",
        change.action.as_str(),
        side(&change.before, "live"),
        side(&change.after, "planned"),
        unified::hunks(&before, &after)
    ))
}

/// The summary.
pub(super) fn summary(report: &Report) -> String {
    let mut text = String::new();
    let mut line = |line: String| {
        let _ = writeln!(text, "{line}");
    };
    for kinds in &report.found.kinds {
        line(format!("plugin {} {}", kinds.plugin, kinds.version));
        of_plugin(kinds).into_iter().for_each(&mut line);
    }
    for change in report.found.grants.iter().flatten() {
        grant(change).into_iter().for_each(&mut line);
    }
    let (changed, created, deleted) =
        (report.count(Action::Changed), report.count(Action::Created), report.count(Action::Deleted));
    line(format!(
        "{} checked: {} in sync, {} rejected by the grant, {} undecidable, {} waiting",
        objects(report.checked),
        report.in_sync,
        report.rejected.len(),
        report.undecidable.len(),
        report.waiting.len()
    ));
    line(format!("{changed} changed, {created} created, {deleted} deleted"));
    for (heading, list) in [
        ("rejected by the grant", &report.rejected),
        ("undecidable", &report.undecidable),
        ("waiting", &report.waiting),
    ] {
        noted(heading, list).into_iter().for_each(&mut line);
    }
    if !report.found.requests.is_empty() {
        line("HTTP requests with effects, not sent:".to_owned());
    }
    for request in report.found.requests.iter().take(LISTED) {
        let (method, url, body) = (&request.method, &request.url, &request.body_sha256);
        line(format!("  {} {}: {method} {url} body sha256:{body}", request.plugin, request.key));
    }
    more(report.found.requests.len()).into_iter().for_each(&mut line);
    report.found.problems.iter().for_each(|problem| line(format!("error: {problem}")));
    text
}

fn grant(change: &GrantChange) -> Vec<String> {
    let heading = match (&change.before, &change.after) {
        (Some(before), Some(after)) if before == after => format!("grant of {} {after}:", change.plugin),
        (Some(before), Some(after)) => format!("grant of {} {before} -> {after}:", change.plugin),
        (None, Some(after)) => format!("grant of {} {after}, which does not run now:", change.plugin),
        (before, None) => {
            format!("grant of {} {}, which is not in this plan:", change.plugin, before.as_deref().unwrap_or_default())
        }
    };
    let nothing = change.lines.is_empty().then(|| "  unchanged".to_owned());
    let lines = change.lines.iter().chain(&change.rbac).map(|line| format!("  {line}"));
    std::iter::once(heading).chain(nothing).chain(lines).collect()
}

fn of_plugin(kinds: &Kinds) -> Vec<String> {
    let mut lines = Vec::new();
    for primary in &kinds.primaries {
        let of = primary.objects.map_or_else(|| "its objects were not read".to_owned(), objects);
        let kind = &primary.kind;
        match primary.state {
            State::Added => lines.push(format!("  primary {kind} added: {of}, none was reconciled before")),
            State::Dropped => lines.push(format!("  primary {kind} dropped: {of}")),
            State::Kept | State::Unknown => {}
        }
        if primary.left > 0 {
            let left = objects(primary.left);
            lines.push(format!(
                "  finalizer {} left on {left} of {kind}: this version does not remove it",
                kinds.finalizer
            ));
        }
    }
    if kinds.added + kinds.removed > 0 {
        let (added, removed) = (objects(kinds.added), objects(kinds.removed));
        lines.push(format!("  finalizer {} added to {added}, removed from {removed}", kinds.finalizer));
    }
    lines
}

fn noted(heading: &str, list: &[Noted]) -> Vec<String> {
    let line = |noted: &Noted| format!("  {}: {}", shown(&noted.name), noted.reason);
    let first = (!list.is_empty()).then(|| format!("{heading}:"));
    first.into_iter().chain(list.iter().take(LISTED).map(line)).chain(more(list.len())).collect()
}

/// What is left out of a list.
fn more(of: usize) -> Option<String> {
    of.checked_sub(LISTED).filter(|more| *more > 0).map(|more| format!("  and {more} more (-o json has all)"))
}

fn objects(number: usize) -> String {
    if number == 1 { "1 object".to_owned() } else { format!("{number} objects") }
}

/// `v1.ConfigMap.team-a.settings`, as `kubectl diff` names its files.
fn shown(name: &Name) -> String {
    let version = name.kind.api_version().replace('/', ".");
    let parts = [&version, &name.kind.kind, &name.namespace, &name.name];
    parts.into_iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join(".")
}
