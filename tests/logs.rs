//! What an operator asks a running host about one plugin: `oarlock logs`, `oarlock describe`, `oarlock top`.

use crate::plan::ALONE;
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{
    Grant, SOON, World, eventually, misfit_version, oarlock, oarlock_binary, text, with_world,
};
use serde_json::{Value, json};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, BufReader};

async fn object(world: &World, name: &str, mode: &str) -> Result<()> {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"misfit": "true"},
        "annotations": {"misfit/mode": mode}}, "data": {"value": "first"}});
    world.cluster.create(&format!("/api/v1/namespaces/{}/configmaps", world.namespace), &object).await.map(drop)
}

/// A host with a misfit that reconciles two objects.
async fn started(world: &World) -> Result<()> {
    let verbs = ["get", "list", "watch", "create", "patch", "delete"];
    world.plugins.grant("misfit", &Grant::nothing().rule_in(&world.namespace, "", &["configmaps"], &verbs))?;
    world.plugins.file("misfit.wasm", &misfit_version("one", "")?)?;
    for name in ["a", "b"] {
        object(world, name, "ok").await?;
    }
    world.start_host().await?;
    eventually(SOON, "the children", || async {
        ensure!(crate::rollouts::children(world).await?.len() == 2);
        Ok(())
    })
    .await
}

async fn address(world: &World) -> Result<String> {
    world.host(async |host| Ok(host.admin().base().to_owned())).await
}

/// Asks the world's host; what the command says.
async fn ask(world: &World, args: &[&str]) -> Result<String> {
    let output = oarlock(&[args, &["--admin-addr", &address(world).await?]].concat()).await?;
    let (out, err) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    ensure!(output.status.success(), "{args:?}: {err}");
    Ok(out)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_of_a_plugin_is_shown_by_object_and_followed() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        started(&world).await?;
        let said = eventually(SOON, "both reconciles in the log", || async {
            let said = ask(&world, &["logs", "misfit"]).await?;
            ensure!(said.matches(" INFO reconciled ").count() >= 2, "{said}");
            Ok(said)
        })
        .await?;
        let namespace = &world.namespace;
        let line = said.lines().find(|line| line.contains(" reconciled ")).context("no line")?;
        // The object that triggered it, and what was written.
        ensure!(line.contains("trigger=initial-list") && line.contains("written=\"apply ConfigMap"), "{line}");
        let one =
            ask(&world, &["logs", "misfit", "--object", &format!("ConfigMap {namespace}/a"), "-o", "json"]).await?;
        let lines = one.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
        ensure!(!lines.is_empty() && lines.iter().all(|line| text(line, "/key").ends_with("/a")), "{one}");

        let mut follower = tokio::process::Command::new(oarlock_binary()?)
            .args([
                "logs",
                "misfit",
                "-f",
                "--object",
                &format!("{namespace}/late"),
                "--admin-addr",
                &address(&world).await?,
            ])
            .kill_on_drop(true)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut followed = BufReader::new(follower.stdout.take().context("no output")?).lines();
        tokio::time::sleep(Duration::from_millis(500)).await;
        object(&world, "early", "ok").await?;
        object(&world, "late", "log-flood:20").await?;
        let mut seen = Vec::new();
        while seen.last().is_none_or(|line: &String| !line.contains(" reconciled ")) {
            let next =
                tokio::time::timeout(SOON, followed.next_line()).await.with_context(|| format!("{seen:?}"))??;
            seen.push(next.context("the follower ended")?);
        }
        ensure!(seen.iter().all(|line| line.contains("/late")), "{seen:?}");
        ensure!((0..20).all(|number| seen.iter().any(|line| line.contains(&format!(" line {number} ")))), "{seen:?}");
        // A follower does not hold up the end of the host, and ends with it.
        world.stop_host(SOON).await?;
        let ended = tokio::time::timeout(SOON, follower.wait()).await;
        ensure!(ended.is_ok(), "the follower goes on");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_plugin_says_can_not_grow_the_host_or_reach_the_terminal() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        started(&world).await?;
        for (name, mode) in [("flood", "log-flood:1000000"), ("huge", "log-huge"), ("long", "log-long")] {
            object(&world, name, mode).await?;
        }
        eventually(SOON, "what it said", || async {
            let said = ask(&world, &["logs", "misfit"]).await?;
            ensure!(said.contains("xxxx") || said.contains("long long"), "{}", said.len());
            ensure!(said.len() < 2 * (64 << 10), "{} bytes", said.len());
            Ok(())
        })
        .await?;
        let refused = oarlock(&["logs", "nobody", "--admin-addr", &address(&world).await?]).await?;
        ensure!(!refused.status.success());
        ensure!(String::from_utf8_lossy(&refused.stderr).contains("the host has no plugin nobody"));
        let page = [("origin", "http://a.example"), ("x-oarlock-action", "1")];
        for headers in [&page[..], &[][..]] {
            let path = "/plugins/misfit/logs";
            let answer = world
                .host(async |host| host.admin().send(http::Method::GET, path, headers, bytes::Bytes::new()).await)
                .await?;
            ensure!(answer.status == 403, "{}", answer.text());
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_is_described_and_its_load_is_shown() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        started(&world).await?;
        let described = eventually(SOON, "a description with log lines", || async {
            let described = ask(&world, &["describe", "plugin", "misfit"]).await?;
            ensure!(described.contains(" INFO reconciled "), "{described}");
            Ok(described)
        })
        .await?;
        let values = |field: &str| -> Vec<String> {
            let lines = described.lines().map(str::trim).filter_map(|line| line.strip_prefix(field));
            lines.map(|value| value.trim().to_owned()).collect()
        };
        ensure!(values("Version:") == ["one"] && values("State:") == ["active"], "{described}");
        ensure!(values("v1, Kind=ConfigMap:") == ["2"] && values("Reconciles:").len() == 1, "{described}");
        ensure!(ask(&world, &["plugins", "-o", "name"]).await? == "plugin/misfit\n");
        eventually(SOON, "an empty queue", || async {
            let top = ask(&world, &["top"]).await?;
            let row: Vec<&str> = top.lines().nth(1).context("no row")?.split_whitespace().collect();
            ensure!(row.starts_with(&["misfit", "active", "2", "0"]) && row.len() == 9, "{top}");
            Ok(())
        })
        .await?;
        let missing = oarlock(&["describe", "plugin", "nobody", "--admin-addr", &address(&world).await?]).await?;
        ensure!(String::from_utf8_lossy(&missing.stderr).contains("oarlock plugins lists them"));
        Ok(())
    })
    .await
}

