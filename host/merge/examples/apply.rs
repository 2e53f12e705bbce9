//! Two field managers apply the same field of a ConfigMap: the second one meets a conflict, and then forces it.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use oarlock_merge::{
    apply::{self, Write},
    schema::Schema,
};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let schema = Schema::builtin("", "v1", "ConfigMap").unwrap_or_default();
    let config_map = |value: &str| -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"key": value}})
    };
    let alice = Write::new(&schema, "alice", "2026-01-01T00:00:00Z");
    let bob = Write::new(&schema, "bob", "2026-01-01T00:00:01Z");
    let live = apply::apply(None, &config_map("1"), &alice, false)?;
    if let Err(conflict) = apply::apply(Some(&live), &config_map("2"), &bob, false) {
        println!("{conflict}");
    }
    let forced = apply::apply(Some(&live), &config_map("2"), &bob, true)?;
    println!("{}", serde_json::to_string_pretty(&forced)?);
    Ok(())
}
