//! The job of docs/plan.md for pull requests, as a runner of GitHub Actions runs it.

use super::{ALONE, config_maps, misfit, misfit_folder};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{World, blocks, misfit_version, oarlock_binary, repository_root, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs};

/// The steps of the page, which must be the only ones there.
fn step() -> Result<Value> {
    let page = fs::read_to_string(repository_root().join("docs/plan.md"))?;
    let mut steps = blocks(&page).into_iter().filter(|block| block.info == "yaml");
    let block = steps.next().context("docs/plan.md has no steps")?;
    ensure!(steps.next().is_none(), "docs/plan.md has other YAML");
    let steps: Value = serde_saphyr::from_str(&block.lines.join("\n"))?;
    ensure!(steps.as_array().is_some_and(|steps| steps.len() == 1), "{steps}");
    let step = steps.get(0).cloned().context("no step")?;
    // The names in the environment are those of the step.
    ensure!(step["env"] == json!({"KUBECONFIG_READ_ONLY": "${{ secrets.KUBECONFIG_READ_ONLY }}"}), "{step}");
    Ok(step)
}

/// Runs the step in a checkout. Returns whether it passes, what it adds to the summary of the job, and what it prints.
async fn run(world: &World, script: &str) -> Result<(bool, String, String)> {
    let folder = world.folder();
    let (file, summary) = (folder.join("step.sh"), folder.join("summary.md"));
    fs::write(&file, script)?;
    fs::write(&summary, "")?;
    let bin = oarlock_binary()?.parent().context("no folder")?.to_owned();
    let before = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(std::iter::once(bin).chain(env::split_paths(&before)))?;
    let mut shell = tokio::process::Command::new("bash");
    // As GitHub documents for a step without `shell`.
    shell.arg("-e").arg(&file).current_dir(folder).kill_on_drop(true);
    shell.env("PATH", path).env("HOME", folder).env("GITHUB_STEP_SUMMARY", &summary);
    shell.env("KUBECONFIG_READ_ONLY", fs::read_to_string(world.cluster.kubeconfig())?).env_remove("KUBECONFIG");
    let output = tokio::time::timeout(Duration::from_secs(180), shell.output()).await.context("the step hangs")??;
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Ok((output.status.success(), fs::read_to_string(&summary)?, said))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_step_for_pull_requests_passes_with_a_plan_and_fails_with_an_incomplete_one() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        let script = text(&step()?, "/run");
        let grant = config_maps(&world);
        for (branch, version) in [("main", "one"), ("new", "two")] {
            fs::create_dir(world.folder().join(branch))?;
            let folder = misfit_folder(&world, &format!("{branch}/plugins"), "", &grant)?;
            folder.file("misfit.wasm", &misfit_version(version, "")?)?;
        }
        let nothing = "0 changed, 0 created, 0 deleted";
        let (passes, summary, said) = run(&world, &script).await?;
        ensure!(passes && summary.starts_with("```diff\n") && summary.trim_end().ends_with("```"), "{summary}\n{said}");
        ensure!(summary.contains("plugin misfit two") && summary.contains(nothing), "{summary}\n{said}");

        misfit(&world, "a", "", "x").await?;
        let (passes, summary, said) = run(&world, &script).await?;
        ensure!(passes && summary.contains("\n+  seen: x\n") && summary.contains("1 created"), "{summary}\n{said}");

        misfit(&world, "b", "trap", "x").await?;
        let (passes, summary, said) = run(&world, &script).await?;
        ensure!(!passes && summary.contains("1 undecidable") && summary.contains("1 created"), "{summary}\n{said}");
        let children = world.cluster.list(&format!("/api/v1/namespaces/{}/configmaps", world.namespace)).await?;
        ensure!(children.iter().all(|one| !text(one, "/metadata/name").ends_with("-child")), "{children:?}");
        Ok(())
    })
    .await
}
