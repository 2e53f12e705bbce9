//! Guides show what exists: the code is that of files, and commands and flags are known.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{blocks, built_plugin, oarlock, repository_root};
use std::collections::BTreeSet;
use std::{fs, path::Path};

/// Pages whose code is that of the files it names.
const GUIDES: [&str; 2] = ["docs/writing-plugins.md", "docs/testing-plugins.md"];

/// Pages whose commands a reader runs.
const COMMANDS: [&str; 8] = [
    "README.md",
    "docs/first-controller.md",
    "docs/writing-plugins.md",
    "docs/testing-plugins.md",
    "docs/definitions.md",
    "docs/swap.md",
    "docs/troubleshooting.md",
    "docs/README.md",
];

/// What `oarlock new greeter` puts into a template.
const FILLED: [(&str, &str); 15] = [
    ("{{name}}", "greeter"),
    ("{{name_snake}}", "greeter"),
    ("{{group}}", ""),
    ("{{version}}", "v1"),
    ("{{kind}}", "ConfigMap"),
    ("{{api_version}}", "v1"),
    ("{{plural}}", "configmaps"),
    ("{{object_type}}", "dict"),
    ("{{namespace}}", ", namespace: default"),
    ("{{namespace_json}}", ", \"namespace\": \"default\""),
    ("{{namespace_js}}", ", namespace: \"default\""),
    ("{{fields}}", ""),
    ("{{fields_json}}", ""),
    ("{{fields_yaml}}", ""),
    ("{{fields_python}}", ""),
];

/// The lines of a template for a kind without a definition.
fn without_types(template: &str) -> Vec<String> {
    let mut kept = true;
    let mut lines = Vec::new();
    for line in template.lines() {
        match line {
            "{{#types}}" => kept = false,
            "{{^types}}" | "{{/types}}" => kept = true,
            _ if kept => lines.push(line.to_owned()),
            _ => {}
        }
    }
    lines
}

/// Commands of others that a reader has.
const ELSEWHERE: [&str; 13] =
    ["cat", "cd", "cp", "mkdir", "mv", "rm", "sed", "export", "kubectl", "cargo", "rustup", "npx", "python3"];

/// Lines without the indentation they share.
fn flush(lines: &[String]) -> Vec<String> {
    let indentation = |line: &&String| line.len() - line.trim_start().len();
    let shared = lines.iter().filter(|line| !line.trim().is_empty()).map(|line| indentation(&line)).min().unwrap_or(0);
    lines.iter().map(|line| line.get(shared..).unwrap_or_default().to_owned()).collect()
}

/// Whether the block is a part of the file, whole lines in a row, indented as one likes.
fn is_part(block: &[String], file: &[String]) -> bool {
    !block.is_empty() && file.windows(block.len()).any(|part| flush(part) == flush(block))
}

#[test]
fn code_in_the_guides_is_that_of_the_files_it_names() -> Result<()> {
    let root = repository_root();
    let mut shown = 0;
    for guide in GUIDES {
        for block in blocks(&fs::read_to_string(root.join(guide))?) {
            let place = format!("{guide}:{}", block.line);
            let mut marks = block.info.split_whitespace();
            let Some(name) = marks.find_map(|mark| mark.strip_prefix("file=")) else {
                // Code that no test builds goes stale.
                ensure!(["", "sh", "text"].contains(&block.info.as_str()), "{place}: code without file=");
                continue;
            };
            let mut file = fs::read_to_string(root.join(name)).with_context(|| format!("{place}: {name}"))?;
            for (placeholder, value) in FILLED {
                file = file.replace(placeholder, value);
            }
            let file = without_types(&file);
            ensure!(is_part(&block.lines, &file), "{place}: this is not in {name}:\n{}", block.lines.join("\n"));
            shown += 1;
        }
    }
    ensure!(shown > 5, "only {shown} blocks of code");
    Ok(())
}

#[test]
fn a_block_that_differs_is_found() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let file = lines("a {\n    b\n\n    c\n}");
    for part in ["b\n\nc", "    b\n\n    c", "a {\n    b", "}"] {
        assert!(is_part(&lines(part), &file), "{part}");
    }
    for other in ["", "b\nc", "b\n\nd", "a {\nb", "c\n}\nd"] {
        assert!(!is_part(&lines(other), &file), "{other}");
    }
}

