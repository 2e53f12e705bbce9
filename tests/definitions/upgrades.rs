//! `oarlock crd compare` says what an API server then does to stored objects.

use super::{GROUP, SOON, World, WorldOptions, eventually, oarlock, repository_root, text, with_world};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Number of cases of each sort that there are at least.
const CASES: usize = 20;

fn definition(plural: &str, versions: &Value) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{GROUP}")},
        "spec": {"group": GROUP, "scope": "Namespaced", "versions": versions,
            "names": {"plural": plural, "singular": plural.trim_end_matches('s'), "kind": "Upgraded"}}})
}

fn version(name: &str, storage: bool, spec: &Value) -> Value {
    json!({"name": name, "served": true, "storage": storage,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}})
}

/// The lines and the exit status of a comparison.
async fn compare(folder: &Path, old: &Value, new: &Value) -> Result<(Vec<String>, Option<i32>)> {
    let (before, after) = (folder.join("old.yaml"), folder.join("new.yaml"));
    std::fs::write(&before, serde_saphyr::to_string(old)?)?;
    std::fs::write(&after, serde_saphyr::to_string(new)?)?;
    let said = oarlock(&["crd", "compare", &before.display().to_string(), &after.display().to_string()]).await?;
    let lines = String::from_utf8(said.stdout)?.lines().map(str::to_owned).collect();
    ensure!(said.stderr.is_empty(), "{}", String::from_utf8_lossy(&said.stderr));
    Ok((lines, said.status.code()))
}

fn spec_of(object: &Value) -> Value {
    object.get("spec").cloned().unwrap_or_default()
}

/// Whether everything of `stored` is in `found`.
fn kept(stored: &Value, found: &Value) -> bool {
    match (stored, found) {
        (Value::Object(stored), Value::Object(found)) => {
            stored.iter().all(|(key, value)| found.get(key).is_some_and(|now| kept(value, now)))
        }
        (Value::Array(stored), Value::Array(found)) => {
            stored.len() == found.len() && stored.iter().zip(found).all(|(stored, found)| kept(stored, found))
        }
        _ => stored == found,
    }
}

