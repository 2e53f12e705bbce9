//! Conversion of custom resources between the versions of their definition.

use crate::adapter::log_panics;
use crate::bindings::converter::exports::oarlock::reconciler::conversion::Guest;
use serde_json::{Map, Value};
use std::marker::PhantomData;

/// Converts objects of a definition between its versions. Export it with [`export_converter!`](crate::export_converter), and name the
/// definition in the manifest with [`Manifest::converts`](crate::Manifest::converts).
///
/// The result must depend on the arguments alone: no cluster, no configuration, no clock. Nothing may be lost on the way to another version
/// and back: keep fields that a version lacks with [`keep`], and put them back with [`restore`].
///
/// ```
/// use oarlock_guest::{Converter, keep, restore};
/// use serde_json::{Value, json};
///
/// struct Things;
///
/// impl Converter for Things {
///     fn convert(mut object: Value, desired: &str) -> Result<Value, String> {
///         match desired {
///             // v1 has one size, v2 a list of sizes.
///             "example.com/v2" => {
///                 let size = object["spec"]["size"].take();
///                 let more = restore(&mut object, "example.com/more-sizes")?.unwrap_or(json!([]));
///                 let sizes = [size].into_iter().chain(more.as_array().into_iter().flatten().cloned());
///                 object["spec"] = json!({"sizes": sizes.collect::<Vec<_>>()});
///             }
///             "example.com/v1" => {
///                 let sizes = object["spec"]["sizes"].as_array().cloned().unwrap_or_default();
///                 let (first, more) = sizes.split_first().ok_or("spec.sizes is empty, and v1 has exactly one size")?;
///                 object["spec"] = json!({"size": first});
///                 keep(&mut object, "example.com/more-sizes", (!more.is_empty()).then(|| json!(more)));
///             }
///             other => return Err(format!("there is no version {other}")),
///         }
///         object["apiVersion"] = desired.into();
///         Ok(object)
///     }
/// }
///
/// let v2 = json!({"apiVersion": "example.com/v2", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"sizes": [1, 2, 3]}});
/// let v1 = Things::convert(v2.clone(), "example.com/v1")?;
/// assert_eq!(v1["spec"], json!({"size": 1}));
/// assert_eq!(Things::convert(v1, "example.com/v2")?, v2);
/// # Ok::<(), String>(())
/// ```
pub trait Converter {
    /// Returns `object` in the API version `desired`, for example `example.com/v2`. Its apiVersion is another version of the same
    /// definition.
    ///
    /// # Errors
    ///
    /// For the user whose request fails: which field cannot be converted.
    fn convert(object: Value, desired: &str) -> Result<Value, String>;
}

/// Keeps a value that the object's new version lacks in an annotation, as JSON. `None` removes the annotation.
pub fn keep(object: &mut Value, annotation: &str, value: Option<Value>) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
    if let Some(annotations) = annotations.as_object_mut() {
        match value {
            Some(value) => annotations.insert(annotation.to_owned(), value.to_string().into()),
            None => annotations.remove(annotation),
        };
    }
    without_empty_annotations(metadata);
}

/// Takes a value that [`keep`] kept out of its annotation; `None` if there is none.
///
/// # Errors
///
/// The annotation is not JSON: a user has changed it.
pub fn restore(object: &mut Value, annotation: &str) -> Result<Option<Value>, String> {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return Ok(None) };
    let annotations = metadata.get_mut("annotations").and_then(Value::as_object_mut);
    let kept = annotations.and_then(|annotations| annotations.remove(annotation));
    without_empty_annotations(metadata);
    let Some(kept) = kept else { return Ok(None) };
    let text = kept.as_str().unwrap_or_default();
    let wrong = |e| format!("annotation {annotation} is not JSON, remove it: {e}");
    serde_json::from_str(text).map(Some).map_err(wrong)
}

fn without_empty_annotations(metadata: &mut Map<String, Value>) {
    if metadata.get("annotations").and_then(Value::as_object).is_some_and(Map::is_empty) {
        metadata.remove("annotations");
    }
}

/// The exported side of a converter.
#[derive(Debug)]
pub struct ConverterAdapter<C>(PhantomData<C>);

impl<C: Converter> Guest for ConverterAdapter<C> {
    fn convert(object: String, desired_api_version: String) -> Result<String, String> {
        log_panics();
        let object = serde_json::from_str(&object).map_err(|e| format!("the object is not JSON: {e}"))?;
        C::convert(object, &desired_api_version).map(|converted| converted.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_kept_is_restored_and_leaves_no_trace() {
        let original = json!({"metadata": {"name": "a"}});
        let mut object = original.clone();
        keep(&mut object, "example.com/x", Some(json!({"a": [1, "\""]})));
        assert!(object["metadata"]["annotations"]["example.com/x"].is_string());
        assert_eq!(restore(&mut object, "example.com/x").unwrap(), Some(json!({"a": [1, "\""]})));
        assert_eq!(object, original);
        assert_eq!(restore(&mut object, "example.com/x").unwrap(), None);
        keep(&mut object, "example.com/x", None);
        assert_eq!(object, original);
        object["metadata"]["annotations"] = json!({"example.com/x": "{", "other": "1"});
        assert!(restore(&mut object, "example.com/x").unwrap_err().contains("annotation example.com/x is not JSON"));
    }
}
