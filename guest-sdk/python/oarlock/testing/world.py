"""What surrounds a reconciler in a native test: a cluster, a cache, a clock, HTTP."""

from __future__ import annotations

import copy
import json
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from oarlock import http
from oarlock.answers import Apply, Change, Create, Delete, Patch, PatchType, Precondition
from oarlock.context import ObjectRef
from oarlock.errors import TerminalError, TransientError
from oarlock.host import Level, ListOptions
from oarlock.manifest import Kind, Manifest, Primary, kind
from oarlock.testing import indexes, patches

JsonObject = dict[str, Any]
#: Answers requests; raises a `RequestException` where there is no answer.
Handler = Callable[[http.Request], http.Response]


@dataclass(frozen=True)
class LogLine:
    """One line a reconciler logged."""

    level: Level
    message: str
    fields: dict[str, str]


@dataclass
class World:
    """Everything a reconciler can reach: a `Host` in memory."""

    manifest: Manifest
    config: dict[str, str] = field(default_factory=dict)
    handler: Handler | None = None
    scripted: deque[http.Response | Exception] = field(default_factory=deque)
    dry_run: bool = False
    objects: dict[ObjectRef, JsonObject] = field(default_factory=dict)
    documents: dict[ObjectRef, JsonObject] = field(default_factory=dict)
    """What this plugin applied last."""
    cache: dict[str, tuple[bytes, int | None]] = field(default_factory=dict)
    """Values with the time they expire."""
    now_ms: int = 0
    requests: list[http.Request] = field(default_factory=list)
    lines: list[LogLine] = field(default_factory=list)
    written: int = 0

    # The imports.

    def get_object(self, kind: Kind, namespace: str, name: str) -> str | None:
        self._declared(kind)
        return self.get_live(kind, namespace, name)

    def get_live(self, kind: Kind, namespace: str, name: str) -> str | None:
        found = self.objects.get(ObjectRef(kind, namespace=namespace, name=name))
        return None if found is None else json.dumps(found)

    def get_applied(self, kind: Kind, namespace: str, name: str) -> str | None:
        self._declared(kind)
        ref = ObjectRef(kind, namespace=namespace, name=name)
        document, live = self.documents.get(ref), self.objects.get(ref)
        if document is None or live is None:
            return None
        owned = patches.part(_without_identity(live), _without_identity(document))
        if patches.is_missing(owned) or not owned:
            return None
        identity = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": _identity(ref)}
        return json.dumps(patches.merge_patch(identity, owned))

    def list_objects(self, kind: Kind, options: ListOptions) -> list[str]:
        self._declared(kind)
        return self._list(kind, options)

    def list_indexed(self, kind: Kind, index: str, value: str, options: ListOptions) -> list[str]:
        self._declared(kind)
        for one in self.manifest.indexes:
            if (one.kind, one.name) == (kind, index):
                return self._list(kind, options, lambda live: value in indexes.values(one, live))
        raise TerminalError(f'the manifest declares no index "{index}" of {kind.kind}')

    def _list(self, kind: Kind, options: ListOptions, has: Callable[[JsonObject], bool] = lambda _: True) -> list[str]:
        found = [
            (ref.namespace, ref.name, live)
            for ref, live in self.objects.items()
            if ref.kind == kind
            and options.namespace in ("", ref.namespace)
            and (not options.owner_uid or _owned_by(live, options.owner_uid))
            and _selected(live, options.label_selector)
            and has(live)
        ]
        ordered = [json.dumps(live) for _, _, live in sorted(found, key=lambda one: one[:2])]
        return ordered[: options.limit] if options.limit else ordered

    def create_two_way(self, kind: Kind, original: str, modified: str) -> str:
        return json.dumps(patches.strategic_difference(json.loads(original), json.loads(modified)))

    def create_three_way(self, kind: Kind, original: str, modified: str, current: str) -> str:
        wanted, now = json.loads(modified), json.loads(current)
        # What others wrote is no part of the difference: nothing of it is taken away but what was ours.
        return json.dumps(patches.strategic_difference(now, patches.applied(now, json.loads(original), wanted)))

    def apply_patch(self, kind: Kind, original: str, patch: str) -> str:
        return json.dumps(patches.strategic_patch(json.loads(original), json.loads(patch)))

    def send(self, request: http.Request) -> http.Response:
        self._allowed(request)
        self.requests.append(request)
        if self.scripted:
            answer = self.scripted.popleft()
        elif self.handler is not None:
            answer = self.handler(request)
        else:
            answer = http.ConnectionError("unreachable: the test has no HTTP handler")
        if isinstance(answer, Exception):
            raise answer
        answer.url = request.url
        return answer

    def cache_get(self, key: str) -> bytes | None:
        value, expires = self.cache.get(key, (None, None))
        return value if expires is None or self.now_ms < expires else None

    def cache_set(self, key: str, value: bytes, ttl_ms: int) -> None:
        if value:
            self.cache[key] = (value, self.now_ms + ttl_ms if ttl_ms else None)
        else:
            self.cache.pop(key, None)

    def config_get(self, key: str) -> str | None:
        return self.config.get(key)

    def config_keys(self) -> list[str]:
        return sorted(self.config)

    def log(self, level: Level, message: str, fields: Sequence[tuple[str, str]]) -> None:
        self.lines.append(LogLine(level, message, dict(fields)))

    # The API server.

    def carry_out(self, change: Change, under_review: JsonObject | None) -> JsonObject | None:
        """Carries one change out, as the API server would. Returns what is under review, changed."""
        match change:
            case Apply(object=document, precondition=precondition):
                ref = ref_of(document)
                self._check(ref, precondition)
                live = patches.applied(self.objects.get(ref) or {}, self.documents.get(ref), document)
                self.documents[ref] = copy.deepcopy(document)
                self.store(ref, live)
            case Create(object=document):
                ref = ref_of(document)
                if ref in self.objects:
                    raise TerminalError(f"{ref} already exists")
                self.store(ref, copy.deepcopy(document))
            case Patch(target=None, patch=patch, type=how):
                if under_review is None:
                    raise TerminalError("there is no object under review")
                return _patched(under_review, patch, how)
            case Patch(target=ObjectRef() as ref, patch=patch, type=how, precondition=precondition):
                self._check(ref, precondition)
                if ref not in self.objects:
                    raise TerminalError(f"{ref} does not exist")
                self.store(ref, _patched(self.objects[ref], patch, how))
            case Delete(target=ref, precondition=precondition):
                self._check(ref, precondition)
                self.objects.pop(ref, None)
                self.documents.pop(ref, None)
        return under_review

    def store(self, ref: ObjectRef, live: JsonObject) -> None:
        """Stores an object with a uid and a new resource version."""
        self.written += 1
        metadata = dict(live.get("metadata") or {})
        metadata.setdefault("uid", f"uid-{self.written}")
        metadata["resourceVersion"] = str(self.written)
        self.objects[ref] = live | {"metadata": metadata}

    def _check(self, ref: ObjectRef, precondition: Precondition) -> None:
        metadata = self.objects.get(ref, {}).get("metadata", {})
        wanted = (("uid", precondition.uid), ("resourceVersion", precondition.resource_version))
        if any(value is not None and metadata.get(name) != value for name, value in wanted):
            raise TransientError(f"precondition failed: {ref} is another one by now")

    def _declared(self, kind: Kind) -> None:
        """Kinds outside the manifest are refused, as the host refuses those outside the grant."""
        primaries = {one.kind if isinstance(one, Primary) else one for one in self.manifest.primaries}
        if kind not in primaries | {watch.kind for watch in self.manifest.watches}:
            raise TerminalError(f"{kind.kind} is neither a primary nor a watch")

    def _allowed(self, request: http.Request) -> None:
        origin = _origin(request.url)
        if origin is None:
            raise http.InvalidRequest(f"the request makes no sense: not an absolute http or https URL: {request.url}")
        access = self.manifest.http
        configured = (self.config.get(key, "") for key in access.origins_from_config)
        if origin not in {_origin(known) for known in (*access.origins, *configured)}:
            raise http.Denied(f"request denied: the manifest does not ask for {origin}")
        safe = any(
            one.method == request.method
            and (request.path.endswith(one.path[1:]) if one.path.startswith("*") else request.path == one.path)
            for one in access.safe_requests
        )
        if self.dry_run and not safe and request.method not in ("GET", "HEAD"):
            raise http.Denied(f"request denied: dry run: {request.method} {request.path}")


