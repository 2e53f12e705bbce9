//! Patches: JSON, merge, strategic merge, apply.

use oarlock_merge::{apply, steps::Budget, strategic};
use serde_json::Value;

use crate::{
    http::{
        body,
        decode::{self, Expected, problems},
        query::{FieldValidation, Query, WriteOptions},
    },
    model::{
        json_patch,
        kinds::Resource,
        status::{ApiError, Cause, Result},
    },
    resources::managed::{self, Writer},
};

/// The type of a patch, from its media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    Strategic,
    /// Server-side apply, JSON or YAML.
    Apply,
}

impl Kind {
    /// The type of a media type; custom resources accept no strategic merge.
    pub(crate) fn of(content_type: &str, custom: bool) -> Result<Self> {
        match content_type {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" if !custom => Ok(Self::Strategic),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            "application/strategic-merge-patch+json" => {
                // Known, but not for this kind: the API server rejects it later, in another form.
                Err(ApiError::unsupported_media_type(&[
                    "application/json-patch+json",
                    "application/merge-patch+json",
                    "application/apply-patch+yaml",
                ]))
            }
            _ => Err(ApiError::unsupported_patch()),
        }
    }
}

/// `force` is only for applies, which in turn need a field manager.
pub(crate) fn check_options(kind: Kind, query: &Query) -> Result<()> {
    let mut causes = Vec::new();
    if kind == Kind::Apply {
        if query.get("fieldManager").is_none() {
            causes.push(Cause::required("fieldManager", "is required for apply patch"));
        }
    } else if query.get("force").is_some() {
        causes.push(Cause::forbidden("force", "may not be specified for non-apply patch"));
    }
    if causes.is_empty() { Ok(()) } else { Err(ApiError::invalid_options("PatchOptions", &causes)) }
}

/// A patch and its target.
#[derive(Debug)]
pub(crate) struct Input<'a> {
    pub(crate) kind: Kind,
    pub(crate) body: &'a [u8],
    pub(crate) resource: &'a Resource,
    pub(crate) name: &'a str,
    pub(crate) options: &'a WriteOptions,
    pub(crate) writer: &'a Writer,
}

/// The patched object and the warnings for the client.
#[derive(Debug)]
pub(crate) struct Patched {
    pub(crate) object: Value,
    pub(crate) warnings: Vec<String>,
}

/// Applies a patch to an object with kind and apiVersion; `None` only for an apply that creates.
pub(crate) fn patch(input: &Input<'_>, current: Option<&Value>) -> Result<Patched> {
    let null = Value::Null;
    let base = current.unwrap_or(&null);
    match input.kind {
        Kind::Json => json_patch(input, base),
        Kind::Merge => merge_patch(input, base),
        Kind::Strategic => strategic_patch(input, base),
        Kind::Apply => apply_patch(input, current),
    }
}

fn parse(input: &Input<'_>) -> Result<body::Parsed> {
    body::json(input.body)
        .map_err(|e| ApiError::bad_request(format!("error decoding patch: {}", body::go_message(&e, input.body))))
}

fn refused() -> ApiError {
    ApiError::unprocessable("the server rejected our request due to an error in our request")
}

fn json_patch(input: &Input<'_>, base: &Value) -> Result<Patched> {
    let parsed = parse(input)?;
    let count = parsed.value.as_array().map_or(0, Vec::len);
    if count > 10_000 {
        let message = "Request entity too large: The allowed maximum operations in a JSON patch is 10000";
        return Err(ApiError::too_many_operations(&format!("{message}, got {count}")));
    }
    let mut strict: Vec<String> = Vec::new();
    for (i, operation) in parsed.value.as_array().into_iter().flatten().enumerate() {
        for key in operation.as_object().into_iter().flatten().map(|(k, _)| k) {
            if !matches!(key.as_str(), "op" | "path" | "from" | "value") {
                strict.push(format!("json patch unknown field \"[{i}].{key}\""));
            }
        }
    }
    let operations = operations(&parsed.value)?;
    let mut object = base.clone();
    json_patch::apply(&mut object, operations).map_err(|_failed| refused())?;
    finish(input, object, strict)
}

