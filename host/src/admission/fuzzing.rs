//! Fuzzing of AdmissionReviews: see [`crate::fuzzing`].

#![expect(clippy::expect_used, reason = "a broken promise ends the fuzzing")]

use super::answer::Path;
use super::review::{Answer, Asked};
use super::serve::timeout_of;
use crate::api::path;
use oarlock_merge::{json_patch, steps::Budget};
use serde_json::{Value, json};
use std::time::Duration;

/// Reads a review, and builds each kind of response to it.
///
/// * `target` - path and query of the request.
/// * `body` - body of the request.
pub fn review(target: &str, body: &[u8]) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    assert!(timeout_of(query) <= Duration::from_secs(60), "the API server would have given up");
    if let Some(Path::Rule { plugin, .. }) = Path::parse(path) {
        assert!(!plugin.contains('/'), "{plugin:?}");
    }
    let asked = match Asked::read(body) {
        Ok(asked) => asked,
        Err(unreadable) => {
            assert!(unreadable.status == 400 && !unreadable.message.is_empty());
            assert!(unreadable.message.len() < 2048, "a long complaint: {unreadable}");
            return;
        }
    };
    for part in [&asked.key.namespace, &asked.key.name].into_iter().filter(|part| !part.is_empty()) {
        path::check(&path::join([&**part])).expect("a name is one segment");
    }
    assert!(asked.object.is_object() && !asked.uid.is_empty());
    let pending = ["a.b.c".to_owned()];
    for request in [asked.request(None), asked.request(Some(&pending))] {
        assert!(serde_json::from_str::<Value>(&request).is_ok_and(|request| request.get("object").is_none()));
    }
    let answered = Answer::default().to_json(&asked);
    assert_eq!(answered.pointer("/response/uid").and_then(Value::as_str), Some(&*asked.uid));
    let refused = Answer::refused(403, "Forbidden", "no".to_owned()).to_json(&asked);
    assert_eq!(refused.pointer("/response/allowed"), Some(&Value::Bool(false)));
    let mut changed = asked.object.clone();
    if let Some(fields) = changed.as_object_mut() {
        fields.insert("spec".to_owned(), json!({"replicas": 1, "items": [{"name": "a"}]}));
    }
    let patch = crate::apply::reviewed::difference(&asked.object, &changed);
    let mut patched = asked.object.clone();
    json_patch::apply(&mut patched, &Value::Array(patch), &Budget::unlimited()).expect("the host's own patch fits");
    assert_eq!(patched, changed);
    let _ = Answer { changed: Some(changed), ..Answer::default() }.to_json(&asked);
}
