//! The versions that ran, and the way back to one of them: on one host, and on every host by the Plugin object.

use super::declared::apply;
use super::{condition, definition, grant, has_child, key, path, shows};
use crate::oci;
use crate::plan::ALONE;
use crate::rollouts;
use anyhow::{Context, Result, ensure};
use http::StatusCode;
use oarlock_tests::harness::{
    Action, Gate, Registry, Rule, SOON, Tripwire, Upstream, World, eventually, misfit_version, misfit_with, oarlock,
    steady, text, with_world,
};
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn unavailable() -> Action {
    Action::Answer { status: StatusCode::SERVICE_UNAVAILABLE, headers: Vec::new(), body: Vec::new().into() }
}

/// Runs a command against the host; what it says.
async fn ask(world: &World, args: &[&str]) -> Result<Result<String, String>> {
    let address = world.host(async |host| Ok(host.admin().base().trim_start_matches("http://").to_owned())).await?;
    let kubeconfig = world.cluster.kubeconfig().display().to_string();
    let mut all = args.to_vec();
    if args.first() == Some(&"rollout") {
        all.extend(["--admin-addr", &address, "--kubeconfig", &kubeconfig]);
    } else {
        all.extend(["--admin-addr", &address]);
    }
    let output = oarlock(&all).await?;
    let (out, err) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    Ok(if output.status.success() { Ok(out) } else { Err(err) })
}

async fn said(world: &World, args: &[&str]) -> Result<String> {
    ask(world, args).await?.map_err(anyhow::Error::msg)
}

/// Waits until the host runs a version of the misfit.
async fn runs(world: &World, version: &str) -> Result<Value> {
    eventually(SOON, &format!("version {version}"), || async {
        let entry = world.host(async |host| host.plugin("misfit").await).await?;
        ensure!(text(&entry, "/state") == "active" && text(&entry, "/version") == version, "{entry:#}");
        Ok(entry)
    })
    .await
}

