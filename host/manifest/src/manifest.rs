//! The manifest: the answer to `describe`.

use serde::{Deserialize, Serialize};

/// The properties and the requests of a plugin. `describe` returns this document as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginManifest {
    /// `oarlock.dev/v1alpha1`.
    pub api_version: String,
    /// `PluginManifest`.
    pub kind: String,
    /// The plugin's name: a DNS label of at most 40 characters. The queue, the field manager `oarlock.<name>`, the finalizer
    /// `oarlock.dev/<name>` and the metrics contain it. All versions of a plugin have the same name.
    pub name: String,
    /// The plugin's version, for display. Any text of at most 64 characters.
    pub version: String,
    /// One sentence about the plugin, for lists of plugins.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The kinds that the plugin reconciles. Empty for a plugin that only answers admission.
    #[serde(default)]
    pub primaries: Vec<Primary>,
    /// Other kinds that the plugin reads, each with the keys that a change reconciles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watches: Vec<Watch>,
    /// The indexes of the kinds that the plugin reads. `list-indexed` lists the objects with one value in time proportional to their number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indexes: Vec<Index>,
    /// The requests that the plugin answers at admission, in the form of a webhook's rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub admission: Vec<AdmissionRule>,
    /// The definitions between whose versions the plugin converts objects, each by its name, for example `networks.example.com`. The plugin
    /// exports the interface `conversion`, and the host configures it as the conversion webhook of these definitions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conversions: Vec<String>,
    /// The Kubernetes permissions that the plugin needs, in the form of RBAC rules. Reading its primaries and watches needs no rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<PolicyRule>,
    /// The HTTP requests that the plugin sends.
    #[serde(default, skip_serializing_if = "HttpAccess::is_empty")]
    pub http: HttpAccess,
    /// The plugin cleans up after deleted objects. The host adds the finalizer `oarlock.dev/<name>` before the first side effect, and
    /// removes it when `get-actual` returns none.
    #[serde(default)]
    pub cleanup: bool,
    /// The host writes `status.observedGeneration` and the `Ready` condition of the primaries.
    #[serde(default)]
    pub manage_status: bool,
    /// The JSON Schema of the configuration: an object whose properties are the keys of `config.get`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<serde_json::Value>,
    /// The number of keys that the host reconciles at the same time, 1 to 8. A grant can raise it, up to 64.
    #[serde(default = "default_workers")]
    pub workers: u32,
    /// The resync period in seconds, at least 1: the host reconciles every key again after this time, plus or minus 10 %, although
    /// nothing changed.
    #[serde(default = "default_resync_seconds")]
    pub resync_seconds: u32,
}

impl PluginManifest {
    /// Whether the host manages the status of this primary.
    #[must_use]
    pub fn manages_status(&self, primary: &Primary) -> bool {
        self.manage_status && primary.manage_status != Some(false)
    }
}

fn default_workers() -> u32 {
    2
}

fn default_resync_seconds() -> u32 {
    30
}

/// A kind, named as in `apiVersion` and `kind`. The host finds its resource by discovery.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Kind {
    /// The API group; empty for the core group.
    #[serde(default)]
    pub group: String,
    /// The API version, for example `v1`.
    pub version: String,
    /// The kind, for example `Network`.
    pub kind: String,
}

/// A kind that the plugin reconciles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Primary {
    /// The API group; empty for the core group.
    #[serde(default)]
    pub group: String,
    /// The API version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// Only objects in these namespaces. Empty: objects in all namespaces, and cluster-scoped objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// Only objects with these labels, in `kubectl -l` notation. Empty: all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label_selector: String,
    /// Only objects with these fields, in `--field-selector` notation. Empty: all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field_selector: String,
    /// `false`: the host does not manage the status of this kind, for example because a built-in kind has no `Ready` condition. Without a
    /// value, the manifest's `manageStatus` decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manage_status: Option<bool>,
}

impl Primary {
    /// The kind without its selectors.
    #[must_use]
    pub fn gvk(&self) -> Kind {
        Kind { group: self.group.clone(), version: self.version.clone(), kind: self.kind.clone() }
    }
}

/// A kind that the plugin reads, with the keys that a change reconciles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Watch {
    /// The API group; empty for the core group.
    #[serde(default)]
    pub group: String,
    /// The API version.
    pub version: String,
    /// The kind.
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
    /// The mapping from a changed object to the keys to reconcile. Without one, these are the keys whose last reconcile read the object.
    #[serde(default, skip_serializing_if = "Mapping::is_reads")]
    pub map_to: Mapping,
    /// The primary that the keys belong to. None: the first primary of the manifest.
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

