//! The grant: what a person allows a plugin. `network.yaml` beside `network.wasm`.

use crate::{PolicyRule, SafeRequest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a plugin may do, and how it is configured. Nothing is allowed that it does not say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginGrant {
    /// `oarlock.dev/v1alpha1`.
    pub api_version: String,
    /// `PluginGrant`.
    pub kind: String,
    /// Run the plugin although its manifest asks for more than is granted here; what is not granted is refused when it is used.
    /// Without it, such a plugin waits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Kubernetes permissions: `get` on a kind lets the plugin read it, write verbs let the host carry out its changes.
    #[serde(default)]
    pub permissions: Vec<PolicyRule>,
    /// HTTP requests.
    #[serde(default)]
    pub http: GrantedHttp,
    /// Configuration values by key, as `config.get` answers them.
    #[serde(default)]
    pub config: BTreeMap<String, String>,
    /// Configuration values that are read from a file when the plugin is loaded (a mounted Secret, say): key to path. Redacted
    /// wherever values are shown.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secret_files: BTreeMap<String, String>,
    /// What one reconcile may use.
    #[serde(default)]
    pub limits: Limits,
    /// Instead of the manifest's `workers`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// Instead of the manifest's `resyncSeconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resync_seconds: Option<u32>,
}

/// HTTP requests a plugin may send.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GrantedHttp {
    /// Origins: scheme, host and port, without a path.
    #[serde(default)]
    pub origins: Vec<String>,
    /// Requests other than GET and HEAD that change nothing, and so may go out in a dry run (for a token, say).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub safe_requests: Vec<SafeRequest>,
}

/// What one reconcile may use. A value left out is the default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Limits {
    /// Linear memory of one instance, all its memories together, in MiB.
    pub memory_mib: u32,
    /// From the first call of a reconcile to the end of its last, in seconds.
    pub deadline_seconds: u32,
    /// Largest document a call may return, in KiB.
    pub answer_kib: u32,
    /// Log lines of one reconcile; further ones are counted and dropped.
    pub log_lines: u32,
    /// HTTP requests of one reconcile.
    pub http_requests: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory_mib: 64, deadline_seconds: 30, answer_kib: 4096, log_lines: 200, http_requests: 100 }
    }
}
