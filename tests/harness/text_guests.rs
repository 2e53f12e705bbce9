//! Guests in WebAssembly text (tests/guests/text): plugins that no compiler would produce, and minimal ones.

use super::plugins::{built_plugin, repository_root};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::fs;

/// Position and greatest length of the manifest in a guest's memory.
const MANIFEST_ROOM: usize = 16 * 1024;

/// The manifest of a text guest: one primary (ConfigMaps with the label `text=true`), one worker.
#[must_use]
pub fn text_manifest(name: &str) -> Value {
    json!({
        "apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginManifest", "name": name, "version": "1", "workers": 1,
        "primaries": [{"version": "v1", "kind": "ConfigMap", "labelSelector": "text=true"}],
    })
}

/// The plugin `tests/guests/text/NAME.wat`, with this manifest.
///
/// # Errors
///
/// The text does not exist or is invalid, or the test plugins are not built.
pub fn text_guest(name: &str, manifest: &Value) -> Result<Vec<u8>> {
    let path = repository_root().join(format!("tests/guests/text/{name}.wat"));
    let body = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let manifest = manifest.to_string();
    ensure!(manifest.len() <= MANIFEST_ROOM, "a manifest of {} bytes", manifest.len());
    let length = u32::try_from(manifest.len())?.to_le_bytes();
    let length: String = length.iter().map(|byte| format!("\\{byte:02x}")).collect();
    let base = fs::read_to_string(repository_root().join("tests/guests/text/base.wat"))?;
    let base = base.replace("MANIFEST-LENGTH", &length).replace("MANIFEST", &manifest.replace('"', "\\\""));
    let mut module = wat::parse_str(format!("(module\n{body}\n{base})"))?;
    // A custom section with the contract makes a core module a plugin. Any built plugin has this section.
    let built = fs::read(built_plugin("misfit")?)?;
    for payload in wasmparser::Parser::new(0).parse_all(&built) {
        if let wasmparser::Payload::CustomSection(section) = payload?
            && section.name().starts_with("component-type")
        {
            let mut content = Vec::new();
            leb128(&mut content, section.name().len());
            content.extend_from_slice(section.name().as_bytes());
            content.extend_from_slice(section.data());
            module.push(0);
            leb128(&mut module, content.len());
            module.extend_from_slice(&content);
        }
    }
    Ok(module)
}

fn leb128(out: &mut Vec<u8>, mut value: usize) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            out.push(low & 0x7f);
            return;
        }
        out.push(low | 0x80);
    }
}
