//! Attacks on a running host: what a hostile plugin, a forged request or a crafted file can do (T1 to T13). Each test has the attack's
//! number in its name; the guest `attacker` does what an object's `data.do` says.

mod secrets;
mod t1;
mod t10;
mod t11;
mod t3;
mod t5;
mod t6;

use anyhow::{Context as _, Result, ensure};
use oarlock_tests::harness::{Grant, SOON, World, WorldOptions, built_plugin, eventually, repository_root, text};
use serde_json::{Value, json};
use std::fs;

const MARKER: &[u8] = b"oarlock-attacker-manifest:";
const ROOM: usize = 8192;

fn options() -> WorldOptions {
    WorldOptions { host: false, network: false, crd: false, ..WorldOptions::default() }
}

/// The attacker with a changed manifest.
pub(crate) fn attacker(change: impl FnOnce(&mut Value)) -> Result<Vec<u8>> {
    let mut manifest: Value =
        serde_json::from_slice(&fs::read(repository_root().join("tests/guests/attacker/src/manifest.json"))?)?;
    change(&mut manifest);
    let answer = manifest.to_string();
    let mut bytes = fs::read(built_plugin("attacker")?)?;
    let at = bytes.windows(MARKER.len()).position(|window| window == MARKER).context("no buffer")? + MARKER.len();
    let room = bytes.get_mut(at..at + ROOM).context("no room")?;
    room.fill(b' ');
    room.get_mut(..answer.len()).context("too long")?.copy_from_slice(answer.as_bytes());
    Ok(bytes)
}

fn grant() -> Grant {
    Grant::nothing().rule("", &["configmaps"], &["get", "list", "watch"])
}

/// Starts the host, and waits until the attacker runs: it is compiled first, at low priority.
async fn started(world: &World) -> Result<()> {
    world.start_host().await?;
    eventually(4 * SOON, "the attacker to run", || async {
        let entry = world.host(async |host| host.plugin("attacker").await).await?;
        ensure!(text(&entry, "/state") == "active", "{entry}");
        Ok(())
    })
    .await
}

/// A ConfigMap that asks the attacker for something.
pub(crate) fn asking(name: &str, asked: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"attack": "true"}},
        "data": {"do": asked.to_string()}})
}

pub(crate) async fn ask(world: &World, name: &str, asked: &Value) -> Result<()> {
    let path = format!("/api/v1/namespaces/{}/configmaps", world.namespace);
    world.cluster.create(&path, &asking(name, asked)).await.map(drop)
}
