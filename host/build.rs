//! Writes the table of files that `oarlock new` makes projects of: templates, SDKs and the contract, as they are when the host is
//! built.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Folders of the repository.
pub(crate) const ROOTS: [&str; 6] = ["templates", "guest-sdk", "host/jsonpath", "host/manifest", "host/merge", "wit"];

/// What tools leave in them.
const LEFT_BEHIND: [&str; 6] = ["node_modules", ".venv", "target", "build", "dist", "__pycache__"];

fn main() -> io::Result<()> {
    let variable = |name: &str| env::var_os(name).map(PathBuf::from).ok_or_else(|| io::Error::other(name.to_owned()));
    let repository = variable("CARGO_MANIFEST_DIR")?.join("..").canonicalize()?;
    println!("cargo::rerun-if-changed=build.rs");
    let mut table = "&[\n".to_owned();
    for root in ROOTS {
        for path in walk(&repository.join(root))? {
            println!("cargo::rerun-if-changed={}", path.display());
            let name = path.strip_prefix(&repository).map_err(io::Error::other)?;
            table.push_str(&format!("({name:?}, include_bytes!({path:?})),\n"));
        }
    }
    table.push_str("]\n");
    fs::write(variable("OUT_DIR")?.join("project_files.rs"), table)
}

/// The files of a folder and of those below it, in order.
///
/// Cargo is told of each, and of no folder: it would look at everything in that, and the host would be built anew whenever a tool
/// ran. So it does not see a file that is new; `every_file_there_is_is_in_the_table` (`cli/new/project.rs`) does.
pub(crate) fn walk(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut entries = entries.collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    let mut files = Vec::new();
    for path in entries {
        if is_left_out(&path) {
            continue;
        }
        if path.is_dir() {
            files.extend(walk(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}

fn is_left_out(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Not objects: the SDK of C carries one, the component type (Go's is in a file that ends in .bin), and what tools compile is in `build`.
    let built = [".wasm", ".pyc"].iter().any(|ending| name.ends_with(ending));
    built || LEFT_BEHIND.contains(&&*name) || (name.starts_with('.') && name != ".gitignore")
}
