//! Plugins that people declare: the code and the grant are in the object.

use super::{A_WHILE, condition, definition, has_child, key, path, shows, start, wish};
use crate::oci;
use crate::plan::ALONE;
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Registry, SOON, World, eventually, misfit_version, steady, text, with_world};
use serde_json::{Value, json};
use std::sync::Arc;

/// What the misfit asks for, as `spec.grant`.
pub(super) fn grant(world: &World) -> Value {
    let verbs = ["get", "list", "watch", "create", "patch", "delete"];
    json!({"permissions": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs, "namespaces": [world.namespace]}]})
}

pub(super) fn object(world: &World, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "Plugin",
        "metadata": {"name": name, "namespace": world.namespace}, "spec": spec})
}

/// Applies an object as a tool of a person does.
pub(super) async fn apply(world: &World, name: &str, spec: &Value) -> Result<Value> {
    world.cluster.apply(&path(world, name), "a-person", &object(world, name, spec)).await
}

fn runs(version: &str) -> impl Fn(&Value) -> bool {
    move |object| condition(object, "Ready") == "True" && text(object, "/status/version") == version
}

fn says(object: &Value, kind: &str) -> String {
    let all = object.pointer("/status/conditions").and_then(Value::as_array);
    let found = all.into_iter().flatten().find(|one| one["type"] == kind);
    found.map(|one| format!("{}: {}", text(one, "/reason"), text(one, "/message"))).unwrap_or_default()
}

/// The value that the misfit gets by `config.get`, in a child.
async fn entry(world: &World, name: &str) -> Result<Value> {
    world.host(async |host| host.plugin(name).await).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_with_a_file_and_a_grant_runs_swaps_and_ends_its_plugin() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        definition(&world).await?;
        world.plugins.file("first.wasm", &misfit_version("one", "")?)?;
        world.plugins.file("second.wasm", &misfit_version("two", "remembers")?)?;
        key(&world, "a").await?;
        // Before a host has seen it, an object is not what it asks for: Argo CD and Flux go by this number.
        apply(&world, "unseen", &json!({"source": {"file": "none.wasm"}})).await?;
        let unseen = world.cluster.get(&path(&world, "unseen")).await?.context("no object")?;
        ensure!(unseen["status"] == json!({"observedGeneration": -1}), "{unseen:#}");
        start(&world).await?;
        let seen = |object: &Value| object["status"]["observedGeneration"] == object["metadata"]["generation"];
        shows(&world, "unseen", "the generation that a host saw", seen).await?;
        // The file is called otherwise than the plugin, and without the object waits for a grant.
        let waits =
            |object: &Value| condition(object, "AwaitingApproval") == "True" || condition(object, "Degraded") == "True";
        shows(&world, "first", "the file of no object", waits).await?;
        apply(&world, "misfit", &json!({"source": {"file": "first.wasm"}})).await?;
        let waiting = shows(&world, "misfit", "a plugin without a grant", |object| {
            condition(object, "AwaitingApproval") == "True"
        })
        .await?;
        ensure!(text(&waiting, "/status/state") == "awaiting-grant", "{waiting:#}");

        apply(&world, "misfit", &json!({"source": {"file": "first.wasm"}, "grant": grant(&world)})).await?;
        let object = shows(&world, "misfit", "the first version", runs("one")).await?;
        has_child(&world, "a").await?;
        ensure!(object["status"]["observedGeneration"] == object["metadata"]["generation"], "{object:#}");
        ensure!(object.pointer("/metadata/labels").is_none(), "the host wrote into a person's object: {object:#}");
        eventually(3 * SOON, "the object of the host to go", || async {
            ensure!(world.cluster.get(&path(&world, "first")).await?.is_none(), "it is there");
            Ok(())
        })
        .await?;

        // Another file is a swap: the plugin never ends.
        apply(&world, "misfit", &json!({"source": {"file": "second.wasm"}, "grant": grant(&world)})).await?;
        let object = shows(&world, "misfit", "the second version", runs("two")).await?;
        ensure!(object["status"]["revisions"].as_array().is_some_and(|all| all.len() == 2), "{object:#}");
        let ended = world.log(|line| line.text.contains("to=draining") || line.text.contains("to=retired")).await?;
        ensure!(ended.is_empty(), "{ended:?}");

        // So is another grant; one that takes a permission away ends it.
        let mut wider = grant(&world);
        wider["workers"] = json!(3);
        apply(&world, "misfit", &json!({"source": {"file": "second.wasm"}, "grant": wider})).await?;
        world.logged("the change of the grant", |line| line.text.contains("grant changed")).await?;
        wish(&world, "misfit", &json!({"grant": null})).await?;
        shows(&world, "misfit", "the end of the grant", |object| text(object, "/status/state") == "awaiting-grant")
            .await?;
        apply(&world, "misfit", &json!({"source": {"file": "second.wasm"}, "grant": grant(&world)})).await?;
        shows(&world, "misfit", "the plugin again", runs("two")).await?;
        // A restart changes nothing.
        world.kill_host().await?;
        key(&world, "b").await?;
        start(&world).await?;
        has_child(&world, "b").await?;

        world.cluster.delete(&path(&world, "misfit")).await?;
        eventually(SOON, "the end of the plugin", || async {
            ensure!(entry(&world, "misfit").await.is_err(), "it is there");
            Ok(())
        })
        .await?;
        let object = world.cluster.get(&path(&world, "misfit")).await?;
        ensure!(object.is_none(), "the host made the object again: {object:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_with_a_reference_pulls_its_plugin_and_follows_the_reference() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        definition(&world).await?;
        let registry = Registry::open(world.folder()).await?;
        for version in ["1", "2"] {
            oci::push(registry.address(), &format!("team/idler:v{version}"), version, None).await?;
        }
        let reference = |version: &str| format!("oci://{}/team/idler:{version}", registry.address());
        let cache = world.folder().join("oci").display().to_string();
        let args = ["--plugin-objects", &world.namespace, "--oci-cache", &cache, "--oci-poll-seconds", "1"];
        world.start_host_with(&args).await?;
        let grant = json!({"permissions": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}]});
        let spec = |version: &str| json!({"source": {"reference": reference(version)}, "grant": grant});
        // The object says the name, whatever the manifest says.
        apply(&world, "idle", &spec("v1")).await?;
        shows(&world, "idle", "version 1", runs("1")).await?;
        let shown = entry(&world, "idle").await?;
        ensure!(text(&shown, "/source/reference") == reference("v1"), "{shown:#}");
        apply(&world, "idle", &spec("v2")).await?;
        let object = shows(&world, "idle", "version 2", runs("2")).await?;
        ensure!(object["status"]["revisions"].as_array().is_some_and(|all| all.len() == 2), "{object:#}");
        let ended = world.log(|line| line.text.contains("to=draining")).await?;
        ensure!(ended.is_empty(), "{ended:?}");
        // A reference that leads nowhere changes nothing that runs.
        apply(&world, "idle", &spec("v3")).await?;
        let object = shows(&world, "idle", "the fault", |object| condition(object, "Degraded") == "True").await?;
        ensure!(text(&object, "/status/version") == "2" && condition(&object, "Ready") == "True", "{object:#}");
        // A tag that moves is a swap; without the registry the cache suffices.
        apply(&world, "idle", &spec("v2")).await?;
        oci::push(registry.address(), "team/idler:v2", "3", None).await?;
        shows(&world, "idle", "version 3", runs("3")).await?;
        world.kill_host().await?;
        drop(registry);
        let left = world.cluster.get(&path(&world, "idle")).await?.context("gone")?;
        ensure!(runs("3")(&left), "{left:#}");
        world.start_host_with(&args).await?;
        eventually(SOON, "the plugin of the cache", || async {
            let entry = entry(&world, "idle").await?;
            ensure!(text(&entry, "/state") == "active" && text(&entry, "/version") == "3", "{entry:#}");
            Ok(())
        })
        .await
    })
    .await
}

