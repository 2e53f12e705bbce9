//! A hostile plugin, and secrets: neither gets further than into text nodes.

use super::{Browser, address};
use crate::plan::ALONE;
use anyhow::{Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oarlock_tests::harness::{Grant, SOON, World, eventually, misfit_with, text, with_world};
use serde_json::{Value, json};
use std::fs;
use std::sync::Arc;

/// What runs where text becomes markup, ends an attribute, a script or a policy, turns text around, or hides.
const SCRIPT: &str = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><svg onload=alert(3)>javascript:alert(4)</title></style>{{7*7}}\u{202e}dlrow\u{2066}\u{200b}\u{200d}\u{feff}\u{7}";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_messages_labels_and_states_of_a_hostile_plugin_run_no_script_and_break_no_page() -> Result<()> {
    let Some(browser) = Browser::find()? else { return Ok(()) };
    with_world(ALONE, async |world: Arc<World>| {
        let long = "W".repeat(100 << 10);
        let attacker = crate::attacks::attacker(|manifest| {
            // A version has at most 64 printable characters.
            manifest["version"] = json!("1<script>alert(7)</script><img src=x onerror=alert(8)>");
            manifest["description"] = json!(SCRIPT);
        })?;
        world.plugins.grant("attacker", &Grant::nothing().rule("", &["configmaps"], &["get", "list", "watch"]))?;
        world.plugins.place("attacker.wasm", &attacker)?;
        let misfit = misfit_with("1", "", |manifest| manifest["description"] = json!(SCRIPT))?;
        world.plugins.grant("misfit", &super::misfit_grant(&world))?;
        world.plugins.place("misfit.wasm", &misfit)?;
        world.plugins.file("<img src=x onerror=alert(9)>.wasm", b"no plugin")?;
        let maps = format!("/api/v1/namespaces/{}/configmaps", world.namespace);
        let fails = crate::attacks::asking("fails", &json!({"fail": format!("{SCRIPT}{long}")}));
        let talks = crate::attacks::asking("talks", &json!({"actions": [{"op": SCRIPT}, {"op": "log", "n": 3}]}));
        let state = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "states",
            "labels": {"misfit": "true", "long": "w".repeat(63)}}, "data": {"value": format!("{SCRIPT}{long}")}});
        let name = "n".repeat(240);
        let named = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"misfit": "true"}},
            "data": {"value": "first"}});
        for object in [&fails, &talks, &state, &named] {
            world.cluster.create(&maps, object).await?;
        }
        world.start_host().await?;
        eventually(SOON * 4, "both to have done it", || async {
            let attacker = world.host(async |host| host.plugin("attacker").await).await?;
            ensure!(text(&attacker, "/lastError").contains("script"), "{attacker}");
            let child = world.cluster.get(&format!("{maps}/states-child")).await?;
            ensure!(child.is_some_and(|child| text(&child, "/data/seen").contains("<script>")), "no child");
            Ok(())
        })
        .await?;
        let object = |plugin: &str, name: &str| format!("/objects/{plugin}/ConfigMap/{}/{name}", world.namespace);
        let (fails, states, named) = (object("attacker", "fails"), object("misfit", "states"), object("misfit", &name));
        let digest = world.host(async |host| host.plugin("attacker").await).await?;
        let version = format!("/plugins/attacker/versions/{}", text(&digest, "/digest"));
        let routes = [
            "/plugins/attacker", &fails, &object("attacker", "talks"), "/plugins/misfit", &states, &named, &version,
            "/plugins/%3Cimg%20src%3Dx%20onerror%3Dalert(9)%3E.wasm", "/plugins/%3Cscript%3Ealert(1)%3C%2Fscript%3E", "/%E0%A4%A",
        ];
        let awaits = json!({"/plugins/attacker": "<script>", &fails: "<script>", &states: "<script>", &version: "<script>"});
        browser.plays(&world, "hostile", json!({"routes": routes, "awaits": awaits})).await?;
        Ok(())
    })
    .await
}

