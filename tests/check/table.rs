//! The table of seeded bugs in docs/check.md has what the tests find.

use super::{BUGS, BUGS_IN_GO, BUGS_IN_JS, UPGRADE, services};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::repository_root;
use std::collections::BTreeSet;
use std::fs;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    language: String,
    mode: String,
    oracle: String,
    cases: String,
}

/// The rows of the table.
fn documented() -> Result<Vec<Row>> {
    let text = fs::read_to_string(repository_root().join("docs/check.md"))?;
    let table = text.lines().skip_while(|line| *line != "| bug | guest, mode | oracle | cases |");
    let mut rows = Vec::new();
    for line in table.skip(2).take_while(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [_, guest, oracle, cases] = cells.as_slice() else { anyhow::bail!("not four cells: {line}") };
        let (language, mode) = guest.split_once(' ').with_context(|| format!("no mode: {line}"))?;
        let (mode, oracle) = (mode.trim_matches('`').to_owned(), oracle.trim_matches('`').to_owned());
        rows.push(Row { language: language.to_owned(), mode, oracle, cases: (*cases).to_owned() });
    }
    Ok(rows)
}

fn language(plugin: &str) -> &'static str {
    match plugin {
        "seeded-js" => "JavaScript",
        "seeded-go" => "Go",
        _ => "Rust",
    }
}

#[test]
fn the_table_of_seeded_bugs_has_those_that_the_tests_find() -> Result<()> {
    let all = [("seeded", &BUGS[..]), ("seeded", &services::BUGS), ("seeded", &[UPGRADE]), ("seeded-js", &BUGS_IN_JS)];
    let all = all.into_iter().chain([("seeded-go", &BUGS_IN_GO[..])]);
    let rows = all.flat_map(|(plugin, bugs)| {
        bugs.iter().map(move |(mode, oracle, cases)| Row {
            language: language(plugin).to_owned(),
            mode: (*mode).to_owned(),
            oracle: (*oracle).to_owned(),
            cases: cases.to_string(),
        })
    });
    let tested: BTreeSet<Row> = rows.collect();
    let documented = documented()?;
    let count = documented.len();
    let shown: BTreeSet<Row> = documented.into_iter().collect();
    ensure!(shown.len() == count, "a row is there twice");
    let (missing, unknown): (Vec<_>, Vec<_>) =
        (tested.difference(&shown).collect(), shown.difference(&tested).collect());
    ensure!(
        missing.is_empty() && unknown.is_empty(),
        "docs/check.md lacks {missing:#?}, has without a test {unknown:#?}"
    );
    // Every mode of the guests has its bug found.
    let guests = fs::read_to_string(repository_root().join("tests/guests/seeded/src/lib.rs"))?;
    let tables = guests.lines().filter_map(|line| line.strip_prefix("//! | `")?.split_once("` | "));
    let modes: BTreeSet<&str> = tables.map(|(mode, _)| mode).filter(|mode| *mode != "ok").collect();
    let found: BTreeSet<&str> = tested.iter().map(|row| row.mode.as_str()).filter(|mode| *mode != UPGRADE.0).collect();
    ensure!(modes == found, "modes of the guests {modes:?}, bugs of the tests {found:?}");
    Ok(())
}
