//! External programs for comparison: cosign, oras, skopeo, prometheus. `scripts/tools.sh` installs them.

use super::plugins::repository_root;
use anyhow::{Context, Result, ensure};
use std::{
    env,
    io::Write as _,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};
use tokio::{process::Command, time::timeout};

const RUN: Duration = Duration::from_secs(120);

/// The paths of these programs, in their order. None: one of them is missing, which a line reports that the test's output does not hide.
///
/// # Errors
///
/// This program's own path is unknown.
pub fn tools<const N: usize>(names: [&str; N]) -> Result<Option<[PathBuf; N]>> {
    let own = env::current_exe()?;
    let targets: Vec<_> =
        own.ancestors().skip(1).take(4).map(Path::to_owned).chain([repository_root().join("target")]).collect();
    let found =
        names.map(|name| targets.iter().map(|target| target.join("tools/bin").join(name)).find(|path| path.is_file()));
    let missing: Vec<_> = names.iter().zip(&found).filter(|(_, path)| path.is_none()).map(|(name, _)| *name).collect();
    if missing.is_empty() {
        return Ok(Some(found.map(Option::unwrap_or_default)));
    }
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "skipped: {test}: no {}; scripts/tools.sh says why", missing.join(", "));
    Ok(None)
}

/// Runs a command without the user's settings, and returns its standard output. An error contains its standard error.
///
/// * `home` - its home folder, where it may write files.
///
/// # Errors
///
/// The command cannot be started, or still runs after two minutes.
pub async fn said_by(tool: &Path, home: &Path, args: &[&str]) -> Result<Result<String, String>> {
    let mut command = Command::new(tool);
    command.args(args).current_dir(home).env_clear().stdin(Stdio::null()).kill_on_drop(true);
    command.env("PATH", env::var_os("PATH").unwrap_or_default()).env("HOME", home).env("TMPDIR", home);
    command
        .env("COSIGN_PASSWORD", "")
        .env("XDG_RUNTIME_DIR", home)
        .env("REGISTRY_AUTH_FILE", home.join("no-logins.json"));
    let what = format!("{} {}", tool.display(), args.join(" "));
    let output = timeout(RUN, command.output()).await.with_context(|| format!("{what}: still runs"))?;
    let output = output.with_context(|| what.clone())?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    ensure!(!said.contains("panic:"), "{what}: {said}");
    Ok(if output.status.success() { Ok(said) } else { Err(format!("{what}: {said}")) })
}
