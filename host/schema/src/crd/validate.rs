//! Validation of CustomResourceDefinitions by the rules of an API server.

use std::collections::BTreeSet;

use oarlock_jsonpath::{JsonPath, field_steps};
use serde_json::{Map, Value, json};

use super::{
    list,
    status::{APPROVED, Approval, approval, is_protected_group},
    structural, text,
};
use crate::{
    error::FieldError,
    names::{self, MIXED_CASE},
};

/// Parts that a server stores once when all versions have the same, and then reports under `spec`.
const SHARED: [(&str, &str); 4] = [
    ("schema", "validation"),
    ("subresources", "subresources"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
    ("selectableFields", "selectableFields"),
];

/// The faults of a defaulted CustomResourceDefinition; empty when it can be created.
///
/// # Source
///
/// apiextensions-apiserver `pkg/apis/apiextensions/validation/validation.go`.
#[must_use]
pub fn validate_crd(crd: &Value) -> Vec<FieldError> {
    validate(crd, &Value::Null)
}

/// * `old` - the stored definition, or null.
fn validate(crd: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = crd.get("spec").unwrap_or(&Value::Null);
    let names = spec.get("names").unwrap_or(&Value::Null);
    let group = text(spec, "group");
    let name = crd.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    if name.is_empty() {
        errors.push(FieldError::required("metadata.name", "name or generateName is required"));
    } else if name != format!("{}.{group}", text(names, "plural")) {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid("metadata.name", &name.into(), detail));
    }
    if group.is_empty() {
        errors.push(FieldError::required("spec.group", ""));
    } else if let Err(fault) = names::dns1123_subdomain(&group) {
        errors.push(FieldError::invalid("spec.group", &group.as_str().into(), &fault));
    } else if !group.contains('.') {
        let detail = "should be a domain with at least one dot";
        errors.push(FieldError::invalid("spec.group", &group.as_str().into(), detail));
    }
    let scopes = ["Cluster".to_owned(), "Namespaced".to_owned()];
    one_of("spec.scope", &text(spec, "scope"), &scopes, &mut errors);
    if spec.get("preserveUnknownFields") == Some(&Value::Bool(true)) {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                      spec.versions[*].schema instead";
        errors.push(FieldError::invalid("spec.preserveUnknownFields", &Value::Bool(true), detail));
    }
    check_versions(spec, &mut errors);
    check_names(names, &mut errors);
    check_conversion(spec, &mut errors);
    check_version_parts(spec, old.get("spec").unwrap_or(&Value::Null), &mut errors);
    if is_protected_group(&group) {
        let field = format!("metadata.annotations[{APPROVED}]");
        match approval(crd) {
            Approval::Missing(message) => errors.push(FieldError::required(&field, &message)),
            Approval::Invalid(message) => {
                let annotations = crd.pointer("/metadata/annotations").unwrap_or(&Value::Null);
                errors.push(FieldError::invalid(&field, &text(annotations, APPROVED).into(), &message));
            }
            Approval::Bypassed(_) | Approval::Approved(_) => {}
        }
    }
    errors
}

/// The faults of replacing the definition `old` by `new`.
///
/// Beyond [`validate_crd`]: once established, group, scope, kind and plural stay; versions that hold objects stay.
#[must_use]
pub fn validate_crd_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = validate(new, old);
    let established = list(old.get("status").unwrap_or(&Value::Null), "conditions")
        .iter()
        .any(|c| text(c, "type") == "Established" && text(c, "status") == "True");
    if established {
        for (pointer, field) in [
            ("/spec/group", "spec.group"),
            ("/spec/scope", "spec.scope"),
            ("/spec/names/kind", "spec.names.kind"),
            ("/spec/names/plural", "spec.names.plural"),
        ] {
            let value = new.pointer(pointer).unwrap_or(&Value::Null);
            if Some(value) != old.pointer(pointer) {
                errors.push(FieldError::invalid(field, value, "field is immutable"));
            }
        }
    }
    let versions = list(new.get("spec").unwrap_or(&Value::Null), "versions");
    for (i, stored) in list(old.get("status").unwrap_or(&Value::Null), "storedVersions").iter().enumerate() {
        if !versions.iter().any(|v| v.get("name") == Some(stored)) {
            let field = format!("status.storedVersions[{i}]");
            let detail = "missing from spec.versions; apiVersion cannot be removed without removing from \
                          status.storedVersions first";
            errors.push(FieldError::invalid(&field, stored, detail.split("; ").next().unwrap_or(detail)));
        }
    }
    // A definition from before this rule can still be changed.
    if matches!(approval(old), Approval::Missing(_) | Approval::Invalid(_)) {
        errors.retain(|e| !e.field.starts_with("metadata.annotations[api-approved"));
    }
    errors
}

