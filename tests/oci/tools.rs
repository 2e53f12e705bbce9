//! The programs of others against ours, both ways: oras, skopeo and cosign 3.1. Left out where they are not there.

use super::{command, idler, key_pair_of, told};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Registry, oarlock, repository_root, said_by, tools};
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A registry, a folder that is everybody's home, and a plugin in it.
struct Stage {
    registry: Registry,
    folder: tempfile::TempDir,
    wasm: Vec<u8>,
}

impl Stage {
    async fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let registry = Registry::open(folder.path()).await?;
        let wasm = idler("idler-0000", "1")?;
        fs::write(folder.path().join("idler-0000.wasm"), &wasm)?;
        Ok(Self { registry, folder, wasm })
    }

    fn at(&self, rest: &str) -> String {
        format!("{}/{rest}", self.registry.address())
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// What a program says.
    async fn run(&self, tool: &Path, args: &[&str]) -> Result<String> {
        said_by(tool, self.folder.path(), args).await?.map_err(anyhow::Error::msg)
    }

    /// The digest of what our command pushes.
    async fn push(&self, rest: &str, sign: Option<&str>) -> Result<String> {
        let (file, at) = (self.path("idler-0000.wasm"), self.at(rest));
        let mut args = vec!["push", &file, &at];
        args.extend(sign.iter().flat_map(|key| ["--sign", key]));
        told(&command(&args).await?.map_err(anyhow::Error::msg)?, "manifest")
    }

    /// What our command says to this reference: nothing, or its complaint.
    async fn pull(&self, rest: &str, key: Option<&str>) -> Result<Result<(), String>> {
        let (back, at) = (self.path("back.wasm"), self.at(rest));
        let mut args = vec!["pull", &at, "-o", &back];
        args.extend(key.iter().flat_map(|key| ["--verify-key", key]));
        let pulled = command(&args).await?;
        if pulled.is_ok() {
            ensure!(fs::read(&back)? == self.wasm, "{rest}: another file");
            fs::remove_file(&back)?;
        }
        Ok(pulled.map(drop))
    }

    async fn pulls(&self, rest: &str, key: Option<&str>) -> Result<()> {
        self.pull(rest, key).await?.map_err(anyhow::Error::msg).with_context(|| rest.to_owned())
    }

    async fn refuses(&self, rest: &str, key: &str, says: &str) -> Result<()> {
        let error = self.pull(rest, Some(key)).await?.err().with_context(|| format!("{rest} was pulled"))?;
        ensure!(error.contains(says), "{rest}: {error}");
        Ok(())
    }

    /// Signs as docs/oci.md says.
    async fn cosign_signs(&self, cosign: &Path, key: &str, at: &str) -> Result<()> {
        let args = ["sign", "--key", key, "--use-signing-config=false", "--tlog-upload=false", "--yes", at];
        self.run(cosign, &args).await.map(drop)
    }

    async fn cosign_verifies(&self, cosign: &Path, key: &str, at: &str) -> Result<bool> {
        let args = ["verify", "--key", key, "--insecure-ignore-tlog=true", at];
        Ok(said_by(cosign, self.folder.path(), &args).await?.is_ok())
    }

    /// A key pair of cosign's own: `cosign.key`, which is encrypted, and `cosign.pub`.
    async fn cosign_keys(&self, cosign: &Path) -> Result<(String, String)> {
        self.run(cosign, &["generate-key-pair"]).await?;
        Ok((self.path("cosign.key"), self.path("cosign.pub")))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oras_pulls_what_we_push_and_we_what_it_pushes() -> Result<()> {
    let Some([oras]) = tools(["oras"])? else { return Ok(()) };
    let stage = Stage::new().await?;
    for (tag, file) in [("typed", "idler-0000.wasm:application/wasm"), ("plain", "idler-0000.wasm")] {
        stage.run(&oras, &["push", "--plain-http", &stage.at(&format!("theirs:{tag}")), file]).await?;
        stage.pulls(&format!("theirs:{tag}"), None).await?;
    }
    let digest = stage.push("ours:v1", None).await?;
    let resolved = stage.run(&oras, &["resolve", "--plain-http", &stage.at("ours:v1")]).await?;
    ensure!(resolved.trim() == digest, "{resolved}");
    stage.run(&oras, &["pull", "--plain-http", "-o", "out", &stage.at("ours:v1")]).await?;
    ensure!(fs::read(stage.folder.path().join("out/idler-0000.wasm"))? == stage.wasm, "another file");
    // Through a layout on disk, and back.
    stage.run(&oras, &["cp", "--from-plain-http", "--to-oci-layout", &stage.at("ours:v1"), "layout:v1"]).await?;
    stage.run(&oras, &["cp", "--from-oci-layout", "--to-plain-http", "layout:v1", &stage.at("copied:v1")]).await?;
    stage.pulls(&format!("copied@{digest}"), None).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oras_reads_what_describes_a_plugin() -> Result<()> {
    let Some([oras]) = tools(["oras"])? else { return Ok(()) };
    let mut stage = Stage::new().await?;
    fs::write(stage.folder.path().join("README.md"), "# Idler\n\nIt does\nnothing.\n")?;
    let (file, readme) = (stage.path("idler-0000.wasm"), stage.path("README.md"));
    let crd = repository_root().join("plugins/network/crd.yaml").display().to_string();
    let attached = oarlock(&["attach", &file, "--crd", &crd, "--documentation", &readme]).await?;
    ensure!(attached.status.success(), "{attached:?}");
    stage.wasm = fs::read(&file)?;
    stage.push("described:v1", None).await?;
    stage.pulls("described:v1", None).await?;
    let fetched = stage.run(&oras, &["manifest", "fetch", "--plain-http", &stage.at("described:v1")]).await?;
    let fetched: serde_json::Value = serde_json::from_str(&fetched)?;
    let expected = json!({"oarlock.dev/definitions": "networks.samplecrd.k8s.io",
        "org.opencontainers.image.description": "It does nothing."});
    ensure!(fetched["annotations"] == expected, "{fetched}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cosign_signs_we_verify() -> Result<()> {
    let Some([cosign]) = tools(["cosign"])? else { return Ok(()) };
    let stage = Stage::new().await?;
    let (private, public) = stage.cosign_keys(&cosign).await?;
    let (_, other) = key_pair_of(stage.folder.path(), "other", "p256").await?;
    let digest = stage.push("idler:v1", None).await?;
    stage.refuses("idler:v1", &public, "it is not signed").await?;
    // An attestation is no signature, although `cosign verify` 3.1 takes it for one.
    fs::write(stage.folder.path().join("predicate.json"), "{\"bugs\": 12}")?;
    let at = stage.at(&format!("idler@{digest}"));
    let attest = ["attest", "--key", &private, "--use-signing-config=false", "--tlog-upload=false", "--yes"];
    stage.run(&cosign, &[&attest[..], &["--predicate", "predicate.json", "--type", "custom", &at]].concat()).await?;
    stage.refuses("idler:v1", &public, "the signature covers https://in-toto.io/Statement/v0.1").await?;
    stage.cosign_signs(&cosign, &private, &at).await?;
    stage.pulls("idler:v1", Some(&public)).await?;
    stage.refuses("idler:v1", &other, "none of the keys").await?;
    // The encrypted key is no key for us, and says what to do.
    let (file, at) = (stage.path("idler-0000.wasm"), stage.at("idler:v1"));
    let error = command(&["push", &file, &at, "--sign", &private]).await?.err().context("it was signed")?;
    ensure!(error.contains("sign with cosign instead"), "{error}");
    Ok(())
}

/// The two schemes of Ed25519 are mixed up in cosign 3.1: it signs a hash, and verifies the text. We take what it takes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_ed25519_keys_in_cosign_we_take_what_it_takes_itself() -> Result<()> {
    let Some([cosign]) = tools(["cosign"])? else { return Ok(()) };
    let stage = Stage::new().await?;
    let (private, public) = key_pair_of(stage.folder.path(), "ours", "ed25519").await?;
    stage.run(&cosign, &["import-key-pair", "--key", &private, "--output-key-prefix", "imported", "--yes"]).await?;
    let digest = stage.push("idler:v1", None).await?;
    let at = stage.at(&format!("idler@{digest}"));
    stage.cosign_signs(&cosign, &stage.path("imported.key"), &at).await?;
    let ours = stage.pull("idler:v1", Some(&public)).await?;
    ensure!(stage.cosign_verifies(&cosign, &public, &at).await? == ours.is_ok(), "{ours:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_we_sign_cosign_verifies() -> Result<()> {
    let Some([cosign]) = tools(["cosign"])? else { return Ok(()) };
    let stage = Stage::new().await?;
    for kind in ["ed25519", "p256"] {
        let (private, public) = key_pair_of(stage.folder.path(), kind, kind).await?;
        let (_, other) = key_pair_of(stage.folder.path(), &format!("other-{kind}"), kind).await?;
        let digest = stage.push(&format!("{kind}:v1"), Some(&private)).await?;
        let at = stage.at(&format!("{kind}@{digest}"));
        ensure!(stage.cosign_verifies(&cosign, &public, &at).await?, "{kind}: cosign does not verify it");
        ensure!(!stage.cosign_verifies(&cosign, &other, &at).await?, "{kind}: cosign verifies it with another key");
    }
    Ok(())
}

/// skopeo's settings: signatures lie beside images, and must be of this key.
fn skopeo_settings(folder: &Path, key: &str) -> Result<(PathBuf, PathBuf)> {
    let (lookaside, policy) = (folder.join("registries.d"), folder.join("policy.json"));
    fs::create_dir_all(&lookaside)?;
    fs::write(lookaside.join("all.yaml"), "default-docker: {use-sigstore-attachments: true}\n")?;
    let signed = json!([{"type": "sigstoreSigned", "keyPath": key, "signedIdentity": {"type": "matchRepository"}}]);
    fs::write(&policy, json!({"default": signed}).to_string())?;
    Ok((lookaside, policy))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn skopeo_verifies_our_signature_and_copies_it_and_we_verify_its_own() -> Result<()> {
    let Some([skopeo, cosign]) = tools(["skopeo", "cosign"])? else { return Ok(()) };
    let stage = Stage::new().await?;
    let (private, public) = key_pair_of(stage.folder.path(), "ours", "p256").await?;
    let (_, other) = key_pair_of(stage.folder.path(), "other", "p256").await?;
    let digest = stage.push("idler:v1", Some(&private)).await?;
    let from = format!("docker://{}", stage.at(&format!("idler@{digest}")));
    let insecure = ["--src-tls-verify=false", "--dest-tls-verify=false"];
    for (key, to, good) in [(&other, "wrong", false), (&public, "mirror/idler", true)] {
        let (lookaside, policy) = skopeo_settings(stage.folder.path(), key)?;
        let settings = ["--registries.d", &lookaside.display().to_string(), "--policy", &policy.display().to_string()]
            .map(str::to_owned);
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let to = format!("docker://{}", stage.at(&format!("{to}:v1")));
        let copied =
            said_by(&skopeo, stage.folder.path(), &[&settings[..], &["copy"], &insecure, &[&from, &to]].concat())
                .await?;
        ensure!(copied.is_ok() == good, "{copied:?}");
    }
    stage.pulls("mirror/idler:v1", Some(&public)).await?;
    stage.refuses("mirror/idler:v1", &other, "none of the keys").await?;
    // Layouts hold no signatures; the tag that holds them is copied like any other.
    let tag = digest.replace(':', "-") + ".sig";
    for tag in ["v1", &tag] {
        let (at, layout) = (format!("docker://{}", stage.at(&format!("idler:{tag}"))), format!("oci:layout:{tag}"));
        stage
            .run(
                &skopeo,
                &[&["--insecure-policy", "copy", "--preserve-digests"], &insecure[..], &[&at, &layout]].concat(),
            )
            .await?;
        let to = format!("docker://{}", stage.at(&format!("again:{tag}")));
        stage
            .run(
                &skopeo,
                &[&["--insecure-policy", "copy", "--preserve-digests"], &insecure[..], &[&layout, &to]].concat(),
            )
            .await?;
    }
    stage.pulls("again:v1", Some(&public)).await?;
    // It signs with cosign's keys while it copies.
    let (key, theirs) = stage.cosign_keys(&cosign).await?;
    let (lookaside, _) = skopeo_settings(stage.folder.path(), &theirs)?;
    fs::write(stage.folder.path().join("passphrase"), "")?;
    let lookaside = lookaside.display().to_string();
    let sign = [
        "--insecure-policy",
        "--registries.d",
        &lookaside,
        "copy",
        "--sign-by-sigstore-private-key",
        &key,
        "--sign-passphrase-file",
        "passphrase",
    ];
    let to = format!("docker://{}", stage.at("signed:v1"));
    stage.run(&skopeo, &[&sign[..], &insecure, &[&from, &to]].concat()).await?;
    stage.pulls("signed:v1", Some(&theirs)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oras_copies_bundles_with_what_they_sign() -> Result<()> {
    let Some([oras, cosign]) = tools(["oras", "cosign"])? else { return Ok(()) };
    let stage = Stage::new().await?;
    let (private, public) = stage.cosign_keys(&cosign).await?;
    let digest = stage.push("idler:v1", None).await?;
    stage.cosign_signs(&cosign, &private, &stage.at(&format!("idler@{digest}"))).await?;
    stage.run(&oras, &["cp", "-r", "--from-plain-http", "--to-oci-layout", &stage.at("idler:v1"), "layout:v1"]).await?;
    stage
        .run(&oras, &["cp", "-r", "--from-oci-layout", "--to-plain-http", "layout:v1", &stage.at("mirror/idler:v1")])
        .await?;
    stage.pulls("mirror/idler:v1", Some(&public)).await?;
    ensure!(stage.cosign_verifies(&cosign, &public, &stage.at(&format!("mirror/idler@{digest}"))).await?);
    // Without -r the copy is bare.
    stage
        .run(&oras, &["cp", "--from-plain-http", "--to-plain-http", &stage.at("idler:v1"), &stage.at("bare:v1")])
        .await?;
    stage.refuses("bare:v1", &public, "it is not signed").await
}