/// The operations of a JSON patch, if they have the form of operations. Null means none.
fn operations(document: &Value) -> Result<&[Value]> {
    let wrong = |value: &Value, into: &str| {
        let message = format!("error decoding patch: json: cannot unmarshal {} into Go {into}", body::json_type(value));
        Err(ApiError::bad_request(message))
    };
    let list = match document {
        Value::Array(list) => list,
        Value::Null => return Ok(&[]),
        other => return wrong(other, "value of type []handlers.jsonPatchOp"),
    };
    for operation in list.iter().filter(|o| !o.is_null()) {
        let Some(map) = operation.as_object() else { return wrong(operation, "value of type handlers.jsonPatchOp") };
        for key in ["op", "path", "from"] {
            if let Some(value) = map.get(key).filter(|v| !v.is_string() && !v.is_null()) {
                return wrong(value, &format!("struct field jsonPatchOp.{key} of type string"));
            }
        }
    }
    Ok(list)
}

fn merge_patch(input: &Input<'_>, base: &Value) -> Result<Patched> {
    let parsed = parse(input)?;
    if parsed.value.is_null() {
        return Err(ApiError::bad_request("Invalid JSON Patch"));
    }
    if !parsed.value.is_object() {
        let found = body::json_type(&parsed.value);
        let message = format!(
            "error decoding patch: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        );
        return Err(ApiError::bad_request(message));
    }
    let mut object = base.clone();
    ::json_patch::merge(&mut object, &parsed.value);
    finish(input, object, parsed.duplicates)
}

fn strategic_patch(input: &Input<'_>, base: &Value) -> Result<Patched> {
    let parsed = parse(input)?;
    let duplicates = problems(&parsed.duplicates, &[]);
    let object =
        strategic::apply_patch(input.resource.merge(), base, &parsed.value, &Budget::unlimited()).map_err(|e| {
            let message = e.to_string();
            match e.status() {
                400 => ApiError::bad_request(message),
                422 => ApiError::unprocessable(message),
                _ => ApiError::internal(message),
            }
        })?;
    finish(input, object, duplicates)
}

fn apply_patch(input: &Input<'_>, current: Option<&Value>) -> Result<Patched> {
    let resource = input.resource;
    let parsed = body::yaml_or_json(input.body)
        .map_err(|e| ApiError::bad_request(format!("error decoding YAML: error converting YAML to JSON: {e}")))?;
    let mut applied = parsed.value;
    check_applied(input, &applied, current.is_some())?;
    if current.is_none() {
        let uid = applied.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
        if !uid.is_empty() {
            let why =
                format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
            return Err(ApiError::conflict(&resource.group, &resource.plural, input.name, &why));
        }
        if let Some(meta) = applied.get_mut("metadata").and_then(Value::as_object_mut) {
            meta.remove("resourceVersion");
        }
    }
    let rules = managed::rules(resource, input.writer);
    let object = apply::apply(current, &applied, &rules, input.options.force).map_err(|e| apply_error(&e))?;
    if input.options.field_validation == FieldValidation::Strict && !parsed.duplicates.is_empty() {
        let why = parsed.duplicates.join("\n  ");
        let message =
            format!("error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  {why}");
        return Err(ApiError::bad_request(message));
    }
    finish(input, object, parsed.duplicates)
}

/// Converts an apply error into the response.
pub(crate) fn apply_error(error: &apply::Error) -> ApiError {
    match error {
        apply::Error::Conflicts(conflicts) => ApiError::apply_conflict(error.to_string(), conflicts),
        apply::Error::ManagedFieldsGiven => ApiError::bad_request(error.to_string()),
        _ => ApiError::internal(error.to_string()),
    }
}

/// 400 for a result without a name.
pub(crate) fn nameless(name: &str) -> ApiError {
    ApiError::bad_request(format!(
        "the name of the object ({name} based on URL) was undeterminable: name must be provided"
    ))
}

/// A configuration applied to an existing object may omit its name.
fn check_applied(input: &Input<'_>, applied: &Value, exists: bool) -> Result<()> {
    let (resource, url) = (input.resource, input.name);
    if !applied.is_object() && !applied.is_null() {
        let message = format!(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {} into Go value of type \
             map[string]interface {{}}",
            body::json_type(applied)
        );
        return Err(ApiError::bad_request(message));
    }
    let text = |key: &str| applied.get(key).and_then(Value::as_str).unwrap_or_default();
    if text("kind") != resource.kind || text("apiVersion") != resource.group_version() {
        let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
        let message = format!("invalid object type: {group}/{version}, Kind={}", text("kind"));
        return Err(ApiError::bad_request(message));
    }
    let name = applied.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    if name.is_empty() && !exists { Err(nameless(url)) } else { Ok(()) }
}

/// The echo in the API server's error about a patch: for a JSON patch the whole result, else the patch.
fn echo(input: &Input<'_>, result: &Value) -> String {
    match input.kind {
        Kind::Json => result.to_string(),
        Kind::Strategic => go_map(&serde_json::from_slice(input.body).unwrap_or_default()),
        Kind::Merge | Kind::Apply => String::from_utf8_lossy(input.body).into_owned(),
    }
}

/// A value as Go prints maps: `map[a:1 b:[x y]]`.
fn go_map(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let members: Vec<String> = map.iter().map(|(k, v)| format!("{k}:{}", go_map(v))).collect();
            format!("map[{}]", members.join(" "))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(go_map).collect::<Vec<_>>().join(" ")),
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}

