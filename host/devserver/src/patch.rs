//! The four kinds of patches.

use oarlock_merge::{apply, strategic};
use serde_json::Value;

use crate::{
    body,
    kinds::Resource,
    managed::{self, Writer},
    query::{FieldValidation, Query, WriteOptions},
    rest::{
        decode::{self, Expected, problems},
        write::check_namespace,
    },
    status::{ApiError, Cause, Result},
};

pub(crate) mod json;

/// What the media type says.
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
    /// The kind of a media type; custom resources know no strategic merge.
    pub(crate) fn of(content_type: &str, custom: bool) -> Result<Self> {
        match content_type {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" if !custom => Ok(Self::Strategic),
            "application/apply-patch+yaml" | "application/apply-patch+json" => Ok(Self::Apply),
            "application/strategic-merge-patch+json" => {
                // Known, but not for this kind: the API server refuses it later, in another form.
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

/// `force` is for applies, which in turn need a manager.
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

/// A patch and what it is for.
#[derive(Debug)]
pub(crate) struct Input<'a> {
    pub(crate) kind: Kind,
    pub(crate) body: &'a [u8],
    pub(crate) resource: &'a Resource,
    pub(crate) name: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) options: &'a WriteOptions,
    pub(crate) writer: &'a Writer,
}

/// The patched object and the warnings its writer gets.
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
    body::json(input.body).map_err(|e| ApiError::bad_request(format!("error decoding patch: {}", body::go_message(&e))))
}

fn refused() -> ApiError {
    ApiError::unprocessable("the server rejected our request due to an error in our request")
}

fn json_patch(input: &Input<'_>, base: &Value) -> Result<Patched> {
    let parsed = parse(input)?;
    let count = parsed.value.as_array().map_or(0, Vec::len);
    if count > 10_000 {
        let message = "The allowed maximum operations in a JSON patch is 10000";
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
    let Value::Array(operations) = &parsed.value else {
        let message =
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp";
        return Err(ApiError::bad_request(message));
    };
    let mut object = base.clone();
    json::apply(&mut object, operations).map_err(|_failed| refused())?;
    finish(input, object, strict)
}

fn merge_patch(input: &Input<'_>, base: &Value) -> Result<Patched> {
    let parsed = parse(input)?;
    if !parsed.value.is_object() {
        let found = if parsed.value.is_array() { "array" } else { "value" };
        let message = format!(
            "error decoding patch: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        );
        return Err(ApiError::bad_request(message));
    }
    let duplicates = parsed.duplicates.iter().map(|d| format!("duplicate field \"{d}\"")).collect();
    let mut object = base.clone();
    json_patch::merge(&mut object, &parsed.value);
    finish(input, object, duplicates)
}

fn strategic_patch(input: &Input<'_>, base: &Value) -> Result<Patched> {
    let parsed = parse(input)?;
    let duplicates = problems(&parsed.duplicates, &[]);
    let object = strategic::apply_patch(input.resource.merge(), base, &parsed.value).map_err(|e| {
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
    if let Some(meta) = applied.get_mut("metadata").and_then(Value::as_object_mut) {
        // Checked, not filled in: what is applied stays as it was written.
        check_namespace(&mut meta.clone(), input.namespace)?;
    }
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
    // What is pruned is not owned either.
    let mut strict = parsed.duplicates.iter().map(|d| format!("duplicate field \"{d}\"")).collect::<Vec<_>>();
    if resource.custom.is_some() {
        let unknown = decode::restrict(Expected::of(resource), &mut applied)
            .map_err(|e| ApiError::invalid_patch(&String::from_utf8_lossy(input.body), &e.decoding))?;
        strict.extend(problems(&[], &unknown));
    }
    let rules = managed::rules(resource, input.writer);
    let object = apply::apply(current, &applied, &rules, input.options.force).map_err(|e| match &e {
        apply::Error::Conflicts(conflicts) => ApiError::apply_conflict(e.to_string(), conflicts),
        apply::Error::ManagedFieldsGiven => ApiError::bad_request(e.to_string()),
        _ => ApiError::internal(e.to_string()),
    })?;
    finish(input, object, strict)
}

/// What is applied to an object that is there may leave its name out.
fn check_applied(input: &Input<'_>, applied: &Value, exists: bool) -> Result<()> {
    let (resource, url) = (input.resource, input.name);
    let name = applied.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    if name.is_empty() && !exists {
        let message = format!("the name of the object ({url} based on URL) was undeterminable: name must be provided");
        return Err(ApiError::bad_request(message));
    }
    if !name.is_empty() && name != url {
        let message = format!("the name of the object ({name}) does not match the name on the URL ({url})");
        return Err(ApiError::bad_request(message));
    }
    let text = |key: &str| applied.get(key).and_then(Value::as_str).unwrap_or_default();
    if text("kind") != resource.kind || text("apiVersion") != resource.group_version() {
        let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
        let message = format!("invalid object type: {group}/{version}, Kind={}", text("kind"));
        return Err(ApiError::bad_request(message));
    }
    Ok(())
}

/// What the API server shows of a patch it refuses: for a JSON patch the whole result, else the patch.
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

/// Checks that the result still is what it was, and drops what the kind does not have.
fn finish(input: &Input<'_>, mut object: Value, mut strict: Vec<String>) -> Result<Patched> {
    let resource = input.resource;
    let patch = echo(input, &object);
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    if text("kind") != resource.kind || text("apiVersion") != resource.group_version() {
        let (kind, version) = (text("kind"), text("apiVersion"));
        if resource.custom.is_some() {
            return Err(changed_type(resource, &object));
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

/// A patch may not turn a custom resource into something else.
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
    ApiError::invalid(group, text("kind"), name, &causes)
}

/// A patch of a Scale.
pub(crate) fn scale(content_type: &str, bytes: &[u8], current: &Value) -> Result<Value> {
    let parse = |e: serde_json::Error| ApiError::bad_request(format!("error decoding patch: {}", body::go_message(&e)));
    let mut scale = current.clone();
    match Kind::of(content_type, false)? {
        Kind::Json => {
            let operations: Vec<Value> = serde_json::from_slice(bytes).map_err(parse)?;
            json::apply(&mut scale, &operations).map_err(|_failed| refused())?;
        }
        // A Scale has no lists: all three merge alike.
        Kind::Merge | Kind::Strategic | Kind::Apply => {
            let parsed = body::yaml_or_json(bytes).map_err(ApiError::bad_request)?;
            json_patch::merge(&mut scale, &parsed.value);
        }
    }
    Ok(scale)
}
