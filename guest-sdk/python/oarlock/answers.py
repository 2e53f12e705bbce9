"""What `actual` and `patch` answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self

from oarlock import shapes
from oarlock.context import ObjectRef
from oarlock.errors import Duration
from oarlock.manifest import kind

JsonObject = dict[str, Any]
PatchType = Literal["json", "merge", "strategic"]
Propagation = Literal["background", "foreground", "orphan"]
Severity = Literal["normal", "warning"]


@dataclass(frozen=True)
class Observation:
    """The world as it is, and what to say about it."""

    state: Any = None
    """What exists, in whatever form is handy to compare. None: nothing does."""
    status: Any = None
    """Fields of the object's status: a dict or a dataclass. Written only where they differ from what is stored; fields written before
    that are not among them are taken away. None: no fields."""
    requeue_after: Duration | None = None
    """Look again although nothing changed, because something is still building. At most a day."""


@dataclass(frozen=True)
class Precondition:
    """Refuse the change when the object has another uid or resource version by now."""

    uid: str | None = None
    resource_version: str | None = None


@dataclass(frozen=True)
class Apply:
    """Server-side apply: the whole of what this plugin wants of the object. What it wanted before and left out now is removed."""

    object: JsonObject
    subresource: str = ""
    force: bool = False
    """Take fields over from other field managers. Without it a conflict is a warning event and a slow retry."""
    precondition: Precondition = Precondition()

    def __post_init__(self) -> None:
        _document("apply", self.object)


@dataclass(frozen=True)
class Create:
    """Creates an object; that it exists already is a failure."""

    object: JsonObject

    def __post_init__(self) -> None:
        _document("create", self.object)


@dataclass(frozen=True)
class Patch:
    """A patch of an existing object. `target` None: the object under review (admission)."""

    target: ObjectRef | None
    patch: Any
    type: PatchType = "merge"
    subresource: str = ""
    precondition: Precondition = Precondition()

    def __post_init__(self) -> None:
        wanted = list if self.type == "json" else dict
        if not isinstance(self.patch, wanted):
            raise TypeError(f"a {self.type} patch is a {wanted.__name__}, not {self.patch!r}")


@dataclass(frozen=True)
class Delete:
    """A deletion. An object that is gone already counts as deleted."""

    target: ObjectRef
    propagation: Propagation = "background"
    precondition: Precondition = Precondition()


Change = Apply | Create | Patch | Delete


@dataclass(frozen=True)
class Event:
    """A Kubernetes Event on the object. Equal ones are counted, not repeated."""

    reason: str
    """UpperCamelCase, at most 128 bytes."""
    message: str
    """At most 1024 bytes are kept."""
    severity: Severity = "normal"


@dataclass
class Outcome:
    """What the host is to do: changes in order, then events, and when to look again.

    Built in one go, or step by step: `Outcome().apply(document).event("Synced", "Everything is in place")`.
    """

    changes: list[Change] = field(default_factory=list)
    """Checked against the grant, then carried out in order; the first failure ends the list."""
    events: list[Event] = field(default_factory=list)
    """Written after the changes were carried out."""
    warnings: list[str] = field(default_factory=list)
    """Admission only: for the user who sent the request."""
    requeue_after: Duration | None = None
    """As in `Observation`; of both the earlier counts."""

    def apply(
        self,
        object: JsonObject,
        *,
        force: bool = False,
        subresource: str = "",
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> Self:
        """Server-side apply of a document with apiVersion, kind, metadata.name, and metadata.namespace for namespaced kinds.

        A conflict with another field manager is a warning event and a slow retry, unless `force`. `uid` and `resource_version` are
        preconditions.
        """
        return self.change(Apply(shapes.to_json(object), subresource, force, Precondition(uid, resource_version)))

    def create(self, object: JsonObject) -> Self:
        """Creates an object; that it exists already is a failure."""
        return self.change(Create(shapes.to_json(object)))

    def patch(
        self,
        target: ObjectRef | None,
        patch: Any,
        *,
        type: PatchType = "merge",
        subresource: str = "",
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> Self:
        """Patches an existing object; in admission `None` is the object under review."""
        precondition = Precondition(uid, resource_version)
        return self.change(Patch(target, shapes.to_json(patch), type, subresource, precondition))

    def delete(
        self,
        target: ObjectRef,
        *,
        propagation: Propagation = "background",
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> Self:
        """Deletes an object; that it is gone already counts as done."""
        return self.change(Delete(target, propagation, Precondition(uid, resource_version)))

    def change(self, change: Change) -> Self:
        """Adds a change."""
        self.changes.append(change)
        return self

    def event(self, reason: str, message: str) -> Self:
        """Adds a Normal event on the object. `reason` is UpperCamelCase."""
        self.events.append(Event(reason, message))
        return self

    def warning_event(self, reason: str, message: str) -> Self:
        """Adds a Warning event on the object."""
        self.events.append(Event(reason, message, "warning"))
        return self

    def warn(self, message: str) -> Self:
        """Admission only: adds a warning for the user who sent the request."""
        self.warnings.append(message)
        return self

    def requeue(self, after: Duration) -> Self:
        """Look again although nothing changed. At most a day."""
        self.requeue_after = after
        return self


def object_ref(document: JsonObject) -> ObjectRef:
    """Names the object that a document describes."""
    metadata = document["metadata"]
    return ObjectRef(kind(document["apiVersion"], document["kind"]), namespace=metadata.get("namespace"), name=metadata["name"])


def _document(what: str, value: Any) -> None:
    """Said where the document is made, not where the host refuses it."""
    if not isinstance(value, dict):
        raise TypeError(f"{what} takes a JSON object, not {value!r}")
    metadata = value.get("metadata")
    named = isinstance(metadata, dict) and (metadata.get("name") or metadata.get("generateName"))
    if not (value.get("apiVersion") and value.get("kind") and named):
        raise ValueError(f"{what} takes an object with apiVersion, kind and metadata.name, not {value!r}")
