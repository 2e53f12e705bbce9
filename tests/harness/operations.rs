//! The commands of docs/operations.md, and a checkout to run them in.

use super::plugins::{built_plugin, repository_root};
use super::process::{code_cache, oarlock_binary};
use anyhow::{Context, Result, ensure};
use std::{
    env,
    ffi::OsString,
    fs,
    io::ErrorKind,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{process::Command, time::timeout};

/// The guide's path in the repository.
pub const OPERATIONS: &str = "docs/operations.md";

/// The shell blocks of the guide, in order: the mark after `run=`, or empty, and the lines.
///
/// # Errors
///
/// The guide cannot be read, or a block is no shell block.
pub fn command_blocks() -> Result<Vec<(String, Vec<String>)>> {
    let guide = fs::read_to_string(repository_root().join(OPERATIONS))?;
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

/// The commands of the block with this mark: its lines, with those of a loop joined.
///
/// # Errors
///
/// No such block exists.
pub fn commands(mark: &str) -> Result<Vec<String>> {
    let all = command_blocks()?;
    let found = all.into_iter().find(|(of, _)| of == mark);
    let (_, lines) = found.with_context(|| format!("{OPERATIONS} has no block run={mark}"))?;
    let mut commands: Vec<String> = Vec::new();
    let mut open = false;
    for line in lines {
        match commands.last_mut().filter(|_| open) {
            Some(command) => *command = format!("{command}\n{line}"),
            None => commands.push(line.clone()),
        }
        open = (open || line.ends_with("; do")) && line != "done";
    }
    Ok(commands)
}

/// A shell that runs lines as a reader does.
#[derive(Debug)]
pub struct Shell<'a> {
    /// The working directory.
    pub checkout: &'a Path,
    /// The kubeconfig of the cluster.
    pub kubeconfig: &'a Path,
    /// A folder of additional commands, which take precedence.
    pub commands: Option<&'a Path>,
    /// Deadline of one line.
    pub deadline: Duration,
}

impl Shell<'_> {
    /// Runs a line and returns its standard output. The code cache is that of the tests.
    ///
    /// # Errors
    ///
    /// The line takes too long or its exit status is not 0; the message contains its standard error.
    pub async fn run(&self, line: &str) -> Result<String> {
        let host = oarlock_binary()?.parent().context("no folder")?.to_owned();
        let cache = self.checkout.join(".cache");
        fs::create_dir_all(&cache)?;
        if let Err(e) = symlink(code_cache()?, cache.join("oarlock")) {
            ensure!(e.kind() == ErrorKind::AlreadyExists, "{}: {e}", cache.display());
        }
        let own = self.commands.map(Path::to_owned).into_iter().chain([host]);
        let path: OsString = env::join_paths(own.chain(env::split_paths(&env::var_os("PATH").unwrap_or_default())))?;
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(self.checkout).env("PATH", path);
        shell.env("KUBECONFIG", self.kubeconfig).env("HOME", self.checkout).kill_on_drop(true);
        let output = timeout(self.deadline, shell.output()).await.with_context(|| format!("{line}: still runs"))??;
        ensure!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }
}

/// The plugins of the image and of the component with the samples.
pub const SHIPPED: [&str; 5] = ["deployment-network", "envoy-injector", "network", "pod-network", "traffic"];

/// A copy of a reader's checkout: deploy/, the documents of the plugins, and the plugins where `make plugins` puts them.
///
/// # Errors
///
/// A file cannot be copied, or a plugin is not built.
pub fn checkout(to: &Path) -> Result<PathBuf> {
    let root = repository_root();
    copy_tree(&root.join("deploy"), &to.join("deploy"))?;
    for name in SHIPPED {
        let documents = to.join("plugins").join(name);
        fs::create_dir_all(&documents)?;
        for entry in fs::read_dir(root.join("plugins").join(name))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "yaml") {
                fs::copy(&path, documents.join(path.file_name().context("no name")?))?;
            }
        }
        let built = to.join("target/plugins/out");
        fs::create_dir_all(&built)?;
        fs::copy(built_plugin(name)?, built.join(format!("{name}.wasm")))?;
        fs::copy(documents.join(format!("{name}.yaml")), built.join(format!("{name}.yaml")))?;
    }
    Ok(to.join("deploy"))
}

/// The commands in the comment at the top of a kustomization: its indented lines.
///
/// * `file` - path in the repository.
///
/// # Errors
///
/// The file cannot be read or has no commands.
pub fn commands_of_comment(file: &str) -> Result<Vec<String>> {
    let text = fs::read_to_string(repository_root().join(file)).with_context(|| file.to_owned())?;
    let shown: Vec<String> = text.lines().filter_map(|line| line.strip_prefix("#   ")).map(str::to_owned).collect();
    ensure!(!shown.is_empty(), "{file} shows no command");
    Ok(shown)
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let path = entry?.path();
        let to = to.join(path.file_name().context("no name")?);
        if path.is_dir() {
            copy_tree(&path, &to)?;
        } else {
            fs::copy(&path, &to)?;
        }
    }
    Ok(())
}
