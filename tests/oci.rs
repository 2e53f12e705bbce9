//! Plugins from OCI registries: a real registry on loopback, and a gate in front of it where it is to misbehave.

mod answers;
mod bundles;
mod logins;
mod references;
mod running;
mod tools;
mod trust;

pub(crate) use running::start;

use anyhow::{Context, Result, ensure};
use oarlock::oci::{self, Client, ClientOptions, Digest, Pushed, Reference, SigningKey, Trust};
use oarlock_tests::harness::{Gate, Grant, Registry, Tripwire, Upstream, built_plugin, oarlock, repository_root};
use std::{collections::BTreeMap, fs, path::Path, process::Output, time::Duration};

/// A plugin that wants nothing.
///
/// * `name` - `idler-` and four digits.
/// * `version` - one digit.
fn idler(name: &str, version: &str) -> Result<Vec<u8>> {
    let mut bytes = fs::read(built_plugin("idler")?)?;
    for (from, to) in [
        ("\"name\":\"idler-0000\"", format!("\"name\":\"{name}\"")),
        ("\"version\":\"1\"", format!("\"version\":\"{version}\"")),
    ] {
        ensure!(from.len() == to.len(), "{to} is not as long as {from}");
        let at = bytes.windows(from.len()).position(|window| window == from.as_bytes()).context("no manifest")?;
        bytes.get_mut(at..at + to.len()).context("no room")?.copy_from_slice(to.as_bytes());
    }
    Ok(bytes)
}

/// What idlers ask for.
pub(crate) fn grant() -> Grant {
    Grant::nothing().resources("", &["configmaps"])
}

fn options() -> ClientOptions {
    // Without the user's logins.
    ClientOptions { config: Some(no_logins()), ca: None, timeout: Duration::from_secs(30) }
}

fn no_logins() -> std::path::PathBuf {
    repository_root().join("tests/fixtures/oci/no-logins.json")
}

fn client() -> Result<Client> {
    Ok(Client::new(options())?)
}

fn reference(address: &str, rest: &str) -> Result<Reference> {
    format!("{address}/{rest}").parse().map_err(anyhow::Error::msg)
}

/// A registry with `a:v1`, and a gate in front of it.
struct Stage {
    registry: Registry,
    gate: Gate,
    reference: Reference,
    digest: Digest,
    folder: tempfile::TempDir,
}

impl Stage {
    async fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let registry = Registry::open(folder.path()).await?;
        let gate = Gate::open(Upstream::Http(format!("http://{}", registry.address())), Tripwire::default()).await?;
        let digest = push(registry.address(), "a:v1", "1", None).await?.manifest;
        let reference = reference(&gate.url().replace("http://", ""), "a:v1")?;
        Ok(Self { registry, gate, reference, digest, folder })
    }
}

/// Stores an idler.
pub(crate) async fn push(address: &str, rest: &str, version: &str, key: Option<&SigningKey>) -> Result<Pushed> {
    push_component(address, rest, idler("idler-0000", version)?, key).await
}

/// Stores a component.
pub(crate) async fn push_component(
    address: &str,
    rest: &str,
    wasm: Vec<u8>,
    key: Option<&SigningKey>,
) -> Result<Pushed> {
    Ok(oci::push(&client()?, wasm, "plugin.wasm", &BTreeMap::new(), &reference(address, rest)?, key).await?)
}

/// Why a reference cannot be pulled, with nothing left of the attempt; and what was there stays.
async fn refusal(client: &Client, trust: &Trust, reference: &Reference) -> Result<oci::Error> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("plugin.wasm");
    fs::write(&file, b"before")?;
    let refused = oci::pull(client, trust, reference, &file).await;
    ensure!(fs::read(&file)? == b"before", "{reference}: the file was touched");
    let left: Vec<_> = fs::read_dir(folder.path())?.collect();
    ensure!(left.len() == 1, "{reference}: left behind: {left:?}");
    refused.err().with_context(|| format!("{reference} was pulled"))
}

/// Runs `oarlock` without the logins of whoever runs the tests; stdout, or what it complained of.
async fn command(args: &[&str]) -> Result<Result<String, String>> {
    let config = no_logins().display().to_string();
    let named = args.contains(&"--registry-config");
    let all: Vec<&str> = if named { args.to_vec() } else { [args, &["--registry-config", &config]].concat() };
    let Output { status, stdout, stderr } = oarlock(&all).await?;
    let (out, err) = (String::from_utf8(stdout)?, String::from_utf8(stderr)?);
    ensure!(!err.contains("panicked"), "{err}");
    Ok(if status.success() { Ok(out) } else { Err(err) })
}

/// The value in a line of what `push` and `pull` print.
fn told(out: &str, what: &str) -> Result<String> {
    let line = out.lines().find_map(|line| line.strip_prefix(what)).with_context(|| format!("no {what}: {out}"))?;
    Ok(line.trim().to_owned())
}

/// A key pair as the documentation says to make one: paths of the private and the public key.
async fn key_pair(folder: &Path, name: &str) -> Result<(String, String)> {
    key_pair_of(folder, name, "ed25519").await
}

/// * `kind` - `ed25519` or `p256`.
async fn key_pair_of(folder: &Path, name: &str, kind: &str) -> Result<(String, String)> {
    let (private, public) = (folder.join(format!("{name}.pem")), folder.join(format!("{name}.pub.pem")));
    let (private, public) = (private.display().to_string(), public.display().to_string());
    for args in [
        match kind {
            "p256" => vec!["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", &private],
            _ => vec!["genpkey", "-algorithm", "ed25519", "-out", &private],
        },
        vec!["pkey", "-in", &private, "-pubout", "-out", &public],
    ] {
        let made = tokio::process::Command::new("openssl").args(args).output().await.context("openssl")?;
        ensure!(made.status.success(), "{made:?}");
    }
    Ok((private, public))
}
