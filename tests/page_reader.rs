//! A reader of a page follows it, on the embedded API server and on a real one.
//!
//! `save=FILE` writes a file; `sh` runs; `text` is the output that the last command prints sooner or later. `sh host=KIND` starts the host,
//! which the test does.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Block, SOON, World, blocks, eventually, oarlock_binary, repository_root};
use std::path::PathBuf;
use std::time::Duration;
use std::{env, fs};

/// A block of commands.
const RUNS: Duration = Duration::from_secs(120);

/// The commands that ask a host.
const ASK: [&str; 6] =
    ["oarlock rollout", "oarlock confirm", "oarlock plugins", "oarlock logs", "oarlock explain", "oarlock record"];

/// The reader's terminal.
pub(crate) struct Reader<'a> {
    world: &'a World,
    folder: PathBuf,
    admin: String,
}

impl<'a> Reader<'a> {
    /// * `world` - with a host.
    pub(crate) async fn new(world: &'a World) -> Result<Self> {
        let admin = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
        Ok(Self { world, folder: world.folder().to_owned(), admin })
    }

    /// Follows a page. Returns the numbers of its files, commands and outputs.
    ///
    /// * `once` - part of a command that cannot be repeated until its output is right.
    pub(crate) async fn follow(&self, page: &str, once: &str) -> Result<[u32; 3]> {
        let (mut last, mut done) = (Vec::new(), [0_u32; 3]);
        for block in blocks(&fs::read_to_string(repository_root().join(page))?) {
            let place = || format!("{page}:{}", block.line);
            let (language, save) = block.info.split_once(" save=").unwrap_or((&block.info, ""));
            match language {
                _ if !save.is_empty() => {
                    fs::write(self.folder.join(save), block.lines.join("\n") + "\n").with_context(place)?;
                    done[0] += 1;
                }
                "sh" => {
                    self.run(&block.lines).await.with_context(place)?;
                    last = block.lines.last().cloned().into_iter().collect();
                    done[1] += 1;
                }
                "text" if last.iter().any(|line: &String| line.contains(once)) => done[2] += 1,
                "text" => {
                    self.shows(&last, &block).await.with_context(place)?;
                    done[2] += 1;
                }
                _ if language.starts_with("sh host=") => {}
                other => anyhow::bail!("{}: what is a block of {other:?}?", place()),
            }
        }
        Ok(done)
    }

    /// Runs lines, and returns their output.
    pub(crate) async fn run(&self, lines: &[String]) -> Result<String> {
        let addressed = lines.iter().map(|line| {
            let asks = ASK.iter().any(|command| line.starts_with(command));
            if asks { format!("{line} --admin-addr {}", self.admin) } else { line.clone() }
        });
        let script: Vec<String> = addressed.collect();
        let bin = oarlock_binary()?.parent().context("no folder")?.to_owned();
        let before = env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(bin).chain(env::split_paths(&before));
        let mut shell = tokio::process::Command::new("sh");
        shell.args(["-euc", &script.join("\n")]).current_dir(&self.folder).kill_on_drop(true);
        shell.env("PATH", env::join_paths(path)?).env("KUBECONFIG", self.world.cluster.kubeconfig());
        let output = tokio::time::timeout(RUNS, shell.output()).await.context("the commands do not end")??;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success(), "{}\n{out}\n{err}", lines.join("\n"));
        Ok(out.into_owned())
    }

    async fn shows(&self, last: &[String], block: &Block) -> Result<()> {
        eventually(SOON, &format!("the output {:?}", block.lines), || async {
            let out = self.run(last).await?;
            for line in &block.lines {
                ensure!(out.contains(line.trim()), "{line:?} is not in:\n{out}");
            }
            Ok(())
        })
        .await
    }
}
