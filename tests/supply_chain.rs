//! What templates and SDKs bring or install is pinned: exact versions, with hashes where the package manager knows them.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::repository_root;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// What authors of plugins and of tests get, and the samples they read.
const ROOTS: [&str; 4] = ["templates", "guest-sdk", "plugins/namespace-baseline", "testing"];
const LEFT_BEHIND: [&str; 6] = ["node_modules", ".venv", "target", "build", "dist", "__pycache__"];

fn files(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !LEFT_BEHIND.contains(&&*name) {
            files(&path, found)?;
        } else if path.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

fn is_exact(version: &str) -> bool {
    version.split('.').count() == 3 && version.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Each dependency is exact, or a folder of the project; the lock file has the hash of every package.
fn npm(file: &Path, text: &str) -> Result<()> {
    let package: Value = serde_json::from_str(text)?;
    let mut installs = false;
    for section in ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"] {
        for (name, version) in package.get(section).and_then(Value::as_object).into_iter().flatten() {
            let version = version.as_str().unwrap_or_default();
            installs = true;
            ensure!(version.starts_with("file:") || is_exact(version), "{name} {version} is not exact");
        }
    }
    if !installs {
        return Ok(());
    }
    let lock: Value = serde_json::from_str(&fs::read_to_string(file.with_file_name("package-lock.json"))?)?;
    for (path, locked) in lock.get("packages").and_then(Value::as_object).context("no packages in package-lock.json")? {
        let ours = !path.contains("node_modules/") || locked.get("link") == Some(&Value::Bool(true));
        let hashed = locked.get("integrity").and_then(Value::as_str).is_some_and(|hash| hash.starts_with("sha512-"));
        ensure!(ours || hashed, "package-lock.json has no hash of {path}");
    }
    Ok(())
}

/// Each requirement is exact and has hashes.
fn python(text: &str) -> Result<()> {
    let text = text.replace("\\\n", " ");
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let pinned =
            line.split_once("==").is_some_and(|(_, rest)| is_exact(rest.split_whitespace().next().unwrap_or("")));
        ensure!(pinned && line.contains("--hash=sha256:"), "{line} is not pinned");
    }
    Ok(())
}

/// What is needed to install the project or the SDK as a package.
fn pyproject(text: &str) -> Result<()> {
    for line in text.lines().filter(|line| line.starts_with("requires =") || line.starts_with("dependencies =")) {
        let named = line.split('"').skip(1).step_by(2);
        for one in named {
            ensure!(one.split_once("==").is_some_and(|(_, version)| is_exact(version)), "{one} is not exact");
        }
    }
    Ok(())
}

/// Modules come from a folder of the project: there is none that a go.sum would have to pin.
fn go(text: &str) -> Result<()> {
    let lines = || text.lines().map(str::trim);
    ensure!(!lines().any(|line| line == "require ("), "a block of requirements: pin them in go.sum, and read it here");
    for line in lines().filter_map(|line| line.strip_prefix("require ")) {
        let module = line.split_whitespace().next().unwrap_or_default();
        let local = lines().any(|line| line.starts_with(&format!("replace {module} => .")));
        ensure!(local, "{module} is no folder of the project");
    }
    Ok(())
}

/// Crates come from a lock file with their hashes.
fn cargo_lock(text: &str) -> Result<()> {
    for package in text.split("[[package]]").filter(|package| package.contains("\nsource = ")) {
        ensure!(package.contains("\nchecksum = "), "no checksum of {}", package.lines().nth(1).unwrap_or_default());
        ensure!(package.contains("\nsource = \"registry+"), "not from the registry: {package}");
    }
    Ok(())
}

/// Commands that would install something of no fixed content.
fn commands(text: &str) -> Result<()> {
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let has = |what: &str| line.contains(what);
        ensure!(!has("pip install") || has("--require-hashes"), "{line}: --require-hashes is missing");
        ensure!(!has("npm install"), "{line}: npm ci takes what is locked");
        ensure!(!has("npx ") && !has("go get ") && !has("go install "), "{line}: what it installs is not pinned");
        ensure!(!has("curl ") && !has("wget ") && !has("git clone"), "{line}: what it fetches is not pinned");
        ensure!(!has("cargo install") || has("@"), "{line}: without a version");
    }
    Ok(())
}

#[test]
fn what_templates_and_sdks_install_is_pinned() -> Result<()> {
    let root = repository_root();
    let mut found = Vec::new();
    for folder in ROOTS {
        files(&root.join(folder), &mut found)?;
    }
    let mut looked_at = 0;
    for file in found {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Ok(text) = fs::read_to_string(&file) else { continue };
        let verdict = match &*name {
            "package.json" => npm(&file, &text),
            "requirements.txt" => python(&text),
            "pyproject.toml" => pyproject(&text),
            "go.mod" => go(&text),
            "Cargo.lock" => cargo_lock(&text),
            "Makefile" => commands(&text),
            _ if name.ends_with(".mk") || name.ends_with(".sh") => commands(&text),
            _ => continue,
        };
        verdict.with_context(|| file.display().to_string())?;
        looked_at += 1;
    }
    ensure!(looked_at > 20, "only {looked_at} files found");
    for lock in ["Cargo.lock", "templates/rust/Cargo.lock"] {
        cargo_lock(&fs::read_to_string(root.join(lock))?).context(lock)?;
    }
    Ok(())
}
