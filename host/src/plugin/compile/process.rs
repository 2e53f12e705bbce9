//! The compiler process and its protocol: the host's side and the compiler's side.
//!
//! The host writes the length of the file (eight bytes) and the file. The compiler returns a byte with the kind of result, the length,
//! and the result. The input pipe stays open while the host waits, so the compiler does not outlive its host.

use super::native_code;
use crate::plugin::code_cache::FunctionCache;
use crate::plugin::engine;
use crate::plugin::load::{FILE_LIMIT_BYTES, LoadError};
use crate::plugin::native::{CodeBuffer, NativeCode};
use anyhow::Context as _;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

/// Added to the host's nice value. Beside one busy thread of the host, the compiler has a quarter of a core.
const NICE: i32 = 5;

/// Most bytes of stderr that the host keeps.
const STDERR_BYTES: u64 = 2048;

/// Most code from one plugin.
const ANSWER_LIMIT_BYTES: u64 = 2 << 30;

/// Deadline of a compiler that waits instead of computing; the kernel's limits bound its computing.
const WALL: Duration = Duration::from_secs(3600);

/// Resource limits of one compiler process. The kernel ends a process that exceeds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileLimits {
    /// Processor time of all its threads together, in seconds.
    pub cpu_seconds: u64,
    /// Memory, in MiB.
    pub memory_mib: u64,
}

impl Default for CompileLimits {
    /// Ample for an interpreter of 40 MiB compiled into one plugin. Where the host has less memory, its compilers have less too.
    fn default() -> Self {
        Self { cpu_seconds: 600, memory_mib: 4096 }
    }
}

/// The first byte of a response: the kind of result.
#[derive(Clone, Copy)]
enum CompilerResult {
    Code = 0,
    NotWasm = 1,
    NoComponentType = 2,
    Invalid = 3,
    Other = 4,
}

/// How a host starts its compilers.
#[derive(Clone, Debug)]
pub(super) struct Start {
    /// The `oarlock` program.
    pub(super) program: PathBuf,
    /// See [`EngineOptions::quick`](crate::plugin::EngineOptions::quick).
    pub(super) quick: bool,
    /// The folder of the code cache, for [`FunctionCache`].
    pub(super) functions: Option<PathBuf>,
}

/// Compiles a plugin file in a separate process.
pub(super) async fn compile(
    start: &Start,
    threads: u32,
    memory_mib: u64,
    file: &[u8],
) -> Result<NativeCode, LoadError> {
    tokio::time::timeout(WALL, ask(start, threads, memory_mib, file))
        .await
        .unwrap_or_else(|_elapsed| Err(LoadError::Compiler("the compiler hangs".to_owned())))
}

