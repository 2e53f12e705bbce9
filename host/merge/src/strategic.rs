//! Strategic merge patch: creating and applying patches whose lists merge by key.
//!
//! Custom resources have no patch strategies; the API server answers 415 there. With their schema, or without one, patches created and
//! applied here replace lists as a whole, which is JSON merge patch.
//!
//! Every function is charged to a [`Budget`], and takes at most n·log n steps for documents of n values.
//!
//! # Source
//!
//! apimachinery `pkg/util/strategicpatch/patch.go`; the error texts are those of the API server.

mod diff;
mod lists;
mod patch;

use serde_json::{Map, Value};

use crate::go;
use crate::schema::Schema;
use crate::size;
use crate::steps::{Budget, Stopped};

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ELEMENT_ORDER: &str = "$setElementOrder";
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";

/// Why a patch cannot be created or applied. The messages are those of the API server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The document or the patch is no object.
    #[error("invalid JSON document")]
    NotAnObject,
    /// `$patch` has an invalid value.
    #[error("unknown patch type: {directive} in map: {map}")]
    Directive {
        /// The value.
        directive: String,
        /// The map that contains it.
        map: String,
    },
    /// `$patch: merge` in a list.
    #[error("merging lists cannot yet be specified in the patch")]
    MergeDirective,
    /// An element of a list with a merge key lacks the key.
    #[error("map: {map} does not contain declared merge key: {key}")]
    NoMergeKey {
        /// The element.
        map: String,
        /// The missing field.
        key: String,
    },
    /// A patch sets a key that its `$retainKeys` does not keep, or `$retainKeys` is no list.
    #[error("invalid patch format of retainKeys")]
    RetainKeys,
    /// `$deleteFromPrimitiveList` without a field name.
    #[error("invalid patch format of primitive list")]
    PrimitiveList,
    /// `$setElementOrder` without a field name, or different ones for one list.
    #[error("invalid patch format of setElementOrder list")]
    ElementOrder,
    /// The elements of a patch are not in the order of its `$setElementOrder`.
    #[error("The order in patch list:\n{list}\n doesn't match {SET_ELEMENT_ORDER} list:\n{order}\n")]
    OrderMismatch {
        /// The list of the patch.
        list: String,
        /// Its `$setElementOrder`.
        order: String,
    },
    /// A directive, or its field, is no list.
    #[error("expected a []interface {{}}, but received a {0}")]
    NotAList(&'static str),
    /// The elements of one list have several types.
    #[error("list element types are not identical: {0}")]
    MixedList(String),
    /// A list of lists in a merging list.
    #[error("lists of lists are not supported")]
    ListOfLists,
    /// The budget is exhausted.
    #[error("a merge that does not end: {0}")]
    Stopped(#[from] Stopped),
}

impl Error {
    /// The HTTP status of the API server for this error: 400, 422 or 500.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::NotAnObject | Self::RetainKeys | Self::PrimitiveList | Self::ElementOrder => 400,
            Self::ListOfLists => 422,
            Self::Directive { .. }
            | Self::MergeDirective
            | Self::NoMergeKey { .. }
            | Self::OrderMismatch { .. }
            | Self::NotAList(_)
            | Self::MixedList(_)
            | Self::Stopped(_) => 500,
        }
    }

    fn no_merge_key(map: &Value, key: &str) -> Self {
        Self::NoMergeKey { map: go::print(map), key: key.to_owned() }
    }
}

/// Applies a patch.
///
/// Fields outside the schema are merged like untyped ones and stay in the result, including unknown `$` directives. The caller drops them
/// with a warning when it parses the result as its type. A value of another type replaces the stored one.
///
/// # Errors
///
/// [`Error`]; [`Error::status`] is the HTTP status for it.
pub fn apply_patch(schema: &Schema, original: &Value, patch: &Value, budget: &Budget<'_>) -> Result<Value, Error> {
    charge([original, patch], budget)?;
    let (Value::Object(original), Value::Object(patch)) = (original, patch) else { return Err(Error::NotAnObject) };
    let merger = patch::Merger { onto_patch: false, budget };
    merger.maps(original.clone(), patch.clone(), schema.root()).map(Value::Object)
}

