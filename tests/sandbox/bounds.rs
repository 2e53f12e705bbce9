//! What a guest is refused, and with which words.

use super::{desired, pool_of, refusal};
use anyhow::{Context, Result, ensure};
use oarlock::plugin::CallError;
use oarlock_manifest::Limits;
use oarlock_tests::harness::eventually;
use std::{env, fs, time::Duration};
use tokio::process::Command;

/// Little of everything but time, of which a busy machine needs more.
fn small() -> Limits {
    Limits { memory_mib: 16, table_elements: 50_000, deadline_seconds: 60, ..Limits::default() }
}

/// The first call of a guest that loads.
async fn failure(name: &str, limits: Limits) -> Result<CallError> {
    let pool = pool_of(name, limits).await?;
    desired(&pool).await.err().with_context(|| format!("{name} has answered"))
}

fn says(error: &impl ToString, words: &[&str]) -> Result<()> {
    let said = error.to_string();
    for word in words {
        ensure!(said.contains(word), "{said:?} does not say {word:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p1_a_loop_ends_at_the_deadline_and_others_answer_meanwhile() -> Result<()> {
    let short = Limits { deadline_seconds: 1, ..small() };
    let (looping, tiny) = (pool_of("loops", short).await?, pool_of("tiny", small()).await?);
    let loops = futures::future::join_all((0..8).map(|_| desired(&looping)));
    let others = async {
        let mut answered = 0;
        for _ in 0..100 {
            desired(&tiny).await?;
            answered += 1;
        }
        Ok::<_, CallError>(answered)
    };
    let (ended, answered) = futures::future::join(loops, others).await;
    ensure!(answered? == 100);
    // A machine that leaves the threads of long computations no time at all starves them: they end all the same.
    for one in ended {
        ensure!(matches!(one, Err(CallError::Deadline { .. } | CallError::Starved { .. })), "{one:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p2_a_loop_or_trap_before_anything_was_asked_is_a_load_error() -> Result<()> {
    for name in ["start-loops", "initialize-loops"] {
        says(&refusal(name).await?, &["describe failed", "did not finish its start", "5 s"])?;
    }
    says(&refusal("start-traps").await?, &["describe failed", "trapped in its start", "unreachable"])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p4_memory_counts_over_all_memories() -> Result<()> {
    says(&refusal("memories-at-start").await?, &["64 MiB", "its start", "limits.memoryMib"])?;
    says(&failure("memories-that-grow", small()).await?, &["16 MiB", "get-desired", "limits.memoryMib"])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p4_elements_count_over_all_tables() -> Result<()> {
    says(&refusal("tables-at-start").await?, &["50000 table elements", "its start", "limits.tableElements"])?;
    says(&failure("tables-that-grow", small()).await?, &["50000 table elements", "get-desired", "limits.tableElements"])
}

/// What the engine has no room for is refused by name when the file is loaded.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p4_more_than_any_grant_allows_is_refused_at_load() -> Result<()> {
    for (name, word) in [
        ("memories-too-many", "memories"),
        ("memory-too-large", "memory"),
        ("tables-too-many", "tables"),
        ("table-too-large", "table"),
    ] {
        says(&refusal(name).await?, &["not a valid component", word])?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p7_answers_that_are_no_answers_are_traps() -> Result<()> {
    for (name, word) in [
        ("answer-out-of-bounds", "bounds"),
        ("answer-unaligned", "aligned"),
        ("answer-not-utf8", "utf-8"),
        ("answer-no-variant", "discriminant"),
        ("log-out-of-bounds", "bounds"),
        ("log-not-utf8", "utf-8"),
    ] {
        let error = failure(name, small()).await?;
        ensure!(matches!(error, CallError::Trap { .. }), "{name}: {error:?}");
        says(&error.to_string().to_lowercase(), &[word]).context(name)?;
    }
    Ok(())
}

/// The most memory that this process has had.
fn peak_bytes() -> Result<usize> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    let kib: usize = line.split_whitespace().next().context("no number")?.parse()?;
    Ok(kib << 10)
}

/// Set in a process that runs one test alone.
const ALONE: &str = "OARLOCK_TEST_ALONE";

/// 2 MiB in the guest that would be 256 MiB in the host. A process of its own measures it: other tests allocate in this one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p7_what_is_handed_over_is_counted_as_often_as_it_is_copied() -> Result<()> {
    if env::var_os(ALONE).is_none() {
        let name = "sandbox::bounds::p7_what_is_handed_over_is_counted_as_often_as_it_is_copied";
        let alone = Command::new(env::current_exe()?).args(["--exact", name]).env(ALONE, "1").output().await?;
        let said = String::from_utf8_lossy(&alone.stdout);
        ensure!(alone.status.success() && said.contains("1 passed"), "{said}");
        return Ok(());
    }
    let pool = pool_of("log-alias", small()).await?;
    let before = peak_bytes()?;
    for _ in 0..10 {
        let error = desired(&pool).await.err().context("it has answered")?;
        ensure!(matches!(error, CallError::HandedTooMuch { .. }), "{error:?}");
        says(&error, &["8192 KiB", "limits.answerKib"])?;
    }
    let grown = peak_bytes()?.saturating_sub(before);
    ensure!(grown < 100 << 20, "the host's peak has grown by {} MiB", grown >> 20);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p10_a_guest_cannot_call_the_host_while_it_is_being_entered() -> Result<()> {
    let error = failure("reenters", small()).await?;
    says(&error, &["trapped", "cannot leave component instance"])
}

/// Slowly is not forbidden: what ends within its deadline answers, on threads that leave the others their time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_that_computes_for_long_finishes_when_it_is_alone() -> Result<()> {
    let pool = pool_of("computes", Limits { deadline_seconds: 300, ..small() }).await?;
    ensure!(desired(&pool).await?.is_none());
    Ok(())
}

/// A call nobody waits for any more leaves nothing behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p9_an_instance_that_was_not_waited_for_is_gone() -> Result<()> {
    let pool = pool_of("loops", Limits { deadline_seconds: 3600, instance_reuses: 10, ..small() }).await?;
    let mut instance = pool.take(super::run()).await?;
    let request = super::request();
    let cut = tokio::time::timeout(Duration::from_millis(100), instance.get_desired(&request)).await;
    ensure!(cut.is_err(), "it has answered");
    let again = instance.get_desired(&request).await;
    ensure!(matches!(again, Err(CallError::Trap { .. })), "{again:?}");
    pool.give_back(instance);
    ensure!(pool.idle().instances == 0, "{:?}", pool.idle());
    // Its store is dropped where it ran: there the next guest has its turn.
    let tiny = pool_of("computes", Limits { deadline_seconds: 300, ..small() }).await?;
    eventually(Duration::from_secs(300), "the next one's answer", || async { Ok(desired(&tiny).await.map(drop)?) })
        .await
}
