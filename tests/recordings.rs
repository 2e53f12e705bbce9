//! Recorded reconciles: `oarlock record` writes them as cases, and `oarlock test` replays them without a cluster.

mod campaign;
mod hostile;
mod page;
mod secrets;

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{
    Grant, World, WorldOptions, built_plugin, eventually, oarlock, tested_languages, text, with_world,
};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Compiling Python takes half a minute of both cores.
const SOON: Duration = Duration::from_secs(180);

const LANGUAGES: [&str; 6] = ["rust", "js", "ts", "python", "c", "go"];

fn alone() -> WorldOptions {
    WorldOptions { host: false, network: false, crd: false, ..WorldOptions::default() }
}

/// Records reconciles of an object by a plugin; returns the folder of the cases.
pub(crate) async fn record(world: &World, plugin: &str, kind: &str, object: &str, last: &str) -> Result<PathBuf> {
    let folder = world.folder().join(format!("cases-{plugin}-{kind}-{}", object.replace('/', "-")));
    let address = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
    let folder_text = folder.display().to_string();
    let args =
        ["record", kind, object, "--last", last, "-o", &folder_text, "--plugin", plugin, "--admin-addr", &address];
    let ran = oarlock(&args).await?;
    ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Ok(folder)
}

/// Replays cases; returns whether they pass, and the output.
pub(crate) async fn replay(file: &Path, cases: &Path, more: &[&str]) -> Result<(bool, String)> {
    let (file, cases) = (file.display().to_string(), cases.display().to_string());
    let mut args = vec!["test", &file, "--cases", &cases];
    args.extend(more);
    let ran = oarlock(&args).await?;
    let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    Ok((ran.status.success(), said))
}

pub(crate) async fn replays(file: &Path, cases: &Path) -> Result<()> {
    let (passed, said) = replay(file, cases, &[]).await?;
    ensure!(passed, "{said}");
    Ok(())
}

/// The texts of all cases of a folder.
pub(crate) fn texts(folder: &Path) -> Result<Vec<String>> {
    let files = fs::read_dir(folder)?.map(|entry| Ok(fs::read_to_string(entry?.path())?));
    files.collect()
}

async fn active(world: &World, plugin: &str, version: &str) -> Result<()> {
    eventually(SOON, &format!("{plugin} {version} to run"), || async {
        let entry = world.host(async |host| host.plugin(plugin).await).await?;
        ensure!(text(&entry, "/state") == "active" && text(&entry, "/version").contains(version), "{entry}");
        Ok(())
    })
    .await
}

