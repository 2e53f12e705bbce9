//! AdmissionReviews: requests to webhooks, and their responses.
//!
//! # Source
//!
//! apiserver `pkg/admission/plugin/webhook/request/admissionreview.go` and `errors/statuserror.go`.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Attributes, hooks::Hook, matching::Target};
use crate::model::{kinds::Resource, status::ApiError};

/// Why a webhook did not allow a write.
#[derive(Debug)]
pub(super) enum Failure {
    /// The webhook could not be called, or returned an invalid response: the failure policy decides.
    NotCalled(String),
    /// The webhook denied the request, or its response cannot be applied: the failure policy does not matter.
    Refused(ApiError),
}

impl Failure {
    /// The webhook could not be called.
    pub(super) fn not_called(why: &str) -> Self {
        Self::NotCalled(format!("failed to call webhook: {why}"))
    }

    fn invalid(why: &str) -> Self {
        Self::NotCalled(format!("received invalid webhook response: {why}"))
    }

    /// Applies the failure policy.
    pub(super) fn decide(self, hook: &Hook) -> Result<(), ApiError> {
        match self {
            Self::Refused(error) => Err(error),
            Self::NotCalled(why) if hook.ignore => {
                tracing::warn!(webhook = hook.name, why, "a webhook failed and is ignored");
                Ok(())
            }
            Self::NotCalled(why) => {
                Err(ApiError::internal_error(&format!("failed calling webhook \"{}\": {why}", hook.name)))
            }
        }
    }
}

/// The response of a webhook.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ReviewResponse {
    uid: String,
    pub(super) allowed: bool,
    pub(super) status: Option<Map<String, Value>>,
    patch: Option<String>,
    pub(super) patch_type: Option<String>,
    pub(super) warnings: Vec<String>,
}

impl ReviewResponse {
    /// The operations of its patch.
    ///
    /// # Errors
    ///
    /// Why they cannot be parsed.
    pub(super) fn operations(&self) -> Result<Vec<Value>, String> {
        let Some(text) = self.patch.as_deref().filter(|p| !p.is_empty()) else { return Ok(Vec::new()) };
        let bytes = BASE64.decode(text).map_err(|e| e.to_string())?;
        match serde_json::from_slice(&bytes).map_err(|e| e.to_string())? {
            Value::Array(operations) => Ok(operations),
            Value::Null => Ok(Vec::new()),
            _ => Err("json: cannot unmarshal object into Go value of type jsonpatch.Patch".to_owned()),
        }
    }
}

/// Parses a response and checks that it belongs to this request.
///
/// * `version` - the version of the request, `v1` or `v1beta1`.
pub(super) fn read(body: &[u8], version: &str, uid: &str, mutating: bool) -> Result<ReviewResponse, Failure> {
    let unreadable = |why: &str| Failure::not_called(&format!("couldn't get version/kind; json parse error: {why}"));
    let answer = match serde_json::from_slice(body) {
        Ok(Value::Object(answer)) => answer,
        Ok(_) => return Err(unreadable("json: cannot unmarshal a value that is no object")),
        Err(_) => {
            return Err(unreadable(
                "json: cannot unmarshal string into Go value of type struct { APIVersion string \
                 \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }",
            ));
        }
    };
    let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default();
    let (kind, api_version) = (text("kind"), text("apiVersion"));
    let known = kind.is_empty() && api_version.is_empty()
        || kind == "AdmissionReview" && matches!(api_version, "admission.k8s.io/v1" | "admission.k8s.io/v1beta1");
    if !known {
        return Err(Failure::not_called(&format!(
            "no kind \"{kind}\" is registered for version \"{api_version}\" in scheme \"pkg/util/webhook/client.go:71\""
        )));
    }
    let Some(response) = answer.get("response").filter(|r| !r.is_null()) else {
        return Err(Failure::invalid("webhook response was absent"));
    };
    let mut response = ReviewResponse::deserialize(response).map_err(|e| Failure::not_called(&e.to_string()))?;
    if let Some(bad) = response.patch.as_deref().and_then(|p| BASE64.decode(p).err()) {
        return Err(Failure::not_called(&format!("illegal base64 data: {bad}")));
    }
    if version == "v1beta1" {
        // The old version has only one kind of patch, and neither names it nor echoes the uid.
        response.patch_type = None;
        return Ok(response);
    }
    check(&response, (kind, api_version), uid, mutating).map_err(|why| Failure::invalid(&why))?;
    Ok(response)
}

