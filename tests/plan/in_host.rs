//! `oarlock plan --host`: a plan inside a host, compared with the version that runs there.

use super::{ALONE, Planned, config_maps, versions};
use crate::rollouts::{marked, objects, runs};
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::Method;
use oarlock_tests::harness::{
    Grant, PluginDir, SOON, World, eventually, misfit_version, misfit_with, oarlock, oarlock_binary, text, with_world,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// A host that runs version `one` of the misfit, with all objects reconciled.
async fn started(world: &World, mode: &str, count: usize) -> Result<()> {
    objects(world, count, 3).await?;
    world.plugins.grant("misfit", &config_maps(world))?;
    world.plugins.file("misfit.wasm", &misfit_version("one", mode)?)?;
    world.start_host().await?;
    eventually(SOON, "every object reconciled", || async {
        ensure!(crate::rollouts::children(world).await?.len() == count);
        Ok(())
    })
    .await?;
    super::last_write(world).await
}

/// A folder with a version that no host has.
fn folder(world: &World, name: &str, component: &[u8]) -> Result<PluginDir> {
    let folder = PluginDir::create(world.folder().join(name))?;
    folder.file("misfit.wasm", component)?;
    Ok(folder)
}

/// Plans in the host, and holds that nothing changes in the cluster.
async fn plan(world: &World, folder: &Path, args: &[&str]) -> Result<Planned> {
    let host = world.host(async |host| Ok(host.admin().base().to_owned())).await?;
    let (before, mark) = (versions(world).await?, world.kubernetes_gate.mark());
    let folder = folder.display().to_string();
    let cache = world.folder().join("code-cache").display().to_string();
    let output = oarlock(&[&["plan", &folder, "--host", &host, "--cache-dir", &cache], args].concat()).await?;
    let written = world.kubernetes_gate.since(mark).into_iter().filter(|exchange| {
        // The host's own duties go on.
        exchange.method != Method::GET && !exchange.path.contains("selfsubjectaccessreviews")
    });
    let written: Vec<_> = written.collect();
    ensure!(written.is_empty(), "a plan sent {written:?}");
    ensure!(versions(world).await? == before, "a plan changed the cluster");
    let said = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let code = output.status.code().context("a plan was killed")?;
    Ok(Planned { code, stdout: said(output.stdout), stderr: said(output.stderr) })
}

async fn document(world: &World, folder: &Path, args: &[&str]) -> Result<(i32, Value)> {
    let planned = plan(world, folder, &[args, &["-o", "json"]].concat()).await?;
    let all = planned.document()?;
    Ok((planned.code, all.get(0).cloned().unwrap_or_default()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_names_the_writes_that_a_swap_then_makes_and_a_version_does_not_differ_from_itself() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        started(&world, "", 6).await?;
        let same = folder(&world, "same", &misfit_version("one", "")?)?;
        let planned = plan(&world, same.path(), &[]).await?;
        ensure!(planned.code == 0 && planned.stdout.contains("6 objects compared: 0 differ"), "{}", planned.stdout);

        let next = folder(&world, "next", &misfit_version("two", "marked")?)?;
        let (code, found) = document(&world, next.path(), &[]).await?;
        ensure!(code == 1 && found["compared"]["differentWrites"] == 12, "{found:#}");
        ensure!(text(&found, "/running/version") == "one" && text(&found, "/planned/version") == "two", "{found:#}");
        let examples = found["examples"].as_array().context("no examples")?;
        let planned: BTreeSet<String> = examples.iter().map(|one| text(one, "/write")).collect();
        ensure!(planned.len() == 12, "{planned:?}");

        let shown = plan(&world, next.path(), &[]).await?.stdout;
        let namespace = &world.namespace;
        let line = format!("ConfigMap {namespace}/o0: apply ConfigMap {namespace}/o0-child /data/marked\n");
        ensure!(shown.contains(&line), "{shown}");
        ensure!(shown.contains("12 differing writes, 0 of them deletions"), "{shown}");
        ensure!(!shown.contains("true"), "a value: {shown}");

        let mark = world.kubernetes_gate.mark();
        world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
        eventually(SOON, "the new version's writes", || async {
            ensure!(marked(&world).await? == 6 && crate::rollouts::extras(&world).await?.len() == 6);
            Ok(())
        })
        .await?;
        let written = world.kubernetes_gate.since(mark).into_iter().filter(|exchange| exchange.method == Method::PATCH);
        let written: BTreeSet<String> = written
            .filter_map(|exchange| {
                let name = exchange.path.split(['/', '?']).skip_while(|part| *part != "configmaps").nth(1)?.to_owned();
                Some(format!("apply ConfigMap {namespace}/{name}"))
            })
            .collect();
        ensure!(written == planned, "{written:?}\n{planned:?}");
        Ok(())
    })
    .await
}

/// Nobody would write about them any more, which is a change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_that_a_version_leaves_and_what_it_drops_are_changes() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        started(&world, "", 6).await?;
        let narrow = |manifest: &mut Value| manifest["primaries"][0]["labelSelector"] = json!("misfit=true,tier=test");
        let narrower = folder(&world, "narrower", &misfit_with("two", "", narrow)?)?;
        let planned = plan(&world, narrower.path(), &[]).await?;
        let said = "3 objects would not be reconciled any more\n3 objects compared: 0 differ";
        ensure!(planned.code == 1 && planned.stdout.contains(said), "{} {}", planned.code, planned.stdout);
        let (code, found) = document(&world, narrower.path(), &["-l", "tier=test"]).await?;
        ensure!(code == 0 && found["left"] == 0, "{found:#}");

        let another = |manifest: &mut Value| {
            manifest["primaries"][0] = json!({"version": "v1", "kind": "Secret", "labelSelector": "misfit=true"});
        };
        world.plugins.grant(
            "misfit",
            &config_maps(&world).rule_in(&world.namespace, "", &["secrets"], &["get", "list", "watch"]),
        )?;
        world.logged("the change of the grant", |line| line.text.contains("grant changed")).await?;
        let drops = folder(&world, "drops", &misfit_with("two", "", another)?)?;
        let (code, found) = document(&world, drops.path(), &[]).await?;
        ensure!(code == 1 && found["left"] == 6 && found["drops"]["objects"] == 6, "{found:#}");
        Ok(())
    })
    .await
}

