//! A candidate that is wrong, strikes, fails or is slow is stopped, and what it wrote is undone.

use super::{
    A_WHILE, aborted, children, extras, grant, journals, make_fragile, objects, plugin, restored, rollout, runs, share,
    started, started_with,
};
use crate::plan::ALONE;
use anyhow::{Context, Result, ensure};
use http::{Method, StatusCode};
use oarlock_tests::harness::{Action, Exchange, Rule, World, misfit_version, steady, text, with_world};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

const OBJECTS: usize = 100;

/// The share of the objects that a candidate gets, in percent.
const SHARE: u64 = 20;

fn some(limit: Option<u32>) -> Value {
    canary(SHARE, limit)
}

/// Makes some objects inside and outside of the share fragile. Returns the share.
async fn fragile(world: &World, candidate: &[u8], inside: usize) -> Result<BTreeSet<String>> {
    let share = share(world, candidate, SHARE, OBJECTS);
    ensure!(share.len() > inside && share.len() < OBJECTS / 2, "{share:?}");
    let outside: Vec<String> =
        (0..OBJECTS).map(|number| format!("o{number}")).filter(|name| !share.contains(name)).take(2).collect();
    make_fragile(world, share.iter().take(inside).chain(&outside)).await?;
    Ok(share)
}

/// The objects whose children were written since a mark, by a write that contains a text.
fn written(world: &World, mark: usize, part: &str) -> Vec<String> {
    let name = |exchange: &Exchange| {
        let last = exchange.path.split('?').next()?.rsplit('/').next()?;
        last.strip_suffix("-child").map(str::to_owned)
    };
    let writes = world.kubernetes_gate.writes_since(mark);
    let writes = writes.iter().filter(|exchange| String::from_utf8_lossy(&exchange.body).contains(part));
    writes.filter_map(name).collect()
}

fn all(limit: Option<u32>) -> Value {
    canary(100, limit)
}

fn canary(percent: u64, limit: Option<u32>) -> Value {
    let mut canary = json!({"percent": percent, "for": "1h"});
    if let Some(limit) = limit {
        canary.as_object_mut().map(|canary| canary.insert("maxDifferentWrites".to_owned(), json!(limit)));
    }
    json!({"canary": canary})
}

/// It answers every call, and is wrong about two objects of its share. No write beyond the limit is made, and none outside of the share.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_candidate_that_is_wrong_without_trapping_is_stopped_by_the_limit_of_differing_writes() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, OBJECTS, 0).await?;
        started(&world, "", OBJECTS, &some(Some(1))).await?;
        let before = children(&world).await?;
        let candidate = misfit_version("two", "fragile:wrong")?;
        let share = fragile(&world, &candidate, 2).await?;
        let mark = world.kubernetes_gate.mark();
        world.plugins.file("misfit.wasm", &candidate)?;
        aborted(&world, "two", "more than 1 writes that the version that runs would not make (maxDifferentWrites)")
            .await?;
        restored(&world, &before).await?;
        let wrong = written(&world, mark, "\"seen\":\"wrong\"");
        // The first one may have been on its way when the second was one too many.
        ensure!(wrong.len() <= 1 && wrong.iter().all(|name| share.contains(name)), "{wrong:?} of {share:?}");
        let entry = plugin(&world).await?;
        ensure!(text(&entry, "/version") == "one" && entry["onProbation"] == false, "{entry}");
        Ok(())
    })
    .await
}

