//! The view in a pseudoterminal of `script`, read by the terminal emulator of the crate vt100.

use super::{OBJECT, copied_project};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Process, SOON, eventually, misfit_version, oarlock_binary};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

const ROWS: u16 = 30;
const COLUMNS: u16 = 100;

/// The prompt of the shell.
const PROMPT: &str = "what next> ";

/// A command in a terminal.
struct Terminal {
    folder: tempfile::TempDir,
    script: Process,
}

impl Terminal {
    /// Starts a command in a folder with a project, `project`, and `object.yaml`.
    fn start(command: &str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        copied_project(folder.path())?;
        fs::write(folder.path().join("object.yaml"), OBJECT)?;
        fs::write(folder.path().join("keys"), "")?;
        // What is appended to the file `keys` is typed. `script` takes the place of the shell, and tail ends with it.
        let line = format!(
            "cd '{}'; exec script -qfec \"stty rows {ROWS} cols {COLUMNS}; tty >tty; exec {command}\" typescript < <(exec tail -f --pid=$$ keys)",
            folder.path().display()
        );
        let log = folder.path().join("script.log");
        let script = Process::spawn("script", Path::new("bash"), &["-c", &line], &[], &log, true)?;
        Ok(Self { folder, script })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn types(&self, keys: &str) -> Result<()> {
        Ok(File::options().append(true).open(self.path("keys"))?.write_all(keys.as_bytes())?)
    }

    fn written(&self) -> Result<Vec<u8>> {
        Ok(fs::read(self.path("typescript"))?)
    }

    fn screen(&self) -> Result<vt100::Parser> {
        let mut terminal = vt100::Parser::new(ROWS, COLUMNS, 0);
        terminal.process(&self.written()?);
        Ok(terminal)
    }

    /// Waits for a view with these texts.
    async fn shows(&self, parts: &[&str]) -> Result<()> {
        eventually(SOON, "the view", async || {
            let terminal = self.screen()?;
            let shown = terminal.screen().contents();
            let view = terminal.screen().alternate_screen() && terminal.screen().hide_cursor();
            ensure!(view && parts.iter().all(|part| shown.contains(part)), "{shown}\n{}", self.script.tail());
            Ok(())
        })
        .await
    }

    /// Waits for the usual screen, with a cursor and a text.
    async fn is_left_with(&self, text: &str) -> Result<()> {
        eventually(SOON, "the usual screen", async || {
            let terminal = self.screen()?;
            let screen = terminal.screen();
            let usual = !screen.alternate_screen() && !screen.hide_cursor();
            ensure!(usual && screen.contents().contains(text), "{}", screen.contents());
            Ok(())
        })
        .await
    }

    /// Waits until the shell shows a text, and reads the next line.
    async fn is_the_shells_with(&self, text: &str) -> Result<()> {
        self.is_left_with(text).await?;
        eventually(SOON, "the prompt", async || {
            let contents = self.screen()?.screen().contents();
            ensure!(contents.trim_end().ends_with(PROMPT.trim_end()), "{contents}");
            Ok(())
        })
        .await
    }

    async fn stopped_by_its_log(&self) -> Result<()> {
        eventually(SOON, "the end in the log file", async || {
            let log = fs::read_to_string(self.path("dev.log"))?;
            ensure!(log.contains("stopped"), "{log}");
            Ok(())
        })
        .await
    }
}

fn dev() -> Result<String> {
    let options = "dev --watch project --kubeconfig-out kubeconfig --admin-addr 127.0.0.1:0 --apply object.yaml";
    Ok(format!("'{}' {options}", oarlock_binary()?.display()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_view_shows_the_plugin_and_leaves_the_terminal_in_order_after_ctrl_c() -> Result<()> {
    let terminal = Terminal::start(&dev()?)?;
    terminal
        .shows(&[
            "plugin  misfit 1  active",
            "built in",
            "first reconcile",
            "last reconciles",
            "success",
            "cases: FAILED",
            "ctrl-C",
        ])
        .await?;
    fs::write(terminal.path("project/source"), "broken")?;
    terminal.shows(&["build   failed after", "error: broken is no version", "misfit 1  active"]).await?;
    terminal.types("\x03")?;
    terminal.is_left_with("").await?;
    // The terminal is in order before the host has stopped.
    terminal.stopped_by_its_log().await
}

/// The lines of a section of the view.
fn section(screen: &str, title: &str) -> Vec<String> {
    let lines = screen.lines().skip_while(|line| *line != title).skip(1);
    lines.take_while(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// `12:00:00  success      3.1 ms  misfit 1  ConfigMap default/a`: whether it is of a version with a result.
fn is_reconcile(line: &str, result: &str, version: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [time, found, took, "ms", "misfit", of, "ConfigMap", "default/a"] = words.as_slice() else { return false };
    let timed = time.split(':').filter(|part| part.len() == 2 && part.parse::<u8>().is_ok()).count() == 3;
    timed && took.parse::<f64>().is_ok_and(|took| took > 0.0) && (*found, *of) == (result, version)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_view_shows_results_durations_and_errors_in_the_words_of_the_author() -> Result<()> {
    let terminal = Terminal::start(&dev()?)?;
    let reconciles = async |result: &str, version: &str| {
        eventually(SOON, result, async || {
            let screen = terminal.screen()?.screen().contents();
            let found = section(&screen, "last reconciles");
            ensure!(
                found.iter().any(|line| is_reconcile(line, result, version)),
                "{screen}\n{}",
                terminal.script.tail()
            );
            Ok(())
        })
        .await
    };
    reconciles("success", "1").await?;
    // The code of this version returns the text as an error.
    fs::write(terminal.path("versions/2"), misfit_version("2", "transient")?)?;
    fs::write(terminal.path("project/source"), "2")?;
    reconciles("error", "2").await?;
    eventually(SOON, "the error", async || {
        let screen = terminal.screen()?.screen().contents();
        let errors = section(&screen, "last errors");
        let told = errors.iter().find(|line| line.contains("misfit fails as told")).with_context(|| screen.clone())?;
        ensure!(told.contains("reconcile failed") && told.contains("ConfigMap default/a"), "{told}");
        Ok(())
    })
    .await?;
    // The newest comes first.
    let screen = terminal.screen()?.screen().contents();
    let newest = section(&screen, "last reconciles").into_iter().next().context("no reconcile")?;
    ensure!(is_reconcile(&newest, "error", "2"), "{screen}");
    terminal.types("\x03")?;
    terminal.is_left_with("").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_shell_gets_its_terminal_back_by_ctrl_z_and_by_sigterm_and_the_view_follows_its_size() -> Result<()> {
    let terminal = Terminal::start(&format!("env 'PS1={PROMPT}' bash --norc --noprofile -i"))?;
    terminal.is_the_shells_with("").await?;
    terminal.types(&format!("sh -c 'echo $$ >pid; exec \"$@\"' sh {}\n", dev()?))?;
    terminal.shows(&["plugin  misfit 1  active", "cases: FAILED", "ctrl-C"]).await?;

    terminal.types("\x1a")?;
    terminal.is_the_shells_with("Stopped").await?;
    terminal.types("echo my own terminal | tr a-z A-Z\n")?;
    terminal.is_the_shells_with("MY OWN TERMINAL").await?;
    terminal.types("fg\n")?;
    terminal.shows(&["plugin  misfit 1  active", "ctrl-C"]).await?;

    let (before, tty) = (terminal.written()?.len(), fs::read_to_string(terminal.path("tty"))?);
    let told = std::process::Command::new("stty").args(["-F", tty.trim(), "rows", "8", "cols", "30"]).output()?;
    ensure!(told.status.success(), "{told:?}");
    eventually(SOON, "the view in eight lines", async || {
        // The last whole drawing.
        let written = terminal.written()?;
        let since = written.get(before..).unwrap_or_default();
        let drawings: Vec<&[u8]> = split(since, b"\x1b[H").collect();
        let whole = drawings.iter().rev().nth(1).copied().unwrap_or_default();
        let lines = String::from_utf8_lossy(whole).split("\r\n").map(visible).collect::<Vec<_>>();
        let fits = lines.len() <= 8 && lines.iter().all(|line| line.chars().count() <= 30);
        ensure!(fits && lines.iter().any(|line| line.contains("misfit 1")), "{lines:?}");
        Ok(())
    })
    .await?;

    let pid = fs::read_to_string(terminal.path("pid"))?;
    let told = std::process::Command::new("kill").args(["-TERM", pid.trim()]).output()?;
    ensure!(told.status.success(), "{told:?}");
    terminal.stopped_by_its_log().await?;
    terminal.is_the_shells_with("").await?;
    terminal.types("stty -a | grep -o ' echo ' | tr a-z A-Z\n")?;
    terminal.is_left_with(" ECHO ").await
}

/// The parts of a text between its separators.
fn split<'a>(text: &'a [u8], separator: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let whole = rest?;
        let at = whole.windows(separator.len()).position(|window| window == separator);
        rest = at.and_then(|at| whole.get(at + separator.len()..));
        at.map_or(Some(whole), |at| whole.get(..at))
    })
}

/// A line without the sequences that erase. The terminal writes a carriage return of its own before each line feed.
fn visible(line: &str) -> String {
    line.replace("\x1b[K", "").replace("\x1b[J", "").trim_end_matches('\r').to_owned()
}
