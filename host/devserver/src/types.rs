//! The fields of the built-in kinds: what is not one of them is dropped and reported, a value of a wrong type refused.

use k8s_openapi::{api, apiextensions_apiserver, kube_aggregator};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

type RoundTrip = fn(&Value) -> Result<Value, Misfit>;

/// Why a value is not of its kind, as the API server says it.
#[derive(Debug)]
pub(crate) struct WrongType {
    /// In a body: the words of its JSON decoder.
    pub(crate) decoding: String,
    /// In the outcome of a strategic merge: the words of its conversion.
    pub(crate) conversion: String,
}

/// What is wrong with a value, and where.
#[derive(Debug)]
struct Misfit {
    path: String,
    error: serde_json::Error,
}

fn through<T: Serialize + DeserializeOwned>(value: &Value) -> Result<Value, Misfit> {
    let typed: Result<T, _> = T::deserialize(value);
    match typed {
        Ok(typed) => serde_json::to_value(typed).map_err(|error| Misfit { path: String::new(), error }),
        // The slow way only to say where.
        Err(error) => {
            let located = serde_path_to_error::deserialize::<_, T>(value);
            Err(Misfit { path: located.err().map_or_else(String::new, |e| e.path().to_string()), error })
        }
    }
}

/// Pairs of group/version, kind and Rust type.
macro_rules! types {
    ($($group:literal $version:literal $kind:literal => $type:ty,)*) => {
        fn round_trip(group: &str, version: &str, kind: &str) -> Option<RoundTrip> {
            match (group, version, kind) {
                $(($group, $version, $kind) => Some(through::<$type>),)*
                _ => None,
            }
        }
    };
}

types! {
    "" "v1" "ConfigMap" => api::core::v1::ConfigMap,
    "" "v1" "Endpoints" => api::core::v1::Endpoints,
    "" "v1" "Event" => api::core::v1::Event,
    "" "v1" "LimitRange" => api::core::v1::LimitRange,
    "" "v1" "Namespace" => api::core::v1::Namespace,
    "" "v1" "Node" => api::core::v1::Node,
    "" "v1" "PersistentVolumeClaim" => api::core::v1::PersistentVolumeClaim,
    "" "v1" "PersistentVolume" => api::core::v1::PersistentVolume,
    "" "v1" "Pod" => api::core::v1::Pod,
    "" "v1" "PodTemplate" => api::core::v1::PodTemplate,
    "" "v1" "ReplicationController" => api::core::v1::ReplicationController,
    "" "v1" "ResourceQuota" => api::core::v1::ResourceQuota,
    "" "v1" "Secret" => api::core::v1::Secret,
    "" "v1" "ServiceAccount" => api::core::v1::ServiceAccount,
    "" "v1" "Service" => api::core::v1::Service,
    "apiregistration.k8s.io" "v1" "APIService" => kube_aggregator::pkg::apis::apiregistration::v1::APIService,
    "apps" "v1" "ControllerRevision" => api::apps::v1::ControllerRevision,
    "apps" "v1" "DaemonSet" => api::apps::v1::DaemonSet,
    "apps" "v1" "Deployment" => api::apps::v1::Deployment,
    "apps" "v1" "ReplicaSet" => api::apps::v1::ReplicaSet,
    "apps" "v1" "StatefulSet" => api::apps::v1::StatefulSet,
    "events.k8s.io" "v1" "Event" => api::events::v1::Event,
    "authentication.k8s.io" "v1" "SelfSubjectReview" => api::authentication::v1::SelfSubjectReview,
    "authentication.k8s.io" "v1" "TokenRequest" => api::authentication::v1::TokenRequest,
    "authentication.k8s.io" "v1" "TokenReview" => api::authentication::v1::TokenReview,
    "authorization.k8s.io" "v1" "LocalSubjectAccessReview" => api::authorization::v1::LocalSubjectAccessReview,
    "authorization.k8s.io" "v1" "SelfSubjectAccessReview" => api::authorization::v1::SelfSubjectAccessReview,
    "authorization.k8s.io" "v1" "SelfSubjectRulesReview" => api::authorization::v1::SelfSubjectRulesReview,
    "authorization.k8s.io" "v1" "SubjectAccessReview" => api::authorization::v1::SubjectAccessReview,
    "autoscaling" "v1" "Scale" => api::autoscaling::v1::Scale,
    "autoscaling" "v1" "HorizontalPodAutoscaler" => api::autoscaling::v1::HorizontalPodAutoscaler,
    "autoscaling" "v2" "HorizontalPodAutoscaler" => api::autoscaling::v2::HorizontalPodAutoscaler,
    "batch" "v1" "CronJob" => api::batch::v1::CronJob,
    "batch" "v1" "Job" => api::batch::v1::Job,
    "networking.k8s.io" "v1" "IngressClass" => api::networking::v1::IngressClass,
    "networking.k8s.io" "v1" "Ingress" => api::networking::v1::Ingress,
    "networking.k8s.io" "v1" "NetworkPolicy" => api::networking::v1::NetworkPolicy,
    "policy" "v1" "PodDisruptionBudget" => api::policy::v1::PodDisruptionBudget,
    "rbac.authorization.k8s.io" "v1" "ClusterRoleBinding" => api::rbac::v1::ClusterRoleBinding,
    "rbac.authorization.k8s.io" "v1" "ClusterRole" => api::rbac::v1::ClusterRole,
    "rbac.authorization.k8s.io" "v1" "RoleBinding" => api::rbac::v1::RoleBinding,
    "rbac.authorization.k8s.io" "v1" "Role" => api::rbac::v1::Role,
    "storage.k8s.io" "v1" "StorageClass" => api::storage::v1::StorageClass,
    "admissionregistration.k8s.io" "v1" "MutatingWebhookConfiguration"
        => api::admissionregistration::v1::MutatingWebhookConfiguration,
    "admissionregistration.k8s.io" "v1" "ValidatingWebhookConfiguration"
        => api::admissionregistration::v1::ValidatingWebhookConfiguration,
    "apiextensions.k8s.io" "v1" "CustomResourceDefinition"
        => apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    "scheduling.k8s.io" "v1" "PriorityClass" => api::scheduling::v1::PriorityClass,
    "coordination.k8s.io" "v1" "Lease" => api::coordination::v1::Lease,
    "discovery.k8s.io" "v1" "EndpointSlice" => api::discovery::v1::EndpointSlice,
}

