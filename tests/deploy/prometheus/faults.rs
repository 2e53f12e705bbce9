//! Every alert fires under its fault, and resolves when the fault ends. deploy/monitoring/alerts-test.yaml has the same for the
//! rules whose times and thresholds differ here.

use super::super::text as text_at;
use super::alerts;
use super::healthy::{active, bare, grant, object};
use super::memory_group::MemoryGroup;
use super::server::{address, watched};
use crate::{admission, oci};
use anyhow::{Context, Result, ensure};
use futures::future::{LocalBoxFuture, join_all};
use http::{Method, StatusCode};
use oarlock_tests::harness::{
    Action, Gate, Grant, Registry, Rule, SOON, Tripwire, Upstream, World, WorldOptions, eventually, misfit_version,
    misfit_with, repository_root, said_by, tools, with_world,
};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/oarlock";
const INITIALIZERS: &str = "/apis/oarlock.dev/v1alpha1/initializerconfigurations";

async fn placed(world: &World, mode: &str) -> Result<()> {
    world.plugins.grant("misfit", &grant(world))?;
    world.plugins.place("misfit.wasm", &misfit_version("1", mode)?)
}

async fn objects(world: &World, prefix: &str, count: usize, mode: &str) -> Result<()> {
    for number in 0..count {
        object(world, &format!("{prefix}-{number}"), mode).await?;
    }
    Ok(())
}

async fn a_file_that_is_no_plugin_one_without_a_grant_and_one_without_its_kind_raise_alerts() -> Result<()> {
    watched(WorldOptions { crd: false, ..WorldOptions::default() }, async |world, prometheus| {
        world.plugins.place("misfit.wasm", &misfit_version("1", "")?)?;
        world.plugins.file("broken.wasm", b"\0asm no more")?;
        world.start_host().await?;
        prometheus.reads(&world).await?;
        prometheus.fire(&["OarlockPluginRefused", "OarlockPluginWaits", "OarlockPluginSyncing"]).await?;
        world.plugins.remove("broken.wasm")?;
        world.plugins.grant("misfit", &grant(&world))?;
        world.apply_crd().await?;
        prometheus.calm().await
    })
    .await
}

async fn a_plugin_that_traps_raises_alerts_until_a_better_version_comes() -> Result<()> {
    watched(bare(), async |world, prometheus| {
        placed(&world, "trap").await?;
        world.start_host().await?;
        active(&world, "misfit").await?;
        prometheus.reads(&world).await?;
        objects(&world, "o", 10, "trap").await?;
        prometheus.fire(&["OarlockPluginTraps", "OarlockPluginQuarantined"]).await?;
        for number in 0..10 {
            let path = format!("/api/v1/namespaces/{}/configmaps/o-{number}", world.namespace);
            world.cluster.merge_patch(&path, &json!({"metadata": {"annotations": {"misfit/mode": "ok"}}})).await?;
        }
        world.plugins.place("misfit.wasm", &misfit_version("2", "")?)?;
        prometheus.calm().await
    })
    .await
}