/// Waits until the host has this many revisions; returns them.
async fn revisions(world: &World, number: usize) -> Result<Vec<Value>> {
    eventually(SOON, "the revisions", || async {
        let all: Vec<Value> =
            serde_json::from_str(&said(world, &["rollout", "history", "misfit", "-o", "json"]).await?)?;
        ensure!(all.len() == number, "{all:?}");
        Ok(all)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_goes_back_on_a_host_which_survives_a_restart_until_the_file_changes_or_is_confirmed() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        world.plugins.grant("misfit", &grant(&world))?;
        world.plugins.file("misfit.wasm", &misfit_version("one", "")?)?;
        key(&world, "a").await?;
        world.start_host().await?;
        runs(&world, "one").await?;
        let refused = ask(&world, &["rollout", "undo", "misfit"]).await?.err().context("nothing to go back to")?;
        ensure!(refused.contains("no earlier revision"), "{refused}");
        for version in ["two", "three"] {
            world.plugins.file("misfit.wasm", &misfit_version(version, "remembers")?)?;
            runs(&world, version).await?;
        }
        let all = revisions(&world, 3).await?;
        ensure!(all[2]["version"] == "one" && all[2]["revision"] == 1, "{all:?}");
        let then = said(&world, &["rollout", "history", "misfit", "--revision", "1"]).await?;
        ensure!(then.contains("permissions:"), "{then}");

        said(&world, &["rollout", "undo", "misfit", "--to-revision", "1"]).await?;
        let undone = |entry: &Value| {
            text(entry, "/next/version") == "three" && text(entry, "/next/reason").contains("a person went back")
        };
        let is_undone = || {
            eventually(SOON, "version one, to which a person went back", || async {
                let entry = runs(&world, "one").await?;
                ensure!(undone(&entry), "{entry:#}");
                Ok(())
            })
        };
        is_undone().await?;
        has_child(&world, "a").await?;
        revisions(&world, 4).await?;
        // A changed grant is no reason to run it again.
        world.plugins.grant("misfit", &grant(&world).workers(2))?;
        world.logged("the change of the grant", |line| line.text.contains("grant changed")).await?;
        is_undone().await?;
        let swaps =
            world.log(|line| line.text.contains("version swapped") && line.text.contains(r#""to":"three""#)).await?;
        ensure!(swaps.len() == 1, "it ran again: {swaps:?}");
        world.kill_host().await?;
        world.start_host().await?;
        is_undone().await?;
        // A person may change their mind.
        said(&world, &["confirm", "misfit"]).await?;
        runs(&world, "three").await?;
        said(&world, &["rollout", "undo", "misfit"]).await?;
        runs(&world, "one").await?;
        // Another file is another matter.
        world.plugins.file("misfit.wasm", &misfit_version("four", "remembers")?)?;
        runs(&world, "four").await.map(drop)
    })
    .await
}

/// A grant that was taken away does not come back with an old version.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_earlier_version_runs_with_the_present_grant_or_not_at_all() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        let asks = |version: &str, status: bool| {
            misfit_with(version, "", |manifest| {
                if let Some(fields) = manifest.as_object_mut() {
                    fields.insert("manageStatus".to_owned(), json!(status));
                }
            })
        };
        world.plugins.grant("misfit", &grant(&world).manage_status())?;
        world.plugins.file("misfit.wasm", &asks("one", true)?)?;
        world.start_host().await?;
        runs(&world, "one").await?;
        world.plugins.file("misfit.wasm", &asks("two", false)?)?;
        runs(&world, "two").await?;
        revisions(&world, 2).await?;
        world.plugins.grant("misfit", &grant(&world))?;
        world.logged("the change of the grant", |line| line.text.contains("grant changed")).await?;
        let refused = ask(&world, &["rollout", "undo", "misfit"]).await?.err().context("it went back")?;
        ensure!(refused.contains("asks for more than the present grant allows"), "{refused}");
        runs(&world, "two").await.map(drop)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_undo_of_an_object_is_obeyed_and_a_host_without_the_code_pulls_it_by_digest() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        definition(&world).await?;
        let registry = Registry::open(world.folder()).await?;
        let reference = format!("oci://{}/team/misfit:v", registry.address());
        let args = |folder: &str| {
            let folder = world.folder().join(folder).display().to_string();
            let args = ["--plugin-objects", &world.namespace, "--oci-poll-seconds", "1", "--cache-dir", &folder];
            args.map(str::to_owned)
        };
        let host = async |folder: &str| {
            let args = args(folder);
            world.start_host_with(&args.iter().map(String::as_str).collect::<Vec<_>>()).await
        };
        host("first").await?;
        let idle = json!({"permissions": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}]});
        apply(&world, "idle", &json!({"source": {"reference": reference}, "grant": idle})).await?;
        for version in ["1", "2"] {
            oci::push(registry.address(), "team/misfit:v", version, None).await?;
            shows(&world, "idle", version, |object| text(object, "/status/version") == version && condition(object, "Ready") == "True")
                .await?;
        }
        let target = format!("{}/idle", world.namespace);
        let history = said(&world, &["rollout", "history", "Plugin", &target]).await?;
        ensure!(history.lines().count() == 3, "{history}");
        let back = |object: &Value| text(object, "/status/version") == "1" && text(object, "/status/candidate/version") == "2";
        said(&world, &["rollout", "undo", "Plugin", &target]).await?;
        shows(&world, "idle", "version 1", back).await?;
        // A host that never ran version 1 begins with it: the object knows that it ran last.
        world.kill_host().await?;
        host("second").await?;
        eventually(SOON, "version 1 on the second host", || async {
            let entry = world.host(async |host| host.plugin("idle").await).await?;
            ensure!(text(&entry, "/version") == "1" && text(&entry, "/next/version") == "2", "{entry:#}");
            Ok(())
        })
        .await?;
        let ran = |object: &Value, times: usize| object["status"]["revisions"].as_array().is_some_and(|all| all.len() == times);
        shows(&world, "idle", "version 1, without version 2 in between", |object| back(object) && ran(object, 3)).await?;
        said(&world, &["rollout", "undo", "Plugin", &target, "--cancel"]).await?;
        shows(&world, "idle", "version 2", |object| text(object, "/status/version") == "2" && condition(object, "Degraded") == "False").await?;
        // A host that should go back from the version that ran last pulls the other one.
        oci::push(registry.address(), "team/misfit:v", "3", None).await?;
        shows(&world, "idle", "version 3", |object| text(object, "/status/version") == "3" && ran(object, 5)).await?;
        world.kill_host().await?;
        let kubeconfig = world.cluster.kubeconfig().display().to_string();
        let undo = ["rollout", "undo", "Plugin", &target, "--to-revision", "1", "--kubeconfig", &kubeconfig];
        let asked = oarlock(&undo).await?;
        ensure!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
        host("third").await?;
        shows(&world, "idle", "version 1 again", |object| text(object, "/status/version") == "1" && ran(object, 6)).await?;
        said(&world, &["rollout", "undo", "Plugin", &target, "--cancel"]).await?;
        shows(&world, "idle", "version 3", |object| text(object, "/status/version") == "3" && condition(object, "Degraded") == "False").await?;
        // What no host has, it says.
        let nothing = format!("sha256:{}", "0".repeat(64));
        let now = world.cluster.get(&path(&world, "idle")).await?.context("gone")?;
        super::wish(&world, "idle", &json!({"undo": {"from": text(&now, "/status/digest"), "to": nothing}})).await?;
        let object = shows(&world, "idle", "the fault", |object| condition(object, "Degraded") == "True").await?;
        ensure!(object.to_string().contains("does not have the code of sha256:000"), "{object:#}");

        Ok(())
    })
    .await
}

