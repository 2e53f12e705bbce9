//! The long week in small, and proof that its oracle can fail.

use anyhow::{Result, ensure};
use oarlock_tests::soak::{Load, Options, Usage, run};
use std::collections::BTreeMap;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes: make test-all"]
async fn two_hours_in_small() -> Result<()> {
    let load = Load { idle: 200, busy: 3, swaps: 2, cuts: 10 };
    let report = run(&Options { hours: 2, load, own_group: false }, &|_| ()).await?;
    ensure!(report.failures().is_empty(), "{:#?}\n{report}", report.failures());
    // What it says it did was done.
    ensure!(report.objects == 2 * (200 + 12) && report.swaps == 16 && report.moves >= 2, "{report}");
    Ok(())
}

#[test]
fn what_grows_is_found_and_what_an_allocator_keeps_is_not() {
    let usage = |figures: &[(&str, f64)]| {
        Usage(figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect::<BTreeMap<_, _>>())
    };
    let start = usage(&[("rss MiB", 40.0), ("map tombstones", 0.0), ("bytes tombstones", 0.0), ("open files", 60.0)]);
    let same = usage(&[("rss MiB", 65.0), ("map tombstones", 0.0), ("bytes tombstones", 0.0), ("open files", 70.0)]);
    assert!(same.grown_since(&start).is_empty());
    for (name, value) in [
        ("rss MiB", 67.0),
        ("map tombstones", 1.0),
        ("map of-something-new", 1.0),
        ("open files", 93.0),
        ("map struck", 10_001.0),
        ("bytes applied-documents", 40_000_000.0),
        ("code cache MiB", 2049.0),
    ] {
        let mut end = same.clone();
        end.0.insert(name.to_owned(), value);
        let grown = end.grown_since(&start);
        assert!(grown.len() == 1 && grown.iter().all(|text| text.starts_with(name)), "{name}: {grown:?}");
    }
}
