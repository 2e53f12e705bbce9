//! Check of the table against the built-in types of the crate k8s-openapi.

use k8s_openapi::{api, apiextensions_apiserver, kube_aggregator};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

type RoundTrip = fn(&Value) -> Result<Value, serde_json::Error>;

fn through<T: Serialize + DeserializeOwned>(value: &Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(T::deserialize(value)?)
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

/// The fields of an object that its type lacks; none for kinds without a type here.
pub(super) fn unknown(
    group: &str,
    version: &str,
    kind: &str,
    object: &Value,
) -> Result<Vec<String>, serde_json::Error> {
    let mut out = Vec::new();
    if let Some(round_trip) = round_trip(group, version, kind) {
        lost(object, &round_trip(object)?, "", &mut out);
    }
    Ok(out)
}

fn lost(value: &Value, known: &Value, path: &str, out: &mut Vec<String>) {
    match (value, known) {
        (Value::Object(map), Value::Object(known)) => {
            for (key, member) in map {
                match known.get(key) {
                    Some(known) => lost(member, known, &format!("{path}.{key}"), out),
                    None => out.push(format!("{path}.{key}")),
                }
            }
        }
        (Value::Array(list), Value::Array(known)) => {
            for (member, known) in list.iter().zip(known) {
                lost(member, known, path, out);
            }
        }
        _ => {}
    }
}
