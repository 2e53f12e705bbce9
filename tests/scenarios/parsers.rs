//! Reports on scenarios, read by parsers of others: junitparser, tap.py (TAP 13), and tap-parser (TAP 14).

use super::{Scenarios, child, misfit};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::repository_root;
use serde_json::Value;
use std::env;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;

const INSTALLED_WITHIN: Duration = Duration::from_secs(300);

/// Names of files and steps, descriptions, and values, with what their readers may take for something else.
const HOSTILE: [&str; 14] = [
    "plain",
    "a\"b'c<d>&e",
    "]]><!--",
    "two\nlines",
    "two\r\nlines",
    "bell\u{7}\u{1b}[31m",
    "later # TODO",
    "never #skip",
    "issue #12",
    "back\\",
    "\\x1b \\# \\",
    "ok 7 - other",
    "\u{2028}\u{fffe}\u{ffff}\u{1f600}",
    "  ---",
];

/// Installs the parsers where no run before has done so, and reads a report with one of them.
async fn read(command: &str, report: &str) -> Result<Vec<Value>> {
    const INSTALL: &str = "mkdir -p \"$TOOLS\"; exec 9>\"$TOOLS/lock\"; flock 9
        if ! cat requirements.txt package-lock.json | cmp -s - \"$TOOLS/installed\"; then
          python3 -m venv \"$TOOLS/venv\"
          \"$TOOLS/venv/bin/pip\" install --quiet --require-hashes --requirement requirements.txt
          cp package.json package-lock.json \"$TOOLS\"; (cd \"$TOOLS\" && npm ci --silent --no-audit --no-fund)
          cat requirements.txt package-lock.json >\"$TOOLS/installed\"
        fi; flock -u 9; cp read.js \"$TOOLS\";";
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository_root().join("target"), PathBuf::from);
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), report)?;
    let mut shell = Command::new("sh");
    shell
        .args(["-euc", &format!("{INSTALL} {command}")])
        .current_dir(repository_root().join("tests/scenarios/parsers"));
    shell.env("TOOLS", target.join("languages/parsers")).env("REPORT", file.path()).env("PYTHONDONTWRITEBYTECODE", "1");
    let output =
        tokio::time::timeout(INSTALLED_WITHIN, shell.stdin(Stdio::null()).kill_on_drop(true).output()).await??;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success() && err.is_empty(), "{command}: {out}{err}\n{report}");
    Ok(serde_json::from_str(&out)?)
}

/// A text in YAML, which does not take every character as it is.
fn quoted(text: &str) -> String {
    let escaped = |c: char| match c {
        ' '..='~' if c != '"' && c != '\\' => c.to_string(),
        _ => format!("\\U{:08x}", u32::from(c)),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

/// Each scenario but the last of the list fails.
fn scenarios() -> Result<Scenarios> {
    let mut files = Vec::new();
    for (at, hostile) in HOSTILE.iter().enumerate() {
        let head = format!("description: {}\nsteps:\n{}", quoted(hostile), misfit("ok", "one"));
        let step = child(&quoted(&format!("no {hostile}")));
        let name = quoted(&format!("step {hostile}"));
        let step = step.replacen("- assert:\n  ", &format!("- name: {name}\n  assert:\n  "), 1);
        files.push((format!("{at:02} {hostile}.yaml"), head + &step));
    }
    files.push(("99 # todo.yaml".to_owned(), format!("steps:\n{}{}", misfit("ok", "one"), child("one"))));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    Scenarios::new(&files)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: make test-all"]
async fn parsers_of_others_read_hostile_names_and_messages() -> Result<()> {
    let scenarios = scenarios()?;
    let mut reports = Vec::new();
    for format in ["junit", "tap"] {
        let told = scenarios.run("misfit", &["--output", format]).await?;
        ensure!(told.code == Some(1), "{}", told.stderr);
        reports.push(told.stdout);
    }
    let [junit, tap] = reports.as_slice() else { anyhow::bail!("two reports") };
    let python = "exec \"$TOOLS/venv/bin/python\" read.py";
    for (command, report) in [
        (format!("{python} junit \"$REPORT\""), junit),
        (format!("{python} tap \"$REPORT\""), tap),
        ("exec node \"$TOOLS/read.js\" <\"$REPORT\"".to_owned(), tap),
    ] {
        let read = read(&command, report).await?;
        let field = |test: &Value, name: &str| test.get(name).cloned().unwrap_or_default();
        ensure!(read.len() == HOSTILE.len() + 1, "{command}: {} tests\n{report}", read.len());
        for (at, test) in read.iter().enumerate() {
            let fails = at < HOSTILE.len();
            ensure!(field(test, "passed") == !fails && field(test, "excused") != true, "{command}: {test}\n{report}");
            let name = field(test, "name");
            let name = name.as_str().context("no name")?.trim_start_matches("- ");
            ensure!(name.starts_with(&format!("{:02} ", if fails { at } else { 99 })), "{command}: {test}");
            ensure!(!name.contains(char::is_control), "{command}: {test}");
            let message = field(test, "message");
            ensure!(message.as_str().is_some_and(|text| text.contains("step 2 (step ")) == fails, "{command}: {test}");
        }
        // What is no escape stays as it is.
        let second = read.get(1).context("no second test")?;
        ensure!(second.to_string().contains("a\\\"b'c<d>&e"), "{command}: {second}");
    }
    Ok(())
}
