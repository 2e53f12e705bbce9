//! `oarlock crd`: an API server takes the definitions of every generator, and accepts and refuses objects by them.

mod installed;
mod upgrades;

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SOON, World, WorldOptions, eventually, oarlock, repository_root, text, with_world};
use serde_json::{Value, json};
use std::{fs, path::Path, sync::Arc};

const GROUP: &str = "definitions.example.com";
/// A generator, and the kind that the test makes of its schema.
const GENERATORS: [(&str, &str); 3] = [("typescript", "ScriptApp"), ("pydantic", "DanticApp"), ("msgspec", "SpecApp")];

fn schema(generator: &str) -> String {
    repository_root().join(format!("host/types/tests/schemas/{generator}.json")).display().to_string()
}

/// Writes the definition of what a generator printed.
async fn define(generator: &str, kind: &str, file: &Path, more: &[&str]) -> Result<(bool, String)> {
    let (schema, file) = (schema(generator), file.display().to_string());
    let kind = format!("{GROUP}/v1/{kind}");
    let said = oarlock(&[&["crd", "--schema", &schema, "--kind", &kind, "-o", &file], more].concat()).await?;
    Ok((said.status.success(), String::from_utf8(said.stderr)?))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_api_server_serves_the_definitions_and_holds_objects_to_them() -> Result<()> {
    let options = WorldOptions { host: false, network: false, crd: false, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        let folder = tempfile::tempdir()?;
        for (generator, kind) in GENERATORS {
            let file = folder.path().join("crd.yaml");
            let (good, why) = define(generator, kind, &file, &["--column", "Image:.spec.image"]).await?;
            ensure!(good, "{generator}: {why}");
            world.cluster.apply_crd(&file).await?;
            let plural = format!("{}s", kind.to_lowercase());
            let definition = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.{GROUP}");
            eventually(SOON, "the definition to be established", || async {
                let found = world.cluster.get(&definition).await?.context("no definition")?;
                let conditions = found.pointer("/status/conditions").and_then(Value::as_array).cloned();
                let conditions = conditions.unwrap_or_default();
                let is = |ty: &str| conditions.iter().any(|one| text(one, "/type") == ty && text(one, "/status") == "True");
                ensure!(is("Established") && !is("NonStructuralSchema") && !is("Terminating"), "{conditions:?}");
                Ok(())
            })
            .await?;
            let path = format!("/apis/{GROUP}/v1/namespaces/{}/{plural}", world.namespace);
            let object = |name: String, spec: &Value| {
                json!({"apiVersion": format!("{GROUP}/v1"), "kind": kind, "metadata": {"name": name}, "spec": spec})
            };
            let good = [
                json!({"image": "a/b"}),
                json!({"image": "a/b", "replicas": 3, "strategy": null, "port": "http", "labels": {"a": "b"}}),
                json!({"image": "a/b", "port": 80, "hosts": ["a"], "extra": [1, {"a": null}], "backend": {"type": "tcp", "port": 80}}),
                json!({"image": "a/b", "rules": [{"host": "h", "weight": null}], "backend": {"type": "http", "path": "/"}}),
            ];
            for (nth, spec) in good.iter().enumerate() {
                let made = object(format!("good-{nth}"), spec);
                eventually(SOON, "the kind to be served", || async {
                    world.cluster.create(&path, &made).await.map(|_| ())
                })
                .await
                .with_context(|| format!("{generator}: {spec}"))?;
            }
            for (spec, part) in [
                (json!({}), "spec.image"),
                (json!({"image": "no registry"}), "an image has a registry"),
                (json!({"image": "a/b", "replicas": -1}), "spec.replicas"),
                (json!({"image": "a/b", "strategy": "Never"}), "spec.strategy"),
                (json!({"image": "a/b", "port": 1.5}), "spec.port"),
                (json!({"image": "a/b", "labels": {"a": 1}}), "spec.labels.a"),
                (json!({"image": "a/b", "rules": [{}]}), "spec.rules[0].host"),
                (json!({"image": "a/b", "hosts": ["a", "a"]}), "spec.hosts[1]"),
                (json!({"image": "a/b", "backend": {"type": "http", "port": 80}}), "spec.backend"),
            ] {
                let refused = world.cluster.create(&path, &object("bad".to_owned(), &spec)).await;
                let why = refused.err().with_context(|| format!("{generator}: {spec} was accepted"))?;
                ensure!(format!("{why:#}").contains(part), "{generator}: {spec}: {why:#}");
            }
            world.cluster.delete(&definition).await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_definition_that_is_not_that_of_the_types_is_told() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("crd.yaml");
    let (good, why) = define("pydantic", "WebApp", &file, &[]).await?;
    ensure!(good, "{why}");
    // Comments do not count.
    fs::write(&file, format!("# Made of the types.\n{}", fs::read_to_string(&file)?))?;
    let (good, why) = define("pydantic", "WebApp", &file, &["--check"]).await?;
    ensure!(good, "{why}");
    fs::write(&file, fs::read_to_string(&file)?.replace("minimum: 0", "minimum: 1"))?;
    let (good, why) = define("pydantic", "WebApp", &file, &["--check"]).await?;
    ensure!(!good && why.contains("crd.yaml is out of date: the types behind") && why.contains("minimum: 0"), "{why}");
    Ok(())
}

#[tokio::test]
async fn what_is_no_schema_of_an_object_is_told_with_the_next_step() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("schema.json");
    let shown = file.display().to_string();
    for (schema, more, reason) in [
        ("{}", vec![], "the schema describes no object of Kubernetes"),
        ("kind: X", vec![], "it is no JSON"),
        (
            r#"{"properties": {"spec": {"properties": {"a": {"type": ["string", "boolean"]}}}}}"#,
            vec![],
            "spec.a: the value is boolean or string, and a field of Kubernetes has one type",
        ),
        (
            r#"{"properties": {"spec": {"type": "string", "x-kubernetes-validations": [{"rule": "self +"}]}}}"#,
            vec![],
            "an API server would refuse the definition",
        ),
        (r#"{"properties": {"spec": {}}}"#, vec!["--column", "Image"], "expected NAME:JSONPATH"),
        (r#"{"properties": {"spec": {}}}"#, vec!["--check"], "--output"),
    ] {
        fs::write(&file, schema)?;
        let said =
            oarlock(&[&["crd", "--schema", &shown, "--kind", "example.com/v1/WebApp"], &more[..]].concat()).await?;
        let why = String::from_utf8(said.stderr)?;
        ensure!(!said.status.success() && why.contains(reason), "{schema}: {why}");
    }
    Ok(())
}
