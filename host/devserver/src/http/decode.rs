//! Decoding of request bodies into objects of the expected kind.

use data_encoding::HEXLOWER;
use serde_json::{Map, Value};

use crate::{
    http::{
        body::{self, Parsed},
        protobuf,
        query::FieldValidation,
        request::Request,
    },
    model::{
        kinds::Resource,
        status::{ApiError, Cause, Result},
        types::{self, WrongType},
    },
};

/// The expected kind of a body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected<'a> {
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    pub(crate) kind: &'a str,
    /// The custom resource, if it is one.
    pub(crate) custom: Option<&'a Resource>,
}

impl<'a> Expected<'a> {
    /// An object of a resource.
    pub(crate) fn of(resource: &'a Resource) -> Self {
        Self {
            group: &resource.group,
            version: &resource.version,
            kind: &resource.kind,
            custom: resource.custom.is_some().then_some(resource),
        }
    }

    fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }
}

/// An object and the warnings for the client.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) object: Value,
    pub(crate) warnings: Vec<String>,
}

/// Parses the body as JSON, YAML or protobuf, regardless of its content.
pub(crate) fn parse(call: &Request, kind: &str) -> Result<Parsed> {
    let unrecognized = |why: &str| {
        let shown = if call.body.is_empty() { "<empty>".into() } else { String::from_utf8_lossy(&call.body) };
        ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse error: {why} ({shown})"
        ))
    };
    match call.content_type.to_ascii_lowercase().as_str() {
        "" | "application/json" => body::json(&call.body).map_err(|e| unrecognized(&body::go_message(&e, &call.body))),
        "application/yaml" => body::yaml(&call.body).map_err(|e| unrecognized(&e)),
        protobuf::MEDIA_TYPE => match protobuf::object(&call.body) {
            Ok(value) => Ok(Parsed { value, duplicates: Vec::new() }),
            Err(error) => {
                let message = format!("the object provided is unrecognized (must be of type {kind}): {error}");
                Err(ApiError::bad_request(message))
            }
        },
        _ => Err(ApiError::unsupported_media_type(&["application/json", "application/yaml", protobuf::MEDIA_TYPE])),
    }
}

