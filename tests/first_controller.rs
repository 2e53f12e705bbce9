//! `docs/first-controller.md`, as a reader follows it: files are saved, commands run in order, and each shown output appears.
//!
//! Marks of a block: `save=FILE` writes it; `sh` runs it; `sh background` starts its process; `sh cluster` needs a cluster and is only
//! read (`guide` checks its flags); `text` is the output that the command above it prints sooner or later.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Block, Process, SOON, blocks, eventually, oarlock_binary, repository_root};
use std::{
    env, fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

const PAGE: &str = "docs/first-controller.md";

/// A block of commands: the first one installs the tools of Python, and compiles Python, beside other tests.
const RUNS: Duration = Duration::from_secs(1200);

/// A new version is compiled in the meantime.
const SHOWS: Duration = Duration::from_secs(240);

/// The reader's terminal and the files of the project.
struct Reader {
    home: tempfile::TempDir,
    /// `cd` and `export` of earlier blocks.
    state: Vec<String>,
    /// Where the host answers: the tutorial's port may be in use by another test.
    admin: String,
}

impl Reader {
    fn new() -> Result<Self> {
        let admin = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
        Ok(Self { home: tempfile::tempdir()?, state: Vec::new(), admin })
    }

    /// The folder that the reader is in.
    fn folder(&self) -> PathBuf {
        let moves = self.state.iter().filter_map(|line| line.strip_prefix("cd "));
        moves.fold(self.home.path().to_owned(), |folder, to| folder.join(to))
    }

    fn environment() -> Result<Vec<(&'static str, String)>> {
        let bin = oarlock_binary()?.parent().context("no folder")?.to_owned();
        let path =
            env::join_paths(std::iter::once(bin).chain(env::split_paths(&env::var_os("PATH").unwrap_or_default())))?;
        let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository_root().join("target"), PathBuf::from);
        // The tools of Python, and compiled code, stay where those of other tests are.
        let languages = target.join("languages");
        let text = |path: &Path| path.display().to_string();
        let mut all = vec![
            ("PATH", path.to_string_lossy().into_owned()),
            ("VENV", text(&languages.join("python"))),
            ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
        ];
        all.extend(
            Some(languages.join("cache")).filter(|cache| cache.is_dir()).map(|cache| ("XDG_CACHE_HOME", text(&cache))),
        );
        Ok(all)
    }

    /// The line, with the address of this test's host.
    fn addressed(&self, line: &str) -> String {
        let asks = ["oarlock dev", "oarlock plugins"].iter().any(|command| line.starts_with(command));
        if asks { format!("{line} --admin-addr {}", self.admin) } else { line.to_owned() }
    }

    /// Runs lines after the state of the earlier ones, and returns their output.
    async fn run(&self, lines: &[String]) -> Result<String> {
        let moved = self.state.iter().chain(lines);
        let script: Vec<String> = moved.map(|line| self.addressed(line)).collect();
        let mut shell = tokio::process::Command::new("sh");
        shell.args(["-euc", &script.join("\n")]).current_dir(self.home.path()).stdin(Stdio::null()).kill_on_drop(true);
        shell.envs(Self::environment()?).env_remove("MAKEFLAGS").env_remove("MAKELEVEL").env_remove("KUBECONFIG");
        shell.env_remove("RUSTC_BOOTSTRAP");
        let output = tokio::time::timeout(RUNS, shell.output()).await.context("the commands do not end")??;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success(), "{}\n{out}\n{err}", lines.join("\n"));
        Ok(out.into_owned())
    }

    fn save(&self, name: &str, block: &Block) -> Result<()> {
        fs::write(self.folder().join(name), block.lines.join("\n") + "\n").with_context(|| name.to_owned())
    }

    fn start(&self, block: &Block) -> Result<Process> {
        let command = self.addressed(block.lines.first().context("no command")?);
        let mut words: Vec<&str> = command.split_whitespace().collect();
        ensure!(block.lines.len() == 1 && words.remove(0) == "oarlock", "{command}: one oarlock command is expected");
        let folder = self.folder();
        // `env` changes the folder, and becomes the command.
        let binary = oarlock_binary()?.display().to_string();
        let mut args = vec!["-C".to_owned(), folder.display().to_string(), binary];
        args.extend(words.into_iter().map(str::to_owned));
        let log = self.home.path().join("dev.log");
        Process::spawn("oarlock dev", Path::new("env"), &args, &Self::environment()?, &log, false)
    }
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: make test-all"]
async fn a_reader_of_the_tutorial_ends_with_a_controller() -> Result<()> {
    let mut reader = Reader::new()?;
    let (mut dev, mut last) = (None, Vec::new());
    let mut done = [0_u32; 3];
    let told = |dev: &Option<Process>| dev.as_ref().map(Process::tail).unwrap_or_default();
    for block in blocks(&fs::read_to_string(repository_root().join(PAGE))?) {
        let place = format!("{PAGE}:{}", block.line);
        let mut marks = block.info.split_whitespace();
        match (marks.next(), marks.next().map(|mark| mark.split_once('=').unwrap_or((mark, "")))) {
            (Some(_), Some(("save", name))) => {
                reader.save(name, &block).with_context(|| place.clone())?;
                done[0] += 1;
            }
            (Some("sh"), Some(("background", ""))) => {
                let started = reader.start(&block).with_context(|| place.clone())?;
                started.line(SOON, "the API server", |line| line.text.contains("try: kubectl")).await?;
                dev = Some(started);
            }
            (Some("sh"), Some(("cluster", ""))) => {}
            (Some("sh"), None) => {
                reader.run(&block.lines).await.with_context(|| format!("{place}\n{}", told(&dev)))?;
                let moves = |line: &&String| line.starts_with("cd ") || line.starts_with("export ");
                reader.state.extend(block.lines.iter().filter(moves).cloned());
                last = block.lines.last().cloned().into_iter().collect();
                done[1] += 1;
            }
            (Some("text"), None) => {
                let shown = async || {
                    let out = words(&reader.run(&last).await?);
                    for line in &block.lines {
                        ensure!(out.contains(&words(line)), "{line:?} is not in:\n{out}");
                    }
                    Ok(())
                };
                eventually(SHOWS, "the output", shown).await.with_context(|| format!("{place}\n{}", told(&dev)))?;
                done[2] += 1;
            }
            _ => anyhow::bail!("{place}: what is a block of {:?}?", block.info),
        }
    }
    ensure!(done.iter().all(|count| *count > 4), "{done:?} files, commands and outputs");
    let mut dev = dev.context("no oarlock dev")?;
    dev.terminate().await?;
    dev.wait(SOON).await?;
    Ok(())
}
