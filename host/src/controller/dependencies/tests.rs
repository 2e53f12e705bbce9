use super::graph::{MOST_BYTES, MOST_COMPARED, MOST_FACETS, MOST_READS, MOST_SCANNED};
use super::*;
use crate::informer::{Indexed, Indexer, Object};
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeSet;

fn kind(name: &str) -> GroupVersionKind {
    GroupVersionKind::new("", "v1", name)
}

fn key(name: &str) -> ReconcileKey {
    ReconcileKey { kind: Arc::new(kind("Primary")), key: ObjectKey::new("n0", name) }
}

fn indexer() -> Indexer {
    Indexer::pointer("/spec/uses")
}

/// Of few values each, so that objects and reads meet.
fn object(ns: u8, name: u8, label: u8, owner: u8, uses: u8) -> Arc<Object> {
    let labels = if label == 0 { json!({}) } else { json!({"app": format!("v{label}")}) };
    let owners = if owner == 0 { json!([]) } else { json!([{"uid": format!("u{owner}"), "kind": "K", "name": "n"}]) };
    let metadata =
        json!({"namespace": format!("n{ns}"), "name": format!("o{name}"), "labels": labels, "ownerReferences": owners});
    let document = json!({"metadata": metadata, "spec": {"uses": [format!("v{uses}"), "w"]}});
    Arc::new(Object::parse(&document.to_string()).unwrap())
}

#[derive(Clone, Debug)]
enum Asked {
    Object(u8, u8),
    List(ListOptions),
}

fn asked() -> impl Strategy<Value = Asked> {
    let selector = prop_oneof![
        Just(None),
        Just(Some("app=v1")),
        Just(Some("app in (v1,v2)")),
        Just(Some("!app")),
        Just(Some("app!=v2")),
    ];
    let list = (proptest::option::of(0u8..2), selector, 0u8..4, proptest::option::of(0u8..3), 0usize..3);
    let list = list.prop_map(|(ns, selector, owner, uses, limit)| {
        Asked::List(ListOptions {
            namespace: ns.map(|ns| format!("n{ns}")),
            label_selector: selector.map(|selector| selector.parse().unwrap()),
            owner_uid: (owner > 1).then(|| format!("u{}", owner - 1)),
            indexed: uses.map(|uses| Indexed { indexer: indexer(), value: format!("v{uses}") }),
            limit: (limit > 0).then_some(limit),
        })
    });
    prop_oneof![(0u8..2, 0u8..3).prop_map(|(ns, name)| Asked::Object(ns, name)), list]
}

fn concerns(asked: &Asked, object: &Object) -> bool {
    match asked {
        Asked::Object(ns, name) => *object.key() == ObjectKey::new(format!("n{ns}"), format!("o{name}")),
        Asked::List(options) => options.matches(object),
    }
}

fn record(recording: &Recording, of: &GroupVersionKind, asked: &Asked) {
    match asked {
        Asked::Object(ns, name) => recording.object(of, &ObjectKey::new(format!("n{ns}"), format!("o{name}"))),
        Asked::List(options) => recording.list(of, options),
    }
}

fn applied(old: Option<&Arc<Object>>, new: &Arc<Object>) -> Delta {
    Delta::Applied { old: old.cloned(), new: Arc::clone(new), initial: false }
}

#[derive(Clone, Debug)]
enum Step {
    /// A key reads this, and its reconcile ends or fails.
    Run(u8, Vec<Asked>, bool),
    Change(Option<(u8, u8, u8)>, (u8, u8, u8), u8, u8),
    Delete(u8, u8, u8, u8, u8),
    Forget(u8),
    Renew,
}

fn step() -> impl Strategy<Value = Step> {
    let state = || (0u8..3, 0u8..3, 0u8..3);
    prop_oneof![
        4 => (0u8..4, proptest::collection::vec(asked(), 0..5), any::<bool>()).prop_map(|(k, r, e)| Step::Run(k, r, e)),
        4 => (proptest::option::of(state()), state(), 0u8..2, 0u8..3).prop_map(|(o, n, ns, name)| Step::Change(o, n, ns, name)),
        1 => (0u8..2, 0u8..3, 0u8..3, 0u8..3, 0u8..3).prop_map(|(a, b, c, d, e)| Step::Delete(a, b, c, d, e)),
        1 => (0u8..4).prop_map(Step::Forget),
        1 => Just(Step::Renew),
    ]
}

