# Types of example.com/v1 Difficult. Made by `oarlock types`; changes are lost.
from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

# A time in RFC 3339.
Time = str

# An integer or a string.
IntOrString = int | str

# A quantity such as 100m or 2Gi.
Quantity = int | float | str

DifficultSpecMode = Literal["", "on", "On", "ON", "a\"b"]


# A kind * / with / * difficult / names.
class Difficult(TypedDict):
    apiVersion: Literal["example.com/v1"]
    kind: Literal["Difficult"]
    metadata: ObjectMeta
    spec: DifficultSpec


# Exactly one of: from, self.
DifficultSpec = TypedDict("DifficultSpec", {
    "3rd": "NotRequired[bool]",
    "any": "NotRequired[Any]",
    "from": "NotRequired[str]",
    "labels": "NotRequired[dict[str, str]]",
    "large": "NotRequired[int]",
    "limit": "IntOrString | None",
    "matrix": "NotRequired[list[list[int | None]]]",
    "memory": "NotRequired[Quantity]",
    # Default: "on".
    "mode": "DifficultSpecMode",
    "none": "NotRequired[str]",
    "open": "NotRequired[DifficultSpecOpen]",
    "pod-cidr": "NotRequired[str]",
    "podCIDR": "NotRequired[str]",
    "port": "NotRequired[IntOrString]",
    "ratio": "NotRequired[float]",
    "rules": "NotRequired[dict[str, DifficultSpecRules]]",
    "self": "NotRequired[str]",
    "since": "NotRequired[Time]",
    # The keyword of Rust.
    "type": "str",
})


# Objects may have more fields.
class DifficultSpecOpen(TypedDict):
    other: NotRequired[str]


class DifficultSpecRules(TypedDict):
    spec: NotRequired[DifficultSpecRulesSpec]


class DifficultSpecRulesSpec(TypedDict):
    spec: NotRequired[str]


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
