//! Plugins that misbehave: the rest of the plan is shown, and the exit code tells.

use super::{ALONE, config_maps, misfit, misfit_folder, plan};
use anyhow::{Result, ensure};
use http::StatusCode;
use oarlock_tests::harness::{Action, Rule, World, text, with_world};
use serde_json::Value;
use std::sync::Arc;

/// The objects of one list of a plan, with their reasons.
fn noted(document: &Value, list: &str) -> Vec<(String, String)> {
    let all = document[list].as_array().into_iter().flatten();
    all.map(|one| (text(one, "/name"), text(one, "/reason"))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trap_a_loop_and_a_plugin_that_never_settles_leave_the_rest_of_the_plan() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        for (name, mode) in [
            ("good", "ok"),
            ("trapping", "trap"),
            ("restless", "never-settles"),
            ("unequal", "never-equal"),
            ("other", "ok"),
        ] {
            misfit(&world, name, mode, "x").await?;
        }
        let folder = misfit_folder(&world, "one", "", &config_maps(&world))?;
        let planned = plan(&world, folder.path(), &["-o", "json"]).await?;
        let document = planned.document()?;
        ensure!(planned.code == 2, "{document}\n{}", planned.stderr);
        let undecidable = noted(&document, "undecidable");
        let reason = |name: &str| undecidable.iter().find(|(of, _)| of == name).map(|(_, reason)| reason.as_str());
        ensure!(reason("trapping").is_some_and(|reason| reason.contains("PluginError")), "{document}");
        ensure!(reason("restless").is_some_and(|reason| reason.contains("does not settle")), "{document}");
        ensure!(undecidable.len() == 2, "{document}");
        // It writes nothing, and waits for ever.
        ensure!(noted(&document, "waiting").iter().map(|(name, _)| name.as_str()).eq(["unequal"]), "{document}");
        let objects = document["objects"].as_array().into_iter().flatten();
        let created: Vec<String> = objects.map(|object| text(object, "/name")).collect();
        for child in ["good-child", "other-child"] {
            ensure!(created.iter().any(|name| name == child), "{created:?}");
        }
        ensure!(document["summary"]["checked"] == 5, "{document}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_grant_rejects_is_told_with_its_object() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        misfit(&world, "good", "ok", "x").await?;
        misfit(&world, "reaching", "apply-elsewhere", "x").await?;
        let folder = misfit_folder(&world, "one", "", &config_maps(&world))?;
        let planned = plan(&world, folder.path(), &["-o", "json"]).await?;
        let document = planned.document()?;
        ensure!(planned.code == 2, "{document}\n{}", planned.stderr);
        let rejected = noted(&document, "rejected");
        ensure!(rejected.len() == 1 && rejected.iter().all(|(name, _)| name == "reaching"), "{document}");
        ensure!(rejected.iter().all(|(_, reason)| reason.contains("kube-system")), "{rejected:?}");
        Ok(())
    })
    .await
}

/// A user who may not list one kind still sees the plan of the others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kind_that_cannot_be_read_is_told_and_leaves_the_rest_of_the_plan() -> Result<()> {
    with_world(ALONE, async |world: Arc<World>| {
        misfit(&world, "good", "ok", "x").await?;
        let forbidden = Action::kubernetes(StatusCode::FORBIDDEN, "Forbidden", "secrets is forbidden", None);
        let rule = world.kubernetes_gate.rule(Rule::every(forbidden).path("/secrets"));
        let grant = config_maps(&world).rule_in(&world.namespace, "", &["secrets"], &["get", "list", "watch"]);
        let folder = misfit_folder(&world, "one", "", &grant)?;
        let planned = plan(&world, folder.path(), &["-o", "json"]).await?;
        let document = planned.document()?;
        ensure!(rule.hits() > 0 && planned.code == 2, "{document}\n{}", planned.stderr);
        ensure!(document["problems"].to_string().contains("cannot list secrets in namespace"), "{document}");
        ensure!(document["summary"]["created"] == 1, "{document}");
        Ok(())
    })
    .await
}