/// What the server does with the object of each case after the upgrade. None: the object keeps its data and is valid.
async fn consequences(
    world: &World,
    plural: &str,
    cases: &[Value],
    new: &Value,
) -> Result<BTreeMap<String, Option<String>>> {
    let path = format!("/apis/{GROUP}/v1/namespaces/{}/{plural}", world.namespace);
    let object = |name: &str, spec: &Value| json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Upgraded", "metadata": {"name": name}, "spec": spec});
    let mut stored = BTreeMap::new();
    for case in cases {
        let name = text(case, "/name");
        let spec = json!({name.clone(): case["stored"]});
        let made = world.cluster.create(&path, &object(&name.to_lowercase(), &spec)).await;
        let made = made.with_context(|| format!("{name}: the old schema refuses the object"))?;
        ensure!(kept(&spec, &spec_of(&made)), "{name}: the old schema loses {spec}: {made}");
        stored.insert(name, spec);
    }
    world.cluster.apply(&format!("{DEFINITIONS}/{plural}.{GROUP}"), "e2e", new).await?;
    let strict = format!("{path}?dryRun=All&fieldValidation=Strict");
    eventually(SOON, "the new schema", || async {
        world.cluster.create(&strict, &object("probe", &json!({"ofTheNewSchema": true}))).await
    })
    .await?;
    let mut found = BTreeMap::new();
    for (name, spec) in stored {
        let now = world.cluster.get(&format!("{path}/{}", name.to_lowercase())).await?.context("no object")?;
        let copy = world.cluster.create(&format!("{path}?dryRun=All"), &object("copy", &spec)).await;
        let fault = match copy {
            _ if !kept(&spec, &spec_of(&now)) => Some(format!("reads {} instead of {spec}", spec_of(&now))),
            Ok(copy) if !kept(&spec, &spec_of(&copy)) => Some(format!("makes {} of {spec}", spec_of(&copy))),
            Ok(_) => None,
            Err(error) => Some(format!("{error:#}")),
        };
        found.insert(name, fault);
    }
    Ok(found)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stored_objects_survive_exactly_the_upgrades_that_the_comparison_calls_safe() -> Result<()> {
    let options = WorldOptions { host: false, network: false, crd: false, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        let folder = tempfile::tempdir()?;
        let cases = std::fs::read_to_string(repository_root().join("tests/fixtures/crd-upgrades.yaml"))?;
        let cases: Vec<Value> = serde_saphyr::from_str(&cases)?;
        let plural = format!("upgrades{}", fastrand::u32(..));
        let schema = |key: &str, more: Value| {
            let mut properties: serde_json::Map<_, _> =
                cases.iter().map(|case| (text(case, "/name"), case[key].clone())).collect();
            properties.extend(more.as_object().cloned().unwrap_or_default());
            definition(&plural, &json!([version("v1", true, &json!({"type": "object", "properties": properties}))]))
        };
        let (old, new) = (schema("old", json!({})), schema("new", json!({"ofTheNewSchema": {"type": "boolean"}})));
        let (lines, status) = compare(folder.path(), &old, &new).await?;
        ensure!(status == Some(1), "{status:?}: {lines:#?}");
        let file = folder.path().join("old.yaml");
        world.cluster.apply_crd(&file).await?;
        let consequences = consequences(&world, &plural, &cases, &new).await?;
        let (mut breaking, mut safe, mut wrong) = (0, 0, Vec::new());
        for case in &cases {
            let name = text(case, "/name");
            let told: Vec<&str> = lines
                .iter()
                .filter_map(|line| line.strip_prefix(&format!("v1: spec.{name}")))
                .filter(|rest| rest.starts_with([':', '.', '[']))
                .map(|rest| rest.trim_start_matches([':', '.', ' ']))
                .collect();
            let expected = case.get("breaks").and_then(Value::as_str);
            let fault = consequences[&name].as_deref();
            *if expected.is_some() { &mut breaking } else { &mut safe } += 1;
            if told != expected.into_iter().collect::<Vec<_>>() || expected.is_some() != fault.is_some() {
                wrong.push(format!("{name}: told {told:?}, expected {expected:?}, the server: {fault:?}"));
            }
        }
        world.cluster.delete(&format!("{DEFINITIONS}/{plural}.{GROUP}")).await?;
        ensure!(wrong.is_empty(), "{wrong:#?}");
        ensure!(breaking >= CASES && safe >= CASES, "{breaking} breaking, {safe} safe");
        // Each safe upgrade is none of the lines.
        ensure!(lines.len() == breaking, "{lines:#?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_with_stored_objects_is_not_removed() -> Result<()> {
    let options = WorldOptions { host: false, network: false, crd: false, ..WorldOptions::default() };
    with_world(options, async |world: Arc<World>| {
        let folder = tempfile::tempdir()?;
        let plural = format!("upgrades{}", fastrand::u32(..));
        let spec = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        let old = definition(&plural, &json!([version("v1", true, &spec)]));
        let both = definition(&plural, &json!([version("v1", false, &spec), version("v2", true, &spec)]));
        let new = definition(&plural, &json!([version("v2", true, &spec)]));
        let (lines, status) = compare(folder.path(), &old, &both).await?;
        ensure!(
            status == Some(0) && lines == [format!("{plural}.{GROUP}: stored objects survive the upgrade")],
            "{lines:?}"
        );
        let path = format!("{DEFINITIONS}/{plural}.{GROUP}");
        world.cluster.apply_crd(&folder.path().join("old.yaml")).await?;
        world.cluster.apply(&path, "e2e", &both).await?;
        let live = eventually(SOON, "the second version to be stored", || async {
            let live = world.cluster.get(&path).await?.context("no definition")?;
            ensure!(live.pointer("/status/storedVersions") == Some(&json!(["v1", "v2"])), "{live}");
            Ok(live)
        })
        .await?;
        let (lines, status) = compare(folder.path(), &live, &new).await?;
        let removed = "spec.versions: version v1 is removed, and objects are stored in it";
        ensure!(status == Some(1) && lines.iter().any(|line| line == removed), "{lines:?}");
        let refused = world.cluster.apply(&path, "e2e", &new).await;
        let refused = format!("{:#}", refused.err().context("the server takes it")?);
        ensure!(refused.contains("status.storedVersions"), "{refused}");
        world.cluster.delete(&path).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_compared_is_named() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let write = |name: &str, content: &str| -> Result<String> {
        let file = folder.path().join(name);
        std::fs::write(&file, content)?;
        Ok(file.display().to_string())
    };
    let spec = json!({"type": "object"});
    let one =
        |plural: &str, spec: &Value| serde_saphyr::to_string(&definition(plural, &json!([version("v1", true, spec)])));
    let good = write("good.yaml", &one("goods", &spec)?)?;
    let other = write("other.yaml", &one("others", &spec)?)?;
    let typeless = write("typeless.yaml", &one("goods", &json!({"properties": {"a": {}}}))?)?;
    let none = write("none.yaml", "kind: ConfigMap")?;
    for (file, why) in [
        (&other, format!("the definitions are of different resources: goods.{GROUP} and others.{GROUP}")),
        (&typeless, format!("an API server would refuse the definition in {typeless}:")),
        (&none, format!("cannot compare {none}: no document is a CustomResourceDefinition")),
        (&"/no/such/file".to_owned(), "cannot read /no/such/file: No such file or directory".to_owned()),
    ] {
        let said = oarlock(&["crd", "compare", &good, file]).await?;
        let told = String::from_utf8_lossy(&said.stderr);
        ensure!(said.status.code() == Some(2) && told.contains(&why), "{file}: {told}");
    }
    Ok(())
}
