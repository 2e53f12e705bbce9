//! JSON Patch (RFC 6902) of untrusted documents: bounded in operations, copied bytes, depth and steps.
//!
//! # Source
//!
//! The API server's limits of a JSON Patch: `apiserver/pkg/endpoints/handlers/patch.go` (`maxJSONPatchOperations`) and evanphx/json-patch
//! (`AccumulatedCopySizeLimit`). Its limit of depth is that of its JSON decoder.

use json_patch::{Patch, PatchErrorKind, PatchOperation};
use serde_json::Value;

use crate::size::{MOST_DEPTH, measure};
use crate::steps::{Budget, Stopped};

/// Most operations of one patch.
pub const MOST_OPERATIONS: usize = 10_000;

/// Most bytes that all `copy` operations of one patch copy together.
pub const MOST_COPIED_BYTES: usize = 3 << 20;

/// Why a JSON Patch cannot be applied.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The document is no list of operations.
    #[error("a JSON patch that is none: {0}")]
    Malformed(serde_json::Error),
    /// An operation does not fit the document.
    #[error("operation {at} ({path:?}): {kind}")]
    Unfit {
        /// Its index, from 0.
        at: usize,
        /// Its `path`.
        path: String,
        /// The cause.
        kind: PatchErrorKind,
    },
    /// Too many operations.
    #[error("a JSON patch of {0} operations; at most {MOST_OPERATIONS} are applied")]
    Operations(usize),
    /// The copies are too large.
    #[error("operation {at} of a JSON patch: copies of more than {MOST_COPIED_BYTES} bytes together")]
    Copied {
        /// The operation's index, from 0.
        at: usize,
    },
    /// The result is too deep.
    #[error("operation {at} of a JSON patch: more than {MOST_DEPTH} arrays and objects in each other")]
    Depth {
        /// The operation's index, from 0.
        at: usize,
    },
    /// The budget is exhausted.
    #[error("a JSON patch that does not end: {0}")]
    Stopped(#[from] Stopped),
}

/// Applies a JSON Patch, operation by operation. After an error the document is unusable.
///
/// # Errors
///
/// [`Error`].
pub fn apply(document: &mut Value, patch: &Value, budget: &Budget<'_>) -> Result<(), Error> {
    if let Value::Array(operations) = patch
        && operations.len() > MOST_OPERATIONS
    {
        return Err(Error::Operations(operations.len()));
    }
    measure(patch, budget)?;
    let Patch(operations) = serde_json::from_value(patch.clone()).map_err(Error::Malformed)?;
    let mut copied = 0_usize;
    for (at, operation) in operations.iter().enumerate() {
        budget.charge(1 + operation.path().as_str().len())?;
        let path = operation.path().as_str();
        match operation {
            PatchOperation::Add(add) => {
                moved(document, path, budget)?;
                check_depth(at, path, &add.value, budget)?;
            }
            PatchOperation::Replace(replace) => {
                check_depth(at, path, &replace.value, budget)?;
            }
            PatchOperation::Test(test) => {
                measure(&test.value, budget)?;
            }
            PatchOperation::Remove(_) => moved(document, path, budget)?,
            PatchOperation::Move(from) => {
                let from = from.from.as_str();
                budget.charge(from.len())?;
                moved(document, from, budget)?;
                moved(document, path, budget)?;
                if let Some(value) = document.pointer(from) {
                    check_depth(at, path, value, budget)?;
                }
            }
            PatchOperation::Copy(from) => {
                let from = from.from.as_str();
                budget.charge(from.len())?;
                moved(document, path, budget)?;
                if let Some(value) = document.pointer(from) {
                    copied = copied.saturating_add(check_depth(at, path, value, budget)?);
                }
                if copied > MOST_COPIED_BYTES {
                    return Err(Error::Copied { at });
                }
            }
        }
        json_patch::patch_unsafe(document, std::slice::from_ref(operation)).map_err(|e| Error::Unfit {
            at,
            path: path.to_owned(),
            kind: e.kind,
        })?;
    }
    Ok(())
}