fn one_of(field: &str, value: &str, allowed: &[String], errors: &mut Vec<FieldError>) {
    if value.is_empty() {
        errors.push(FieldError::required(field, ""));
    } else if !allowed.iter().any(|a| a == value) {
        errors.push(FieldError::not_supported(field, &value.into(), allowed));
    }
}

/// Whether all versions have the same `key`.
fn is_shared(versions: &[Value], key: &str) -> bool {
    let absent = |v: &Value| v.get(key).is_none_or(|x| x.is_null() || x.as_array().is_some_and(Vec::is_empty));
    match versions {
        [] => false,
        [first, rest @ ..] => !absent(first) && rest.iter().all(|v| v.get(key) == first.get(key)),
    }
}

/// A version in a server's printed form: its internal type, with its field order.
fn print_versions(versions: &[Value]) -> String {
    let parts: Vec<String> = versions
        .iter()
        .map(|v| {
            let flag = |key: &str| v.get(key).and_then(Value::as_bool).unwrap_or(false);
            let own = |key: &str| match v.get(key) {
                Some(value) if !is_shared(versions, key) => value.to_string(),
                _ => "null".to_owned(),
            };
            format!(
                "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":{},\
                 \"Subresources\":{},\"AdditionalPrinterColumns\":{},\"SelectableFields\":{}}}",
                Value::from(text(v, "name")),
                flag("served"),
                flag("storage"),
                flag("deprecated"),
                v.get("deprecationWarning").unwrap_or(&Value::Null),
                own("schema"),
                own("subresources"),
                own("additionalPrinterColumns"),
                own("selectableFields"),
            )
        })
        .collect();
    format!("[{}]", parts.join(","))
}

fn check_versions(spec: &Value, errors: &mut Vec<FieldError>) {
    let versions = list(spec, "versions");
    let mut seen = BTreeSet::new();
    for (i, version) in versions.iter().enumerate() {
        let name = text(version, "name");
        if let Err(fault) = names::dns1035_label(&name) {
            let field = format!("spec.versions[{i}].name");
            errors.push(FieldError::invalid(&field, &name.as_str().into(), &fault));
            // The first one is also stored under its old name.
            if i == 0 {
                errors.push(FieldError::invalid("spec.version", &name.as_str().into(), &fault));
            }
        }
        let deprecated = version.get("deprecated") == Some(&Value::Bool(true));
        if let Some(warning) = version.get("deprecationWarning").filter(|w| !w.is_null() && !deprecated) {
            let field = format!("spec.versions[{i}].deprecationWarning");
            errors.push(FieldError::invalid(&field, warning, "can only be set for deprecated versions"));
        }
        seen.insert(name);
    }
    let shown = print_versions(versions);
    let refuse = |detail: &str| FieldError {
        message: format!("Invalid value: {shown}: {detail}"),
        ..FieldError::invalid_without_value("spec.versions", detail)
    };
    if seen.len() != versions.len() {
        errors.push(refuse("must contain unique version names"));
    }
    let storage: Vec<String> =
        versions.iter().filter(|v| v.get("storage") == Some(&Value::Bool(true))).map(|v| text(v, "name")).collect();
    match storage.as_slice() {
        [_] => {}
        [] => {
            errors.push(refuse("must have exactly one version marked as storage version"));
            errors.push(FieldError {
                message: "Invalid value: null: must have at least one stored version".to_owned(),
                ..FieldError::invalid_without_value("status.storedVersions", "")
            });
        }
        [first, .., last] => {
            errors.push(refuse("must have exactly one version marked as storage version"));
            let detail = format!("must have the storage version {last}");
            errors.push(FieldError::invalid("status.storedVersions", &json!([first]), &detail));
        }
    }
}

