//! Types of samplecrd.k8s.io/v1 Network. Made by `oarlock types`; changes are lost.

#![allow(dead_code, reason = "a plugin need not use every type")]

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A time in RFC 3339, as the API server wrote it.
pub type Time = String;

/// Network is a network with one IPv4 subnet in OpenStack Neutron.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Network {
    #[serde(rename = "apiVersion")]
    pub api_version: String,
    pub kind: String,
    pub metadata: ObjectMeta,
    /// The desired network.
    pub spec: NetworkSpec,
    /// The observed state in Neutron. The plugin writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<NetworkStatus>,
}

impl Network {
    /// What `apiVersion` says.
    pub const API_VERSION: &'static str = "samplecrd.k8s.io/v1";
    /// What `kind` says.
    pub const KIND: &'static str = "Network";
}

/// The desired network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NetworkSpec {
    /// IPv4 range of the subnet: its first address and a prefix length of at most 30, such as
    /// 192.168.0.0/16. This field is immutable.
    pub cidr: String,
    /// IPv4 address of the gateway: an address in cidr, but neither the first (the network address) nor the
    /// last (the broadcast address).
    pub gateway: String,
}

/// The observed state in Neutron. The plugin writes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NetworkStatus {
    /// Range of the first subnet in Neutron.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cidr: Option<String>,
    /// Conditions of the Network. Ready is True when the network and its subnet match the spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<NetworkStatusConditions>>,
    /// Gateway of the first subnet in Neutron.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// Id of the network in Neutron.
    #[serde(rename = "networkId", default, skip_serializing_if = "Option::is_none")]
    pub network_id: Option<String>,
    /// Generation of the spec that the plugin observed last.
    #[serde(rename = "observedGeneration", default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Id of the OpenStack project of the network, if known.
    #[serde(rename = "projectId", default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// Id of the first subnet in Neutron.
    #[serde(rename = "subnetId", default, skip_serializing_if = "Option::is_none")]
    pub subnet_id: Option<String>,
    /// The subnets in Neutron.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subnets: Option<Vec<NetworkStatusSubnets>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NetworkStatusConditions {
    /// Time of the last change of status.
    #[serde(rename = "lastTransitionTime")]
    pub last_transition_time: Time,
    /// Details of the last change, for people.
    pub message: String,
    /// Generation of the spec for which the condition was set.
    #[serde(rename = "observedGeneration", default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Reason of the last change, one word in CamelCase, for programs.
    pub reason: String,
    /// Status of the condition.
    pub status: NetworkStatusConditionsStatus,
    /// Type of the condition, such as Ready.
    pub r#type: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NetworkStatusSubnets {
    /// Range of the subnet in Neutron.
    pub cidr: String,
    /// Gateway of the subnet in Neutron.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// Name of the subnet in the spec of v2; default where a v1 client created it.
    pub name: String,
    /// Id of the subnet in Neutron.
    #[serde(rename = "subnetId")]
    pub subnet_id: String,
}

/// The metadata of an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ObjectMeta {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
    #[serde(rename = "creationTimestamp", default, skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Time>,
    #[serde(rename = "deletionTimestamp", default, skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finalizers: Option<Vec<String>>,
    #[serde(rename = "generateName", default, skip_serializing_if = "Option::is_none")]
    pub generate_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    #[serde(rename = "ownerReferences", default, skip_serializing_if = "Option::is_none")]
    pub owner_references: Option<Vec<ObjectMetaOwnerReferences>>,
    #[serde(rename = "resourceVersion", default, skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Fields outside the schema.
    #[serde(flatten)]
    pub other: BTreeMap<String, serde_json::Value>,
}

/// An owner of the object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ObjectMetaOwnerReferences {
    #[serde(rename = "apiVersion")]
    pub api_version: String,
    #[serde(rename = "blockOwnerDeletion", default, skip_serializing_if = "Option::is_none")]
    pub block_owner_deletion: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    pub kind: String,
    pub name: String,
    pub uid: String,
}

/// Status of the condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub enum NetworkStatusConditionsStatus {
    True,
    False,
    Unknown,
}
