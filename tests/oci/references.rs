//! Pushing and pulling: what comes back is what was sent, in the form that other tools have.

use super::{client, command, idler, push, reference, refusal, told};
use anyhow::{Context, Result, ensure};
use http::Method;
use oarlock::oci::{self, Digest, Trust};
use oarlock_tests::harness::{HttpClient, Registry};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// Stores something as it is, as another tool would.
pub(super) async fn store(registry: &Registry, repository: &str, bytes: &[u8]) -> Result<Digest> {
    let http = HttpClient::new(&format!("http://{}", registry.address()));
    let begun = http.send(Method::POST, &format!("/v2/{repository}/blobs/uploads/"), &[], bytes::Bytes::new()).await?;
    let place = begun.headers.get("location").context("no place")?.to_str()?.to_owned();
    let place = place.replace(http.base(), "");
    let digest = Digest::of(bytes);
    let path = format!("{place}&digest={digest}");
    let kind = [("content-type", "application/octet-stream")];
    let put = http.send(Method::PUT, &path, &kind, bytes.to_vec().into()).await?;
    ensure!(put.status == 201, "{} {}", put.status, put.text());
    Ok(digest)
}

pub(super) async fn store_manifest(
    registry: &Registry,
    repository: &str,
    tag: &str,
    kind: &str,
    manifest: &Value,
) -> Result<Digest> {
    let http = HttpClient::new(&format!("http://{}", registry.address()));
    let mut manifest = manifest.clone();
    manifest.as_object_mut().context("no object")?.insert("mediaType".to_owned(), json!(kind));
    let text = manifest.to_string();
    let path = format!("/v2/{repository}/manifests/{tag}");
    let put = http.send(Method::PUT, &path, &[("content-type", kind)], text.clone().into()).await?;
    ensure!(put.status == 201, "{} {}", put.status, put.text());
    Ok(Digest::of(text.as_bytes()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_pushed_is_pulled_by_tag_and_by_digest_and_pushing_again_changes_nothing() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let registry = Registry::open(folder.path()).await?;
    let (file, back) = (folder.path().join("idler-0000.wasm"), folder.path().join("back.wasm"));
    let (file_text, back_text) = (file.display().to_string(), back.display().to_string());
    let wasm = idler("idler-0000", "1")?;
    fs::write(&file, &wasm)?;
    let at = format!("{}/team/idler-0000", registry.address());
    let pushed = command(&["push", &file_text, &format!("{at}:v1")]).await?.map_err(anyhow::Error::msg)?;
    let manifest = told(&pushed, "manifest")?;
    let again = command(&["push", &file_text, &format!("oci://{at}:v2")]).await?.map_err(anyhow::Error::msg)?;
    ensure!(told(&again, "manifest")? == manifest, "{pushed}{again}");
    for from in
        [format!("{at}:v1"), format!("oci://{at}:v2"), format!("{at}@{manifest}"), format!("{at}:gone@{manifest}")]
    {
        let pulled = command(&["pull", &from, "-o", &back_text]).await?.map_err(anyhow::Error::msg)?;
        ensure!(told(&pulled, "manifest")? == manifest, "{pulled}");
        ensure!(fs::read(&back)? == wasm, "{from}: another file");
        fs::remove_file(&back)?;
    }
    let http = HttpClient::new(&format!("http://{}", registry.address()));
    let path = format!("/v2/team/idler-0000/manifests/{manifest}");
    let stored = http.send(Method::GET, &path, &[("accept", MANIFEST)], bytes::Bytes::new()).await?.json()?;
    ensure!(stored.pointer("/config/mediaType") == Some(&json!("application/vnd.wasm.config.v0+json")), "{stored}");
    ensure!(stored.pointer("/layers/0/mediaType") == Some(&json!("application/wasm")), "{stored}");
    let config = stored.pointer("/config/digest").and_then(Value::as_str).context("no config")?.to_owned();
    let config = http.get(&format!("/v2/team/idler-0000/blobs/{config}")).await?.json()?;
    // What is built for a component without being one is a module for all others.
    ensure!(config.get("os") == Some(&json!("wasip1")) && config.get("component").is_none(), "{config}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_says_what_it_imports_and_exports() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let registry = Registry::open(folder.path()).await?;
    let component = r#"(component
        (import "of:others/imported@1.0.0" (instance $imported))
        (component $inner (import "inner:part/import@1.0.0" (instance)))
        (export "of:ours/exported@2.0.0" (instance $imported)))"#;
    let reference = reference(registry.address(), "a:v1")?;
    let pushed =
        oci::push(&client()?, wat::parse_str(component)?, "a.wasm", &BTreeMap::new(), &reference, None).await?;
    let http = HttpClient::new(&format!("http://{}", registry.address()));
    let path = format!("/v2/a/manifests/{}", pushed.manifest);
    let stored = http.send(Method::GET, &path, &[("accept", MANIFEST)], bytes::Bytes::new()).await?.json()?;
    let config = stored.pointer("/config/digest").and_then(Value::as_str).context("no config")?.to_owned();
    let config = http.get(&format!("/v2/a/blobs/{config}")).await?.json()?;
    ensure!(
        config.get("architecture") == Some(&json!("wasm")) && config.get("os") == Some(&json!("wasip2")),
        "{config}"
    );
    let told = json!({"imports": ["of:others/imported@1.0.0"], "exports": ["of:ours/exported@2.0.0"]});
    ensure!(config.get("component") == Some(&told), "{config}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_other_tools_push_is_pulled() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let registry = Registry::open(folder.path()).await?;
    let wasm = idler("idler-0000", "1")?;
    let (layer, empty) = (store(&registry, "a", &wasm).await?, store(&registry, "a", b"{}").await?);
    let readme = store(&registry, "a", b"# idler").await?;
    let title = |name: &str| json!({"org.opencontainers.image.title": name});
    let named = |kind: &str, name: &str| json!({"mediaType": kind, "digest": layer, "size": wasm.len(), "annotations": title(name)});
    let config = json!({"mediaType": "application/vnd.oci.empty.v1+json", "digest": empty, "size": 2});
    let readme = json!({"mediaType": "text/markdown", "digest": readme, "size": 7, "annotations": title("README.md")});
    for (tag, layers) in [
        ("typed", json!([{"mediaType": "application/wasm", "digest": layer, "size": wasm.len()}])),
        ("untyped", json!([named("application/vnd.oci.image.layer.v1.tar", "idler.wasm"), readme])),
        ("older", json!([named("application/vnd.wasm.content.layer.v1+wasm", "x")])),
    ] {
        let manifest = json!({"schemaVersion": 2, "config": config, "layers": layers});
        store_manifest(&registry, "a", tag, MANIFEST, &manifest).await?;
    }
    // An index leads to the one that is for WebAssembly.
    let manifest = json!({"schemaVersion": 2, "config": config, "layers": [{"mediaType": "application/wasm", "digest": layer, "size": wasm.len()}]});
    let size = json!({"schemaVersion": 2, "config": config, "layers": manifest["layers"], "mediaType": MANIFEST})
        .to_string()
        .len();
    let one = store_manifest(&registry, "a", "one", MANIFEST, &manifest).await?;
    let index = json!({"schemaVersion": 2, "manifests": [
        {"mediaType": MANIFEST, "digest": one, "size": size, "platform": {"architecture": "wasm", "os": "wasip2"}}]});
    store_manifest(&registry, "a", "index", "application/vnd.oci.image.index.v1+json", &index).await?;
    for tag in ["typed", "untyped", "older", "index"] {
        let back = folder.path().join(tag);
        oci::pull(&client()?, &Trust::default(), &reference(registry.address(), &format!("a:{tag}"))?, &back)
            .await
            .context(tag)?;
        ensure!(fs::read(&back)? == wasm, "{tag}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn artifacts_that_are_no_plugin_say_what_they_are() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let registry = Registry::open(folder.path()).await?;
    let config = json!({"mediaType": "application/vnd.oci.empty.v1+json", "digest": store(&registry, "a", b"{}").await?, "size": 2});
    let wasm = idler("idler-0000", "1")?;
    let layer =
        json!({"mediaType": "application/wasm", "digest": store(&registry, "a", &wasm).await?, "size": wasm.len()});
    let script = store(&registry, "a", b"#!/bin/sh").await?;
    let as_wasm = json!({"mediaType": "application/wasm", "digest": script, "size": 9});
    let image = json!({"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": script, "size": 9});
    let outside = json!({"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": script, "size": 9,
        "annotations": {"org.opencontainers.image.title": "../../../../tmp/escaped.wasm"}});
    let wrong_size = json!({"mediaType": "application/wasm", "digest": layer["digest"], "size": wasm.len() - 1});
    for (tag, layers, says) in [
        ("several", json!([layer, layer]), "2 of its 2 layers are WebAssembly"),
        ("image", json!([image]), "0 of its 1 layers are WebAssembly (application/vnd.oci.image.layer.v1.tar+gzip)"),
        ("script", json!([as_wasm]), "is not WebAssembly"),
        ("outside", json!([outside]), "is not WebAssembly"),
        ("size", json!([wrong_size]), "bytes"),
    ] {
        let manifest = json!({"schemaVersion": 2, "config": config, "layers": layers});
        store_manifest(&registry, "a", tag, MANIFEST, &manifest).await?;
        let error =
            refusal(&client()?, &Trust::default(), &reference(registry.address(), &format!("a:{tag}"))?).await?;
        ensure!(error.to_string().contains(says), "{tag}: {error}");
    }
    ensure!(!std::path::Path::new("/tmp/escaped.wasm").exists());
    let absent = refusal(&client()?, &Trust::default(), &reference(registry.address(), "a:absent")?).await?;
    ensure!(absent.to_string().contains("MANIFEST_UNKNOWN") && !absent.passes(), "{absent}");
    Ok(())
}

#[tokio::test]
async fn what_makes_no_sense_is_told_before_anything_is_sent() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("script.wasm");
    fs::write(&script, b"#!/bin/sh")?;
    let script = script.display().to_string();
    let digest = Digest::of(b"");
    let pinned = format!("127.0.0.1:1/a@{digest}");
    for (args, says) in [
        (vec!["push", &script, "127.0.0.1:1/a:v1"], "not a WebAssembly file"),
        (vec!["push", "/nowhere.wasm", "127.0.0.1:1/a:v1"], "/nowhere.wasm"),
        (vec!["push", &script, &pinned], "cannot push to a digest"),
        (vec!["push", &script, "127.0.0.1:1/../a:v1"], "is not a reference"),
        (vec!["push", &script, "127.0.0.1:1/a:v1", "--sign", &script], "script.wasm cannot be used"),
        (vec!["pull", "network"], "is not a reference"),
        (vec!["pull", "127.0.0.1:1/a", "--pin", "sha256:12"], "64 digits"),
        (vec!["pull", "127.0.0.1:1/a", "--registry-ca", &script], "no PEM certificate"),
        (vec!["pull", "127.0.0.1:1/a", "--verify-key", "/nowhere.pem"], "/nowhere.pem"),
        (vec!["pull", "127.0.0.1:1/a", "-o", "/nowhere/a.wasm"], "no response from 127.0.0.1:1"),
    ] {
        let error = command(&args).await?.err().with_context(|| format!("{args:?} was done"))?;
        ensure!(error.contains(says), "{args:?}: {error}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tag_that_moves_leads_to_something_else_and_a_digest_never_does() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let registry = Registry::open(folder.path()).await?;
    let first = push(registry.address(), "a:v1", "1", None).await?;
    let second = push(registry.address(), "a:v1", "2", None).await?;
    ensure!(first.manifest != second.manifest);
    let tag = reference(registry.address(), "a:v1")?;
    let back = folder.path().join("back.wasm");
    let pulled = oci::pull(&client()?, &Trust::default(), &tag, &back).await?;
    ensure!(pulled.manifest == second.manifest && fs::read(&back)? == idler("idler-0000", "2")?);
    let pulled = oci::pull(&client()?, &Trust::default(), &tag.at(&first.manifest), &back).await?;
    ensure!(pulled.manifest == first.manifest && fs::read(&back)? == idler("idler-0000", "1")?);
    Ok(())
}
