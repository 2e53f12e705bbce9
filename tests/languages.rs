//! One reconciler in every language: the same story for each, and swaps from one to the next while edits go on.

use anyhow::{Context, Result, ensure};
use http::Method;
use oarlock_tests::harness::{
    Grant, World, WorldOptions, built_plugin, eventually, repository_root, tested_languages, text, with_world,
};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Compiling Python takes half a minute of both cores, of others.
const SOON: Duration = Duration::from_secs(180);

/// The languages of the sample and of the ill-behaved guest.
const LANGUAGES: [&str; 6] = ["rust", "js", "ts", "python", "c", "go"];

/// Those of the guest that uses the imports.
const IMPORTS: [&str; 2] = ["js", "c"];

/// Those of the guest that lists by a declared index.
const INDEXED: [&str; 4] = ["js", "python", "c", "go"];

/// The file of a language.
fn built(name: &str, language: &str) -> Result<PathBuf> {
    built_plugin(&format!("{name}-{language}"))
}

fn options() -> WorldOptions {
    WorldOptions { host: false, network: false, crd: false, ..WorldOptions::default() }
}

fn grant() -> Grant {
    let verbs = ["get", "list", "watch", "create", "patch", "delete"];
    Grant::nothing().rule("", &["namespaces"], &["get", "list", "watch"]).rule("", &["resourcequotas"], &verbs).rule(
        "networking.k8s.io",
        &["networkpolicies"],
        &verbs,
    )
}

fn quota(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/resourcequotas/baseline")
}

fn policy(namespace: &str) -> String {
    format!("/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies/default-deny")
}

async fn place(world: &World, language: &str, file: &PathBuf) -> Result<()> {
    world.plugins.place("namespace-baseline.wasm", &fs::read(file)?)?;
    let version = format!("0.1.0-{language}");
    eventually(SOON, &format!("{version} to run"), || async {
        let entry = world.host(async |host| host.plugin("namespace-baseline").await).await?;
        ensure!(text(&entry, "/state") == "active" && text(&entry, "/version") == version, "{entry}");
        Ok(())
    })
    .await
}

async fn namespace(world: &World, name: &str, annotation: Option<&str>) -> Result<()> {
    let annotations = annotation.map_or(json!({}), |quota| json!({"baseline.oarlock.dev/quota": quota}));
    let made = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": name, "labels": {"oarlock.dev/baseline": "true"}, "annotations": annotations}});
    world.cluster.create("/api/v1/namespaces", &made).await.map(|_| ())
}

/// Waits for the quota of a namespace to allow so many Pods, and for its policy.
async fn guarded(world: &World, name: &str, pods: &str) -> Result<()> {
    eventually(SOON, &format!("namespace {name} to have {pods} pods and its policy"), || async {
        let quota = world.cluster.get(&quota(name)).await?.context("no quota")?;
        ensure!(text(&quota, "/spec/hard/pods") == pods, "{quota}");
        ensure!(text(&quota, "/metadata/ownerReferences/0/kind") == "Namespace", "{quota}");
        let policy = world.cluster.get(&policy(name)).await?.context("no policy")?;
        ensure!(policy.pointer("/spec/policyTypes") == Some(&json!(["Ingress"])), "{policy}");
        Ok(())
    })
    .await
}

async fn annotate(world: &World, name: &str, quota: &Value) -> Result<()> {
    let patch = json!({"metadata": {"annotations": {"baseline.oarlock.dev/quota": quota}}});
    world.cluster.merge_patch(&format!("/api/v1/namespaces/{name}"), &patch).await.map(|_| ())
}