/// What the dependencies must know, in the plainest form.
#[derive(Clone, Default)]
struct Expected {
    reads: Vec<Asked>,
    in_sync: bool,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// The plain form of the promise: a key is concerned by a change if, and only if, a read of its last reconcile, or of a later one that
    /// failed, selects the object before or after.
    #[test]
    fn exactly_the_keys_that_read_an_object_are_concerned_by_its_change(
        steps in proptest::collection::vec(step(), 0..60),
    ) {
        let dependencies: Arc<Dependencies> = Arc::default();
        let mut expected = vec![None::<Expected>; 4];
        let name = |k: usize| key(&format!("k{k}"));
        for step in steps {
            match step {
                Step::Run(k, reads, ends) => {
                    let recording = dependencies.begin(&name(k.into()));
                    reads.iter().for_each(|asked| record(&recording, &kind("Read"), asked));
                    let of = expected[usize::from(k)].get_or_insert_default();
                    if ends {
                        recording.end(true);
                        of.reads.clear();
                    }
                    of.reads.extend(reads);
                    of.in_sync = ends;
                }
                Step::Change(old, new, ns, n) => {
                    let state = |(label, owner, uses)| object(ns, n, label, owner, uses);
                    let (old, new) = (old.map(state), state(new));
                    check(&dependencies, &mut expected, &applied(old.as_ref(), &new), [old.as_ref(), Some(&new)])?;
                }
                Step::Delete(a, b, c, d, e) => {
                    let last = object(a, b, c, d, e);
                    check(&dependencies, &mut expected, &Delta::Deleted(Arc::clone(&last)), [Some(&last), None])?;
                }
                Step::Forget(k) => {
                    dependencies.forget(&name(k.into()));
                    expected[usize::from(k)] = None;
                }
                Step::Renew => {
                    dependencies.renew();
                    expected.iter_mut().flatten().for_each(|of| of.in_sync = false);
                }
            }
            for (k, of) in expected.iter().enumerate() {
                let in_sync = of.as_ref().is_some_and(|of| of.in_sync);
                prop_assert_eq!(dependencies.in_sync(&name(k)), in_sync);
            }
        }
        dependencies.retain(|_| false);
        prop_assert_eq!(dependencies.size(), Size::default());
    }
}

fn check(
    dependencies: &Dependencies,
    expected: &mut [Option<Expected>],
    delta: &Delta,
    states: [Option<&Arc<Object>>; 2],
) -> Result<(), TestCaseError> {
    let mut wanted = Vec::new();
    for (k, of) in expected.iter_mut().enumerate() {
        let Some(of) = of else { continue };
        let read = |object: &Arc<Object>| of.reads.iter().any(|asked| concerns(asked, object));
        if states.into_iter().flatten().any(read) {
            wanted.push(key(&format!("k{k}")));
            of.in_sync = false;
        }
    }
    prop_assert_eq!(dependencies.changed(&kind("Read"), delta), wanted);
    prop_assert!(dependencies.changed(&kind("Other"), delta).is_empty());
    Ok(())
}

#[test]
fn a_change_while_the_reconcile_runs_is_not_lost() {
    let dependencies: Arc<Dependencies> = Arc::default();
    let recording = dependencies.begin(&key("a"));
    recording.object(&kind("Read"), &ObjectKey::new("n0", "o1"));
    assert_eq!(dependencies.changed(&kind("Read"), &applied(None, &object(0, 1, 0, 0, 0))), [key("a")]);
    recording.end(true);
    assert!(!dependencies.in_sync(&key("a")), "it may have seen the state before");
    let recording = dependencies.begin(&key("a"));
    dependencies.touch(&key("a"));
    recording.end(true);
    assert!(!dependencies.in_sync(&key("a")), "its object changed");
}

#[test]
fn the_end_of_a_cancelled_reconcile_says_nothing_about_the_next_one() {
    let dependencies: Arc<Dependencies> = Arc::default();
    let cancelled = dependencies.begin(&key("a"));
    let next = dependencies.begin(&key("a"));
    next.object(&kind("Read"), &ObjectKey::new("n0", "o1"));
    cancelled.end(true);
    cancelled.object(&kind("Read"), &ObjectKey::new("n0", "o2"));
    assert!(!dependencies.in_sync(&key("a")));
    assert_eq!(dependencies.size().reads, 1);
    dependencies.forget(&key("a"));
    next.object(&kind("Read"), &ObjectKey::new("n0", "o3"));
    next.end(true);
    assert_eq!(dependencies.size(), Size::default(), "a key that was forgotten stays so");
}

/// A reconcile in one version ends after the swap: the next resync runs the key.
#[test]
fn in_sync_counts_for_one_version() {
    let dependencies: Arc<Dependencies> = Arc::default();
    let recording = dependencies.begin(&key("a"));
    dependencies.renew();
    recording.end(true);
    assert!(!dependencies.in_sync(&key("a")));
}

