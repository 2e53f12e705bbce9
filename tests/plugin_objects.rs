//! Plugin objects: the plugins of a host for `kubectl`, and what people ask for in them.

mod declared;
mod definition;
pub(crate) mod events;
mod gitops;
mod good_versions;
mod undo;

use crate::plan::ALONE;
use anyhow::{Context, Result, ensure};
use http::StatusCode;
use oarlock_tests::harness::{
    Action, Grant, Rule, SOON, World, eventually, misfit_version, misfit_with, oarlock, repository_root, steady, text,
    with_world,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Long enough for a reconcile that should not happen.
const A_WHILE: Duration = Duration::from_millis(700);

fn grant(world: &World) -> Grant {
    let verbs = ["get", "list", "watch", "create", "patch", "delete"];
    Grant::nothing().rule_in(&world.namespace, "", &["configmaps"], &verbs)
}

fn config_maps(world: &World) -> String {
    format!("/api/v1/namespaces/{}/configmaps", world.namespace)
}

fn path(world: &World, name: &str) -> String {
    format!("/apis/oarlock.dev/v1alpha1/namespaces/{}/plugins/{name}", world.namespace)
}

async fn definition(world: &World) -> Result<()> {
    world.cluster.apply_crd(&repository_root().join("deploy/crds/plugins.yaml")).await
}

async fn start(world: &World) -> Result<()> {
    world.start_host_with(&["--plugin-objects", &world.namespace]).await
}

async fn key(world: &World, name: &str) -> Result<()> {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"misfit": "true"}},
        "data": {"value": name}});
    world.cluster.create(&config_maps(world), &object).await.map(drop)
}

async fn child(world: &World, name: &str) -> Result<Option<Value>> {
    world.cluster.get(&format!("{}/{name}-child", config_maps(world))).await
}

async fn has_child(world: &World, name: &str) -> Result<()> {
    eventually(SOON, &format!("a child of {name}"), || async { child(world, name).await?.context("none").map(drop) })
        .await
}

/// Waits until the plugin's object satisfies a condition; returns it.
async fn shows(world: &World, name: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Result<Value> {
    eventually(SOON, what, || async {
        let object = world.cluster.get(&path(world, name)).await?.context("no Plugin object")?;
        ensure!(holds(&object), "{object:#}");
        Ok(object)
    })
    .await
}

fn condition<'a>(object: &'a Value, kind: &str) -> &'a str {
    let all = object.pointer("/status/conditions").and_then(Value::as_array);
    let found = all.into_iter().flatten().find(|one| one["type"] == kind);
    found.and_then(|one| one["status"].as_str()).unwrap_or_default()
}

/// Whether the status has its last counts: so many objects, each of them in sync.
fn counts(object: &Value, objects: u64) -> bool {
    let count = |pointer: &str| object.pointer(pointer).and_then(Value::as_u64);
    count("/status/objects") == Some(objects) && count("/status/outOfSync") == Some(0)
}

async fn wish(world: &World, name: &str, spec: &Value) -> Result<()> {
    world.cluster.merge_patch(&path(world, name), &json!({"spec": spec})).await.map(drop)
}

