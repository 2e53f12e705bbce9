//! Pins and signatures: what nobody vouched for is not used.

use super::{client, command, idler, key_pair, options, push, reference, refusal, told};
use anyhow::{Context, Result, ensure};
use http::Method;
use oarlock::oci::{self, Options, PublicKey, PullStatus, PullStatuses, Puller, SigningKey, Trust, Wanted};
use oarlock_tests::harness::{Gate, HttpClient, Registry, SOON, Tripwire, Upstream, eventually};
use std::{fs, path::Path, time::Duration};

/// A puller of `a:v1`, which looks every second.
pub(super) async fn puller(folder: &Path, address: &str, trust: Trust) -> Result<(Puller, PullStatuses)> {
    let plugins = vec![Wanted { plugin: "idler-0000".to_owned(), reference: reference(address, "a:v1")? }];
    let (cache, poll) = (folder.join("cache"), Duration::from_secs(1));
    let puller = Puller::start(Options { plugins, cache, client: options(), trust, poll }).await?;
    let statuses = puller.pull_statuses();
    Ok((puller, statuses))
}

/// Waits until the one reference stands in a way.
pub(super) async fn stands(
    statuses: &PullStatuses,
    what: &str,
    wanted: impl Fn(&PullStatus) -> bool,
) -> Result<PullStatus> {
    eventually(SOON, what, || async {
        let standing = statuses.now().into_values().next().context("no reference")?;
        ensure!(wanted(&standing), "{standing:?}");
        Ok(standing)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_asks_for_a_signature_and_takes_no_other() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let registry = Registry::open(folder.path()).await?;
    let (ours, our_public) = key_pair(folder.path(), "ours").await?;
    let (theirs, _) = key_pair(folder.path(), "theirs").await?;
    let file = folder.path().join("idler-0000.wasm");
    fs::write(&file, idler("idler-0000", "1")?)?;
    let (file, back) = (file.display().to_string(), folder.path().join("back.wasm").display().to_string());
    let at = format!("{}/a:v1", registry.address());
    let pull = ["pull", &at, "-o", &back, "--verify-key", &our_public];
    command(&["push", &file, &at]).await?.map_err(anyhow::Error::msg)?;
    let unsigned = command(&pull).await?.err().context("it was pulled unsigned")?;
    ensure!(unsigned.contains("it is not signed"), "{unsigned}");
    command(&["push", &file, &at, "--sign", &theirs]).await?.map_err(anyhow::Error::msg)?;
    let foreign = command(&pull).await?.err().context("it was pulled with a foreign signature")?;
    ensure!(foreign.contains("of none of the keys"), "{foreign}");
    ensure!(!Path::new(&back).exists(), "something was written");
    let pushed = command(&["push", &file, &at, "--sign", &ours]).await?.map_err(anyhow::Error::msg)?;
    let digits = told(&pushed, "manifest")?.replace("sha256:", "");
    ensure!(told(&pushed, "signature")?.ends_with(&format!("/a:sha256-{digits}.sig")), "{pushed}");
    command(&pull).await?.map_err(anyhow::Error::msg)?;
    // Their signature is there still: one of them is enough.
    let theirs = Trust { keys: vec![PublicKey::read(&folder.path().join("theirs.pub.pem"))?], ..Trust::default() };
    oci::pull(&client()?, &theirs, &reference(registry.address(), "a:v1")?, Path::new(&back)).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signature_of_something_else_does_not_count() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let registry = Registry::open(folder.path()).await?;
    let (private, public) = key_pair(folder.path(), "ours").await?;
    let key = SigningKey::read(Path::new(&private))?;
    let trust = Trust { keys: vec![PublicKey::read(Path::new(&public))?], ..Trust::default() };
    let signed = push(registry.address(), "a:v1", "1", Some(&key)).await?;
    let other = push(registry.address(), "a:v2", "2", None).await?;
    // Whoever can write to the registry puts the good signature beside another manifest.
    let http = HttpClient::new(&format!("http://{}", registry.address()));
    let kind = "application/vnd.oci.image.manifest.v1+json";
    let place = |digest: &oci::Digest| format!("/v2/a/manifests/sha256-{}.sig", digest.hex());
    let stored = http.send(Method::GET, &place(&signed.manifest), &[("accept", kind)], bytes::Bytes::new()).await?;
    let put = http.send(Method::PUT, &place(&other.manifest), &[("content-type", kind)], stored.body).await?;
    ensure!(put.status == 201, "{}", put.text());
    let error = refusal(&client()?, &trust, &reference(registry.address(), "a:v2")?).await?;
    ensure!(error.to_string().contains(&format!("the signature covers {}", signed.manifest)), "{error}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_without_a_signature_is_refused_until_it_has_one_and_the_one_before_stays() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let registry = Registry::open(folder.path()).await?;
    let (private, public) = key_pair(folder.path(), "ours").await?;
    let key = SigningKey::read(Path::new(&private))?;
    let trust = Trust { keys: vec![PublicKey::read(Path::new(&public))?], ..Trust::default() };
    let first = push(registry.address(), "a:v1", "1", Some(&key)).await?;
    let (_puller, statuses) = puller(folder.path(), registry.address(), trust).await?;
    stands(&statuses, "the first version", |now| now.content.as_ref().is_some_and(|c| c.manifest == first.manifest))
        .await?;
    let second = push(registry.address(), "a:v1", "2", None).await?;
    let now = stands(&statuses, "a refusal", |now| now.refused.is_some()).await?;
    let refused = now.refused.context("no refusal")?;
    ensure!(
        refused.manifest.as_ref() == Some(&second.manifest) && refused.reason.contains("not signed"),
        "{refused:?}"
    );
    ensure!(now.content.is_some_and(|content| content.manifest == first.manifest), "the first version is gone");
    push(registry.address(), "a:v1", "2", Some(&key)).await?;
    stands(&statuses, "the second version", |now| {
        now.refused.is_none() && now.content.as_ref().is_some_and(|content| content.manifest == second.manifest)
    })
    .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_pinned_digests_are_used_and_a_pin_that_goes_takes_effect() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let registry = Registry::open(folder.path()).await?;
    let first = push(registry.address(), "a:v1", "1", None).await?;
    let pins = folder.path().join("pins");
    fs::write(&pins, format!("{} # the first\n", first.manifest))?;
    let trust = Trust { pin_file: Some(pins.clone()), ..Trust::default() };
    let (_puller, statuses) = puller(folder.path(), registry.address(), trust).await?;
    stands(&statuses, "the first version", |now| now.content.is_some()).await?;
    let second = push(registry.address(), "a:v1", "2", None).await?;
    let now = stands(&statuses, "a refusal", |now| now.refused.is_some()).await?;
    ensure!(now.content.is_some_and(|content| content.manifest == first.manifest));
    fs::write(&pins, format!("{}\n", second.manifest))?;
    stands(&statuses, "the second version", |now| now.content.as_ref().is_some_and(|c| c.manifest == second.manifest))
        .await?;
    fs::write(&pins, "# none\n")?;
    stands(&statuses, "nothing", |now| now.content.is_none() && now.refused.is_some()).await?;
    let at = format!("{}/a:v1", registry.address());
    let back = folder.path().join("back.wasm").display().to_string();
    let pull = async |pin: &oci::Digest| command(&["pull", &at, "-o", &back, "--pin", &pin.to_string()]).await;
    ensure!(pull(&first.manifest).await?.is_err_and(|e| e.contains("not one of the pinned digests")));
    pull(&second.manifest).await?.map_err(anyhow::Error::msg)?;
    Ok(())
}

/// What was kept while nobody asked for signatures does not run when somebody does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cache_is_checked_against_todays_keys_and_survives_an_outage() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let registry = Registry::open(folder.path()).await?;
    let gate = Gate::open(Upstream::Http(format!("http://{}", registry.address())), Tripwire::default()).await?;
    let address = gate.url().replace("http://", "");
    let (private, public) = key_pair(folder.path(), "ours").await?;
    let trust = Trust { keys: vec![PublicKey::read(Path::new(&public))?], ..Trust::default() };
    let first = push(registry.address(), "a:v1", "1", None).await?;
    let pulled = |now: &PullStatus| now.content.as_ref().is_some_and(|content| content.manifest == first.manifest);
    let (running, statuses) = puller(folder.path(), &address, Trust::default()).await?;
    stands(&statuses, "the version", pulled).await?;
    drop(running);
    gate.set_down(true);
    let (running, statuses) = puller(folder.path(), &address, Trust::default()).await?;
    ensure!(statuses.now().into_values().all(|now| pulled(&now)), "it is there at once: {:?}", statuses.now());
    let now = stands(&statuses, "the outage to be told of", |now| now.problem.is_some()).await?;
    ensure!(pulled(&now) && now.refused.is_none(), "{now:?}");
    drop(running);
    let (_running, statuses) = puller(folder.path(), &address, trust).await?;
    let now = statuses.now().into_values().next().context("no reference")?;
    ensure!(now.content.is_none() && now.refused.is_some(), "{now:?}");
    // The same artifact is signed, and the registry is back.
    let key = SigningKey::read(Path::new(&private))?;
    push(registry.address(), "a:v1", "1", Some(&key)).await?;
    gate.set_down(false);
    stands(&statuses, "the signed version", |now| pulled(now) && now.refused.is_none()).await?;
    Ok(())
}
