//! The manifest, where a test can reach it.

/// Stands in front of the text.
const MARKER: &[u8] = b"oarlock-misfit-manifest:";
/// As it is built.
const TEXT: &[u8] = include_bytes!("manifest.json");
/// Of the text, in bytes.
const ROOM: usize = 8192;

static BUFFER: [u8; MARKER.len() + ROOM] = padded();

#[expect(clippy::indexing_slicing, reason = "evaluated while compiling: out of bounds is a compile error")]
const fn padded() -> [u8; MARKER.len() + ROOM] {
    let mut buffer = [b' '; MARKER.len() + ROOM];
    let mut at = 0;
    while at < MARKER.len() {
        buffer[at] = MARKER[at];
        at += 1;
    }
    while at < MARKER.len() + TEXT.len() {
        buffer[at] = TEXT[at - MARKER.len()];
        at += 1;
    }
    buffer
}

/// The text in the buffer as the component was loaded, not as it was compiled.
pub(crate) fn text() -> String {
    let buffer = std::hint::black_box(&BUFFER);
    String::from_utf8_lossy(buffer.get(MARKER.len()..).unwrap_or_default()).trim_end().to_owned()
}

/// The version.
pub(crate) fn version() -> String {
    let manifest: serde_json::Value = serde_json::from_str(&text()).unwrap_or_default();
    manifest.get("version").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
}

/// The mode of a version: `mode=MODE` as the description of its manifest. `mode=fragile:MODE` is meant for objects with the
/// label `fragile` only.
pub(crate) fn mode(object: &serde_json::Value) -> Option<String> {
    let manifest: serde_json::Value = serde_json::from_str(&text()).ok()?;
    let mode = manifest.get("description")?.as_str()?.strip_prefix("mode=")?;
    match mode.strip_prefix("fragile:") {
        None => Some(mode.to_owned()),
        Some(mode) => object.pointer("/metadata/labels/fragile").map(|_| mode.to_owned()),
    }
}