/// What a user sees of one namespace from its creation to its end.
async fn story(world: &World, language: &str) -> Result<()> {
    let name = format!("{}-{language}", world.namespace);
    namespace(world, &name, None).await?;
    guarded(world, &name, "50").await?;
    // Drift.
    world.cluster.delete(&quota(&name)).await?;
    world.cluster.delete(&policy(&name)).await?;
    guarded(world, &name, "50").await?;
    annotate(world, &name, &json!(r#"{"pods": "7"}"#)).await?;
    guarded(world, &name, "7").await?;
    // An error of the object: told, and nothing changes.
    annotate(world, &name, &json!("[1]")).await?;
    let message = "annotation baseline.oarlock.dev/quota is not a JSON object of strings";
    eventually(SOON, "an event about the annotation", || async {
        let events = world.cluster.list("/api/v1/events").await?;
        let told =
            |event: &Value| text(event, "/involvedObject/name") == name && text(event, "/message").contains(message);
        ensure!(events.iter().any(told), "{events:?}");
        Ok(())
    })
    .await?;
    guarded(world, &name, "7").await?;
    annotate(world, &name, &Value::Null).await?;
    guarded(world, &name, "50").await?;
    // Switched off.
    let off = json!({"metadata": {"labels": {"oarlock.dev/baseline": "false"}}});
    world.cluster.merge_patch(&format!("/api/v1/namespaces/{name}"), &off).await?;
    eventually(SOON, "quota and policy to go", || async {
        ensure!(world.cluster.get(&quota(&name)).await?.is_none(), "the quota is there");
        ensure!(world.cluster.get(&policy(&name)).await?.is_none(), "the policy is there");
        Ok(())
    })
    .await?;
    world.cluster.delete(&format!("/api/v1/namespaces/{name}")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_language_lives_the_same_story_and_takes_over_from_another_without_a_write() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.plugins.grant("namespace-baseline", &grant())?;
        let stays = format!("{}-stays", world.namespace);
        namespace(&world, &stays, None).await?;
        world.start_host().await?;
        for (nth, language) in tested_languages(&LANGUAGES).into_iter().enumerate() {
            let file = built("namespace-baseline", language)?;
            let mark = world.kubernetes_gate.mark();
            // An edit that nobody has seen when the version changes.
            let pods = (100 + nth).to_string();
            let edited = format!("{}-edited", world.namespace);
            if nth == 0 {
                namespace(&world, &edited, Some(r#"{"pods": "0"}"#)).await?;
            }
            let (placed, edits) = tokio::join!(place(&world, language, &file), async {
                for step in 0..20 {
                    let between = format!("{{\"pods\": \"{}\"}}", if step == 19 { &pods } else { "1" });
                    annotate(&world, &edited, &json!(between)).await?;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                anyhow::Ok(())
            });
            placed.context(language)?;
            edits?;
            guarded(&world, &edited, &pods).await.context(language)?;
            guarded(&world, &stays, "50").await.context(language)?;
            if nth > 0 {
                let writes = world.kubernetes_gate.writes_since(mark);
                let foreign: Vec<String> = writes
                    .iter()
                    .filter(|w| w.method != Method::POST || !w.path.contains("events"))
                    .filter(|w| w.path.contains(&format!("/{stays}/")))
                    .map(ToString::to_string)
                    .collect();
                ensure!(foreign.is_empty(), "{language} wrote although the states agree: {foreign:?}");
            }
            story(&world, language).await.context(language)?;
        }
        Ok(())
    })
    .await
}

/// What a guest does, and what its author must be able to read. `|` separates what any of the languages may say.
const MODES: [(&str, &str); 9] = [
    ("throw", "the answer is 42"),
    ("exit", "exit|not defined|unreachable"),
    ("sleep", "sleep|not defined|requeue|deadline"),
    ("open", "passwd|no files|No such file|not found|not defined|open|file"),
    ("env", "HOME|environment|not defined"),
    ("thread", "thread|Thread|not defined|Worker|spawn"),
    ("loop", "deadline"),
    ("nonsense", "not JSON"),
    ("print", ""),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_guest_does_wrong_is_told_in_its_authors_words_and_counted() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.start_host().await?;
        for language in tested_languages(&LANGUAGES) {
            let file = built("unruly", language)?;
            for (mode, words) in MODES {
                // Rust without WASI has nowhere to print to.
                if (language, mode) == ("rust", "print") {
                    continue;
                }
                misbehaves(&world, language, &file, mode, words)
                    .await
                    .with_context(|| format!("{language} does {mode}"))?;
            }
        }
        Ok(())
    })
    .await
}

async fn misbehaves(world: &World, language: &str, file: &PathBuf, mode: &str, words: &str) -> Result<()> {
    let name = format!("unruly-{language}");
    // Elsewhere a real cluster has ConfigMaps of its own, whose failures would earn a quarantine.
    let grant = Grant::nothing()
        .rule_in(&world.namespace, "", &["configmaps"], &["get", "list", "watch"])
        .config("mode", mode)
        .limits(|limits| limits.deadline_seconds = if ["loop", "sleep"].contains(&mode) { 1 } else { 10 });
    let object = format!("{language}-{mode}");
    let made = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": object}});
    world.cluster.create(&format!("/api/v1/namespaces/{}/configmaps", world.namespace), &made).await?;
    world.plugins.grant(&name, &grant)?;
    world.plugins.place(&format!("{name}.wasm"), &fs::read(file)?)?;
    if mode == "print" {
        eventually(SOON, "what was printed to be in the log", || async {
            let lines = world.log(|line| line.field("plugin").as_deref() == Some(name.as_str())).await?;
            for stream in ["stdout", "stderr"] {
                ensure!(lines.iter().any(|line| line.text.contains(stream)), "nothing of {stream}: {lines:?}");
            }
            Ok(())
        })
        .await?;
    } else {
        eventually(SOON, &format!("a message with one of {words}"), || async {
            let of_key = |line: &oarlock_tests::harness::LogLine| {
                line.text.contains(&object) && line.field("plugin").as_deref() == Some(name.as_str())
            };
            let lines = world.log(of_key).await?;
            let failed = |line: &&oarlock_tests::harness::LogLine| line.text.contains("reconcile failed");
            let told = words.split('|').any(|word| lines.iter().filter(failed).any(|line| line.text.contains(word)));
            ensure!(told, "{lines:?}");
            let errors = world
                .host(async |host| {
                    host.metric("controller_runtime_reconcile_errors_total", &[&format!("\"{name}\"")]).await
                })
                .await?;
            ensure!(errors > 0.0, "not counted");
            Ok(())
        })
        .await?;
    }
    // The next one must not wait behind a quarantine that this one's object earned.
    world.cluster.delete(&format!("/api/v1/namespaces/{}/configmaps/{object}", world.namespace)).await?;
    removed(world, &name).await
}

/// Takes a plugin away, and waits until it is gone.
async fn removed(world: &World, name: &str) -> Result<()> {
    world.plugins.remove(&format!("{name}.wasm"))?;
    eventually(SOON, "the plugin to be gone", || async {
        let plugins = world.host(async |host| host.plugins().await).await?;
        ensure!(!plugins.to_string().contains(name), "{plugins}");
        Ok(())
    })
    .await
}

/// Plays the cases of a folder.
async fn passes(file: &Path, cases: &Path) -> Result<()> {
    let (file, cases) = (file.display().to_string(), cases.display().to_string());
    let output = oarlock_tests::harness::oarlock(&["test", &file, "--cases", &cases]).await?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{file} with {cases}: {said}");
    Ok(())
}

/// The cases of the sample hold for its component in every language.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_language_passes_the_cases_of_every_language() -> Result<()> {
    let samples = repository_root().join("plugins/namespace-baseline");
    let languages = tested_languages(&LANGUAGES);
    for language in &languages {
        let file = built("namespace-baseline", language)?;
        for of in &languages {
            let cases = samples.join(of).join("cases");
            if cases.is_dir() {
                passes(&file, &cases).await?;
            }
        }
    }
    Ok(())
}

/// Lists, HTTP and its errors, the cache and merging, in JavaScript behind `await`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_sdk_makes_of_the_imports_is_so_inside_a_component() -> Result<()> {
    for language in tested_languages(&IMPORTS) {
        passes(&built("imports", language)?, &repository_root().join("tests/guests/imports/cases")).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_in_each_language_lists_by_a_declared_index() -> Result<()> {
    for language in tested_languages(&INDEXED) {
        passes(&built("indexed", language)?, &repository_root().join("tests/guests/indexed/cases")).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_that_awaits_what_a_server_answers_keeps_a_network_as_the_cluster_wants_it() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.start_host().await?;
        account(&world, "web").await?;
        for (nth, language) in tested_languages(&IMPORTS).into_iter().enumerate() {
            let url = world.neutron_gate.url();
            let read = ["get", "list", "watch"];
            let grant = Grant::nothing().rule("", &["configmaps"], &[read.as_slice(), &["patch"]].concat());
            let grant = grant.rule("", &["serviceaccounts"], &read).origin(&url).config("url", &format!("{url}/v2.0"));
            let name = format!("imports-{language}");
            world.plugins.grant(&name, &grant)?;
            world.plugins.place(&format!("{name}.wasm"), &fs::read(built("imports", language)?)?)?;
            let wanted = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"network": "wanted"}});
            let path = format!("/api/v1/namespaces/{}/configmaps", world.namespace);
            let uid = text(&world.cluster.create(&path, &wanted).await?, "/metadata/uid");
            // Every language finds one ServiceAccount more.
            let accounts = ["web", "web,z0", "web,z0,z1"];
            described(&world, &uid, accounts[nth]).await.context(language)?;
            eventually(SOON, "what was merged to be written", || async {
                let object = world.cluster.get(&format!("{path}/{name}")).await?.context("no ConfigMap")?;
                let containers = text(&object, "/metadata/annotations/example.com~1containers");
                ensure!(containers == "theirs=theirs:1,one=one:2,two=two:1", "{object}");
                Ok(())
            })
            .await?;
            account(&world, &format!("z{nth}")).await?;
            described(&world, &uid, accounts[nth + 1]).await.context(language)?;
            // It would make a network for the next one's object too.
            removed(&world, &name).await?;
        }
        Ok(())
    })
    .await
}

