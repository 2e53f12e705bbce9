"""What a reconcile is about."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Generic, TypeVar

from oarlock import shapes
from oarlock.errors import TerminalError
from oarlock.manifest import Kind

T = TypeVar("T")


class Trigger(StrEnum):
    """The cause of a reconcile, for logs and metrics. The result of a reconcile must not depend on it."""

    EVENT = "event"
    INITIAL_LIST = "initial-list"
    RESYNC = "resync"
    REQUEUE = "requeue"
    RETRY = "retry"
    SWAP = "swap"
    ADMISSION = "admission"


@dataclass(frozen=True)
class ObjectRef:
    """Names one object of a kind: `ObjectRef(kind, namespace="shop", name="card")`. Without a namespace, or with `None`, it is an object of
    a cluster-scoped kind."""

    kind: Kind
    namespace: str = field(default="", kw_only=True)
    name: str = field(kw_only=True)

    def __post_init__(self) -> None:
        if self.namespace is None:
            object.__setattr__(self, "namespace", "")
        if not isinstance(self.namespace, str):
            raise TypeError(f"the namespace of an object is a string, not {self.namespace!r}")
        if not isinstance(self.name, str) or not self.name:
            raise TypeError(f"the name of an object is a string that is not empty, not {self.name!r}")

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind.kind} {self.name}"


@dataclass(frozen=True)
class Request:
    """The request as the contract has it."""

    kind: Kind
    namespace: str
    name: str
    uid: str
    object: str | None
    last_seen: str | None
    deleting: bool
    trigger: Trigger
    attempt: int
    correlation_id: str
    review: str | None
    dry_run: bool


class Context(Generic[T]):
    """What a reconcile is about: the same for each of its calls."""

    def __init__(self, request: Request, shape: type[T] | Any = dict) -> None:
        self.request = request
        """The request as the contract has it."""
        self._shape = shape

    @cached_property
    def object(self) -> T:
        """The object the reconcile is about; when it is gone, its last known state. Parsed when it is first asked for.

        It is not read again after a patch: `cluster.get_object` is.

        Raises `TerminalError`, when it does not have the shape the reconciler asks for, or nothing is known of it.
        """
        return self._in_shape(self.json)

    @cached_property
    def last_seen(self) -> T | None:
        """When the object is gone: the last state the cache held, if any."""
        text = self.request.last_seen
        return None if text is None else self._in_shape(json.loads(text))

    @cached_property
    def json(self) -> dict[str, Any]:
        """`object`, whatever shape the reconciler asks for, as JSON."""
        text = self.request.object if self.request.object is not None else self.request.last_seen
        if text is None:
            raise TerminalError("the object is gone and nothing is known of it")
        value = json.loads(text)
        if not isinstance(value, dict):
            raise TerminalError(f"the {self.kind.kind} is not a JSON object")
        return value

    @cached_property
    def review(self) -> dict[str, Any] | None:
        """Admission: the AdmissionRequest as the API server sent it, plus `pending` initializers. None in a reconcile."""
        return None if self.request.review is None else json.loads(self.request.review)

    @property
    def kind(self) -> Kind:
        """The object's kind: one of the manifest's primaries; at admission, the kind under review."""
        return self.request.kind

    @property
    def namespace(self) -> str:
        """Namespace; empty for cluster-scoped kinds."""
        return self.request.namespace

    @property
    def name(self) -> str:
        """Name."""
        return self.request.name

    @property
    def ref(self) -> ObjectRef:
        """Names the object: for `cluster.get_object`, and as the target of a patch or a deletion."""
        return ObjectRef(self.kind, namespace=self.namespace, name=self.name)

    @property
    def uid(self) -> str:
        """The object's uid, kept when it is gone. What is made for the object is marked with it and found by it: a name may come
        back for another object, a uid never does. Empty only at the admission of a create."""
        return self.request.uid

    @property
    def labels(self) -> dict[str, str]:
        """The object's labels; when it is gone, its last known ones."""
        return self._metadata("labels")

    @property
    def annotations(self) -> dict[str, str]:
        """The object's annotations; when it is gone, its last known ones."""
        return self._metadata("annotations")

    @property
    def deleting(self) -> bool:
        """The object is being deleted or is gone: nothing of it should exist."""
        return self.request.deleting or self.gone

    @property
    def gone(self) -> bool:
        """It no longer exists in the cluster; `object` is its last known state."""
        return self.request.object is None and self.request.review is None

    @property
    def trigger(self) -> Trigger:
        """The cause of this reconcile, for logs and metrics only."""
        return self.request.trigger

    @property
    def attempt(self) -> int:
        """The number of this attempt; 1 is the first since the last success."""
        return self.request.attempt

    @property
    def correlation_id(self) -> str:
        """An id that the log lines, events and requests of one reconcile share."""
        return self.request.correlation_id

    @property
    def dry_run(self) -> bool:
        """Nothing may change: HTTP requests other than GET, HEAD and granted safe ones are refused."""
        return self.request.dry_run

    def owner_reference(self) -> dict[str, Any]:
        """An entry for `metadata.ownerReferences` that makes this object the controller of another in its namespace: that one goes
        when this one goes."""
        return {
            "apiVersion": self.kind.api_version,
            "kind": self.kind.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
        }

    def _in_shape(self, value: dict[str, Any]) -> T:
        try:
            parsed: T = shapes.from_json(self._shape, value)
            return parsed
        except shapes.ShapeError as error:
            raise TerminalError(f"not a {self.kind.kind} this plugin can read: {error}") from None

    def _metadata(self, field: str) -> dict[str, str]:
        return (self.json.get("metadata") or {}).get(field) or {}
