//! Who may know whom: held by reading the sources.
//!
//! `cli, runtime → admission → lifecycle → controller → plugin → apply → rbac → grants → metrics, logging → secrets, telemetry`; the crates below the host do not
//! name it; only `apply` and the crate of Leases write to the API server; only the bindings and the capabilities name generated WIT types;
//! the host library and the embedded API server do not know each other. The embedded API server has layers of its own.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::repository_root;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The layers, top first. A module may name modules of the layers below its own.
const LAYERS: &[&[&str]] = &[
    &["main", "lib", "cli", "fuzzing"],
    &["runtime"],
    &["admin", "cases"],
    &["admission", "plugin_objects"],
    &["lifecycle"],
    &["controller"],
    &["plugin"],
    &["apply"],
    &["rbac"],
    &["grants"],
    &["metrics", "logging"],
    &["buckets", "secrets", "telemetry"],
];

/// The crates below the host. Each knows only those that its Cargo.toml names, which the compiler holds; none may name the host.
const CRATES: &[&str] = &[
    "api",
    "devserver",
    "informer",
    "jsonpath",
    "lease",
    "manifest",
    "merge",
    "oci",
    "schema",
    "selector",
    "simulation",
    "text",
    "types",
    "workqueue",
];

/// The layers of the embedded API server, top first. Modules of one layer do not name each other either.
const SERVER_LAYERS: &[&[&str]] = &[
    &["lib"],
    &["copy", "server"],
    &["options"],
    &["faults", "handlers"],
    &["controllers", "webhooks"],
    &["access"],
    &["http"],
    &["resources"],
    &["conversion"],
    &["webhook_client"],
    &["store"],
    &["model"],
    &["crypto"],
];

/// One source file without comments and tests.
struct Source {
    path: PathBuf,
    /// Its top-level module.
    module: String,
    /// The length of its module path: 1 for `a.rs`, 2 for `a/b.rs`.
    depth: usize,
    code: String,
}

impl Source {
    /// The names at the crate's root that the file imports.
    fn root_names(&self) -> BTreeSet<String> {
        let mut names = named_modules(&self.code);
        names.extend(named_by_super(&self.code, self.depth));
        names
    }
}

fn sources(folder: &Path) -> Result<Vec<Source>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).with_context(|| next.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let inside = path.strip_prefix(folder)?;
                let first = inside.components().next().context("no file name")?.as_os_str().to_string_lossy();
                let module = first.trim_end_matches(".rs").to_owned();
                let depth = inside.components().count();
                let code = without_tests_and_comments(&fs::read_to_string(&path)?);
                found.push(Source { path, module, depth, code });
            }
        }
    }
    ensure!(!found.is_empty(), "no sources in {}", folder.display());
    Ok(found)
}

fn without_tests_and_comments(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        // In this project tests are the last item of their file, or files of their own.
        if line.starts_with("#[cfg(test)]")
            && lines.peek().is_some_and(|next| next.starts_with("mod ") && !next.ends_with(';'))
        {
            break;
        }
        let kept = line.find("//").filter(|at| !line[..*at].contains('"')).map_or(line, |at| &line[..at]);
        code.push_str(kept);
        code.push('\n');
    }
    code
}

/// The first path segments that follow `crate::` in a source, groups included.
fn named_modules(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, found) in code.match_indices("crate::") {
        // `$crate::` and `some_crate::` are others.
        if code[..at].ends_with(|before: char| before == '$' || before == '_' || before.is_alphanumeric()) {
            continue;
        }
        names.extend(first_names(&code[at + found.len()..]));
    }
    names
}

/// The first path segments that follow `super::` where it reaches the crate's root.
fn named_by_super(code: &str, depth: usize) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in code.match_indices("super::") {
        if code[..at].ends_with(|before: char| before == ':' || before == '_' || before.is_alphanumeric()) {
            continue;
        }
        let rest = code[at..].trim_start_matches("super::");
        if (code.len() - at - rest.len()) / "super::".len() >= depth {
            names.extend(first_names(rest));
        }
    }
    names
}

/// The first segment of a path, or those of a group.
fn first_names(path: &str) -> Vec<String> {
    match path.strip_prefix('{') {
        Some(group) => top_names(group),
        None => identifier(path).into_iter().collect(),
    }
}

/// The names at the first level of `a, b::{c, d}, e}`.
fn top_names(group: &str) -> Vec<String> {
    let (mut depth, mut start, mut names) = (0, true, Vec::new());
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => start = true,
            _ if start && !letter.is_whitespace() => {
                names.extend(identifier(&group[at..]));
                start = false;
            }
            _ => {}
        }
    }
    names
}

fn identifier(text: &str) -> Option<String> {
    let end = text.find(|letter: char| !(letter.is_alphanumeric() || letter == '_')).unwrap_or(text.len());
    (end > 0).then(|| text[..end].to_owned())
}

fn layer(layers: &[&[&str]], module: &str) -> Option<usize> {
    layers.iter().position(|modules| modules.contains(&module))
}