/// A version that makes its next write only after it has seen the last one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_follows_the_changes_of_each_object() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        started(&world, "", 2).await?;
        let next = folder(&world, "next", &misfit_version("two", "staged")?)?;
        let (code, found) = document(&world, next.path(), &[]).await?;
        ensure!(code == 1 && found["compared"]["different"] == 2, "{found:#}");
        let examples = found["examples"].as_array().context("no examples")?;
        let planned: BTreeSet<String> = examples.iter().map(|one| text(one, "/write")).collect();
        let namespace = &world.namespace;
        let expected = ["o0", "o1"]
            .into_iter()
            .flat_map(|name| ["apply", "patch"].map(|verb| format!("{verb} ConfigMap {namespace}/{name}-extra")));
        ensure!(planned == expected.collect(), "{planned:?}");

        world.plugins.file("misfit.wasm", &misfit_version("two", "staged")?)?;
        eventually(SOON, "the last stage", || async {
            let extras = crate::rollouts::extras(&world).await?;
            let done = extras.values().filter(|extra| text(extra, "/metadata/labels/stage") == "1").count();
            ensure!(done == 2, "{extras:?}");
            Ok(())
        })
        .await?;
        super::last_write_after(&world, "PluginSwapped").await?;
        // Nothing is left, and a version that never has enough is one that cannot be planned.
        let same = plan(&world, next.path(), &[]).await?;
        ensure!(same.code == 0, "{}{}", same.stdout, same.stderr);
        let never = folder(&world, "never", &misfit_version("three", "staged:100")?)?;
        let (code, found) = document(&world, never.path(), &[]).await?;
        ensure!(code == 2 && text(&found, "/lastFailure").contains("each of 10 reconciles changes"), "{found:#}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_configuration_is_planned_and_the_selection_counts() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        started(&world, "", 6).await?;
        let next = folder(&world, "next", &misfit_version("one", "")?)?;
        // It would allow nothing: the host's grant counts.
        let empty = Grant::nothing().config("mode", "marked");
        next.grant("misfit", &empty)?;
        let (code, found) = document(&world, next.path(), &[]).await?;
        ensure!(code == 1 && found["compared"]["different"] == 6, "{found:#}");
        for (args, objects) in [
            (vec!["-l", "fragile=true"], 2),
            (vec!["-l", "tier in (test),fragile!=true"], 2),
            (vec!["--kind", "configmap", "-n", &*world.namespace], 6),
            (vec!["-n", "another"], 0),
            (vec!["--kind", "Secret"], 0),
        ] {
            let (_, found) = document(&world, next.path(), &args).await?;
            ensure!(found["compared"]["objects"] == objects, "{args:?} {found:#}");
        }
        let planned = plan(&world, next.path(), &["-l", "a in"]).await?;
        ensure!(planned.code == 2 && planned.stderr.contains("the selector: "), "{}", planned.stderr);
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_traps_on_some_objects_is_shown_whole_and_one_that_cannot_run_is_named() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        started(&world, "", 6).await?;
        let bad = |name: &str, component: &[u8]| folder(&world, name, component);
        let traps = bad("traps", &misfit_version("two", "fragile:trap")?)?;
        let (code, found) = document(&world, traps.path(), &[]).await?;
        ensure!(code == 2 && found["compared"]["failing"] == 2 && found["compared"]["objects"] == 6, "{found:#}");
        ensure!(text(&found, "/lastFailure").contains("trap"), "{found:#}");

        let asks = |manifest: &mut Value| manifest["cleanup"] = json!(true);
        let asks = bad("asks", &misfit_with("two", "", asks)?)?;
        let planned = plan(&world, asks.path(), &[]).await?;
        ensure!(planned.code == 2, "{}", planned.stderr);
        ensure!(
            planned.stderr.contains("version two asks for more than the grant in the host allows"),
            "{}",
            planned.stderr
        );

        let renamed = |manifest: &mut Value| manifest["name"] = json!("another");
        let other = bad("other", &misfit_with("two", "", renamed)?)?;
        let planned = plan(&world, &other.path().join("misfit.wasm"), &[]).await?;
        ensure!(planned.stderr.contains("plugin another does not run on this host"), "{}", planned.stderr);

        let never = bad("never", &misfit_version("two", "loop")?)?;
        let planned = plan(&world, never.path(), &["--timeout-seconds", "2"]).await?;
        ensure!(
            planned.code == 2 && planned.stdout.contains("not compared in time"),
            "{}{}",
            planned.stdout,
            planned.stderr
        );
        // Nothing of all this is left.
        runs(&world, "one").await?;
        let entry = crate::rollouts::plugin(&world).await?;
        ensure!(text(&entry, "/state") == "active" && entry["next"].is_null(), "{entry:#}");
        let send = async |path: &str, headers: &[(&str, &str)], body: &'static [u8]| {
            let (path, body) = (format!("/plugins/misfit/{path}"), Bytes::from_static(body));
            world.host(async |host| host.admin().send(Method::POST, &path, headers, body).await).await
        };
        let action = [("x-oarlock-action", "1")];
        for (path, headers, status, why) in [
            ("plan", &action[..], 409, "not a WebAssembly file"),
            ("plan?config=7", &action[..], 400, "config is no JSON object of texts"),
            ("plan?force=1", &action[..], 400, "the query has \"force\""),
            ("plan", &[][..], 403, "actions need the header"),
            ("plan", &[("x-oarlock-action", "1"), ("origin", "http://a.example")][..], 403, "web page"),
        ] {
            let answer = send(path, headers, b"nonsense").await?;
            ensure!(
                answer.status == status && answer.text().contains(why),
                "{path}: {} {}",
                answer.status,
                answer.text()
            );
        }
        Ok(())
    })
    .await
}

