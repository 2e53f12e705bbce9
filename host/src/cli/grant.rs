//! `oarlock grant`.

use super::compiling::Compiling;
use anyhow::Context as _;
use clap::Args;
use oarlock::grants::Grants;
use oarlock::plugin::directory::{self, Candidate};
use oarlock::plugin::{Attachments, Engine, identity, inspect};
use oarlock_manifest::{PluginGrant, PluginManifest};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The options of `oarlock grant`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  oarlock grant plugins/network.wasm --write    # then read it, and fill in the configuration\n  oarlock grant plugins/network.wasm --check    # in CI: does a new version ask for more?"
)]
pub(super) struct GrantArgs {
    /// The plugin file
    #[arg(value_name = "FILE.wasm")]
    file: PathBuf,

    /// Write the grant to NAME.yaml beside the plugin. An existing file stays as it is, and is compared as with --check
    #[arg(long)]
    write: bool,

    /// Compare the grant with the manifest, and print each missing permission. The grant is NAME.yaml beside the plugin, or grant.yaml in
    /// that folder or its parent. The exit status is 1 if a permission is missing and the grant is not `partial`
    #[arg(long, conflicts_with = "write")]
    check: bool,

    #[command(flatten)]
    compiling: Compiling,
}

pub(super) async fn run(args: GrantArgs) -> anyhow::Result<()> {
    let shown = args.file.display().to_string();
    let file_name = args.file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let candidate = Candidate::file(file_name, args.file);
    let bytes = candidate.read()?;
    let attachments = Attachments::read(&bytes);
    let mut manifest = inspect::manifest(&Engine::new(args.compiling.options())?, &shown, bytes)
        .await
        .with_context(|| shown.clone())?;
    let attachments = attachments.with_context(|| shown.clone())?;
    if !args.write && !args.check {
        return super::say(proposed(&manifest, &attachments).trim_end());
    }
    let (mut path, mut written) = (candidate.grant_path(), candidate.grant()?);
    if written.is_none() && args.check {
        for project in project_grants(&candidate.path) {
            written = directory::read_grant(&project)?;
            if written.is_some() {
                path = project;
                break;
            }
        }
    }
    // A host refuses any other name.
    manifest.name = identity::name(&candidate, written.as_ref(), &manifest.name)?;
    match written {
        Some(grant) => compare(&manifest, &grant, &path.display().to_string()),
        None if args.check => anyhow::bail!(
            "there is no {}, and no grant.yaml in that folder or its parent; oarlock grant {shown} --write writes it",
            path.display()
        ),
        None => {
            let file = std::fs::OpenOptions::new().write(true).create_new(true).open(&path);
            file.and_then(|mut file| file.write_all(proposed(&manifest, &attachments).as_bytes()))
                .with_context(|| format!("cannot write {}", path.display()))?;
            super::say(&format!("{} written: read it, and fill in the configuration", path.display()))?;
            Ok(())
        }
    }
}

/// The grant for a person to read: the default grant in the file, unless it lacks a permission of the manifest, or one of the manifest.
fn proposed(manifest: &PluginManifest, attachments: &Attachments) -> String {
    if let Some(text) = &attachments.grant
        && let Ok(grant) = serde_saphyr::from_str::<PluginGrant>(text)
        && let Ok(grants) = Grants::without_secrets(&grant)
    {
        let missing = grants.missing(manifest, &|_| None).len();
        if missing == 0 {
            return text.clone();
        }
        tracing::warn!(
            missing,
            "the default grant in the file is older than the manifest: this grant is the one that the manifest asks for; build the project \
             again with it"
        );
    }
    inspect::grant_yaml(manifest, attachments.definitions.iter().map(|one| one.name().to_owned()).collect())
}

/// The paths of a project's grant: beside the plugin, or in the parent of the build folder.
fn project_grants(plugin: &Path) -> Vec<PathBuf> {
    let Ok(plugin) = std::path::absolute(plugin) else { return Vec::new() };
    plugin.ancestors().skip(1).take(2).map(|folder| folder.join("grant.yaml")).collect()
}

/// Prints the missing permissions of a grant.
fn compare(manifest: &PluginManifest, grant: &PluginGrant, path: &str) -> anyhow::Result<()> {
    let whole = PluginGrant { partial: false, ..grant.clone() };
    let grants = Grants::without_secrets(&whole).with_context(|| path.to_owned())?;
    let missing = grants.missing(manifest, &|_| None);
    for line in &missing {
        super::say(line)?;
    }
    let plugin = &manifest.name;
    match missing.len() {
        0 => super::say(&format!("{path} grants everything that {plugin} asks for")),
        _ if grant.partial => super::say(&format!("{path} is partial: {plugin} runs without these permissions")),
        _ => anyhow::bail!(
            "{path} does not grant everything that {plugin} asks for; add the lines above, or set partial: true"
        ),
    }
}
