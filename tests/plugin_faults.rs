//! A plugin that loops, grows, traps, floods or asks for what it was not granted (P1 to P15, with the misfit guest): that one
//! reconcile fails with a reason its author understands, is tried again with backoff, and nobody else notices.

mod handed_over;
mod manifests;
mod many;
mod out_of_sync;
mod waiting;

use anyhow::{Context, Result, ensure};
use oarlock_tests::harness::{Grant, SOON, World, WorldOptions, eventually, steady, text, with_world};
use serde_json::{Value, json};
use std::{collections::HashMap, sync::Arc, time::Duration};

/// Of the misfit, in seconds.
const DEADLINE: u32 = 2;
/// Backoff may have grown by the time a misfit is cured.
const AFTER_BACKOFF: Duration = Duration::from_secs(90);

/// What the misfit is granted: ConfigMaps in the test's namespace, and little of everything else.
fn grant(world: &World) -> Grant {
    let verbs = ["get", "list", "watch", "create", "patch", "delete"];
    let url = world.neutron_gate.url();
    Grant::nothing().rule_in(&world.namespace, "", &["configmaps"], &verbs).origin(&url).config("url", &url).limits(
        |limits| {
            limits.deadline_seconds = DEADLINE;
            limits.memory_mib = 16;
        },
    )
}

/// The same with time for what takes long on a busy machine.
fn patient(world: &World) -> Grant {
    grant(world).limits(|limits| limits.deadline_seconds = 60)
}

/// Makes an object the misfit treats as its mode says; returns its uid.
async fn misfit(world: &World, name: &str, mode: &str) -> Result<String> {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"misfit": "true"}, "annotations": {"misfit/mode": mode}},
        "data": {"value": "first"}});
    let made = world.cluster.create(&format!("/api/v1/namespaces/{}/configmaps", world.namespace), &object).await?;
    Ok(text(&made, "/metadata/uid"))
}

fn path(world: &World, name: &str) -> String {
    format!("/api/v1/namespaces/{}/configmaps/{name}", world.namespace)
}

/// Waits until the child of a well-behaved object has seen this value.
async fn seen(world: &World, name: &str, value: &str) -> Result<()> {
    eventually(AFTER_BACKOFF, &format!("{name}-child to have seen {value}"), || async {
        let child = world.cluster.get(&path(world, &format!("{name}-child"))).await?.context("no child")?;
        ensure!(text(&child, "/data/seen") == value, "{child}");
        Ok(())
    })
    .await
}

/// Tells a misfit to behave, and waits until it does.
async fn cured(world: &World, name: &str) -> Result<()> {
    let patch = json!({"metadata": {"annotations": {"misfit/mode": "ok"}}});
    world.cluster.merge_patch(&path(world, name), &patch).await?;
    seen(world, name, "first").await
}

async fn failures(world: &World) -> Result<f64> {
    world.host(async |host| host.metric("controller_runtime_reconcile_total", &["\"misfit\"", "\"error\""]).await).await
}

/// A world with the network plugin and the misfit, and an object of each that is well.
async fn with_misfit(body: impl AsyncFnOnce(Arc<World>) -> Result<()>) -> Result<()> {
    with_misfit_granted(grant, body).await
}

/// The same with another grant.
async fn with_misfit_granted(
    grant: impl FnOnce(&World) -> Grant,
    body: impl AsyncFnOnce(Arc<World>) -> Result<()>,
) -> Result<()> {
    with_world(WorldOptions { host: false, ..WorldOptions::default() }, async |world: Arc<World>| {
        world.plugins.add("misfit", "misfit", &grant(&world))?;
        world.start_host().await?;
        misfit(&world, "good", "ok").await?;
        seen(&world, "good", "first").await?;
        body(world).await
    })
    .await
}

/// Waits until the misfit has said farewell to the object of this uid.
async fn farewell(world: &World, name: &str, uid: &str) -> Result<()> {
    eventually(AFTER_BACKOFF, &format!("a farewell to {uid}"), || async {
        let said = world.cluster.get(&path(world, &format!("{name}-farewell"))).await?.context("none yet")?;
        ensure!(text(&said, "/data/uid") == uid, "{said}");
        Ok(())
    })
    .await
}

/// A plugin without a finalizer is asked once more about an object that is gone, with its uid and its last state.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_is_gone_runs_once_more() -> Result<()> {
    with_misfit(async |world: Arc<World>| {
        let uid = misfit(&world, "leaving", "farewell").await?;
        seen(&world, "leaving", "first").await?;
        world.cluster.delete(&path(&world, "leaving")).await?;
        farewell(&world, "leaving", &uid).await
    })
    .await
}

