//! The type of the other files of `schemas`, in Rust.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A web application.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WebApp {
    spec: WebAppSpec,
    #[serde(default)]
    status: Option<WebAppStatus>,
}

/// What should run.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WebAppSpec {
    /// The image.
    #[schemars(length(min = 1, max = 200))]
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "self.contains('/')", "message": "an image has a registry"}]))]
    image: String,
    /// How many.
    #[serde(default = "one")]
    replicas: u32,
    /// How it is updated.
    strategy: Option<Strategy>,
    port: Option<IntOrString>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    extra: Option<serde_json::Value>,
    #[serde(default)]
    open: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    rules: Vec<Rule>,
    #[serde(default)]
    hosts: BTreeSet<String>,
    backend: Option<Backend>,
    pair: Option<(String, String)>,
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    since: Option<String>,
    ratio: Option<f64>,
    mode: Option<Mode>,
}

fn one() -> u32 {
    1
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
enum Strategy {
    /// Ends the old Pods first.
    Recreate,
    /// Replaces Pods one by one.
    RollingUpdate,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    On,
    Off,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum IntOrString {
    Int(i64),
    String(String),
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Backend {
    /// Behind a path.
    Http {
        path: String,
    },
    Tcp {
        port: u16,
    },
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Rule {
    host: String,
    weight: Option<i32>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct WebAppStatus {
    ready: bool,
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Condition {
    #[serde(rename = "type")]
    ty: String,
    status: ConditionStatus,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
enum ConditionStatus {
    True,
    False,
    Unknown,
}