fn check_names(names: &Value, errors: &mut Vec<FieldError>) {
    let mut missing = Vec::new();
    let mut check = |field: &str, name: &str, mixed: bool| {
        let (lower, prefix) = if mixed { (name.to_lowercase(), MIXED_CASE) } else { (name.to_owned(), "") };
        if let Err(fault) = names::dns1035_label(&lower) {
            errors.push(FieldError::invalid(&format!("spec.names.{field}"), &name.into(), &format!("{prefix}{fault}")));
        }
    };
    for (field, mixed, required) in
        [("plural", false, true), ("singular", false, true), ("kind", true, true), ("listKind", true, true)]
    {
        let name = text(names, field);
        if required && name.is_empty() {
            missing.push(FieldError::required(&format!("spec.names.{field}"), ""));
        } else if !name.is_empty() {
            check(field, &name, mixed);
        }
    }
    for field in ["shortNames", "categories"] {
        for (i, name) in list(names, field).iter().enumerate() {
            check(&format!("{field}[{i}]"), name.as_str().unwrap_or_default(), false);
        }
    }
    errors.append(&mut missing);
    let kind = text(names, "kind");
    if !kind.is_empty() && kind == text(names, "listKind") {
        let detail = "kind and listKind may not be the same";
        errors.push(FieldError::invalid("spec.names.listKind", &kind.into(), detail));
    }
}

fn check_conversion(spec: &Value, errors: &mut Vec<FieldError>) {
    let Some(conversion) = spec.get("conversion").filter(|c| !c.is_null()) else { return };
    let strategy = text(conversion, "strategy");
    one_of("spec.conversion.strategy", &strategy, &["None".to_owned(), "Webhook".to_owned()], errors);
    let webhook = conversion.get("webhook").filter(|w| !w.is_null());
    if strategy == "None" {
        let detail = "should not be set when strategy is not set to Webhook";
        if webhook.is_some_and(|w| w.get("clientConfig").is_some_and(|c| !c.is_null())) {
            errors.push(FieldError::forbidden("spec.conversion.webhookClientConfig", detail));
        }
        if webhook.is_some_and(|w| !list(w, "conversionReviewVersions").is_empty()) {
            errors.push(FieldError::forbidden("spec.conversion.conversionReviewVersions", detail));
        }
    }
    if strategy == "Webhook" {
        if webhook.and_then(|w| w.get("clientConfig")).is_none() {
            let detail = "required when strategy is set to Webhook";
            errors.push(FieldError::required("spec.conversion.webhookClientConfig", detail));
        }
        if webhook.is_none_or(|w| list(w, "conversionReviewVersions").is_empty()) {
            errors.push(FieldError::required("spec.conversion.conversionReviewVersions", ""));
        }
    }
}

fn check_version_parts(spec: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    let versions = list(spec, "versions");
    for (i, version) in versions.iter().enumerate() {
        let own = format!("spec.versions[{i}]");
        let place = |key: &str| -> Option<String> {
            if !is_shared(versions, key) {
                return Some(format!("{own}.{key}"));
            }
            let shared = SHARED.iter().find(|(k, _)| *k == key).map_or(key, |(_, s)| s);
            // Parts shared by all versions are reported once.
            (i == 0).then(|| format!("spec.{shared}"))
        };
        let schema = version.pointer("/schema/openAPIV3Schema").filter(|s| s.is_object());
        match schema {
            None => errors.push(FieldError::required(&format!("{own}.schema.openAPIV3Schema"), "")),
            Some(schema) => {
                if let Some(at) = place("schema") {
                    let stored = list(old, "versions").iter().find(|v| v.get("name") == version.get("name"));
                    let is_stored = stored.and_then(|v| v.pointer("/schema/openAPIV3Schema")) == Some(schema);
                    structural::check_schema(schema, &format!("{at}.openAPIV3Schema"), is_stored, errors);
                }
            }
        }
        if let Some(at) = place("subresources") {
            check_subresources(version.get("subresources").unwrap_or(&Value::Null), &at, errors);
        }
        if let Some(at) = place("additionalPrinterColumns") {
            check_columns(list(version, "additionalPrinterColumns"), &at, errors);
        }
        if let Some(at) = place("selectableFields") {
            check_selectable(list(version, "selectableFields"), schema.unwrap_or(&Value::Null), &at, errors);
        }
    }
}

