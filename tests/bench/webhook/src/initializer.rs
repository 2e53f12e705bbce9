//! What is injected.

use serde::Deserialize;
use serde_json::{Map, Value};

/// Containers and volumes, each with a name.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct Initializer {
    pub(crate) containers: Vec<Map<String, Value>>,
    pub(crate) init_containers: Vec<Map<String, Value>>,
    pub(crate) volumes: Vec<Map<String, Value>>,
}

impl Initializer {
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        Ok(serde_saphyr::from_str(text)?)
    }
}
