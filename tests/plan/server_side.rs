//! `--server-side`: the cluster's API server answers planned writes as a dry run.

use super::{ALONE, config_maps, misfit, misfit_folder, plan};
use anyhow::{Result, ensure};
use oarlock_tests::harness::{SOON, World, eventually, with_world};
use serde_json::json;
use std::sync::Arc;

const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_admission_rejects_is_told_and_a_dry_run_leaves_no_trace() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        for name in ["a", "b"] {
            misfit(&world, name, "", "x").await?;
        }
        let folder = misfit_folder(&world, "one", "", &config_maps(&world))?;
        let mark = world.kubernetes_gate.mark();
        let planned = plan(&world, folder.path(), &["-o", "json", "--server-side"]).await?;
        let document = planned.document()?;
        ensure!(planned.code == 1 && document["summary"]["created"] == 2, "{document}\n{}", planned.stderr);
        let sent = world.kubernetes_gate.since(mark);
        let dry = sent.iter().filter(|one| one.path.ends_with("?dryRun=All&fieldManager=oarlock.misfit")).count();
        ensure!(dry == 2, "{sent:?}");

        // A webhook that does not answer lets nothing pass.
        let name = format!("closed-{}", world.namespace);
        let webhook = json!({"name": "closed.oarlock.test", "failurePolicy": "Fail", "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/"}, "timeoutSeconds": 1,
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": world.namespace}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]});
        let configuration = json!({"apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration", "metadata": {"name": name}, "webhooks": [webhook]});
        world.cluster.create(CONFIGURATIONS, &configuration).await?;
        let rejected = eventually(SOON, "the webhook to count", || async {
            let planned = plan(&world, folder.path(), &["-o", "json", "--server-side"]).await?;
            let document = planned.document()?;
            ensure!(planned.code == 2 && document["summary"]["created"] == 0, "{document}\n{}", planned.stderr);
            Ok(document["problems"].to_string())
        })
        .await;
        world.cluster.delete(&format!("{CONFIGURATIONS}/{name}")).await?;
        let rejected = rejected?;
        for part in ["a-child would be created and is rejected by the API server", "b-child", "closed.oarlock.test"] {
            ensure!(rejected.contains(part), "{rejected}");
        }
        Ok(())
    })
    .await
}
