//! Custom sections of a WebAssembly file: those of the file itself, not of the modules and components inside.

use wasm_encoder::{CustomSection, Section as _};
use wasmparser::BinaryReader;

/// Magic number and version, of modules and components alike.
const HEADER_BYTES: usize = 8;

const CUSTOM: u8 = 0;

/// The custom sections of a file, in order: name and content.
///
/// # Errors
///
/// The file is no WebAssembly, or a section does not fit into it: a sentence.
pub fn custom_sections(wasm: &[u8]) -> Result<Vec<(&str, &[u8])>, String> {
    let found = sections(wasm)?;
    Ok(found.into_iter().filter_map(|section| Some((section.name?, section.content))).collect())
}

/// The file without its custom sections of some names, followed by others.
///
/// * `dropped` - whether a section of this name goes.
/// * `added` - name and content of each.
///
/// # Errors
///
/// As [`custom_sections`].
pub fn with_custom_sections(
    wasm: &[u8],
    dropped: impl Fn(&str) -> bool,
    added: &[(&str, &[u8])],
) -> Result<Vec<u8>, String> {
    let mut new = wasm.get(..HEADER_BYTES).unwrap_or_default().to_vec();
    for section in sections(wasm)? {
        if !section.name.is_some_and(&dropped) {
            new.extend_from_slice(section.whole);
        }
    }
    for (name, content) in added {
        CustomSection { name: (*name).into(), data: (*content).into() }.append_to(&mut new);
    }
    Ok(new)
}

struct Section<'w> {
    /// With its header.
    whole: &'w [u8],
    /// None: it is no custom section.
    name: Option<&'w str>,
    /// Of a custom section.
    content: &'w [u8],
}

fn sections(wasm: &[u8]) -> Result<Vec<Section<'_>>, String> {
    if !wasm.starts_with(b"\0asm") || wasm.len() < HEADER_BYTES {
        return Err("not a WebAssembly file".to_owned());
    }
    let broken = |e: wasmparser::BinaryReaderError| format!("not a valid WebAssembly file: {e}");
    let mut reader = BinaryReader::new(wasm.get(HEADER_BYTES..).unwrap_or_default(), HEADER_BYTES);
    let mut found = Vec::new();
    while !reader.eof() {
        let start = reader.original_position();
        let id = reader.read_u8().map_err(broken)?;
        let mut content = reader.read_reader().map_err(broken)?;
        let whole = wasm.get(start..reader.original_position()).unwrap_or_default();
        let name = if id == CUSTOM { Some(content.read_string().map_err(broken)?) } else { None };
        let content = wasm.get(content.original_position()..reader.original_position()).unwrap_or_default();
        found.push(Section { whole, name, content });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &[u8] = b"\0asm\x01\0\0\0";
    const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

    #[test]
    fn sections_are_added_replaced_and_read() {
        for file in [MODULE, COMPONENT] {
            let long = vec![7; 300];
            let with = with_custom_sections(file, |_| false, &[("a", b"1"), ("b", &long), ("a", b"2")]).unwrap();
            assert_eq!(custom_sections(&with).unwrap(), [("a", &b"1"[..]), ("b", &long), ("a", b"2")]);
            let without = with_custom_sections(&with, |name| name == "a", &[]).unwrap();
            assert_eq!(custom_sections(&without).unwrap(), [("b", &long[..])]);
            wasmparser::validate(&with).unwrap();
        }
    }

    #[test]
    fn what_is_cut_off_or_no_file_is_an_error() {
        let file = with_custom_sections(MODULE, |_| false, &[("name", b"content")]).unwrap();
        for end in 0..file.len() {
            assert_eq!(custom_sections(&file[..end]).is_ok(), end == MODULE.len(), "{end}");
        }
        assert!(custom_sections(b"\0asm\x01\0\0\0\0\x02\x05a").is_err());
        assert!(custom_sections(b"#!/bin/sh").is_err());
    }
}