/// Removes the fields a built-in kind does not have and answers their paths; nulls are dropped as Go drops them.
///
/// Kinds without a type here are kept as they are.
///
/// # Errors
///
/// What is wrong with a value that has the wrong type.
pub(crate) fn restrict(group: &str, version: &str, kind: &str, object: &mut Value) -> Result<Vec<String>, WrongType> {
    let Some(round_trip) = round_trip(group, version, kind) else { return Ok(Vec::new()) };
    if kind == "ConfigMap" {
        null_is_empty(object, "data");
    }
    if kind != "CustomResourceDefinition" {
        drop_nulls(object);
    }
    one_line(object, kind);
    // `kind` and `apiVersion` are checked while deserialising and may be absent in a request.
    if let Value::Object(map) = object {
        let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        map.insert("kind".to_owned(), kind.into());
        map.insert("apiVersion".to_owned(), api_version.into());
    }
    let known = round_trip(object).map_err(|e| go_error(&e, kind))?;
    let mut unknown = Vec::new();
    keep(object, &known, "", &mut unknown);
    Ok(unknown)
}

/// [`restrict`] for the metadata of custom resources.
pub(crate) fn restrict_metadata(object: &mut Value) -> Result<Vec<String>, WrongType> {
    let Some(meta) = object.get_mut("metadata") else { return Ok(Vec::new()) };
    drop_nulls(meta);
    let known = through::<k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta>(meta)
        .map_err(|e| go_error(&e, "ObjectMeta"))?;
    let mut unknown = Vec::new();
    keep(meta, &known, "metadata", &mut unknown);
    Ok(unknown)
}

/// Base64 may be in several lines, as kustomize writes it and people write the bundle of a webhook; it is stored in one.
fn one_line(object: &mut Value, kind: &str) {
    let texts: Vec<&mut Value> = match kind {
        "ConfigMap" => members(object, "binaryData"),
        "Secret" => members(object, "data"),
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
            let hooks = object.get_mut("webhooks").and_then(Value::as_array_mut);
            hooks.into_iter().flatten().filter_map(|hook| hook.pointer_mut("/clientConfig/caBundle")).collect()
        }
        _ => return,
    };
    for text in texts {
        if let Value::String(text) = text {
            text.retain(|c| c != '\n' && c != '\r');
        }
    }
}

fn members<'a>(object: &'a mut Value, key: &str) -> Vec<&'a mut Value> {
    object.get_mut(key).and_then(Value::as_object_mut).into_iter().flat_map(|map| map.values_mut()).collect()
}

fn null_is_empty(object: &mut Value, key: &str) {
    for value in members(object, key) {
        if value.is_null() {
            *value = "".into();
        }
    }
}

/// Removes the null members of objects.
pub(crate) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, v| !v.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

fn keep(value: &mut Value, known: &Value, path: &str, unknown: &mut Vec<String>) {
    match (value, known) {
        (Value::Object(map), Value::Object(known)) => map.retain(|key, member| {
            let here = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            match known.get(key) {
                Some(k) => {
                    keep(member, k, &here, unknown);
                    true
                }
                None => {
                    if !member.is_null() {
                        unknown.push(here);
                    }
                    false
                }
            }
        }),
        (Value::Array(list), Value::Array(known)) => {
            for (i, (member, k)) in list.iter_mut().zip(known).enumerate() {
                keep(member, k, &format!("{path}[{i}]"), unknown);
            }
        }
        _ => {}
    }
}