/// A new host does not know the earlier version yet. The version that was undone reconciles nothing meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_host_reconciles_nothing_with_the_version_that_was_undone() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        definition(&world).await?;
        let registry = Registry::open(world.folder()).await?;
        let gate = Gate::open(Upstream::Http(format!("http://{}", registry.address())), Tripwire::default()).await?;
        let reference = format!("{}/team/misfit:v", gate.url().replace("http://", "oci://"));
        let host = async |folder: &str| {
            let folder = world.folder().join(folder).display().to_string();
            world
                .start_host_with(&[
                    "--plugin-objects",
                    &world.namespace,
                    "--oci-poll-seconds",
                    "1",
                    "--cache-dir",
                    &folder,
                ])
                .await
        };
        host("first").await?;
        let verbs = ["get", "list", "watch", "create", "patch", "delete"];
        let grant = json!({"permissions": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}]});
        apply(&world, "misfit", &json!({"source": {"reference": reference}, "grant": grant})).await?;
        rollouts::objects(&world, 4, 0).await?;
        for (version, mode, marked) in [("one", "", 0), ("two", "marked", 4)] {
            let wasm = misfit_version(version, mode)?;
            oci::push_component(registry.address(), "team/misfit:v", wasm, None).await?;
            eventually(2 * SOON, version, || async {
                let children = rollouts::children(&world).await?.len();
                ensure!(children == 4 && rollouts::marked(&world).await? == marked);
                Ok(())
            })
            .await?;
        }
        let target = format!("{}/misfit", world.namespace);
        let both = |object: &Value| object["status"]["revisions"].as_array().is_some_and(|all| all.len() == 2);
        shows(&world, "misfit", "two revisions", both).await?;
        said(&world, &["rollout", "undo", "Plugin", &target]).await?;
        let back = |object: &Value| {
            text(object, "/status/version") == "one" && text(object, "/status/candidate/version") == "two"
        };
        shows(&world, "misfit", "version one", back).await?;
        eventually(SOON, "the writes of version one", || async {
            ensure!(rollouts::marked(&world).await? == 0);
            Ok(())
        })
        .await?;
        world.kill_host().await?;
        let object = world.cluster.get(&path(&world, "misfit")).await?.context("no Plugin object")?;
        let undone_to = text(&object, "/spec/undo/reference");
        let (_, manifest) = undone_to.split_once('@').context("no digest")?;
        let mark = world.kubernetes_gate.mark();
        // A fault that passes.
        let fault = gate.rule(Rule::every(unavailable()).path(&format!("/manifests/{manifest}")).times(2));
        host("second").await?;
        rollouts::object(&world, "late").await?;
        eventually(2 * SOON, "the child of a new object", || async {
            ensure!(rollouts::children(&world).await?.contains_key("late"));
            Ok(())
        })
        .await?;
        let wrong = world.kubernetes_gate.writes_since(mark).into_iter();
        let wrong: Vec<_> = wrong.filter(|write| String::from_utf8_lossy(&write.body).contains("\"marked\"")).collect();
        ensure!(wrong.is_empty(), "{wrong:?}");
        ensure!(fault.hits() == 2, "the registry had {} faults", fault.hits());
        shows(&world, "misfit", "version one", back).await.map(drop)
    })
    .await
}

