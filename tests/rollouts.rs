//! Rollouts of new versions: plan, shadow and canary beside the version that runs.

mod aborts;
mod approvals;
mod canary;
mod configurations;
mod crashes;
mod elements;
mod page;
mod plans;
mod restored;
mod returned;
mod shares;

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Grant, SOON, World, eventually, misfit_version, oarlock, repository_root, text};
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Long enough for a write that should not happen.
pub(crate) const A_WHILE: Duration = Duration::from_millis(700);

/// The misfit's grant with the steps of a rollout.
pub(crate) fn grant(world: &World, steps: &Value) -> Result<Grant> {
    grant_without_rollout(world).rollout(steps)
}

fn grant_without_rollout(world: &World) -> Grant {
    let verbs = ["get", "list", "watch", "create", "patch", "delete"];
    Grant::nothing().rule_in(&world.namespace, "", &["configmaps"], &verbs)
}

fn config_maps(world: &World) -> String {
    format!("/api/v1/namespaces/{}/configmaps", world.namespace)
}

/// Makes objects of the misfit, of which every `odd`-th has the label `fragile`.
pub(crate) async fn objects(world: &World, count: usize, odd: usize) -> Result<()> {
    for number in 0..count {
        let tier = if number % 2 == 0 { "test" } else { "live" };
        let labels = if odd > 0 && number % odd == 0 {
            json!({"misfit": "true", "tier": tier, "fragile": "true"})
        } else {
            json!({"misfit": "true", "tier": tier})
        };
        create(world, &format!("o{number}"), &labels).await?;
    }
    Ok(())
}

/// The names of the objects `o0`, `o1`, … that are in the share of a candidate without a configuration. Every host computes the same.
pub(crate) fn share(world: &World, candidate: &[u8], percent: u64, count: usize) -> BTreeSet<String> {
    let hash = |texts: &[&str]| {
        let bytes: Vec<u8> = texts.iter().flat_map(|text| text.bytes().chain([0])).collect();
        let digest = digest(&SHA256, &bytes);
        digest.as_ref().iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
    };
    let of_file: String = digest(&SHA256, candidate).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let identity = format!("{:016x}", hash(&[&of_file, "{}"]));
    let is_in = |name: &String| hash(&[&identity, "", "ConfigMap", &world.namespace, name]) % 100 < percent;
    (0..count).map(|number| format!("o{number}")).filter(is_in).collect()
}

/// Gives objects the label `fragile`.
pub(crate) async fn make_fragile(world: &World, names: impl IntoIterator<Item = &String>) -> Result<()> {
    for name in names {
        let path = format!("{}/{name}", config_maps(world));
        world.cluster.merge_patch(&path, &json!({"metadata": {"labels": {"fragile": "true"}}})).await?;
    }
    Ok(())
}

/// Makes an object of the misfit.
pub(crate) async fn object(world: &World, name: &str) -> Result<()> {
    create(world, name, &json!({"misfit": "true"})).await
}

pub(crate) async fn create(world: &World, name: &str, labels: &Value) -> Result<()> {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels},
        "data": {"value": "first"}});
    world.cluster.create(&config_maps(world), &object).await.map(drop)
}

/// A host that runs version `one` of the misfit in this mode, with all objects reconciled.
pub(crate) async fn started(world: &World, mode: &str, count: usize, steps: &Value) -> Result<()> {
    started_with(world, &misfit_version("one", mode)?, count, &grant(world, steps)?).await
}

/// As [`started`], with this version `one` and this grant.
async fn started_with(world: &World, component: &[u8], count: usize, grant: &Grant) -> Result<()> {
    world.cluster.apply_crd(&repository_root().join("deploy/crds/plugins.yaml")).await?;
    world.plugins.grant("misfit", grant)?;
    world.plugins.file("misfit.wasm", component)?;
    start(world).await?;
    eventually(SOON, "every object reconciled", || async {
        let found = children(world).await?;
        ensure!(
            found.len() == count && found.values().all(|child| child["data"] == json!({"seen": "first"})),
            "{found:?}"
        );
        Ok(())
    })
    .await?;
    // Until it is saved, a host that is killed leaves a first version of which the next host knows nothing.
    eventually(SOON, "version one to be saved", || async {
        let history = command(world, "history").await?;
        ensure!(history.contains("one"), "{history}");
        Ok(())
    })
    .await
}

pub(crate) async fn start(world: &World) -> Result<()> {
    world.start_host_with(&["--plugin-objects", &world.namespace]).await
}

