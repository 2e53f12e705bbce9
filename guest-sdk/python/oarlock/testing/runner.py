"""One object, reconciled as the host would."""

from __future__ import annotations

import copy
import json
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from oarlock import http, log
from oarlock.answers import Apply, Change, Event
from oarlock.context import ObjectRef, Request, Trigger
from oarlock.errors import Duration, OarlockError, milliseconds
from oarlock.host import lent
from oarlock.manifest import kind
from oarlock.reconciler import Adapter, RawObservation
from oarlock.testing import patches
from oarlock.testing.conversion import LogOnly, check_converted
from oarlock.testing.difference import differences, shortened
from oarlock.testing.world import Handler, LogLine, World, ref_of

JsonObject = dict[str, Any]


@dataclass(repr=False)
class Report:
    """What one reconcile did.

    As text, `assertTrue(report.in_sync, report)` for instance, it is a summary: the error, or where the states differ.
    """

    desired: Any = None
    """The state the object asked for."""
    before: Any = None
    """The state the world was in before the patch."""
    after: Any = None
    """The state after it; the same as `before` when nothing was patched."""
    status: JsonObject | None = None
    """What the last observation said about the object."""
    patched: bool = False
    """Whether `patch` was asked."""
    changes: list[Change] = field(default_factory=list)
    """The changes it answered."""
    events: list[Event] = field(default_factory=list)
    """Events to write: only those of a patch whose changes were carried out."""
    warnings: list[str] = field(default_factory=list)
    """For the user (admission)."""
    error: OarlockError | None = None
    """What ended the reconcile early. An exception of another class is a fault of the reconciler, and raised in the test."""
    requeue_after: timedelta | None = None
    """The earliest time the plugin asked to look again."""
    requests: list[http.Request] = field(default_factory=list)
    log: list[LogLine] = field(default_factory=list)
    gone: bool = False
    """Whether the object exists no more: its finalizer was let go."""

    @property
    def in_sync(self) -> bool:
        """No error, and nothing left to do."""
        return self.error is None and patches.same(self.desired, self.after)

    @property
    def applied(self) -> list[JsonObject]:
        """The documents of its applies."""
        return [change.object for change in self.changes if isinstance(change, Apply)]

    @property
    def request_lines(self) -> list[str]:
        """Method and path of its requests, `GET /v2.0/networks` for instance."""
        return [f"{request.method} {request.path}" for request in self.requests]

    @property
    def event_lines(self) -> list[str]:
        """`Normal Synced: message` for each event."""
        return [f"{event.severity.capitalize()} {event.reason}: {event.message}" for event in self.events]

    def __repr__(self) -> str:
        did = f"changes: {len(self.changes)}, HTTP requests: {len(self.requests)}" if self.patched else "nothing patched"
        if self.error is not None:
            return f"Report: {type(self.error).__name__}: {shortened(str(self.error), 500)} ({did})"
        if self.in_sync:
            return f"Report: in sync ({did})"
        return "\n  ".join([f"Report: out of sync ({did})", *differences(self.desired, self.after)])


