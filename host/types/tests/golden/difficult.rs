//! Types of example.com/v1 Difficult. Made by `oarlock types`; changes are lost.

#![allow(dead_code, reason = "a plugin need not use every type")]

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A time in RFC 3339, as the API server wrote it.
pub type Time = String;

/// A quantity such as `100m` or `2Gi`, in its spelling.
pub type Quantity = IntOrString;

/// An integer or a string.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IntOrString {
    Int(i64),
    String(String),
}

/// A kind * / with / * difficult / names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difficult {
    #[serde(rename = "apiVersion")]
    pub api_version: String,
    pub kind: String,
    pub metadata: ObjectMeta,
    pub spec: DifficultSpec,
}

impl Difficult {
    /// What `apiVersion` says.
    pub const API_VERSION: &'static str = "example.com/v1";
    /// What `kind` says.
    pub const KIND: &'static str = "Difficult";
}

/// Exactly one of: from, self.
/// At most one of: any, port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DifficultSpec {
    #[serde(rename = "", default, skip_serializing_if = "Option::is_none")]
    pub empty: Option<String>,
    #[serde(rename = "-", default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
    #[serde(rename = "3rd", default, skip_serializing_if = "Option::is_none")]
    pub _3rd: Option<bool>,
    #[serde(rename = "a,b", default, skip_serializing_if = "Option::is_none")]
    pub a_b: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub any: Option<serde_json::Value>,
    /// ``PEM``, or ''
    ///
    /// A Heading
    ///
    /// [it]: ends here ? ?/
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub large: Option<i64>,
    pub limit: Option<IntOrString>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lists: Option<BTreeMap<String, Option<Vec<bool>>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matrix: Option<Vec<Vec<Option<i32>>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Quantity>,
    /// Default: "on".
    pub mode: DifficultSpecMode,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "nullable")]
    pub name: Option<Option<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub none: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<DifficultSpecOpen>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<BTreeMap<String, Option<DifficultSpecParts>>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "nullable")]
    pub places: Option<Option<Vec<Option<String>>>>,
    #[serde(rename = "pod-cidr", default, skip_serializing_if = "Option::is_none")]
    pub pod_cidr: Option<String>,
    #[serde(rename = "podCIDR", default, skip_serializing_if = "Option::is_none")]
    pub pod_cidr2: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<IntOrString>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<Vec<Option<IntOrString>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<DifficultSpecProtocol>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<BTreeMap<String, DifficultSpecRules>>,
    #[serde(rename = "self", default, skip_serializing_if = "Option::is_none")]
    pub self_: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "nullable")]
    pub share: Option<Option<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// ``PEM``, or ''
    ///
    /// A Heading
    ///
    /// [it]: ends here
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "nullable")]
    pub target: Option<Option<DifficultSpecTarget>>,
    /// The keyword of Rust.
    pub r#type: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DifficultSpecOpen {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
    /// Fields outside the schema.
    #[serde(flatten)]
    pub other2: BTreeMap<String, serde_json::Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DifficultSpecParts {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub int: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DifficultSpecRules {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<DifficultSpecRulesSpec>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DifficultSpecRulesSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
}

/// ``PEM``, or ''
///
/// A Heading
///
/// [it]: ends here
/// Exactly one field.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DifficultSpecTarget {
    #[serde(rename = "podIPs", default, skip_serializing_if = "Option::is_none")]
    pub pod_ips: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The metadata of an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ObjectMeta {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
    #[serde(rename = "creationTimestamp", default, skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Time>,
    #[serde(rename = "deletionTimestamp", default, skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finalizers: Option<Vec<String>>,
    #[serde(rename = "generateName", default, skip_serializing_if = "Option::is_none")]
    pub generate_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    #[serde(rename = "ownerReferences", default, skip_serializing_if = "Option::is_none")]
    pub owner_references: Option<Vec<ObjectMetaOwnerReferences>>,
    #[serde(rename = "resourceVersion", default, skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Fields outside the schema.
    #[serde(flatten)]
    pub other: BTreeMap<String, serde_json::Value>,
}

/// An owner of the object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ObjectMetaOwnerReferences {
    #[serde(rename = "apiVersion")]
    pub api_version: String,
    #[serde(rename = "blockOwnerDeletion", default, skip_serializing_if = "Option::is_none")]
    pub block_owner_deletion: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    pub kind: String,
    pub name: String,
    pub uid: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DifficultSpecMode {
    #[serde(rename = "")]
    Empty,
    #[serde(rename = "on")]
    On,
    #[serde(rename = "On")]
    On2,
    ON,
    #[serde(rename = "a\"b")]
    AB,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DifficultSpecProtocol {
    #[serde(rename = "TCP")]
    Tcp,
    #[serde(rename = "UDP")]
    Udp,
}

/// Reads null as `Some(None)`: `None` is a field that is absent.
fn nullable<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(value: D) -> Result<Option<Option<T>>, D::Error> {
    Deserialize::deserialize(value).map(Some)
}
