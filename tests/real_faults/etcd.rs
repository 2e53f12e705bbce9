//! Faults of the storage behind the API server.

use super::{RECOVERY, Real, each, gateway, name, skipped, slowly, wanted, with_real};
use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use http::Method;
use oarlock_tests::harness::{
    Action, ControlPlaneOptions, Gate, HttpClient, Program, Rule, SOON, Tripwire, Upstream, eventually,
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path, process::Command, time::Duration};
use tokio_util::sync::CancellationToken;

const BOTH: [Program; 2] = [Program::Etcd, Program::ApiServer];

/// etcd's gateway from HTTP with JSON to gRPC.
struct Etcd(HttpClient);

impl Etcd {
    fn of(real: &Real) -> Result<Self> {
        Ok(Self(HttpClient::new(&real.plane.etcd_url()?)))
    }

    async fn ask(&self, path: &str, body: &Value) -> Result<Value> {
        let answer = self.0.json(Method::POST, path, &[], body).await?;
        ensure!(answer.status.is_success(), "{path}: {} {}", answer.status, answer.text());
        answer.json()
    }

    /// Makes so many revisions that are about nothing in Kubernetes, and answers the newest.
    async fn advance(&self, revisions: usize) -> Result<u64> {
        let text = |text: &str| base64::prelude::BASE64_STANDARD.encode(text);
        let mut newest = 0;
        for _ in 0..revisions {
            let put = self.ask("/v3/kv/put", &json!({"key": text("elsewhere"), "value": text("x")})).await?;
            newest = put.pointer("/header/revision").and_then(Value::as_str).context("no revision")?.parse()?;
        }
        Ok(newest)
    }

    /// Forgets everything before the newest revision.
    async fn compact(&self) -> Result<()> {
        let newest = self.advance(2).await?;
        self.ask("/v3/kv/compaction", &json!({"revision": newest.to_string(), "physical": true})).await?;
        Ok(())
    }
}

/// How often a watch of the host was told that its version is too old.
fn expired(real: &Real) -> Result<usize> {
    Ok(real.host()?.log(|line| line.text.contains("watch failing") && line.text.contains("410")).len())
}

