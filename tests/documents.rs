//! The documents as a whole: links and anchors resolve, the book has every page, and each page states its reader and its use.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{anchors, links, repository_root};
use std::collections::BTreeSet;
use std::{
    fs,
    path::{Component, Path, PathBuf},
};

const SUMMARY: &str = "docs/SUMMARY.md";

/// Folders without documents of this repository. Links of templates hold in the project that is made of them.
const ELSEWHERE: [&str; 6] = [".git", "target", "node_modules", "templates", "corpus", ".venv"];

/// Every Markdown file below a folder.
fn documents(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let (path, kind) = entry.map(|entry| (entry.path(), entry.file_type()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if kind?.is_dir() {
            if !ELSEWHERE.contains(&name.as_str()) {
                documents(&path, found)?;
            }
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
    Ok(())
}

fn all() -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    documents(&repository_root(), &mut found)?;
    ensure!(found.len() > 30, "only {} documents", found.len());
    Ok(found)
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// Why a link leads nowhere.
fn broken(from: &Path, text: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() { from.to_owned() } else { plain(&from.parent()?.join(file)) };
    if !path.exists() {
        return Some("there is no such file".to_owned());
    }
    if anchor.is_empty() {
        return None;
    }
    let text = if file.is_empty() { text.to_owned() } else { fs::read_to_string(&path).unwrap_or_default() };
    (!anchors(&text).contains(anchor)).then(|| "there is no such heading".to_owned())
}

#[test]
fn every_link_leads_somewhere() -> Result<()> {
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for path in all()? {
        let text = fs::read_to_string(&path)?;
        for (line, target) in links(&text) {
            checked += 1;
            let reason = broken(&path, &text, &target);
            wrong.extend(reason.map(|reason| format!("{}:{line}: {target}: {reason}", path.display())));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    ensure!(checked > 150, "only {checked} links");
    Ok(())
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let from = repository_root().join("docs/README.md");
    let text =
        "# A title\n\n## Of `code`, and more\n\n[a](b.md) and `[no](link)` ![picture](c.svg)\n\n```\n[no](x)\n```\n";
    let targets: Vec<String> = links(text).into_iter().map(|(_, target)| target).collect();
    assert_eq!(targets, ["b.md", "c.svg"]);
    for good in ["#a-title", "#of-code-and-more", "contract.md", "../README.md#two-commands", "https://example.com/x"] {
        assert_eq!(broken(&from, text, good), None, "{good}");
    }
    for bad in ["#title", "nowhere.md", "contract.md#nowhere", "../docs/SUMMARY.md#x"] {
        assert!(broken(&from, text, bad).is_some(), "{bad}");
    }
}

/// The pages of the book, in order.
fn pages() -> Result<Vec<PathBuf>> {
    let root = repository_root();
    let summary = fs::read_to_string(root.join(SUMMARY))?;
    Ok(links(&summary).into_iter().map(|(_, target)| plain(&root.join("docs").join(target))).collect())
}

#[test]
fn every_page_is_in_the_book_once() -> Result<()> {
    let root = repository_root();
    let mut below = Vec::new();
    documents(&root.join("docs"), &mut below)?;
    let below: BTreeSet<PathBuf> = below.into_iter().filter(|path| *path != root.join(SUMMARY)).collect();
    let pages = pages()?;
    let listed: BTreeSet<PathBuf> = pages.iter().cloned().collect();
    ensure!(listed.len() == pages.len(), "{SUMMARY} lists a page twice");
    let missing: Vec<_> = below.difference(&listed).collect();
    ensure!(missing.is_empty(), "{SUMMARY} does not list {missing:?}");
    Ok(())
}

#[test]
fn every_page_states_its_reader_and_its_use() -> Result<()> {
    let root = repository_root();
    for page in pages()? {
        let text = fs::read_to_string(&page).with_context(|| page.display().to_string())?;
        let mut paragraphs = text.split("\n\n").filter(|part| !part.starts_with("<!--"));
        let title = paragraphs.next().unwrap_or_default();
        ensure!(title.starts_with("# "), "{}: no title", page.display());
        if page == root.join("README.md") || page == root.join("CHANGELOG.md") {
            continue;
        }
        let first = paragraphs.next().unwrap_or_default().replace('\n', " ");
        let states = first.starts_with("For ") && first.contains("After this page you");
        ensure!(states, "{}: the first lines are: {first}", page.display());
    }
    Ok(())
}

/// The page on data flow names ten files, in the order in which a key passes through them; each exists.
#[test]
fn the_page_on_data_flow_names_ten_files() -> Result<()> {
    let root = repository_root();
    let text = fs::read_to_string(root.join("docs/data-flow.md"))?;
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    let files: Vec<&str> = rows.iter().filter_map(|row| row.split("](../").nth(1)?.split(')').next()).collect();
    ensure!(files.len() == 10, "{files:?}");
    let numbers: Vec<String> = rows.iter().filter_map(|row| Some(row.split('|').nth(1)?.trim().to_owned())).collect();
    let counted: Vec<String> = (1..=10).map(|number: u32| number.to_string()).collect();
    ensure!(numbers.iter().filter(|number| counted.contains(number)).eq(counted.iter()), "{numbers:?}");
    for file in files {
        ensure!(root.join(file).is_file(), "there is no {file}");
    }
    Ok(())
}

/// ARCHITECTURE's table of the brief names modules of tests and paths that exist.
#[test]
fn the_table_of_the_brief_names_what_exists() -> Result<()> {
    let root = repository_root();
    let text = fs::read_to_string(root.join("ARCHITECTURE.md"))?;
    let section = text.split("## Where each part of the brief lives").nth(1).context("no such section")?;
    let table = section.split("\n## ").next().unwrap_or_default();
    let names: Vec<&str> = table.split('`').skip(1).step_by(2).collect();
    let modules = names.iter().filter_map(|name| name.strip_suffix("::*"));
    let paths = names.iter().filter(|name| ["host/", "plugins/"].iter().any(|folder| name.starts_with(folder)));
    ensure!(modules.clone().count() > 10 && paths.clone().count() > 8, "{names:?}");
    for module in modules {
        let file = root.join("tests").join(module.replace("::", "/")).with_extension("rs");
        ensure!(file.is_file(), "there is no {}", file.display());
    }
    for path in paths {
        ensure!(root.join(path).exists(), "there is no {path}");
    }
    Ok(())
}
