//! CustomResourceDefinitions: parsing, defaulting, and the facts a server needs to serve objects.

mod empty;
mod field_path;
mod fields;
mod list_types;
mod rules;
mod status;
mod structural;
mod upgrade;
mod validate;

use oarlock_jsonpath::{JsonPath, field_steps};
use serde_json::{Value, json};

use crate::{columns::PrinterColumn, error::FieldError, meta, names, schema::StructuralSchema};

pub use self::{
    fields::prune_crd,
    status::{is_protected_group, reconcile_status},
    upgrade::{BreakingChange, breaking_changes},
    validate::{validate_crd, validate_crd_update},
};

/// A CustomResourceDefinition that passed validation.
#[derive(Clone, Debug)]
pub struct Crd {
    /// `<plural>.<group>`.
    pub name: String,
    /// API group, such as `samplecrd.k8s.io`.
    pub group: String,
    /// Names of the kind and of its resource.
    pub names: Names,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// In the order they are written.
    pub versions: Vec<Version>,
    /// `spec.conversion.webhook`; `None` with the strategy `None`.
    pub conversion: Option<Value>,
}

/// The names of a custom resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    /// Name in URLs.
    pub plural: String,
    /// Name in commands.
    pub singular: String,
    /// Name in documents.
    pub kind: String,
    /// Kind of its lists.
    pub list_kind: String,
    /// Abbreviations for commands.
    pub short_names: Vec<String>,
    /// Categories of the resource, such as `all`.
    pub categories: Vec<String>,
}

/// One version of a custom resource.
#[derive(Clone, Debug)]
pub struct Version {
    /// Such as `v1`.
    pub name: String,
    /// Whether the version is served.
    pub served: bool,
    /// Whether objects are stored in this version.
    pub storage: bool,
    /// The warning for every request, if the version is deprecated.
    pub deprecation_warning: Option<String>,
    /// The parsed schema.
    pub schema: StructuralSchema,
    /// The `openAPIV3Schema` as written.
    pub openapi: Value,
    /// Whether `/status` is a separate subresource.
    pub status: bool,
    /// The field paths of `/scale`.
    pub scale: Option<Scale>,
    /// Columns of tables after the name.
    pub columns: Vec<PrinterColumn>,
    /// Paths for field selectors, without the leading dot, with their parsed form.
    pub selectable_fields: Vec<(String, JsonPath)>,
}

/// The field paths of `/scale`; field names from the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    /// As written, for messages; such as `.spec.replicas`.
    pub spec_replicas_path: String,
    /// Steps of `specReplicasPath`.
    pub spec_replicas: Vec<String>,
    /// Steps of `statusReplicasPath`.
    pub status_replicas: Vec<String>,
    /// Steps of `labelSelectorPath`.
    pub label_selector: Option<Vec<String>>,
}

impl Crd {
    /// Validates and parses a CustomResourceDefinition of `apiextensions.k8s.io/v1`.
    ///
    /// Defaults of [`default_crd`] are accepted, not required. The status is ignored.
    ///
    /// # Errors
    ///
    /// The faults of an API server's 422 response: see [`validate_crd`].
    pub fn parse(crd: &Value) -> Result<Self, Vec<FieldError>> {
        let mut crd = crd.clone();
        default_crd(&mut crd);
        let errors = validate_crd(&crd);
        if errors.is_empty() { Ok(Self::read(&crd)) } else { Err(errors) }
    }

    fn read(crd: &Value) -> Self {
        let spec = crd.get("spec").unwrap_or(&Value::Null);
        let names = spec.get("names").unwrap_or(&Value::Null);
        let group = text(spec, "group");
        Self {
            name: crd.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned(),
            names: Names {
                plural: text(names, "plural"),
                singular: text(names, "singular"),
                kind: text(names, "kind"),
                list_kind: text(names, "listKind"),
                short_names: texts(names, "shortNames"),
                categories: texts(names, "categories"),
            },
            namespaced: text(spec, "scope") == "Namespaced",
            conversion: spec
                .get("conversion")
                .filter(|c| text(c, "strategy") == "Webhook")
                .and_then(|c| c.get("webhook"))
                .cloned(),
            versions: list(spec, "versions").iter().map(|v| Version::read(v, &group, &text(names, "kind"))).collect(),
            group,
        }
    }

    /// The version called `name`, served or not.
    #[must_use]
    pub fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|v| v.name == name)
    }

    /// The faults in type, name, labels and annotations of `object`, a whole object of version `version`.
    ///
    /// Finalizers, owner references and fields set by a server are not checked, nor is an empty name, which may have to be generated.
    ///
    /// # Source
    ///
    /// apiextensions-apiserver `pkg/registry/customresource/validator.go`, apimachinery `ValidateObjectMeta`.
    #[must_use]
    pub fn validate_type_and_metadata(&self, version: &str, object: &Value) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let mut same = |field: &str, expected: &str| {
            let found = text(object, field);
            if found != expected {
                errors.push(FieldError::invalid(field, &found.into(), &format!("must be {expected}")));
            }
        };
        same("kind", &self.names.kind);
        same("apiVersion", &format!("{}/{version}", self.group));
        let meta = object.get("metadata").unwrap_or(&Value::Null);
        let name = text(meta, "name");
        if !name.is_empty()
            && let Err(fault) = names::dns1123_subdomain(&name)
        {
            errors.push(FieldError::invalid("metadata.name", &name.into(), &fault));
        }
        meta::check_pairs(meta, "metadata", &mut errors);
        errors
    }

    /// The version that objects are stored in.
    #[must_use]
    pub fn storage_version(&self) -> Option<&Version> {
        self.versions.iter().find(|v| v.storage)
    }

    /// Served versions, preferred first: stable before beta before alpha, higher numbers first.
    ///
    /// # Source
    ///
    /// apimachinery `pkg/version/helpers.go`, `CompareKubeAwareVersionStrings`.
    #[must_use]
    pub fn served_versions(&self) -> Vec<&Version> {
        let mut served: Vec<&Version> = self.versions.iter().filter(|v| v.served).collect();
        served.sort_by(|a, b| version_rank(&b.name).cmp(&version_rank(&a.name)).then_with(|| a.name.cmp(&b.name)));
        served
    }
}

