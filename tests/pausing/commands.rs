//! `oarlock pause`, `oarlock resume` and `oarlock reconcile`.

use super::{PAUSED, RECONCILE_AT, live, misfit, often, paused};
use crate::hot_swap::{object, path, seen};
use anyhow::{Result, ensure};
use oarlock_tests::harness::{World, oarlock, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;

/// Runs a command on the world's cluster. Returns whether it succeeded, and its output.
async fn run(world: &World, args: &[&str]) -> Result<(bool, String)> {
    let kubeconfig = world.cluster.kubeconfig().display().to_string();
    let output = oarlock(&[args, &["--kubeconfig", &kubeconfig]].concat()).await?;
    let said = [output.stdout, output.stderr].concat();
    Ok((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
}

/// Runs a command that fails, with an error that has these parts.
async fn fails(world: &World, args: &[&str], parts: &[&str]) -> Result<()> {
    let (succeeded, said) = run(world, args).await?;
    ensure!(!succeeded && parts.iter().all(|part| said.contains(part)), "{args:?}: {succeeded}: {said}");
    Ok(())
}

fn annotation(object: &Value, name: &str) -> Option<String> {
    object.pointer("/metadata/annotations")?.get(name)?.as_str().map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_is_paused_resumed_and_reconciled_by_commands() -> Result<()> {
    with_world(often(), async |world: Arc<World>| {
        misfit(&world, "misfit", "1")?;
        world.start_host().await?;
        object(&world, "a", "", &json!({})).await?;
        seen(&world, "a", "first").await?;
        let (name, at) = (format!("{}/a", world.namespace), path(&world, "a"));

        let (succeeded, said) = run(&world, &["pause", "ConfigMap", &name]).await?;
        ensure!(succeeded && said.contains(&format!("ConfigMap {name}: paused")), "{said}");
        paused(&world, "misfit", 1).await?;
        let wait = ["reconcile", "configmaps", &name, "--wait=1", "--plugin", "misfit"];
        fails(&world, &wait, &["is paused", "oarlock resume configmaps.v1."]).await?;

        let (succeeded, said) = run(&world, &["resume", "cm", &name]).await?;
        ensure!(succeeded && said.contains("resumed"), "{said}");
        paused(&world, "misfit", 0).await?;
        ensure!(annotation(&live(&world, &at).await?, PAUSED).is_none(), "the annotation stays");

        let (succeeded, said) =
            run(&world, &["reconcile", "configmaps", &name, "--wait", "--plugin", "misfit"]).await?;
        ensure!(succeeded && said.contains("reconciled by plugin misfit"), "{said}");
        let object = live(&world, &at).await?;
        let asked = annotation(&object, RECONCILE_AT);
        ensure!(asked.is_some() && asked == annotation(&object, "misfit.oarlock.dev/reconciled-at"), "{object}");
        let (succeeded, said) = run(&world, &["reconcile", "ConfigMap", &name]).await?;
        ensure!(succeeded && said.contains(RECONCILE_AT), "{said}");
        ensure!(annotation(&live(&world, &at).await?, RECONCILE_AT) != asked, "each request has a value of its own");
        let nobody = ["reconcile", "ConfigMap", &name, "--wait=1", "--plugin", "nobody"];
        fails(&world, &nobody, &[&name, "nobody.oarlock.dev/reconciled-at", "within 1 s"]).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_of_a_command_names_the_object_and_the_remedy() -> Result<()> {
    with_world(often(), async |world: Arc<World>| {
        let name = format!("{}/nothing", world.namespace);
        fails(&world, &["pause", "ConfigMap", &name], &[&name, "does not exist", "kubectl get configmaps"]).await?;
        fails(&world, &["pause", "ConfigMap", "nothing"], &["namespaced", "NAMESPACE/nothing"]).await?;
        fails(&world, &["pause", "Namespace", &name], &["cluster-scoped", "nothing"]).await?;
        fails(&world, &["pause", "Nonsense", &name], &["Nonsense", "kubectl api-resources"]).await?;
        fails(&world, &["reconcile", "ConfigMap", &name, "--wait"], &["--plugin"]).await?;
        let cluster_scoped = run(&world, &["pause", "namespaces", &world.namespace]).await?;
        ensure!(cluster_scoped.0, "{}", cluster_scoped.1);
        let namespace = live(&world, &format!("/api/v1/namespaces/{}", world.namespace)).await?;
        ensure!(annotation(&namespace, PAUSED).as_deref() == Some("true"), "{}", text(&namespace, "/metadata/name"));
        Ok(())
    })
    .await
}