/// The patch from `original` to `modified`; empty when they are equal.
///
/// # Errors
///
/// [`Error`] for documents that are no objects and for lists that cannot be merged by their strategy.
pub fn create_two_way(
    schema: &Schema,
    original: &Value,
    modified: &Value,
    budget: &Budget<'_>,
) -> Result<Value, Error> {
    let (Value::Object(original), Value::Object(modified)) = (original, modified) else {
        return Err(Error::NotAnObject);
    };
    let differ = diff::Differ { additions: true, deletions: true, budget };
    differ.maps(original, modified, schema.root(), false).map(Value::Object)
}

/// The patch that changes `current` to `modified` and deletes fields of `original` that `modified` no longer has. Fields that other
/// managers wrote into `current` stay.
///
/// * `original` - the last applied document; an empty object if there is none.
/// * `modified` - the document to apply now.
/// * `current` - the live object.
///
/// # Errors
///
/// Those of [`create_two_way`].
pub fn create_three_way(
    schema: &Schema,
    original: &Value,
    modified: &Value,
    current: &Value,
    budget: &Budget<'_>,
) -> Result<Value, Error> {
    let (Value::Object(original), Value::Object(modified), Value::Object(current)) = (original, modified, current)
    else {
        return Err(Error::NotAnObject);
    };
    let added = diff::Differ { additions: true, deletions: false, budget };
    let changes = added.maps(current, modified, schema.root(), false)?;
    let deleted = diff::Differ { additions: false, deletions: true, budget };
    let deletions = deleted.maps(original, modified, schema.root(), false)?;
    patch::Merger { onto_patch: true, budget }.maps(deletions, changes, schema.root()).map(Value::Object)
}

/// Charges values, and every value inside them, before they are copied, or compared with each other: also the merge key of an element
/// can be a document of any size.
fn charge<'v>(values: impl IntoIterator<Item = &'v Value>, budget: &Budget<'_>) -> Result<(), Stopped> {
    values.into_iter().try_for_each(|value| size::charge(value, budget))
}

/// The field of a parallel list: `finalizers` of `$setElementOrder/finalizers`.
fn parallel_field<'k>(key: &'k str, prefix: &str, error: Error) -> Option<Result<&'k str, Error>> {
    let rest = key.strip_prefix(prefix)?;
    Some(rest.strip_prefix('/').ok_or(error))
}

/// Removes nulls at any depth: in a new value they have nothing to delete.
fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, v| !v.is_null());
            map.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().filter(|i| i.is_object()).for_each(without_nulls),
        _ => {}
    }
}

/// Removes values with a `$patch` directive: in a new value they have no target.
fn without_directives(value: &mut Value) {
    let plain = |v: &Value| v.get(DIRECTIVE).is_none();
    match value {
        Value::Object(map) => {
            map.retain(|_, v| plain(v));
            map.values_mut().for_each(without_directives);
        }
        Value::Array(items) => {
            items.retain(plain);
            items.iter_mut().for_each(without_directives);
        }
        _ => {}
    }
}

fn as_list(value: &Value) -> Result<&Vec<Value>, Error> {
    match value {
        Value::Array(list) => Ok(list),
        Value::Null => Err(Error::NotAList("<nil>")),
        Value::Bool(_) => Err(Error::NotAList("bool")),
        Value::Number(n) if n.is_f64() => Err(Error::NotAList("float64")),
        Value::Number(_) => Err(Error::NotAList("int64")),
        Value::String(_) => Err(Error::NotAList("string")),
        Value::Object(_) => Err(Error::NotAList("map[string]interface {}")),
    }
}

fn one(key: &str, value: Value) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert(key.to_owned(), value);
    map
}
