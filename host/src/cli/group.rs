//! A command in a process group of its own.

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

/// Output of a command that is kept: its last bytes.
const OUTPUT_BYTES: usize = 64 << 10;

/// Time between the request to end and the end by force.
const GRACE: Duration = Duration::from_secs(2);

/// Processes that were ended by force hold their files for a moment. Longest wait for that, because nobody may reap them.
const GONE_WITHIN: Duration = Duration::from_millis(100);

/// Interval between two looks for them.
const LOOK: Duration = Duration::from_millis(5);

/// After the end of the command, a process that it left behind may hold its output open for this long.
const OUTPUT_LEFT: Duration = Duration::from_millis(200);

/// Sees all output of a command, in pieces.
pub(in crate::cli) type Tap = Box<dyn FnMut(&[u8]) + Send>;

/// The end of an output.
type Kept = Arc<Mutex<VecDeque<u8>>>;

/// A command in a process group of its own. Its whole group ends with this.
pub(in crate::cli) struct Group {
    child: Child,
    pid: Option<Pid>,
    reading: JoinHandle<()>,
    kept: Kept,
}

/// The result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Ended {
    pub(in crate::cli) success: bool,
    /// `exit status: 1`, `signal: 9 (SIGKILL)`
    pub(in crate::cli) status: String,
    /// Standard output and standard error, in the order of writing: the last 64 KiB.
    pub(in crate::cli) output: String,
}

impl Group {
    /// Starts a command without standard input.
    ///
    /// # Errors
    ///
    /// The command cannot be started.
    pub(in crate::cli) fn start(command: Command) -> anyhow::Result<Self> {
        Self::tapped(command, Box::new(|_| {}))
    }

    /// As [`start`](Self::start).
    ///
    /// * `tap` - sees the output as it comes.
    pub(in crate::cli) fn tapped(mut command: Command, tap: Tap) -> anyhow::Result<Self> {
        let (reader, writer) = std::io::pipe()?;
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let child = command.process_group(0).kill_on_drop(true).spawn();
        let name = command.as_std().get_program().to_string_lossy().into_owned();
        let child = child.with_context(|| format!("cannot start {name}: it must be on the PATH"))?;
        // The writing ends of the pipe are the child's alone from here on.
        drop(command);
        let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let kept = Kept::default();
        let reader = pipe::Receiver::from_owned_fd(reader.into())?;
        let reading = tokio::spawn(keep(reader, Arc::clone(&kept), tap));
        Ok(Self { child, pid, reading, kept })
    }

    /// Waits for the end.
    ///
    /// # Cancel safety
    ///
    /// The command goes on; the next call waits on.
    pub(in crate::cli) async fn ended(&mut self) -> anyhow::Result<Ended> {
        let status = self.child.wait().await?;
        let _open = tokio::time::timeout(OUTPUT_LEFT, &mut self.reading).await;
        Ok(Ended { success: status.success(), status: status.to_string(), output: self.output() })
    }

    /// Standard output and standard error so far: the last 64 KiB.
    pub(in crate::cli) fn output(&self) -> String {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The process group, while the command has not been waited for.
    pub(in crate::cli) fn id(&self) -> Option<Pid> {
        self.child.id().and(self.pid)
    }

    /// Whether the command has ended. Afterwards [`ended`](Self::ended) answers at once.
    ///
    /// # Errors
    ///
    /// The operating system does not tell.
    pub(in crate::cli) fn is_over(&mut self) -> std::io::Result<bool> {
        self.child.try_wait().map(|status| status.is_some())
    }

    /// Ends the group by force, and waits for the command's end.
    pub(in crate::cli) async fn kill(mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait().await;
    }

    /// Ends the group, by force after a grace period, and waits for the command's end.
    pub(in crate::cli) async fn end(mut self) {
        self.signal(Signal::TERM);
        let ended = tokio::time::timeout(GRACE, self.child.wait()).await.is_ok();
        // Also when the command ended: others of the group may ignore the request.
        self.signal(Signal::KILL);
        if !ended {
            let _ = self.child.wait().await;
        }
        let gone = async {
            while self.pid.is_some_and(|pid| test_kill_process_group(pid).is_ok()) {
                tokio::time::sleep(LOOK).await;
            }
        };
        let _ = tokio::time::timeout(GONE_WITHIN, gone).await;
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid {
            // An error means that the group has ended.
            let _ = kill_process_group(pid, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // After the end of the command, the id may be another's.
        if self.child.id().is_some() {
            self.signal(Signal::KILL);
        }
        self.reading.abort();
    }
}

async fn keep(mut reader: pipe::Receiver, kept: Kept, mut tap: Tap) {
    let mut chunk = vec![0; 8192];
    while let Ok(read @ 1..) = reader.read(&mut chunk).await {
        tap(chunk.get(..read).unwrap_or_default());
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(chunk.iter().take(read));
        let surplus = kept.len().saturating_sub(OUTPUT_BYTES);
        kept.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Group {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Group::start(command).unwrap()
    }

    #[tokio::test]
    async fn a_command_is_told_with_its_output_in_order() {
        let ended = shell("echo one; echo two >&2; echo three; exit 3").ended().await.unwrap();
        assert_eq!(
            ended,
            Ended { success: false, status: "exit status: 3".to_owned(), output: "one\ntwo\nthree\n".to_owned() }
        );
        let ended = shell("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done").ended().await.unwrap();
        assert!(ended.success && ended.output.len() == OUTPUT_BYTES && ended.output.ends_with("line 19999\n"));
    }

    #[tokio::test]
    async fn a_process_left_behind_holds_nothing_up() {
        let mut group = shell("sleep 600 & echo done");
        assert_eq!(group.ended().await.unwrap().output, "done\n");
    }

    #[tokio::test]
    async fn the_whole_group_ends_also_when_it_ignores_the_request() {
        let mut group = shell("trap '' TERM; sh -c 'trap \"\" TERM; echo $$; sleep 600'");
        let inner = loop {
            let said = group.kept.lock().unwrap().iter().copied().collect::<Vec<u8>>();
            if let Some(line) = said.strip_suffix(b"\n") {
                break String::from_utf8(line.to_vec()).unwrap();
            }
            assert!(tokio::time::timeout(Duration::from_millis(10), group.child.wait()).await.is_err(), "it ended");
        };
        group.end().await;
        // A process that was killed may still wait for its parent to notice.
        let state = std::fs::read_to_string(format!("/proc/{inner}/stat")).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{state}");
    }
}
