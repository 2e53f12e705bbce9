//! What happens to an object step by step, and what its explanation must say after each step.

use super::{at, explain, of_plugin};
use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{SOON, World, eventually, misfit_version, text};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// One object with its history.
pub(super) struct Story<'w> {
    pub(super) world: &'w World,
    pub(super) name: String,
}

/// What happens to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Somebody changes the object.
    Edit,
    /// Somebody takes a field of the child over, and gives it back.
    Contest,
    /// The child is deleted.
    DeleteChild,
    /// The plugin fails for a while, with a retry.
    Fail,
    /// The plugin fails for good.
    GiveUp,
    Recover,
    Pause,
    Resume,
    /// Another version of the plugin.
    Swap,
    /// The object is deleted, the garbage collector deletes the child, and the object comes again.
    Recreate,
    /// Another plugin writes the child, too. The last step of a history.
    Share,
}

impl Story<'_> {
    pub(super) fn path(&self, suffix: &str) -> String {
        format!("/api/v1/namespaces/{}/configmaps/{}{suffix}", self.world.namespace, self.name)
    }

    pub(super) async fn annotate(&self, name: &str, value: Option<&str>) -> Result<()> {
        let patch = json!({"metadata": {"annotations": {name: value}}});
        self.world.cluster.merge_patch(&self.path(""), &patch).await.map(drop)
    }

    /// Explains the object, or its child.
    pub(super) async fn explain(&self, suffix: &str) -> Result<Value> {
        let object = format!("{}/{}{suffix}", self.world.namespace, self.name);
        explain(self.world, &object, &["-o", "json"]).await.and_then(|text| Ok(serde_json::from_str(&text)?))
    }

    /// The plugin's part about the object, as the command asks for it.
    pub(super) async fn plugin(&self, name: &str) -> Result<Value> {
        let object = (self.world.namespace.as_str(), self.name.as_str());
        self.world.host(async |host| of_plugin(host, name, "ConfigMap", object).await).await
    }

    /// Whether nothing is planned, and what would trigger the next run is there: the plugin reads its child, and watches such objects.
    pub(super) fn rests(&self, plugin: &Value) -> bool {
        at(plugin, "/queue").as_array().is_some_and(Vec::is_empty)
            && *at(plugin, "/reads") == json!([format!("ConfigMap {}/{}-child", self.world.namespace, self.name)])
            && *at(plugin, "/runsOn") == json!(["ConfigMap: its owner"])
            && at(plugin, "/resyncSeconds").as_u64() > Some(0)
    }

    /// Whether the last reconcile ran because of a change of this field of the object. A retry that was planned may have come after it.
    pub(super) fn ran_because(&self, plugin: &Value, field: &str) -> bool {
        let cause = format!("ConfigMap {}/{} modified: {field}", self.world.namespace, self.name);
        let mut last = at(plugin, "/last").as_array().into_iter().flatten();
        let last = last.find(|one| at(one, "/trigger") != "retry").unwrap_or(&Value::Null);
        text(last, "/trigger") == "event" && text(last, "/cause") == cause
    }

    /// Waits until the plugin is in a state, and holds that everything else is right then.
    pub(super) async fn is(&self, state: &str, right: impl Fn(&Value) -> bool) -> Result<Value> {
        eventually(SOON, &format!("{} to be {state}", self.name), || async {
            let plugin = self.plugin("misfit").await?;
            ensure!(at(&plugin, "/state") == state && right(&plugin), "{plugin:#}");
            Ok(plugin)
        })
        .await
    }

    /// Waits until the child was last written by a version, because of something.
    pub(super) async fn child_is_of(&self, version: &str, cause: &str) -> Result<()> {
        self.child_is_of_either(version, &[cause]).await
    }

    /// * `causes` - of events that may come together, the first one counts.
    pub(super) async fn child_is_of_either(&self, version: &str, causes: &[&str]) -> Result<()> {
        eventually(SOON, &format!("the child of {} to be of {version}, because of {causes:?}", self.name), || async {
            let found = self.explain("-child").await?;
            let managers = at(&found, "/managers").as_array().context("no managers")?;
            let ours = managers.iter().find(|manager| at(manager, "/manager") == "oarlock.misfit");
            let fields = ours.with_context(|| format!("{found:#}"))?["fields"].to_string();
            ensure!(fields.contains(".data.seen"), "{found:#}");
            let write = at(&found, "/writes").get(0).with_context(|| format!("no write: {found:#}"))?;
            ensure!(text(write, "/plugin") == "misfit" && text(write, "/version") == version, "{write:#}");
            ensure!(text(write, "/of") == format!("ConfigMap {}/{}", self.world.namespace, self.name), "{write:#}");
            let said = format!("{} {}", text(write, "/trigger"), text(write, "/cause"));
            ensure!(causes.iter().any(|cause| said.contains(cause)), "{write:#}");
            let running = self.world.host(async |host| host.plugin("misfit").await).await?;
            ensure!(text(write, "/digest") == text(&running, "/digest"), "{write:#}, but {running:#} runs");
            ensure!(!text(write, "/correlationId").is_empty(), "{write:#}");
            Ok(())
        })
        .await
    }

    /// Somebody takes a field of the child over, and gives it back.
    pub(super) async fn contest(&self, running: &str, modified: &str) -> Result<()> {
        let world = self.world;
        let theirs = |data: Value| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data,
                "metadata": {"name": format!("{}-child", self.name), "namespace": world.namespace}})
        };
        let taken = theirs(json!({"seen": "another", "own": "kept"}));
        world.cluster.apply(&self.path("-child"), "somebody", &taken).await?;
        let conflict = |plugin: &Value| {
            text(plugin, "/last/0/outcome") == "Conflict" && text(plugin, "/lastError").contains("somebody")
        };
        let failed = self.is("failed, and is tried again", conflict).await?;
        // What the API server refused wrote nothing.
        let written = self.explain("-child").await?;
        let writes = at(&written, "/writes").as_array().into_iter().flatten();
        let writers: BTreeSet<String> = writes.map(|write| text(write, "/correlationId")).collect();
        ensure!(!writers.is_empty() && !writers.contains(&text(&failed, "/last/0/correlationId")), "{written:#}");
        world.cluster.apply(&self.path("-child"), "somebody", &theirs(json!({"own": "kept"}))).await?;
        self.child_is_of(running, modified).await?;
        let found = self.explain("-child").await?;
        let theirs = at(&found, "/managers").as_array().into_iter().flatten();
        let theirs = theirs.into_iter().find(|manager| at(manager, "/manager") == "somebody");
        ensure!(theirs.is_some_and(|manager| *at(manager, "/fields") == json!([".data.own"])), "{found:#}");
        Ok(())
    }

    /// Deletes the object, waits for the garbage collector, and makes the object again.
    pub(super) async fn recreate(&self, running: &str, added: &str) -> Result<()> {
        let world = self.world;
        world.cluster.delete(&self.path("")).await?;
        eventually(SOON, "the garbage collector", || async {
            ensure!(world.cluster.get(&self.path("-child")).await?.is_none(), "the child is still there");
            Ok(())
        })
        .await?;
        // The host's watch may show the deletion later than a read shows the child's.
        eventually(SOON, "the host to forget the object", || async {
            let gone = self.plugin("misfit").await?;
            ensure!(at(&gone, "/cached") == false && text(&gone, "/state") != "settled", "{gone:#}");
            Ok(())
        })
        .await?;
        crate::rollouts::object(world, &self.name).await?;
        // The host may learn only now that the garbage collector deleted the child, or a child that it had written for the object before.
        let child = |what: &str| format!("{}-child {what}", self.name);
        self.child_is_of_either(running, &[added, &child("deleted"), &child("added")]).await
    }

    /// Gives the object to the other plugin, too.
    pub(super) async fn share(&self) -> Result<()> {
        let world = self.world;
        let patch = json!({"metadata": {"labels": {"onlooker": "true"}}});
        world.cluster.merge_patch(&self.path(""), &patch).await?;
        eventually(SOON, "the second writer", || async {
            let found = self.explain("-child").await?;
            let managers = at(&found, "/managers").as_array().into_iter().flatten();
            // In any order: a manager whose apply changed no value has no time.
            let writers: BTreeSet<String> = managers
                .filter(|manager| at(manager, "/fields").to_string().contains(".data.seen"))
                .map(|manager| text(manager, "/manager"))
                .collect();
            ensure!(writers.into_iter().eq(["oarlock.misfit", "oarlock.onlooker"]), "{found:#}");
            let write = at(&found, "/writes/0");
            ensure!(text(write, "/plugin") == "onlooker" && text(write, "/version") == "1", "{write:#}");
            // For the other plugin the object is new.
            ensure!(text(write, "/cause") == format!("ConfigMap {}/{} added", world.namespace, self.name));
            Ok(())
        })
        .await
    }

    /// Takes a step, and holds that the explanation is right afterwards.
    pub(super) async fn take(&self, step: Step, version: &mut u32) -> Result<()> {
        let world = self.world;
        let own = |what: &str| format!("event ConfigMap {}/{} {what}", world.namespace, self.name);
        let childs = |what: &str| format!("event ConfigMap {}/{}-child {what}", world.namespace, self.name);
        let settled = |plugin: &Value| self.rests(plugin);
        let running = version.to_string();
        match step {
            Step::Edit => {
                let value = format!("value {}", jiff::Timestamp::now());
                world.cluster.merge_patch(&self.path(""), &json!({"data": {"value": value}})).await?;
                self.child_is_of(&running, &own("modified: data.value")).await?;
                self.is("settled", settled).await?;
            }
            Step::Contest => self.contest(&running, &childs("modified: data.seen")).await?,
            Step::DeleteChild => {
                self.is("settled", settled).await?;
                world.cluster.delete(&self.path("-child")).await?;
                self.child_is_of(&running, &childs("deleted")).await?;
            }
            Step::Fail => {
                self.annotate("misfit/mode", Some("transient")).await?;
                let retried = |plugin: &Value| {
                    let queued = at(plugin, "/queue/0");
                    at(queued, "/phase") == "delayed"
                        && at(queued, "/trigger") == "retry"
                        && at(queued, "/failures").as_u64() > Some(0)
                        && text(plugin, "/lastError").contains("misfit fails as told")
                        && text(plugin, "/last/0/outcome") == "ReconcileError"
                };
                self.is("failed, and is tried again", retried).await?;
            }
            Step::GiveUp => {
                self.annotate("misfit/mode", Some("terminal")).await?;
                let state = "failed for good: it runs again at a resync, or when the object, something that it reads, the plugin or its grant changes";
                let told = |plugin: &Value| {
                    at(plugin, "/queue").as_array().is_some_and(Vec::is_empty)
                        && text(plugin, "/lastError").contains("misfit gives up as told")
                        && self.ran_because(plugin, "metadata.annotations.misfit/mode")
                };
                self.is(state, told).await?;
            }
            Step::Recover => {
                self.annotate("misfit/mode", Some("ok")).await?;
                let well = |plugin: &Value| settled(plugin) && at(plugin, "/lastError").is_null();
                self.is("settled", well).await?;
            }
            Step::Pause => {
                self.annotate("oarlock.dev/paused", Some("true")).await?;
                let paused =
                    |plugin: &Value| at(plugin, "/heldUp").to_string().contains("the annotation oarlock.dev/paused");
                self.is("paused by an annotation", paused).await?;
            }
            Step::Resume => {
                let runs = |plugin: &Value| {
                    at(plugin, "/heldUp").as_array().is_some_and(Vec::is_empty)
                        && settled(plugin)
                        && self.ran_because(plugin, "metadata.annotations.oarlock.dev/paused")
                };
                self.annotate("oarlock.dev/paused", None).await?;
                self.is("settled", runs).await?;
            }
            Step::Swap => {
                *version += 1;
                world.plugins.file("misfit.wasm", &misfit_version(&version.to_string(), "")?)?;
                self.is("settled", |plugin| text(plugin, "/version") == version.to_string()).await?;
            }
            Step::Recreate => self.recreate(&running, &own("added")).await?,
            Step::Share => self.share().await?,
        }
        Ok(())
    }
}