/// Waits until a folder would have so many recordings with these words.
async fn recorded(world: &World, (plugin, kind): (&str, &str), object: &str, words: &str) -> Result<PathBuf> {
    eventually(SOON, &format!("a recording of {object} with {words}"), || async {
        let folder = record(world, plugin, kind, object, "30").await?;
        ensure!(texts(&folder)?.iter().any(|case| case.contains(words)), "no recording with {words}");
        Ok(folder)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reconciles_in_each_language_become_cases_that_replay_in_all_of_them() -> Result<()> {
    with_world(alone(), async |world: Arc<World>| {
        let verbs = ["get", "list", "watch", "create", "patch", "delete"];
        let grant = Grant::nothing()
            .rule("", &["namespaces"], &["get", "list", "watch"])
            .rule("", &["resourcequotas"], &verbs)
            .rule("networking.k8s.io", &["networkpolicies"], &verbs);
        world.plugins.grant("namespace-baseline", &grant)?;
        world.start_host().await?;
        let mut folders = Vec::new();
        let languages = tested_languages(&LANGUAGES);
        for language in &languages {
            let file = built_plugin(&format!("namespace-baseline-{language}"))?;
            world.plugins.place("namespace-baseline.wasm", &fs::read(&file)?)?;
            active(&world, "namespace-baseline", language).await?;
            let name = format!("{}-{language}", world.namespace);
            let namespace = |annotations: Value| {
                json!({"apiVersion": "v1", "kind": "Namespace",
                    "metadata": {"name": name, "labels": {"oarlock.dev/baseline": "true"}, "annotations": annotations}})
            };
            world.cluster.create("/api/v1/namespaces", &namespace(json!({}))).await?;
            recorded(&world, ("namespace-baseline", "namespaces"), &name, "write: apply ResourceQuota").await?;
            let wrong = json!({"metadata": {"annotations": {"baseline.oarlock.dev/quota": "[1]"}}});
            world.cluster.merge_patch(&format!("/api/v1/namespaces/{name}"), &wrong).await?;
            let folder = recorded(&world, ("namespace-baseline", "Namespace"), &name, "outcome: TerminalError").await?;
            replays(&file, &folder).await?;
            folders.push(folder);
        }
        // The versions of all languages do the same, so a recording of one shows no difference of another.
        for language in &languages {
            let file = built_plugin(&format!("namespace-baseline-{language}"))?;
            for folder in &folders {
                let (_, said) = replay(&file, folder, &["--compare"]).await?;
                for line in said.lines().filter(|line| line.starts_with("           ")) {
                    ensure!(line.contains("not recorded"), "{language}: {said}");
                }
            }
        }
        Ok(())
    })
    .await
}

/// The states of the guest in this mode contain clocks, random numbers, hash orders, and a counter in its memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clocks_random_numbers_and_the_memory_of_earlier_reconciles_replay_in_each_language() -> Result<()> {
    with_world(WorldOptions { resync_seconds: 1, ..alone() }, async |world: Arc<World>| {
        world.start_host().await?;
        for reuses in [0, 7] {
            for language in tested_languages(&LANGUAGES) {
                let plugin = format!("unruly-{language}");
                let file = built_plugin(&plugin)?;
                let grant = Grant::nothing().rule_in(&world.namespace, "", &["configmaps"], &["get", "list", "watch"]);
                let grant = grant.config("mode", "chance").limits(|limits| limits.instance_reuses = reuses).workers(1);
                world.plugins.grant(&plugin, &grant)?;
                world.plugins.place(&format!("{plugin}.wasm"), &fs::read(&file)?)?;
                active(&world, &plugin, "0.1.0").await?;
                let name = format!("{language}-{reuses}");
                let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
                let path = format!("/api/v1/namespaces/{}/configmaps", world.namespace);
                world.cluster.create(&path, &object).await?;
                let key = format!("{}/{name}", world.namespace);
                let words = if reuses > 0 { "calls: 3" } else { "calls: 1" };
                let folder = recorded(&world, (&plugin, "ConfigMap"), &key, words).await?;
                let cases = texts(&folder)?;
                ensure!(reuses == 0 || cases.iter().any(|case| case.contains("\nbefore:\n")), "no earlier reconcile");
                replays(&file, &folder).await.with_context(|| format!("{language}, {reuses} reuses"))?;
                // With eight objects in turn, each would always be the same call of its instance.
                world.cluster.delete(&format!("{path}/{name}")).await?;
                if reuses > 0 {
                    world.plugins.remove(&format!("{plugin}.wasm"))?;
                    continue;
                }
                // Another configuration is a difference, with its path.
                let case = cases.iter().find(|case| case.contains("calls: 1")).context("no first call")?;
                let changed = world.folder().join(format!("changed-{name}"));
                fs::create_dir_all(&changed)?;
                let other = case.replace("mode: chance", "mode: print");
                fs::write(changed.join("case.yaml"), other)?;
                let (passed, said) = replay(&file, &changed, &[]).await?;
                ensure!(!passed && said.contains("desired.ok: expected false, found true"), "{said}");
                world.plugins.remove(&format!("{plugin}.wasm"))?;
            }
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_case_that_is_cut_off_edited_or_of_another_version_is_refused_with_its_field() -> Result<()> {
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        world.create_network("told", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("told").await?;
        let (file, name) = (built_plugin("network")?, format!("{}/told", world.namespace));
        // The host's own writes are there, with the API server's answers; a replay needs none of them.
        for write in ["add finalizer", "apply status"] {
            let folder =
                recorded(&world, ("network", "Network"), &name, &format!("write: {write} of Network {name}\n")).await?;
            replays(&file, &folder).await?;
            fs::remove_dir_all(folder)?;
        }
        let folder = record(&world, "network", "Network", &name, "1").await?;
        replays(&file, &folder).await?;
        let case = texts(&folder)?.remove(0);
        let one = world.folder().join("edited");
        fs::create_dir_all(&one)?;
        let (half, _) = case.split_at(case.rfind("complete").context("no last line")?);
        for (text, expected) in [
            (case.replacen("version: 1", "version: 2", 1), "recorded.version: 2, but this oarlock reads version 1"),
            (half.to_owned(), "complete: missing"),
            (case.replacen("reads: []", "reads: [{during: got}]", 1), "reads[0].during"),
            (case.replacen("method: ", "metod: ", 1), "http[0].request.metod"),
            (case.replacen("random: []", "random: [xyz]", 1), "random[0]: no hexadecimal digits"),
            (case.replacen("trigger: ", "trigger: never #", 1), "request.trigger"),
        ] {
            ensure!(text != case, "nothing was edited for {expected}: {case}");
            fs::write(one.join("case.yaml"), text)?;
            let (passed, said) = replay(&file, &one, &[]).await?;
            ensure!(!passed && said.contains(expected), "{expected}: {said}");
        }
        // An edit that is valid is a difference, with its path.
        fs::write(one.join("case.yaml"), case.replacen("cidr: 10.6.0.0/24", "cidr: 10.7.0.0/24", 1))?;
        let (passed, said) = replay(&file, &one, &[]).await?;
        ensure!(!passed && said.contains("expected"), "{said}");
        let (passed, said) = replay(&file, &one, &["--compare"]).await?;
        ensure!(passed && said.contains("DIFFERS") && said.contains("1 of 1 cases differ"), "{said}");
        // A changed answer becomes the expectation, and the case stays complete.
        let (updated, said) = replay(&file, &one, &["--update"]).await?;
        ensure!(updated, "{said}");
        let text = texts(&one)?.remove(0);
        ensure!(text.trim_end().ends_with("complete: true"), "{text}");
        let (_, said) = replay(&file, &one, &[]).await?;
        ensure!(!said.contains("desired") && !said.contains("actual"), "{said}");
        let missing = oarlock(&["record", "Network", "default/none", "--admin-addr", "127.0.0.1:1"]).await?;
        ensure!(String::from_utf8_lossy(&missing.stderr).contains("no host answers"), "{missing:?}");
        Ok(())
    })
    .await
}
