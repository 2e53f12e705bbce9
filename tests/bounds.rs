//! The table of ARCHITECTURE.md about work for guests: it is complete, and says what the code says.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::repository_root;
use regex::Regex;
use serde_json::Value;
use std::{collections::BTreeSet, fs, path::Path};

/// One row: what is done, where, and how it is bounded.
struct Row {
    work: String,
    code: Vec<String>,
    bounds: Vec<String>,
}

fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn rows(text: &str) -> Result<Vec<Row>> {
    let (_, table) = text.split_once("| work | code | bound | charged to |\n").context("no table")?;
    table
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
            let [work, code, bounds, _charged] = cells[..] else { anyhow::bail!("not four cells: {line}") };
            Ok(Row { work: work.to_owned(), code: quoted(code), bounds: quoted(bounds) })
        })
        .collect()
}

/// `interface.function` for each function of the contract.
fn functions(contract: &str) -> Result<BTreeSet<String>> {
    let (interface, function) = (Regex::new(r"^interface ([a-z-]+) \{")?, Regex::new(r"^  ([a-z-]+): func\(")?);
    let (mut within, mut all) = (String::new(), BTreeSet::new());
    for line in contract.lines() {
        if let Some(found) = interface.captures(line) {
            within = found[1].to_owned();
        } else if let Some(found) = function.captures(line) {
            all.insert(format!("{within}.{}", &found[1]));
        }
    }
    Ok(all)
}

/// What is wrong with a table.
fn faults(rows: &[Row], root: &Path) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let told: BTreeSet<String> = rows.iter().flat_map(|row| quoted(&row.work)).collect();
    let contract = functions(&fs::read_to_string(root.join("wit/reconciler.wit"))?)?;
    ensure!(contract.len() > 10, "only {contract:?}");
    faults.extend(contract.difference(&told).map(|function| format!("{function} is in no row")));
    let schema: Value = serde_json::from_str(&fs::read_to_string(root.join("wit/grant.schema.json"))?)?;
    let limits = schema.pointer("/$defs/Limits/properties").and_then(Value::as_object).context("no limits")?;
    for row in rows {
        let mut sources = String::new();
        for file in &row.code {
            match fs::read_to_string(root.join(file)) {
                Ok(text) => sources.push_str(&text),
                Err(_) => faults.push(format!("{}: there is no {file}", row.work)),
            }
        }
        for bound in &row.bounds {
            let holds = match (bound.strip_prefix("limits."), bound.split_once(" = ")) {
                (Some(limit), _) => limits.contains_key(limit),
                (None, Some((name, value))) => {
                    let constant = format!(r"const {}: [A-Za-z0-9]+ = {};", regex::escape(name), regex::escape(value));
                    Regex::new(&constant)?.is_match(&sources)
                }
                (None, None) => false,
            };
            if !holds {
                faults.push(format!("{}: the code does not say {bound}", row.work));
            }
        }
        if row.code.is_empty() || row.bounds.is_empty() && !row.work.contains("key comes back") {
            faults.push(format!("{}: without code or bound", row.work));
        }
    }
    let folder = fs::read_dir(root.join("host/src/plugin/capabilities"))?;
    for entry in folder {
        let path = entry?.path();
        let named = path.strip_prefix(root)?.display().to_string();
        let serves = path.is_file() && fs::read_to_string(&path)?.contains("Host for State");
        if serves && !rows.iter().any(|row| row.code.contains(&named)) {
            faults.push(format!("{named} has host functions and is in no row"));
        }
    }
    Ok(faults)
}

#[test]
fn every_work_for_a_guest_is_listed_with_the_bound_it_has() -> Result<()> {
    let root = repository_root();
    let rows = rows(&fs::read_to_string(root.join("ARCHITECTURE.md"))?)?;
    let faults = faults(&rows, &root)?;
    ensure!(faults.is_empty(), "ARCHITECTURE.md, work done for guests: {faults:#?}");
    Ok(())
}

