//! `oarlock explain`: after scripted histories it names the writers of the fields, the last reconcile, and what comes next.

mod story;

use crate::plan::ALONE;
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::Method;
use oarlock_tests::harness::{
    Grant, Host, SOON, World, WorldOptions, eventually, misfit_version, misfit_with, oarlock, text, with_world,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use story::{Step, Story};

/// What a host says about an object.
///
/// * `object` - namespace and name.
async fn explained(host: &Host, kind: &str, object: (&str, &str)) -> Result<Value> {
    let path = format!("/explain?kind={kind}&namespace={}&name={}", object.0, object.1);
    let answer = host.admin().send(Method::GET, &path, &[("x-oarlock-action", "1")], Bytes::new()).await?;
    ensure!(answer.status == 200, "{} {}", answer.status, answer.text());
    answer.json()
}

/// The versions whose writes of a ConfigMap are the last ones.
pub(crate) async fn writers(world: &World, name: &str) -> Result<BTreeSet<String>> {
    let object = (world.namespace.as_str(), name);
    let found = world.host(async |host| explained(host, "ConfigMap", object).await).await?;
    Ok(at(&found, "/writes").as_array().into_iter().flatten().map(|write| text(write, "/version")).collect())
}

/// The last reconcile of the misfit about a ConfigMap.
pub(crate) async fn last_of(world: &World, name: &str) -> Result<Value> {
    let object = (world.namespace.as_str(), name);
    let plugin = world.host(async |host| of_plugin(host, "misfit", "ConfigMap", object).await).await?;
    plugin.pointer("/last/0").cloned().with_context(|| format!("no reconcile of {name}: {plugin:#}"))
}

/// A plugin's part in what a host says about an object.
///
/// * `object` - namespace and name.
pub(crate) async fn of_plugin(host: &Host, plugin: &str, kind: &str, object: (&str, &str)) -> Result<Value> {
    let found = explained(host, kind, object).await?;
    let plugins = at(&found, "/plugins").as_array().context("no plugins")?;
    plugins.iter().find(|of| at(of, "/plugin") == plugin).cloned().with_context(|| format!("{found:#}"))
}

/// Waits until the world's host says that this holds a plugin's ConfigMap up.
pub(crate) async fn held_up(world: &World, plugin: &str, name: &str, cause: &str) -> Result<()> {
    eventually(SOON, &format!("{name} to be held up: {cause}"), || async {
        let object = (world.namespace.as_str(), name);
        let found = world.host(async |host| of_plugin(host, plugin, "ConfigMap", object).await).await?;
        ensure!(at(&found, "/heldUp").to_string().contains(cause), "{found:#}");
        Ok(())
    })
    .await
}

/// The part of a document at a pointer. Null: there is none.
fn at<'v>(document: &'v Value, pointer: &str) -> &'v Value {
    document.pointer(pointer).unwrap_or(&Value::Null)
}

async fn explain(world: &World, object: &str, more: &[&str]) -> Result<String> {
    let host = world.host(async |host| Ok(host.admin().base().to_owned())).await?;
    let kubeconfig = world.cluster.kubeconfig().display().to_string();
    let all = [&["explain", "ConfigMap", object, "--admin-addr", &host, "--kubeconfig", &kubeconfig], more].concat();
    let output = oarlock(&all).await?;
    let (out, err) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    ensure!(output.status.success(), "{err}");
    Ok(out)
}

async fn object<'w>(world: &'w World, name: &str) -> Result<Story<'w>> {
    crate::rollouts::object(world, name).await?;
    Ok(Story { world, name: name.to_owned() })
}