/// Every fault is a line in the condition, and what runs goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_object_says_in_one_line_what_to_do_and_stops_nothing() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        definition(&world).await?;
        world.plugins.file("misfit.wasm", &misfit_version("one", "")?)?;
        world.plugins.file("granted.wasm", &misfit_version("one", "")?)?;
        world.plugins.grant("granted", &super::grant(&world).name("granted"))?;
        start(&world).await?;
        let good = json!({"source": {"file": "misfit.wasm"}, "grant": grant(&world)});
        apply(&world, "misfit", &good).await?;
        shows(&world, "misfit", "the plugin", runs("one")).await?;
        for (name, spec, line) in [
            ("absent", json!({"source": {"file": "absent.wasm"}}), "not in the plugin directory"),
            ("outside", json!({"source": {"file": "../misfit.wasm"}}), "not the name of a file"),
            ("bad", json!({"source": {"reference": "misfit:1"}}), "write oci://"),
            ("other", good.clone(), "that of Plugin misfit already"),
            ("no.name", good.clone(), "cannot be the name of a plugin"),
            (
                "granted",
                json!({"source": {"file": "granted.wasm"}, "grant": grant(&world)}),
                "granted.yaml stays in force",
            ),
        ] {
            // The object of the host is there: a person takes it over.
            world
                .cluster
                .request(
                    http::Method::PATCH,
                    &format!("{}?fieldManager=a-person&force=true", path(&world, name)),
                    "application/apply-patch+yaml",
                    &object(&world, name, &spec),
                )
                .await?;
            let shown = shows(&world, name, line, |object| says(object, "Degraded").contains(line)).await?;
            ensure!(says(&shown, "Degraded").starts_with("InvalidObject: "), "{shown:#}");
            ensure!(shown["status"]["observedGeneration"] == shown["metadata"]["generation"], "{shown:#}");
        }
        shows(&world, "granted", "the plugin of the directory", |object| condition(object, "Ready") == "True").await?;
        // The API server refuses what it can.
        for (spec, line) in [
            (json!({"source": {}}), "either file or reference"),
            (json!({"source": {"file": "a.wasm", "reference": "oci://r/a:1"}}), "either file or reference"),
            (
                json!({"source": {"file": "a.wasm"}, "grant": {"secretFiles": {"a": "/etc/shadow"}}}),
                "read files of the host",
            ),
            (json!({"source": {"file": "a.wasm"}, "grant": {"workers": "three"}}), "workers"),
        ] {
            let refused = apply(&world, "refused", &spec).await;
            let error = refused.err().with_context(|| format!("{spec} was taken"))?;
            ensure!(format!("{error:#}").contains(line), "{error:#}");
        }
        // A running plugin survives a fault of its object.
        wish(&world, "misfit", &json!({"source": {"file": "x/y.wasm"}})).await?;
        let object = shows(&world, "misfit", "the fault", |object| condition(object, "Degraded") == "True").await?;
        ensure!(condition(&object, "Ready") == "True", "{object:#}");
        Ok(())
    })
    .await
}

