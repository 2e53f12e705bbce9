# Types of samplecrd.k8s.io/v1 Network. Made by `oarlock types`; changes are lost.
from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

# A time in RFC 3339.
Time = str

# Status of the condition.
NetworkStatusConditionsStatus = Literal["True", "False", "Unknown"]


# Network is a network with one IPv4 subnet in OpenStack Neutron.
class Network(TypedDict):
    apiVersion: Literal["samplecrd.k8s.io/v1"]
    kind: Literal["Network"]
    metadata: ObjectMeta
    # The desired network.
    spec: NetworkSpec
    # The observed state in Neutron. The plugin writes it.
    status: NotRequired[NetworkStatus]


# The desired network.
class NetworkSpec(TypedDict):
    # IPv4 range of the subnet: its first address and a prefix length of at most 30, such as
    # 192.168.0.0/16. This field is immutable.
    cidr: str
    # IPv4 address of the gateway: an address in cidr, but neither the first (the network address) nor the
    # last (the broadcast address).
    gateway: str


# The observed state in Neutron. The plugin writes it.
class NetworkStatus(TypedDict):
    # Range of the first subnet in Neutron.
    cidr: NotRequired[str]
    # Conditions of the Network. Ready is True when the network and its subnet match the spec.
    conditions: NotRequired[list[NetworkStatusConditions]]
    # Gateway of the first subnet in Neutron.
    gateway: NotRequired[str]
    # Id of the network in Neutron.
    networkId: NotRequired[str]
    # Generation of the spec that the plugin observed last.
    observedGeneration: NotRequired[int]
    # Id of the OpenStack project of the network, if known.
    projectId: NotRequired[str]
    # Id of the first subnet in Neutron.
    subnetId: NotRequired[str]
    # The subnets in Neutron.
    subnets: NotRequired[list[NetworkStatusSubnets]]


class NetworkStatusConditions(TypedDict):
    # Time of the last change of status.
    lastTransitionTime: Time
    # Details of the last change, for people.
    message: str
    # Generation of the spec for which the condition was set.
    observedGeneration: NotRequired[int]
    # Reason of the last change, one word in CamelCase, for programs.
    reason: str
    # Status of the condition.
    status: NetworkStatusConditionsStatus
    # Type of the condition, such as Ready.
    type: str


class NetworkStatusSubnets(TypedDict):
    # Range of the subnet in Neutron.
    cidr: str
    # Gateway of the subnet in Neutron.
    gateway: NotRequired[str]
    # Name of the subnet in the spec of v2; default where a v1 client created it.
    name: str
    # Id of the subnet in Neutron.
    subnetId: str


# The metadata of an object.
# Objects may have more fields.
class ObjectMeta(TypedDict):
    annotations: NotRequired[dict[str, str]]
    creationTimestamp: NotRequired[Time]
    deletionTimestamp: NotRequired[Time]
    finalizers: NotRequired[list[str]]
    generateName: NotRequired[str]
    generation: NotRequired[int]
    labels: NotRequired[dict[str, str]]
    name: str
    namespace: NotRequired[str]
    ownerReferences: NotRequired[list[ObjectMetaOwnerReferences]]
    resourceVersion: NotRequired[str]
    uid: NotRequired[str]


# An owner of the object.
class ObjectMetaOwnerReferences(TypedDict):
    apiVersion: str
    blockOwnerDeletion: NotRequired[bool]
    controller: NotRequired[bool]
    kind: str
    name: str
    uid: str
