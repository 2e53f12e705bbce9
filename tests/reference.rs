//! Pages that are written from sources: the contract, the manifest, mappings, the grant, metrics, the command line.
//!
//! `make reference` writes all of them; the tests fail while a page is not what its source says.

mod cli;
mod contract;
mod metrics;
mod schema;

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::repository_root;
use std::fs;

/// Compares a page with the text of its source. `UPDATE_EXPECT=1` writes it anew.
///
/// * `path` - in the repository.
/// * `source` - for the message, and for the comment that [`head`] writes.
fn hold(path: &str, source: &str, text: &str) -> Result<()> {
    let file = repository_root().join(path);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&file, text)?;
    }
    let published = fs::read_to_string(&file).with_context(|| path.to_owned())?;
    ensure!(published == text, "{path} is not what {source} says; `make reference` writes it anew");
    Ok(())
}

/// The beginning of a page: title, readers, source.
fn head(title: &str, readers: &str, source: &str) -> String {
    format!("# {title}\n\n{readers}\n\n<!-- Written from {source}: `make reference` writes it anew. -->\n\n")
}

/// The text of a cell in a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// A word in the font of code; empty for an empty one.
fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{text}`") }
}
