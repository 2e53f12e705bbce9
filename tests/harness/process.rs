//! A child process whose output is read as it is written.

use super::world::SOON;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::{
    collections::VecDeque,
    env,
    ffi::OsStr,
    fs::File,
    io::Write,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader},
    process::{Child, Command},
    sync::watch,
    time::timeout,
};

/// What a process wrote last is read within this time after its end, unless a process that it started goes on and holds its outputs.
const LAST_LINES: Duration = Duration::from_secs(10);

/// Lines kept in memory per process; the file has all lines.
const RING: usize = 20_000;

/// One line of a child's stdout or stderr.
#[derive(Clone, Debug)]
pub struct LogLine {
    /// The line without its line break.
    pub text: String,
    /// The line as a JSON object, if it is one.
    pub json: Option<Value>,
}

impl LogLine {
    fn new(text: String) -> Self {
        let json = text.starts_with('{').then(|| serde_json::from_str(&text).ok()).flatten();
        Self { text, json }
    }

    /// A field of a JSON line, at its top level or under `fields`, as text.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<String> {
        let json = self.json.as_ref()?;
        let value = json.get(name).or_else(|| json.get("fields")?.get(name)).or_else(|| json.get("span")?.get(name))?;
        Some(value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned))
    }
}

#[derive(Debug, Default)]
struct Captured {
    lines: VecDeque<LogLine>,
    file: Option<File>,
}

/// A running child process. Dropping it kills it.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    pid: u32,
    captured: Arc<Mutex<Captured>>,
    grown: watch::Receiver<u64>,
    log: PathBuf,
}

impl Process {
    /// Starts `program`, and copies its output to `log`.
    ///
    /// * `name` - name for messages.
    /// * `own_group` - put it in a process group of its own, so that Ctrl-C in a terminal reaches only its parent.
    ///
    /// # Errors
    ///
    /// The program cannot be started or the log file cannot be written.
    pub fn spawn<S: AsRef<OsStr>>(
        name: &str,
        program: &Path,
        args: &[S],
        environment: &[(&str, String)],
        log: &Path,
        own_group: bool,
    ) -> Result<Self> {
        let file = File::options().create(true).append(true).open(log).with_context(|| log.display().to_string())?;
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        for (key, value) in environment {
            command.env(key, value);
        }
        if own_group {
            command.process_group(0);
        }
        let mut child = command.spawn().with_context(|| format!("{name}: cannot start {}", program.display()))?;
        let pid = child.id().with_context(|| format!("{name} ended at once"))?;
        let captured = Arc::new(Mutex::new(Captured { lines: VecDeque::new(), file: Some(file) }));
        let (grow, grown) = watch::channel(0);
        let grow = Arc::new(grow);
        if let Some(out) = child.stdout.take() {
            tokio::spawn(capture(out, captured.clone(), grow.clone()));
        }
        if let Some(err) = child.stderr.take() {
            tokio::spawn(capture(err, captured.clone(), grow));
        }
        Ok(Self { name: name.to_owned(), child, pid, captured, grown, log: log.to_owned() })
    }

    /// The process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The file with every line.
    #[must_use]
    pub fn log_file(&self) -> &Path {
        &self.log
    }

    /// The lines so far, oldest first.
    #[must_use]
    pub fn lines(&self) -> Vec<LogLine> {
        let captured = self.captured.lock().unwrap_or_else(PoisonError::into_inner);
        captured.lines.iter().cloned().collect()
    }

    /// The first line that `wanted` accepts; waits for it until `deadline`.
    ///
    /// # Errors
    ///
    /// The deadline passes or the process ends first; the message contains the last lines.
    pub async fn line<F>(&self, deadline: Duration, what: &str, wanted: F) -> Result<LogLine>
    where
        F: Fn(&LogLine) -> bool,
    {
        let mut grown = self.grown.clone();
        let search = async {
            loop {
                grown.borrow_and_update();
                if let Some(line) = self.lines().into_iter().find(|line| wanted(line)) {
                    return Some(line);
                }
                // The channel closes when both outputs end.
                if grown.changed().await.is_err() {
                    return self.lines().into_iter().find(|line| wanted(line));
                }
            }
        };
        match timeout(deadline, search).await {
            Ok(Some(line)) => Ok(line),
            Ok(None) => bail!("{} ended before {what}:\n{}", self.name, self.tail()),
            Err(_) => bail!("{}: no line for {what} in {} s:\n{}", self.name, deadline.as_secs_f32(), self.tail()),
        }
    }

