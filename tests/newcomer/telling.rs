//! What the host tells: errors of the version that runs, words instead of debug text.

use super::{grant, object, options, path, plugin, runs, seen};
use anyhow::{Result, ensure};
use oarlock_tests::harness::{SOON, World, eventually, misfit_version, repository_root, text, with_world};
use serde_json::json;
use std::{fs, path::Path, sync::Arc};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n4_the_line_of_a_reconcile_says_which_event_caused_it_and_lists_its_writes() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.plugins.grant("misfit", &grant(&world))?;
        world.plugins.place("misfit.wasm", &misfit_version("1", "")?)?;
        world.set_environment("OARLOCK_LOG", "debug");
        world.start_host().await?;
        runs(&world, "misfit", "1").await?;
        object(&world, "told", "").await?;
        seen(&world, "told", "first").await?;
        let (own, child) =
            (format!("ConfigMap {}/told", world.namespace), format!("ConfigMap {}/told-child", world.namespace));
        // Events of a key that waits are one reconcile, whose line has the last of them as its cause. Therefore each step waits for
        // the lines of the step before, the one that the event of the host's own write on the child causes among them.
        let lines = async |cause: String, written: Option<&str>, count: usize| {
            eventually(SOON, &format!("{count} lines with cause {cause} and written {written:?}"), || async {
                let lines = world.log(|line| {
                    line.field("key").as_deref() == Some(&own)
                        && line.field("cause").as_deref() == Some(&cause)
                        && line.field("trigger").as_deref() == Some("event")
                        && line.field("written").as_deref() == written
                });
                let found = lines.await?.len();
                ensure!(found >= count, "{found}");
                Ok(())
            })
            .await
        };
        let apply = format!("apply {child}");
        lines(format!("{own} added"), Some(&apply), 1).await?;
        lines(format!("{child} added"), None, 1).await?;
        world.cluster.merge_patch(&path(&world, "told"), &json!({"data": {"value": "second"}})).await?;
        seen(&world, "told", "second").await?;
        lines(format!("{own} modified: data.value"), Some(&apply), 1).await?;
        lines(format!("{child} modified: data.seen"), None, 1).await?;
        // A field that is not the plugin's.
        world.cluster.merge_patch(&path(&world, "told-child"), &json!({"data": {"other": "x"}})).await?;
        lines(format!("{child} modified: data.other"), None, 1).await?;
        world.cluster.delete(&path(&world, "told-child")).await?;
        lines(format!("{child} deleted"), Some(&apply), 1).await?;
        // Of a patch with many writes the line lists the first ones.
        object(&world, "many", "changes:20").await?;
        let listed = |line: &oarlock_tests::harness::LogLine| {
            line.field("written")
                .is_some_and(|w| w.matches("apply ConfigMap").count() == 8 && w.ends_with("-child-7 and 13 more"))
        };
        eventually(SOON, "a line that lists some of many writes", || async {
            ensure!(!world.log(listed).await?.is_empty(), "none");
            Ok(())
        })
        .await?;
        let noise = world.log(|line| line.text.contains("hyper") || line.text.contains("rustls")).await?;
        ensure!(noise.is_empty(), "libraries are logged: {noise:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n17_the_last_error_is_one_of_the_version_that_runs() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.plugins.grant("misfit", &grant(&world))?;
        world.plugins.place("misfit.wasm", &misfit_version("1", "terminal")?)?;
        world.start_host().await?;
        object(&world, "mended", "").await?;
        eventually(SOON, "an error of version 1", || async {
            let entry = plugin(&world, "misfit").await?;
            ensure!(text(&entry, "/lastError").contains("gives up as told"), "{entry}");
            Ok(())
        })
        .await?;
        world.plugins.place("misfit.wasm", &misfit_version("2", "")?)?;
        runs(&world, "misfit", "2").await?;
        seen(&world, "mended", "first").await?;
        let entry = plugin(&world, "misfit").await?;
        ensure!(text(&entry, "/lastError").is_empty(), "{entry}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n18_log_lines_are_words_and_numbers() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.plugins.grant("misfit", &grant(&world))?;
        world.plugins.place("misfit.wasm", &misfit_version("1", "")?)?;
        world.set_environment("OARLOCK_LOG", "info,oarlock=debug");
        world.start_host().await?;
        for (name, mode) in [("good", "requeue:5000"), ("fetching", "fetch"), ("bad", "terminal")] {
            object(&world, name, mode).await?;
        }
        let all = ["synced", "given up"];
        eventually(SOON, "lines about reconciles", || async {
            for word in all {
                let said = |field: Option<String>| field.is_some_and(|value| value.contains(word));
                let lines = world.log(|line| said(line.field("result")) || said(line.field("next"))).await?;
                ensure!(!lines.is_empty(), "no line says {word}");
            }
            Ok(())
        })
        .await?;
        let number = |line: &oarlock_tests::harness::LogLine, field: &str| {
            let value = line.json.as_ref().and_then(|json| json.get(field));
            value.is_some_and(|value| !value.is_number())
        };
        let texts = world.log(|line| number(line, "duration_ms") || number(line, "prepared_ms")).await?;
        ensure!(texts.is_empty(), "numbers as texts: {texts:?}");
        let debug =
            world.log(|line| ["None", "Some(", " { ", "Url("].iter().any(|word| line.text.contains(word))).await?;
        ensure!(debug.is_empty(), "{debug:?}");
        Ok(())
    })
    .await
}

/// Fields of events are displayed, not debugged: `?value` shows what a type is made of.
#[test]
fn n18_no_event_shows_debug_text() -> Result<()> {
    let mut found = Vec::new();
    search(&repository_root().join("host"), &mut found)?;
    ensure!(found.is_empty(), "{}", found.join("\n"));
    Ok(())
}

fn search(folder: &Path, found: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            search(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path)?;
            let production = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
            for event in production.split("tracing::").skip(1) {
                let macros = ["error!(", "warn!(", "info!(", "debug!(", "trace!("];
                let Some(fields) = macros.iter().find_map(|name| event.strip_prefix(name)) else { continue };
                let fields = fields.split(");").next().unwrap_or_default();
                let debugged = fields.split([',', '=', '(']).any(|field| field.trim_start().starts_with('?'));
                if debugged || fields.contains(":?}") {
                    found.push(format!("{}: {}", path.display(), fields.trim()));
                }
            }
        }
    }
    Ok(())
}
