//! What the spans of reconciles and reviews say.

use super::outcome::{End, Failure};
use super::{Controller, ReconcileKey, Version};
use crate::telemetry::{Span, SpanKind, annotate, fail_current};
use crate::workqueue::Item;

const VERSION: &str = "oarlock.plugin.version";
const DIGEST: &str = "oarlock.plugin.digest";
const OUTCOME: &str = "oarlock.outcome";

/// Begins the root span of a reconcile, when its key became ready. Without a tracer it is nothing.
pub(super) fn begin(controller: &Controller, version: &Version, item: &Item<ReconcileKey>) -> Span {
    let Some(tracer) = &controller.shared.tracer else { return Span::default() };
    let span = tracer.begin("reconcile", SpanKind::Internal, item.waited, None);
    span.past("queue wait", item.waited);
    span.set("oarlock.plugin.name", || controller.name.clone());
    span.set(VERSION, || version.loaded.manifest.version.clone());
    span.set(DIGEST, || digest(version));
    span.set_object(&item.key.kind, &item.key.key);
    span.set("oarlock.trigger", || item.trigger.as_str());
    span.set("oarlock.attempt", || i64::from(item.attempt));
    span
}

/// Says in the current span how the reconcile ended. The message of an error stays out: it may quote a guest.
pub(super) fn ended(end: &Result<End, Failure>, correlation_id: &str) {
    annotate("oarlock.correlation_id", || correlation_id.to_owned());
    match end {
        Ok(end) => annotate(OUTCOME, || end.as_str()),
        Err(failure) => {
            annotate(OUTCOME, || "failed");
            fail_current(failure.reason());
        }
    }
}

/// Marks a reconcile that did not come to its end.
pub(super) fn cut_short(span: &Span, error_type: &'static str) {
    span.set(OUTCOME, || "cut short");
    span.fail(error_type);
}

/// Names the version that works within the current span.
pub(super) fn name_version(plugin: &str, version: &Version) {
    annotate("oarlock.plugin.name", || plugin.to_owned());
    annotate(VERSION, || version.loaded.manifest.version.clone());
    annotate(DIGEST, || digest(version));
}

/// As in the output of `oarlock plugins`.
fn digest(version: &Version) -> String {
    format!("sha256:{}", version.loaded.component.digest)
}
