//! The host installs and upgrades the definitions in plugin files, and refuses a version whose definition stored objects may not survive.

use super::{GROUP, SOON, World, eventually, oarlock, repository_root, text, with_world};
use crate::plan::ALONE;
use anyhow::{Context, Result, ensure};
use oarlock::plugin::{Attachments, Definition};
use oarlock_tests::harness::{Grant, built_plugin, misfit_with};
use serde_json::{Value, json};
use std::fs;
use std::sync::Arc;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// As generators print it: an API server stores the empty fields not at all, and 1.0 as 1.
fn definition(plural: &str, fields: &Value) -> Value {
    let schema = json!({"type": "object", "properties": fields});
    let names = json!({"plural": plural, "kind": kind(plural), "categories": [], "shortNames": []});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{GROUP}")},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "preserveUnknownFields": false,
            "versions": [{"name": "v1", "served": true, "storage": true, "additionalPrinterColumns": [],
                "schema": {"openAPIV3Schema": schema}}]}})
}

/// A kind of its own: a cluster has one definition of a kind.
fn kind(plural: &str) -> String {
    plural.to_uppercase()
}

fn attached(wasm: &[u8], definition: &Value) -> Result<Vec<u8>> {
    let mut attachments = Attachments::default();
    attachments.add_definition(Definition::new(definition)?)?;
    Ok(attachments.attach(wasm)?)
}

/// A misfit whose primary is of the definition in its file.
fn version(version: &str, plural: &str, fields: &Value) -> Result<Vec<u8>> {
    let wasm = misfit_with(version, "", |manifest| {
        manifest["primaries"] = json!([{"group": GROUP, "version": "v1", "kind": kind(plural)}]);
    })?;
    attached(&wasm, &definition(plural, fields))
}

struct Stage<'w> {
    world: &'w World,
    plural: String,
}

impl Stage<'_> {
    fn name(&self) -> String {
        format!("{}.{GROUP}", self.plural)
    }

    async fn definition(&self) -> Result<Option<Value>> {
        self.world.cluster.get(&format!("{DEFINITIONS}/{}", self.name())).await
    }

    fn file(&self, number: &str, fields: &Value) -> Result<()> {
        self.world.plugins.file("misfit.wasm", &version(number, &self.plural, fields)?)
    }

    fn grant(&self, change: impl FnOnce(Grant) -> Grant) -> Result<()> {
        let verbs = ["get", "list", "watch", "create", "patch", "delete"];
        let grant = Grant::nothing().rule_in(&self.world.namespace, "", &["configmaps"], &verbs);
        let grant = grant.rule(GROUP, &[&self.plural], &["get", "list", "watch"]);
        self.world.plugins.grant("misfit", &change(grant))
    }

    async fn plugin(&self, what: &str, right: impl Fn(&Value) -> bool) -> Result<Value> {
        eventually(SOON, what, || async {
            let plugin = self.world.host(async |host| host.plugin("misfit").await).await?;
            ensure!(right(&plugin), "{plugin:#}");
            Ok(plugin)
        })
        .await
    }

    async fn runs(&self, version: &str) -> Result<Value> {
        let right = |plugin: &Value| text(plugin, "/state") == "active" && text(plugin, "/version") == version;
        self.plugin(&format!("version {version}"), right).await
    }

    /// Applies an object, and waits until the plugin made a child for its value.
    async fn reconciles(&self, value: &str) -> Result<()> {
        let (namespace, plural) = (&self.world.namespace, &self.plural);
        let object = json!({"apiVersion": format!("{GROUP}/v1"), "kind": kind(plural), "data": {"value": value},
            "metadata": {"name": "a", "namespace": namespace}});
        let path = format!("/apis/{GROUP}/v1/namespaces/{namespace}/{plural}/a");
        self.world.cluster.apply(&path, "e2e", &object).await?;
        eventually(SOON, value, || async {
            let path = format!("/api/v1/namespaces/{namespace}/configmaps/a-child");
            let child = self.world.cluster.get(&path).await?.context("no child")?;
            ensure!(text(&child, "/data/seen") == value, "{child}");
            Ok(())
        })
        .await
    }

    fn digest(&self, fields: &Value) -> Result<String> {
        Ok(Definition::new(&definition(&self.plural, fields))?.digest())
    }
}

