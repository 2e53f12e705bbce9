//! The grant: the permissions of a plugin. `network.yaml` beside `network.wasm`.

use crate::{AdmissionRule, PolicyRule, Rollout, SafeRequest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The permissions and the configuration of a plugin. Everything that a grant does not list is denied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginGrant {
    /// `oarlock.dev/v1alpha1`.
    pub api_version: String,
    /// `PluginGrant`.
    pub kind: String,
    /// The plugin's name, if it is not the name of the file. ServiceAccount, Lease, finalizer and field manager derive from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Run the plugin although its manifest asks for more than this grant. The host refuses an operation that is not granted when the
    /// plugin tries it. Without `partial`, the plugin waits for the rest of its permissions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Kubernetes permissions. With `get` on a kind the plugin can read it. With write verbs the host makes the plugin's changes.
    #[serde(default)]
    pub permissions: Vec<PolicyRule>,
    /// The plugin may delay the deletion of its primaries until it has cleaned up. The host adds the plugin's finalizer to them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cleanup: bool,
    /// The plugin may set the status of its primaries. The host writes it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub manage_status: bool,
    /// The requests that the plugin may answer at admission, with conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub admission: Vec<GrantedAdmission>,
    /// The definitions between whose versions the plugin may convert objects, each by its name. The host makes itself the conversion
    /// webhook of these definitions. Every client of these kinds then depends on the host and on the plugin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conversions: Vec<String>,
    /// The definitions that the host installs and upgrades, each by its name, from those in the plugin file. An upgrade that stored objects
    /// may not survive is refused, and with it the version of the plugin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<String>,
    /// The HTTP requests that the plugin may send.
    #[serde(default)]
    pub http: GrantedHttp,
    /// The configuration: the values that `config.get` returns, by key.
    #[serde(default)]
    pub config: BTreeMap<String, String>,
    /// Configuration values in files, for example in a mounted Secret: key to path. The host reads the files when it loads the plugin,
    /// and redacts the values in all output.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secret_files: BTreeMap<String, String>,
    /// The limits of one reconcile.
    #[serde(default)]
    pub limits: Limits,
    /// The number of keys that the host reconciles at the same time, 1 to 64. It replaces the manifest's `workers`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// The resync period in seconds. It replaces the manifest's `resyncSeconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resync_seconds: Option<u32>,
    /// How a new version replaces the version that runs. Without it, at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Rollout>,
}

/// Requests to the API server that a plugin may answer at admission. The first entry that covers the whole rule of the manifest grants the
/// rule. The policies and the timeout of that entry replace those of the rule. Its selectors and match conditions apply in addition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GrantedAdmission {
    /// The operations: `CREATE`, `UPDATE`, `DELETE`, `CONNECT`, or `*`.
    pub operations: Vec<String>,
    /// The API groups, or `*`; `""` is the core group.
    pub api_groups: Vec<String>,
    /// The resources and subresources, in the plural: `pods`, `pods/status`. `*`: all resources. `*/*`: all resources and subresources.
    pub resources: Vec<String>,
    /// The host calls the plugin only as an initializer: only for objects of an InitializerConfiguration that names it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_as_initializer: bool,
    /// Only requests in namespaces that this label selector (matchLabels, matchExpressions) selects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<serde_json::Value>,
    /// Only objects that this label selector selects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_selector: Option<serde_json::Value>,
    /// Only requests that meet these CEL match conditions, each with name and expression.
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
    /// The time limit of a request, in seconds: 1 to 30.
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

/// The HTTP requests that a plugin may send.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GrantedHttp {
    /// The allowed origins: scheme, host and port, without a path.
    #[serde(default)]
    pub origins: Vec<String>,
    /// Requests with other methods than GET and HEAD that change nothing, for example to get a token. A dry run sends them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub safe_requests: Vec<SafeRequest>,
}

/// The limits of one reconcile. A limit that is left out has its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Limits {
    /// The linear memory of one instance, all its memories together, in MiB; at most 512.
    pub memory_mib: u32,
    /// The elements of all tables of one instance together; at most 100 000.
    pub table_elements: u32,
    /// The time of all calls of one reconcile together, in seconds, including the time that the plugin waits in them.
    pub deadline_seconds: u32,
    /// The size of the answer of one call, all its documents together, in KiB.
    ///
    /// The arguments of one call of an import are limited, too: to twice this value or twice `httpRequestKib`, the larger of the two. The
    /// host ends an instance that exceeds it.
    pub answer_kib: u32,
    /// The size of the answer of one read of the cluster, all objects of a list together, in KiB. A larger answer is an error that the
    /// plugin can handle.
    pub read_kib: u32,
    /// The log lines of one reconcile. The host counts and drops further lines.
    pub log_lines: u32,
    /// The size of the log lines of one reconcile together, in KiB. The host counts and drops further lines.
    pub log_kib: u32,
    /// The number of HTTP requests of one reconcile.
    pub http_requests: u32,
    /// The number of HTTP requests that all reconciles of the plugin send at the same time. Further requests wait, within their deadlines.
    pub http_concurrent: u32,
    /// The size of the body of an HTTP request, in KiB.
    pub http_request_kib: u32,
    /// The size of the body of an HTTP response, in KiB.
    pub http_answer_kib: u32,
    /// The number of further reconciles that one instance serves after its first. 0: each reconcile has a fresh instance.
    ///
    /// A plugin with such instances finds the memory of the reconcile before, also of another object. The host discards an instance that
    /// trapped, missed its deadline or returned an invalid answer. It keeps at most as many idle instances as the plugin has workers.
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
