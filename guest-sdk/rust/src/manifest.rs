//! Builder for the manifest: what a plugin is and asks for.

use oarlock_manifest::{
    API_VERSION, AdmissionRule, HttpAccess, Index, Kind, Mapping, PluginManifest, PolicyRule, Primary, SafeRequest,
    Watch,
};
use serde_json::{Value, json};

/// A kind from `apiVersion` and `kind`, as in a document: `kind("apps/v1", "Deployment")`.
#[must_use]
pub fn kind(api_version: &str, kind: &str) -> Kind {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    Kind { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
}

/// Builds the result of `describe`.
///
/// A person grants what it asks for (see `PluginGrant`); the host does not run the plugin while the grant is smaller.
#[derive(Clone, Debug)]
#[must_use]
pub struct Manifest(PluginManifest);

impl Manifest {
    /// `name`: a DNS label of at most 40 characters that stays the same from version to version; it names the field manager
    /// and the finalizer. `version`: for people, `env!("CARGO_PKG_VERSION")` for instance.
    pub fn new(name: &str, version: &str) -> Self {
        Self(PluginManifest {
            api_version: API_VERSION.to_owned(),
            kind: "PluginManifest".to_owned(),
            name: name.to_owned(),
            version: version.to_owned(),
            description: String::new(),
            primaries: Vec::new(),
            watches: Vec::new(),
            indexes: Vec::new(),
            admission: Vec::new(),
            conversions: Vec::new(),
            permissions: Vec::new(),
            http: HttpAccess::default(),
            cleanup: false,
            manage_status: false,
            config: None,
            workers: 2,
            resync_seconds: 30,
        })
    }

    /// One sentence for people who list plugins.
    pub fn description(mut self, text: &str) -> Self {
        text.clone_into(&mut self.0.description);
        self
    }

    /// A kind that the plugin reconciles, with all its objects.
    pub fn primary(self, kind: Kind) -> Self {
        self.primary_with(kind, |_| {})
    }

    /// A kind that the plugin reconciles, with selectors: `|primary| primary.label_selector = "app=web".into()`.
    pub fn primary_with(mut self, kind: Kind, options: impl FnOnce(&mut Primary)) -> Self {
        let Kind { group, version, kind } = kind;
        let mut primary = Primary {
            group,
            version,
            kind,
            namespaces: Vec::new(),
            label_selector: String::new(),
            field_selector: String::new(),
            manage_status: None,
        };
        options(&mut primary);
        self.0.primaries.push(primary);
        self
    }

    /// Another kind that the plugin reads, and the keys that a change of such an object enqueues.
    ///
    /// With [`Mapping::Reads`] these are the keys whose last reconcile read the object, whether or not it existed, or a list that contained
    /// or now contains it. Choose another mapping only for a reason: for example when a change concerns keys that do not read the object.
    pub fn watch(self, kind: Kind, map_to: Mapping) -> Self {
        self.watch_with(kind, map_to, |_| {})
    }

    /// [`watch`](Self::watch) with selectors: `|watch| watch.names.push("settings".into())`. The host refuses a `primary` beside
    /// [`Mapping::Reads`], because the reads already name the keys.
    pub fn watch_with(mut self, kind: Kind, map_to: Mapping, options: impl FnOnce(&mut Watch)) -> Self {
        let Kind { group, version, kind } = kind;
        let mut watch = Watch {
            group,
            version,
            kind,
            namespaces: Vec::new(),
            names: Vec::new(),
            label_selector: String::new(),
            map_to,
            primary: None,
        };
        options(&mut watch);
        self.0.watches.push(watch);
        self
    }

    /// An index of a kind that the plugin reads, for [`cluster::list_indexed`](crate::cluster::list_indexed). `json_path` has field
    /// names, `['name']`, `[0]` and `[*]`: `.spec.volumes[*].configMap.name`.
    pub fn index(mut self, name: &str, kind: Kind, json_path: &str) -> Self {
        self.0.indexes.push(index(name, kind, json_path, ""));
        self
    }

    /// The same, by the value of a label.
    pub fn index_by_label(mut self, name: &str, kind: Kind, label: &str) -> Self {
        self.0.indexes.push(index(name, kind, "", label));
        self
    }

    /// Answers admission reviews that match the rule.
    pub fn admission(mut self, rule: AdmissionRule) -> Self {
        self.0.admission.push(rule);
        self
    }

    /// A definition between whose versions the plugin converts objects, for example `networks.example.com`: see
    /// [`Converter`](crate::Converter).
    pub fn converts(mut self, definition: &str) -> Self {
        self.0.conversions.push(definition.to_owned());
        self
    }

    /// A Kubernetes permission: API group (empty for core), resource in the plural, verbs. An apply needs `patch`, and
    /// `create` if the object may be new.
    pub fn permission(mut self, group: &str, resource: &str, verbs: &[&str]) -> Self {
        self.0.permissions.push(PolicyRule {
            api_groups: vec![group.to_owned()],
            resources: vec![resource.to_owned()],
            verbs: verbs.iter().map(|&verb| verb.to_owned()).collect(),
            resource_names: Vec::new(),
            namespaces: Vec::new(),
        });
        self
    }

    /// A permission limited to names or namespaces.
    pub fn permission_rule(mut self, rule: PolicyRule) -> Self {
        self.0.permissions.push(rule);
        self
    }

    /// An origin of HTTP requests: scheme, host and port, without a path.
    pub fn http_origin(mut self, origin: &str) -> Self {
        self.0.http.origins.push(origin.to_owned());
        self
    }

    /// The same, from the URL in a configuration value.
    pub fn http_origin_from_config(mut self, key: &str) -> Self {
        self.0.http.origins_from_config.push(key.to_owned());
        self
    }

    /// A request without effects although its method is not GET or HEAD: it is allowed in a dry run. `path` is the whole path, or its end
    /// after a `*`.
    pub fn http_safe_request(mut self, method: &str, path: &str) -> Self {
        self.0.http.safe_requests.push(SafeRequest { method: method.to_owned(), path: path.to_owned() });
        self
    }

    /// Objects are deleted only when `actual` reports that nothing exists: the host adds a finalizer to them.
    pub fn cleanup(mut self) -> Self {
        self.0.cleanup = true;
        self
    }

    /// The host writes `status.observedGeneration` and the `Ready` condition. Only one plugin may do this for a kind.
    pub fn manage_status(mut self) -> Self {
        self.0.manage_status = true;
        self
    }

    /// A configuration key, with the JSON Schema of its value. Once a key is declared, undeclared keys are rejected.
    pub fn config_property(mut self, key: &str, schema: Value) -> Self {
        let config = self.0.config.get_or_insert_with(no_config);
        if let Some(properties) = config.get_mut("properties").and_then(Value::as_object_mut) {
            properties.insert(key.to_owned(), schema);
        }
        self
    }

    /// A configuration key that must be set.
    pub fn config_required(self, key: &str, schema: Value) -> Self {
        let mut this = self.config_property(key, schema);
        if let Some(required) = this.0.config.as_mut().and_then(|c| c.get_mut("required")).and_then(Value::as_array_mut)
        {
            required.push(key.into());
        }
        this
    }

    /// The number of concurrent reconciles, 1 to 8. Default 2; a grant may set more.
    pub fn workers(mut self, workers: u32) -> Self {
        self.0.workers = workers;
        self
    }

    /// Interval of repeated reconciles of every key without a change. Default 30, at least 1.
    pub fn resync_seconds(mut self, seconds: u32) -> Self {
        self.0.resync_seconds = seconds;
        self
    }

    /// The present document.
    #[must_use]
    pub fn document(&self) -> &PluginManifest {
        &self.0
    }

    pub(crate) fn to_json(&self) -> String {
        // The document contains only text, numbers and JSON values, so it can always be written. Otherwise the host's rejection of an
        // empty manifest is better than a trap.
        serde_json::to_string(&self.0).unwrap_or_default()
    }
}

/// A schema that allows no key yet.
fn no_config() -> Value {
    json!({"type": "object", "additionalProperties": false, "properties": {}, "required": []})
}

fn index(name: &str, kind: Kind, json_path: &str, label: &str) -> Index {
    let Kind { group, version, kind } = kind;
    Index { name: name.to_owned(), group, version, kind, json_path: json_path.to_owned(), label: label.to_owned() }
}
