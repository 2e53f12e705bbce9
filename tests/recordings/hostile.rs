//! The recorder under hostile guests: bounded, and their failures replay.

use super::{alone, record, recorded, replay, replays, texts};
use anyhow::{Result, ensure};
use oarlock_tests::harness::{Grant, World, WorldOptions, built_plugin, eventually, with_world};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(180);

const MODES: [&str; 22] = [
    "trap",
    "panic",
    "loop",
    "grow",
    "deep-recursion",
    "invalid-json",
    "huge",
    "deep-json",
    "log-flood",
    "log-long",
    "http-flood",
    "cache-flood",
    "log-huge",
    "cache-huge",
    "selector-huge",
    "merge-huge",
    "url-huge",
    "headers-huge",
    "body-huge",
    "list-all",
    "event-flood",
    "never-equal",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_guests_fill_no_memory_with_their_recordings_and_their_failures_replay() -> Result<()> {
    let options = WorldOptions { network: false, crd: false, host: false, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        let verbs = ["get", "list", "watch", "create", "patch", "delete"];
        let url = world.neutron_gate.url();
        let grant = Grant::nothing().rule_in(&world.namespace, "", &["configmaps"], &verbs).origin(&url);
        let grant = grant.config("url", &url).limits(|limits| {
            // Only a loop lasts so long, also on a busy machine.
            limits.deadline_seconds = 10;
            limits.memory_mib = 16;
        });
        world.plugins.add("misfit", "misfit", &grant)?;
        world.start_host_with(&["--recorder-mib", "2"]).await?;
        for mode in MODES {
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": mode, "labels": {"misfit": "true"}, "annotations": {"misfit/mode": mode}},
                "data": {"value": "first"}});
            world.cluster.create(&format!("/api/v1/namespaces/{}/configmaps", world.namespace), &object).await?;
        }
        // In quarantine, the plugin runs ever more seldom.
        eventually(SOON, "the modes to have run", || async {
            let labels = ["\"misfit\"", "\"error\""];
            let failed =
                world.host(async |host| host.metric("controller_runtime_reconcile_total", &labels).await).await?;
            ensure!(failed >= 20.0, "{failed} failures");
            Ok(())
        })
        .await?;
        // The gauge is set every few seconds.
        let bytes = eventually(SOON, "the size of the recordings", || async {
            let bytes = world.host(async |host| host.metric("oarlock_map_bytes", &["\"recordings\""]).await).await?;
            ensure!(bytes > 0.0, "none yet");
            Ok(bytes)
        })
        .await?;
        ensure!(bytes <= f64::from(2 << 20), "{bytes} bytes of recordings");
        let mut replayed = 0;
        for mode in MODES {
            let Ok(folder) = record(&world, "misfit", "ConfigMap", &format!("{}/{mode}", world.namespace), "1").await
            else {
                continue;
            };
            if ["loop", "grow", "http-flood", "cache-flood"].contains(&mode) {
                // They end at a limit of time or of the recorder.
                continue;
            }
            let (passed, said) = replay(&built_plugin("misfit")?, &folder, &[]).await?;
            ensure!(passed, "{mode}: {said}\n{}", texts(&folder)?.join("\n"));
            replayed += 1;
        }
        ensure!(replayed >= 3, "only {replayed} modes were recorded");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reconcile_whose_second_look_fails_replays() -> Result<()> {
    with_world(alone(), async |world: Arc<World>| {
        let verbs = ["get", "list", "watch", "create", "patch", "delete"];
        let grant = Grant::nothing().rule_in(&world.namespace, "", &["configmaps"], &verbs);
        world.plugins.add("misfit", "misfit", &grant)?;
        world.start_host().await?;
        for mode in ["fails-again", "traps-again"] {
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": mode, "labels": {"misfit": "true"}, "annotations": {"misfit/mode": mode}},
                "data": {"value": "first"}});
            world.cluster.create(&format!("/api/v1/namespaces/{}/configmaps", world.namespace), &object).await?;
            let name = format!("{}/{mode}", world.namespace);
            let folder = recorded(&world, ("misfit", "ConfigMap"), &name, "write: apply ConfigMap").await?;
            let both = |case: &String| case.contains("write: apply ConfigMap") && case.contains("\n  error:");
            ensure!(texts(&folder)?.iter().any(both), "{}", texts(&folder)?.join("\n"));
            replays(&built_plugin("misfit")?, &folder).await?;
        }
        Ok(())
    })
    .await
}
