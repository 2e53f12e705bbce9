//! The fields of an AdmissionRequest, validated before the host uses them: names go into URLs, events and logs.
//!
//! # Source
//!
//! k8s.io/api `admission/v1/types.go`; apimachinery `pkg/util/validation/validation.go` and `pkg/api/validation/path/name.go`.

use super::Resource;
use crate::api::{GroupVersionKind, ObjectKey};
use serde_json::{Map, Value};

/// Longest uid and longest name: RBAC objects may have longer names than others.
const UID_BYTES: usize = 256;
const NAME_BYTES: usize = 1024;

/// The fields of an AdmissionRequest that the host itself uses.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    pub(super) uid: String,
    pub(super) kind: GroupVersionKind,
    pub(super) resource: Resource,
    pub(super) operation: String,
    pub(super) key: ObjectKey,
    pub(super) dry_run: bool,
}

/// Reads these fields, and validates those that only the plugin reads.
///
/// # Errors
///
/// The invalid field, and why it is invalid.
pub(super) fn read(request: &Map<String, Value>) -> Result<Fields, String> {
    let fields = Object { path: "request".to_owned(), fields: request };
    let uid = fields.text("uid")?;
    if !is_uid(uid) {
        return Err(wrong("request.uid", uid, "a uid of letters, digits and -._:"));
    }
    let kind = fields.object("kind")?.ok_or("request.kind is missing")?.kind()?;
    let mut resource = fields.object("resource")?.ok_or("request.resource is missing")?.resource()?;
    fields.named("subResource", "a name of a subresource", |name| name.is_empty() || is_label(name))?;
    fields.text("subResource")?.clone_into(&mut resource.subresource);
    let operation = fields.text("operation")?;
    if !matches!(operation, "CREATE" | "UPDATE" | "DELETE" | "CONNECT") {
        return Err(wrong("request.operation", operation, "CREATE, UPDATE, DELETE or CONNECT"));
    }
    fields.named("namespace", "a DNS label", |name| name.is_empty() || is_label(name))?;
    fields.named("name", "a name that is one segment of a path", |name| name.is_empty() || is_name(name))?;
    // The kind of the client's request before the API server converted it; only the plugin uses it.
    if let Some(kind) = fields.object("requestKind")? {
        kind.kind()?;
    }
    if let Some(resource) = fields.object("requestResource")? {
        resource.resource()?;
    }
    fields.named("requestSubResource", "a name of a subresource", |name| name.is_empty() || is_label(name))?;
    fields.object("options")?;
    if let Some(user) = fields.object("userInfo")? {
        user.user()?;
    }
    let dry_run = match request.get("dryRun") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(dry_run)) => *dry_run,
        Some(_) => return Err("request.dryRun is not a boolean".to_owned()),
    };
    let is_same = kind.group == resource.group && kind.version == resource.version;
    if resource.subresource.is_empty() && !is_same {
        let group_version = GroupVersionKind::new(&resource.group, &resource.version, "").api_version();
        return Err(format!("request.kind is {kind}, which is not of request.resource, {group_version}"));
    }
    Ok(Fields {
        uid: uid.to_owned(),
        kind,
        resource,
        operation: operation.to_owned(),
        key: ObjectKey::new(fields.text("namespace")?, fields.text("name")?),
        dry_run,
    })
}

/// Checks that an object of the review is the one that the request names.
///
/// * `path` - path of the object in the review.
///
/// # Errors
///
/// The field of the object that contradicts the request or is no valid name.
pub(super) fn object(path: &str, object: &Map<String, Value>, fields: &Fields) -> Result<(), String> {
    let Fields { kind, resource, key, .. } = fields;
    let object = Object { path: path.to_owned(), fields: object };
    let agrees = |of: &Object<'_>, field: &str, expected: &str| match of.text(field)? {
        found if found.is_empty() || found == expected => Ok(()),
        found => Err(wrong(&format!("{}.{field}", of.path), found, &format!("{expected:?} as in the request"))),
    };
    agrees(&object, "apiVersion", &kind.api_version())?;
    agrees(&object, "kind", &kind.kind)?;
    let Some(metadata) = object.object("metadata")? else { return Ok(()) };
    metadata.named("uid", "a uid of letters, digits and -._:", |uid| uid.is_empty() || is_uid(uid))?;
    metadata.named("name", "a name that is one segment of a path", |name| name.is_empty() || is_name(name))?;
    metadata.named("namespace", "a DNS label", |name| name.is_empty() || is_label(name))?;
    // The object of a subresource may be of another kind (a Binding, a Scale, a TokenRequest) with names of its own.
    if !resource.subresource.is_empty() {
        return Ok(());
    }
    if !key.name.is_empty() {
        agrees(&metadata, "name", &key.name)?;
    }
    // The API server reviews a Namespace in the namespace of its own name.
    let is_namespace = resource.group.is_empty() && resource.resource == "namespaces";
    if is_namespace { agrees(&metadata, "namespace", "") } else { agrees(&metadata, "namespace", &key.namespace) }
}

