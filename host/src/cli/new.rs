//! `oarlock new`.

mod project;
mod resource;
mod values;

use anyhow::{Context as _, bail};
use clap::Args;
use clap::builder::PossibleValuesParser;
use oarlock_manifest::Kind;
use project::{File, SOURCES};
use resource::Resource;
use std::path::{Path, PathBuf};
use values::Values;

/// The options of `oarlock new`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oarlock new greeter --lang rust --kind apps/v1/Deployment\n  oarlock new webapp --lang ts --crd crd.yaml\n\nThe project contains its SDK and the contract. Of Oarlock it needs only this command."
)]
pub(super) struct NewArgs {
    /// Name of the plugin: a DNS label of at most 40 characters that begins with a letter
    #[arg(value_parser = project::name)]
    name: String,

    /// Language of the plugin
    #[arg(long, value_parser = PossibleValuesParser::new(project::languages(SOURCES)))]
    lang: String,

    /// Kind that the plugin reconciles: VERSION/KIND or GROUP/VERSION/KIND [default: the one that --crd defines, or v1/ConfigMap]
    #[arg(long, value_parser = project::kind)]
    kind: Option<Kind>,

    /// YAML or JSON file with the CustomResourceDefinition of the kind. The project contains it, and types of its objects
    #[arg(long, value_name = "FILE")]
    crd: Option<PathBuf>,

    /// Folder of the project, new or empty [default: NAME in the current folder]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(super) fn run(args: &NewArgs) -> anyhow::Result<()> {
    let folder = args.dir.clone().unwrap_or_else(|| PathBuf::from(&args.name));
    let shown = folder.display();
    if !is_free(&folder).with_context(|| format!("cannot read the folder {shown}"))? {
        bail!("{shown} exists and is not an empty folder: choose another name, or another folder with --dir");
    }
    let resource = resource(args)?;
    let values = Values::new(&args.name, &resource, &args.lang);
    let files = project::files(SOURCES, &args.lang, &resource, &values)
        .with_context(|| format!("cannot make types of {}", resource.kind.kind))?;
    for file in files {
        write(&folder, &file).with_context(|| format!("cannot write {} in {shown}", file.path))?;
    }
    super::say(&format!(
        "{shown}: a plugin in {} that reconciles {}; next:\n  {}",
        args.lang,
        resource.kind.kind,
        next(&folder, &oarlock()).join("\n  ")
    ))?;
    Ok(())
}

/// What the project reconciles.
fn resource(args: &NewArgs) -> anyhow::Result<Resource> {
    let Some(file) = &args.crd else {
        let kind = || Kind { group: String::new(), version: "v1".to_owned(), kind: "ConfigMap".to_owned() };
        return Ok(Resource::named(args.kind.clone().unwrap_or_else(kind)));
    };
    Resource::defined(file, args.kind.as_ref()).with_context(|| format!("cannot make a project of {}", file.display()))
}

/// Whether writing a project there overwrites nothing.
fn is_free(folder: &Path) -> std::io::Result<bool> {
    match std::fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => Ok(false),
        Err(error) => Err(error),
    }
}

fn write(folder: &Path, file: &File) -> std::io::Result<()> {
    let path = folder.join(&file.path);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(&path, &file.contents)?;
    #[cfg(unix)]
    if file.contents.starts_with(b"#!") {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// The command to call this program: its name where the shell finds it.
fn oarlock() -> String {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&paths).any(|folder| folder.join("oarlock").is_file()) {
        return "oarlock".to_owned();
    }
    std::env::current_exe().map_or_else(|_unknown| "oarlock".to_owned(), |path| path.display().to_string())
}

/// The commands that show the plugin at work.
fn next(folder: &Path, oarlock: &str) -> [String; 3] {
    let told = if oarlock == "oarlock" { String::new() } else { format!(" OARLOCK={oarlock}") };
    [format!("cd {}", folder.display()), format!("make test{told}"), format!("{oarlock} dev --watch")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_written_into_a_folder_that_is_new_or_empty() {
        let here = tempfile::tempdir().unwrap();
        assert!(is_free(here.path()).unwrap());
        let new = here.path().join("some/greeter");
        assert!(is_free(&new).unwrap());
        let file = File { path: "scripts/hello".to_owned(), contents: b"#!/bin/sh\n".as_slice().into() };
        write(&new, &file).unwrap();
        assert_eq!(std::fs::read(new.join("scripts/hello")).unwrap(), b"#!/bin/sh\n");
        assert!(!is_free(&new).unwrap());
        assert!(!is_free(&new.join("scripts/hello")).unwrap());
    }

    #[test]
    fn the_next_commands_name_a_binary_that_is_not_on_the_path() {
        let commands = next(Path::new("greeter"), "oarlock");
        assert_eq!(commands[1], "make test");
        let commands = next(Path::new("greeter"), "/opt/oarlock");
        assert_eq!(commands[1], "make test OARLOCK=/opt/oarlock");
        assert_eq!(commands[2], "/opt/oarlock dev --watch");
    }
}
