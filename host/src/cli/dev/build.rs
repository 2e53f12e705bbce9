//! One build of a project: its own `make install`.

use anyhow::Context as _;
use std::path::{Path, PathBuf};
use tokio::process::Command;

/// Most files that make gets by name: a command line has a limit.
const SAVED: usize = 1000;

/// The command that builds a project and installs it into `staging`: its own `make install`.
///
/// * `saved` - files, relative to the project, that make takes as changed whatever their times are.
pub(super) fn command(project: &Path, staging: &Path, saved: &[PathBuf]) -> anyhow::Result<Command> {
    let oarlock = std::env::current_exe().context("the path of this program is unknown")?;
    let mut make = Command::new("make");
    make.arg("-s").arg("--no-print-directory").arg("install").current_dir(project);
    make.arg(assignment("DIR", staging)).arg(assignment("OARLOCK", &oarlock));
    for file in saved.iter().take(SAVED) {
        make.arg("-W").arg(file);
    }
    // Of a make that started this program.
    make.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").env_remove("MFLAGS");
    Ok(make)
}

fn assignment(variable: &str, path: &Path) -> std::ffi::OsString {
    let mut text = std::ffi::OsString::from(format!("{variable}="));
    text.push(path);
    text
}

/// The project in a folder.
///
/// # Errors
///
/// The folder is no project of `oarlock new`.
pub(super) fn project(folder: &Path) -> anyhow::Result<PathBuf> {
    let folder = folder.canonicalize().with_context(|| format!("cannot open the project {}", folder.display()))?;
    for file in ["Makefile", "grant.yaml"] {
        anyhow::ensure!(
            folder.join(file).is_file(),
            "{} is no project of oarlock new: it has no {file}; --watch takes the folder of a project",
            folder.display()
        );
    }
    Ok(folder)
}
