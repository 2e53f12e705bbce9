//! From an AdmissionReview to its response.

use crate::initializer::Initializer;
use crate::inject::{inject, list};
use crate::settings::Settings;
use anyhow::Context as _;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use oarlock_merge::schema::Schema;
use oarlock_merge::steps::Budget;
use oarlock_merge::strategic::{apply_patch, create_two_way};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

const SWITCH: &str = "initializer.kubernetes.io/envoy";
const INJECTED: &str = "initializer.kubernetes.io/envoy-injected";

/// An AdmissionReview, as far as it is read.
#[derive(Debug, Deserialize)]
pub(crate) struct AdmissionReview {
    request: AdmissionRequest,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AdmissionRequest {
    uid: String,
    operation: String,
    #[serde(default)]
    sub_resource: String,
    object: Value,
}

#[derive(Debug)]
pub(crate) struct Reviewer {
    schema: Schema,
    initializer: Initializer,
    settings: Settings,
}

impl Reviewer {
    pub(crate) fn new(initializer: Initializer, settings: Settings) -> anyhow::Result<Self> {
        let schema = Schema::builtin("", "v1", "Pod").context("no schema of Pods")?;
        Ok(Self { schema, initializer, settings })
    }

    /// The Pod after injection, with warnings; none: it is out of scope.
    fn injected(&self, request: &AdmissionRequest) -> anyhow::Result<Option<(Value, Vec<String>)>> {
        let pod = &request.object;
        let switch = pod.pointer("/metadata/annotations").and_then(|all| all.get(SWITCH)).and_then(Value::as_str);
        if request.operation != "CREATE" || !request.sub_resource.is_empty() || switch != Some("true") {
            return Ok(None);
        }
        let spec = pod.get("spec").unwrap_or(&Value::Null);
        let injected = inject(spec, &self.initializer, &self.settings);
        let found: Map<String, Value> = ["containers", "initContainers", "volumes"]
            .into_iter()
            .filter(|field| !list(spec, field).is_empty())
            .map(|field| (field.to_owned(), json!(list(spec, field))))
            .collect();
        let labels = pod.pointer("/metadata/labels").and_then(|labels| labels.get(INJECTED));
        let labels = labels.map_or_else(|| json!({}), |label| json!({INJECTED: label}));
        let state = |labels: Value, spec: Map<String, Value>| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": labels}, "spec": spec});
        let (original, modified) = (state(labels, found), state(json!({INJECTED: "true"}), injected.spec));
        let budget = Budget::unlimited();
        let patch = create_two_way(&self.schema, &original, &modified, &budget)?;
        let mut after = apply_patch(&self.schema, pod, &patch, &budget)?;
        let lists = modified.get("spec").and_then(Value::as_object).into_iter().flatten();
        if lists.into_iter().any(|(field, items)| after.get("spec").and_then(|spec| spec.get(field)) != Some(items)) {
            // Strategic merge identifies a port by its number alone: where TCP and UDP share one, the lists are replaced.
            after = pod.clone();
            json_patch::merge(&mut after, &modified);
        }
        let skipped = injected.skipped.iter().map(|name| format!("container {name} is not injected"));
        Ok(Some((after, skipped.collect())))
    }
}

pub(crate) async fn answer(
    State(reviewer): State<Arc<Reviewer>>,
    Json(review): Json<AdmissionReview>,
) -> Result<Json<Value>, (StatusCode, String)> {
    let request = review.request;
    let failed = |error: anyhow::Error| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
    let mut response = json!({"uid": request.uid, "allowed": true});
    if let (Some((after, warnings)), Some(fields)) =
        (reviewer.injected(&request).map_err(failed)?, response.as_object_mut())
    {
        let patch = serde_json::to_vec(&json_patch::diff(&request.object, &after)).map_err(|e| failed(e.into()))?;
        fields.insert("patchType".to_owned(), "JSONPatch".into());
        fields.insert("patch".to_owned(), BASE64_STANDARD.encode(patch).into());
        if !warnings.is_empty() {
            fields.insert("warnings".to_owned(), json!(warnings));
        }
    }
    Ok(Json(json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})))
}
