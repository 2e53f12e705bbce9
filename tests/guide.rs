//! What `docs/writing-plugins.md` shows is what is there: files, commands and flags.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{built_plugin, oarlock, repository_root};
use std::collections::BTreeSet;
use std::{fs, path::Path};

const GUIDE: &str = "docs/writing-plugins.md";

/// What `oarlock new greeter` puts into a template.
const FILLED: [(&str, &str); 7] = [
    ("{{name}}", "greeter"),
    ("{{name_snake}}", "greeter"),
    ("{{group}}", ""),
    ("{{version}}", "v1"),
    ("{{kind}}", "ConfigMap"),
    ("{{api_version}}", "v1"),
    ("{{plural}}", "configmaps"),
];

/// Commands of others that a reader has.
const ELSEWHERE: [&str; 8] = ["cd", "cp", "mkdir", "mv", "export", "kubectl", "cargo", "rustup"];

/// A fenced block.
struct Block {
    line: usize,
    /// What stands behind the fence: the language and marks.
    info: String,
    lines: Vec<String>,
}

fn blocks(text: &str) -> Vec<Block> {
    let (mut found, mut open): (_, Option<Block>) = (Vec::new(), None);
    for (number, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => open = Some(Block { line: number + 1, info: info.to_owned(), lines: Vec::new() }),
            (Some(_), Some(_)) => found.extend(open.take()),
            (None, Some(block)) => block.lines.push(line.to_owned()),
            (None, None) => {}
        }
    }
    found
}

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
fn code_in_the_guide_is_that_of_the_files_it_names() -> Result<()> {
    let root = repository_root();
    let mut shown = 0;
    for block in blocks(&fs::read_to_string(root.join(GUIDE))?) {
        let mut marks = block.info.split_whitespace();
        let Some(name) = marks.find_map(|mark| mark.strip_prefix("file=")) else {
            // Code that no test builds goes stale.
            let language = block.info.as_str();
            ensure!(["", "sh", "text"].contains(&language), "{GUIDE}:{}: code without file=", block.line);
            continue;
        };
        let mut file =
            fs::read_to_string(root.join(name)).with_context(|| format!("{GUIDE}:{}: {name}", block.line))?;
        for (placeholder, value) in FILLED {
            file = file.replace(placeholder, value);
        }
        let file: Vec<String> = file.lines().map(str::to_owned).collect();
        ensure!(
            is_part(&block.lines, &file),
            "{GUIDE}:{}: this is not in {name}:\n{}",
            block.line,
            block.lines.join("\n")
        );
        shown += 1;
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

/// What is called in the guide: lines of its shell blocks, and commands within its text.
fn commands(text: &str) -> Vec<String> {
    let shell = blocks(text).into_iter().filter(|block| block.info == "sh").flat_map(|block| block.lines);
    let called = shell.map(|line| line.split(" #").next().unwrap_or_default().trim().to_owned());
    let mut commands: Vec<String> =
        called.flat_map(|line| line.split("&&").map(|part| part.trim().to_owned()).collect::<Vec<_>>()).collect();
    let prose: String = text.split("```").step_by(2).collect();
    let spans = prose.split('`').skip(1).step_by(2);
    commands.extend(spans.filter(|span| span.starts_with("make ") || span.starts_with("oarlock ")).map(str::to_owned));
    commands.retain(|command| !command.is_empty() && !command.starts_with('#'));
    commands
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
async fn commands_in_the_guide_exist() -> Result<()> {
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
    let commands = commands(&fs::read_to_string(root.join(GUIDE))?);
    ensure!(commands.len() > 10, "{commands:?}");
    for command in commands {
        let mut words = command.split_whitespace().filter(|word| !word.contains('='));
        match words.next() {
            Some("make") => {
                for target in words.filter(|word| !word.starts_with('-')) {
                    ensure!(made.contains(target), "{command}: there is no make {target}");
                }
            }
            Some("oarlock") => {
                let subcommand = words.next().with_context(|| command.clone())?;
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