/// A JSON object and its path.
struct Object<'a> {
    path: String,
    fields: &'a Map<String, Value>,
}

impl<'a> Object<'a> {
    /// A string field; empty when absent.
    fn text(&self, field: &str) -> Result<&'a str, String> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(""),
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(format!("{}.{field} is not a string", self.path)),
        }
    }

    /// Validates a string field.
    fn named(&self, field: &str, expected: &str, is_good: impl Fn(&str) -> bool) -> Result<(), String> {
        let text = self.text(field)?;
        if is_good(text) { Ok(()) } else { Err(wrong(&format!("{}.{field}", self.path), text, expected)) }
    }

    fn object(&self, field: &str) -> Result<Option<Self>, String> {
        match self.fields.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(fields)) => Ok(Some(Object { path: format!("{}.{field}", self.path), fields })),
            Some(_) => Err(format!("{}.{field} is not an object", self.path)),
        }
    }

    fn kind(&self) -> Result<GroupVersionKind, String> {
        self.named("group", "an API group", |group| group.is_empty() || is_subdomain(group))?;
        self.named("version", "a version of an API", is_label)?;
        self.named("kind", "a kind", |kind| is_label(&kind.to_ascii_lowercase()))?;
        Ok(GroupVersionKind::new(self.text("group")?, self.text("version")?, self.text("kind")?))
    }

    fn resource(&self) -> Result<Resource, String> {
        self.named("group", "an API group", |group| group.is_empty() || is_subdomain(group))?;
        self.named("version", "a version of an API", is_label)?;
        self.named("resource", "the plural name of a resource", is_label)?;
        let text = |field| self.text(field).map(str::to_owned);
        let (group, version, resource) = (text("group")?, text("version")?, text("resource")?);
        Ok(Resource { group, version, resource, subresource: String::new() })
    }

    /// Validates a UserInfo: names and groups may be any strings.
    fn user(&self) -> Result<(), String> {
        self.text("username")?;
        self.text("uid")?;
        texts(self.fields.get("groups"), "request.userInfo.groups")?;
        match self.object("extra")? {
            None => Ok(()),
            Some(extra) => extra.fields.values().try_for_each(|value| texts(Some(value), "request.userInfo.extra")),
        }
    }
}

fn texts(value: Option<&Value>, path: &str) -> Result<(), String> {
    match value {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => Ok(()),
        Some(_) => Err(format!("{path} is not a list of strings")),
    }
}

fn wrong(path: &str, found: &str, expected: &str) -> String {
    match found {
        "" => format!("{path} is missing; expected {expected}"),
        found => format!("{path} is {:?}; expected {expected}", crate::shorten(found, 100)),
    }
}

fn is_uid(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b':');
    !text.is_empty() && text.len() <= UID_BYTES && text.bytes().all(allowed)
}

/// A DNS label, at most 63 bytes.
fn is_label(text: &str) -> bool {
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.len() <= 63
        && bytes.first().is_some_and(alphanumeric)
        && bytes.last().is_some_and(alphanumeric)
        && bytes.iter().all(|byte| alphanumeric(byte) || *byte == b'-')
}

/// A DNS subdomain, at most 253 bytes.
fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_label)
}

