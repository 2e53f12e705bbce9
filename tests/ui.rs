//! The page at the admin address, in a real browser: Chromium, driven by Playwright. `tests/ui/page.mjs` plays the scenes.

mod actions;
mod crowd;
mod opening;
mod session;
mod untrusted;

use crate::plan::ALONE;
use anyhow::{Context, Result, ensure};
use http::{Method, StatusCode};
use oarlock_tests::harness::{
    Action, Grant, Rule, SOON, World, WorldOptions, built_plugin, eventually, misfit_version, oarlock, repository_root,
    text, tools, with_world,
};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// Longest scene, on a slow machine.
const SCENE: Duration = Duration::from_secs(400);

/// The browser, and what drives it.
struct Browser {
    chromium: PathBuf,
    playwright: PathBuf,
}

impl Browser {
    /// None: one of the programs is missing, which a line reports.
    fn find() -> Result<Option<Self>> {
        Ok(tools(["chromium", "playwright"])?.map(|[chromium, playwright]| Self { chromium, playwright }))
    }

    /// Plays a scene on the page of the world's host. Returns what it saw.
    ///
    /// * `input` - what the scene needs beside the address.
    async fn plays(&self, world: &World, scene: &str, input: Value) -> Result<Value> {
        self.plays_at(&address(world).await?, scene, input).await
    }

    /// The same at an address with a token.
    async fn plays_at(&self, url: &str, scene: &str, mut input: Value) -> Result<Value> {
        let pictures = env::var("OARLOCK_PICTURES").ok();
        if let Some(fields) = input.as_object_mut() {
            fields.insert("url".to_owned(), json!(url));
            fields.insert("browser".to_owned(), json!(self.chromium));
            fields.insert("folder".to_owned(), json!(pictures));
        }
        let home = tempfile::tempdir()?;
        let mut command = Command::new(&self.playwright);
        command.arg(repository_root().join("tests/ui/page.mjs")).arg(scene).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).env("HOME", home.path());
        let mut child = command.spawn().context("playwright")?;
        let mut to = child.stdin.take().context("no standard input")?;
        to.write_all(input.to_string().as_bytes()).await?;
        drop(to);
        let ended = tokio::time::timeout(SCENE, child.wait_with_output()).await;
        let output = ended.with_context(|| format!("scene {scene} does not end"))??;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success(), "scene {scene}: {err}");
        serde_json::from_str(&out).with_context(|| format!("scene {scene}: {out}"))
    }
}

/// The address that `oarlock ui` prints.
async fn address(world: &World) -> Result<String> {
    let admin = world.host(async |host| Ok(host.admin().base().to_owned())).await?;
    let output = oarlock(&["ui", "--no-browser", "--admin-addr", &admin]).await?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout)?.trim().to_owned();
    ensure!(printed.starts_with(&format!("{admin}/#token=")), "{printed}");
    Ok(printed)
}

/// The token that `oarlock ui` prints.
async fn token(world: &World) -> Result<String> {
    let printed = address(world).await?;
    Ok(printed.split_once("#token=").context("no token")?.1.to_owned())
}

/// The misfit's grant in the world's namespace.
fn misfit_grant(world: &World) -> Grant {
    let verbs = ["get", "list", "watch", "create", "patch", "delete"];
    Grant::nothing().rule_in(&world.namespace, "", &["configmaps"], &verbs)
}