/// A misfit whose primaries are Secrets copies their values into the states; one secret is in a file of the grant, one in its configuration.
async fn with_secrets(world: &World, canaries: &[&str; 4]) -> Result<()> {
    let [stored, of_file, of_config, of_error] = canaries;
    let file = world.folder().join("token");
    fs::write(&file, format!("{of_file}\n"))?;
    let verbs = ["get", "list", "watch", "create", "patch", "delete"];
    let grant = Grant::nothing()
        .rule_in(&world.namespace, "", &["configmaps", "secrets"], &verbs)
        .secret_file("token", &file)
        .config("plain", of_config)
        .partial();
    let misfit = misfit_with("1.0.0", "", |manifest| {
        manifest["primaries"] = json!([{"version": "v1", "kind": "Secret"}]);
    })?;
    world.plugins.grant("misfit", &grant)?;
    world.plugins.place("misfit.wasm", &misfit)?;
    // The attacker says what it knows: the value of a secret file.
    let other = world.folder().join("other");
    fs::write(&other, of_error)?;
    let grant = Grant::nothing().rule("", &["configmaps"], &["get", "list", "watch"]).secret_file("token", &other);
    world.plugins.grant("attacker", &grant)?;
    world.plugins.place("attacker.wasm", &crate::attacks::attacker(|_| {})?)?;
    world.start_host().await?;
    let secret = json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "stored", "labels": {"misfit": "true"}, "annotations": {"misfit/mode": "ok"}},
        "stringData": {"value": stored, "token": format!("token={of_file}")}});
    world.cluster.create(&format!("/api/v1/namespaces/{}/secrets", world.namespace), &secret).await?;
    let says = crate::attacks::asking(
        "says",
        &json!({"actions": [{"op": format!("my secret is {of_error}")}], "fail": format!("it is {of_error}")}),
    );
    world.cluster.create(&format!("/api/v1/namespaces/{}/configmaps", world.namespace), &says).await?;
    for plugin in ["misfit", "attacker"] {
        eventually(SOON * 4, &format!("{plugin} to have reconciled"), || async {
            let entry = world.host(async |host| host.plugin(plugin).await).await?;
            ensure!(entry.get("reconciles").and_then(Value::as_u64) > Some(0), "{entry}");
            Ok(())
        })
        .await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_secret_is_in_any_page_nor_in_what_a_page_reads() -> Result<()> {
    let Some(browser) = Browser::find()? else { return Ok(()) };
    const CANARIES: [&str; 4] =
        ["canary-of-a-stored-secret", "canary-of-a-secret-file", "canary-of-the-configuration", "canary-that-is-said"];
    with_world(ALONE, async |world: Arc<World>| {
        with_secrets(&world, &CANARIES).await?;
        let digest = |plugin: &'static str| {
            let world = &world;
            async move {
                Ok::<_, anyhow::Error>(text(&world.host(async |host| host.plugin(plugin).await).await?, "/digest"))
            }
        };
        let namespace = &world.namespace;
        let routes = json!([
            ["/", "plugin"],
            ["/plugins/misfit", "stored"],
            [format!("/objects/misfit/Secret/{namespace}/stored"), "Reconcile "],
            [format!("/plugins/misfit/versions/{}", digest("misfit").await?), "(not shown)"],
            ["/plugins/attacker", "says"],
            [format!("/objects/attacker/ConfigMap/{namespace}/says"), "it is "],
            [format!("/plugins/attacker/versions/{}", digest("attacker").await?), "Manifest"],
        ]);
        let found = browser.plays(&world, "everything", json!({"routes": routes})).await?;
        let seen = found["seen"].as_array().map_or(0, Vec::len);
        let all = found.to_string();
        ensure!(seen > 20 && all.contains("oarlock-secret-"), "{seen} documents: {}", &all[..4000.min(all.len())]);
        for canary in CANARIES {
            for spelling in [canary.to_owned(), STANDARD.encode(canary)] {
                let at = all.find(&spelling);
                let around = at.map(|at| &all[at.saturating_sub(300)..(at + 300).min(all.len())]);
                ensure!(at.is_none(), "{spelling}: {around:?}");
            }
        }
        let printed = address(&world).await?;
        let stored = found["stored"].to_string();
        ensure!(!stored.contains("token=") && !stored.contains(&printed[printed.len() - 43..]), "{stored}");
        Ok(())
    })
    .await
}
