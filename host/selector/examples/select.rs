//! Evaluates a label selector: `select SELECTOR [KEY=VALUE…]`.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use oarlock_selector::Selector;
use std::collections::BTreeMap;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let selector: Selector = arguments.next().ok_or("usage: select SELECTOR [KEY=VALUE…]")?.parse()?;
    let labels: Vec<String> = arguments.collect();
    let labels: BTreeMap<&str, &str> = labels.iter().filter_map(|label| label.split_once('=')).collect();
    println!("{selector}: {}", selector.matches(|key| labels.get(key).copied()));
    Ok(())
}