async fn a_server_of_a_plugin_that_fails_raises_alerts_until_it_is_back() -> Result<()> {
    watched(WorldOptions::default(), async |world, prometheus| {
        world.start_host().await?;
        active(&world, "network").await?;
        prometheus.reads(&world).await?;
        let away = Action::neutron(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", "away");
        let rule = world.neutron_gate.rule(Rule::every(away));
        for number in 1..6 {
            world
                .create_network(&format!("n{number}"), &format!("10.{number}.0.0/24"), &format!("10.{number}.0.1"))
                .await?;
        }
        prometheus.fire(&["OarlockReconcileErrors", "OarlockHttpErrors"]).await?;
        drop(rule);
        prometheus.calm().await
    })
    .await
}

async fn an_api_server_that_forbids_or_fails_raises_alerts_until_it_does_not() -> Result<()> {
    watched(bare(), async |world, prometheus| {
        placed(&world, "").await?;
        world.start_host().await?;
        active(&world, "misfit").await?;
        prometheus.reads(&world).await?;
        let create = async |prefix: &str, number| object(&world, &format!("{prefix}-{number}"), "ok").await;
        let answer =
            |status, reason| Rule::every(Action::kubernetes(status, reason, "as told", None)).methods(&[Method::PATCH]);
        let rule = world.kubernetes_gate.rule(answer(StatusCode::FORBIDDEN, "Forbidden"));
        prometheus.fire_under(&["OarlockForbidden"], async |number| create("forbidden", number).await).await?;
        drop(rule);
        let rule = world.kubernetes_gate.rule(answer(StatusCode::INTERNAL_SERVER_ERROR, "InternalError"));
        prometheus.fire_under(&["OarlockApiErrors"], async |number| create("failing", number).await).await?;
        drop(rule);
        prometheus.calm().await
    })
    .await
}

/// Many watches of one kind, so that one cut gives as many relists as the alert allows: a single watch relists less and less often.
async fn watches_that_cannot_be_resumed_raise_an_alert() -> Result<()> {
    watched(bare(), async |world, prometheus| {
        let watches: Vec<Value> = (0..16)
            .map(|n| json!({"version": "v1", "kind": "Secret", "names": [format!("s{n}")], "mapTo": {"type": "sameName"}}))
            .collect();
        let granted = grant(&world).rule("", &["secrets"], &["get", "list", "watch"]);
        world.plugins.grant("misfit", &granted)?;
        world.plugins.place("misfit.wasm", &misfit_with("1", "", |manifest| manifest["watches"] = watches.into())?)?;
        world.start_host().await?;
        active(&world, "misfit").await?;
        prometheus.reads(&world).await?;
        prometheus.query("oarlock_informer_relists_total{kind=\"Secret\"} == 0").await?;
        let gone = Action::kubernetes(StatusCode::GONE, "Expired", "too old resource version", None);
        let rule = world.kubernetes_gate.rule(Rule::every(gone).path("watch="));
        world.kubernetes_gate.cut();
        prometheus.fire(&["OarlockRelists"]).await?;
        drop(rule);
        prometheus.calm().await
    })
    .await
}

async fn a_worker_that_is_at_one_object_for_long_raises_an_alert() -> Result<()> {
    watched(bare(), async |world, prometheus| {
        world.plugins.grant("misfit", &grant(&world).limits(|limits| limits.deadline_seconds = 60))?;
        world.plugins.place("misfit.wasm", &misfit_version("1", "")?)?;
        world.start_host().await?;
        active(&world, "misfit").await?;
        prometheus.reads(&world).await?;
        let rule = world.neutron_gate.rule(Rule::every(Action::Delay(Duration::from_secs(28))));
        objects(&world, "slow", 2, "fetch").await?;
        prometheus.fire(&["OarlockWorkerStuck"]).await?;
        drop(rule);
        prometheus.calm().await
    })
    .await
}

/// The limit comes to the host, not the host to the limit: that takes a control group, and the rights to make one.
async fn a_host_near_its_memory_limit_raises_an_alert_until_the_limit_is_raised() -> Result<()> {
    let Some(group) = MemoryGroup::create()? else { return Ok(()) };
    watched(bare(), async |world, prometheus| {
        world.start_host().await?;
        prometheus.reads(&world).await?;
        group.add(world.host(async |host| Ok(host.process().pid())).await?)?;
        // The kernel may take pages of an idle host away meanwhile: the limit stays near what it has.
        let near = async |_| {
            let metrics = world.host(async |host| Ok(host.admin().get("/metrics").await?.text())).await?;
            let resident = metrics.lines().find_map(|line| line.strip_prefix("process_resident_memory_bytes "));
            group.limit(resident.context("no process_resident_memory_bytes")?)
        };
        prometheus.fire_under(&["OarlockMemory"], near).await?;
        group.limit(group.unlimited)?;
        prometheus.calm().await
    })
    .await
}

async fn a_lease_that_cannot_be_renewed_raises_an_alert() -> Result<()> {
    watched(bare(), async |world, prometheus| {
        placed(&world, "").await?;
        let timing = [
            "--lease-duration-seconds",
            "6",
            "--lease-renew-deadline-seconds",
            "4",
            "--lease-retry-period-seconds",
            "1",
        ];
        world.start_host_with(&[&["--lease-namespace", "default"], &timing[..]].concat()).await?;
        active(&world, "misfit").await?;
        prometheus.reads(&world).await?;
        let fails = Action::kubernetes(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", "as told", None);
        let rule = world.kubernetes_gate.rule(Rule::every(fails).path("/leases"));
        prometheus.fire(&["OarlockPluginNotLed"]).await?;
        drop(rule);
        prometheus.calm().await
    })
    .await
}

async fn a_host_that_is_gone_and_one_that_ends_again_and_again_raise_alerts() -> Result<()> {
    watched(bare(), async |world, prometheus| {
        world.start_host().await?;
        prometheus.reads(&world).await?;
        world.kill_host().await?;
        prometheus.fire(&["OarlockDown"]).await?;
        for _ in 0..5 {
            world.start_host().await?;
            let now = world.host(async |host| Ok(address(host))).await?;
            prometheus.reads_all(&[("a", &now)]).await?;
            world.kill_host().await?;
        }
        world.start_host().await?;
        prometheus.reads(&world).await?;
        prometheus.fire(&["OarlockRestarts"]).await?;
        prometheus.calm().await
    })
    .await
}

async fn a_queue_that_grows_raises_an_alert_until_it_is_worked_off() -> Result<()> {
    watched(bare(), async |world, prometheus| {
        world.plugins.grant("misfit", &grant(&world).workers(1))?;
        world.plugins.place("misfit.wasm", &misfit_version("1", "")?)?;
        world.start_host().await?;
        active(&world, "misfit").await?;
        prometheus.reads(&world).await?;
        let slow = world.neutron_gate.rule(Rule::every(Action::Delay(Duration::from_secs(1))));
        objects(&world, "first", 120, "fetch").await?;
        let more = async |number| object(&world, &format!("more-{number}"), "fetch").await;
        prometheus.fire_under(&["OarlockQueueGrows"], more).await?;
        drop(slow);
        prometheus.calm().await
    })
    .await
}

async fn a_registry_that_is_away_and_objects_that_stay_out_of_sync_raise_alerts() -> Result<()> {
    watched(bare(), async |world, prometheus| {
        let registry = Registry::open(world.folder()).await?;
        let gate = Gate::open(Upstream::Http(format!("http://{}", registry.address())), Tripwire::default()).await?;
        let source = format!("oci://{}/team/idler-0000:v1", gate.url().replace("http://", ""));
        oci::push(registry.address(), "team/idler-0000:v1", "1", None).await?;
        world.plugins.grant("idler-0000", &oci::grant())?;
        placed(&world, "").await?;
        oci::start(&world, &source, &[]).await?;
        active(&world, "misfit").await?;
        prometheus.reads(&world).await?;
        prometheus.query("oarlock_registry_answers == 1").await?;
        object(&world, "never", "never-equal").await?;
        gate.set_down(true);
        prometheus.fire(&["OarlockRegistrySilent", "OarlockObjectsOutOfSync"]).await?;
        gate.set_down(false);
        let path = format!("/api/v1/namespaces/{}/configmaps/never", world.namespace);
        world.cluster.merge_patch(&path, &json!({"metadata": {"annotations": {"misfit/mode": "ok"}}})).await?;
        prometheus.calm().await
    })
    .await
}

fn gate_grant(policy: &str) -> Grant {
    let grant = Grant::nothing().rule("", &["configmaps"], &["get", "list", "watch"]);
    grant
        .limits(|limits| limits.deadline_seconds = 30)
        .admission_with(|granted| granted.failure_policy = Some(policy.to_owned()))
}

/// A host with the gatekeeper.
async fn guarded(world: &World, policy: &str) -> Result<admission::Door> {
    world.plugins.grant("gatekeeper", &gate_grant(policy))?;
    world.plugins.place("gatekeeper.wasm", &admission::gatekeeper("yes")?)?;
    world.start_host_answering(&["gatekeeper"]).await?;
    admission::door(world).await
}

async fn made(world: &World, name: &str) -> Result<Value> {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "annotations": {"gate": "transient"}}});
    world.cluster.create(&format!("/api/v1/namespaces/{}/configmaps", world.namespace), &object).await
}