async fn ask(start: &Start, threads: u32, memory_mib: u64, file: &[u8]) -> Result<NativeCode, LoadError> {
    let gave_up = |e: std::io::Error| LoadError::Compiler(format!("no compiler process: {e}"));
    let functions = start.functions.iter().flat_map(|folder| ["--functions".as_ref(), folder.as_os_str()]);
    let mut child = Command::new(&start.program)
        .arg0("oarlock")
        .arg("compile")
        .args(["--memory-mib", &memory_mib.to_string()])
        .args(start.quick.then_some("--quick"))
        .args(functions)
        // The compiler does not get the host's environment.
        .env_clear()
        .env("RAYON_NUM_THREADS", threads.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(gave_up)?;
    let (Some(mut stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(LoadError::Compiler("its pipes are missing".to_owned()));
    };
    let send = async {
        // A failed write shows in the compiler's response, or in its exit status.
        let _ = stdin.write_all(&(file.len() as u64).to_le_bytes()).await;
        let _ = stdin.write_all(file).await;
    };
    let mut said = Vec::new();
    let listen = async {
        let mut beginning = stderr.take(STDERR_BYTES);
        let _ = beginning.read_to_end(&mut said).await;
        let _ = tokio::io::copy(&mut beginning.into_inner(), &mut tokio::io::sink()).await;
    };
    let ((), answer, ()) = tokio::join!(send, read_answer(stdout), listen);
    let status = child.wait().await.map_err(gave_up)?;
    drop(stdin);
    if !status.success() {
        return Err(LoadError::Compiler(end_of(status, memory_mib, &String::from_utf8_lossy(&said))));
    }
    let (tag, content) = answer.map_err(|e| LoadError::Compiler(format!("the compiler gave no whole answer: {e}")))?;
    let text = || String::from_utf8_lossy(content.bytes()).into_owned();
    match tag {
        tag if tag == CompilerResult::Code as u8 => Ok(NativeCode::trust(content, 0)),
        tag if tag == CompilerResult::NotWasm as u8 => Err(LoadError::NotWasm(text())),
        tag if tag == CompilerResult::NoComponentType as u8 => Err(LoadError::NoComponentType),
        tag if tag == CompilerResult::Invalid as u8 => Err(LoadError::Invalid(text())),
        _ => Err(LoadError::Compiler(text())),
    }
}

/// The kind of response and its content. The pipe is closed after it.
async fn read_answer(mut stdout: tokio::process::ChildStdout) -> std::io::Result<(u8, CodeBuffer)> {
    let tag = stdout.read_u8().await?;
    let length = stdout.read_u64_le().await?;
    if length > ANSWER_LIMIT_BYTES {
        return Err(std::io::Error::other(format!("{length} bytes of code are too many")));
    }
    let mut content = CodeBuffer::new(usize::try_from(length).map_err(std::io::Error::other)?)?;
    stdout.read_exact(content.bytes_mut()).await?;
    Ok((tag, content))
}

/// Why a compiler ended without a response.
fn end_of(status: ExitStatus, memory_mib: u64, said: &str) -> String {
    use rustix::process::Signal;
    let limits = CompileLimits::default();
    let signal = status.signal().and_then(Signal::from_named_raw);
    match signal {
        Some(Signal::XCPU) => format!("it takes more than {} s of processor time", limits.cpu_seconds),
        Some(Signal::ABORT) if said.contains("memory allocation") => {
            let why = if memory_mib < limits.memory_mib { ": the host has no more for it" } else { "" };
            format!("it takes more than {memory_mib} MiB of memory{why}")
        }
        _ => {
            let said = said.trim();
            format!("the compiler ended with {status}{}{said}", if said.is_empty() { "" } else { ": " })
        }
    }
}

/// `oarlock compile`: reads a plugin file from stdin and writes its code to stdout, for the host that started it.
///
/// * `quick` - see [`EngineOptions::quick`](crate::plugin::EngineOptions::quick).
/// * `functions` - the folder of the code cache, for functions that were compiled before.
///
/// # Errors
///
/// The limits cannot be set, or the pipes break.
pub fn serve(limits: CompileLimits, quick: bool, functions: Option<&Path>) -> anyhow::Result<()> {
    let set = |resource, limit| {
        let maximum = rustix::process::getrlimit(resource).maximum;
        let limit = maximum.map_or(limit, |maximum| maximum.min(limit));
        setrlimit(resource, Rlimit { current: Some(limit), maximum })
    };
    set(Resource::Cpu, limits.cpu_seconds).context("cannot limit the processor time")?;
    set(Resource::Data, limits.memory_mib << 20).context("cannot limit the memory")?;
    set(Resource::Core, 0).context("cannot turn off core dumps")?;
    // Before any thread starts, because threads inherit it. Lower priority needs no privilege.
    if !quick {
        rustix::process::nice(NICE).context("cannot lower the priority")?;
    }
    // When memory runs out, the kernel should end this process first; not every system allows the setting.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");

    let mut stdin = std::io::stdin().lock();
    let mut length = [0; 8];
    stdin.read_exact(&mut length).context("nothing to compile")?;
    let length = u64::from_le_bytes(length);
    anyhow::ensure!(length <= FILE_LIMIT_BYTES, "a file of {length} bytes is not a plugin");
    let mut file = vec![0; usize::try_from(length)?];
    stdin.read_exact(&mut file).context("the file is cut short")?;
    drop(stdin);
    std::thread::Builder::new().name("host".to_owned()).spawn(|| {
        // Returns only when the host ends, or no longer wants the result.
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(1);
    })?;

    // Without these files it compiles every function.
    let functions = functions.and_then(|folder| FunctionCache::open(folder).ok());
    let compiled = engine::compiling(quick, functions).map(|engine| native_code(&engine, &file));
    let (answer, content) = match compiled {
        Ok(Ok(code)) => (CompilerResult::Code, code),
        Ok(Err(LoadError::NotWasm(reason))) => (CompilerResult::NotWasm, reason.into_bytes()),
        Ok(Err(LoadError::NoComponentType)) => (CompilerResult::NoComponentType, Vec::new()),
        Ok(Err(LoadError::Invalid(reason))) => (CompilerResult::Invalid, reason.into_bytes()),
        Ok(Err(other)) => (CompilerResult::Other, other.to_string().into_bytes()),
        Err(e) => (CompilerResult::Other, format!("{e:#}").into_bytes()),
    };
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(&[answer as u8])?;
    stdout.write_all(&(content.len() as u64).to_le_bytes())?;
    stdout.write_all(&content)?;
    stdout.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p18_a_compiler_that_was_ended_is_told_of_by_its_limit() {
        for (status, said, expected) in [
            (24, "", "more than 600 s of processor time"),
            (6, "memory allocation of 4096 bytes failed\n", "more than 4096 MiB of memory"),
            (6, "something else\n", "signal: 6 (SIGABRT): something else"),
            (9, "", "signal: 9 (SIGKILL)"),
            (0x100, "oarlock: the file is cut short\n", "exit status: 1: oarlock: the file is cut short"),
        ] {
            let told = end_of(ExitStatus::from_raw(status), 4096, said);
            assert!(told.ends_with(expected), "{told}");
        }
    }

    #[tokio::test]
    async fn a_program_that_is_no_compiler_is_an_error() {
        for (program, expected) in [("/nowhere/oarlock", "no compiler process"), ("/bin/true", "no whole answer")] {
            let start = Start { program: program.into(), quick: false, functions: None };
            let Err(LoadError::Compiler(told)) = compile(&start, 1, 4096, b"file").await else {
                panic!("{program} compiles");
            };
            assert!(told.contains(expected), "{told}");
        }
    }
}