/// serde's words for what it found, then those of Go's JSON and of Go's kinds.
const FOUND: [(&str, &str, &str); 7] = [
    ("string", "string", "string"),
    ("integer", "number", "int64"),
    ("floating", "number", "float64"),
    ("boolean", "bool", "bool"),
    ("sequence", "array", "slice"),
    ("map", "object", "map"),
    ("null", "null", "invalid"),
];

/// serde's complaint in the shape of Go's.
fn go_error(misfit: &Misfit, kind: &str) -> WrongType {
    let text = misfit.error.to_string();
    let path = misfit.path.as_str();
    // Go names the struct, and of a map the field it is in.
    let owner = if path.starts_with("metadata") { "ObjectMeta" } else { kind };
    let in_map = ["data.", "binaryData.", "stringData.", "metadata.labels.", "metadata.annotations."];
    let path = in_map.iter().find(|m| path.starts_with(*m)).map_or(path, |m| m.trim_end_matches('.'));
    let field = if path.is_empty() || path == "." { owner.to_owned() } else { format!("{owner}.{path}") };
    let found = FOUND.iter().find(|(serde, ..)| text.starts_with(&format!("invalid type: {serde}")));
    if let Some((_, json, reflected)) = found {
        let expected = text.split("expected ").nth(1).unwrap_or("another type");
        let (expected, conversion) = match expected.strip_prefix("a ").unwrap_or(expected) {
            "boolean" => ("bool", "unrecognized type: bool".to_owned()),
            "string" => ("string", "unrecognized type: string".to_owned()),
            "i32" => ("int32", "unrecognized type: int32".to_owned()),
            "i64" => ("int64", "unrecognized type: int64".to_owned()),
            "map" => ("map[string]string", format!("cannot restore map from {reflected}")),
            "sequence" => ("sequence", format!("cannot restore slice from {reflected}")),
            other => (other, format!("cannot restore struct from: {reflected}")),
        };
        let decoding = format!("json: cannot unmarshal {json} into Go struct field {field} of type {expected}");
        return WrongType { decoding, conversion };
    }
    let decoding = if text.contains("Invalid symbol") || text.contains("base64") {
        format!("illegal base64 data at input byte {}", first_number(&text))
    } else {
        text
    };
    WrongType { conversion: decoding.clone(), decoding }
}

fn first_number(text: &str) -> u64 {
    let digits: String = text
        .split("offset ")
        .nth(1)
        .unwrap_or(text)
        .chars()
        .skip_while(|c| !c.is_ascii_digit())
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unknown_fields_are_named_and_dropped() {
        let mut object =
            json!({"metadata": {"name": "a", "bogus": 1, "labels": null}, "data": {"k": "v", "n": null}, "x": {}});
        let unknown = restrict("", "v1", "ConfigMap", &mut object).unwrap();
        assert_eq!(unknown, ["metadata.bogus", "x"]);
        assert_eq!(object["data"], json!({"k": "v", "n": ""}));
        assert_eq!(object["metadata"], json!({"name": "a"}));
    }

    #[test]
    fn base64_in_several_lines_is_stored_in_one() {
        let mut map =
            json!({"metadata": {"name": "a"}, "binaryData": {"k": "AGFz\nbQ0A\r\nAQA=\n"}, "data": {"k": "a\nb"}});
        restrict("", "v1", "ConfigMap", &mut map).unwrap();
        assert_eq!((&map["binaryData"]["k"], &map["data"]["k"]), (&json!("AGFzbQ0AAQA="), &json!("a\nb")));
        let mut secret = json!({"metadata": {"name": "a"}, "data": {"k": "AGFz\nbQ==\n"}});
        restrict("", "v1", "Secret", &mut secret).unwrap();
        assert_eq!(secret["data"]["k"], "AGFzbQ==");
        let mut hooks = json!({"metadata": {"name": "a"}, "webhooks": [{"name": "a.b.c", "admissionReviewVersions": ["v1"],
            "sideEffects": "None", "clientConfig": {"caBundle": "AGFz\nbQ==\n"}}]});
        restrict("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", &mut hooks).unwrap();
        assert_eq!(hooks["webhooks"][0]["clientConfig"]["caBundle"], "AGFzbQ==");
        let mut bad = json!({"metadata": {"name": "a"}, "data": {"k": "AGFz bQ=="}});
        assert!(restrict("", "v1", "Secret", &mut bad).is_err());
    }

    #[test]
    fn wrong_types_are_refused() {
        let mut object = json!({"metadata": {"name": "a"}, "data": {"k": 1}});
        assert!(restrict("", "v1", "ConfigMap", &mut object).unwrap_err().decoding.contains("cannot unmarshal number"));
        let mut object = json!({"spec": {"replicas": "three"}});
        let error = restrict("apps", "v1", "Deployment", &mut object).unwrap_err();
        assert_eq!(error.conversion, "unrecognized type: int32");
    }

    #[test]
    fn nothing_is_added() {
        let mut object = json!({"spec": {"template": {"spec": {}}}});
        restrict("apps", "v1", "Deployment", &mut object).unwrap();
        assert_eq!(object["spec"], json!({"template": {"spec": {}}}));
    }
}