/// (form, stability, major, minor): greater is preferred; names of another form come last, by name.
fn version_rank(name: &str) -> (u8, u8, u64, u64) {
    fn rank(name: &str) -> Option<(u8, u8, u64, u64)> {
        let rest = name.strip_prefix('v')?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (major, tail) = rest.split_at_checked(digits)?;
        let major: u64 = major.parse().ok().filter(|n| *n > 0)?;
        if tail.is_empty() {
            return Some((1, 2, major, 0));
        }
        let (stability, minor) = match (tail.strip_prefix("beta"), tail.strip_prefix("alpha")) {
            (Some(minor), _) => (1, minor),
            (None, Some(minor)) => (0, minor),
            (None, None) => return None,
        };
        Some((1, stability, major, minor.parse().ok().filter(|n| *n > 0)?))
    }
    rank(name).unwrap_or((0, 0, 0, 0))
}

impl Version {
    /// The merge schema of an object for server-side apply: `x-kubernetes-list-type` and `x-kubernetes-map-type`.
    #[must_use]
    pub fn merge_schema(&self) -> oarlock_merge::schema::Schema {
        oarlock_merge::schema::Schema::from_openapi(&self.openapi)
    }

    fn read(version: &Value, group: &str, kind: &str) -> Self {
        let openapi = version.pointer("/schema/openAPIV3Schema").cloned().unwrap_or_else(|| json!({"type": "object"}));
        let name = text(version, "name");
        let deprecated = version.get("deprecated").and_then(Value::as_bool).unwrap_or(false);
        let scale = version.pointer("/subresources/scale").filter(|s| s.is_object());
        let steps = |scale: &Value, key: &str| field_steps(&text(scale, key)).unwrap_or_default();
        Self {
            served: version.get("served").and_then(Value::as_bool).unwrap_or(false),
            storage: version.get("storage").and_then(Value::as_bool).unwrap_or(false),
            deprecation_warning: deprecated.then(|| {
                version
                    .get("deprecationWarning")
                    .and_then(Value::as_str)
                    .map_or_else(|| format!("{group}/{name} {kind} is deprecated"), str::to_owned)
            }),
            schema: StructuralSchema::new(&openapi),
            openapi,
            status: version.pointer("/subresources/status").is_some_and(Value::is_object),
            scale: scale.map(|scale| Scale {
                spec_replicas_path: text(scale, "specReplicasPath"),
                spec_replicas: steps(scale, "specReplicasPath"),
                status_replicas: steps(scale, "statusReplicasPath"),
                label_selector: Some(steps(scale, "labelSelectorPath")).filter(|s| !s.is_empty()),
            }),
            columns: PrinterColumn::read(list(version, "additionalPrinterColumns")),
            selectable_fields: list(version, "selectableFields")
                .iter()
                .filter_map(|field| {
                    let path = text(field, "jsonPath");
                    Some((path.trim_start_matches('.').to_owned(), JsonPath::parse(&path).ok()?))
                })
                .collect(),
            name,
        }
    }
}

/// Sets the optional fields of a CustomResourceDefinition: singular, listKind, conversion. Removes the empty ones.
///
/// # Source
///
/// apiextensions-apiserver `pkg/apis/apiextensions/v1/defaults.go`; the encoding of its types for what is empty.
pub fn default_crd(crd: &mut Value) {
    let Some(spec) = crd.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) {
        let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        let unset = |names: &serde_json::Map<String, Value>, key: &str| {
            names.get(key).and_then(Value::as_str).unwrap_or_default().is_empty()
        };
        if unset(names, "singular") {
            names.insert("singular".to_owned(), kind.to_lowercase().into());
        }
        if unset(names, "listKind") && !kind.is_empty() {
            names.insert("listKind".to_owned(), format!("{kind}List").into());
        }
    }
    if spec.get("conversion").is_none_or(Value::is_null) {
        spec.insert("conversion".to_owned(), json!({"strategy": "None"}));
    }
    let service = spec.get_mut("conversion").and_then(|c| c.pointer_mut("/webhook/clientConfig/service"));
    if let Some(service) = service.and_then(Value::as_object_mut) {
        service.entry("port").or_insert_with(|| 443.into());
    }
    empty::omit_empty(spec);
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    list(value, key).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_preferred_as_kubernetes_prefers_them() {
        let mut names = ["v1alpha1", "foo1", "v10", "v2beta1", "v1", "v2", "v11alpha2", "foo10", "v3beta1"];
        names.sort_by(|a, b| version_rank(b).cmp(&version_rank(a)).then_with(|| a.cmp(b)));
        assert_eq!(names, ["v10", "v2", "v1", "v3beta1", "v2beta1", "v11alpha2", "v1alpha1", "foo1", "foo10"]);
    }

    #[test]
    fn names_left_out_come_from_the_kind() {
        let mut crd = json!({"spec": {"names": {"plural": "networks", "kind": "Network"}}});
        default_crd(&mut crd);
        assert_eq!(crd["spec"]["names"]["singular"], "network");
        assert_eq!(crd["spec"]["names"]["listKind"], "NetworkList");
        assert_eq!(crd["spec"]["conversion"], json!({"strategy": "None"}));
    }
}
