"""The contract's imports and exports, as componentize-py renders them. Only imported while a component is built."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import wit_world.exports
from componentize_py_types import Err
from wit_world.exports import reconcile as wit
from wit_world.imports import cache, cluster, config, http, log as wit_log, merge, types

from oarlock import http as typed_http
from oarlock import log
from oarlock.answers import Apply, Change, Create, Delete, Event, Patch, Precondition
from oarlock.context import ObjectRef, Request, Trigger
from oarlock.errors import DeniedError, OarlockError, TerminalError, TransientError, milliseconds
from oarlock.host import Level, ListOptions, lent
from oarlock.manifest import Kind

P = ParamSpec("P")
A = TypeVar("A")

_LEVELS = {"debug": wit_log.Level.DEBUG, "info": wit_log.Level.INFO, "warn": wit_log.Level.WARN, "error": wit_log.Level.ERROR}
_PATCHES = {
    "json": wit.PatchType.JSON_PATCH,
    "merge": wit.PatchType.MERGE_PATCH,
    "strategic": wit.PatchType.STRATEGIC_MERGE_PATCH,
}


#: Whether a plugin converts is known once its module has run. componentize.py then chooses the other world.
WORLDS = {
    True: "this plugin converts: build it for the world converting-plugin",
    False: "this plugin does not convert: build it for the world plugin",
}


def export(cls: Any) -> None:
    """Makes `cls` the reconciler of its module: componentize-py looks there for a class of this name."""
    module = sys.modules[cls.__module__]
    if cls.__name__ == "Reconcile" or hasattr(module, "Reconcile"):
        raise TypeError(f"{module.__name__} exports one reconciler, and the name Reconcile is kept for it")
    adapter = cls.adapter
    if adapter.converts != hasattr(wit_world.exports, "Conversion"):
        raise TypeError(WORLDS[adapter.converts])

    class Reconcile(wit_world.exports.Reconcile):
        def describe(self) -> str:
            with _Call():
                return str(adapter.describe())

        def get_desired(self, request: types.Request) -> str | None:
            with _Call():
                desired: str | None = adapter.get_desired(_request(request))
                return desired

        def get_actual(self, request: types.Request) -> wit.Observation:
            with _Call():
                return wit.Observation(*adapter.get_actual(_request(request)))

        def patch(self, request: types.Request, desired: str | None, actual: str | None) -> wit.Outcome:
            with _Call():
                changes, events, warnings, requeue_after_ms = adapter.patch(_request(request), desired, actual)
                changes = [_change(change, text) for change, text in changes]
                return wit.Outcome(changes, [_event(event) for event in events], warnings, requeue_after_ms)

    if adapter.converts:

        class Conversion(wit_world.exports.Conversion):
            def convert(self, object: str, desired_api_version: str) -> str:
                with _Call(lambda error: error.message):
                    return str(adapter.convert(object, desired_api_version))

        module.Conversion = Conversion  # type: ignore[attr-defined]
    module.Reconcile = Reconcile  # type: ignore[attr-defined]
    log.to_host()
    # There are no files: what prints a trace need not ask the host for those with the source.
    linecache.updatecache = lambda *_: []


class _Call:
    """One call: the host is lent, prints are lines of its log, errors become those of the contract."""

    def __init__(self, raw: Callable[[OarlockError], Any] | None = None) -> None:
        self._raw = raw or _error

    def __enter__(self) -> None:
        self._lent = lent(ComponentHost())
        self._lent.__enter__()
        self._streams = sys.stdout, sys.stderr
        self._writers = log.LineWriter("info"), log.LineWriter("warn")
        sys.stdout, sys.stderr = self._writers

    def __exit__(self, _: Any, error: BaseException | None, __: Any) -> None:
        for writer in self._writers:
            writer.finish()
        sys.stdout, sys.stderr = self._streams
        self._lent.__exit__(None, None, None)
        if isinstance(error, OarlockError):
            raise Err(self._raw(error)) from None
        if error is not None:
            # It is in the log already: componentize-py would print it once more before it ends the call.
            sys.excepthook = lambda *_: None


class ComponentHost:
    """The contract's imports."""

    def get_object(self, kind: Kind, namespace: str, name: str) -> str | None:
        return _asked(cluster.get_object, _kind(kind), types.ObjectKey(namespace, name))

    def get_applied(self, kind: Kind, namespace: str, name: str) -> str | None:
        return _asked(cluster.get_applied, _kind(kind), types.ObjectKey(namespace, name))

    def get_live(self, kind: Kind, namespace: str, name: str) -> str | None:
        return _asked(cluster.get_live, _kind(kind), types.ObjectKey(namespace, name))

    def list_objects(self, kind: Kind, options: ListOptions) -> list[str]:
        return _asked(cluster.list_objects, _kind(kind), _options(options))

    def list_indexed(self, kind: Kind, index: str, value: str, options: ListOptions) -> list[str]:
        return _asked(cluster.list_indexed, _kind(kind), index, value, _options(options))

    def create_two_way(self, kind: Kind, original: str, modified: str) -> str:
        return _asked(merge.create_two_way, _kind(kind), original, modified)

    def create_three_way(self, kind: Kind, original: str, modified: str, current: str) -> str:
        return _asked(merge.create_three_way, _kind(kind), original, modified, current)

    def apply_patch(self, kind: Kind, original: str, patch: str) -> str:
        return _asked(merge.apply_patch, _kind(kind), original, patch)

    def send(self, request: typed_http.Request) -> typed_http.Response:
        headers = [http.Header(name, value) for name, value in request.headers.items()]
        timeout_ms = min(milliseconds(request.timeout) or 0, 2**32 - 1)
        outgoing = http.Outgoing(request.method, request.url, headers, request.body, timeout_ms)
        try:
            answer = http.send(outgoing)
        except Err as failed:
            raise _failure(failed.value) from None
        told = [(header.name, header.value) for header in answer.headers]
        return typed_http.Response(answer.status, bytes(answer.body), told, url=request.url)

    def cache_get(self, key: str) -> bytes | None:
        value: bytes | None = cache.get(key)
        return value

    def cache_set(self, key: str, value: bytes, ttl_ms: int) -> None:
        cache.set(key, value, ttl_ms)

    def config_get(self, key: str) -> str | None:
        value: str | None = config.get(key)
        return value

    def config_keys(self) -> list[str]:
        keys: list[str] = config.keys()
        return keys

    def log(self, level: Level, message: str, fields: Sequence[tuple[str, str]]) -> None:
        wit_log.log(_LEVELS[level], message, list(fields))