async fn reviews_that_fail_or_are_ignored_raise_alerts_by_the_failure_policy() -> Result<()> {
    watched(bare(), async |world, prometheus| {
        let door = guarded(&world, "Fail").await?;
        prometheus.reads(&world).await?;
        let fault = async |number| {
            ensure!(made(&world, &format!("refused-{number}")).await.is_err(), "it was taken");
            ensure!(door.client.get("/mutate/gatekeeper/0").await?.status == StatusCode::METHOD_NOT_ALLOWED);
            Ok(())
        };
        prometheus.fire_under(&["OarlockReviewsFail", "OarlockReviewsFailClosed"], fault).await?;
        world.plugins.grant("gatekeeper", &gate_grant("Ignore"))?;
        eventually(SOON, "the other policy", || async {
            let config = world.cluster.get(MUTATING).await?.unwrap_or_default();
            ensure!(text_at(&config, "/webhooks/0/failurePolicy") == "Ignore", "{config}");
            Ok(())
        })
        .await?;
        prometheus
            .fire_under(&["OarlockReviewsIgnored"], async |n| made(&world, &format!("ignored-{n}")).await.map(drop))
            .await?;
        prometheus.calm().await
    })
    .await
}

async fn slow_reviews_raise_an_alert() -> Result<()> {
    watched(bare(), async |world, prometheus| {
        let door = Arc::new(guarded(&world, "Fail").await?);
        prometheus.reads(&world).await?;
        let done = Arc::new(AtomicBool::new(false));
        let (client, ended) = (Arc::clone(&door), Arc::clone(&done));
        let asking = tokio::spawn(async move {
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "one", "namespace": "n", "annotations": {"gate": "loop"}}});
            while !ended.load(Ordering::Relaxed) {
                let review = admission::review(&object);
                client.client.json(Method::POST, "/mutate/gatekeeper/0?timeout=8s", &[], &review).await?;
            }
            anyhow::Ok(())
        });
        prometheus.fire(&["OarlockReviewsSlow"]).await?;
        done.store(true, Ordering::Relaxed);
        asking.await??;
        prometheus.calm().await
    })
    .await
}