#[test]
fn bounded_work_and_memory_of_a_key_that_reads_without_end() {
    let dependencies: Arc<Dependencies> = Arc::default();
    let recording = dependencies.begin(&key("a"));
    for i in 0..10 * MOST_READS {
        recording.object(&kind("Read"), &ObjectKey::new("n0", format!("o{i}")));
        recording.list(
            &kind(if i % 2 == 0 { "Read" } else { "Other" }),
            &ListOptions { owner_uid: Some(format!("{i}{}", "u".repeat(i))), ..ListOptions::default() },
        );
    }
    let size = dependencies.size();
    assert!(size.reads <= MOST_READS && size.bytes < 2 * MOST_BYTES, "{size:?}");
    // What does not fit counts as a list of everything.
    for name in ["Read", "Other"] {
        assert_eq!(dependencies.changed(&kind(name), &applied(None, &object(1, 1, 0, 0, 0))), [key("a")], "{name}");
    }
    recording.object(&kind("Read"), &ObjectKey::new("n", "x".repeat(1 << 20)));
    recording.list(&kind("Read"), &ListOptions { namespace: Some("x".repeat(1 << 20)), ..ListOptions::default() });
    assert!(dependencies.size().bytes < 2 * MOST_BYTES);
    recording.end(false);
    dependencies.forget(&key("a"));
    assert_eq!(dependencies.size(), Size::default());
}

/// Another user's event must not compare a million selectors.
#[test]
fn bounded_work_of_a_change_of_which_many_lists_may_be_concerned() {
    let dependencies: Arc<Dependencies> = Arc::default();
    let recording = dependencies.begin(&key("many"));
    for i in 0..2 * MOST_SCANNED {
        let label_selector = Some(format!("!label{i}").parse().unwrap());
        recording.list(&kind("Read"), &ListOptions { label_selector, ..ListOptions::default() });
    }
    assert!(dependencies.size().reads <= MOST_SCANNED + 1, "{:?}", dependencies.size());
    dependencies.forget(&key("many"));
    let none = || Some("app,!app".parse().unwrap());
    for i in 0..2 * MOST_COMPARED {
        let recording = dependencies.begin(&key(&format!("k{i}")));
        recording.list(&kind("Read"), &ListOptions { label_selector: none(), ..ListOptions::default() });
    }
    let woken = dependencies.changed(&kind("Read"), &applied(None, &object(0, 0, 1, 1, 1)));
    assert_eq!(woken.len(), MOST_COMPARED, "those that were not compared");
}

#[test]
fn lists_by_more_labels_than_are_looked_up_are_found_all_the_same() {
    let dependencies: Arc<Dependencies> = Arc::default();
    let recording = dependencies.begin(&key("a"));
    for i in 0..2 * MOST_FACETS {
        let label_selector = Some(format!("label{i}=x").parse().unwrap());
        recording.list(&kind("Read"), &ListOptions { label_selector, ..ListOptions::default() });
    }
    for i in 0..2 * MOST_FACETS {
        let document = json!({"metadata": {"namespace": "n", "name": "o", "labels": {format!("label{i}"): "x"}}});
        let object = Arc::new(Object::parse(&document.to_string()).unwrap());
        assert_eq!(dependencies.changed(&kind("Read"), &applied(None, &object)), [key("a")], "{i}");
    }
    assert!(dependencies.changed(&kind("Read"), &applied(None, &object(0, 0, 1, 1, 1))).is_empty());
}

/// Ten thousand keys with two reads each, one of them of an object with a name of its own.
#[test]
fn the_memory_of_a_key_is_bounded() {
    let dependencies: Arc<Dependencies> = Arc::default();
    for i in 0..10_000 {
        let recording = dependencies.begin(&key(&format!("k{i}")));
        recording.object(&kind("Read"), &ObjectKey::new("n0", format!("object-{i}")));
        recording.object(&kind("Read"), &ObjectKey::new("n0", "settings"));
        recording.end(true);
    }
    let size = dependencies.size();
    assert_eq!(size.reads, 20_000);
    assert!(size.bytes / 10_000 < 600, "{} bytes for each key", size.bytes / 10_000);
    let woken: BTreeSet<_> =
        dependencies.changed(&kind("Read"), &applied(None, &named("settings"))).into_iter().collect();
    assert_eq!(woken.len(), 10_000);
    assert_eq!(dependencies.changed(&kind("Read"), &applied(None, &named("object-7"))), [key("k7")]);
}

fn named(name: &str) -> Arc<Object> {
    let document = json!({"metadata": {"namespace": "n0", "name": name}});
    Arc::new(Object::parse(&document.to_string()).unwrap())
}
