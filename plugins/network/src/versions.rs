//! Conversion of Networks between v1, which has one subnet, and v2, which has several with their allocation pools.
//!
//! v1 shows the first subnet. An annotation keeps what v1 lacks: the first subnet's name, unless it is [`DEFAULT_NAME`], its pools, and
//! the further subnets as `more`. The status is the same in both versions.

use crate::NetworkReconciler;
use oarlock_guest::{Converter, export_converter, keep, restore};
use serde_json::{Map, Value};

pub(crate) const V1: &str = "samplecrd.k8s.io/v1";
pub(crate) const V2: &str = "samplecrd.k8s.io/v2";

/// What v1 lacks, as a JSON object.
const REST: &str = "samplecrd.k8s.io/v2-spec";

/// The name of the subnet that a v1 client made.
pub(crate) const DEFAULT_NAME: &str = "default";

/// The fields of the first subnet that v1 has, in `spec`.
const IN_V1: [&str; 2] = ["cidr", "gateway"];

export_converter!(NetworkReconciler);

impl Converter for NetworkReconciler {
    fn convert(mut object: Value, desired: &str) -> Result<Value, String> {
        let present = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        match (present, desired) {
            (V1, V2) => to_v2(&mut object)?,
            (V2, V1) => to_v1(&mut object)?,
            (V1 | V2, V1 | V2) => {}
            _ => return Err(format!("Network has no conversion from {present} to {desired}")),
        }
        if let Some(fields) = object.as_object_mut() {
            fields.insert("apiVersion".to_owned(), desired.into());
        }
        Ok(object)
    }
}

fn to_v2(object: &mut Value) -> Result<(), String> {
    if spec(object).is_none() {
        return Ok(());
    }
    let mut first = Map::from_iter([("name".to_owned(), DEFAULT_NAME.into())]);
    match restore(object, REST)? {
        None => {}
        Some(Value::Object(rest)) => first.extend(rest),
        Some(_) => return Err(format!("annotation {REST} is not a JSON object, remove it")),
    }
    let more = match first.remove("more") {
        None => Vec::new(),
        Some(Value::Array(more)) => more,
        Some(_) => return Err(format!("annotation {REST}: more is not a list, remove it")),
    };
    if let Some(spec) = spec(object) {
        first.extend(IN_V1.into_iter().filter_map(|field| Some((field.to_owned(), spec.remove(field)?))));
        spec.insert("subnets".to_owned(), [Value::Object(first)].into_iter().chain(more).collect());
    }
    Ok(())
}

fn to_v1(object: &mut Value) -> Result<(), String> {
    let Some(spec) = spec(object) else { return Ok(()) };
    let subnets = match spec.remove("subnets") {
        Some(Value::Array(subnets)) => subnets,
        _ => Vec::new(),
    };
    let mut subnets = subnets.into_iter();
    let Some(Value::Object(mut first)) = subnets.next() else {
        return Err("spec.subnets is empty, and v1 has exactly one subnet".to_owned());
    };
    spec.extend(IN_V1.into_iter().filter_map(|field| Some((field.to_owned(), first.remove(field)?))));
    if first.get("name").and_then(Value::as_str) == Some(DEFAULT_NAME) {
        first.remove("name");
    }
    let more: Vec<Value> = subnets.collect();
    if !more.is_empty() {
        first.insert("more".to_owned(), more.into());
    }
    keep(object, REST, (!first.is_empty()).then_some(Value::Object(first)));
    Ok(())
}

fn spec(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object.get_mut("spec").and_then(Value::as_object_mut)
}
