//! The versions of a plugin on one host, through its admin address.

use super::super::admin::{Admin, send};
use anyhow::Context as _;
use serde_json::Value;

pub(super) async fn undo(admin: &Admin, name: &str, revision: Option<u64>) -> anyhow::Result<String> {
    let query = revision.map(|number| format!("?revision={number}")).unwrap_or_default();
    send(admin, "POST", &format!("{}{query}", oarlock::api::path::join(["plugins", name, "undo"]))).await
}

pub(super) async fn history(admin: &Admin, name: &str) -> anyhow::Result<Vec<Value>> {
    let text = send(admin, "POST", &oarlock::api::path::join(["plugins", name, "history"])).await?;
    serde_json::from_str(&text).context("the host's response is not a list of revisions")
}
