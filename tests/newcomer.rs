//! What a new user meets on the first day (N1 to N25): errors that name their object, commands that do not damage each other's files, logs
//! and tables in plain words.

mod checking;
mod commands;
mod developing;
mod finalizers;
mod mappings;
mod states;
mod telling;

use crate::hot_swap::{grant, options, path, plugin, runs, seen};

use anyhow::Result;
use oarlock_tests::harness::World;
use serde_json::json;

/// Creates an object that the misfit treats as the mode says; without a mode, as its version does. Returns its uid.
async fn object(world: &World, name: &str, mode: &str) -> Result<String> {
    crate::hot_swap::object(world, name, mode, &json!({})).await
}