fn fields(more: &Value) -> Value {
    let size = json!({"type": "integer", "minimum": 1.0, "nullable": false, "description": ""});
    let mut fields = json!({"data": {"type": "object", "properties": {"value": {"type": "string"}, "size": size}}});
    if let (Some(fields), Some(more)) = (fields.as_object_mut(), more.as_object()) {
        fields.extend(more.clone());
    }
    fields
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_brings_its_definition_and_an_upgrade_that_loses_data_is_refused() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        let stage = Stage { world: &world, plural: format!("brought{}", fastrand::u32(..)) };
        let (first, second) = (fields(&json!({})), fields(&json!({"note": {"type": "string"}})));
        let third = json!({"note": {"type": "string"}});
        // Without the grant the host writes no definition.
        stage.grant(|grant| grant)?;
        stage.file("1", &first)?;
        world.start_host().await?;
        let waits = |plugin: &Value| plugin["waitingFor"].to_string().contains(&kind(&stage.plural));
        stage.plugin("the missing kind", waits).await?;
        world.logged("the hint", |line| line.text.contains("--attachment definitions")).await?;
        ensure!(stage.definition().await?.is_none(), "installed without a grant");
        stage.grant(|grant| grant.definition(&stage.name()))?;
        stage.runs("1").await?;
        stage.reconciles("one").await?;
        // A safe upgrade.
        stage.file("2", &second)?;
        stage.runs("2").await?;
        stage.reconciles("two").await?;
        let upgraded = stage.definition().await?.context("no definition")?;
        let annotation = |name: &str| text(&upgraded, &format!("/metadata/annotations/oarlock.dev~1{name}"));
        ensure!(annotation("definition") == stage.digest(&second)?, "{upgraded:#}");
        ensure!(annotation("replaced-definitions") == stage.digest(&first)?, "{upgraded:#}");
        // A field is gone.
        stage.file("3", &third)?;
        let reason = "is refused: v1: data: the field is removed: stored values are lost";
        let refused =
            |plugin: &Value| text(plugin, "/next/state") == "failed" && text(plugin, "/next/reason").contains(reason);
        let plugin = stage.plugin("the refusal", refused).await?;
        ensure!(text(&plugin, "/version") == "2" && text(&plugin, "/state") == "active", "{plugin:#}");
        stage.reconciles("three").await?;
        // After a crash the last good version runs instead. The second one was on probation.
        world.kill_host().await?;
        world.start_host().await?;
        let refused_again = |plugin: &Value| {
            let runs = text(plugin, "/state") == "active" && text(plugin, "/version") == "1";
            runs && text(plugin, "/next/reason").contains(reason)
        };
        stage.plugin("version 1, and the refusal", refused_again).await?;
        stage.reconciles("four").await?;
        let now = stage.definition().await?.context("no definition")?;
        ensure!(now["spec"] == upgraded["spec"] && now["metadata"]["uid"] == upgraded["metadata"]["uid"], "{now:#}");
        // An older version runs with the newer definition.
        stage.file("0", &first)?;
        stage.runs("0").await?;
        stage.reconciles("five").await?;
        let now = stage.definition().await?.context("no definition")?;
        ensure!(now["spec"] == upgraded["spec"], "{now:#}");
        world.cluster.delete(&format!("{DEFINITIONS}/{}", stage.name())).await
    })
    .await
}