/// I8: gone and made again under its name while the host could not look.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn i8_an_object_replaced_under_its_name_is_two_objects() -> Result<()> {
    with_misfit(async |world: Arc<World>| {
        let first = misfit(&world, "replaced", "farewell").await?;
        seen(&world, "replaced", "first").await?;
        world.kubernetes_gate.set_down(true);
        world.cluster.delete(&path(&world, "replaced")).await?;
        let second = misfit(&world, "replaced", "farewell").await?;
        world.kubernetes_gate.set_down(false);
        farewell(&world, "replaced", &first).await?;
        eventually(AFTER_BACKOFF, "a child of the second", || async {
            let child = world.cluster.get(&path(&world, "replaced-child")).await?.context("no child")?;
            ensure!(text(&child, "/metadata/ownerReferences/0/uid") == second, "{child}");
            Ok(())
        })
        .await
    })
    .await
}

/// Other plugins, and other objects of the same plugin, go on.
async fn the_others_go_on(world: &World) -> Result<()> {
    let uid = world.create_network("neighbour", "10.6.0.0/24", "10.6.0.1").await?;
    world.ready("neighbour").await?;
    world.only_network(&uid).await?;
    world.cluster.merge_patch(&path(world, "good"), &json!({"data": {"value": "second"}})).await?;
    seen(world, "good", "second").await
}

/// Waits for a warning event with one of these words, in lower case.
async fn told(world: &World, mode: &str, uid: &str, words: &[&str]) -> Result<()> {
    eventually(SOON, &format!("{mode} to be told with one of {words:?}"), || async {
        let events = world.events(uid).await?;
        let told = events.iter().any(|event| {
            let message = text(event, "/message").to_lowercase();
            text(event, "/type") == "Warning" && words.iter().any(|word| message.contains(word))
        });
        ensure!(told, "{events:?}");
        Ok(())
    })
    .await
}

/// Every mode fails with one of its words, more than once if it is to be `retried`, while the others go on; cured, it works.
async fn fails(modes: &'static [(&'static str, &'static [&'static str])], retried: bool) -> Result<()> {
    fails_granted(grant, modes, retried).await
}