/// The whole life: an object appears, shows states and versions, and goes with its plugin.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_has_an_object_that_shows_its_state_and_goes_with_it() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        definition(&world).await?;
        world.plugins.grant("misfit", &grant(&world))?;
        world.plugins.file("misfit.wasm", &misfit_version("one", "")?)?;
        world.plugins.file("broken.wasm", b"no component")?;
        key(&world, "a").await?;
        start(&world).await?;
        let object = shows(&world, "misfit", "a running plugin", |object| {
            condition(object, "Ready") == "True" && counts(object, 1)
        })
        .await?;
        ensure!(object["spec"]["source"] == json!({"file": "misfit.wasm"}), "{object}");
        ensure!(object["status"]["version"] == "one" && object["status"]["revisions"][0]["revision"] == 1, "{object}");
        ensure!(object["status"]["observedGeneration"] == object["metadata"]["generation"], "{object}");
        let broken = shows(&world, "broken", "a broken file", |object| condition(object, "Degraded") == "True").await?;
        ensure!(condition(&broken, "Ready") == "False" && text(&broken, "/status/state") == "failed", "{broken}");

        // Nothing is written when nothing happens.
        let version = text(&object, "/metadata/resourceVersion");
        steady(A_WHILE, "the object of an idle plugin", || async {
            let object = world.cluster.get(&path(&world, "misfit")).await?.context("gone")?;
            ensure!(text(&object, "/metadata/resourceVersion") == version, "{object:#}");
            Ok(())
        })
        .await?;

        world.plugins.file("misfit.wasm", &misfit_version("two", "remembers")?)?;
        let object =
            shows(&world, "misfit", "the second version", |object| object["status"]["version"] == "two").await?;
        let revisions: Vec<_> = object["status"]["revisions"].as_array().into_iter().flatten().collect();
        ensure!(revisions.len() == 2 && revisions[0]["revision"] == 2 && revisions[1]["version"] == "one", "{object}");
        // A restart forgets nothing.
        world.kill_host().await?;
        start(&world).await?;
        shows(&world, "misfit", "the same revisions", |later| {
            later["status"]["revisions"] == object["status"]["revisions"] && condition(later, "Ready") == "True"
        })
        .await?;

        world.plugins.remove("misfit.wasm")?;
        eventually(2 * SOON, "the object to go with its plugin", || async {
            let left = world.cluster.get(&path(&world, "misfit")).await?;
            ensure!(left.is_none(), "{left:?}");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_plugin_waits_over_restarts_and_swaps_and_goes_on_where_it_was() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        definition(&world).await?;
        world.plugins.grant("misfit", &grant(&world))?;
        world.plugins.file("misfit.wasm", &misfit_version("one", "")?)?;
        key(&world, "a").await?;
        start(&world).await?;
        has_child(&world, "a").await?;
        shows(&world, "misfit", "a running plugin", |object| condition(object, "Ready") == "True").await?;
        let kubeconfig = world.cluster.kubeconfig().display().to_string();
        let plugin = format!("{}/misfit", world.namespace);
        let command = async |command: &str| {
            let output = oarlock(&[command, "Plugin", &plugin, "--kubeconfig", &kubeconfig]).await?;
            ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Ok(())
        };
        command("pause").await?;
        let paused =
            |object: &Value| text(object, "/status/state") == "paused" && condition(object, "Ready") == "False";
        shows(&world, "misfit", "a paused plugin", paused).await?;
        key(&world, "b").await?;
        let nothing = async |name: &str| {
            steady(A_WHILE, "the pause", || async {
                ensure!(child(&world, name).await?.is_none(), "a paused plugin wrote");
                Ok(())
            })
            .await
        };
        nothing("b").await?;
        world.kill_host().await?;
        start(&world).await?;
        shows(&world, "misfit", "the pause after a restart", paused).await?;
        key(&world, "c").await?;
        nothing("c").await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "remembers")?)?;
        shows(&world, "misfit", "the pause of the second version", |object| {
            paused(object) && object["status"]["version"] == "two"
        })
        .await?;
        nothing("c").await?;
        let host = world.host(async |host| Ok(host.admin().base().to_owned())).await?;
        let on_host = oarlock(&["resume", "misfit", "--admin-addr", &host]).await?;
        let said = String::from_utf8_lossy(&on_host.stderr).into_owned();
        let remedy = "stays paused: spec.paused of its Plugin object is true; oarlock resume Plugin";
        ensure!(!on_host.status.success() && said.contains(remedy), "{said}");
        command("resume").await?;
        for name in ["b", "c"] {
            has_child(&world, name).await?;
        }
        shows(&world, "misfit", "a running plugin", |object| condition(object, "Ready") == "True").await.map(drop)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_value_of_reconcile_at_reconciles_all_objects_of_the_plugin_once_and_is_acknowledged() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        definition(&world).await?;
        world.plugins.grant("misfit", &grant(&world).resync_seconds(3600))?;
        world.plugins.file("misfit.wasm", &misfit_version("one", "")?)?;
        for name in ["a", "b", "c"] {
            key(&world, name).await?;
        }
        start(&world).await?;
        for name in ["a", "b", "c"] {
            has_child(&world, name).await?;
        }
        shows(&world, "misfit", "a running plugin", |object| condition(object, "Ready") == "True").await?;
        let calls = async || {
            let labels = ["\"misfit\"", "get-desired"];
            world.host(async |host| host.metric("oarlock_plugin_call_duration_seconds_count", &labels).await).await
        };
        let before = calls().await?;
        let kubeconfig = world.cluster.kubeconfig().display().to_string();
        let plugin = format!("{}/misfit", world.namespace);
        let ran = oarlock(&["reconcile", "Plugin", &plugin, "--kubeconfig", &kubeconfig]).await?;
        ensure!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let handled = |object: &Value| {
            let asked = object["metadata"]["annotations"]["oarlock.dev/reconcile-at"].as_str();
            asked.is_some() && object["status"]["lastHandledReconcileAt"].as_str() == asked
        };
        shows(&world, "misfit", "the acknowledgement", handled).await?;
        eventually(SOON, "a reconcile of each object", || async {
            let now = calls().await?;
            ensure!(now >= before + 3.0, "{before} {now}");
            Ok(())
        })
        .await?;
        // A new host does not do it again: its first reconciles are those of its start.
        world.kill_host().await?;
        start(&world).await?;
        shows(&world, "misfit", "the acknowledgement after a restart", |object| {
            handled(object) && condition(object, "Ready") == "True"
        })
        .await?;
        let again = world.log(|line| line.text.contains("oarlock.dev/reconcile-at of its Plugin object")).await?;
        ensure!(again.is_empty(), "{again:?}");
        Ok(())
    })
    .await
}

