//! A real OCI registry on loopback: `docker-registry`, installed by `scripts/registry.sh`.

use super::plugins::repository_root;
use super::process::Process;
use anyhow::{Context, Result, bail};
use std::{
    env, fs,
    path::{Path, PathBuf},
    time::Duration,
};

const START: Duration = Duration::from_secs(30);

/// The password of `user`.
pub const PASSWORD: &str = "secret";

/// Its bcrypt hash, as written by `htpasswd -B`.
const HTPASSWD: &str = "user:$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a\n";

/// The authentication of a registry.
#[derive(Clone, Debug)]
pub enum Door {
    /// None.
    Open,
    /// `user` with [`PASSWORD`].
    Password,
    /// Bearer tokens.
    Token {
        /// URL of the token server.
        realm: String,
        /// PEM certificate of the key that signs tokens.
        certificate: PathBuf,
    },
}

/// A running registry. Dropping it ends it and deletes its content.
#[derive(Debug)]
pub struct Registry {
    _process: Process,
    address: String,
}

impl Registry {
    /// Starts a registry without authentication, with plain HTTP.
    ///
    /// # Errors
    ///
    /// The registry is not installed, or does not start.
    pub async fn open(folder: &Path) -> Result<Self> {
        Self::start(folder, &Door::Open, None).await
    }

    /// Starts a registry.
    ///
    /// * `folder` - for its configuration and its log.
    /// * `tls` - a folder with `tls.crt` and `tls.key`.
    ///
    /// # Errors
    ///
    /// The registry is not installed, or does not start.
    pub async fn start(folder: &Path, door: &Door, tls: Option<&Path>) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("registry-").disable_cleanup(true).tempdir_in(folder)?;
        let folder = folder.path();
        let mut http = "  addr: 127.0.0.1:0\n  secret: of-a-test\n".to_owned();
        if let Some(tls) = tls {
            let (certificate, key) = (tls.join("tls.crt"), tls.join("tls.key"));
            http += &format!("  tls: {{certificate: {}, key: {}}}\n", certificate.display(), key.display());
        }
        let auth = match door {
            Door::Open => String::new(),
            Door::Password => {
                let file = folder.join("htpasswd");
                fs::write(&file, HTPASSWD)?;
                format!("auth: {{htpasswd: {{realm: test, path: {}}}}}\n", file.display())
            }
            Door::Token { realm, certificate } => format!(
                "auth: {{token: {{realm: \"{realm}\", service: registry, issuer: test, rootcertbundle: {}}}}}\n",
                certificate.display()
            ),
        };
        let config = folder.join("config.yml");
        let text = format!("version: 0.1\nlog: {{level: info}}\nstorage: {{inmemory: {{}}}}\nhttp:\n{http}{auth}");
        fs::write(&config, text)?;
        let args = ["serve".to_owned(), config.display().to_string()];
        let process = Process::spawn("registry", &binary()?, &args, &[], &folder.join("registry.log"), false)?;
        let line = process.line(START, "its address", |line| line.text.contains("listening on ")).await?;
        let rest = line.text.split("listening on ").nth(1).and_then(|rest| rest.split([',', '"']).next());
        let address = rest.context("no address")?.to_owned();
        Ok(Self { _process: process, address })
    }

    /// `127.0.0.1:PORT`.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }
}

fn binary() -> Result<PathBuf> {
    if let Some(path) = env::var_os("REGISTRY_BIN") {
        return Ok(path.into());
    }
    let own = env::current_exe()?;
    let targets = own.ancestors().skip(1).take(4).map(Path::to_owned).chain([repository_root().join("target")]);
    let unpacked = targets.map(|target| target.join("registry/usr/bin/docker-registry"));
    let paths = env::var_os("PATH").unwrap_or_default();
    let installed = env::split_paths(&paths).flat_map(|path| [path.join("docker-registry"), path.join("registry")]);
    match unpacked.chain(installed).find(|path| path.is_file()) {
        Some(path) => Ok(path),
        None => bail!("no registry: run scripts/registry.sh, or name one in REGISTRY_BIN"),
    }
}
