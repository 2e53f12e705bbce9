//! Fuzzing of AdmissionReviews and ConversionReviews: see [`crate::fuzzing`].

#![expect(clippy::expect_used, reason = "a broken promise ends the fuzzing")]

use super::answer::Path;
use super::conversion::ConversionRequest;
use super::review::{AdmissionRequest, AdmissionResponse};
use super::serve::timeout_of;
use crate::api::path;
use oarlock_merge::{json_patch, steps::Budget};
use serde_json::{Value, json};
use std::time::Duration;

/// Reads a review of either kind, and builds each kind of response to it.
///
/// * `target` - path and query of the request.
/// * `body` - body of the request.
pub fn review(target: &str, body: &[u8]) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    assert!(timeout_of(query) <= Duration::from_secs(60), "the API server would have given up");
    if let Some(Path::Rule { plugin, .. }) = Path::parse(path) {
        assert!(!plugin.contains('/'), "{plugin:?}");
    }
    if let Err(unreadable) = ConversionRequest::read(body) {
        assert!(unreadable.status == 400 && unreadable.message.len() < 2048, "a long complaint: {unreadable}");
    }
    let admission_request = match AdmissionRequest::read(body) {
        Ok(admission_request) => admission_request,
        Err(unreadable) => {
            assert!(unreadable.status == 400 && !unreadable.message.is_empty());
            assert!(unreadable.message.len() < 2048, "a long complaint: {unreadable}");
            return;
        }
    };
    for part in
        [&admission_request.key.namespace, &admission_request.key.name].into_iter().filter(|part| !part.is_empty())
    {
        path::check(&path::join([&**part])).expect("a name is one segment");
    }
    assert!(admission_request.object.is_object() && !admission_request.uid.is_empty());
    let pending = ["a.b.c".to_owned()];
    for request in [admission_request.request(None), admission_request.request(Some(&pending))] {
        assert!(serde_json::from_str::<Value>(&request).is_ok_and(|request| request.get("object").is_none()));
    }
    let answered = AdmissionResponse::default().to_json(&admission_request);
    assert_eq!(answered.pointer("/response/uid").and_then(Value::as_str), Some(&*admission_request.uid));
    let refused = AdmissionResponse::refused(403, "Forbidden", "no".to_owned()).to_json(&admission_request);
    assert_eq!(refused.pointer("/response/allowed"), Some(&Value::Bool(false)));
    let mut changed = admission_request.object.clone();
    if let Some(fields) = changed.as_object_mut() {
        fields.insert("spec".to_owned(), json!({"replicas": 1, "items": [{"name": "a"}]}));
    }
    let patch = crate::apply::reviewed::difference(&admission_request.object, &changed);
    let mut patched = admission_request.object.clone();
    json_patch::apply(&mut patched, &Value::Array(patch), &Budget::unlimited()).expect("the host's own patch fits");
    assert_eq!(patched, changed);
    let _ = AdmissionResponse { changed: Some(changed), ..AdmissionResponse::default() }.to_json(&admission_request);
}
