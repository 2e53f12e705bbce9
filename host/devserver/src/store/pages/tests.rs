//! Pages compared with copies of the lists at their time.

use std::cell::Cell;

use proptest::prelude::*;
use serde_json::json;
use tokio::sync::mpsc;

use super::*;
use crate::store::Store;

const HISTORY: usize = 24;

fn resource_store() -> Arc<ResourceStore> {
    let (feed, _) = mpsc::unbounded_channel();
    Store::new(HISTORY, feed).resource_store("things")
}

/// Creates, replaces or removes.
fn turn(resource_store: &ResourceStore, (namespace, name, remove): (u8, u8, bool)) {
    let key = Key::new(&format!("n{namespace}"), &format!("o{name:02}"));
    let value = || json!({"metadata": {"namespace": key.namespace, "name": key.name}});
    match resource_store.get(&key) {
        None => resource_store.create(&key, value()).map(drop).unwrap(),
        Some(object) if remove => resource_store.delete(&key, object.revision).map(drop).unwrap(),
        Some(object) => resource_store.update(&key, object.revision, value()).map(drop).unwrap(),
    }
}

fn shown(objects: &[Arc<Object>]) -> Vec<(Key, u64)> {
    objects.iter().map(|o| (o.key(), o.revision)).collect()
}

/// All pages of a list; asserts that each reports the remaining number, and visits only its own objects.
fn paged(resource_store: &ResourceStore, namespace: &str, at: At, limit: usize) -> Vec<(Key, u64)> {
    let mut all = Vec::new();
    let mut told = Vec::new();
    let (mut after, mut rest) = (None, None);
    loop {
        let looked = Cell::new(0);
        let matches = |_: &Object| {
            looked.set(looked.get() + 1);
            true
        };
        let wanted = PageRequest { namespace, after: after.as_ref(), limit, count: true, rest };
        let page = resource_store.page(&wanted, at, matches).unwrap();
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
        let resource_store = resource_store();
        let mut times = Vec::new();
        for one in turns {
            turn(&resource_store, one);
            times.push((resource_store.revision(), shown(&resource_store.list("").objects)));
        }
        let reach = times.len().saturating_sub(HISTORY);
        for (revision, list) in &times[reach..] {
            for namespace in ["", "n0", "n1", "n9"] {
                let of: Vec<(Key, u64)> =
                    list.iter().filter(|(k, _)| namespace.is_empty() || k.namespace == namespace).cloned().collect();
                prop_assert_eq!(&paged(&resource_store, namespace, At::Revision(*revision), limit), &of);
                prop_assert_eq!(&shown(&resource_store.past(namespace, *revision).objects), &of);
            }
            for (key, at) in list {
                prop_assert_eq!(resource_store.past_one(key, *revision).map(|o| o.revision), Some(*at));
            }
        }
        prop_assert_eq!(&paged(&resource_store, "", At::Now, limit), &times.last().unwrap().1);
        if reach > 1 {
            prop_assert!(resource_store.page(&PageRequest::all(""), At::Revision(times[reach - 2].0), |_| true).is_err());
        }
    }
}

#[test]
fn a_page_of_selected_objects_ends_where_the_next_one_is_known() {
    let resource_store = resource_store();
    (0..20).for_each(|n| turn(&resource_store, (0, n, false)));
    let looked = Cell::new(0);
    let even = |object: &Object| {
        looked.set(looked.get() + 1);
        object.revision.is_multiple_of(2)
    };
    let wanted = PageRequest { limit: 3, ..PageRequest::all("n0") };
    let page = resource_store.page(&wanted, At::Now, even).unwrap();
    assert_eq!((page.objects.len(), page.remaining), (3, None));
    assert!(looked.get() <= 8, "it looks at {}", looked.get());
}