/// The children by the name of their object.
pub(crate) async fn children(world: &World) -> Result<BTreeMap<String, Value>> {
    named(world, "-child").await
}

/// The further objects of version `marked`, by the name of their object.
pub(crate) async fn extras(world: &World) -> Result<BTreeMap<String, Value>> {
    named(world, "-extra").await
}

async fn named(world: &World, suffix: &str) -> Result<BTreeMap<String, Value>> {
    let all = world.cluster.list(&config_maps(world)).await?;
    let names = all.into_iter().filter_map(|object| {
        let name = text(&object, "/metadata/name");
        Some((name.strip_suffix(suffix)?.to_owned(), object))
    });
    Ok(names.collect())
}

/// The number of children that the candidate `marked` wrote.
pub(crate) async fn marked(world: &World) -> Result<usize> {
    Ok(children(world).await?.values().filter(|child| text(child, "/data/marked") == "true").count())
}

/// The Secrets with journals.
pub(crate) async fn journals(world: &World) -> Result<usize> {
    let path = format!("/api/v1/namespaces/{}/secrets?labelSelector=oarlock.dev/canary%3Dmisfit", world.namespace);
    Ok(world.cluster.list(&path).await?.len())
}

pub(crate) async fn plugin(world: &World) -> Result<Value> {
    world.host(async |host| host.plugin("misfit").await).await
}

/// Waits until the rollout shows something; returns it.
pub(crate) async fn rollout(world: &World, what: &str, holds: impl Fn(&Value) -> bool) -> Result<Value> {
    eventually(SOON, what, || async {
        let entry = plugin(world).await?;
        let rollout = entry.get("rollout").cloned().unwrap_or_default();
        ensure!(holds(&rollout), "{entry:#}");
        Ok(rollout)
    })
    .await
}

/// Waits until a version runs, without a rollout.
pub(crate) async fn runs(world: &World, version: &str) -> Result<Value> {
    eventually(2 * SOON, &format!("version {version}"), || async {
        let entry = plugin(world).await?;
        // Before its first version runs, a plugin shows the version in its file.
        let active = text(&entry, "/state") == "active" && text(&entry, "/version") == version;
        ensure!(active && entry.get("rollout").is_none(), "{entry:#}");
        Ok(entry)
    })
    .await
}

/// Waits until the rollout of a version is aborted, for a reason.
pub(crate) async fn aborted(world: &World, version: &str, reason: &str) -> Result<()> {
    eventually(2 * SOON, "the rollout to be aborted", || async {
        let entry = is_aborted(world, version).await?;
        ensure!(text(&entry, "/next/reason").contains(reason), "{entry:#}");
        Ok(())
    })
    .await
}

/// The plugin, if the rollout of a version is aborted.
pub(crate) async fn is_aborted(world: &World, version: &str) -> Result<Value> {
    let entry = plugin(world).await?;
    ensure!(entry.get("rollout").is_none() && text(&entry, "/next/version") == version, "{entry:#}");
    ensure!(text(&entry, "/next/state") == "failed", "{entry:#}");
    Ok(entry)
}

/// Waits until everything is as version `one` left it, and no journal is left.
pub(crate) async fn restored(world: &World, before: &BTreeMap<String, Value>) -> Result<()> {
    eventually(2 * SOON, "everything as it was", || async {
        let (now, extras) = (children(world).await?, extras(world).await?);
        ensure!(now.len() == before.len() && extras.is_empty(), "{} children, {extras:?}", now.len());
        for (name, child) in &now {
            let was = before.get(name).context("another child")?;
            let same = |pointer: &str| child.pointer(pointer) == was.pointer(pointer);
            ensure!(same("/data") && same("/metadata/labels") && same("/metadata/uid"), "{child:#}\nwas {was:#}");
        }
        ensure!(journals(world).await? == 0, "a journal is left");
        Ok(())
    })
    .await
}

/// Runs `oarlock rollout`.
pub(crate) async fn command(world: &World, verb: &str) -> Result<String> {
    let address = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
    let ran = oarlock(&["rollout", verb, "misfit", "--admin-addr", &address]).await?;
    ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Ok(String::from_utf8(ran.stdout)?)
}

/// Waits until nothing of a candidate is left, and no journal.
pub(crate) async fn settled(world: &World) -> Result<()> {
    eventually(2 * SOON, "nothing of a candidate", || async {
        let (marked, extras, journals) = (marked(world).await?, extras(world).await?.len(), journals(world).await?);
        ensure!((marked, extras, journals) == (0, 0, 0), "{marked} marked, {extras} extras, {journals} journals");
        Ok(())
    })
    .await
}