/// Charges the array elements that move to make room for an element at `path`, or to close the gap it leaves.
fn moved(document: &Value, path: &str, budget: &Budget<'_>) -> Result<(), Stopped> {
    let Some((parent, last)) = path.rsplit_once('/') else { return Ok(()) };
    let Some(Value::Array(items)) = document.pointer(parent) else { return Ok(()) };
    let index = last.parse().unwrap_or(items.len());
    budget.charge(items.len().saturating_sub(index))
}

/// Rejects a value that would be too deep at its path. Returns its bytes.
fn check_depth(at: usize, path: &str, value: &Value, budget: &Budget<'_>) -> Result<usize, Error> {
    let size = measure(value, budget)?;
    let place = path.bytes().filter(|byte| *byte == b'/').count();
    if place.saturating_add(size.depth) > MOST_DEPTH {
        return Err(Error::Depth { at });
    }
    Ok(size.bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn after(document: &Value, patch: &Value) -> Result<Value, Error> {
        let mut document = document.clone();
        apply(&mut document, patch, &Budget::of(10_000_000)).map(|()| document)
    }

    #[test]
    fn a_patch_does_what_its_operations_say() {
        let patch = json!([
            {"op": "test", "path": "/a", "value": 1},
            {"op": "add", "path": "/l/0", "value": {"x/y": 1}},
            {"op": "copy", "from": "/l/0", "path": "/l/-"},
            {"op": "move", "from": "/a", "path": "/b"},
            {"op": "replace", "path": "/l/1", "value": 7},
            {"op": "remove", "path": "/c"},
        ]);
        let made = after(&json!({"a": 1, "c": 2, "l": [5]}), &patch).unwrap();
        assert_eq!(made, json!({"b": 1, "l": [{"x/y": 1}, 7, {"x/y": 1}]}));
    }

    #[test]
    fn t1_a_patch_that_doubles_by_copies_is_refused() {
        let mut operations = vec![json!({"op": "add", "path": "/data", "value": {"a": "x".repeat(1000)}})];
        operations.extend((0..60).map(|i| json!({"op": "copy", "from": "/data", "path": format!("/data/k{i}")})));
        assert!(matches!(after(&json!({}), &Value::from(operations)), Err(Error::Copied { .. })));
    }

    #[test]
    fn t1_a_patch_that_nests_is_refused_before_the_stack_ends() {
        let mut operations = vec![json!({"op": "add", "path": "/data", "value": []})];
        for _ in 0..1000 {
            operations.push(json!({"op": "add", "path": "/b", "value": [[[[]]]]}));
            operations.push(json!({"op": "move", "from": "/data", "path": "/b/0/0/0/0"}));
            operations.push(json!({"op": "move", "from": "/b", "path": "/data"}));
        }
        assert!(matches!(after(&json!({}), &Value::from(operations)), Err(Error::Depth { .. })));
    }

    #[test]
    fn t1_elements_that_are_moved_and_operations_are_counted() {
        let insert = json!({"op": "add", "path": "/l/0", "value": 0});
        let many = |count: usize| Value::from(vec![insert.clone(); count]);
        let long = json!({"l": vec![0; 100_000]});
        assert!(after(&long, &many(50)).is_ok());
        assert!(matches!(after(&long, &many(200)), Err(Error::Stopped(Stopped::Steps(_)))));
        assert!(matches!(after(&long, &many(MOST_OPERATIONS + 1)), Err(Error::Operations(10_001))));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let unfit = after(&json!({}), &json!([{"op": "remove", "path": "/x"}])).unwrap_err().to_string();
        assert!(unfit.contains("operation 0 (\"/x\")"), "{unfit}");
        assert!(matches!(after(&json!({}), &json!({"op": "add"})), Err(Error::Malformed(_))));
    }
}