/// The options of a deletion from its body.
pub(crate) fn delete_options(call: &Request) -> Result<Value> {
    const KIND: &str = "DeleteOptions";
    let parsed = match call.content_type.to_ascii_lowercase().as_str() {
        "" | "application/json" => body::json(&call.body).map_err(|e| {
            let why = body::go_message(&e, &call.body);
            ApiError::bad_request(format!("couldn't get version/kind; json parse error: {why}"))
        })?,
        _ => parse(call, KIND)?,
    };
    if parsed.value.is_null() {
        return Ok(Value::Object(Map::new()));
    }
    let Value::Object(options) = &parsed.value else {
        let found = body::json_type(&parsed.value);
        let message = format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of type struct {{ APIVersion \
             string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
        );
        return Err(ApiError::bad_request(message));
    };
    let text = |key: &str| options.get(key).and_then(Value::as_str).unwrap_or_default();
    let (kind, version) = (text("kind"), text("apiVersion"));
    if !kind.is_empty() && kind != KIND {
        let message = format!(
            "no kind \"{kind}\" is registered for version \"{version}\" in scheme \
             \"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27\""
        );
        return Err(ApiError::bad_request(message));
    }
    for (key, right, wanted) in [
        ("dryRun", Value::is_array as fn(&Value) -> bool, "[]string"),
        ("gracePeriodSeconds", Value::is_i64, "int64"),
        ("propagationPolicy", Value::is_string, "v1.DeletionPropagation"),
        ("orphanDependents", Value::is_boolean, "bool"),
        ("preconditions", Value::is_object, "v1.Preconditions"),
    ] {
        if let Some(value) = options.get(key).filter(|v| !v.is_null() && !right(v)) {
            let found = body::json_type(value);
            let message = format!("json: cannot unmarshal {found} into Go struct field {KIND}.{key} of type {wanted}");
            return Err(ApiError::bad_request(message));
        }
    }
    Ok(parsed.value)
}

/// Decodes the body of a create or update.
pub(crate) fn decode(call: &Request, expected: Expected<'_>, validation: FieldValidation) -> Result<Decoded> {
    if expected.custom.is_some() && call.content_type == protobuf::MEDIA_TYPE {
        return Err(ApiError::unsupported_media_type(&["application/json", "application/yaml"]));
    }
    let Parsed { value: mut object, duplicates } = parse(call, expected.kind)?;
    if object.is_null() && expected.custom.is_none() {
        object = Value::Object(Map::new());
    }
    if !object.is_object() {
        let found = match &object {
            Value::Array(_) => "array",
            Value::String(_) => "string",
            Value::Number(_) => "number",
            Value::Bool(_) => "bool",
            _ => "null",
        };
        let message = format!(
            "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse error: json: \
             cannot unmarshal {found} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; \
             Kind string \"json:\\\"kind,omitempty\\\"\" }} ({})",
            expected.kind,
            HEXLOWER.encode(&call.body)
        );
        return Err(ApiError::bad_request(message));
    }
    for key in ["apiVersion", "kind"] {
        if let Some(found) = object.get(key).filter(|v| !v.is_null() && !v.is_string()) {
            let found = body::json_type(found);
            return Err(ApiError::bad_request(format!(
                "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse error: json: \
                 cannot unmarshal {found} into Go struct field .{key} of type string ({})",
                expected.kind,
                String::from_utf8_lossy(&call.body)
            )));
        }
    }
    check_type(call, expected, &object)?;
    let unknown = restrict(expected, &mut object).map_err(|e| {
        ApiError::bad_request(format!(
            "{} in version \"{}\" cannot be handled as a {}: {}",
            expected.kind, expected.version, expected.kind, e.decoding
        ))
    })?;
    let problems = problems(&duplicates, &unknown);
    match validation {
        FieldValidation::Ignore => Ok(Decoded { object, warnings: Vec::new() }),
        FieldValidation::Warn => Ok(Decoded { object, warnings: problems }),
        FieldValidation::Strict if problems.is_empty() => Ok(Decoded { object, warnings: Vec::new() }),
        FieldValidation::Strict => {
            let why = format!("strict decoding error: {}", strictly(call, duplicates, &unknown));
            let Expected { kind, version, .. } = expected;
            let message = format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {why}");
            Err(ApiError::bad_request(message))
        }
    }
}

/// Messages about duplicate fields, and `unknown field "…"`.
pub(crate) fn problems(duplicates: &[String], unknown: &[String]) -> Vec<String> {
    duplicates.iter().cloned().chain(unknown.iter().map(|u| format!("unknown field \"{u}\""))).collect()
}

/// [`problems`] in one line; duplicate fields in YAML are one error with several parts.
fn strictly(call: &Request, mut duplicates: Vec<String>, unknown: &[String]) -> String {
    if call.content_type.ends_with("yaml") && !duplicates.is_empty() {
        duplicates = vec![format!("yaml: unmarshal errors:\n  {}", duplicates.join("\n  "))];
    }
    problems(&duplicates, unknown).join(", ")
}

/// Drops unknown fields and returns their paths.
pub(crate) fn restrict(expected: Expected<'_>, object: &mut Value) -> std::result::Result<Vec<String>, WrongType> {
    match expected.custom {
        None => types::restrict(expected.group, expected.version, expected.kind, object),
        Some(resource) => {
            let mut unknown = types::restrict_metadata(object)?;
            if let Some(custom) = &resource.custom {
                unknown.extend(custom.prune(object));
            }
            Ok(unknown)
        }
    }
}

fn check_type(call: &Request, expected: Expected<'_>, object: &Value) -> Result<()> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let (kind, api_version) = (text("kind"), text("apiVersion"));
    if expected.custom.is_some() {
        let shown = String::from_utf8_lossy(&call.body);
        for (key, title, value) in [("kind", "Kind", kind), ("apiVersion", "apiVersion", api_version)] {
            if value.is_empty() && (key == "kind" || !kind.is_empty()) {
                let message = format!(
                    "the object provided is unrecognized (must be of type {}): Object '{title}' is missing in '{shown}' ({shown})",
                    expected.kind
                );
                return Err(ApiError::bad_request(message));
            }
        }
        if api_version != expected.api_version() {
            let message = format!(
                "the API version in the data ({api_version}) does not match the expected API version ({})",
                expected.api_version()
            );
            return Err(ApiError::bad_request(message));
        }
        if kind != expected.kind {
            let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            let cause = Cause::invalid("kind", &kind.into(), &format!("must be {}", expected.kind));
            return Err(ApiError::invalid(expected.group, kind, name, &[cause]));
        }
        return Ok(());
    }
    let kind = if kind.is_empty() { expected.kind } else { kind };
    let wanted = expected.api_version();
    let api_version = if api_version.is_empty() { wanted.as_str() } else { api_version };
    if kind == expected.kind && api_version == wanted {
        return Ok(());
    }
    let version = api_version.rsplit('/').next().unwrap_or_default();
    let known = crate::model::kinds::builtins().iter().any(|r| r.kind == kind && r.group_version() == api_version);
    let why = if known {
        format!(
            "converting ({}.{kind}) to ({}.{}): unknown conversion",
            version,
            internal_package(expected.group),
            expected.kind
        )
    } else {
        format!(
            "no kind \"{kind}\" is registered for version \"{api_version}\" in scheme \"pkg/api/legacyscheme/scheme.go:30\""
        )
    };
    let message = format!("{kind} in version \"{version}\" cannot be handled as a {}: {why}", expected.kind);
    Err(ApiError::bad_request(message))
}

/// The Go package of the internal types of a group.
fn internal_package(group: &str) -> &str {
    if group.is_empty() { "core" } else { group.split('.').next().unwrap_or(group) }
}
