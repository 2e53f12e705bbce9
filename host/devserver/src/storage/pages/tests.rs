//! Pages compared with copies of the lists at their time.

use std::cell::Cell;

use proptest::prelude::*;
use serde_json::json;
use tokio::sync::mpsc;

use super::*;
use crate::storage::Store;

const HISTORY: usize = 24;

fn shelf() -> Arc<Shelf> {
    let (feed, _) = mpsc::unbounded_channel();
    Store::new(HISTORY, feed).shelf("things")
}

/// Creates, replaces or removes.
fn turn(shelf: &Shelf, (namespace, name, remove): (u8, u8, bool)) {
    let key = Key::new(&format!("n{namespace}"), &format!("o{name:02}"));
    let value = || json!({"metadata": {"namespace": key.namespace, "name": key.name}});
    match shelf.get(&key) {
        None => shelf.create(&key, value()).map(drop).unwrap(),
        Some(object) if remove => shelf.delete(&key, object.revision).map(drop).unwrap(),
        Some(object) => shelf.update(&key, object.revision, value()).map(drop).unwrap(),
    }
}

fn shown(objects: &[Arc<Object>]) -> Vec<(Key, u64)> {
    objects.iter().map(|o| (o.key(), o.revision)).collect()
}

/// All pages of a list; asserts that each reports the remaining number, and visits only its own objects.
fn paged(shelf: &Shelf, namespace: &str, at: At, limit: usize) -> Vec<(Key, u64)> {
    let mut all = Vec::new();
    let mut told = Vec::new();
    let (mut after, mut rest) = (None, None);
    loop {
        let looked = Cell::new(0);
        let matches = |_: &Object| {
            looked.set(looked.get() + 1);
            true
        };
        let wanted = Wanted { namespace, after: after.as_ref(), limit, count: true, rest };
        let page = shelf.page(&wanted, at, matches).unwrap();
        assert!(after.is_none() || looked.get() <= limit + 1, "a page of {limit} looks at {}", looked.get());
        all.extend(shown(&page.objects));
        told.push((all.len(), page.remaining));
        assert_eq!(page.next.is_some(), page.remaining.is_some());
        (after, rest) = (page.next, page.remaining);
        if after.is_none() {
            break;
        }
    }
    told.iter().for_each(|(seen, remaining)| assert_eq!(remaining.unwrap_or(0), all.len() - seen));
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn pages_of_any_time_are_the_list_of_that_time(
        turns in prop::collection::vec((0_u8..3, 0_u8..12, any::<bool>()), 1..80),
        limit in 1_usize..7,
    ) {
        let shelf = shelf();
        let mut times = Vec::new();
        for one in turns {
            turn(&shelf, one);
            times.push((shelf.revision(), shown(&shelf.list("").objects)));
        }
        let reach = times.len().saturating_sub(HISTORY);
        for (revision, list) in &times[reach..] {
            for namespace in ["", "n0", "n1", "n9"] {
                let of: Vec<(Key, u64)> =
                    list.iter().filter(|(k, _)| namespace.is_empty() || k.namespace == namespace).cloned().collect();
                prop_assert_eq!(&paged(&shelf, namespace, At::Revision(*revision), limit), &of);
                prop_assert_eq!(&shown(&shelf.past(namespace, *revision).objects), &of);
            }
            for (key, at) in list {
                prop_assert_eq!(shelf.past_one(key, *revision).map(|o| o.revision), Some(*at));
            }
        }
        prop_assert_eq!(&paged(&shelf, "", At::Now, limit), &times.last().unwrap().1);
        if reach > 1 {
            prop_assert!(shelf.page(&Wanted::all(""), At::Revision(times[reach - 2].0), |_| true).is_err());
        }
    }
}

#[test]
fn a_page_of_selected_objects_ends_where_the_next_one_is_known() {
    let shelf = shelf();
    (0..20).for_each(|n| turn(&shelf, (0, n, false)));
    let looked = Cell::new(0);
    let even = |object: &Object| {
        looked.set(looked.get() + 1);
        object.revision.is_multiple_of(2)
    };
    let wanted = Wanted { limit: 3, ..Wanted::all("n0") };
    let page = shelf.page(&wanted, At::Now, even).unwrap();
    assert_eq!((page.objects.len(), page.remaining), (3, None));
    assert!(looked.get() <= 8, "it looks at {}", looked.get());
}
