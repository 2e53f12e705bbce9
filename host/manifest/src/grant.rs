//! The grant: what a person allows a plugin. `network.yaml` beside `network.wasm`.

use crate::{AdmissionRule, PolicyRule, SafeRequest};
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
    /// The plugin's name, instead of that of its file. ServiceAccount, Lease, finalizer and field manager derive from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Run the plugin although its manifest asks for more than is granted here; what is not granted is refused when it is used.
    /// Without it, such a plugin waits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Kubernetes permissions: `get` on a kind lets the plugin read it, write verbs let the host carry out its changes.
    #[serde(default)]
    pub permissions: Vec<PolicyRule>,
    /// The plugin may hold the deletion of its primaries until it has cleaned up: the host puts the plugin's finalizer on them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cleanup: bool,
    /// The plugin may decide the status of its primaries: the host writes it, as their owner.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub manage_status: bool,
    /// What it may answer at admission, and on which terms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub admission: Vec<GrantedAdmission>,
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
    /// Instead of the manifest's `workers`; 1 to 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// Instead of the manifest's `resyncSeconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resync_seconds: Option<u32>,
}

/// Requests to the API server that a plugin may answer at admission. A rule of its manifest is granted by the first of these that
/// covers the whole of it; what is said here then counts instead of what the rule says, and selectors and conditions count beside its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GrantedAdmission {
    /// `CREATE`, `UPDATE`, `DELETE`, `CONNECT`, or `*`.
    pub operations: Vec<String>,
    /// API groups, or `*`; `""` is the core group.
    pub api_groups: Vec<String>,
    /// Resources and subresources in the plural: `pods`, `pods/status`; `*`: all resources, `*/*`: subresources as well.
    pub resources: Vec<String>,
    /// The plugin is asked only where an InitializerConfiguration names it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_as_initializer: bool,
    /// A label selector (matchLabels, matchExpressions) over namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<serde_json::Value>,
    /// A label selector over objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_selector: Option<serde_json::Value>,
    /// CEL match conditions: name and expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_conditions: Option<serde_json::Value>,
    /// `Fail` or `Ignore`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_policy: Option<String>,
    /// `Exact` or `Equivalent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_policy: Option<String>,
    /// `Never` or `IfNeeded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reinvocation_policy: Option<String>,
    /// 1 to 30.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u32>,
}

impl GrantedAdmission {
    /// The entry that grants exactly this rule, on its own terms.
    #[must_use]
    pub fn just(rule: &AdmissionRule) -> Self {
        Self {
            operations: rule.operations.clone(),
            api_groups: rule.api_groups.clone(),
            resources: rule.resources.clone(),
            ..Self::default()
        }
    }
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
    /// Linear memory of one instance, all its memories together, in MiB; at most 512.
    pub memory_mib: u32,
    /// Elements of all tables of one instance together; at most 100 000.
    pub table_elements: u32,
    /// Time of all calls of a reconcile together, in seconds, whatever the plugin waits for in them.
    pub deadline_seconds: u32,
    /// Largest answer of one call, all its documents together, in KiB.
    ///
    /// What one import is handed at once is bounded by twice this or twice `httpRequestKib`, whichever is more: beyond it the
    /// instance ends.
    pub answer_kib: u32,
    /// Largest answer of one read of the cluster, all objects of a list together, in KiB. More is an error the plugin can
    /// act on.
    pub read_kib: u32,
    /// Log lines of one reconcile; further ones are counted and dropped.
    pub log_lines: u32,
    /// Log lines of one reconcile together, in KiB; further ones are counted and dropped.
    pub log_kib: u32,
    /// HTTP requests of one reconcile.
    pub http_requests: u32,
    /// HTTP requests of all reconciles of the plugin at the same time; further ones wait, within their deadlines.
    pub http_concurrent: u32,
    /// Largest body of an HTTP request, in KiB.
    pub http_request_kib: u32,
    /// Largest body of the answer to an HTTP request, in KiB.
    pub http_answer_kib: u32,
    /// How many further reconciles an instance may serve after its first; 0: a fresh instance for each.
    ///
    /// What the plugin keeps in its own memory is then still there in the next reconcile, of whatever object. An instance that
    /// trapped, missed its deadline or answered nonsense serves no other. At most as many wait for work as the plugin has workers.
    pub instance_reuses: u32,
}

impl Limits {
    /// Most memory that can be granted, in MiB.
    pub const MOST_MEMORY_MIB: u32 = 512;
    /// Most table elements that can be granted.
    pub const MOST_TABLE_ELEMENTS: u32 = 100_000;

    /// The first invalid value, in a sentence with its name in the grant.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let at_least_one = [
            ("memoryMib", self.memory_mib),
            ("tableElements", self.table_elements),
            ("deadlineSeconds", self.deadline_seconds),
            ("answerKib", self.answer_kib),
            ("readKib", self.read_kib),
            ("httpConcurrent", self.http_concurrent),
            ("httpRequestKib", self.http_request_kib),
            ("httpAnswerKib", self.http_answer_kib),
        ];
        if let Some((name, _)) = at_least_one.iter().find(|(_, value)| *value == 0) {
            return Some(format!("limits.{name} must be at least 1"));
        }
        let bounded = [
            ("memoryMib", self.memory_mib, Self::MOST_MEMORY_MIB),
            ("tableElements", self.table_elements, Self::MOST_TABLE_ELEMENTS),
        ];
        let (name, value, most) = bounded.into_iter().find(|(_, value, most)| value > most)?;
        Some(format!("limits.{name} is {value}, must be at most {most}"))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_mib: 64,
            table_elements: 50_000,
            deadline_seconds: 30,
            answer_kib: 4096,
            read_kib: 8192,
            log_lines: 200,
            log_kib: 256,
            http_requests: 100,
            http_concurrent: 16,
            http_request_kib: 1024,
            http_answer_kib: 8192,
            instance_reuses: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Limits;

    #[test]
    fn a_limit_that_makes_no_sense_is_named() {
        assert_eq!(Limits::default().fault(), None);
        let fault = |change: fn(&mut Limits)| {
            let mut limits = Limits::default();
            change(&mut limits);
            limits.fault().unwrap_or_default()
        };
        assert_eq!(fault(|l| l.read_kib = 0), "limits.readKib must be at least 1");
        assert_eq!(fault(|l| l.memory_mib = 513), "limits.memoryMib is 513, must be at most 512");
        assert_eq!(fault(|l| l.table_elements = 100_001), "limits.tableElements is 100001, must be at most 100000");
        assert_eq!(fault(|l| l.log_lines = 0), "");
    }
}
