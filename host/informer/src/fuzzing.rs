//! Fuzzing of lists and watch lines, as an API server or a substitute may send them: see [`crate::fuzzing`].

#![expect(clippy::expect_used, reason = "a broken promise ends the fuzzing")]

use super::Object;
use super::list_watch::{Event, Lines, Page, words};
use futures::FutureExt as _;
use oarlock_api::GroupVersionKind;

/// Parses one page of a list.
pub fn list(text: &[u8]) {
    let page = Page::of(text.to_vec());
    let Ok(list) = page.read() else { return };
    let gvk = GroupVersionKind::new("apps", "v1", "Deployment");
    for item in list.items {
        match Object::parse_item(item.get(), &gvk) {
            Ok(object) => stable(&object),
            Err(malformed) => assert!(!malformed.reason.is_empty()),
        }
    }
}

/// Reads a watch until its connection ends.
pub fn watch(text: &[u8]) {
    let mut lines = Lines::of(futures::io::Cursor::new(text.to_vec()));
    let mut read = 0;
    while let Some(line) = lines.next().now_or_never().and_then(Result::ok).flatten() {
        read += line.len();
        match Event::read(line) {
            Ok(Event::Applied(json) | Event::Deleted(json)) => {
                if let Ok(object) = Object::parse(json) {
                    stable(&object);
                }
            }
            Ok(Event::Error(status)) => drop(words(&status)),
            Ok(Event::Bookmark(_)) | Err(_) => {}
        }
    }
    let complete = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    assert_eq!(read, complete, "a line was lost, or half of one taken");
}

/// The stored text of an object parses to the same object.
fn stable(object: &Object) {
    let again = Object::parse(object.json()).expect("what is stored is an object");
    assert_eq!(again.json(), object.json());
    assert_eq!(again.key(), object.key());
    assert_eq!(again.uid(), object.uid());
    assert_eq!(again.resource_version(), object.resource_version());
    assert_eq!((again.generation(), again.deleting()), (object.generation(), object.deleting()));
    assert!(again.labels().eq(object.labels()) && again.finalizers().eq(object.finalizers()));
    assert!(object.labels().all(|(key, value)| object.label(key) == Some(value)));
    assert_eq!(again.owners().len(), object.owners().len());
    if let Some(managed) = object.managed() {
        assert!(serde_json::from_str::<Vec<serde_json::Value>>(managed).is_ok(), "{managed}");
    }
}
