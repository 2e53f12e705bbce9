//! What a plugin hands to the host, and reads from it, is bounded; it is told which limit it met.

use super::{
    fails, fails_granted, grant, misfit, patient, seen, the_others_go_on, told, with_misfit, with_misfit_granted,
};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Action, Rule, SOON, World, WorldOptions, eventually, with_world};
use serde_json::json;
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p7_what_an_import_is_handed_is_bounded() -> Result<()> {
    fails(
        &[
            ("log-huge", &["8192 kib"]),
            ("selector-huge", &["100 requirements"]),
            ("selector-huge:1000", &["the limit is 4096"]),
            ("url-huge", &["at most 8192"]),
            ("method-huge", &["at most 32"]),
            ("headers-huge", &["at most 100"]),
            ("body-huge", &["httprequestkib"]),
            ("changes:1001", &["more than 1000 changes"]),
            ("deep-stack", &["out of bounds"]),
        ],
        true,
    )
    .await
}

/// What is too large to be kept is not kept, and costs nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p7_a_cache_key_of_megabytes_is_not_kept() -> Result<()> {
    with_misfit(async |world: Arc<World>| {
        misfit(&world, "bad", "cache-huge").await?;
        the_others_go_on(&world).await?;
        seen(&world, "bad", "first").await
    })
    .await
}

/// Long merges are right, and hold up nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p7_large_documents_are_merged() -> Result<()> {
    fails_granted(patient, &[("merge-huge:60000", &["merged as it should: true"])], false).await
}

/// The large object exists before the host starts, so the cache has it before the plugin is asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p7_a_list_that_is_too_large_is_an_error_the_plugin_can_act_on() -> Result<()> {
    with_world(WorldOptions { host: false, ..WorldOptions::default() }, async |world: Arc<World>| {
        world.plugins.add("misfit", "misfit", &grant(&world).limits(|limits| limits.read_kib = 16))?;
        let ballast = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"ballast": "x".repeat(20 << 10)},
            "metadata": {"name": "ballast", "labels": {"misfit-child": "true"}}});
        world.cluster.create(&format!("/api/v1/namespaces/{}/configmaps", world.namespace), &ballast).await?;
        world.start_host().await?;
        misfit(&world, "good", "ok").await?;
        seen(&world, "good", "first").await?;
        let uid = misfit(&world, "bad", "list-all").await?;
        told(&world, "list-all", &uid, &["limits.readkib"]).await?;
        the_others_go_on(&world).await
    })
    .await
}

/// As large as an API server takes them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p7_an_object_as_large_as_there_are_any_passes() -> Result<()> {
    with_misfit(async |world: Arc<World>| {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "large", "labels": {"misfit": "true"}},
            "data": {"value": "first", "ballast": "x".repeat(1_000_000)}});
        world.cluster.create(&format!("/api/v1/namespaces/{}/configmaps", world.namespace), &object).await?;
        seen(&world, "large", "first").await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p7_the_answer_to_a_request_is_bounded() -> Result<()> {
    let grant = |world: &World| grant(world).limits(|limits| limits.http_answer_kib = 1);
    with_misfit_granted(grant, async |world: Arc<World>| {
        let large = Action::json(http::StatusCode::OK, &json!({"x": "x".repeat(5000)}));
        let rule = world.neutron_gate.rule(Rule::every(large).path("/misfit"));
        let uid = misfit(&world, "bad", "http").await?;
        told(&world, "http", &uid, &["toolarge(1024)"]).await?;
        ensure!(rule.hits() > 0, "nothing was asked");
        Ok(())
    })
    .await
}

/// Log lines are bounded by their bytes as well as by their number.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p6_log_lines_are_bounded_in_bytes() -> Result<()> {
    let grant = |world: &World| {
        grant(world).limits(|limits| {
            limits.log_lines = 10_000;
            limits.log_kib = 1;
        })
    };
    with_misfit_granted(grant, async |world: Arc<World>| {
        misfit(&world, "bad", "log-flood:5000").await?;
        eventually(SOON, "lines to be dropped", || async {
            let lines = world.log(|line| line.field("plugin").as_deref() == Some("misfit")).await?;
            let dropped = lines.iter().find(|line| line.text.contains("limits.logKib")).context("none dropped")?;
            let correlation = dropped.field("correlation_id").context("no correlation id")?;
            let of_one = lines.iter().filter(|line| line.field("correlation_id").as_deref() == Some(&*correlation));
            let flood = of_one.filter_map(|line| line.field("message")).filter(|text| text.starts_with("line "));
            let bytes: usize = flood.map(|text| text.len()).sum();
            ensure!((1..1100).contains(&bytes), "{bytes} bytes in one reconcile");
            Ok(())
        })
        .await?;
        seen(&world, "bad", "first").await
    })
    .await
}
