//! AdmissionReview v1: parsing of requests, and responses.
//!
//! # Source
//!
//! k8s.io/api `admission/v1/types.go`.

mod fields;

use crate::api::{GroupVersionKind, ObjectKey};
use crate::apply::reviewed::difference;
use crate::grants::{Admission, resource_covers};
use base64::Engine as _;
use fields::Fields;
use serde_json::{Map, Value, json};
use std::sync::Arc;

const API_VERSION: &str = "admission.k8s.io/v1";

/// Why the host cannot answer a request as a review: an HTTP status and a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(super) struct Unreadable {
    pub(super) status: u16,
    pub(super) message: String,
}

impl Unreadable {
    pub(super) fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }
}

/// A parsed AdmissionRequest.
#[derive(Clone, Debug)]
pub(super) struct AdmissionRequest {
    pub(super) uid: String,
    pub(super) kind: GroupVersionKind,
    pub(super) resource: Resource,
    pub(super) operation: String,
    pub(super) key: ObjectKey,
    /// The object under review; for a deletion, the stored object.
    pub(super) object: Value,
    pub(super) dry_run: bool,
    /// Whether the client proved to be an API server. Only then the review counts for the health of a plugin.
    pub(super) authenticated: bool,
    /// The AdmissionRequest without its objects.
    pub(super) request: Map<String, Value>,
}

/// The resource of a request, in the terms of a webhook's rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Resource {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) resource: String,
    pub(super) subresource: String,
}

impl AdmissionRequest {
    /// Parses the body of a request.
    pub(super) fn read(body: &[u8]) -> Result<Self, Unreadable> {
        let bad = |message: &str| Unreadable::new(400, message);
        if body.iter().all(u8::is_ascii_whitespace) {
            return Err(bad("the body is empty; expected an AdmissionReview"));
        }
        let mut review: Value =
            serde_json::from_slice(body).map_err(|e| Unreadable::new(400, format!("the body is not JSON: {e}")))?;
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (version, kind) = (text(&review, "apiVersion"), text(&review, "kind"));
        if version != API_VERSION || kind != "AdmissionReview" {
            let found = format!("{}, {}", crate::shorten(&version, 100), crate::shorten(&kind, 100));
            return Err(Unreadable::new(
                400,
                format!("expected apiVersion {API_VERSION} and kind AdmissionReview, found {found}"),
            ));
        }
        let Some(Value::Object(mut request)) = review.get_mut("request").map(Value::take) else {
            return Err(bad("the AdmissionReview has no request"));
        };
        let fields = fields::read(&request).map_err(|why| Unreadable::new(400, why))?;
        let object = match request.remove("object") {
            Some(object @ Value::Object(_)) if fields.operation != "DELETE" => object,
            None | Some(Value::Null) if fields.operation == "DELETE" => match request.get("oldObject") {
                Some(old @ Value::Object(_)) => old.clone(),
                _ => return Err(bad("request.oldObject, what is to be deleted, is not an object")),
            },
            _ => return Err(bad("request.object is not what the operation has: an object, and none in a DELETE")),
        };
        for (path, document) in [("request.object", Some(&object)), ("request.oldObject", request.get("oldObject"))] {
            match document {
                None | Some(Value::Null) => Ok(()),
                Some(Value::Object(document)) => fields::object(path, document, &fields),
                Some(_) => Err(format!("{path} is not an object")),
            }
            .map_err(|why| Unreadable::new(400, why))?;
        }
        let Fields { uid, kind, resource, operation, key, dry_run } = fields;
        Ok(Self { uid, kind, resource, operation, key, object, dry_run, authenticated: false, request })
    }

    /// The AdmissionRequest as JSON without its objects, with the fields that initializers need.
    pub(super) fn request(&self, pending: Option<&[String]>) -> Arc<str> {
        match pending {
            None => serde_json::to_string(&self.request),
            Some(pending) => {
                let mut request = self.request.clone();
                request.insert("pending".to_owned(), json!(pending));
                serde_json::to_string(&request)
            }
        }
        .unwrap_or_default()
        .into()
    }

    /// Whether a rule matches this request. The API server evaluates selectors and conditions.
    pub(super) fn is_for(&self, admission: &Admission) -> bool {
        let rule = &admission.rule;
        let holds = |list: &[String], wanted: &str| list.iter().any(|one| one == "*" || one == wanted);
        let resource = self.resource.path();
        holds(&rule.operations, &self.operation)
            && holds(&rule.api_groups, &self.resource.group)
            && holds(&rule.api_versions, &self.resource.version)
            && rule.resources.iter().any(|one| resource_covers(one, &resource))
    }
}