/// What follows a request with effects is unknown.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_that_stop_at_a_request_with_effects_are_undecidable() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        started(&world, "", 6).await?;
        let url = world.kubernetes_gate.url();
        world.plugins.grant("misfit", &config_maps(&world).origin(&url).config("url", &url))?;
        world.logged("the change of the grant", |line| line.text.contains("grant changed")).await?;
        let sends = folder(&world, "sends", &misfit_version("two", "fragile:body-huge:10")?)?;
        let (code, found) = document(&world, sends.path(), &[]).await?;
        ensure!(code == 2 && found["undecidable"] == 2 && found["compared"]["failing"] == 0, "{found:#}");
        ensure!(found["compared"]["objects"] == 6 && found["examples"].to_string().contains("POST "), "{found:#}");
        let shown = plan(&world, sends.path(), &["-o", "summary"]).await?;
        ensure!(shown.code == 2 && shown.stdout.contains("0 fail only with it, 2 undecidable"), "{}", shown.stdout);
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_error_of_an_object_is_shown_without_secrets() -> Result<()> {
    const SECRET: &str = "a-mode-that-nobody-knows";
    with_world(ALONE, async |world: Arc<World>| {
        started(&world, "ok", 3).await?;
        let file = world.folder().join("mode");
        std::fs::write(&file, SECRET)?;
        world.plugins.grant("misfit", &config_maps(&world).secret_file("mode", &file))?;
        world.logged("the change of the grant", |line| line.text.contains("grant changed")).await?;
        // Without a mode of its own, the version names the secret one in its error.
        let fails = folder(&world, "fails", &misfit_version("two", "")?)?;
        for output in ["diff", "json"] {
            let planned = plan(&world, fails.path(), &["-o", output]).await?;
            ensure!(planned.code == 2 && planned.stdout.contains("misfit knows no mode"), "{}", planned.stdout);
            ensure!(!planned.stdout.contains(SECRET) && !planned.stderr.contains(SECRET), "{}", planned.stdout);
        }
        Ok(())
    })
    .await
}

