//! Manifests that make no sense, and a `describe` that misbehaves: put into the built misfit byte by byte.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{
    Grant, LogLine, SOON, World, WorldOptions, eventually, misfit_describing, misfit_manifest, text, with_world,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// The misfit's own manifest with one member changed (null takes it away), or one element of a list added.
pub(super) fn with(pointer: &str, value: Value) -> Result<String> {
    let mut manifest = misfit_manifest()?;
    let (parent, member) = pointer.rsplit_once('/').context("no pointer")?;
    let parent = manifest.pointer_mut(parent).context("no such place")?;
    if let Some(list) = parent.as_array_mut() {
        list.insert(member.parse()?, value);
        return Ok(manifest.to_string());
    }
    let parent = parent.as_object_mut().context("no such place")?;
    if value.is_null() {
        parent.remove(member);
    } else {
        parent.insert(member.to_owned(), value);
    }
    Ok(manifest.to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nonsense_in_a_manifest_is_reported_by_name_and_the_others_run() -> Result<()> {
    let cases = [
        ("unknown-field", with("/surprise", json!(1))?, "surprise"),
        ("unknown-field-inside", with("/primaries/0/surprise", json!(1))?, "surprise"),
        ("no-workers", with("/workers", json!(0))?, "workers"),
        ("too-many-workers", with("/workers", json!(65))?, "workers"),
        ("negative-workers", with("/workers", json!(-1))?, "workers"),
        ("no-resync", with("/resyncSeconds", json!(0))?, "resyncseconds"),
        ("odd-kind", with("/primaries/0/kind", json!("Config Map/../x"))?, "kind"),
        ("empty-kind", with("/primaries/0/kind", json!(""))?, "kind"),
        ("odd-version", with("/primaries/0/version", json!("v1/../../x"))?, "version"),
        ("odd-group", with("/primaries/0/group", json!("No Group"))?, "group"),
        ("odd-selector", with("/primaries/0/labelSelector", json!("a in (b"))?, "selector"),
        ("odd-name", with("/name", json!("Not A Label"))?, "name"),
        ("long-name", with("/name", json!("x".repeat(41)))?, "name"),
        ("no-name", with("/name", Value::Null)?, "name"),
        ("odd-origin", with("/http/origins", json!(["ftp://example.com"]))?, "origin"),
        ("origin-with-path", with("/http/origins", json!(["https://example.com/path"]))?, "origin"),
        ("odd-mapping", with("/watches/0/mapTo", json!({"type": "telepathy"}))?, "telepathy"),
        ("odd-pointer", with("/watches/0/mapTo", json!({"type": "referencedBy", "pointer": "no-slash"}))?, "pointer"),
        ("other-version", with("/apiVersion", json!("oarlock.dev/v9"))?, "oarlock.dev/v9"),
        ("other-document", with("/kind", json!("Pod"))?, "kind"),
        ("odd-permission", with("/permissions/0/verbs", json!(["steal"]))?, "steal"),
        ("no-json", "this is not JSON".to_owned(), "json"),
        ("no-object", "[1, 2, 3]".to_owned(), "manifest"),
        ("nothing", String::new(), "manifest"),
        ("deep", "[".repeat(8000), "manifest"),
        ("describe-traps", "!trap".to_owned(), "describe"),
        ("describe-panics", "!panic".to_owned(), "describe"),
        ("describe-grows", "!grow".to_owned(), "memory"),
        ("describe-is-huge", "!huge".to_owned(), "describe"),
        ("describe-loops", "!loop".to_owned(), "describe"),
        ("describe-reads", "!read".to_owned(), "describe"),
    ];
    with_world(WorldOptions { host: false, ..WorldOptions::default() }, async |world: Arc<World>| {
        for (name, answer, _) in &cases {
            world.plugins.file(&format!("{name}.wasm"), &misfit_describing(answer)?)?;
            world.plugins.grant(name, &Grant::nothing())?;
        }
        world.start_host().await?;
        let mut wrong = Vec::new();
        for (name, _, reason) in &cases {
            // The host compiles them one after the other, and not in this order.
            let entry = eventually(SOON * 6, &format!("{name} to have failed"), || async {
                let entry = world.host(async |host| host.plugin(&format!("{name}.wasm")).await).await?;
                ensure!(text(&entry, "/state") == "failed", "{entry}");
                Ok(entry)
            })
            .await?;
            let of_case = |line: &LogLine| {
                line.text.contains(&format!("{name}.wasm")) && line.text.to_lowercase().contains(reason)
            };
            let logged = world.logged(reason, of_case).await.is_ok();
            if !entry.to_string().to_lowercase().contains(reason) || !logged {
                wrong.push(format!("{name}: no {reason:?} in {entry}, or not in the log"));
            }
        }
        ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
        world.create_network("fine", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("fine").await?;
        Ok(())
    })
    .await
}

/// The way these files are made is sound: with its own manifest put in again, the misfit runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_misfit_with_a_manifest_put_in_runs() -> Result<()> {
    with_world(
        WorldOptions { network: false, crd: false, host: false, ..WorldOptions::default() },
        async |world: Arc<World>| {
            let manifest = with("/name", json!("renamed"))?;
            world.plugins.file("renamed.wasm", &misfit_describing(&manifest)?)?;
            world.plugins.grant("renamed", &super::grant(&world))?;
            world.start_host().await?;
            super::misfit(&world, "good", "ok").await?;
            super::seen(&world, "good", "first").await
        },
    )
    .await
}