fn check_subresources(subresources: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let Some(scale) = subresources.get("scale").filter(|s| !s.is_null()) else { return };
    for (key, prefixes, required) in [
        ("specReplicasPath", &[".spec."][..], true),
        ("statusReplicasPath", &[".status."][..], true),
        ("labelSelectorPath", &[".spec.", ".status."][..], false),
    ] {
        let path = text(scale, key);
        let field = format!("{at}.scale.{key}");
        if path.is_empty() {
            if required {
                errors.push(FieldError::required(&field, ""));
            }
        } else if field_steps(&path).is_none() || path.contains('[') {
            let detail = "should be a json path without array notation";
            errors.push(FieldError::invalid(&field, &path.into(), detail));
        } else if !prefixes.iter().any(|prefix| path.starts_with(prefix)) {
            let under: Vec<&str> = prefixes.iter().map(|p| p.trim_end_matches('.')).collect();
            let detail = format!("should be a json path under {}", under.join(" or "));
            errors.push(FieldError::invalid(&field, &path.into(), &detail));
        }
    }
}

fn check_columns(columns: &[Value], at: &str, errors: &mut Vec<FieldError>) {
    let types = ["boolean", "date", "integer", "number", "string"];
    let formats = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
    let mut must_be = |field: String, value: &str, allowed: &[&str]| match value {
        "" => errors.push(FieldError::required(&field, "")),
        value if allowed.contains(&value) => {}
        value => {
            let detail = format!("must be one of {}", allowed.join(","));
            errors.push(FieldError::invalid(&field, &value.into(), &detail));
        }
    };
    for (i, column) in columns.iter().enumerate() {
        must_be(format!("{at}[{i}].type"), &text(column, "type"), &types);
        let format = text(column, "format");
        if !format.is_empty() {
            must_be(format!("{at}[{i}].format"), &format, &formats);
        }
    }
    for (i, column) in columns.iter().enumerate() {
        let at = format!("{at}[{i}]");
        if text(column, "name").is_empty() {
            errors.push(FieldError::required(&format!("{at}.name"), ""));
        }
        let path = text(column, "jsonPath");
        let field = format!("{at}.JSONPath");
        if path.is_empty() {
            errors.push(FieldError::required(&field, ""));
        } else if !path.starts_with('.') {
            errors.push(FieldError::invalid(&field, &path.into(), "must be a simple json path starting with ."));
        } else if let Err(error) = JsonPath::parse(&path) {
            errors.push(FieldError::invalid(&field, &path.into(), &error.to_string()));
        }
    }
}

fn check_selectable(fields: &[Value], schema: &Value, at: &str, errors: &mut Vec<FieldError>) {
    if fields.len() > 8 {
        errors.push(FieldError::too_many(at, u64::try_from(fields.len()).unwrap_or(u64::MAX), 8));
    }
    let mut seen = BTreeSet::new();
    for (i, field) in fields.iter().enumerate() {
        let path = text(field, "jsonPath");
        let at = format!("{at}[{i}].jsonPath");
        if path.is_empty() {
            errors.push(FieldError::required(&at, ""));
            continue;
        }
        let steps = field_steps(&path).filter(|_| path.starts_with('.'));
        let target = steps.as_ref().and_then(|steps| {
            steps.iter().try_fold(schema, |at, step| {
                at.get("properties").and_then(Value::as_object).and_then(|p: &Map<_, _>| p.get(step))
            })
        });
        match (steps, target) {
            (None, _) => {
                errors.push(FieldError::invalid(&at, &path.as_str().into(), "must be a valid json path to a field"));
            }
            (Some(steps), _) if steps.first().is_some_and(|s| s == "metadata") => {
                errors.push(FieldError::invalid(&at, &path.as_str().into(), "must not point to fields in metadata"));
            }
            (Some(_), None) => {
                errors.push(FieldError::invalid(&at, &path.as_str().into(), "must point to a field in the schema"));
            }
            (Some(_), Some(target)) if !matches!(text(target, "type").as_str(), "string" | "boolean" | "integer") => {
                let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings \
                              with formats are allowed.";
                errors.push(FieldError::invalid(&at, &path.as_str().into(), detail));
            }
            _ => {}
        }
        if !seen.insert(path.clone()) {
            errors.push(FieldError::duplicate(&at, &path.into()));
        }
    }
}
