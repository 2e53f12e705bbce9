//! Access reviews: whether a user may perform an action.

use serde_json::{Value, json};

use crate::{
    access::authorization::Action,
    handlers::resource_request::ResourceRequest,
    model::{
        members,
        status::{ApiError, Cause, Result},
        user::User,
    },
};

const GROUP: &str = "authorization.k8s.io";

/// The status of an access review; fills in the namespace of a local one.
pub(super) fn review(request: &ResourceRequest<'_>, object: &mut Value) -> Result<Value> {
    let local = request.resource.namespaced;
    let own = request.resource.kind.starts_with("Self");
    if local {
        fill_namespace(request, object)?;
    }
    let null = Value::Null;
    let spec = object.get("spec").unwrap_or(&null);
    let causes = check(object, spec, own, local);
    if !causes.is_empty() {
        return Err(ApiError::invalid(GROUP, "", "", &causes));
    }
    let user = if own { request.call.user.clone() } else { user(spec) };
    let action = action(spec);
    let decision = request.api.authorizer.decide(&user, &action);
    let mut status = json!({"allowed": decision.allowed});
    if let (Some(map), false) = (status.as_object_mut(), decision.reason.is_empty()) {
        map.insert("reason".to_owned(), decision.reason.into());
    }
    Ok(status)
}

fn fill_namespace(request: &ResourceRequest<'_>, object: &mut Value) -> Result<()> {
    if request.path.namespace.is_empty() {
        return Err(ApiError::bad_request("namespace is required on this type"));
    }
    let Some(meta) = members::object(object, "metadata") else { return Ok(()) };
    crate::resources::write::check_namespace(meta, &request.path.namespace)
}

fn check(object: &Value, spec: &Value, own: bool, local: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    let part = |key: &str| spec.get(key).filter(|v| v.is_object());
    match (part("resourceAttributes"), part("nonResourceAttributes")) {
        (Some(_), Some(url)) => {
            let detail = "cannot be specified in combination with resourceAttributes";
            causes.push(Cause::invalid("spec.nonResourceAttributes", &shown(url), detail));
        }
        (None, None) => {
            let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            causes.push(Cause::invalid("spec.resourceAttributes", &Value::Null, detail));
        }
        (None, Some(url)) if local => {
            let detail = "disallowed on this kind of request";
            causes.push(Cause::invalid("spec.nonResourceAttributes", &shown(url), detail));
        }
        (Some(attributes), None) => {
            let own = object.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
            let given = attributes.get("namespace").and_then(Value::as_str).unwrap_or_default();
            if local && given != own {
                let detail = "must match metadata.namespace";
                causes.push(Cause::invalid("spec.resourceAttributes.namespace", &json!(given), detail));
            }
            causes.extend(["fieldSelector", "labelSelector"].iter().flat_map(|key| selector(attributes, key)));
        }
        _ => {}
    }
    let user = user(spec);
    if !own && user.name.is_empty() && user.groups.is_empty() {
        let detail = "at least one of user or group must be specified";
        causes.push(Cause::invalid("spec.user", &json!(""), detail));
    }
    let meta = object.get("metadata").and_then(Value::as_object);
    let more = meta.is_some_and(|m| m.keys().any(|key| !(local && key == "namespace")));
    if more {
        causes.push(Cause::invalid("metadata", &json!(meta), "must be empty"));
    }
    causes
}

/// Attributes with their Go names, as the API server prints them.
fn shown(attributes: &Value) -> Value {
    let text = |key: &str| attributes.get(key).cloned().unwrap_or_else(|| json!(""));
    json!({"Path": text("path"), "Verb": text("verb")})
}

/// A selector is written in one of two ways, with valid operators.
fn selector(attributes: &Value, key: &str) -> Vec<Cause> {
    let Some(selector) = attributes.get(key).filter(|s| s.is_object()) else { return Vec::new() };
    let path = format!("spec.resourceAttributes.{key}");
    let raw = selector.get("rawSelector").and_then(Value::as_str).unwrap_or_default();
    let requirements = selector.get("requirements").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if !raw.is_empty() && !requirements.is_empty() {
        let detail = "may not specified at the same time as requirements";
        return vec![Cause::invalid(format!("{path}.rawSelector"), &json!(raw), detail)];
    }
    if raw.is_empty() && requirements.is_empty() {
        let detail = "when specifying a fieldSelector, requirements or rawSelector is required";
        return vec![Cause::required(format!("{path}.requirements"), &detail.replace("fieldSelector", key))];
    }
    Vec::new()
}

fn texts(value: Option<&Value>) -> Vec<String> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The user of a review about another user.
fn user(spec: &Value) -> User {
    let text = |key: &str| spec.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let extra = spec.get("extra").and_then(Value::as_object).into_iter().flatten();
    User {
        name: text("user"),
        uid: text("uid"),
        groups: texts(spec.get("groups")),
        extra: extra.map(|(key, values)| (key.clone(), texts(Some(values)))).collect(),
    }
}

fn action(spec: &Value) -> Action {
    let text = |part: &str, key: &str| {
        spec.get(part).and_then(|p| p.get(key)).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    if spec.get("resourceAttributes").is_none_or(Value::is_null) {
        let url = |key: &str| text("nonResourceAttributes", key);
        return Action::Url { verb: url("verb"), path: url("path") };
    }
    let of = |key: &str| text("resourceAttributes", key);
    Action::Object {
        verb: of("verb"),
        group: of("group"),
        resource: of("resource"),
        subresource: of("subresource"),
        namespace: of("namespace"),
        name: of("name"),
    }
}