#[test]
fn a_work_that_is_missing_and_a_bound_that_is_another_are_found() -> Result<()> {
    let root = repository_root();
    let text = fs::read_to_string(root.join("ARCHITECTURE.md"))?;
    for (from, to, told) in [
        ("`http.send` |", "`http.sent` |", "http.send is in no row"),
        ("`MOST_OPERATIONS = 10_000`", "`MOST_OPERATIONS = 20_000`", "does not say MOST_OPERATIONS = 20_000"),
        ("`limits.readKib`", "`limits.readMib`", "does not say limits.readMib"),
        ("`host/src/apply/events.rs`", "`host/src/apply/event.rs`", "there is no host/src/apply/event.rs"),
        ("`host/src/plugin/capabilities/merge.rs`, ", "", "merge.rs has host functions and is in no row"),
    ] {
        let changed = text.replace(from, to);
        ensure!(changed != text, "{from} is not there");
        let found = faults(&rows(&changed)?, &root)?;
        ensure!(found.iter().any(|fault| fault.contains(told)), "{told}: {found:?}");
    }
    Ok(())
}

/// The crates below the host whose maps live as long as it does.
const CRATES: [&str; 5] = ["api", "informer", "lease", "oci", "workqueue"];

/// Files with a map among the fields of a type.
fn files_with_maps(folder: &Path, root: &Path, found: &mut BTreeSet<String>) -> Result<()> {
    let map = Regex::new(
        r"\n    (pub(\([a-z]+\))? )?[a-z_]+: [^\n]*(HashMap|BTreeMap|HashSet|BTreeSet|VecDeque|Slab)<[^\n]*,\n",
    )?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            files_with_maps(&path, root, found)?;
        } else if path.is_file() && !["tests", "model", "interleavings"].contains(&name.as_str()) {
            let text = fs::read_to_string(&path)?;
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            // A field that borrows is gone before the function that made it.
            if map.find_iter(code).any(|field| !field.as_str().contains('&')) {
                found.insert(path.strip_prefix(root)?.display().to_string());
            }
        }
    }
    Ok(())
}

#[test]
fn every_map_of_the_host_is_in_docs_memory() -> Result<()> {
    let root = repository_root();
    let document = fs::read_to_string(root.join("docs/memory.md"))?;
    let sources = root.join("host/src");
    let mut files = BTreeSet::new();
    files_with_maps(&sources, &sources, &mut files)?;
    let mut folders = vec![sources.clone()];
    for name in CRATES {
        let folder = root.join("host").join(name).join("src");
        files_with_maps(&folder, &root.join("host"), &mut files)?;
        folders.push(folder);
    }
    ensure!(files.len() > 20, "only {files:?}");
    let missing: Vec<_> = files.iter().filter(|file| !document.contains(&format!("`{file}`"))).collect();
    ensure!(missing.is_empty(), "docs/memory.md does not say what bounds the maps of {missing:?}");
    let mut tests = String::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                tests.push_str(&fs::read_to_string(path)?);
            }
        }
    }
    let gauges = fs::read_to_string(sources.join("runtime/gauges.rs"))?;
    let shown: BTreeSet<&str> = gauges.split("set_map(\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    for row in document.lines().filter(|line| line.starts_with("| ") && line.contains(".rs`")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let [map, _, _, _, held] = cells[..] else { anyhow::bail!("not five cells: {row}") };
        for test in quoted(held) {
            ensure!(tests.contains(&format!("fn {test}(")), "{map}: there is no test {test}");
        }
        for name in quoted(map) {
            ensure!(shown.contains(name.as_str()), "no gauge shows the map {name}");
        }
    }
    let unknown: Vec<_> = shown.iter().filter(|name| !document.contains(&format!("`{name}`"))).collect();
    ensure!(unknown.is_empty(), "docs/memory.md does not list {unknown:?}");
    Ok(())
}