/// A plan that takes long ends with its client, and another one at the same time is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_plan_at_a_time_which_ends_with_its_client() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        started(&world, "", 6).await?;
        let never = folder(&world, "never", &misfit_version("two", "loop")?)?;
        let host = world.host(async |host| Ok(host.admin().base().to_owned())).await?;
        let file = never.path().display().to_string();
        let next = folder(&world, "next", &misfit_version("two", "marked")?)?;
        eventually(SOON, "a plan that is refused", || async {
            // On a busy machine the first plan may come too late, and be refused itself.
            let mut first = tokio::process::Command::new(oarlock_binary()?)
                .args(["plan", &file, "--host", &host])
                .kill_on_drop(true)
                .stdout(std::process::Stdio::null())
                .spawn()?;
            let mut refused = false;
            while !refused && first.try_wait()?.is_none() {
                refused = plan(&world, next.path(), &[]).await?.stderr.contains("the host makes another plan");
            }
            ensure!(refused && first.try_wait()?.is_none(), "the first plan ended");
            first.kill().await?;
            Ok(())
        })
        .await?;
        eventually(SOON, "a plan", || async {
            let planned = plan(&world, next.path(), &[]).await?;
            ensure!(planned.code == 1, "{}{}", planned.stdout, planned.stderr);
            Ok(())
        })
        .await
    })
    .await
}
