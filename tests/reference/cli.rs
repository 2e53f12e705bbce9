//! `docs/reference/cli.md`, from the help of every subcommand.

use super::{head, hold};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::oarlock_binary;
use std::process::Stdio;
use tokio::process::Command;

/// The help of a command in a terminal of a hundred columns, without its last spaces.
async fn help(subcommand: &[&str]) -> Result<String> {
    let mut command = Command::new(oarlock_binary()?);
    command.args(subcommand).arg("--help").env("COLUMNS", "100").stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await?;
    ensure!(output.status.success(), "oarlock {subcommand:?} --help: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n"))
}

/// The subcommands in the help of the program.
fn subcommands(help: &str) -> Vec<&str> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect()
}

#[tokio::test]
async fn the_page_on_the_command_line_is_what_the_program_says() -> Result<()> {
    let readers = "For everybody who calls `oarlock`. After this page you can look up every command, flag and default. It is the output \
                   of\n`oarlock COMMAND --help`.";
    let mut text = head("The command line", readers, "the help of the program");
    let program = help(&[]).await?;
    text.push_str(&format!("## `oarlock`\n\n```text\n{program}\n```\n"));
    let names = subcommands(&program);
    ensure!(names.len() > 10, "{names:?}");
    for name in names {
        let said = help(&[name]).await.context(name.to_owned())?;
        text.push_str(&format!("\n## `oarlock {name}`\n\n```text\n{said}\n```\n"));
    }
    hold("docs/reference/cli.md", "the help of the program", &text)
}