    /// The last lines, for messages.
    #[must_use]
    pub fn tail(&self) -> String {
        let lines = self.lines();
        let from = lines.len().saturating_sub(30);
        let last: Vec<_> = lines.into_iter().skip(from).map(|line| format!("  | {}", line.text)).collect();
        format!("{}\n  (whole log: {})", last.join("\n"), self.log.display())
    }

    /// Sends SIGKILL, and waits for the end.
    ///
    /// # Errors
    ///
    /// The system refuses the signal.
    pub async fn kill(&mut self) -> Result<()> {
        self.child.kill().await.with_context(|| format!("cannot kill {}", self.name))
    }

    /// Sends SIGTERM, without waiting.
    ///
    /// # Errors
    ///
    /// The signal cannot be sent.
    pub async fn terminate(&self) -> Result<()> {
        self.signal("TERM").await
    }

    /// Sends a signal by its name, without `SIG`.
    ///
    /// # Errors
    ///
    /// The signal cannot be sent.
    pub async fn signal(&self, signal: &str) -> Result<()> {
        // The shell's own `kill`: this needs no package, and no unsafe code for one system call.
        let script = format!("kill -{signal} {}", self.pid);
        let status = Command::new("sh").args(["-c", &script]).status().await.context("cannot run sh")?;
        if !status.success() {
            bail!("cannot send {signal} to {} ({})", self.name, self.pid);
        }
        Ok(())
    }

    /// Waits for the end of the process, and of its output.
    ///
    /// # Errors
    ///
    /// The process still runs after `deadline`.
    pub async fn wait(&mut self, deadline: Duration) -> Result<ExitStatus> {
        let Ok(status) = timeout(deadline, self.child.wait()).await else {
            bail!("{} still runs after {} s:\n{}", self.name, deadline.as_secs_f32(), self.tail())
        };
        // The channel closes when both outputs end.
        let mut grown = self.grown.clone();
        let _ = timeout(LAST_LINES, async { while grown.changed().await.is_ok() {} }).await;
        Ok(status?)
    }

    /// Its exit status, if it has ended.
    ///
    /// # Errors
    ///
    /// The system cannot report the status.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }
}

async fn capture<R: AsyncRead + Unpin>(output: R, captured: Arc<Mutex<Captured>>, grown: Arc<watch::Sender<u64>>) {
    let mut reader = BufReader::new(output);
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        match reader.read_until(b'\n', &mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&buffer).trim_end().to_owned();
        {
            let mut captured = captured.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(file) = captured.file.as_mut() {
                // The ring keeps the line in any case.
                let _ = writeln!(file, "{text}");
            }
            captured.lines.push_back(LogLine::new(text));
            if captured.lines.len() > RING {
                captured.lines.pop_front();
            }
        }
        grown.send_modify(|count| *count += 1);
    }
}

/// The executable `name`, from the environment variable `variable` or the target folder of this executable.
///
/// # Errors
///
/// The executable has not been built; the message says how to build it.
pub(crate) fn executable(variable: &str, name: &str, package: &str) -> Result<PathBuf> {
    if let Some(path) = env::var_os(variable) {
        return Ok(path.into());
    }
    let own = env::current_exe()?;
    for folder in own.ancestors().skip(1).take(2) {
        let candidate = folder.join(name);
        if candidate.is_file() {
            return Ok(candidate);
        }
    }
    bail!("{name} is not built: run `cargo build -p {package}`, or name it in {variable}")
}

/// The `oarlock` command under test.
///
/// # Errors
///
/// The command is not built.
pub fn oarlock_binary() -> Result<PathBuf> {
    executable("OARLOCK_BIN", "oarlock", "oarlock")
}

/// The folder in whose folder `oarlock` the tests share compiled code, as in `XDG_CACHE_HOME`.
fn cache_home() -> Result<PathBuf> {
    Ok(oarlock_binary()?.with_file_name("code-cache"))
}

/// The folder of the compiled code that tests share.
///
/// # Errors
///
/// The command is not built.
pub(super) fn code_cache() -> Result<PathBuf> {
    Ok(cache_home()?.join("oarlock"))
}

/// Runs `oarlock` with these arguments to its end.
///
/// # Errors
///
/// The command is not built, or still runs after six minutes: it may have to compile a large component first, beside other tests.
pub async fn oarlock(args: &[&str]) -> Result<std::process::Output> {
    let mut command = Command::new(oarlock_binary()?);
    command.args(args).env("XDG_CACHE_HOME", cache_home()?).stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(4 * SOON, command.output()).await;
    Ok(output.with_context(|| format!("oarlock {} still runs", args.join(" ")))??)
}