async fn initializers_without_a_plugin_and_a_rival_of_the_configuration_raise_alerts() -> Result<()> {
    watched(bare(), async |world, prometheus| {
        world.cluster.apply_crd(&repository_root().join("deploy/crds/initializerconfigurations.yaml")).await?;
        guarded(&world, "Fail").await?;
        prometheus.reads(&world).await?;
        let rules = json!([{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["secrets"]}]);
        let nobody = json!({"apiVersion": "oarlock.dev/v1alpha1", "kind": "InitializerConfiguration", "metadata": {"name": "first"},
            "initializers": [{"name": "a.example.com", "plugin": "nobody", "rules": rules}]});
        world.cluster.create(INITIALIZERS, &nobody).await?;
        prometheus.fire(&["OarlockInitializerUnanswered"]).await?;
        world.cluster.delete(&format!("{INITIALIZERS}/first")).await?;
        let rival = async |_| {
            let mut config = world.cluster.get(MUTATING).await?.context("no configuration")?;
            if text_at(&config, "/webhooks/0/failurePolicy") == "Fail" {
                *config.pointer_mut("/webhooks/0/failurePolicy").context("no policy")? = json!("Ignore");
                // The host may have written meanwhile: a conflict.
                let path = format!("{MUTATING}?fieldManager=rival");
                let _ = world.cluster.request(Method::PUT, &path, "application/json", &config).await;
            }
            Ok(())
        };
        prometheus.fire_under(&["OarlockWebhookConfigurationContested"], rival).await?;
        prometheus.calm().await
    })
    .await
}

