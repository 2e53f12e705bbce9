//! The changeling: one built guest, any number of plugins and versions.

use anyhow::{Context, Result, ensure};
use serde_json::json;

/// Stands in front of the role in the guest's bytes.
const MARKER: &[u8] = b"oarlock-changeling:";
/// Of the role, in bytes.
const ROOM: usize = 1024;

/// What a plugin keeps for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A thing in the ledger, with the object's value.
    Ledger,
    /// The same, with a ConfigMap's value behind the object's.
    Settings,
    /// A ConfigMap that the object owns.
    Child,
}

/// How a version behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Well.
    Ok,
    /// Every reconcile traps.
    Trap,
    /// One object in a hundred traps.
    TrapSome,
    /// Every reconcile loops.
    Loop,
    /// Every status is nonsense.
    BadAnswer,
    /// Every reconcile takes 300 ms.
    Slow,
}

impl Mode {
    fn text(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Trap => "trap",
            Self::TrapSome => "trap-some",
            Self::Loop => "loop",
            Self::BadAnswer => "bad-answer",
            Self::Slow => "slow",
        }
    }
}

/// What a changeling is.
#[derive(Clone, Debug)]
pub struct Role {
    /// The plugin's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its primary, of `torture.oarlock.dev/v1`.
    pub kind: String,
    /// Whether its objects get a finalizer.
    pub cleanup: bool,
    /// Whether the host keeps the Ready condition.
    pub manage_status: bool,
    /// What it keeps.
    pub shape: Shape,
    /// How it behaves.
    pub mode: Mode,
}

/// What is put into the plugin directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A whole plugin that behaves so.
    Whole(Mode),
    /// Half a file.
    Truncated,
    /// No WebAssembly at all.
    Text,
}

impl Form {
    /// Whether the host should keep it.
    #[must_use]
    pub fn is_good(self) -> bool {
        matches!(self, Self::Whole(Mode::Ok | Mode::Slow))
    }

    /// For people.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Whole(mode) => mode.text(),
            Self::Truncated => "truncated",
            Self::Text => "text",
        }
    }
}

/// The guest's bytes with this role in them.
///
/// * `guest` - the changeling as it is built.
///
/// # Errors
///
/// When the bytes are no changeling, or the role is too long for it.
pub fn forged(guest: &[u8], role: &Role) -> Result<Vec<u8>> {
    let shape = match role.shape {
        Shape::Ledger => "ledger",
        Shape::Settings => "settings",
        Shape::Child => "child",
    };
    let text = json!({
        "name": role.name, "version": role.version, "kind": role.kind, "cleanup": role.cleanup,
        "manageStatus": role.manage_status, "shape": shape, "mode": role.mode.text(),
    })
    .to_string();
    ensure!(text.len() <= ROOM, "a role of {} bytes has no room", text.len());
    let marker = guest.windows(MARKER.len()).position(|bytes| bytes == MARKER).context("the guest has no marker")?;
    let at = marker + MARKER.len();
    let mut bytes = guest.to_vec();
    let room = bytes.get_mut(at..at + ROOM).context("the guest ends in its role")?;
    room.fill(b' ');
    room.get_mut(..text.len()).context("no room")?.copy_from_slice(text.as_bytes());
    Ok(bytes)
}

/// The bytes of a role in some form.
///
/// # Errors
///
/// As [`forged`].
pub(super) fn formed(guest: &[u8], role: &Role, form: Form) -> Result<Vec<u8>> {
    Ok(match form {
        Form::Whole(mode) => forged(guest, &Role { mode, ..role.clone() })?,
        Form::Truncated => {
            let mut bytes = forged(guest, role)?;
            bytes.truncate(bytes.len() / 2);
            bytes
        }
        Form::Text => format!("#!/bin/sh\necho version {} is no plugin\n", role.version).into_bytes(),
    })
}
