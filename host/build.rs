//! Writes the table of files that `oarlock new` makes projects of: templates, SDKs and the contract, as they are when the host is
//! built.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Folders of the repository.
const ROOTS: [&str; 5] = ["templates", "guest-sdk", "host/manifest", "host/merge", "wit"];

/// What tools leave in them.
const LEFT_BEHIND: [&str; 6] = ["node_modules", ".venv", "target", "build", "dist", "__pycache__"];

/// What a folder holds.
struct Found {
    files: Vec<PathBuf>,
    /// What to look at for changes.
    watched: Vec<PathBuf>,
    /// Nothing in it was left out.
    whole: bool,
}

fn main() -> io::Result<()> {
    let variable = |name: &str| env::var_os(name).map(PathBuf::from).ok_or_else(|| io::Error::other(name.to_owned()));
    let repository = variable("CARGO_MANIFEST_DIR")?.join("..").canonicalize()?;
    println!("cargo::rerun-if-changed=build.rs");
    let mut table = "&[\n".to_owned();
    for root in ROOTS {
        let found = walk(&repository.join(root))?;
        for path in found.watched {
            println!("cargo::rerun-if-changed={}", path.display());
        }
        for path in found.files {
            let name = path.strip_prefix(&repository).map_err(io::Error::other)?;
            table.push_str(&format!("({name:?}, include_bytes!({path:?})),\n"));
        }
    }
    table.push_str("]\n");
    fs::write(variable("OUT_DIR")?.join("project_files.rs"), table)
}

/// Cargo looks at a folder with everything below it: one with what tools left behind is watched file by file instead, or the host
/// would be built anew whenever a tool ran.
fn walk(folder: &Path) -> io::Result<Found> {
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut entries = entries.collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    let mut found = Found { files: Vec::new(), watched: Vec::new(), whole: true };
    for path in entries {
        if is_left_out(&path) {
            found.whole = false;
        } else if path.is_dir() {
            let below = walk(&path)?;
            found.files.extend(below.files);
            found.watched.extend(below.watched);
            found.whole &= below.whole;
        } else {
            found.watched.push(path.clone());
            found.files.push(path);
        }
    }
    if found.whole {
        found.watched = vec![folder.to_owned()];
    }
    Ok(found)
}

fn is_left_out(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Not objects: the SDK of C carries one, the component type, and what tools compile is in `build`.
    let built = [".wasm", ".pyc"].iter().any(|ending| name.ends_with(ending));
    built || LEFT_BEHIND.contains(&&*name) || (name.starts_with('.') && name != ".gitignore")
}
