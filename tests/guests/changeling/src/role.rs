//! What the guest is, where a test can write it.

use serde::Deserialize;

/// Stands in front of the text.
const MARKER: &[u8] = b"oarlock-changeling:";
/// As it is built.
const TEXT: &[u8] =
    br#"{"name":"changeling","version":"0","kind":"Plain","cleanup":true,"manageStatus":true,"shape":"ledger","mode":"ok"}"#;
/// Of the text, in bytes.
const ROOM: usize = 1024;

static BUFFER: [u8; MARKER.len() + ROOM] = padded();

/// What the guest is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Role {
    /// The plugin's name.
    pub(crate) name: String,
    /// The plugin's version.
    pub(crate) version: String,
    /// The kind it reconciles, of `torture.oarlock.dev/v1`.
    pub(crate) kind: String,
    /// See the manifest's field.
    pub(crate) cleanup: bool,
    /// See the manifest's field.
    pub(crate) manage_status: bool,
    /// What it keeps for an object.
    pub(crate) shape: Shape,
    /// How it misbehaves.
    pub(crate) mode: Mode,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shape {
    Ledger,
    Settings,
    Child,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mode {
    Ok,
    Trap,
    TrapSome,
    Loop,
    BadAnswer,
    Slow,
}

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

/// What stands in the buffer as the component was loaded, not as it was compiled.
///
/// # Errors
///
/// When it is no role.
pub(crate) fn role() -> serde_json::Result<Role> {
    let buffer = std::hint::black_box(&BUFFER);
    serde_json::from_slice(buffer.get(MARKER.len()..).unwrap_or_default())
}