/// Who takes a version back wants it gone now, and not at some time after its promotion.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_undo_of_a_version_that_is_rolled_out_aborts_the_rollout() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        rollouts::objects(&world, 6, 0).await?;
        rollouts::started(&world, "", 6, &json!({"canary": {"percent": 100, "for": "1h"}})).await?;
        let before = rollouts::children(&world).await?;
        world.plugins.file("misfit.wasm", &misfit_version("two", "marked")?)?;
        let canary = async |version: &str| {
            shows(&world, "misfit", "the canary", |object| {
                text(object, "/status/rollout/phase") == "canary"
                    && text(object, "/status/candidate/version") == version
            })
            .await
        };
        let written = async || {
            eventually(2 * SOON, "the candidate's writes", || async {
                ensure!(rollouts::marked(&world).await? == 6);
                Ok(())
            })
            .await
        };
        let undone = async |why: &str| -> Result<()> {
            rollouts::aborted(&world, "two", why).await?;
            rollouts::restored(&world, &before).await
        };
        written().await?;
        let object = canary("two").await?;
        let (one, two) = (text(&object, "/status/digest"), text(&object, "/status/candidate/digest"));
        // Written with kubectl, by the command, and by the command for one host: all do the same.
        super::wish(&world, "misfit", &json!({"undo": {"from": two, "to": one}})).await?;
        undone("a person went back with spec.undo").await?;
        let target = format!("{}/misfit", world.namespace);
        said(&world, &["rollout", "undo", "Plugin", &target, "--cancel"]).await?;
        written().await?;
        canary("two").await?;
        said(&world, &["rollout", "undo", "Plugin", &target]).await?;
        undone("a person went back with spec.undo").await?;
        said(&world, &["rollout", "undo", "Plugin", &target, "--cancel"]).await?;
        written().await?;
        said(&world, &["rollout", "undo", "misfit"]).await?;
        undone("a person went back").await?;

        // To a version before the one that runs.
        said(&world, &["confirm", "misfit"]).await?;
        written().await?;
        rollouts::command(&world, "promote").await?;
        rollouts::runs(&world, "two").await?;
        world.plugins.file("misfit.wasm", &misfit_version("three", "marked")?)?;
        let object = canary("three").await?;
        let three = text(&object, "/status/candidate/digest");
        super::wish(&world, "misfit", &json!({"undo": {"from": three, "to": one}})).await?;
        let entry = rollouts::runs(&world, "one").await?;
        ensure!(text(&entry, "/next/version") == "three", "{entry:#}");
        eventually(2 * SOON, "the writes of version one", || async {
            ensure!(rollouts::marked(&world).await? == 0 && rollouts::journals(&world).await? == 0);
            Ok(())
        })
        .await
    })
    .await
}

/// The version would run, and be taken back at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_waits_is_not_approved_while_an_undo_takes_it_back() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        definition(&world).await?;
        world.plugins.grant("misfit", &grant(&world).cleanup())?;
        world.plugins.file("misfit.wasm", &super::cleaning("1", true)?)?;
        key(&world, "a").await?;
        super::start(&world).await?;
        has_child(&world, "a").await?;
        world.plugins.file("misfit.wasm", &super::cleaning("2", false)?)?;
        let waits = |object: &Value| condition(object, "AwaitingApproval") == "True";
        let second = text(&shows(&world, "misfit", "a version that waits", waits).await?, "/status/candidate/digest");
        let earlier = format!("sha256:{}", "0".repeat(64));
        super::wish(&world, "misfit", &json!({"undo": {"from": second, "to": earlier}})).await?;
        let fault = |object: &Value| {
            object.to_string().contains("spec.undo is about a version that does not run yet") && waits(object)
        };
        shows(&world, "misfit", "the fault", fault).await?;
        super::wish(&world, "misfit", &json!({"approve": second})).await?;
        steady(super::A_WHILE, "the wait", || async {
            let object = world.cluster.get(&path(&world, "misfit")).await?.context("gone")?;
            ensure!(fault(&object) && object["status"]["version"] == "1", "{object:#}");
            Ok(())
        })
        .await?;
        super::wish(&world, "misfit", &json!({"undo": null})).await?;
        shows(&world, "misfit", "version 2", |object| object["status"]["version"] == "2").await.map(drop)
    })
    .await
}
