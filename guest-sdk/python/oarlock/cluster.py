"""Reads of the cluster through the host's caches.

Kinds and namespaces outside the grant raise `TerminalError`; they are not an empty answer. A read never answers with less than
the host's own last write of what is read.
"""

from __future__ import annotations

import json
from typing import Any

from oarlock import host
from oarlock.context import ObjectRef
from oarlock.manifest import Kind


def get_object(ref: ObjectRef) -> dict[str, Any] | None:
    """One object without managedFields, from the cache. None: it does not exist. The kind must be a primary or a watch."""
    return _object(host.current().get_object(ref.kind, ref.namespace, ref.name))


def list_objects(
    kind: Kind, *, namespace: str = "", label_selector: str = "", owner_uid: str = "", limit: int = 0
) -> list[dict[str, Any]]:
    """Objects without managedFields, from the cache, in order of namespace and name. The kind must be a primary or a watch.

    * `namespace` - empty: all namespaces.
    * `label_selector` - in `kubectl -l` notation; empty: all.
    * `owner_uid` - only objects with an owner reference to this uid; empty: all.
    * `limit` - at most this many; 0: all.
    """
    options = host.ListOptions(namespace, label_selector, owner_uid, limit)
    return [json.loads(text) for text in host.current().list_objects(kind, options)]


def list_indexed(
    kind: Kind, index: str, value: str, *, namespace: str = "", label_selector: str = "", owner_uid: str = "", limit: int = 0
) -> list[dict[str, Any]]:
    """As `list_objects`, only objects with `value` in an index of the manifest. The time depends on the number of these objects alone.

    * `index` - the name of an `Index` of the kind. A `TerminalError` when the manifest declares none.
    """
    options = host.ListOptions(namespace, label_selector, owner_uid, limit)
    return [json.loads(text) for text in host.current().list_indexed(kind, index, value, options)]


def get_applied(ref: ObjectRef) -> dict[str, Any] | None:
    """The counterpart of `Outcome.apply`: what this plugin owns of the object, as it was applied while nothing of it changed.

    None: the object does not exist, or this plugin owns nothing of it.
    """
    return _object(host.current().get_applied(ref.kind, ref.namespace, ref.name))


def get_live(ref: ObjectRef) -> dict[str, Any] | None:
    """Past the cache, from the API server. Costs a request."""
    return _object(host.current().get_live(ref.kind, ref.namespace, ref.name))


def _object(text: str | None) -> dict[str, Any] | None:
    return None if text is None else json.loads(text)
