//! The host under test: `oarlock run` as a process.

use super::http_client::HttpClient;
use super::process::{LogLine, Process, code_cache, oarlock_binary};
use super::world::SOON;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    process::ExitStatus,
    time::Duration,
};

/// Configuration of a host.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// The plugin directory.
    pub plugins: PathBuf,
    /// The kubeconfig.
    pub kubeconfig: PathBuf,
    /// Replaces the resync period of the manifests.
    pub resync_seconds: Option<u32>,
    /// Further arguments.
    pub args: Vec<String>,
    /// Additional environment variables.
    pub environment: Vec<(&'static str, String)>,
    /// The log file, which is appended to.
    pub log: PathBuf,
    /// Limit of open files. None: the test's own.
    pub open_files: Option<u32>,
    /// See [`Process::spawn`].
    pub own_group: bool,
}

/// A running host.
#[derive(Debug)]
pub struct Host {
    process: Process,
    admin: HttpClient,
}

impl Host {
    /// Starts a host and waits for its admin address.
    ///
    /// # Errors
    ///
    /// The host is not built, ends, or prints nothing within [`SOON`].
    pub async fn start(options: &HostOptions) -> Result<Self> {
        let text = |path: &Path| path.display().to_string();
        let mut args = vec!["run".to_owned(), "--plugins".to_owned(), text(&options.plugins)];
        args.extend(["--kubeconfig".to_owned(), text(&options.kubeconfig)]);
        args.extend([
            "--admin-addr".to_owned(),
            "127.0.0.1:0".to_owned(),
            "--log-format".to_owned(),
            "json".to_owned(),
        ]);
        if let Some(seconds) = options.resync_seconds {
            args.extend(["--resync-seconds".to_owned(), seconds.to_string()]);
        }
        args.extend(options.args.iter().cloned());
        let program = oarlock_binary()?;
        if !args.iter().any(|arg| arg == "--cache-dir" || arg == "--no-cache") {
            // Tests share compiled code, and leave nothing in the user's folders.
            args.extend(["--cache-dir".to_owned(), text(&code_cache()?)]);
        }
        let (program, args) = match options.open_files {
            None => (program, args),
            Some(files) => {
                let script = format!("ulimit -n {files} && exec \"$0\" \"$@\"");
                (PathBuf::from("sh"), [vec!["-c".to_owned(), script, text(&program)], args].concat())
            }
        };
        let process =
            Process::spawn("oarlock run", &program, &args, &options.environment, &options.log, options.own_group)?;
        let line = process.line(SOON, "its admin address", |line| line.field("admin_addr").is_some()).await?;
        let address = line.field("admin_addr").context("no admin_addr")?;
        Ok(Self { process, admin: HttpClient::without_reuse(&format!("http://{address}")) })
    }

    /// The process.
    #[must_use]
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Its admin server.
    #[must_use]
    pub fn admin(&self) -> &HttpClient {
        &self.admin
    }

    /// The log lines so far that `wanted` accepts.
    #[must_use]
    pub fn log<F: Fn(&LogLine) -> bool>(&self, wanted: F) -> Vec<LogLine> {
        self.process.lines().into_iter().filter(|line| wanted(line)).collect()
    }

    /// The content of `/plugins`.
    ///
    /// # Errors
    ///
    /// The admin server does not answer 200 with JSON.
    pub async fn plugins(&self) -> Result<Value> {
        let answer = self.admin.get("/plugins").await?;
        ensure!(answer.status.is_success(), "/plugins: {} {}", answer.status, answer.text());
        answer.json()
    }

    /// The entry of `/plugins` for one file or plugin with this name.
    ///
    /// # Errors
    ///
    /// Also when no such entry exists.
    pub async fn plugin(&self, name: &str) -> Result<Value> {
        let all = self.plugins().await?;
        let list =
            all.as_array().or_else(|| all.get("plugins").and_then(Value::as_array)).context("/plugins is no list")?;
        let names = |entry: &Value| {
            let file = entry.get("file").and_then(Value::as_str).unwrap_or_default();
            entry.get("name").and_then(Value::as_str) == Some(name)
                || Path::new(file)
                    .file_name()
                    .is_some_and(|file| file == name || file == format!("{name}.wasm").as_str())
        };
        list.iter().find(|entry| names(entry)).cloned().with_context(|| format!("{name} is not in /plugins: {all}"))
    }

    /// The sum of a metric's samples with all of these labels (for example `plugin="network"`).
    ///
    /// # Errors
    ///
    /// The admin server does not answer.
    pub async fn metric(&self, name: &str, labels: &[&str]) -> Result<f64> {
        let text = self.admin.get("/metrics").await?.text();
        let mut sum = 0.0;
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((series, value)) = line.rsplit_once(' ') else { continue };
            let series_name = series.split('{').next().unwrap_or_default();
            if series_name == name && labels.iter().all(|label| series.contains(label)) {
                sum += value.parse::<f64>().unwrap_or(0.0);
            }
        }
        Ok(sum)
    }

    /// The number of its open files, including sockets.
    ///
    /// # Errors
    ///
    /// The host does not run.
    pub fn open_files(&self) -> Result<usize> {
        Ok(std::fs::read_dir(format!("/proc/{}/fd", self.process.pid()))?.count())
    }

    /// Memory of its process in KiB by the system's figures: `VmRSS` now, or `VmHWM` as the peak.
    ///
    /// # Errors
    ///
    /// The host has ended.
    pub fn memory_kib(&self, counted: &str) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.pid()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(counted)?.strip_prefix(':'));
        Ok(line.and_then(|line| line.split_whitespace().next()).context("no such line")?.parse()?)
    }

    /// Kills the host with SIGKILL.
    ///
    /// # Errors
    ///
    /// The system refuses the signal.
    pub async fn kill(&mut self) -> Result<()> {
        self.process.kill().await
    }

    /// Sends SIGTERM, and waits for the end of the host.
    ///
    /// # Errors
    ///
    /// The host still runs after `deadline`.
    pub async fn stop(mut self, deadline: Duration) -> Result<(ExitStatus, Process)> {
        self.process.terminate().await?;
        let status = self.process.wait(deadline).await?;
        Ok((status, self.process))
    }

    /// The process, for signals and waiting.
    #[must_use]
    pub fn into_process(self) -> Process {
        self.process
    }
}