/// Checks that each module names modules of layers below its own only; so no import cycle is possible.
fn check_layers(folder: &str, layers: &[&[&str]]) -> Result<()> {
    let sources = sources(&repository_root().join(folder))?;
    let modules: BTreeSet<&str> = sources.iter().map(|source| source.module.as_str()).collect();
    for module in &modules {
        let placed = layer(layers, module).is_some();
        ensure!(placed, "{folder}/{module}: give it a place in the layers of tests/layering.rs");
    }
    let mut wrong = Vec::new();
    for source in &sources {
        let own = layer(layers, &source.module);
        for named in source.root_names() {
            // What is not a module is an item of the crate's root.
            if named != source.module && modules.contains(named.as_str()) && layer(layers, &named) <= own {
                wrong.push(format!("{} names crate::{named}", source.path.display()));
            }
        }
    }
    ensure!(wrong.is_empty(), "imports that do not point down:\n{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn imports_between_modules_point_down_only() -> Result<()> {
    check_layers("host/src", LAYERS)
}

#[test]
fn imports_between_modules_of_the_embedded_api_server_point_down_only() -> Result<()> {
    check_layers("host/devserver/src", SERVER_LAYERS)
}

/// An item at the root would be above every layer.
#[test]
fn no_module_of_the_embedded_api_server_names_an_item_of_the_crate_root() -> Result<()> {
    let sources = sources(&repository_root().join("host/devserver/src"))?;
    let modules: BTreeSet<&str> = sources.iter().map(|source| source.module.as_str()).collect();
    for source in &sources {
        let mut names = source.root_names();
        names.retain(|name| !modules.contains(name.as_str()));
        ensure!(names.is_empty(), "{} names {names:?} of the crate root", source.path.display());
    }
    Ok(())
}

/// A clock that is set back or forward must not make a cache older or a key late.
#[test]
fn i24_watches_and_queues_never_ask_for_the_time_of_day() -> Result<()> {
    let clocks = ["SystemTime", "Timestamp::now", "Zoned::now", "UNIX_EPOCH"];
    let mut looked_at = 0;
    for folder in ["host/informer/src", "host/workqueue/src"] {
        for source in sources(&repository_root().join(folder))? {
            looked_at += 1;
            let found: Vec<_> = clocks.iter().filter(|clock| source.code.contains(**clock)).collect();
            ensure!(found.is_empty(), "{}: {found:?}", source.path.display());
        }
    }
    ensure!(looked_at > 5, "only {looked_at} files");
    Ok(())
}

#[test]
fn only_apply_and_the_leases_write_to_the_api_server() -> Result<()> {
    // What one needs to write through kube's typed and untyped clients.
    let writes = [
        "PatchParams",
        "PostParams",
        "DeleteParams",
        "Method::POST",
        "Method::PUT",
        "Method::PATCH",
        "Method::DELETE",
        "Request::post(",
        "Request::put(",
        "Request::patch(",
        "Request::delete(",
        ".replace_status(",
        "kube::runtime::events",
        "\"PATCH\"",
        "\"PUT\"",
    ];
    let mut seen = BTreeMap::new();
    let mut all = sources(&repository_root().join("host/src"))?;
    for name in ["api", "informer", "lease", "workqueue"] {
        let of_crate = sources(&repository_root().join("host").join(name).join("src"))?;
        all.extend(of_crate.into_iter().map(|source| Source { module: name.to_owned(), ..source }));
    }
    for source in all {
        // `oarlock dev --apply` applies a user's own files, and `oarlock pause` annotates a user's own object, as kubectl would.
        // `oarlock plan --server-side` sends dry runs only. The steps of a scenario write to the API server in their process.
        // A service in a scenario answers writes, and faults of a check strike them.
        let exempt = [
            "cli/dev.rs",
            "cli/annotate.rs",
            "cli/plan/server_side.rs",
            "cli/test/scenarios/steps.rs",
            "cli/test/scenarios/cluster.rs",
            "cases/service/records.rs",
            "cli/check/program/faults.rs",
        ];
        if exempt.iter().any(|file| source.path.ends_with(file)) {
            continue;
        }
        let found: Vec<_> = writes.iter().filter(|word| source.code.contains(**word)).collect();
        if !found.is_empty() {
            seen.entry(source.module).or_insert_with(Vec::new).push(format!("{}: {found:?}", source.path.display()));
        }
    }
    // If even `apply` has none of them, the list above is out of date.
    ensure!(seen.remove("apply").is_some(), "apply writes in a way this test does not know");
    ensure!(seen.remove("lease").is_some(), "lease writes in a way this test does not know");
    ensure!(seen.is_empty(), "writes outside apply: {seen:#?}");
    Ok(())
}

#[test]
fn only_bindings_and_capabilities_name_generated_types() -> Result<()> {
    let mut users = BTreeSet::new();
    for source in sources(&repository_root().join("host/src"))? {
        if source.code.contains("bindings::") || source.code.contains("bindgen!") {
            let name = source.path.strip_prefix(repository_root().join("host/src"))?.display().to_string();
            users.insert(name.trim_end_matches(".rs").to_owned());
        }
    }
    // `instance` turns them into the host's own types and back, `load` only names the linker's entry.
    let named = ["plugin/bindings", "plugin/capabilities", "plugin/instance", "plugin/load"];
    let allowed = |name: &String| named.iter().any(|part| name.starts_with(part));
    ensure!(users.iter().any(allowed), "nobody names generated types: {users:?}");
    users.retain(|name| !allowed(name));
    ensure!(users.is_empty(), "these name generated types: {users:?}");
    Ok(())
}

#[test]
fn two_functions_and_the_options_of_the_allocator_are_unsafe() -> Result<()> {
    let mut found = Vec::new();
    for folder in ["host", "guest-sdk", "plugins", "tests"] {
        for source in sources(&repository_root().join(folder))? {
            // A lint, and a flag of etcd.
            let code = source.code.replace("unsafe_code", "").replace("unsafe-no-fsync", "");
            let count =
                code.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| *word == "unsafe").count();
            // The list of words above, the allocator that tests count with, and a guest's declarations of WASI.
            let known = ["tests/layering.rs", "informer/src/tests/counting.rs", "unruly/rust/src/lib.rs"];
            if count > 0 && !known.iter().any(|path| source.path.ends_with(path)) {
                found.push((source.path.strip_prefix(repository_root())?.display().to_string(), count));
            }
        }
    }
    found.sort();
    let expected = ["host/src/main.rs", "host/src/plugin/native.rs", "host/src/runtime/program.rs"];
    let expected = expected.map(|path| (path.to_owned(), 1));
    ensure!(found == expected, "unsafe code: {found:?}");
    Ok(())
}

