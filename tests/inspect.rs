//! `oarlock inspect`: says what a plugin is, and why something is none.

use anyhow::{Result, ensure};
use oarlock_tests::harness::{built_plugin, oarlock};
use serde_json::Value;
use std::fs;

#[tokio::test]
async fn a_good_plugin_is_described() -> Result<()> {
    let file = built_plugin("network")?.display().to_string();
    let told = oarlock(&["inspect", &file]).await?;
    ensure!(told.status.success(), "{told:?}");
    let text = String::from_utf8(told.stdout)?;
    for part in [
        "network",
        "Network",
        "samplecrd.k8s.io",
        "oarlock:reconciler/http@0.1.0",
        "oarlock:reconciler/reconcile@0.1.0",
    ] {
        ensure!(text.contains(part), "no {part} in:\n{text}");
    }
    let told = oarlock(&["inspect", &file, "--json"]).await?;
    ensure!(told.status.success(), "{told:?}");
    let json: Value = serde_json::from_slice(&told.stdout)?;
    ensure!(json.pointer("/manifest/name") == Some(&"network".into()), "{json}");
    let size = fs::metadata(&file)?.len();
    ensure!(json.to_string().contains(&size.to_string()), "no size {size} in {json}");
    Ok(())
}

#[tokio::test]
async fn what_is_no_plugin_is_refused_with_a_reason() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let whole = fs::read(built_plugin("network")?)?;
    for (name, bytes, reason) in oarlock_tests::harness::broken_plugins(&whole) {
        let file = folder.path().join(format!("{name}.wasm"));
        fs::write(&file, &bytes)?;
        let told = oarlock(&["inspect", &file.display().to_string()]).await?;
        let said = String::from_utf8_lossy(&told.stderr).into_owned();
        ensure!(!told.status.success(), "{name} was accepted");
        ensure!(said.to_lowercase().contains(reason), "{name}: {said:?} does not say {reason:?}");
        ensure!(!said.contains("panicked"), "{name}: {said}");
    }
    let told = oarlock(&["inspect", "/nowhere/absent.wasm"]).await?;
    ensure!(!told.status.success() && String::from_utf8_lossy(&told.stderr).contains("absent.wasm"), "{told:?}");
    Ok(())
}
