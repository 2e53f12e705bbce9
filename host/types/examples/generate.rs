//! Writes the types of a CustomResourceDefinition in JSON: `generate CRD.json`.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use oarlock_types::{Language, Model};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: generate CRD.json")?;
    let definition = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    println!("{}", Model::of_definition(&definition, None)?.write(Language::Rust));
    Ok(())
}