/// A host with the misfit, and with another plugin that reads ConfigMaps.
async fn started(world: &World) -> Result<()> {
    let verbs = ["get", "list", "watch", "create", "patch", "delete"];
    let grant = || Grant::nothing().rule_in(&world.namespace, "", &["configmaps"], &verbs);
    world.plugins.grant("misfit", &grant())?;
    world.plugins.file("misfit.wasm", &misfit_version("1", "")?)?;
    let other = misfit_with("1", "", |manifest| {
        if let Some(fields) = manifest.as_object_mut() {
            fields.insert("name".to_owned(), json!("onlooker"));
        }
        if let Some(primary) = manifest.pointer_mut("/primaries/0").and_then(Value::as_object_mut) {
            primary.insert("labelSelector".to_owned(), json!("onlooker=true"));
        }
    });
    world.plugins.grant("onlooker", &grant())?;
    world.plugins.file("onlooker.wasm", &other?)?;
    world.start_host().await?;
    for name in ["misfit", "onlooker"] {
        eventually(SOON, &format!("plugin {name}"), || async {
            let entry = world.host(async |host| host.plugin(name).await).await?;
            ensure!(text(&entry, "/state") == "active", "{entry:#}");
            Ok(())
        })
        .await?;
    }
    Ok(())
}

/// Plays histories of every step after every other one.
async fn histories(world: &World, count: usize) -> Result<()> {
    use Step::{Contest, DeleteChild, Edit, Fail, GiveUp, Pause, Recover, Recreate, Resume, Share, Swap};
    const STEPS: [&[Step]; 10] = [
        &[Edit],
        &[Contest],
        &[DeleteChild],
        &[Fail, Recover],
        &[GiveUp, Recover],
        &[Pause, Resume],
        &[Swap, Edit],
        &[Fail, GiveUp, Recover],
        &[Swap, DeleteChild],
        &[Recreate],
    ];
    let mut version = 1;
    for number in 0..count {
        let story = object(world, &format!("h{number}")).await?;
        story.child_is_of(&version.to_string(), " added").await.with_context(|| format!("history {number}"))?;
        let parts = [number % STEPS.len(), number / STEPS.len() % STEPS.len(), (number * 7 + 3) % STEPS.len()];
        let last: &[Step] = if number % 5 == 2 { &[Share] } else { &[] };
        for step in parts.iter().filter_map(|part| STEPS.get(*part)).copied().chain([last]).flatten() {
            story.take(*step, &mut version).await.with_context(|| format!("history {number} {parts:?}: {step:?}"))?;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_right_after_each_step_of_a_few_histories() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        started(&world).await?;
        histories(&world, 4).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes a minute or two"]
async fn it_is_right_after_each_step_of_fifty_histories() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        started(&world).await?;
        histories(&world, 50).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_runs_all_the_time_shows_the_timer_of_its_plugin() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        started(&world).await?;
        let story = object(&world, "a").await?;
        story.annotate("misfit/mode", Some("requeue:300")).await?;
        eventually(SOON, "reconciles that the timer caused, and the next one", || async {
            let plugin = story.plugin("misfit").await?;
            let last = at(&plugin, "/last").as_array().context("no reconciles")?;
            let timers = last.iter().filter(|one| at(one, "/trigger") == "requeue" && at(one, "/cause").is_null());
            ensure!(timers.count() > 2, "{plugin:#}");
            let next = at(&plugin, "/queue/0");
            ensure!(at(next, "/phase") == "delayed" && at(next, "/trigger") == "requeue", "{plugin:#}");
            Ok(())
        })
        .await
    })
    .await
}