/// A plan of the plugins, and its exit status.
async fn planned(world: &World) -> Result<(Value, Option<i32>)> {
    let (folder, kubeconfig) = (world.plugins.path().display().to_string(), world.cluster.kubeconfig());
    let said = oarlock(&["plan", &folder, "--kubeconfig", &kubeconfig.display().to_string(), "-o", "json"]).await?;
    Ok((serde_json::from_slice(&said.stdout)?, said.status.code()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_shows_installations_upgrades_and_refusals() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        let stage = Stage { world: &world, plural: format!("planned{}", fastrand::u32(..)) };
        let (first, second) = (fields(&json!({})), fields(&json!({"note": {"type": "string"}})));
        stage.grant(|grant| grant.definition(&stage.name()))?;
        stage.file("1", &first)?;
        let (plan, status) = planned(&world).await?;
        let object = plan.pointer("/objects/0").context("no change")?;
        ensure!(status == Some(1) && text(object, "/action") == "created", "{plan:#}");
        ensure!(
            text(object, "/name") == stage.name() && text(object, "/kind") == "CustomResourceDefinition",
            "{plan:#}"
        );
        ensure!(stage.definition().await?.is_none(), "the plan installed it");
        world.start_host().await?;
        stage.runs("1").await?;
        stage.reconciles("one").await?;
        let (plan, status) = planned(&world).await?;
        ensure!(status == Some(0), "{plan:#}");
        // The copy has the new schema.
        stage.file("2", &second)?;
        stage.runs("2").await?;
        stage.file("1", &first)?;
        stage.runs("1").await?;
        world.stop_host(SOON).await?;
        let third = fields(&json!({"note": {"type": "string"}, "more": {"type": "integer"}}));
        stage.file("3", &third)?;
        let (plan, status) = planned(&world).await?;
        let paths = plan.pointer("/objects/0/values").and_then(Value::as_array).cloned().unwrap_or_default();
        let paths: Vec<String> = paths.iter().map(|value| text(value, "/path")).collect();
        let schema = "/spec/versions/0/schema/openAPIV3Schema/properties/more";
        ensure!(status == Some(1) && paths.iter().any(|path| path == schema), "{plan:#}");
        stage.file("4", &json!({"note": {"type": "string"}}))?;
        let (plan, status) = planned(&world).await?;
        let problem = "is refused: v1: data: the field is removed: stored values are lost";
        ensure!(status == Some(2) && plan["problems"].to_string().contains(problem), "{plan:#}");
        world.cluster.delete(&format!("{DEFINITIONS}/{}", stage.name())).await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes a minute"]
async fn the_host_refuses_exactly_the_upgrades_that_stored_objects_do_not_survive() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        let cases = fs::read_to_string(repository_root().join("tests/fixtures/crd-upgrades.yaml"))?;
        let cases: Vec<Value> = serde_saphyr::from_str(&cases)?;
        let (idler, run) = (fs::read(built_plugin("idler")?)?, fastrand::u16(..));
        let plural = |number: usize| format!("case{number}x{run}");
        let stem = |number: usize| format!("case-{number}");
        for (number, case) in cases.iter().enumerate() {
            let plural = plural(number);
            let grant = Grant::nothing().resources("", &["configmaps"]).definition(&format!("{plural}.{GROUP}"));
            world.plugins.grant(&stem(number), &grant.name(&stem(number)))?;
            let fields = json!({"spec": case["old"]});
            world.plugins.file(&format!("{}.wasm", stem(number)), &attached(&idler, &definition(&plural, &fields))?)?;
        }
        world.start_host().await?;
        let plugin = async |number: usize| world.host(async |host| host.plugin(&stem(number)).await).await;
        let digest = |number: usize, key: &str| -> Result<String> {
            let fields = json!({"spec": cases.get(number).context("no case")?[key]});
            Ok(Definition::new(&definition(&plural(number), &fields))?.digest())
        };
        let installed = async |number: usize| -> Result<String> {
            let live = world.cluster.get(&format!("{DEFINITIONS}/{}.{GROUP}", plural(number))).await?;
            Ok(text(&live.context("no definition")?, "/metadata/annotations/oarlock.dev~1definition"))
        };
        for number in 0..cases.len() {
            eventually(SOON, &stem(number), || async {
                let (plugin, installed) = (plugin(number).await?, installed(number).await?);
                ensure!(text(&plugin, "/state") == "active" && installed == digest(number, "old")?, "{plugin:#}");
                Ok(())
            })
            .await?;
        }
        for (number, case) in cases.iter().enumerate() {
            let fields = json!({"spec": case["new"]});
            let wasm = attached(&idler, &definition(&plural(number), &fields))?;
            world.plugins.file(&format!("{}.wasm", stem(number)), &wasm)?;
        }
        for (number, case) in cases.iter().enumerate() {
            let breaks = case.get("breaks").and_then(Value::as_str);
            eventually(SOON, &text(case, "/name"), || async {
                let (plugin, installed) = (plugin(number).await?, installed(number).await?);
                let (state, reason) = (text(&plugin, "/next/state"), text(&plugin, "/next/reason"));
                match breaks {
                    Some(why) => ensure!(
                        state == "failed" && reason.contains(why) && installed == digest(number, "old")?,
                        "{plugin:#}"
                    ),
                    None => ensure!(plugin.get("next").is_none() && installed == digest(number, "new")?, "{plugin:#}"),
                }
                Ok(())
            })
            .await?;
        }
        for number in 0..cases.len() {
            world.cluster.delete(&format!("{DEFINITIONS}/{}.{GROUP}", plural(number))).await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_attach_read_and_publish_what_belongs_to_a_plugin() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    let write = |name: &str, content: &str| fs::write(folder.path().join(name), content);
    fs::copy(built_plugin("idler")?, path("idler.wasm"))?;
    let crd = definition("attached", &fields(&json!({})));
    write("crd.yaml", &format!("kind: Namespace\n---\n{}", serde_saphyr::to_string(&crd)?))?;
    let grant = "# Ask your administrator.\napiVersion: oarlock.dev/v1alpha1\nkind: PluginGrant\npermissions:\n- apiGroups: [\"\"]\n  \
                 resources: [configmaps]\n  verbs: [get, list, watch]\n";
    write("grant.yaml", grant)?;
    write("README.md", "# Idler\n\nIt does nothing.\n")?;
    let run = async |args: &[&str]| -> Result<String> {
        let said = oarlock(args).await?;
        ensure!(said.status.success(), "{args:?}: {}", String::from_utf8_lossy(&said.stderr));
        Ok(String::from_utf8(said.stdout)?)
    };
    let (file, out) = (path("idler.wasm"), path("out.wasm"));
    run(&["attach", &file, "--crd", &path("crd.yaml"), "--grant", &path("grant.yaml"), "-o", &out]).await?;
    run(&["attach", &out, "--documentation", &path("README.md")]).await?;
    let shown = run(&["inspect", &out]).await?;
    let lines = format!(
        "\ndefines   attached.{GROUP} (v1)\nattached  a default grant, documentation (--attachment prints one)\n"
    );
    ensure!(shown.contains(&lines), "{shown}");
    let printed: Value = serde_saphyr::from_str(&run(&["inspect", &out, "--attachment", "definitions"]).await?)?;
    ensure!(printed == crd, "{printed}");
    ensure!(run(&["inspect", &out, "--attachment", "documentation"]).await? == "# Idler\n\nIt does nothing.\n");
    ensure!(run(&["grant", &out]).await? == grant, "another grant");
    // A default grant that lacks a permission is of no use: the manifest's is printed, with the definition.
    write("grant.yaml", "apiVersion: oarlock.dev/v1alpha1\nkind: PluginGrant\n")?;
    run(&["attach", &out, "--grant", &path("grant.yaml")]).await?;
    let printed: Value = serde_saphyr::from_str(&run(&["grant", &out]).await?)?;
    ensure!(printed["definitions"] == json!([format!("attached.{GROUP}")]), "{printed}");
    // Errors.
    write("bad.yaml", "kind: CustomResourceDefinition\nmetadata: {name: x}\n")?;
    write("no.wasm", "no")?;
    for (args, why) in [
        (vec!["attach", &file], "nothing to attach: give --crd, --grant or --documentation"),
        (vec!["attach", &file, "--crd", &path("grant.yaml")], "no document is a CustomResourceDefinition"),
        (vec!["attach", &file, "--crd", &path("bad.yaml")], "an API server would refuse definition x"),
        (vec!["attach", &file, "--grant", &path("README.md")], "the default grant is no grant file"),
        (vec!["attach", &path("no.wasm"), "--grant", &path("grant.yaml")], "not a WebAssembly file"),
        (vec!["inspect", &file, "--attachment", "grant"], "has no such attachment"),
    ] {
        let said = oarlock(&args).await?;
        let told = String::from_utf8_lossy(&said.stderr);
        ensure!(said.status.code() == Some(1) && told.contains(why) && told.lines().count() == 1, "{args:?}: {told}");
    }
    Ok(())
}