#[test]
fn the_host_library_and_the_embedded_api_server_do_not_know_each_other() -> Result<()> {
    for source in sources(&repository_root().join("host/src"))? {
        let may = ["main", "cli"].contains(&source.module.as_str());
        ensure!(
            may || !source.code.contains("oarlock_devserver"),
            "{} names the embedded server",
            source.path.display()
        );
    }
    Ok(())
}

#[test]
fn the_crates_below_the_host_do_not_know_it() -> Result<()> {
    let folder = repository_root().join("host");
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.join("Cargo.toml").is_file() {
            found.insert(path.file_name().context("no file name")?.to_string_lossy().into_owned());
        }
    }
    ensure!(found.iter().eq(CRATES), "crates under host/: {found:?}");
    for name in CRATES {
        for source in sources(&folder.join(name).join("src"))? {
            let names = source.code.contains("oarlock::") || source.code.contains("extern crate oarlock;");
            ensure!(!names, "{} names the host", source.path.display());
        }
        let manifest = fs::read_to_string(folder.join(name).join("Cargo.toml"))?;
        let depends = manifest.lines().any(|line| line.starts_with("oarlock ") || line.starts_with("oarlock."));
        ensure!(!depends, "host/{name} depends on the host");
    }
    Ok(())
}

#[test]
fn the_reader_of_imports_reads_groups() {
    let code =
        "use crate::{api::{Client, Key}, metrics};\nuse crate::workqueue::Queue; $crate::no!(); other_crate::no();";
    let names: Vec<_> = named_modules(code).into_iter().collect();
    assert_eq!(names, ["api", "metrics", "workqueue"]);
    let by_super = "use super::{admin, super::x}; super::super::events::tell(); pub(super) fn a() {}";
    assert!(named_by_super(by_super, 3).is_empty());
    assert_eq!(named_by_super(by_super, 2).into_iter().collect::<Vec<_>>(), ["events"]);
    assert_eq!(
        named_by_super("use super::{admin, plugin::Plugin};", 1).into_iter().collect::<Vec<_>>(),
        ["admin", "plugin"]
    );
    let text = "use crate::a; // crate::b\n#[cfg(test)]\nmod tests { use crate::c; }";
    assert_eq!(named_modules(&without_tests_and_comments(text)).into_iter().collect::<Vec<_>>(), ["a"]);
}

/// A way of misbehaving that nobody tries is not defended against.
#[test]
fn every_mode_and_every_guest_has_a_test_that_names_it() -> Result<()> {
    let tests = repository_root().join("tests");
    let guests = tests.join("guests");
    let mut named = String::new();
    for source in sources(&tests)? {
        if !source.path.starts_with(&guests) && !source.path.ends_with("layering.rs") {
            named.push_str(&source.code);
        }
    }
    let modes = fs::read_to_string(guests.join("misfit/src/modes.rs"))?;
    let quoted = modes.lines().filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix("\","));
    let mut all: Vec<String> = quoted.map(str::to_owned).collect();
    ensure!(all.len() > 40, "the modes are written in another way: {all:?}");
    for entry in fs::read_dir(guests.join("text"))? {
        let name = entry?.path().file_stem().context("no name")?.to_string_lossy().into_owned();
        all.extend((name != "base").then_some(name));
    }
    // With or without an argument.
    let untried = |name: &String| !named.contains(&format!("\"{name}\"")) && !named.contains(&format!("\"{name}:"));
    all.retain(untried);
    ensure!(all.is_empty(), "no test names these: {all:?}");
    Ok(())
}