/// The writes of finalizer and status have a field manager of their own, which is the host's for the plugin. They are known without recordings.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_fields_that_the_host_writes_for_a_plugin_have_their_reconcile_too() -> Result<()> {
    with_world(WorldOptions { host: false, ..WorldOptions::default() }, async |world: Arc<World>| {
        world.start_host_with(&["--recorder-mib", "0"]).await?;
        eventually(SOON, "the plugin", || async {
            let entry = world.host(async |host| host.plugin("network").await).await?;
            ensure!(text(&entry, "/state") == "active", "{entry:#}");
            Ok(())
        })
        .await?;
        world.create_network("blue", "10.6.0.0/24", "10.6.0.1").await?;
        world.ready("blue").await?;
        let host = world.host(async |host| Ok(host.admin().base().to_owned())).await?;
        let kubeconfig = world.cluster.kubeconfig().display().to_string();
        let name = format!("{}/blue", world.namespace);
        let by = |what: &str| format!("    last written{what} by plugin network ");
        // A singular, as for kubectl: the cluster knows it.
        let args = ["explain", "network", &name, "--admin-addr", &host, "--kubeconfig", &kubeconfig];
        // The status is in the API before the host has noted its write.
        eventually(SOON, "all writes", || async {
            let said = String::from_utf8(oarlock(&args).await?.stdout)?;
            for part in [
                "  oarlock.network.host: Apply of status, ",
                &by(""),
                "  oarlock.network.host: Update, ",
                ".metadata.finalizers[\"oarlock.dev/network\"]",
                &by(&format!(" (add finalizer of Network {name})")),
                &format!(" for Network {name}, in reconcile "),
                &format!("(event: Network {name} added)"),
            ] {
                ensure!(said.contains(part), "{part}: {said}");
            }
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_read_who_wrote_it_why_it_is_not_called_and_what_wakes_it() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        started(&world).await?;
        let story = object(&world, "a").await?;
        story.child_is_of("1", " added").await?;
        let namespace = &world.namespace;
        let child = explain(&world, &format!("{namespace}/a-child"), &[]).await?;
        for part in [
            "  oarlock.misfit: Apply, ",
            ".data.seen",
            "    last written by plugin misfit 1 (sha256:",
            &format!(" for ConfigMap {namespace}/a, in reconcile "),
            &format!("(event: ConfigMap {namespace}/a added)"),
        ] {
            ensure!(child.contains(part), "{part}: {child}");
        }
        // The write of the child is known before its reconcile has ended, and the child's event may cause another one.
        eventually(SOON, "all about the object", || async {
            let primary = explain(&world, &format!("{namespace}/a"), &[]).await?;
            for part in [
                "plugin misfit 1 reconciles it: settled",
                "next: with a change of the object, or a resync every",
                &format!("reads: ConfigMap {namespace}/a-child"),
                "last reconciles, the newest first:",
                " the host knows of recorded reconciles only",
                "plugin onlooker 1 reconciles it: unknown to the plugin",
                "does not have what the manifest selects: labels onlooker=true",
            ] {
                ensure!(primary.contains(part), "{part}: {primary}");
            }
            Ok(())
        })
        .await?;
        // A plugin that would reconcile it, but has no grant.
        let ungranted = misfit_with("1", "", |manifest| manifest["name"] = json!("ungranted"))?;
        world.plugins.file("ungranted.wasm", &ungranted)?;
        let waits = "the plugin does not run yet, it is awaiting-grant: everything, because there is no grant";
        held_up(&world, "ungranted", "a", waits).await?;
        let said = explain(&world, &format!("{namespace}/a"), &[]).await?;
        let part = format!("plugin ungranted 1 reconciles it: left alone until the plugin runs\n  held up: {waits}\n");
        ensure!(said.contains(&part) && !said.contains("resync every  s"), "{said}");
        // Other clients, and what no plugin knows.
        let host = world.host(async |host| Ok(host.admin().base().to_owned())).await?;
        let kubeconfig = world.cluster.kubeconfig().display().to_string();
        let nothing =
            oarlock(&["explain", "Secret", "x/y", "--admin-addr", &host, "--kubeconfig", &kubeconfig]).await?;
        let said = String::from_utf8_lossy(&nothing.stderr);
        ensure!(
            !nothing.status.success() && said.contains("no plugin of this host reconciles or reads Secret"),
            "{said}"
        );
        let path = "/explain?kind=ConfigMap&namespace=x&name=y";
        let page = [("origin", "http://a.example"), ("x-oarlock-action", "1")];
        for headers in [&page[..], &[][..]] {
            let answer =
                world.host(async |host| host.admin().send(Method::GET, path, headers, Bytes::new()).await).await?;
            ensure!(answer.status == 403, "{}", answer.text());
        }
        // Without the cluster the host's part is shown.
        let name = format!("{namespace}/a");
        let alone = ["explain", "ConfigMap", &name, "--admin-addr", &host, "--kubeconfig", "/nowhere"];
        let alone = oarlock(&alone).await?;
        let said = String::from_utf8_lossy(&alone.stdout);
        ensure!(alone.status.success() && said.contains("fields: unknown: the cluster could not be asked: "), "{said}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_is_gone_one_without_its_namespace_and_one_that_waits_say_so() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        started(&world).await?;
        let namespace = &world.namespace;
        // An object that is not there is no fault of the cluster, and a name without its namespace is no object.
        let away = explain(&world, &format!("{namespace}/away"), &[]).await?;
        let unknown = format!(
            "fields: unknown: cannot read ConfigMap {namespace}/away: ConfigMap {namespace}/away does not exist"
        );
        ensure!(away.contains(&unknown) && away.contains("not seen: the object does not exist"), "{away}");
        let bare = explain(&world, "a", &[]).await.map(drop);
        let why = bare.err().map(|error| error.to_string()).unwrap_or_default();
        ensure!(why.contains("ConfigMap a: the kind is namespaced; name the object as NAMESPACE/a"), "{why}");
        // It is patched again and again, and then the plugin is paused.
        let story = object(&world, "a").await?;
        story.annotate("misfit/mode", Some("never-settles")).await?;
        held_up(&world, "misfit", "a", "it was patched again and again without an end").await?;
        let host = world.host(async |host| Ok(host.admin().base().to_owned())).await?;
        let paused = oarlock(&["pause", "misfit", "--admin-addr", &host]).await?;
        ensure!(paused.status.success(), "{}", String::from_utf8_lossy(&paused.stderr));
        held_up(&world, "misfit", "a", "the plugin is paused: oarlock pause on this host").await
    })
    .await
}

/// One apply sends all fields of its manager, and gives only some of them another value.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_field_has_the_reconcile_that_gave_it_its_value() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        started(&world).await?;
        let story = object(&world, "a").await?;
        story.child_is_of("1", " added").await?;
        let edit = json!({"data": {"value": "second"}});
        world.cluster.merge_patch(&story.path(""), &edit).await?;
        story.child_is_of("1", " modified: data.value").await?;
        world.plugins.file("misfit.wasm", &misfit_version("2", "marked")?)?;
        let found = eventually(SOON, "three writes of the child", || async {
            let found = story.explain("-child").await?;
            ensure!(at(&found, "/writes").as_array().is_some_and(|writes| writes.len() == 3), "{found:#}");
            Ok(found)
        })
        .await?;
        let writes: Vec<(String, String, &Value)> = (0..3)
            .map(|number| at(&found, &format!("/writes/{number}")))
            .map(|write| {
                let why = format!("{} {}", text(write, "/trigger"), text(write, "/cause"));
                (text(write, "/version"), why.trim().to_owned(), at(write, "/fields"))
            })
            .collect();
        let of = format!("event ConfigMap {}/a", world.namespace);
        let expected = [
            ("2".to_owned(), "swap".to_owned(), &json!([".data.marked"])),
            ("1".to_owned(), format!("{of} modified: data.value"), &json!([".data.seen"])),
            ("1".to_owned(), format!("{of} added"), &Value::Null),
        ];
        ensure!(writes == expected, "{writes:#?}");
        let said = explain(&world, &format!("{}/a-child", world.namespace), &[]).await?;
        for part in [
            "    .data.marked last written by plugin misfit 2 (sha256:",
            "    .data.seen last written by plugin misfit 1 (sha256:",
            "    last written by plugin misfit 1 (sha256:",
        ] {
            ensure!(said.contains(part), "{part}: {said}");
        }
        // Another version gives a field its value that had another one.
        world.plugins.file("misfit.wasm", &misfit_version("3", "wrong")?)?;
        eventually(SOON, "the third version to be the writer of the field", || async {
            let found = story.explain("-child").await?;
            let write = at(&found, "/writes/0");
            ensure!(
                text(write, "/version") == "3" && at(write, "/fields").to_string().contains(".data.seen"),
                "{found:#}"
            );
            let older = at(&found, "/writes").as_array().into_iter().flatten().skip(1);
            ensure!(
                older.filter(|write| at(write, "/fields").to_string().contains(".data.seen")).count() == 0,
                "{found:#}"
            );
            Ok(())
        })
        .await
    })
    .await
}
