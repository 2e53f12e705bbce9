//! Command-line options about plugin sources, shared by `run`, `dev`, `push` and `pull`.

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use oarlock::oci::{self, ClientOptions, Digest, PublicKey, Reference, SCHEME, Trust, Wanted};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// One value of `--plugins`.
#[derive(Clone, Debug)]
enum PluginSource {
    Directory(PathBuf),
    Pulled(Wanted),
}

/// The plugins of a host.
#[derive(Debug, Args)]
pub(super) struct PluginSources {
    /// Directory of .wasm files, each with its grant (NAME.yaml) beside it. Repeatable for plugins in registries:
    /// [NAME=]oci://REGISTRY/REPOSITORY:TAG or …@sha256:…, with their grants (NAME.yaml) in the directory, too. NAME is the last part of the
    /// repository unless given
    #[arg(long, value_name = "DIR|OCI", required_unless_present = "directory", value_parser = source)]
    plugins: Vec<PluginSource>,

    /// Directory of .wasm files, instead of --plugins DIR
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,

    /// Folder of pulled plugins, for a start without the registry [default: oci in the folder of --cache-dir]
    #[arg(long, value_name = "DIR")]
    oci_cache: Option<PathBuf>,

    /// Time between two checks of the tags in registries
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    oci_poll_seconds: u32,

    #[command(flatten)]
    trust: TrustArgs,

    #[command(flatten)]
    registry: RegistryArgs,
}

/// Conditions for plugins from registries.
#[derive(Debug, Args)]
pub(super) struct TrustArgs {
    /// Require a signature of this Ed25519 or ECDSA P-256 key, for example cosign.pub, for plugins from registries. Repeatable: one of the
    /// keys is enough [default: no signature]
    #[arg(long, value_name = "PUB.pem")]
    verify_key: Vec<PathBuf>,

    /// Require this digest of the manifest for plugins from registries. Repeatable: one of the digests is enough [default: any digest]
    #[arg(long, value_name = "sha256:…", value_parser = Digest::from_str)]
    pin: Vec<Digest>,

    /// File of further digests for --pin, one per line. The host reads it again when it changes
    #[arg(long, value_name = "FILE")]
    pin_file: Option<PathBuf>,
}

/// Access to registries.
#[derive(Debug, Args)]
pub(super) struct RegistryArgs {
    /// Logins for registries, in the format of docker login [default: config.json in DOCKER_CONFIG or ~/.docker]
    #[arg(long, value_name = "FILE")]
    registry_config: Option<PathBuf>,

    /// Certificate authorities of registries (PEM), in addition to the machine's. Without it, registries on
    /// loopback use HTTP
    #[arg(long, value_name = "FILE")]
    registry_ca: Option<PathBuf>,

    /// Time limit for a registry without any response
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    registry_timeout_seconds: u32,
}

impl RegistryArgs {
    pub(super) fn options(self) -> ClientOptions {
        let timeout = Duration::from_secs(self.registry_timeout_seconds.into());
        ClientOptions { config: self.registry_config, ca: self.registry_ca, timeout }
    }
}

impl TrustArgs {
    pub(super) fn trust(self) -> anyhow::Result<Trust> {
        let keys = self.verify_key.iter().map(|path| PublicKey::read(path)).collect::<Result<_, _>>()?;
        Ok(Trust { keys, pins: self.pin, pin_file: self.pin_file })
    }
}

impl PluginSources {
    /// The directory, and the plugins to pull in addition. None: the host has no folder to pull into.
    ///
    /// * `caches` - the folder of caches.
    pub(super) fn options(self, caches: Option<PathBuf>) -> anyhow::Result<(PathBuf, Option<oci::Options>)> {
        self.options_or(None, caches)
    }

    /// Whether no plugins are named.
    pub(super) fn is_none(&self) -> bool {
        self.plugins.is_empty() && self.directory.is_none()
    }

    /// As [`options`](Self::options).
    ///
    /// * `other` - the directory where none is given.
    pub(super) fn options_or(
        self,
        other: Option<PathBuf>,
        caches: Option<PathBuf>,
    ) -> anyhow::Result<(PathBuf, Option<oci::Options>)> {
        let (mut directories, mut plugins) = (Vec::from_iter(self.directory), Vec::new());
        for source in self.plugins {
            match source {
                PluginSource::Directory(path) => directories.push(path),
                PluginSource::Pulled(wanted) => plugins.push(wanted),
            }
        }
        ensure!(directories.len() < 2, "--plugins takes one directory, and any number of references to registries");
        let directory = directories.pop().or(other).context(
            "--plugins needs a directory, too: it contains the grants (NAME.yaml) of plugins from registries",
        )?;
        let mut names = BTreeSet::new();
        for Wanted { plugin, reference } in &plugins {
            ensure!(names.insert(plugin), "--plugins: plugin {plugin} is given twice, the second time as {reference}");
        }
        let (trust, client) = (self.trust.trust()?, self.registry.options());
        let cache = match self.oci_cache.or_else(|| Some(caches?.join("oci"))) {
            Some(cache) => cache,
            None if plugins.is_empty() => return Ok((directory, None)),
            None => bail!("--oci-cache is needed, because HOME is not set"),
        };
        let poll = Duration::from_secs(self.oci_poll_seconds.into());
        Ok((directory, Some(oci::Options { plugins, cache, client, trust, poll })))
    }
}

fn source(text: &str) -> Result<PluginSource, String> {
    let (name, reference) = match text.split_once('=') {
        Some((name, reference)) if reference.starts_with(SCHEME) => (Some(name), reference),
        _ => (None, text),
    };
    if !reference.starts_with(SCHEME) {
        return Ok(PluginSource::Directory(text.into()));
    }
    let reference: Reference = reference.parse()?;
    let plugin = name.unwrap_or_else(|| reference.last_part()).to_owned();
    if !oarlock::plugin::is_plugin_name(&plugin) {
        let where_from = if name.is_some() { "" } else { ": write NAME=oci://… with the name in its manifest" };
        return Err(format!("{plugin:?} is not a plugin name{where_from}"));
    }
    Ok(PluginSource::Pulled(Wanted { plugin, reference }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn directories_and_references_are_told_apart() {
        let pulled = |text: &str| match source(text).unwrap() {
            PluginSource::Pulled(wanted) => (wanted.plugin, wanted.reference.to_string()),
            PluginSource::Directory(path) => panic!("{}", path.display()),
        };
        let network = "oci://r.example/team/network:v1";
        assert_eq!(pulled(network), ("network".to_owned(), network.to_owned()));
        assert_eq!(pulled(&format!("other={network}")), ("other".to_owned(), network.to_owned()));
        for directory in ["./plugins", "/a=b", "oci", "a=oci/x"] {
            assert!(
                matches!(source(directory).unwrap(), PluginSource::Directory(path) if path == Path::new(directory))
            );
        }
        for nonsense in
            ["oci://r.example", "oci://r.example/a_b:v1", "../x=oci://r.example/a:v1", "A=oci://r.example/a"]
        {
            assert!(source(nonsense).is_err(), "{nonsense}");
        }
    }
}