fn check(
    response: &ReviewResponse,
    (kind, api_version): (&str, &str),
    uid: &str,
    mutating: bool,
) -> Result<(), String> {
    if response.uid != uid {
        return Err(format!("expected response.uid=\"{uid}\", got \"{}\"", response.uid));
    }
    if api_version != "admission.k8s.io/v1" {
        let wanted = "admission.k8s.io/v1, Kind=AdmissionReview";
        let slash = if api_version.is_empty() { "/" } else { "" };
        return Err(format!("expected webhook response of {wanted}, got {api_version}{slash}, Kind={kind}"));
    }
    let patch = response.patch.as_deref().is_some_and(|p| !p.is_empty());
    match (mutating, patch, response.patch_type.as_deref()) {
        (true, true, None) => Err("webhook returned response.patch but not response.patchType".to_owned()),
        (true, false, Some(_)) => Err("webhook returned response.patchType but not response.patch".to_owned()),
        (true, true, Some("")) => Err("webhook returned invalid response.patchType of \"\"".to_owned()),
        (false, true, _) => Err("validating webhook may not return response.patch".to_owned()),
        (false, false, Some(_)) => Err("validating webhook may not return response.patchType".to_owned()),
        _ => Ok(()),
    }
}

/// The error of a denial: the webhook's own status, with the webhook's name before the message.
pub(super) fn denial(name: &str, status: Option<Map<String, Value>>) -> ApiError {
    let mut status = status.unwrap_or_default();
    let text = |key: &str| status.get(key).and_then(Value::as_str).filter(|t| !t.is_empty());
    let message = match text("message").or_else(|| text("reason")) {
        Some(why) => format!("admission webhook \"{name}\" denied the request: {why}"),
        None => format!("admission webhook \"{name}\" denied the request without explanation"),
    };
    status.insert("message".to_owned(), message.into());
    ApiError::of_status(&status)
}

fn gvk(group: &str, version: &str, kind: &str) -> Value {
    json!({"group": group, "version": version, "kind": kind})
}

fn gvr(resource: &Resource) -> Value {
    json!({"group": resource.group, "version": resource.version, "resource": resource.plural})
}

impl Attributes<'_> {
    /// The `request` of a review, without the objects. Match conditions use it, too.
    pub(super) fn request(&self, target: &Target, uid: &str) -> Value {
        let kind_of = |resource: &Resource| match self.kind {
            Some((group, version, kind)) => gvk(group, version, kind),
            None => gvk(&resource.group, &resource.version, &resource.kind),
        };
        let mut request = json!({
            "uid": uid,
            "kind": kind_of(&target.resource), "resource": gvr(&target.resource),
            "requestKind": kind_of(self.resource), "requestResource": gvr(self.resource),
            "operation": self.operation.name(),
            "userInfo": self.user.to_value(),
            "dryRun": self.dry_run,
            "options": self.options,
        });
        if let Some(map) = request.as_object_mut() {
            let optional = [
                ("subResource", self.subresource),
                ("requestSubResource", self.subresource),
                ("name", self.name),
                ("namespace", self.namespace),
            ];
            for (key, value) in optional.into_iter().filter(|(_, v)| !v.is_empty()) {
                map.insert(key.to_owned(), value.into());
            }
        }
        request
    }
}