/// A host with the network plugin and two Networks.
async fn with_story(world: &World) -> Result<()> {
    for (number, name) in ["blue", "green"].iter().enumerate() {
        world.create_network(name, &format!("10.{number}.0.0/24"), &format!("10.{number}.0.1")).await?;
        world.ready(name).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_finds_why_an_object_is_as_it_is_and_takes_its_recording_along() -> Result<()> {
    let Some(browser) = Browser::find()? else { return Ok(()) };
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        world.create_network("blue", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("blue").await?;
        let cases = world.folder().join("cases");
        fs::create_dir(&cases)?;
        let object = format!("{}/blue", world.namespace);
        browser.plays(&world, "story", json!({"object": object, "cases": cases})).await?;
        let case = fs::read_to_string(cases.join("case.yaml"))?;
        ensure!(case.contains("recorded:") && case.contains("blue"), "{case}");
        let plugin = built_plugin("network")?.display().to_string();
        let replayed = oarlock(&["test", &plugin, "--cases", &cases.display().to_string()]).await?;
        ensure!(replayed.status.success(), "{}", String::from_utf8_lossy(&replayed.stdout));
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_patch_that_fails_is_shown_with_what_it_would_change() -> Result<()> {
    let Some(browser) = Browser::find()? else { return Ok(()) };
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        world.create_network("blue", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("blue").await?;
        let broken = Action::neutron(StatusCode::INTERNAL_SERVER_ERROR, "HTTPInternalServerError", "out of order");
        let _rule = world.neutron_gate.rule(Rule::every(broken).methods(&[Method::PUT]));
        let path = format!("/apis/samplecrd.k8s.io/v1/namespaces/{}/networks/blue", world.namespace);
        world.cluster.merge_patch(&path, &json!({"spec": {"gateway": "10.6.0.254"}})).await?;
        world.not_ready("blue", &["out of order"]).await?;
        let route = format!("/objects/network/Network.samplecrd.k8s.io/{}/blue", world.namespace);
        let input = json!({"route": route, "error": "out of order", "added": "10.6.0.254", "removed": "10.6.0.1"});
        browser.plays(&world, "refused", input).await?;
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_is_reached_with_keys_alone() -> Result<()> {
    let Some(browser) = Browser::find()? else { return Ok(()) };
    with_world(WorldOptions::default(), async |world: Arc<World>| {
        with_story(&world).await?;
        let object = format!("{}/blue", world.namespace);
        browser.plays(&world, "keyboard", json!({"object": object})).await?;
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_fails_comes_first_and_says_why() -> Result<()> {
    let Some(browser) = Browser::find()? else { return Ok(()) };
    with_world(ALONE, async |world: Arc<World>| {
        world.plugins.grant("misfit", &misfit_grant(&world))?;
        world.plugins.file("misfit.wasm", &misfit_version("1", "")?)?;
        world.plugins.file("broken.wasm", b"\0asm this is no plugin")?;
        crate::rollouts::objects(&world, 3, 0).await?;
        crate::rollouts::object(&world, "wrong").await?;
        let path = format!("/api/v1/namespaces/{}/configmaps/wrong", world.namespace);
        let fail = json!({"metadata": {"annotations": {"misfit/mode": "transient"}}});
        world.cluster.merge_patch(&path, &fail).await?;
        world.start_host().await?;
        let broken = eventually(SOON, "both to fail", || async {
            let broken = world.host(async |host| host.plugin("broken").await).await?;
            let misfit = world.host(async |host| host.plugin("misfit").await).await?;
            ensure!(text(&broken, "/state") == "failed" && text(&misfit, "/lastError").contains("fails as told"));
            Ok(broken)
        })
        .await?;
        let name = |name: &str| format!("{}/{name}", world.namespace);
        let input = json!({"bad": name("wrong"), "good": name("o1"), "error": "misfit fails as told", "objects": 4,
            "reason": text(&broken, "/reason")});
        browser.plays(&world, "failing", input).await?;
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_person_looks_at_stays_while_the_object_changes_and_after_an_interruption() -> Result<()> {
    let Some(browser) = Browser::find()? else { return Ok(()) };
    with_world(ALONE, async |world: Arc<World>| {
        world.plugins.grant("misfit", &misfit_grant(&world))?;
        world.plugins.file("misfit.wasm", &misfit_version("1", "")?)?;
        crate::rollouts::objects(&world, 2, 0).await?;
        let path = format!("/api/v1/namespaces/{}/configmaps/o1", world.namespace);
        let busy = json!({"metadata": {"annotations": {"misfit/mode": "requeue:1000"}}});
        world.cluster.merge_patch(&path, &busy).await?;
        world.start_host().await?;
        let object = |name: &str| format!("/objects/misfit/ConfigMap./{}/{name}", world.namespace);
        browser.plays(&world, "busy", json!({"route": object("o1")})).await?;
        let input = json!({"route": object("o0"), "plugin": "misfit", "object": format!("{}/o0", world.namespace)});
        browser.plays(&world, "interrupted", input).await?;
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_is_shown_and_promoted() -> Result<()> {
    let Some(browser) = Browser::find()? else { return Ok(()) };
    with_world(ALONE, async |world: Arc<World>| {
        crate::rollouts::objects(&world, 10, 0).await?;
        let steps = json!({"canary": {"percent": 50, "for": "1h"}});
        crate::rollouts::started(&world, "blind", 10, &steps).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
        let rollout = crate::rollouts::rollout(&world, "a canary", |shown| shown["percent"] == 50).await?;
        let candidate = json!({"candidate": text(&rollout, "/digest")});
        browser.plays(&world, "replaced", candidate.clone()).await?;
        browser.plays(&world, "canary", candidate).await?;
        crate::rollouts::runs(&world, "two").await?;
        Ok(())
    })
    .await
}
