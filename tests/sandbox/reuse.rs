//! Instances that serve more than one reconcile, and those that must not.

use super::{desired, pool_of, request, run};
use anyhow::{Context, Result, ensure};
use oarlock_manifest::Limits;
use serde_json::json;

async fn counts(reuses: u32) -> Result<Vec<i64>> {
    let pool = pool_of("counts", Limits { instance_reuses: reuses, ..Limits::default() }).await?;
    let mut seen = Vec::new();
    for _ in 0..6 {
        let answer = desired(&pool).await?.context("nothing desired")?;
        seen.push(answer.get("count").and_then(serde_json::Value::as_i64).context("no count")?);
    }
    Ok(seen)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_reconcile_has_a_fresh_instance_unless_the_grant_says_otherwise() -> Result<()> {
    ensure!(counts(0).await? == [1, 1, 1, 1, 1, 1]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_serves_as_many_further_reconciles_as_the_grant_says() -> Result<()> {
    ensure!(counts(2).await? == [1, 2, 3, 1, 2, 3]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_many_instances_wait_as_there_are_workers() -> Result<()> {
    let pool = pool_of("counts", Limits { instance_reuses: 9, ..Limits::default() }).await?;
    let mut taken = Vec::new();
    for _ in 0..3 {
        let mut instance = pool.take(run()).await?;
        ensure!(instance.get_desired(&request()).await?.as_deref() == Some(&json!({"count": 1})));
        taken.push(instance);
    }
    ensure!(pool.idle().instances == 0);
    for instance in taken {
        pool.give_back(instance);
    }
    let idle = pool.idle();
    ensure!(idle.instances == 1 && idle.memory_bytes == 4 << 16, "{idle:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p9_an_instance_that_trapped_or_was_late_serves_no_other() -> Result<()> {
    for name in ["answer-not-utf8", "loops"] {
        let limits = Limits { instance_reuses: 9, deadline_seconds: 1, ..Limits::default() };
        let pool = pool_of(name, limits).await?;
        ensure!(desired(&pool).await.is_err(), "{name}");
        ensure!(pool.idle().instances == 0, "{name}: {:?}", pool.idle());
    }
    Ok(())
}