async fn account(world: &World, name: &str) -> Result<()> {
    let made =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "labels": {"part": "true"}}});
    world.cluster.create(&format!("/api/v1/namespaces/{}/serviceaccounts", world.namespace), &made).await.map(|_| ())
}

/// Waits for the network of an object to name these ServiceAccounts.
async fn described(world: &World, uid: &str, accounts: &str) -> Result<()> {
    eventually(SOON, &format!("a network of {accounts}"), || async {
        let networks = world.neutron.networks_of(uid).await?;
        let described: Vec<String> = networks.iter().map(|network| text(network, "/description")).collect();
        ensure!(described == [accounts], "{networks:?}");
        Ok(())
    })
    .await
}

/// Guests that lend the host memory to write to lend less than this.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_of_more_than_a_megabyte_reaches_every_language() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "u1",
        "annotations": {"filler": "x".repeat(1200 << 10), "baseline.oarlock.dev/quota": "[]"},
        "labels": {"oarlock.dev/baseline": "true"}}});
    let message = "annotation baseline.oarlock.dev/quota is not a JSON object of strings";
    let case = json!({"request": {"object": object}, "expect": {"error": {"terminal": message}}});
    fs::write(folder.path().join("large.yaml"), case.to_string())?;
    for language in tested_languages(&LANGUAGES) {
        passes(&built("namespace-baseline", language)?, folder.path()).await?;
    }
    Ok(())
}