/// The comparison before a reconcile sees nothing after a request with effects. What the candidate writes after it counts all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_after_a_request_with_effects_count_for_the_limit() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        let created = Action::json(StatusCode::CREATED, &json!({}));
        let posts = world.neutron_gate.rule(Rule::every(created).methods(&[Method::POST]));
        objects(&world, 6, 0).await?;
        let url = world.neutron_gate.url();
        let granted = grant(&world, &all(Some(4)))?.origin(&url).config("url", &url);
        started_with(&world, "blind", 6, &granted).await?;
        let before = children(&world).await?;
        let mark = world.kubernetes_gate.mark();
        world.plugins.file("misfit.wasm", &misfit_version("two", "posts")?)?;
        aborted(&world, "two", "more than 4 writes that the version that runs would not make (maxDifferentWrites)")
            .await?;
        restored(&world, &before).await?;
        // One object has three: the request and two applies.
        let wrote = written(&world, mark, "\"marked\":\"true\"");
        ensure!(wrote.len() <= 1 && posts.hits() <= 4, "{wrote:?} after {} requests", posts.hits());
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_candidate_that_strikes_is_stopped() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, OBJECTS, 0).await?;
        started(&world, "blind", OBJECTS, &some(None)).await?;
        let before = children(&world).await?;
        let candidate = misfit_version("two", "fragile:trap")?;
        let share = fragile(&world, &candidate, 2).await?;
        let mark = world.kubernetes_gate.mark();
        world.plugins.file("misfit.wasm", &candidate)?;
        aborted(&world, "two", "objects went wrong with it").await?;
        restored(&world, &before).await?;
        let touched = written(&world, mark, "");
        ensure!(touched.iter().all(|name| share.contains(name)), "{touched:?} of {share:?}");
        // In the shadow, too, and nothing was written then.
        let steps = json!({"shadow": {"for": "1h"}, "canary": {"percent": 100, "for": "1h"}});
        world.plugins.grant("misfit", &super::grant(&world, &steps)?)?;
        let mark = world.kubernetes_gate.mark();
        world.plugins.file("misfit.wasm", &misfit_version("three", "fragile:trap")?)?;
        aborted(&world, "three", "objects went wrong with it").await?;
        let writes = world.kubernetes_gate.writes_since(mark);
        let children: Vec<_> = writes.iter().filter(|exchange| exchange.path.contains("-child")).collect();
        ensure!(children.is_empty(), "{children:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_candidate_that_fails_where_the_running_version_does_not_is_stopped() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, OBJECTS, 0).await?;
        started(&world, "", OBJECTS, &some(None)).await?;
        let before = children(&world).await?;
        let candidate = misfit_version("two", "fragile:transient")?;
        let share = fragile(&world, &candidate, 4).await?;
        let mark = world.kubernetes_gate.mark();
        world.plugins.file("misfit.wasm", &candidate)?;
        aborted(&world, "two", "objects fail only with it").await?;
        restored(&world, &before).await?;
        let touched = written(&world, mark, "");
        ensure!(touched.iter().all(|name| share.contains(name)), "{touched:?} of {share:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_candidate_is_stopped() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        // Times count after twenty comparisons.
        let candidate = misfit_version("two", "slow:80000000")?;
        let enough = |count: &usize| share(&world, &candidate, SHARE, *count).len() >= 25;
        let count = (25..1000).find(enough).context("no share")?;
        objects(&world, count, 0).await?;
        started(&world, "", count, &some(None)).await?;
        let before = children(&world).await?;
        let mark = world.kubernetes_gate.mark();
        world.plugins.file("misfit.wasm", &candidate)?;
        aborted(&world, "two", "ms for an object on average").await?;
        restored(&world, &before).await?;
        let share = share(&world, &candidate, SHARE, count);
        let touched = written(&world, mark, "");
        ensure!(touched.iter().all(|name| share.contains(name)), "{touched:?} of {share:?}");
        Ok(())
    })
    .await
}

/// Its own objects failed already: the candidate is not to blame.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_that_fail_with_the_running_version_do_not_count_against_the_candidate() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        started(&world, "fragile:transient", 0, &all(None)).await?;
        runs(&world, "one").await?;
        objects(&world, 20, 2).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "fragile:terminal")?)?;
        rollout(&world, "a canary of every object", |shown| shown["compared"]["objects"] == 20).await?;
        steady(A_WHILE, "the canary", || async {
            let entry = plugin(&world).await?;
            ensure!(entry["rollout"]["phase"] == "canary", "{entry:#}");
            ensure!(entry["rollout"]["compared"]["failing"] == 0, "{entry:#}");
            Ok(())
        })
        .await
    })
    .await
}

/// The permissions of before do not let the host read journals: that concerns canaries only.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_may_not_read_journals_reconciles_and_refuses_the_canary() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        let forbidden = Action::kubernetes(StatusCode::FORBIDDEN, "Forbidden", "may not list secrets", None);
        let _forbidden = world.kubernetes_gate.rule(Rule::every(forbidden).path("labelSelector=oarlock.dev%2Fcanary"));
        objects(&world, 3, 0).await?;
        started(&world, "blind", 3, &all(None)).await?;
        let before = children(&world).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
        aborted(&world, "two", "the journals of canaries cannot be read").await?;
        restored(&world, &before).await
    })
    .await
}

/// Without a namespace for its journal a canary writes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_without_a_place_for_its_journal_does_not_begin() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        world.plugins.grant("misfit", &super::grant(&world, &all(None))?)?;
        world.plugins.file("misfit.wasm", &misfit_version("one", "")?)?;
        objects(&world, 3, 0).await?;
        world.start_host().await?;
        runs(&world, "one").await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
        aborted(&world, "two", "run the host with --plugin-objects NAMESPACE").await?;
        ensure!(extras(&world).await?.is_empty() && journals(&world).await? == 0);
        Ok(())
    })
    .await
}

/// A rollout without an end of its own is left by deleting its objects' namespace, its plugin, or by stopping the host.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removed_plugin_ends_its_rollout() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        objects(&world, 5, 0).await?;
        started(&world, "blind", 5, &all(None)).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
        rollout(&world, "the canary", |shown| shown["compared"]["objects"] == 5).await?;
        world.plugins.remove("misfit.wasm")?;
        oarlock_tests::harness::eventually(oarlock_tests::harness::SOON, "no plugin", || async {
            let all = world.host(async |host| host.plugins().await).await?;
            ensure!(!all.to_string().contains("rollout"), "{all}");
            Ok(())
        })
        .await?;
        // Its journals are settled when it comes back.
        world.plugins.file("misfit.wasm", &misfit_version("one", "blind")?)?;
        super::settled(&world).await
    })
    .await
}
