//! The commands of docs/operations.md: what is marked with `run` is run, the others name what is there.

use super::copied;
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Cluster, oarlock, repository_root};
use regex::Regex;
use std::{collections::BTreeMap, fs, path::Path};
use tokio::process::Command;

const GUIDE: &str = "docs/operations.md";

/// Its shell blocks, in order: the mark after `run=`, or nothing, and the lines.
fn blocks() -> Result<Vec<(String, Vec<String>)>> {
    let guide = fs::read_to_string(repository_root().join(GUIDE))?;
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let mut inside = false;
    for line in guide.lines() {
        match (line.strip_prefix("```"), inside) {
            (Some(info), false) => {
                let mark = info.strip_prefix("sh").with_context(|| format!("a block of {info:?}"))?;
                found.push((mark.trim().trim_start_matches("run=").to_owned(), Vec::new()));
                inside = true;
            }
            (Some(_), true) => inside = false,
            (None, true) => found.last_mut().context("no block")?.1.push(line.to_owned()),
            (None, false) => {}
        }
    }
    ensure!(found.len() > 8, "{} blocks", found.len());
    Ok(found)
}

/// The lines of the block with this mark.
pub(super) fn block(mark: &str) -> Result<Vec<String>> {
    let all: BTreeMap<String, Vec<String>> = blocks()?.into_iter().filter(|(mark, _)| !mark.is_empty()).collect();
    all.get(mark).cloned().with_context(|| format!("{GUIDE} has no block run={mark}"))
}

/// Runs a line as a reader does, in a checkout.
pub(super) async fn run(line: &str, checkout: &Path, kubeconfig: &Path) -> Result<String> {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", line])
        .current_dir(checkout)
        .env("KUBECONFIG", kubeconfig)
        .env("HOME", checkout)
        .kill_on_drop(true);
    let done = tokio::time::timeout(std::time::Duration::from_secs(60), shell.output()).await;
    let output = done.with_context(|| format!("{line}: still runs"))??;
    ensure!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_guide_runs_works_from_the_first_command_to_the_last() -> Result<()> {
    let folder = tempfile::tempdir()?;
    copied(folder.path())?;
    let cluster = Cluster::start(folder.path(), false).await?;
    for mark in ["preview", "install", "secret", "grants", "monitoring", "uninstall"] {
        for line in block(mark)? {
            run(&line, folder.path(), cluster.kubeconfig()).await.with_context(|| format!("block {mark}"))?;
        }
    }
    let left = cluster.list("/api/v1/namespaces").await?;
    ensure!(!left.iter().any(|one| super::text(one, "/metadata/name") == super::NAMESPACE), "the namespace is left");
    Ok(())
}

#[tokio::test]
async fn what_the_guide_names_is_there() -> Result<()> {
    let root = repository_root();
    let guide = fs::read_to_string(root.join(GUIDE))?;
    let path = Regex::new(r"\b(?:deploy|plugins)/[a-z0-9./-]*[a-z0-9]")?;
    for named in path.find_iter(&guide) {
        ensure!(root.join(named.as_str()).exists(), "{GUIDE} names {}", named.as_str());
    }
    let makefile = fs::read_to_string(root.join("Makefile"))?;
    for target in Regex::new(r"\bmake ([a-z-]+)$|`make ([a-z-]+)`")?.captures_iter(&guide) {
        let target = target.iter().skip(1).flatten().next().map_or("", |found| found.as_str());
        ensure!(makefile.lines().any(|line| line.starts_with(&format!("{target}:"))), "there is no make {target}");
    }
    let flags = Regex::new(r"--[a-z-]+")?;
    let mut asked = 0;
    for command in Regex::new(r"\boarlock (plugins|rbac|confirm|run)\b([^`#\n>]*)")?.captures_iter(&guide) {
        let help = oarlock(&[&command[1], "--help"]).await?;
        let help = String::from_utf8(help.stdout)?;
        for flag in flags.find_iter(&command[2]) {
            asked += 1;
            ensure!(help.contains(flag.as_str()), "oarlock {} has no {}", &command[1], flag.as_str());
        }
    }
    ensure!(asked > 3, "only {asked} flags");
    Ok(())
}
