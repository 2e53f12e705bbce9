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

DifficultSpecProtocol = Literal["TCP", "UDP"]


# A kind * / with / * difficult / names.
class Difficult(TypedDict):
    apiVersion: Literal["example.com/v1"]
    kind: Literal["Difficult"]
    metadata: ObjectMeta
    spec: DifficultSpec


# Exactly one of: from, self.
# At most one of: any, port.
DifficultSpec = TypedDict("DifficultSpec", {
    "": "NotRequired[str]",
    "-": "NotRequired[str]",
    "3rd": "NotRequired[bool]",
    "a,b": "NotRequired[str]",
    "any": "NotRequired[Any]",
    # ``PEM``, or ''
    #
    # A Heading
    #
    # [it]: ends here ? ?/
    "certificate": "NotRequired[str]",
    "code": "NotRequired[int]",
    "from": "NotRequired[str]",
    "labels": "NotRequired[dict[str, str]]",
    "large": "NotRequired[int]",
    "limit": "IntOrString | None",
    "lists": "NotRequired[dict[str, list[bool] | None]]",
    "matrix": "NotRequired[list[list[int | None]]]",
    "memory": "NotRequired[Quantity]",
    # Default: "on".
    "mode": "DifficultSpecMode",
    "name": "NotRequired[str | None]",
    "none": "NotRequired[str]",
    "open": "NotRequired[DifficultSpecOpen]",
    "parts": "NotRequired[dict[str, DifficultSpecParts | None]]",
    "places": "NotRequired[list[str | None] | None]",
    "pod-cidr": "NotRequired[str]",
    "podCIDR": "NotRequired[str]",
    "port": "NotRequired[IntOrString]",
    "ports": "NotRequired[list[IntOrString | None]]",
    "protocol": "NotRequired[DifficultSpecProtocol]",
    "ratio": "NotRequired[float]",
    "rules": "NotRequired[dict[str, DifficultSpecRules]]",
    "self": "NotRequired[str]",
    "share": "NotRequired[float | None]",
    "since": "NotRequired[Time]",
    # ``PEM``, or ''
    #
    # A Heading
    #
    # [it]: ends here
    "target": "NotRequired[DifficultSpecTarget | None]",
    # The keyword of Rust.
    "type": "str",
})


# Objects may have more fields.
class DifficultSpecOpen(TypedDict):
    other: NotRequired[str]


class DifficultSpecParts(TypedDict):
    int: NotRequired[int]


class DifficultSpecRules(TypedDict):
    spec: NotRequired[DifficultSpecRulesSpec]


class DifficultSpecRulesSpec(TypedDict):
    spec: NotRequired[str]


# ``PEM``, or ''
#
# A Heading
#
# [it]: ends here
# Exactly one field.
class DifficultSpecTarget(TypedDict):
    podIPs: NotRequired[list[str]]
    url: NotRequired[str]


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
