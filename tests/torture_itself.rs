//! The torture in small, and proof that its oracles can fail.

use anyhow::{Context, Result, ensure};
use oarlock_tests::{
    harness::{HttpClient, built_plugin, oarlock},
    torture::{
        Books, Form, Found, HostLog, Kind, Known, Ledger, Mode, Options, Thing, Touch, Truth, Verdict, forged, run,
    },
};
use serde_json::{Value, json};
use std::time::Duration;

/// Ten seconds of it: some swaps hit a broken version, one a host that was just killed.
#[tokio::test(flavor = "multi_thread")]
async fn torture_in_small() -> Result<()> {
    let options = Options {
        seed: 1,
        period: Duration::from_secs(10),
        objects: 200,
        changes_per_second: 40,
        swap_every: Some(Duration::from_millis(200)),
        kills: 1,
        replays: 0,
        own_group: false,
    };
    let report = run(&options, &|_| ()).await?;
    ensure!(report.failures().is_empty(), "{:#?}\n{report}", report.failures());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes a minute"]
async fn five_hundred_recorded_reconciles_of_the_torture_replay() -> Result<()> {
    let options = Options {
        seed: 2,
        period: Duration::from_secs(25),
        objects: 100,
        changes_per_second: 60,
        swap_every: Some(Duration::from_secs(1)),
        kills: 0,
        replays: 500,
        own_group: false,
    };
    let report = run(&options, &|_| ()).await?;
    ensure!(report.failures().is_empty(), "{:#?}\n{report}", report.failures());
    ensure!(report.replayed() >= 500, "{} cases", report.replayed());
    Ok(())
}

fn touch(version: &str, correlation: &str) -> Touch {
    let owned = str::to_owned;
    Touch {
        plugin: owned("plain"),
        version: owned(version),
        correlation: owned(correlation),
        name: owned("o1"),
        uid: owned("u1"),
    }
}

#[test]
fn reconciles_that_follow_each_other_are_no_overlap_and_those_that_interleave_are() {
    let mut books = Books::default();
    for correlation in ["a", "a", "b", "b", "c"] {
        books.touch(&touch("1", correlation));
    }
    // Another key.
    books.touch(&Touch { name: "o2".to_owned(), ..touch("1", "d") });
    assert_eq!(books.overlaps(), 0);
    // c began before b had ended.
    books.touch(&touch("2", "b"));
    assert_eq!(books.overlaps(), 1);
    assert!(
        books.violations().iter().any(|said| said.contains("reconcile b of version 2")),
        "{:?}",
        books.violations()
    );
}

#[test]
fn a_second_thing_is_made_and_counted() {
    let mut books = Books::default();
    let touch = touch("1", "a");
    assert!(!books.update(&touch, "v0"));
    books.create(&touch, "v1");
    assert_eq!((books.doubles(), books.value("u1")), (0, Some("v1")));
    books.create(&touch, "v2");
    assert_eq!(books.doubles(), 1);
    // It stays counted.
    books.delete(&touch);
    assert_eq!((books.doubles(), books.value("u1")), (1, None));
}

/// A Plain object as the API server has it.
fn object(uid: &str, value: &str, generation: u64) -> Value {
    json!({
        "metadata": {"name": format!("o-{uid}"), "uid": uid, "generation": 2}, "spec": {"value": value},
        "status": {"observedGeneration": generation, "value": value, "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

/// Two objects that are well: one of them a Plain one, the other a Dependent one.
fn well() -> (Truth, Found) {
    let known = |kind, uid: &str, settings: &str| Known {
        kind,
        name: format!("o-{uid}"),
        uid: uid.to_owned(),
        value: "v2".to_owned(),
        settings: settings.to_owned(),
    };
    let thing = |plugin: &str, value: &str| vec![Thing { plugin: plugin.to_owned(), value: value.to_owned() }];
    let truth = Truth {
        living: vec![known(Kind::Plain, "u1", ""), known(Kind::Dependent, "u2", "s"), known(Kind::Parent, "u3", "")],
        settings: [("s".to_owned(), "w1".to_owned())].into(),
    };
    let child = json!({"metadata": {"ownerReferences": [{"uid": "u3"}]}, "data": {"value": "v2"}});
    let found = Found {
        objects: vec![
            (Kind::Plain, object("u1", "v2", 2)),
            (Kind::Dependent, object("u2", "v2+w1", 2)),
            (Kind::Parent, object("u3", "v2", 2)),
        ],
        children: vec![child],
        things: [("u1".to_owned(), thing("plain", "v2")), ("u2".to_owned(), thing("dependent", "v2+w1"))].into(),
    };
    (truth, found)
}

/// The verdict after something was spoilt, as lengths of its lists: lost, not_converged, stuck, left over, double.
fn verdict(spoil: impl FnOnce(&mut Truth, &mut Found)) -> [usize; 5] {
    let (mut truth, mut found) = well();
    spoil(&mut truth, &mut found);
    let Verdict { lost, not_converged, stuck, left_over, double } = Verdict::of(&truth, &found);
    [lost.len(), not_converged.len(), stuck.len(), left_over.len(), double.len()]
}

#[test]
fn the_verdict_is_clean_when_all_is_well_and_only_then() {
    assert_eq!(verdict(|_, _| ()), [0; 5]);
    // An edit that nobody acted on; a change of the settings; an object nothing was made for; a child that was not followed up.
    assert_eq!(verdict(|truth, _| truth.living[0].value = "v3".to_owned()), [1, 0, 0, 0, 0]);
    assert_eq!(verdict(|truth, _| drop(truth.settings.insert("s".to_owned(), "w2".to_owned()))), [1, 0, 0, 0, 0]);
    assert_eq!(verdict(|_, found| drop(found.things.remove("u1"))), [1, 0, 0, 0, 0]);
    assert_eq!(verdict(|_, found| found.children[0]["data"]["value"] = json!("v1")), [1, 0, 0, 0, 0]);
    // A status of an older generation; one that is not ready.
    assert_eq!(verdict(|_, found| found.objects[0].1 = object("u1", "v2", 1)), [0, 1, 0, 0, 0]);
    let not_ready = json!([{"type": "Ready", "status": "False"}]);
    assert_eq!(verdict(|_, found| found.objects[1].1["status"]["conditions"] = not_ready), [0, 1, 0, 0, 0]);
    // An object that was deleted, with its thing, without it, and its thing alone.
    assert_eq!(verdict(|truth, _| drop(truth.living.remove(0))), [0, 0, 1, 1, 0]);
    assert_eq!(verdict(|truth, found| drop((truth.living.remove(0), found.things.remove("u1")))), [0, 0, 1, 0, 0]);
    assert_eq!(verdict(|truth, found| drop((truth.living.remove(2), found.objects.remove(2)))), [0, 0, 0, 1, 0]);
    // Two things.
    let twice = |found: &mut Found| {
        let things = found.things.get_mut("u2").unwrap();
        things.push(things[0].clone());
    };
    assert_eq!(verdict(|_, found| twice(found)), [0, 0, 0, 0, 1]);
}

#[test]
fn the_host_log_tells_reconciles_of_one_key_at_the_same_time() {
    let line = |at: &str, key: &str, ms: f64, id: &str| {
        let line = json!({
            "timestamp": format!("2026-11-22T00:00:{at}Z"), "message": "reconciled", "plugin": "plain", "key": key,
            "duration_ms": ms, "correlation_id": id,
        });
        format!("{line}\nno JSON \"duration_ms\"\n")
    };
    let one = line("10.000000", "Plain n/o1", 50.0, "a");
    let next = line("10.020000", "Plain n/o1", 19.5, "b");
    let meanwhile = line("10.020000", "Plain n/o1", 30.0, "b");
    let other = line("10.020000", "Plain n/o2", 30.0, "c");
    assert_eq!(HostLog::read(&(one.clone() + &next + &other)), HostLog { reconciles: 3, ..HostLog::default() });
    let log = HostLog::read(&(one + &meanwhile + "thread 'x' panicked at y"));
    assert_eq!((log.overlaps.len(), log.panics.len()), (1, 1), "{log:?}");
}

#[tokio::test]
async fn the_ledger_keeps_what_it_is_told_and_forgets_who_worked_for_a_dead_host() -> Result<()> {
    let ledger = Ledger::open().await?;
    let before = HttpClient::new(&ledger.url());
    let send = async |client: &HttpClient, method: &str, area: &str, correlation: &str, body: &'static str| {
        let path = format!("/{area}/plain/1/{correlation}/o1/u1");
        let answer = client.send(method.parse()?, &path, &[], body.into()).await?;
        anyhow::Ok((answer.status.as_u16(), answer.text()))
    };
    assert_eq!(send(&before, "GET", "things", "a", "").await?.0, 404);
    assert_eq!(send(&before, "PUT", "things", "a", "v0").await?.0, 404);
    assert_eq!(send(&before, "POST", "things", "a", "v1+w").await?.0, 201);
    assert_eq!(send(&before, "GET", "things", "a", "").await?, (200, "v1+w".to_owned()));
    assert!(ledger.books(|books| books.arrival("v1")).is_some() && ledger.books(|books| books.arrival("v0")).is_none());
    ledger.host_died();
    let after = HttpClient::new(&ledger.url());
    assert_eq!(send(&after, "POST", "marks", "b", "").await?.0, 200);
    // What the dead one had sent is done, but is nobody at work.
    assert_eq!(send(&before, "PUT", "things", "a", "v2").await?.0, 200);
    assert_eq!(ledger.books(Books::overlaps), 0);
    assert_eq!(send(&after, "DELETE", "things", "b", "").await?.0, 200);
    assert_eq!(send(&after, "GET", "things", "b", "").await?.0, 404);
    Ok(())
}

#[tokio::test]
async fn a_forged_changeling_is_the_plugin_that_was_written_into_it() -> Result<()> {
    let guest = std::fs::read(built_plugin("changeling")?)?;
    let folder = tempfile::tempdir()?;
    for kind in Kind::ALL {
        let file = folder.path().join("forged.wasm");
        std::fs::write(&file, forged(&guest, &kind.role("4711"))?)?;
        let inspected = oarlock(&["inspect", &file.display().to_string(), "--json"]).await?;
        let told = String::from_utf8_lossy(&inspected.stdout);
        ensure!(inspected.status.success(), "{told}{}", String::from_utf8_lossy(&inspected.stderr));
        let told: Value = serde_json::from_str(&told).with_context(|| told.to_string())?;
        let manifest = told.get("manifest").with_context(|| told.to_string())?;
        let of = |pointer: &str| manifest.pointer(pointer).cloned().unwrap_or_default();
        assert_eq!(of("/name"), kind.plugin());
        assert_eq!(of("/version"), "4711");
        assert_eq!(of("/cleanup"), kind.has_finalizer());
        assert_eq!(of("/manageStatus"), kind.has_status());
    }
    assert!(forged(b"no changeling", &Kind::Plain.role("1")).is_err());
    assert!(Form::Whole(Mode::Slow).is_good() && !Form::Whole(Mode::TrapSome).is_good() && !Form::Text.is_good());
    Ok(())
}
