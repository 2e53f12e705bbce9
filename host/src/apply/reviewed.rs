//! Patches of an object under review: applied in memory, and returned to the API server as a JSON Patch.
//!
//! Pure functions. At admission the object is not stored yet, so the host writes nothing.

mod difference;

pub use difference::difference;

use super::PatchKind;
use oarlock_merge::schema::Schema;
use oarlock_merge::size::measure;
use oarlock_merge::steps::{Budget, Stopped};
use oarlock_merge::{json_patch as rfc6902, strategic};
use serde_json::Value;

/// Most growth of an object by the patches of one review, in bytes: an API server accepts no larger objects.
pub const MOST_GROWTH_BYTES: usize = 3 << 20;

/// Fields that no plugin may change at admission: the identity of the object, and fields that only the API server writes.
const PROTECTED: [&str; 12] = [
    "/apiVersion",
    "/kind",
    "/metadata/name",
    "/metadata/generateName",
    "/metadata/namespace",
    "/metadata/uid",
    "/metadata/resourceVersion",
    "/metadata/generation",
    "/metadata/creationTimestamp",
    "/metadata/deletionTimestamp",
    "/metadata/deletionGracePeriodSeconds",
    "/metadata/managedFields",
];

/// A patch of the object under review.
#[derive(Clone, Debug)]
pub struct ReviewedPatch {
    /// The patch type.
    pub kind: PatchKind,
    /// The patch.
    pub patch: Value,
}

/// Why the host does not apply the patches of a review.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Refused {
    /// A patch is invalid, or changes a protected field.
    #[error("{0}")]
    Unfit(String),
    /// The patches take too long.
    #[error("the patches take too long: {0}")]
    Stopped(#[from] Stopped),
}

