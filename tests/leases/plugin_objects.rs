//! Plugin objects with several hosts: one writes, all obey.

use super::replica::{HOME, Replica, holder};
use super::{object, options, path, seen};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{
    SOON, World, eventually, misfit_version, oarlock, repository_root, steady, text, with_world,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_holds_every_host_and_the_one_that_leads_writes_the_object() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.cluster.apply_crd(&repository_root().join("deploy/crds/plugins.yaml")).await?;
        let plugin = format!("/apis/oarlock.dev/v1alpha1/namespaces/{}/plugins/misfit", world.namespace);
        let mut hosts = Vec::new();
        for name in ["a", "b"] {
            let mut replica = Replica::new(&world, name).await?;
            replica.place("misfit", &misfit_version("1", "")?)?;
            replica.start(&["--plugin-objects", &world.namespace]).await?;
            hosts.push(replica);
        }
        object(&world, "one").await?;
        seen(&world, "one", "first").await?;
        let shows = async |what: &str, holds: &dyn Fn(&Value) -> bool| {
            eventually(2 * SOON, what, || async {
                let object = world.cluster.get(&plugin).await?.context("no Plugin object")?;
                ensure!(holds(&object), "{object:#}");
                Ok(object)
            })
            .await
        };
        let shown = shows("the object", &|object| text(object, "/status/state") == "active").await?;
        let leader = hosts.iter().position(|host| text(&shown, "/status/host").starts_with(host.name));
        let leader = leader.with_context(|| format!("{shown}"))?;
        ensure!(hosts[leader].holds("misfit").await?, "the host in the status does not lead");

        world.cluster.merge_patch(&plugin, &json!({"spec": {"paused": true}})).await?;
        shows("the pause", &|object| text(object, "/status/state") == "paused").await?;
        object(&world, "two").await?;
        let nothing = async || {
            steady(Duration::from_millis(700), "the pause", || async {
                ensure!(world.cluster.get(&path(&world, "two-child")).await?.is_none(), "a paused plugin wrote");
                Ok(())
            })
            .await
        };
        nothing().await?;
        // The other host takes over, and is paused as well.
        drop(hosts[leader].host.take());
        let heir = hosts[1 - leader].name;
        shows("the object of the other host", &|object| {
            text(object, "/status/host").starts_with(heir) && text(object, "/status/state") == "paused"
        })
        .await?;
        nothing().await?;
        world.cluster.merge_patch(&plugin, &json!({"spec": {"paused": false}})).await?;
        seen(&world, "two", "first").await
    })
    .await
}

/// A plugin that a person declares runs on every host, and one of them reconciles.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_declared_plugin_is_on_every_host_and_one_reconciles_until_the_other_takes_over() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.cluster.apply_crd(&repository_root().join("deploy/crds/plugins.yaml")).await?;
        let mut hosts = Vec::new();
        for name in ["a", "b"] {
            let mut replica = Replica::new(&world, name).await?;
            replica.plugins.place("code.wasm", &misfit_version("1", "")?)?;
            replica.start(&["--plugin-objects", &world.namespace]).await?;
            hosts.push(replica);
        }
        let plugin = format!("/apis/oarlock.dev/v1alpha1/namespaces/{}/plugins/misfit", world.namespace);
        let verbs = ["get", "list", "watch", "create", "patch", "delete"];
        let permissions = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}]);
        let declared = json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "Plugin",
            "metadata": {"name": "misfit", "namespace": world.namespace},
            "spec": {"source": {"file": "code.wasm"}, "grant": {"permissions": permissions}}});
        world.cluster.apply(&plugin, "a-person", &declared).await?;
        eventually(2 * SOON, "the plugin on both hosts", || async {
            for host in &hosts {
                let entry = host.host()?.plugin("misfit").await?;
                ensure!(text(&entry, "/state") == "active" && text(&entry, "/file") == "Plugin/misfit", "{entry:#}");
            }
            Ok(())
        })
        .await?;
        let leader = holder(&hosts.iter().collect::<Vec<_>>(), "misfit").await?;
        object(&world, "one").await?;
        seen(&world, "one", "first").await?;
        let children = |host: &Replica| host.acts().into_iter().filter(|act| act.path.contains("-child")).count();
        ensure!(children(&hosts[leader]) > 0 && children(&hosts[1 - leader]) == 0, "a standby reconciled");
        drop(hosts[leader].host.take());
        object(&world, "two").await?;
        eventually(2 * SOON, "the other host", || async { seen(&world, "two", "first").await }).await?;
        ensure!(children(&hosts[1 - leader]) > 0, "who reconciled?");
        Ok(())
    })
    .await
}

