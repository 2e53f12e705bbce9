//! A configuration with more consequences than meant: a plan shows them, and a canary is stopped and undone.

use super::Story;
use crate::harness::{Grant, PluginDir, SOON, eventually, oarlock, repository_root, text};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

const PLUGIN: &str = "namespace-baseline";
const TEAMS: [&str; 3] = ["story-red", "story-green", "story-blue"];

impl Story<'_> {
    pub(super) async fn rollout(&self) -> Result<()> {
        let world = self.world;
        world.cluster.apply_crd(&repository_root().join("deploy/crds/plugins.yaml")).await?;
        world.plugins.add("namespace-baseline-rust", PLUGIN, &grant("false")?)?;
        let (status, _) = world.stop_host(SOON).await?;
        ensure!(status.success(), "the host ended with {status}");
        world.start_host_with(&["--plugin-objects", &world.namespace]).await?;
        for team in TEAMS {
            let namespace = json!({"metadata": {"name": team, "labels": {"oarlock.dev/baseline": "true"}}});
            world.cluster.create("/api/v1/namespaces", &namespace).await?;
        }
        eventually(SOON, "a network policy in each namespace", || async {
            for team in TEAMS {
                ensure!(policy(self, team).await? == json!(["Ingress"]), "another policy in {team}");
            }
            Ok(())
        })
        .await?;
        world.narrator.step("three namespaces get a quota and a network policy from the plugin namespace-baseline");

        let beside = PluginDir::create(world.folder().join("next"))?;
        beside.grant(PLUGIN, &grant("true")?)?;
        let next = beside.path().join(format!("{PLUGIN}.yaml"));
        let (wasm, kubeconfig) = (world.plugins.path().join("namespace-baseline.wasm"), world.cluster.kubeconfig());
        let [wasm, next, kubeconfig] = [wasm.as_path(), &next, kubeconfig].map(|path| path.display().to_string());
        let planned = oarlock(&["plan", &wasm, "--grant", &next, "--kubeconfig", &kubeconfig]).await?;
        let shown = String::from_utf8_lossy(&planned.stdout).into_owned();
        ensure!(planned.status.code() == Some(1), "{shown}{}", String::from_utf8_lossy(&planned.stderr));
        ensure!(shown.contains("- Egress") && shown.contains("3 changed, 0 created, 0 deleted"), "{shown}");
        world.narrator.step("oarlock plan: what another configuration would change, before a host runs it");
        let (_, summary) = shown.rsplit_once("\nplugin ").context("no summary")?;
        world.narrator.show(summary.trim_end());

        world.plugins.grant(PLUGIN, &grant("true")?)?;
        let stopped = eventually(2 * SOON, "the canary to be stopped", || async {
            let entry = world.host(async |host| host.plugin(PLUGIN).await).await?;
            ensure!(text(&entry, "/next/state") == "failed" && entry.get("rollout").is_none(), "{entry}");
            Ok(text(&entry, "/next/reason"))
        })
        .await?;
        ensure!(stopped.contains("more than 1 writes"), "{stopped}");
        eventually(SOON, "the policies as they were", || async {
            for team in TEAMS {
                ensure!(policy(self, team).await? == json!(["Ingress"]), "the canary's policy is left in {team}");
            }
            Ok(())
        })
        .await?;
        world.narrator.step("it is put in place all the same: its canary may make one differing write, is stopped at the second, and undone");
        world.narrator.show(&stopped);
        for team in TEAMS {
            world.cluster.delete(&format!("/api/v1/namespaces/{team}")).await?;
        }
        Ok(())
    }
}

fn grant(deny_egress: &str) -> Result<Grant> {
    let reads = ["get", "list", "watch"];
    let all = ["get", "list", "watch", "create", "patch", "delete"];
    Grant::nothing()
        .rule("", &["namespaces"], &reads)
        .rule("", &["resourcequotas"], &all)
        .rule("networking.k8s.io", &["networkpolicies"], &all)
        .config("denyEgress", deny_egress)
        .rollout(&json!({"canary": {"percent": 100, "for": "1h", "maxDifferentWrites": 1}}))
}

/// The policy types in a namespace.
async fn policy(story: &Story<'_>, namespace: &str) -> Result<Value> {
    let path = format!("/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies/default-deny");
    let policy = story.world.cluster.get(&path).await?.context("no policy")?;
    Ok(policy.pointer("/spec/policyTypes").cloned().unwrap_or_default())
}