/// A document without its numbers, which are others from one question to the next.
fn without_numbers(document: Value) -> Value {
    match document {
        Value::Number(_) => Value::Null,
        Value::Array(all) => all.into_iter().map(without_numbers).collect(),
        Value::Object(all) => all.into_iter().map(|(name, value)| (name, without_numbers(value))).collect(),
        other => other,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_and_yaml_are_the_same_document_and_wide_and_name_are_lines() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        started(&world).await?;
        let (host, file) = (address(&world).await?, world.plugins.path().join("misfit.wasm").display().to_string());
        let (admin, object) = (["--admin-addr", host.as_str()], format!("{}/a", world.namespace));
        let kubeconfig = world.cluster.kubeconfig().display().to_string();
        for (command, names) in [
            ([&["plugins"][..], &admin].concat(), Some("plugin/misfit\n")),
            ([&["describe", "plugin", "misfit"][..], &admin].concat(), Some("plugin/misfit\n")),
            (
                [&["explain", "ConfigMap", &object, "--kubeconfig", &kubeconfig][..], &admin].concat(),
                Some("plugin/misfit\n"),
            ),
            ([&["rollout", "status", "misfit"][..], &admin].concat(), None),
            ([&["rollout", "history", "misfit"][..], &admin].concat(), None),
            (vec!["inspect", &file], Some("plugin/misfit\n")),
            (vec!["version"], None),
        ] {
            let said = async |form: &str| oarlock(&[&command[..], &["-o", form]].concat()).await;
            let text = async |form: &str| {
                let ran = said(form).await?;
                ensure!(ran.status.success(), "{command:?} -o {form}: {}", String::from_utf8_lossy(&ran.stderr));
                anyhow::Ok(String::from_utf8(ran.stdout)?)
            };
            eventually(SOON, &format!("{command:?} to say the same twice"), || async {
                let (json, yaml) = (text("json").await?, text("yaml").await?);
                let json: Value = serde_json::from_str(&json).with_context(|| json.clone())?;
                let found: Value = serde_saphyr::from_str(&yaml).with_context(|| yaml.clone())?;
                ensure!(without_numbers(json.clone()) == without_numbers(found), "{json:#}\n{yaml}");
                ensure!(json.is_null() || serde_json::from_str::<Value>(&yaml).is_err(), "no YAML: {yaml}");
                Ok(())
            })
            .await?;
            let wide = text("wide").await?;
            ensure!(!wide.trim().is_empty() && !wide.starts_with(['{', '[']), "{command:?}: {wide}");
            match names {
                Some(names) => ensure!(text("name").await? == names, "{command:?}"),
                None => {
                    let refused = said("name").await?;
                    let why = String::from_utf8_lossy(&refused.stderr).into_owned();
                    ensure!(!refused.status.success() && why.contains("-o name is for plugins"), "{command:?}: {why}");
                }
            }
        }
        Ok(())
    })
    .await
}