/// An index of a kind, by a field or a label. Either `jsonPath` or `label` is set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Index {
    /// The name of the index: 1 to 63 characters (a-z, 0-9, -). Each index of a kind has another name.
    pub name: String,
    /// The API group; empty for the core group.
    #[serde(default)]
    pub group: String,
    /// The API version.
    pub version: String,
    /// The kind: a primary or a watch of the manifest.
    pub kind: String,
    /// The path to the values: field names, `['name']`, `[0]` and `[*]`, for example `.spec.nodeName` or
    /// `.spec.volumes[*].configMap.name`. Values are strings, integers and booleans, or lists of them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub json_path: String,
    /// The key of the label whose value is the value in the index.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
}

impl Index {
    /// The kind of the indexed objects.
    #[must_use]
    pub fn gvk(&self) -> Kind {
        Kind { group: self.group.clone(), version: self.version.clone(), kind: self.kind.clone() }
    }
}

/// The mapping from a watched object to the keys to reconcile. When a reference changes, the host reconciles its old and its new target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "type", deny_unknown_fields)]
pub enum Mapping {
    /// Every primary whose last reconcile read the object, whether or not it existed, or a list that contained or now contains it.
    #[default]
    Reads,
    /// The primaries among the object's owner references.
    OwnerReference,
    /// The primary with the same namespace and name.
    SameName,
    /// The primary in the same namespace whose name is the value of this label.
    Label {
        /// The key of the label.
        key: String,
    },
    /// The primary in the same namespace whose name is the value of this annotation.
    Annotation {
        /// The key of the annotation.
        key: String,
    },
    /// Every primary that contains the object's name at this pointer. If the object has a namespace, only primaries of that namespace.
    ReferencedBy {
        /// A JSON pointer (RFC 6901) into the primary, to a name or a list of names.
        pointer: String,
    },
    /// Every primary.
    All,
    /// No primary: the plugin only reads the kind from the cache.
    CacheOnly,
}

impl Mapping {
    fn is_reads(&self) -> bool {
        *self == Self::Reads
    }
}

/// Kubernetes permissions in the form of an RBAC rule, with the namespaces in which it applies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyRule {
    /// The API groups; `""` is the core group.
    pub api_groups: Vec<String>,
    /// The resources, in the plural: for example `networks` or `networks/status`.
    pub resources: Vec<String>,
    /// The verbs: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`. An apply needs `patch`, and also `create` if the object
    /// may be new. Further verbs are `bind`, `escalate`, `impersonate`, `approve`, `attest`, `sign`, `use`. The API server requires them
    /// when a plugin with a ServiceAccount of its own writes roles, bindings or certificates.
    pub verbs: Vec<String>,
    /// Only objects with these names. Empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// Only in these namespaces. Empty: in all namespaces, and for cluster-scoped objects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
}

/// The HTTP requests that a plugin sends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpAccess {
    /// The origins of the requests: scheme, host and port, without a path. For example `https://api.example.com`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<String>,
    /// Keys of the configuration whose values are URLs. The plugin requests access to the origins of these URLs, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins_from_config: Vec<String>,
    /// Requests with other methods than GET and HEAD that change nothing, for example to get a token. A dry run sends them.
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

/// A request that changes nothing although its method is neither GET nor HEAD.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SafeRequest {
    /// The method in capitals.
    pub method: String,
    /// The whole path of the URL. With a `*` at the start, the end of the path: `*/auth/tokens`.
    pub path: String,
}

/// Requests that a plugin answers at admission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AdmissionRule {
    /// The operations: `CREATE`, `UPDATE`, `DELETE`, `CONNECT`, or `*`.
    pub operations: Vec<String>,
    /// The API groups, or `*`.
    pub api_groups: Vec<String>,
    /// The API versions, or `*`.
    pub api_versions: Vec<String>,
    /// The resources and subresources, in the plural: `pods`, `pods/status`.
    pub resources: Vec<String>,
    /// The plugin validates: it refuses an object that differs from the desired state, instead of changing it.
    #[serde(default)]
    pub validate: bool,
    /// `Cluster`, `Namespaced` or `*` (default).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Only requests in namespaces that this label selector (matchLabels, matchExpressions) selects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<serde_json::Value>,
    /// Only objects that this label selector selects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_selector: Option<serde_json::Value>,
    /// Only requests that meet these CEL match conditions, each with name and expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_conditions: Option<serde_json::Value>,
    /// `None` or `NoneOnDryRun` (default).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side_effects: Option<String>,
    /// `Exact` or `Equivalent` (default).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_policy: Option<String>,
    /// `Never` (default) or `IfNeeded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reinvocation_policy: Option<String>,
    /// `Fail` (default) or `Ignore`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_policy: Option<String>,
    /// The time limit of a request, in seconds: 1 to 30, by default 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u32>,
}
