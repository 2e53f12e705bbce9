"""What a plugin does, and the way from there to the contract."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

from oarlock import log, shapes
from oarlock.answers import Apply, Change, Create, Event, Observation, Outcome, Patch
from oarlock.context import Context, Request
from oarlock.errors import OarlockError, milliseconds
from oarlock.manifest import Manifest

A = TypeVar("A")
C = TypeVar("C", bound=type)


class Reconciler(Protocol):
    """What a plugin does: three questions about one object at a time.

    The host asks `desired` and `actual`, compares the two as JSON, and only when they differ asks `patch` for the changes and
    `actual` again. A new object is made for every call: what must live longer goes into `oarlock.cache`, or better into the world.
    """

    def desired(self, cx: Context[Any]) -> Any:
        """The state the object asks for. None: nothing should exist. The host does not call it when the object is
        being deleted or is gone."""

    def actual(self, cx: Context[Any]) -> Any:
        """The state the world is in: an `Observation`, or the state alone. None: nothing exists. Asked again after a patch."""

    def patch(self, cx: Context[Any], desired: Any, actual: Any) -> Outcome | None:
        """Moves `actual` to `desired`: changes in Kubernetes are returned and carried out by the host, effects elsewhere happen here.

        A crash may come after each of them: look for what is there before making something new.
        """


class Converter(Protocol):
    """What a plugin does beside that when its manifest has `conversions`: only then has its class the method `convert`."""

    def convert(self, object: dict[str, Any], desired: str) -> dict[str, Any]:
        """Returns `object` in the API version `desired`, for example `example.com/v2`. Its apiVersion is another version of the
        same definition. Kind, name, namespace and uid stay.

        The result depends on the arguments alone: only the log works in this call. Nothing may be lost on the way to another
        version and back: `keep` what a version lacks, and `restore` it. Raise a `ConversionError` for the user whose request
        fails: it says which field cannot be converted.
        """


def reconciler(manifest: Manifest, *, object: Any = dict, state: Any = None) -> Callable[[C], C]:
    """Makes a class with the methods of `Reconciler` the one that its module exports: one per module.

    * `object` - the shape of `cx.object`: a dataclass with the fields it reads, or `dict`, as JSON has it.
    * `state` - the shape of the states that `patch` is handed: a dataclass, or None, as JSON has it.
    """

    def decorate(cls: C) -> C:
        for method in ("desired", "actual", "patch"):
            if not callable(getattr(cls, method, None)):
                raise TypeError(f"{cls.__name__} needs a method {method}")
        converts = callable(getattr(cls, "convert", None))
        if manifest.conversions and not converts:
            raise TypeError(f"the manifest has conversions, so {cls.__name__} needs a method convert")
        if converts and not manifest.conversions:
            raise TypeError(f'{cls.__name__} has a method convert, but the manifest has no conversions=["things.example.com"]')
        cls.adapter = Adapter(cls, manifest, object, state)  # type: ignore[attr-defined]
        if sys.platform == "wasi":
            from oarlock import _component

            _component.export(cls)
        return cls

    return decorate


class RawObservation(NamedTuple):
    """An observation as the contract has it."""

    state: str | None
    status: str | None
    requeue_after_ms: int | None


class RawOutcome(NamedTuple):
    """An outcome as the contract has it: each change with its document as text; empty for a deletion."""

    changes: list[tuple[Change, str]]
    events: list[Event]
    warnings: list[str]
    requeue_after_ms: int | None


class Adapter:
    """Between the typed class and the contract. The component and the native runner go through it alike."""

    def __init__(self, cls: Callable[[], Reconciler], manifest: Manifest, object: Any, state: Any) -> None:
        self.manifest = manifest
        self._new = cls
        self._object = object
        self._state = state

    def describe(self) -> str:
        return self._guarded(lambda: _text("the manifest", self.manifest.document()))

    def get_desired(self, request: Request) -> str | None:
        def call() -> str | None:
            cx = self._context(request)
            # By definition: the host does not ask, and reconcilers need not think of it.
            return None if cx.deleting else _state("the desired state", self._new().desired(cx))

        return self._guarded(call)

    def get_actual(self, request: Request) -> RawObservation:
        def call() -> RawObservation:
            answer = self._new().actual(self._context(request))
            observed = answer if isinstance(answer, Observation) else Observation(answer)
            status = shapes.to_json(observed.status)
            if status is not None and not isinstance(status, dict):
                raise TypeError(f"the status is not a JSON object: {status!r}")
            return RawObservation(
                _state("the actual state", observed.state),
                None if status is None else _text("the status", status),
                milliseconds(observed.requeue_after),
            )

        return self._guarded(call)

    def patch(self, request: Request, desired: str | None, actual: str | None) -> RawOutcome:
        def call() -> RawOutcome:
            wanted, found = self._parsed("the desired state", desired), self._parsed("the actual state", actual)
            outcome = self._new().patch(self._context(request), wanted, found)
            if outcome is None:
                outcome = Outcome()
            if not isinstance(outcome, Outcome):
                raise TypeError(f"patch answers an Outcome, not {outcome!r}")
            return RawOutcome(
                [(change, _document(change)) for change in outcome.changes],
                outcome.events,
                outcome.warnings,
                milliseconds(outcome.requeue_after),
            )

        return self._guarded(call)

    @property
    def converts(self) -> bool:
        return bool(self.manifest.conversions)

    def convert(self, object: str, desired: str) -> str:
        def call() -> str:
            converted = self._new().convert(json.loads(object), desired)  # type: ignore[attr-defined]
            if not isinstance(converted, dict):
                raise TypeError(f"convert answers an object, not {converted!r}")
            return _text("what convert answered", converted)

        return self._guarded(call)

    def _context(self, request: Request) -> Context[Any]:
        return Context(request, self._object)

    def _parsed(self, what: str, text: str | None) -> Any:
        if text is None:
            return None
        value = json.loads(text)
        return value if self._state is None else shapes.from_json(self._state, value, what)

    def _guarded(self, call: Callable[[], A]) -> A:
        """Logs what a reconciler did not mean to raise: the trap it ends in carries no text."""
        try:
            return call()
        except OarlockError:
            raise
        except BaseException as error:
            log.line("error", log.trace(error), [])
            raise


def _state(what: str, state: Any) -> str | None:
    return None if state is None else _text(what, shapes.to_json(state))


def _document(change: Change) -> str:
    match change:
        case Apply(object=document):
            return _text("apply", document)
        case Create(object=document):
            return _text("create", document)
        case Patch(patch=document):
            return _text("patch", document)
        case _:
            return ""


def _text(what: str, value: Any) -> str:
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{what} is not JSON: {error}") from None