/// What a person wrote, the host never writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_host_gives_its_object_to_the_person_who_writes_its_source_or_grant() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        definition(&world).await?;
        world.plugins.file("misfit.wasm", &misfit_version("one", "")?)?;
        start(&world).await?;
        let made =
            shows(&world, "misfit", "the object of the host", |object| condition(object, "AwaitingApproval") == "True")
                .await?;
        ensure!(text(&made, "/metadata/labels/app.kubernetes.io~1managed-by") == "oarlock", "{made:#}");
        // The same source is no conflict, and no force is needed.
        apply(&world, "misfit", &json!({"source": {"file": "misfit.wasm"}, "grant": grant(&world)})).await?;
        let taken = shows(&world, "misfit", "the plugin", runs("one")).await?;
        ensure!(taken.pointer("/metadata/labels").is_none(), "{taken:#}");
        let entries = taken.pointer("/metadata/managedFields").and_then(Value::as_array).context("no managers")?;
        let spec = |entry: &&Value| entry.pointer("/fieldsV1/f:spec").is_some();
        let managers: Vec<String> = entries.iter().filter(spec).map(|entry| text(entry, "/manager")).collect();
        ensure!(managers == ["a-person"], "{managers:?}");
        steady(A_WHILE, "the object of a person", || async {
            let object = world.cluster.get(&path(&world, "misfit")).await?.context("gone")?;
            ensure!(
                object.pointer("/metadata/resourceVersion") == taken.pointer("/metadata/resourceVersion")
                    || object["spec"] == taken["spec"],
                "{object:#}"
            );
            Ok(())
        })
        .await?;
        // It stays when its file goes, and says why nothing runs.
        world.plugins.remove("misfit.wasm")?;
        shows(&world, "misfit", "the absent file", |object| {
            says(object, "Degraded").contains("not in the plugin directory")
        })
        .await?;
        eventually(SOON, "the end of the plugin", || async {
            ensure!(entry(&world, "misfit").await.is_err(), "it is there");
            Ok(())
        })
        .await
    })
    .await
}

/// An object that was copied with the label of the host is that of the person who copied it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_of_the_object_of_the_host_is_never_deleted() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        definition(&world).await?;
        world.plugins.file("misfit.wasm", &misfit_version("one", "")?)?;
        start(&world).await?;
        let mut copy = shows(&world, "misfit", "the object of the host", |_| true).await?;
        copy["metadata"] = json!({"name": "copy", "namespace": world.namespace, "labels": copy["metadata"]["labels"]});
        copy["spec"] = json!({"source": {"file": "later.wasm"}, "grant": grant(&world)});
        let all = format!("/apis/oarlock.dev/v1alpha1/namespaces/{}/plugins", world.namespace);
        let made = world.cluster.create(&all, &copy).await?;
        let fault = |object: &Value| says(object, "Degraded").contains("not in the plugin directory");
        let taken = shows(&world, "copy", "the fault of the copy", fault).await?;
        let kept = |field: &str| taken.pointer(field) == made.pointer(field);
        ensure!(kept("/metadata/uid") && kept("/spec") && taken.pointer("/metadata/labels").is_none(), "{taken:#}");
        world.plugins.file("later.wasm", &misfit_version("two", "")?)?;
        shows(&world, "copy", "the plugin of the copy", runs("two")).await.map(drop)
    })
    .await
}