/// Checks that the result has the same type and identity, and drops unknown fields.
fn finish(input: &Input<'_>, mut object: Value, mut strict: Vec<String>) -> Result<Patched> {
    let resource = input.resource;
    let patch = echo(input, &object);
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    if text("kind").is_empty() && resource.custom.is_some() {
        let why = format!("Object 'Kind' is missing in '{object}'");
        return Err(ApiError::invalid_patch(&patch, &why));
    }
    if text("kind").is_empty() && (text("apiVersion").is_empty() || text("apiVersion") == resource.group_version()) {
        resource.stamp(&mut object);
    }
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    if text("kind") != resource.kind || text("apiVersion") != resource.group_version() {
        let (kind, version) = (text("kind"), text("apiVersion"));
        if resource.custom.is_some() {
            return Err(changed_type(resource, &object));
        }
        if resource.group.is_empty() && version.is_empty() && kind == resource.kind {
            // The internal form of the server, in which no field has its external name.
            let unknown: Vec<String> = object.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect();
            let unknown: Vec<String> = unknown.into_iter().filter(|key| key != "kind").collect();
            return Err(nameless(input.name).warn(problems(&[], &unknown)));
        }
        let why = format!(
            "no kind \"{kind}\" is registered for version \"{version}\" in scheme \"pkg/api/legacyscheme/scheme.go:30\""
        );
        return Err(ApiError::invalid_patch(&patch, &why));
    }
    let unknown = decode::restrict(Expected::of(resource), &mut object).map_err(|e| {
        let why = if input.kind == Kind::Strategic { e.conversion } else { e.decoding };
        ApiError::invalid_patch(&patch, &why)
    })?;
    strict.extend(problems(&[], &unknown));
    let warnings = match input.options.field_validation {
        FieldValidation::Ignore => Vec::new(),
        FieldValidation::Warn => strict,
        FieldValidation::Strict if strict.is_empty() => Vec::new(),
        FieldValidation::Strict => {
            let why = format!("strict decoding error: {}", strict.join(", "));
            return Err(ApiError::invalid_patch(&patch, &why));
        }
    };
    Ok(Patched { object, warnings })
}

/// A patch must not change the type of a custom resource.
fn changed_type(resource: &Resource, object: &Value) -> ApiError {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    let mut causes = Vec::new();
    for (key, wanted) in [("apiVersion", resource.group_version()), ("kind", resource.kind.clone())] {
        if text(key) != wanted {
            causes.push(Cause::invalid(key, &text(key).into(), &format!("must be {wanted}")));
        }
    }
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let error = ApiError::invalid(group, text("kind"), name, &causes);
    if text("apiVersion") == resource.group_version() || group != resource.group {
        return error;
    }
    let unknown: Vec<String> = object.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect();
    let known = |key: &str| matches!(key, "apiVersion" | "kind" | "metadata");
    error.warn(problems(&[], &unknown.into_iter().filter(|key| !known(key)).collect::<Vec<_>>()))
}

/// A patch of a Scale.
pub(crate) fn scale(content_type: &str, bytes: &[u8], current: &Value) -> Result<Value> {
    let parse =
        |e: serde_json::Error| ApiError::bad_request(format!("error decoding patch: {}", body::go_message(&e, bytes)));
    let mut scale = current.clone();
    match Kind::of(content_type, false)? {
        Kind::Json => {
            let operations: Vec<Value> = serde_json::from_slice(bytes).map_err(parse)?;
            json_patch::apply(&mut scale, &operations).map_err(|_failed| refused())?;
        }
        // A Scale has no lists: all three types merge alike.
        Kind::Merge | Kind::Strategic | Kind::Apply => {
            let parsed = body::yaml_or_json(bytes).map_err(ApiError::bad_request)?;
            ::json_patch::merge(&mut scale, &parsed.value);
        }
    }
    Ok(scale)
}