/// A name by the rules of the API server: one path segment. Kinds restrict it further.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= NAME_BYTES
        && !matches!(text, "." | "..")
        && !text.chars().any(|c| matches!(c, '/' | '%') || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(change: &Value) -> Value {
        let mut request = json!({"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
            "resource": {"group": "apps", "version": "v1", "resource": "deployments"}, "operation": "UPDATE", "namespace": "shop", "name": "web",
            "userInfo": {"username": "system:admin", "groups": ["system:masters"], "extra": {"scopes": ["a"]}},
            "object": {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop", "uid": "u-1"}}});
        json_patch::merge(&mut request, change);
        request
    }

    fn check(change: &Value) -> Result<(), String> {
        let request = request(change);
        let request = request.as_object().unwrap();
        let fields = read(request)?;
        object("request.object", request.get("object").and_then(Value::as_object).unwrap(), &fields)
    }

    #[test]
    fn what_an_api_server_sends_is_taken() {
        for change in [
            json!({}),
            json!({"userInfo": null, "dryRun": null, "options": null, "requestKind": null, "fieldOfTomorrow": [1]}),
            json!({"name": "", "namespace": "", "object": {"metadata": {"namespace": null}}}),
            json!({"requestKind": {"group": "", "version": "v1beta1", "kind": "Deployment"}, "requestSubResource": "scale"}),
            json!({"subResource": "scale", "kind": {"group": "autoscaling", "kind": "Scale"},
                "object": {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": null}}}),
            // Names of RBAC objects.
            json!({"name": "system:controller:job-controller?", "object": {"metadata": {"name": "system:controller:job-controller?"}}}),
            json!({"operation": "CONNECT", "object": {"metadata": null}}),
        ] {
            assert_eq!(check(&change), Ok(()), "{change}");
        }
        let namespace = json!({"kind": {"group": "", "kind": "Namespace"}, "resource": {"group": "", "resource": "namespaces"}, "name": "shop",
            "object": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "namespace": null}}});
        assert_eq!(check(&namespace), Ok(()));
    }

    #[test]
    fn t4_c_no_field_is_used_before_it_is_checked() {
        let proxy = "kube-system/services/metrics:80/proxy/admin/delete?all=true&x=";
        for (change, field) in [
            (json!({"uid": "a b"}), "request.uid"),
            (json!({"uid": "u".repeat(300)}), "request.uid"),
            (json!({"uid": 7}), "request.uid is not a string"),
            (json!({"namespace": proxy}), "request.namespace"),
            (json!({"namespace": "Shop"}), "request.namespace"),
            (json!({"namespace": ".."}), "request.namespace"),
            (json!({"namespace": "a".repeat(64)}), "request.namespace"),
            (json!({"namespace": ["shop"]}), "request.namespace is not a string"),
            (json!({"name": "a/b"}), "request.name"),
            (json!({"name": ".."}), "request.name"),
            (json!({"name": "a%2Fb"}), "request.name"),
            (json!({"name": "a\nb"}), "request.name"),
            (json!({"name": "a".repeat(2000)}), "request.name"),
            (json!({"subResource": "proxy/admin"}), "request.subResource"),
            (json!({"operation": "create"}), "request.operation"),
            (json!({"operation": null}), "request.operation is missing"),
            (json!({"kind": null}), "request.kind"),
            (json!({"kind": 7}), "request.kind is not an object"),
            (json!({"kind": {"version": "v1/../.."}}), "request.kind.version"),
            (json!({"kind": {"group": "a//b"}}), "request.kind.group"),
            (json!({"kind": {"kind": "a b"}}), "request.kind.kind"),
            (json!({"kind": {"group": "batch"}}), "request.kind is batch/v1"),
            (json!({"resource": {"resource": "pods?x=y"}}), "request.resource.resource"),
            (json!({"resource": "pods"}), "request.resource is not an object"),
            (json!({"requestKind": {"kind": "?", "version": "v1"}}), "request.requestKind.kind"),
            (json!({"requestResource": []}), "request.requestResource"),
            (json!({"requestSubResource": "a/b"}), "request.requestSubResource"),
            (json!({"dryRun": "no"}), "request.dryRun"),
            (json!({"options": "none"}), "request.options"),
            (json!({"userInfo": "me"}), "request.userInfo"),
            (json!({"userInfo": {"username": {}}}), "request.userInfo.username"),
            (json!({"userInfo": {"groups": "system:masters"}}), "request.userInfo.groups"),
            (json!({"userInfo": {"extra": {"scopes": [1]}}}), "request.userInfo.extra"),
            (json!({"object": {"kind": "Secret"}}), "request.object.kind"),
            (json!({"object": {"apiVersion": "v1"}}), "request.object.apiVersion"),
            (json!({"object": {"metadata": "none"}}), "request.object.metadata"),
            (json!({"object": {"metadata": {"name": "other"}}}), "request.object.metadata.name"),
            (json!({"object": {"metadata": {"namespace": "other"}}}), "request.object.metadata.namespace"),
            (json!({"object": {"metadata": {"uid": "a\u{1b}[31mb"}}}), "request.object.metadata.uid"),
        ] {
            let refused = check(&change).unwrap_err();
            assert!(refused.starts_with(field), "{change}: {refused}");
            assert!(!refused.chars().any(char::is_control), "{refused}");
        }
    }
}
