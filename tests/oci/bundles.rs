//! Signatures in Sigstore bundles, which refer to what they sign: recordings of cosign's own, and what a registry can make of them.

use super::references::{store, store_manifest};
use super::trust::{puller, stands};
use super::{Stage, client, command, idler, key_pair_of, push, reference, refusal};
use anyhow::{Context, Result, ensure};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{Method, StatusCode};
use oarlock::oci::{self, Digest, PublicKey, PullStatus, Trust};
use oarlock_tests::harness::{Action, HttpClient, Registry, Rule, repository_root};
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use std::{fs, path::Path};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const IN_TOTO: &str = "application/vnd.in-toto+json";
const SIGNED: &str = "https://sigstore.dev/cosign/sign/v1";

fn recorded(name: &str) -> std::path::PathBuf {
    repository_root().join("tests/fixtures/oci/cosign").join(name)
}

/// Puts what cosign left in a repository into one of the same contents.
async fn replay(registry: &Registry, repository: &str, name: &str) -> Result<()> {
    let recording: Value = serde_json::from_str(&fs::read_to_string(recorded(name))?)?;
    let entries = |part: &str| recording.get(part).and_then(Value::as_object).cloned().unwrap_or_default();
    for (digest, content) in entries("blobs") {
        // One character for each byte.
        let bytes: Vec<u8> =
            content.as_str().unwrap_or_default().chars().map(u8::try_from).collect::<Result<_, _>>()?;
        ensure!(store(registry, repository, &bytes).await?.to_string() == digest, "{name}: {digest}");
    }
    let http = HttpClient::new(&format!("http://{}", registry.address()));
    let mut manifests: Vec<_> = entries("manifests").into_iter().collect();
    // An index comes after what it names.
    manifests.sort_by_key(|(_, manifest)| manifest.get("mediaType") == Some(&json!(INDEX)));
    for (reference, manifest) in manifests {
        let field = |field: &str| manifest.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let path = format!("/v2/{repository}/manifests/{reference}");
        let put =
            http.send(Method::PUT, &path, &[("content-type", &*field("mediaType"))], field("content").into()).await?;
        ensure!(put.status == 201, "{name}: {} {}", put.status, put.text());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cosign_wrote_verifies_with_its_key_and_no_other() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let registry = Registry::open(folder.path()).await?;
    for (name, key, other, trouble) in [
        ("3.1-p256", "p256", "ed25519", None),
        ("2.5-p256", "p256", "ed25519", None),
        ("2.5-ed25519", "ed25519", "p256", None),
        // cosign 3.1 hashes the text before it signs with Ed25519, and does not verify that itself.
        ("3.1-ed25519", "ed25519", "p256", Some("none of the keys")),
        // Something else that the same key said of the same artifact.
        ("3.1-attest", "p256", "ed25519", Some("https://in-toto.io/Statement/v0.1, not")),
    ] {
        let repository = format!("recorded/{}", name.replace('.', "-"));
        replay(&registry, &repository, &format!("{name}.json")).await?;
        let at = reference(registry.address(), &format!("{repository}:v1"))?;
        let with = |key: &str| -> Result<Trust> {
            Ok(Trust { keys: vec![PublicKey::read(&recorded(&format!("{key}.pub.pem")))?], ..Trust::default() })
        };
        let error = refusal(&client()?, &with(other)?, &at).await?.to_string();
        ensure!(error.contains("none of the keys"), "{name}: {error}");
        match trouble {
            None => {
                let file = folder.path().join("pulled.wasm");
                oci::pull(&client()?, &with(key)?, &at, &file).await.context(name)?;
                ensure!(fs::read(&file)? == b"\0asm\x0d\0\x01\0", "{name}");
            }
            Some(says) => {
                let error = refusal(&client()?, &with(key)?, &at).await?.to_string();
                ensure!(error.contains(says), "{name}: {error}");
            }
        }
    }
    Ok(())
}

/// Who signs bundles here.
struct Signer {
    pair: EcdsaKeyPair,
    trust: Trust,
}

impl Signer {
    fn new() -> Result<Self> {
        let random = ring::rand::SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).ok().context("no key")?;
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, made.as_ref(), &random);
        let pair = pair.map_err(|e| anyhow::anyhow!("{e}"))?;
        let spki = STANDARD.decode("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgA=")?;
        let file = tempfile::NamedTempFile::new()?;
        let base64 = STANDARD.encode([&spki, pair.public_key().as_ref()].concat());
        fs::write(file.path(), format!("-----BEGIN PUBLIC KEY-----\n{base64}\n-----END PUBLIC KEY-----\n"))?;
        let trust = Trust { keys: vec![PublicKey::read(file.path())?], ..Trust::default() };
        Ok(Self { pair, trust })
    }

    fn bundle(&self, kind: &str, payload: &str) -> Result<Value> {
        let signed = format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len());
        let signature =
            self.pair.sign(&ring::rand::SystemRandom::new(), signed.as_bytes()).ok().context("no signature")?;
        Ok(json!({
            "mediaType": BUNDLE,
            "verificationMaterial": {"publicKey": {"hint": ""}},
            "dsseEnvelope": {
                "payload": STANDARD.encode(payload),
                "payloadType": kind,
                "signatures": [{"sig": STANDARD.encode(signature)}],
            },
        }))
    }

    fn good(&self, of: &Digest) -> Result<Value> {
        self.bundle(IN_TOTO, &statement(of, SIGNED))
    }
}

