//! Every test that SECURITY.md names exists: a promise without a test is none.

use anyhow::{Result, ensure};
use oarlock_tests::harness::repository_root;
use regex::Regex;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// All tests, by the module they are in as a path: `tests::plugin_faults` and `host::plugin::code_cache::tests`.
fn tests_there_are() -> Result<BTreeMap<String, Vec<String>>> {
    let root = repository_root();
    let mut files = Vec::new();
    rust_files(&root.join("tests"), &mut files)?;
    rust_files(&root.join("host"), &mut files)?;
    let test = Regex::new(r"#\[(?:tokio::)?test[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:async )?fn ([a-z0-9_]+)")?;
    let mut all = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(&file)?;
        let names: Vec<String> =
            test.captures_iter(&text).filter_map(|found| Some(found.get(1)?.as_str().to_owned())).collect();
        if !names.is_empty() {
            let module = file.strip_prefix(&root)?.with_extension("").display().to_string().replace('/', "::");
            // A crate is named without its folder for sources: `host::api::path`.
            let module = module.trim_end_matches("::src::lib").replace("::src::", "::");
            all.insert(module, names);
        }
    }
    Ok(all)
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            rust_files(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

/// Whether there is a test of this name, `MODULE::NAME` with a star for whatever follows, in a module whose path ends so.
fn exists(named: &str, all: &BTreeMap<String, Vec<String>>) -> bool {
    let Some((module, name)) = named.rsplit_once("::") else { return false };
    // Unit tests stand in a module `tests` of their file.
    let module = module.strip_suffix("::tests").unwrap_or(module);
    let is = |have: &String| name.strip_suffix('*').map_or(have == name, |prefix| have.starts_with(prefix));
    let ends = |path: &str| {
        let path = path.strip_suffix("::tests").unwrap_or(path);
        let all_of = name == "*" && path.contains(&format!("::{module}::"));
        path == module || path.ends_with(&format!("::{module}")) || all_of
    };
    all.iter().any(|(path, names)| ends(path) && names.iter().any(is))
}

#[test]
fn every_test_that_security_md_names_exists() -> Result<()> {
    let all = tests_there_are()?;
    let text = fs::read_to_string(repository_root().join("SECURITY.md"))?;
    let named = Regex::new(r"`([a-z0-9_]+(?:::[a-z0-9_]+)*::[a-z0-9_]*\*?)`")?;
    let named: Vec<&str> = named.captures_iter(&text).filter_map(|found| Some(found.get(1)?.as_str())).collect();
    ensure!(named.len() > 35, "only {} tests are named", named.len());
    let missing: Vec<_> = named.iter().filter(|name| !exists(name, &all)).collect();
    ensure!(missing.is_empty(), "SECURITY.md names tests that are not there: {missing:#?}");
    // Every promise in a table has one.
    for line in
        text.lines().filter(|line| line.starts_with("| ") && !line.contains("---") && !line.ends_with("tests |"))
    {
        ensure!(line.contains("::"), "a promise without a test: {line}");
    }
    Ok(())
}

#[test]
fn a_test_that_is_not_there_is_found() -> Result<()> {
    let all = tests_there_are()?;
    for there in ["security::a_test_that_is_not_there_is_found", "crowd::*", "impersonation::*", "plugin_faults::p5_*"]
    {
        ensure!(exists(there, &all), "{there}");
    }
    for not_there in
        ["security::a_test_that_is_not", "crowds::*", "plugin_faults::p99_*", "plugin_faults", "admin::p5_*"]
    {
        ensure!(!exists(not_there, &all), "{not_there}");
    }
    Ok(())
}