def _asked(ask: Callable[P, A], *arguments: P.args, **named: P.kwargs) -> A:
    try:
        return ask(*arguments, **named)
    except Err as refused:
        raise _raised(refused.value) from None


def _raised(error: Any) -> OarlockError:
    match error:
        case types.Error_Transient(retry):
            delay = None if retry.delay_ms is None else retry.delay_ms / 1000
            return TransientError(retry.message, delay=delay)
        case types.Error_Denied(denial):
            return DeniedError(denial.message, code=denial.code, reason=denial.reason)
    return TerminalError(error.value)


def _error(error: OarlockError) -> Any:
    match error:
        case TransientError():
            return types.Error_Transient(types.Retry(error.delay_ms, error.message))
        case DeniedError():
            return types.Error_Denied(types.Denial(error.code, error.reason, error.message))
    return types.Error_Terminal(error.message)


def _failure(failure: Any) -> typed_http.RequestException:
    match failure:
        case http.Failure_Denied(why):
            return typed_http.Denied(f"request denied: {why}")
        case http.Failure_Unreachable(why):
            return typed_http.ConnectionError(f"unreachable: {why}")
        case http.Failure_TimedOut():
            return typed_http.Timeout("no answer in time")
        case http.Failure_TooLarge(limit):
            return typed_http.TooLarge(limit)
    return typed_http.InvalidRequest(f"the request makes no sense: {failure.value}")


def _request(request: types.Request) -> Request:
    return Request(
        kind=Kind(request.kind.group, request.kind.version, request.kind.kind),
        namespace=request.key.namespace,
        name=request.key.name,
        uid=request.uid,
        object=request.object,
        last_seen=request.last_seen,
        deleting=request.deleting,
        trigger=Trigger(request.trigger.name.lower().replace("_", "-")),
        attempt=request.attempt,
        correlation_id=request.correlation_id,
        review=request.review,
        dry_run=request.dry_run,
    )


def _kind(kind: Kind) -> types.GroupVersionKind:
    return types.GroupVersionKind(kind.group, kind.version, kind.kind)


def _options(options: ListOptions) -> cluster.ListOptions:
    return cluster.ListOptions(options.namespace, options.label_selector, options.owner_uid, options.limit)


def _ref(ref: ObjectRef) -> wit.ObjectRef:
    return wit.ObjectRef(_kind(ref.kind), types.ObjectKey(ref.namespace, ref.name))


def _precondition(of: Precondition) -> wit.Precondition:
    return wit.Precondition(of.uid, of.resource_version)


def _change(change: Change, text: str) -> Any:
    match change:
        case Apply():
            on = _precondition(change.precondition)
            return wit.Change_Apply(wit.ApplyChange(text, change.subresource, change.force, on))
        case Create():
            return wit.Change_Create(text)
        case Patch():
            target = None if change.target is None else _ref(change.target)
            on = _precondition(change.precondition)
            return wit.Change_Patch(wit.PatchChange(target, _PATCHES[change.type], text, change.subresource, on))
        case Delete():
            how = wit.Propagation[change.propagation.upper()]
            return wit.Change_Delete(wit.DeleteChange(_ref(change.target), how, _precondition(change.precondition)))


def _event(event: Event) -> wit.Event:
    return wit.Event(wit.Severity[event.severity.upper()], event.reason, event.message)