fn statement(of: &Digest, predicate: &str) -> String {
    let subject = json!([{"digest": {"sha256": of.hex()}}]);
    json!({"_type": "https://in-toto.io/Statement/v1", "subject": subject, "predicateType": predicate, "predicate": {}})
        .to_string()
}

impl Stage {
    /// Stores a bundle with its manifest; the entry for an index.
    async fn referrer(&self, bundle: &str) -> Result<Value> {
        let layer = store(&self.registry, "a", bundle.as_bytes()).await?;
        self.referrer_of(&json!({"mediaType": BUNDLE, "digest": layer, "size": bundle.len()})).await
    }

    async fn referrer_of(&self, layer: &Value) -> Result<Value> {
        let empty = store(&self.registry, "a", b"{}").await?;
        let manifest = json!({
            "schemaVersion": 2,
            "artifactType": BUNDLE,
            "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": empty, "size": 2},
            "layers": [layer],
            "subject": {"mediaType": MANIFEST, "digest": self.digest, "size": 1},
        });
        let unique = format!("referrer-{}", Digest::of(manifest.to_string().as_bytes()).hex());
        let digest = store_manifest(&self.registry, "a", &unique, MANIFEST, &manifest).await?;
        Ok(json!({"mediaType": MANIFEST, "digest": digest, "size": 1, "artifactType": BUNDLE}))
    }

    /// The registry says this of referrers, whatever it has.
    fn index(&self, entries: &Value) -> Result<oarlock_tests::harness::RuleHandle> {
        let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}).to_string();
        Ok(self.gate.rule(Rule::every(answer(200, &[], &index)?).path("/referrers/")))
    }

    async fn pull(&self, trust: &Trust) -> Result<()> {
        let folder = tempfile::tempdir()?;
        oci::pull(&client()?, trust, &self.reference, &folder.path().join("a.wasm")).await?;
        Ok(())
    }

    async fn refused(&self, trust: &Trust, says: &str) -> Result<()> {
        let error = refusal(&client()?, trust, &self.reference).await?;
        let told = error.to_string();
        ensure!(told.contains(says) && told.len() < 1500, "{told} should say {says}");
        ensure!(matches!(error, oci::Error::Untrusted(_)), "{error:?}");
        Ok(())
    }
}

fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Result<Action> {
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Ok(Action::Answer { status: StatusCode::from_u16(status)?, headers, body: body.to_owned().into() })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bundles_are_found_through_the_referrers_api_and_under_its_tag() -> Result<()> {
    let (stage, signer) = (Stage::new().await?, Signer::new()?);
    let good = stage.referrer(&signer.good(&stage.digest)?.to_string()).await?;
    stage.refused(&signer.trust, "it is not signed").await?;
    // Two pages, and the one that counts on the second.
    let page = |entries: Value| json!({"schemaVersion": 2, "manifests": entries}).to_string();
    let next = [("link", "</v2/a/second?n=1>; rel=\"next\"")];
    let readme =
        json!({"mediaType": MANIFEST, "digest": Digest::of(b"readme"), "size": 1, "artifactType": "text/markdown"});
    let rules = [
        stage.gate.rule(Rule::every(answer(200, &next, &page(json!([readme])))?).path("/referrers/")),
        stage.gate.rule(Rule::every(answer(200, &[], &page(json!([good])))?).path("/second?n=1")),
    ];
    let mark = stage.gate.mark();
    stage.pull(&signer.trust).await?;
    let asked: Vec<_> = stage.gate.since(mark).into_iter().map(|one| one.path).collect();
    let tag = format!("/manifests/sha256-{}", stage.digest.hex());
    ensure!(asked.iter().all(|path| !path.ends_with(&tag) && !path.contains(Digest::of(b"readme").hex())), "{asked:?}");
    drop(rules);
    // A registry without the API has them under a tag, however it says that it has no API.
    let index = json!({"schemaVersion": 2, "manifests": [good]});
    store_manifest(&stage.registry, "a", &format!("sha256-{}", stage.digest.hex()), INDEX, &index).await?;
    stage.pull(&signer.trust).await?;
    for status in [400, 401, 403, 404, 405, 406, 501] {
        let _rule = stage.gate.rule(Rule::every(answer(status, &[], "")?).path("/referrers/"));
        stage.pull(&signer.trust).await.with_context(|| format!("{status}"))?;
    }
    let page = answer(200, &[("content-type", "text/html; charset=utf-8")], "<html>log in</html>")?;
    let rule = stage.gate.rule(Rule::every(page).path("/referrers/"));
    stage.pull(&signer.trust).await.context("a page for browsers")?;
    drop(rule);
    // One that fails is asked again; nothing is concluded from that.
    for status in [429, 500, 503] {
        let _rule = stage.gate.rule(Rule::every(answer(status, &[], "")?).path("/referrers/"));
        let error = refusal(&client()?, &signer.trust, &stage.reference).await?;
        ensure!(error.passes() && !error.refuses(), "{status}: {error}");
    }
    // What is under the older tag is enough: nothing else is asked for.
    let (private, public) = key_pair_of(stage.folder.path(), "ours", "p256").await?;
    let key = oci::SigningKey::read(Path::new(&private))?;
    push(stage.registry.address(), "a:v1", "1", Some(&key)).await?;
    let mark = stage.gate.mark();
    stage.pull(&Trust { keys: vec![PublicKey::read(Path::new(&public))?], ..Trust::default() }).await?;
    ensure!(stage.gate.since(mark).iter().all(|one| !one.path.contains("/referrers/")));
    stage.pull(&signer.trust).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bundle_that_signs_something_else_does_not_count() -> Result<()> {
    let (stage, signer, other) = (Stage::new().await?, Signer::new()?, Signer::new()?);
    let elsewhere = Digest::of(b"elsewhere");
    let good = signer.good(&stage.digest)?;
    let mut tampered = good.clone();
    tampered["dsseEnvelope"]["payload"] = json!(STANDARD.encode(statement(&elsewhere, SIGNED)));
    let mut typed = good.clone();
    typed["dsseEnvelope"]["payloadType"] = json!("text/plain");
    let message = json!({"mediaType": BUNDLE, "messageSignature": {"signature": ""}});
    let attestation = signer.bundle(IN_TOTO, &statement(&stage.digest, "https://slsa.dev/provenance/v1"))?;
    for (bundle, says) in [
        (other.good(&stage.digest)?.to_string(), "none of the keys"),
        (signer.good(&elsewhere)?.to_string(), &*format!("the signature covers {elsewhere}")),
        (tampered.to_string(), "none of the keys"),
        (typed.to_string(), "none of the keys"),
        (signer.bundle("text/plain", &statement(&stage.digest, SIGNED))?.to_string(), "text/plain, not application"),
        (attestation.to_string(), "provenance/v1, not https://sigstore.dev"),
        (message.to_string(), "no DSSE envelope"),
        ("nonsense".to_owned(), "cannot be read"),
        ("[".repeat(100_000), "cannot be read"),
        (format!("{{\"dsseEnvelope\": \"{}\"}}", "x".repeat(100_000)), "cannot be read"),
    ] {
        let entry = stage.referrer(&bundle).await?;
        let rule = stage.index(&json!([entry]))?;
        stage.refused(&signer.trust, says).await?;
        drop(rule);
        // Beside a good one it does no harm.
        let _rule = stage.index(&json!([entry, stage.referrer(&good.to_string()).await?]))?;
        stage.pull(&signer.trust).await.context(says.to_owned())?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_of_referrers_that_lies_harms_nobody() -> Result<()> {
    let (stage, signer) = (Stage::new().await?, Signer::new()?);
    let good = stage.referrer(&signer.good(&stage.digest)?.to_string()).await?;
    let huge = signer.good(&stage.digest)?.to_string() + &" ".repeat(128 << 10);
    let layer = store(&stage.registry, "a", huge.as_bytes()).await?;
    let small = json!({"mediaType": BUNDLE, "digest": layer, "size": 100});
    let entry = |digest: &str| json!({"mediaType": MANIFEST, "digest": digest, "size": 1});
    // No registry takes this one; a false one can have it.
    let outside = json!({"layers": [{"mediaType": BUNDLE, "digest": "sha256:../../x", "size": 1}]}).to_string();
    let path = format!("/manifests/{}", Digest::of(outside.as_bytes()));
    let _outside = stage.gate.rule(Rule::every(answer(200, &[], &outside)?).path(&path));
    // An index that names itself cannot be made; one that names the artifact, and the artifact itself, come closest.
    let circle = json!({"schemaVersion": 2, "manifests": [entry(&stage.digest.to_string())]});
    let circle = store_manifest(&stage.registry, "a", "circle", INDEX, &circle).await?;
    for (lie, says) in [
        (stage.referrer(&huge).await?, "larger than the limit of 131072 bytes"),
        (stage.referrer_of(&small).await?, "larger than the limit of 100 bytes"),
        (entry(&Digest::of(outside.as_bytes()).to_string()), "64 digits"),
        (entry(&Digest::of(b"absent").to_string()), "not found at"),
        (entry("sha256:../../../../etc/passwd"), "64 digits"),
        (entry(&circle.to_string()), "it is not signed"),
        (entry(&stage.digest.to_string()), "it is not signed"),
    ] {
        let rule = stage.index(&json!([lie]))?;
        stage.refused(&signer.trust, says).await?;
        drop(rule);
        let _rule = stage.index(&json!([lie, good]))?;
        stage.pull(&signer.trust).await.context(says)?;
    }
    for (body, says) in [
        ("", "cannot be read"),
        ("<html>", "cannot be read"),
        ("{\"manifests\": [{\"digest\": -1}]}", "cannot be read"),
        (&*"[".repeat(100_000), "cannot be read"),
        ("{}", "it is not signed"),
    ] {
        let _rule = stage.gate.rule(Rule::every(answer(200, &[], body)?).path("/referrers/"));
        stage.refused(&signer.trust, says).await?;
    }
    let huge = format!("{{\"manifests\": [], \"x\": \"{}\"}}", "x".repeat(4 << 20));
    let _rule = stage.gate.rule(Rule::every(answer(200, &[], &huge)?).path("/referrers/"));
    let error = refusal(&client()?, &signer.trust, &stage.reference).await?.to_string();
    ensure!(error.contains("larger than the limit of 4194304 bytes"), "{error}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_referrers_and_endless_pages_end() -> Result<()> {
    let (stage, signer, other) = (Stage::new().await?, Signer::new()?, Signer::new()?);
    let good = stage.referrer(&signer.good(&stage.digest)?.to_string()).await?;
    let absent = |n: usize| json!({"mediaType": MANIFEST, "digest": Digest::of(&n.to_le_bytes()), "size": 1});
    // What says that it is something else is not read, so that it does not count.
    let scan = |n: usize| json!({"mediaType": MANIFEST, "digest": Digest::of(&n.to_le_bytes()), "size": 1, "artifactType": "application/spdx+json"});
    let scans: Vec<Value> = (0..1000).map(scan).chain([good.clone()]).collect();
    let rule = stage.index(&json!(scans))?;
    stage.pull(&signer.trust).await?;
    drop(rule);
    let lies: Vec<Value> = (0..1000).map(absent).chain([good.clone()]).collect();
    let mark = stage.gate.mark();
    let rule = stage.index(&json!(lies))?;
    stage.refused(&signer.trust, "985 more referrers were not looked at").await?;
    let asked = stage.gate.since(mark).len();
    ensure!(asked < 40, "{asked} requests");
    drop(rule);
    // Good signatures of others.
    let mut foreign = vec![stage.referrer(&other.good(&stage.digest)?.to_string()).await?; 15];
    foreign.push(good.clone());
    let rule = stage.index(&json!(foreign))?;
    stage.pull(&signer.trust).await?;
    drop(rule);
    let next = [("link", "</v2/a/referrers/more>; rel=\"next\"")];
    let _rule = stage.gate.rule(Rule::every(answer(200, &next, "{}")?).path("/referrers/"));
    let mark = stage.gate.mark();
    stage.refused(&signer.trust, "it is not signed").await?;
    let pages = stage.gate.since(mark).iter().filter(|one| one.path.contains("/referrers/")).count();
    ensure!(pages == 4, "{pages} pages");
    Ok(())
}

/// A bundle is kept with what it signs: a host that starts while the registry is away checks it again, and runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bundle_is_kept_and_checked_again_without_the_registry() -> Result<()> {
    let (stage, signer, other) = (Stage::new().await?, Signer::new()?, Signer::new()?);
    let good = stage.referrer(&signer.good(&stage.digest)?.to_string()).await?;
    let rule = stage.index(&json!([good]))?;
    let address = stage.gate.url().replace("http://", "");
    let folder = tempfile::tempdir()?;
    let pulled = |now: &PullStatus| now.content.as_ref().is_some_and(|content| content.manifest == stage.digest);
    let (running, statuses) = puller(folder.path(), &address, signer.trust.clone()).await?;
    stands(&statuses, "the version", pulled).await?;
    drop((running, rule));
    stage.gate.set_down(true);
    let (running, statuses) = puller(folder.path(), &address, signer.trust.clone()).await?;
    ensure!(statuses.now().values().all(pulled), "{:?}", statuses.now());
    drop(running);
    let (_running, statuses) = puller(folder.path(), &address, other.trust).await?;
    let now = statuses.now().into_values().next().context("no reference")?;
    ensure!(now.content.is_none() && now.refused.is_some_and(|refused| refused.reason.contains("none of the keys")));
    Ok(())
}

/// ECDSA signatures are different every time: pushing again must not heap them up until the newest is overlooked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p256_keys_sign_as_well_and_pushing_again_adds_nothing() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let registry = Registry::open(folder.path()).await?;
    let (private, public) = key_pair_of(folder.path(), "ours", "p256").await?;
    let file = folder.path().join("idler-0000.wasm");
    fs::write(&file, idler("idler-0000", "1")?)?;
    let (file, back) = (file.display().to_string(), folder.path().join("back.wasm").display().to_string());
    let at = format!("{}/a:v1", registry.address());
    let mut tag = String::new();
    for _ in 0..3 {
        let pushed = command(&["push", &file, &at, "--sign", &private]).await?.map_err(anyhow::Error::msg)?;
        tag = super::told(&pushed, "signature")?.rsplit(':').next().unwrap_or_default().to_owned();
    }
    command(&["pull", &at, "-o", &back, "--verify-key", &public]).await?.map_err(anyhow::Error::msg)?;
    let http = HttpClient::new(&format!("http://{}", registry.address()));
    let path = format!("/v2/a/manifests/{tag}");
    let stored = http.send(Method::GET, &path, &[("accept", MANIFEST)], bytes::Bytes::new()).await?.json()?;
    let layers = stored.get("layers").and_then(Value::as_array).context("no layers")?;
    ensure!(layers.len() == 1, "{stored}");
    Ok(())
}