/// All at once, each in a world of its own: they mostly wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: make test-all"]
async fn every_alert_fires_under_its_fault_and_resolves_after_it() -> Result<()> {
    if tools(["prometheus"])?.is_none() {
        return Ok(());
    }
    let faults: Vec<(&str, LocalBoxFuture<'_, Result<()>>)> = vec![
        (
            "a_file_that_is_no_plugin_one_without_a_grant_and_one_without_its_kind_raise_alerts",
            Box::pin(a_file_that_is_no_plugin_one_without_a_grant_and_one_without_its_kind_raise_alerts()),
        ),
        (
            "a_plugin_that_traps_raises_alerts_until_a_better_version_comes",
            Box::pin(a_plugin_that_traps_raises_alerts_until_a_better_version_comes()),
        ),
        (
            "a_server_of_a_plugin_that_fails_raises_alerts_until_it_is_back",
            Box::pin(a_server_of_a_plugin_that_fails_raises_alerts_until_it_is_back()),
        ),
        (
            "an_api_server_that_forbids_or_fails_raises_alerts_until_it_does_not",
            Box::pin(an_api_server_that_forbids_or_fails_raises_alerts_until_it_does_not()),
        ),
        ("watches_that_cannot_be_resumed_raise_an_alert", Box::pin(watches_that_cannot_be_resumed_raise_an_alert())),
        (
            "a_worker_that_is_at_one_object_for_long_raises_an_alert",
            Box::pin(a_worker_that_is_at_one_object_for_long_raises_an_alert()),
        ),
        (
            "a_host_near_its_memory_limit_raises_an_alert_until_the_limit_is_raised",
            Box::pin(a_host_near_its_memory_limit_raises_an_alert_until_the_limit_is_raised()),
        ),
        ("a_lease_that_cannot_be_renewed_raises_an_alert", Box::pin(a_lease_that_cannot_be_renewed_raises_an_alert())),
        (
            "a_host_that_is_gone_and_one_that_ends_again_and_again_raise_alerts",
            Box::pin(a_host_that_is_gone_and_one_that_ends_again_and_again_raise_alerts()),
        ),
        (
            "a_queue_that_grows_raises_an_alert_until_it_is_worked_off",
            Box::pin(a_queue_that_grows_raises_an_alert_until_it_is_worked_off()),
        ),
        (
            "a_registry_that_is_away_and_objects_that_stay_out_of_sync_raise_alerts",
            Box::pin(a_registry_that_is_away_and_objects_that_stay_out_of_sync_raise_alerts()),
        ),
        (
            "reviews_that_fail_or_are_ignored_raise_alerts_by_the_failure_policy",
            Box::pin(reviews_that_fail_or_are_ignored_raise_alerts_by_the_failure_policy()),
        ),
        ("slow_reviews_raise_an_alert", Box::pin(slow_reviews_raise_an_alert())),
        (
            "initializers_without_a_plugin_and_a_rival_of_the_configuration_raise_alerts",
            Box::pin(initializers_without_a_plugin_and_a_rival_of_the_configuration_raise_alerts()),
        ),
    ];
    let ended = join_all(faults.into_iter().map(async |(name, fault)| fault.await.context(name))).await;
    let failed: Vec<_> = ended.into_iter().filter_map(Result::err).map(|error| format!("{error:#}")).collect();
    ensure!(failed.is_empty(), "{}", failed.join("\n\n"));
    Ok(())
}

#[test]
fn every_alert_has_a_fault() -> Result<()> {
    let here = include_str!("faults.rs");
    for rule in alerts()? {
        let name = text_at(&rule, "/alert");
        ensure!(here.contains(&format!("\"{name}\"")), "{name} has no fault");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_takes_hours_fires_and_resolves_for_promtool() -> Result<()> {
    let Some([promtool]) = tools(["promtool"])? else { return Ok(()) };
    with_world(WorldOptions { host: false, ..bare() }, async |world: Arc<World>| {
        let file = repository_root().join("deploy/monitoring/alerts-test.yaml").display().to_string();
        let said = said_by(&promtool, world.folder(), &["test", "rules", &file]).await?;
        ensure!(said.is_ok(), "{said:?}");
        Ok(())
    })
    .await
}