/// The host sleeps while much changes, etcd forgets it, and the API server's own cache begins after it.
async fn behind_a_compaction(real: &mut Real) -> Result<()> {
    let user = real.user();
    user.create_all(0..20).await?;
    real.settled(RECOVERY, &wanted(0..20, 1), 0).await?;
    let before = expired(real)?;
    real.host()?.process().signal("STOP").await?;
    // Else its open watch is in the buffers of the system when it goes on.
    real.kill(&[Program::ApiServer]).await?;
    real.run(&[Program::ApiServer]).await?;
    user.create_all(20..30).await?;
    each(0..5, |number| user.edit(number, 7)).await?;
    each(5..10, |number| user.delete(number)).await?;
    real.kill(&[Program::ApiServer]).await?;
    Etcd::of(real)?.compact().await?;
    real.run(&[Program::ApiServer]).await?;
    real.host()?.process().signal("CONT").await?;
    let mut left = wanted(0..30, 1);
    left.extend(wanted(0..5, 7));
    (5..10).for_each(|number| drop(left.remove(&name(number))));
    real.settled(RECOVERY, &left, 0).await?;
    ensure!(expired(real)? > before, "the watch was not expired, and its events came all the same");
    eventually(SOON, "the relist to be counted", || async {
        let relists = real.host()?.metric("oarlock_informer_relists_total", &["kind=\"Network\""]).await?;
        ensure!(relists > 0.0, "none");
        Ok(())
    })
    .await?;
    // What comes after it is watched as before.
    user.edit(12, 9).await?;
    left.insert(name(12), gateway(12, 9));
    real.settled(RECOVERY, &left, 0).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r2_changes_that_etcd_compacted_under_our_watches_are_found_by_a_list() -> Result<()> {
    with_real(ControlPlaneOptions::default(), behind_a_compaction).await
}

fn without_watch_cache() -> ControlPlaneOptions {
    ControlPlaneOptions { apiserver_flags: vec!["--watch-cache=false".to_owned()], ..ControlPlaneOptions::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r4_without_a_watch_cache_watches_and_compactions_are_the_same() -> Result<()> {
    with_real(without_watch_cache(), async |real: &mut Real| {
        let user = real.user();
        let load = tokio::spawn(async move { user.create_and_edit(100..140, 2).await });
        // Under open watches a compaction is nothing.
        let etcd = Etcd::of(real)?;
        for ready in [5, 15, 25] {
            real.some_ready(ready).await?;
            etcd.compact().await?;
        }
        load.await??;
        real.settled(RECOVERY, &wanted(100..140, 3), 0).await?;
        let user = real.user();
        each(100..140, |number| user.delete(number)).await?;
        real.settled(RECOVERY, &BTreeMap::new(), 0).await?;
        behind_a_compaction(real).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r4_a_list_whose_pages_etcd_compacts_begins_again() -> Result<()> {
    with_real(without_watch_cache(), async |real: &mut Real| {
        real.kill_host().await?;
        // More than a page of 500.
        real.user().create_all(0..600).await?;
        let gate = Gate::open(Upstream::Kubernetes(real.cluster.client()), Tripwire::default()).await?;
        real.options.kubeconfig = real.cluster.kubeconfig_for(&gate.url(), None).await?;
        let compacted = CancellationToken::new();
        let second = gate.rule(Rule::every(Action::Until(compacted.clone())).path("continue=").times(1));
        real.start_host().await?;
        second.hit().await?;
        Etcd::of(real)?.compact().await?;
        compacted.cancel();
        real.settled(RECOVERY, &wanted(0..600, 1), 0).await?;
        let expired =
            gate.journal().iter().filter(|one| one.status.is_some_and(|status| status.as_u16() == 410)).count();
        ensure!(expired > 0, "no page was expired");
        Ok(())
    })
    .await
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let status = Command::new("cp").arg("-a").args([from, to]).status()?;
    ensure!(status.success(), "cp {} {}", from.display(), to.display());
    Ok(())
}

/// Takes a backup, has much change after it, goes back to it, and changes more.
///
/// * `bumped` - with revisions from far ahead, and none before them, as `etcdutl snapshot restore --bump-revision --mark-compacted` does it.
async fn restored(real: &mut Real, bumped: bool) -> Result<()> {
    let user = real.user();
    user.create_all(0..12).await?;
    real.settled(RECOVERY, &wanted(0..12, 1), 0).await?;
    let (data, backup) = (real.plane.folder().join("etcd"), real.folder.path().join("backup"));
    real.kill(&[Program::ApiServer, Program::Etcd]).await?;
    copy(&data, &backup)?;
    real.run(&BOTH).await?;
    user.create_all(12..16).await?;
    each(0..4, |number| user.edit(number, 5)).await?;
    each(4..8, |number| user.delete(number)).await?;
    let mut after = wanted(0..16, 1);
    after.extend(wanted(0..4, 5));
    (4..8).for_each(|number| drop(after.remove(&name(number))));
    real.settled(RECOVERY, &after, 0).await?;
    real.kill(&[Program::ApiServer, Program::Etcd]).await?;
    std::fs::remove_dir_all(&data)?;
    copy(&backup, &data)?;
    real.run(&[Program::Etcd]).await?;
    if bumped {
        let etcd = Etcd::of(real)?;
        slowly(SOON, "etcd", || async { etcd.advance(1).await.map(drop) }).await?;
        etcd.advance(3000).await?;
        etcd.compact().await?;
    }
    real.run(&[Program::ApiServer]).await?;
    user.edit(9, 9).await?;
    // Those that were created after the backup are nobody's any more: four networks are left in Neutron.
    let mut left = wanted(0..12, 1);
    left.insert(name(9), gateway(9, 9));
    real.settled(Duration::from_secs(300) + 2 * RECOVERY, &left, 4).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r3_an_etcd_that_was_restored_from_a_backup_is_believed_after_five_minutes() -> Result<()> {
    if std::env::var_os("OARLOCK_LONG").is_none() {
        skipped("OARLOCK_LONG is not set: this takes more than five minutes");
        return Ok(());
    }
    with_real(ControlPlaneOptions::default(), async |real: &mut Real| restored(real, false).await).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r3_an_etcd_that_was_restored_with_newer_revisions_is_believed_at_once() -> Result<()> {
    with_real(ControlPlaneOptions::default(), async |real: &mut Real| restored(real, true).await).await
}
