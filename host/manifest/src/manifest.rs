//! The manifest: the answer to `describe`.

use serde::{Deserialize, Serialize};

/// What a plugin is and asks for. The JSON document that `describe` returns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginManifest {
    /// `oarlock.dev/v1alpha1`.
    pub api_version: String,
    /// `PluginManifest`.
    pub kind: String,
    /// A DNS label of at most 40 characters: names the queue, the field manager `oarlock.<name>`, the finalizer
    /// `oarlock.dev/<name>` and the metrics. It stays the same from version to version.
    pub name: String,
    /// The plugin's own version, for people. Any text of at most 64 characters.
    pub version: String,
    /// One sentence for people who list plugins.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The kinds it reconciles. Empty for a plugin that only answers admission.
    #[serde(default)]
    pub primaries: Vec<Primary>,
    /// Other kinds it reads, and which keys a change of them wakes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watches: Vec<Watch>,
    /// What it answers at admission, in the shape of the webhook API.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub admission: Vec<AdmissionRule>,
    /// Kubernetes permissions it needs beyond reading its primaries and watches, in the shape of RBAC rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<PolicyRule>,
    /// Where it sends HTTP requests.
    #[serde(default, skip_serializing_if = "HttpAccess::is_empty")]
    pub http: HttpAccess,
    /// Objects get the finalizer `oarlock.dev/<name>` before the first side effect, and go only when `get-actual` says none.
    #[serde(default)]
    pub cleanup: bool,
    /// The host keeps `status.observedGeneration` and the `Ready` condition of the primaries.
    #[serde(default)]
    pub manage_status: bool,
    /// JSON Schema of the configuration values (an object whose properties are the keys `config.get` answers).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<serde_json::Value>,
    /// How many keys are reconciled at the same time, 1 to 8. A grant may say more, up to 64.
    #[serde(default = "default_workers")]
    pub workers: u32,
    /// Every key is reconciled again after this many seconds although nothing changed, plus or minus 10 %. At least 1.
    #[serde(default = "default_resync_seconds")]
    pub resync_seconds: u32,
}

fn default_workers() -> u32 {
    2
}

fn default_resync_seconds() -> u32 {
    30
}

/// A kind of document, as `apiVersion` and `kind` name it. The host finds the resource by discovery.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Kind {
    /// API group; empty for the core group.
    #[serde(default)]
    pub group: String,
    /// API version, `v1` for instance.
    pub version: String,
    /// Kind, `Network` for instance.
    pub kind: String,
}

/// A kind the plugin reconciles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Primary {
    /// API group; empty for the core group.
    #[serde(default)]
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Only objects in these namespaces. Empty: all namespaces, and cluster-scoped kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// Only objects with these labels, in `kubectl -l` notation. Empty: all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label_selector: String,
    /// Only objects with these fields, in `--field-selector` notation. Empty: all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field_selector: String,
}

impl Primary {
    /// The kind without its selectors.
    #[must_use]
    pub fn gvk(&self) -> Kind {
        Kind { group: self.group.clone(), version: self.version.clone(), kind: self.kind.clone() }
    }
}

/// A kind the plugin reads, and which of its own keys a change wakes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Watch {
    /// API group; empty for the core group.
    #[serde(default)]
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Only objects in these namespaces. Empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// Only objects with these names. Empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Only objects with these labels, in `kubectl -l` notation. Empty: all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label_selector: String,
    /// How a change of such an object becomes keys.
    pub map_to: Mapping,
    /// Which primary those keys are of. None: the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary: Option<Kind>,
}

impl Watch {
    /// The kind without its selectors.
    #[must_use]
    pub fn gvk(&self) -> Kind {
        Kind { group: self.group.clone(), version: self.version.clone(), kind: self.kind.clone() }
    }
}

/// From a watched object to the keys it wakes. When a reference changes, the old and the new target are both woken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "type", deny_unknown_fields)]
pub enum Mapping {
    /// The primaries among its owner references.
    OwnerReference,
    /// The primary of the same namespace and name.
    SameName,
    /// The primary in the same namespace whose name is the value of this label.
    Label {
        /// Label key.
        key: String,
    },
    /// The primary in the same namespace whose name is the value of this annotation.
    Annotation {
        /// Annotation key.
        key: String,
    },
    /// Every primary (in the same namespace, if the watched object has one) that holds its name at this place.
    ReferencedBy {
        /// JSON pointer (RFC 6901) in the primary to a name or a list of names.
        pointer: String,
    },
    /// Every primary.
    All,
    /// None: it is only read from the cache.
    CacheOnly,
}

/// Kubernetes permissions in the shape of an RBAC rule, with the namespaces it holds in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyRule {
    /// API groups; `""` is the core group.
    pub api_groups: Vec<String>,
    /// Resources in the plural, `networks` or `networks/status` for instance.
    pub resources: Vec<String>,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`. An apply needs `patch`, and `create` if the object may be new.
    /// Also `bind`, `escalate`, `impersonate`, `approve`, `attest`, `sign`, `use`: the API server asks for them where a plugin with a
    /// ServiceAccount of its own writes roles, bindings or certificates.
    pub verbs: Vec<String>,
    /// Only objects with these names. Empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// Only in these namespaces. Empty: everywhere, and cluster-scoped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
}

/// Where a plugin sends HTTP requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpAccess {
    /// Origins: scheme, host and port, without a path; `https://api.example.com` for instance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<String>,
    /// Keys of the configuration whose values are URLs: their origins are asked for as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins_from_config: Vec<String>,
    /// Requests other than GET and HEAD that change nothing, and so may go out in a dry run (for a token, say).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub safe_requests: Vec<SafeRequest>,
}

impl HttpAccess {
    /// Whether the manifest asks for no HTTP access.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.origins.is_empty() && self.origins_from_config.is_empty() && self.safe_requests.is_empty()
    }
}

/// A request that changes nothing although its method is not GET or HEAD.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SafeRequest {
    /// Method in capitals.
    pub method: String,
    /// Path of the URL, compared whole, or its end when it begins with `*`: `*/auth/tokens`.
    pub path: String,
}

/// What a plugin answers at admission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AdmissionRule {
    /// `CREATE`, `UPDATE`, `DELETE`, `CONNECT`.
    pub operations: Vec<String>,
    /// API groups.
    pub api_groups: Vec<String>,
    /// API versions.
    pub api_versions: Vec<String>,
    /// Resources and subresources in the plural.
    pub resources: Vec<String>,
    /// Refuse what differs, instead of changing it.
    #[serde(default)]
    pub validate: bool,
    /// `Cluster`, `Namespaced` or `*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// A label selector (matchLabels, matchExpressions) over namespaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<serde_json::Value>,
    /// A label selector over objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_selector: Option<serde_json::Value>,
    /// CEL match conditions: name and expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_conditions: Option<serde_json::Value>,
    /// `None` or `NoneOnDryRun`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side_effects: Option<String>,
    /// `Exact` or `Equivalent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_policy: Option<String>,
    /// `Never` or `IfNeeded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reinvocation_policy: Option<String>,
    /// `Fail` or `Ignore`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_policy: Option<String>,
    /// 1 to 30.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u32>,
}