def ref_of(document: JsonObject) -> ObjectRef:
    """The kind, name and namespace a document carries."""
    metadata = document.get("metadata") or {}
    if not (document.get("apiVersion") and document.get("kind") and metadata.get("name")):
        raise ValueError(f"an object needs apiVersion, kind and metadata.name: {document}")
    return ObjectRef(kind(document["apiVersion"], document["kind"]), namespace=metadata.get("namespace"), name=metadata["name"])


def _identity(ref: ObjectRef) -> JsonObject:
    return {"name": ref.name, "namespace": ref.namespace} if ref.namespace else {"name": ref.name}


def _without_identity(document: JsonObject) -> JsonObject:
    """What tells an object from others belongs to nobody."""
    rest = {key: value for key, value in document.items() if key not in ("apiVersion", "kind", "metadata")}
    metadata = {key: value for key, value in document["metadata"].items() if key not in ("name", "namespace")}
    return rest | ({"metadata": metadata} if metadata else {})


def _patched(live: JsonObject, patch: Any, how: PatchType) -> JsonObject:
    by = {"merge": patches.merge_patch, "json": patches.json_patch, "strategic": patches.strategic_patch}
    patched: JsonObject = by[how](live, patch)
    return patched


def _owned_by(live: JsonObject, uid: str) -> bool:
    return any(owner.get("uid") == uid for owner in live["metadata"].get("ownerReferences") or [])


def _selected(live: JsonObject, selector: str) -> bool:
    """`a=b`, `a==b`, `a!=b`, `a`, `!a`, joined by commas."""
    if "(" in selector:
        raise TerminalError(f"the native runner does not know sets in selectors: {selector}")
    labels = live["metadata"].get("labels") or {}
    for term in filter(None, (term.strip() for term in selector.split(","))):
        name, unequal, value = term.partition("!=")
        if unequal:
            fits = labels.get(name.strip()) != value.strip()
        elif "=" in term:
            name, _, value = term.partition("=")
            fits = labels.get(name.strip()) == value.lstrip("=").strip()
        else:
            fits = term[1:].strip() not in labels if term.startswith("!") else term in labels
        if not fits:
            return False
    return True


def _origin(url: str) -> str | None:
    """Scheme, host and port in lower case; the scheme's own port is left out."""
    parts = urlsplit(url)
    own = {"http": 80, "https": 443}.get(parts.scheme)
    if own is None or not parts.hostname:
        return None
    return f"{parts.scheme}://{parts.hostname}" + ("" if parts.port in (None, own) else f":{parts.port}")
