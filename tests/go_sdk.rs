//! What the linker of Go's SDK puts beside a program is made of the files next to it, and of the contract.

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::repository_root;
use std::fs;
use wit_component::StringEncoding;
use wit_parser::Resolve;

const LINKER: &str = "guest-sdk/go/internal/link";

/// `UPDATE_EXPECT=1` writes the file anew.
fn is_what_it_is_made_of(name: &str, made: &[u8]) -> Result<()> {
    let path = repository_root().join(LINKER).join(name);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, made)?;
    }
    let kept = fs::read(&path).with_context(|| path.display().to_string())?;
    ensure!(kept == made, "{LINKER}/{name} is not what it is made of; UPDATE_EXPECT=1 writes it anew");
    Ok(())
}

#[test]
fn what_stands_in_for_wasi_in_go_is_its_text_assembled() -> Result<()> {
    let text = fs::read_to_string(repository_root().join(LINKER).join("preview1.wat"))?;
    is_what_it_is_made_of("preview1.bin", &wat::parse_str(text)?)
}

#[test]
fn the_component_type_of_go_is_the_contract_and_what_go_needs_of_wasi() -> Result<()> {
    let mut resolve = Resolve::default();
    for path in ["wit/reconciler.wit".to_owned(), format!("{LINKER}/plugin.wit")] {
        resolve.push_str(&path, &fs::read_to_string(repository_root().join(&path))?)?;
    }
    for (name, file) in [("go", "component-type.bin"), ("converting-go", "converting-component-type.bin")] {
        let (world, _) = resolve.worlds.iter().find(|(_, world)| world.name == name).context(name)?;
        let made = wit_component::metadata::encode(&resolve, world, StringEncoding::UTF8, None)?;
        is_what_it_is_made_of(file, &made)?;
    }
    Ok(())
}
