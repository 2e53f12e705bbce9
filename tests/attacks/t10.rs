//! T10: escapes for a terminal in what a plugin says.

use super::{ask, attacker, grant, options, started};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SOON, World, eventually, oarlock, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;

const ATTACK: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}all is well\r\nnetwork  1  active\u{9b}31m\u{202e}";
const SAFE: &str = r"\u{1b}[2J\u{1b}]0;owned\u{7}all is well\r\nnetwork  1  active\u{9b}31m\u{202e}";

fn harmless(shown: &str) -> bool {
    shown.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}')
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn t10_what_a_plugin_says_does_not_reach_a_terminal_as_it_is() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.plugins.grant("attacker", &grant())?;
        world.plugins.place("attacker.wasm", &attacker(|_| {})?)?;
        started(&world).await?;
        ask(&world, "failing", &json!({"fail": ATTACK})).await?;
        eventually(SOON, "the error", || async {
            let entry = world.host(async |host| host.plugin("attacker").await).await?;
            ensure!(text(&entry, "/lastError").contains(SAFE), "{entry}");
            Ok(())
        })
        .await?;
        let admin = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
        for flag in [&[][..], &["--json"][..]] {
            let shown = oarlock(&[&["plugins", "--admin-addr", admin.as_str()], flag].concat()).await?;
            let shown = String::from_utf8(shown.stdout).context("not UTF-8")?;
            ensure!(shown.contains("u{1b}") && harmless(&shown), "{shown:?}");
        }
        let path = format!("/api/v1/namespaces/{}/events", world.namespace);
        eventually(SOON, "the event", || async {
            let events = world.cluster.get(&path).await?.context("no events")?;
            let items = events.pointer("/items").and_then(Value::as_array).context("no list")?;
            let said: Vec<String> = items.iter().map(|event| text(event, "/message")).collect();
            ensure!(said.iter().any(|message| message.contains(SAFE)), "{said:?}");
            ensure!(said.iter().all(|message| harmless(message)), "{said:?}");
            Ok(())
        })
        .await?;
        let lines = world.logged("the error", |line| line.text.contains("all is well")).await?;
        ensure!(lines.iter().all(|line| harmless(&line.text)), "{lines:?}");
        Ok(())
    })
    .await
}
