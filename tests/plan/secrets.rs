//! Secret values in plans.

use super::{ALONE, config_maps, misfit, misfit_folder, plan};
use anyhow::{Result, ensure};
use oarlock_tests::harness::{World, with_world};
use serde_json::json;
use std::sync::Arc;

/// Of a Secret in the cluster.
const STORED: &str = "correct-horse-battery";
/// Of a secret file.
const OF_FILE: &str = "staple-of-a-file";
/// The misfit's own Secret has this value, `v`.
const OF_PLUGIN: &str = "dg==";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_of_secrets_and_secret_files_are_digests() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "stored"}, "stringData": {"password": STORED}});
        world.cluster.create(&format!("/api/v1/namespaces/{}/secrets", world.namespace), &secret).await?;
        // The plugin copies both into ConfigMaps, and writes a Secret of its own.
        misfit(&world, "copied", "ok", STORED).await?;
        misfit(&world, "configured", "ok", &format!("token={OF_FILE}")).await?;
        misfit(&world, "writing", "apply-ungranted", "x").await?;
        let file = world.folder().join("token");
        std::fs::write(&file, format!("{OF_FILE}\n"))?;
        let verbs = ["get", "list", "watch", "create", "patch", "delete"];
        let grant = config_maps(&world).rule_in(&world.namespace, "", &["secrets"], &verbs).secret_file("token", &file);
        let folder = misfit_folder(&world, "one", "", &grant)?;
        for output in ["diff", "json", "yaml", "summary"] {
            let planned = plan(&world, folder.path(), &["-o", output]).await?;
            ensure!(planned.code == 1, "{}\n{}", planned.stdout, planned.stderr);
            for value in [STORED, OF_FILE, OF_PLUGIN] {
                let shown = planned.stdout.contains(value) || planned.stderr.contains(value);
                ensure!(!shown, "{value} in\n{}\n{}", planned.stdout, planned.stderr);
            }
            ensure!(output == "summary" || planned.stdout.matches("(digest ").count() >= 3, "{}", planned.stdout);
        }
        Ok(())
    })
    .await
}