/// Applies the patches to the object, in order.
///
/// * `schema` - how lists of this kind merge. None: it has no strategic merge patch.
/// * `subresource` - the subresource under review; empty for the object itself, whose status cannot be changed.
/// * `budget` - charged for every value of the object and of the patches.
///
/// # Errors
///
/// [`Refused`]: why a patch cannot be applied, or which field it may not change, for the plugin's author.
pub fn patched(
    object: &Value,
    patches: &[ReviewedPatch],
    schema: Option<&Schema>,
    subresource: &str,
    budget: &Budget<'_>,
) -> Result<Value, Refused> {
    let refused = Refused::Unfit;
    let most = measure(object, budget)?.bytes.saturating_add(MOST_GROWTH_BYTES);
    let mut after = object.clone();
    for ReviewedPatch { kind, patch } in patches {
        match kind {
            PatchKind::Json => {
                rfc6902::apply(&mut after, patch, budget).map_err(|e| match e {
                    rfc6902::Error::Stopped(stopped) => Refused::Stopped(stopped),
                    rfc6902::Error::Unfit { .. } => {
                        refused(format!("a JSON patch that does not fit the object under review: {e}"))
                    }
                    other => refused(other.to_string()),
                })?;
            }
            PatchKind::Merge => {
                if !patch.is_object() {
                    return Err(refused("a merge patch that is not a JSON object".to_owned()));
                }
                measure(patch, budget)?;
                json_patch::merge(&mut after, patch);
            }
            PatchKind::Strategic => {
                let schema =
                    schema.ok_or_else(|| refused("a strategic merge patch of a kind that has none".to_owned()))?;
                after = strategic::apply_patch(schema, &after, patch, budget).map_err(|e| match e {
                    strategic::Error::Stopped(stopped) => Refused::Stopped(stopped),
                    e => refused(format!("a strategic merge patch that does not fit the object under review: {e}")),
                })?;
            }
        }
        if measure(&after, budget)?.bytes > most {
            let kib = MOST_GROWTH_BYTES >> 10;
            return Err(refused(format!("patches that make the object under review more than {kib} KiB larger")));
        }
    }
    let status = (subresource.is_empty() && object.pointer("/status") != after.pointer("/status")).then_some("/status");
    let touched = PROTECTED.into_iter().find(|pointer| object.pointer(pointer) != after.pointer(pointer)).or(status);
    match touched {
        Some(pointer) => Err(refused(format!("a patch that changes {pointer}, which cannot be changed at admission"))),
        None => Ok(after),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod() -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n", "labels": {"a": "1"}},
            "spec": {"containers": [{"name": "app", "image": "i"}]}})
    }

    fn after(kind: PatchKind, patch: Value) -> Result<Value, Refused> {
        let schema = Schema::builtin("", "v1", "Pod").unwrap();
        patched(&pod(), &[ReviewedPatch { kind, patch }], Some(&schema), "", &Budget::unlimited())
    }

    #[test]
    fn a_patch_of_any_type_is_carried_out() {
        let json_patch = json!([{"op": "add", "path": "/metadata/labels/b~1c", "value": "2"}]);
        assert_eq!(after(PatchKind::Json, json_patch).unwrap()["metadata"]["labels"], json!({"a": "1", "b/c": "2"}));
        let merge = json!({"metadata": {"labels": {"a": null}}});
        assert_eq!(after(PatchKind::Merge, merge).unwrap()["metadata"]["labels"], json!({}));
        let strategic = json!({"spec": {"containers": [{"name": "envoy", "image": "e"}]}});
        let containers = after(PatchKind::Strategic, strategic).unwrap()["spec"]["containers"].clone();
        let names: Vec<&str> = containers.as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["envoy", "app"]);
    }

    #[test]
    fn patches_build_on_each_other() {
        let patch = |kind, patch| ReviewedPatch { kind, patch };
        let two = [
            patch(PatchKind::Merge, json!({"metadata": {"annotations": {"x": "1"}}})),
            patch(
                PatchKind::Json,
                json!([{"op": "test", "path": "/metadata/annotations/x", "value": "1"}, {"op": "remove", "path": "/metadata/labels"}]),
            ),
        ];
        let after = patched(&pod(), &two, None, "", &Budget::unlimited()).unwrap();
        assert_eq!(after["metadata"], json!({"name": "p", "namespace": "n", "annotations": {"x": "1"}}));
    }

    #[test]
    fn t1_patches_that_each_stay_within_bounds_do_not_outgrow_them_together() {
        let add = |i: usize| ReviewedPatch {
            kind: PatchKind::Json,
            patch: json!([{"op": "add", "path": format!("/spec/k{i}"), "value": "x".repeat(1 << 20)}]),
        };
        let many: Vec<ReviewedPatch> = (0..4).map(add).collect();
        let refused = patched(&pod(), &many, None, "", &Budget::unlimited()).unwrap_err().to_string();
        assert!(refused.contains("3072 KiB larger"), "{refused}");
    }

    #[test]
    fn what_makes_no_sense_or_is_not_the_plugins_is_refused_with_the_reason() {
        for (kind, patch, expected) in [
            (PatchKind::Json, json!({"op": "add"}), "a JSON patch that is none"),
            (
                PatchKind::Json,
                json!([{"op": "remove", "path": "/spec/nothing"}]),
                "does not fit the object under review",
            ),
            (PatchKind::Json, json!([{"op": "add", "path": "no pointer", "value": 1}]), "a JSON patch"),
            (PatchKind::Merge, json!([1]), "not a JSON object"),
            (PatchKind::Merge, json!({"metadata": {"name": "q"}}), "changes /metadata/name"),
            (PatchKind::Merge, json!({"metadata": {"uid": "u"}}), "changes /metadata/uid"),
            (PatchKind::Merge, json!({"kind": "Node"}), "changes /kind"),
            (PatchKind::Merge, json!({"metadata": null}), "changes /metadata/name"),
            (PatchKind::Merge, json!({"status": {"phase": "Running"}}), "changes /status"),
            (PatchKind::Strategic, json!({"spec": {"containers": [{"image": "no name"}]}}), "does not fit"),
            (PatchKind::Strategic, json!(7), "does not fit"),
        ] {
            let refused = after(kind, patch.clone()).unwrap_err().to_string();
            assert!(refused.contains(expected), "{patch}: {refused}");
        }
        let status = ReviewedPatch { kind: PatchKind::Merge, patch: json!({"status": {"phase": "Running"}}) };
        assert!(patched(&pod(), std::slice::from_ref(&status), None, "status", &Budget::unlimited()).is_ok());
    }
}