/// The commands of a page: lines of its shell blocks, and commands within its text.
fn commands(text: &str) -> Vec<String> {
    let shell = blocks(text).into_iter().filter(|block| block.info.split(' ').next() == Some("sh"));
    let called = shell.flat_map(|block| block.lines);
    let called = called.map(|line| line.split(" #").next().unwrap_or_default().trim().to_owned());
    let mut commands: Vec<String> = called.flat_map(|line| parts(&line)).collect();
    let prose: String = text.split("```").step_by(2).collect();
    let spans = prose.split('`').skip(1).step_by(2);
    commands.extend(spans.filter(|span| span.starts_with("make ") || span.starts_with("oarlock ")).flat_map(parts));
    commands.retain(|command| !command.is_empty() && !command.starts_with('#'));
    commands
}

/// The commands of a line: of a list, of a pipe.
fn parts(line: &str) -> Vec<String> {
    line.split("&&").flat_map(|part| part.split(" | ")).map(|part| part.trim().to_owned()).collect()
}

/// The targets of a Makefile, those of what it includes of the SDK among them.
fn targets(makefile: &Path, sdk: &Path) -> Result<BTreeSet<String>> {
    let text = fs::read_to_string(makefile).with_context(|| makefile.display().to_string())?;
    let names = text.lines().filter(|line| !line.starts_with(['\t', '#', ' ', '.']) && !line.contains(":="));
    let mut found: BTreeSet<String> = names
        .filter_map(|line| Some(line.split_once(':')?.0))
        .flat_map(str::split_whitespace)
        .map(str::to_owned)
        .collect();
    for included in text.lines().filter_map(|line| line.strip_prefix("include $(SDK)/")) {
        found.extend(targets(&sdk.join(included), sdk)?);
    }
    Ok(found)
}

#[tokio::test]
async fn commands_in_the_guides_exist() -> Result<()> {
    let root = repository_root();
    let mut made = targets(&root.join("Makefile"), &root)?;
    for template in fs::read_dir(root.join("templates"))? {
        let template = template?.path();
        let sdk = root.join("guest-sdk").join(template.file_name().unwrap_or_default());
        let of_template = targets(&template.join("Makefile"), &sdk)?;
        for target in ["build", "test", "install", "clean"] {
            ensure!(of_template.contains(target), "{} has no make {target}", template.display());
        }
        made.extend(of_template);
    }
    for page in COMMANDS {
        let commands = commands(&fs::read_to_string(root.join(page)).with_context(|| page.to_owned())?);
        ensure!(!commands.is_empty(), "{page} has no command");
        for command in commands {
            exists(&command, &made).await.with_context(|| page.to_owned())?;
        }
    }
    Ok(())
}

/// The target of make, or the subcommand with its flags, exists.
async fn exists(command: &str, made: &BTreeSet<String>) -> Result<()> {
    let mut words = command.split_whitespace().filter(|word| !word.contains('='));
    match words.next() {
        Some("make") => {
            for target in words.filter(|word| !word.starts_with('-')) {
                ensure!(made.contains(target), "{command}: there is no make {target}");
            }
        }
        Some("oarlock" | "target/debug/oarlock" | "target/release/oarlock") => {
            let subcommand = words.next().with_context(|| command.to_owned())?;
            let told = oarlock(&[subcommand, "--help"]).await?;
            let help = String::from_utf8(told.stdout)?;
            ensure!(told.status.success(), "{command}: there is no oarlock {subcommand}");
            for flag in command.split_whitespace().filter(|word| word.starts_with("--")) {
                let flag = flag.split('=').next().unwrap_or_default();
                ensure!(help.contains(flag), "{command}: oarlock {subcommand} has no {flag}");
            }
        }
        Some(other) => ensure!(ELSEWHERE.contains(&other), "{command}: what is {other}?"),
        None => {}
    }
    Ok(())
}

/// The case with every field is none that a plugin could meet; but it can be read, and no field of it is unknown.
#[tokio::test]
async fn the_case_with_every_field_can_be_read() -> Result<()> {
    let plugin = built_plugin("namespace-baseline-rust")?.display().to_string();
    let cases = repository_root().join("tests/fixtures/cases").display().to_string();
    let told = oarlock(&["test", &plugin, "--cases", &cases]).await?;
    let said = String::from_utf8(told.stdout)?;
    ensure!(said.contains("FAILED   every-field"), "{said}\n{}", String::from_utf8_lossy(&told.stderr));
    Ok(())
}

#[tokio::test]
async fn the_plugin_of_the_readme_does_what_the_readme_says() -> Result<()> {
    let root = repository_root();
    let mut python = tokio::process::Command::new("python3");
    python.arg(root.join("tests/fixtures/front_page.py")).kill_on_drop(true);
    python.env("PYTHONPATH", root.join("guest-sdk/python")).env("PYTHONDONTWRITEBYTECODE", "1");
    let told = python.output().await.context("python3 is needed")?;
    let said = String::from_utf8_lossy(&told.stderr);
    ensure!(told.status.success() && said.contains("Ran 1 test"), "{said}");
    Ok(())
}