/// Each file is `plugins/namespace-baseline/rust` as it was built for that version. A new version of the contract adds one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn components_of_every_version_of_the_contract_go_on_working() -> Result<()> {
    // The SDK of that time wrote one field more.
    let folder = tempfile::tempdir()?;
    for entry in fs::read_dir(repository_root().join("plugins/namespace-baseline/rust/cases"))? {
        let file = entry?.path();
        let case =
            fs::read_to_string(&file)?.replace("controller: true}", "controller: true, blockOwnerDeletion: true}");
        fs::write(folder.path().join(file.file_name().unwrap_or_default()), case)?;
    }
    let cases = folder.path().display().to_string();
    let mut versions = Vec::new();
    for entry in fs::read_dir(repository_root().join("tests/fixtures/contract"))? {
        let file = entry?.path();
        let version = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let file = file.display().to_string();
        let inspected = oarlock_tests::harness::oarlock(&["inspect", &file, "--json"]).await?;
        let manifest: Value = serde_json::from_slice(&inspected.stdout).with_context(|| format!("{inspected:?}"))?;
        ensure!(text(&manifest, "/contract") == version, "{manifest}");
        let played = oarlock_tests::harness::oarlock(&["test", &file, "--cases", &cases]).await?;
        ensure!(played.status.success(), "{version}: {played:?}");
        versions.push(version);
    }
    let served = fs::read_to_string(repository_root().join("wit/reconciler.wit"))?;
    let served =
        served.lines().find_map(|line| line.strip_prefix("package oarlock:reconciler@")).context("no version")?;
    let served = served.trim_end_matches(';');
    ensure!(versions.iter().any(|version| version == served), "no file for {served}: {versions:?}");
    Ok(())
}