impl Resource {
    /// The resource as `pods` or `pods/status`.
    pub(super) fn path(&self) -> String {
        match self.subresource.as_str() {
            "" => self.resource.clone(),
            subresource => format!("{}/{subresource}", self.resource),
        }
    }
}

/// The response to the API server.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AdmissionResponse {
    /// None: the request is allowed.
    pub(super) refusal: Option<Refusal>,
    /// The changed object. None: unchanged.
    pub(super) changed: Option<Value>,
    pub(super) warnings: Vec<String>,
    /// The plugin failed, and the failure policy is Ignore.
    pub(super) ignored: bool,
    /// The plugin failed, and the failure policy is Fail.
    pub(super) failed: bool,
    /// Audit annotations: key and value.
    pub(super) audit: Vec<(&'static str, String)>,
}

/// Why the host denies a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: u16,
    pub(super) reason: String,
    pub(super) message: String,
}

impl AdmissionResponse {
    /// What came of the review, for metrics and traces.
    pub(super) fn result(&self) -> &'static str {
        match self {
            Self { failed: true, .. } => "failed",
            Self { refusal: Some(_), .. } => "refused",
            Self { changed: Some(_), .. } => "changed",
            Self { ignored: true, .. } => "ignored",
            _ => "allowed",
        }
    }

    pub(super) fn refused(code: u16, reason: &str, message: String) -> Self {
        Self { refusal: Some(Refusal { code, reason: reason.to_owned(), message }), ..Self::default() }
    }

    /// The body of the response to `admission_request`.
    pub(super) fn to_json(&self, admission_request: &AdmissionRequest) -> Value {
        let mut response = json!({"uid": admission_request.uid, "allowed": self.refusal.is_none()});
        let Some(fields) = response.as_object_mut() else { return response };
        if let Some(Refusal { code, reason, message }) = &self.refusal {
            let mut status = json!({"code": code, "message": message});
            if !reason.is_empty()
                && let Some(status) = status.as_object_mut()
            {
                status.insert("reason".to_owned(), reason.clone().into());
            }
            fields.insert("status".to_owned(), status);
        } else if let Some(changed) = &self.changed {
            let operations = difference(&admission_request.object, changed);
            if !operations.is_empty() {
                let patch = serde_json::to_vec(&operations).unwrap_or_default();
                fields.insert("patchType".to_owned(), "JSONPatch".into());
                fields.insert("patch".to_owned(), base64::prelude::BASE64_STANDARD.encode(patch).into());
            }
        }
        if !self.warnings.is_empty() {
            fields.insert("warnings".to_owned(), json!(self.warnings));
        }
        if !self.audit.is_empty() {
            let audit: Map<String, Value> =
                self.audit.iter().map(|(key, value)| ((*key).to_owned(), value.clone().into())).collect();
            fields.insert("auditAnnotations".to_owned(), Value::Object(audit));
        }
        json!({"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn review(change: &Value) -> Value {
        let mut review = json!({"apiVersion": API_VERSION, "kind": "AdmissionReview", "request": {
            "uid": "u", "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"}, "operation": "CREATE", "namespace": "n",
            "userInfo": {"username": "me"}, "object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "p-"}}}});
        json_patch::merge(&mut review, change);
        review
    }

    fn read(change: &Value) -> Result<AdmissionRequest, Unreadable> {
        AdmissionRequest::read(review(change).to_string().as_bytes())
    }

    #[test]
    fn a_review_is_read_and_the_rest_is_kept_for_the_plugin() {
        let admission_request = read(&json!({"request": {"fieldOfTomorrow": 1, "dryRun": true}, "more": 2})).unwrap();
        assert_eq!(
            (
                admission_request.uid.as_str(),
                admission_request.dry_run,
                &*admission_request.key.namespace,
                &*admission_request.key.name
            ),
            ("u", true, "n", "")
        );
        let request: Value = serde_json::from_str(&admission_request.request(None)).unwrap();
        assert_eq!((&request["fieldOfTomorrow"], &request["object"]), (&json!(1), &Value::Null));
        assert_eq!(request["userInfo"]["username"], "me");
        let request: Value = serde_json::from_str(&admission_request.request(Some(&["a.b.c".to_owned()]))).unwrap();
        assert_eq!(request["pending"], json!(["a.b.c"]));
    }

    #[test]
    fn of_a_deletion_the_stored_object_is_under_review() {
        let admission_request =
            read(&json!({"request": {"operation": "DELETE", "object": null, "oldObject": {"old": true}}})).unwrap();
        assert_eq!(admission_request.object, json!({"old": true}));
        assert!(read(&json!({"request": {"object": null}})).is_err());
    }

    #[test]
    fn what_is_no_review_is_told_in_a_sentence() {
        for (body, expected) in [
            (String::new(), "the body is empty"),
            ("  \n".to_owned(), "the body is empty"),
            ("{\"apiVersion\":".to_owned(), "not JSON"),
            ("<xml/>".to_owned(), "not JSON"),
            ("[".repeat(100_000), "not JSON"),
            ("7".to_owned(), "found , "),
            (
                review(&json!({"apiVersion": "admission.k8s.io/v1beta1"})).to_string(),
                "found admission.k8s.io/v1beta1, AdmissionReview",
            ),
            (review(&json!({"kind": "ConversionReview"})).to_string(), "ConversionReview"),
            (review(&json!({"request": null})).to_string(), "no request"),
            (review(&json!({"request": {"uid": ""}})).to_string(), "request.uid"),
            (review(&json!({"request": {"uid": "u".repeat(300)}})).to_string(), "request.uid"),
            (review(&json!({"request": {"kind": 7}})).to_string(), "request.kind"),
            (review(&json!({"request": {"resource": "pods"}})).to_string(), "request.resource"),
            (review(&json!({"request": {"object": [1]}})).to_string(), "request.object"),
        ] {
            let refused = AdmissionRequest::read(body.as_bytes()).unwrap_err();
            assert_eq!(refused.status, 400);
            assert!(refused.message.contains(expected), "{body:.80}: {refused}");
        }
    }

    #[test]
    fn an_answer_carries_the_uid_and_only_what_there_is_to_say() {
        let admission_request = read(&json!({})).unwrap();
        let said = |answer: AdmissionResponse| answer.to_json(&admission_request)["response"].clone();
        assert_eq!(said(AdmissionResponse::default()), json!({"uid": "u", "allowed": true}));
        let same =
            AdmissionResponse { changed: Some(admission_request.object.clone()), ..AdmissionResponse::default() };
        assert_eq!(said(same), json!({"uid": "u", "allowed": true}));
        let refused = AdmissionResponse::refused(403, "Forbidden", "no".to_owned());
        let status = json!({"code": 403, "reason": "Forbidden", "message": "no"});
        assert_eq!(said(refused), json!({"uid": "u", "allowed": false, "status": status}));
        let mut changed = admission_request.object.clone();
        changed["metadata"]["labels"] = json!({"a/b": "1"});
        let answer = AdmissionResponse {
            changed: Some(changed),
            warnings: vec!["careful".to_owned()],
            ..AdmissionResponse::default()
        };
        let said = said(answer);
        assert_eq!((&said["patchType"], &said["warnings"]), (&json!("JSONPatch"), &json!(["careful"])));
        let patch = base64::prelude::BASE64_STANDARD.decode(said["patch"].as_str().unwrap()).unwrap();
        let expected = json!([{"op": "add", "path": "/metadata/labels", "value": {"a/b": "1"}}]);
        assert_eq!(serde_json::from_slice::<Value>(&patch).unwrap(), expected);
    }

    #[test]
    fn a_rule_is_about_what_it_names() {
        let admission_request = read(&json!({})).unwrap();
        let rule = |change: &Value| {
            let mut rule =
                json!({"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["pods"]});
            json_patch::merge(&mut rule, change);
            Admission { index: 0, rule: serde_json::from_value(rule).unwrap(), only_as_initializer: false }
        };
        assert!(admission_request.is_for(&rule(&json!({}))));
        for change in [
            json!({"operations": ["UPDATE"]}),
            json!({"apiGroups": ["apps"]}),
            json!({"apiVersions": ["v2"]}),
            json!({"resources": ["pods/status"]}),
            json!({"resources": ["services"]}),
        ] {
            assert!(!admission_request.is_for(&rule(&change)), "{change}");
        }
        let status = read(&json!({"request": {"subResource": "status"}})).unwrap();
        assert!(!status.is_for(&rule(&json!({}))) && status.is_for(&rule(&json!({"resources": ["pods/*"]}))));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// For arbitrary bytes in place of any part of a review, the parser returns a review or a message.
        #[test]
        fn a14_no_bytes_can_hurt_the_reader(at in 0_usize..400, with in prop::collection::vec(any::<u8>(), 0..20), cut in 0_usize..400) {
            let mut body = review(&json!({})).to_string().into_bytes();
            let at = at.min(body.len());
            body.splice(at..(at + with.len()).min(body.len()), with);
            body.truncate(body.len().saturating_sub(cut / 4));
            if let Err(refused) = AdmissionRequest::read(&body) {
                prop_assert!(refused.status == 400 && !refused.message.is_empty());
            }
        }
    }
}