/// The same with another grant.
async fn fails_granted(
    grant: impl FnOnce(&World) -> Grant,
    modes: &'static [(&'static str, &'static [&'static str])],
    retried: bool,
) -> Result<()> {
    with_misfit_granted(grant, async |world: Arc<World>| {
        let mut uids = Vec::new();
        for (number, (mode, _)) in modes.iter().enumerate() {
            uids.push(misfit(&world, &format!("bad-{number}"), mode).await?);
        }
        the_others_go_on(&world).await?;
        for ((mode, words), uid) in modes.iter().zip(&uids) {
            told(&world, mode, uid, words).await?;
        }
        let once = failures(&world).await?;
        if retried {
            eventually(AFTER_BACKOFF, "another try", || async {
                ensure!(failures(&world).await? > once, "none yet");
                Ok(())
            })
            .await?;
        }
        for number in 0..modes.len() {
            cured(&world, &format!("bad-{number}")).await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p1_a_loop_meets_the_deadline_in_every_call() -> Result<()> {
    const WORDS: &[&str] = &["deadline", "within", "in time", "2 s"];
    fails(&[("loop", WORDS), ("loop-actual", WORDS), ("loop-patch", WORDS)], true).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p3_recursion_without_end_is_a_stack_overflow() -> Result<()> {
    fails(&[("deep-recursion", &["stack", "recursion"])], true).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p4_memory_without_bound_is_refused() -> Result<()> {
    fails(&[("grow", &["memory"]), ("huge", &["memory"])], true).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p5_a_trap_ends_one_instance() -> Result<()> {
    fails(&[("trap", &["trap", "unreachable"]), ("panic", &["misfit panics as told", "trap", "panic"])], true).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p5_a_panics_text_is_in_the_log() -> Result<()> {
    with_misfit(async |world: Arc<World>| {
        misfit(&world, "bad", "panic").await?;
        eventually(SOON, "the panic's text", || async {
            let lines = world.log(|line| line.text.contains("misfit panics as told")).await?;
            let line = lines.first().context("not in the log")?;
            ensure!(line.field("plugin").as_deref() == Some("misfit"), "no plugin in {}", line.text);
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p6_a_flood_of_log_lines_is_cut_off_and_counted() -> Result<()> {
    with_misfit_granted(patient, async |world: Arc<World>| {
        misfit(&world, "bad", "log-flood:20000").await?;
        the_others_go_on(&world).await?;
        // It is no failure: what is too much is dropped.
        seen(&world, "bad", "first").await?;
        world.logged("the dropped lines", |line| line.text.contains("limits.logKib")).await?;
        let lines = world.log(|line| line.field("plugin").as_deref() == Some("misfit")).await?;
        let mut flood: HashMap<Option<String>, usize> = HashMap::new();
        for line in lines.iter().filter(|line| line.field("message").is_some_and(|text| text.starts_with("line "))) {
            *flood.entry(line.field("correlation_id")).or_default() += 1;
        }
        let most = flood.values().max().copied().unwrap_or_default();
        ensure!(most > 0 && most <= 200, "{most} lines of one reconcile");
        misfit(&world, "long", "log-long").await?;
        seen(&world, "long", "first").await?;
        let longest = world.log(|_| true).await?.iter().map(|line| line.text.len()).max().unwrap_or_default();
        ensure!(longest < 10_000, "a line of {longest} bytes");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p7_answers_that_are_no_json_or_too_large_are_refused() -> Result<()> {
    fails(
        &[
            ("invalid-json", &["json"]),
            ("invalid-json-actual", &["json"]),
            ("large:5000000", &["kib", "bytes", "large"]),
            ("deep-json:100000", &["json", "recursion", "deep"]),
            ("garbage-status", &["json", "status"]),
            ("status-not-object", &["object", "status"]),
        ],
        true,
    )
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p11_changes_that_were_not_granted_or_make_no_sense_are_not_made() -> Result<()> {
    fails(
        &[
            ("apply-ungranted", &["grant"]),
            ("delete-ungranted", &["grant"]),
            ("apply-elsewhere", &["grant"]),
            ("apply-garbage", &["json"]),
            ("apply-nameless", &["name"]),
        ],
        false,
    )
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p11_nothing_of_what_was_refused_exists() -> Result<()> {
    with_misfit(async |world: Arc<World>| {
        for mode in ["apply-ungranted", "apply-elsewhere", "delete-ungranted"] {
            let uid = misfit(&world, mode, mode).await?;
            world.event(&uid, "Warning", "grant").await?;
        }
        let secrets = world.cluster.list(&format!("/api/v1/namespaces/{}/secrets", world.namespace)).await?;
        ensure!(secrets.is_empty(), "{secrets:?}");
        let stray = world.cluster.list("/api/v1/namespaces/kube-system/configmaps?labelSelector=misfit-child").await?;
        ensure!(stray.is_empty(), "{stray:?}");
        let default = world.cluster.get("/api/v1/namespaces/default").await?.context("no namespace")?;
        ensure!(default.pointer("/metadata/deletionTimestamp").is_none(), "{default}");
        let asked = world.kubernetes_gate.writes_since(0);
        let asked: Vec<_> =
            asked.iter().filter(|one| one.path.contains("secret") || one.path.contains("kube-system")).collect();
        ensure!(asked.is_empty(), "the API server was asked: {asked:?}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p15_reads_and_origins_that_were_not_granted_are_refused() -> Result<()> {
    fails(
        &[
            ("ungranted-kind", &["grant", "secret"]),
            ("ungranted-live", &["grant", "secret"]),
            ("ungranted-list", &["grant", "secret"]),
            ("ungranted-origin", &["grant", "ungranted.invalid"]),
        ],
        false,
    )
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p6_floods_of_events_requests_and_cache_entries_are_bounded() -> Result<()> {
    with_misfit(async |world: Arc<World>| {
        let uid = misfit(&world, "events", "event-flood:10000").await?;
        misfit(&world, "cache", "cache-flood:500").await?;
        let long = misfit(&world, "long", "event-garbage").await?;
        misfit(&world, "requests", "http-flood:2000").await?;
        misfit(&world, "both", "flood").await?;
        the_others_go_on(&world).await?;
        // Events: let them be written, then count.
        eventually(SOON, "an event", || async {
            ensure!(!world.events(&uid).await?.is_empty(), "none");
            Ok(())
        })
        .await?;
        steady(Duration::from_secs(3), "a bounded number of events", || async {
            let events = world.events(&uid).await?.len();
            ensure!(events <= 200, "{events} events");
            Ok(())
        })
        .await?;
        for event in world.events(&long).await? {
            ensure!(text(&event, "/message").len() <= 2048, "an event of {} bytes", event.to_string().len());
        }
        let sent = world.neutron_gate.journal().into_iter().filter(|one| one.path == "/").count();
        ensure!(sent <= 1000, "{sent} requests of the flood passed");
        Ok(())
    })
    .await
}

/// What the plugin says of itself, in what it answers and asks, is told as it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_of_the_plugin_are_told_in_its_words() -> Result<()> {
    fails(
        &[
            ("transient", &["misfit fails as told"]),
            ("terminal", &["misfit gives up as told"]),
            ("denied", &["denied outside admission: misfit denies as told"]),
            ("transient-after:60000", &["misfit fails as told"]),
            ("no-such-mode", &["misfit knows no mode"]),
        ],
        true,
    )
    .await
}

/// A value of `/plugins` for people: the plugin is still there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p9_after_a_deadline_the_next_call_is_a_fresh_instance() -> Result<()> {
    with_misfit(async |world: Arc<World>| {
        misfit(&world, "bad", "loop").await?;
        eventually(SOON, "a failure", || async {
            ensure!(failures(&world).await? >= 1.0, "none");
            Ok(())
        })
        .await?;
        for round in 0..3 {
            let value = format!("round-{round}");
            world.cluster.merge_patch(&path(&world, "good"), &json!({"data": {"value": value}})).await?;
            seen(&world, "good", &value).await?;
        }
        let plugin: Value = world.host(async |host| host.plugin("misfit").await).await?;
        ensure!(text(&plugin, "/state") == "active", "{plugin}");
        cured(&world, "bad").await
    })
    .await
}