/// An undo in the object is one for every host, also for the next leader.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_undo_of_an_object_takes_every_host_back_and_its_end_brings_the_version_of_the_source() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.cluster.apply_crd(&repository_root().join("deploy/crds/plugins.yaml")).await?;
        let mut hosts = Vec::new();
        for name in ["a", "b"] {
            let mut replica = Replica::new(&world, name).await?;
            replica.place("misfit", &misfit_version("1", "")?)?;
            replica.start(&["--plugin-objects", &world.namespace]).await?;
            hosts.push(replica);
        }
        let run = async |version: &str| {
            eventually(2 * SOON, &format!("version {version} on both hosts"), || async {
                for host in &hosts {
                    let entry = host.host()?.plugin("misfit").await?;
                    ensure!(text(&entry, "/version") == version && text(&entry, "/state") == "active", "{entry:#}");
                }
                Ok(())
            })
            .await
        };
        let plugin = format!("/apis/oarlock.dev/v1alpha1/namespaces/{}/plugins/misfit", world.namespace);
        let revisions = async |number: usize| {
            eventually(2 * SOON, "the revisions in the object", || async {
                let object = world.cluster.get(&plugin).await?.context("no object")?;
                ensure!(object["status"]["revisions"].as_array().is_some_and(|all| all.len() == number), "{object:#}");
                Ok(())
            })
            .await
        };
        run("1").await?;
        revisions(1).await?;
        for host in &hosts {
            host.place("misfit", &misfit_version("2", "remembers")?)?;
        }
        run("2").await?;
        revisions(2).await?;
        let (target, kubeconfig) =
            (format!("{}/misfit", world.namespace), world.cluster.kubeconfig().display().to_string());
        let undo = async |more: &[&str]| {
            let args = [&["rollout", "undo", "Plugin", &target, "--kubeconfig", &kubeconfig][..], more].concat();
            let output = oarlock(&args).await?;
            ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Ok(())
        };
        undo(&["--to-revision", "1"]).await?;
        run("1").await?;
        undo(&["--cancel"]).await?;
        run("2").await
    })
    .await
}

/// A host that cannot run a plugin leaves the status to the host that runs it, also if it has the host's own Lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_without_the_file_does_not_write_the_status_of_a_plugin_that_another_host_leads() -> Result<()> {
    with_world(options(), async |world: Arc<World>| {
        world.cluster.apply_crd(&repository_root().join("deploy/crds/plugins.yaml")).await?;
        let mut without = Replica::new(&world, "a").await?;
        without.start(&["--plugin-objects", &world.namespace]).await?;
        let own = format!("/apis/coordination.k8s.io/v1/namespaces/{HOME}/leases/oarlock");
        eventually(SOON, "the host's own Lease", || async {
            let lease = world.cluster.get(&own).await?.context("no Lease")?;
            ensure!(text(&lease, "/spec/holderIdentity").starts_with("a_"), "{lease:#}");
            Ok(())
        })
        .await?;
        let mut leader = Replica::new(&world, "b").await?;
        leader.plugins.place("code.wasm", &misfit_version("1", "")?)?;
        leader.start(&["--plugin-objects", &world.namespace]).await?;
        let plugin = format!("/apis/oarlock.dev/v1alpha1/namespaces/{}/plugins/misfit", world.namespace);
        let verbs = ["get", "list", "watch", "create", "patch", "delete"];
        let permissions = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs}]);
        let declared = json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "Plugin",
            "metadata": {"name": "misfit", "namespace": world.namespace},
            "spec": {"source": {"file": "code.wasm"}, "grant": {"permissions": permissions}}});
        world.cluster.apply(&plugin, "a-person", &declared).await?;
        object(&world, "one").await?;
        seen(&world, "one", "first").await?;
        let of_leader = || async {
            let object = world.cluster.get(&plugin).await?.context("no object")?;
            let is = text(&object, "/status/state") == "active" && text(&object, "/status/host").starts_with("b_");
            ensure!(is, "{object:#}");
            Ok(())
        };
        eventually(2 * SOON, "the status of the host that leads", of_leader).await?;
        let writes = || without.acts().into_iter().filter(|act| act.path.contains("/plugins/misfit")).count();
        let before = writes();
        steady(Duration::from_secs(3), "the status of the host that leads", of_leader).await?;
        ensure!(writes() == before, "{before} writes became {}", writes());
        Ok(())
    })
    .await
}