/// A version of the misfit that cleans up, or does not.
fn cleaning(number: &str, cleanup: bool) -> Result<Vec<u8>> {
    misfit_with(number, "", |manifest| {
        if let Some(fields) = manifest.as_object_mut() {
            fields.insert("cleanup".to_owned(), json!(cleanup));
        }
    })
}

/// An approval is for one digest: another version waits again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_of_a_digest_lets_exactly_this_version_run() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        definition(&world).await?;
        world.plugins.grant("misfit", &grant(&world).cleanup())?;
        world.plugins.file("misfit.wasm", &cleaning("1", true)?)?;
        key(&world, "a").await?;
        start(&world).await?;
        has_child(&world, "a").await?;
        world.plugins.file("misfit.wasm", &cleaning("2", false)?)?;
        let waits = |object: &Value| condition(object, "AwaitingApproval") == "True";
        let object = shows(&world, "misfit", "a version that waits", waits).await?;
        ensure!(condition(&object, "Ready") == "True", "the old version runs: {object}");
        let second = text(&object, "/status/candidate/digest");
        let other = format!("sha256:{}", "0".repeat(64));
        wish(&world, "misfit", &json!({"approve": other})).await?;
        steady(A_WHILE, "the wait", || async {
            let object = world.cluster.get(&path(&world, "misfit")).await?.context("gone")?;
            ensure!(waits(&object) && object["status"]["version"] == "1", "{object}");
            Ok(())
        })
        .await?;
        wish(&world, "misfit", &json!({"approve": second})).await?;
        let runs = shows(&world, "misfit", "the approved version", |object| object["status"]["version"] == "2").await?;
        ensure!(runs.pointer("/status/candidate").is_none() && !waits(&runs), "{runs}");
        Ok(())
    })
    .await
}

/// What people and pipelines do with kubectl.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_lists_plugins_with_columns_and_waits_for_one_to_be_ready() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        definition(&world).await?;
        world.plugins.grant("misfit", &grant(&world))?;
        world.plugins.file("misfit.wasm", &misfit_version("one", "")?)?;
        for name in ["a", "b", "c"] {
            key(&world, name).await?;
        }
        start(&world).await?;
        shows(&world, "misfit", "an object", |_| true).await?;
        let namespace = world.namespace.as_str();
        let wait = ["wait", "-n", namespace, "--for=condition=Ready", "plugin/misfit", "--timeout=60s"];
        let said = world.cluster.kubectl(&wait).await?;
        ensure!(said.contains("plugin.oarlock.dev/misfit condition met"), "{said}");
        shows(&world, "misfit", "all objects", |object| counts(object, 3)).await?;
        let lines = async |args: &[&str]| -> Result<Vec<Vec<String>>> {
            let table = world.cluster.kubectl(&[&["get", "plugins", "-n", namespace], args].concat()).await?;
            let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
            Ok(table.lines().map(words).collect())
        };
        let table = lines(&[]).await?;
        let columns = "NAME VERSION STATE READY OBJECTS OUT-OF-SYNC CANDIDATE AGE";
        ensure!(table[0].join(" ") == columns, "{table:?}");
        // No version waits, so the cell of the candidate is empty.
        ensure!(
            table[1].get(..6) == Some(&["misfit", "one", "active", "True", "3", "0"].map(str::to_owned)),
            "{table:?}"
        );
        let wide = lines(&["-o", "wide"]).await?;
        ensure!(wide[0].join(" ").contains("CANDIDATE HOST LAST-ERROR AGE"), "{wide:?}");
        Ok(())
    })
    .await
}

/// Until the wishes are known nothing runs, and the host says why.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_objects_a_host_runs_no_plugin_and_is_not_ready() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        definition(&world).await?;
        world.plugins.grant("misfit", &grant(&world))?;
        world.plugins.file("misfit.wasm", &misfit_version("one", "")?)?;
        key(&world, "a").await?;
        let forbidden = Action::kubernetes(StatusCode::FORBIDDEN, "Forbidden", "plugins are forbidden", None);
        let rule = world.kubernetes_gate.rule(Rule::every(forbidden).path("/plugins"));
        start(&world).await?;
        rule.hit().await?;
        let ready = async || world.host(async |host| host.admin().get("/readyz?verbose").await).await;
        steady(A_WHILE, "the wait", || async {
            ensure!(child(&world, "a").await?.is_none(), "the plugin ran");
            let answer = ready().await?;
            let said = String::from_utf8_lossy(&answer.body).into_owned();
            ensure!(answer.status != StatusCode::OK && said.contains("plugins.oarlock.dev in namespace"), "{said}");
            Ok(())
        })
        .await?;
        drop(rule);
        has_child(&world, "a").await?;
        shows(&world, "misfit", "the object", |object| condition(object, "Ready") == "True").await?;
        ensure!(ready().await?.status == StatusCode::OK, "not ready");
        Ok(())
    })
    .await
}