class Runner:
    """Runs a reconciler for one object. The world stays between reconciles: objects, cache, clock.

    * `reconciler` - a class with the decorator `@reconciler`.
    * `object` - the primary object; it gets a uid when it has none.
    * `config` - values of the configuration.
    * `cluster` - other objects, not of this plugin's making.
    * `http` - answers HTTP requests: a function from `oarlock.http.Request` to `Response`, or a list of answers in the order they are
      needed; an exception among them is raised.
    * `dry_run` - nothing may change.
    """

    def __init__(
        self,
        reconciler: type,
        object: JsonObject | None = None,
        *,
        config: Mapping[str, str] | None = None,
        cluster: Iterable[JsonObject] = (),
        http: Handler | Iterable[http.Response | Exception] | None = None,
        dry_run: bool = False,
    ) -> None:
        adapter = getattr(reconciler, "adapter", None)
        if not isinstance(adapter, Adapter):
            raise TypeError(f"{reconciler.__name__} is no reconciler: the decorator @reconciler is missing")
        self._adapter = adapter
        # As the host does first of all.
        json.loads(adapter.describe())
        self._world = World(adapter.manifest, dict(config or {}), dry_run=dry_run)
        self._ref: ObjectRef | None = None
        self._uid = ""
        self._last_seen: JsonObject | None = None
        self._attempt = 1
        if callable(http):
            self._world.handler = http
        elif http is not None:
            self._world.scripted = deque(http)
        for one in cluster:
            self.put(one)
        if object is not None:
            self.set_object(object)

    @property
    def config(self) -> dict[str, str]:
        """The configuration; may be changed."""
        return self._world.config

    def script(self, *answers: http.Response | Exception) -> None:
        """Answers the next requests with these, in order, before the handler is asked again."""
        self._world.scripted.extend(answers)

    def set_object(self, object: JsonObject) -> None:
        """The primary object, created or replaced in the cluster."""
        self._ref = self.put(object)

    def put(self, object: JsonObject) -> ObjectRef:
        """Creates or replaces an object, as somebody else would."""
        ref = ref_of(object)
        self._world.store(ref, copy.deepcopy(object))
        return ref

    def edit(self, change: Callable[[JsonObject], Any]) -> None:
        """Changes the primary object in place, as its user would."""
        ref, live = self._primary(), self.current
        if live is not None:
            change(live)
            self._world.store(ref, live)

    def delete(self) -> None:
        """Deletes the primary object, as its user would: with a finalizer it stays until that is let go."""
        if self._world.manifest.cleanup:
            going = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
            self.edit(lambda live: live.update(patches.merge_patch(live, going)))
        else:
            self._last_seen = self._world.objects.pop(self._primary(), None)
            self._uid = _uid(self._last_seen or {})

    def advance(self, by: Duration) -> None:
        """Time passes: values in the cache expire."""
        self._world.now_ms += milliseconds(by) or 0

    def restart(self) -> None:
        """The host restarts: what it kept in memory is lost."""
        self._world.cache.clear()
        self._attempt = 1

    @property
    def current(self) -> JsonObject | None:
        """The primary object as it is."""
        return copy.deepcopy(self._world.objects.get(self._primary()))

    def get(self, ref: ObjectRef) -> JsonObject | None:
        """An object of the cluster."""
        return copy.deepcopy(self._world.objects.get(ref))

    def remove(self, ref: ObjectRef) -> JsonObject | None:
        """Removes an object of the cluster, as somebody else would."""
        self._world.documents.pop(ref, None)
        return self._world.objects.pop(ref, None)

    def reconcile(self) -> Report:
        """One reconcile."""
        request = self._request(self._primary())
        report = self._run(request, None)
        self._attempt = 1 if report.error is None else self._attempt + 1
        if report.error is None and not self._world.dry_run:
            self._finish(request, report)
        return report

    def settle(self, limit: int = 10) -> list[Report]:
        """Reconciles until nothing is left to do, at most `limit` times, and returns every report."""
        reports: list[Report] = []
        while len(reports) < limit and not (reports and reports[-1].in_sync and not reports[-1].patched):
            reports.append(self.reconcile())
            if reports[-1].gone:
                break
        return reports

    def admit(self, object: JsonObject, review: JsonObject | None = None) -> tuple[Report, JsonObject]:
        """Admission of `object`. Returns the object as it was changed, too.

        * `review` - the AdmissionRequest, whose `namespace` and `name` count where the object has none.
        """
        review = review or {}
        metadata = object.get("metadata") or {}
        name, namespace = (metadata.get(part) or review.get(part) or "" for part in ("name", "namespace"))
        request = Request(
            kind=kind(object["apiVersion"], object["kind"]),
            namespace=namespace,
            name=name,
            uid=metadata.get("uid", ""),
            object=json.dumps(object),
            last_seen=None,
            deleting="deletionTimestamp" in metadata,
            trigger=Trigger.ADMISSION,
            attempt=1,
            correlation_id="native",
            review=json.dumps(review),
            dry_run=self._world.dry_run,
        )
        under_review = [copy.deepcopy(object)]
        report = self._run(request, under_review)
        return report, under_review[0]

    def convert(self, object: JsonObject, desired: str) -> JsonObject:
        """An object in another API version, by the method `convert`.

        A `ConversionError` is raised, and so is what the host would refuse of the answer.
        """
        if not self._adapter.converts:
            raise TypeError("the reconciler has no method convert, and its manifest no conversions")
        with lent(LogOnly(self._world)):
            text = self._adapter.convert(json.dumps(object), desired)
        converted: JsonObject = json.loads(text)
        check_converted(object, converted, desired)
        return converted

    def _primary(self) -> ObjectRef:
        if self._ref is None:
            raise RuntimeError("the runner has no object: hand it one, or call set_object() first")
        return self._ref

    def _request(self, ref: ObjectRef) -> Request:
        live = self._world.objects.get(ref)
        if live is not None:
            self._uid, self._last_seen = _uid(live), live
        last_seen = self._last_seen if live is None else None
        return Request(
            kind=ref.kind,
            namespace=ref.namespace,
            name=ref.name,
            uid=self._uid,
            object=None if live is None else json.dumps(live),
            last_seen=None if last_seen is None else json.dumps(last_seen),
            deleting=live is None or "deletionTimestamp" in live["metadata"],
            trigger=Trigger.RETRY if self._attempt > 1 else Trigger.EVENT,
            attempt=self._attempt,
            correlation_id="native",
            review=None,
            dry_run=self._world.dry_run,
        )

    def _run(self, request: Request, under_review: list[JsonObject] | None) -> Report:
        """The order of a reconcile: desired, actual, and when they differ patch, the changes, and actual again."""
        report = Report()
        lines, sent = len(self._world.lines), len(self._world.requests)
        root = logging.getLogger()
        handler, level = log.HostHandler(), root.level
        root.addHandler(handler)
        root.setLevel(logging.DEBUG)
        try:
            with lent(self._world):
                self._steps(request, report, under_review)
        except OarlockError as error:
            report.error = error
        finally:
            root.removeHandler(handler)
            root.setLevel(level)
            report.log, report.requests = self._world.lines[lines:], self._world.requests[sent:]
        return report

    def _steps(self, request: Request, report: Report, under_review: list[JsonObject] | None) -> None:
        desired = None if request.deleting else self._adapter.get_desired(request)
        report.desired = _parsed(desired)
        observed = self._observe(request, report)
        report.before = report.after
        if patches.same(report.desired, report.before):
            return
        report.patched = True
        outcome = self._adapter.patch(request, desired, observed.state)
        report.changes = [change for change, _ in outcome.changes]
        report.warnings = outcome.warnings
        _earlier(report, outcome.requeue_after_ms)
        if request.dry_run:
            return
        for change in report.changes:
            changed = self._world.carry_out(change, under_review[0] if under_review else None)
            if under_review and changed is not None:
                under_review[0] = changed
        report.events = outcome.events
        if under_review:
            request = Request(**{**vars(request), "object": json.dumps(under_review[0])})
        self._observe(request, report)

    def _observe(self, request: Request, report: Report) -> RawObservation:
        observed = self._adapter.get_actual(request)
        report.after, report.status = _parsed(observed.state), _parsed(observed.status)
        _earlier(report, observed.requeue_after_ms)
        return observed

    def _finish(self, request: Request, report: Report) -> None:
        """What the host does afterwards: status, and the finalizer of an object that is going."""
        ref = self._primary()
        live = self._world.objects.get(ref)
        if report.status is not None and live is not None:
            status = patches.merge_patch(live.get("status") or {}, report.status)
            if not patches.same(status, live.get("status") or {}):
                self._world.store(ref, live | {"status": status})
        if request.deleting and request.object is not None and report.after is None:
            self._last_seen = self._world.objects.pop(ref, None)
            report.gone = True


def _uid(live: JsonObject) -> str:
    return str((live.get("metadata") or {}).get("uid", ""))


def _parsed(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _earlier(report: Report, also_ms: int | None) -> None:
    if also_ms is not None:
        also = timedelta(milliseconds=also_ms)
        report.requeue_after = also if report.requeue_after is None else min(report.requeue_after, also)
