//! A real control plane for one test: etcd, kube-apiserver and kube-controller-manager, which can be killed one by one.

use super::plugins::repository_root;
use anyhow::{Context, Result, ensure};
use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};
use tokio::time::timeout;

/// Longer than the script itself waits.
const START: Duration = Duration::from_secs(180);

/// Configuration of a control plane.
#[derive(Clone, Debug, Default)]
pub struct ControlPlaneOptions {
    /// Further flags of kube-apiserver.
    pub apiserver_flags: Vec<String>,
    /// Further flags of etcd.
    pub etcd_flags: Vec<String>,
    /// Starts no kube-controller-manager, even if it is installed.
    pub without_controllers: bool,
}

/// A program of a control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// etcd.
    Etcd,
    /// kube-apiserver.
    ApiServer,
    /// kube-controller-manager.
    Controllers,
}

impl Program {
    fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "apiserver",
            Self::Controllers => "controllers",
        }
    }
}

/// A running control plane on loopback. Dropping it ends it.
#[derive(Debug)]
pub struct ControlPlane {
    folder: PathBuf,
    options: ControlPlaneOptions,
}

fn script<S: AsRef<OsStr>>(args: &[S]) -> Command {
    let mut command = Command::new(repository_root().join("tests/kubernetes/control-plane.sh"));
    command.args(args).stdin(Stdio::null());
    command
}

impl ControlPlane {
    /// Whether the programs are installed; otherwise one line with the missing ones.
    ///
    /// # Errors
    ///
    /// That line.
    pub fn available() -> Result<(), String> {
        let output = script(&["check"]).output().map_err(|error| error.to_string())?;
        if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()) }
    }

    /// Starts a control plane and waits until it is ready.
    ///
    /// * `folder` - for its state and logs, in a new folder `control-plane`.
    ///
    /// # Errors
    ///
    /// The programs are missing, or one does not start; the message has its last log lines.
    pub async fn start(folder: &Path, options: ControlPlaneOptions) -> Result<Self> {
        let plane = Self { folder: folder.join("control-plane"), options };
        plane.script(&["start"]).await?;
        Ok(plane)
    }

    /// Kills one program with SIGKILL, and waits for its end.
    ///
    /// # Errors
    ///
    /// The script fails.
    pub async fn kill(&self, program: Program) -> Result<()> {
        self.script(&["kill", program.name()]).await
    }

    /// Starts a killed program, and waits until it is ready.
    ///
    /// # Errors
    ///
    /// The program does not start.
    pub async fn run(&self, program: Program) -> Result<()> {
        self.script(&["run", program.name()]).await
    }

    /// The flags of programs that are started from now on.
    pub fn options(&mut self) -> &mut ControlPlaneOptions {
        &mut self.options
    }

    /// A kubeconfig of the administrator.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.join("admin.kubeconfig")
    }

    /// Its folder: `certs/ca.crt`, `tokens.csv`, `etcd` (the data), a log and a pid of each program.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The address of etcd.
    ///
    /// # Errors
    ///
    /// The ports cannot be read.
    pub fn etcd_url(&self) -> Result<String> {
        Ok(format!("http://127.0.0.1:{}", self.port(1)?))
    }

    /// The address of kube-apiserver.
    ///
    /// # Errors
    ///
    /// The ports cannot be read.
    pub fn url(&self) -> Result<String> {
        Ok(format!("https://127.0.0.1:{}", self.port(0)?))
    }

    fn port(&self, place: usize) -> Result<String> {
        let ports = std::fs::read_to_string(self.folder.join("ports"))?;
        Ok(ports.split_whitespace().nth(place).context("no port")?.to_owned())
    }

    async fn script(&self, words: &[&str]) -> Result<()> {
        let folder = self.folder.display().to_string();
        let (verb, rest) = words.split_first().context("no verb")?;
        let mut command = script(&[&[*verb, folder.as_str()], rest].concat());
        command.env("APISERVER_FLAGS", self.options.apiserver_flags.join(" "));
        command.env("ETCD_FLAGS", self.options.etcd_flags.join(" "));
        command.env("CONTROLLERS", if self.options.without_controllers { "no" } else { "yes" });
        let mut command = tokio::process::Command::from(command);
        let output = timeout(START, command.output()).await.with_context(|| format!("{words:?} still runs"))??;
        ensure!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
        Ok(())
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        // Stopped programs need no stop.
        let _ = script(&[OsStr::new("stop"), self.folder.as_os_str()]).status();
    }
}
